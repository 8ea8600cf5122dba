"""Many jobs at once: on the cores of this machine through joblib, or on the machines of a Dask cluster."""

from __future__ import annotations

import collections
import contextlib
import functools
import os
import pickle
import queue
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from typing import Any

from .process import prepare

_turn = threading.Lock()  # expressions are interned per process, so its threads take turns
CONNECT_SECONDS = 2.0  # a scheduler that does not answer within this is not there
WATCH_SECONDS = 0.5  # how often a worker looks whether its parent is alive, and this one whether a cluster is
WORKERS_SECONDS = 30.0  # a cluster may start its workers again, but is not without any for so long
LIMIT_SECONDS = 3600.0  # jobs of which none has ended for so long are taken to hang


@dataclass(frozen=True)
class Failed:
    """A failed job, in the place of its result: the job as text, its error, and where that happened."""

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
    limit_seconds: float = LIMIT_SECONDS,
) -> list[Any]:
    """The results of *function* on every job, in the order of the jobs, with a Failed where a job raised.

    >>> print(*run(abs, [-3, "four", 5]))
    3 four: TypeError: bad operand type for abs(): 'str' 5

    ``run(checkers.prove, claims)`` gives a report for each claim, ``functools.partial(prove, budget=Budget(...))``
    within a budget. With more *workers* (-1 for all cores), processes of this machine share the jobs; with
    *scheduler*, such as "tcp://host:8786", the workers of a Dask cluster do, which need this version installed and
    one thread each. Jobs and results travel as pickles, which claims, verdicts and reports have. A worker that
    dies costs only the job that killed it. *progress* is called with (done, total) after each job. Where other
    processes work and no job has ended for *limit_seconds*, those under way are given up: each is a Failed with a
    TimeoutError. Raises ValueError for a number of workers or a scheduler that is none, ImportError without Dask, and
    OSError for a scheduler that does not answer, or that is without workers for ``WORKERS_SECONDS``.
    """
    todo = list(jobs)
    results: list[Any] = [None] * len(todo)
    for done, (i, result) in enumerate(each(function, todo, workers, scheduler, limit_seconds), 1):
        results[i] = result
        if progress is not None:
            progress(done, len(todo))
    return results


def each(
    function: Callable[[Any], Any],
    jobs: Iterable[Any],
    workers: int = 1,
    scheduler: str | None = None,
    limit_seconds: float = LIMIT_SECONDS,
) -> Iterator[tuple[int, Any]]:
    """(place of the job, its result) of each job, as they end; otherwise as ``run``.

    >>> sorted(each(abs, [-3, 5]))
    [(0, 3), (1, 5)]

    Workers end with the loop over the results, also where it is left early, and with this process, also where it is
    killed.
    """
    if workers < 1 and workers != -1:
        raise ValueError(f"expected at least 1 worker, or -1 for all cores, got {workers}")
    yield from _results(function, list(jobs), workers, scheduler, limit_seconds)


def packed(x: Any) -> bytes:
    """A pickle, in which what plain pickles refuse, such as functions inside functions, travels by value."""
    try:
        return pickle.dumps(x)
    except Exception:  # whatever a class does when it is pickled
        import cloudpickle

        data: bytes = cloudpickle.dumps(x)
        return data


def _results(
    function: Callable[[Any], Any], jobs: list[Any], workers: int, scheduler: str | None, limit: float
) -> Iterator[tuple[int, Any]]:
    """(place, result) of each job, as they end."""
    if workers == 1 and scheduler is None:
        for i, job in enumerate(jobs):
            try:
                yield i, function(job)
            except Exception as e:
                yield i, _failed(job, e)
        return
    data: dict[int, bytes] = {}
    for i, job in enumerate(jobs):
        try:
            data[i] = packed(job)
        except Exception as e:
            yield i, _failed(job, e)
    on_cores, on_cluster = (
        _on_cores(function, data, workers, limit),
        _on_cluster(function, data, scheduler or "", limit),
    )
    for i, result in on_cores if scheduler is None else on_cluster:
        yield i, pickle.loads(result) if isinstance(result, bytes) else _failed(jobs[i], result)


def _remote(function: Callable[[Any], Any], i: int, data: bytes) -> tuple[int, bytes]:
    """One job in a worker: whatever happens comes back as a pickle."""
    job: Any = f"job {i}"
    with _turn:
        try:
            job = pickle.loads(data)
            return i, packed(function(job))
        except Exception as e:
            return i, packed(_failed(job, e))


