"""Claims judged one after the other or by many processes, each as soon as it is known, in the order of the claims."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import InternalError, SymlayoutError
from ..facts.scope import Phrase, usual
from ..finding.found import Found
from .report import Report, Verdict


class NoWorkers(SymlayoutError):
    """The processes or the cluster that claims were to be shared with cannot be had."""


@dataclass(frozen=True)
class Manner:
    """Settings for judging claims: seconds for a solver query, a folder for open queries, a cache, workers."""

    budget_s: float | None = None
    dump_smt: Path | None = None
    cache_file: Path | None = None
    jobs: int = 1
    scheduler: str | None = None

    @property
    def shared(self) -> bool:
        """Whether other processes do the work."""
        return self.jobs != 1 or self.scheduler is not None

    def budget(self) -> Any:
        """The budget of each claim."""
        from checkers import Budget

        parts: dict[str, Any] = {"dump_smt": str(self.dump_smt or "")}
        if self.budget_s is not None:
            parts["solver_ms"] = max(1, int(self.budget_s * 1000))
        return Budget(**parts)


@dataclass
class Judged:
    """Results so far: reports in the order of the claims, and errors for texts that cannot be judged."""

    verdicts: list[Verdict] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    usual: dict[str, None] = field(default_factory=dict)  # the names of sizes of the usual range
    sizes: dict[str, None] = field(default_factory=dict)  # other ranges, each with its place
    assumed: dict[str, None] = field(default_factory=dict)
    errors: list[Found] = field(default_factory=list)

    def add(self, report: Report) -> None:
        self.verdicts += report.verdicts
        self.notes += report.notes
        place = next((f" ({v.place})" for v in report.verdicts if str(v.place)), "")
        for x in report.sizes:
            if isinstance(x, Phrase) and x.usual:
                self.usual |= dict.fromkeys(x.names)
            else:
                self.sizes[f"{x}{place}"] = None
        self.assumed |= dict.fromkeys(f"{x}{place}" for x in report.assumed)

    @property
    def report(self) -> Report:
        phrases = [usual(self.usual)] if self.usual else []
        sizes, assumed = (*phrases, *self.sizes), tuple(self.assumed)
        return Report(tuple(self.verdicts), notes=tuple(self.notes), sizes=sizes, assumed=assumed)


def judged(
    found: Iterable[Found],
    manner: Manner,
    into: Judged,
    working: Callable[[str], Any],
    progress: Callable[[int], Any],
) -> Iterator[tuple[Found, Report]]:
    """Each claim and its report, in order; *into* collects them and what goes wrong.

    *working* and *progress* are context managers for the terminal: the claim at hand, and how many of so many are
    done. Raises NoWorkers where there are none to share the claims with.
    """
    each = _elsewhere(found, manner, into, progress) if manner.shared else _here(found, manner, into, working)
    for f, report in each:
        into.add(report)
        yield f, report


def _here(
    found: Iterable[Found], manner: Manner, into: Judged, working: Callable[[str], Any]
) -> Iterator[tuple[Found, Report]]:
    from checkers.cache import Cache

    judge = Judge(manner.budget(), Cache(manner.cache_file) if manner.cache_file is not None else None)
    for f in found:
        if f.error:
            into.errors.append(f)
            continue
        with working(f"{f.place} {f.place.name}"):
            report = _tried(f, judge, into)
        if report is not None:
            yield f, report


def _tried(f: Found, judge: Judge, into: Judged) -> Report | None:
    """The report on one claim; a claim that cannot be judged is an error, never a verdict."""
    try:
        return _placed(judge(f.claim), f)
    except InternalError:
        raise
    except (SymlayoutError, RecursionError, MemoryError, OverflowError) as e:
        message = str(e) or type(e).__name__
    except (TypeError, ValueError, IndexError, ArithmeticError) as e:  # parts that do not fit each other
        message = f"expected a claim that can be judged, got {type(e).__name__}: {e}"
    into.errors.append(Found(f.place, error=f"{f.place.name}: {message}"))
    return None


def _placed(report: Report, found: Found) -> Report:
    return replace(report, verdicts=tuple(v.placed(found.place) for v in report.verdicts))


@dataclass(frozen=True)
class Judge:
    """``prove`` within a budget, as a value that travels; with a cache where one is given."""

    budget: Any
    cache: Any = None

    def __call__(self, claim: Any) -> Report:
        from checkers import prove

        return prove(claim, budget=self.budget, cache=self.cache)


@dataclass(frozen=True)
class Work:
    """A worker's result for a claim: the report, and the rows for the cache that it has found.

    A worker has no file to keep verdicts in: one process alone writes the cache.
    """

    budget: Any

    def __call__(self, claim: Any) -> tuple[Report, tuple[tuple[str, str], ...]]:
        from checkers.cache import Rows

        rows = Rows()
        return Judge(self.budget, rows)(claim), tuple(rows.new.items())


def _elsewhere(
    found: Iterable[Found], manner: Manner, into: Judged, progress: Callable[[int], Any]
) -> Iterator[tuple[Found, Report]]:
    """Claims shared among the processes of this machine, or the workers of a Dask cluster."""
    from checkers.cache import Cache

    from ..campaigns import Failed

    cache = Cache(manner.cache_file) if manner.cache_file is not None else None
    claims: list[Found] = []
    for f in found:
        (into.errors if f.error else claims).append(f)
    done: dict[int, Report | None] = {}
    if cache is not None:
        done.update((i, r) for i, f in enumerate(claims) if (r := _remembered(f, manner, cache)) is not None)
    left = [i for i in range(len(claims)) if i not in done]
    with progress(len(claims)) as step:
        step(len(done))
        yield from (shown := _InOrder(claims, done)).ready()
        for j, result in _by_workers([claims[i].claim for i in left], manner):
            f = claims[left[j]]
            done[left[j]] = None
            if isinstance(result, Failed):
                into.errors.append(Found(f.place, error=f"{f.place.name}: {result.error}"))
            else:
                report, rows = result
                done[left[j]] = _placed(report, f)
                if cache is not None:
                    cache.keep(rows)
            step(len(done))
            yield from shown.ready()


def _by_workers(claims: list[Any], manner: Manner) -> Iterator[tuple[int, Any]]:
    """(place, result) of each claim as it ends. Raises NoWorkers."""
    from ..campaigns import each

    try:
        yield from each(Work(manner.budget()), claims, manner.jobs, manner.scheduler)
    except (ValueError, ImportError, OSError) as e:
        raise NoWorkers(str(e)) from e


def _remembered(f: Found, manner: Manner, cache: Any) -> Report | None:
    """The report on a claim where the cache has all of it."""
    from checkers.cache import Missing, Remembered

    try:
        return _placed(Judge(manner.budget(), Remembered(cache))(f.claim), f)
    except InternalError:
        raise
    except (Missing, SymlayoutError, RecursionError, MemoryError, TypeError, ValueError, LookupError, ArithmeticError):
        return None  # a worker says what is wrong with it


class _InOrder:
    """The reports that are known, in the order of the claims: those before the first that is not."""

    def __init__(self, claims: list[Found], done: dict[int, Report | None]) -> None:
        self.claims, self.done, self.shown = claims, done, 0

    def ready(self) -> Iterator[tuple[Found, Report]]:
        while self.shown in self.done:
            f, report = self.claims[self.shown], self.done[self.shown]
            self.shown += 1
            if report is not None:
                yield f, report
