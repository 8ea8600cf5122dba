"""Operations on data as C++: copies, products, and what threads compute in registers."""

from __future__ import annotations

from symlayout.atoms import CachePolicy, MatrixCopy, MmaAtom
from symlayout.atoms.access import Completion
from symlayout.atoms.atom import values_of
from symlayout.atoms.functions import map_function
from symlayout.errors import LayoutError
from symlayout.expr import Int
from symlayout.kernel.sites import Site
from symlayout.ops import Box, Copy, Fill, Map, Matrix, Mma, Operand, Param, PeerCopy, PrefetchL2, Reduce, Ref, Shuffle

from .. import ptx
from .numbers import applied, ctype, number
from .page import Page

PACKED = ("bf16", "f16")  # two of them are rounded at once


# -- copies -----------------------------------------------------------------------------------------------


def copy(p: Page, site: Site) -> None:
    """A copy by its atom: through a tensor map, of bytes, asynchronous, of matrices, a reduction, or of one vector."""
    op = site.op
    assert isinstance(op, Copy)
    assert op.row is not None
    name = op.atom.replace(".", "_")
    if op.box is not None:
        _box(p, op, op.box)
    elif op.bytes is not None:
        _bulk(p, op, op.bytes)
    elif isinstance(op.row, MatrixCopy):
        p.call(name, p.place(_ref(op.src)), p.place(_ref(op.dst)))
    elif op.when:
        given = p.place(_ref(op.dst)), p.place(_ref(op.src)), p.condition(op.when)
        p.call(ptx.named(name.replace("cp_async", "cp_async_or_zero"), op.cache), *given, *_policy(p, op.cache))
    elif op.cache is not None or op.reduction is not None or op.completion is Completion.CP_ASYNC:
        p.call(ptx.named(name, op.cache), p.place(_ref(op.dst)), p.place(_ref(op.src)), *_policy(p, op.cache))
    else:
        to, source = p.place(_ref(op.dst)), p.place(_ref(op.src))
        p.line(f"vector<{op.row.bytes}>({to}) = vector<{op.row.bytes}>({source});")


def peer_copy(p: Page, site: Site) -> None:
    """An access to the shared memory of a CTA of the cluster, at the place that the tensor has in each of them."""
    op = site.op
    assert isinstance(op, PeerCopy)
    on = () if op.barrier is None else (p.slot(op.barrier),)
    p.call(op.atom.replace(".", "_"), p.place(op.dst), p.place(op.src), *on, p.c(op.peer))


def prefetch_l2(p: Page, site: Site) -> None:
    """A box, bytes or a line that L2 is to have."""
    op = site.op
    assert isinstance(op, PrefetchL2)
    if isinstance(op.src, Box):
        at = [p.c(x) for x in op.src.coordinate]
        p.call(f"tma_prefetch_{_hinted(op)}{len(at)}d", op.src.tensor_map, *at, *_policy(p, op.cache))
    elif op.bytes is not None:
        given = p.place(op.src), p.c(op.bytes), *_policy(p, op.cache)
        p.call(f"bulk_prefetch_{_hinted(op)}".rstrip("_"), *given)
    else:
        p.call("prefetch_l2" + (f"_{op.cache.l2}" if op.cache else ""), p.place(op.src))


def _hinted(op: Copy | PrefetchL2) -> str:
    return "hint_" if op.cache is not None and op.cache.l2 else ""


def _policy(p: Page, cache: CachePolicy | None) -> tuple[str, ...]:
    """The operand that says the priority in L2."""
    return (p.policies[cache.l2],) if cache is not None and cache.l2 else ()


