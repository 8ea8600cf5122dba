"""A kernel's operations at sizes, one execution after another: the threads that execute each, and the values of names
then.

>>> import numpy as np
>>> from symlayout.kernels import vector_copy
>>> from symlayout.ops import Copy
>>> kernel = vector_copy(6, threads=32)
>>> for places, op, here in unrolled(kernel.plain.body, Threads({"block_x": 0}, np.arange(32))):
...     if isinstance(op, Copy):
...         print(*places, op.atom, here.lanes, here.env)
0 0 ld.global.16 [0] {'block_x': 0}
0 1 st.global.16 [0] {'block_x': 0}
1 0 0 0 ld.global.4 [1] {'block_x': 0, 'j': 0}
1 0 0 1 st.global.4 [1] {'block_x': 0, 'j': 0}
1 0 0 0 ld.global.4 [1] {'block_x': 0, 'j': 1}
1 0 0 1 st.global.4 [1] {'block_x': 0, 'j': 1}

``unrolled`` is the one executor: loops are gone through iteration by iteration, conditions and elections are decided.
What "here" is, is up to who asks: the exact threads of a CTA (``Threads``), whole warps, the threads of all CTAs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from ..errors import LayoutError
from ..expr import Fact, evaluate
from ..expr.compiled import holds, value
from ..ops import WARP, Elect, For, If, Op, Role
from .declarations import THREAD

Array: TypeAlias = "np.ndarray[Any, Any]"
Places: TypeAlias = "tuple[int, ...]"


class Here(Protocol):
    """Who executes what comes next, and with which values: what the executor asks of it."""

    @property
    def anyone(self) -> bool:
        """Whether there is somebody left to execute the next operation."""

    def entered(self, op: Role | If | Elect) -> Self:
        """The threads of them that execute the body of an operation."""

    def iterations(self, loop: For) -> Iterable[Self]:
        """The same for each iteration of a loop, with the value of its index."""

    def after(self, op: Op) -> Self:
        """The same behind an operation, which may have given a value to a name."""


H = TypeVar("H", bound=Here)


def unrolled(body: tuple[Op, ...], here: H, around: Places = ()) -> Iterator[tuple[Places, Op, H]]:
    """(places, operation, who executes it) of each execution in program order, of loops and conditions before theirs.

    The places are those of ``Site``. Whatever *here* raises where a value is missing ends the run.
    """
    for i, op in enumerate(body):
        if not here.anyone:
            return
        places = (*around, i)
        yield places, op, here
        if isinstance(op, For):
            for inside in here.iterations(op):
                yield from unrolled(op.body, inside, places)
        elif isinstance(op, Role | If | Elect):
            yield from unrolled(op.body, here.entered(op), places)
        else:
            here = here.after(op)


def firsts(lanes: Array) -> Array:
    """The positions of the first lane of each warp among *lanes*, which ascend.

    >>> firsts(np.array([3, 5, 32, 64, 65])).tolist()
    [0, 2, 3]
    """
    return _firsts(lanes.tobytes(), lanes.dtype.str)


@lru_cache(maxsize=256)  # the same few threads are elected again and again
def _firsts(lanes: bytes, kind: str) -> Array:
    return np.asarray(np.unique(np.frombuffer(lanes, kind) // WARP, return_index=True)[1])


@dataclass(frozen=True)
class InTurn:
    """The base of those who execute iterations one by one: *env* has the values of sizes and of the loops around."""

    env: Mapping[str, Any]

    def number(self, x: Any) -> int:
        """The value of an expression. Raises ExpressionError for a symbol without one."""
        return evaluate(x, self.env)

    def iterations(self, loop: For) -> Iterator[Self]:
        for i in range(self.number(loop.extent)):
            yield replace(self, env={**self.env, loop.index.name: i})

    def after(self, op: Op) -> Self:
        return self


@dataclass(frozen=True)
class Threads(InTurn):
    """Threads of a CTA that are here together: those of *lanes*, which count ``thread`` from *base* on.

    *env* has the values of block indices, of the loops around and of all other names: integers, or an array with one
    for each thread. An election finds the first lane, as it may.
    """

    lanes: Array  # numbers in the CTA, ascending
    base: int = 0

    @property
    def anyone(self) -> bool:
        return len(self.lanes) > 0

    @cached_property
    def values(self) -> dict[str, Any]:
        """The values of all names, ``thread`` among them."""
        return {**self.env, THREAD: self.lanes - self.base}

    def of(self, x: Any) -> Any:
        """The value of an expression: an integer, or an array with one for each thread. Raises ExpressionError."""
        return value(x, self.values)

    def number(self, x: Any) -> int:
        """The one value that an expression has for all threads. Raises LayoutError where there are several."""
        found = np.unique(np.asarray(self.of(x)))
        if len(found) != 1:
            raise LayoutError(f"expected one value of {x} for all threads, got {found[0]} and {found[1]}")
        return int(found[0])

    def meeting(self, facts: tuple[Fact, ...]) -> Array:
        """The threads that meet all facts."""
        keep, env = np.ones(len(self.lanes), dtype=bool), self.values
        for f in facts:
            keep &= np.asarray(holds(f, env))
        return keep

    def electing(self, each_warp: bool) -> Array:
        """The threads that an election chooses: one, or one of each warp."""
        return firsts(self.lanes) if each_warp else firsts(self.lanes)[:1]

    def where(self, which: Array, base: int | None = None) -> Self:
        """Some of the threads, by number or by truth, which count from *base* on."""
        return replace(self, lanes=self.lanes[which], base=self.base if base is None else base)

    def entered(self, op: Role | If | Elect) -> Self:
        if isinstance(op, Role):
            first = WARP * op.first_warp
            return self.where((self.lanes >= first) & (self.lanes < first + op.threads), first)
        return self.where(self.meeting(op.condition) if isinstance(op, If) else self.electing(op.each_warp))
