"""Every intermediate value of an index computation, in the order in which the code computes it.

    >>> from symlayout import dims
    >>> M, K = dims("M K")
    >>> for step in steps(lambda i, k: (i * K + k) * 2, (M, K)):
    ...     print(step)
    i * K              K*i
    (i * K) + k        K*i + k
    ((i * K) + k) * 2  2*K*i + 2*k

An int32 overflow happens in the first step that does not fit, whatever the final value. Predicates are tested on
values that are already computed, so they do not narrow a step unless the code tests them before. Operations on sizes
alone are steps too: sizes are traced wherever the function names them.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CellType, CodeType, FunctionType
from typing import Any

from ..address_map import AddressMap
from ..errors import ExpressionError, LayoutError, UndecidedError
from ..facts import opaque_atoms
from ..int_tuple import ceil_div, leaves
from .choice import maximum, minimum
from .expression import Expr, Fact, Int, Symbol
from .operands import integer
from .written import written_divisors


@dataclass(frozen=True)
class Step:
    """One operation of the code: its text as written, and its value as a map over the coordinates."""

    code: str
    value: AddressMap
    width: int = 0

    def __str__(self) -> str:
        return f"{self.code:<{self.width}}  {self.value.offset}"


def steps(f: Callable[..., Any], shape: Any, when: Callable[..., Any] | None = None) -> tuple[Step, ...]:
    """The operations that *f* performs on coordinates, one for each mode of *shape*, and on sizes, in order.

    Sizes are those that *f*, or a function of its module that it calls, names: variables, tuples and lists of them,
    and defaults. What it takes from elsewhere, such as an attribute, counts as one value. *when* is a predicate
    that the code tests before it computes anything. Raises LayoutError for a function of another number of
    coordinates, and for operations that are not traced.
    """
    box = AddressMap.over(_zero_of(f), shape, when)
    with written_divisors() as divisors:
        log = Log(divisors)
        try:
            out = _Renaming(log).function(f)(*(Traced(c, str(c), log) for c in box.coords))
        except UndecidedError:
            raise
        except (ExpressionError, TypeError) as e:
            known = f"{' '.join(OPERATIONS.values())}, minimum, maximum and ceil_div"
            raise LayoutError(f"expected a function of {known}, which are traced, got: {e}") from e
    for v in leaves(out):
        if not log.seen and isinstance(v, Traced):
            log.add(v.code, v.value)
    width = max(map(len, log.seen), default=0)
    return tuple(Step(code, _after(box, value, known), width) for code, (value, known) in log.seen.items())


def _after(box: AddressMap, value: Int, known: tuple[Int, ...]) -> AddressMap:
    """A value over a box, with the divisors that code evaluates once the predicate of the box holds."""
    guards = (*box.guards, *[len(box.valid)] * len(known))
    return AddressMap(box.coords, box.extents, value, box.valid, box.obligations, (*box.divisors, *known), guards)


def _zero_of(f: Callable[..., Any]) -> Callable[..., int]:
    """A function of the same parameters that is 0: it names the coordinates."""
    names = [p.name for p in inspect.signature(f).parameters.values() if p.default is p.empty]
    if not names:
        raise LayoutError("expected a function of at least one coordinate, got one of none")
    zero: Callable[..., int] = eval(f"lambda {', '.join(names)}: 0")  # the names are identifiers of a signature
    return zero


@dataclass
class Log:
    """The operations so far: code to value, with the divisors that were written until then."""

    divisors: list[Int]
    seen: dict[str, tuple[Int, tuple[Int, ...]]] = field(default_factory=dict)

    def add(self, code: str, value: Int) -> None:
        self.seen.setdefault(code, (value, tuple(self.divisors)))

    def operand(self, code: str, value: Int) -> Int:
        """A value that an operation uses; one computed where it was not traced counts, with the dividends in it."""
        if isinstance(value, Expr) and not isinstance(value, Symbol) and code not in self.seen:
            inside = [p for a in opaque_atoms(value) for p in a.args]
            for p in (p for p in inside if isinstance(p, Expr) and not isinstance(p, Symbol)):
                self.add(str(p), p)
            self.add(code, value)
        return value


class Traced:
    """An integer that remembers how it was computed and adds every operation to a log."""

    __slots__ = ("code", "log", "value")

    def __init__(self, value: Any, code: str, log: Log) -> None:
        self.value: Int = integer(value)
        self.code, self.log = code, log

    def __repr__(self) -> str:
        return self.code

    def _step(self, sign: str, f: Callable[[Any, Any], Any], left: Any, right: Any) -> Traced:
        values = [self.log.operand(_code(x), _plain(x)) for x in (left, right)]
        return self._logged(f"{_grouped(_code(left))} {sign} {_grouped(_code(right))}", f(*values))

    def _logged(self, code: str, value: Any) -> Traced:
        self.log.add(code, integer(value))
        return Traced(value, code, self.log)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return operator.floordiv(self, other), operator.mod(self, other)

    def __neg__(self) -> Traced:
        return self._logged(f"-{_grouped(self.code)}", -self.log.operand(self.code, self.value))

    def __le__(self, other: Any) -> Fact | bool:
        return self.value <= _plain(other)

    def __lt__(self, other: Any) -> Fact | bool:
        return self.value < _plain(other)

    def __ge__(self, other: Any) -> Fact | bool:
        return self.value >= _plain(other)

    def __gt__(self, other: Any) -> Fact | bool:
        return self.value > _plain(other)


OPERATIONS = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "xor": "^", "pow": "**"}


def _operation(name: str, sign: str) -> None:
    """Give traced integers an operation, from both sides."""
    f = getattr(operator, name)
    setattr(Traced, f"__{name}__", lambda self, other: self._step(sign, f, self, other))
    setattr(Traced, f"__r{name}__", lambda self, other: self._step(sign, f, other, self))


for _name, _sign in OPERATIONS.items():
    _operation(_name, _sign)


class _Renaming:
    """Functions again, with the sizes that they name traced: in closures, globals and defaults."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.made: dict[FunctionType, FunctionType] = {}
        extrema: tuple[tuple[Callable[..., Int], str], ...] = ((minimum, "min"), (maximum, "max"))
        self.instead: dict[Any, Any] = {f: self._extremum(f, word) for f, word in extrema}
        self.instead[ceil_div] = self._ceil_div

    def function(self, f: Any) -> Any:
        """A plain function rebuilt; anything else that can be called as it is."""
        if not isinstance(f, FunctionType):
            return f
        if f not in self.made:
            names = {n for code in _codes(f.__code__) for n in code.co_names}
            variables = {**f.__globals__}
            cells = tuple(CellType() for _ in f.__closure__ or ())
            made = FunctionType(f.__code__, variables, f.__name__, None, cells)
            self.made[f] = made
            variables.update({n: self.value(f.__globals__[n], f) for n in names if n in f.__globals__})
            made.__defaults__ = self.value(f.__defaults__, f)
            made.__kwdefaults__ = self.value(f.__kwdefaults__, f)
            for cell, old in zip(cells, f.__closure__ or (), strict=True):
                try:
                    cell.cell_contents = self.value(old.cell_contents, f)
                except ValueError:  # a variable that is not set yet
                    continue
        return self.made[f]

    def value(self, x: Any, user: FunctionType) -> Any:
        """The traced value under the name *user*."""
        if isinstance(x, Expr):
            return Traced(x, str(x), self.log)
        if type(x) in (tuple, list):
            return type(x)(self.value(v, user) for v in x)
        if type(x) is dict:
            return {k: self.value(v, user) for k, v in x.items()}
        if isinstance(x, FunctionType):
            known = self.instead.get(inspect.unwrap(x))
            return known or (self.function(x) if x.__module__ == user.__module__ else x)
        return x

    def _extremum(self, f: Callable[..., Int], word: str) -> Callable[..., Traced]:
        def extremum(*xs: Any) -> Traced:
            values = [self.log.operand(_code(x), _plain(x)) for x in xs]
            code = f"{word}({', '.join(map(_code, xs))})"
            self.log.add(code, f(*values))
            return Traced(f(*values), code, self.log)

        return extremum

    def _ceil_div(self, a: Any, b: Any) -> Any:
        """(a + b - 1)//b, as CuTe computes it (``int_tuple.hpp``)."""
        traced = isinstance(a, Traced) or isinstance(b, Traced)
        return (a + b - 1) // b if traced else ceil_div(a, b)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of those inside it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _codes(c)


def _plain(x: Any) -> Int:
    return x.value if isinstance(x, Traced) else integer(x)


def _code(x: Any) -> str:
    return x.code if isinstance(x, Traced) else str(x)


def _grouped(code: str) -> str:
    return code if re.fullmatch(r"\w+|(min|max)\(.*\)", code) else f"({code})"
