"""All that a kernel has to keep, as claims about its value.

>>> from symlayout import dims
>>> from symlayout.kernels import tma_copy
>>> M, N = dims("M N")
>>> for c in claims_of(tma_copy(M, N, tile=(16, 64), blocks=132).assuming(N.multiple_of(4))):
...     print(c.kind)
arithmetic fits
tensor map valid
tensor map valid
shared memory fits
TMA copy safe
TMA copy safe
written once
transaction bytes
ring protocol
happens before
computes
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from symlayout.arch import SM90, Arch
from symlayout.expr import Fact
from symlayout.facts import Facts
from symlayout.int_tuple import leaves
from symlayout.kernel import Kernel, KernelMap
from symlayout.kernel.sites import sites
from symlayout.ops import Copy, PeerCopy, PrefetchL2
from symlayout.rules.readings import alignment
from symlayout.tma import TensorMap

from .claim import Claim
from .claims import (
    ArithmeticFits,
    Computes,
    HappensBefore,
    Holds,
    Launchable,
    RegistersFit,
    RingProtocol,
    SharedMemoryFits,
    TensorMapValid,
    TransactionBytes,
    WellFormed,
    WrittenOnce,
)
from .claims.global_order import global_orders
from .claims.updated_once import updates
from .coverage.store_sites import outputs, reduced
from .operation_claims import copies, matrices, peer_copies, plain_accesses, prefetches, registers, slots
from .rings.recognised import rings_of


def claims_of(kernel: Kernel, arch: Arch = SM90) -> list[Claim]:
    """The claims of a kernel, in the order in which an expert would ask: maps, memory, copies, cover, order.

    Of a kernel with an operation that cannot be read there is one: that it is well formed, which is refuted.
    """
    if not WellFormed(kernel).readable:
        return [WellFormed(kernel)]
    written, sized = kernel, list(_extents(kernel))
    kernel = kernel.plain.assuming(*(c.fact for c in sized))
    every = list(sites(kernel))
    rings = rings_of(kernel)
    armed = {s.op.expects.barrier for s in every if s.op.expects is not None}
    return [
        *(c for c in (WellFormed(written), RegistersFit(kernel, arch)) if c.telling),
        *sized,
        *_grid(kernel),
        *(c for c in (Launchable(kernel, arch),) if c.telling),
        ArithmeticFits(written),
        *(TensorMapValid(x, name=m.name, given=kernel.given) for m in kernel.maps for x in _at_its_bases(kernel, m)),
        *_inside(kernel),
        SharedMemoryFits(kernel, arch),
        *(c for s in every if isinstance(s.op, Copy) for c in copies(kernel, s, every)),
        *(c for s in every if isinstance(s.op, PeerCopy) for c in peer_copies(kernel, s)),
        *(c for s in every if isinstance(s.op, PrefetchL2) for c in prefetches(kernel, s, s.op)),
        *(c for s in every for c in plain_accesses(kernel, s)),
        *{(str(c), c.given): c for s in every for c in matrices(kernel, s)}.values(),
        *(c for s in every for c in (*registers(kernel, s), *slots(kernel, s))),
        *(WrittenOnce(kernel, name) for name in outputs(kernel) if name not in reduced(kernel)),
        *updates(kernel),
        *global_orders(kernel),
        *(TransactionBytes(kernel, b) for b in dict.fromkeys((*(r.full for r in rings if r.tensors), *sorted(armed)))),
        *(RingProtocol(kernel, r.full) for r in rings),
        HappensBefore(kernel),
        *(Computes(kernel, r.tensor) for r in kernel.results),
    ]


def _grid(kernel: Kernel) -> Iterator[Claim]:
    for axis, n in zip("xyz", kernel.grid, strict=False):
        if type(n) is not int or n < 1:
            fact = Fact(n - 1, ">=")
            yield Holds(fact, f"the grid is not empty in {axis}: {n} >= 1", given=kernel.given)


def _extents(kernel: Kernel) -> Iterator[Holds]:
    """The claim that tensors have elements, where sizes could be 0.

    All else assumes it: otherwise the kernel is not launched.
    """
    facts = Facts.about(*kernel.dims, given=kernel.given)
    names: dict[Any, list[str]] = {}
    for t in kernel.tensors:
        for n in leaves(t.layout.shape):
            if type(n) is not int and facts.le(1, n) is not True:
                names.setdefault(n, []).append(t.name)
    for n, tensors in names.items():
        which = f"{', '.join(dict.fromkeys(tensors))} {'has' if len(set(tensors)) == 1 else 'have'}"
        yield Holds(Fact(n - 1, ">="), f"{which} elements: {n} >= 1", given=kernel.given)


def _at_its_bases(kernel: Kernel, m: KernelMap) -> tuple[TensorMap, ...]:
    """A tensor map at the addresses that its tensor may have, which counts from the base of that.

    What its address has to be a multiple of is a rule of maps. Where the base need be no such multiple, the map fails
    at one of two bases, whatever it adds to them.
    """
    align, at_zero = kernel.tensor(m.tensor).align_bytes, m.tensor_map
    if align % alignment(at_zero, 0) == 0:
        return (at_zero,)
    return at_zero, replace(at_zero, global_address=at_zero.global_address + align)


def _inside(kernel: Kernel) -> Iterator[Claim]:
    """The claim that each tensor map stays within its tensor, where the forms of the two do not show it.

    Boxes are cut off at the end of the map: of one that ends behind its tensor nothing else tells.
    """
    for m in kernel.maps:
        tensor, through = kernel.tensor(m.tensor), m.tensor_map
        if through.interleave:
            continue  # whose first dimension is not that of the bytes
        last = sum((n - 1) * d for n, d in zip(through.global_dim[1:], through.global_stride_bytes, strict=True))
        end = 8 * (through.global_address + last) + through.global_dim[0] * through.element_bits
        left = tensor.layout.cosize() * tensor.dtype.bits - end
        if type(left) is not int or left < 0:
            yield Holds(
                Fact(left, ">="), f"{m.name} ends within {m.tensor}: bits left behind it >= 0", given=kernel.given
            )
