"""Thread-value layouts and shared-memory atoms against those of NVIDIA's CuTe DSL, asked without a device."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from symlayout import ComposedLayout, Layout, Swizzle, coalesce, tile_to_shape
from symlayout.atoms import ATOMS, MatrixCopy, MatrixDescriptor, MmaAtom

if importlib.util.find_spec("cutlass") is None:
    pytest.skip("nvidia-cutlass-dsl is not installed", allow_module_level=True)

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")  # read at import
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.nvgpu import warp, warpgroup
    except (ImportError, OSError, RuntimeError) as reason:
        pytest.skip(f"the CuTe DSL cannot be imported here: {reason}", allow_module_level=True)

TYPES = {
    **{"f16": cutlass.Float16, "bf16": cutlass.BFloat16, "tf32": cutlass.TFloat32, "f32": cutlass.Float32},
    **{"e4m3": cutlass.Float8E4M3FN, "e5m2": cutlass.Float8E5M2, "i8": cutlass.Int8, "u8": cutlass.Uint8},
    **{"i32": cutlass.Int32},
}


def traced(questions: dict[Any, Callable[[], list[Any]]]) -> dict[Any, list[str]]:
    """The answers of all questions as text, asked in one trace."""
    answers: dict[Any, list[str]] = {}

    @cute.jit
    def trace():
        for name, ask in questions.items():
            answers[name] = [str(x) for x in ask()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace()
    return answers


def plain(tv: Layout) -> Layout:
    """The same function of (thread, value) in its shortest form: theirs leave out extents of 1."""
    return coalesce(tv, (1, 1))


def of_a_warp(row: MmaAtom) -> list[Any]:
    if row.dtype.name == "tf32":
        op = warp.MmaTF32Op(row.mnk)
    else:
        op = warp.MmaF16BF16Op(TYPES[row.dtype.name], TYPES[row.acc_dtype.name], row.mnk)
    made = cute.make_mma_atom(op)
    return [made.tv_layout_A, made.tv_layout_B, made.tv_layout_C]


def of_a_warpgroup(row: MmaAtom) -> list[Any]:
    source = warpgroup.OperandSource.SMEM if row.src == "shared" else warpgroup.OperandSource.RMEM
    k = warpgroup.OperandMajorMode.K
    kind, sums = TYPES[row.dtype.name], TYPES[row.acc_dtype.name]
    if row.dtype.bits == 16:
        op = warpgroup.MmaF16BF16Op(kind, sums, row.mnk, source, k, k)
    elif row.dtype.kind == "float":
        op = warpgroup.MmaF8Op(kind, kind, sums, row.mnk, source, k, k)
    else:
        op = warpgroup.MmaI8Op(kind, kind, sums, row.mnk, source, k, k)
    made = cute.make_mma_atom(op)
    return [made.tv_layout_A, made.tv_layout_B, made.tv_layout_C]


def of_a_copy(row: MatrixCopy) -> list[Any]:
    name, count, *trans = row.word.split(".")
    op = {"ldmatrix": warp.LdMatrix8x8x16bOp, "stmatrix": warp.StMatrix8x8x16bOp}[name]
    made = cute.make_copy_atom(op(bool(trans), int(count[1:])), cutlass.Float16)
    return [made.layout_src_tv, made.layout_dst_tv]


def has_op(row: MmaAtom) -> bool:
    """Whether the DSL has the instruction for this architecture: no mma of 8 or 64 bits, no wgmma of TF32."""
    return row.dtype.bits in (16, 32) if row.threads == 32 else row.dtype.name != "tf32"


def test_every_product_has_the_layouts_of_the_dsl():
    rows = [r for r in ATOMS.values() if isinstance(r, MmaAtom) and has_op(r)]
    asked = traced({r.word: (lambda r=r: of_a_warp(r) if r.threads == 32 else of_a_warpgroup(r)) for r in rows})

    assert len(asked) == 8 + 2 * (32 * 7 + 18 * 2)
    for r in rows:
        assert [plain(Layout.parse(x)) for x in asked[r.word]] == [plain(x) for x in (r.tv_a, r.tv_b, r.tv_c)], r.word


def test_every_matrix_copy_has_the_layouts_of_the_dsl():
    rows = [r for r in ATOMS.values() if isinstance(r, MatrixCopy)]
    asked = traced({r.word: (lambda r=r: of_a_copy(r)) for r in rows})

    for r in rows:
        assert [plain(Layout.parse(x)) for x in asked[r.word]] == [plain(x) for x in (r.src_tv, r.dst_tv)], r.word


def test_the_shared_atoms_of_the_dsl_have_descriptors():
    kinds = {
        (major, swizzle): f"{major}_{'INTER' if not swizzle else f'SW{swizzle}'}"
        for major in ("K", "MN")
        for swizzle in (0, 32, 64, 128)
    }
    asked = traced(
        {
            key: (
                lambda name=name: [
                    warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind[name], cutlass.BFloat16)
                ]
            )
            for key, name in kinds.items()
        }
    )

    for (major, swizzle), [said] in asked.items():
        inner = Layout.parse(said.split(" o ")[2])
        wide = max(16, swizzle) // 2
        assert inner == (Layout((8, wide), (wide, 1)) if major == "K" else Layout((wide, 8), (1, wide)))
        assert said.startswith(f"S<{swizzle.bit_length() - 5 if swizzle else 0},4,3>")
        found = MatrixDescriptor.of(tile_to_shape(_swizzled(inner, swizzle), (64, 64)), "bf16")
        assert (found.major, found.swizzle.span_bytes) == (major, swizzle)


def _swizzled(inner: Layout, swizzle: int) -> Any:
    return ComposedLayout(Swizzle(swizzle.bit_length() - 5 if swizzle else 0, 3, 3), 0, inner)
