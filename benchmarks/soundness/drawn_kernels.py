"""Claims about drawn kernels, most of them with slips, and the sizes at which each claim is tried."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.inplace_kernels import random_kernel
from benchmarks.kernel_slips import mutants
from benchmarks.value_kernels import KINDS
from benchmarks.value_slips import slipped
from checkers.claim import Claim
from checkers.claims import (
    ApartInTime,
    ArithmeticFits,
    GlobalOrder,
    TransactionBytes,
)
from checkers.claims.arithmetic_fits import PartialFits
from checkers.claims.updated_once import updates
from checkers.overlaps import sharing
from symlayout import Layout, dim
from symlayout.address_map import AddressMap
from symlayout.errors import SymlayoutError
from symlayout.expr import index
from symlayout.facts import symbols_in
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import tma_reduce_add
from symlayout.ops import Barrier, ExpectTx, For, Role, rewritten, substitution

from .plain import Env


def tried_at(claim: Claim) -> tuple[tuple[Env, ...], bool]:
    """(sizes at which the kernel of a claim is tried, whether it has no slip)."""
    return getattr(claim, "_drawn", (({},), False))


def remembered(make: Callable[[Kernel], Claim], kernel: Kernel, sizes: tuple[Env, ...], clean: bool) -> Claim:
    claim = make(kernel)
    object.__setattr__(claim, "_drawn", (sizes, clean))  # no field: it is nothing that the claim says
    return claim


def drawn(r: random.Random, names: tuple[str, ...] = (), order: bool = False) -> tuple[Kernel, tuple[Env, ...], bool]:
    """(kernel, sizes, whether it has no slip) of one of some kinds, of all if none is named.

    With *order* slips are those of ``kernel_mutation``: an operation left out, moved or another, a number one off.
    """
    kernel, sizes = KINDS[r.choice(names or tuple(KINDS))](r)
    made = 0
    for _ in range(r.choice((0, 1, 1, 1, 2))):
        found = r.choice(list(mutants(kernel))) if order and r.random() < 0.8 else slipped(r, kernel)
        if found is not None:
            kernel, made = found[1], made + 1
    kernel = named_oddly(r, kernel) if r.random() < 0.3 else kernel
    known = {s.name for s in kernel.dims}
    return kernel, tuple({k: v for k, v in at.items() if k in known} for at in sizes), not made


def named_oddly(r: random.Random, kernel: Kernel) -> Kernel:
    """The kernel with names for the indices of its loops such as provers, or other loops, have for theirs."""
    loops = [op for op in kernel.walk() if isinstance(op, For)]
    every = {op.index.name for op in loops}
    names = ["warp", "last", "k_0", "slot_0", "part_0", "within_0", "any_lane", "block_k"]
    names += [f"{x}{mark}" for x in sorted(every) for mark in ("__a", "__b")]
    names += [f"{t.name}_base" for t in kernel.tensors]
    to = dict(zip(sorted(every), r.sample(names, min(len(names), len(every))), strict=False))
    alone = [op for op in loops if not {s.name for s in symbols_in((op.extent,))} & every]
    put = substitution({op.index: index(to.get(op.index.name, op.index.name), op.extent) for op in alone})
    return replace(kernel, body=rewritten(kernel.body, put), wide=tuple(map(put, kernel.wide)))


def stating(
    make: Callable[[random.Random, Kernel], Claim], names: tuple[str, ...] = (), order: bool = False
) -> tuple[Any, Any]:
    """(static, symbolic) generators of a claim about kernels of some kinds."""

    def symbolic(r: random.Random) -> Claim:
        kernel, sizes, clean = drawn(r, names, order)
        return remembered(lambda k: make(r, k), kernel, sizes, clean)

    def static(r: random.Random) -> Claim:
        kernel, sizes, clean = drawn(r, names, order)
        bound = kernel.bind(**r.choice(sizes)) if kernel.dims else kernel
        return remembered(lambda k: make(r, k), bound, ({},), clean)

    return static, symbolic


def some(r: random.Random, found: Any, what: str) -> Any:
    found = tuple(found)
    if not found:
        raise SymlayoutError(f"expected a kernel with {what}, got one without")
    return r.choice(found)


def _in_place(r: random.Random) -> tuple[Kernel, tuple[dict[str, int], ...]]:
    return random_kernel(r.randrange(1 << 30)), tuple({"N": n} for n in (1, 2, 31, 33, 64, 65, 129, 193, 257))


def global_order(symbolic: bool) -> Callable[[random.Random], Claim]:
    def make(r: random.Random) -> Claim:
        kernel, sizes = _in_place(r)
        kernel = named_oddly(r, kernel) if r.random() < 0.3 else kernel
        if not symbolic:
            kernel, sizes = kernel.bind(**r.choice(sizes)), ({},)
        return remembered(lambda k: GlobalOrder(k, "a"), kernel, sizes, False)

    return make


def updated(symbolic: bool) -> Callable[[random.Random], Claim]:
    def make(r: random.Random) -> Claim:
        kernel, clean = tma_reduce_add(3, *(dim(n, multiple_of=8) for n in "MN"), tile=(8, 32), slots=2, blocks=2), True
        for _ in range(r.choice((0, 1, 1, 2))):
            found = slipped(r, kernel)
            if found is not None:
                kernel, clean = found[1], False
        sizes: Any = ({"M": 8, "N": 8}, {"M": 40, "N": 72}, {"M": 16, "N": 64})
        if not symbolic:
            kernel, sizes = kernel.bind(**r.choice(sizes)), ({},)
        return remembered(lambda k: some(r, updates(k), "an update"), kernel, sizes, clean)

    return make


def over(r: random.Random) -> Claim:
    """Two tensors in the same bytes, mostly with a barrier between their uses."""
    k = Builder("over", grid=(1,), threads=64)
    g, z = k.global_tensor("g", "f32", Layout(64)), k.global_tensor("z", "f32", Layout((64, 4)))
    x, a = k.registers("x", "f32", 1), k.shared_tensor("a", "f32", Layout(64))
    b = k.shared_tensor("b", "f32", Layout(64), over=a(r.choice((0, 16, 32))))
    k.copy("ld.global.4", g(k.thread), x())
    k.copy("st.shared.4", x(), a(k.thread))
    for first in (0.95, 0.05):
        for i in range(r.randrange(1, 4)):
            tile, at = (a if r.random() < first else b), r.choice((k.thread, 63 - k.thread))
            what = r.random()
            if what < 0.4:
                k.copy("st.shared.4", x(), tile(at))
            elif what < 0.7:
                k.copy("ld.shared.4", tile(at), x())
            elif what < 0.8:
                k.sync()
            else:
                k.fence("async")
                k.sync()
                with k.elect():
                    k.copy("bulk.store", tile(), z(64 * i), nbytes=256)
                    k.commit("bulk")
                    k.wait_group("bulk", r.choice((0, 0, 1)), read=r.random() < 0.5)
        if first > 0.5 and r.random() < 0.9:
            k.sync()
    with k.elect():
        k.wait_group("bulk", 0)
    k.copy("st.global.4", x(), z(k.thread))
    kernel = k.kernel()
    return remembered(lambda k: ApartInTime(k, *some(r, sharing(k), "shared bytes")), kernel, ({},), False)


def resized(r: random.Random, kernel: Kernel, parts: tuple[int, ...]) -> Kernel:
    """A kernel with another grid (0), other threads (1), clusters, arrivals, registers, shared bytes, barriers (6)."""
    what = r.choice(parts)
    if what == 0 and kernel.dims:
        n = r.choice(kernel.dims) * r.choice((1, 32, 1024, 1 << 15))
        grid = (*kernel.grid, n) if r.random() < 0.7 else (n,)
        return replace(kernel, grid=grid[:4])
    if what == 1:
        return replace(kernel, threads=r.choice((kernel.threads * 4, 1024, 2048, 1056)))
    if what == 2:
        return replace(kernel, cluster=r.choice(((2,), (8,), (16,), (17,), (3, 2))))
    if what == 3 and kernel.barriers:
        rows = [replace(b, arrivals=r.choice((0, 1, 1 << 20, (1 << 20) - 1))) for b in kernel.barriers]
        return replace(kernel, barriers=tuple(rows))
    if what == 4:
        rows = [
            replace(t, layout=Layout(r.choice((16, 120, 255, 256, 300)))) if t.space == "register" else t
            for t in kernel.tensors
        ]
        return replace(kernel, tensors=tuple(rows))
    if what == 5:
        rows = [
            replace(t, base=t.base + r.choice((0, 512, 100_000, 225_000))) if t.space == "shared" else t
            for t in kernel.tensors
        ]
        return replace(kernel, tensors=tuple(rows))
    step, n = r.choice((0, 8, 15, 16)), r.choice((24, 40, 232, 240, 260))

    def changed(op: Any) -> list[Any]:
        if isinstance(op, Barrier):
            return [replace(op, number=op.number + step)]
        return [replace(op, registers=n) if isinstance(op, Role) else op]

    return kernel.edited(changed)


def limits(make: Callable[[Kernel], Claim], parts: tuple[int, ...], names: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """(static, symbolic) generators of a claim about what a launch takes."""

    def symbolic(r: random.Random) -> Claim:
        kernel, sizes, _ = drawn(r, names)
        big = tuple({k: v * r.choice((1, 1 << 12, 1 << 20)) for k, v in at.items()} for at in sizes)
        return remembered(make, resized(r, kernel, parts), (*sizes, *big), False)

    def static(r: random.Random) -> Claim:
        kernel, sizes, _ = drawn(r, names)
        bound = resized(r, kernel.bind(**r.choice(sizes)) if kernel.dims else kernel, parts)
        return remembered(make, bound, ({},), False)

    return static, symbolic


def wide(symbolic: bool) -> Callable[[random.Random], Claim]:
    """Claims about the arithmetic of kernels of 32 bits, tried where one size is at its end."""

    def make(r: random.Random) -> Claim:
        kernel, sizes, _ = drawn(r)
        ends = [
            {**sizes[0], s.name: ((1 << 31) - r.choice((1, 8, 200))) // s.multiple * s.multiple} for s in kernel.dims
        ]
        kernel = replace(kernel, index_bits=r.choice((32, 32, 64)))
        if not symbolic:
            kernel, ends = kernel.bind(**r.choice((*ends, *sizes))) if kernel.dims else kernel, [{}]
        return remembered(ArithmeticFits, kernel, tuple(ends), False)

    return make


def partial(make: Callable[[random.Random], Any]) -> Callable[[random.Random], Claim]:
    """A value that stands for a partial result."""

    def made(r: random.Random) -> Claim:
        every = (make(r) for _ in range(1000))  # of which one in eight or so is an expression over indices
        c = next(c for c in every if isinstance(c.layout, AddressMap))
        return PartialFits(c.layout, bits=c.bits, code="x", place="y", given=c.given)

    return made


def armed(r: random.Random, k: Kernel) -> Claim:
    names = {op.barrier.barrier for op in k.walk() if isinstance(op, ExpectTx)}
    return TransactionBytes(k, some(r, sorted(names), "an expect_tx"))
