"""Immutable integer expressions in normal form: polynomials over symbols, quotients, bits, min, max and select.

    >>> from symlayout import dims
    >>> M, N = dims("M N")
    >>> (M + 1) * N - N
    M*N
    >>> (64 * M + 5) // 64, (M // 8) * 8 + M % 8
    (M, M)

``==`` and ``hash`` compare normal forms, so expressions are safe in sets, dicts and dataclasses.
``<=``, ``<``, ``>=``, ``>``, ``M.multiple_of(8)`` and ``eq(a, b)`` make *facts*: assumptions or goals
that have no truth value of their own unless the normal form decides them.

Here are the values: expressions, their atoms, facts about them. Operators are in :mod:`symlayout.expr.arithmetic`,
quotients in :mod:`symlayout.expr.division`, bits in :mod:`symlayout.expr.bits`, choices in
:mod:`symlayout.expr.choice`, meanings of operations in :mod:`symlayout.expr.domains`.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeAlias, cast
from weakref import WeakValueDictionary

from ..errors import ExpressionError, UndecidedError
from .arithmetic import Arithmetic, defined, defines
from .written import stated

Int: TypeAlias = "int | Expr"
Monomial: TypeAlias = "tuple[Atom, ...]"


class Expr(Arithmetic):
    """An integer expression that is not a plain integer. Constants are Python ints throughout."""

    __slots__ = ("__weakref__", "_symbols", "_text", "terms")
    terms: dict[Monomial, int]
    _symbols: tuple[Symbol, ...]
    _text: str

    # -- facts --------------------------------------------------------------------------------------

    def __le__(self, other: Any) -> Fact:
        return Fact(defined.integer(other) - self, ">=")

    def __lt__(self, other: Any) -> Fact:
        return Fact(defined.integer(other) - self - 1, ">=")

    def __ge__(self, other: Any) -> Fact:
        return Fact(self - defined.integer(other), ">=")

    def __gt__(self, other: Any) -> Fact:
        return Fact(self - defined.integer(other) - 1, ">=")

    def multiple_of(self, modulus: int) -> Fact:
        """The fact that *modulus* divides this expression: ``M.multiple_of(8)`` reads M % 8 == 0."""
        return defined.multiple_of(self, modulus)

    def __bool__(self) -> bool:
        raise UndecidedError(f"expected True or False, got the expression {self}; compare it with something")

    def __int__(self) -> int:
        raise ExpressionError(
            f"expected an integer, got {self}; its value depends on {', '.join(map(str, self.symbols))}"
        )

    __index__ = __int__

    # -- inspection ---------------------------------------------------------------------------------

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The symbols that occur, also inside quotients, in order of name."""
        try:
            return self._symbols
        except AttributeError:
            found = {s for m in self.terms for a in m for s in a.symbols}
            self._symbols = tuple(sorted(found, key=lambda s: s.name))
            return self._symbols

    def subs(self, values: Mapping[Any, Any]) -> Any:
        """Replace symbols (or their names) by integers or expressions, everywhere."""
        if not isinstance(values, Mapping):
            raise ExpressionError(f"expected values by symbol or name, such as {{'M': 4}}, got {values!r}")
        return defined.substituted(self, values)

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            for a in inside(self, lambda a: hasattr(a, "_text")):
                a._text = defined.expression_text(a)
            self._text = defined.expression_text(self)
            return self._text

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        return f"${defined.latex(self)}$"

    def _sympy_(self) -> Any:
        return defined.to_sympy(self)


class Poly(Expr):
    """A sum of several monomials, or one with a coefficient; compared term by term."""

    __slots__ = ("_hash",)
    _hash: int

    def __init__(self, terms: dict[Monomial, int]) -> None:
        self.terms = terms

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Poly):
            return self.terms == other.terms
        return False if isinstance(other, (int, Atom)) else _foreign_equal(self, other)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash = hash(frozenset(self.terms.items()))
            return self._hash

    def __reduce__(self) -> Any:
        return build, (self.terms,)


