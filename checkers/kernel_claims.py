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

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome, Report, Verdict
from symlayout.arch import SM90, Arch
from symlayout.atoms import Extent, MatrixCopy, MemorySpace, MmaAtom
from symlayout.atoms.bulk import SIZE_UNIT_BYTES
from symlayout.atoms.descriptor import LINE_BYTES
from symlayout.atoms.ldmatrix import ROW_BYTES
from symlayout.expr import Fact, Quotient, Symbol, digit, integer, terms_of
from symlayout.facts import Facts, opaque_atoms, symbols_in
from symlayout.facts.scope import ranges_in_words
from symlayout.int_tuple import leaves
from symlayout.kernel import Kernel, KernelMap, KernelTensor
from symlayout.kernel.clusters import by_rank
from symlayout.kernel.indices import over_indices
from symlayout.kernel.sites import Site, sites
from symlayout.kernel.touched import elements_of
from symlayout.ops import WARP, Box, Copy, ExpectTx, Matrix, Mma, PrefetchL2, Ref, Shuffle
from symlayout.rules.readings import alignment
from symlayout.tma import TensorMap

from . import prover
from .budget import Budget
from .bulk_sizes import MOST_BYTES
from .claim import Claim, TooLarge, facts_of
from .claims import (
    Aligned,
    ArithmeticFits,
    Computes,
    HappensBefore,
    Holds,
    InBounds,
    Launchable,
    RegistersFit,
    RingProtocol,
    SharedMemoryFits,
    TensorMapValid,
    TmaCopySafe,
    TransactionBytes,
    WellFormed,
    WrittenOnce,
)
from .claims.global_order import global_orders
from .claims.transaction_bytes import beside
from .claims.updated_once import updates
from .coverage.store_sites import outputs, reduced
from .redundant import redundant
from .repairs.weakest import joint
from .rings.recognised import rings_of

NOTHING_ELSE = "not asked: anything else, since an operation cannot be read"
PHASE_BYTES = 1024  # a tensor at a multiple of this has the swizzle's phase of its own offsets


QUICK = Budget(seconds=5, solver_ms=500, repairs=False)  # of a proof that tries whether an operation is needed


def prove_kernel(kernel: Kernel, arch: Arch = SM90, *, given: Iterable[Fact] = (), **options: Any) -> Report:
    """The report on every claim of a kernel; what ``prove(kernel)`` calls, with its options.

    What the tensor maps need of the sizes often repairs their copies too: it is tried before any other repair, so
    ``kernel.assuming(*report.repairs)`` assumes no more than it must.

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> M, N = dims("M N")
    >>> k = tma_copy(M, N, blocks=132)
    >>> report = prove_kernel(k)
    >>> report.repairs, bool(prove_kernel(k.assuming(*report.repairs)))
    ((N % 4 == 0,), True)
    """
    kernel = kernel.assuming(*facts_of(tuple(given)))
    claims = claims_of(kernel, arch)
    report = prover.report_on(claims, **options)
    digest, on = kernel.digest, str(arch)
    verdicts = tuple(
        v if v.digest == digest and v.arch == on else replace(v, digest=digest, arch=on) for v in report.verdicts
    )
    readable = any(not isinstance(c, WellFormed) for c in claims)
    notes = (*report.notes, *_not_asked(kernel)) if readable else (NOTHING_ELSE,)
    spare = functools.partial(redundant, kernel, functools.partial(_quickly, arch))
    own: dict[str, Any] = {"spare": spare, **_scope(kernel)}
    report = replace(report, verdicts=verdicts, notes=notes, digest=digest, arch=on, **own)
    needed = joint(f for v in report.verdicts if _of_a_map(v) for f in v.repairs)
    if not needed:
        return report
    found = tuple(v if _of_a_map(v) else _under(v, needed, options) for v in report.verdicts)
    return replace(report, verdicts=found, repairs=joint(f for v in found for f in v.repairs))


def _quickly(arch: Arch, kernel: Kernel) -> bool:
    """Whether all claims of a kernel are proved, those about order first."""
    return bool(prover.report_on(HappensBefore(kernel), budget=QUICK)) and bool(
        prover.report_on(claims_of(kernel, arch), budget=QUICK)
    )


