"""The command: ``symlayout prove PATH...``, ``show``, ``diff``, ``check-certificate``, ``explain`` and ``init``.

Exit status: 2 wrong usage or bad input, 1 a verdict other than the expected one, 3 undecided or vacuous,
0 otherwise; the first that applies in the order 2, 1, 3.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Collection, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from .answers import console
from .answers.formats import Format, rendered, step_summary, stored_in
from .answers.judging import Judged, Manner, NoWorkers, judged
from .answers.report import Outcome, Report
from .errors import CertificateError, InternalError, LayoutError, NotationError, SymlayoutError
from .finding.collect import Search, collect
from .finding.found import Builder, Found, Stated
from .finding.place import Place
from .finding.settings import Settings, settings_at
from .siblings import expect_ours

app = typer.Typer(
    name="symlayout",
    help="Prove properties of GPU layouts for all sizes; show what a layout does.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

OK, UNEXPECTED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130


class Plain(StrEnum):
    """How a report that has no verdicts is printed."""

    TEXT = "text"
    JSON = "json"


def _version(asked: bool) -> None:
    if asked:
        from checkers.smt import version as solver

        from . import __version__

        console.out.print(f"symlayout {__version__}, Python {platform.python_version()}, {solver()}")
        raise typer.Exit(OK)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the versions and exit."),
    ] = False,
) -> None:
    pass


# -- proofs -----------------------------------------------------------------------------------------------


@app.command()
def prove(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH...]",
            help="Python, TOML and source files, folders of them, or module:name; those of [tool.symlayout] if none.",
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="How the report is printed.")] = Format.TEXT,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the report there, and text to the terminal."),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Files and folders to leave out, such as third_party or '*_gen.py'."),
    ] = None,
    no_import: Annotated[
        bool, typer.Option("--no-import", help="Run no Python file: only TOML files and comments are read.")
    ] = False,
    import_seconds: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Time for each Python file to be imported; 60 unless told.")
    ] = None,
    budget: Annotated[float | None, typer.Option(metavar="SECONDS", help="Time for each solver query.")] = None,
    dump_smt: Annotated[Path | None, typer.Option(metavar="DIR", help="Write queries that stay open there.")] = None,
    cache: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep and reuse verdicts in this file.")] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="N", help="Processes to share the claims; -1 for all cores.")
    ] = None,
    scheduler: Annotated[str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler, tcp://host:port.")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show each access of a kernel.")] = False,
) -> None:
    """Prove the claims of Python files, of their kernels, of TOML files and of comments that begin with symlayout:.

    Of Python files only those that import symlayout or checkers are run, each in a child process.
    """
    begin = time.perf_counter()
    if output is not None:
        _check_target(output)
    settings = _settings()
    paths = paths or list(settings.paths)
    if not paths:
        _fail("expected a PATH, or paths in the table [tool.symlayout] of pyproject.toml, got none")
    limit = import_seconds or settings.import_seconds or Search.import_seconds
    search = Search((*settings.exclude, *(exclude or ())), settings.imports and not no_import, limit)
    manner = Manner(
        budget if budget is not None else settings.budget,
        dump_smt,
        cache or settings.cache,
        jobs if jobs is not None else settings.jobs or 1,
        scheduler,
    )
    aloud = format is Format.TEXT or output is not None
    into = Judged()
    found = (f for target in paths for f in collect(target, Builder(_build, _kinds), search=search))
    interrupted = _shown(judged(found, manner, into, console.working, console.progress), aloud, verbose)
    if not into.verdicts and not into.errors and not interrupted:
        none = "expected claims such as Bijective(layout, onto=64), got none"
        into.errors.append(Found(Place(name=" ".join(paths)), error=none))
    report = into.report
    if aloud and report.verdicts:
        console.show_summary(report, time.perf_counter() - begin)
    for e in into.errors:
        console.show_error(f"{e.place}: {e.error}")
    if output is not None:
        _write({output: rendered(format, report, into.errors)})
    elif not aloud:
        sys.stdout.write(rendered(format, report, into.errors))
    if format is Format.GITHUB and os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
            file.write(step_summary(report, into.errors))
    if interrupted:
        _fail(f"interrupted: the report has the {len(report.verdicts)} verdicts until then", INTERRUPTED)
    raise typer.Exit(status(report, bool(into.errors)))


def _settings() -> Settings:
    """What the repository says; what it says wrongly ends the command."""
    try:
        return settings_at(Path.cwd())
    except NotationError as e:
        _fail(str(e))
        raise


def _shown(reports: Iterator[tuple[Found, Report]], aloud: bool, verbose: bool) -> bool:
    """Show each report as soon as it is known, under its file; whether this was interrupted."""
    shown = ""
    try:
        for f, some in reports:
            if aloud and f.place.group != shown:
                shown = f.place.group
                console.show_place(shown)
            if aloud:
                console.show_report(some, verbose)
    except KeyboardInterrupt:
        return True
    except NoWorkers as e:
        _fail(str(e))
    return False


def _build(s: Stated) -> Any:
    """The claim that a text states."""
    from checkers.claim_text import claim_from

    return claim_from(s.kind, s.fields, s.dims, s.given, s.expect, s.shared)


def _kinds() -> Collection[str]:
    """The kinds of claims that text can state."""
    from checkers.claim_text import KINDS

    return KINDS


def status(report: Report, bad_input: bool) -> int:
    """The exit status of a report."""
    if bad_input:
        return BAD_INPUT
    wrong = [v for v in report.verdicts if not v.as_expected]
    if any(v.outcome in (Outcome.PROVED, Outcome.REFUTED) for v in wrong):
        return UNEXPECTED
    return UNDECIDED if wrong else OK


def _fail(message: str, status: int = BAD_INPUT) -> None:
    """End with a message, about wrong usage or bad input unless the status says otherwise."""
    console.show_error(message)
    raise typer.Exit(status)


def _check_target(file: Path) -> None:
    """End before any work where a file could not be written anyway."""
    if file.is_dir() or not file.parent.is_dir():
        _fail(f"expected a file in a folder that exists, got {file}")


def _write(texts: dict[Path, str]) -> None:
    for file, text in texts.items():
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as e:
            _fail(f"expected a file that can be written, got {file}: {e.strerror}")


@app.command("check-certificate")
def check_certificate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON: reports, certificates, lists of them.")],
) -> None:
    """Verify certificates again, without the solver: what each one states, and whether that is proved.

    A FILE that report.certificate has saved is checked as a whole: whether it was changed since, which certificates
    hold, and by what each other proof would be repeated.
    """
    from checkers.trusted.certificate_checker import verify

    from .answers.explain import in_words
    from .answers.statement_text import statement_in_words

    bad = rejected = 0
    for file in files:
        try:
            bundle = _bundle_in(file)
            if bundle is not None:
                rejected += not _checked(bundle, file)
                continue
            found, without = stored_in(file)
        except CertificateError as e:
            console.show_error(f"{file}: {e}")
            bad += 1
            continue
        console.show_place(str(file))
        for s in found:
            reason = ""
            try:
                verify(s.certificate)
            except CertificateError as e:
                reason = str(e)
                rejected += 1
            if not reason and s.claim and "statement" not in s.certificate:
                reason = "expected the statement of the claim in its certificate, got a proof about its parts alone"
                rejected += 1
            stated = statement_in_words(s.certificate["statement"]) if "statement" in s.certificate else ""
            trusts = tuple(map(str, s.certificate.get("trusts", ())))
            console.show_certificate(in_words(s.certificate["claim"]), reason, s.claim, s.lemmas, stated, trusts)
        if without:
            console.out.print(f"  {without} proofs without a certificate, by enumeration or solver", markup=False)
    raise typer.Exit(BAD_INPUT if bad else UNEXPECTED if rejected else OK)


def _bundle_in(file: Path) -> Any:
    """What ``report.certificate`` saved in a file; None where it is something else."""
    from checkers.bundle import KIND, Bundle

    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # which is told where it is read again
    return Bundle.from_data(data) if isinstance(data, dict) and data.get("kind") == KIND else None


def _checked(bundle: Any, file: Path) -> bool:
    """Show what a bundle says and whether it holds."""
    console.show_place(str(file))
    found = bundle.check()
    console.show_bundle(bundle.about(), str(found).splitlines())
    return bool(found)


@app.command()
def diff(
    a: Annotated[str, typer.Argument(help='A layout: "(M,8):(8,1)", or a CuTe C++ type.')],
    b: Annotated[str, typer.Argument(help="Another layout.")],
    given: Annotated[
        list[str] | None, typer.Option(metavar="FACTS", help='What may be assumed: "ld >= M and N % 8 == 0".')
    ] = None,
    dim: Annotated[
        list[str] | None, typer.Option(metavar="SIZE", help="A size and what is known of it: M,multiple_of=8.")
    ] = None,
) -> None:
    """Say whether two layouts are one function for all sizes, or the first coordinate that differs."""
    from checkers import Equal
    from checkers import prove as proved

    from .text.notation import parse, parse_dims, parse_fact

    try:
        symbols = parse_dims(" ".join(map(_size, dim))) if dim else ()
        facts = tuple(f for text in given or () for f in parse_fact(text, symbols))
        sides: list[Any] = [parse(text, symbols) for text in (a, b)]
        claim = Equal(*sides, given=facts)  # which refuses a swizzle by itself
        console.show_layouts({"a": claim.a, "b": claim.b})
        report = proved(claim)
    except InternalError:
        raise
    except (SymlayoutError, RecursionError, MemoryError, OverflowError) as e:
        _fail(str(e) or type(e).__name__)
    for v in report.verdicts:
        console.show_verdict(v)
    raise typer.Exit(status(report, False))


def _size(text: str) -> str:
    """``M,multiple_of=8`` as ``M(multiple_of=8)``."""
    name, comma, limits = text.partition(",")
    return f"{name}({limits})" if comma and "(" not in text else text


# -- tensor maps ------------------------------------------------------------------------------------------


class Profile(StrEnum):
    """Whose rules a descriptor must meet."""

    DRIVER = "driver"
    CCCL = "cccl"
    HARDWARE = "hardware"
    DOCUMENTED = "documented"


@app.command()
def tensormaps(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines (.jsonl, .jsonl.gz), one encode call each.")],
    profile: Annotated[Profile, typer.Option(help="Whose rules count.")] = Profile.DRIVER,
    against: Annotated[str, typer.Option(metavar="FIELD", help="The field of the recorded code to compare with.")] = "",
    format: Annotated[Plain, typer.Option(help="How the report is printed.")] = Plain.TEXT,
) -> None:
    """Judge recorded cuTensorMapEncode calls: how many are accepted, and by which rules the others are not.

    A row has mode (tiled or im2col), dtype, rank, addr, dim, stride (bytes),
    box, estride, interleave, swizzle, l2, oob, and for im2col lower, upper,
    channels, pixels in place of box: the driver's numbers, innermost first.
    addr counts from an aligned address.

    driver: what the CUDA 13.0 driver accepts on compute capability 9.0.

    cccl: what cuda::make_tma_descriptor accepts, as far as a row knows: it has
    nothing of the DLTensor and does not tell null. Of im2col rows, which that
    function cannot make, all but the box is judged.

    hardware: as driver, and the tile fits the shared memory of a block.

    documented: the text of the Driver API.
    """
    from .tma.recorded_report import judged

    try:
        found = judged(file, profile.value, against)
    except LayoutError as e:
        _fail(str(e))
        return
    if format is Plain.JSON:
        sys.stdout.write(json.dumps(found.as_json(), indent=2) + "\n")
    else:
        for line in found.lines():
            console.out.print(line, markup=False)
    raise typer.Exit(UNEXPECTED if found.disagreements else OK)


# -- words and files --------------------------------------------------------------------------------------


@app.command()
def explain(
    name: Annotated[
        str, typer.Argument(help="A kind of claim, an outcome, a method, a theorem such as T2 or the id of a rule.")
    ] = "",
) -> None:
    """Say what a word in an answer means; without a name, list what there is."""
    from checkers.claim_text import KINDS
    from checkers.claims import OTHERS

    from .answers import explain as words

    kinds = (*KINDS.values(), *OTHERS)
    try:
        shown = str(words.explain(name, kinds)) if name else words.overview(kinds)
    except SymlayoutError as e:
        _fail(str(e))
    console.out.print(shown, markup=False)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write; made if it does not exist.")] = Path(),
) -> None:
    """Write a first file of claims and a test, both of which pass."""
    from .finding.toml_claims import FIRST_FILES

    files = {folder / name: text for name, text in FIRST_FILES.items()}
    there = [str(f) for f in files if f.exists()]
    if there:
        _fail(f"expected to write new files, got {' and '.join(there)}, which exist")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        _fail(f"expected a folder, got {folder}: {e.strerror}")
    _write(files)
    for file in files:
        console.out.print(f"wrote {file}", markup=False)
    console.out.print(f"next: symlayout prove {folder}", markup=False)


# -- pictures ---------------------------------------------------------------------------------------------


@app.command()
def show(
    layout: Annotated[str, typer.Argument(help='A layout as CuTe prints it: "(4,8):(8,1)", or a CuTe C++ type.')],
    at: Annotated[
        str, typer.Option(metavar="COORD", help="Show the steps from this coordinate to its value; _ slices.")
    ] = "",
    tile: Annotated[str, typer.Option(metavar="M,N", help="Read it as (thread, value) over a tile.")] = "",
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw it as SVG.")] = None,
) -> None:
    """Show what a layout does: its size, its grid of offsets or owners, the steps to one value."""
    if svg is not None:
        _check_target(svg)
    try:
        grid = _show(layout, at, tile, svg is not None)
    except InternalError:
        raise
    except (SymlayoutError, RecursionError, MemoryError, OverflowError) as e:
        _fail(str(e) or type(e).__name__)
    if svg is not None:
        from .draw import svg as drawn

        _write({svg: drawn(grid)})
        console.out.print(f"wrote {svg}", markup=False)


def _show(source: str, at: str, tile: str, drawn: bool) -> Any:
    """Print a layout, or its slice; the grid of it, which must be one where it is to be *drawn*."""
    from .draw import offset_grid, steps, thread_value_grid
    from .int_tuple import has_none
    from .swizzle import Swizzle
    from .text.notation import parse, parse_int_tuple

    found = parse(source)
    if isinstance(found, Swizzle):
        found = _over_period(found)
    box, coord, lines = _tile(tile), parse_int_tuple(at) if at else (), []
    if has_none(coord):
        if box:
            raise NotationError(f"expected a coordinate of numbers with --tile, got {at}")
        lines, found = [*_facts(found), _slice_line(found, coord)], found(coord)
    small = found.static and found.size() <= 1 << 20
    if not small and (drawn or box):
        what = "(thread, value) layout" if box else "layout"
        raise NotationError(f"expected a {what} of numbers with at most 2^20 elements to draw, got {found}")
    grid = (thread_value_grid(found, box) if box else offset_grid(found)) if small else None
    lines += _facts(found)
    if at and not has_none(coord):
        lines += steps(found, coord, box)
    elif grid is not None:
        lines.append(grid.table(console.width()))
    for line in lines:
        console.out.print(line, markup=False, style="bold" if line == str(found) else None)
    return grid


def _slice_line(layout: Any, coord: Any) -> str:
    """Where the slice at a coordinate with _ begins; inside a composed layout that is part of the slice."""
    from .int_tuple import text
    from .layout import Layout, slice_layout

    start = f", {slice_layout(coord, layout)[1]} further on" if isinstance(layout, Layout) else ""
    return f"the slice at {text(coord)}{start}"


def _facts(found: Any) -> list[str]:
    from .int_tuple import depth, rank

    return [str(found), f"size {found.size()}, cosize {found.cosize()}, rank {rank(found)}, depth {depth(found)}"]


def _over_period(sw: Any) -> Any:
    """A swizzle as a layout over one period."""
    from .layout import ComposedLayout, Layout

    return ComposedLayout(sw, 0, Layout(min(sw.period, 1 << 12)))


def _tile(source: str) -> tuple[int, int] | None:
    from .text.notation import parse_int_tuple

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
        expect_ours()
        app()
    except ImportError as e:
        if "of symlayout at" not in str(e):
            raise
        console.show_error(str(e))
        sys.exit(BAD_INPUT)
    except InternalError as e:
        console.show_error(f"internal error, please report it: {e}")
        sys.exit(70)
    except BrokenPipeError:
        sys.exit(141)
    except KeyboardInterrupt:
        console.show_error("interrupted")
        sys.exit(130)
