"""Facts: rows and substitutions, decisions with evidence, and a fuzz of their soundness against admissible points."""

from __future__ import annotations

import itertools
import math
import random
from typing import Any

import pytest

from symlayout import AssumptionError, Expr, Facts, Symbol, ceil_div, dim, dims, eq, evaluate, index, maximum, minimum
from symlayout.expr import floordiv, integer, mod, multiple_of
from symlayout.facts import Evidence, Row, inner_first, opaque_atoms, residues_vanish
from symlayout.facts.positivity import Search
from tests.support.draw import Draw

M, N, K = dims("M N K")
M8 = dim("M8", multiple_of=8)


# -- re-adding evidence by hand ---------------------------------------------------------------------------


def proves(evidence: Evidence, p: Any, facts: Facts, rows: list[Any] | None = None) -> bool:
    """Whether the evidence is the identity that it claims to be: scale*p + scale - 1 as a sum of row products."""
    rows = facts.generators(p) if rows is None else rows
    if evidence.multiple > 1:  # p == m*q + r with a number r of 0 .. m - 1, and it is about q
        m = evidence.multiple
        assert isinstance(p, Expr)
        assert all(c % m == 0 for key, c in p.terms.items() if key)
        p = sum((c // m * math.prod(key) for key, c in p.terms.items()), start=0)
    total: Any = 0
    for c, product in evidence.terms:
        total = total + c * math.prod((rows[i] for i in product), start=1)
    scale = evidence.scale
    if isinstance(scale, Expr):
        positive = evidence.positive is not None and proves(evidence.positive, scale - 1, facts)
    else:
        positive = scale >= 1
    return positive and all(c >= 0 for c, _ in evidence.terms) and total == scale * p + scale - 1


def test_the_document_example():
    facts = Facts.about(M * N, given=[N.multiple_of(8), M <= N])

    assert facts.nonneg(facts.normal(8 * M * N - 8)) is not None
    assert facts.divisible(2 * M * N, 16)


@pytest.mark.parametrize(
    "p, given",
    [
        (M - 1, ()),
        (M * N - 1, ()),
        (M * N - M - N + 1, ()),
        (M * N - M, ()),
        (2**31 - 1 - M, ()),
        (N - M, (M <= N,)),
        (M * N - K, (K <= M, K <= N)),
        (64 * ceil_div(M, 64) - M, ()),
        (M + 63 - 64 * ceil_div(M, 64), ()),
        (ceil_div(M, 64) - 1, ()),
        (M - M // 8 * 8, ()),
        (M - minimum(M, N), ()),
        (maximum(M, N) - N, ()),
        (N - M, (M <= K, K <= N)),
        (M * M - 2 * M + 1 + 2 * M, ()),
        (M - 1 - index("i", M), ()),
        (M * N - 1 - (N * index("i", M) + index("j", N)), ()),
    ],
    ids=str,
)
def test_true_signs_come_with_evidence(p, given):
    facts = Facts.about(p, given=given)
    p = facts.normal(p)
    evidence = facts.nonneg(p)

    assert evidence is not None
    assert proves(evidence, p, facts)


@pytest.mark.parametrize("p", [M - 2, M - N, -M, N - M * N, M * N - 2, M // 8 - 1, minimum(M, N) - 2, 2 - M], ids=str)
def test_signs_that_fail_somewhere_have_none(p):
    facts = Facts.about(p)

    assert facts.nonneg(facts.normal(p)) is None


def test_order_of_values():
    facts = Facts.about(M, N, given=[M <= N])

    assert facts.le(M, N) is True
    assert facts.le(M, N + 1) is True
    assert facts.lt(M, N + 1) is True
    assert facts.lt(N, M) is False
    assert facts.le(N, M) is None
    assert facts.le(1, M) is True
    assert facts.le(3, 5) is True
    assert facts.lt(5, 5) is False


def test_whether_a_fact_follows():
    facts = Facts.about(M8, N, given=[N >= 8])

    assert facts.holds(M8 >= 8) is True
    assert facts.holds(M8 >= 9) is None
    assert facts.holds(N <= 7) is False
    assert facts.holds(M8.multiple_of(4)) is True
    assert facts.holds(N.multiple_of(2)) is None
    assert facts.holds(eq(M8, 4)) is False
    assert facts.holds(eq(M8, M8)) is True
    assert Facts.about(M, N, given=[M <= N, N <= M]).holds(eq(M, N)) is True


def test_divisibility():
    facts = Facts.about(M8, N, given=[N.multiple_of(6)])

    assert facts.divisible(M8 * N, 48)
    assert facts.divisible(N * (N + 1), 12) is False
    assert facts.divisible(M * (M + 1), 2)
    assert facts.quotient(M8 * N, 48) == (M8 // 8) * (N // 6)
    assert facts.quotient(M8, 16) is None
    assert facts.quotient(12, 4) == 3
    assert residues_vanish(K * (K + 1), 2)
    assert not residues_vanish(K * K, 2)
    assert residues_vanish(K * (K + 1) * (K + 2), 6)


def test_quotients_and_extrema_are_resolved():
    i, j = index("i", M), index("j", N)

    assert Facts.about(i, j).normal((i + M * j) % M) == i
    assert Facts.about(i, j).normal((i + M * j) // M) == j
    assert Facts.about(M, N, given=[M <= N]).normal(minimum(M, N)) == M
    assert Facts.about(M, N, given=[M <= N]).normal(maximum(M, N + 1)) == N + 1
    assert Facts.about(M).normal((M - 1) // M) == 0
    assert Facts.about(M).normal((2 * M - 1) // M) == 1
    assert Facts.about(i, M).normal((i - M) // M) == -1


def test_equalities_and_divisibility_become_substitutions():
    facts = Facts.about(M, N, given=[eq(M, 2 * N), N.multiple_of(4)])

    assert facts.holds(M.multiple_of(8)) is True
    assert facts.le(N, M) is True
    assert facts.le(8, M) is True
    assert facts.normal(M - 2 * N) == 0


def test_labels_read_like_assumptions():
    assert Facts.about(M8, N, given=[N <= M8]).labels == (
        "1 <= M8 <= 2147483647",
        "M8 % 8 == 0",
        "1 <= N <= 2147483647",
        "M8 >= N",
    )


def test_two_symbols_of_one_name_may_not_meet():
    with pytest.raises(AssumptionError, match=r"expected one set of facts for M, got two: 1 <= M <= .* and 2 <= M"):
        Facts.about(M, dim("M", at_least=2))


@pytest.mark.parametrize("wrong", [True, M == 5, "M >= 2", 3, M])
def test_assumptions_must_be_facts(wrong):
    with pytest.raises(AssumptionError, match="expected a fact such as M >= 2"):
        Facts.about(M, given=[wrong])


def test_rows_added_later_keep_their_numbers_apart_from_definitions():
    """A local row and the definition of a quotient in the assumptions are different rows."""
    facts = Facts.about(M, N, given=[M // 4 >= 3])
    local = facts.with_rows(Row(N - 7, "N >= 7"))
    for p in (N - 7, N * M - 7, N + M // 4 - 10, (N - 7) * (M // 4), M % 4 - N + 7, N - 7 - M % 4):
        p = local.normal(p)
        evidence = local.nonneg(p)

        assert evidence is None or proves(evidence, p, local), p
        if evidence is not None:
            assert all(evaluate(p, {M: m, N: n}) >= 0 for m in range(12, 40) for n in range(7, 20)), p


# -- fuzz: everything claimed, against every admissible point ---------------------------------------------


class World:
    """A few symbols of small ranges, random assumptions, and points that meet them."""

    def __init__(self, seed: int, points_kept: int = 60) -> None:
        self.draw = d = Draw(seed)
        a = dim("a", at_least=d.randint(-3, 2), at_most=d.randint(3, 6), multiple_of=d.choice([1, 1, 1, 2]))
        b = dim("b", at_least=1, at_most=d.randint(3, 8), multiple_of=d.choice([1, 1, 2, 3]))
        low = d.choice([0, 1, b])
        c = dim("c", at_least=low, at_most=9) if d.chance(0.6) else index("c", d.choice([b, b + 2]))
        self.symbols: tuple[Symbol, ...] = (a, b, c)
        self.given = []
        if d.chance(0.4):
            self.given.append(d.choice([a <= c, c <= b + 1, a + b >= 2, c // 2 >= 1, minimum(a, c) >= 1]))
        if d.chance(0.2):
            self.given.append(d.choice([eq(a, b), eq(c, 2 * b), eq(a + b, c), c.multiple_of(2), eq(c % 3, 1)]))
        self.facts = Facts.about(self.symbols, given=self.given)
        box = itertools.product(range(a.lower, a.upper + 1), range(1, b.upper + 1), range(10))  # c is at most 9
        points = [env for v in box if self.facts.admits(env := dict(zip(self.symbols, v, strict=True)))]
        self.points = d.sample(points, min(points_kept, len(points)))

    def expression(self, depth: int = 2) -> Any:
        d = self.draw
        if depth == 0 or d.chance(0.2):
            return d.choice([*self.symbols, d.randint(-4, 6)])
        x, y = self.expression(depth - 1), self.expression(depth - 1)
        divisor = d.choice([2, 3, 4, self.symbols[1], 2 * self.symbols[1]])
        return d.choice(
            [
                lambda: x + d.randint(1, 3) * y,
                lambda: x - y,
                lambda: x * y,
                lambda: floordiv(x, divisor),
                lambda: mod(x, divisor),
                lambda: minimum(x, y),
                lambda: maximum(x, y),
            ]
        )()

    def full(self, env: dict[Symbol, int], p: Any) -> dict[Symbol, int]:
        """The point with values for the symbols that stand for quotients: (b/2) is b // 2."""
        out = dict(env)
        for s in p.symbols if isinstance(p, Expr) else ():
            if s not in out:
                name, _, m = s.name[1:-1].rpartition("/")
                out[s] = next(v for t, v in env.items() if t.name == name) // int(m)
        return out


@pytest.mark.parametrize("block", range(4))
def test_normal_forms_and_signs_are_sound_at_every_admissible_point(share, block):
    decided = 0
    for seed in range(block * 300, block * 300 + share(300)):
        world = World(seed)
        for p in (world.expression(), world.expression() - world.draw.randint(0, 3), world.expression(3)):
            normal = world.facts.normal(p)
            values = [evaluate(p, env) for env in world.points]
            again = [evaluate(normal, world.full(env, normal)) for env in world.points]

            assert again == values, (seed, p, normal, world.given)
            evidence = world.facts.nonneg(normal)
            if evidence is not None:
                decided += 1
                assert proves(evidence, normal, world.facts), (seed, p, normal)
                assert min(values, default=0) >= 0, (seed, p, normal, world.given)

    assert decided > share(150)


@pytest.mark.parametrize("block", range(2))
def test_verdicts_on_facts_are_sound_at_every_admissible_point(share, block):
    for seed in range(10_000 + block * 200, 10_000 + block * 200 + share(200)):
        world = World(seed)
        x, y = world.expression(), world.expression(1)
        for fact in (x <= y, x > y, eq(x, y), multiple_of(x + world.symbols[0], 2)):
            verdict = world.facts.holds(fact) if not isinstance(fact, bool) else None
            if verdict is not None and world.points:
                truths = {bool(fact.subs(env).value) for env in world.points}

                assert truths == {verdict}, (seed, fact, world.given)


def test_rows_hold_at_every_admissible_point(share):
    for seed in range(share(150)):
        world = World(seed)
        p = world.facts.normal(world.expression())
        for g in world.facts.generators(p):
            assert all(evaluate(g, world.full(env, g)) >= 0 for env in world.points), (seed, g, world.given)


@pytest.mark.parametrize(
    "x, text",
    [
        ((M + 63) // 64 * 64, "M"),
        ((M + 63) // 64, "M//64"),
        ((M + 31) // 32 * N, "N*(M//32)"),
        (3 * M * N + M // 64 * M, "3*M*N + M*(M//64)"),
        ((M // 8 + N) // 6, "(M//64) + ((N + (M//32))//6)"),
        (minimum(M // 64 * 64, N), "min(M, N)"),
        (N // 3, "N//3"),
        (8 * K // 16 * 2, "K"),
    ],
)
def test_forms_are_read_in_the_symbols_of_the_user(x, text):
    facts = Facts.about(x, given=[M.multiple_of(64), K.multiple_of(2)])
    found = facts.restored(facts.normal(x))

    assert str(found) == text
    for m, n, k in itertools.product((64, 128, 640), (1, 7, 100), (2, 12)):
        assert evaluate(found, {M: m, N: n, K: k}) == evaluate(x, {M: m, N: n, K: k})


# -- quotients of quotients ---------------------------------------------------------------------------------------


def nested(x: Any, y: Any, levels: int, kind: str) -> Any:
    for i in range(levels):
        x = {"//": x // 3, "mixed": (x // (3 + i % 3) + y) // 5, "%": (x // 3 + y) % (50 - i), "sym": x // y + i}[kind]
    return x


@pytest.mark.parametrize("kind", ["//", "mixed", "%", "sym"])
def test_the_work_on_nested_quotients_grows_slowly(monkeypatch, kind):
    """Searches are counted, not seconds: twice the depth is at most some five times the work."""
    searches = []
    monkeypatch.setattr(Search, "run", lambda self, p, real=Search.run: searches.append(p) or real(self, p))

    def work(levels: int) -> int:
        e = nested(M, N, levels, kind)
        searches.clear()
        assert Facts.about(e).le(0, e) is True
        return len(searches)

    ten, twenty = work(10), work(20)
    assert twenty <= max(20, 5 * ten)
    assert twenty < 3000


def test_inner_quotients_come_first():
    e = nested(M, N, 12, "%")
    atoms = opaque_atoms(e)
    place = {a: i for i, a in enumerate(inner_first(atoms))}

    assert len(place) == len(atoms)
    assert all(place[b] < place[a] for a in atoms for b in opaque_atoms(*a.args))


def test_high_bits_pass_by_a_xor_with_low_ones():
    r = random.Random(5)
    base, x, y = dim("base", at_least=0), dim("x", at_least=-20, at_most=40), dim("y", at_least=0, at_most=7)
    resolved = 0
    for _ in range(600):
        a = r.choice((0, 8, 16, 64, -16, 24)) * base + r.choice((0, 1, 3, 8)) * x + r.randint(-20, 20)
        b = r.choice((y, 2 * y, 8 * (x // 8 % 2), x % 8, 4 * (x // 4 % 4), 5, x))
        written = integer(a) ^ integer(b)
        normal = Facts.about(written).normal(written)
        resolved += normal != written
        for _ in range(4):
            env = {base: r.randint(0, 9), x: r.randint(-20, 40), y: r.randint(0, 7)}
            assert evaluate(normal, env) == evaluate(a, env) ^ evaluate(b, env), (a, b, normal, env)
    assert resolved > 150


@pytest.mark.parametrize("block", range(4))
def test_numbers_that_quotients_do_not_pass_are_right_and_met(block):
    """Against every admissible point of drawn sums; where the dividend is one size, the number is the least one."""
    r = random.Random(100 + block)
    for _ in range(30):
        top_m, top_n, d = r.randint(1, 12), r.randint(1, 12), r.randint(2, 9)
        m, n = dim("m", at_least=r.choice((0, 1)), at_most=top_m), dim("n", at_most=top_n)
        x = r.choice((m + r.randint(0, 9), 3 * m + n, m * n + 2, 5 * n - m, 2 * m + 7))
        q = x // d
        facts = Facts.about(q)
        for c in facts.ceilings(opaque_atoms(q)):
            at = ({m: i, n: j} for i in range(m.lower, top_m + 1) for j in range(1, top_n + 1))
            values = [evaluate(c.atom, env) for env in at]
            assert c.k >= max(values), (x, d)
            assert c.k == max(values) or x == 5 * n - m, "each size at its end"
