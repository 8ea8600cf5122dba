"""The only module that knows Z3 (and cvc5, where installed). A fresh context, a time and a resource limit each time.

A query asks whether facts can hold together; ``unsat`` proves, a model is only a candidate that the caller
replays on plain integers, and everything else is unknown with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from symlayout.expr import Fact, Symbol, interpret
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


def satisfiable(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int = DEFAULT_MS) -> Answer:
    """Whether all *facts* can hold at once; a tuple among them is a disjunction.

    >>> from symlayout import dim
    >>> M = dim("M")
    >>> satisfiable([M >= 3, M <= 2]).status
    'unsat'
    """
    first: Answer | None = None
    left = remaining()
    budget_ms = budget_ms if left is None else min(budget_ms, int(2000 * left))
    for engine in ENGINES:
        step()
        answer = engine(facts, budget_ms // 2)
        if answer.status != "unknown":
            return answer
        first = first or answer  # the first engine's reason is the telling one
    return first or Answer("unknown")


def smtlib(facts: Sequence[Fact | tuple[Fact, ...]]) -> str:
    """The query as SMT-LIB text, for another solver or a report.

    Raises Unsupported for operations that integer terms do not have.
    """
    context = z3.Context()
    solver = z3.SimpleSolver(ctx=context)
    _assert(facts, solver, _Terms(context))
    return f"(set-logic ALL)\n{solver.to_smt2()}"


def _ask(facts: Sequence[Fact | tuple[Fact, ...]], engine: Any, budget_ms: int) -> Answer:
    """One engine in a fresh context: the SMT core and the default solver leave different queries open."""
    begin = time.perf_counter()
    context = z3.Context()
    solver = engine(ctx=context)
    solver.set("timeout", max(1, int(budget_ms)))
    solver.set("rlimit", RLIMIT)
    terms = _Terms(context)
    try:
        _assert(facts, solver, terms)
        result = solver.check()
    except Unsupported as e:
        return Answer("unknown", reason=str(e), seconds=time.perf_counter() - begin)
    except z3.Z3Exception as e:
        return Answer("unknown", reason=f"solver error: {e}", seconds=time.perf_counter() - begin)
    spent = time.perf_counter() - begin
    if result == z3.unsat:
        return Answer("unsat", seconds=spent, solver=version())
    if result == z3.unknown:
        return Answer("unknown", reason=_reason(solver, spent, budget_ms), seconds=spent)
    model = solver.model()
    values = {s: model.eval(t, model_completion=True).as_long() for s, t in terms.symbols.items()}
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


def _smt_core(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int) -> Answer:
    return _ask(facts, z3.SimpleSolver, budget_ms)


def _default(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int) -> Answer:
    return _ask(facts, z3.Solver, budget_ms)


def _cvc5(facts: Sequence[Fact | tuple[Fact, ...]], budget_ms: int) -> Answer:
    """A third opinion on what Z3 leaves open; its proofs count, its models are not read."""
    begin = time.perf_counter()
    try:
        import cvc5

        solver = cvc5.Solver()
        solver.setOption("tlimit-per", str(min(budget_ms, CVC5_MS)))
        parser = cvc5.InputParser(solver)
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, smtlib(facts), "query")
        said = ""
        while not (command := parser.nextCommand()).isNull():
            said += command.invoke(solver, parser.getSymbolManager())
    except ImportError:
        return Answer("unknown", reason=f"{version()} gave up")
    except (Unsupported, RuntimeError) as e:
        return Answer("unknown", reason=str(e))
    status = "unsat" if said.strip() == "unsat" else "unknown"
    spent = time.perf_counter() - begin
    return Answer(status, reason="Z3 and cvc5 gave up", seconds=spent, solver=f"cvc5 {cvc5.__version__}")


CVC5_MS = 1500  # it has no resource count that is comparable; what it adds, it adds soon

# The SMT core and the default solver leave different queries open; cvc5 is asked last, where installed.
ENGINES = (_smt_core, _default, _cvc5)


class Unsupported(Exception):
    """An operation that integer terms do not have; xor belongs to GF(2) or enumeration."""


class _Terms:
    """The operations as integer terms of one context; a quotient becomes a fresh integer and its remainder."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.symbols: dict[Symbol, Any] = {}
        self.quotients: dict[tuple[Any, Any], Any] = {}
        self.side: list[Any] = []

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

    def xor(self, *args: Any) -> Any:
        raise Unsupported("xor of symbolic sizes: split the index into a base that is a multiple of the swizzle period")

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


def values_of(answer: Answer) -> dict[str, int]:
    """The model by name."""
    return {s.name: v for s, v in answer.model.items()}
