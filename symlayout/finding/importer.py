"""Users' modules, imported one after the other in a child process: whatever they do there, we go on.

A module can exit, loop, print or crash the interpreter. The child gets a request for one file or one
``module:name``, imports it, and answers with the claims as a pickle. Where it dies or does not answer in time, that is
one finding, and the next request gets a new child. The child dies with us, also when we are killed.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..errors import InternalError
from .found import Found
from .place import Place
from .python_claims import forget, of_file, of_name

SECONDS = 60.0  # a module that takes longer to import is taken to hang
BOOT_SECONDS = 60.0  # for a child to be ready
GRACE = 5.0  # seconds more until a child that does not stop by itself is killed
BOOT = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from symlayout.finding.importer import serve; serve()"


@dataclass(frozen=True)
class Request:
    """The target of a child's import: a file, or ``module:name`` if *named*."""

    target: str
    named: bool
    kernels: bool
    seconds: float
    folder: str
    path: tuple[str, ...]


class Importer:
    """A child process for the modules of users; it is started when it is first needed."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._answers: queue.Queue[bytes | None] = queue.Queue()

    def claims(
        self, target: str, *, named: bool = False, kernels: bool = True, seconds: float = SECONDS
    ) -> Iterator[Found]:
        """The claims of a Python file, or of ``module:name`` where *named*; with *kernels* also kernels.

        What the module prints goes to our standard error.
        """
        request = Request(target, named, kernels, seconds, os.getcwd(), tuple(sys.path))
        try:
            answer = self._ask(pickle.dumps(request), 2 * seconds + GRACE)
        except BaseException:  # an interrupt too: the child is in the middle of something
            self.close()
            raise
        if isinstance(answer, str):
            yield Found(Place(name=target) if named else Place(target), error=_said(target, named, answer))
            return
        found, printed = answer
        sys.stderr.write(printed)
        yield from found

    def _ask(self, request: bytes, seconds: float) -> tuple[list[Found], str] | str:
        """The child's answer, or why there is none."""
        child = self._started()
        assert child.stdin is not None
        try:
            _send(child.stdin, request)
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            self.close()
            return f"no answer within {seconds - GRACE:g} seconds"
        except OSError:
            answer = None
        if answer is None:
            status = child.wait()
            self.close()
            return f"the end of the process, with {_ended(status)}"
        kind, value = pickle.loads(answer)
        if kind == "defect":
            raise InternalError(value)
        return pickle.loads(value[0]), value[1]

    def _started(self) -> subprocess.Popen[bytes]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self.close()
        self._answers = queue.Queue()
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", BOOT, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is ours to answer, and what the module starts ends with it
        )
        assert self._child.stdout is not None
        threading.Thread(target=_received, args=(self._child.stdout, self._answers), daemon=True).start()
        if self._answers.get(timeout=BOOT_SECONDS) is None:  # it says when it is ready, so that no module pays for it
            raise InternalError(f"the process for modules ended with {_ended(self._child.wait())}")
        return self._child

    def close(self) -> None:
        """End the child and all that it has started."""
        if self._child is None:
            return
        with contextlib.suppress(OSError):
            os.killpg(self._child.pid, signal.SIGKILL) if hasattr(os, "killpg") else self._child.kill()
        self._child.wait()
        for stream in (self._child.stdin, self._child.stdout):
            with contextlib.suppress(OSError):
                if stream is not None:
                    stream.close()
        self._child = None


def _said(target: str, named: bool, reason: str) -> str:
    what = f"{target} to be importable" if named else "a module that can be imported"
    return f"expected {what}, got {reason}"


def _ended(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"status {status}"


def _send(stream: IO[bytes], data: bytes) -> None:
    stream.write(len(data).to_bytes(8, "big") + data)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes | None:
    """One message, or None at the end of the stream."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "big")
    data = stream.read(size)
    return data if len(data) == size else None


def _received(stream: IO[bytes], into: queue.Queue[bytes | None]) -> None:
    """Put each message into a queue, and None at the end."""
    while True:
        with contextlib.suppress(OSError, ValueError):
            data = _read(stream)
            into.put(data)
            if data is not None:
                continue
        into.put(None)
        return


# -- in the child -----------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests until the last."""
    from checkers.claims import CLAIMS, OTHERS  # noqa: F401  else the first module that is timed would pay for them

    from .. import kernel  # noqa: F401  as above

    requests: queue.Queue[bytes | None] = queue.Queue()
    source, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a module that reads its input finds it empty,
    os.dup2(2, 1)  # and one that writes below Python's level writes to our standard error

    def receive() -> None:
        while (data := _read(source)) is not None:
            requests.put(data)
        if hasattr(os, "killpg"):  # whoever asked is gone, killed perhaps
            os.killpg(os.getpgrp(), signal.SIGKILL)
        os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    _send(answers, b"ready")
    while (data := requests.get()) is not None:
        try:
            _send(answers, _answer(pickle.loads(data)))
        except KeyboardInterrupt:  # the module raised it: an interrupt of ours does not come here
            os._exit(130)


def _answer(request: Request) -> bytes:
    printed, known = io.StringIO(), set(sys.modules)
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            found = list(_found(request))
        except InternalError as e:
            return pickle.dumps(("defect", str(e)))
        forget(known)
    return pickle.dumps(("found", (_packed(found), printed.getvalue())))


def _found(request: Request) -> Iterator[Found]:
    from checkers import Claim

    from ..kernel import Kernel

    sys.path[:] = request.path
    os.chdir(request.folder)
    if request.named:
        return of_name(request.target, (Claim, Kernel) if request.kernels else Claim, request.seconds)
    return of_file(Path(request.target), Claim, Kernel if request.kernels else None, request.seconds)


def _packed(found: list[Found]) -> bytes:
    """Findings as a pickle, in which what only the user's module has travels by value."""
    from ..campaigns import packed

    with contextlib.suppress(Exception):
        return packed(found)
    kept = []
    for f in found:
        try:
            packed(f)
            kept.append(f)
        except Exception as e:  # whatever a class of the user does when it is pickled
            got = f"{type(e).__name__}: {e}"
            kept.append(Found(f.place, error=f"expected a claim that can be pickled, got {got}"))
    return packed(kept)


IMPORTER = Importer()
atexit.register(IMPORTER.close)