def _box(p: Page, op: Copy, box: Box) -> None:
    rank, at = len(box.coordinate), [p.c(x) for x in box.coordinate]
    hint, policy = _hinted(op), _policy(p, op.cache)
    if op.barrier is not None:
        given = [p.place(_ref(op.dst)), box.tensor_map, *at, p.slot(op.barrier)]
        if op.multicast is None:
            p.call(f"tma_load_{hint}{rank}d", *given, *policy)
        else:
            p.call(f"tma_load_multicast_{hint}{rank}d", *given, p.c(op.multicast), *policy)
        return
    way = f"reduce_{op.reduction.function}" if op.reduction else "store"
    p.call(f"tma_{way}_{hint}{rank}d", box.tensor_map, *at, p.place(_ref(op.src)), *policy)


def _bulk(p: Page, op: Copy, nbytes: Int) -> None:
    given = [p.place(_ref(op.dst)), p.place(_ref(op.src)), p.c(nbytes)]
    end, policy = f"_{_hinted(op)}".rstrip("_"), _policy(p, op.cache)
    if op.barrier is None:
        p.call(f"bulk_store{end}", *given, *policy)
    elif op.multicast is None:
        p.call(f"bulk_load{end}", *given, p.slot(op.barrier), *policy)
    else:
        p.call(f"bulk_load_multicast{end}", *given, p.slot(op.barrier), p.c(op.multicast), *policy)


def _ref(x: Operand) -> Ref:
    assert isinstance(x, Ref)
    return x


# -- products ---------------------------------------------------------------------------------------------


def mma(p: Page, site: Site) -> None:
    """mma.sync on registers, or wgmma on matrices in shared memory."""
    op = site.op
    assert isinstance(op, Mma)
    row = op.row
    assert isinstance(row, MmaAtom)
    name = op.atom.replace(".", "_")
    operands = [_operand(p, x) for x in (op.a, op.b)]
    if not row.completion:
        _start_anew(p, op, row)
        p.call(name, _words(p, op.acc), *operands)
        return
    if not (isinstance(op.acc.offset, int) and op.acc.offset == 0):
        raise LayoutError(f"expected sums of wgmma from the first register of a tensor on, got {op.acc} in {op}")
    majors = [int(x.descriptor.major == "MN") for x in (op.a, op.b) if isinstance(x, Matrix)]
    flags = f"<{', '.join(map(str, majors))}>" if any(majors) else ""
    accumulate = "1" if isinstance(op.zero, int) and op.zero == 0 else _kept(p, op.zero)
    p.call(name, p.sums(op.acc.tensor), *operands, accumulate, template=flags)


def _start_anew(p: Page, op: Mma, row: MmaAtom) -> None:
    """Sums of mma.sync that are to start at zero: the instruction always adds, so that its registers are cleared."""
    if not (isinstance(op.zero, int) and op.zero == 0):
        clear = f"{p.element(op.acc, p.each)} = {number(0, row.acc_dtype)};"
        _each(p, values_of(row.tv_c), clear if isinstance(op.zero, int) else f"if ({p.c(op.zero)}) {clear}")


def _operand(p: Page, x: Ref | Matrix) -> str:
    if isinstance(x, Matrix):
        return f"descriptor<{x.descriptor.encode():#x}>({p.place(x.start)})"
    held = p.place(x)
    return held if p.dtype(x).bits == 64 else f"reinterpret_cast<const uint32_t*>({held})"


def _words(p: Page, sums: Ref) -> str:
    """Sums of mma.sync as its function takes them: those of 16 bits two to a register."""
    held = p.place(sums)
    return f"reinterpret_cast<int32_t*>({held})" if p.dtype(sums).bits == 16 else held


def _kept(p: Page, zero: Int) -> str:
    """1 where the sums are kept, for an expression that is 1 where they begin at 0."""
    kept = 1 - zero
    return p.c(kept) if isinstance(kept, int) or len(str(kept)) < len(str(zero)) else f"!({p.c(zero)})"


# -- registers --------------------------------------------------------------------------------------------


