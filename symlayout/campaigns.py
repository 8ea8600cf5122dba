"""Many jobs at once: on the cores of this machine through joblib, or on a Dask cluster.

    >>> run(divmod_by_seven, [1, 50], workers=1)
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True)
class Failed:
    """What stands in the place of a result: the job that raised, its error, and where it happened."""

    job: str
    error: str
    trace: str = ""

    def __str__(self) -> str:
        return f"{self.job}: {self.error}"


def run(
    function: Callable[[Any], Any],
    jobs: Iterable[Any],
    workers: int = 1,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> list[Any]:
    """The results of *function* on every job, in the order of the jobs; a Failed where one did not end well.

    >>> run(abs, [-3, "four", 5])
    [3, Failed(job="'four'", error="TypeError: bad operand type for abs(): 'str'", ...), 5]

    With *workers* above 1 (or -1 for all cores), processes of this machine share the jobs; with *scheduler*,
    such as "tcp://host:8786", the workers of a Dask cluster do, where this package must be installed. Jobs and
    results travel as pickles, which all claims and verdicts have; the function may be a
    ``functools.partial(decide, budget=budget)``. *progress* is called with (done, total) after every job.
    A worker that dies takes no job with it but the one that killed it.
    """
    todo = list(jobs)
    results: list[Any] = [None] * len(todo)
    for done, (i, result) in enumerate(_results(function, todo, workers, scheduler), 1):
        results[i] = result
        if progress is not None:
            progress(done, len(todo))
    return results
