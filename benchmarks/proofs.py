"""Symbolic proofs against their alternatives, side by side in one run: how the cost grows with the modes.

    python -m benchmarks.proofs [--modes 2 10] [--budget-ms 2500]

Injectivity and bounds of 2 to 10 modes with symbolic extents: *compact* strides are the products of the extents
below, *free* strides are symbols with s_(i+1) >= E_i s_i. Ours is a certificate, found and verified by the
independent checker; sizes, facts and layouts are made anew each time. Z3 gets the same question in one query: two
vectors of digits, or the digits of one linear index by // and %. What takes no symbolic strides gets numbers:
enumeration, isl and tensor-layouts on extents of 4. Ratios are times of the peer by ours, find and verify together;
``>`` where the peer gave up or hit its budget. Peers that are not installed are left out with a line that says so.
"""

from __future__ import annotations

import argparse
import importlib
import math
import statistics
import sys
import time
import timeit
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import z3

from checkers import Bijective, Equal, InBounds, Injective, verify
from checkers.algebra.certificates import bounds, injective
from checkers.exhaustive import first_collision
from checkers.prover import Budget, decide
from symlayout import ComposedLayout, Facts, Layout, Swizzle, dim

EXTENT = 4  # of every mode where numbers are needed: up to 4^10 points


@dataclass(frozen=True)
class Case:
    """A layout with symbolic sizes, what is assumed, and an allocation that holds it."""

    modes: list[tuple[Any, Any]]
    given: tuple[Any, ...]
    allocation: Any


def compact(r: int) -> Case:
    """(E0,E1,...):(1,E0,E0*E1,...)."""
    extents = [dim(f"E{i}") for i in range(r)]
    return Case([(n, math.prod(extents[:i])) for i, n in enumerate(extents)], (), math.prod(extents))


def free(r: int) -> Case:
    """(E0,E1,...):(1,s1,s2,...) with s1 >= E0 and s_(i+1) >= E_i*s_i."""
    extents = [dim(f"E{i}") for i in range(r)]
    strides = [1, *(dim(f"s{i}") for i in range(1, r))]
    given = tuple(strides[i + 1] >= extents[i] * strides[i] for i in range(r - 1))
    return Case(list(zip(extents, strides, strict=True)), given, extents[-1] * strides[-1])


FAMILIES: dict[str, Callable[[int], Case]] = {"compact": compact, "free": free}


@dataclass
class Times:
    """Seconds of each way, None where it gave up; a way that gave up twice is not run on more modes."""

    modes: int
    seconds: dict[str, float | None] = field(default_factory=dict)


# -- ours -------------------------------------------------------------------------------------------------


def seconds(f: Callable[[], Any], batches: int = 5, least: float = 0.01) -> float:
    """The median time of one call, in batches of at least *least* seconds."""
    timer = timeit.Timer(f)
    once = timer.timeit(1)
    number = max(1, min(500, int(least / max(once, 1e-7))))
    return statistics.median(timer.repeat(batches, number)) / number


def found(case: Case, bounded: bool) -> Any:
    """The certificate, from facts made anew."""
    Facts.forget()
    facts = Facts.about(*(x for m in case.modes for x in m), case.allocation, given=case.given)
    if bounded:
        return bounds(case.modes, 0, 0, case.allocation - 1, facts)
    return injective(case.modes, facts)


def layout_of(case: Case) -> Layout:
    return Layout(tuple(n for n, _ in case.modes), tuple(s for _, s in case.modes))


def ours(make: Callable[[int], Case], r: int) -> Iterator[tuple[str, float | None]]:
    for name, bounded in (("injective", False), ("bounds", True)):
        certificate = found(make(r), bounded)
        if certificate is None:
            raise RuntimeError(f"expected a certificate for {r} modes ({name}), got none")
        yield f"{name} find", seconds(lambda b=bounded: found(make(r), b))
        yield f"{name} verify", seconds(lambda c=certificate: verify(c))


