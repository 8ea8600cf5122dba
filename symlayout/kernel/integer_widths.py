"""In how many bits a kernel holds each partial result of its integers, and where its code computes them.

    >>> from symlayout import dim
    >>> from symlayout.kernels import vector_copy
    >>> kernel = vector_copy(dim("N"), dtype="bf16")
    >>> for e in evaluations(kernel):
    ...     for value, bits in e.widths.items():
    ...         if bits == 64:
    ...             print(f"{value}, in: {e.op}")
    1024*block_x + 8*thread + 8, in: if N >= 1024*block_x + 8*thread + 8:

All are signed, two's complement. A kernel's ``index_bits`` are those of each partial result, but for the ``wide``
ones and what is computed from these, which have 64. The name of a value has the width of the value, the index of a
loop that of its trip count. Sizes, block and thread indices are parameters of ``index_bits``, sizes among the wide
ones of 64. An operand in a field of 32 bits (a coordinate of a box, a slot, a parity, a number of bytes, a lane) has
to fit there, which other claims prove. An offset in global memory is converted to 64 bits before it is multiplied by
the bytes of an element. The host computes grids and tensor maps in 64 bits.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from ..atoms import MemorySpace
from ..expr import Expr, Fact, Int, Symbol
from ..expr.partial_results import Partial, partial_results, width_of, widths, within
from ..facts.intervals import Interval, Intervals
from ..ops import Box, For, If, Let, LoadIndex, Matrix, Op, Ref, Slot, substitution
from .declarations import KernelTensor
from .sites import Site
from .value import Kernel
from .visitor import Handlers, Visitor

HOST_BITS = 64
ADDRESS_BITS = 57  # of the longest virtual addresses that a GPU has: no tensor spans more bytes


@dataclass(frozen=True)
class Scope:
    """The context of a place in a body: conditions as written, values of names, widths of names and indices."""

    conditions: tuple[Fact, ...]
    values: Mapping[Any, Int]  # about sizes and indices
    written: Mapping[Symbol, Int]
    held: Mapping[Symbol, int]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The integers of one operation, where the code computes them."""

    op: Op  # as written, with the names of values
    partials: tuple[Partial, ...]
    widths: Mapping[Int, int]  # of each partial result, in order
    loaded: Mapping[Symbol, int]  # the bits of a value that it reads
    scope: Scope

    @property
    def held(self) -> Iterator[tuple[Int, int]]:
        """The values that have to fit their width: those that are used beyond their low bits."""
        yield from ((p.value, self.widths[p.value]) for p in self.partials if not p.low)
        yield from self.loaded.items()

    @property
    def conditions(self) -> tuple[Fact, ...]:
        """Facts about sizes and indices that hold where the integers are computed."""
        return tuple(map(self.put, self.scope.conditions))

    @property
    def put(self) -> Callable[[Any], Any]:
        """Replaces the names of values by the values."""
        return substitution(self.scope.values)


def evaluations(kernel: Kernel) -> Iterator[Evaluation]:
    """Every operation that computes integers, in order. A condition is computed before it is known to hold."""
    return itertools.chain.from_iterable(_Evaluations(kernel).run(kernel))


class _Evaluations(Visitor[Iterator[Evaluation]]):
    """The walk that knows the widths of names and indices; each operation in the scope that those before leave."""

    def __init__(self, kernel: Kernel) -> None:
        self.bits, self.wide = kernel.index_bits, frozenset(kernel.wide)
        self.scope = Scope((), {}, {}, {})

    def held(self, s: Symbol) -> int:
        return 64 if s in self.wide else self.scope.held.get(s, self.bits)

    def _every(self, site: Site) -> Iterator[Evaluation]:
        op, scope = site.op, self.scope
        partials = partial_results(*integers_of(op))
        found = widths(partials, self.bits, self.wide, self.held)
        loaded = {op.name: self.held(op.name)} if isinstance(op, LoadIndex) else {}
        yield Evaluation(op, partials, found, loaded, scope)
        if isinstance(op, Let):
            bits = max(self.held(op.name), width_of(op.value, found, self.held))
            self.scope = Scope(
                scope.conditions,
                {**scope.values, op.name: substitution(scope.values)(op.value)},
                {**scope.written, op.name: op.value},
                {**scope.held, op.name: bits},
            )
        elif op.body:
            if isinstance(op, For):
                self.scope = replace(scope, held={**scope.held, op.index: width_of(op.extent, found, self.held)})
            elif isinstance(op, If):
                self.scope = replace(scope, conditions=(*scope.conditions, *op.condition))
            yield from itertools.chain.from_iterable(self.inside(site))
            self.scope = scope

    handlers: ClassVar[Handlers] = {Op: _every}


