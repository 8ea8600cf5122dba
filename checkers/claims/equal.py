"""Two layouts are the same function."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from symlayout.address_map import AddressMap
from symlayout.answers.report import Witness
from symlayout.basis import as_tuple
from symlayout.coordinates import idx2crd
from symlayout.errors import ClaimError, InternalError
from symlayout.expr import Symbol, eq, evaluate, index
from symlayout.facts import Facts, ranges
from symlayout.int_tuple import congruent, is_zero, leaves, product, text
from symlayout.layout import ComposedLayout, Layout
from symlayout.strides import as_modes

from ..algebra import probes as far
from ..algebra.certificates import equal
from ..algebra.subject_form import (
    at_model,
    at_text,
    check_subject,
    expression,
    linear,
    map_facts,
    points,
    profile,
    table,
)
from ..claim import Claim, Proof, Query, TooLarge
from ..claim_fields import Subject
from ..exhaustive import POINTS, first_difference, first_unshared


@dataclass(frozen=True)
class Equal(Claim):
    """*a* and *b* have one size and one value at every linear index (layouts), or at every coordinate (maps).

    >>> from symlayout import Layout
    >>> print(Equal(Layout((2, 4)), Layout(8)))
    equal: (2,4):(1,2) and 8:1
    """

    a: Subject
    b: Subject

    kind: ClassVar[str] = "equal"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_subject(self.a)
        check_subject(self.b)
        if isinstance(self.a, AddressMap) and not isinstance(self.b, AddressMap):
            object.__setattr__(self, "b", _as_map(self.b, self.a))
        elif isinstance(self.b, AddressMap) and not isinstance(self.a, AddressMap):
            object.__setattr__(self, "a", _as_map(self.a, self.b))
        maps = self._maps
        if maps is not None and len(maps[0].coords) != len(maps[1].coords):
            raise ClaimError(f"expected maps of one rank, got {self.a} and {self.b}")
        if not congruent(profile(self.a), profile(self.b)):
            raise ClaimError(f"expected values of one profile, offsets or coordinates, got {self.a} and {self.b}")

    def __str__(self) -> str:
        return f"{self.kind}: {self.a} and {self.b}"

    @property
    def _maps(self) -> tuple[AddressMap, AddressMap] | None:
        """Both sides where they are maps: one alone makes the other a map too."""
        a, b = self.a, self.b
        return (a, b) if isinstance(a, AddressMap) and isinstance(b, AddressMap) else None

    def certify(self, facts: Facts) -> Proof | None:
        maps = self._maps
        return self._same_modes(facts) if maps is None else _same_expression(*maps, facts)

    def _same_modes(self, facts: Facts) -> Proof | None:
        """Identical coalesced modes under one swizzle (T17)."""
        a, b = linear(self.a, facts), linear(self.b, facts)
        if a is None or b is None or a.swizzle != b.swizzle or len(a.components) != len(b.components):
            return None
        if a.tuple_valued != b.tuple_valued or len(a.components) != 1:
            return self._same_by_digits(facts)
        (c,), (d,) = a.components, b.components
        found = equal(c.modes, c.base, d.modes, d.base, facts)
        lemmas = ("a common swizzle cancels",) if a.swizzle else ()
        return None if found is None else Proof("normal form, T17", found, lemmas)

    def _same_by_digits(self, facts: Facts) -> Proof | None:
        """Layouts of coordinates: the same extents and strides leaf by leaf, extents of 1 aside."""

        def modes(x: Any) -> list[Any]:
            return [(facts.normal(n), d) for n, d in x.modes() if n != 1]

        same = modes(self.a) == modes(self.b)
        return Proof("the same modes of coordinates") if same else None

    def counterexample(self) -> Witness | None:
        n, m = points(self.a), points(self.b)
        boxes = [_box(x) for x in (self.a, self.b)]
        if boxes[0] != boxes[1]:
            return Witness({}, (), f"the boxes are {text(boxes[0])} and {text(boxes[1])}") if n or m else None
        if n != m:
            return Witness({}, (), f"the sizes are {n} and {m}")
        if n > POINTS:
            return self._far()
        if isinstance(self.a, AddressMap) and isinstance(self.b, AddressMap):
            return self._maps_differ(self.a, self.b, boxes[0])
        (at, x), (_, y) = table(self.a), table(self.b)
        row = first_difference(x, y)
        return None if row is None else self._differs_at(at(row), row)

    def _far(self) -> Witness:
        """A difference at one of a few places; TooLarge where they agree there."""
        if isinstance(self.a, AddressMap) and isinstance(self.b, AddressMap):
            differ = map(self._differs, itertools.chain(far.probes(self.a), far.probes(self.b)))
            found = next((w for w in differ if w is not None), None)
            if found is None:
                raise TooLarge
            return found
        row = next((i for i in far.places(self.a, self.b) if as_tuple(self.a(i)) != as_tuple(self.b(i))), None)
        if row is None:
            raise TooLarge
        return self._differs_at(idx2crd(row, self.a.shape), row)

    def replay(self, model: Mapping[Symbol, int], bound: Any) -> Witness | None:
        c = at_model(self.a, "", model, bound.a)
        return None if c is None else bound._differs(c)

    def _differs(self, c: tuple[int, ...]) -> Witness | None:
        """The values of two maps at a coordinate that is valid in at least one of them, if they differ."""
        maps = self._maps
        if maps is not None and maps[0].valid_at(c) != maps[1].valid_at(c):
            return Witness({}, (c,), f"coordinate {at_text(c)} is valid in one of them only")
        x, y = self.a(c), self.b(c)
        return None if x == y else Witness({}, (c,), f"{text(x)} at {at_text(c)}, but {text(y)}")

    def _maps_differ(self, a: AddressMap, b: AddressMap, box: tuple[int, ...]) -> Witness | None:
        """The first coordinate that is valid in one map only, else the first with two values."""
        (at, x), (other, y) = a.table(), b.table()
        alone = first_unshared(at, other, box) if a.valid or b.valid else None
        if alone is not None:
            if a.valid_at(alone) == b.valid_at(alone):
                raise InternalError(f"coordinate {text(alone)}, valid in one of {a} and {b}, does not replay")
            return Witness({}, (alone,), f"coordinate {at_text(alone)} is valid in one of them only")
        row = first_difference(x, y)
        return None if row is None else self._differs_at(tuple(map(int, at[row])), row)

    def _differs_at(self, coord: Any, row: int) -> Witness:
        other = coord if isinstance(self.b, AddressMap) else idx2crd(row, self.b.shape)
        left, right = as_tuple(self.a(coord)), as_tuple(self.b(other))
        if left == right:
            raise InternalError(f"the difference at {coord} does not replay: both give {left}")
        return Witness(
            {}, (coord,), f"index {row}: {text(left)} at {at_text(coord)}, but {text(right)} at {at_text(other)}"
        )

    def violations(self, facts: Facts) -> list[Query] | None:
        maps = self._maps
        if maps is None:
            return None
        a, b = maps
        digits, _, x, valid = expression(a, "")
        y, other = b.renamed(digits)
        if valid != other or not _same_box(a, b, facts):
            return None
        pairs = zip(leaves(x), leaves(y), strict=True)
        return [[*ranges(digits), *valid, eq(v, w).negated()] for v, w in pairs]

    def lemma(self, facts: Facts) -> str:
        return "the values agree at every index: the coalesced modes differ in form (T17)"


def _box(x: Any) -> tuple[int, ...]:
    """The box of a map without parameters; a layout, which is compared by its linear index, has none."""
    return tuple(max(0, evaluate(n, {})) for n in x.extents) if isinstance(x, AddressMap) else ()


def _same_expression(a: AddressMap, b: AddressMap, facts: Facts) -> Proof | None:
    """Maps over the same box whose values have one normal form."""
    offset, valid = b.renamed(a.coords)
    if a.valid != valid or not _same_box(a, b, facts):
        return None
    known = map_facts(a, facts)
    pairs = zip(leaves(a.offset), leaves(offset), strict=True)
    return Proof("normal form") if all(is_zero(known.normal(x - y)) for x, y in pairs) else None


def _same_box(a: AddressMap, b: AddressMap, facts: Facts) -> bool:
    return all(is_zero(facts.normal(n - m)) for n, m in zip(a.extents, b.extents, strict=True))


def _as_map(layout: Layout | ComposedLayout, like: AddressMap) -> AddressMap:
    """A layout as a map over the coordinates of another, one for each of its top-level modes."""
    shape = as_modes(layout.shape)
    if len(shape) != len(like.coords):
        raise ClaimError(f"expected a layout of {len(like.coords)} modes to compare with {like}, got {layout}")
    if set(layout.symbols) & set(like.coords):
        raise ClaimError(f"expected sizes in {layout}, got a coordinate of {like}")
    extents = tuple(product(s) for s in shape)
    coords = tuple(index(c.name, n) for c, n in zip(like.coords, extents, strict=True))
    return AddressMap(coords, extents, layout(coords if isinstance(layout.shape, tuple) else coords[0]))
