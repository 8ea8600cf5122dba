"""What runs without a rule to break, by family, and how often."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from benchmarks.hardware import far
from benchmarks.hardware.cases import (
    BF16,
    F16,
    F32,
    F32_FTZ,
    F64,
    OPERATIONS,
    PLAIN,
    S32,
    S64,
    SIZE,
    SPAN,
    TF32,
    TF32_FTZ,
    U32,
    U64,
    UNREACHED,
    WAIT,
    Case,
    expected_bytes,
)
from benchmarks.hardware.im2col_families import (
    im2col_estride,
    im2col_far,
    im2col_interleaved,
    im2col_interleaved_outside,
    im2col_negative,
    im2col_outside,
    im2col_store,
    im2col_store_clipped,
    im2col_store_interleaved,
    im2col_store_outside,
    im2col_store_start,
)
from benchmarks.hardware.tensors import armed, im2col, interleaved, tile


def tf32_store(rng: random.Random, k: int) -> Case:
    dtype = (TF32, TF32_FTZ, F32_FTZ)[k % 3]
    return tile(rng, store=True, form="store", dtype=dtype, fill="edge", smem=65536)


def interleaved_load(rng: random.Random, k: int) -> Case:
    if k % 4 == 0:
        return armed(interleaved(rng, 1), k // 4)
    return armed(interleaved(rng, 2, swizzle=(0, 0, 2, 3)[k % 4]), k // 4)


def interleaved_store(rng: random.Random, k: int) -> Case:
    return interleaved(rng, 1 + k % 2, store=True, form="store", smem=65536)


def interleaved_store_negative(rng: random.Random, k: int) -> Case:
    case = interleaved_store(rng, k)
    case["coord"][k // 2 % case["rank"]] = -rng.randint(1, 2)
    return case


NUMBERS = ("bits", "bits", "int32", "int32", "int64", "int64", "f16", "f32", "f64", "bf16", "f32", "f32", "f32")
DOCUMENTED = {
    "add": (U32, S32, U64, F16, BF16, F32),
    "min": (U32, S32, U64, S64, F16, BF16),
    "max": (U32, S32, U64, S64, F16, BF16),
    "inc": (U32,),
    "dec": (U32,),
    "and": (U32, S32, U64, S64),
    "or": (U32, S32, U64, S64),
    "xor": (U32, S32, U64, S64),
}


def reduction(rng: random.Random, op: str, dtype: int) -> Case:
    """A row of elements well inside the tensor: only the arithmetic speaks."""
    e = SIZE[dtype]
    kind = "bits" if op in ("and", "or", "xor") and rng.random() < 0.7 else NUMBERS[dtype]
    return copy.deepcopy(PLAIN) | {
        **{"form": f"reduce_{op}", "dtype": dtype, "rank": 2, "addr": 16 * rng.randrange(2048)},
        **{"dim": [1024 // e, 64], "stride": [1024], "box": [min(256, 1024 // e), 2 if e > 2 else 4]},
        **{"estride": [1, 1], "coord": [0, rng.randrange(60)], "base": 128 * rng.randrange(256), "smem": 65536},
        **{"fill": f"{kind}.src", "init": f"{kind}.dst"},
    }


KNOWN = [(op, d) for op in OPERATIONS for d in DOCUMENTED[op]]
UNKNOWN = [(op, d) for op in OPERATIONS for d in range(13) if d not in DOCUMENTED[op]]


def reduce_documented(rng: random.Random, k: int) -> Case:
    return reduction(rng, *KNOWN[k % len(KNOWN)])


def reduce_other(rng: random.Random, k: int) -> Case:
    """Operations and data types that PTX does not list together for the tensor form."""
    return reduction(rng, *UNKNOWN[k % len(UNKNOWN)])


def add(dtype: int) -> Case:
    """The fields of an addition into numbers of a type."""
    return {"dtype": dtype, "fill": f"{NUMBERS[dtype]}.src", "init": f"{NUMBERS[dtype]}.dst", "smem": 65536}


ADDED = (U32, F16, BF16, F32, U64, S32)


def reduce_clip(rng: random.Random, k: int) -> Case:
    return tile(rng, store=True, form="reduce_add", **add(ADDED[k % 6]))


def reduce_interleaved(rng: random.Random, k: int) -> Case:
    return interleaved(rng, 1 + k % 2, store=True, form="reduce_add", **add(ADDED[k // 2 % 6]))


def reduce_im2col(rng: random.Random, k: int) -> Case:
    return im2col(rng, store=True, corners=k % 2 == 1, form="reduce_im2col_add", **add(ADDED[k // 2 % 6]))


def multicast(rng: random.Random, k: int) -> Case:
    """One CTA issues; every barrier of the cluster is armed, those outside the mask out of reach."""
    size = (2, 4, 4, 8)[k % 4]
    case = tile(rng, form="multicast", cluster=size, limit=4096, smem=16384)
    case["issuer"], case["barrier"] = rng.randrange(size), rng.randrange(2)
    case["mask"] = rng.randint(1, (1 << size) - 1)
    case["base"] = 128 * rng.randrange(17)
    exact = expected_bytes(case) if k // 4 % 2 else UNREACHED
    case["arm"] = [exact if case["mask"] >> c & 1 else UNREACHED for c in range(size)]
    return case


def multicast_beyond(rng: random.Random, k: int) -> Case:
    """A mask that selects nobody, or a CTA that the cluster does not have."""
    case = multicast(rng, 8 * k)
    case["mask"] = 0 if k % 2 else case["mask"] | 1 << rng.randint(case["cluster"], 7)
    return case


def encode_null(rng: random.Random, k: int) -> Case:
    """Null pointers at encode: 1 the address, 2 strides, 4 dims, 8 box, 16 element strides."""
    nulls = (0, 1, 2, 2, 2, 4, 8, 16, 1, 1)[k % 10]
    fixed: dict[str, Any] = {"rank": 1} if k % 10 in (2, 3) else {}
    case = interleaved(rng, 1 + k // 10 % 2) if k % 10 > 7 else tile(rng, **fixed)
    return case | {"form": "encode", "nulls": nulls}


def expect_tx(rng: random.Random, k: int) -> Case:
    """A barrier armed with too few, too many or the right bytes."""
    case = tile(rng, rank=rng.randint(1, 3))
    true = expected_bytes(case)
    arms = (true, true - 16, true + 16, true // 2, true // 32 * 16, 16, true - 1, true + 1, 2 * true, 0)
    return case | {"arm": [max(0, arms[k % 10])], "limit": WAIT}


FAR = ((1 << 31) - 1, (1 << 31) - 2, (1 << 31) - 4, 0, -1, -2, -1 << 31, 1 - (1 << 31))


def far_coordinate(rng: random.Random, k: int) -> Case:
    """Extents about 2^31 and 2^32 over a stride of 0, so that any step stays in the row."""
    at = 1 + k // 48 % 2
    rank = at + 1
    case = copy.deepcopy(PLAIN) | {"dtype": (0, U32)[k // 96 % 2], "rank": rank, "addr": 16 * rng.randrange(64)}
    case |= {"dim": [64] + [2] * (rank - 1), "stride": [512 if i < at - 1 else 0 for i in range(rank - 1)]}
    case |= {"box": [32] + [1] * (rank - 1), "estride": [1] * rank, "coord": [0] * rank}
    case["dim"][at], case["box"][at], case["coord"][at] = far.EXTENTS[k % 6], 6, FAR[k // 6 % 8]
    case["estride"][at] = rng.choice((1, 1, 2))
    return case


def far_inner(rng: random.Random, k: int) -> Case:
    """The innermost coordinate far inside an extent of 2^32: in bounds, the address lies 2 GiB on."""
    case = far_coordinate(rng, 0)
    return case | {"dtype": 0, "dim": [far.EXTENTS[k % 3], 2], "box": [32, 1], "coord": [(1 << 31) - 16 * (1 + k), 0]}


def bulk_size(rng: random.Random, k: int) -> Case:
    """Copies without a map: sizes 0 and not a multiple of 16, addresses not a multiple of 16."""
    form = ("bulk_load", "bulk_store")[k % 2]
    size, base, addr = ((0, 0, 0), (16, 0, 0), (48, 16, 32), (24, 0, 0), (8, 0, 0), (32, 8, 0), (32, 0, 8))[k // 2 % 7]
    case = copy.deepcopy(PLAIN) | {"form": form, "mode": "none", "size": size, "base": base, "addr": addr}
    return case | {"dump": 4096 if form == "bulk_load" else 0, "smem": 16384, "bytes": size}


def barrier(rng: random.Random, k: int) -> Case:
    """Known credits without a copy: what the bits of an mbarrier mean."""
    case = copy.deepcopy(PLAIN) | {"form": "barrier", "mode": "none", "smem": 1024, "dump": 1024}
    arm, size = (UNREACHED, (1 << 20) - 1, 1 << k % 20)[k // 20], 1 << k % 20
    return case | {"arm": [arm], "size": size if k < 40 else size // 2, "bytes": size}


def known_load(rng: random.Random, k: int) -> Case:
    return armed(tile(rng), k)


def known_store(rng: random.Random, k: int) -> Case:
    return tile(rng, store=True, form="store", dtype=rng.choice((0, 1, 2, 4, 6, 7, 9)), smem=65536)


# -- what the first answers left open: phase 4, so that the ids of the cases before stay ----------------------


def interleaved_store_address(rng: random.Random, k: int) -> Case:
    case = interleaved_store(rng, k)
    return case | {"base": case["base"] + 16 * rng.randint(1, 7)}


def bulk_credit(rng: random.Random, k: int) -> Case:
    """A copy without a map whose barrier is armed with its size, or with the size in whole units of 16 bytes."""
    size = (0, 8, 16, 24, 40, 48, 63, 1000, 4095, 4096)[k % 10]
    arm = (size, size // 16 * 16)[k // 10 % 2]
    case = copy.deepcopy(PLAIN) | {"form": "bulk_load", "mode": "none", "size": size, "dump": 8192, "smem": 16384}
    return case | {"bytes": size, "arm": [arm], "limit": WAIT}


REPEATED = (
    *(("add", U32), ("min", S32), ("max", U64), ("xor", U32)),
    *(("or", U64), ("add", U64), ("inc", U32), ("and", U32)),
)


def reduce_more(rng: random.Random, k: int) -> Case:
    """More sums in the types of which few rows were recorded."""
    return reduction(rng, "add", (F64, F64, F32_FTZ, TF32, TF32_FTZ)[k % 5])


def reduce_overlap(rng: random.Random, k: int) -> Case:
    """Rows that lie on one another: every one counts, if nothing is lost."""
    op, dtype = REPEATED[k % len(REPEATED)]
    case = reduction(rng, op, dtype)
    return case | {"stride": [(0, 16, 32)[k // len(REPEATED) % 3]], "box": [64 // SIZE[dtype], 8], "coord": [0, 0]}


def store_overlap(rng: random.Random, k: int) -> Case:
    case = known_store(rng, k)
    while case["rank"] < 2:
        case = known_store(rng, k)
    return case | {"stride": [(0, 16)[k % 2]] * (case["rank"] - 1)}


def shared_end_store(rng: random.Random, k: int) -> Case:
    """The last rows end where shared memory ends, or lie beyond: inside the tensor, or behind it."""
    swizzle = (3, 2, 1)[k % 3]
    rows = 1024 // SPAN[swizzle] * rng.randint(1, 3)
    case = tile(rng, store=True, form=("store", "reduce_add")[k // 3 % 2], rank=2, swizzle=swizzle, **add(U32))
    more = k // 6 % 3
    case |= {"box": [case["box"][0], rows + (more > 0)], "estride": [1, 1], "smem": rows * SPAN[swizzle]}
    case |= {"dim": [case["dim"][0], rows + (more == 1)], "coord": [0, 0], "base": 0}
    return case


Family = Callable[[random.Random, int], Case]

# name, what makes a case, cases, phase: 0 calibrates, 1 is expected to run, 2 may fault, 3 and up come last
FAMILIES: tuple[tuple[str, Family, int, int], ...] = (
    ("barrier", barrier, 60, 0),
    ("known_load", known_load, 120, 0),
    ("known_store", known_store, 80, 0),
    ("encode_null", encode_null, 60, 0),
    ("tf32_store", tf32_store, 450, 1),
    ("interleaved_load", interleaved_load, 640, 1),
    ("interleaved_store", interleaved_store, 600, 1),
    ("im2col_interleaved", im2col_interleaved, 640, 1),
    ("im2col_outside", im2col_outside, 300, 1),
    ("im2col_negative", im2col_negative, 360, 1),
    ("im2col_estride", im2col_estride, 240, 1),
    ("im2col_store", im2col_store, 600, 1),
    ("im2col_store_interleaved", im2col_store_interleaved, 240, 1),
    ("reduce_documented", reduce_documented, 16 * len(KNOWN), 1),
    ("reduce_clip", reduce_clip, 360, 1),
    ("reduce_interleaved", reduce_interleaved, 120, 1),
    ("reduce_im2col", reduce_im2col, 120, 1),
    ("multicast", multicast, 400, 1),
    ("expect_tx", expect_tx, 400, 1),
    ("far_coordinate", far_coordinate, 192, 1),
    ("reduce_other", reduce_other, 5 * len(UNKNOWN), 2),
    ("interleaved_store_negative", interleaved_store_negative, 60, 2),
    ("bulk_size", bulk_size, 42, 2),
    ("far_inner", far_inner, 6, 2),
    ("multicast_beyond", multicast_beyond, 16, 3),
    ("im2col_store_clipped", im2col_store_clipped, 180, 4),
    ("im2col_far", im2col_far, 60, 4),
    ("bulk_credit", bulk_credit, 40, 4),
    ("reduce_overlap", reduce_overlap, 96, 4),
    ("reduce_more", reduce_more, 80, 4),
    ("store_overlap", store_overlap, 40, 4),
    ("im2col_store_outside", im2col_store_outside, 90, 5),
    ("im2col_store_start", im2col_store_start, 96, 5),
    ("im2col_interleaved_outside", im2col_interleaved_outside, 60, 5),
    ("interleaved_store_address", interleaved_store_address, 40, 5),
    ("shared_end_store", shared_end_store, 72, 5),
    ("multicast_im2col", far.multicast_im2col, 192, 6),
    ("wide_load", far.wide_load, 120, 6),
    ("wide_store", far.wide_store, 80, 6),
    ("wide_reduce", far.wide_reduce, 40, 6),
    ("wide_im2col", far.wide_im2col, 64, 6),
    ("wide_im2col_store", far.wide_im2col_store, 48, 6),
    ("far_store", far.far_store, 60, 7),
    ("far_reduce", far.far_reduce, 36, 7),
    ("far_im2col", far.far_im2col, 96, 7),
    ("far_im2col_store", far.far_im2col_store, 48, 7),
    ("far_im2col_reduce", far.far_im2col_reduce, 24, 7),
    ("null_address", far.null_address, 12, 7),
    ("outside", far.outside, 72, 8),
    ("far_interleaved", far.far_interleaved, 72, 9),
)
