"""TileDistributionEncoding: which factor of a tile each lane, warp and register of a thread runs through.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tile_distribution_encoding.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...errors import LayoutError
from ...expr import Expr, Int, Symbol, substitute
from ...facts import symbols_in
from ...int_tuple import is_one, text
from ...transforms import Indices
from ...transforms.merge import row_major, total
from ...transforms.transform import lengths_of

Pair: TypeAlias = "tuple[int, int]"  # (major, minor): major 0 is R, major k + 1 is H of tile dimension k

PARTITIONS = ("lane",), ("warp", "lane")  # what P dimensions are, by their number


@dataclass(frozen=True)
class TileDistributionEncoding:
    """R: lengths of replication. H: factors of each tile dimension, slowest first. P, Y: who runs through which.

    Each P dimension is a list of (major, minor) pairs, the last one fastest; each Y dimension is one pair. Major 0 is
    ``R[minor]``, major k + 1 is ``H[k][minor]``.

    >>> e = TileDistributionEncoding((1,), ((2, 4, 16), (4, 8)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))
    >>> print(e)
    R=[1] H=[(2,4,16),(4,8)] P0=[(1,1)] P1=[(1,2),(2,0)] Y0=(1,0) Y1=(2,1)
    >>> e.x_lengths, e.p_lengths, e.y_lengths
    ((128, 32), (4, 64), (2, 8))

    Raises LayoutError for pairs that name no factor, for a Y dimension of R, and for other than one or two P
    dimensions. ``faults`` says what upstream compiles and no tile survives.
    """

    R: Indices
    H: tuple[Indices, ...]
    P: tuple[tuple[Pair, ...], ...]
    Y: tuple[Pair, ...]

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "R", lengths_of(self.R))
        put(self, "H", tuple(map(lengths_of, _sequence(self.H, "H"))))
        put(self, "P", tuple(tuple(map(_pair, _sequence(p, "P"))) for p in _sequence(self.P, "P")))
        put(self, "Y", tuple(map(_pair, _sequence(self.Y, "Y"))))
        low = next((n for n in (*self.R, *(n for h in self.H for n in h)) if type(n) is int and n < 1), None)
        if low is not None:
            raise LayoutError(f"expected lengths of at least 1 in R and H, got {low}")
        if not self.H:
            raise LayoutError("expected H with factors of at least one tile dimension, got none")
        if len(self.P) not in (1, 2):
            raise LayoutError(
                f"expected one P dimension (lane) or two (warp, lane), of which upstream has indices, got {len(self.P)}"
            )
        for name, pair in self.owners():
            self.length_of(pair, name)
            if pair[0] == 0 and name.startswith("Y"):
                raise LayoutError(f"expected {name} to be a factor of H, got (0,{pair[1]}), of R: only P replicates")

    def owners(self) -> Iterator[tuple[str, Pair]]:
        """(name of a P or Y dimension, pair) in order."""
        yield from ((f"P{i}", pair) for i, pairs in enumerate(self.P) for pair in pairs)
        yield from ((f"Y{i}", pair) for i, pair in enumerate(self.Y))

    def length_of(self, pair: Pair, owner: str = "a pair") -> Int:
        """The length of a factor. Raises LayoutError for a pair that names none."""
        major, minor = pair
        lists = (self.R, *self.H)
        if not 0 <= major < len(lists):
            raise LayoutError(f"expected majors of 0 (R) .. {len(self.H)} in {owner}, got {major} in {text(pair)}")
        if not 0 <= minor < len(lists[major]):
            name = "R" if major == 0 else f"H{major - 1}"
            has = f"minors of 0 .. {len(lists[major]) - 1}" if lists[major] else "no pair"
            raise LayoutError(f"expected {has} of {name} in {owner}, got {minor} in {text(pair)}")
        return lists[major][minor]

    def weight_of(self, pair: Pair) -> Int:
        """How far a step of a factor goes in its tile dimension; 0 for one of R."""
        major, minor = pair
        return 0 if major == 0 else row_major(self.H[major - 1])[minor]

    @property
    def x_lengths(self) -> Indices:
        """The lengths of the tile: products of the factors."""
        return tuple(total(h) for h in self.H)

    @property
    def p_lengths(self) -> Indices:
        """The number of warps and lanes, or of lanes, that the encoding is for."""
        return tuple(total([self.length_of(pair) for pair in p]) for p in self.P)

    @property
    def y_lengths(self) -> Indices:
        """The lengths of a thread's own dimensions."""
        return tuple(map(self.length_of, self.Y))

    @property
    def replicas(self) -> Any:
        """The number of threads that hold each element."""
        return total(self.R)

    def faults(self) -> tuple[str, ...]:
        """Why the encoding does not cover its tile exactly; none where each factor has one owner.

        >>> TileDistributionEncoding((), ((2, 2), (4,)), (((1, 0),),), ((1, 0),)).faults()
        ('factor (1,0) of H0, of length 2, has two owners, P0 and Y0: one overwrites the other',
         'factor (1,1) of H0, of length 2, has no owner: only its index 0 is covered',
         'factor (2,0) of H1, of length 4, has no owner: only its index 0 is covered')
        """
        return tuple(self._faults())

    def _faults(self) -> Iterator[str]:
        for major, lengths in enumerate((self.R, *self.H)):
            name = "R" if major == 0 else f"H{major - 1}"
            for minor, n in enumerate(lengths):
                owners = [who for who, pair in self.owners() if pair == (major, minor)]
                if is_one(n) or len(owners) == 1:
                    continue
                what = f"factor ({major},{minor}) of {name}, of length {n}, has "
                if owners:
                    number = "two" if len(owners) == 2 else str(len(owners))
                    yield f"{what}{number} owners, {' and '.join(owners)}: one overwrites the other"
                else:
                    yield f"{what}no owner: only its index 0 is {'used' if major == 0 else 'covered'}"

    def subs(self, values: Mapping[Any, Any]) -> TileDistributionEncoding:
        """The encoding with symbolic lengths replaced."""

        def put(xs: Indices) -> Indices:
            return tuple(substitute(x, values) for x in xs)

        return TileDistributionEncoding(put(self.R), tuple(map(put, self.H)), self.P, self.Y)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(sorted(symbols_in((self.R, self.H)), key=lambda s: s.name))

    def cpp(self) -> str:
        """CK's C++ type; symbolic lengths cannot be written.

        >>> print(TileDistributionEncoding((), ((2, 2),), (((1, 0),),), ((1, 1),)).cpp())
        ck_tile::tile_distribution_encoding<ck_tile::sequence<>, ck_tile::tuple<ck_tile::sequence<2, 2>>, \
ck_tile::tuple<ck_tile::sequence<1>>, ck_tile::tuple<ck_tile::sequence<0>>, ck_tile::sequence<1>, ck_tile::sequence<1>>
        """
        if self.symbols:
            raise LayoutError(f"expected numbers for a C++ type, got {self}")
        parts = (
            _cpp(self.R),
            f"ck_tile::tuple<{', '.join(map(_cpp, self.H))}>",
            f"ck_tile::tuple<{', '.join(_cpp([a for a, _ in p]) for p in self.P)}>",
            f"ck_tile::tuple<{', '.join(_cpp([b for _, b in p]) for p in self.P)}>",
            _cpp([a for a, _ in self.Y]),
            _cpp([b for _, b in self.Y]),
        )
        return f"ck_tile::tile_distribution_encoding<{', '.join(parts)}>"

    def __str__(self) -> str:
        ps = (f"P{i}=[{','.join(map(text, p))}]" for i, p in enumerate(self.P))
        ys = (f"Y{i}={text(y)}" for i, y in enumerate(self.Y))
        return " ".join((f"R=[{','.join(map(str, self.R))}]", f"H=[{','.join(map(_listed, self.H))}]", *ps, *ys))


