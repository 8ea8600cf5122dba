"""``differential_test``: a kernel on a device at many sizes, each in a child process with a time limit."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from symlayout.campaigns import packed
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel

from .. import child
from ..definition.running import defined
from ..errors import ChildError, NoDeviceError, NotProvedError, RaisedError, TimedOutError
from ..libraries import availability
from ..running import Generated
from .cases import cases, is_small
from .found import FAILED, FAULT, NO_ANSWER, Case, Differential
from .sizes import LARGE_BYTES, Sizes, edges

if TYPE_CHECKING:
    from checkers import Bundle

LIMIT_S = 60.0  # of one case; those of the families take less than ten seconds, the first launch included
CASES = "gpu.differential.cases:cases"


def differential_test(
    kernel: Kernel,
    certificate: Bundle | None,
    sizes: str | Sequence[Mapping[str, int]] = "edges",
    *,
    delays: int | None = None,
    limit_s: float = LIMIT_S,
    large_bytes: int = LARGE_BYTES,
    seed: int = 0,
    isolated: bool = True,
    ordinal: int = 0,
) -> Differential:
    """Run a kernel for all sizes on a device at some, and compare every byte with its reference and its untimed run.

    >>> import gpu
    >>> print(gpu.differential_test(kernel, report.certificate))                   # doctest: +SKIP
    vector_copy 8c1fd2a6d0a5b1c7 for sm_90a on NVIDIA H200: 20 of 20 cases the same
    ...

    *sizes* are those of ``edges`` (see there) or a list of sizes by name. *delays* is the seed of random waits, which
    expose races that luck hides. *certificate* is the proof of the kernel; None means that it has none. Guard zones
    lie around all tensors, and outputs begin as poison. Each case has a child process and *limit_s* seconds; with
    *isolated* False they run in this one, where a fault ends them all.

    Raises NotProvedError for a certificate of another kernel or architecture, NoDeviceError where no device is, what
    ``Generated`` raises, AssumptionError for sizes that the kernel does not admit, LayoutError for none.
    """
    if certificate is not None and certificate.kernel != kernel.digest:
        raise NotProvedError(f"expected the certificate of {kernel!r}, got one of {certificate!r}")
    chosen = _chosen(kernel, sizes, large_bytes, seed)
    there = availability()
    if not there.ok:
        raise NoDeviceError(there.reason)
    Generated(kernel, delays=delays)  # an error of the compiler is reported once; children find the machine code
    if not all(is_small(kernel.bind(**at) if kernel.dims else kernel) for _, at in chosen):
        defined(kernel)
    what = packed((kernel, certificate))
    rows = [(what, word, at, delays, ordinal) for word, at in chosen]
    device, arch, found = "", "", list[Case]()
    for (word, at), outcome, seconds in _outcomes(chosen, rows, limit_s, isolated):
        if outcome.error is None:
            some, device, arch = outcome.value
            found += some
        else:
            found.append(_ended(word, at, outcome.error, seconds))
    return Differential(kernel.name, kernel.digest, arch, device, tuple(found), delays, certificate is not None)


def _chosen(
    kernel: Kernel, sizes: str | Sequence[Mapping[str, int]], large_bytes: int, seed: int
) -> tuple[tuple[str, Sizes], ...]:
    if isinstance(sizes, str):
        if sizes != "edges":
            raise LayoutError(f"expected 'edges' or a list of sizes, got {sizes!r}")
        return edges(kernel, large_bytes, seed)
    chosen = tuple(("given", dict(at)) for at in sizes)
    if not chosen:
        raise LayoutError("expected at least one choice of sizes, got none")
    for _, at in chosen:
        kernel.bind(**at)
    return chosen


def _outcomes(
    chosen: Sequence[tuple[str, Sizes]], rows: Sequence[tuple[Any, ...]], limit_s: float, isolated: bool
) -> Iterator[tuple[tuple[str, Sizes], child.Outcome, float]]:
    """The outcome of each case, and its seconds."""
    outcomes = child.each(CASES, rows, limit_s=limit_s) if isolated else map(_here, rows)
    start = time.perf_counter()
    for one, outcome in zip(chosen, outcomes, strict=True):
        if isinstance(outcome.error, RaisedError) and outcome.error.kind == NotProvedError.__name__:
            raise NotProvedError(str(outcome.error).partition(": ")[2])
        now = time.perf_counter()
        yield one, outcome, now - start
        start = now


def _here(row: tuple[Any, ...]) -> child.Outcome:
    try:
        return child.Outcome(cases(*row))
    except NotProvedError:
        raise
    except Exception as e:  # as in a child process: whatever the case raises is its outcome
        return child.Outcome(error=RaisedError(f"{type(e).__name__}: {e}", kind=type(e).__name__))


def _ended(word: str, at: Mapping[str, int], error: ChildError, seconds: float) -> Case:
    """The row of a case that has no answer."""
    fault = isinstance(error, RaisedError) and error.kind == "DeviceError"
    hung = isinstance(error, TimedOutError) or (fault and "to end within" in str(error))
    outcome = NO_ANSWER if hung else FAULT if fault or not isinstance(error, RaisedError) else FAILED
    return Case(word, tuple(at.items()), "-", outcome, str(error), (), seconds)
