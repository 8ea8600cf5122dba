"""The probe as a process: started, asked one case at a time, started again after a fault."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

MAGIC = 0x414D54
CTAS = 8
NUMBERS = 10 + 8 * CTAS
HEAD = struct.Struct(f"<10q{8 * CTAS}Q")

ENCODED, LAUNCHED, RAN = 1, 2, 3  # the last stage that a case reached


class Died(Exception):
    """The process ended or fell silent; the text says how."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One record of the program: ten numbers, eight per CTA, and bytes."""

    id: int
    code: int  # of the encode call
    error: int  # of the launch or of the kernel
    stage: int
    changed: int  # bytes of the target that a store changed
    low: int  # the first of them
    stray: int  # words of the guard that changed
    microseconds: int
    ctas: tuple[tuple[int, ...], ...]  # initial, armed, waited, settled, completed, polls, beyond, at
    payload: bytes


class Child:
    """A running probe; ``ask`` sends one line and waits for its record.

    Raises:
        Died: the process ended or said nothing for ``patience`` seconds.
    """

    def __init__(self, command: Sequence[str], log: IO[bytes], patience: float = 20.0) -> None:
        self.patience = patience
        # one hardware queue: a context is created sooner
        environment = os.environ | {"CUDA_DEVICE_MAX_CONNECTIONS": "1", "CUDA_MODULE_LOADING": "LAZY"}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, bufsize=0, env=environment
        )
        self.ready: Answer | None = None

    def start(self) -> Answer:
        """Wait until the device is set up; the payload describes it."""
        if self.ready is None:
            self.ready = self._answer(4 * self.patience)
        return self.ready

    def ask(self, line: str) -> Answer:
        self.start()
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line.encode() + b"\n")
        except OSError as error:
            raise Died(self._how()) from error
        return self._answer(self.patience)

    def stop(self) -> None:
        """Kill the process without waiting: a context takes a while to go, and the next one need not wait for it."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def _answer(self, patience: float) -> Answer:
        until = time.monotonic() + patience
        numbers = HEAD.unpack(self._read(HEAD.size, until))
        magic, number, code, error, stage, changed, low, length, stray, microseconds = numbers[:10]
        if magic != MAGIC or not 0 <= length <= 1 << 24:
            self.process.kill()
            raise Died(f"expected a record that starts with {MAGIC:#x}, got {magic:#x}")
        ctas = tuple(numbers[10 + 8 * k : 18 + 8 * k] for k in range(CTAS))
        payload = self._read(length, until) if length else b""
        return Answer(number, code, error, stage, changed, low, stray, microseconds, ctas, payload)

    def _read(self, count: int, until: float) -> bytes:
        assert self.process.stdout is not None
        handle, parts = self.process.stdout.fileno(), []
        while count:
            ready, _, _ = select.select([handle], [], [], max(0.0, until - time.monotonic()))
            if not ready:
                self.process.kill()
                raise Died("said nothing in time")
            part = os.read(handle, min(count, 1 << 20))
            if not part:
                raise Died(self._how())
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _how(self) -> str:
        try:
            status = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "closed its output"
        return f"signal {-status}" if status < 0 else f"exit status {status}"
