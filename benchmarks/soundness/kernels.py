"""Claims about kernels: random kernels with slips, held against untimed runs and direct counts.

A trial draws a kernel that computes what it says (``benchmarks.value_kernels``), or one that works in place or with two
tensors in the same bytes, makes no slip in it, one or two, and states one claim. What is proved must be so at several
sizes: elements are counted in a run on plain integers, limits are counted again, and untimed runs in several orders
must not fault. A fault or another value that some other claim of the kernel knows of says nothing about this one. No
claim of a kernel without a slip may be refuted.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.inplace_kernels import random_kernel
from benchmarks.kernel_slips import mutants
from benchmarks.value_flow import said, slipped
from benchmarks.value_kernels import KINDS, handed, ringed
from checkers.claim import Claim, TooLarge
from checkers.claims import (
    ApartInTime,
    ArithmeticFits,
    Computes,
    GlobalOrder,
    HappensBefore,
    Launchable,
    RegistersFit,
    RingProtocol,
    SharedMemoryFits,
    TransactionBytes,
    UpdatedOnce,
    WellFormed,
    WrittenOnce,
)
from checkers.claims.apart_in_time import apart_in_memory
from checkers.claims.arithmetic_fits import PartialFits
from checkers.claims.updated_once import updates
from checkers.coverage.store_sites import outputs, reduced
from checkers.kernel_claims import claims_of
from checkers.overlaps import sharing
from checkers.prover import Budget
from checkers.proving import prove
from checkers.races.bound_runs import Run
from checkers.rings.recognised import rings_of
from symlayout import Layout, dim
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import ExecutionError, SymlayoutError
from symlayout.expr import evaluate, index
from symlayout.facts import symbols_in
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.integer_widths import evaluations, in_memory
from symlayout.kernels import tma_reduce_add
from symlayout.ops import Barrier, ExpectTx, For, Role, rewritten, substitution
from symlayout.semantics import execute
from symlayout.semantics.telling import telling_inputs

from . import plain
from .layouts import fits_in, symbolic_fits_in
from .plain import Env, TooMany
from .row import Row, judged

ORDERS: tuple[str | int, ...] = ("eager", "lazy", 1)
TRIED = 2  # sizes at which a kernel is run in several orders
ELEMENTS = 1 << 14  # of the tensors of a run in several orders
QUICK = Budget(solver_ms=300, refuter_points=40_000, repairs=False)
VALUES = (Computes, WrittenOnce, UpdatedOnce)  # what they find wrong makes no run fault


@dataclass(frozen=True)
class KernelRow(Row):
    """A row of claims about kernels: *wrong* says what contradicts a proof at sizes; a right kernel is not refuted."""

    exact: bool = False  # whether *holds* decides a refutation too

    def decided(self, claim: Claim, budget: Budget) -> Verdict:
        """The verdict on a claim, in less time than one about layouts has."""
        return judged(claim, QUICK)

    def complaint(self, claim: Claim, v: Verdict, r: random.Random) -> str:
        kernel = claim.kernel  # type: ignore[attr-defined]
        sizes, clean = _drawn(claim)
        if v.outcome is Outcome.REFUTED and clean:
            return f"a kernel without a slip is refuted:\n{kernel}"
        if v.outcome is Outcome.REFUTED and self.exact and v.witness is not None:
            return self._at_witness(claim, v)
        if v.outcome is not Outcome.PROVED:
            return ""
        for env in r.sample(sizes, min(len(sizes), TRIED)) if self.holds is runs_well else sizes:
            try:
                if not self.holds(claim, env):
                    return f"fails at {env}:\n{kernel}"
            except TooMany:
                continue
        return ""

    def _at_witness(self, claim: Claim, v: Verdict) -> str:
        env = {str(name): int(x) for name, x in dict(v.witness.sizes).items()} if v.witness is not None else {}
        names = {s.name for s in claim.kernel.dims}  # type: ignore[attr-defined]
        try:
            return f"the witness {env} does not fail" if names <= set(env) and self.holds(claim, env) else ""
        except TooMany:
            return ""


def _drawn(claim: Claim) -> tuple[tuple[Env, ...], bool]:
    """(sizes at which the kernel of a claim is tried, whether it has no slip)."""
    return getattr(claim, "_drawn", (({},), False))


def _remembered(make: Callable[[Kernel], Claim], kernel: Kernel, sizes: tuple[Env, ...], clean: bool) -> Claim:
    claim = make(kernel)
    object.__setattr__(claim, "_drawn", (sizes, clean))  # no field: it is nothing that the claim says
    return claim


# -- kernels --------------------------------------------------------------------------------------------


def drawn(r: random.Random, names: tuple[str, ...] = (), order: bool = False) -> tuple[Kernel, tuple[Env, ...], bool]:
    """(kernel, sizes, whether it has no slip) of one of some kinds, of all if none is named.

    With *order* slips are those of ``kernel_mutation``: an operation left out, moved or another, a number one off.
    """
    kernel, sizes = KINDS[r.choice(names or tuple(KINDS))](r)
    made = 0
    for _ in range(r.choice((0, 1, 1, 1, 2))):
        found = r.choice(list(mutants(kernel))) if order and r.random() < 0.8 else slipped(r, kernel)
        if found is not None:
            kernel, made = found[1], made + 1
    kernel = named_oddly(r, kernel) if r.random() < 0.3 else kernel
    known = {s.name for s in kernel.dims}
    return kernel, tuple({k: v for k, v in at.items() if k in known} for at in sizes), not made


def named_oddly(r: random.Random, kernel: Kernel) -> Kernel:
    """The kernel with names for the indices of its loops such as provers, or other loops, have for theirs."""
    loops = [op for op in kernel.walk() if isinstance(op, For)]
    every = {op.index.name for op in loops}
    names = ["warp", "last", "k_0", "slot_0", "part_0", "within_0", "any_lane", "block_k"]
    names += [f"{x}{mark}" for x in sorted(every) for mark in ("__a", "__b")]
    names += [f"{t.name}_base" for t in kernel.tensors]
    to = dict(zip(sorted(every), r.sample(names, min(len(names), len(every))), strict=False))
    alone = [op for op in loops if not {s.name for s in symbols_in((op.extent,))} & every]
    put = substitution({op.index: index(to.get(op.index.name, op.index.name), op.extent) for op in alone})
    return replace(kernel, body=rewritten(kernel.body, put), wide=tuple(map(put, kernel.wide)))


def stating(
    make: Callable[[random.Random, Kernel], Claim], names: tuple[str, ...] = (), order: bool = False
) -> tuple[Any, Any]:
    """(static, symbolic) generators of a claim about kernels of some kinds."""

    def symbolic(r: random.Random) -> Claim:
        kernel, sizes, clean = drawn(r, names, order)
        return _remembered(lambda k: make(r, k), kernel, sizes, clean)

    def static(r: random.Random) -> Claim:
        kernel, sizes, clean = drawn(r, names, order)
        bound = kernel.bind(**r.choice(sizes)) if kernel.dims else kernel
        return _remembered(lambda k: make(r, k), bound, ({},), clean)

    return static, symbolic


def _some(r: random.Random, found: Any, what: str) -> Any:
    found = tuple(found)
    if not found:
        raise SymlayoutError(f"expected a kernel with {what}, got one without")
    return r.choice(found)


def _in_place(r: random.Random) -> tuple[Kernel, tuple[dict[str, int], ...]]:
    return random_kernel(r.randrange(1 << 30)), tuple({"N": n} for n in (1, 2, 31, 33, 64, 65, 129, 193, 257))


def _global_order(symbolic: bool) -> Callable[[random.Random], Claim]:
    def make(r: random.Random) -> Claim:
        kernel, sizes = _in_place(r)
        kernel = named_oddly(r, kernel) if r.random() < 0.3 else kernel
        if not symbolic:
            kernel, sizes = kernel.bind(**r.choice(sizes)), ({},)
        return _remembered(lambda k: GlobalOrder(k, "a"), kernel, sizes, False)

    return make


def _updated(symbolic: bool) -> Callable[[random.Random], Claim]:
    def make(r: random.Random) -> Claim:
        kernel, clean = tma_reduce_add(3, *(dim(n, multiple_of=8) for n in "MN"), tile=(8, 32), slots=2, blocks=2), True
        for _ in range(r.choice((0, 1, 1, 2))):
            found = slipped(r, kernel)
            if found is not None:
                kernel, clean = found[1], False
        sizes: Any = ({"M": 8, "N": 8}, {"M": 40, "N": 72}, {"M": 16, "N": 64})
        if not symbolic:
            kernel, sizes = kernel.bind(**r.choice(sizes)), ({},)
        return _remembered(lambda k: _some(r, updates(k), "an update"), kernel, sizes, clean)

    return make


def _over(r: random.Random) -> Claim:
    """Two tensors in the same bytes, mostly with a barrier between their uses."""
    k = Builder("over", grid=(1,), threads=64)
    g, z = k.global_tensor("g", "f32", Layout(64)), k.global_tensor("z", "f32", Layout((64, 4)))
    x, a = k.registers("x", "f32", 1), k.shared_tensor("a", "f32", Layout(64))
    b = k.shared_tensor("b", "f32", Layout(64), over=a(r.choice((0, 16, 32))))
    k.copy("ld.global.4", g(k.thread), x())
    k.copy("st.shared.4", x(), a(k.thread))
    for first in (0.95, 0.05):
        for i in range(r.randrange(1, 4)):
            tile, at = (a if r.random() < first else b), r.choice((k.thread, 63 - k.thread))
            what = r.random()
            if what < 0.4:
                k.copy("st.shared.4", x(), tile(at))
            elif what < 0.7:
                k.copy("ld.shared.4", tile(at), x())
            elif what < 0.8:
                k.sync()
            else:
                k.fence("async")
                k.sync()
                with k.elect():
                    k.copy("bulk.store", tile(), z(64 * i), nbytes=256)
                    k.commit("bulk")
                    k.wait_group("bulk", r.choice((0, 0, 1)), read=r.random() < 0.5)
        if first > 0.5 and r.random() < 0.9:
            k.sync()
    with k.elect():
        k.wait_group("bulk", 0)
    k.copy("st.global.4", x(), z(k.thread))
    kernel = k.kernel()
    return _remembered(lambda k: ApartInTime(k, *_some(r, sharing(k), "shared bytes")), kernel, ({},), False)


def resized(r: random.Random, kernel: Kernel, parts: tuple[int, ...]) -> Kernel:
    """A kernel with another grid (0), other threads (1), clusters, arrivals, registers, shared bytes, barriers (6)."""
    what = r.choice(parts)
    if what == 0 and kernel.dims:
        n = r.choice(kernel.dims) * r.choice((1, 32, 1024, 1 << 15))
        grid = (*kernel.grid, n) if r.random() < 0.7 else (n,)
        return replace(kernel, grid=grid[:4])
    if what == 1:
        return replace(kernel, threads=r.choice((kernel.threads * 4, 1024, 2048, 1056)))
    if what == 2:
        return replace(kernel, cluster=r.choice(((2,), (8,), (16,), (17,), (3, 2))))
    if what == 3 and kernel.barriers:
        rows = [replace(b, arrivals=r.choice((0, 1, 1 << 20, (1 << 20) - 1))) for b in kernel.barriers]
        return replace(kernel, barriers=tuple(rows))
    if what == 4:
        rows = [
            replace(t, layout=Layout(r.choice((16, 120, 255, 256, 300)))) if t.space == "register" else t
            for t in kernel.tensors
        ]
        return replace(kernel, tensors=tuple(rows))
    if what == 5:
        rows = [
            replace(t, base=t.base + r.choice((0, 512, 100_000, 225_000))) if t.space == "shared" else t
            for t in kernel.tensors
        ]
        return replace(kernel, tensors=tuple(rows))
    step, n = r.choice((0, 8, 15, 16)), r.choice((24, 40, 232, 240, 260))
    change: Callable[[Any], list[Any]] = lambda op: [  # noqa: E731
        replace(op, number=op.number + step)
        if isinstance(op, Barrier)
        else replace(op, registers=n)
        if isinstance(op, Role)
        else op
    ]
    return kernel.edited(change)


def limits(make: Callable[[Kernel], Claim], parts: tuple[int, ...], names: tuple[str, ...] = ()) -> tuple[Any, Any]:
    """(static, symbolic) generators of a claim about what a launch takes."""

    def symbolic(r: random.Random) -> Claim:
        kernel, sizes, _ = drawn(r, names)
        big = tuple({k: v * r.choice((1, 1 << 12, 1 << 20)) for k, v in at.items()} for at in sizes)
        return _remembered(make, resized(r, kernel, parts), (*sizes, *big), False)

    def static(r: random.Random) -> Claim:
        kernel, sizes, _ = drawn(r, names)
        bound = resized(r, kernel.bind(**r.choice(sizes)) if kernel.dims else kernel, parts)
        return _remembered(make, bound, ({},), False)

    return static, symbolic


# -- what a claim says, counted -------------------------------------------------------------------------


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
    launched = min(65536 // k.threads, 255) // 8 * 8
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
    own = {w: x.registers for x in roles for w in range(x.first_warp, x.first_warp + x.warps)}
    return sum(32 * (own.get(w) or launched) for w in range(k.threads // 32)) <= launched * k.threads


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


def _wide(symbolic: bool) -> Callable[[random.Random], Claim]:
    """Claims about the arithmetic of kernels of 32 bits, tried where one size is at its end."""

    def make(r: random.Random) -> Claim:
        kernel, sizes, _ = drawn(r)
        ends = [
            {**sizes[0], s.name: ((1 << 31) - r.choice((1, 8, 200))) // s.multiple * s.multiple} for s in kernel.dims
        ]
        kernel = replace(kernel, index_bits=r.choice((32, 32, 64)))
        if not symbolic:
            kernel, ends = kernel.bind(**r.choice((*ends, *sizes))) if kernel.dims else kernel, [{}]
        return _remembered(ArithmeticFits, kernel, tuple(ends), False)

    return make


def partial(make: Callable[[random.Random], Any]) -> Callable[[random.Random], Claim]:
    """A value that stands for a partial result."""

    def made(r: random.Random) -> Claim:
        every = (make(r) for _ in range(1000))  # of which one in eight or so is an expression over indices
        c = next(c for c in every if isinstance(c.layout, AddressMap))
        return PartialFits(c.layout, bits=c.bits, code="x", place="y", given=c.given)

    return made


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


# -- rows -----------------------------------------------------------------------------------------------


def _armed(r: random.Random, k: Kernel) -> Claim:
    names = {op.barrier.barrier for op in k.walk() if isinstance(op, ExpectTx)}
    return TransactionBytes(k, _some(r, sorted(names), "an expect_tx"))


def _row(kind: type[Claim], makers: tuple[Any, Any], holds: Any, exact: bool = False) -> KernelRow:
    return KernelRow(kind, *makers, holds, weight=WEIGHT, exact=exact)


IN_SHARED = ("tiles", "pipelined", "ringed", "shared_among", "handed")
RINGS = (*(ringed.__name__,) * 4, handed.__name__)
WEIGHT = 10
ROWS: tuple[Row, ...] = (
    Row(PartialFits, partial(fits_in), partial(symbolic_fits_in), plain.fits_in),
    _row(ArithmeticFits, (_wide(False), _wide(True)), arithmetic_fits),
    _row(ApartInTime, (_over, _over), apart),
    _row(Computes, stating(lambda r, k: Computes(k, _some(r, k.results, "a result").tensor)), computes),
    _row(GlobalOrder, (_global_order(False), _global_order(True)), in_order),
    _row(HappensBefore, stating(lambda r, k: HappensBefore(k), order=True), runs_well),
    _row(Launchable, limits(Launchable, (0, 1, 2, 3, 6)), launches),
    _row(RegistersFit, limits(RegistersFit, (1, 4, 6)), registers_fit, exact=True),
    _row(
        RingProtocol,
        stating(lambda r, k: RingProtocol(k, _some(r, (x.full for x in rings_of(k)), "a ring")), RINGS, order=True),
        runs_well,
    ),
    _row(SharedMemoryFits, limits(SharedMemoryFits, (5,), IN_SHARED), shared_fits),
    _row(TransactionBytes, stating(_armed, RINGS, order=True), runs_well),
    _row(UpdatedOnce, (_updated(False), _updated(True)), written_once, exact=True),
    _row(WellFormed, stating(lambda r, k: WellFormed(k), order=True), runs_well),
    _row(
        WrittenOnce,
        stating(lambda r, k: WrittenOnce(k, _some(r, (n for n in outputs(k) if n not in reduced(k)), "an output"))),
        written_once,
        exact=True,
    ),
)
