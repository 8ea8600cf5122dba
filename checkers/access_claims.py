"""Claims about one access at its place: aligned, inside its tensor, of whole bytes, at an index that exists."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.atoms import MemorySpace
from symlayout.expr import Fact, Quotient, Symbol, digit, integer, terms_of
from symlayout.facts import Facts, opaque_atoms, symbols_in
from symlayout.kernel import Kernel, KernelTensor
from symlayout.kernel.indices import over_indices
from symlayout.kernel.sites import Site
from symlayout.ops import Ref

from .claim import Claim, TooLarge
from .claims import (
    Aligned,
    Holds,
    InBounds,
)


def access(
    kernel: Kernel,
    site: Site,
    ref: Ref,
    nbytes: int,
    align: int = 0,
    count: int | None = None,
    where: tuple[Fact, ...] = (),
) -> Iterator[Claim]:
    """A vector access: aligned (by default to its bytes), inside its tensor, of *count* elements if given.

    *where* are facts under which alone it is made, next to those of the site.
    """
    tensor = kernel.tensor(ref.tensor)
    if tensor.space is MemorySpace.REGISTER:
        return
    width = max(1, 8 * nbytes // tensor.dtype.bits) if count is None else count
    at, given = over_indices(ref.offset, (*site.predicate, *where), kernel.dims)
    unit = tensor.dtype.bits // 8
    base = tensor.base if tensor.space is MemorySpace.SHARED else 0
    to = align or nbytes
    start = at_any_base(tensor, at, to) if tensor.space is MemorySpace.GLOBAL else at
    every: list[InBounds | Aligned] = [InBounds(at, tensor.layout.cosize() - width + 1)]
    if tensor.dtype.bits % 8 == 0:
        every.insert(0, Aligned(start, to, unit, base))
    else:
        yield from whole_bytes(site, tensor, start.offset, to, (*kernel.given, *given, *at.valid))
    slots = over_slots(at) or at
    for c in every:  # what numbers alone show needs no facts
        wider = slots if c.layout is at else over_slots(start) or start
        enough = _holds(replace(c, layout=wider))
        yield replace(c, layout=wider) if enough else replace(c, given=(*kernel.given, *given))


def whole_bytes(site: Site, tensor: KernelTensor, start: Any, to: int, given: tuple[Fact, ...]) -> Iterator[Claim]:
    """The claim that elements of less than a byte begin at a multiple of so many bytes."""
    bits = tensor.dtype.bits
    base = 8 * tensor.base if tensor.space is MemorySpace.SHARED else 0
    unit = 8 * to // math.gcd(8 * to, bits)  # elements; those of 3 bits begin at whole bytes with every eighth
    fact = Fact(integer(start + base // bits), "%", unit) if base % bits == 0 else Fact(-1, ">=")
    yield Holds(fact, f"{site.op}: {tensor.name}[{start}] begins at a multiple of {to} bytes", given=given)


def below(kernel: Kernel, site: Site, value: Any, n: Any) -> Iterator[Claim]:
    """The claim that 0 <= value < n at the site of an operation, unless the ranges of its symbols imply it."""
    if not all(Facts.about(value).holds(f) is True for f in (Fact(value, ">="), Fact(n - 1 - value, ">="))):
        at, given = over_indices(value, site.predicate, kernel.dims)
        yield InBounds(at, n, given=(*kernel.given, *given))


def at_any_base(tensor: KernelTensor, at: AddressMap, to_bytes: int) -> AddressMap:
    """A map of offsets with the base of its tensor as a coordinate, where that may be no multiple of *to_bytes*."""
    n = to_bytes // math.gcd(to_bytes, tensor.align_bytes)
    if n == 1:
        return at
    base = digit(f"{tensor.name}_base", n)
    moved = at.offset + tensor.align_bytes * 8 // tensor.dtype.bits * base
    return AddressMap((*at.coords, base), (*at.extents, n), moved, at.valid)


def _holds(claim: Claim) -> bool:
    """Whether a claim without sizes holds, by enumeration."""
    if not claim.static():
        return False
    try:
        return claim.counterexample() is None
    except TooLarge:
        return False


def over_slots(at: AddressMap) -> AddressMap | None:
    """A map with each remainder u % S as a free coordinate: a slot of a ring.

    It has all values of the map, and perhaps more, those outside of its predicate too; it needs no sizes, so a swizzle
    in it can be enumerated. None where sizes are left.
    """
    value: Any = at.offset
    if isinstance(value, tuple):
        return None
    coords, extents = list[Symbol](), list[Any]()
    for a in opaque_atoms(value):
        factor, n = terms_of(value).get((a,), 0), a.args[1] if isinstance(a, Quotient) else 0
        if factor and type(n) is int and n and factor % n == 0:
            slot = digit(f"slot_{len(coords)}", n)
            rest = value - factor * a + factor // n * a.args[0]
            if not set(a.symbols) & symbols_in((rest,)):  # c*(u % n) was all that rests on u
                value = rest - factor // n * slot
                coords.append(slot)
                extents.append(n)
    kept = [(c, n) for c, n in zip(at.coords, at.extents, strict=True) if c in symbols_in((value,))]
    if not coords or symbols_in((value,)) - {*coords, *(c for c, _ in kept)}:
        return None
    return AddressMap((*(c for c, _ in kept), *coords), (*(n for _, n in kept), *extents), value)


def bytes_at(tensor: KernelTensor, ref: Ref) -> Any:
    return ref.offset * tensor.dtype.bits // 8
