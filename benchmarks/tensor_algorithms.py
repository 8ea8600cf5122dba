"""Random tensors through copy, copy_if, fill and axpby: NumPy, the untimed run of a kernel and the definition agree.

    python -m benchmarks.tensor_algorithms --layouts 10000 --kernels 200

A layout is drawn with its sizes as numbers, and with symbols for some, which are bound afterwards: both have to give
the same elements. The definition is the loop of CuTe's page. The last line says how many were drawn and how many
disagreed; the exit status is 1 if one did.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout import Layout, Tensor, dim, evaluate, make_tensor
from symlayout.algorithms import axpby, choose_copy, copy, copy_if, fill, make_gmem_ptr, make_rmem_ptr
from symlayout.int_tuple import leaves, unflatten
from symlayout.kernel import Builder
from symlayout.semantics import execute


@dataclass(frozen=True)
class Drawn:
    """A layout with numbers, the same one with symbols for some extents and strides, and the values of these."""

    plain: Layout
    symbolic: Layout
    values: dict[Any, int]


def drawn(draw: random.Random, size: int, number: int) -> Drawn:
    """A layout of *size* elements, compact in some order or padded, nested or not."""
    shape, left = [], size
    while left > 1 and len(shape) < 3:
        n = draw.choice([d for d in range(1, left + 1) if left % d == 0])
        shape, left = [*shape, n], left // n
    shape.append(left)
    order, stride, at = draw.sample(range(len(shape)), len(shape)), [0] * len(shape), 1
    for i in order:
        stride[i], at = at, at * shape[i] + draw.choice((0, 0, 1, 3))
    profile: Any = tuple(shape) if len(shape) < 3 or draw.random() < 0.5 else ((shape[0], shape[1]), *shape[2:])
    values: dict[Any, int] = {}

    def symbol(n: int, name: str) -> Any:
        if draw.random() < 0.5:
            return n
        s = dim(f"{name}{number}_{len(values)}")
        values[s] = n
        return s

    shapes = unflatten(tuple(symbol(n, "n") for n in shape), profile)
    strides = unflatten(tuple(symbol(d, "d") if d > 1 else d for d in stride), profile)
    return Drawn(Layout(profile, unflatten(tuple(stride), profile)), Layout(shapes, strides), values)


def bound(x: Drawn) -> Layout:
    """The symbolic layout at its values."""
    shape, stride = (
        unflatten(tuple(evaluate(n, x.values) for n in leaves(t)), x.plain.shape)
        for t in (x.symbolic.shape, x.symbolic.stride)
    )
    return Layout(shape, stride)


def disagreements(draw: random.Random, number: int) -> Iterator[str]:
    """What differs for one pair of layouts."""
    size = draw.choice((1, 2, 3, 4, 6, 8, 12, 16, 24, 36))
    a, b = drawn(draw, size, 2 * number), drawn(draw, size, 2 * number + 1)
    if bound(a) != a.plain or bound(b) != b.plain:
        yield f"the symbolic layouts of {a.plain}, {b.plain} at their values"
    x = np.arange(1, int(a.plain.cosize()) + 1, dtype=np.float32)
    room = int(b.plain.cosize())
    keep = [draw.random() < 0.5 for _ in range(size)]
    want, some = np.zeros(room, np.float32), np.zeros(room, np.float32)
    for i in range(size):
        want[b.plain(i)] = x[a.plain(i)]
        if keep[i]:
            some[b.plain(i)] = x[a.plain(i)]
    src = make_tensor(x, a.plain)
    for what, expected, call in (
        ("copy", want, lambda t: copy(src, t)),
        ("copy_if", some, lambda t: copy_if(lambda i: keep[i], src, t)),
        ("fill", np.where(want != 0, np.float32(7), 0), lambda t: fill(t, 7)),
        ("axpby", 2 * want, lambda t: axpby(np.float32(2), src, np.float32(0), t)),
    ):
        got = np.zeros(room, np.float32)
        call(make_tensor(got, b.plain))
        if not np.array_equal(got, expected):
            yield f"{what} {a.plain} -> {b.plain}"
    yield from _vector(a, b, size)


def _vector(a: Drawn, b: Drawn, size: int) -> Iterator[str]:
    """The vector that is chosen with symbols is right at their values: side by side, and at whole multiples of it."""
    tensors = Tensor(make_gmem_ptr(dtype="f32"), a.symbolic), Tensor(make_rmem_ptr(dtype="f32"), b.symbolic)
    plain = [Tensor(x.iterator, y.plain) for x, y in zip(tensors, (a, b), strict=True)]
    loose, tight = choose_copy(*tensors), choose_copy(*plain)
    if loose.elements > tight.elements:
        yield f"a vector of {loose.elements} for {a.symbolic} -> {b.symbolic}, {tight.elements} at {a.values, b.values}"
    n = loose.elements
    if n > 1:
        order = sorted(range(size), key=b.plain)
        for first in range(0, size, n):
            offsets = [a.plain(i) for i in order[first : first + n]]
            if offsets != list(range(offsets[0], offsets[0] + n)) or offsets[0] % n:
                yield f"vectors of {n} for {a.plain} -> {b.plain}: {offsets}"


def kernel_differs(draw: random.Random, number: int) -> Iterator[str]:
    """A kernel of one warp that copies a tensor, run on NumPy memory in two orders, against the definition."""
    size = draw.choice((1, 4, 8, 12, 16, 24))
    a, b = drawn(draw, size, 2 * number), drawn(draw, size, 2 * number + 1)
    k = Builder("copied", grid=(1,), threads=32)
    src, dst = (
        k.tensor(k.global_tensor(n, "f32", Layout(int(x.plain.cosize())))(), x.plain)
        for n, x in (("src", a), ("dst", b))
    )
    with k.where(k.thread < 1):
        k.copy(src, dst)
    x = np.arange(1, int(a.plain.cosize()) + 1, dtype=np.float32)
    want = np.zeros(int(b.plain.cosize()), np.float32)
    for i in range(size):
        want[b.plain(i)] = x[a.plain(i)]
    for order in ("eager", "lazy"):
        got = execute(k.kernel(), {"src": x, "dst": np.zeros_like(want)}, order)["dst"]
        if not np.array_equal(got, want):
            yield f"kernel ({order}) {a.plain} -> {b.plain}"


def campaign(layouts: int, kernels: int, seed: int = 0) -> list[str]:
    """What disagrees among so many pairs of layouts and so many kernels."""
    draw = random.Random(seed)
    found = [what for i in range(layouts // 2) for what in disagreements(draw, i)]
    return found + [what for i in range(kernels) for what in kernel_differs(draw, i)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layouts", type=int, default=10_000)
    parser.add_argument("--kernels", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = campaign(given.layouts, given.kernels, given.seed)
    print(*found[:20], sep="\n")
    print(f"{given.layouts} layouts and {given.kernels} kernels, {len(found)} disagreements")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
