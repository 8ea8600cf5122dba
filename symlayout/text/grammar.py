"""Expressions and conditions as text, with the operators of C: what the readers of layouts and facts share.

    >>> from symlayout.text.notation import parse_expression
    >>> parse_expression("(t & 7) ^ (t >> 3)"), parse_expression("i < M && j < N ? 8*i + j : 0")
    ((t % 8) ^ (t//8), select(min(M - i - 1, N - j - 1) >= 0, 8*i + j, 0))

What binds tighter comes first: ``**``, ``+ - ~ !`` before an operand, ``* // / %``, ``+ -``, ``<< >>``, ``&``, ``^``,
``|``, relations, ``&&`` (also ``and``), ``||``, ``? :``. C and Python differ in one of these: ``a & b == c`` compares
first in C and last in Python. It is refused, with the place for parentheses, and so is ``2^21``, which means 23.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..errors import ExpressionError
from ..expr import Expr, Fact, Int, at_least, ceil_div_int, eq, floordiv, maximum, minimum, mod
from ..expr.bits import shift_left, shift_right
from ..expr.choice import select, test_of, truth
from ..facts import Facts
from ..int_tuple import MAX_DEPTH
from .reader import END, Reader, digits, is_name

BITWISE = ("|", "^", "&")
BINDING = {"|": 1, "^": 2, "&": 3, "<<": 4, ">>": 4, "+": 5, "-": 5, "*": 6, "//": 6, "/": 6, "%": 6}
PAIRED = ("<<", ">>", "&&", "||", "**")  # tokens that are one operator where nothing is between them
PREFIXES = ("+", "-", "~", "!")
OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "&": lambda a, b: a & b,
    "<<": shift_left,
    ">>": shift_right,
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": floordiv,
    "/": lambda a, b: truncated(a, b),
    "%": mod,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "ceil": ceil_div_int,
    "ceil_div": ceil_div_int,
    "max": maximum,
    "min": minimum,
    "mod": mod,
    "select": select,
}
OPERANDS = {"ceil": 2, "ceil_div": 2, "mod": 2, "select": 3}
RELATIONS: dict[str, Callable[[Int, Int], Fact]] = {
    "==": eq,
    "<=": lambda a, b: at_least(b, a),
    "<": lambda a, b: at_least(b, a + 1),
    ">=": at_least,
    ">": lambda a, b: at_least(a, b + 1),
}
CLAIMS: ContextVar[bool] = ContextVar("whether the text is that of a claim", default=False)
LONGEST_POWER = 1 << 12  # bits of a number, or terms of a product, that ** may make


class Condition(tuple[Fact, ...]):
    """Facts that hold together."""

    __slots__ = ()


def condition(x: Any) -> Condition:
    """A value as a condition: an integer is true unless it is 0."""
    return x if isinstance(x, Condition) else Condition((Fact(test_of(x), ">="),))


def number(x: Any) -> Any:
    """A value as a number: 1 for a condition that holds, else 0."""
    return truth(tuple(x)) if isinstance(x, Condition) else x


def _joined(terms: list[list[Any]]) -> Condition:
    """Conditions in lists: at least one list holds as a whole."""
    every = [Condition(f for x in some for f in condition(x)) for some in terms]
    return every[0] if len(every) == 1 else Condition((Fact(maximum(*(test_of(tuple(c)) for c in every)), ">="),))


def power(base: Any, exponent: Any) -> Any:
    """``base ** exponent``.

    Raises ExpressionError for a value that is not an integer, or one that is unreasonably large.
    """
    if type(exponent) is int:
        size = exponent * (base.bit_length() if type(base) is int else 64 * len(base.terms))
        if exponent < 0 or size > LONGEST_POWER:
            raise ExpressionError(f"expected a power of at most {LONGEST_POWER} bits, got {base}**{exponent}")
    return base**exponent


@contextmanager
def as_claims(on: bool = True) -> Iterator[None]:
    """Inside, the text of claims is read, where C's reading and Python's must agree; *False* ends that."""
    token = CLAIMS.set(on)
    try:
        yield
    finally:
        CLAIMS.reset(token)


def never_negative(x: Any) -> bool:
    """Whether an integer is at least 0 at all sizes and coordinates, as their ranges tell."""
    return x >= 0 if type(x) is int else Facts.about(x).le(0, x) is True


def truncated(a: Any, b: Any) -> Any:
    """C's ``a / b``, which rounds towards 0; that of numbers from 0 on is ``a // b``."""
    if never_negative(a):
        return floordiv(a, b)
    return select((at_least(a, 0),), floordiv(a, b), -floordiv(-a, b))


