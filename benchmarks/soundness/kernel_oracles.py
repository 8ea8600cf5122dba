"""What claims about kernels say, counted: elements, races, values and limits of runs on plain integers."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.value_flow import said
from checkers.claim import Claim, TooLarge
from checkers.claims import (
    Computes,
    UpdatedOnce,
    WrittenOnce,
)
from checkers.claims.apart_in_time import apart_in_memory
from checkers.kernel_claims import claims_of
from checkers.overlaps import sharing
from checkers.prover import Budget
from checkers.proving import prove
from checkers.races.bound_runs import Run
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError, SymlayoutError
from symlayout.expr import evaluate
from symlayout.facts import symbols_in
from symlayout.kernel import Kernel
from symlayout.kernel.integer_widths import evaluations, in_memory
from symlayout.ops import Barrier, Mma, Role
from symlayout.semantics import execute
from symlayout.semantics.telling import telling_inputs

from .plain import Env, TooMany

ORDERS: tuple[str | int, ...] = ("eager", "lazy", 1)
ELEMENTS = 1 << 14  # of the tensors of a run in several orders
QUICK = Budget(solver_ms=300, refuter_points=40_000, repairs=False)
VALUES = (Computes, WrittenOnce, UpdatedOnce)  # what they find wrong makes no run fault


def bound_at(kernel: Kernel, env: Env) -> Kernel:
    """The kernel at sizes. Raises TooMany where its own assumptions exclude them."""
    try:
        return kernel.bind(**{s.name: env[s.name] for s in kernel.dims}) if kernel.dims else kernel
    except (SymlayoutError, KeyError) as e:
        raise TooMany(str(e)) from e


def written_once(claim: Any, env: Env) -> bool:
    """Each element has one write, by the accesses of all threads."""
    bound = bound_at(claim.kernel, env)
    run = _run(bound, claim.tensor)
    writes = Counter({at: sum(t.kind == "write" for t in ts) for at, ts in run.touches.items()})
    return all(writes[int(at)] == 1 for at in bound.tensor(claim.tensor).layout.offsets())


def in_order(claim: Any, env: Env) -> bool:
    """No two accesses race, and random orders agree. A race may be one that this run does not see."""
    bound = bound_at(claim.kernel, env)
    if _run(bound, claim.tensor).race():
        return False
    raise TooMany("none is seen")


def _run(bound: Kernel, tensor: str) -> Run:
    try:
        return Run(bound, tensor)
    except (TooLarge, SymlayoutError, ZeroDivisionError) as e:
        raise TooMany(str(e)) from e


def computes(claim: Any, env: Env) -> bool:
    """A run stores what the result says, unless another claim knows why it does not."""
    first = next(x for x in claim.kernel.results if x.tensor == claim.output)
    others = tuple(x for x in claim.kernel.results if x is not first)
    kernel = replace(claim.kernel, results=(first, *others))
    if said(kernel, ({s.name: env[s.name] for s in kernel.dims},)) and not blamed(claim):
        return False
    raise TooMany("the run ends with these values")


def runs_well(claim: Any, env: Env) -> bool:
    """No order of an untimed run faults, unless another claim knows why it does."""
    bound = bound_at(claim.kernel, env)
    elements = sum(int(t.layout.size()) for t in bound.tensors if t.space == "global")
    if elements > ELEMENTS:
        raise TooMany(f"{elements} elements take long")
    if faults(bound) and not blamed(claim):
        return False
    raise TooMany("no run faults")


def faults(bound: Kernel) -> str:
    """What an untimed run in some order complains of; "" where none does, or of values that were never written only."""
    try:
        inputs = telling_inputs(bound)
    except SymlayoutError as e:
        raise TooMany(str(e)) from e
    for order in ORDERS:
        try:
            execute(bound, inputs, order)
        except ExecutionError as e:
            if "never written" not in str(e):
                return f"{order}: {e}"
        except SymlayoutError as e:
            raise TooMany(str(e)) from e
    return ""


def blamed(claim: Any) -> str:
    """Another claim of the kernel that is not proved, "" where all are: what a run shows is then this one's fault."""
    if not hasattr(claim, "_blamed"):
        object.__setattr__(claim, "_blamed", next(_unproved(claim.kernel, type(claim)), ""))
    return str(claim._blamed)


def _unproved(kernel: Kernel, kind: type[Claim]) -> Iterator[str]:
    """The claims of a kernel of other kinds that are not proved, those about values aside."""
    try:
        claims = [c for c in claims_of(kernel) if not isinstance(c, (kind, *VALUES))]
        found = prove(claims, budget=QUICK).verdicts
    except SymlayoutError as e:
        yield str(e)
        return
    yield from (str(v.claim) for v in found if v.outcome is not Outcome.PROVED)


