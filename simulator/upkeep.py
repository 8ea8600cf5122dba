"""What code does beside its operations where threads move data by themselves: indices, conditions, constants, jumps.

>>> from symlayout.kernels import cp_async_copy
>>> kernel = cp_async_copy(1 << 20, stages=8, threads=128, blocks=8).bind()
>>> ops = {id(op): op for top in kernel.plain.body for op in top.walk()}
>>> for place, found in upkeep(kernel).items():
...     print(str(ops[place])[:22] if place in ops else "before all", found, sep=": ")
before all: 42 instructions, 1 constant, 2 branches
if ceil((7*block_x)/8): 12 instructions
for i < ceil((7*block_: 15 instructions
if ceil((7*block_x)/8): 14 instructions, 3 branches

An expression is split where its parts change: a part that no loop around changes is computed once, before all or where
it is needed first; what changes with a loop is computed in each of its iterations, one instruction for each sum,
quotient, digit or xor that is new there. Multiples of an index advance by a sum that starts before the loop; constants
and the indices of unrolled loops are immediate operands. An address is one more instruction in shared memory and two in
global memory, a condition one; 64 bits take twice as many. What an asynchronous copy by threads needs is made out where
it stands, behind the barrier of its iteration: it reads the bases of both memories, and is jumped over; the condition
of a load is waited for. The counts are within a tenth of machine code of rings of three slots or more by more than one
CTA; two slots, or one CTA, make it a fifth shorter (nvdisasm, NVRTC 13). Loops whose copies are commands have none of
this here, since M22 has measured theirs, but for elections; what roles do before their first loop is counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from symlayout.atoms.access import MemorySpace
from symlayout.banks import LANES
from symlayout.expr import Expr, interpret
from symlayout.kernel import Kernel
from symlayout.kernel.cursors import cursors
from symlayout.kernel.integer_widths import evaluations
from symlayout.kernel.sites import Site, as_written
from symlayout.ops import Arrive, Copy, Elect, For, If, Init, LoadIndex, Op, Role, Wait
from symlayout.ops.structure import UNROLLED

from .instructions import Counter, Upkeep
from .timing_classes import Unit, timing_class

WIDE = 64
BY_THREADS = (Unit.LOAD, Unit.STORE, Unit.SHARED, Unit.MATRIX)
THREADS = (*BY_THREADS, Unit.CP_ASYNC)
ENTRY = 0  # the key of what is done before all
ENTERED, ENTERED_CONSTANTS = 10, 1  # the stack, the window of global memory, thread, block, parameters; the end
ROLE_BRANCHES = 2  # whether a warp has the role, and whether a thread is elected
ELECTED_BRANCHES = 1  # of an election in a loop: whether a thread is elected
JOINED_BRANCHES = 1  # behind it
BASES = 4  # of an asynchronous copy under a condition: of both kinds of memory, where it is executed
ROUND = 2  # whether a loop is entered
ENTERED_TAIL = 3  # instructions of an element of a tail, by lanes for which there may be none
MANY_THREADS = 256  # of a CTA, from which on compilers keep fewer values in registers: what tails need is read again
AGAIN = 3  # instructions from a base that is read again to an address
REST = 8  # behind a loop that compilers take two iterations of at once: whether one is left, and where
SLOTS = 4  # of a ring that code counts, for the next iteration
FEW_COPIES = 3  # of a body whose addresses registers keep: machine code of 56 transpositions
KEPT = 6  # instructions of the addresses of a body, of those that have more
FEW_TRIPS, FEW_INSTRUCTIONS = 8, 340  # of a loop that compilers unroll unasked: machine code of 71 transpositions


def unrolled(loop: For, short: frozenset[int]) -> bool:
    """Whether code has no jump of a loop; *short* are those that compilers unroll unasked."""
    return loop.unroll == UNROLLED or id(loop) in short


def short_loops(kernel: Kernel) -> frozenset[int]:
    """The loops that compilers unroll unasked, by identity: those whose number of iterations the code knows, if small.

    Small is the number of iterations, or where threads move data that of all instructions.
    """
    origin = (kernel.origin or kernel).plain
    each, found = _counted(kernel, frozenset()), set[int]()
    written, here = ([op for top in k.body for op in top.walk()] for k in (origin, kernel.plain))
    for op, there in zip(reversed(written), reversed(here), strict=True):  # inner ones first
        if isinstance(op, For) and isinstance(op.extent, int):
            if id(there) not in each:
                small = op.extent <= FEW_TRIPS
            else:
                beside = sum(each[id(x)].instructions for x in there.walk() if id(x) in each)
                small = op.extent * (beside + _instructions(there.body, found)) <= FEW_INSTRUCTIONS
            if small:
                found.add(id(there))
    return frozenset(found)


def _instructions(body: tuple[Op, ...], short: set[int]) -> int:
    """The operations in a body, those of unrolled loops in all their copies."""
    total = 0
    for op in body:
        inside = _instructions(op.body, short)
        if isinstance(op, For) and isinstance(op.extent, int) and unrolled(op, frozenset(short)):
            inside *= op.extent
        total += inside if op.body else 1
    return total


def upkeep(kernel: Kernel, short: frozenset[int] | None = None) -> dict[int, Upkeep]:
    """The upkeep of a bound kernel: by identity of the loop, in each of its iterations, or of the operation, before it.

    That of ``ENTRY`` is done before all. *short* are its ``short_loops``, where they are known.
    """
    short = short_loops(kernel) if short is None else short
    found = _counted(kernel, short)
    for loop, around in bodies(kernel, short):
        number = _recomputed(kernel, loop, short)
        if not unrolled(loop, short):
            found.setdefault(id(loop), Upkeep()).instructions = number
        elif around is not None:
            found.setdefault(id(loop.body[0]), Upkeep()).instructions += number
    return found


def bodies(kernel: Kernel, short: frozenset[int]) -> Iterator[tuple[For, For | None]]:
    """The loops that copy in shared memory so often as code knows, more often than it has registers for addresses.

    Each with the loop around whose jump code has. It has the body many times over, whether it jumps there or not.
    """
    within = set[int]()  # loops in these, by identity
    for site in as_written(kernel.plain):
        op = site.op
        if not isinstance(op, For) or isinstance(op.unroll, int) or id(op) in within:
            continue
        if isinstance(op.extent, int) and op.extent > FEW_COPIES:
            copies = [x for x in op.walk() if isinstance(x, Copy)]
            if copies and all(_unit(x) is Unit.SHARED for x in copies):
                within.update(id(x) for x in op.walk())
                yield op, next((x for x in reversed(site.loops) if not unrolled(x, short)), None)


def _recomputed(kernel: Kernel, loop: For, short: frozenset[int]) -> int:
    """The instructions of addresses in an iteration, less what accesses add to them, and what registers keep."""
    each = _counted(kernel, short, loop).get(id(loop), Upkeep())
    return max(0, each.instructions - _instructions(loop.body, set(short)) - KEPT)


def _counted(kernel: Kernel, short: frozenset[int], kept: For | None = None) -> dict[int, Upkeep]:
    """The upkeep before all, of each loop that code has a jump of, and of operations, as if it had one of *kept*."""
    origin = (kernel.origin or kernel).plain
    fenced = any(isinstance(op, Init) for op in origin.walk())  # which includes what comes before
    found = {ENTRY: Upkeep() if fenced else Upkeep(ENTERED, ENTERED_CONSTANTS)}
    spaces = {t.name: t.space for t in origin.tensors}
    loaded: dict[str, int] = {}  # names of indices that are read, by how deep
    counted = {c.begins for c in cursors(origin)}
    for wide, site, at_sizes in _by_threads(kernel, origin):
        jumps = [x is kept or not unrolled(x, short) for x in at_sizes.loops]
        loops = [id(x) for x, jump in zip(at_sizes.loops, jumps, strict=True) if jump]
        rows = (found[ENTRY], *(found.setdefault(x, Upkeep()) for x in loops))
        real, inside = ([x for x, j in zip(site.loops, jumps, strict=True) if j is jump] for jump in (True, False))
        depths = loaded | {x.index.name: k + 1 for k, x in enumerate(real)}
        copies, op = math.prod(x.extent for x in inside if isinstance(x.extent, int)), site.op
        here, asynchronous = None, any(_unit(x) is Unit.CP_ASYNC for x in _at(op))
        if (not loops or (asynchronous and not inside)) and not isinstance(op, For):
            here = found.setdefault(id(_place(at_sizes)), Upkeep())
        counter = Counter(rows, depths, frozenset(x.index.name for x in inside), copies, here)
        if isinstance(op, LoadIndex):
            loaded[op.name.name] = len(loops)
        elif isinstance(op, For) and isinstance(at_sizes.op, For) and not unrolled(at_sizes.op, short):
            interpret(op.extent, counter)
            rest = op.unroll is None and not any(isinstance(x, Wait) for x in op.walk())
            rows[-1].instructions += ROUND + REST * rest
            rows[-1].branches += 1 + rest
            if site.places in counted:
                found.setdefault(id(at_sizes.op), Upkeep()).instructions += SLOTS
        elif isinstance(op, If):
            for fact in op.condition:
                term = interpret(fact.expr, counter)
                number = 1 + (term.varies and not term.bent)  # a sum with the immediate operand before the comparison
                counter.count(f"{term.text} {fact.relation}", term.depth, number * (1 + wide), term.varies)
            if asynchronous and here is not None:
                here.instructions += BASES
                here.branches += (len(op.condition) + 1) * bool(loops)  # one where lanes join
            elif loops and not inside and any(map(_loads, _at(op))):
                rows[-1].branches += 1
            elif loops and any(map(_loads, _at(op))):
                _count_tail(kernel, rows[-1], found.setdefault(id(at_sizes.op), Upkeep()))
        elif isinstance(op, Copy):
            for ref in (*op.sources, *op.targets):
                if (space := spaces[ref.tensor]) is not MemorySpace.REGISTER:
                    term = interpret(ref.offset, counter)
                    apart = asynchronous and term.varies and not term.bent  # sums of 64 bits for each copy
                    number = 2 + apart if space is MemorySpace.GLOBAL else 1
                    counter.count(f"{ref.tensor}[{term.text}]", term.depth, number, term.bent or apart)
    if fenced:
        _count_roles(kernel, origin, found)
    _count_elections(kernel, origin, found)
    return found


def _count_tail(kernel: Kernel, loop: Upkeep, element: Upkeep) -> None:
    """What the elements of a tail take where they are looked at, and in each iteration because of them.

    Code of CTAs of many threads reads the bases of addresses again, for each element and in every other iteration of
    the loop, where two chains of constants take 69 cycles (nvdisasm: 14 of 15 sizes of CTA, of 1 to 32 warps).
    """
    element.instructions = ENTERED_TAIL
    if kernel.threads >= MANY_THREADS:
        element.constants = 1
        if loop.constants == 0:
            loop.constants = 1
            loop.instructions += AGAIN


def _count_roles(kernel: Kernel, origin: Kernel, found: dict[int, Upkeep]) -> None:
    """What a role does behind the barrier of all threads, before its first loop: who it is, and how many iterations.

    Sizes are parameters, and numbers of iterations have 64 bits.
    """
    row: Upkeep | None = None
    for site, at_sizes in zip(as_written(origin), as_written(kernel.plain), strict=True):
        if isinstance(site.op, Role):
            row = found.setdefault(id(at_sizes.op), Upkeep())
            row.instructions += ENTERED
            row.constants += ENTERED_CONSTANTS
            row.branches += ROLE_BRANCHES
        elif isinstance(site.op, For) and not site.loops and row is not None and isinstance(site.op.extent, Expr):
            counted = Upkeep()
            interpret(site.op.extent, Counter((counted,), {}, frozenset(), 1))
            row.instructions += 2 * counted.instructions
            row.branches += 1


def _count_elections(kernel: Kernel, origin: Kernel, found: dict[int, Upkeep]) -> None:
    """What elections in loops take: lanes that are not chosen go round the body, by branches.

    But an arrival is predicated (nvdisasm).
    """
    for site, at_sizes in zip(as_written(origin), as_written(kernel.plain), strict=True):
        if isinstance(site.op, Elect) and site.loops and not all(isinstance(x, Arrive) for x in site.op.body):
            roles = [x.warps for x in site.around if isinstance(x, Role)]
            among = not site.op.each_warp and (roles or [kernel.threads // LANES])[-1] > 1
            found.setdefault(id(at_sizes.op), Upkeep()).branches += ELECTED_BRANCHES + among
            found.setdefault(id(_behind(at_sizes)), Upkeep()).branches += JOINED_BRANCHES + among


def _behind(site: Site) -> Op:
    """Before which operation lanes join that went round a body: the next one, or that of the next iteration."""
    around, op = site.around[-1], site.op
    later = around.body[[x is op for x in around.body].index(True) + 1 :]
    if later:
        return op if isinstance(later[0], For) else later[0]
    return around if isinstance(around, For) else op


def _place(site: Site) -> Op:
    """Before which operation code evaluates what a site needs: its outermost condition inside the innermost loop."""
    path = (*site.around, site.op)
    inner = max((k + 1 for k, x in enumerate(path) if isinstance(x, For)), default=0)
    return next((x for x in path[inner:] if isinstance(x, If)), site.op)


def _by_threads(kernel: Kernel, origin: Kernel) -> Iterator[tuple[bool, Site, Site]]:
    """What threads do for their copies: whether with 64 bits, where it is written, and where it is at sizes."""
    sites = [
        (k, site, at_sizes)
        for k, (site, at_sizes) in enumerate(zip(as_written(origin), as_written(kernel.plain), strict=True))
        if isinstance(site.op, LoadIndex) or any(_unit(x) in THREADS for x in _at(site.op))
    ]
    wide: set[int] = set()
    if any(isinstance(site.op, If) for _, site, _ in sites):
        wide = {k for k, e in enumerate(evaluations(origin)) if WIDE in e.widths.values()}
    return ((k in wide, site, at_sizes) for k, site, at_sizes in sites)


def _at(op: Op) -> Iterator[Op]:
    """An operation, or all in the body of a condition or of a loop."""
    return op.walk() if isinstance(op, If | For) else iter((op,))


def _unit(op: Op) -> Unit:
    return timing_class(op).unit if isinstance(op, Copy) else Unit.NONE


def _loads(op: Op) -> bool:
    return _unit(op) is Unit.LOAD
