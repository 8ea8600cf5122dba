"""Why the hypotheses of a ring suffice: the invariant of one slot, and that no two sides wait for each other.

P and C count the phases of full and of empty that are over. p and q are the fills that two producers have issued, c
and d the uses that two consumers have finished. Both sides name parities of those counts. Proved for all of them at
once. In a cluster the invariant holds for each pair of a filling and a filled CTA: C counts at the first, P at the
second, p the fills from one to the other, c the releases of a consumer of the second to the first.
"""

from __future__ import annotations

from typing import Any

from symlayout.errors import InternalError
from symlayout.expr import Fact, dim, eq

from .. import smt

TX_LIMIT = (1 << 20) - 1  # bytes that a phase may await, either way (PTX ISA, mbarrier object)

_C, _P, _p, _q, _c, _d, _S, _w, _v, _n = (
    dim(name, at_least=0, at_most=None) for name in ["C", "P", "p", "q", "c", "d", "S", "w", "v", "n"]
)
_B, _Q, _L, _M, _m, _l, _a, _u, _T = (
    dim(name, at_least=0, at_most=None) for name in ["B", "Q", "L", "M", "m", "l", "a", "u", "T"]
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
        "no circle of waits: the producer furthest behind, at use n, waits for a consumer that is at use w and has"
        " given back M less, which waits for a producer that is at use m and has filled L less: one further behind",
        (_S >= 1, _L + _M <= _S - 1, _c >= _w - _M, _c <= _n - _S, _p >= _m - _L, _p <= _w),
        (_m <= _n - 1,),
    ),
    (
        "slot and round name the use",
        (_S >= 1, _w >= 0, _w <= _S - 1, _v >= 0, _v <= _S - 1, eq(_S * _p + _w, _S * _q + _v)),
        (eq(_p, _q), eq(_w, _v)),
    ),
)


def _pair(C: Any, P: Any, p: Any, c: Any) -> list[Fact]:
    """The invariant of a CTA that fills and one that is filled."""
    return [c >= C, c <= P, p >= P, p <= C + 1]


# Of a cluster: B is C of another CTA that fills the same one, Q is P of another one that is filled by the same.
CLUSTER_LEMMAS: tuple[tuple[str, tuple[Fact, ...], tuple[Fact, ...]], ...] = (
    (
        "a producer passes only when the slot is free in each CTA that it fills, for all consumers there",
        (*_pair(_C, _P, _p, _c), *_pair(_C, _Q, _p, _d), _passes(_C, (_p + 1) % 2)),
        (eq(_C, _p), eq(_P, _p), eq(_Q, _p), eq(_c, _p), eq(_d, _p)),
    ),
    (
        "a consumer passes only when the fills of all CTAs are complete",
        (*_pair(_C, _P, _p, _c), *_pair(_B, _P, _q, _d), eq(_c, _d), _passes(_P, _c % 2)),
        (eq(_P, _c + 1), eq(_C, _c), eq(_B, _c), eq(_p, _P), eq(_q, _P)),
    ),
    (
        "completion keeps the invariant of each pair",
        (*_pair(_C, _P, _p, _c), *_pair(_B, _P, _q, _d), _p >= _P + 1, _q >= _P + 1),
        (*_pair(_C, _P + 1, _p, _c), *_pair(_B, _P + 1, _q, _d)),
    ),
    (
        "an arrival at one CTA keeps the invariant of each pair",
        (*_pair(_C, _P, _p, _c), *_pair(_B, _P, _q, _d), eq(_P, _c + 1)),
        (eq(_c, _C), *_pair(_C, _P, _p, _c + 1), *_pair(_B, _P, _q, _d)),
    ),
    (
        "a copy lands in the phase of its use, though the CTA that it fills may not have armed it yet",
        (*_pair(_C, _P, _p, _c), _l >= _P, _p >= _l + 1),
        (eq(_P, _l), eq(_C, _l)),
    ),
    (
        "bytes that come before they are awaited do not end the phase: that needs all arrivals, which come with the"
        " bytes u that they let it await, so all T bytes have landed",
        (_u <= TX_LIMIT * _a, _l <= _T, eq(_a, 0), eq(_T - _u - _l, 0)),
        (eq(_l, _T),),
    ),
    (
        f"the bytes pending stay within {TX_LIMIT} on either side of 0",
        (_u <= _T, _l <= _T, _T <= TX_LIMIT),
        (_T - _u - _l <= TX_LIMIT, _T - _u - _l >= -TX_LIMIT),
    ),
)


def lemmas(clusters: bool = False) -> tuple[str, ...]:
    """The text of each lemma that a ring rests on. They are constants, which the tests prove as they prove theorems."""
    return tuple(text for text, _, _ in ((*LEMMAS, *CLUSTER_LEMMAS) if clusters else LEMMAS))


def prove_lemmas() -> str:
    """Prove all lemmas, and return the name of the solver. Raises InternalError for one that is not proved."""
    for text, given, goals in (*LEMMAS, *CLUSTER_LEMMAS):
        for wrong in (fact for goal in goals for fact in goal.negated()):
            answer = smt.satisfiable([*_natural(given, goals), *given, wrong])
            if answer.status != "unsat":
                raise InternalError(f"the lemma that {text} is not proved: {answer.status} {answer.reason}")
    return smt.version()


def _natural(*facts: tuple[Fact, ...]) -> list[Fact]:
    return [s >= 0 for s in sorted({s for fs in facts for f in fs for s in f.symbols}, key=str)]
