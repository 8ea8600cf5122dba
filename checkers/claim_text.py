"""Claims from text: the rows that say what each kind takes, derived from the classes in ``checkers.claims``.

    >>> print(claim_from("bijective", {"layout": "(4,8):(8,1)", "onto": 32}))
    bijective: (4,8):(8,1) onto 32
    >>> print(claim_from("in_bounds", {"map": "128*t + r", "over": "(r, t) < (128, 8)", "extent": "M", "low": 0},
    ...                  given=["M >= 1024"]))
    in bounds: (r,t) -> r + 128*t for r < 128, t < 8 in [0, M)

A field is text, a number or a list of numbers. ``map`` is another name for the first layout that a kind is
about (the fact, where it is about one), ``and`` for the second. With ``over`` they are index expressions of the
coordinates that it names, or, where it gives no extents, layouts with one coordinate for each top-level mode;
``when`` is their predicate.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from symlayout.address_map import AddressMap
from symlayout.answers.report import identifier
from symlayout.errors import ClaimError, SymlayoutError
from symlayout.expr import Fact, Quotient, Symbol, at_least, names, written_divisors
from symlayout.facts import Facts, opaque_atoms, symbols_in
from symlayout.text.grammar import as_claims
from symlayout.text.notation import Declared, parse_fact
from symlayout.text.reader import suggestion

from .ck_tile import CK_CLAIMS
from .claim import Claim
from .claim_fields import SHARED, Reads, readings
from .claims import CLAIMS
from .field_values import READERS, Box

BOX = ("over", "when")


@dataclass(frozen=True)
class Field:
    """One thing that a kind takes: what it is, and its default where it may be left out."""

    name: str
    reads: Reads
    default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    def __str__(self) -> str:
        return self.name if self.required else f"{self.name} = {self.default}"


@dataclass(frozen=True)
class Kind:
    """A kind of claim: its name in text, its class, its fields in order, and what makes a claim of them."""

    name: str
    made_by: type[Claim]
    fields: tuple[Field, ...]
    make: Callable[..., Claim]

    @property
    def subjects(self) -> tuple[str, ...]:
        """The fields that are layouts, or indexed by the coordinates of ``over``."""
        return tuple(f.name for f in self.fields if f.reads in (Reads.LAYOUT, Reads.INDEXED))

    @property
    def first(self) -> tuple[str, ...]:
        """The fields that may go without their names: the layouts, else the first of all."""
        layouts = tuple(f.name for f in self.fields if f.reads is Reads.LAYOUT)
        return layouts or tuple(f.name for f in self.fields[:1])

    @property
    def text(self) -> str:
        """The sentence of the kind, from its class."""
        return inspect.getdoc(self.made_by) or ""


def kind_of(made_by: type[Claim]) -> Kind:
    """The row of a class: ``InBounds`` is in_bounds, and its fields are read as their types say.

    A class about more than layouts says in ``stated`` what text gives it.
    """
    make = getattr(made_by, "stated", made_by)
    takes = inspect.signature(make).parameters
    rows = (Field(name, reads, takes[name].default) for name, reads in readings(make).items())
    return Kind(identifier(made_by), made_by, tuple(rows), make)


def _of_text(made_by: type[Claim]) -> bool:
    """Whether text can give all that a class needs: no banks of an LDS, no function of coordinates without its own."""
    takes = inspect.signature(made_by).parameters.values()
    return all(p.name in readings(made_by) for p in takes if p.default is p.empty)


KINDS: Mapping[str, Kind] = {k.name: k for k in map(kind_of, (*CLAIMS, *filter(_of_text, CK_CLAIMS)))}


def claim_from(
    kind: str,
    fields: Mapping[str, Any],
    dims: Iterable[Symbol] = (),
    given: Iterable[Fact | str] = (),
    expect: str = "proved",
    shared: Iterable[Fact] = (),
) -> Claim:
    """The claim of a kind with these fields, under the facts *given*.

    Names are those of *dims*, else sizes of their own, unless *dims* are ``Declared`` to be all. Of the facts
    *shared* with other claims it takes those that bear on its sizes. Raises ClaimError or NotationError with
    the field that cannot be read.
    """
    row = KINDS.get(str(kind).strip().replace("-", "_").replace(" ", "_"))
    if row is None:
        known = f"expected a kind of claim ({', '.join(KINDS)}), got {kind!r}{suggestion(str(kind), KINDS)}"
        raise ClaimError(known).told_at("kind")
    symbols = dims if isinstance(dims, Declared) else tuple(dims)
    with as_claims():
        facts = _given(given, symbols)
        values = _values(row, fields, symbols)
    claim = row.make(**values)
    try:
        claim = replace(claim, given=(*claim.given, *facts), expect=expect)
    except ClaimError as e:
        raise e.told_at("expect") from None
    claim = replace(claim, given=(*claim.given, *_bearing(claim, shared)))
    _apart(claim)
    if not isinstance(symbols, Declared):
        _expect_known(claim, {s.name for s in symbols})
    return claim


def _given(given: Iterable[Fact | str], symbols: Iterable[Symbol]) -> list[Fact]:
    """The facts in texts; a divisor that has cancelled in one is at least 1 by those before it, or an error."""
    with written_divisors() as divisors:
        facts = [f for g in given for f in ((g,) if isinstance(g, Fact) else parse_fact(g, symbols))]
    left = {a.args[1] for a in opaque_atoms(*(f.expr for f in facts)) if isinstance(a, Quotient)}
    for d, n in zip(divisors, divisors.guards(facts), strict=True):
        if d not in left and Facts.about(d, given=facts[:n]).le(1, d) is not True:
            raise ClaimError(f"given: expected a divisor of at least 1, got {d}; state {at_least(d, 1)} before it")
    return facts


def _values(row: Kind, given: Mapping[str, Any], symbols: Iterable[Symbol]) -> dict[str, Any]:
    """The arguments of the class."""
    alias = {**dict(zip(("map", "and"), row.first, strict=False)), "layout": row.first[0]}
    texts: dict[str, Any] = {}
    written: dict[str, str] = {}  # the name of each field as the text has it
    own = {f.name: f for f in row.fields}
    for name, value in given.items():
        field = name if name in own else alias.get(name, name)
        if field not in own and not (name in BOX and row.subjects):
            known = [*own, *BOX, *SHARED]
            said = f"expected fields of {row.name} ({', '.join(known)}), got {name!r}{suggestion(name, known)}"
            raise ClaimError(said).told_at(name)
        if field in texts:
            twice = f"expected {field} of {row.name} once, got it twice, the second time as {name!r}"
            raise ClaimError(twice).told_at(name)
        texts[field] = value
        written[field] = name
    box = Box(texts.pop("over"), texts.pop("when", None), symbols) if "over" in texts else None
    if "when" in texts and "when" not in own:
        none = f"expected over, the coordinates of the predicate, with when = {texts['when']!r}, got none"
        raise ClaimError(none).told_at("when")
    values = {name: _read(own[name], value, symbols, box, written[name]) for name, value in texts.items()}
    missing = [f.name for f in row.fields if f.required and f.name not in values]
    if missing:
        how = ", ".join(f"'{name} {own[name].reads.placeholder}'" for name in missing)
        raise ClaimError(f"expected {how} for {row.name}, got {names(values) or 'no field'}").told_at("kind")
    return values


def _read(field: Field, value: Any, symbols: Iterable[Symbol], box: Box | None, written: str) -> Any:
    """The value of one field; what cannot be read is said with the field's name."""
    try:
        if box is not None and field.reads in (Reads.LAYOUT, Reads.INDEXED):
            return box.map(value)
        return READERS[field.reads](value, symbols)
    except SymlayoutError as e:
        raise e.about(field.name).told_at(e.field or written, e.at) from None


