"""Immutable integer expressions in normal form: polynomials over symbols, quotients, bits, min, max and select.

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
``& | ^ ~ << >>`` mean what they mean in C on two's complement integers without end, see :mod:`symlayout.expr.bits`.

What operations mean stands in :mod:`symlayout.expr.domains`, facts in :mod:`symlayout.expr.fact`, the operations that
choose among values in :mod:`symlayout.expr.choice`; all of it is imported from here.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import operator
import reprlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypeAlias, cast
from weakref import WeakValueDictionary

from ..errors import ExpressionError, UndecidedError
from ..meter import step as spend

Int: TypeAlias = "int | Expr"
Monomial: TypeAlias = "tuple[Atom, ...]"

INT32_MAX = 2**31 - 1
LARGEST = 1 << 16  # terms of a product: of dozens of sums there would be no end


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
        if len(self.terms) * len(other.terms) > LARGEST:
            counts = f"{len(self.terms)} and {len(other.terms)}"
            raise ExpressionError(f"expected a product of at most {LARGEST} terms, got factors of {counts} terms")
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
        most = LONGEST_POWER if len(self.terms) == 1 else LONGEST_POWER // 64  # whose terms become many
        if exponent > most:
            raise ExpressionError(f"expected a power of at most {most} of {self}, got {exponent}")
        out: Any = 1
        for _ in range(exponent):
            out = out * self
        return out

    def __rpow__(self, base: Any) -> Any:
        if type(base) is not int or base < 2 or base & (base - 1):
            raise ExpressionError(f"expected a power of a power of two, got {base!r}**({self})")
        return power_of_two((base.bit_length() - 1) * self)

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

    def __and__(self, other: Any) -> Any:
        x = coerce_or_none(other)
        return NotImplemented if x is None else bit_and(self, x)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        x = coerce_or_none(other)
        return NotImplemented if x is None else bit_or(self, x)

    __ror__ = __or__

    def __invert__(self) -> Any:
        return -self - 1

    def __lshift__(self, count: Any) -> Any:
        k = coerce_or_none(count)
        return NotImplemented if k is None else shift_left(self, k)

    def __rlshift__(self, other: Any) -> Any:
        return shift_left(integer(other), self)

    def __rshift__(self, count: Any) -> Any:
        k = coerce_or_none(count)
        return NotImplemented if k is None else shift_right(self, k)

    def __rrshift__(self, other: Any) -> Any:
        return shift_right(integer(other), self)

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
        if not isinstance(values, Mapping):
            raise ExpressionError(f"expected values by symbol or name, such as {{'M': 4}}, got {values!r}")
        return interpret(self, Substitution(values))

    def __str__(self) -> str:
        try:
            return self._text
        except AttributeError:
            from .infix_text import text  # which knows all kinds of expressions

            for a in inside(self, lambda a: hasattr(a, "_text")):
                a._text = _cut(text(a), a)
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


class Operation(Atom):
    """What does not distribute over sums; its arguments are integers and expressions."""

    __slots__ = ()

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


class Quotient(Operation):
    """``args[0] // args[1]``, towards minus infinity, where nothing could be divided out."""

    __slots__ = ()
    op = "floordiv"


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


LONGEST_POWER = 1 << 12  # factors of one term; nothing that indexes memory has as many
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
    if type(other).__module__.startswith(("sympy", "symlayout.expr.sympy")):
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
    if type(x).__module__.startswith(("sympy", "symlayout.expr.sympy")):
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
        raise ExpressionError(f"expected an integer or an integer expression, got {_shown(x)} ({type(x).__name__})")
    return out


def _shown(x: Any) -> str:
    """A value in an error; one that is nested too deep for its repr is cut short."""
    return reprlib.repr(x) if isinstance(x, tuple | list) else repr(x)


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
        spend(len(terms_of(rest)))
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


class Divisors(list["Int"]):
    """The symbolic divisors that code has written so far, and how many of them before each fact."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: list[tuple[Fact, int]] = []

    def guards(self, valid: Iterable[Fact], first: int = 0) -> list[int]:
        """For each divisor, how many of the facts of a predicate were there before; *first* facts come before all."""
        before = {id(f): n for f, n in self.facts}
        starts = [before.get(id(f), 0) for f in valid]
        return [first + next((j for j, n in enumerate(starts) if n > i), len(starts)) for i in range(len(self))]


class Written(threading.local):
    """The divisors of a function while it is traced: ``M // M`` is 1, which no longer says that M is at least 1."""

    divisors: Divisors | None = None


