"""Accesses to shared memory, and the slots of a tensor that they touch: which of two can meet, and how many uses apart.

An offset ``E*(n % S) + rest`` with 0 <= rest < E is in slot n % S of E elements. Two accesses meet only if their
numbers n differ by a multiple of S.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from symlayout.atoms import AccessKind, Completion, MemorySpace, Proxy
from symlayout.expr import Expr, build, mod, terms_of
from symlayout.facts import Facts, opaque_atoms, symbols_in
from symlayout.kernel import THREAD, Kernel
from symlayout.kernel.sites import Site, everyone, sites, unsteady
from symlayout.ops import Barrier, Box, ClusterBarrier, Copy, CpAsyncArrive, Matrix, Mma, Op, PeerCopy, Ref, Touch

from ..algebra.cases import ends, shown, within
from ..orders.footprints import widest
from ..rings.parts import extent_of
from ..rings.recognised import landed_bytes
from ..rings.shown import Open
from .events import Event, event
from .uses import Phased, Use

POINTS = 1 << 14  # values of indices by which the reach of an access is found


@dataclass(frozen=True, eq=False)
class Cells:
    """An access: elements low .. high - 1 of slot *number* % *slots*, of so many *elements* each."""

    event: Event
    ref: Ref
    kind: AccessKind
    proxy: Proxy
    over: Completion  # when it is
    slots: int
    elements: int
    number: Any
    low: int
    high: int
    fill: tuple[Phased, Use] | None = None  # of a copy that completes on an mbarrier
    width: int = 0  # elements that it touches at most; 0 where that is not known
    counted: bool = False  # whether the number is that of the use which it fills, or has waited for

    @property
    def changes(self) -> bool:
        return self.kind.changes

    def apart(self, other: Cells) -> bool:
        """Whether they are never at the same bytes, whatever their numbers."""
        alike = (self.slots, self.elements) == (other.slots, other.elements)
        return alike and (self.high <= other.low or other.high <= self.low)

    def __str__(self) -> str:
        return str(self.event)


def cells(kernel: Kernel, barriers: list[Phased], names: frozenset[str] = frozenset()) -> list[Cells]:
    """The accesses to shared tensors, or to some of them. Raises Open where it is not known who makes one."""
    kernel = kernel.plain
    shared = {t.name for t in kernel.tensors if t.space is MemorySpace.SHARED}
    wanted = shared & names if names else shared
    fills = _fills(barriers)
    return [c for s in sites(kernel) for c in _of(kernel, s, wanted, fills, barriers)]


def anywhere(s: Site, touch: Touch, barriers: list[Phased]) -> Cells:
    """An access to memory of any space, its bytes left open. Raises Open where it is not known who makes it."""
    made, ref = event(s, team=s.team or everyone(s)), Ref("")
    fill = _fills(barriers).get(id(s.op))
    return Cells(made, ref, touch.kind, touch.proxy, touch.completion, 1, 0, 0, 0, 0, fill)


def _fills(barriers: list[Phased]) -> dict[int, tuple[Phased, Use]]:
    """The copies that complete on mbarriers, by their identity."""
    return {id(u.event.op): (b, u) for b in barriers if not b.named for u in b.arrivals if isinstance(u.event.op, Copy)}


def told_by(s: Site, barriers: list[Phased]) -> tuple[Phased, Use] | None:
    """The first arrival behind a copy by cp.async, in its iteration and by its threads, that tells of it."""
    if s.op.completion is not Completion.CP_ASYNC or s.team is None:
        return None
    found = []
    for b in barriers:
        for u in b.arrivals:
            at = u.event.site
            if not isinstance(at.op, CpAsyncArrive) or not u.event.team.includes(s.team) or at.places < s.places:
                continue
            surely = set(at.conditions) <= set(s.conditions) and u.event.depth == len(at.loops)
            if surely and at.loops == s.loops[: len(at.loops)]:
                found.append((at.places, b, u))
    return min(found, key=lambda x: x[0])[1:] if found else None


def _of(kernel: Kernel, s: Site, wanted: set[str], fills: Any, barriers: list[Phased]) -> Iterator[Cells]:
    if isinstance(s.op, PeerCopy):  # of a kernel without clusters
        raise Open(f"where {s} is")
    read = {t.operand: t for t in s.op.reads()}
    for t in (*read.values(), *s.op.changes()):
        if isinstance(t.operand, Ref) and t.operand.tensor in wanted:
            yield _cells(kernel, s, t, fills.get(id(s.op)) or told_by(s, barriers), barriers)


def _cells(kernel: Kernel, s: Site, touch: Any, fill: Any, barriers: list[Phased]) -> Cells:
    ref = touch.operand
    whole = int(kernel.tensor(ref.tensor).layout.cosize())
    loops = tuple(loop.index for loop in s.loops)
    facts = Facts.about(*kernel.dims, *kernel.block, *loops, ref.offset, given=(*kernel.given, *s.predicate))
    slots, elements, number = _slot(kernel, facts, s, ref, whole, barriers)
    if symbols_in((number,)) & unsteady(kernel):  # a value that may be another one each time
        slots, elements, number = 1, whole, 0
    mine, counted = symbols_in((number,)) & set(loops), False
    for use in [fill[1].use] if fill is not None else _awaited(s, ref, barriers):  # any number in the slot will do
        if mine <= symbols_in((use,)) and facts.normal(mod(use, slots) - mod(number, slots)) == 0:
            number, counted = use, True
            break
    used = symbols_in((number, s.conditions))
    depth = max((n for n, loop in enumerate(s.loops, 1) if loop.index in used), default=0)
    depth = depth if fill is None else max(depth, fill[1].event.depth)
    width = _width(kernel, s, ref)
    rest = facts.normal(ref.offset - elements * mod(number, slots))
    low, high = _reach(rest, width, elements, _line(kernel, s.op, ref))
    made = event(s, depth, team=s.team or everyone(s))
    how = touch.kind, touch.proxy, touch.completion
    return Cells(made, ref, *how, slots, elements, number, low, high, fill, width=width, counted=counted)


def _reach(rest: Any, width: int, elements: int, line: int) -> tuple[int, int]:
    """The elements of a slot that an access may touch, whole lines of so many, by where it begins."""
    found = (rest, rest) if type(rest) is int else ends(rest, POINTS) if isinstance(rest, Expr) else None
    if found is None or not width or elements % line or not 0 <= found[0] <= found[1] + width <= elements:
        return 0, elements
    return found[0] // line * line, -(-(found[1] + width) // line) * line


def _line(kernel: Kernel, op: Op, ref: Ref) -> int:
    """The elements among which a swizzle moves those of an operand; 1 for none."""
    if isinstance(op, Mma):
        found = next((x.descriptor.swizzle for x in (op.a, op.b) if isinstance(x, Matrix) and x.start is ref), None)
    elif isinstance(op, Copy):
        box = next((x for x in (op.src, op.dst) if isinstance(x, Box)), None)
        found = None if box is None else kernel.map(box.tensor_map).tensor_map.swizzle
    else:
        found = None
    return max(1, found.span_bytes * 8 // kernel.tensor(ref.tensor).dtype.bits) if found else 1


def _awaited(s: Site, ref: Ref, barriers: list[Phased]) -> list[Any]:
    """The use numbers of the waits before an operation in the bodies around it, the likeliest to be for it first.

    Those are for what copies bring into the tensor, then for what others have written, then for a slot to be free.
    """
    found: list[tuple[bool, bool, tuple[int, ...], Any]] = []
    for b in barriers:
        lands = any(ref.tensor in {r.tensor for r in u.event.op.targets} for u in b.arrivals)
        for w in () if b.named else b.waits:
            at = w.event.site
            inside = at.places[:-1] == s.places[: len(at.places) - 1]
            if inside and at.role == s.role and at.places < s.places:
                free = type(w.first) is int and w.first < 0
                found.append((lands, not free, at.places, w.use))
    return [*(use for *_, use in sorted(found, key=lambda x: x[:3], reverse=True)), _iteration(s)]


def _iteration(s: Site) -> Any:
    """The number of an iteration among all of the loops around an operation in which threads wait for others."""
    number: Any = 0
    for loop in s.loops:
        if any(op.waits is not None or isinstance(op, Barrier | ClusterBarrier) for op in loop.walk()):
            number = number * loop.extent + loop.index
    return number


def _width(kernel: Kernel, s: Site, ref: Ref) -> int:
    """The elements from a place on that an operation touches at most; 0 where it does not say."""
    if isinstance(s.op, Copy) and any(r is ref or r == ref for r in s.op.targets) and s.op.credits is not None:
        landed, bits = landed_bytes(kernel, s.op), kernel.tensor(ref.tensor).dtype.bits
        return -(-8 * landed // bits) if type(landed) is int else (widest(kernel, s.op, ref) or 0)
    return extent_of(kernel, s.op, ref) or 0


def _slot(kernel: Kernel, facts: Facts, s: Site, ref: Ref, whole: int, barriers: list[Phased]) -> tuple[int, int, Any]:
    """(slots, elements of each, number) of an access; one slot where its offset does not show several."""
    width = _width(kernel, s, ref)
    filling = {
        op.credits.barrier for op in kernel.walk() if op.credits and ref.tensor in {r.tensor for r in op.targets}
    }
    counts = dict.fromkeys(b.slots for b in kernel.barriers if not filling or b.name in filling)
    for slots in (n for n in counts if n > 1 and whole % n == 0):
        elements = whole // slots
        for number in _numbers(facts, ref.offset, slots, elements):
            rest = facts.normal(ref.offset - elements * mod(number, slots))
            if width and _inside(rest, facts, elements - width + 1):
                return slots, elements, number
    return 1, whole, 0


def _numbers(facts: Facts, offset: Any, slots: int, elements: int) -> Iterator[Any]:
    """What may be the number of the slot of an offset, the likeliest first."""
    offset = facts.normal(offset)
    for a in opaque_atoms(offset):
        c = terms_of(offset).get((a,), 0)
        if c == -slots * elements:
            yield _over(offset - c * a, elements)
    yield _over(offset, elements)


def _over(x: Any, elements: int) -> Any:
    """x // elements, term by term; what depends on the thread is left out, and what is less than an element."""
    kept = {}
    for m, c in terms_of(x).items():
        if not m or (c % elements == 0 and not any(a.name == THREAD for y in m for a in getattr(y, "symbols", ()))):
            kept[m] = c // elements
    return build({m: c for m, c in kept.items() if c})


def _inside(rest: Any, facts: Facts, n: int) -> bool:
    """Whether 0 <= rest < n."""
    if type(rest) is int:
        return 0 <= rest < n
    if isinstance(rest, Expr) and within(rest, n):
        return True
    return shown(rest, facts) is not None and shown(n - 1 - rest, facts) is not None
