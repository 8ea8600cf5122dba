"""The answer of a simulation: time, bytes, stalls by cause, the limiting resource with its what-if, a timeline."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .log import Span, Timeline

US = 1_000_000  # picoseconds


@dataclass(frozen=True)
class Use:
    """How a resource was used: the part of the time it was busy, and what its requests waited for it on average."""

    name: str
    utilisation: float
    waited_ns: float
    requests: int


@dataclass(frozen=True)
class Trace:
    """What a kernel at sizes is predicted to do on a machine.

    Times are in picoseconds and without the launch. Bytes are those that all SMs move to and from L2, in sectors.
    *what_if* has the time with a resource made free. *stalls* are parts of the time of all teams, by cause.
    """

    kernel: str
    digest: str
    machine: str
    sizes: Mapping[str, int]
    time_ps: int
    launch_ps: int
    cycle_ps: float
    bytes: int
    dram_bytes: int
    uses: tuple[Use, ...]
    stalls: Mapping[str, float]
    what_if: Mapping[str, int]
    notes: tuple[str, ...] = ()
    timeline: Timeline | None = field(default=None, repr=False)

    @property
    def seconds(self) -> float:
        """The predicted time of one launch among others in a stream."""
        return (self.time_ps + self.launch_ps) / 1e12

    @property
    def cycles(self) -> int:
        """Cycles of the SM clock, without the launch."""
        return round(self.time_ps / self.cycle_ps)

    @property
    def bytes_per_cycle(self) -> float:
        """Bytes that all SMs move together in a cycle."""
        return self.bytes / self.cycles if self.cycles else 0.0

    @property
    def limiting(self) -> str:
        """The resource without which the kernel would gain most, or "" where none was tried or none would help."""
        best = min(self.what_if, key=lambda name: self.what_if[name], default="")
        return best if best and self.what_if[best] < self.time_ps else ""

    def summary(self) -> str:
        """The answer as a table of text."""
        sizes = ", ".join(f"{k} = {v}" for k, v in self.sizes.items())
        lines = [
            f"{self.kernel}({sizes}) on {self.machine}",
            f"  time       {self.time_ps / US:.2f} us, {self.cycles} cycles; "
            f"{1e6 * self.seconds:.2f} us with its launch",
            f"  moved      {self.bytes} bytes, {self.bytes_per_cycle:.1f} a cycle, "
            f"{self.bytes / max(self.time_ps, 1):.3f} TB/s; {self.dram_bytes} bytes of DRAM",
            f"  limited by {self.limiting or 'no resource that was tried'}",
            "  resource              busy   mean wait   if it were free",
        ]
        uses = {u.name: u for u in self.uses}
        for name in sorted({*uses, *self.what_if}, key=lambda n: (self.what_if.get(n, self.time_ps), n)):
            use, other = uses.get(name), self.what_if.get(name)
            if use is not None and not use.requests and other is None:
                continue
            busy = f"{use.utilisation:6.1%} {use.waited_ns:8.1f} ns" if use else " " * 18
            gain = "" if other is None else f"   {other / max(self.time_ps, 1) - 1:+.1%}"
            lines.append(f"  {name:19} {busy}{gain}".rstrip())
        lines.append("  time of warps, by what they wait for")
        for cause, part in sorted(self.stalls.items(), key=lambda x: (-x[1], x[0])):
            lines.append(f"  {cause:19} {part:6.1%}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def chrome(self) -> dict[str, Any]:
        """The timeline as Chrome trace events, which Perfetto opens; empty unless it was asked for."""
        spans = self.timeline.spans if self.timeline else ()
        threads = {name: k for k, name in enumerate(dict.fromkeys(s.who for s in spans))}
        events: list[dict[str, Any]] = [
            {"ph": "M", "name": "thread_name", "pid": 0, "tid": k, "args": {"name": name}}
            for name, k in threads.items()
        ]
        events += [{"ph": "X", "name": s.what, "pid": 0, "tid": threads[s.who], **_when(s)} for s in spans]
        return {"traceEvents": events, "otherData": {"kernel": self.kernel, "digest": self.digest}}

    def save(self, path: str | Path) -> None:
        """Write the timeline as Chrome trace JSON."""
        Path(path).write_text(json.dumps(self.chrome()), encoding="utf-8")


def _when(span: Span) -> dict[str, float]:
    """Begin and duration in microseconds, as the format has them."""
    return {"ts": span.start / US, "dur": (span.end - span.start) / US}
