"""What ``test_child`` runs in child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpu.differential.found import Case
from gpu.errors import DeviceError
from symlayout.errors import LayoutError


def same(x: Any) -> Any:
    print("prints do not disturb")
    return x


def wrong() -> None:
    raise LayoutError("expected this, got that")


def hang(file: str) -> None:
    Path(file).write_text(str(subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid))
    time.sleep(600)


def crash() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    print("the device is gone", file=sys.stderr)
    sys.stderr.flush()
    os._exit(7)


def one_of_many(how: str, number: int) -> tuple[int, int]:
    if how == "raise":
        raise ValueError(number)
    if how == "fault":
        raise DeviceError("an illegal memory access was encountered")
    if how == "crash":
        crash()
    if how == "hang":
        time.sleep(600)
    return number, os.getpid()


def differential_case(packed: bytes, word: str, sizes: dict[str, int], delays: Any, ordinal: int) -> Any:
    """Cases that end in each way, by size."""
    match sizes["N"]:
        case 2:
            raise DeviceError("an illegal memory access was encountered")
        case 3:
            time.sleep(600)
        case 4:
            crash()
    return (Case(word, tuple(sizes.items()), "bits", "same"),), "device", "sm_90a"