def apart(claim: Any, env: Env) -> bool:
    """A run ends as with tensors at places of their own."""
    bound = bound_at(claim.kernel, env)
    inputs = telling_inputs(bound)
    for order in ORDERS:
        try:
            wanted = execute(apart_in_memory(bound), inputs, order)
        except ExecutionError as e:
            raise TooMany(str(e)) from e
        try:
            found = execute(bound, inputs, order)
        except ExecutionError:
            return False
        if any(wanted[name].tobytes() != found[name].tobytes() for name in wanted):
            return False
    raise TooMany("no run differs")


def registers_fit(claim: Any, _: Env) -> bool:
    """Registers counted role by role; those of all warps together."""
    k = claim.kernel
    launched = min(65536 // (k.threads * (k.ctas_per_sm or 1)), 255) // 8 * 8
    roles = [op for op in k.walk() if isinstance(op, Role)]
    asked = [x for x in roles if x.registers]
    plain = 255 if not asked and launched + 8 > 255 else launched
    taken: Counter[str] = Counter()
    for t in k.tensors:
        if t.space == "register":
            taken[t.role] += -(-int(t.bytes) // 4)
    for role in roles or [None]:
        mine = taken[role.name if role else ""] + (taken[""] if role else 0)
        if mine > ((role.registers if role else 0) or plain):
            return False
    if roles and taken[""] > plain:
        return False
    if any(x.registers % 8 or not 24 <= x.registers <= 256 or x.first_warp % 4 or x.warps % 4 for x in asked):
        return False
    if any(_at_launch(op.atom) > launched for op in k.walk() if isinstance(op, Mma)):
        return False
    own = {w: x.registers for x in roles for w in range(x.first_warp, x.first_warp + x.warps)}
    return sum(32 * (own.get(w) or launched) for w in range(k.threads // 32)) <= launched * k.threads


def _at_launch(word: str) -> int:
    """Registers of a thread without which ptxas refuses a product: for wgmma its part of 64 x N sums, A, and 26."""
    name, shape, *kinds = word.split(".")
    if name == "mma":
        return 64 if kinds == ["f64"] and shape.startswith("m16") else 0
    n, half = int(shape.split("n")[1].split("k")[0]), "f16" in kinds[1:]
    return n // (4 if half else 2) + 4 * ("rs" in kinds) + 26


def shared_fits(claim: Any, env: Env) -> bool:
    """The last byte of all, below the limit; tensors in the same bytes are apart in a run."""
    k = claim.kernel
    ends = [t.base + int(t.bytes) for t in k.tensors if t.space == "shared"]
    total = -(-max(ends, default=0) // 8) * 8 + 8 * sum(b.slots for b in k.barriers)
    if total > 227 * 1024:
        return False
    return apart(claim, env) if sharing(k) and total <= 227 * 1024 else True


def launches(claim: Any, env: Env) -> bool:
    """Grid, cluster, threads, barriers and arrivals against the numbers of the guide."""
    k = claim.kernel
    try:
        grid = [evaluate(n, env) for n in k.grid]
    except SymlayoutError as e:
        raise TooMany(str(e)) from e
    grid += [1] * (len(k.cluster) - len(grid))  # along an axis without a name there is one CTA
    cluster = [*k.cluster, *(1,) * (len(grid) - len(k.cluster))]
    numbers = [op for op in k.walk() if isinstance(op, Barrier)]
    right = [
        len(grid) <= 3,
        all(n <= most for n, most in zip(grid, (2**31 - 1, 65535, 65535), strict=False)),
        k.threads <= 1024 and k.threads % 32 == 0,
        all(n % c == 0 for n, c in zip(grid, cluster, strict=True)),
        math.prod(cluster) <= 16,
        all(0 <= b.number <= 15 and b.threads <= k.threads for b in numbers),
        all(1 <= b.arrivals < 2**20 for b in k.barriers),
    ]
    if not all(right):
        return False
    raise TooMany("what else a launch takes is not counted here")


def arithmetic_fits(claim: Any, env: Env) -> bool:
    """Partial results of the code at some indices, at sizes at which its tensors have room in memory."""
    k, r = claim.kernel, random.Random(str(env))
    if not all(evaluate(n, env) >= 1 for n in k.grid) or not all(f.at(env) for f in (*k.given, *in_memory(k))):
        raise TooMany("no such launch")
    for e in evaluations(k):
        for value, bits in e.held:
            x = e.put(value)
            for at in (_indices((x, e.conditions), env, r) for _ in range(4)):
                if all(f.at(at) for f in e.conditions) and not -(2 ** (bits - 1)) <= evaluate(x, at) < 2 ** (bits - 1):
                    return False
    raise TooMany("no partial result is too large at some indices")


def _indices(xs: Any, env: Env, r: random.Random) -> dict[str, int]:
    """Values of the indices in expressions, at an end of their ranges or between."""
    at = dict(env)

    def put(s: Any) -> None:
        if s.name in at:
            return
        for t in symbols_in((s.lower, s.upper)):
            put(t)
        low, high = evaluate(s.lower, at), evaluate(s.upper, at)
        at[s.name] = r.choice((low, high, r.randint(min(low, high), max(low, high))))

    for s in symbols_in(xs):
        put(s)
    return at
