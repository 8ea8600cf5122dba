"""Immutable integer expressions in normal form: polynomials over symbols, quotients, xor, min and max.

    >>> M, N = dims("M N")
    >>> (M + 1) * N - N
    M*N
    >>> (64 * M + 5) // 64, (M // 8) * 8 + M % 8
    (M, M)

``==`` and ``hash`` compare normal forms, so expressions are safe in sets, dicts and dataclasses.
``<=``, ``<``, ``>=``, ``>``, ``M.multiple_of(8)`` and ``eq(a, b)`` make *facts*: assumptions or goals
that have no truth value of their own unless the normal form decides them.

Division rounds towards minus infinity and every divisor is taken to be at least 1.
``a % b`` is ``a - b*(a//b)``: one kind of quotient is enough, and round trips cancel by arithmetic.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import operator
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, TypeAlias, cast
from weakref import WeakValueDictionary

from .errors import ExpressionError, UndecidedError

Int: TypeAlias = "int | Expr"
Monomial: TypeAlias = "tuple[Atom, ...]"

INT32_MAX = 2**31 - 1


class Expr:
    """An integer expression that is not a plain integer. Constants are Python ints throughout."""

    __slots__ = ("__weakref__", "_symbols", "_text", "terms")
    terms: dict[Monomial, int]
    _symbols: tuple[Symbol, ...]
    _text: str

    # -- arithmetic ---------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if type(other) is int:
            return _plus_constant(self, other)
        if not isinstance(other, Expr):
            other = coerce_or_none(other)
            return NotImplemented if other is None else self + other
        a, b = (self.terms, other.terms) if len(self.terms) >= len(other.terms) else (other.terms, self.terms)
        out = dict(a)
        for m, c in b.items():
            s = out.get(m, 0) + c
            if s:
                out[m] = s
            else:
                del out[m]
        return build(out)

    __radd__ = __add__

    def __neg__(self) -> Any:
        return build({m: -c for m, c in self.terms.items()})

    def __pos__(self) -> Any:
        return self

    def __sub__(self, other: Any) -> Any:
        if type(other) is int:
            return _plus_constant(self, -other)
        if not isinstance(other, Expr):
            other = coerce_or_none(other)
            return NotImplemented if other is None else self - other
        out = dict(self.terms)
        for m, c in other.terms.items():
            s = out.get(m, 0) - c
            if s:
                out[m] = s
            else:
                del out[m]
        return build(out)

    def __rsub__(self, other: Any) -> Any:
        return -self + other

    def __mul__(self, other: Any) -> Any:
        if type(other) is int:
            if other == 1:
                return self
            return build({m: c * other for m, c in self.terms.items()}) if other else 0
        if not isinstance(other, Expr):
            other = coerce_or_none(other)
            return NotImplemented if other is None else self * other
        out: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                k = merge(m, n)
                out[k] = out.get(k, 0) + c * d
        return build({m: c for m, c in out.items() if c})

    __rmul__ = __mul__

    def __pow__(self, exponent: Any) -> Any:
        if type(exponent) is not int or exponent < 0:
            raise ExpressionError(f"expected a non-negative integer exponent, got {exponent!r}")
        out: Any = 1
        for _ in range(exponent):
            out = out * self
        return out

    def __floordiv__(self, other: Any) -> Any:
        d = coerce_or_none(other)
        return NotImplemented if d is None else floordiv(self, d)

    def __rfloordiv__(self, other: Any) -> Any:
        return floordiv(integer(other), self)

    def __mod__(self, other: Any) -> Any:
        d = coerce_or_none(other)
        return NotImplemented if d is None else mod(self, d)

    def __rmod__(self, other: Any) -> Any:
        return mod(integer(other), self)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __xor__(self, other: Any) -> Any:
        x = coerce_or_none(other)
        return NotImplemented if x is None else xor(self, x)

    __rxor__ = __xor__

    def __truediv__(self, other: Any) -> Any:
        raise ExpressionError(f"expected // or ceil_div, got /: ({self})/({other}) need not be an integer")

    # -- facts --------------------------------------------------------------------------------------

    def __le__(self, other: Any) -> Fact:
        return at_least(integer(other), self)

    def __lt__(self, other: Any) -> Fact:
        return at_least(integer(other), self + 1)

    def __ge__(self, other: Any) -> Fact:
        return at_least(self, integer(other))

    def __gt__(self, other: Any) -> Fact:
        return at_least(self, integer(other) + 1)

    def multiple_of(self, modulus: int) -> Fact:
        """The fact that *modulus* divides this expression: ``M.multiple_of(8)`` reads M % 8 == 0."""
        return multiple_of(self, modulus)

    def __bool__(self) -> bool:
        raise UndecidedError(f"expected True or False, got the expression {self}; compare it with something")

    def __int__(self) -> int:
        raise ExpressionError(f"expected an integer, got {self}; its value depends on {names(self.symbols)}")

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
        return interpret(self, Substitution(values))

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            from .expr_text import text  # which knows all kinds of expressions

            self._text = _cut(text(self), self)
            return self._text

    __repr__ = __str__

    def _repr_latex_(self) -> str:
        from .sympy_bridge import latex

        return f"${latex(self)}$"

    def _sympy_(self) -> Any:
        from .sympy_bridge import to_sympy

        return to_sympy(self)


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

    __slots__ = ("args", "key")
    op: ClassVar[str] = ""
    args: tuple[Any, ...]
    key: str
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


class Quotient(Atom):
    """``args[0] // args[1]``, towards minus infinity, where nothing could be divided out."""

    __slots__ = ()
    op = "floordiv"


