"""A window in a kernel: its loads and stores as copies by all threads, in upstream's order, under the masks of pads.

    >>> from symlayout import dims
    >>> from symlayout.ck_tile import *
    >>> from symlayout.int_tuple import ceil_div
    >>> from symlayout.kernel import Builder
    >>> M, = dims("M")
    >>> d = make_static_tile_distribution(
    ...     TileDistributionEncoding((), ((4, 16), (4, 8)), (((1, 1), (2, 0)),), ((1, 0), (2, 1)))
    ... )
    >>> k = Builder("rows", M, grid=(ceil_div(M, 64),), threads=64)
    >>> rows = make_naive_tensor_view(None, (M, 32), (32, 1), 8, 1, dtype="bf16")
    >>> a, b = (kernel_view(k, x, pad_tensor_view(rows, (64, 32), (True, False))) for x in ("a", "b"))
    >>> tile = load_tile(make_tile_window(a, (64, 32), (64 * k.block[0], 0), d))
    >>> store_tile(make_tile_window(b, (64, 32), (64 * k.block[0], 0), d), tile)
    >>> print(k.kernel().text())
    kernel rows(M)
      grid (ceil(M/64),), 64 threads
      64 bits: 2048*block_x
      global a: bf16 (M,32):(32,1)
      global b: bf16 (M,32):(32,1)
      register a_tile: bf16 32:1
      for y0 < 4, unrolled:
        fill a_tile[8*y0] x8 with 0
        if M > 64*block_x + 16*y0 + (thread//4):
          ld.global.16 a[2048*block_x + 8*thread + 512*y0] -> a_tile[8*y0]
      for y0 < 4, unrolled:
        if M > 64*block_x + 16*y0 + (thread//4):
          st.global.16 a_tile[8*y0] -> b[2048*block_x + 8*thread + 512*y0]

A wave of 64 lanes is two warps of this machine, since nothing in a copy depends on which lanes run together.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from typing import Any

from ...atoms.atom import ATOMS, VECTORS, Atom
from ...dtype import DType
from ...errors import LayoutError
from ...expr import Fact, extent_of
from ...int_tuple import text
from ...kernel import Builder
from ...ops import Ref
from ...transforms.merge import row_major, total
from ..buffer_view import AddressSpace, MemoryOperation
from .distribution import TileDistribution, numbers
from .tile_window import TileWindow

ASYNC_BYTES = (4, 8, 16)  # of cp.async
SPACES = {AddressSpace.GLOBAL: "global", AddressSpace.LDS: "shared"}


@dataclass(frozen=True)
class KernelTile:
    """A tile in the registers of the threads of a kernel; ``tile(y...)`` is the register of a Y index.

    *order* lists the Y dimensions as they lie in registers, the slowest first: upstream's, but that the dimension
    along which vectors were loaded is the fastest.
    """

    distribution: TileDistribution
    dtype: DType
    order: tuple[int, ...]
    place: Callable[..., Ref]

    @property
    def count(self) -> int:
        """The number of registers of a thread."""
        return int(self.distribution.registers)

    def __call__(self, *y: Any) -> Ref:
        """The register of a Y index; the first one without an index."""
        lengths = self.distribution.encoding.y_lengths
        at = dict(enumerate(y or (0,) * len(lengths)))
        if len(at) != len(lengths):
            raise LayoutError(f"expected {len(lengths)} Y indices, got {text(tuple(y))}")
        strides = row_major(tuple(lengths[d] for d in self.order))
        offset: Any = 0
        for d, s in zip(self.order, strides, strict=True):
            offset = offset + at[d] * s
        return self.place(offset)

    def __str__(self) -> str:
        return f"{self.dtype} tile {text(self.distribution.lengths)}, {self.count} registers a thread"


@dataclass(frozen=True)
class KernelWindow:
    """A window on a view of a kernel; ``window`` is the one that claims are about (``checkers.window_claims``)."""

    k: Builder
    name: str
    place: Callable[..., Ref]
    window: TileWindow

    def load(self, name: str = "") -> KernelTile:
        """Copies into new registers, vector by vector; where a pad has no element, the view's invalid value.

        One validity holds for all of a vector. Raises LayoutError for threads that are not those of the distribution.
        """
        d, buffer = self.window.distributed, self.window.buffer
        along, _ = self.window.vector
        order = (*(y for y in range(len(d.encoding.Y)) if y != along), *((along,) if d.encoding.Y else ()))
        made = self.k.registers(name or self._fresh(f"{self.name}_tile"), buffer.dtype, int(d.registers))
        tile = KernelTile(d, buffer.dtype, order, made)
        for y, facts, offset, n in self._accesses(tile):
            if facts:
                self.k.fill(tile(*y), buffer.invalid_value or 0, n)
            with self._where(facts):
                self._copy("ld", self.place(offset), tile(*y), n)
        return tile

    def load_raw(self, tile: KernelTile) -> None:
        """Copies into the registers of a tile; where a pad has no element these keep what they hold."""
        for y, facts, offset, n in self._accesses(self._expect(tile)):
            with self._where(facts):
                self._copy("ld", self.place(offset), tile(*y), n)

    def async_load(self, target: KernelWindow, masked: bool = True) -> None:
        """Copies from global memory to a window in LDS of the same distribution, by cp.async: commit and await them.

        Where a pad has no element zeros are written, as upstream's ``async_load`` has it. Without *masked* masks are
        not looked at, as in ``async_load_raw``, so that every access has to lie inside. Raises LayoutError for other
        spaces, and for vectors that are not a run of both views.
        """
        d, vector = self.window.distributed, self.window.vector
        spaces = tuple(AddressSpace(w.buffer.space) for w in (self.window, target.window))
        if spaces != (AddressSpace.GLOBAL, AddressSpace.LDS) or target.window.distributed != d:
            raise LayoutError(
                f"expected windows of one distribution in global memory and lds, got {self.window} to {target.window}"
            )
        kind, n = self.window.buffer.dtype, vector[1]
        nbytes = max((b for b in ASYNC_BYTES if n * kind.bytes % b == 0), default=0)
        if target.window.vector != vector or not nbytes:
            raise LayoutError(
                f"expected vectors of 4, 8 or 16 bytes along one Y dimension of both views, got {n} {kind} of "
                f"{self.name} and {target.window.vector[1]} of {target.name}"
            )
        thread = self._thread()
        for y in self._indices():
            (offset, facts), (there, target_facts) = (w.window.issued(thread, y) for w in (self, target))
            with self._where(target_facts):
                for j in range(0, n, nbytes // kind.bytes):
                    places = _after(self.place(offset), j), _after(target.place(there), j)
                    self.k.copy(f"cp.async.{nbytes}", *places, when=facts if masked else ())

    def store(self, tile: KernelTile, owners: bool = False) -> None:
        """Copies from the registers of a tile of the same distribution; nothing where a pad has no element.

        Where threads hold the same element, upstream lets each of them write it; with *owners* the first one does.
        """
        first = self._first_replica() if owners else ()
        for y, facts, offset, n in self._accesses(self._expect(tile)):
            with self._where((*first, *facts)):
                self._copy("st", tile(*y), self.place(offset), n)

    def update(self, tile: KernelTile) -> None:
        """Combine the registers of a tile with memory by the operation of the view.

        ``add`` loads, adds and stores, and is not atomic; ``atomic_add`` and ``atomic_max`` are reductions of global
        memory. Raises LayoutError for these in LDS, where upstream does nothing, and for a type without one.
        """
        operation = self.window.view.memory_operation
        if operation is MemoryOperation.SET:
            return self.store(tile)
        self._expect(tile)
        if operation is MemoryOperation.ADD:
            held = self.load()
            self.k.map("add", (held(), tile()), held(), tile.count)
            return self.store(held)
        if self.window.buffer.space is not AddressSpace.GLOBAL:
            raise LayoutError(f"expected {operation} on a global buffer, got one in lds, where upstream does nothing")
        function = "max" if operation is MemoryOperation.ATOMIC_MAX else "add"
        for y, facts, offset, n in self._accesses(tile):
            row = _reduction(function, tile.dtype, n)
            with self._where(facts):
                for j in range(0, n, 8 * row.bytes // tile.dtype.bits):
                    self.k.copy(row.word, _after(tile(*y), j), _after(self.place(offset), j))
        return None

    def move(self, step: Sequence[Any]) -> KernelWindow:
        """The window *step* further on."""
        return replace(self, window=self.window.move(step))

    def set_window_origin(self, origin: Sequence[Any]) -> KernelWindow:
        """The window at another origin."""
        return replace(self, window=self.window.set_window_origin(origin))

    # -- accesses -----------------------------------------------------------------------------------------

    def _accesses(self, tile: KernelTile) -> Iterator[tuple[tuple[Any, ...], tuple[Fact, ...], Any, int]]:
        """(Y index, facts of its mask, offset, elements) of each vector, inside loops where the curve is row-major.

        A vector along a dimension that is not the fastest in the registers of the tile goes element by element.
        """
        thread = self._thread()
        along, n = self.window.vector
        for y in self._indices():
            offset, facts = self.window.issued(thread, y)
            if n == 1 or tile.order[-1] == along:
                yield y, facts, offset, n
            else:
                for j in range(n):
                    yield tuple(i + j if d == along else i for d, i in enumerate(y)), facts, offset + j, 1

    def _indices(self) -> Iterator[tuple[Any, ...]]:
        """The first Y index of each vector: as loops, or one by one along a snake that turns."""
        curve = self.window.curve
        counts, scalars = curve.access_lengths, curve.scalars_per_access
        plain = replace(curve, snake=False)
        if curve.snake and list(curve) != list(plain):
            yield from curve
            return
        with ExitStack() as loops:
            yield tuple(
                s * loops.enter_context(self.k.loop(f"y{d}", n, "full")) if n > 1 else 0
                for d, (n, s) in enumerate(zip(counts, scalars, strict=True))
            )

    def _thread(self) -> tuple[Any, ...]:
        """The P index of a thread. Raises LayoutError unless the distribution is for the threads at hand."""
        lengths = numbers(self.window.distributed.encoding.p_lengths, str(self.window.distributed))
        threads = extent_of(self.k.thread)
        if total(lengths) != threads:
            raise LayoutError(
                f"expected a distribution for the {threads} threads of {self.k.name}, got one for {text(lengths)}: "
                "with more threads upstream's indices leave the tile, with less it is not covered"
            )
        lanes = lengths[-1]
        return (self.k.thread,) if len(lengths) == 1 else (self.k.thread // lanes, self.k.thread % lanes)

    def _first_replica(self) -> tuple[Fact, ...]:
        """The facts under which a thread is the first of those that hold its elements."""
        found = self.window.distributed.replica(self._thread())
        return tuple(r < 1 for r in found if not isinstance(r, int))

    def _copy(self, word: str, src: Ref, dst: Ref, elements: int) -> None:
        """The copy of a vector, by accesses as wide as the memory has them."""
        space, kind = SPACES.get(AddressSpace(self.window.buffer.space)), self.window.buffer.dtype
        if space is None:
            raise LayoutError(f"expected a window of global memory or LDS to copy, got {self.window.buffer}")
        nbytes = max(n for n in VECTORS if (elements * kind.bytes) % n == 0)
        width = nbytes // kind.bytes
        for j in range(0, elements, width):
            self.k.copy(f"{word}.{space}.{nbytes}", _after(src, j), _after(dst, j))

    def _expect(self, tile: KernelTile) -> KernelTile:
        kind, d = self.window.buffer.dtype, self.window.distributed
        if tile.distribution != d or tile.dtype != kind:
            raise LayoutError(
                f"expected a {kind} tile of {d.encoding}, got a {tile.dtype} tile of {tile.distribution.encoding}"
            )
        return tile

    def _where(self, facts: tuple[Fact, ...]) -> AbstractContextManager[None]:
        return self.k.where(*facts) if facts else nullcontext()

    def _fresh(self, stem: str) -> str:
        taken = {t.name for t in self.k.tensors}
        names = itertools.chain((stem,), (f"{stem}_{i}" for i in itertools.count(1)))
        return next(n for n in names if n not in taken)

    def __str__(self) -> str:
        return f"{self.window} in {self.k.name}"


def _after(place: Ref, elements: int) -> Ref:
    return replace(place, offset=place.offset + elements) if elements else place


def _reduction(function: str, kind: DType, elements: int) -> Atom:
    """The widest reduction of vectors of so many elements. Raises LayoutError for a type that has none."""
    rows = [
        a
        for a in ATOMS.values()
        if a.word.startswith(f"red.global.{function}.")
        and a.reduction is not None
        and a.reduction.dtype == kind
        and elements * kind.bits % (8 * a.bytes) == 0
    ]
    if not rows:
        raise LayoutError(f"expected a type that red.global.{function} takes, got {kind}")
    return max(rows, key=lambda a: a.bytes)


__all__ = ["KernelTile", "KernelWindow"]
