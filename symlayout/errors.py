"""The exception family: one line each, built-in bases so that callers need not know us."""

from __future__ import annotations


class SymlayoutError(Exception):
    """Base of the errors raised by these packages.

    For an error in text, ``field`` is the part of a claim that cannot be read and ``at`` the index of the character.
    ``excerpt`` is the text around that character with a caret below it, printed after the message.
    """

    field: str = ""
    at: int | None = None
    excerpt: str = ""

    @property
    def message(self) -> str:
        """The message without the excerpt."""
        return super().__str__()

    def __str__(self) -> str:
        return f"{self.message}\n{self.excerpt}" if self.excerpt else self.message

    def about(self, field: str) -> SymlayoutError:
        """The same error about a field, whose name its message begins with."""
        found = type(self)(f"{field}: {self.message}")
        found.field, found.at, found.excerpt = self.field or field, self.at, self.excerpt
        return found

    def told_at(self, field: str, at: int | None = None) -> SymlayoutError:
        """This error, about a field and a character of it, which its message names already."""
        self.field, self.at = field, at
        return self


class LayoutError(SymlayoutError, ValueError):
    """A shape, stride, tiler or coordinate that does not fit."""


class InexactError(LayoutError):
    """An operation whose result would not be the function asked for, with the first coordinate that differs."""


class NotationError(SymlayoutError, ValueError):
    """Text that is not layout notation; the message has a caret under the first bad character."""


class ExpressionError(SymlayoutError, TypeError):
    """A value that is not an integer expression, or an operation that expressions do not have."""


class ShiftError(ExpressionError, OverflowError):
    """A shift so far that no index has as many bits."""


class UndecidedError(SymlayoutError, TypeError):
    """A symbolic fact used where a plain True or False is needed."""


class AssumptionError(SymlayoutError, ValueError):
    """Facts that clash, or sizes outside what was assumed."""


class ClaimError(SymlayoutError, ValueError):
    """A claim that cannot be read: no layout, a missing extent, an unknown kind."""


class CertificateError(SymlayoutError, ValueError):
    """A certificate that does not prove the claim it came with."""


class SerialError(SymlayoutError, TypeError):
    """A value that has no canonical serialisation: ``got`` says what it is, ``place`` the field that holds it."""

    def __init__(self, got: str, place: str = "") -> None:
        super().__init__(f"expected frozen values of the language{f' in {place}' if place else ''}, got {got}")
        self.got = got
        self.place = place


class TmaFault(SymlayoutError, RuntimeError):
    """A tensor copy at which the hardware faults: ``rule`` is the id of the rule, ``effect`` the driver's error."""

    def __init__(self, message: str, rule: str = "", effect: str = "") -> None:
        super().__init__(message)
        self.rule = rule
        self.effect = effect


class ExecutionError(SymlayoutError, RuntimeError):
    """A kernel whose run went wrong: a fault, a race, a value that nobody wrote, a deadlock; says where.

    ``kind`` is one of ``DisorderError`` where no order makes it so, or "hang"; ``subject`` the barriers and tensors.
    """

    kind: str = ""
    subject: tuple[str, ...] = ()

    @classmethod
    def of(cls, message: str, kind: str, *subject: str) -> ExecutionError:
        """The error of a kind."""
        found = cls(message)
        found.kind, found.subject = kind, subject
        return found


class DisorderError(LayoutError):
    """An access that nothing orders ("order"), or what no phase of a barrier has room for ("phase")."""

    def __init__(self, message: str, kind: str = "", *subject: str) -> None:
        super().__init__(message)
        self.kind, self.subject = kind, subject


class InternalError(SymlayoutError, RuntimeError):
    """A defect of ours, such as a counterexample that does not replay; please report it."""


def unread(e: BaseException) -> str:
    """Words for what was there instead of a file that can be read, behind "got".

    >>> unread(FileNotFoundError(2, "No such file or directory", "a.json"))
    'one that does not exist'
    """
    if isinstance(e, OSError) and e.strerror:
        known = {FileNotFoundError: "one that does not exist", IsADirectoryError: "a directory"}
        return known.get(type(e), e.strerror.lower())
    if isinstance(e, ValueError) and hasattr(e, "colno"):  # of JSON
        return f"something else at line {e.lineno}, column {e.colno}: {e.msg}"  # type: ignore[attr-defined]
    return str(e) or type(e).__name__
