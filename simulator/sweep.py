"""Schedules ranked before anyone writes CUDA: each point of some axes is built, simulated and, if wanted, proved.

>>> from symlayout.kernels.families import family
>>> axes = {"chunk": [2048, 65536], "slots": [1, 2, 4], "blocks": [132]}
>>> found = sweep(family("bulk_copy"), {"N": [1 << 20]}, axes)
>>> [row.options["slots"] for row in found.ranked], [len(rows) for rows in found.excluded.values()]
(['4', '2', '1'], [3])

A point that cannot be built, or that the simulator refuses, is excluded with the reason. ``legal`` is asked about the
others: about the *best* fastest and about the Pareto front, until all of these are legal. A prover takes longer than a
simulation, and what is slow is of no interest anyway.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from symlayout import campaigns
from symlayout.errors import SymlayoutError, unread
from symlayout.kernel import Kernel
from symlayout.kernels.families import Family, shown

from .engine import SimulationError
from .machine import H200, LackingError, Machine, MachineError
from .simulate import CACHES, simulate

MAX_POINTS = 100_000
BEST = 10
LEGAL = "legal"
FIRST = '{"options"'  # how the line of a row begins
KINDS = {  # what a row of a file holds
    **dict.fromkeys(("options", "sizes"), (dict,)),
    **dict.fromkeys(("seconds", "busy"), (int, float)),
    **dict.fromkeys(("shared_bytes", "threads", "ctas"), (int,)),
    **dict.fromkeys(("busiest", "key", "why", "legal"), (str,)),
}
Legal = Callable[[Kernel, Mapping[str, int]], str]


@dataclass(frozen=True)
class Point:
    """A schedule of a family at sizes: options as values."""

    options: tuple[tuple[str, Any], ...]
    sizes: tuple[tuple[str, int], ...]

    def __str__(self) -> str:
        return " ".join(f"{k}={shown(x)}" for k, x in (*self.sizes, *self.options))


@dataclass(frozen=True)
class Setting:
    """What the schedules of a sweep are launched on, and as what: *cache* and *sustained* as in simulate()."""

    machine: Machine = H200
    cache: str = "cold"
    sustained: bool = False


@dataclass(frozen=True)
class Row:
    """What came of a point. Where *why* says why it is excluded, the numbers are 0.

    *legal* is "legal" where that was asked and holds, "" where it was not asked.
    """

    options: Mapping[str, str]
    sizes: Mapping[str, int]
    seconds: float = 0.0
    shared_bytes: int = 0
    threads: int = 0
    ctas: int = 0
    busiest: str = ""
    busy: float = 0.0
    key: str = ""
    why: str = ""
    legal: str = ""

    @property
    def costs(self) -> tuple[float, int, int]:
        """What is better if it is less: time, shared memory of a CTA, threads of a CTA."""
        return self.seconds, self.shared_bytes, self.threads

    @property
    def rank(self) -> tuple[Any, ...]:
        """What rows are sorted by: their costs, then their options."""
        return *self.costs, sorted(self.sizes.items()), sorted(self.options.items())

    @property
    def reason(self) -> str:
        """Why it is excluded, without the numbers of this point."""
        return re.sub(r"\d[\d.]*", "#", self.why)


@dataclass(frozen=True)
class Sweep:
    """The rows of a sweep, and where it was for."""

    kernel: str
    machine: str
    rows: tuple[Row, ...]
    found_before: int = 0  # of the rows, in the file that the sweep resumed from
    axes: tuple[str, ...] = field(default=())  # the names that take more than one value

    @property
    def ranked(self) -> list[Row]:
        """The rows that are not excluded, the fastest first; of equal ones that with less shared memory."""
        return sorted((r for r in self.rows if not r.why), key=lambda r: r.rank)

    @property
    def excluded(self) -> dict[str, list[Row]]:
        """The excluded rows by reason, the most frequent first."""
        found: dict[str, list[Row]] = {}
        for r in self.rows:
            if r.why:
                found.setdefault(r.reason, []).append(r)
        return dict(sorted(found.items(), key=lambda x: -len(x[1])))

    @property
    def pareto(self) -> list[Row]:
        """The rows that no other row is better than in time, shared memory or threads and as good in the others."""
        return _front(self.ranked)


def _front(ranked: Iterable[Row]) -> list[Row]:
    """Of rows by their costs, those that none before is at least as good as in all, at the same sizes."""
    front: list[Row] = []
    for r in ranked:
        same_sizes = (f for f in front if f.sizes == r.sizes)
        if not any(all(a <= b for a, b in zip(f.costs, r.costs, strict=True)) for f in same_sizes):
            front.append(r)
    return front


def sweep(
    family: Family,
    sizes: Mapping[str, Sequence[int]],
    axes: Mapping[str, Sequence[Any]],
    *,
    machine: Machine = H200,
    cache: str = "cold",
    sustained: bool = False,
    legal: Legal | None = None,
    best: int | None = BEST,
    workers: int = 1,
    scheduler: str | None = None,
    resume: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Sweep:
    """Simulate each combination of sizes and options of a family.

    *legal* takes a kernel for all sizes, and sizes, and says why it must not be used at these, or "". It and the
    family travel to *workers*, or to the workers of a Dask *scheduler*. With *best* None it is asked about every point.
    *cache* and *sustained* are those of simulate(). *resume* is a file in which rows are kept by content (kernel,
    sizes, machine, how it is launched, version of the simulator) and looked up before a simulation. Raises
    SimulationError for axes that are none, or of too many points, and MachineError for a machine without a number that
    a point needs, or without instructions that all of them need.
    """
    _expect_sweep(family, machine, cache, best)
    sizes = {k: sizes[k] for k in family.dims if k in sizes} | dict(sizes)
    axes = {k: axes[k] for k in family.options if k in axes} | dict(axes)
    todo = points(family, sizes, axes)
    store = _Store(None if resume is None else Path(resume))
    work = functools.partial(predicted, family, Setting(machine, cache, sustained), store.known)
    rows: list[Row] = [Row({}, {})] * len(todo)
    before = lacking = 0
    for done, (i, found) in enumerate(campaigns.each(work, todo, workers, scheduler), 1):
        row, was_known = (_excluded(todo[i], found.error), False) if isinstance(found, campaigns.Failed) else found
        if isinstance(row, LackingError) and (lacking := lacking + 1) < len(todo):
            row = _excluded(todo[i], str(row))
        if isinstance(row, MachineError):
            raise row
        before += was_known
        rows[i] = row
        if not was_known:
            store.keep(row)
        if progress is not None:
            progress(done, len(todo))
    if legal is not None:
        rows = _asked(family, rows, legal, best, workers, scheduler)
    several = tuple(k for k, values in (*sizes.items(), *axes.items()) if len(values) > 1)
    return Sweep(family.name, machine.name, tuple(rows), before, several)


def _expect_sweep(family: Family, machine: Machine, cache: str, best: int | None) -> None:
    """Raise SimulationError for what no sweep takes."""
    if not isinstance(family, Family) or not isinstance(machine, Machine):
        got = f"{type(family).__name__} and {type(machine).__name__}"
        raise SimulationError(f"expected a family such as family('gemm'), and a machine such as H200, got {got}")
    if cache not in CACHES:
        raise SimulationError(f"expected a cache of {' or '.join(CACHES)}, got {cache!r}")
    if best is not None and best < 1:
        raise SimulationError(f"expected at least 1 as the best to ask about, or None for all, got {best}")


def points(family: Family, sizes: Mapping[str, Sequence[int]], axes: Mapping[str, Sequence[Any]]) -> list[Point]:
    """All combinations, the last axis the fastest. Raises SimulationError."""
    for name, known, what in (
        *((n, family.dims, "size") for n in sizes),
        *((n, tuple(family.options), "option") for n in axes),
    ):
        if name not in known:
            raise SimulationError(f"expected {what}s of {family.name} ({', '.join(known)}), got {name!r}")
    missing = [n for n in family.dims if n not in sizes]
    if missing:
        raise SimulationError(f"expected all sizes of {family.name}, got none for {', '.join(missing)}")
    for name, values in (*sizes.items(), *axes.items()):
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise SimulationError(f"expected a list of values of {name}, got {values!r}")
    empty = [n for n, values in (*sizes.items(), *axes.items()) if not values]
    if empty:
        raise SimulationError(f"expected at least one value of {empty[0]}, got none")
    count = 1
    for values in (*sizes.values(), *axes.values()):
        count *= len(values)
    if count > MAX_POINTS:
        raise SimulationError(f"expected at most {MAX_POINTS} points, got {count}")
    return [
        Point(tuple(zip(axes, chosen, strict=True)), tuple(zip(sizes, at, strict=True)))
        for at in itertools.product(*sizes.values())
        for chosen in itertools.product(*axes.values())
    ]


def predicted(
    family: Family, setting: Setting, known: Callable[[str], Row | None], point: Point
) -> tuple[Row | MachineError, bool]:
    """The row of a point, or what the machine does not have, and whether it was known before."""
    told, sizes = {k: shown(x) for k, x in point.options}, dict(point.sizes)
    try:
        bound = family.build(**dict(point.options)).bind(**sizes)
        key = _key(bound, setting)
        found = known(key)
        if found is not None:
            return replace(found, options=told, sizes=sizes), True
        trace = simulate(
            bound,
            setting.machine,
            cache=setting.cache,
            sustained=setting.sustained,
            what_if=False,
            uncertainty=False,
        )
    except MachineError as e:
        return e, False
    except SymlayoutError as e:
        return Row(told, sizes, why=str(e)), False
    busiest = max(trace.uses, key=lambda u: u.utilisation)
    shared, ctas = int(bound.shared_bytes), 1
    for n in bound.grid:
        ctas *= int(n)
    return Row(
        told, sizes, trace.seconds, shared, bound.threads, ctas, busiest.name, round(busiest.utilisation, 4), key
    ), False


def _excluded(point: Point, why: str) -> Row:
    return Row({k: shown(x) for k, x in point.options}, dict(point.sizes), why=why)


# -- legality ----------------------------------------------------------------------------------------------------


def _asked(
    family: Family, rows: list[Row], legal: Legal, best: int | None, workers: int, scheduler: str | None
) -> list[Row]:
    """The rows with what *legal* says about them: about all, or the fastest first until enough are legal."""
    ask = functools.partial(_says, family, legal)
    places = {id(r): k for k, r in enumerate(rows)}
    ranked = sorted((r for r in rows if not r.why), key=lambda r: r.rank)
    while todo := _open(ranked, best):
        said = campaigns.run(ask, todo, workers, scheduler)
        answers = {id(r): x.error if isinstance(x, campaigns.Failed) else x for r, x in zip(todo, said, strict=True)}
        for k, r in enumerate(ranked):
            if id(r) in answers:
                why = answers[id(r)]
                new = replace(r, why=why) if why else replace(r, legal=LEGAL)
                ranked[k] = rows[places[id(r)]] = new
                places[id(new)] = places.pop(id(r))
        ranked = [r for r in ranked if not r.why]
    return rows


def _open(ranked: list[Row], best: int | None) -> list[Row]:
    """The rows to ask about next: of the fastest ones, and of the Pareto front, those that were not asked about."""
    wanted = [*ranked[:best], *([] if best is None else _front(ranked))]
    return list({id(r): r for r in wanted if not r.legal}.values())


def _says(family: Family, legal: Legal, row: Row) -> str:
    why = legal(family.build(**{k: family.read(k, text) for k, text in row.options.items()}), row.sizes)
    if why and not isinstance(why, str):
        raise SimulationError(f"expected why a kernel must not be used, or '', got {why!r}")
    return why or ""


# -- resuming ----------------------------------------------------------------------------------------------------


@functools.cache
def _version() -> str:
    """A digest of the simulator's source: another version may predict other times."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(f.read_bytes() for f in files)).hexdigest()[:16]