def verdict(make: Callable[[int], Case], r: int) -> float:
    """One verdict as users get it: vacuity, certificate, unneeded facts."""
    case = make(r)
    begin = time.perf_counter()
    decide(Injective(layout_of(case), given=case.given), Budget())
    return time.perf_counter() - begin


# -- Z3 ---------------------------------------------------------------------------------------------------


class Query:
    """One query in a fresh context with the sizes and assumptions of a case."""

    def __init__(self, case: Case, budget_ms: int) -> None:
        self.context = z3.Context()
        self.solver = z3.Solver(ctx=self.context)
        self.solver.set("timeout", budget_ms)
        self.symbols: dict[str, Any] = {}
        self.modes = [(self.term(n), self.term(s)) for n, s in case.modes]
        self.allocation = self.term(case.allocation)
        for f in case.given:
            self.solver.add(self.term(f.expr) >= 0)
        self.solver.add(*(x >= 1 for x in self.symbols.values()))

    def term(self, x: Any) -> Any:
        """An expression as a Z3 term; the benchmark's own translation, of polynomials only."""
        if type(x) is int:
            return z3.IntVal(x, self.context)
        parts = []
        for monomial, c in x.terms.items():
            factors = [self.symbols.setdefault(a.name, z3.Int(a.name, self.context)) for a in monomial]
            parts.append(z3.Product(z3.IntVal(c, self.context), *factors) if factors else z3.IntVal(c, self.context))
        return z3.Sum(*parts) if len(parts) > 1 else parts[0]

    def digits(self, prefix: str) -> list[Any]:
        """A coordinate: one digit for each mode, in its range."""
        out = [z3.Int(f"{prefix}{i}", self.context) for i in range(len(self.modes))]
        for d, (n, _) in zip(out, self.modes, strict=True):
            self.solver.add(d >= 0, d < n)
        return out

    def of_one_index(self, name: str) -> list[Any]:
        """The digits of one linear index, by // and %."""
        x = z3.Int(name, self.context)
        size = self.modes[0][0]
        for n, _ in self.modes[1:]:
            size = size * n
        self.solver.add(x >= 0, x < size)
        out, below = [], None
        for n, _ in self.modes:
            out.append((x if below is None else x / below) % n)
            below = n if below is None else below * n
        return out

    def offset(self, digits: list[Any]) -> Any:
        terms = [d * s for d, (_, s) in zip(digits, self.modes, strict=True)]
        return z3.Sum(*terms) if len(terms) > 1 else terms[0]

    def unsatisfiable(self) -> float | None:
        """Seconds until the query is shown unsatisfiable, None where it is not."""
        begin = time.perf_counter()
        result = self.solver.check()
        return time.perf_counter() - begin if result == z3.unsat else None


def z3_digits(case: Case, budget_ms: int) -> float | None:
    """Injectivity as users write it first: two coordinates, one offset, some digit differs."""
    q = Query(case, budget_ms)
    a, b = q.digits("p"), q.digits("q")
    q.solver.add(q.offset(a) == q.offset(b), z3.Or(*(x != y for x, y in zip(a, b, strict=True))))
    return q.unsatisfiable()


def z3_one_index(case: Case, budget_ms: int) -> float | None:
    """The same of two linear indices."""
    q = Query(case, budget_ms)
    a, b = q.of_one_index("x"), q.of_one_index("y")
    q.solver.add(q.offset(a) == q.offset(b), z3.Int("x", q.context) < z3.Int("y", q.context))
    return q.unsatisfiable()


def z3_bounds(case: Case, budget_ms: int) -> float | None:
    """No coordinate leaves the allocation."""
    q = Query(case, budget_ms)
    at = q.offset(q.digits("p"))
    q.solver.add(z3.Or(at < 0, at >= q.allocation))
    return q.unsatisfiable()


