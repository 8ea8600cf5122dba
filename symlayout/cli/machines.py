"""``symlayout machines``: the machines that there are, and the numbers of one with grade, source and uncertainty."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..answers import console
from ..errors import SymlayoutError
from ..kernels import __all__ as families
from .exits import fail

if TYPE_CHECKING:
    from simulator import Machine

MACHINE_HELP = "A machine (symlayout machines lists them), or a TOML file of one."


class Style(StrEnum):
    """How the answer is written."""

    TEXT = "text"
    JSON = "json"


def machines(
    name: Annotated[
        str, typer.Argument(metavar="[NAME|FILE]", help="Show the numbers of this machine.", show_default=False)
    ] = "",
    style: Annotated[Style, typer.Option("--format", help="How the answer is written.")] = Style.TEXT,
) -> None:
    """List the machines that kernels are simulated on, or the numbers of one: value, grade, source, uncertainty."""
    import simulator

    try:
        shown = [chosen_machine(name, [])] if name else [simulator.machine(n) for n in simulator.machines()]
    except SymlayoutError as e:
        fail(str(e))
    if style is Style.JSON:
        rows = [{"name": m.name, "numbers": [asdict(n) for n in m.numbers.values()]} for m in shown]
        console.out.print_json(json.dumps(rows[0] if name else rows))
        return
    if not name:
        for key, m in zip(simulator.machines(), shown, strict=True):
            counts = Counter(f"of {n.of}" if n.of else n.grade for n in m.numbers.values())
            told = ", ".join(f"{n} {what}" for what, n in sorted(counts.items(), key=_order))
            console.out.print(f"{key:10} {m.name}: {len(m.numbers)} numbers, {told}", markup=False)
        return
    (m,) = shown
    console.out.print(m.name, markup=False)
    if m.lacks:
        console.out.print(f"  lacks instructions that begin with {', '.join(m.lacks)}", markup=False)
    for n in m.numbers.values():
        spread = f"+-{100 * n.uncertainty:g} %" if n.uncertainty else ""
        numbers = f"  {n.name:22} {n.value:>11g} {n.unit:8} {n.grade:11} {spread:8}"
        source = f"{n.of and f'{n.of}: '}{n.source}"
        console.show_row(numbers, source)


def _order(row: tuple[str, int]) -> tuple[int, str]:
    """Grades in their order, then the numbers of other machines."""
    from simulator import GRADES

    return GRADES.index(row[0]) if row[0] in GRADES else len(GRADES), row[0]


def chosen_machine(machine: str | Machine, numbers: Iterable[str]) -> Machine:
    """The machine of a name or a file, with other values for some of its numbers."""
    import simulator

    if isinstance(machine, str):
        machine = simulator.load(Path(machine)) if machine.endswith(".toml") else simulator.machine(machine)
    values = {}
    for pair in numbers:
        key, _, text = pair.partition("=")
        try:
            values[key] = float(text)
        except ValueError:
            fail(f"expected NAME=NUMBER such as dram_rate=4100, got {pair!r}")
    return machine.replacing(**values)


def numbers_among(pairs: Iterable[str], kernel: str, machine: Machine) -> tuple[list[str], list[str]]:
    """NAME=VALUE pairs about the kernel, and those that name a number of the machine and no option of the kernel."""
    from ..kernels.families import family

    own = {*family(kernel).options, *family(kernel).dims} if kernel in families else set()
    mine, numbers = list[str](), list[str]()
    for pair in pairs:
        name = pair.partition("=")[0]
        (numbers if name in machine.numbers and name not in own else mine).append(pair)
    return mine, numbers