def _scope(kernel: Kernel) -> Any:
    """For which sizes and under which assumptions a kernel is proved."""
    given, sizes = tuple(map(str, kernel.given)), ranges_in_words(kernel.dims)
    return {"name": kernel.name, "sizes": sizes, "given": given, "assumed": kernel.assumed}


def _not_asked(kernel: Kernel) -> Iterator[str]:
    """Questions that no claim covers: values without a result, the number of reductions, assumptions about data."""
    updated = [name for name in reduced(kernel) if name not in {c.output for c in updates(kernel)}]
    for name in sorted({*outputs(kernel)} - {*reduced(kernel)} - {r.tensor for r in kernel.results}):
        yield f"not asked: which values are stored to {name} (no result is stated; Builder.result states one)"
    for name in updated:
        yield f"not asked: how often each element of {name} is updated, and that it is written exactly once"
    for sentence in kernel.assumed:
        yield f"assumed: {sentence}"


def _of_a_map(v: Verdict) -> bool:
    return isinstance(getattr(v.claim, "subject", None), TensorMap)


def _under(v: Verdict, needed: tuple[Fact, ...], options: Any) -> Verdict:
    """A refutation with the repair that the maps need anyway, where that is one for it too."""
    if v.outcome is not Outcome.REFUTED or set(v.repairs) == set(needed):
        return v
    stronger = replace(v.claim, given=(*v.claim.given, *needed))
    if not prover.report_on(stronger, **options):
        return v
    return replace(v, repairs=needed, condition=f"{' and '.join(map(str, needed))}, which the tensor maps need as well")


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
        *(TensorMapValid(x, name=m.name, given=kernel.given) for m in kernel.maps for x in at_its_bases(kernel, m)),
        *_inside(kernel),
        SharedMemoryFits(kernel, arch),
        *(c for s in every if isinstance(s.op, Copy) for c in _copy(kernel, s, every)),
        *(c for s in every if isinstance(s.op, PrefetchL2) for c in _prefetch(kernel, s, s.op)),
        *(c for s in every for c in _plain_access(kernel, s)),
        *{(str(c), c.given): c for s in every for c in _matrices(kernel, s)}.values(),
        *(c for s in every for c in (*_registers(kernel, s), *_slots(kernel, s))),
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


# -- copies ---------------------------------------------------------------------------------------------


def _copy(kernel: Kernel, site: Site, every: list[Site]) -> Iterator[Claim]:
    op = site.op
    assert isinstance(op, Copy)
    assert op.row is not None
    if op.row.extent is Extent.BOX:
        yield from _tensor_copy(kernel, site, every)
    elif op.row.extent is Extent.OPERAND:
        yield from _bulk_copy(kernel, site)
    elif op.row.extent is Extent.INSTRUCTION:
        for ref in op.sources:
            yield from _access(kernel, site, ref, op.row.bytes, where=op.when)
        for ref in op.targets:
            yield from _access(kernel, site, ref, op.row.bytes)


def _tensor_copy(kernel: Kernel, site: Site, every: list[Site]) -> Iterator[Claim]:
    """A tensor copy at its place: coordinates, the slot in its tensor, what its barrier awaits if it is alone there."""
    op = site.op
    assert isinstance(op, Copy)
    box, ref = (op.src, op.dst) if isinstance(op.src, Box) else (op.dst, op.src)
    if not isinstance(box, Box) or not isinstance(ref, Ref):
        return
    put = by_rank(kernel)
    given = (*kernel.given, *map(put, site.conditions))
    tensor = kernel.tensor(ref.tensor)
    offset = put(_bytes_at(tensor, ref))
    phased = tensor.base % PHASE_BYTES == 0
    yield TmaCopySafe(
        kernel.map(box.tensor_map).tensor_map,
        tuple(map(put, box.coordinate)),
        offset if phased else tensor.base + offset,
        "load" if isinstance(op.src, Box) else "reduce" if op.reduction else "store",
        shared_bytes=tensor.bytes if phased else tensor.base + tensor.bytes,
        barrier_bytes=put(_armed(site, every)),
        name=box.tensor_map,
        op=op.reduction.function if op.reduction else "",
        given=given,
    )
    if not phased:
        yield Holds(Fact(offset, ">="), f"{op} starts in {tensor.name}", given=given)
    if tensor.dtype.bits % 8:  # bytes are rounded down
        yield from _whole_bytes(site, tensor, put(ref.offset), 1, given)