# -- numbers ----------------------------------------------------------------------------------------------


def on_numbers(r: int) -> Layout:
    """The compact layout, every extent 4."""
    return Layout((EXTENT,) * r, tuple(EXTENT**i for i in range(r)))


def enumeration(r: int, budget_ms: int) -> float | None:
    return seconds(lambda: first_collision(on_numbers(r).offsets()), batches=3)


def isl(r: int, budget_ms: int) -> float | None:
    """isl on digits: strides must be numbers."""
    islpy = importlib.import_module("islpy")
    names = [f"d{i}" for i in range(r)]
    box = " and ".join(f"0 <= {d} < {EXTENT}" for d in names)
    value = " + ".join(f"{EXTENT**i}*{d}" for i, d in enumerate(names))
    text = f"{{ [{', '.join(names)}] -> [{value}] : {box} }}"
    return seconds(lambda: islpy.Map(text).is_injective(), batches=3)


def tensor_layouts(r: int, budget_ms: int) -> float | None:
    peer = importlib.import_module("tensor_layouts")
    analysis = importlib.import_module("tensor_layouts.analysis")
    layout = on_numbers(r)
    return seconds(lambda: analysis.is_injective(peer.Layout(layout.shape, layout.stride)), batches=1)


NUMBERS: dict[str, Callable[[int, int], float | None]] = {"enumeration": enumeration}
for _module, _way in (("islpy", isl), ("tensor_layouts", tensor_layouts)):
    try:
        importlib.import_module(_module)
        NUMBERS[_way.__name__] = _way
    except ImportError:
        print(f"{_module} is not installed: its column is left out", file=sys.stderr)

SOLVER: dict[str, Callable[[Case, int], float | None]] = {
    "Z3 digits": z3_digits,
    "Z3 one index": z3_one_index,
    "Z3 bounds": z3_bounds,
}


# -- tables -----------------------------------------------------------------------------------------------


def measured(make: Callable[[int], Case], first: int, last: int, budget_ms: int) -> list[Times]:
    """Every way on every number of modes; one that gave up twice in a row is not run on more modes."""
    out: list[Times] = []
    failures: dict[str, int] = {}
    for r in range(first, last + 1):
        times = Times(r, dict(ours(make, r)))
        if failures.get("verdict", 0) < 1:
            times.seconds["verdict"] = spent = verdict(make, r)
            failures["verdict"] = int(spent > 1)
        for name, way in SOLVER.items():
            if failures.get(name, 0) < 2:
                times.seconds[name] = way(make(r), budget_ms)
                failures[name] = failures.get(name, 0) + 1 if times.seconds[name] is None else 0
        if make is compact:
            for name, number_way in NUMBERS.items():
                if failures.get(name, 0) < 1:
                    times.seconds[name] = spent = number_way(r, budget_ms) or 0.0
                    failures[name] = int(spent * 1e3 > budget_ms)
        out.append(times)
    return out


def cell(times: Times, name: str, scale: float, width: int = 13) -> str:
    """A time in its unit, ``>`` where it gave up, ``-`` where it was not run."""
    if name not in times.seconds:
        return f"{'-':>{width}}"
    value = times.seconds[name]
    return f"{'gave up':>{width}}" if value is None else f"{value * scale:>{width}.{1 if value * scale < 1000 else 0}f}"


def certificate(times: Times, name: str) -> float:
    """Find and verify, in seconds."""
    return sum(times.seconds[f"{name} {step}"] or 0.0 for step in ("find", "verify"))


def ratio(times: Times, name: str, against: str, budget_ms: int) -> str:
    """How many times longer the peer takes."""
    if name not in times.seconds:
        return "-"
    value = times.seconds[name]
    own = certificate(times, against)
    shown = (budget_ms / 1e3 if value is None else value) / own
    text = f"{shown:,.0f}" if shown >= 10 else f"{shown:.2g}"
    return f">{text}" if value is None else text


