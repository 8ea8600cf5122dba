"""``symlayout verify KERNEL``: proved for all sizes, printed, compiled, run, compared byte for byte, measured.

Each step says a line or a table, and is a part of the answer with ``--format json``. A step that fails is the last.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ..answers import console
from ..answers.report import Outcome
from ..errors import SymlayoutError
from ..expr import Fact
from ..kernel import Kernel
from .chosen import KERNEL_HELP, PAIRS_HELP, Chosen, chosen
from .exits import NO_DEVICE, OK, UNDECIDED, UNEXPECTED, fail, write
from .kernels import folder
from .timelines import beside, check_timeline, simulated, write_timeline

if TYPE_CHECKING:
    from checkers import Bundle
    from checkers.bundle import ProofReport
    from gpu import Cubin
    from gpu.codegen import Source
    from gpu.measuring import Measurement
    from simulator import Trace

ROUNDS = 3  # of repairs: what repairs one claim may ask for another
MEASURE_LIMIT_S = 120.0


class Style(StrEnum):
    TEXT = "text"
    JSON = "json"


def verify(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help=KERNEL_HELP)],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE...]", help=PAIRS_HELP)] = None,
    dims: Annotated[
        list[str] | None, typer.Option(metavar="NAME=N", help="Sizes to run and to measure at too: --dims M=64 N=64.")
    ] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option.")] = None,
    no_device: Annotated[bool, typer.Option("--no-device", help="Stop behind the check of the machine code.")] = False,
    assume_repairs: Annotated[
        bool, typer.Option("--assume-repairs", help="Assume the conditions that make all hold, as for families.")
    ] = False,
    delays: Annotated[int | None, typer.Option(metavar="SEED", help="Run with random waits, as races need.")] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="DIR", help="Write the CUDA and the certificate there."),
    ] = None,
    timeline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a timeline of the kernel at the sizes: .json or .json.gz, for Perfetto."
        ),
    ] = None,
    limit: Annotated[float, typer.Option(metavar="SECONDS", help="Time for each case on the device.")] = 60.0,
    format: Annotated[Style, typer.Option(help="How the answer is printed.")] = Style.TEXT,
) -> None:
    """Prove a kernel for all sizes, print it as CUDA, compile it, run it, compare every byte, and say how fast it was.

    Exit status 1: refuted, or a difference; 2: bad input; 3: undecided; 4: no device, or no compiler.
    """
    if timeline is not None:
        check_timeline(timeline)
    one = chosen(kernel, [*(pairs or ()), *(dims or ()), *(set_ or ())])
    if timeline is not None and one.kernel.dims and not one.sizes:
        fail(f"expected sizes of {one.kernel.name} with --timeline, such as {one.kernel.dims[0]}=4096, got none")
    steps = _Steps(format)
    proved, certificate = _proved(one, assume_repairs or one.shipped, steps)
    if one.sizes:
        try:
            proved.bind(**one.sizes)
        except SymlayoutError as e:
            fail(str(e))
    trace = None if timeline is None else _predicted(proved, one.sizes, timeline, steps)
    try:
        _compiled(proved, delays, output, certificate, steps)
        if no_device:
            steps.end(OK)
        speed = _ran(proved, certificate, one.sizes, delays, limit, steps, stamps=trace is not None)
        if timeline is not None and trace is not None and speed is not None:
            steps.say("compared", "\n".join([*beside(trace, speed, timeline, proved), f"timeline: {timeline}"]))
    except SymlayoutError as e:
        from gpu.errors import NoCompilerError, NoDeviceError

        steps.end(NO_DEVICE if isinstance(e, NoCompilerError | NoDeviceError) else UNEXPECTED, str(e))
    steps.end(OK)


class _Steps:
    """Findings so far: shown as they come, or kept for one JSON object."""

    def __init__(self, style: Style) -> None:
        self.aloud, self._start = style is Style.TEXT, time.perf_counter()
        self.data: dict[str, Any] = {}

    def say(self, word: str, text: str, **data: Any) -> None:
        """A step is over: its word, what it found, and the same as data."""
        now = time.perf_counter()
        seconds, self._start = round(now - self._start, 3), now
        self.data[word] = {**data, "seconds": seconds}
        if self.aloud:
            head, *rest = text.splitlines()
            console.out.print(f"{word:9} {head}  [{seconds:.2f} s]", markup=False)
            for line in rest:
                console.out.print(f"          {line}", markup=False)

    def end(self, status: int, error: str = "") -> NoReturn:
        """End the command."""
        if not self.aloud:
            self.data |= {"status": status, **({"error": error} if error else {})}
            sys.stdout.write(json.dumps(self.data, indent=1, default=str) + "\n")
        elif error:
            console.show_error(error)
        raise typer.Exit(status)


# -- the steps -------------------------------------------------------------------------------------------------


def _proved(one: Chosen, assume: bool, steps: _Steps) -> tuple[Kernel, Bundle]:
    """The kernel under the assumptions that make all hold, with its certificate."""
    kernel, report, repairs = repaired(one.kernel, assume)
    given = [f"given {f}{', assumed as it makes all hold' if f in repairs else ''}" for f in kernel.given]
    about = [f"{kernel.name} {kernel.digest}", *given, *(f"assumed: {s}" for s in kernel.assumed)]
    rows = {
        "kernel": kernel.name,
        "digest": kernel.digest,
        "summary": report.summary(),
        "sizes": list(report.sizes),
        "given": [str(f) for f in kernel.given],
        "assumed_repairs": [str(f) for f in repairs],
        "assumed": list(kernel.assumed),
        "repairs": [str(f) for f in report.repairs],
    }
    if report:
        count = f"{len(report.verdicts)} claims for all sizes, {report.arch}: "
        steps.say("proved", "\n".join([count + about[0], *about[1:]]), **rows)
        return kernel, report.certificate
    return _unproved(report, about[0], rows, assume, steps)


def repaired(kernel: Kernel, assume: bool) -> tuple[Kernel, ProofReport, list[Fact]]:
    """The kernel under conditions that make more of it hold, where these may be assumed, and the report on it."""
    import checkers

    repairs, report = list[Fact](), checkers.prove(kernel)
    for _ in range(ROUNDS if assume else 0):
        if report or not report.repairs:
            break
        repairs += report.repairs
        kernel = kernel.assuming(*report.repairs)
        report = checkers.prove(kernel)
    return kernel, report, repairs


def _unproved(report: ProofReport, about: str, rows: dict[str, Any], assume: bool, steps: _Steps) -> NoReturn:
    refuted = any(v.outcome is Outcome.REFUTED for v in report.verdicts)
    if steps.aloud:
        console.show_report(report)
    hint = " and ".join(map(str, report.repairs))
    steps.say("unproved", f"{report.summary()}: {about}", **rows)
    said = f"; --assume-repairs assumes {hint}" if hint and not assume else ""
    steps.end(UNEXPECTED if refuted else UNDECIDED, f"expected proofs of all claims, got {report.summary()}{said}")


def _predicted(kernel: Kernel, sizes: dict[str, int], timeline: Path, steps: _Steps) -> Trace | None:
    """Simulate the kernel at sizes, and write its timeline."""
    trace = simulated(kernel, sizes)
    if isinstance(trace, str):
        steps.say("simulated", f"not at all: {trace}", why=trace)
        return None
    write_timeline(timeline, trace)
    around = trace.around
    spread = f", p10-p90 {around.p10_ps / 1e6:.2f} .. {around.p90_ps / 1e6:.2f} us" if around else ""
    told = f"{1e6 * trace.seconds:.2f} us on {trace.machine}{spread}; limited by {trace.limiting or 'nothing tried'}"
    steps.say("simulated", f"{told}\ntimeline: {timeline}", **trace.row())
    return trace


def _compiled(kernel: Kernel, delays: int | None, output: Path | None, certificate: Bundle, steps: _Steps) -> None:
    """Print the CUDA, compile it, and count its instructions."""
    import gpu
    from gpu.errors import CubinError
    from gpu.machine_code import machine_code

    source = gpu.emit(kernel, delays)
    lines = f"{source.text.count(chr(10))} lines of CUDA C++"
    if output is None:
        steps.say("printed", f"{lines} (symlayout emit prints them)", lines=source.text.count("\n"))
    else:
        folder(output)
        files = {
            output / f"{source.name}.cu": source.text,
            output / f"{source.name}.certificate.json": certificate.to_json(),
        }
        write(files)
        steps.say("printed", f"{lines}: {' and '.join(map(str, files))}", files=[str(f) for f in files])
    code = gpu.Generated(kernel, delays=delays).cubin
    head = f"{len(code.image)} bytes for {code.arch}, by {code.compiler}"
    try:
        counted = machine_code(kernel, code)
    except CubinError as e:  # no disassembler
        steps.say("compiled", f"{head}\n{_registers(code, source)}; not counted: {e}", **_code(code, source))
        return
    steps.say(
        "compiled", f"{head}\n{counted}", **_code(code, source), instructions=code.instructions(source.name).counts
    )
    if not counted:
        steps.end(UNEXPECTED, "expected machine code as the kernel says: " + "; ".join(map(str, counted.wrong)))


def _registers(code: Cubin, source: Source) -> str:
    return f"{code.kernel(source.name).registers} registers, {source.shared_bytes} B of shared memory"


def _code(code: Cubin, source: Source) -> dict[str, Any]:
    of = code.kernel(source.name)
    return {
        "arch": code.arch,
        "compiler": code.compiler,
        "cubin": code.digest,
        "registers": of.registers,
        "shared_bytes": source.shared_bytes,
    }


def _ran(
    kernel: Kernel,
    certificate: Bundle,
    sizes: dict[str, int],
    delays: int | None,
    limit: float,
    steps: _Steps,
    stamps: bool,
) -> Measurement | None:
    """Run at edges and at the sizes that were named, compare, and measure."""
    import gpu
    from gpu import child
    from gpu.differential import edges
    from gpu.errors import ChildError
    from gpu.measuring import Measurement

    from ..campaigns import packed

    found = gpu.differential_test(kernel, certificate, delays=delays, limit_s=limit)
    steps.say("ran", str(found), **dataclasses.asdict(found))
    if sizes:
        named = gpu.differential_test(kernel, certificate, [sizes], delays=delays, limit_s=limit)
        steps.say("ran at", str(named), **dataclasses.asdict(named))
    if not found or (sizes and not named):
        wrong: Sequence[Any] = (*found.wrong, *(named.wrong if sizes else ()))
        steps.end(
            UNEXPECTED, f"expected the same bytes in all cases, got {len(wrong)} cases with others: {wrong[0].at}"
        )
    if delays is not None:
        return None  # a text with waits is not what would be used
    at = sizes or edges(kernel)[-1][1]
    try:
        speed = child.call("gpu.measuring:measured_at", packed(kernel), at, 0, stamps, limit_s=MEASURE_LIMIT_S)
    except ChildError as e:
        steps.end(UNEXPECTED, f"expected a measurement, got {e}")
    steps.say(
        "measured",
        str(speed),
        **{k: x for k, x in dataclasses.asdict(dataclasses.replace(speed, stamps=None)).items() if k != "stamps"},
        bytes_per_s=speed.bytes_per_s(),
        of_copy=speed.of_copy(),
        flop_per_s=speed.flop_per_s(),
        cold_bytes_per_s=speed.bytes_per_s(cold=True),
    )
    assert isinstance(speed, Measurement)
    return speed
