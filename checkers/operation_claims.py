"""Claims about operations at their places: copies and prefetches, plain accesses, matrices, registers and slots."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from symlayout.atoms import Extent, MatrixCopy, MemorySpace, MmaAtom
from symlayout.atoms.bulk import SIZE_UNIT_BYTES
from symlayout.atoms.descriptor import LINE_BYTES
from symlayout.atoms.ldmatrix import ROW_BYTES
from symlayout.expr import Fact
from symlayout.kernel import Kernel
from symlayout.kernel.clusters import by_rank
from symlayout.kernel.sites import Site
from symlayout.kernel.touched import elements_of
from symlayout.ops import WARP, Box, Copy, ExpectTx, Matrix, Mma, PrefetchL2, Ref, Shuffle

from .access_claims import access, below, bytes_at, whole_bytes
from .bulk_sizes import MOST_BYTES
from .claim import Claim
from .claims import Aligned, Holds, InBounds, TmaCopySafe
from .claims.transaction_bytes import beside

PHASE_BYTES = 1024  # a tensor at a multiple of this has the swizzle's phase of its own offsets


def copies(kernel: Kernel, site: Site, every: list[Site]) -> Iterator[Claim]:
    op = site.op
    assert isinstance(op, Copy)
    assert op.row is not None
    if op.row.extent is Extent.BOX:
        yield from _tensor_copy(kernel, site, every)
    elif op.row.extent is Extent.OPERAND:
        yield from _bulk_copy(kernel, site)
    elif op.row.extent is Extent.INSTRUCTION:
        for ref in op.sources:
            yield from access(kernel, site, ref, op.row.bytes, where=op.when)
        for ref in op.targets:
            yield from access(kernel, site, ref, op.row.bytes)


def peer_copies(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """Accesses to the memory of a peer are inside their tensors, which all CTAs have alike."""
    for ref in (*site.op.sources, *site.op.targets):
        assert site.op.row is not None
        yield from access(kernel, site, ref, site.op.row.bytes)


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
    offset = put(bytes_at(tensor, ref))
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
        yield from whole_bytes(site, tensor, put(ref.offset), 1, given)


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
    yield from below(kernel, site, nbytes, MOST_BYTES + 1)


def _bulk_place(kernel: Kernel, site: Site, ref: Any, nbytes: Any) -> Iterator[Claim]:
    """So many bytes from a multiple of 16 on, inside their tensor."""
    if not isinstance(ref, Ref) or kernel.tensor(ref.tensor).dtype.bits % 8:
        yield Holds(Fact(-1, ">="), f"{site.op}: elements of whole bytes at {ref}")
    elif type(nbytes) is int:
        yield from access(kernel, site, ref, max(nbytes, 1), SIZE_UNIT_BYTES)
    else:
        tensor, at = kernel.tensor(ref.tensor), bytes_at(kernel.tensor(ref.tensor), ref)
        yield from (c for c in access(kernel, site, ref, 0, SIZE_UNIT_BYTES) if not isinstance(c, InBounds))
        for end in (at, at + nbytes):
            yield from below(kernel, site, end, tensor.bytes + 1)


def prefetches(kernel: Kernel, site: Site, op: PrefetchL2) -> Iterator[Claim]:
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
        yield from (c for c in access(kernel, site, op.src, 0, 1, 1) if not isinstance(c, Aligned))
    else:
        yield from _bulk_size(kernel, site, op.bytes)
        yield from _bulk_place(kernel, site, op.src, op.bytes)


def plain_accesses(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """Values that are read from memory and memory that is filled, as accesses of a thread."""
    op = site.op
    for t in op.touches() if op.row is None else ():
        if t.elements is None or not isinstance(t.operand, Ref) or t.space is MemorySpace.REGISTER:
            continue
        tensor, n = kernel.tensor(t.operand.tensor), t.elements
        bits = tensor.dtype.bits
        yield from access(kernel, site, t.operand, -(-n * bits // 8), max(1, bits // 8), n)
        if bits % 8 and tensor.space is not MemorySpace.REGISTER:
            whole = Fact(n * bits % 8, "==")
            yield Holds(whole, f"{op}: whole bytes that it shares with no other thread", given=kernel.given)


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


def matrices(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """Rows of ldmatrix and stmatrix, and the matrices that wgmma reads, begin at whole units and stay in their tensors.

    A swizzle moves bytes within lines of 128, so a matrix stays inside where its plain layout does, of whole lines.
    """
    op, row = site.op, site.op.row
    if isinstance(row, MatrixCopy):
        for touch in op.touches():
            if isinstance(touch.operand, Ref) and touch.space is MemorySpace.SHARED:
                yield from access(kernel, site, touch.operand, ROW_BYTES, row.align_bytes)
    if isinstance(op, Mma) and isinstance(row, MmaAtom):
        for x, rows, kind in zip((op.a, op.b), row.mnk, row.types, strict=False):
            if isinstance(x, Matrix):
                t, plain = kernel.tensor(x.start.tensor), x.descriptor.layout(rows, row.mnk[2], kind)
                lines = (t.base % LINE_BYTES, t.bytes % LINE_BYTES)
                if x.descriptor.swizzle.span_bytes and lines != (0, 0):
                    yield Holds(Fact(-1, ">="), f"{t.name} is of whole lines of {LINE_BYTES} bytes, for {op.atom}")
                nbytes = int(plain.offsets().max()) + kind.bytes
                yield from access(kernel, site, x.start, nbytes, row.align_bytes)


def registers(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """The claim that an operation stays inside the registers that it names."""
    for ref in (*site.op.sources, *site.op.targets):
        tensor, width = kernel.tensor(ref.tensor), elements_of(kernel, site.op, ref)
        if tensor.space is MemorySpace.REGISTER and width is not None:
            yield from below(kernel, site, ref.offset, tensor.layout.cosize() - width + 1)


def slots(kernel: Kernel, site: Site) -> Iterator[Claim]:
    """The claim that an operation names an mbarrier, or a lane, that exists."""
    if isinstance(site.op, Shuffle):
        yield from below(kernel, site, site.op.lane, WARP)
    named = (site.op.arrives, site.op.waits, site.op.credits)
    for slot in (x for x in named if x is not None):
        yield from below(kernel, site, slot.slot, kernel.barrier(slot.barrier).slots)