def report(family: str, rows: list[Times], budget_ms: int) -> None:
    ways = [*SOLVER, *(NUMBERS if family == "compact" else ())]
    print(f"\n{family} strides, microseconds, then milliseconds")
    own = ("injective find", "injective verify", "bounds find", "bounds verify")
    heads = ["inj. find us", "verify us", "bounds find", "verify us", "verdict ms", *(f"{w} ms" for w in ways)]
    print(f"{'modes':<6}" + "".join(f"{h:>{max(13, len(h) + 2)}}" for h in heads))
    for t in rows:
        cells = [cell(t, name, 1e6) for name in own] + [cell(t, "verdict", 1e3)]
        cells += [cell(t, w, 1e3, max(13, len(w) + 5)) for w in ways]
        print(f"{t.modes:<6}" + "".join(cells))
    print("times ours (find and verify)")
    print(f"{'modes':<6}" + "".join(f"{w:>17}" for w in ways))
    for t in rows:
        against = ["bounds" if w == "Z3 bounds" else "injective" for w in ways]
        print(f"{t.modes:<6}" + "".join(f"{ratio(t, w, a, budget_ms):>17}" for w, a in zip(ways, against, strict=True)))
    a, b = rows[0], rows[-1]
    for name in ("injective", "bounds"):
        grown = certificate(b, name) / certificate(a, name)
        order = math.log(grown) / math.log(b.modes / a.modes)
        print(f"{name}: {a.modes} to {b.modes} modes takes {grown:.1f} times as long, about modes^{order:.1f}")


def swizzled_tile() -> None:
    """DESIGN.md, section 7, row 2: a 128 x 256 tile of 128-byte swizzled atoms of two-byte elements."""

    def tile(split: bool = False) -> ComposedLayout:
        rows, strides = ((8, 4, 4), (64, 512, 2048)) if split else ((8, 16), (64, 512))
        return ComposedLayout(Swizzle(3, 3, 3), 0, Layout((rows, (64, 4)), (strides, (1, 8192))))

    budget = Budget()
    built = seconds(tile)
    ways: dict[str, Callable[[], Any]] = {
        "bijective, verdict": lambda: decide(Bijective(tile(), 32768), budget),
        "in bounds, verdict": lambda: decide(InBounds(tile(), 32768), budget),
        "enumeration": lambda: first_collision(tile().offsets()),
    }
    times = {name: seconds(way) - built for name, way in ways.items()}
    times["equal to a refinement, verdict"] = seconds(lambda: decide(Equal(tile(), tile(True)), budget)) - 2 * built
    if "tensor_layouts" in NUMBERS:
        peer, analysis = (importlib.import_module(n) for n in ("tensor_layouts", "tensor_layouts.analysis"))
        inner = peer.Layout(((8, 16), (64, 4)), ((64, 512), (1, 8192)))
        theirs = peer.compose(peer.Swizzle(3, 3, 3), inner)
        times["tensor-layouts is_bijective"] = seconds(lambda: analysis.is_bijective(theirs), batches=1)
    print(f"\nswizzled 128 x 256 tile (construction, {built * 1e6:.1f} us, apart)")
    for name, value in times.items():
        print(f"{name:<34}{value * 1e6:>12.1f} us{value / times['bijective, verdict']:>12,.1f} times the first")


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modes", type=int, nargs=2, default=(2, 10), metavar=("FIRST", "LAST"))
    parser.add_argument("--budget-ms", type=int, default=2500, help="for each query of a solver")
    args = parser.parse_args()
    begin = time.perf_counter()
    print(f"z3 {z3.get_version_string()}, {args.budget_ms} ms a query; numbers are compact with extents of {EXTENT}")
    for family, make in FAMILIES.items():
        report(family, measured(make, *args.modes, args.budget_ms), args.budget_ms)
    swizzled_tile()
    print(f"\n{time.perf_counter() - begin:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
