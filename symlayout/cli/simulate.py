"""``symlayout simulate``: the predicted time of a kernel at sizes, what limits it, and a timeline, without a GPU."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..answers import console
from ..errors import SymlayoutError
from ..kernel import Kernel
from .chosen import KERNEL_HELP, PAIRS_HELP, Chosen, chosen
from .exits import UNEXPECTED, check_target, fail
from .machines import MACHINE_HELP, chosen_machine, numbers_among

if TYPE_CHECKING:
    from simulator import Machine, SimulationError, Trace

OUTPUT_HELP = "Write the timeline: .json or .json.gz for Perfetto, .html, .svg or .txt."
BASELINE_HELP = "Fail (status 1) where the prediction is slower than the one there; a file without one gets it."
TOLERANCE_HELP = "How much slower than the baseline is no failure: 3% unless said otherwise."
SUSTAINED_HELP = "One of many launches in a row: power limits it."
MEASURED_HELP = "A measured time such as 130us, or a JSON file of gpu.measure or verify, to stand beside."

TOLERANCE = "3%"


class Style(StrEnum):
    """How the answer is written."""

    TEXT = "text"
    JSON = "json"


class Cache(StrEnum):
    """What L2 holds at the start."""

    COLD = "cold"
    WARM = "warm"


def simulate(
    kernel: Annotated[str, typer.Argument(metavar="KERNEL", help=KERNEL_HELP)],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE...]", help=PAIRS_HELP)] = None,
    dims: Annotated[list[str] | None, typer.Option("--dims", metavar="NAME=VALUE", help="A size.")] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option, or a number of the machine.")
    ] = None,
    machine: Annotated[str, typer.Option(metavar="NAME|FILE", help=MACHINE_HELP)] = "h200",
    number: Annotated[
        list[str] | None, typer.Option("--number", metavar="NAME=VALUE", help="Another value of a machine's number.")
    ] = None,
    cache: Annotated[Cache, typer.Option(help="What L2 holds at the start.")] = Cache.COLD,
    sustained: Annotated[bool, typer.Option("--sustained", help=SUSTAINED_HELP)] = False,
    quick: Annotated[bool, typer.Option("--quick", help="The time alone: no what-ifs, and no range.")] = False,
    measured: Annotated[
        list[str] | None, typer.Option(metavar="TIME|FILE", help=MEASURED_HELP, show_default=False)
    ] = None,
    baseline: Annotated[Path | None, typer.Option(metavar="FILE", help=BASELINE_HELP)] = None,
    tolerance: Annotated[
        str | None,
        typer.Option(metavar="PART", help="How much slower than the baseline is no failure: 3 % unless said."),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Let the baseline be the prediction of now.")
    ] = False,
    style: Annotated[Style, typer.Option("--format", help="How the answer is written.")] = Style.TEXT,
    output: Annotated[
        list[Path] | None, typer.Option("--output", "-o", metavar="FILE", help=OUTPUT_HELP, show_default=False)
    ] = None,
) -> None:
    """Predict how long a kernel takes at sizes, what limits it and what it waits for, without a GPU."""
    import simulator
    from simulator.comparison import compared, measured_times, parse_tolerance

    for given_alone, option in ((update_baseline, "--update-baseline"), (tolerance is not None, "--tolerance")):
        if given_alone and baseline is None:
            fail(f"expected --baseline FILE with {option}, got none")
    for file in (*(output or ()), *([baseline] if baseline else ())):
        check_target(file)
    try:
        where = chosen_machine(machine, number or [])
        given = [*(pairs or ()), *(dims or ()), *(set_ or ())]
        given, numbers = numbers_among(given, kernel, where)
        where = chosen_machine(where, numbers)
        one = chosen(kernel, given, others=where.numbers)
        rows = [row for text in measured or () for row in measured_times(text)]
        slower = parse_tolerance(tolerance or TOLERANCE)
        for file in output or ():
            simulator.expect_writable(file)
        bound = bound_at(one)
        with console.working(f"simulating {one.kernel.name}"):
            try:
                trace = simulator.simulate(
                    bound,
                    where,
                    cache=cache.value,
                    what_if=not quick,
                    uncertainty=not quick,
                    timeline=bool(output),
                    sustained=sustained,
                )
            except simulator.SimulationError as e:
                fail(_stopped(e, bound, where, output or []))
                raise
        found = _against(trace, where, baseline, update_baseline)
        for file in output or ():
            trace.save(file)
    except SymlayoutError as e:
        fail(str(e))
        raise
    except OSError as e:
        fail(f"expected a file that can be written, got {e.filename}: {e.strerror}")
        raise
    beside = list(compared(trace, rows))
    if style is Style.JSON:
        told = {"measured": beside, **({"baseline": found} if found else {})}
        console.out.print_json(json.dumps({**trace.row(), **told}, default=str))
    else:
        lines = [trace.summary(), *([""] if beside else []), *beside, *(["", f"baseline    {found}"] if found else [])]
        console.out.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
    if found and found.change > slower and not update_baseline:
        fail(
            f"expected at most {100 * slower:g} % more than the baseline in {baseline}, got "
            f"{100 * found.change:.1f} %; --update-baseline accepts it",
            UNEXPECTED,
        )


def bound_at(one: Chosen) -> Any:
    """The kernel at the sizes that were named."""
    if one.kernel.dims and not one.sizes:
        names = [s.name for s in one.kernel.dims]
        fail(f"expected sizes of {one.kernel.name} such as {names[0]}=4096, got none for {', '.join(names)}")
    return one.kernel.bind(**one.sizes)


def _stopped(error: SimulationError, bound: Kernel, machine: Machine, files: Sequence[Path]) -> str:
    """Why there is no prediction; where a run stopped, files get the timeline until then."""
    import simulator

    if error.timeline is None or not files:
        return str(error)
    trace = simulator.stopped(bound, machine, error)
    for file in files:
        trace.save(file)
    return f"{error}; the timeline until then is in {', '.join(map(str, files))}"


def _against(trace: Trace, machine: Machine, file: Path | None, update: bool) -> Any:
    from simulator.comparison import against

    return None if file is None else against(trace, machine, file, update)
