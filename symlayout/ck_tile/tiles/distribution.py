"""TileDistribution: (warp, lane) and a thread's own indices to the index in a tile, and to the register.

Source: ROCm/composable_kernel, include/ck_tile/core/tensor/tile_distribution.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product as boxes
from typing import Any, Self

from ...errors import LayoutError
from ...expr import Symbol
from ...int_tuple import text
from ...transforms import Indices, Merge, Replicate, Unmerge
from ...transforms.merge import total
from ..adaptor import Graph, TensorAdaptor
from ..descriptor import TensorDescriptor
from ..naive import make_naive_tensor_descriptor_packed
from .encoding import PARTITIONS, Pair, TileDistributionEncoding


class TileDistribution(TensorAdaptor):
    """(P, Y) -> X of an encoding, an address map of tile indices; ``ys_to_d`` is Y -> D, the register of a thread.

    >>> e = TileDistributionEncoding((1,), ((2, 4, 16), (4, 8)), (((1, 1),), ((1, 2), (2, 0))), ((1, 0), (2, 1)))
    >>> t = TileDistribution(e)
    >>> print(t)
    (warp,lane,y0,y1) -> (16*warp + 64*y0 + (lane//4),8*(lane % 4) + y1) for warp < 4, lane < 64, y0 < 2, y1 < 8
    >>> t(1, 37, 1, 0), t.register((1, 0)), t.registers
    ((89, 8), 8, 16)

    It is a graph of transforms as upstream's: a replicate, an unmerge for each tile dimension, a merge for each P.
    """

    __slots__ = ("encoding",)
    encoding: TileDistributionEncoding

    def __init__(self, encoding: TileDistributionEncoding, names: Sequence[str] | None = None) -> None:
        if not isinstance(encoding, TileDistributionEncoding):
            raise LayoutError(f"expected a TileDistributionEncoding, got {encoding!r}")
        taken = {s.name for s in encoding.symbols}
        plain = (*PARTITIONS[len(encoding.P) - 1], *(f"y{i}" for i in range(len(encoding.Y))))
        super().__init__(_graph(encoding), names or [fresh(n, taken) for n in plain])
        self.encoding = encoding

    # -- lengths --------------------------------------------------------------------------------------

    @property
    def lengths(self) -> Indices:
        """The lengths of the tile."""
        return self.encoding.x_lengths

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """Those of the encoding too: no index depends on a factor that has no owner."""
        return tuple(sorted({*super().symbols, *self.encoding.symbols}, key=lambda s: s.name))

    @property
    def registers(self) -> Any:
        """The number of elements that a thread holds."""
        return total(self.encoding.y_lengths)

    @property
    def ys_to_d(self) -> TensorDescriptor:
        """Y -> D, row-major.

        >>> e = TileDistributionEncoding((), ((2, 2), (2, 2)), (((1, 0),), ((2, 0),)), ((1, 1), (2, 1)))
        >>> print(TileDistribution(e).ys_to_d)
        (x0,x1) -> 2*x0 + x1 for x0 < 2, x1 < 2
        """
        return make_naive_tensor_descriptor_packed(self.encoding.y_lengths)

    def register(self, y: Sequence[Any]) -> Any:
        """D: which of a thread's registers holds Y index *y*. Raises LayoutError for another number of indices."""
        lengths = self.encoding.y_lengths
        if len(y) != len(lengths):
            raise LayoutError(f"expected {len(lengths)} Y indices, got {text(tuple(y))}")
        out: Any = 0
        for i, n in zip(y, lengths, strict=True):
            out = out * n + i
        return out

    def partition(self, p: Sequence[Any], y: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The tile index of (P, Y); Y is 0 unless given. Raises LayoutError for other numbers of indices."""
        rank_p, rank_y = len(self.encoding.P), len(self.encoding.Y)
        y = tuple(y) or (0,) * rank_y
        if len(p) != rank_p or len(y) != rank_y:
            raise LayoutError(f"expected {rank_p} P and {rank_y} Y indices, got {text(tuple(p))} and {text(y)}")
        return tuple(self(*p, *y))

    def replica(self, p: Sequence[Any]) -> Indices:
        """The R index of a P index: which of the threads that hold the same elements it is."""
        hidden = self.graph.hidden((*p, *(0,) * len(self.encoding.Y)))
        first = len(self.encoding.H)
        return tuple(hidden[first + i] for i in range(len(self.encoding.R)))

    def partitions(self) -> Iterator[tuple[int, ...]]:
        """Every P index, the lane fastest. Raises LayoutError for symbolic lengths."""
        yield from boxes(*map(range, numbers(self.encoding.p_lengths, str(self.encoding))))

    # -- CK's members ---------------------------------------------------------------------------------

    def get_lengths(self) -> Indices:
        """The lengths of the tile: of X, and not of the top dimensions as an adaptor's."""
        return self.lengths

    def get_num_of_dimension_x(self) -> int:
        """The number of tile dimensions."""
        return len(self.encoding.H)

    def get_num_of_dimension_p(self) -> int:
        """1 for (lane), 2 for (warp, lane)."""
        return len(self.encoding.P)

    def get_num_of_dimension_y(self) -> int:
        """The number of a thread's own dimensions."""
        return len(self.encoding.Y)

    def get_num_of_dimension_r(self) -> int:
        """The number of dimensions of replication."""
        return len(self.encoding.R)

    def get_ps_ys_to_xs_adaptor(self) -> TensorAdaptor:
        """(P, Y) -> X as a plain adaptor."""
        return TensorAdaptor(self.graph, [c.name for c in self.coords])

    def get_ys_to_d_descriptor(self) -> TensorDescriptor:
        """CK's name of ``ys_to_d``."""
        return self.ys_to_d

    def get_static_tile_distribution_encoding(self) -> TileDistributionEncoding:
        """CK's name of ``encoding``."""
        return self.encoding

    def calculate_index(self, ps_idx: Sequence[Any]) -> tuple[Any, ...]:
        """The tile index at which a thread begins: Y = 0."""
        return self.partition(ps_idx)

    # -- identity -------------------------------------------------------------------------------------

    def _like(self, graph: Graph, values: Mapping[Any, Any]) -> Self:
        return type(self)(self.encoding.subs(values), [c.name for c in self.coords])

    def _identity(self) -> tuple[Any, ...]:
        return TileDistribution, self.encoding

    def __reduce__(self) -> Any:
        return type(self), (self.encoding, [c.name for c in self.coords])


def _graph(e: TileDistributionEncoding) -> Graph:
    """Hidden dimensions: those of the tile, of R, of each H, of each P; a factor without an owner stays at 0."""
    ids: dict[Pair, int] = {}
    count = len(e.H)
    transforms: list[Any] = []
    lower: list[tuple[int, ...]] = []
    upper: list[tuple[int, ...]] = []
    for major, lengths in enumerate((e.R, *e.H)):
        made = tuple(range(count, count + len(lengths)))
        count += len(lengths)
        ids.update({(major, minor): i for minor, i in enumerate(made)})
        if major or lengths:
            transforms.append(Unmerge(lengths) if major else Replicate(lengths))
            lower.append((major - 1,) if major else ())
            upper.append(made)
    top: list[int] = []
    for p in e.P:
        transforms.append(Merge(tuple(e.length_of(pair) for pair in p)))
        lower.append(tuple(ids[pair] for pair in p))
        upper.append((count,))
        top.append(count)
        count += 1
    top += [ids[pair] for pair in e.Y]
    return Graph(tuple(transforms), tuple(lower), tuple(upper), tuple(range(len(e.H))), tuple(top))


def make_static_tile_distribution(encoding: TileDistributionEncoding, mode: str = "exact") -> TileDistribution:
    """The distribution of an encoding, in which each factor of the tile has one owner.

    >>> bad = TileDistributionEncoding((), ((4, 2),), (((1, 0),),), ())
    >>> make_static_tile_distribution(bad)
    Traceback (most recent call last):
    symlayout.errors.LayoutError: expected each factor with one owner, got R=[] H=[(4,2)] P0=[(1,0)]: factor (1,1) of \
H0, of length 2, has no owner: only its index 0 is covered

    Upstream checks none of it: ``mode="ck"`` makes what it makes, of which ``checkers.DistributionCovers`` says where
    it misses or repeats an element.
    """
    if mode not in ("exact", "ck"):
        raise LayoutError(f'expected "exact" or "ck" as mode, got {mode!r}')
    out = TileDistribution(encoding)
    faults = encoding.faults()
    if faults and mode == "exact":
        raise LayoutError(f"expected each factor with one owner, got {encoding}: {'; '.join(faults)}")
    return out


def fresh(name: str, taken: set[str]) -> str:
    """A name that no size has, with as many underscores behind it as that takes."""
    while name in taken:
        name += "_"
    return name


def numbers(xs: Sequence[Any], what: str) -> tuple[int, ...]:
    """Lengths as numbers. Raises LayoutError for symbolic ones."""
    if any(type(x) is not int for x in xs):
        raise LayoutError(f"expected lengths of numbers, got {text(tuple(xs))} in {what}; bind its sizes first")
    return tuple(xs)
