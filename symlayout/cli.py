"""The command: ``symlayout prove PATH...`` and ``symlayout show LAYOUT``.

Exit status: 2 wrong usage or bad input, 1 a verdict other than the expected one, 3 undecided or vacuous,
0 otherwise; the first that applies in the order 2, 1, 3.
"""

from __future__ import annotations

import enum
import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from . import console
from .collect import Found, collect
from .errors import InternalError, NotationError, SymlayoutError
from .report import SCHEMA, Outcome, Report, Verdict

app = typer.Typer(
    name="symlayout",
    help="Prove properties of GPU layouts for all sizes; show what a layout does.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

OK, UNEXPECTED, BAD_INPUT, UNDECIDED = 0, 1, 2, 3


class Format(enum.StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"


@app.command()
def prove(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Python files, folders, or module:name.")],
    format: Annotated[Format, typer.Option(help="How the report is printed.")] = Format.TEXT,
) -> None:
    """Prove the claims in Python files: module-level claims and claim_* functions."""
    from checkers import Claim

    begin = time.perf_counter()
    verdicts: list[Verdict] = []
    errors: list[Found] = []
    for target in paths:
        shown = ""
        for found in collect(target, Claim):
            if found.error:
                errors.append(found)
                continue
            file = found.place.rpartition(":")[0] or found.place
            if format is Format.TEXT and file != shown:
                shown = file
                console.show_place(file)
            for v in _verdicts(found, errors):
                verdicts.append(v)
                if format is Format.TEXT:
                    console.show_verdict(v)
    if not verdicts and not errors:
        errors.append(Found(" ".join(paths), "", error="expected claims such as Bijective(layout, onto=64), got none"))
    report = Report(tuple(verdicts))
    if format is Format.JSON:
        _print_json(report, errors)
    elif verdicts:
        console.show_summary(report, time.perf_counter() - begin)
    for e in errors:
        console.show_error(f"{e.place}: {e.error}")
    raise typer.Exit(status(report, bool(errors)))


def _verdicts(found: Found, errors: list[Found]) -> list[Verdict]:
    """The verdicts of one claim; a claim that cannot be judged is an error, never a verdict."""
    from checkers.prover import verdicts

    try:
        return [v.placed(f"{found.place} {found.name}") for v in verdicts(found.claim)]
    except InternalError:
        raise
    except (SymlayoutError, RecursionError, MemoryError, OverflowError) as e:
        errors.append(Found(found.place, found.name, error=f"{found.name}: {e or type(e).__name__}"))
        return []


def status(report: Report, bad_input: bool) -> int:
    """The exit status of a report."""
    if bad_input:
        return BAD_INPUT
    wrong = [v for v in report.verdicts if not v.as_expected]
    if any(v.outcome in (Outcome.PROVED, Outcome.REFUTED) for v in wrong):
        return UNEXPECTED
    return UNDECIDED if wrong else OK


def _print_json(report: Report, errors: list[Found]) -> None:
    data = {
        "schema": SCHEMA,
        "verdicts": [v.to_json() for v in report.verdicts],
        "errors": [{"place": e.place, "message": e.error} for e in errors],
    }
    sys.stdout.write(json.dumps(data, indent=1) + "\n")


@app.command()
def show(
    layout: Annotated[str, typer.Argument(help='A layout as CuTe prints it: "(4,8):(8,1)", or a CuTe C++ type.')],
    at: Annotated[str, typer.Option(metavar="COORD", help="Show the steps from this coordinate to its value.")] = "",
    tile: Annotated[str, typer.Option(metavar="M,N", help="Read it as (thread, value) over a tile.")] = "",
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it as SVG.")] = None,
) -> None:
    """Show what a layout does: its size, its grid of offsets or owners, the steps to one value."""
    try:
        _show(layout, at, tile, svg)
    except (SymlayoutError, OSError) as e:
        console.show_error(str(e))
        raise typer.Exit(BAD_INPUT) from None


def _show(source: str, at: str, tile: str, svg_file: Path | None) -> None:
    from .draw import offset_grid, steps, thread_value_grid
    from .draw import svg as draw_svg
    from .int_tuple import depth, rank
    from .notation import parse, parse_int_tuple
    from .swizzle import Swizzle

    found = parse(source)
    box = _tile(tile)
    if isinstance(found, Swizzle):
        found = _over_period(found)
    _facts(found, rank(found), depth(found))
    if at:
        for line in steps(found, parse_int_tuple(at), box):
            console.out.print(line, markup=False)
    grid = None
    if found.static and found.size() <= 1 << 20:
        grid = thread_value_grid(found, box) if box else offset_grid(found)
    if grid is not None and not at:
        console.out.print(grid.table(console.width()), markup=False)
    if svg_file is not None:
        if grid is None:
            raise NotationError(f"expected a layout of numbers with at most 2^20 elements to draw, got {found}")
        svg_file.write_text(draw_svg(grid), encoding="utf-8")
        console.out.print(f"wrote {svg_file}", markup=False)


def _facts(found: Any, rank: int, depth: int) -> None:
    console.out.print(str(found), markup=False, style="bold")
    size, cosize = found.size(), found.cosize()
    console.out.print(f"size {size}, cosize {cosize}, rank {rank}, depth {depth}", markup=False)


def _over_period(sw: Any) -> Any:
    """A swizzle as a layout over one period."""
    from .layout import ComposedLayout, Layout

    return ComposedLayout(sw, 0, Layout(min(sw.period, 1 << 12)))


def _tile(source: str) -> tuple[int, int] | None:
    from .notation import parse_int_tuple

    if not source:
        return None
    text = source.replace("x", ",")
    parts = parse_int_tuple(text if text.startswith("(") else f"({text})")
    if not (isinstance(parts, tuple) and len(parts) == 2 and all(type(p) is int and p > 0 for p in parts)):
        raise NotationError(f"expected a tile of two extents such as 64,64, got {source!r}")
    return parts


def main() -> None:
    """The entry point; a defect of ours ends in one line and status 70, a broken pipe in silence."""
    try:
        app()
    except InternalError as e:
        console.show_error(f"internal error, please report it: {e}")
        sys.exit(70)
    except BrokenPipeError:
        sys.exit(141)
    except KeyboardInterrupt:
        console.show_error("interrupted")
        sys.exit(130)
