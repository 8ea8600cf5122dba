"""Tiled products and copies: cases to compare with the CuTe DSL, as rows, and our answers as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symlayout import Layout, coalesce, make_identity_tensor
from symlayout.algorithms.tiled_copy import (
    make_copy_atom,
    make_tiled_copy,
    make_tiled_copy_A,
    make_tiled_copy_B,
    make_tiled_copy_C,
)
from symlayout.algorithms.tiled_mma import make_tiled_mma

# word of the instruction, groups of threads along M, N, K, extents of the tile (None: those of the groups)
PRODUCTS: tuple[tuple[str, tuple[int, int, int], Any], ...] = (
    *(
        ("mma.m16n8k16.bf16", groups, tile)
        for groups, tile in (
            ((1, 1, 1), None),
            ((2, 2, 1), None),
            ((2, 2, 1), (32, 32, 16)),
            ((4, 1, 1), (64, 16, 16)),
            ((1, 4, 1), (16, 64, 16)),
            ((2, 4, 1), (32, 64, 16)),
            ((2, 2, 1), (64, 32, 32)),
            ((1, 1, 2), None),
            ((2, 1, 2), None),
        )
    ),
    *(
        (word, groups, None)
        for word in ("mma.m16n8k8.f16", "mma.m16n8k16.f16.f16", "mma.m16n8k8.tf32")
        for groups in ((1, 1, 1), (2, 2, 1), (4, 2, 1))
    ),
    *(
        (word, groups, None)
        for word in ("wgmma.m64n64k16.bf16", "wgmma.m64n128k16.f16", "wgmma.m64n256k16.bf16", "wgmma.m64n96k32.e4m3")
        for groups in ((1, 1, 1), (2, 1, 1))
    ),
)
THREADS = (0, 37, 101)
SHAPE = (128, 256, 64)  # M, N, K of the tensors that are dealt

# word, type, threads as (shape, stride), values as (shape, stride)
COPIES: tuple[tuple[str, str, Any, Any], ...] = (
    ("ld.global.16", "f16", ((32, 4), (4, 1)), ((1, 8), (8, 1))),
    ("ld.global.16", "f32", ((32, 8), (8, 1)), ((1, 4), (4, 1))),
    ("ld.global.4", "f32", ((4, 2), (1, 4)), ((2, 1), (1, 2))),
    ("ld.global.8", "f16", ((16, 8), (1, 16)), ((4, 2), (1, 4))),
    ("ld.global.2", "bf16", ((8, 16), (16, 1)), ((2, 2), (2, 1))),
    ("ldmatrix.x4", "f16", ((16, 2), (1, 16)), ((2, 4), (1, 2))),
    ("ldmatrix.x2", "f16", ((16, 2), (1, 16)), ((2, 4), (1, 2))),
    ("ldmatrix.x4.trans", "f16", ((16, 2), (1, 16)), ((2, 4), (1, 2))),
    ("ldmatrix.x1", "bf16", ((8, 4), (4, 1)), ((1, 2), (2, 1))),
    ("ldmatrix.x4", "bf16", ((8, 16), (16, 1)), ((4, 4), (4, 1))),
)
# word, operand: copies into the registers of the product with groups (2,2,1) over (32,32,16)
OF_PRODUCTS = (
    *((f"ldmatrix.x4{trans}", "A") for trans in ("", ".trans")),
    *((f"ldmatrix.x{n}{trans}", "B") for n in (2, 4) for trans in ("", ".trans")),
    *((f"stmatrix.x{n}", "C") for n in (1, 2, 4)),
    *((f"ld.shared.{n}", what) for n in (2, 4) for what in "ABC"),
)
OF = {"A": make_tiled_copy_A, "B": make_tiled_copy_B, "C": make_tiled_copy_C}
MODES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}


def plain(tv: Layout) -> str:
    """A thread-value layout in its shortest form: the DSL leaves out extents of 1 at places of its own."""
    return str(coalesce(tv, (1, 1)))


def shown(tensor: Any) -> str:
    """A partition: where it begins, and each of its modes in its shortest form."""
    return f"{tensor.iterator} o {coalesce(tensor.layout, (1,) * len(tensor))}"


def partition(x: Any, what: str) -> Any:
    """The part of an operand of a slice, of a tensor of coordinates."""
    i, j = MODES[what]
    return getattr(x, f"partition_{what}")(make_identity_tensor((SHAPE[i], SHAPE[j])))


def answers() -> Iterator[tuple[str, str]]:
    """(question, our answer) of every case."""
    for word, groups, tile in PRODUCTS:
        mma = make_tiled_mma(word, groups, tile or (None, None, None))
        name = f"{word} {groups} {tile}"
        yield f"{name} threads", str(coalesce(mma.threads, (1, 1, 1, 1)))
        for what in "ABC":
            yield f"{name} tv {what}", plain(getattr(mma, f"tv_layout_{what}"))
            for t in (t for t in THREADS if t < mma.size):
                yield f"{name} {what} of {t}", shown(partition(mma.get_slice(t), what))
    for word, kind, threads, values in COPIES:
        tiled = make_tiled_copy(make_copy_atom(word, kind), Layout(*threads), Layout(*values))
        yield from _of_copy(f"{word} {kind} {threads} {values}", tiled)
    product = make_tiled_mma("mma.m16n8k16.bf16", (2, 2, 1), (32, 32, 16))
    for word, what in OF_PRODUCTS:
        yield from _of_copy(f"{word} of {what}", OF[what](make_copy_atom(word, "bf16"), product))


def _of_copy(name: str, tiled: Any) -> Iterator[tuple[str, str]]:
    yield f"{name} tv", plain(tiled.tv)
    yield f"{name} src", plain(tiled.layout_src_tv)
    yield f"{name} dst", plain(tiled.layout_dst_tv)
    whole = make_identity_tensor((128, 128))
    for t in (t for t in THREADS if t < tiled.threads):
        yield f"{name} S of {t}", shown(tiled.get_slice(t).partition_S(whole))
        yield f"{name} D of {t}", shown(tiled.get_slice(t).partition_D(whole))