def integers_of(op: Op) -> Iterator[Int | Fact]:
    """The expressions and conditions that one operation computes, those inside it aside.

    >>> from symlayout import dims
    >>> from symlayout.ops import Copy
    >>> i, N = dims("i N")
    >>> list(integers_of(Copy("ld.global.4", Ref("src", 4 * i), Ref("x"))))
    [4*i, 0]
    """
    if isinstance(op, For):
        yield op.extent
        return
    named = isinstance(op, Let | LoadIndex)
    for f in fields(op):
        if not (named and f.name == "name") and f.name != "inside":
            yield from _integers(getattr(op, f.name))


def _integers(x: Any) -> Iterator[Int | Fact]:
    if isinstance(x, tuple):
        for part in x:
            yield from _integers(part)
    elif isinstance(x, Ref):
        yield x.offset
    elif isinstance(x, Box):
        yield from x.coordinate
    elif isinstance(x, Slot):
        yield x.slot
    elif isinstance(x, Matrix):
        yield x.start.offset
    elif isinstance(x, Expr | Fact):
        yield x


def in_memory(kernel: Kernel) -> tuple[Fact, ...]:
    """The facts that each global tensor, since it exists, spans no more bytes than addresses reach.

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> in_memory(tma_copy(*dims("M N"), dtype="f32"))
    (M*N <= 36028797018963968,)
    """
    facts = (_has_room(t) for t in kernel.tensors if t.space is MemorySpace.GLOBAL)
    return tuple(dict.fromkeys(f for f in facts if f.value is None))


def _has_room(t: KernelTensor) -> Fact:
    """The fact that a tensor has no more elements than memory has room for."""
    return Fact((8 << ADDRESS_BITS) // t.dtype.bits - t.layout.cosize(), ">=")


def of_host(kernel: Kernel) -> Iterator[tuple[str, Int]]:
    """The partial results that the host computes at a launch, and for what: the grid, the fields of tensor maps.

    What is put into a field has limits of its own, far below 2^63: those of the grid and of ``TensorMapValid``.
    """
    fields = [(f"grid {axis}", n) for axis, n in zip("xyz", kernel.grid, strict=False)]
    for m in kernel.maps:
        fields += [(f"tensor map {m.name}", x) for x in (*m.tensor_map.global_dim, *m.tensor_map.global_stride_bytes)]
    for where, x in fields:
        for p in partial_results(x):
            if p.value != x:
                yield where, p.value


# -- choosing widths -----------------------------------------------------------------------------------


def widened(kernel: Kernel, fits: Callable[[Evaluation, Int], bool] | None = None) -> Kernel:
    """The kernel with 32 bits wherever *fits* says that a partial result of an evaluation fits, and 64 elsewhere.

    By default the ranges of sizes and indices decide; ``checkers.with_widths`` proves more to fit.

    >>> from symlayout import dims
    >>> from symlayout.kernels import row_sum
    >>> M, N = dims("M N")
    >>> [str(x) for x in widened(row_sum(M, N, N)).wide]
    ['N + 127', 'N*row']
    """
    judge = fits or Ranges(kernel).fit
    known = Ranges(kernel)
    kernel = replace(kernel, index_bits=32, wide=tuple(s for s in kernel.dims if not within(known.of(s), 32)))
    first = 0  # evaluation that may have a value that is too long: those before are right, with more that are wide too
    while True:
        narrow = ((k, _too_long(e, judge)) for k, e in enumerate(evaluations(kernel)) if k >= first)
        first, found = next(((k, value) for k, value in narrow if value is not None), (0, None))
        if found is None:
            return kernel
        kernel = replace(kernel, wide=(*kernel.wide, found))


def _too_long(e: Evaluation, fits: Callable[[Evaluation, Int], bool]) -> Int | None:
    """The first value of 32 bits that does not fit, if any."""
    return next((value for value, bits in e.held if bits == 32 and not fits(e, value)), None)


class Ranges:
    """The intervals of a kernel's integers, from the ranges of their inputs and from the size of *memory*."""

    def __init__(self, kernel: Kernel, memory: bool = True) -> None:
        self.given = (*kernel.given, *(in_memory(kernel) if memory else ()))
        self._known: dict[tuple[tuple[Symbol, int], ...], Intervals] = {}

    def of(self, x: Int, names: Mapping[Symbol, Int] | None = None) -> Interval:
        """The interval of an expression of sizes and indices, and of *names*, by the intervals of these."""
        key = tuple((s, id(stands)) for s, stands in (names or {}).items())
        if key not in self._known:
            self._known[key] = Intervals(self.given, names)
        return self._known[key].of(x)

    def fit(self, e: Evaluation, value: Int) -> bool:
        """Whether a partial result of an evaluation fits 32 bits."""
        return within(self.of(value, e.scope.written), 32)
