"""Residues of sizes modulo a number: banks and sectors depend on nothing else of a stride (T12, T16).

>>> from symlayout import dims
>>> from symlayout.facts import Facts
>>> k, ld = dims("k ld")
>>> residues([(32 * k + 1, 32)], Facts.about(k)), residues([(ld, 4)], Facts.about(ld, given=[(ld + 1).multiple_of(2)]))
([(1,)], [(1,), (3,)])
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from symlayout.expr import Atom, terms_of
from symlayout.facts import Facts
from symlayout.facts.assumptions import through

COMBINATIONS = 1 << 14  # of residues that are tried; beyond it no residue is known
CASES = 256  # different combinations of the expressions that are asked for


def residues(asked: Sequence[tuple[Any, int]], facts: Facts) -> list[tuple[int, ...]] | None:
    """The values that polynomials may have together, each modulo its number, or None where there are too many.

    All that is used of the facts are congruences and equalities: each name is any integer that meets those.
    """
    modulus = math.lcm(*(m for _, m in asked))
    names = set[Atom]().union(*(_names(p, m) for p, m in asked))
    rows = list(_congruences(facts, modulus))
    for _ in range(2):  # what is known of these names may be said by others
        rows = [r for r in rows if r[1] > 1]
        wider = names.union(*(_names(p, m) for p, m in rows if _names(p, m) & names))
        names = wider if len(wider) <= 3 else names
    rows = [(p, m) for p, m in rows if _names(p, m) <= names]
    every = math.lcm(modulus, *(m for _, m in rows))
    order = sorted(names, key=lambda a: a.key)
    if every ** len(order) > COMBINATIONS:
        return None
    found: dict[tuple[int, ...], None] = {}
    for values in itertools.product(range(every), repeat=len(order)):
        env = dict(zip(order, values, strict=True))
        if all(_value(p, env, m) == 0 for p, m in rows):
            found[tuple(_value(p, env, m) for p, m in asked)] = None
    return list(found) if len(found) <= CASES else None


def _names(p: Any, modulus: int) -> set[Atom]:
    """The variables on which a polynomial depends modulo a number."""
    return {a for m, c in terms_of(p).items() if c % modulus for a in m}


def _congruences(facts: Facts, modulus: int) -> Any:
    """(p, m) with m | p, for what is given; an equality holds modulo anything."""
    for f in facts.given:
        if f.relation != ">=":
            yield through(facts.let, f.expr), f.modulus if f.relation == "%" else modulus


def _value(p: Any, env: dict[Atom, int], modulus: int) -> int:
    """p modulo a number; a variable whose value does not matter has none."""
    terms = ((m, c) for m, c in terms_of(p).items() if c % modulus)
    return sum(c * math.prod(env[a] for a in m) for m, c in terms) % modulus
