"""Other operations made of operations: some replaced, names put in, expressions changed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any

from ..expr import Expr, Fact, Int, Symbol, integer
from .data import Let
from .op import Op
from .operands import Box, Matrix, Param, Ref, Slot

PLAIN = (str, int, bool, float)  # what holds no expression
BINDERS = ("name", "index")  # the fields by which operations make names: ``Let``, ``LoadIndex``, ``For``


def edited(ops: tuple[Op, ...], change: Callable[[Op], Iterable[Op]]) -> tuple[Op, ...]:
    """The operations with each, from the inside out, replaced by those that *change* makes of it.

    >>> from symlayout.ops import Elect, Fence
    >>> edited((Fence("async"), Elect((Fence("async"),))), lambda op: [] if isinstance(op, Fence) else [op])
    (Elect(inside=(), each_warp=False, by='elect.sync'),)
    """
    return tuple(new for op in ops for new in change(op.with_body(edited(op.body, change))))


def named(ops: tuple[Op, ...]) -> tuple[Op, ...]:
    """The operations without ``Let``, whose names are replaced by their values.

    >>> from symlayout import dim, index
    >>> from symlayout.ops import Fill
    >>> i, x = index("i", 4), dim("x", at_least=None, at_most=None)
    >>> print(*named((Let(x, 2 * i), Fill(Ref("r", x + 1)))))
    fill r[2*i + 1] x1 with 0
    """
    out: list[Op] = []
    for k, op in enumerate(ops):
        if isinstance(op, Let):
            return (*out, *named(rewritten(ops[k + 1 :], substitution({op.name: op.value}))))
        out.append(op.with_body(named(op.body)))
    return tuple(out)


def substitution(env: Mapping[Any, Int]) -> Callable[[Any], Any]:
    """Put values in for symbols, also in the ranges of other symbols, which keep their names.

    >>> from symlayout import dim, index
    >>> n = dim("n")
    >>> print(substitution({n: 4})(2 * index("i", n) + n), substitution({n: 4})(index("i", n)).upper)
    2*i + 4 3
    """
    return _Substitution(env).put


class _Substitution:
    """Values for symbols. No closure that knows itself: what it has seen would wait for the collector."""

    __slots__ = ("env", "seen")

    def __init__(self, env: Mapping[Any, Int]) -> None:
        self.env = env
        self.seen: dict[Symbol, Any] = {}  # operations have a few symbols, all of them again and again

    def put(self, x: Any) -> Any:
        if isinstance(x, Symbol):
            return self._of(x)
        known = {s: to for s in getattr(x, "symbols", ()) if (to := self._of(s)) is not s}
        return x.subs(known) if known else x

    def _of(self, s: Symbol) -> Any:
        if s not in self.seen:
            self.seen[s] = self._moved(s)
        return self.seen[s]

    def _moved(self, s: Symbol) -> Any:
        if s in self.env:
            return self.env[s]
        if isinstance(s.lower, Expr) or isinstance(s.upper, Expr):
            return s.ranged(*(None if x is None else integer(self.put(x)) for x in (s.lower, s.upper)))
        return s


def rewritten(op: Any, change: Any) -> Any:
    """The operation, operand or tuple of them with each expression and fact *change*d, indices included.

    A name that an operation makes stays a name where *change* has a value for it, as for a second one of that name.
    """
    if isinstance(op, tuple):
        return tuple(rewritten(x, change) for x in op)
    if isinstance(op, Expr | Fact):
        return change(op)
    if isinstance(op, Op | Ref | Param | Matrix | Box | Slot):
        kind: Any = type(op)
        return kind(**{name: _field(name, getattr(op, name), change) for name in _names(kind)})
    return op


@functools.cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a class of operations or operands."""
    return tuple(f.name for f in fields(kind))


def _field(name: str, x: Any, change: Any) -> Any:
    if x is None or type(x) in PLAIN:
        return x
    changed = rewritten(x, change)
    return x if name in BINDERS and isinstance(x, Symbol) and not isinstance(changed, Symbol) else changed
