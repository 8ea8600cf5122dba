"""The only module that knows Z3 (and cvc5, where installed). A fresh context, a time and a resource limit each time.

A query asks whether facts can hold together; ``unsat`` proves, a model is only a candidate that the caller
replays on plain integers, and everything else is unknown with the reason.
"""

from __future__ import annotations

import functools
import importlib.util
import operator
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from symlayout.address_map import Magnitudes
from symlayout.expr import And, Expr, Fact, PowerOfTwo, Symbol, Xor, interpret, terms_of
from symlayout.facts import opaque_atoms
from symlayout.meter import remaining, step

DEFAULT_MS = 40_000  # a backstop: the resource limit decides, so that load does not change a verdict
RLIMIT = 6_000_000  # some three seconds; makes verdicts repeat from run to run, whatever else the machine does


class _Loaded:
    """Z3, loaded when it is first asked: most proofs need no solver, and it takes a tenth of a second to load."""

    def __getattr__(self, name: str) -> Any:
        import z3

        return getattr(z3, name)


z3 = _Loaded()


@dataclass(frozen=True)
class Answer:
    """``unsat``, ``sat`` with values for the symbols, or ``unknown`` with the reason."""

    status: str
    model: dict[Symbol, int] = field(default_factory=dict)
    reason: str = ""
    seconds: float = 0.0
    solver: str = ""


def version() -> str:
    """The solver as it goes into a verdict."""
    return f"z3 {z3.get_version_string()}"


@functools.cache
def installed() -> str:
    """The solver as it goes into keys of caches: what is installed, so that a proof without solver does not load it."""
    found = importlib.util.find_spec("z3")
    place = Path(found.origin).parents[1] if found is not None and found.origin else None
    named = sorted(x.name for x in place.glob("z3_solver-*.dist-info")) if place is not None else []
    return named[0].removesuffix(".dist-info") if len(named) == 1 else version()


