"""``symlayout sweep``: the schedules of a kernel family, ranked by predicted time, the illegal ones excluded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..answers import console
from ..answers.report import Outcome
from ..errors import SymlayoutError
from ..kernel import Kernel
from ..kernels.families import Family, family
from .exits import OK, UNEXPECTED, check_target, fail
from .machines import MACHINE_HELP, chosen_machine, numbers_among
from .simulate import SUSTAINED_HELP, Cache, Style
from .verify import repaired

if TYPE_CHECKING:
    from simulator.sweep import Row, Sweep

AXES_HELP = "Sizes and options with one or more values: M=4096,8192 stages=2..6 tile=128x128,128x256."
RANGE = re.compile(r"(\d+)\.\.(\d+)(?:\.\.(\d+))?")


class Prove(StrEnum):
    """Which schedules the prover is asked about."""

    BEST = "best"
    ALL = "all"
    NONE = "none"


def sweep(
    kernel: Annotated[str, typer.Argument(metavar="FAMILY", help="A kernel family (symlayout kernels lists them).")],
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUES...]", help=AXES_HELP)] = None,
    dims: Annotated[list[str] | None, typer.Option("--dims", metavar="NAME=VALUES", help="Sizes.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUES", help="Values of an option, or a number of the machine."),
    ] = None,
    machine: Annotated[str, typer.Option(metavar="NAME|FILE", help=MACHINE_HELP)] = "h200",
    number: Annotated[
        list[str] | None, typer.Option("--number", metavar="NAME=VALUE", help="Another value of a machine's number.")
    ] = None,
    cache: Annotated[Cache, typer.Option(help="What L2 holds at the start.")] = Cache.COLD,
    sustained: Annotated[bool, typer.Option("--sustained", help=SUSTAINED_HELP)] = False,
    prove: Annotated[Prove, typer.Option(help="The schedules that the prover is asked about.")] = Prove.BEST,
    top: Annotated[int, typer.Option(min=1, metavar="N", help="How many of the fastest are shown, and proved.")] = 10,
    workers: Annotated[int, typer.Option(metavar="N", help="Processes; -1 for all cores.")] = -1,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, tcp://host:8786.")] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep predictions there, and reuse those that are there.")
    ] = None,
    style: Annotated[Style, typer.Option("--format", help="How the answer is written.")] = Style.TEXT,
) -> None:
    """Rank the schedules of a kernel family at sizes by predicted time, without a GPU."""
    from simulator.sweep import points
    from simulator.sweep import sweep as run

    if resume is not None:
        check_target(resume)
    if workers < 1 and workers != -1:
        fail(f"expected at least 1 worker, or -1 for all cores, got {workers}")
    if ":" in kernel:
        fail(f"expected a kernel family, whose options are axes, got {kernel!r}; simulate takes a kernel of your own")
    try:
        of = family(kernel)
        where = chosen_machine(machine, number or [])
        given, numbers = numbers_among([*(pairs or ()), *(dims or ()), *(set_ or ())], kernel, where)
        where = chosen_machine(where, numbers)
        sizes, axes = axes_of(of, given)
        total = len(points(of, sizes, axes))
        then = "" if prove is Prove.NONE else "asking the prover"
        with console.progress(total, "schedules", then) as show:
            found = run(
                of,
                sizes,
                axes,
                machine=where,
                cache=cache.value,
                sustained=sustained,
                legal=None if prove is Prove.NONE else why_illegal,
                best=None if prove is Prove.ALL else top,
                workers=1 if total == 1 else workers,
                scheduler=scheduler,
                resume=resume,
                progress=lambda done, _: show(done),
            )
    except (SymlayoutError, OSError, ValueError, ImportError) as e:
        fail(str(e))
        raise
    if style is Style.JSON:
        console.out.print_json(json.dumps(row_of(found)))
    else:
        console.out.print(text_of(found, top), markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(OK if found.ranked else UNEXPECTED)


def axes_of(of: Family, pairs: Sequence[str]) -> tuple[dict[str, list[int]], dict[str, list[Any]]]:
    """The values of sizes and of options, from NAME=VALUES; what is no axis ends the command."""
    sizes: dict[str, list[int]] = {}
    axes: dict[str, list[Any]] = {}
    for pair in pairs:
        name, sign, text = pair.partition("=")
        if not (sign and text):
            fail(f"expected NAME=VALUES such as stages=2..6 or tile=128x128,128x256, got {pair!r}")
        if name in sizes or name in axes:
            fail(f"expected the values of {name} once, separated by commas, got them twice")
        values = [value for part in text.split(",") for value in _expanded(part)]
        if name in of.dims:
            wrong = next((v for v in values if not (v.isascii() and v.isdecimal())), None)
            if wrong is not None:
                fail(f"expected numbers for {name}, got {wrong!r}")
            sizes[name] = list(dict.fromkeys(int(v) for v in values))
        elif name in of.options:
            axes[name] = list(dict.fromkeys(of.read(name, v) for v in values))
        else:
            known = f"a size ({', '.join(of.dims)}) or an option ({', '.join(of.options)}) of {of.name}"
            fail(f"expected {known}, got {name!r}")
    return sizes, axes


def _expanded(text: str) -> list[str]:
    """``2..6`` as 2 3 4 5 6, ``2..6..2`` as 2 4 6, anything else as it is."""
    found = RANGE.fullmatch(text)
    if found is None:
        return [text]
    first, last, step = int(found[1]), int(found[2]), int(found[3] or 1)
    if step < 1 or last < first or (last - first) // step >= 100_000:
        fail(f"expected a range such as 2..6 or 64..256..64, got {text!r}")
    return [str(n) for n in range(first, last + 1, step)]


def why_illegal(kernel: Kernel, sizes: Mapping[str, int]) -> str:
    """Why a schedule must not be used at sizes, or "": all claims are proved, under conditions that the sizes meet."""
    kernel, report, _ = repaired(kernel, True)
    if not report:
        bad = next(v for v in report.verdicts if v.outcome is not Outcome.PROVED)
        return f"{bad.outcome.value}: {bad.sentence}"
    try:
        kernel.bind(**sizes)
    except SymlayoutError as e:
        return str(e)
    return ""


# -- how it is shown -------------------------------------------------------------------------------------------


def row_of(found: Sweep) -> dict[str, Any]:
    """A sweep as JSON: the fastest row first, then what is excluded."""
    front = {id(r) for r in found.pareto}
    rows = [{**asdict(r), "pareto": id(r) in front} for r in found.ranked]
    return {
        "schema": 1,
        "kernel": found.kernel,
        "machine": found.machine,
        "points": len(found.rows),
        "reused": found.found_before,
        "rows": [{k: x for k, x in r.items() if k != "why"} for r in rows],
        "excluded": [{"options": dict(r.options), "sizes": dict(r.sizes), "why": r.why} for r in found.rows if r.why],
    }


def text_of(found: Sweep, top: int) -> str:
    """The fastest rows and the others of the Pareto front as a table, and what is excluded by reason."""
    front, ranked = found.pareto, found.ranked
    shown = [r for k, r in enumerate(ranked) if k < top or any(r is f for f in front)]
    axes = found.axes or tuple(dict.fromkeys(k for r in found.rows for k in (*r.sizes, *r.options)))
    head = ("", *axes, "us", "vs best", "shared B", "threads", "CTAs", "busiest", "proved")
    rows = [head, *(_cells(r, axes, ranked[0], any(r is f for f in front)) for r in shown)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    left = len(head) - 2  # the last two columns are words
    lines = [
        " ".join(x.ljust(w) if k >= left else x.rjust(w) for k, (x, w) in enumerate(zip(row, widths, strict=True)))
        for row in rows
    ]
    reused = f", {found.found_before} reused" if found.found_before else ""
    out = [f"{found.kernel} on {found.machine}: {len(found.rows)} schedules, {len(ranked)} kept{reused}"]
    out += [line.rstrip() for line in lines] if ranked else []
    if ranked:
        out.append("* no other schedule is better in time, shared memory and threads together")
    for same in found.excluded.values():
        point = " ".join(f"{k}={x}" for k, x in (*same[0].sizes.items(), *same[0].options.items()))
        out.append(f"excluded {len(same)}, such as {point}: {same[0].why}")
    return "\n".join(out)


def _cells(r: Row, axes: Sequence[str], best: Row, on_front: bool) -> tuple[str, ...]:
    of = {**{k: str(n) for k, n in r.sizes.items()}, **r.options}
    return (
        "*" if on_front else "",
        *(of.get(k, "") for k in axes),
        f"{1e6 * r.seconds:.2f}",
        f"{100 * (r.seconds / best.seconds - 1):+.1f} %",
        str(r.shared_bytes),
        str(r.threads),
        str(r.ctas),
        f"{r.busiest} {100 * r.busy:.0f} %",
        "yes" if r.legal else "not asked",
    )