def _bulk_copy(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """A bulk copy at its place: whole units of 16 bytes, from and to multiples of 16, inside both tensors."""
    op = site.op
    assert isinstance(op, Copy)
    assert op.bytes is not None
    yield from _bulk_size(kernel, site, op.bytes)
    for ref in (op.src, op.dst):
        yield from _bulk_place(kernel, site, ref, op.bytes)


def _bulk_size(kernel: Kernel, site: Site, nbytes: Any) -> Iterator[Claim]:
    facts = (*kernel.given, *site.conditions)
    yield Holds(Fact(nbytes, "%", SIZE_UNIT_BYTES), f"{site.op}: a multiple of {SIZE_UNIT_BYTES} bytes", given=facts)
    yield from _below(kernel, site, nbytes, MOST_BYTES + 1)


def _bulk_place(kernel: Kernel, site: Site, ref: Any, nbytes: Any) -> Iterator[Claim]:
    """So many bytes from a multiple of 16 on, inside their tensor."""
    if not isinstance(ref, Ref) or kernel.tensor(ref.tensor).dtype.bits % 8:
        yield Holds(Fact(-1, ">="), f"{site.op}: elements of whole bytes at {ref}")
    elif type(nbytes) is int:
        yield from _access(kernel, site, ref, max(nbytes, 1), SIZE_UNIT_BYTES)
    else:
        tensor, at = kernel.tensor(ref.tensor), _bytes_at(kernel.tensor(ref.tensor), ref)
        yield from (c for c in _access(kernel, site, ref, 0, SIZE_UNIT_BYTES) if not isinstance(c, InBounds))
        for end in (at, at + nbytes):
            yield from _below(kernel, site, end, tensor.bytes + 1)


def _prefetch(kernel: Kernel, site: Site, op: PrefetchL2) -> Iterator[Claim]:
    """A prefetch is legal where a load is that puts its bytes nowhere."""
    if isinstance(op.src, Box):
        put = by_rank(kernel)
        yield TmaCopySafe(
            kernel.map(op.src.tensor_map).tensor_map,
            tuple(map(put, op.src.coordinate)),
            name=f"prefetch of {op.src.tensor_map}",
            given=(*kernel.given, *map(put, site.conditions)),
        )
    elif op.bytes is None:
        yield from (c for c in _access(kernel, site, op.src, 0, 1, 1) if not isinstance(c, Aligned))
    else:
        yield from _bulk_size(kernel, site, op.bytes)
        yield from _bulk_place(kernel, site, op.src, op.bytes)


def _plain_access(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """Values that are read from memory and memory that is filled, as accesses of a thread."""
    op = site.op
    for t in op.touches() if op.row is None else ():
        if t.elements is None or not isinstance(t.operand, Ref) or t.space is MemorySpace.REGISTER:
            continue
        tensor, n = kernel.tensor(t.operand.tensor), t.elements
        bits = tensor.dtype.bits
        yield from _access(kernel, site, t.operand, -(-n * bits // 8), max(1, bits // 8), n)
        if bits % 8 and tensor.space is not MemorySpace.REGISTER:
            whole = Fact(n * bits % 8, "==")
            yield Holds(whole, f"{op}: whole bytes that it shares with no other thread", given=kernel.given)


def _bytes_at(tensor: KernelTensor, ref: Ref) -> Any:
    return ref.offset * tensor.dtype.bits // 8


def _armed(site: Site, every: list[Site]) -> Any:
    """The bytes that the expect_tx of a copy arms, if it is the only copy on that barrier, and to this CTA alone."""
    op = site.op
    assert isinstance(op, Copy)
    if op.barrier is None or op.multicast is not None:
        return None
    name = op.barrier.barrier
    loads = [s for s in every if s.op.credits_to(name)]
    arms = [s for s in every if isinstance(s.op, ExpectTx) and s.op.barrier == op.barrier and beside(s, site)]
    alone = len(loads) == 1 and len(arms) == 1 and len(arms[0].loops) == len(site.loops)
    return arms[0].op.bytes if alone else None  # type: ignore[attr-defined]


def _access(
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
    every: list[Claim] = [InBounds(at, tensor.layout.cosize() - width + 1)]
    if tensor.dtype.bits % 8 == 0:
        every.insert(0, Aligned(start, to, unit, base))
    else:
        yield from _whole_bytes(site, tensor, start.offset, to, (*kernel.given, *given, *at.valid))
    slots = over_slots(at) or at
    for c in every:  # what numbers alone show needs no facts
        wider = slots if c.layout is at else over_slots(c.layout) or c.layout  # type: ignore[attr-defined]
        enough = _holds(replace(c, layout=wider))  # type: ignore[call-arg]
        yield replace(c, layout=wider) if enough else replace(c, given=(*kernel.given, *given))  # type: ignore[call-arg]


def _whole_bytes(site: Site, tensor: KernelTensor, start: Any, to: int, given: tuple[Fact, ...]) -> Iterator[Claim]:
    """The claim that elements of less than a byte begin at a multiple of so many bytes."""
    bits = tensor.dtype.bits
    base = 8 * tensor.base if tensor.space is MemorySpace.SHARED else 0
    unit = 8 * to // math.gcd(8 * to, bits)  # elements; those of 3 bits begin at whole bytes with every eighth
    fact = Fact(integer(start + base // bits), "%", unit) if base % bits == 0 else Fact(-1, ">=")
    yield Holds(fact, f"{site.op}: {tensor.name}[{start}] begins at a multiple of {to} bytes", given=given)


def _matrices(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """Rows of ldmatrix and stmatrix, and the matrices that wgmma reads, begin at whole units and stay in their tensors.

    A swizzle moves bytes within lines of 128, so a matrix stays inside where its plain layout does, of whole lines.
    """
    op, row = site.op, site.op.row
    if isinstance(row, MatrixCopy):
        for touch in op.touches():
            if isinstance(touch.operand, Ref) and touch.space is MemorySpace.SHARED:
                yield from _access(kernel, site, touch.operand, ROW_BYTES, row.align_bytes)
    if isinstance(op, Mma) and isinstance(row, MmaAtom):
        for x, rows in ((op.a, row.mnk[0]), (op.b, row.mnk[1])):
            if isinstance(x, Matrix):
                t, plain = kernel.tensor(x.start.tensor), x.descriptor.layout(rows, row.mnk[2], row.dtype)
                lines = (t.base % LINE_BYTES, t.bytes % LINE_BYTES)
                if x.descriptor.swizzle.span_bytes and lines != (0, 0):
                    yield Holds(Fact(-1, ">="), f"{t.name} is of whole lines of {LINE_BYTES} bytes, for {op.atom}")
                nbytes = int(plain.offsets().max()) + row.dtype.bytes
                yield from _access(kernel, site, x.start, nbytes, row.align_bytes)


def _registers(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """The claim that an operation stays inside the registers that it names."""
    for ref in (*site.op.sources, *site.op.targets):
        tensor, width = kernel.tensor(ref.tensor), elements_of(kernel, site.op, ref)
        if tensor.space is MemorySpace.REGISTER and width is not None:
            yield from _below(kernel, site, ref.offset, tensor.layout.cosize() - width + 1)


def _slots(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """The claim that an operation names an mbarrier, or a lane, that exists."""
    if isinstance(site.op, Shuffle):
        yield from _below(kernel, site, site.op.lane, WARP)
    named = (site.op.arrives, site.op.waits, site.op.credits)
    for slot in (x for x in named if x is not None):
        yield from _below(kernel, site, slot.slot, kernel.barrier(slot.barrier).slots)


def _below(kernel: Kernel, site: Site, value: Any, n: Any) -> Iterator[Claim]:
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


def at_its_bases(kernel: Kernel, m: KernelMap) -> tuple[TensorMap, ...]:
    """A tensor map at the addresses that its tensor may have, which counts from the base of that.

    What its address has to be a multiple of is a rule of maps. Where the base need be no such multiple, the map fails
    at one of two bases, whatever it adds to them.
    """
    align, at_zero = kernel.tensor(m.tensor).align_bytes, m.tensor_map
    if align % alignment(at_zero, 0) == 0:
        return (at_zero,)
    return at_zero, replace(at_zero, global_address=at_zero.global_address + align)


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
