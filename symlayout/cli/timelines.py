"""The timeline that ``symlayout verify --timeline`` writes: what is simulated at sizes, and what was stamped there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import SymlayoutError
from ..kernel import Kernel
from .exits import check_target, fail

if TYPE_CHECKING:
    from gpu.measuring import Measurement
    from simulator import Trace
    from simulator.log import Span

ENDINGS = (".json", ".json.gz")


def check_timeline(file: Path) -> None:
    """End before any work where a timeline could not be written to a file."""
    check_target(file)
    if not file.name.endswith(ENDINGS):
        fail(f"expected a file that ends with {' or '.join(ENDINGS)} for a timeline, got {file}")


def simulated(kernel: Kernel, sizes: Mapping[str, int], device: str = "") -> Trace | str:
    """The simulation of a kernel at sizes with its timeline, on a machine like a device, or why there is none."""
    import simulator
    from simulator.machine import like

    try:
        bound = kernel.bind(**sizes) if kernel.dims else kernel
        return simulator.simulate(bound, like(device) or simulator.H200, timeline=True)
    except SymlayoutError as e:
        return str(e)


def beside(trace: Trace, speed: Measurement, file: Path, kernel: Kernel | None = None) -> Iterator[str]:
    """Write the stamps of a measurement beside the simulation, and say how far the prediction is from its times.

    Stamps are those of the CTAs that the timeline shows: all others would be hundreds of tracks. Where the device is
    another machine than the one that was simulated, the *kernel* is simulated on that.
    """
    from simulator.comparison import Measured, compared
    from simulator.machine import like

    here = like(speed.device)
    if kernel is not None and here is not None and here.name != trace.machine:
        again = simulated(kernel, trace.sizes, speed.device)
        if not isinstance(again, str):
            trace = again
            yield f"simulated again on {trace.machine}: {1e6 * trace.seconds:.2f} us"
    if speed.stamps is not None and trace.timeline is not None:
        shown = {s.who.partition(", ")[0] for s in trace.timeline.spans}
        spans = [s for s in speed.stamps.spans() if s.who.partition(", ")[0] in shown]
        write_timeline(file, trace, spans, speed.device)
    times = (("L2 warm", speed.timed.warm), ("L2 cold", speed.timed.cold))
    yield from compared(trace, [Measured(f"measured, {state}", t.median, t.p10, t.p90) for state, t in times])


def write_timeline(file: Path, trace: Trace, measured: Iterable[Span] = (), device: str = "") -> None:
    """Write what is simulated, and what was measured, as two processes of one file."""
    text = json.dumps(trace.chrome(measured, device), separators=(",", ":")).encode()
    try:
        file.write_bytes(gzip.compress(text, mtime=0) if file.name.endswith(".gz") else text)
    except OSError as e:
        fail(f"expected a file that can be written, got {file}: {e.strerror}")