class Atom(Expr):
    """A variable of the polynomials: a symbol, or an operation that does not distribute. Interned."""

    __slots__ = ("args", "depth", "key")
    op: ClassVar[str] = ""
    args: tuple[Any, ...]
    key: str
    depth: int  # operations inside one another
    _interned: ClassVar[WeakValueDictionary[Any, Atom]] = WeakValueDictionary()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return False if isinstance(other, (int, Expr)) else _foreign_equal(self, other)

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        return intern, (type(self), self.args)


class Symbol(Atom):
    """A named integer with its range and divisibility: ``args = (name, lower, upper, multiple)``."""

    __slots__ = ()
    op = "symbol"

    @property
    def name(self) -> str:
        return cast(str, self.args[0])

    @property
    def lower(self) -> Int | None:
        return cast("Int | None", self.args[1])

    @property
    def upper(self) -> Int | None:
        return cast("Int | None", self.args[2])

    @property
    def multiple(self) -> int:
        return cast(int, self.args[3])

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return (self,)

    def ranged(self, lower: Int | None, upper: Int | None) -> Symbol:
        """The symbol of this name and multiple from *lower* to *upper*.

        >>> N = dim("N")
        >>> print(index("i", N).ranged(0, 7).upper)
        7
        """
        return cast(Symbol, intern(Symbol, (self.name, lower, upper, self.multiple)))


class Operation(Atom):
    """A function that does not distribute over sums; its arguments are integers and expressions."""

    __slots__ = ()

    def divided(self, d: Int) -> Int | None:
        """This operation divided by *d*, rounded down, where its kind knows better than a quotient, else None."""
        return None

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        try:
            return self._symbols
        except AttributeError:
            for b in inside(self, lambda a: hasattr(a, "_symbols")):
                b._symbols = _symbols_of(b)
            self._symbols = _symbols_of(self)
            return self._symbols


def _symbols_of(a: Atom) -> tuple[Symbol, ...]:
    found = {s for b in a.args if isinstance(b, Expr) for s in b.symbols}
    return tuple(sorted(found, key=lambda s: s.name))


SHALLOW = 50  # operations inside one another that recursion takes


def is_deep(x: Expr) -> bool:
    """Whether operations stand inside one another too often for recursion."""
    for m in x.terms:
        for a in m:
            if a.depth >= SHALLOW:
                return True
    return False


def inside(x: Expr, done: Callable[[Atom], bool]) -> list[Atom]:
    """The operations inside a deep expression that are not *done*, inner ones first; none inside a shallow one.

    What walks an expression handles these before: its recursion ends where they begin.
    """
    if not is_deep(x):
        return []
    found: dict[Atom, None] = {}
    todo: list[Any] = list(x.args) if isinstance(x, Atom) else [x]
    while todo:
        for a in (a for m in terms_of(todo.pop()) for a in m):
            if a.depth and a not in found and not done(a):
                found[a] = None
                todo += a.args
    return sorted(found, key=lambda a: a.depth)


_interning = threading.Lock()


def intern(kind: type[Atom], args: tuple[Any, ...]) -> Atom:
    """The one atom of this kind with these arguments, in every thread."""
    found = Atom._interned.get((kind, args))
    if found is not None:
        return found
    made = kind()
    made.args = args
    made.terms = {(made,): 1}
    made.depth = 0 if kind is Symbol else 1 + max((a.depth for x in args for m in terms_of(x) for a in m), default=0)
    made.key = args[0] if kind is Symbol else _named(f"~{kind.__name__}({','.join(map(canonical, args))})")
    with _interning:
        return Atom._interned.setdefault((kind, args), made)


LONGEST = 2000  # characters; what shares its insides may have text of exponential length


def _named(key: str) -> str:
    """A key, or the digest of a long one: quotients of quotients would double it at every level."""
    return key if len(key) <= LONGEST else f"~{hashlib.sha256(key.encode()).hexdigest()}"


def canonical(x: Int) -> str:
    """Text that tells different expressions apart, for sorting and for names in certificates; not for people."""
    if isinstance(x, Atom):
        return x.key
    if not isinstance(x, Expr):
        return str(x)
    rows = sorted("*".join([*(a.key for a in m), str(c)]) for m, c in x.terms.items())
    return f"[{'+'.join(rows)}]"