class Xor(Atom):
    """Bitwise exclusive or of its arguments."""

    __slots__ = ()
    op = "xor"


class Min(Atom):
    """The least of its arguments."""

    __slots__ = ()
    op = "minimum"


class Max(Atom):
    """The greatest of its arguments."""

    __slots__ = ()
    op = "maximum"


def _atom_symbols(self: Atom) -> tuple[Symbol, ...]:
    try:
        return self._symbols
    except AttributeError:
        found = {s for a in self.args if isinstance(a, Expr) for s in a.symbols}
        self._symbols = tuple(sorted(found, key=lambda s: s.name))
        return self._symbols


for _kind in (Quotient, Xor, Min, Max):
    _kind.symbols = property(_atom_symbols)  # type: ignore[assignment]  # slots leave no room for a class body


_interning = threading.Lock()


def intern(kind: type[Atom], args: tuple[Any, ...]) -> Atom:
    """The one atom of this kind with these arguments, in every thread."""
    found = Atom._interned.get((kind, args))
    if found is not None:
        return found
    made = kind()
    made.args = args
    made.terms = {(made,): 1}
    made.key = args[0] if kind is Symbol else _named(f"~{kind.__name__}({','.join(map(canonical, args))})")
    with _interning:
        return Atom._interned.setdefault((kind, args), made)


LONGEST = 2000  # characters; what shares its insides may have text of exponential length


def _named(key: str) -> str:
    """A key, or the digest of a long one: quotients of quotients would double it at every level."""
    return key if len(key) <= LONGEST else f"~{hashlib.sha256(key.encode()).hexdigest()}"


def _cut(source: str, x: Expr) -> str:
    """Text of bearable length that still tells different expressions apart."""
    if len(source) <= LONGEST:
        return source
    return f"{source[: LONGEST // 2]}... #{hashlib.sha256(canonical(x).encode()).hexdigest()[:16]}"


def canonical(x: Int) -> str:
    """Text that tells different expressions apart, for sorting and for names in certificates; not for people."""
    if isinstance(x, Atom):
        return x.key
    if not isinstance(x, Expr):
        return str(x)
    rows = sorted("*".join([*(a.key for a in m), str(c)]) for m, c in x.terms.items())
    return f"[{'+'.join(rows)}]"


# -- building normal forms ------------------------------------------------------------------------------


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


def merge(m: Monomial, n: Monomial) -> Monomial:
    """The product of two monomials."""
    if not m:
        return n
    if not n:
        return m
    return tuple(sorted(m + n, key=key_of))


key_of = operator.attrgetter("key")


def _plus_constant(x: Expr, c: int) -> Int:
    if not c:
        return x
    out = dict(x.terms)
    s = out.pop((), 0) + c
    if s:
        out[()] = s
    return build(out)


def _foreign_equal(x: Expr, other: object) -> Any:
    if type(other).__module__.startswith("sympy"):
        try:
            return x == coerce_or_none(other)
        except ExpressionError:  # no integer expression, so no equal one
            return False
    return NotImplemented


