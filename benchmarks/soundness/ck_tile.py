"""Random claims about views, windows and distributions of CK Tile, careless ones among them.

Lengths are 0 and 1 too, strides 0 and negative, pads negative or larger than the tensor, skipped, under merges and
remainders; slices leave their dimension, xors have any width, sizes may be 0 or below. Windows have origins that
overhang, distributions factors with two owners or none.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.ck_distributions import random_encoding
from benchmarks.ck_graphs import Drawing
from checkers.ck_tile import (
    DistributionCovers,
    GuaranteedVectorLength,
    LdsConflictDegree,
    MaskIsExactly,
    MovingEqualsMaking,
    NoInvalidAccess,
    VectorDoesNotStraddle,
)
from checkers.claim import Claim
from checkers.prover import Budget, verdicts
from symlayout import ComposedLayout, Layout, Swizzle
from symlayout.address_map import AddressMap
from symlayout.answers.report import Verdict
from symlayout.banks import CDNA_READ_B128, Access
from symlayout.ck_tile import (
    TensorDescriptor,
    TensorView,
    TileDistribution,
    TileDistributionEncoding,
    make_buffer_view,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_tile_window,
    transform_tensor_descriptor,
)
from symlayout.expr import Fact, dim, eq, index
from symlayout.transforms import Embed, Freeze, Merge, Modulo, Offset, Pad, Slice, Transform, Unmerge, Xor

from .ck_oracle import HOLDS
from .plain import Env, TooMany, admissible
from .row import WORST, Row, symbols_of

SECONDS = 30.0  # that no verdict may take
HUGE = (2**16, 2**24 + 1, 2**31 - 1, 2**31, 2**40)


class Careless(Drawing):
    """Transforms whose parameters mean something, and now and then nothing."""

    def __init__(self, rng: random.Random, symbols: bool, huge: float = 0.0) -> None:
        super().__init__(rng)
        self.symbols, self.huge = symbols, huge

    def odd(self, chance: float = 0.15) -> bool:
        return self.rng.random() < chance

    def named(self, n: int) -> Any:
        if not self.symbols or len(self.sizes) >= 3 or self.odd(0.7):
            return self.rng.choice(HUGE) if self.odd(self.huge) else n
        name = f"s{len(self.sizes)}"
        low = self.rng.choice((1, 1, 1, 0, -2))
        self.sizes[name] = max(n, low)
        return dim(name, at_least=low, at_most=self.rng.choice((None, None, 12)))

    def base(self) -> TensorDescriptor:
        lengths = [self.named(self.rng.choice((0, 1, 1, 2, 3, 4, 6, 8))) for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.4:
            return make_naive_tensor_descriptor_packed(lengths, self.rng.choice((-1, 2, 4)))
        strides: list[Any] = []
        stride: Any = 1
        for n in reversed(lengths):
            strides.insert(0, self.rng.choice((0, -1, 1, 3)) if self.odd() else stride)
            stride = stride * n + self.rng.choice((0, 0, 1, 2))
        return make_naive_tensor_descriptor(lengths, strides, self.rng.choice((-1, 2, 4)), 1)

    def transform(self, lengths: list[Any]) -> Transform:
        n = lengths[0]
        if len(lengths) >= 2 and self.odd(0.2):
            return Xor(tuple(lengths[:2]))
        makers: tuple[Callable[[Any], Transform], ...] = (
            self._pad,
            lambda n: Slice(n, self.named(self.rng.randint(-1, 2)), self.rng.choice((n, n - 1, n + 1))),
            lambda n: Offset(n, self.named(self.rng.randint(-1, 3))),
            lambda n: Freeze(self.named(self.rng.randint(-1, 3))),
            lambda n: Modulo(self.named(self.rng.randint(1, 5)), self.rng.choice((n, 5))),
            lambda n: Embed((2, self.named(3)), (self.rng.randint(-2, 3), self.rng.choice((1, n, 0)))),
            lambda n: Unmerge((self.named(2), self.named(3)), use_24bit=self.odd(0.5)),
            lambda n: Merge((n, self.rng.choice((1, 0, 2)))[: self.rng.choice((1, 1, 2))]),
        )
        if self.odd(0.3) or not all(1 <= self.value(x) <= 64 for x in lengths):
            return self.rng.choice(makers)(n)
        return super().transform(lengths)

    def _pad(self, n: Any) -> Transform:
        if not self.odd(0.4):
            return super()._pad(n)
        left, right = self.named(self.rng.choice((-1, 0, 2, 20))), self.named(self.rng.choice((-2, 0, 3, 30)))
        return Pad(n, left, right, self.odd(0.5))


def descriptor(r: random.Random, symbolic: bool) -> TensorDescriptor:
    """A random descriptor, or the accesses of a window on one; numbers are huge now and then."""
    made = Careless(r, symbolic, 0.0 if symbolic or r.random() < 0.9 else 0.3)
    d = made.base()
    for _ in range(r.randint(0, 3)):
        d = transform_tensor_descriptor(d, *made.layer(d.lengths))
    if d.lengths and r.random() < 0.3:
        return window(r, d, symbolic)
    return d


def window(r: random.Random, d: TensorDescriptor, symbolic: bool) -> TensorDescriptor:
    """The accesses of a window, with or without a distribution, at an origin of a block index."""
    lengths = tuple(r.choice((1, 2, 4)) for _ in d.lengths)
    origin: list[Any] = []
    for i, n in enumerate(lengths):
        block = index(f"b{i}", dim("G") if symbolic and r.random() < 0.4 else r.randint(1, 3))
        origin.append(r.choice((0, n * block, n * block, block + r.randint(-1, 2), r.randint(-1, 3))))
    view = TensorView(make_buffer_view(None, d.element_space_size), d)
    factors = tuple((n // m, m) for n in lengths for m in (r.choice([k for k in (1, 2, 4) if n % k == 0]),))
    lanes, own = [[(k + 1, j) for k in range(len(factors))] for j in (0, 1)]
    found = TileDistribution(TileDistributionEncoding((), factors, (tuple(lanes),), tuple(own)))
    return make_tile_window(view, lengths, origin, found if r.random() < 0.7 else None).access


# -- claims ---------------------------------------------------------------------------------------------------


def _accesses(r: random.Random, symbolic: bool) -> Claim:
    d, size = descriptor(r, symbolic), None
    if r.random() < 0.3:
        size = d.element_space_size + r.choice((-1, 1, 8))
    elements = r.choice((1, 1, 2, 4)) if d.lengths else 1
    return NoInvalidAccess(d, size, elements, r.randrange(len(d.lengths)) if d.lengths else -1)


def _masks(r: random.Random, symbolic: bool) -> Claim:
    d = descriptor(r, symbolic)
    wanted = [f for f in d.valid if r.random() < 0.9]
    if wanted and r.random() < 0.3:
        i = r.randrange(len(wanted))
        wanted[i] = Fact(wanted[i].expr + r.choice((-1, 1)), wanted[i].relation)
    if r.random() < 0.3 and d.coords:
        k = r.randrange(len(d.coords))
        wanted.append(d.coords[k] + r.choice((0, 0, 1)) < d.extents[k])  # type: ignore[arg-type]
    wanted = [f if isinstance(f, Fact) else Fact(0 if f else -1, ">=") for f in wanted]
    return MaskIsExactly(d, AddressMap(d.coords, d.extents, 0, tuple(wanted)))


def _straddling(r: random.Random, symbolic: bool) -> Claim:
    d = _with_dimensions(r, symbolic)
    return VectorDoesNotStraddle(d, r.choice((1, 2, 2, 3, 4)), r.randrange(len(d.lengths)))


def _guaranteed(r: random.Random, symbolic: bool) -> Claim:
    d = _with_dimensions(r, symbolic)
    k = r.randrange(len(d.lengths))
    if r.random() < 0.3 and d.get_top_dimension_safe_vector_length_strides()[0][k] != -1:
        return GuaranteedVectorLength(d, along=k, version=r.choice(("V24", "V25")))
    return GuaranteedVectorLength(d, r.choice((1, 2, 2, 4)), k, r.choice((1, 1, 1, 0, -1, 2)))


def _with_dimensions(r: random.Random, symbolic: bool) -> TensorDescriptor:
    while True:
        d = descriptor(r, symbolic)
        if d.lengths:
            return d


def _moving(r: random.Random, symbolic: bool) -> Claim:
    return MovingEqualsMaking(descriptor(r, symbolic))


def _covering(r: random.Random, symbolic: bool) -> Claim:
    e = random_encoding(r, exact=0.6)
    lanes = warps = None
    if r.random() < 0.2:
        lanes = e.p_lengths[-1] * r.choice((1, 2)) + r.choice((0, 0, 1))
        warps = e.p_lengths[0] + r.choice((0, 1)) if len(e.P) == 2 else None
    if symbolic:
        h = tuple(tuple(dim("MN"[k]) if r.random() < 0.3 else n for n in f) for k, f in enumerate(e.H))
        e = TileDistributionEncoding(e.R, h, e.P, e.Y)
        lanes = warps = None
    return DistributionCovers(e, lanes, warps)


def _conflicts(r: random.Random, symbolic: bool) -> Claim:
    """The lanes of a wave in a tile of LDS, plain, padded or swizzled: as a layout, or as a map."""
    width, banks, lanes = r.choice((2, 4, 8, 16)), r.choice((32, 64)), r.choice((32, 64))
    served = Access(width, lanes, _phases(r, width, lanes), banks)
    element, most = r.choice((1, 2, 4)), r.choice((1, 1, 2, 4, 8))
    if r.random() < 0.6:
        return LdsConflictDegree(_tile(r, symbolic, lanes, width // element or 1), element, served, most)
    rows = r.choice((4, 8, 16, 32))
    step, pack = r.choice((8, 16, 32, 33, 64, 40)), r.choice((1, 2, 8))
    swizzle = r.random() < 0.4

    def offset(lane: Any, k: Any) -> Any:
        row, chunk = lane % rows, lane // rows + k
        return row * step * pack + ((chunk ^ (row % 4)) if swizzle else chunk) * pack

    extent: Any = dim("K") if symbolic else r.randint(1, 3)
    made = AddressMap.over(offset, (lanes, extent))
    return LdsConflictDegree(made, element, served, most)


def _phases(r: random.Random, width: int, lanes: int) -> tuple[tuple[int, ...], ...]:
    """Runs of lanes, those of AMD CDNA, every second lane, or lanes in any order."""
    kind = r.choice(("runs", "runs", "cdna", "even", "any"))
    if kind == "cdna" and lanes == 64:
        return CDNA_READ_B128
    if kind == "even":
        return tuple(range(0, lanes, 2)), tuple(range(1, lanes, 2))
    some = r.sample(range(lanes), lanes)
    return tuple(tuple(some[i : i + 8]) for i in range(0, lanes, 8)) if kind == "any" else ()


def _tile(r: random.Random, symbolic: bool, lanes: int, pack: int) -> Layout | ComposedLayout:
    """Lanes in rows and chunks of a tile, stages and steps beside them, perhaps swizzled."""
    rows = r.choice((4, 8, 16, lanes))
    row = pack * r.choice((4, 8, 8, 16, 9)) if not symbolic or r.random() < 0.7 else pack * (2 * dim("S") + 1)
    stages: Any = dim("K") if symbolic else r.choice((1, 2, 3))
    shape, stride = ((rows, lanes // rows), stages), ((row, pack), r.choice((pack, 64 * pack, 1)))
    made = Layout(shape, stride)
    if symbolic or r.random() < 0.5:
        return made
    return ComposedLayout(Swizzle(r.choice((1, 2, 3)), r.choice((0, 1, 3)), 3), r.choice((0, 0, 64)), made)


# -- rows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WithObligations(Row):
    """A row whose verdict is the worst of a claim and what the transforms of its descriptor must keep."""

    def decided(self, claim: Claim, budget: Budget) -> Verdict:
        found = list(verdicts(claim, (), budget))
        return min(found, key=lambda v: WORST.index(v.outcome))

    def complaint(self, claim: Claim, v: Verdict, r: random.Random) -> str:
        slow = f"took {v.seconds:.0f} s" if v.seconds > SECONDS else ""
        return super().complaint(claim, v, r) or slow

    def _refuted(self, claim: Claim, v: Verdict) -> str:
        """A witness of an obligation may name an index, which is no size of the claim."""
        told = dict(v.witness.sizes) if v.witness is not None else {}
        symbols = symbols_of(claim)
        env: Env = {s.name: told[s.name] for s in symbols if s.name in told}
        if len(env) < len(symbols):
            return ""  # an obligation about some sizes alone
        if not admissible(symbols, claim.given, env):
            return f"the witness {env} is not admissible"
        return self._at(claim, env)

    def _at(self, claim: Claim, env: Env) -> str:
        try:
            return f"the witness {env} does not fail" if self.holds(claim, env) else ""
        except TooMany:
            return ""


def _given(r: random.Random, claim: Claim) -> Claim:
    """A claim, now and then with facts about its sizes."""
    symbols = symbols_of(claim)
    if not symbols or r.random() < 0.6:
        return claim
    a, b = r.choice(symbols), r.choice(symbols)
    every = a.multiple_of(2), a >= 2, a <= 5, eq(a, 2 * (a // 2)), a + 1 >= b, (a * b).multiple_of(4)
    return replace(claim, given=tuple(f for f in r.sample(every, 2) if isinstance(f, Fact) and f.symbols))


def _row(kind: type[Claim], make: Callable[[random.Random, bool], Claim], weight: int = 8) -> Row:
    holds = HOLDS[kind.__name__]
    return WithObligations(kind, lambda r: make(r, False), lambda r: _given(r, make(r, True)), holds, weight=weight)


ROWS = (
    _row(DistributionCovers, _covering),
    _row(GuaranteedVectorLength, _guaranteed),
    _row(LdsConflictDegree, _conflicts),
    _row(MaskIsExactly, _masks),
    _row(MovingEqualsMaking, _moving),
    _row(NoInvalidAccess, _accesses),
    _row(VectorDoesNotStraddle, _straddling),
)

__all__ = ["ROWS"]
