"""``symlayout simulate``: the predicted time of a kernel at sizes, what limits it, and a timeline, without a GPU."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..answers import console
from ..errors import SymlayoutError
from .chosen import KERNEL_HELP, PAIRS_HELP, chosen
from .exits import check_target, fail, write

if TYPE_CHECKING:
    from simulator import Machine


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
    set_: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="An option.")] = None,
    machine: Annotated[str, typer.Option(metavar="NAME|FILE", help="A machine, or a TOML file of one.")] = "h200",
    number: Annotated[
        list[str] | None, typer.Option("--number", metavar="NAME=VALUE", help="Another value of a machine's number.")
    ] = None,
    cache: Annotated[Cache, typer.Option(help="What L2 holds at the start.")] = Cache.COLD,
    style: Annotated[Style, typer.Option("--format", help="How the answer is written.")] = Style.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the timeline there (Chrome trace JSON)."),
    ] = None,
) -> None:
    """Predict how long a kernel takes at sizes, what limits it and what it waits for, without a GPU."""
    import simulator

    if output is not None:
        check_target(output)
    one = chosen(kernel, [*(pairs or ()), *(dims or ()), *(set_ or ())])
    if one.kernel.dims and not one.sizes:
        names = [s.name for s in one.kernel.dims]
        fail(f"expected sizes of {one.kernel.name} such as {names[0]}=4096, got none for {', '.join(names)}")
    try:
        bound = one.kernel.bind(**one.sizes)
        where = _machine(machine, number or [])
        trace = simulator.simulate(bound, where, cache=cache.value, timeline=output is not None)
    except SymlayoutError as e:
        fail(str(e))
        raise
    if style is Style.JSON:
        row = {k: x for k, x in asdict(replace(trace, timeline=None)).items() if k != "timeline"}
        told = {"seconds": trace.seconds, "cycles": trace.cycles, "limiting": trace.limiting}
        console.out.print_json(json.dumps({**row, **told}))
    else:
        console.out.print(trace.summary(), markup=False, highlight=False, soft_wrap=True)
    if output is not None:
        write({output: json.dumps(trace.chrome())})


def _machine(name: str, numbers: list[str]) -> Machine:
    """The machine of a name or a file, with other values for some of its numbers."""
    import simulator

    found = simulator.load(Path(name)) if name.endswith(".toml") else simulator.machine(name)
    values = {}
    for pair in numbers:
        key, _, text = pair.partition("=")
        try:
            values[key] = float(text)
        except ValueError:
            fail(f"expected NAME=NUMBER such as dram_rate=4100, got {pair!r}")
    return found.replacing(**values)
