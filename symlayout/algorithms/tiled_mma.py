"""Tiled products: how warps or warpgroups share the product of a tile; CuTe's TiledMMA.

    >>> from symlayout.tensor import make_identity_tensor
    >>> mma = make_tiled_mma("mma.m16n8k16.bf16", (2, 2, 1), (32, 32, 16))
    >>> print(mma)
    mma.m16n8k16.bf16 by (32,2,2,1):(1,32,64,0), tile (32,32,16)
    >>> print(mma.tv_layout_C)
    ((4,8,2,2),((2,2),(1,2))):((64,1,16,256),((32,8),(0,512)))
    >>> print(mma.get_slice(37).partition_C(make_identity_tensor((64, 64))))
    ArithTuple(17,2) o ((2,2),2,4):((1@1,8@0),32@0,16@1)

The steps are those of ``include/cute/atom/mma_atom.hpp``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..atoms import MemorySpace, MmaAtom, atom
from ..errors import LayoutError
from ..int_tuple import rank, size, text
from ..inverses import right_inverse
from ..layout import Layout, is_layout
from ..making import make_layout
from ..modes import flatten_layout
from ..tensor import Tensor, flat_coordinate
from ..tiling import logical_divide, tiled_product, zipped_divide
from .pointers import expect_kind, make_rmem_ptr

USES = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}  # of M, N, K, the modes of each operand


@dataclass(frozen=True)
class TiledMma:
    """A matrix instruction repeated over threads and over a tile. *threads* maps (V, M, N, K) to a thread."""

    row: MmaAtom
    threads: Layout
    permutation: tuple[Any, Any, Any]

    @property
    def tile(self) -> tuple[int, int, int]:
        """The extents of M, N and K of which the tile of all threads together consists."""
        m, n, k = (
            int(size(p.shape)) if is_layout(p) else int(a * size(self.threads.shape[i + 1]) if p is None else p)
            for i, (p, a) in enumerate(zip(self.permutation, self.row.in_words, strict=True))
        )
        return m, n, k

    @property
    def size(self) -> int:
        """The number of threads."""
        return int(self.threads.size())

    # -- thread-value layouts -----------------------------------------------------------------------

    def thrfrg_A(self, layout: Any) -> Any:  # noqa: N802  # CuTe's name
        """A (M,K) as ((thread of the atom, (thread M, thread K)), (value, (rest M, rest K)))."""
        return self._dealt("A", layout)

    def thrfrg_B(self, layout: Any) -> Any:  # noqa: N802  # CuTe's name
        """B (N,K), likewise."""
        return self._dealt("B", layout)

    def thrfrg_C(self, layout: Any) -> Any:  # noqa: N802  # CuTe's name
        """C (M,N), likewise."""
        return self._dealt("C", layout)

    def _dealt(self, what: str, layout: Any) -> Any:
        i, j = USES[what]
        if rank(layout) < 2:
            raise LayoutError(f"expected two modes for {what}, got {layout}")
        tv = self.row.words["ABC".index(what)]
        whole = logical_divide(layout, (self._order(i), self._order(j)))
        atoms = zipped_divide(whole, (Layout(self.row.in_words[i]), Layout(self.row.in_words[j]))).compose(tv, None)
        counts = tuple(Layout(int(size(self.threads.shape[k + 1]))) for k in (i, j))
        return zipped_divide(atoms, (None, counts))

    def _order(self, i: int) -> Any:
        p = self.permutation[i]
        return p if is_layout(p) else Layout(self.tile[i])

    @property
    def tv_layout_A(self) -> Layout:  # noqa: N802  # the name of the DSL
        """(thread, value) to a position in the (M,K) tile."""
        return self._tv("A")

    @property
    def tv_layout_B(self) -> Layout:  # noqa: N802  # the name of the DSL
        """(thread, value) to a position in the (N,K) tile."""
        return self._tv("B")

    @property
    def tv_layout_C(self) -> Layout:  # noqa: N802  # the name of the DSL
        """(thread, value) to a position in the (M,N) tile."""
        return self._tv("C")

    def _tv(self, what: str) -> Layout:
        i, j = USES[what]
        dealt = self._dealt(what, Layout((self.tile[i], self.tile[j])))
        order = Layout(tuple(int(size(n)) for n in self.threads.shape))  # (V, M, N, K), column-major
        modes = [order[0], *(order[k + 1] for k in range(3))]
        used = [m if k in (0, i + 1, j + 1) else Layout(m.shape, 0) for k, m in enumerate(modes)]
        reached = 1
        placed = []  # threads along the modes of this operand count, the others repeat
        for m in used:
            one = type(m.stride) is int and m.stride == 0 and m.shape != 1
            placed.append(Layout(m.shape, 0 if one else reached))
            reached *= 1 if one else m.shape
        by_mode = make_layout(*placed)
        threads = right_inverse(self.threads).with_shape(self.size)
        found = dealt.compose(by_mode.compose(threads), None)
        return make_layout(flatten_layout(found[0]), found[1])

    # -- slices -------------------------------------------------------------------------------------

    def get_slice(self, thread: Any) -> ThreadMma:
        """The part of a thread, which may be an expression.

        Raises LayoutError for the number of a thread that there is not.
        """
        if isinstance(thread, int) and not 0 <= thread < self.size:
            raise LayoutError(f"expected a thread of 0 .. {self.size - 1}, got {thread}")
        return ThreadMma(self, thread)

    def __str__(self) -> str:
        return f"{self.row.word} by {self.threads}, tile {text(self.tile)}"


@dataclass(frozen=True)
class ThreadMma:
    """The part of one thread, or of a warp(group) where operands are shared, in a tiled product; CuTe's ThrMMA."""

    tiled: TiledMma
    thread: Any

    def partition_A(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """The elements of A that the thread holds, (values, rest of M, rest of K)."""
        return self._partition("A", x)

    def partition_B(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """The elements of B, (values, rest of N, rest of K)."""
        return self._partition("B", x)

    def partition_C(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """The elements of C, (values, rest of M, rest of N)."""
        return self._partition("C", x)

    def _partition(self, what: str, x: Any) -> Tensor:
        tensor = x if isinstance(x, Tensor) else Tensor(0, x)
        v, *mnk = flat_coordinate(self.tiled.threads, self.thread)
        i, j = USES[what]
        dealt = self.tiled._dealt(what, tensor.layout)
        rest = (None,) * rank(dealt.shape[1][1])
        return Tensor(tensor.iterator, dealt)((v, (mnk[i], mnk[j])), (None, rest))

    def partition_fragment_A(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """Registers for the elements of A, without memory of their own."""
        return self._fragment("A", x)

    def partition_fragment_B(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """Registers for the elements of B."""
        return self._fragment("B", x)

    def partition_fragment_C(self, x: Any) -> Tensor:  # noqa: N802  # CuTe's name
        """Registers for the elements of C."""
        return self._fragment("C", x)

    def _fragment(self, what: str, x: Any) -> Tensor:
        row = self.tiled.row
        if what != "C" and (row.src if what == "A" else row.src_b) is MemorySpace.SHARED:
            raise LayoutError(
                f"expected an operand in registers, got {what} of {row.word}, which is read from shared memory"
            )
        kind = row.held["ABC".index(what)]
        return Tensor(make_rmem_ptr(None, kind), Layout(self._partition(what, x).layout.shape))


def make_tiled_mma(
    row: str | MmaAtom, atom_layout: Any = (1, 1, 1), permutation: tuple[Any, Any, Any] = (None, None, None)
) -> TiledMma:
    """An instruction by (M, N, K) groups of threads, over a tile of *permutation*: an extent, or a layout, a mode.

    >>> print(make_tiled_mma("wgmma.m64n128k16.bf16", (2, 1, 1)))
    wgmma.m64n128k16.bf16 by (128,2,1,1):(1,128,0,0), tile (128,128,16)

    Raises LayoutError for an atom that is no product, and for extents that groups of threads do not tile.
    """
    found = row if isinstance(row, MmaAtom) else atom(row)
    if not isinstance(found, MmaAtom):
        raise LayoutError(f"expected an atom of a matrix product, got {found.word}")
    if not is_layout(atom_layout):
        expect_kind(atom_layout, (tuple, list), "groups of threads along M, N and K")
    groups = atom_layout if is_layout(atom_layout) else Layout(tuple(atom_layout))
    if rank(groups) != 3:
        raise LayoutError(f"expected groups of threads along M, N and K, got {groups}")
    made = TiledMma(found, tiled_product(Layout(found.threads), groups), tuple(permutation))
    for i, n in enumerate(made.tile):
        unit = found.in_words[i] * int(size(made.threads.shape[i + 1]))
        if n % unit:
            raise LayoutError(f"expected a multiple of {unit} along {'MNK'[i]} for {found.word}, got {n}")
    return made