_written = Written()


@contextlib.contextmanager
def written_divisors() -> Iterator[Divisors]:
    """The symbolic divisors of every // and % inside, whether or not they stay in the result.

    >>> M = dim("M", at_least=0)
    >>> with written_divisors() as found:
    ...     print((8 * M) // M, found)
    8 [M]
    """
    found = Divisors()
    before = _written.divisors
    _written.divisors = found
    try:
        yield found
    finally:
        _written.divisors = before
        if before is not None:
            before.facts += [(f, len(before) + n) for f, n in found.facts]
            before += found


def stated(fact: Fact) -> None:
    """A fact that code states while it is traced: it guards what is written after it."""
    if _written.divisors is not None:
        _written.divisors.facts.append((fact, len(_written.divisors)))


def evaluated(d: Int) -> Int:
    """A divisor that a function evaluates while it is traced: at least 1 there, also where it cancels."""
    if _written.divisors is not None and type(d) is not int:
        _written.divisors.append(d)
    return d


def floordiv(x: Int, d: Int) -> Int:
    """x // d, with everything divided out that the normal form shows to be divisible."""
    if _written.divisors is not None:
        evaluated(d)
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
    # each bit moves by itself
    if isinstance(x, Xor | And) and x.depth < SHALLOW and type(d) is int and not d & (d - 1):
        return shifted_down(x, d)
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
    evaluated(d)
    whole = divides(d, x)
    return floordiv(x + d - 1, d) if whole is None else whole


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
    if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
        raise ExpressionError(f"expected an identifier as the name of a dimension, got {_shown(name)}")
    multiple_of = integer(multiple_of)  # type: ignore[assignment]  # a number, as the next line checks
    if type(multiple_of) is not int or multiple_of < 1:
        raise ExpressionError(f"expected multiple_of to be an integer of at least 1, got {multiple_of!r}")
    upper = at_most if below is None else integer(below) - 1
    lower = None if at_least is None else integer(at_least)
    return cast(Symbol, intern(Symbol, (name, lower, None if upper is None else integer(upper), multiple_of)))


def dims(text: str, **facts: Any) -> tuple[Symbol, ...]:
    """Several sizes at once: ``M, N = dims("M N", multiple_of=8)``."""
    if not isinstance(text, str):
        raise ExpressionError(f"expected names such as 'M N', got {_shown(text)} ({type(text).__name__})")
    return tuple(dim(name, **facts) for name in text.replace(",", " ").split())


def index(name: str, below: Any) -> Symbol:
    """A coordinate: 0 <= name < below."""
    return dim(name, at_least=0, below=below)


def names(xs: Iterable[Any]) -> str:
    """Names for a message: ``M, N``."""
    return ", ".join(str(x) for x in xs)


# What is made of the above comes last: these modules import from this one, and the rest of the package from here.
from .bits import And, PowerOfTwo, Xor, bit_and, bit_or, power_of_two, shift_left, shift_right, shifted_down, xor  # noqa: E402, I001
from .fact import Fact, at_least, eq, multiple_of  # noqa: E402
from .choice import Max, Min, Select, chosen, maximum, minimum, select, truth  # noqa: E402
from .domains import Domain, Integers, Substitution, evaluate, interpret, substitute  # noqa: E402

__all__ = [
    "INT32_MAX",
    "SHALLOW",
    "And",
    "Atom",
    "Divisors",
    "Domain",
    "Expr",
    "Fact",
    "Int",
    "Integers",
    "Max",
    "Min",
    "Monomial",
    "Operation",
    "Poly",
    "PowerOfTwo",
    "Quotient",
    "Select",
    "Substitution",
    "Symbol",
    "Written",
    "Xor",
    "at_least",
    "bit_and",
    "bit_or",
    "build",
    "canonical",
    "ceil_div_int",
    "chosen",
    "coerce_or_none",
    "dim",
    "dims",
    "divides",
    "eq",
    "evaluate",
    "evaluated",
    "floordiv",
    "index",
    "inside",
    "integer",
    "intern",
    "interpret",
    "is_deep",
    "key_of",
    "maximum",
    "merge",
    "minimum",
    "mod",
    "multiple_of",
    "names",
    "power_of_two",
    "select",
    "shift_left",
    "shift_right",
    "split",
    "stated",
    "substitute",
    "terms_of",
    "truth",
    "without",
    "written_divisors",
    "xor",
]
