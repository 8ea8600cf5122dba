"""Many jobs at once: on the cores of this machine through joblib, or on the machines of a Dask cluster."""

from __future__ import annotations

import functools
import pickle
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from typing import Any

_turn = threading.Lock()  # expressions are interned per process, so its threads take turns


@dataclass(frozen=True)
class Failed:
    """What stands in the place of a result: the job as text, its error, and where that happened."""

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
    progress: Callable[[int, int], None] | None = None,
) -> list[Any]:
    """The results of *function* on every job, in the order of the jobs, with a Failed where a job raised.

    >>> print(*run(abs, [-3, "four", 5]))
    3 four: TypeError: bad operand type for abs(): 'str' 5

    ``run(checkers.prove, claims)`` gives a report for each claim, ``functools.partial(prove, budget=Budget(...))``
    within a budget. With more *workers* (-1 for all cores), processes of this machine share the jobs; with
    *scheduler*, such as "tcp://host:8786", the workers of a Dask cluster do, which need this version installed and
    one thread each. Jobs and results travel as pickles, which claims, verdicts and reports have. A worker that
    dies costs only the job that killed it. *progress* is called with (done, total) after each job.
    """
    if workers < 1 and workers != -1:
        raise ValueError(f"expected at least 1 worker, or -1 for all cores, got {workers}")
    todo = list(jobs)
    results: list[Any] = [None] * len(todo)
    for done, (i, result) in enumerate(_results(function, todo, workers, scheduler), 1):
        results[i] = result
        if progress is not None:
            progress(done, len(todo))
    return results


def _results(
    function: Callable[[Any], Any], jobs: list[Any], workers: int, scheduler: str | None
) -> Iterator[tuple[int, Any]]:
    """(place, result) of each job, as they end."""
    if workers == 1 and scheduler is None:
        for i, job in enumerate(jobs):
            try:
                yield i, function(job)
            except Exception as e:
                yield i, _failed(job, e)
        return
    packed: dict[int, bytes] = {}
    for i, job in enumerate(jobs):
        try:
            packed[i] = pickle.dumps(job)
        except Exception as e:
            yield i, _failed(job, e)
    ended = _on_cores(function, packed, workers) if scheduler is None else _on_cluster(function, packed, scheduler)
    for i, result in ended:
        yield i, pickle.loads(result) if isinstance(result, bytes) else _failed(jobs[i], result)


def _remote(function: Callable[[Any], Any], i: int, packed: bytes) -> tuple[int, bytes]:
    """One job in a worker: whatever happens comes back as a pickle."""
    job: Any = f"job {i}"
    with _turn:
        try:
            job = pickle.loads(packed)
            return i, pickle.dumps(function(job))
        except Exception as e:
            return i, pickle.dumps(_failed(job, e))


def _failed(job: Any, e: BaseException) -> Failed:
    trace = "".join(traceback.format_exception(e))
    return Failed(str(job), f"{type(e).__name__}: {e}", trace)


def _on_cores(
    function: Callable[[Any], Any], packed: dict[int, bytes], workers: int
) -> Iterator[tuple[int, bytes | BaseException]]:
    from joblib import Parallel, delayed

    waiting = dict(packed)
    while waiting:
        sent: list[int] = []
        try:
            pool = Parallel(n_jobs=workers, return_as="generator_unordered")
            for i, result in pool(_sent(delayed(_remote), function, waiting, sent)):
                del waiting[i]
                yield i, result
        except BrokenExecutor:  # one of those on their way killed its worker: each of them again, alone
            for i in [i for i in sent if i in waiting]:
                data = waiting.pop(i)
                try:
                    yield Parallel(n_jobs=2)([delayed(_remote)(function, i, data)])[0]
                except BrokenExecutor as e:
                    yield i, e


def _sent(task: Any, function: Callable[[Any], Any], waiting: dict[int, bytes], sent: list[int]) -> Iterator[Any]:
    """The waiting jobs as tasks; *sent* remembers those that were taken."""
    for i, data in list(waiting.items()):
        sent.append(i)
        yield task(function, i, data)


def _on_cluster(
    function: Callable[[Any], Any], packed: dict[int, bytes], scheduler: str
) -> Iterator[tuple[int, bytes | BaseException]]:
    try:
        from dask.distributed import Client, as_completed
    except ImportError as e:
        raise ImportError(f"expected Dask for {scheduler}, got none: pip install 'symlayout[cluster]'") from e
    with Client(scheduler, set_as_default=False) as client:
        task = functools.partial(_remote, function)
        futures = client.map(task, list(packed), list(packed.values()), pure=False)
        places = {f.key: i for f, i in zip(futures, packed, strict=True)}
        suspects = []
        for f in as_completed(futures, loop=client.loop):
            if f.status == "finished":
                yield f.result()
            else:
                suspects.append(places[f.key])
        for i in suspects:  # their worker died: each of them again, alone
            f = client.submit(task, i, packed[i], pure=False)
            error = f.exception()
            yield (i, error) if error else f.result()