def satisfiable(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int = DEFAULT_MS, rlimit: int = RLIMIT) -> Answer:
    """Whether all *facts* can hold at once; a tuple among them is a disjunction. *rlimit* counts the solver's work.

    >>> from symlayout import dim
    >>> M = dim("M")
    >>> satisfiable([M >= 3, M <= 2]).status
    'unsat'
    """
    first: Answer | None = None
    left = remaining()
    budget_ms = budget_ms if left is None else min(budget_ms, int(2000 * left))
    for engine in (_words, *ENGINES) if _has_bits(facts) else ENGINES:
        step()
        answer = engine(facts, budget_ms // 2, rlimit)
        if answer.status != "unknown":
            return answer
        first = first or answer  # the first engine's reason is the telling one
    return first or Answer("unknown")


def smtlib(facts: Sequence[Fact | tuple[Fact, ...]]) -> str:
    """The query as SMT-LIB text, for another solver or a report; bits in it are known by their range alone."""
    context = z3.Context()
    solver = z3.SimpleSolver(ctx=context)
    _assert(facts, solver, _Terms(context))
    return f"(set-logic ALL)\n{solver.to_smt2()}"


def _ask(
    facts: Sequence[Fact | tuple[Fact, ...]],
    engine: Any,
    budget_ms: int,
    rlimit: int,
    terms_in: Callable[[Any], _Terms] | None = None,
) -> Answer:
    """One engine in a fresh context: the SMT core and the default solver leave different queries open."""
    begin = time.perf_counter()
    context = z3.Context()
    solver = engine(ctx=context)
    solver.set("timeout", max(1, int(budget_ms)))
    solver.set("rlimit", rlimit)
    terms = (terms_in or _Terms)(context)
    try:
        _assert(facts, solver, terms)
        result = solver.check()
        if result == z3.sat and terms.loose:
            return Answer("unknown", reason=LOOSE, seconds=time.perf_counter() - begin)
    except z3.Z3Exception as e:
        return Answer("unknown", reason=f"solver error: {e}", seconds=time.perf_counter() - begin)
    spent = time.perf_counter() - begin
    if result == z3.unsat:
        return Answer("unsat", seconds=spent, solver=version())
    if result == z3.unknown:
        return Answer("unknown", reason=_reason(solver, spent, budget_ms), seconds=spent)
    model = solver.model()
    values = {s: terms.number(model.eval(t, model_completion=True)) for s, t in terms.symbols.items()}
    return Answer("sat", values, seconds=spent, solver=version())


def _assert(facts: Sequence[Fact | tuple[Fact, ...]], solver: Any, terms: _Terms) -> None:
    """Add the facts, a tuple as a disjunction, and what the quotients in them mean."""
    for f in facts:
        if isinstance(f, tuple):
            options = [terms.fact(g) for g in f]
            solver.add(z3.Or(*options) if options else z3.BoolVal(False, terms.context))
        else:
            solver.add(terms.fact(f))
    solver.add(*terms.side)


def _reason(solver: Any, spent: float, budget_ms: int) -> str:
    if spent * 1000 >= 0.9 * budget_ms:
        return f"the solver ran out of its {budget_ms} ms"
    return f"the solver gave up ({solver.reason_unknown()}) after {spent * 1000:.0f} ms"


def _smt_core(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int, rlimit: int) -> Answer:
    return _ask(facts, z3.SimpleSolver, budget_ms, rlimit)


def _default(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int, rlimit: int) -> Answer:
    return _ask(facts, z3.Solver, budget_ms, rlimit)


def _cvc5(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int, rlimit: int) -> Answer:
    """A third opinion on what Z3 leaves open; its proofs count, its models are not read."""
    begin = time.perf_counter()
    try:
        import cvc5

        solver = cvc5.Solver()
        solver.setOption("tlimit-per", str(min(budget_ms, max(1, CVC5_MS * rlimit // RLIMIT))))
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, smtlib(facts), "query")
        said = ""
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, parser.getSymbolManager())
    except ImportError:
        return Answer("unknown", reason=f"{version()} gave up")
    except RuntimeError as e:
        return Answer("unknown", reason=str(e))
    status = "unsat" if said.strip() == "unsat" else "unknown"
    spent = time.perf_counter() - begin
    return Answer(status, reason="Z3 and cvc5 gave up", seconds=spent, solver=f"cvc5 {cvc5.__version__}")


CVC5_MS = 1500  # it has no resource count that is comparable; what it adds, it adds soon

# The SMT core and the default solver leave different queries open; cvc5 is asked last, where installed.
ENGINES = (_smt_core, _default, _cvc5)


LOOSE = "the bits of integers without an end are known to the solver by their range alone; bound the sizes"


class _Terms:
    """The operations as integer terms of one context; a quotient becomes a fresh integer and its remainder.

    Of ``x & y`` only the range is said, so that a model may have other bits: then the terms are *loose*.
    """

    loose = False

    def __init__(self, context: Any) -> None:
        self.context = context
        self.met: dict[tuple[int, int], Any] = {}
        self.symbols: dict[Symbol, Any] = {}
        self.quotients: dict[tuple[Any, Any], Any] = {}
        self.side: list[Any] = []

    def number(self, value: Any) -> int:
        """A value of a model."""
        return int(value.as_long())

    def fact(self, f: Fact) -> Any:
        if f.relation == "%":
            e = interpret(f.expr, self)
            k = z3.FreshInt("k", self.context)
            return e == f.modulus * k
        e = interpret(f.expr, self)
        return e >= 0 if f.relation == ">=" else e == 0

    def const(self, value: int) -> Any:
        return z3.IntVal(value, self.context)

    def symbol(self, s: Symbol) -> Any:
        if s not in self.symbols:
            self.symbols[s] = z3.FreshInt(s.name, self.context)  # fresh: a digit may share a size's name
        return self.symbols[s]

    def add(self, terms: list[Any]) -> Any:
        return z3.Sum(*terms) if len(terms) > 1 else terms[0]

    def mul(self, factors: list[Any]) -> Any:
        return z3.Product(*factors) if len(factors) > 1 else factors[0]

    def floordiv(self, a: Any, b: Any) -> Any:
        key = (a.get_id(), b.get_id())
        if key not in self.quotients:
            q, r = z3.FreshInt("q", self.context), z3.FreshInt("r", self.context)
            self.side += [a == b * q + r, r >= 0, r < b]  # every divisor is at least 1: callers show it
            self.quotients[key] = (q, a, b)  # a and b are kept so that their ids stay taken
        return self.quotients[key][0]

    def bit_and(self, *args: Any) -> Any:
        out = args[0]
        for a in args[1:]:
            out = self._meet(out, a)
        return out

    def xor(self, *args: Any) -> Any:
        out = args[0]
        for a in args[1:]:
            out = out + a - 2 * self._meet(out, a)
        return out

    def _meet(self, a: Any, b: Any) -> Any:
        """x & y: from 0 to either that is at least 0, and at most the lesser of two that are below 0."""
        key = (a.get_id(), b.get_id())
        if key not in self.met:
            m = z3.FreshInt("m", self.context)
            self.loose = True
            self.side += [z3.Implies(x >= 0, z3.And(m >= 0, m <= x)) for x in (a, b)]
            self.side.append(z3.Implies(z3.And(a < 0, b < 0), z3.And(m < 0, m <= a, m <= b)))
            self.met[key] = m, a, b
        return self.met[key][0]

    def power_of_two(self, count: Any) -> Any:
        out = z3.FreshInt("p", self.context)
        self.side.append(z3.Implies(count >= TABLE, out >= (1 << TABLE) + count - TABLE))
        for k in reversed(range(TABLE)):
            self.side.append(z3.Implies(count == k, out == 1 << k))
        self.side.append(z3.Implies(count < 0, out == 0))
        return out

    def select(self, test: Any, a: Any, b: Any) -> Any:
        return z3.If(test >= 0, a, b)

    def minimum(self, *args: Any) -> Any:
        out = args[0]
        for a in args[1:]:
            out = z3.If(a < out, a, out)
        return out

    def maximum(self, *args: Any) -> Any:
        out = args[0]
        for a in args[1:]:
            out = z3.If(a > out, a, out)
        return out


TABLE = 64  # powers of two that integer terms write out


# -- bounded integers as words ----------------------------------------------------------------------------

WORD = 160  # bits of the longest word


def _has_bits(facts: Sequence[Fact | tuple[Fact, ...]]) -> bool:
    exprs = (g.expr for f in facts for g in (f if isinstance(f, tuple) else (f,)))
    return any(isinstance(a, And | Xor | PowerOfTwo) for a in opaque_atoms(*exprs))


def _words(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int, rlimit: int) -> Answer:
    """A query about bits whose symbols the facts bound: in words that are wide enough for every partial result."""
    ends = _ends(facts)
    exprs = [g.expr for f in facts for g in (f if isinstance(f, tuple) else (f,))]
    try:
        sizes = Magnitudes({s: max(map(abs, ends[s])) for x in exprs for s in getattr(x, "symbols", ())})
        for x in exprs:
            interpret(x, sizes)
    except (KeyError, OverflowError):
        return Answer("unknown", reason=LOOSE)
    moduli = [g.modulus for f in facts for g in (f if isinstance(f, tuple) else (f,))]
    width = max(sizes.peak, *moduli).bit_length() + 2
    if width > WORD:
        return Answer("unknown", reason=f"words of {width} bits are longer than the {WORD} that the solver is given")
    return _ask(facts, z3.SimpleSolver, budget_ms, rlimit, lambda context: _Words(context, width, ends))


def _ends(facts: Sequence[Fact | tuple[Fact, ...]]) -> dict[Symbol, tuple[int, int]]:
    """The least and the greatest value of each symbol that facts alone bound from both sides."""
    low: dict[Symbol, int] = {}
    high: dict[Symbol, int] = {}
    orders = [f.expr for f in facts if isinstance(f, Fact) and f.relation == ">=" and isinstance(f.expr, Expr)]
    for _ in range(4):  # bounds may be other symbols
        known = {s: (low[s], high[s]) for s in low.keys() & high.keys()}
        for p in orders:
            alone = {m[0]: c for m, c in p.terms.items() if len(m) == 1 and isinstance(m[0], Symbol) and abs(c) == 1}
            for s, c in alone.items():
                most = _most(p - c * s, known)
                if most is not None and c > 0:
                    low[s] = max(low.get(s, -most), -most)
                elif most is not None:
                    high[s] = min(high.get(s, most), most)
    return {s: (low[s], high[s]) for s in low.keys() & high.keys()}


def _most(p: Any, known: Mapping[Symbol, tuple[int, int]]) -> int | None:
    """A number that a polynomial in symbols with known ends does not pass."""
    total = 0
    for m, c in terms_of(p).items():
        if any(a not in known for a in m):
            return None
        ends = [c]
        for a in m:
            ends = [x * y for x in (min(ends), max(ends)) for y in known[cast(Symbol, a)]]
        total += max(ends)
    return total


class _Words(_Terms):
    """The operations on two's complement words, in which nothing overflows while symbols stay between their *ends*."""

    def __init__(self, context: Any, width: int, ends: Mapping[Symbol, tuple[int, int]]) -> None:
        super().__init__(context)
        self.width, self.ends = width, ends

    def number(self, value: Any) -> int:
        return int(value.as_signed_long())

    def fact(self, f: Fact) -> Any:
        e = interpret(f.expr, self)
        if f.relation == "%":
            return e - f.modulus * self.floordiv(e, self.const(f.modulus)) == 0
        return e >= 0 if f.relation == ">=" else e == 0

    def const(self, value: int) -> Any:
        return z3.BitVecVal(value, self.width, self.context)

    def symbol(self, s: Symbol) -> Any:
        if s not in self.symbols:
            self.symbols[s] = z3.FreshConst(z3.BitVecSort(self.width, self.context), s.name)
            low, high = map(self.const, self.ends[s])  # a bound by the facts does not help where they overflow
            self.side += [low <= self.symbols[s], self.symbols[s] <= high]
        return self.symbols[s]

    def add(self, terms: list[Any]) -> Any:
        return functools.reduce(operator.add, terms)

    def mul(self, factors: list[Any]) -> Any:
        return functools.reduce(operator.mul, factors)

    def floordiv(self, a: Any, b: Any) -> Any:
        self.side.append(b >= 1)  # every divisor is at least 1: callers show it
        if z3.is_bv_value(b) and (n := b.as_long()) & (n - 1) == 0:
            return a >> (n.bit_length() - 1)
        return z3.If(a >= 0, z3.UDiv(a, b), -1 - z3.UDiv(-1 - a, b))

    def bit_and(self, *args: Any) -> Any:
        return functools.reduce(operator.and_, args)

    def xor(self, *args: Any) -> Any:
        return functools.reduce(operator.xor, args)

    def power_of_two(self, count: Any) -> Any:
        return z3.If(count >= 0, self.const(1) << count, self.const(0))


def values_of(answer: Answer) -> dict[str, int]:
    """The model by name."""
    return {s.name: v for s, v in answer.model.items()}