def coerce_or_none(x: Any) -> Int | None:
    """An integer or expression from *x* (NumPy and SymPy integers and expressions included), else None."""
    if isinstance(x, Expr) or type(x) is int:
        return x
    if isinstance(x, bool):
        return None
    if type(x).__module__.startswith("sympy"):
        from .sympy_bridge import from_sympy

        return from_sympy(x)
    try:
        return operator.index(x)
    except TypeError:
        return None


def integer(x: Any) -> Int:
    """*x* as an integer or an expression.

    Raises ExpressionError for anything else, floats and booleans included.
    """
    if type(x) is int:
        return x
    out = coerce_or_none(x)
    if out is None:
        raise ExpressionError(f"expected an integer or an integer expression, got {x!r} ({type(x).__name__})")
    return out


def divides(d: Int, x: Int) -> Int | None:
    """x / d where the normal form shows that *d* divides *x*, else None.

    >>> M = dim("M")
    >>> divides(4 * M, 8 * M * M), divides(4, M)
    (2*M, None)
    """
    if type(d) is int and type(x) is int:
        return x // d if d and x % d == 0 else None
    if d == x:
        return 1
    quotient, rest = split(x, d)
    return quotient if type(rest) is int and rest == 0 else None


def split(x: Int, d: Int) -> tuple[Int, Int]:
    """(q, r) with x == d*q + r, where q takes every term that *d* divides (T10, termwise).

    >>> M = dim("M")
    >>> split(64 * M + 70, 64), split(M * M + 3, M)
    ((M + 1, 6), (M, 3))
    """
    dt = terms_of(d)
    if not dt:
        raise ExpressionError("expected a divisor of at least 1, got 0")
    if len(dt) == 1:
        return _split_by_monomial(x, *next(iter(dt.items())))
    return _split_by_polynomial(x, d)


def _split_by_monomial(x: Int, factor: Monomial, c: int) -> tuple[Int, Int]:
    q: dict[Monomial, int] = {}
    r: dict[Monomial, int] = {}
    for m, a in terms_of(x).items():
        rest = without(m, factor)
        if rest is None:
            r[m] = a
            continue
        whole, part = divmod(a, c)
        if whole:
            q[rest] = whole
        if part:
            r[m] = part
    return build(q), build(r)