@functools.lru_cache(8)
def _numbers(machine: tuple[tuple[str, float, str], ...]) -> str:
    return hashlib.sha256(repr(machine).encode()).hexdigest()[:16]


def _key(bound: Kernel, setting: Setting) -> str:
    machine = setting.machine
    numbers = _numbers(tuple(sorted((n.name, n.value, n.unit) for n in machine.numbers.values())))
    has = f"{machine.compute_capability} {machine.lacks}"
    how = f"{setting.cache} {setting.sustained}"
    return hashlib.sha256(f"{bound.digest} {numbers} {has} {how} {_version()}".encode()).hexdigest()[:32]


@functools.lru_cache(4)
def _rows_of(path: Path) -> dict[str, Row]:
    """The rows of a file by key. The last line may be cut off, where a sweep was killed."""
    if not path.exists():
        return {}
    found = dict[str, Row]()
    if not path.is_file():
        raise SimulationError(f"expected rows of a sweep in {path}, got no regular file")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as e:
        raise SimulationError(f"expected rows of a sweep in {path}, got {unread(e)}") from e
    lines = text.splitlines()
    if text and not text.endswith("\n") and lines[-1].startswith(FIRST):
        lines.pop()
    for number, line in enumerate(lines, 1):
        row = _row(line)
        if row is None:
            raise SimulationError(f"expected rows of a sweep in {path}, got line {number}: {line[:80]!r}")
        found[row.key] = row
    return found


def _row(line: str) -> Row | None:
    """The row of a line, or None for a line of something else."""
    try:
        row = Row(**json.loads(line))
    except (ValueError, TypeError):
        return None
    right = all(type(getattr(row, name)) in kinds for name, kinds in KINDS.items())
    return row if right and 0 < row.seconds < float("inf") and not row.why else None


@dataclass(frozen=True)
class _Known:
    """Looks keys up in a file, which each worker reads once."""

    path: Path | None

    def __call__(self, key: str) -> Row | None:
        return _rows_of(self.path).get(key) if self.path else None


class _Store:
    """The file in which rows are kept as they come."""

    def __init__(self, path: Path | None) -> None:
        _rows_of.cache_clear()
        self.path, self.known = path, _Known(path)
        if path is not None:
            _rows_of(path)  # a file of something else is refused before any work
            if path.exists() and not (whole := path.read_bytes()).endswith(b"\n"):
                path.write_bytes(whole[: whole.rfind(b"\n") + 1])  # of a sweep that was killed

    def keep(self, row: Row) -> None:
        if self.path is not None and row.key:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(asdict(row))}\n")


__all__ = ["Legal", "Point", "Row", "Setting", "Sweep", "points", "predicted", "sweep"]