def _apart(claim: Claim) -> None:
    """Raise where a size has the name of a coordinate: one of the two was meant."""
    coords = {c.name for x in claim.subjects() for c in getattr(x, "coords", ())}
    clash = sorted(coords & {s.name for s in symbols_in((claim.parameters(), claim.given))})
    if clash:
        raise ClaimError(f"expected {names(clash)} only where coordinates are known, got a size of that name")


def _expect_known(claim: Claim, known: set[str]) -> None:
    """Raise where a formula has a name that nothing else of the claim has: most often a slip, never shown otherwise."""
    maps = [x for x in claim.subjects() if isinstance(x, AddressMap)]
    others = [x for x in claim.parameters() if not isinstance(x, AddressMap)]
    told = {s.name for s in symbols_in((*others, *claim.given, *(x.extents for x in maps)))} | known
    for x in maps:
        own = {c.name for c in x.coords}
        free = sorted({s.name for s in symbols_in((x.offset, x.valid))} - own - told)
        if free:
            coords = ", ".join(c.name for c in x.coords)
            said = f"expected coordinates ({coords}) and sizes that the claim names elsewhere, got {names(free)}"
            raise ClaimError(f"{said}; 'dims {' '.join(free)}' declares a size").told_at("map")


def _bearing(claim: Claim, shared: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts that share a size with the claim, directly or through others; and those without any."""
    seen = set(Facts.about(claim.parameters(), given=claim.given).symbols)
    rest = {f: set(Facts.about(f).symbols) for f in shared}
    kept: set[Fact] = set()
    grown = True
    while grown:
        new = [f for f, symbols in rest.items() if f not in kept and (not symbols or symbols & seen)]
        kept.update(new)
        seen.update(*(rest[f] for f in new))
        grown = bool(new)
    return tuple(f for f in rest if f in kept)
