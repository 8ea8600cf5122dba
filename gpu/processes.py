"""One command with a time limit: no shell, and nothing that it started outlives it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

GRACE_S = 5.0  # between the kill of a process group and giving up on it


class Ended(NamedTuple):
    """The end of a command: its exit status (-N: by signal N) and its output."""

    status: int
    output: bytes
    said: str


def run(
    command: Sequence[str],
    *,
    limit_s: float,
    given: bytes = b"",
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Run a command to its end, with *given* as its standard input.

    >>> run(["echo", "hello"], limit_s=10).output
    b'hello\\n'

    Raises OSError where the command cannot start, and subprocess.TimeoutExpired after *limit_s* seconds, when it and
    all that it started have been killed.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=None if environment is None else dict(environment),
        start_new_session=True,
    ) as process:
        try:
            output, said = process.communicate(given, timeout=limit_s)
        except BaseException:
            kill_group(process)
            raise
    return Ended(process.returncode, output, said.decode(errors="replace"))


def kill_group(process: subprocess.Popen[bytes]) -> bool:
    """Kill a process that leads its own session, with all that it started. False where it did not end in time.

    A process inside a call of the driver may take a while to go; after GRACE_S it is left to the system.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # a system without process groups
            process.kill()
    try:
        process.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def python_environment() -> dict[str, str]:
    """The environment in which a child interpreter imports what this one does."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}
