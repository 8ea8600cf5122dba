"""The threads of a block hold each element of a tile, as often as it is replicated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.ck_tile import TileDistribution, TileDistributionEncoding
from symlayout.ck_tile.forms import DigitForm, digit_form
from symlayout.ck_tile.layouts import digit_strides
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import index, integer
from symlayout.facts import Facts
from symlayout.int_tuple import product

from ..algebra.certificates import Certificate, bijective, together
from ..algebra.subject_form import at_text, points
from ..claim import Claim, Proof, Restated, TooLarge
from ..claim_fields import Default, Subject
from ..claims.in_bounds import InBounds
from ..exhaustive import POINTS
from .everywhere import at_row


@dataclass(frozen=True)
class DistributionCovers(Claim):
    """Each element of the tile belongs to exactly as many (P, Y) as R replicates it to; no index leaves the tile.

    *lanes* and *warps* are those that run, by default as many as the encoding is for: of more, upstream's first digit
    runs past its factor.

    >>> from symlayout.ck_tile import TileDistributionEncoding
    >>> e = TileDistributionEncoding((2,), ((4, 8),), (((0, 0),), ((1, 0),)), ((1, 1),))
    >>> print(DistributionCovers(e))
    distribution covers: R=[2] H=[(4,8)] P0=[(0,0)] P1=[(1,0)] Y0=(1,1), each element of (32) in 2 threads
    """

    distribution: Subject
    lanes: Default = None  # those of the encoding
    warps: Default = None  # likewise

    kind: ClassVar[str] = "distribution covers"

    def __post_init__(self) -> None:
        super().__post_init__()
        x: Any = self.distribution
        d = TileDistribution(x) if isinstance(x, TileDistributionEncoding) else x
        if not isinstance(d, TileDistribution):
            raise ClaimError(f"expected a tile distribution or its encoding, got {d}")
        *warps, lanes = d.encoding.p_lengths
        if self.warps is not None and not warps:
            raise ClaimError(f"expected no number of warps for one P dimension, got {self.warps} for {d.encoding}")
        object.__setattr__(self, "distribution", d)
        object.__setattr__(self, "lanes", integer(lanes if self.lanes is None else self.lanes))
        if warps:
            object.__setattr__(self, "warps", integer(warps[0] if self.warps is None else self.warps))
        low = next((n for n in (self.lanes, self.warps) if type(n) is int and n < 1), None)
        if low is not None:
            raise ClaimError(f"expected at least 1 lane and 1 warp, got {low}")

    @property
    def _distribution(self) -> TileDistribution:
        d: Any = self.distribution
        assert isinstance(d, TileDistribution)
        return d

    @property
    def _partitions(self) -> tuple[Any, ...]:
        """The P lengths that run."""
        return (self.lanes,) if self.warps is None else (self.warps, self.lanes)

    def __str__(self) -> str:
        e = self._distribution.encoding
        times = "1 thread" if type(e.replicas) is int and e.replicas == 1 else f"{e.replicas} threads"
        runs = "" if self._partitions == e.p_lengths else f", run by {' x '.join(map(str, self._partitions))} threads"
        return f"{self.kind}: {e}, each element of ({','.join(map(str, e.x_lengths))}) in {times}{runs}"

    # -- proof ----------------------------------------------------------------------------------------

    def certify(self, facts: Facts) -> Proof | None:
        """Digits of P and Y that move the tile index are a mixed radix of each dimension; the others replicate."""
        e = self._distribution.encoding
        same = zip(self._partitions, e.p_lengths, strict=True)
        if not all(_is(facts, a - b, 0) for a, b in same):
            return None
        form = digit_form(self._distribution)
        found = self._by_digits(form, facts)
        if found is None:
            return None
        method = "mixed radix in each dimension, T3"
        lemmas = ("P indices are the numbers of their digits, each once (T3)",)
        return Proof(method, together(found, "each dimension has its own digits, the others replicate"), lemmas)

    def restated(self, facts: Facts) -> Iterator[Restated]:
        """A mixed radix of digits in each dimension, each digit with at least one value."""
        form = digit_form(self._distribution)
        asked = (*form.asked, *(n - 1 for n in form.extents))
        yield Restated(InBounds(AddressMap(form.digits, form.extents, 0), 1), asked=asked)

    def _by_digits(self, form: DigitForm, facts: Facts) -> list[Certificate] | None:
        e = self._distribution.encoding
        parts = [digit_strides(form.hidden[k], form.digits) for k in range(len(e.H))]
        if any(p is None or not _is(facts, p[1], 0) for p in parts):
            return None
        moves = [{d: w for d, w in p[0].items() if not _is(facts, w, 0)} for p in parts]
        owned = [d for m in moves for d in m]
        idle = [n for d, n in zip(form.digits, form.extents, strict=True) if d not in owned]
        if len(set(owned)) < len(owned) or not all(facts.le(1, n) for n in form.extents):
            return None
        if not _is(facts, product(tuple(idle)) - e.replicas, 0):
            return None
        extents = dict(zip(form.digits, form.extents, strict=True))
        out: list[Certificate] = []
        for m, n in zip(moves, e.x_lengths, strict=True):
            modes = [(extents[d], w) for d, w in m.items() if not _is(facts, extents[d] - 1, 0)]
            found = bijective(modes, facts, facts.normal(n))
            if found is None:
                return None
            out.append(found)
        return out

    # -- numbers --------------------------------------------------------------------------------------

    @cached_property
    def _map(self) -> AddressMap:
        """(P that runs, Y) -> X; the distribution's own map where as many run as it is for."""
        d = self._distribution
        extents = (*self._partitions, *d.encoding.y_lengths)
        coords = tuple(index(c.name, n) for c, n in zip(d.coords, extents, strict=True))
        hidden = d.graph.hidden(coords)
        return AddressMap(coords, extents, tuple(hidden[k] for k in range(len(d.encoding.H))))

    def counterexample(self) -> Witness | None:
        if self.points() > POINTS:
            raise TooLarge
        tile = tuple(int(n) for n in self._distribution.lengths)
        _, values = self._map.table()
        outside = np.flatnonzero(((values < 0) | (values >= np.array(tile))).any(axis=1))
        if len(outside):
            at = at_row(self._map, int(outside[0]))
            return Witness({}, (at,), f"{self._held(at)}, outside of the tile {at_text(tile)}{self._why()}")
        numbers = np.ravel_multi_index(tuple(values.T), tile)
        times = np.bincount(numbers, minlength=product(tile))
        wrong = np.flatnonzero(times != int(self._distribution.encoding.replicas))
        if not len(wrong):
            return None
        element = tuple(int(i) for i in np.unravel_index(int(wrong[0]), tile))
        holders = tuple(at_row(self._map, int(r)) for r in np.flatnonzero(numbers == wrong[0])[:2])
        return Witness({}, holders, f"{self._count(element, int(times[wrong[0]]), holders)}{self._why()}")

    def _count(self, element: tuple[int, ...], times: int, holders: tuple[tuple[int, ...], ...]) -> str:
        for at in holders:
            if tuple(self._map(at)) != element:
                raise InternalError(f"the thread {at} of {self} does not replay")
        wanted = self._distribution.encoding.replicas
        if not holders:
            return f"no thread holds element {at_text(element)}"
        names = " and ".join(self._thread(at) for at in holders)
        return f"element {at_text(element)} is held {times} times instead of {wanted}: by {names}"

    def _held(self, at: tuple[int, ...]) -> str:
        """The replay of an index."""
        return f"{self._thread(at)} holds {at_text(tuple(int(x) for x in self._map(at)))}"

    def _thread(self, at: tuple[int, ...]) -> str:
        names = [c.name for c in self._map.coords]
        return ", ".join(f"{n} {i}" for n, i in zip(names, at, strict=True))

    def _why(self) -> str:
        faults = self._distribution.encoding.faults()
        return f"; {faults[0]}" if faults else ""

    def points(self) -> int:
        return points(self._map)

    def lemma(self, facts: Facts) -> str:
        return "the digits of P and Y are a mixed radix of each tile dimension, as many idle ones as R says"


def _is(facts: Facts, a: Any, value: int) -> bool:
    found = facts.normal(a)
    return type(found) is int and found == value
