"""Cases that may fault or hang, each in a child process that is given a time.

A kernel that hangs ends only with its process, and a fault leaves a context in which every later call fails. So such
cases run here: killed at their limit, reported with the reason, and what follows them still runs.

    >>> call("math:sqrt", 2.0, limit_s=30)
    1.4142135623730951
    >>> for outcome in each("math:sqrt", [(4.0,), (-1.0,), (9.0,)], limit_s=30):
    ...     print(outcome)
    2.0
    ValueError: math domain error
    3.0
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import select
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .errors import ChildError, CrashedError, RaisedError, TimedOutError
from .processes import kill_group, python_environment

LENGTH = struct.Struct("<Q")
START_S = 60.0  # for the interpreter and the imports of the function's module
SAID_BYTES = 4000  # of the end of standard error


@dataclass(frozen=True)
class Outcome:
    """The end of a case: a value, or the error that prevented it."""

    value: Any = None
    error: ChildError | None = None

    def __str__(self) -> str:
        return str(self.value if self.error is None else self.error)


def call(function: str, *given: Any, limit_s: float, **named: Any) -> Any:
    """The value of ``module:function`` on these arguments, in a child process of its own.

    Arguments and value are pickled. Raises TimedOutError after *limit_s* seconds, when the process has been killed;
    CrashedError where a signal ended it or it left without an answer; RaisedError for an exception, with its text.
    """
    with contextlib.closing(Child(function)) as child:
        return child.ask(given, named, limit_s)


def each(function: str, cases: Iterable[tuple[Any, ...]], *, limit_s: float) -> Iterator[Outcome]:
    """The outcomes of a function on each of the cases, in order, *limit_s* seconds each.

    One process serves them, until one of them ends it: the next case gets a new one.
    """
    child: Child | None = None
    try:
        for case in cases:
            child = child or Child(function)
            outcome = _outcome(child, case, limit_s)
            if outcome.error is not None and not _is_of_use(outcome.error):
                child.close()
                child = None
            yield outcome
    finally:
        if child is not None:
            child.close()


def _outcome(child: Child, case: tuple[Any, ...], limit_s: float) -> Outcome:
    try:
        return Outcome(child.ask(case, {}, limit_s))
    except ChildError as e:
        return Outcome(error=e)


def _is_of_use(error: ChildError) -> bool:
    """Whether the next case can have the same process: not after a fault, which leaves a dead context."""
    return isinstance(error, RaisedError) and error.kind != "DeviceError"


class Child:
    """A process that answers with the values of one function. Raises CrashedError where it does not start."""

    def __init__(self, function: str) -> None:
        self.function = function
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  (open as long as the process)
        asked, self._ask = os.pipe()
        self._answer, answered = os.pipe()
        command = [sys.executable, "-P", "-c", "from gpu.child import _serve; _serve()", function]
        try:
            self.process = subprocess.Popen(
                [*command, str(asked), str(answered)],
                pass_fds=(asked, answered),
                stdin=subprocess.DEVNULL,
                stdout=self._said,
                stderr=self._said,
                start_new_session=True,
                env=python_environment() | {"PYTHONUNBUFFERED": "1"},
            )
        finally:
            os.close(asked)
            os.close(answered)
        try:
            self._take(START_S)
        except BaseException:
            self.close()
            raise

    def ask(self, given: tuple[Any, ...], named: dict[str, Any], limit_s: float) -> Any:
        """The value of the function on these arguments. Raises ChildError as ``call`` does."""
        data = pickle.dumps((given, named))
        with contextlib.suppress(BrokenPipeError):  # it has ended: what it left to read says how
            _write(self._ask, data)
        return self._take(limit_s)

    def close(self) -> None:
        """End the process, at once."""
        kill_group(self.process)
        for handle in (self._ask, self._answer):
            with contextlib.suppress(OSError):
                os.close(handle)
        self._said.close()

    def _take(self, limit_s: float) -> Any:
        until = time.monotonic() + limit_s
        (length,) = LENGTH.unpack(self._read(LENGTH.size, until, limit_s))
        kind, value = pickle.loads(self._read(length, until, limit_s))
        if kind:
            raise RaisedError(f"{kind}: {value}", self._end(), kind)
        return value

    def _read(self, count: int, until: float, limit_s: float) -> bytes:
        parts = []
        while count:
            ready, _, _ = select.select([self._answer], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                gone = kill_group(self.process)
                how = "killed" if gone else "it does not go: the driver holds it"
                raise TimedOutError(
                    f"expected {self.function} to end within {limit_s:g} s, got none; {how}", self._end()
                )
            part = os.read(self._answer, min(count, 1 << 20))
            if not part:
                raise CrashedError(f"expected a value of {self.function}, got {self._how()}", self._end())
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _how(self) -> str:
        """The end of the process: the last line that it wrote, and its status."""
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            return "a closed pipe"
        lines = self._end().strip().splitlines()
        said = f": {lines[-1]}" if lines else ""
        return f"signal {-status}{said}" if status < 0 else f"exit status {status}{said}"

    def _end(self) -> str:
        self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, self._said.tell() - SAID_BYTES))
        return self._said.read().decode(errors="replace")


def _write(handle: int, data: bytes) -> None:
    view = memoryview(LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(handle, view) :]


# -- in the child ------------------------------------------------------------------------------------------


def _serve() -> None:
    """Answer until the other end closes: the name of an exception and its text, or nothing and the value."""
    name, asked, answered = sys.argv[-3], int(sys.argv[-2]), int(sys.argv[-1])
    module, _, attribute = name.partition(":")
    function = getattr(importlib.import_module(module), attribute)
    _write(answered, pickle.dumps(("", None)))
    with os.fdopen(asked, "rb") as requests:
        while head := requests.read(LENGTH.size):
            given, named = pickle.loads(requests.read(LENGTH.unpack(head)[0]))
            _write(answered, _answered(function, given, named))


def _answered(function: Any, given: tuple[Any, ...], named: dict[str, Any]) -> bytes:
    import traceback

    try:
        return pickle.dumps(("", function(*given, **named)))
    except Exception as e:  # whatever the case raises is its outcome, which the parent reports
        traceback.print_exc()
        return pickle.dumps((type(e).__name__, str(e)))
