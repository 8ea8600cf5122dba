"""The answer of a simulation, and its forms: a table, JSON, Chrome trace events, text, a picture, a page.

>>> import simulator
>>> from symlayout.kernels import bulk_copy
>>> trace = simulator.simulate(bulk_copy(4096, chunk=1024, slots=2, blocks=2).bind(), timeline=True)
>>> trace.timeline_text().splitlines()[:3]
['CTA 0, role producer', '         0.5  init full', '         0.5  init empty']
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from symlayout.kernel import Kernel

from .engine import SimulationError
from .log import Span, Timeline
from .machine import Machine
from .prediction import Prediction, Stall, Use
from .trace_events import chrome
from .trace_page import page, picture
from .trace_text import steps, table

__all__ = ["Stall", "Trace", "Use", "stopped"]

SCHEMA = 1  # of ``Trace.row``


class Trace(Prediction):
    """A prediction that shows itself."""

    def summary(self) -> str:
        """The answer as tables of text."""
        return table(self)

    def row(self) -> dict[str, Any]:
        """The answer as JSON: numbers in base units, shares as parts of one."""
        around = self.around
        return {
            "schema": SCHEMA,
            "kernel": self.kernel,
            "digest": self.digest,
            "machine": self.machine,
            "sizes": dict(self.sizes),
            "seconds": self.seconds,
            "p10_seconds": around.p10_ps / 1e12 if around else None,
            "p90_seconds": around.p90_ps / 1e12 if around else None,
            "launch_seconds": self.launch_ps / 1e12,
            "cycles": self.cycles,
            "bytes": self.bytes,
            "bytes_per_cycle": self.bytes_per_cycle,
            "dram_bytes": self.dram_bytes,
            "limiting": self.limiting,
            "if_free": {name: self.gain(name) for name in self.what_if},
            "resources": [
                {"name": u.name, "busy": u.utilisation, "mean_wait_ns": u.waited_ns, "requests": u.requests}
                for u in self.uses
            ],
            "stalls": [{"role": s.role, "cause": s.cause, "share": s.share} for s in self.stalls],
            "uncertainty": [
                {"numbers": list(e.names), "fast": e.fast, "slow": e.slow} for e in (around.effects if around else ())
            ],
            "notes": list(self.notes),
        }

    def chrome(self, measured: Iterable[Span] = (), device: str = "") -> dict[str, Any]:
        """The timeline as Chrome trace events, which Perfetto opens. Raises SimulationError where none was kept.

        Spans that a *device* measured stand beside, as a second process.
        """
        return chrome(self, self._timeline(), measured, device)

    def timeline_text(self, starts: bool = False) -> str:
        """The timeline as text, a section for each role; with *starts* the times, which differ in every line."""
        return steps(self._timeline(), starts)

    def svg(self) -> str:
        """A picture of the timeline of the first CTA: its roles, its ring slots, and the units meanwhile."""
        return picture(self, self._timeline())

    def html(self) -> str:
        """A page in one file: the picture and the tables."""
        return page(self, self._timeline())

    def save(self, path: str | Path) -> None:
        """Write the timeline, in the format that the name of the file ends with.

        ``.json`` and ``.json.gz`` are Chrome trace events, ``.html`` is a page, ``.svg`` a picture, ``.txt`` text.
        Raises SimulationError for another ending.
        """
        Path(path).write_bytes(expect_writable(path)(self))

    def _timeline(self) -> Timeline:
        if self.timeline is None:
            raise SimulationError(f"expected a simulation of {self.kernel} with timeline=True, got one without")
        return self.timeline


def stopped(bound: Kernel, machine: Machine, error: SimulationError) -> Trace:
    """What a kernel did until a run of it stopped, from the timeline of the error, for its picture and its page.

    Raises SimulationError for an error without a timeline.
    """
    timeline = error.timeline
    if timeline is None:
        raise error
    until = max((x.end for x in (*timeline.spans, *timeline.services)), default=0)
    told = (str(error),)
    own = bound.name, bound.digest, machine.name, dict(bound.sizes)
    return Trace(*own, until, 0, machine.cycle, 0, 0, (), (), {}, told, timeline=timeline)


def expect_writable(path: str | Path) -> Callable[[Trace], bytes]:
    """What makes the contents of a file of a name. Raises SimulationError for a name of another ending."""
    writer = next((w for ending, w in WRITERS.items() if Path(path).name.endswith(ending)), None)
    if writer is None:
        raise SimulationError(f"expected a file that ends with {', '.join(WRITERS)}, got {path}")
    return writer


def _packed(trace: Trace) -> bytes:
    return gzip.compress(_json(trace), mtime=0)


def _json(trace: Trace) -> bytes:
    return json.dumps(trace.chrome(), separators=(",", ":")).encode()


WRITERS: dict[str, Callable[[Trace], bytes]] = {
    ".json": _json,
    ".json.gz": _packed,
    ".html": lambda trace: trace.html().encode(),
    ".svg": lambda trace: trace.svg().encode(),
    ".txt": lambda trace: trace.timeline_text().encode(),
}