class Expressions(Reader):
    """Recursive descent over expressions.

    value     = compared {("&&" | "and" | "||") compared} ["?" value ":" value]
    compared  = expression {relation expression}
    operand   = {"+" | "-" | "~" | "!"} (number | name | call | "(" value ")") ["**" operand]
    """

    groups = 0  # open parentheses inside arithmetic
    loose: int | None = None  # where an & ^ or | outside of parentheses stands
    doubtful: list[tuple[int, Any, Any]]  # remainders of what may be negative, with their places

    def __init__(self, source: str, symbols: Any) -> None:
        super().__init__(source, symbols)
        self.remainders: dict[Expr, tuple[Any, int]] = {}  # x % m as (x, m): the normal form has quotients
        self.doubtful = []
        self.divides = CLAIMS.get()  # whether / is an operator: in ceil(x/y) it is not

    def end(self, expected: str) -> None:
        """Raise where text goes on, and in claims for a remainder that C and Python take apart."""
        super().end(expected)
        if self.doubtful and CLAIMS.get():
            at, left, right = self.doubtful[0]
            sign = "C's has the sign of its dividend, and Python's is never negative"
            instead = f"mod({left}, {right}) is Python's"
            raise self.error("a remainder of an operand that is at least 0", at, f"{left}: {sign}; {instead}")

    def operator(self, at: int | None = None) -> str:
        """The operator at a token, of one token or of two that stand together."""
        at = self.position if at is None else at
        token = self.tokens[at]
        if token == END:
            return END
        both = token + self.tokens[at + 1]
        return both if both in PAIRED and self.places[at] + 1 == self.places[at + 1] else token

    def skip(self, operator: str) -> bool:
        """Step over an operator if it is next."""
        found = self.operator() == operator
        self.position += (len(operator) if operator in PAIRED else 1) * found
        return found

    # -- conditions -------------------------------------------------------------------------------------

    def value(self, what: str) -> Any:
        """A number or a condition, perhaps chosen by another."""
        terms = [[self.compared(what)]]
        while True:
            if self.skip("||"):
                terms.append([self.compared("a condition after '||'")])
            elif self.skip("&&") or self.take("and"):
                terms[-1].append(self.compared(what))
            else:
                break
        out = terms[0][0] if len(terms) == len(terms[0]) == 1 else _joined(terms)
        at = self.position
        if not self.take("?"):
            return out
        self.deeper()
        first = number(self.value("a value after '?'"))
        self.expect(":", "between the two values of '?'")
        second = number(self.value("a value after ':'"))
        self.groups -= 1
        return self.made(at, select, tuple(condition(out)), first, second)

    def plain(self, what: str) -> Any:
        """A number: what is a condition as a whole is a slip where a value belongs."""
        at = self.position
        out = self.value(what)
        if isinstance(out, Condition):
            said = " and ".join(map(str, out))
            raise self.error("a number", at, f"the condition {said}; select({said}, 1, 0) is its number in C")
        return out

    def compared(self, what: str) -> Any:
        """An expression, or expressions with relations between them."""
        before, self.loose = self.loose, None
        left = self.side(what)
        facts: list[Fact] = []
        while (relation := self.operator()) in RELATIONS:
            self.position += 1
            right = self.side(what)
            if self.loose is not None:
                sign = self.tokens[self.loose]
                raise self.error(
                    f"parentheses: next to {relation} C applies '{sign}' last and Python first", self.loose
                )
            facts.append(self.fact(number(left), relation, number(right)))
            left = right
        self.loose = before
        return Condition(facts) if facts else left

    def side(self, what: str) -> Any:
        if self.token == "and":
            raise self.error(what)
        return self.expression(what)

    def fact(self, left: Int, relation: str, right: Int) -> Fact:
        """``x % m == r`` is a congruence; anything else compares."""
        for remainder, r in ((left, right), (right, left)):
            if relation == "==" and remainder in self.remainders and type(r) is int:
                x, modulus = self.remainders[remainder]
                if 0 <= r < modulus:
                    self.doubtful = [d for d in self.doubtful if r or d[1:] != (x, modulus)]  # 0 is 0 in C too
                    return Fact(x - r, "%", modulus)
        return RELATIONS[relation](left, right)

    # -- arithmetic -------------------------------------------------------------------------------------

    def expression(self, what: str, floor: int = 0) -> Any:
        """Operands and operators that bind tighter than *floor*, from the left."""
        out = self.operand(what)
        while BINDING.get(name := self.operator(), 0) > floor and (name != "/" or self.divides):
            at = self.position
            self.skip(name)
            after = self.position
            left, right = number(out), number(self.expression(f"an operand of '{name}'", BINDING[name]))
            if name == "^":
                self.no_power(at)
            if name == "%" and not never_negative(left):
                self.doubtful.append((at, left, right))
            if name in BITWISE and self.loose is None:
                self.loose = at
            out = self.made(after, OPERATIONS[name], left, right)
            if name == "%" and isinstance(out, Expr) and type(right) is int:
                self.remainders[out] = (left, right)
        return out

    def no_power(self, at: int) -> None:
        """Raise for ``2^21``: a power is meant, and C has another number."""
        a, b = self.tokens[at - 1], self.tokens[at + 1]
        if digits(a) and digits(b):
            instead = f"{a}**{b}" + (f" or 1<<{b}" if a == "2" else "")
            means = f"{a}^{b}, which is xor in C and means {int(digits(a)) ^ int(digits(b))}"
            raise self.pointed(f"expected a power or a shift, got {means}; write {instead}", at)

    def deeper(self) -> None:
        """One level of parentheses more."""
        if self.groups == MAX_DEPTH:
            raise self.error(f"parentheses nested at most {MAX_DEPTH} deep", got="deeper ones")
        self.groups += 1

    def operand(self, what: str) -> Any:
        """A number, a name, a call or a group, with signs before it and perhaps a power after it."""
        prefixes = []
        while self.token in PREFIXES:
            prefixes.append(self.advance())
            what = "an integer after the sign"
        if self.token == "_" and self.following == "-":  # CuTe prints a static -1 as _-1
            self.position += 2
            prefixes.append("-")
        out = self.atom(what)
        at = self.position
        if self.skip("**"):
            self.deeper()
            out = self.made(at, power, number(out), number(self.operand("an exponent")))
            self.groups -= 1
        for sign in reversed(prefixes):
            if sign == "!":
                out = Condition((Fact(-1 - test_of(tuple(condition(out))), ">="),))
            elif sign != "+":
                out = -number(out) if sign == "-" else -number(out) - 1
        return out

    def atom(self, what: str) -> Any:
        called = self.advance() if self.token in FUNCTIONS and self.following == "(" else ""
        if self.token == "(":
            self.deeper()
            self.position += 1
            out = self.call(called) if called else self.value("an integer")
            self.expect(")", "after an expression")
            self.groups -= 1
            return out
        if is_name(self.token) and self.token != "_" and not digits(self.token):
            return self.symbol()
        return self.natural(what)

    def call(self, name: str) -> Any:
        """The value of ceil(x/y), ceil_div(x, y), max, min or select, up to the closing parenthesis."""
        slash = name == "ceil"  # it binds least there: ceil(M + 1/8) is the ceiling of (M + 1)/8
        before, self.divides = self.divides, self.divides and not slash
        operands: list[Any] = [self.value(f"{'a condition' if name == 'select' else 'an operand'} of {name}")]
        at = self.position
        while self.take("/" if slash else ","):
            at = self.position
            what = f"an operand of {name}"
            operands.append(self.expression(what, BINDING["*"]) if slash else self.value(what))
        if len(operands) != OPERANDS.get(name, len(operands)):
            expected = {2: "two", 3: "three"}[OPERANDS[name]]
            raise self.error(f"{expected} operands of {name}", got=str(len(operands)))
        self.divides = before
        first = tuple(condition(operands[0])) if name == "select" else number(operands[0])
        return self.made(at, FUNCTIONS[name], first, *map(number, operands[1:]))
