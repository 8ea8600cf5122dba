"""TMA copies against NVIDIA's own CuTe DSL, which makes TMA atoms while it traces, with neither device nor driver."""

from __future__ import annotations

import importlib.util
import os
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from symlayout import ComposedLayout, InexactError, Layout, LayoutError, Swizzle
from symlayout.dtype import DType
from symlayout.int_tuple import unflatten
from symlayout.tma.im2col import make_im2col_tma_copy
from symlayout.tma.tiled_copy import TmaCopy
from tests.support.tma_cases import RUN_TIME, Case, drawn

if importlib.util.find_spec("cutlass") is None:
    pytest.skip("nvidia-cutlass-dsl is not installed", allow_module_level=True)

os.environ.setdefault("CUTE_DSL_ARCH", "sm_90a")  # read at import
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        import cutlass
        import cutlass.cute as cute
        from cutlass.cute.nvgpu import cpasync
        from cutlass.cute.runtime import make_ptr
    except (ImportError, OSError, RuntimeError) as reason:
        pytest.skip(f"the CuTe DSL cannot be imported here: {reason}", allow_module_level=True)

TYPES = {
    **{"f16": cutlass.Float16, "f32": cutlass.Float32, "f64": cutlass.Float64},
    **{"u8": cutlass.Uint8, "u16": cutlass.Uint16, "u32": cutlass.Uint32, "u64": cutlass.Uint64},
}
ELEMENTS = ("f16", "f32", "f64", "u8")


def traced(questions: list[Callable[[Any, Any], Any]]) -> list[Any]:
    """The answers of all questions, each asked with a pointer for each element type and with an integer unknown."""
    answers: list[Any] = []

    @cute.jit
    def trace(p0: cute.Pointer, p1: cute.Pointer, p2: cute.Pointer, p3: cute.Pointer, unknown: cutlass.Int64):
        for ask in questions:
            try:
                answers.append(ask(dict(zip(ELEMENTS, (p0, p1, p2, p3), strict=True)), unknown))
            except Exception:  # MLIRError and the DSL's own errors share no base
                answers.append(None)

    pointers = [make_ptr(TYPES[t], 1024, cute.AddressSpace.gmem, assumed_align=1024) for t in ELEMENTS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trace(*pointers, 0)
    return answers


def asked(case: Case, at_run_time: bool) -> Callable[[Any, Any], Any]:
    """(gbasis, bits of an instruction, coordinate tensor) as the DSL has them."""

    def ask(pointers: Any, unknown: Any) -> Any:
        strides = [unknown if at_run_time and d >= RUN_TIME else d for _, d in case.gmem.modes()]
        layout = cute.make_layout(case.gmem.shape, stride=unflatten(tuple(strides), case.gmem.shape))
        n, unit = case.options["multicast"], case.options.get("internal_dtype")
        atom, tensor = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SMulticastOp() if n > 1 else cpasync.CopyBulkTensorTileG2SOp(),
            cute.make_tensor(pointers[case.options["dtype"].name], layout),
            *(cute.make_layout(case.smem.shape, stride=case.smem.stride), case.tile, n),
            internal_type=unit and TYPES[unit],
        )
        return told(atom, tensor)

    return ask


def told(atom: Any, tensor: Any) -> tuple[str, int, str]:
    words = str(atom._trait.value.type)
    gbasis, bits = re.search(r'tma_gbasis = <"([^"]*)">', words), re.search(r"copy_bits = (\d+)", words)
    return gbasis[1], int(bits[1]), str(tensor)


def ours(copy: TmaCopy) -> tuple[str, int, str]:
    tensor = str(copy.get_tma_tensor()).removeprefix("ArithTuple")
    return bare(copy.gbasis), copy.bytes_per_instruction * 8, f"tensor<{bare(tensor)}>"


def bare(x: Any) -> str:
    """Without the comma of a 1-tuple, which the DSL does not print."""
    return str(x).replace(",)", ")")


@pytest.mark.parametrize("at_run_time", [False, True])
def test_random_copies_agree_with_the_dsl(at_run_time):
    cases = []
    for seed in range(150):
        case = drawn(seed)
        try:
            cases.append((case, ours(case.at_run_time() if at_run_time else case.copy())))
        except LayoutError:  # of rules that the DSL leaves to the driver
            continue
    answers = traced([asked(case, at_run_time) for case, _ in cases])

    compared = 0
    for (case, mine), theirs in zip(cases, answers, strict=True):
        assert theirs is not None, case
        assert mine[:2] == theirs[:2], case
        if "?" not in theirs[2]:
            assert mine[2] == theirs[2], case
            compared += 1
    assert compared > (20 if at_run_time else 100)


def test_a_box_that_is_no_run_is_accepted_by_the_dsl_alone():
    """Two of the six modes share the fifth dimension, and a box of them would run past the tile."""
    layout = Layout((8, 4, 4, 4, 4, 4), (1, 16, 128, 1024, 8192, 3 * 65536))
    tile = (8, 2, 2, 2, 2, 2)
    case = Case(layout, tile, Layout(tile), {"dtype": DType.of("f16"), "multicast": 1}, None)

    assert traced([asked(case, False)]) != [None]
    with pytest.raises(InexactError):
        case.copy()


CONVOLUTIONS = [
    {
        **{"lower_corner_whd": (-1, -1), "upper_corner_whd": (-1, -1), "lower_padding_whd": (-1, -1)},
        **{"upper_padding_whd": (1, 1), "stride_whd": (1, 1), "lower_srt": (0, 0), "stride_srt": (1, 1)},
    },
    {
        **{"lower_corner_whd": (-1, -2), "upper_corner_whd": (-3, -2), "lower_padding_whd": (-1, -2)},
        **{"upper_padding_whd": (1, 2), "stride_whd": (2, 1), "lower_srt": (0, 0), "stride_srt": (2, 1)},
    },
    {
        **{"lower_corner_whd": (-1, -1), "upper_corner_whd": (-1, -1), "lower_padding_whd": (1, 1)},
        **{"upper_padding_whd": (1, 1), "stride_whd": (1, 1), "lower_srt": (2, 2), "stride_srt": (-1, -1)},
    },
]


@pytest.mark.parametrize("convolution", CONVOLUTIONS)
@pytest.mark.parametrize("pixels_first", [True, False])
def test_im2col_copies_agree_with_the_dsl(convolution, pixels_first):
    pixels, channels = ((16, 16, 4), (64, 1024, 16384)), (64, 1)
    order = (pixels, channels) if pixels_first else (channels, pixels)
    gmem = Layout(*zip(*order, strict=True))
    smem = Layout((128, 64), (64, 1)) if pixels_first else Layout((64, 128))
    swizzled = ComposedLayout(Swizzle(3, 3, 3), 0, smem)

    def ask(pointers: Any, _: Any) -> Any:
        tensor = cute.make_tensor(pointers["f16"], cute.make_layout(gmem.shape, stride=gmem.stride))
        shared = cute.make_composed_layout(
            cute.make_swizzle(3, 4, 3), 0, cute.make_layout(smem.shape, stride=smem.stride)
        )
        op = cpasync.CopyBulkTensorIm2ColG2SOp()
        return told(*cpasync.make_im2col_tma_atom(op, tensor, shared, smem.shape, **convolution))

    assert traced([ask]) == [ours(make_im2col_tma_copy(gmem, swizzled, dtype="f16", **convolution))]
