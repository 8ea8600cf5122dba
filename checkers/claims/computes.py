"""Each element that is stored holds what the kernel's result says."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from symlayout.answers.report import Witness
from symlayout.atoms import Completion, MemorySpace
from symlayout.errors import AssumptionError, ClaimError, ExecutionError, SymlayoutError
from symlayout.expr import Expr, Fact, Quotient, Symbol, evaluate
from symlayout.facts import Facts, opaque_atoms, symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.counting import Uncounted
from symlayout.kernel.readable import unread_result
from symlayout.kernel.specification import Dot, Result, sums
from symlayout.ops import For, Op, WaitGroup
from symlayout.semantics.expected import expect_results

from ..aliases import met
from ..claim import Proof, TooLarge
from ..dataflow.accumulators import stated, types_of
from ..dataflow.match import Matcher
from ..dataflow.op_effects import ValueWalk
from ..dataflow.state import Memo, Open
from ..dataflow.target import Differs
from .of_kernel import AtAllSizes
from .updated_once import by_threads

RUNS = (("eager", 0), ("lazy", 0), ("eager", 1), ("eager", -1))  # orders, and the sign of loud inputs
LONG = 600  # elements, of 8 bits, whose sum leaves 16
SIZES = 16  # at which a kernel is run
STEPS, ELEMENTS = 1 << 21, 1 << 16  # the product of such sizes, and the elements of a tensor: a run takes a second


@dataclass(frozen=True)
class Computes(AtAllSizes):
    """Every store to *output* stores the value of the kernel's result, for all sizes.

    Each value is followed from the loads to the stores (``checkers.dataflow``), with accesses ordered as they stand:
    that they are is ``HappensBefore``'s and ``RingProtocol``'s, that every element is stored is ``WrittenOnce``'s.
    Sums may be rounded in any order, in the type that the result has for them or in one that has all its numbers;
    those of integers have to fit. A refutation is a run at some sizes: the first element that differs, and who
    wrote it.

    >>> from symlayout.kernels import tma_copy
    >>> print(Computes(tma_copy(64, 256, tile=(16, 64)), "dst"))
    computes: dst(m,n) = src(m,n)

    Raises ClaimError for an output without a result.
    """

    output: str

    kind: ClassVar[str] = "computes"
    weighs: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        known = [r.tensor for r in self.kernel.results]
        if self.output not in known:
            raise ClaimError(f"expected an output with a result ({', '.join(known) or 'none'}), got {self.output!r}")
        for what in unread_result(self.kernel, self.result):
            raise ClaimError(f"{what}, in {self.result}")

    @property
    def result(self) -> Result:
        return next(r for r in self.kernel.results if r.tensor == self.output)

    def __str__(self) -> str:
        return f"{self.kind}: {self.result}"

    # -- proof --------------------------------------------------------------------------------------

    def certify(self, facts: Facts) -> Proof | None:
        seen, why = self._followed()
        if why:
            return None
        return Proof(f"values followed through {seen} elements of stores", lemmas=tuple(self._roundings()))

    def _roundings(self) -> Iterator[str]:
        """The roundings of sums that a proof allows; a run may show any of them."""
        for x in sums(self.result.value):
            if isinstance(x, Dot) or x.function in ("add", "mul"):
                kind = stated(x, types_of(self.kernel, x))
                yield f"{x}: in {kind}, {'rounded in any order' if kind.kind == 'float' else 'exact'}"
        for how in dict.fromkeys(op.reduction for op in self.kernel.walk() if op.reduction and op.reduction.flushes):
            yield f"{how}: subnormal numbers count as 0"

    def lemma(self, facts: Facts) -> str:
        return self._followed()[1]

    def conditions(self, facts: Facts) -> Iterator[Fact]:
        """Bounds under which sums of integers fit the registers that hold them."""
        _, why = self._judged
        if isinstance(why, Differs) and why.repair is not None:
            yield why.repair

    def _followed(self) -> tuple[int, str]:
        """(elements of stores that are right in every iteration, why a proof is open or "")."""
        seen, why = self._judged
        return seen, str(why or "")

    @functools.cached_property
    def _judged(self) -> tuple[int, Exception | str | None]:
        """(elements of stores that are right in every iteration, why a proof is open or None)."""
        aliased = met(self.kernel)
        if aliased:
            return 0, aliased
        memo, behind = Memo(), _waits_behind(self.kernel)
        try:
            try:
                return self._walked(behind, memo), self._parted()
            except (Differs, Open) as e:
                if not e.stale and not behind:
                    return 0, _alone(e)
                return self._again(e, not behind, memo), self._parted()
        except (Differs, Open, Uncounted, AssumptionError) as e:
            return 0, _alone(e)

    def _again(self, why: Differs | Open, windows: bool, memo: Memo) -> int:
        """The other way to walk loops. Raises the reason that is not just about what this way does not see."""
        try:
            return self._walked(windows, memo)
        except (Differs, Open) as e:
            raise why if e.stale and not why.stale else e from None

    def _parted(self) -> str:
        """Why it is open that threads combine one value of each part with an element; "" where that is proved."""
        claim = by_threads(self.kernel, self.output)
        return "" if claim is None else claim.lemma(Facts.about(*self.kernel.dims, given=self.given))

    def _walked(self, windows: bool, memo: Memo) -> int:
        matcher = Matcher(self.kernel, self.result)
        walk = ValueWalk(self.kernel, self.given, windows, matcher.stored, memo)
        matcher.entries = walk.entries
        walk.through()
        if not matcher.seen:
            raise Differs(f"nothing stores to {self.output}")
        return matcher.seen

    # -- refutation ---------------------------------------------------------------------------------

    def counterexample(self) -> Witness | None:
        """The first element that differs in a run, eager or lazy. Raises TooLarge where none does: inputs vary.

        Where there are sums, they are also tried with inputs that types which are too narrow for them do not hold.
        """
        for order, loud in RUNS if any(sums(self.result.value)) else RUNS[:2]:
            try:
                expect_results(self.kernel, order, self.output, loud)
            except ExecutionError as e:
                return Witness({}, (), f"{order}: {e}")
            except SymlayoutError as e:
                raise TooLarge(str(e)) from None
        raise TooLarge("runs with one choice of inputs agree")

    def trials(self, facts: Facts) -> Iterator[dict[Symbol, int]]:
        """Sizes of less than a tile, of a tile, and at which loops go on; small ones first."""
        steps = _steps(self.kernel)
        values = {s: _values(s, steps, facts.given) for s in facts.symbols}
        longest = max(map(len, values.values()), default=0)
        rows = [{s: v[0] for s, v in values.items()}]
        rows += [{**rows[0], s: x} for s, v in values.items() for x in v[1:]]
        rows += [{s: v[min(i, len(v) - 1)] for s, v in values.items()} for i in range(longest)]
        rows = [_raised(row, facts) for row in rows]
        shapes = [t.layout.size() for t in self.kernel.tensors if t.space is MemorySpace.GLOBAL]

        def small(row: dict[Symbol, int]) -> bool:
            most = max((evaluate(n, row) for n in shapes), default=0)
            return math.prod(row.values()) <= STEPS and most <= ELEMENTS

        fitting = (row for row in rows if facts.admits(row) and small(row))
        every = {tuple(row.values()): row for row in fitting}
        chosen = [*_spread(list(every.values())), *(row for row in self._long(facts, rows[0]) if small(row))]
        return iter(sorted(chosen, key=lambda row: (self._work(row), math.prod(row.values()))))

    def _work(self, row: dict[Symbol, int]) -> int:
        """About how long a run at sizes takes: CTAs times the iterations of the longest nest of loops."""
        first = {**row, **dict.fromkeys(self.kernel.block, 0)}

        def iterations(ops: Iterable[Op]) -> int:
            return max((_times(op, first) * iterations(op.body) for op in ops if op.body), default=1)

        return math.prod(evaluate(n, row) for n in self.kernel.grid) * iterations(self.kernel.plain.body)

    def _long(self, facts: Facts, least: dict[Symbol, int]) -> Iterator[dict[Symbol, int]]:
        """Sizes at which sums leave 16 bits, where they may be kept in too few."""
        _, why = self._judged
        if isinstance(why, Differs) and why.narrow:
            extents = {s for x in sums(self.result.value) for s in symbols_in((x.extent,))}
            row = _raised(
                {s: -(-LONG // s.multiple) * s.multiple if s in extents else n for s, n in least.items()}, facts
            )
            if facts.admits(row):
                yield row


def _waits_behind(kernel: Kernel) -> bool:
    """Whether a loop waits for copies of earlier iterations while later ones are under way: one alone does not tell."""
    loops = (op for op in kernel.walk() if isinstance(op, For) and type(op.extent) is not int)
    return any(
        isinstance(op, WaitGroup) and op.group == Completion.CP_ASYNC and op.pending for x in loops for op in x.walk()
    )


def _times(op: Op, at: dict[Symbol, int]) -> int:
    """The iterations of a loop that sizes and the first CTA decide; 1 for what is no loop, or unknown."""
    known = isinstance(op, For) and set(symbols_in((op.extent,))) <= at.keys()
    return max(1, evaluate(op.extent, at)) if known and isinstance(op, For) else 1


def _raised(row: dict[Symbol, int], facts: Facts) -> dict[Symbol, int]:
    """Sizes with the lower bounds that other sizes give them."""
    for s in facts.symbols:
        if isinstance(s.lower, Expr):
            low = max(row[s], evaluate(s.lower, row))
            row = {**row, s: -(-low // s.multiple) * s.multiple}
    return row


def _spread(rows: list[dict[Symbol, int]]) -> list[dict[Symbol, int]]:
    """Some rows of many, from all along the list."""
    return rows[:: -(-len(rows) // SIZES)] if rows else []


def _steps(kernel: Kernel) -> list[int]:
    """Divisors in the extents of the grid and of loops, and products of two such: tiles, and steps of blocks."""
    extents = [*kernel.grid, *(op.extent for op in kernel.walk() if isinstance(op, For))]
    found = {a.args[1] for a in opaque_atoms(*extents) if isinstance(a, Quotient)}
    plain = {n for n in found if type(n) is int}
    return sorted({1, *plain, *(n * m for n in plain for m in plain if n < m)})


def _values(s: Symbol, steps: list[int], given: Iterable[Fact]) -> list[int]:
    """Values of a size: the least, around each step, and beyond some of them."""
    moduli = (f.modulus for f in given if f.relation == "%" and f.symbols == (s,))
    unit = math.lcm(s.multiple, *moduli)
    low = -(-max(1, s.lower if type(s.lower) is int else 1) // unit) * unit
    wanted = (n for d in steps for n in (d - unit, d, d + unit, 2 * d + unit, 4 * d + unit))
    found = {low, low + unit, 3 * low, *(n // unit * unit for n in wanted)}
    return sorted(n for n in found if low <= n <= STEPS)


def _alone(e: Exception) -> Exception:
    """A reason without the frames of the walk, which hold it: all that they know would wait for the collector."""
    e.__context__ = None
    return e.with_traceback(None)
