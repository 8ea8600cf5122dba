"""The finders on random symbolic modes: what they certify, the checker accepts from a file, and it is true at samples.

Sizes have order relations, divisibility, equalities, ranges that reach 0 or below, and strides of any sign.
"""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from checkers.algebra import certificates as find
from checkers.algebra.f2 import f2_injective
from checkers.trusted.certificate_checker import verify
from checkers.trusted.certificate_json import poly
from symlayout import ceil_div, dim, dims, eq
from symlayout.errors import SymlayoutError
from symlayout.expr import Fact, evaluate, maximum, minimum
from symlayout.facts import Facts
from tests.support.plain import admissible

POINTS = 1500


class Drawn:
    """A few sizes with their facts, and modes made of them."""

    def __init__(self, r: random.Random) -> None:
        self.r = r
        low = (1, 1, 1, 0, 2, None)
        self.sizes = [
            dim(name, at_least=r.choice(low), at_most=r.choice((None, 9, 40)), multiple_of=r.choice((1, 1, 2, 4)))
            for name in "KMN"
        ]
        self.ld = dim("ld", at_least=r.choice((*self.sizes, self.sizes[0] + 1, 1, 0, None)))
        self.given = tuple(f for _ in range(r.choice((0, 1, 1, 2))) for f in [self.fact()] if f.value is None)

    def fact(self) -> Fact:
        r, (a, b, c) = self.r, self.r.sample(self.sizes, 3)
        return r.choice(
            [
                self.ld >= a, self.ld >= a * b, a >= b, a <= 7, a + b <= c + 9, a.multiple_of(3),
                (a + b).multiple_of(4), self.ld.multiple_of(8), eq(a, b), eq(a, 2 * b), eq(a, b + c), b < a,
            ]
        )  # fmt: skip

    def extent(self) -> Any:
        r, s = self.r, self.r.choice(self.sizes)
        return r.choice((s, s, s, r.randint(1, 5), 2 * s, s - 1, ceil_div(s, 4), s // 2, minimum(s, 4), maximum(s, 2)))

    def modes(self) -> list[tuple[Any, Any]]:
        """Strides as running products of the extents, in some order, sometimes padded, broken or negative."""
        r = self.r
        extents = [self.extent() for _ in range(r.choice((1, 2, 2, 3, 3, 4)))]
        order = r.sample(range(len(extents)), len(extents))
        stride: list[Any] = [0] * len(extents)
        step: Any = r.choice((1, 1, 1, 2))
        for k in order:
            odd = (0, 1, self.ld, -step, step - 1, step + 1, -self.ld, 3)
            stride[k] = step if r.random() < 0.85 else r.choice(odd)
            step = (
                step * extents[k]
                if r.random() < 0.75
                else r.choice((self.ld, step * extents[k] + 1, self.ld * extents[k]))
            )
        return list(zip(extents, stride, strict=True))


def offsets(modes: Any, env: Any) -> list[int] | None:
    """Every offset, the first digit fastest, or None where there are too many."""
    at = [(evaluate(n, env), evaluate(s, env)) for n, s in modes]
    points = 1
    for n, _ in at:
        points *= max(0, n)
    if points > POINTS:
        return None
    out = [0]
    for n, s in at:
        out = [v + i * s for i in range(n) for v in out]
    return out


def trials(seed: int, n: int) -> Any:
    """(modes, facts in normal form, assumptions, source of randomness), *n* times."""
    r = random.Random(seed)
    for _ in range(n):
        drawn = Drawn(r)
        modes = drawn.modes()
        facts = Facts.about(tuple(itertools.chain(*modes)), tuple(drawn.sizes), drawn.ld, given=drawn.given)
        yield drawn, modes, facts, r


def normal(modes: Any, facts: Facts) -> Any:
    return [(facts.normal(n), facts.normal(s)) for n, s in modes]


def checked(certificate: Any) -> bool:
    """Whether there is one; what there is, is accepted."""
    if certificate is not None:
        verify(json.loads(json.dumps(certificate)))
    return certificate is not None


def samples(facts: Facts, modes: Any, r: random.Random) -> Any:
    """(sizes, offsets) at admissible sizes with few enough points."""
    for env in admissible(facts, r, 8):
        try:
            found = offsets(modes, env)
        except (ZeroDivisionError, SymlayoutError):
            continue
        if found is not None:
            yield env, found


def test_certified_modes_never_collide(share):
    certified = 0
    for _, modes, facts, r in trials(1, share(600)):
        if checked(find.injective(normal(modes, facts), facts)):
            certified += 1
            for env, found in samples(facts, modes, r):
                assert len(set(found)) == len(found), (modes, env, facts.labels)

    assert certified > share(150)


def test_certified_corners_are_never_left(share):
    certified = 0
    for drawn, modes, facts, r in trials(2, share(900)):
        span = sum(((n - 1) * s for n, s in modes), start=0)
        base = r.choice((0, 0, 5, drawn.sizes[0], -3))
        low, high = r.choice(((0, span), (0, span + base), (base, base + span), (-2, drawn.ld * drawn.sizes[1])))
        if checked(find.bounds(normal(modes, facts), *map(facts.normal, (base, low, high)), facts)):
            certified += 1
            for env, found in samples(facts, modes, r):
                a, b, c = (evaluate(p, env) for p in (base, low, high))
                assert all(b <= a + v <= c for v in found), (modes, base, low, high, env, facts.labels)

    assert certified > share(150)


@pytest.mark.parametrize("kind", ["bijective", "covers"])
def test_certified_ranges_are_reached(share, kind):
    certified = 0
    for drawn, modes, facts, r in trials(3, share(1000)):
        size: Any = 1
        for n, _ in modes:
            size = size * n
        span = sum(((n - 1) * s for n, s in modes), start=1)
        onto = facts.normal(r.choice((size, size, span, drawn.sizes[0] * drawn.sizes[1])))
        if checked(getattr(find, kind)(normal(modes, facts), facts, onto)):
            certified += 1
            for env, found in samples(facts, modes, r):
                try:
                    want = range(evaluate(onto, {**env, **parts(env)}))
                except SymlayoutError:
                    continue
                assert set(want) <= set(found), (modes, onto, env, facts.labels)
                assert kind == "covers" or sorted(found) == list(want), (modes, onto, env, facts.labels)

    assert certified > share(60)


def parts(env: Any) -> dict[str, int]:
    """Values of the symbols that stand for s/m."""
    return {f"({s}/{m})": v // m for s, v in env.items() for m in (2, 3, 4, 6, 8, 12, 24) if v % m == 0}


def test_certified_equals_agree_everywhere(share):
    certified = 0
    for _, modes, facts, r in trials(4, share(800)):
        other = [m for m in modes if m[0] != 1]
        k = r.randrange(len(modes))
        n, s = modes[k]
        if r.random() < 0.5:
            other[k : k + 1] = [(2, s), (n, 2 * s)]
            ours = [*modes[:k], (2 * n, s), *modes[k + 1 :]]
        else:
            ours = modes
            other.insert(k, (1, 7))
        if r.random() < 0.25:
            other[0] = (other[0][0], other[0][1] + 1)
        if checked(find.equal(normal(ours, facts), 3, normal(other, facts), 3, facts)):
            certified += 1
            for env, found in samples(facts, ours, r):
                assert found == offsets(other, env), (ours, other, env, facts.labels)

    assert certified > share(200)


def test_certified_divisors_divide(share):
    certified = 0
    for drawn, modes, facts, r in trials(5, share(800)):
        m, base = r.choice((2, 3, 4, 8)), r.choice((0, drawn.ld * 8, drawn.sizes[0] * (drawn.sizes[0] + 1), 8))
        scaled = [(n, s * r.choice((1, 2, 8))) for n, s in modes]
        if checked(find.divisible(normal(scaled, facts), facts.normal(base), m, facts)):
            certified += 1
            for env, found in samples(facts, scaled, r):
                assert all((evaluate(base, env) + v) % m == 0 for v in found), (scaled, base, m, env, facts.labels)

    assert certified > share(40)


def test_certified_signs_hold(share):
    """T9 and its products: also with quotients, minima and maxima, and scales."""
    certified = 0
    for drawn, _, facts, r in trials(6, share(900)):
        a, b, c = (drawn.extent() for _ in range(3))
        d = r.choice((2, 3, 4, 8))
        p = r.choice(
            [
                a * b - a, a - b, a * b * c - 1, (a // d) * d - a + d, a - d * (a // d), ceil_div(a, d) * d - a,
                ceil_div(a, d) - 1, a + b - minimum(a, b), maximum(a, b) - b, drawn.ld * a - b, a * (b - 1),
                minimum(a, b) * d - c, a - ceil_div(a, d), drawn.ld - a - 1, (a * b) // d - b, -a,
            ]
        )  # fmt: skip
        p = facts.normal(p)
        if isinstance(p, int) or not checked(find.nonneg(p, facts)):
            continue
        certified += 1
        for env in admissible(facts, r, 8):
            try:
                assert evaluate(p, {**env, **parts(env)}) >= 0, (p, env, facts.labels)
            except (ZeroDivisionError, SymlayoutError):
                continue

    assert certified > share(250)


@pytest.mark.parametrize(
    "modes",
    [
        [(dim("A"), 1), (dim("B"), dim("A") - 1)],
        [(dim("A", at_least=0), 1), (dim("B"), dim("S", at_least=None))],
        [(2, dim("S", at_least=0)), (2, 1)],
        [(dim("A"), 1), (dim("A"), 1)],
        [(dim("A"), 0)],
        [(3, 1), (3, 2)],
    ],
    ids=str,
)
def test_what_may_collide_is_not_certified(modes):
    assert find.injective(modes, Facts.about(tuple(itertools.chain(*modes)))) is None


@pytest.mark.parametrize(
    "modes, bits",
    [
        ([(8, 1), (8, 8)], (3, 0, 3)),
        ([(2, 1), (2, 2), (2, 4)], (1, 0, -2)),
        ([(4, 16), (4, 1), (4, 4)], (2, 1, 3)),
        ([(4, 1), (4, 8)], (0, 0, 0)),
    ],
    ids=str,
)
def test_linear_certificates_survive_a_file(modes, bits):
    assert checked(f2_injective(modes, bits))


@pytest.mark.parametrize("modes", [[(4, 1), (2, 3)], [(3, 1)], [(4, 1), (4, 0)], [(2, -1)], [(4, 1), (4, 2)]], ids=str)
def test_no_linear_certificate_with_carries_or_repeats(modes):
    assert f2_injective(modes, (0, 0, 0)) is None


def test_terms_stand_in_the_order_of_their_names():
    """Whichever order a process met them in: a certificate is the same text everywhere."""
    a, b = dims("a b")
    one, other = b * b + 3 * a * b + a + 7, 7 + a + 3 * a * b + b * b

    assert list(one.terms) != list(other.terms)
    assert poly(one) == poly(other) == [[1, "a"], [3, "a", "b"], [1, "b", "b"], [7]]
