"""What ``make_tma_descriptor`` takes: arrays of any library, symbols, and wrong arguments."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from symlayout import dim
from symlayout.dlpack import DLDevice, DLDeviceType, DLTensor, described
from symlayout.errors import LayoutError
from symlayout.rules.tma import violations
from symlayout.tma import TensorMap, TmaType
from symlayout.tma.from_dlpack import make_tma_descriptor
from tests.symlayout.test_tma_descriptor import CUBE, F32, LOWER, U4, K, M, N, broken, like

# -- arrays -------------------------------------------------------------------------------------------------


class Old:
    """A producer from before DLPack had versions."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__()


class Broken:
    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **_):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "array, kind, shape, strides",
    [
        (np.zeros((4, 6), np.float32), (2, 32, 1), (4, 6), (6, 1)),
        (np.zeros((4, 6), np.int32).T, (0, 32, 1), (6, 4), (1, 6)),
        (np.zeros((4, 6), np.uint8)[::2, 1:4], (1, 8, 1), (2, 3), (12, 1)),
        (np.zeros((4, 6), np.int64)[::-1], (0, 64, 1), (4, 6), (-6, 1)),
        (np.zeros(5, bool), (6, 8, 1), (5,), (1,)),
        (np.zeros((), np.float64), (2, 64, 1), (), ()),
        (np.broadcast_to(np.zeros(8, np.float16), (3, 8)), (2, 16, 1), (3, 8), (0, 1)),
        (read_only(np.zeros((2, 8), np.float16)), (2, 16, 1), (2, 8), (8, 1)),
        (np.zeros((4, 6), ml_dtypes.bfloat16).T, (4, 16, 1), (6, 4), (1, 6)),
        (np.zeros((4, 6), ml_dtypes.float8_e4m3fn), (10, 8, 1), (4, 6), (6, 1)),
        (np.zeros((4, 6), ml_dtypes.float8_e8m0fnu), (14, 8, 1), (4, 6), (6, 1)),
        (np.zeros(4, np.complex64), (5, 64, 1), (4,), (1,)),
    ],
)
def test_arrays_describe_themselves(array, kind, shape, strides):
    t = described(array)

    assert (tuple(t.dtype), t.shape, t.element_strides) == (kind, shape, strides)
    assert t.device == DLDevice(DLDeviceType.kDLCPU, 0)
    assert t.data + t.byte_offset == array.__array_interface__["data"][0]


def test_a_producer_without_versions():
    t = described(Old(np.zeros((4, 6), np.float32)))

    assert (t.shape, t.element_strides, t.version) == ((4, 6), (6, 1), (0, 8))


@pytest.mark.parametrize(
    "bad",
    [
        3,
        "f32",
        None,
        [1, 2],
        Broken(7),
        Broken(None),
        Broken(RuntimeError("busy")),
        np.array(["a"]),
        np.zeros(2, ">f4"),
    ],
)
def test_what_is_no_tensor(bad):
    with pytest.raises(LayoutError, match=r"expected a (DLTensor|tensor)"):
        described(bad)


def test_torch_tensors():
    torch = pytest.importorskip("torch")

    t = described(torch.zeros(4, 6, dtype=torch.bfloat16).T)
    assert (tuple(t.dtype), t.shape, t.element_strides) == ((4, 16, 1), (6, 4), (1, 6))
    assert tuple(described(torch.zeros(4, dtype=torch.float8_e5m2)).dtype) == (12, 8, 1)
    with pytest.raises(LayoutError, match="gradient"):
        described(torch.zeros(4, requires_grad=True))


A = np.zeros((100, 64), np.float16)


def test_a_host_array_says_where_it_will_be():
    m = make_tma_descriptor(A, (8, 64), swizzle=128, device=1, address=1 << 20)

    assert m == TensorMap(TmaType.FLOAT16, 1 << 20, (64, 100), (128,), (64, 8), swizzle=128)


@pytest.mark.parametrize(
    "where, rules",
    [
        ({}, ["dl_device_type"]),
        ({"device": 0}, ["dl_data"]),
        ({"device": (3, 0), "address": 1 << 20}, ["dl_device_type"]),
        ({"device": (13, 0), "address": 1 << 20}, []),
        ({"device": -1, "address": 1 << 20}, ["dl_device_id"]),
        ({"device": 0, "address": 1 << 20}, []),
        ({"device": 0, "address": 8}, ["global_address_alignment"]),
        ({"device": 0, "address": 0}, ["global_address_nonnull"]),
        ({"device": 0, "alignment": 16}, []),
        ({"device": 0, "alignment": 256}, []),
        ({"device": 0, "alignment": 8}, ["global_address_alignment"]),
    ],
)
def test_where_a_host_array_will_be(where, rules):
    aligned = np.zeros((100, 64), np.float16)
    found = broken(aligned, (8, 64), **where)

    assert [r for r in found if where or r == "dl_device_type"] == rules


def test_an_alignment_is_all_that_is_known_of_an_address():
    m = make_tma_descriptor(A, (8, 64), device=0, alignment=16)
    [address] = m.symbols

    assert address.multiple == 16
    assert m.subs({address: 1 << 20}).global_address == 1 << 20
    assert broken(CUBE, (4, 4, 4), alignment=16, **LOWER) == ["global_address_alignment"]
    assert broken(CUBE, (4, 4, 4), alignment=32, **LOWER) == []
    assert broken(like(F32, byte_offset=8), (8, 8), alignment=16) == ["global_address_alignment"]
    assert broken(like(F32, byte_offset=48), (8, 8), alignment=16) == []


