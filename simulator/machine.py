"""Machines as data: each number with its unit, its grade, its source and its uncertainty.

>>> print(H200["mbarrier_wait"])
mbarrier_wait = 53.125 cycles, measured, +-2 %: M9: a wait for a phase that is over; residual 0.0 % of 21 points
>>> H200.ps("mbarrier_wait"), H200.ps("dram_latency")
(26855, 203120)
>>> H200.replacing(dram_rate=4800)["dram_rate"].grade
'given'

The rows stand in ``simulator/machines``; a file may name one of them as its *base*.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from symlayout.errors import unread

from .engine import NS, SimulationError

FOLDER = Path(__file__).parent / "machines"
GRADES = ("measured", "documented", "guessed", "given")
TIMES, RATES = ("cycles", "ns"), ("B/cycle", "B/ns")
UNITS = (*TIMES, *RATES, "GHz", "bytes", "count", "part", "W", "pJ/B", "pJ/FLOP")
# What a number may be at most: a second, and what is far above every chip; a rate or a clock has a least one too.
MOST = {**dict.fromkeys(TIMES, 1e9), "bytes": 2.0**53, "count": 2.0**31, "part": 1.0}
MOST_OF_OTHERS, LEAST_RATE = 1e9, 1e-4
# The clock of SMs that multiply, where their tensor cores are hardly busy, and the part of it that a busy one costs.
WGMMA_CLOCK, WGMMA_CLOCK_FALL, CLOCK_DIGITS = "wgmma_clock", "wgmma_clock_fall", 5


@dataclass(frozen=True)
class Number:
    """A number of a machine; *uncertainty* is half the width of its range, relative to it.

    *of* is the machine whose number it is, where that is another one: grade and source are those there.
    """

    name: str
    value: float
    unit: str
    grade: str
    source: str
    uncertainty: float = 0.0
    of: str = ""

    def __post_init__(self) -> None:
        for what, got, known in (("unit", self.unit, UNITS), ("grade", self.grade, GRADES)):
            if got not in known:
                raise SimulationError(f"expected a {what} of {', '.join(known)} for {self.name}, got {got!r}")
        for what, text in (("source", self.source), ("machine", self.of)):
            if type(text) is not str:
                raise SimulationError(f"expected the {what} of {self.name} as text, got {text!r}")
        if not _is_number(self.value) or not 0 < self.value < float("inf"):
            raise SimulationError(f"expected a number above 0 for {self.name}, got {self.value!r} {self.unit}")
        least = LEAST_RATE if self.unit in (*RATES, "GHz") else 0.0
        most = MOST.get(self.unit, MOST_OF_OTHERS)
        if not least <= self.value <= most:
            wanted = f"{least:g} to {most:g} {self.unit}"
            raise SimulationError(f"expected {wanted} for {self.name}, got {self.value:g} {self.unit}")
        if not _is_number(self.uncertainty) or not 0 <= self.uncertainty < 1:
            raise SimulationError(f"expected an uncertainty of {self.name} from 0 to 1, got {self.uncertainty!r}")

    def __str__(self) -> str:
        where = f"{self.of}: {self.source}" if self.of else self.source
        return f"{self.name} = {self.value:g} {self.unit}, {self.grade}, +-{100 * self.uncertainty:g} %: {where}"


class MachineError(SimulationError):
    """A machine without a number that a kernel needs, or with one of another unit."""


class LackingError(MachineError):
    """A machine without instructions that a kernel needs: other kernels of the family may do without."""


def _is_number(x: object) -> bool:
    return type(x) in (int, float)


@dataclass(frozen=True)
class Machine:
    """A machine by its numbers. Time is in picoseconds; cycles are those of the SM clock."""

    name: str
    numbers: Mapping[str, Number] = field(repr=False)
    compute_capability: tuple[int, int] = (9, 0)  # which instructions it has
    lacks: tuple[str, ...] = ()  # how the words of further instructions begin that it does not have

    def __getitem__(self, key: str) -> Number:
        found = self.numbers.get(key)
        if found is None:
            how = 'add it to its file, or say base = "h200" in its first line'
            raise MachineError(f"expected a number {key!r} of {self.name}, got none; {how}")
        return found

    def count(self, key: str) -> int:
        """A number of things or of bytes."""
        found = self._of(key, ("count", "bytes")).value
        if found != int(found):
            raise MachineError(f"expected a whole number of {key} of {self.name}, got {found}")
        return int(found)

    def share(self, key: str) -> float:
        """A part of something, 0 to 1."""
        return self._of(key, ("part",)).value

    @property
    def cycle(self) -> float:
        """Picoseconds of a cycle."""
        return NS / self._of("sm_clock", ("GHz",)).value

    def exact(self, key: str) -> float:
        """Picoseconds of a duration, or of a byte at a rate, before rounding."""
        row = self._of(key, (*TIMES, *RATES))
        unit = self.cycle if row.unit in ("cycles", "B/cycle") else NS
        return row.value * unit if row.unit in TIMES else unit / row.value

    def ps(self, key: str, times: float = 1) -> int:
        """Picoseconds of so many times a duration."""
        self._of(key, TIMES)
        return round(self.exact(key) * times)

    def transfer(self, key: str, nbytes: float) -> int:
        """Picoseconds that some bytes take at a rate."""
        self._of(key, RATES)
        return round(self.exact(key) * nbytes)

    def power(self, key: str) -> float:
        """Picoseconds for which a byte, or an operation, takes up the power that is not drawn in any case."""
        free = self._of("power_limit", ("W",)).value - self._of("power_static", ("W",)).value
        if free <= 0:
            raise MachineError(f"expected a power_limit of {self.name} above its power_static, got {free} W more")
        return self._of(key, ("pJ/B", "pJ/FLOP")).value / free

    def replacing(self, **values: float) -> Machine:
        """The machine with other values. Raises SimulationError for a number that it does not have."""
        unknown = next((k for k in values if k not in self.numbers), None)
        if unknown is not None:
            hint = _near(unknown, self.numbers)
            raise SimulationError(f"expected a number {unknown!r} of {self.name}, got none{hint}")
        new = {k: replace(self[k], value=x, grade="given", source="given", uncertainty=0.0) for k, x in values.items()}
        return replace(self, numbers={**self.numbers, **new})

    def inherited(self, by: str, least: float = 0.0) -> dict[str, Number]:
        """Its numbers as those of the machine *by* that is not known better: times and rates are at least so uncertain.

        >>> machine("a100")["alu_latency"].of, machine("a100")["sm_clock"].of
        ('NVIDIA H200', '')
        """
        own = self.name if by != self.name else ""
        found = {k: replace(n, of=n.of or own) for k, n in self.numbers.items()}
        unsure = [n for n in found.values() if n.unit in (*TIMES, *RATES) and n.uncertainty < least]
        return {**found, **{n.name: replace(n, uncertainty=least) for n in unsure}}

    def less_certain(self, **by: str) -> Machine:
        """The machine with numbers that are at least as uncertain as others say, which are parts, if it has them.

        >>> H200.less_certain(sm_clock="product_clock_spread")["sm_clock"].uncertainty
        0.056
        """
        known = {k: self.share(other) for k, other in by.items() if other in self.numbers}
        new = {k: replace(self[k], uncertainty=max(self[k].uncertainty, u)) for k, u in known.items()}
        return replace(self, numbers={**self.numbers, **new})

    def multiplying(self, use: float = 1.0) -> Machine:
        """The machine while its tensor cores are busy for a part of the time: its SMs have another clock then, at most.

        It falls with the square of that part (M30). A machine without such a clock stays as it is.

        >>> H200["sm_clock"].value, H200.multiplying(0.0)["sm_clock"].value, H200.multiplying(0.9)["sm_clock"].value
        (1.9782, 1.7924, 1.64848)
        """
        other, own = self.numbers.get(WGMMA_CLOCK), self.numbers.get("sm_clock")
        if other is None or own is None:
            return self
        falls = self.share(WGMMA_CLOCK_FALL) if WGMMA_CLOCK_FALL in self.numbers else 0.0
        clock = round(other.value * (1 - falls * use * use), CLOCK_DIGITS)
        if own.value <= clock:
            return self
        rest = {k: n for k, n in self.numbers.items() if k not in (WGMMA_CLOCK, WGMMA_CLOCK_FALL)}
        return replace(self, numbers={**rest, "sm_clock": replace(other, name="sm_clock", value=clock)})

    def _of(self, key: str, units: tuple[str, ...]) -> Number:
        row = self[key]
        if row.unit not in units:
            raise MachineError(f"expected {key} of {self.name} in {' or '.join(units)}, got {row.unit}")
        return row


def load(path: str | Path) -> Machine:
    """The machine of a TOML file. Raises SimulationError for a file that is none."""
    path = Path(path)
    try:
        rows: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as e:
        raise SimulationError(f"expected a machine as TOML in {path}, got {unread(e)}") from e
    base, name = rows.pop("base", None), rows.pop("name", path.stem)
    of = machine(base) if base is not None else Machine(name, {})
    apart = rows.pop("base_uncertainty", 0.0)
    capability, lacks = rows.pop("compute_capability", list(of.compute_capability)), rows.pop("lacks", list(of.lacks))
    if type(name) is not str:
        raise SimulationError(f"expected a name as text in {path}, got {name!r}")
    if type(lacks) is not list or any(type(word) is not str for word in lacks):
        raise SimulationError(f"expected a list of words of instructions that {name} lacks in {path}, got {lacks!r}")
    if type(capability) is not list or [type(n) for n in capability] != [int, int]:
        raise SimulationError(f"expected a compute_capability such as [9, 0] in {path}, got {capability!r}")
    if not _is_number(apart) or not 0 <= apart < 1:
        raise SimulationError(f"expected a base_uncertainty from 0 to 1 in {path}, got {apart!r}")
    if path.parent != FOLDER:
        _expect_known(rows, path)
    numbers = of.inherited(name, apart)
    for key, row in rows.items():
        try:
            numbers[key] = Number(key, **row)
        except TypeError as e:
            raise SimulationError(f"expected value, unit, grade and source of {key} in {path}, got {row}") from e
    return Machine(name, numbers, (capability[0], capability[1]), tuple(lacks))


def _expect_known(keys: Iterable[str], path: Path) -> None:
    """Raise SimulationError for a number that no machine has: nothing would ask for it."""
    known = H200.numbers
    unknown = next((key for key in keys if key not in known), None)
    if unknown is not None:
        raise SimulationError(f"expected numbers that the model has in {path}, got {unknown!r}{_near(unknown, known)}")


def _near(name: str, known: Iterable[str]) -> str:
    """A hint at what was meant."""
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else "; symlayout machines h200 lists them"


def machines() -> tuple[str, ...]:
    """The names of the machines that there are files of."""
    return tuple(sorted(p.stem for p in FOLDER.glob("*.toml")))


def machine(name: str) -> Machine:
    """The machine of a name.

    >>> machine("h300")
    Traceback (most recent call last):
        ...
    simulator.engine.SimulationError: expected a machine (a100, h100_sxm, h200, mi300x), got 'h300'
    """
    if name not in machines():
        raise SimulationError(f"expected a machine ({', '.join(machines())}), got {name!r}")
    return load(FOLDER / f"{name}.toml")


def like(device: str) -> Machine | None:
    """The machine of the model that a device names itself, or None: the word with a number behind its maker.

    >>> print(like("NVIDIA H100 80GB HBM3").name, like("NVIDIA GeForce RTX 4090"), sep=", ")
    NVIDIA H100 SXM, None
    """
    words = device.split()
    return next((one for one in map(machine, machines()) if one.name.split()[1] in words), None)


H200 = machine("h200")