def compute(p: Page, site: Site) -> None:
    """A function of registers, element by element; a conversion to 16-bit floats two at a time."""
    op = site.op
    assert isinstance(op, Map)
    kinds, out = [p.dtype(s) for s in op.srcs], p.dtype(op.dst)
    (first, *_) = op.srcs
    whole = isinstance(op.dst.offset, int) and op.dst.offset % 2 == 0 and op.count % 2 == 0
    if op.function == "convert" and whole and kinds[0].name == "f32" and out.name in PACKED:
        for i in range(0, op.count, 2):
            low, high = (p.element(first, i + j) for j in (0, 1))
            p.line(f"vector<4>(&{p.element(op.dst, i)}) = pack_{out.name}({low}, {high});")
        return
    if map_function(op.function).packed:
        _pairs(p, op, out.name)
        return
    one = [isinstance(s, Param) or (op.function == "scale" and i == 1) for i, s in enumerate(op.srcs)]
    at: int | str = 0 if op.count == 1 else p.each
    operands = [p.element(s, 0 if fixed else at) for s, fixed in zip(op.srcs, one, strict=True)]
    _each(p, op.count, f"{p.element(op.dst, at)} = {applied(op.function, kinds, out, operands)};")


def _pairs(p: Page, op: Map, kind: str) -> None:
    """A function of two elements at once, pair by pair."""
    if not all(p.dtype(x).name == kind in PACKED for x in op.srcs):
        of = ", ".join(str(p.dtype(x)) for x in op.srcs)
        raise LayoutError(f"expected a function that has code, got {op.function} of {of} to {kind}")
    name = ptx.pair_name(op.function, kind)
    for i in range(0, op.count, 2):
        given = ", ".join(f"vector<4>(&{p.element(x, i)})" for x in op.srcs)
        p.line(f"vector<4>(&{p.element(op.dst, i)}) = {name}({given});")


def fill(p: Page, site: Site) -> None:
    """The same number in some registers."""
    op = site.op
    assert isinstance(op, Fill)
    at: int | str = 0 if op.count == 1 else p.each
    _each(p, op.count, f"{p.element(op.dst, at)} = {number(op.value, p.dtype(op.dst))};")


def _each(p: Page, count: int, statement: str, first: int = 0) -> None:
    """A statement for each element, which ``p.each`` counts."""
    if count > 1:
        p.line("#pragma unroll")
        statement = f"for (int {p.each} = {first}; {p.each} < {count}; ++{p.each}) {statement}"
    p.line(statement)


SHUFFLED = {"idx": "__shfl_sync", "up": "__shfl_up_sync", "down": "__shfl_down_sync", "bfly": "__shfl_xor_sync"}


def shuffle(p: Page, site: Site) -> None:
    """Registers of other lanes, word by word."""
    op = site.op
    assert isinstance(op, Shuffle)
    to, source = (f"reinterpret_cast<uint32_t*>({p.place(r)})" for r in (op.dst, op.src))
    lane = p.c(op.lane)
    for i in range(op.count * p.dtype(op.src).bits // 32):
        p.line(f"{to}[{i}] = {SHUFFLED[op.mode]}(0xffffffff, {source}[{i}], {lane});")


def reduce(p: Page, site: Site) -> None:
    """A fold of registers from the first on, then with lanes at distances that are halved."""
    op = site.op
    assert isinstance(op, Reduce)
    kind, folded, far = p.dtype(op.src), p.folded, p.far

    def joined(other: str) -> str:
        return f"{folded} = {applied(op.function, [kind, kind], kind, [folded, other])};"

    with p.block("{"):
        p.line(f"{ctype(kind)} {folded} = {p.element(op.src)};")
        if op.count > 1:
            _each(p, op.count, joined(p.element(op.src, p.each)), first=1)
        if op.lanes > 1:
            p.line("#pragma unroll")
            other = f"__shfl_xor_sync(0xffffffff, {folded}, {far})"
            p.line(f"for (int {far} = {op.lanes // 2}; {far} > 0; {far} /= 2) {joined(other)}")
        p.line(f"{p.element(op.dst)} = {folded};")