def test_an_address_may_be_any_expression():
    a = dim("a", multiple_of=64, at_most=2**57)

    assert make_tma_descriptor(F32, (8, 8), address=a + 16 * K).global_address == a + 16 * K
    assert broken(F32, (8, 8), address=a + 8) == ["global_address_alignment"]
    assert broken(F32, (8, 8), address=a + K) == ["global_address_alignment"]


# -- symbols ------------------------------------------------------------------------------------------------


def test_symbolic_shapes():
    m = make_tma_descriptor(DLTensor((M, N), "bf16"), (64, 64), swizzle=128, address=4096)

    assert m.global_dim == (N, M)
    assert m.global_stride_bytes == (2 * N,)
    compact = make_tma_descriptor(DLTensor((K, M, N), "f32"), (1, 8, 8), address=4096)
    assert compact.global_stride_bytes == (4 * N, 4 * M * N)


@pytest.mark.parametrize(
    "t, box, rules",
    [
        (DLTensor((M, 8 * N + 1), "bf16"), (64, 64), ["stride_multiple_16"]),
        (DLTensor((M, 8 * N), "bf16"), (64, 64), []),
        (DLTensor((dim("few", at_most=63), N), "bf16"), (64, 64), ["box_within_dim"]),
        (DLTensor((M, dim("far", at_least=2**32 + 1, at_most=2**40)), "u8"), (64, 64), ["global_dim_range"]),
        (DLTensor((M, N), "bf16", strides=(N, K)), (64, 64), ["dl_inner_stride"]),
        (DLTensor((M, N), "bf16", strides=(N - 1, 1)), (64, 64), ["stride_unique"]),
        (DLTensor((M, N), "bf16", strides=(N + K, 1)), (64, 64), []),
        (DLTensor((M, N), "bf16"), (64, 64 * K + 256), ["box_range"]),
        (DLTensor((M, N), "bf16"), (0 * M, 64), ["box_range"]),
    ],
)
def test_what_fails_for_all_sizes_is_refused(t, box, rules):
    assert broken(t, box, address=4096) == rules


def test_what_depends_on_sizes_holds_at_some_and_fails_at_others():
    t = DLTensor((M, N), "bf16")
    m = make_tma_descriptor(t, (64, 64), swizzle=128, address=4096)

    for rows, columns in ((64, 64), (100, 72), (63, 64), (64, 63), (64, 68), (4096, 4104)):
        numbers = DLTensor((rows, columns), "bf16")
        mine = {v.rule.id for v in violations(m.subs({M: rows, N: columns}), "cccl")}
        assert mine == set(broken(numbers, (64, 64), swizzle=128, address=4096))


# -- wrong arguments ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"box_sizes": 8}, "expected a sequence of integers as box_sizes, got 8"),
        ({"box_sizes": "88"}, "expected a sequence of integers as box_sizes, got '88'"),
        ({"box_sizes": (8, 8.5)}, "8.5"),
        ({"elem_strides": 1}, "expected a sequence of integers as elem_strides, got 1"),
        ({"swizzle": 96}, "expected one of none, bytes32"),
        ({"interleave_layout": "bytes64"}, "expected one of none, bytes16, bytes32"),
        ({"oobfill": "zero"}, "expected one of none, nan"),
        ({"profile": "nvcc"}, r"expected a profile \(cccl, driver, documented, hardware\), got 'nvcc'"),
        ({"alignment": 0}, r"expected an alignment of 1 to 2\^64 - 1 bytes, got 0"),
        ({"alignment": 16, "address": 16}, "expected address or alignment, got both"),
        ({"device": "cuda"}, "cuda"),
        ({"device": (2, 0, 0)}, r"expected 2 plain integers as the device \(type, ordinal\), got \(2,0,0\)"),
        ({"device": (M, 0)}, "expected 2 plain integers as the device"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((LayoutError, TypeError), match=message) as e:
        make_tma_descriptor(F32, **{"box_sizes": (8, 8), **arguments})

    assert e.type.__module__ == "symlayout.errors"


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: DLTensor((4, 4), "f32", strides=(1,)), "expected 2 strides"),
        (lambda: DLTensor(4, "f32"), "expected a sequence of integers as the shape, got 4"),
        (lambda: DLTensor((4,), "f31"), "expected an element type"),
        (lambda: DLTensor((4,), (2,)), "expected 2 or 3 plain integers as the data type"),
        (lambda: DLTensor((4,), (2, M)), "expected 2 or 3 plain integers as the data type"),
        (lambda: DLTensor((4,), "f32", version=1), "expected a sequence of integers as the version"),
    ],
)
def test_wrong_tensors(make, message):
    with pytest.raises(LayoutError, match=message):
        make()


def test_a_tensor_prints_as_dlpack_has_it():
    t = DLTensor((M, 64), "bf16", strides=(K, 1), data=4096, byte_offset=64)

    assert str(t) == "kDLBfloat 16 (M,64):(K,1) on kDLCUDA 0 at 4096 + 64 B"
    assert str(U4) == "kDLUInt 4 x 16 (8,64):(64,1) on kDLCUDA 0 at 4096"
    assert str(DLTensor((4,), (99, 8), device=(77, 3))) == "data type code 99 8 (4,):(1,) on device type 77 3"
