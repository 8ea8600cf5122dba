"""The conditions of a device during a kernel: clocks, power and temperature, from nvidia-smi if it is installed.

>>> print(Conditions(sm_mhz=1980, memory_mhz=3201, watts=412.5, celsius=45))
SM 1980 MHz, memory 3201 MHz, 412.5 W, 45 C
>>> bool(Conditions())
False
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

from .device import Device
from .processes import run

LIMIT_S = 5.0
QUERY = "clocks.sm,clocks.mem,power.draw,temperature.gpu"


@dataclass(frozen=True)
class Conditions:
    """Clocks in MHz, power in watts, temperature in degrees; None where nobody says. True where one is known."""

    sm_mhz: float | None = None
    memory_mhz: float | None = None
    watts: float | None = None
    celsius: float | None = None

    def __bool__(self) -> bool:
        return any(x is not None for x in (self.sm_mhz, self.memory_mhz, self.watts, self.celsius))

    def __str__(self) -> str:
        rows = (("SM ", self.sm_mhz, " MHz"), ("memory ", self.memory_mhz, " MHz"), ("", self.watts, " W"),
                ("", self.celsius, " C"))  # fmt: skip
        return ", ".join(f"{head}{x:g}{unit}" for head, x, unit in rows if x is not None) or "unknown"


def conditions(device: Device) -> Conditions:
    """Conditions of a device now; unknown if nvidia-smi is missing, fails or takes more than 5 seconds."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return Conditions()
    command = [program, f"--query-gpu={QUERY}", "--format=csv,noheader,nounits", "-i", device.driver.bus_id()]
    try:
        ended = run(command, limit_s=LIMIT_S)
    except (OSError, subprocess.TimeoutExpired):
        return Conditions()
    return Conditions(*map(_number, read(ended.output.decode(errors="replace")))) if ended.status == 0 else Conditions()


def read(text: str) -> tuple[str, ...]:
    """The fields of the first line.

    >>> read("1980, 3201, 412.51, 45\\n")
    ('1980', '3201', '412.51', '45')
    """
    first = text.splitlines()[0] if text else ""
    return tuple(x.strip() for x in first.split(","))[: len(QUERY.split(","))]


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:  # "[N/A]"
        return None