def _follow(parent: int) -> None:
    """In a worker process as it starts: end with the parent, leave Ctrl-C to it, and expect much to do."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    prepare()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_SECONDS)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


def _failed(job: Any, e: BaseException) -> Failed:
    trace = "".join(traceback.format_exception(e))
    return Failed(str(job), f"{type(e).__name__}: {e}", trace)


def _late(limit: float, where: str) -> TimeoutError:
    return TimeoutError(f"expected a job {where} to end within {limit:g} s of the one before, got none")


def _on_cores(
    function: Callable[[Any], Any], jobs: dict[int, bytes], workers: int, limit: float
) -> Iterator[tuple[int, bytes | BaseException]]:
    waiting = collections.deque(jobs.items())
    pool: Any = None
    ended = False
    try:
        while waiting:
            pool, ahead = _pool(workers)
            sent: dict[Future[tuple[int, bytes]], tuple[int, bytes]] = {}
            try:
                while waiting or sent:
                    while waiting and len(sent) < ahead:
                        i, data = waiting[0]
                        sent[pool.submit(_remote, function, i, data)] = i, data
                        waiting.popleft()  # only now: a pool that is broken takes no job
                    done = wait(sent, limit, FIRST_COMPLETED).done
                    for f in done:
                        result = f.result()
                        del sent[f]
                        yield result
                    if not done:
                        _kill(pool)
                        yield from ((i, _late(limit, "in a process of this machine")) for i, _ in sent.values())
                        break
            except BrokenExecutor:  # one of those on their way killed its worker: each of them again, alone
                for i, data in sent.values():
                    yield _alone(function, i, data, limit)
        ended = True
    finally:
        if pool is not None and not ended:  # left early, by an interrupt perhaps: nobody waits for what is at work
            _kill(pool)


def _pool(workers: int) -> tuple[Any, int]:
    """Worker processes that end with this one, and how many jobs are sent ahead of their results."""
    from joblib import cpu_count
    from joblib.externals.loky import get_reusable_executor

    count = cpu_count() if workers == -1 else workers
    return get_reusable_executor(count, initializer=_follow, initargs=(os.getpid(),)), 2 * count


def _kill(pool: Any) -> None:
    """End the workers at once. The pool's own way prints a traceback where a result arrives meanwhile."""
    from joblib.externals.loky.backend.utils import kill_process_tree

    for process in list(pool._processes.values()):
        kill_process_tree(process)
    pool.shutdown(wait=True)


def _alone(function: Callable[[Any], Any], i: int, data: bytes, limit: float) -> tuple[int, bytes | BaseException]:
    pool = _pool(1)[0]
    try:
        result: tuple[int, bytes] = pool.submit(_remote, function, i, data).result(limit)
        return result
    except BrokenExecutor as e:
        return i, e
    except TimeoutError:
        _kill(pool)
        return i, _late(limit, "in a process of this machine")


def _on_cluster(
    function: Callable[[Any], Any], jobs: dict[int, bytes], scheduler: str, limit: float
) -> Iterator[tuple[int, bytes | BaseException]]:
    try:
        from dask.distributed import Client
    except ImportError as e:
        raise ImportError(f"expected Dask for {scheduler}, got none: pip install 'symlayout[cluster]'") from e
    _expect_answer(scheduler)
    with Client(scheduler, set_as_default=False, timeout=CONNECT_SECONDS) as client:
        task = functools.partial(_remote, function)
        cluster = _Cluster(client, scheduler, limit)
        suspects = []
        for i, result in cluster.ended(task, jobs):
            if isinstance(result, bytes | TimeoutError):
                yield i, result
            else:
                suspects.append(i)
        for i in suspects:  # their worker died: each of them again, alone
            yield from cluster.ended(task, {i: jobs[i]})


@dataclass(frozen=True)
class _Cluster:
    """A client of a Dask cluster whose waits end: by a result, or by what is missing."""

    client: Any
    scheduler: str
    limit: float

    def ended(
        self, task: Callable[[int, bytes], tuple[int, bytes]], jobs: dict[int, bytes]
    ) -> Iterator[tuple[int, bytes | BaseException]]:
        """(place, result or error) of each job as it ends. Raises OSError for a cluster without workers.

        No job is sent before there is a thread for it: it would wait behind one that hangs.
        """
        over: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting, sent = collections.deque(jobs.items()), dict[str, tuple[int, Any]]()
        room, since, seen = self._threads(), time.monotonic(), time.monotonic()
        while waiting or sent:
            while waiting and len(sent) < room:
                i, data = waiting.popleft()
                future = self.client.submit(task, i, data, pure=False)
                sent[future.key] = i, future
                future.add_done_callback(over.put)
            try:
                future = over.get(timeout=WATCH_SECONDS)
            except queue.Empty:
                now, room = time.monotonic(), self._threads()
                seen = now if room else seen
                if now - seen > WORKERS_SECONDS:
                    raise self._without_workers(len(waiting) + len(sent)) from None
                if now - since > self.limit:
                    self.client.cancel([f for _, f in sent.values()])
                    late = _late(self.limit, f"on the workers of {self.scheduler}")
                    yield from ((i, late) for i in (*(i for i, _ in sent.values()), *(i for i, _ in waiting)))
                    return
                continue
            since = time.monotonic()
            yield sent.pop(future.key)[0], self._result(future)

    def _threads(self) -> int:
        """Of all workers; 0 where the scheduler does not say."""
        try:
            found = self.client.sync(self.client.scheduler.ncores, workers=None, callback_timeout=CONNECT_SECONDS)
        except (OSError, TimeoutError):
            return 0
        return sum(found.values())

    def _without_workers(self, left: int) -> OSError:
        return OSError(
            f"expected workers of the Dask scheduler at {self.scheduler} for {left} jobs, got none for "
            f"{WORKERS_SECONDS:g} s: start them with dask worker {self.scheduler} --nthreads 1"
        )

    def _result(self, future: Any) -> bytes | BaseException:
        """What came back from a job, or why nothing did."""
        try:
            _, result = future.result(timeout=self.limit)
        except TimeoutError:
            return _late(self.limit, f"on the workers of {self.scheduler}")
        except Exception as e:  # the worker died, or the connection to it; errors of the job itself are in its result
            return e
        found: bytes = result
        return found


def _expect_answer(scheduler: str) -> None:
    """Raise OSError where nothing listens at an address: a client would try for half a minute."""
    host, _, port = scheduler.rpartition("://")[2].rpartition(":")
    if not port.isdigit() or not host:
        raise ValueError(f"expected a scheduler such as tcp://host:8786, got {scheduler!r}")
    try:
        with contextlib.closing(socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS)):
            return
    except (OSError, OverflowError) as e:
        raise OSError(f"expected a Dask scheduler at {scheduler}, got {e}") from None