def _split_by_polynomial(x: Int, d: Int) -> tuple[Int, Int]:
    """Division with remainder by the leading term, kept only where it comes out even."""
    lead, c = max(terms_of(d).items(), key=lambda t: _order(t[0]))
    q: Int = 0
    rest = x
    for _ in range(64):  # each round removes the leading term; polynomials here have few
        candidates = [(m, a) for m, a in terms_of(rest).items() if without(m, lead) is not None and a % c == 0]
        if not candidates:
            break
        m, a = max(candidates, key=lambda t: _order(t[0]))
        step = build({cast("Monomial", without(m, lead)): a // c})
        q, rest = q + step, rest - step * d
    if type(rest) is int and rest == 0:
        return q, 0
    return 0, x


def _order(m: Monomial) -> tuple[int, list[str]]:
    return len(m), [a.key for a in m]


def without(m: Monomial, factor: Monomial) -> Monomial | None:
    """m / factor for monomials, or None."""
    if not factor:
        return m
    rest = list(m)
    for a in factor:
        if a not in rest:
            return None
        rest.remove(a)
    return tuple(rest)


class Written(threading.local):
    """The divisors of a function while it is traced: ``M // M`` is 1, which no longer says that M is at least 1."""

    divisors: list[Int] | None = None


_written = Written()


@contextlib.contextmanager
def written_divisors() -> Iterator[list[Int]]:
    """The symbolic divisors of every // and % inside, whether or not they stay in the result.

    >>> M = dim("M", at_least=0)
    >>> with written_divisors() as found:
    ...     print((8 * M) // M, found)
    8 [M]
    """
    found: list[Int] = []
    before = _written.divisors
    _written.divisors = found
    try:
        yield found
    finally:
        _written.divisors = before
        if before is not None:
            before += found


def floordiv(x: Int, d: Int) -> Int:
    """x // d, with everything divided out that the normal form shows to be divisible."""
    if _written.divisors is not None and type(d) is not int:
        _written.divisors.append(d)
    if type(d) is int:
        if d <= 0:
            raise ExpressionError(f"expected a divisor of at least 1, got {d}")
        if d == 1:
            return x
        if type(x) is int:
            return x // d
    q, r = split(x, d)
    if type(r) is int and (r == 0 or (type(d) is int and 0 <= r < d)):
        return q
    return q + _quotient(*_reduced(r, d))


def _reduced(x: Int, d: Int) -> tuple[Int, Int]:
    """The same quotient with common factors cancelled: (8*M + 3, 64) gives (M, 8)."""
    dt = terms_of(d)
    if len(dt) != 1:
        return x, d
    ((dm, dc),) = dt.items()
    xt = dict(terms_of(x))
    constant = xt.pop((), 0)
    g = math.gcd(dc, *xt.values())
    if g > 1 and not dm:
        return build({m: a // g for m, a in xt.items()}) + constant // g, dc // g
    if dm and not constant:
        common = _common(dm, xt)
        g = math.gcd(dc, *xt.values())
        divisor = build({common: g})
        if divisor != 1:
            return cast("Int", divides(divisor, x)), cast("Int", divides(divisor, d))
    return x, d


def _common(m: Monomial, terms: Iterable[Monomial]) -> Monomial:
    common = list(m)
    for n in terms:
        kept, rest = [], list(n)
        for a in common:
            if a in rest:
                rest.remove(a)
                kept.append(a)
        common = kept
    return tuple(common)


def _quotient(x: Int, d: Int) -> Int:
    if type(d) is int and d == 1:
        return x
    if type(x) is int and type(d) is int:
        return x // d
    if isinstance(x, Quotient):  # (a // b) // d == a // (b*d) for d >= 1
        return floordiv(x.args[0], x.args[1] * d)
    return intern(Quotient, (x, d))


def mod(x: Int, d: Int) -> Int:
    """x % d, in [0, d)."""
    if type(x) is int and type(d) is int and d > 0:
        return x % d
    return x - d * floordiv(x, d)


def ceil_div_int(x: Any, d: Any) -> Any:
    """The least q with q*d >= x."""
    x, d = integer(x), integer(d)
    if not isinstance(d, Expr):
        return floordiv(x + d - 1, d)
    if _written.divisors is not None:
        _written.divisors.append(d)
    whole = divides(d, x)
    return floordiv(x + d - 1, d) if whole is None else whole


def xor(x: Int, y: Int) -> Int:
    """Bitwise exclusive or, two's complement."""
    parts: dict[Int, bool] = {}
    constant = 0
    for a in (x, y):
        for b in a.args if isinstance(a, Xor) else (a,):
            if type(b) is int:
                constant ^= b
            elif parts.pop(b, None) is None:
                parts[b] = True
    args = sorted(parts, key=str) + ([constant] if constant else [])
    if not args:
        return 0
    return args[0] if len(args) == 1 else intern(Xor, tuple(args))


def _extremum(kind: type[Atom], sign: int, xs: Iterable[Any]) -> Int:
    flat = [b for a in map(integer, xs) for b in (a.args if isinstance(a, kind) else (a,))]
    if not flat:
        raise ExpressionError("expected at least one integer to compare, got none")
    kept: list[Int] = []
    for a in flat:
        gaps = [(b, sign * (b - a)) for b in kept]
        if any(type(g) is int and g >= 0 for _, g in gaps):
            continue
        kept = [*(b for b, g in gaps if type(g) is not int), a]
    return kept[0] if len(kept) == 1 else intern(kind, tuple(sorted(kept, key=str)))


def maximum(*xs: Any) -> Int:
    """The greatest of the arguments."""
    return _extremum(Max, 1, xs)


def minimum(*xs: Any) -> Int:
    """The least of the arguments."""
    return _extremum(Min, -1, xs)


# -- facts ----------------------------------------------------------------------------------------------


class Fact:
    """``expr >= 0``, ``expr == 0`` or ``expr % modulus == 0``: an assumption, a goal or a predicate."""

    __slots__ = ("expr", "modulus", "relation")

    def __init__(self, expr: Int, relation: str, modulus: int = 0) -> None:
        self.expr, self.relation, self.modulus = expr, relation, modulus

    @property
    def value(self) -> bool | None:
        """True or False where the normal form decides it, else None."""
        e = self.expr
        if type(e) is int:
            return e >= 0 if self.relation == ">=" else e == 0 if self.relation == "==" else e % self.modulus == 0
        if self.relation == "%" and divides(self.modulus, e) is not None:
            return True
        return None

    def __bool__(self) -> bool:
        if self.value is None:
            raise UndecidedError(
                f"expected a fact that the normal form decides, got {self}, which depends on "
                f"{names(self.symbols)}; pass it as an assumption or prove it as a claim, do not branch on it"
            )
        return self.value

    def negated(self) -> tuple[Fact, ...]:
        """Facts of which exactly one holds where this one fails (a congruence has no such list)."""
        if self.relation == ">=":
            return (Fact(-self.expr - 1, ">="),)
        if self.relation == "==":
            return (Fact(self.expr - 1, ">="), Fact(-self.expr - 1, ">="))
        raise ExpressionError(f"expected an order or an equality, got {self}")

    def subs(self, values: Mapping[Any, Any]) -> Fact:
        """The fact about other symbols or numbers."""
        return Fact(substitute(self.expr, values), self.relation, self.modulus)

    def at(self, env: Mapping[Any, int]) -> bool:
        """Whether the fact is true where *env* gives its symbols values; ZeroDivisionError for a divisor below 1."""
        x = evaluate(self.expr, env)
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
        if self.relation == "%":
            from .expr_text import factor

            return f"{factor(self.expr)} % {self.modulus} == 0"
        t = terms_of(self.expr)
        left = build({m: c for m, c in t.items() if c > 0})
        right = build({m: -c for m, c in t.items() if c < 0})
        if self.relation == ">=" and type(left) is int:
            return f"{right} <= {left}"
        return f"{left} {self.relation} {right}"

    __repr__ = __str__


def at_least(a: Int, b: Int) -> Fact:
    """The fact a >= b."""
    return Fact(a - b, ">=")


def eq(a: Any, b: Any) -> Fact:
    """The fact that two expressions have the same value; ``==`` compares their form."""
    return Fact(integer(a) - integer(b), "==")


def multiple_of(a: Any, modulus: int) -> Fact:
    """The fact that the positive integer *modulus* divides *a*."""
    modulus = integer(modulus)  # type: ignore[assignment]  # a number, as the next line checks
    if type(modulus) is not int or modulus < 1:
        raise ExpressionError(f"expected a modulus of at least 1, got {modulus!r}")
    return Fact(integer(a), "%", modulus)


# -- symbols --------------------------------------------------------------------------------------------


def dim(name: str, *, at_least: Any = 1, at_most: Any = INT32_MAX, below: Any = None, multiple_of: int = 1) -> Symbol:
    """A size: an integer symbol with its range (1 .. 2^31 - 1 unless told) and divisibility.

    >>> N = dim("N", multiple_of=8)
    >>> N // 8 * 8
    8*(N//8)
    >>> ld = dim("ld", at_least=N)          # bounds may be expressions

    Two different symbols of one name may not meet in a claim.
    Raises ExpressionError for a name that is no identifier or a multiple below 1.
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise ExpressionError(f"expected an identifier as the name of a dimension, got {name!r}")
    multiple_of = integer(multiple_of)  # type: ignore[assignment]  # a number, as the next line checks
    if type(multiple_of) is not int or multiple_of < 1:
        raise ExpressionError(f"expected multiple_of to be an integer of at least 1, got {multiple_of!r}")
    upper = at_most if below is None else integer(below) - 1
    lower = None if at_least is None else integer(at_least)
    return cast(Symbol, intern(Symbol, (name, lower, None if upper is None else integer(upper), multiple_of)))


def dims(text: str, **facts: Any) -> tuple[Symbol, ...]:
    """Several sizes at once: ``M, N = dims("M N", multiple_of=8)``."""
    if not isinstance(text, str):
        raise ExpressionError(f"expected names such as 'M N', got {text!r} ({type(text).__name__})")
    return tuple(dim(name, **facts) for name in text.replace(",", " ").split())


def index(name: str, below: Any) -> Symbol:
    """A coordinate: 0 <= name < below."""
    return dim(name, at_least=0, below=below)


# -- one walk, many meanings ----------------------------------------------------------------------------


class Domain(Protocol):
    """What the operations mean: integers, arrays, solver terms, C text."""

    def const(self, value: int) -> Any: ...
    def symbol(self, symbol: Symbol) -> Any: ...
    def add(self, terms: list[Any]) -> Any: ...
    def mul(self, factors: list[Any]) -> Any: ...
    def floordiv(self, a: Any, b: Any) -> Any: ...
    def xor(self, *args: Any) -> Any: ...
    def minimum(self, *args: Any) -> Any: ...
    def maximum(self, *args: Any) -> Any: ...


def interpret(x: Int, domain: Domain, seen: dict[Atom, Any] | None = None) -> Any:
    """Give *x* its meaning in *domain*. In *seen* the meanings of symbols and quotients are kept from call to call.

    >>> i = dim("i")
    >>> interpret((3 * i + 1) // 4, Integers({"i": 5}))
    4
    """
    return _meaning(x, domain, {} if seen is None else seen)


def _meaning(x: Int, domain: Domain, seen: dict[Atom, Any]) -> Any:
    """Each atom is met once, however often it occurs: nested quotients share their insides."""
    if not isinstance(x, Expr):
        return domain.const(x)
    if isinstance(x, Atom):
        if x in seen:
            return seen[x]
        if isinstance(x, Symbol):
            found = domain.symbol(x)
        else:
            found = getattr(domain, x.op)(*(_meaning(a, domain, seen) for a in x.args))
        seen[x] = found
        return found
    total = []
    for m, c in x.terms.items():
        factors = [_meaning(a, domain, seen) for a in m]
        total.append(domain.mul([domain.const(c), *factors] if c != 1 or not m else factors))
    return domain.add(total)


class Integers:
    """Plain integers, of any size; the meaning that the other domains are tested against."""

    def __init__(self, env: Mapping[Any, Any]) -> None:
        self.env = env

    def const(self, value: int) -> int:
        return value

    def symbol(self, symbol: Symbol) -> Any:
        value = self.env.get(symbol, self.env.get(symbol.name))
        if value is None:
            raise ExpressionError(f"expected a value for {symbol.name}, got values for {names(self.env) or 'nothing'}")
        return value

    def add(self, terms: list[Any]) -> Any:
        return sum(terms)

    def mul(self, factors: list[Any]) -> Any:
        return math.prod(factors)

    def floordiv(self, a: Any, b: Any) -> Any:
        if b < 1:
            raise ZeroDivisionError(f"expected a divisor of at least 1, got {b}")
        return a // b

    def xor(self, *args: Any) -> Any:
        out = 0
        for a in args:
            out = out ^ a
        return out

    def minimum(self, *args: Any) -> Any:
        return min(args)

    def maximum(self, *args: Any) -> Any:
        return max(args)


class Substitution(Integers):
    """Expressions again, with some symbols replaced."""

    def symbol(self, symbol: Symbol) -> Any:
        value = self.env.get(symbol, self.env.get(symbol.name))
        return symbol if value is None else integer(value)

    def add(self, terms: list[Any]) -> Any:
        out: Any = 0
        for t in terms:
            out = out + t
        return out

    def mul(self, factors: list[Any]) -> Any:
        out: Any = 1
        for f in factors:
            out = out * f
        return out

    def floordiv(self, a: Any, b: Any) -> Any:
        return floordiv(a, b)

    def xor(self, *args: Any) -> Any:
        out: Any = 0
        for a in args:
            out = xor(out, a)
        return out

    def minimum(self, *args: Any) -> Any:
        return minimum(*args)

    def maximum(self, *args: Any) -> Any:
        return maximum(*args)


def evaluate(x: Any, env: Mapping[Any, int]) -> int:
    """The integer value of *x* where *env* gives its symbols (or their names) values."""
    if type(x) is int:
        return x
    total = 0
    for m, c in terms_of(integer(x)).items():
        for a in m:
            known = env.get(a)  # a symbol whose value is not given under its name, the common case
            c *= interpret(a, Integers(env)) if known is None else known
        total += c
    return cast(int, integer(total))


def substitute(x: Int, values: Mapping[Any, Any]) -> Any:
    """*x* with symbols replaced; integers stay as they are."""
    return x.subs(values) if isinstance(x, Expr) else x


def names(xs: Iterable[Any]) -> str:
    """Names for a message: ``M, N``."""
    return ", ".join(str(x) for x in xs)
