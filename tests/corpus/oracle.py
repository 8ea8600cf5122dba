"""What a row of a claim file means, on plain integers: Python evaluates its text, and nothing of ours is used.

The text of the corpus is Python after three substitutions: ``ceil``, ``3@1`` and ``Sw<b,m,s>``. So sizes, layouts,
predicates and facts are evaluated by the interpreter itself, every value is written out, and each kind of claim is
decided by its definition. ``holds`` is what verdicts are compared with; ``samples`` draws sizes that are assumed.
"""

from __future__ import annotations

import collections
import itertools
import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]
Sizes = dict[str, int]

POINTS = 4000  # coordinates that are written out for one set of sizes
LARGEST = 2**31 - 1
SMALL = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 16)
EDGES = (15, 17, 24, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 132, 133, 192, 256)
FUNCTIONS = {"ceil": math.ceil, "ceil_div": lambda a, b: -(-a // b), "min": min, "max": max}
NAME = re.compile(r"[A-Za-z_]\w*")
FIELDS = ("layout", "map", "and", "a", "b", "over", "when", "extent", "low", "onto", "copies", "domain", "tile",
          "access", "base_bytes", "by")  # fmt: skip


class TooLarge(Exception):
    """More coordinates than are written out."""


class NoSuchLayout(Exception):
    """Sizes at which an extent is below 1, or a divisor 0."""


@dataclass(frozen=True)
class Along:
    """``value@path``: a step along one coordinate of the value."""

    value: int
    path: int

    def __neg__(self) -> Along:
        return Along(-self.value, self.path)


def evaluate(text: Any, env: Mapping[str, Any]) -> Any:
    """The value of an expression, tuple or fact; numbers stand for themselves."""
    if not isinstance(text, str):
        return text
    source = re.sub(r"(\w+)@(\d+)", r"Along(\1, \2)", text)
    try:
        return eval(source, {"__builtins__": {}, "Along": Along, **FUNCTIONS}, dict(env))
    except ZeroDivisionError:
        raise NoSuchLayout(text) from None


def flat(x: Any) -> list[Any]:
    """The leaves of nested tuples."""
    return [leaf for part in x for leaf in flat(part)] if isinstance(x, tuple) else [x]


def names_of(row: Row) -> list[str]:
    """The sizes that a row is about."""
    texts = [row[k] for k in FIELDS if isinstance(row.get(k), str)] + list(row.get("given", ()))
    found = {n for t in texts for n in NAME.findall(re.sub(r"Sw<[^>]*>| o ", " ", t))}
    taken = set(coordinates(row)[0]) if "over" in row else set()
    if "by" in row:
        taken |= set(NAME.findall(row["by"].partition("->")[0]))
    return sorted(found - taken - {*FUNCTIONS, "and", "or", "not"})


def coordinates(row: Row) -> tuple[list[str], str]:
    """(names, text of the extents) of a box of coordinates."""
    head, _, tail = row["over"].partition("<")
    return NAME.findall(head), tail.strip()


# -- sizes ------------------------------------------------------------------------------------------------


def admits(row: Row, sizes: Sizes) -> bool:
    """Whether sizes are in range and meet what is given."""
    if any(not (0 if n in ("z", "pad") else 1) <= v <= LARGEST for n, v in sizes.items()):
        return False
    try:
        return all(evaluate(f, sizes) for f in row.get("given", ()))
    except NoSuchLayout:
        return False


def samples(row: Row, count: int, seed: str = "", tries: int = 3000) -> Iterator[Sizes]:
    """Up to *count* different sizes that are assumed, the small ones and those at the edges of tiles."""
    r = random.Random(f"{row.get('name')}{seed}")
    names = names_of(row)
    numbers = sorted({int(x) for f in row.get("given", ()) for x in re.findall(r"\d+", f) if 1 < int(x) < 1000})
    seen: set[tuple[int, ...]] = set()
    for attempt in range(tries):
        sizes = {n: r.choice(SMALL if attempt < tries // 4 or r.random() < 0.7 else EDGES) for n in names}
        for n in names:
            if numbers and r.random() < 0.4:
                sizes[n] = r.choice(numbers) * r.choice((1, 1, 1, 2, 3)) + r.choice((0, 0, 0, 1, -1))
        for f in row.get("given", ()):  # x == ..., x >= ...: take what is asked for
            found = re.fullmatch(r"(\w+) (==|>=) (.*)", f)
            if found and found[1] in names and r.random() < 0.8 and "and" not in f:
                sizes[found[1]] = int(evaluate(found[3], sizes)) + (r.choice((0, 0, 1, 2)) if found[2] == ">=" else 0)
        key = tuple(sizes.values())
        if key in seen or not admits(row, sizes):
            continue
        seen.add(key)
        yield sizes
        if len(seen) == count:
            return


# -- values -----------------------------------------------------------------------------------------------


def box(extents: Sequence[int], limit: int) -> Iterator[tuple[int, ...]]:
    """Every coordinate, the first one fastest."""
    if any(n < 1 for n in extents):
        raise NoSuchLayout(str(extents))
    if math.prod(extents) > limit:
        raise TooLarge
    return (c[::-1] for c in itertools.product(*(range(n) for n in reversed(extents))))


def swizzle(bits: int, base: int, shift: int, x: int) -> int:
    """Sw<bits,base,shift>, bit by bit."""
    for i in range(bits):
        low, high = base + i, base + i + abs(shift)
        source, target = (high, low) if shift >= 0 else (low, high)
        if x >> source & 1:
            x ^= 1 << target
    return x


@dataclass(frozen=True)
class Subject:
    """A layout or a map at given sizes: its extents, the value at digits, and which digits count."""

    extents: tuple[int, ...]
    shape: Any
    at: Any
    valid: Any = None
    box: bool = False

    def table(self, limit: int = POINTS) -> list[tuple[tuple[int, ...], Any]]:
        """(digits, value) for every valid coordinate, in linear order; a box may be empty, a layout not."""
        if self.box and min(self.extents, default=1) < 1:
            return []
        return [(c, self.at(c)) for c in box(self.extents, limit) if self.valid is None or self.valid(c)]


def layout(text: Any, sizes: Sizes) -> Subject:
    """``Sw<b,m,s> o offset o shape:stride``, or ``shape:stride``."""
    *outer, inner = str(text).split(" o ")
    shape_text, _, stride_text = inner.partition(":")
    shape, stride = evaluate(shape_text, sizes), evaluate(stride_text, sizes)
    extents, strides = tuple(flat(shape)), flat(stride)
    rank = 1 + max((s.path for s in strides if isinstance(s, Along)), default=-1)

    def value(c: tuple[int, ...]) -> Any:
        if not rank:
            return sum(i * s for i, s in zip(c, strides, strict=True))
        out = [0] * rank
        for i, s in zip(c, strides, strict=True):
            if isinstance(s, Along):
                out[s.path] += i * s.value
        return tuple(out)

    if not outer:
        return Subject(extents, shape, value)
    numbers = [int(x) for x in re.findall(r"-?\d+", outer[0])]
    offset = evaluate(outer[1], sizes)
    return Subject(extents, shape, lambda c: swizzle(*numbers, offset + value(c)))


def mapped(text: Any, row: Row, sizes: Sizes) -> Subject:
    """An index expression over a box, where its predicate holds."""
    names, extents_text = coordinates(row)
    extents = tuple(flat(evaluate(extents_text, sizes)))

    def at(c: tuple[int, ...]) -> Any:
        return evaluate(text, {**sizes, **dict(zip(names, c, strict=True))})

    def valid(c: tuple[int, ...]) -> bool:
        return bool(evaluate(row["when"], {**sizes, **dict(zip(names, c, strict=True))}))

    return Subject(extents, extents, at, valid if "when" in row else None, box=True)


def subjects(row: Row, sizes: Sizes) -> list[Subject]:
    """What a row is about, at sizes."""
    if "map" in row:
        return [mapped(row[k], row, sizes) for k in ("map", "and") if k in row]
    return [layout(row[k], sizes) for k in ("layout", "a", "b", "access") if k in row]


# -- claims -----------------------------------------------------------------------------------------------


def holds(row: Row, sizes: Sizes, limit: int = POINTS) -> bool:
    """Whether the claim is true at these sizes, by writing every value out."""
    kind = row["kind"]
    first, *others = subjects(row, sizes)
    if kind == "equal":
        return _equal(first, others[0], limit)
    values = [v for _, v in first.table(limit)]
    get = {k: evaluate(row[k], sizes) for k in FIELDS if k in row and k not in ("layout", "map", "over", "when", "by")
           and k != "access"}  # fmt: skip
    if kind == "injective":
        return len(set(values)) == len(values)
    if kind in ("bijective", "surjective", "partition", "covers"):
        wanted = get["onto"] if kind != "covers" else _counts(get["domain"], get.get("tile", 1))
        return _covered(kind, values, wanted, get.get("copies", 1), limit)
    if kind == "in_bounds":
        limits = flat(get["extent"])
        return all(get.get("low", 0) <= v < n for x in values for v, n in zip(flat(x), limits, strict=True))
    if kind == "fits_in":
        low, high = limits_of(row)
        return all(low <= v * row.get("unit_bytes", 1) <= high for x in values for v in flat(x))
    if kind == "aligned":
        base, size = get.get("base_bytes", 0), row.get("element_bytes", 1)
        return all((base + v * size) % row["to_bytes"] == 0 for v in values)
    if kind == "multiplicity":
        return set(collections.Counter(values).values()) == {get["copies"]}
    if kind == "vectorizable":
        n = row["elements"]
        runs = [values[i : i + n] for i in range(0, len(values), n)]
        return all(r[0] % n == 0 and r == list(range(r[0], r[0] + n)) for r in runs)
    lanes = math.prod(flat(first.shape[0] if isinstance(first.shape, tuple) else first.shape))
    addresses = [v * row["element_bytes"] for v in values]
    requests = [addresses[i : i + lanes] for i in range(0, len(addresses), lanes)]
    if kind == "coalesced":
        allowed = row.get("sectors", -(-lanes * row["width_bytes"] // 32))
        return all(_sectors(r, row["width_bytes"]) <= allowed for r in requests)
    if kind == "conflict_free":
        return all(_degree(r, row["width_bytes"]) <= row.get("degree", 1) for r in requests)
    raise ValueError(kind)


def limits_of(row: Row) -> tuple[int, int]:
    """The least and greatest integer of a width."""
    bits = row.get("bits", 32)
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if row.get("signed", True) else (0, (1 << bits) - 1)


def _equal(a: Subject, b: Subject, limit: int) -> bool:
    if math.prod(a.extents) != math.prod(b.extents):
        return False
    return [v for _, v in a.table(limit)] == [v for _, v in b.table(limit)]


def _counts(domain: Any, tile: Any) -> Any:
    """How many tiles each mode of the domain has."""
    tiles = flat(tile) * (len(flat(domain)) if not isinstance(tile, tuple) else 1)
    counts = tuple(-(-n // t) for n, t in zip(flat(domain), tiles, strict=True))
    return counts if isinstance(domain, tuple) else counts[0]


def _covered(kind: str, values: list[Any], onto: Any, copies: int, limit: int) -> bool:
    extents = flat(onto)
    if math.prod(extents) > limit:
        raise TooLarge
    wanted: set[Any] = set(range(extents[0]))
    if isinstance(onto, tuple):
        wanted = set(box(extents, limit)) if min(extents) > 0 else set()
    times = collections.Counter(tuple(flat(v)) if isinstance(onto, tuple) else v for v in values)
    if kind == "surjective":
        return wanted <= set(times)
    return set(times) == wanted and set(times.values()) <= {copies}


def _sectors(addresses: list[int], width: int) -> int:
    return len({(a + i) // 32 for a in addresses for i in range(width)})


def _degree(addresses: list[int], width: int) -> int:
    """The worst phase: different 4-byte words in one of 32 banks, counted in units of the width."""
    unit = max(width, 4)
    worst = 0
    for i in range(0, len(addresses), 128 // unit):
        phase = addresses[i : i + 128 // unit]
        if any(a % width for a in phase):
            return 1 << 30
        banks: dict[int, set[int]] = collections.defaultdict(set)
        for a in phase:
            banks[a // unit % (128 // unit)].add(a // unit)
        worst = max(worst, *map(len, banks.values()))
    return worst


def fails_at(row: Row, sizes: Sizes, coordinate: tuple[int, ...]) -> bool:
    """Whether the value at one coordinate breaks a claim about bounds; for sizes too large to write out."""
    (subject,) = subjects(row, sizes)
    inside = all(0 <= c < n for c, n in zip(coordinate, subject.extents, strict=True))
    if not inside or (subject.valid is not None and not subject.valid(coordinate)):
        return False
    values = flat(subject.at(coordinate))
    if row["kind"] == "fits_in":
        low, high = limits_of(row)
        return any(not low <= v * row.get("unit_bytes", 1) <= high for v in values)
    low = evaluate(row.get("low", 0), sizes)
    return any(not low <= v < n for v, n in zip(values, flat(evaluate(row["extent"], sizes)), strict=True))