def _listed(h: Indices) -> str:
    return f"({','.join(map(str, h))})"


def _cpp(xs: Sequence[Any]) -> str:
    return f"ck_tile::sequence<{', '.join(map(str, xs))}>"


def _sequence(x: Any, what: str) -> Sequence[Any]:
    if not isinstance(x, tuple | list):
        raise LayoutError(f"expected a tuple as {what} of an encoding, got {x!r}")
    return x


def _pair(x: Any) -> Pair:
    if not isinstance(x, tuple | list) or len(x) != 2 or any(isinstance(i, Expr) or type(i) is not int for i in x):
        raise LayoutError(f"expected (major, minor) pairs of numbers in P and Y, got {x!r}")
    return int(x[0]), int(x[1])


def tile_distribution_encoding(
    rs_lengths: Sequence[Any],
    hs_lengthss: Sequence[Sequence[Any]],
    ps_to_rhss_major: Sequence[Sequence[int]],
    ps_to_rhss_minor: Sequence[Sequence[int]],
    ys_to_rhs_major: Sequence[int],
    ys_to_rhs_minor: Sequence[int],
) -> TileDistributionEncoding:
    """The encoding of upstream's six sequences, in the order of its template arguments.

    >>> print(tile_distribution_encoding((), ((2, 2), (2, 2)), ((1,), (2,)), ((0,), (0,)), (1, 2), (1, 1)))
    R=[] H=[(2,2),(2,2)] P0=[(1,0)] P1=[(2,0)] Y0=(1,1) Y1=(2,1)

    Raises LayoutError where majors and minors are not as many.
    """
    majors, minors = _sequence(ps_to_rhss_major, "ps_to_rhss_major"), _sequence(ps_to_rhss_minor, "ps_to_rhss_minor")
    if len(majors) != len(minors):
        raise LayoutError(f"expected minors for each of {len(majors)} P dimensions, got {len(minors)}")
    ps = tuple(_pairs(a, b, f"P{i}") for i, (a, b) in enumerate(zip(majors, minors, strict=True)))
    hs = tuple(tuple(h) for h in _sequence(hs_lengthss, "hs_lengthss"))
    return TileDistributionEncoding(tuple(rs_lengths), hs, ps, _pairs(ys_to_rhs_major, ys_to_rhs_minor, "Y"))


def _pairs(majors: Sequence[int], minors: Sequence[int], what: str) -> tuple[Pair, ...]:
    majors, minors = _sequence(majors, what), _sequence(minors, what)
    if len(majors) != len(minors):
        raise LayoutError(
            f"expected as many minors as majors in {what}, got {text(tuple(majors))} and {text(tuple(minors))}"
        )
    return tuple(zip(majors, minors, strict=True))
