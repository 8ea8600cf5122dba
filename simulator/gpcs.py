"""Which GPC the SMs lie in that run the clusters of a grid, which share a way to L2.

>>> from simulator import H200
>>> [np.bincount(gpcs_of(H200, 1, ctas)).tolist() for ctas in (8, 33, 66, 96)]   # M44
[[8], [12, 3, 3, 3, 3, 3, 3, 3], [12, 8, 8, 8, 8, 8, 7, 7], [16, 12, 11, 11, 11, 11, 12, 12]]
>>> gpcs_of(H200, 2, 16).tolist()
[0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3]
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .machine import Machine
    from .points import Array

TPC = 2  # SMs
FIRST = "first_tpcs"
SECOND, FURTHER, EIGHTHS = 5, 6, 8  # of the SMs get a CTA before those that come first get another one

__all__ = ["TPC", "answered", "clusters_at_once", "gpcs_of", "groups_of", "neighbours"]


def _tpcs(machine: Machine) -> list[int]:
    """The TPCs of each GPC: the last ones have one more where they are not alike."""
    gpcs = machine.count("gpcs")
    each, more = divmod(machine.count("sms") // TPC, gpcs)
    return [each + (k >= gpcs - more) for k in range(gpcs)]


def clusters_at_once(machine: Machine, size: int) -> int:
    """Clusters of so many CTAs that run at once, one CTA on an SM: each lies inside a GPC."""
    return machine.count("sms") if size == 1 else sum(TPC * tpcs // size for tpcs in _tpcs(machine))


def first_groups(machine: Machine, size: int) -> int:
    """The clusters that some TPCs get before all others."""
    return TPC * machine.count(FIRST) // size if FIRST in machine.numbers and size <= TPC else 0


def gpcs_of(machine: Machine, size: int, clusters: int) -> Array:
    """The GPC of each of the first clusters of a grid, up to as many as run at once.

    Some TPCs of a GPC come first, both SMs of each. Then GPCs take turns, a TPC of each, and CTAs of no cluster get an
    SM of each TPC before the second one of any. When it is known how many each GPC gets, those have CTAs in a row,
    while clusters go to GPCs in turn.
    """
    left = _tpcs(machine)
    first = first_groups(machine, size)
    left[0] -= first * size // TPC
    each = [tpcs if size == 1 else TPC * tpcs // size for tpcs in left]
    turns = [k for n in range(max(each)) for k, most in enumerate(each) if n < most] * (TPC if size == 1 else 1)
    taken = turns[: max(0, clusters - first)]
    if size == 1:
        taken.sort()
    return np.array(([0] * first + taken)[:clusters], dtype=np.int64)


def groups_of(machine: Machine, size: int, groups: int, clusters: int, at_once: int) -> Array:
    """The group of SMs that runs each of the clusters of a grid, where each group holds some at once.

    Where all get several, the SMs that come first are ahead of the others: they get their second one after five eighths
    of those have their first, and each further one after three quarters of them have another (M49, and M43 by what SMs
    move). Clusters that wait for a place are taken to come in turn.

    >>> from simulator import H200
    >>> np.bincount(groups_of(H200, 1, 132, 264, at_once=2)[:132], minlength=132)[[0, 7, 8, 123, 124, 131]].tolist()
    [2, 2, 1, 1, 0, 0]
    """
    first, turns = min(first_groups(machine, size), groups), min(at_once, clusters // groups)
    ahead, others = np.arange(first), np.tile(np.arange(first, groups), max(1, turns))
    parts, at = [ahead], 0
    for k in range(1, turns):
        end = at + (groups - first) * (SECOND if k == 1 else FURTHER) // EIGHTHS
        parts += [others[at:end], ahead]
        at = end
    order = np.concatenate([*parts, others[at:]])
    return np.concatenate([order, np.resize(np.arange(groups), max(0, clusters - len(order)))])[:clusters]


def neighbours(gpcs: Array, reach: int) -> Array:
    """A number for each of some in GPCs, the same for up to so many in a row of a GPC."""
    order = np.argsort(gpcs, kind="stable")
    first = np.searchsorted(gpcs[order], gpcs)
    nth = np.empty(len(gpcs), dtype=np.int64)
    nth[order] = np.arange(len(gpcs))
    return (nth - first) // reach * (int(gpcs.max()) + 1) + gpcs


def answered(alike: Array, part: float) -> Array:
    """The part of some requests for the same bytes that L2 answers, where each waits for each other one with a chance.

    Of two half of the first *part* is saved, and of many all but one: the k-th is asked for if it has met none of those
    before it (M21, M42).

    >>> answered(np.array([1, 2, 4]), 0.5).tolist()
    [1.0, 0.75, 0.46875]
    """
    if not part:
        return np.ones(len(alike))
    return np.where(alike == 1, 1.0, (1.0 - (1.0 - part) ** alike) / (part * alike))  # of one exactly all
