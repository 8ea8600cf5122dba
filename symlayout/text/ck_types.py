"""The C++ types of AMD CK Tile, in: encodings of distributions, descriptors and adaptors, as compilers print them.

    >>> e = parse_ck("ck_tile::tile_distribution_encoding<ck_tile::sequence<>, ck_tile::tuple<ck_tile::sequence<2, 4>>,"
    ...              "ck_tile::tuple<ck_tile::sequence<1>>, ck_tile::tuple<ck_tile::sequence<1>>, sequence<1>,"
    ...              "sequence<0> >").encoding
    >>> print(e)
    R=[] H=[(2,4)] P0=[(1,1)] Y0=(1,0)

Lengths that the compiler does not know become symbols: s0, s1, ... for lengths, d0, d1, ... for coefficients, o0, ...
for offsets. Sources: ROCm/composable_kernel, include/ck_tile/core/tensor/{tile_distribution_encoding,tensor_adaptor,
tensor_descriptor}.hpp and core/algorithm/coordinate_transform.hpp.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..ck_tile import TensorAdaptor, TensorDescriptor, TileDistribution, TileDistributionEncoding
from ..ck_tile.adaptor import Graph
from ..expr import Symbol
from ..transforms import (
    UNKNOWN,
    Embed,
    Freeze,
    Insert,
    LeftPad,
    Merge,
    Modulo,
    Offset,
    Pad,
    PassThrough,
    Replicate,
    RightPad,
    Slice,
    Transform,
    Unmerge,
    Xor,
)
from .cpp_types import TypeReader, TypeTree

NUMBERS = ("constant", "number", "long_number")

# Each transform by its C++ name: what makes it, and what its template arguments are: s a length or lengths, d a
# coefficient, o an offset, b a flag.
TRANSFORMS: dict[str, tuple[type[Transform], str]] = {
    "pass_through": (PassThrough, "s"),
    "pad": (Pad, "soob"),
    "left_pad": (LeftPad, "sob"),
    "right_pad": (RightPad, "sob"),
    "embed": (Embed, "sd"),
    "merge_v2_magic_division": (Merge, "s"),
    "merge_v3_division_mod": (Merge, "s"),
    "unmerge": (Unmerge, "sb"),
    "freeze": (Freeze, "o"),
    "insert": (Insert, "s"),
    "replicate": (Replicate, "s"),
    "slice": (Slice, "soo"),
    "modulo": (Modulo, "ss"),
    "xor_t": (Xor, "s"),
    "offset": (Offset, "so"),
}


def parse_ck(source: str, symbols: Iterable[Symbol] = ()) -> TileDistribution | TensorAdaptor:
    """The distribution, descriptor or adaptor that a C++ type of CK Tile denotes.

    >>> print(parse_ck("tensor_descriptor<tuple<embed<tuple<int, constant<8>>, tuple<constant<8>, constant<1>>>>, "
    ...                "tuple<sequence<0>>, tuple<sequence<1, 2>>, sequence<1, 2>, int, sequence<-1, -1, 8>, "
    ...                "sequence<-1, -1, 1>>"))
    (x0,x1) -> 8*x0 + x1 for x0 < s0, x1 < 8

    A distribution is made as upstream makes it, also where factors have two owners or none, of which
    ``checkers.DistributionCovers`` tells. Raises NotationError with a caret under the first bad character.
    """
    types = _CkTypes(source, symbols)
    out = types.type()
    types.end("the end of the type")
    return types.value(out)


class _CkTypes(TypeReader):
    """A tree of C++ types given CK Tile's meaning."""

    def value(self, t: TypeTree) -> TileDistribution | TensorAdaptor:
        match t.name, t.args:
            case "tile_distribution_encoding", [r, h, *rest] if len(rest) == 4:
                return self.distribution(t, r, h, rest)
            case "tile_distribution", [_, _, encoding, *_]:
                return self.value(encoding)
            case "tile_window_with_static_distribution", [_, _, distribution, *_]:
                return self.value(distribution)
            case "tensor_adaptor", [transforms, lower, upper, bottom, top]:
                return self.made(t.at, TensorAdaptor, self.graph(transforms, lower, upper, self.ids(bottom), top))
            case "tensor_descriptor", [transforms, lower, upper, top, space, lengths, strides]:
                graph = self.graph(transforms, lower, upper, (0,), top, self.ids(lengths), self.ids(strides))
                return self.made(t.at, TensorDescriptor, graph, self.length(space, "s"))
        known = (
            "tile_distribution_encoding<R, H, P majors, P minors, Y majors, Y minors>, tile_distribution, "
            "tensor_descriptor<...> of seven arguments or tensor_adaptor<...> of five"
        )
        raise self.unexpected(known, t)

    # -- distributions --------------------------------------------------------------------------------

    def distribution(self, t: TypeTree, r: TypeTree, h: TypeTree, rest: list[TypeTree]) -> TileDistribution:
        rs, hs = self.ids(r), tuple(map(self.ids, self.items(h, "tuple")))
        majors, minors = (self.items(x, "tuple") for x in rest[:2])
        if len(majors) != len(minors):
            raise self.unexpected(f"minors for each of {len(majors)} P dimensions", rest[1])
        lists = (rs, *hs)
        ps = tuple(self.pairs(a, b, lists) for a, b in zip(majors, minors, strict=True))
        encoding = self.made(t.at, TileDistributionEncoding, rs, hs, ps, self.pairs(rest[2], rest[3], lists))
        return TileDistribution(encoding)

    def pairs(self, majors: TypeTree, minors: TypeTree, lists: tuple[Any, ...]) -> tuple[tuple[int, int], ...]:
        """(major, minor) pairs of two sequences; each must name a factor."""
        first, second = self.items(majors, "sequence"), self.items(minors, "sequence")
        if len(first) != len(second):
            raise self.unexpected(f"{len(first)} minors, as many as majors", minors)
        out = []
        for a, b in zip(first, second, strict=True):
            major, minor = self.id(a), self.id(b)
            if not 0 <= major < len(lists):
                raise self.unexpected(f"a major of 0 (R) .. {len(lists) - 1}", a)
            if not 0 <= minor < len(lists[major]):
                name = f"H{major - 1}" if major else "R"
                raise self.unexpected(f"a minor of {name}, which has {len(lists[major])} factors", b)
            out.append((major, minor))
        return tuple(out)

    # -- graphs ---------------------------------------------------------------------------------------

    def graph(
        self,
        transforms: TypeTree,
        lower: TypeTree,
        upper: TypeTree,
        bottom: tuple[int, ...],
        top: TypeTree,
        lengths: tuple[int, ...] = (),
        strides: tuple[int, ...] = (),
    ) -> Graph:
        made = tuple(map(self.transform, self.items(transforms, "tuple")))
        ids = [tuple(map(self.ids, self.items(x, "tuple"))) for x in (lower, upper)]
        for found, at in zip(ids, (lower, upper), strict=True):
            if len(found) != len(made):
                raise self.unexpected(f"a sequence of dimensions for each of {len(made)} transforms", at)
        given = (tuple((i, n) for i, n in enumerate(x) if n != UNKNOWN) for x in (lengths, strides))
        return Graph(made, ids[0], ids[1], bottom, self.ids(top), *given)

    def transform(self, t: TypeTree) -> Transform:
        made_by, kinds = TRANSFORMS.get(t.name, (None, ""))
        needed = len(kinds.rstrip("b"))
        if made_by is None or not needed <= len(t.args):
            raise self.unexpected(f"a transform ({', '.join(TRANSFORMS)}) with its template arguments", t)
        values = [
            self.flag(a) if kind == "b" else self.lengths(a, kind) for kind, a in zip(kinds, t.args, strict=False)
        ]
        out: Transform = self.made(t.at, made_by, *values)
        return out

    def lengths(self, t: TypeTree, kind: str) -> Any:
        """A length, or the lengths of a tuple or a sequence."""
        if t.name == "tuple":
            return tuple(self.length(a, kind) for a in t.args)
        return self.ids(t) if t.name == "sequence" else self.length(t, kind)

    def length(self, t: TypeTree, kind: str) -> Any:
        match t.name, t.args:
            case name, [TypeTree(number=int(n))] if name in NUMBERS:
                return n
            case "", ():
                return t.number
        return self.integers(t, kind)

    def flag(self, t: TypeTree) -> bool:
        if t.name in ("true", "false"):
            return t.name == "true"
        if t.number in (0, 1):
            return t.number == 1
        raise self.unexpected("true or false", t)

    def items(self, t: TypeTree, name: str) -> tuple[TypeTree, ...]:
        if t.name != name:
            raise self.unexpected(f"a {name}<...>", t)
        return t.args

    def ids(self, t: TypeTree) -> tuple[int, ...]:
        return tuple(map(self.id, self.items(t, "sequence")))

    def id(self, t: TypeTree) -> int:
        if t.number is None:
            raise self.unexpected("a number in a sequence", t)
        return t.number
