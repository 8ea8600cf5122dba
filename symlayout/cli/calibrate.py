"""``symlayout calibrate``: the numbers of a machine from rows of microbenchmarks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..answers import console
from ..errors import SymlayoutError
from .exits import UNEXPECTED, check_target, fail, write

if TYPE_CHECKING:
    from simulator import Machine

ROWS_HELP = "A file of rows, or a folder of them, as python -m benchmarks.hardware.microbenchmarks writes them."


def calibrate(
    rows: Annotated[Path, typer.Argument(metavar="ROWS", help=ROWS_HELP)],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the machine there, as TOML.")
    ] = None,
    base: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="The machine whose numbers stand where rows say nothing.")
    ] = "h200",
    name: Annotated[str | None, typer.Option(help="The machine's name; that of the device by default.")] = None,
) -> None:
    """Fit a machine to microbenchmarks; exit status 1 where a fit is refused for what it leaves over."""
    from simulator.calibrate import calibrated, rows_of, toml

    if output is not None:
        check_target(output)
    try:
        device, found = rows_of(rows)
        fitted = calibrated(found, _base(base), name or device)
    except SymlayoutError as e:
        fail(str(e))
        raise
    console.out.print(str(fitted), markup=False, highlight=False, soft_wrap=True)
    if output is not None:
        write({output: toml(fitted.machine, "" if base.endswith(".toml") else base)})
    if fitted.refused:
        raise typer.Exit(UNEXPECTED)


def _base(name: str) -> Machine:
    import simulator

    return simulator.load(Path(name)) if name.endswith(".toml") else simulator.machine(name)
