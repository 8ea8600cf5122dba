"""Why the hypotheses of a ring suffice: the invariant of one slot, and that no two sides wait for each other.

P and C count the phases of full and of empty that are over, p and q the fills that two producers have issued, c and d
the uses that two consumers have finished; both sides name parities of those counts. Proved for all of them at once.
"""

from __future__ import annotations

import functools
from typing import Any

from symlayout.errors import InternalError
from symlayout.expr import Fact, dim, eq

from . import smt

_C, _P, _p, _q, _c, _d, _S, _w, _v, _n = (
    dim(name, at_least=0, at_most=None) for name in ["C", "P", "p", "q", "c", "d", "S", "w", "v", "n"]
)


def _invariant(C: Any = _C, P: Any = _P, p: Any = _p, q: Any = _q, c: Any = _c, d: Any = _d) -> list[Fact]:
    """C <= c, d <= P <= p, q <= C + 1 for any two producers p, q and consumers c, d of one slot."""
    return [c >= C, d >= C, c <= P, d <= P, p >= P, q >= P, p <= C + 1, q <= C + 1]


def _passes(phases: Any, parity: Any) -> Fact:
    """A wait passes where the parity of the phases over is not the one that it names."""
    return eq((phases + parity) % 2, 1)


# What is assumed, what follows: P and C count phases of full and empty that are over, p fills issued, c uses finished.
LEMMAS: tuple[tuple[str, tuple[Fact, ...], tuple[Fact, ...]], ...] = (
    (
        "a producer passes only when every use before is finished and nothing of its own is under way",
        (*_invariant(), _passes(_C, (_p + 1) % 2)),
        (eq(_C, _p), eq(_P, _p), eq(_c, _p), eq(_d, _p)),
    ),
    (
        "a consumer passes only when the next fill is complete",
        (*_invariant(), _passes(_P, _c % 2)),
        (eq(_P, _c + 1), eq(_C, _c), eq(_p, _P), eq(_q, _P)),
    ),
    ("a fill keeps the invariant", (*_invariant(), eq(_C, _p)), tuple(_invariant(p=_p + 1))),
    ("completion keeps it", (*_invariant(), _p >= _P + 1, _q >= _P + 1), tuple(_invariant(P=_P + 1))),
    ("an arrival keeps it", (*_invariant(), eq(_c, _C), eq(_P, _C + 1)), tuple(_invariant(c=_c + 1))),
    ("the last arrival keeps it", (*_invariant(), _c >= _C + 1, _d >= _C + 1), tuple(_invariant(C=_C + 1))),
    (
        "a producer whose slot is free passes",
        (*_invariant(), eq(_C, _p)),
        (_passes(_C, (_p + 1) % 2),),
    ),
    ("a consumer whose slot is filled passes", (*_invariant(), eq(_P, _c + 1)), (_passes(_P, _c % 2),)),
    (
        "no two sides wait for each other: a consumer at use w has given back more than w - S, the producer at n waits"
        " for use n - S, so w < n and the fill of w is issued",
        (_S >= 1, _c >= _w - _S + 1, _c <= _n - _S),
        (_n >= _w + 1,),
    ),
    (
        "slot and turn name the use",
        (_S >= 1, _w >= 0, _w <= _S - 1, _v >= 0, _v <= _S - 1, eq(_S * _p + _w, _S * _q + _v)),
        (eq(_p, _q), eq(_w, _v)),
    ),
)


@functools.cache
def lemmas() -> tuple[str, ...]:
    """The text of each lemma, with the solver that has just proved it; once in a process."""
    out = []
    for text, given, goals in LEMMAS:
        for goal in goals:
            for wrong in goal.negated():
                answer = smt.satisfiable([*_natural(given, goals), *given, wrong])
                if answer.status != "unsat":
                    raise InternalError(f"the lemma that {text} is not proved: {answer.status} {answer.reason}")
        out.append(f"{text} [{smt.version()}]")
    return tuple(out)


def _natural(*facts: tuple[Fact, ...]) -> list[Fact]:
    return [s >= 0 for s in sorted({s for fs in facts for f in fs for s in f.symbols}, key=str)]
