"""The budget of a claim, and the message when it ends."""

from __future__ import annotations

from dataclasses import dataclass

from symlayout.meter import Exhausted

from . import smt
from .refuter import REFUTER_POINTS

DOING = {  # what a method does, for a budget that ends there
    "glance": "a look at small sizes",
    "_certificate": "the search for a certificate",
    "_every_size": "the enumeration of all sizes",
    "_from_fewer": "the search for a certificate from some of the assumptions",
    "_from_any": "the search for a certificate from any of the assumptions",
    "small": "the enumeration of small sizes",
    "large": "the search for large sizes that fail",
    "_solver": "the search by a solver",
    "more": "the enumeration of more sizes",
}


@dataclass(frozen=True)
class Budget:
    """The budget of a claim for all methods together: steps of the searches, and seconds as the backstop.

    Steps are counted, so that answers repeat from run to run; the clock ends what is slow for another reason. Of this a
    solver query has *solver_ms* milliseconds and the refuter *refuter_points* points. *repairs* are sought or not, and
    *failures* too: to ask whether a claim is proved needs no sizes at which it fails.

    >>> from symlayout import dims
    >>> from checkers import Holds, prove
    >>> M, N = dims("M N")
    >>> print(prove(Holds(M * M + N * N >= 2 * M * N), budget=Budget(steps=200)))
    unknown   holds: M*M + N*N >= 2*M*N
              the budget of 200 steps ended during the enumeration of small sizes
    sizes     M, N in 1 .. 2^31 - 1
    """

    seconds: float = 20.0
    steps: int = 2_000_000
    solver_ms: int = smt.DEFAULT_MS
    refuter_points: int = REFUTER_POINTS
    repairs: bool = True
    failures: bool = True
    dump_smt: str = ""  # a folder for the queries that stayed open


def ended(e: Exhausted, doing: str) -> str:
    """Why nothing is decided, where a budget ends."""
    return f"the budget of {e} ended during {doing}"
