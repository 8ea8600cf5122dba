"""Tiled products and copies against those of NVIDIA's CuTe DSL, asked without a device; what it said is recorded."""

from __future__ import annotations

import importlib.util
import os
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from symlayout import Layout
from symlayout.atoms import atom
from tests.support import tiled_cases as cases
from tests.support.tiled_recorded import recorded

if importlib.util.find_spec("cutlass") is None:
    pytest.skip("nvidia-cutlass-dsl is not installed", allow_module_level=True)

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")  # read at import
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.nvgpu import CopyUniversalOp, warp, warpgroup
    except (ImportError, OSError, RuntimeError) as reason:
        pytest.skip(f"the CuTe DSL cannot be imported here: {reason}", allow_module_level=True)

TYPES = {
    **{"f16": cutlass.Float16, "bf16": cutlass.BFloat16, "tf32": cutlass.TFloat32, "f32": cutlass.Float32},
    "e4m3": cutlass.Float8E4M3FN,
}


def product(word: str, groups: Any, tile: Any) -> Any:
    row: Any = atom(word)
    kind, sums = TYPES[row.dtype.name], TYPES[row.acc_dtype.name]
    k = warpgroup.OperandMajorMode.K
    if row.threads == 128 and row.dtype.bits == 8:
        op: Any = warpgroup.MmaF8Op(kind, kind, sums, row.mnk, warpgroup.OperandSource.SMEM, k, k)
    elif row.threads == 128:
        op = warpgroup.MmaF16BF16Op(kind, sums, row.mnk, warpgroup.OperandSource.SMEM, k, k)
    elif row.dtype.name == "tf32":
        op = warp.MmaTF32Op(row.mnk)
    else:
        op = warp.MmaF16BF16Op(kind, sums, row.mnk)
    return cute.make_tiled_mma(op, cute.make_layout(groups), permutation_mnk=tile or (None, None, None))


def copied(word: str, kind: str) -> Any:
    name, count, *trans = word.split(".")
    if name in ("ldmatrix", "stmatrix"):
        op: Any = {"ldmatrix": warp.LdMatrix8x8x16bOp, "stmatrix": warp.StMatrix8x8x16bOp}[name]
        return cute.make_copy_atom(op(bool(trans), int(count[1:])), TYPES[kind])
    return cute.make_copy_atom(CopyUniversalOp(), TYPES[kind], num_bits_per_copy=8 * int(trans[0]))


def plain(x: Any) -> str:
    return cases.plain(Layout.parse(str(x)))


def shown(tensor: Any) -> str:
    """``tensor<(17,2) o ((2,2),2,4):(..)>`` in the form of ours."""
    base, layout = str(tensor).removeprefix("tensor<").removesuffix(">").split(" o ")
    parsed = Layout.parse(layout)
    return f"ArithTuple{base} o {cases.coalesce(parsed, (1,) * len(parsed))}"


def said() -> Iterator[tuple[str, str]]:
    for word, groups, tile in cases.PRODUCTS:
        mma = product(word, groups, tile)
        name = f"{word} {groups} {tile}"
        yield f"{name} threads", str(cases.coalesce(Layout.parse(str(mma.thr_layout_vmnk)), (1, 1, 1, 1)))
        for what in "ABC":
            yield f"{name} tv {what}", plain(getattr(mma, f"tv_layout_{what}_tiled"))
            i, j = cases.MODES[what]
            whole = cute.make_identity_tensor((cases.SHAPE[i], cases.SHAPE[j]))
            for t in (t for t in cases.THREADS if t < mma.size):
                yield f"{name} {what} of {t}", shown(getattr(mma.get_slice(t), f"partition_{what}")(whole))
    for word, kind, threads, values in cases.COPIES:
        of = cute.make_layout(threads[0], stride=threads[1]), cute.make_layout(values[0], stride=values[1])
        tiled = cute.make_tiled_copy_tv(copied(word, kind), *of)
        yield from of_copy(f"{word} {kind} {threads} {values}", tiled)
    mma = product("mma.m16n8k16.bf16", (2, 2, 1), (32, 32, 16))
    make = {"A": cute.make_tiled_copy_A, "B": cute.make_tiled_copy_B, "C": cute.make_tiled_copy_C}
    for word, what in cases.OF_PRODUCTS:
        yield from of_copy(f"{word} of {what}", make[what](copied(word, "bf16"), mma))


def of_copy(name: str, tiled: Any) -> Iterator[tuple[str, str]]:
    yield f"{name} tv", plain(tiled.layout_tv_tiled)
    yield f"{name} src", plain(tiled.layout_src_tv_tiled)
    yield f"{name} dst", plain(tiled.layout_dst_tv_tiled)
    whole = cute.make_identity_tensor((128, 128))
    for t in (t for t in cases.THREADS if t < tiled.size):
        yield f"{name} S of {t}", shown(tiled.get_slice(t).partition_S(whole))
        yield f"{name} D of {t}", shown(tiled.get_slice(t).partition_D(whole))


def asked() -> dict[str, str]:
    """What the DSL says to all cases, asked in one trace."""
    found: dict[str, str] = {}

    @cute.jit
    def trace():
        found.update(said())

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace()
    return found


def test_the_dsl_says_what_is_recorded():
    assert asked() == recorded()