@defines
def build(terms: dict[Monomial, int]) -> Int:
    """The integer, atom or polynomial with these terms; no coefficient may be zero."""
    if not terms:
        return 0
    if len(terms) == 1:
        ((m, c),) = terms.items()
        if not m:
            return c
        if c == 1 and len(m) == 1:
            return m[0]
    return Poly(terms)


def terms_of(x: Int) -> dict[Monomial, int]:
    """The terms of an expression or integer: monomial to coefficient."""
    if isinstance(x, Expr):
        return x.terms
    return {(): x} if x else {}


def _foreign_equal(x: Expr, other: object) -> Any:
    if type(other).__module__.startswith(("sympy", "symlayout.expr.sympy")):
        try:
            return x == defined.coerce_or_none(other)
        except ExpressionError:  # no integer expression, so no equal one
            return False
    return NotImplemented


# -- facts ----------------------------------------------------------------------------------------------


class Fact:
    """``expr >= 0``, ``expr == 0`` or ``expr % modulus == 0``: an assumption, a goal or a predicate."""

    __slots__ = ("expr", "modulus", "relation")

    def __init__(self, expr: Int, relation: str, modulus: int = 0) -> None:
        self.expr, self.relation, self.modulus = expr, relation, modulus
        stated(self)

    @property
    def value(self) -> bool | None:
        """True or False where the normal form decides it, else None."""
        e = self.expr
        if type(e) is int:
            return e >= 0 if self.relation == ">=" else e == 0 if self.relation == "==" else e % self.modulus == 0
        if self.relation == "%" and all(c % self.modulus == 0 for c in terms_of(e).values()):
            return True
        return None

    def __bool__(self) -> bool:
        if self.value is None:
            unknown = ", ".join(map(str, self.symbols))
            raise UndecidedError(
                f"expected a fact that the normal form decides, got {self}, which depends on {unknown}; "
                "pass it as an assumption or prove it as a claim, do not branch on it"
            )
        return self.value

    def negated(self) -> tuple[Fact, ...]:
        """Facts such that exactly one holds where this one fails (a congruence has no such list)."""
        if self.relation == ">=":
            return (Fact(-self.expr - 1, ">="),)
        if self.relation == "==":
            return (Fact(self.expr - 1, ">="), Fact(-self.expr - 1, ">="))
        raise ExpressionError(f"expected an order or an equality, got {self}")

    # -- as a number: 1 where it holds, else 0 -------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return defined.truth(self) + _number(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return defined.truth(self) - _number(other)

    def __rsub__(self, other: Any) -> Any:
        return _number(other) - defined.truth(self)

    def __mul__(self, other: Any) -> Any:
        return defined.truth(self) * _number(other)

    __rmul__ = __mul__

    # -- inspection ------------------------------------------------------------------------------------

    def subs(self, values: Mapping[Any, Any]) -> Fact:
        """The fact about other symbols or numbers."""
        expr = self.expr.subs(values) if isinstance(self.expr, Expr) else self.expr
        return Fact(expr, self.relation, self.modulus)

    def at(self, env: Mapping[Any, int]) -> bool:
        """Whether the fact is true where *env* gives its symbols values; ZeroDivisionError for a divisor below 1."""
        x = defined.evaluate(self.expr, env)
        return x >= 0 if self.relation == ">=" else x == 0 if self.relation == "==" else x % self.modulus == 0

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return self.expr.symbols if isinstance(self.expr, Expr) else ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Fact):
            return NotImplemented
        return (self.expr, self.relation, self.modulus) == (other.expr, other.relation, other.modulus)

    def __hash__(self) -> int:
        return hash((self.expr, self.relation, self.modulus))

    def __str__(self) -> str:
        return defined.fact_text(self)

    __repr__ = __str__


def _number(x: Any) -> Int:
    return defined.truth(x) if isinstance(x, Fact) else defined.integer(x)
