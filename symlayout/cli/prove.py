"""``symlayout prove PATH...``: the claims of files, kernels and comments."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ..answers import console
from ..answers.formats import Format, rendered, step_summary
from ..answers.judging import Judged, Manner, NoWorkers, judged
from ..answers.report import Report
from ..errors import NotationError
from ..finding.collect import Search, collect
from ..finding.found import Builder, Found, Stated
from ..finding.place import Place
from ..finding.settings import Settings, settings_at
from .exits import INTERRUPTED, check_target, fail, status, write


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
        float | None, typer.Option(metavar="SECONDS", help="Time to import each Python file (default 60).")
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
        check_target(output)
    settings = _settings()
    paths = paths or list(settings.paths)
    if not paths:
        fail("expected a PATH, or paths in the table [tool.symlayout] of pyproject.toml, got none")
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
        write({output: rendered(format, report, into.errors)})
    elif not aloud:
        sys.stdout.write(rendered(format, report, into.errors))
    if format is Format.GITHUB and os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(os.environ["GITHUB_STEP_SUMMARY"]).open("a", encoding="utf-8") as file:
            file.write(step_summary(report, into.errors))
    if interrupted:
        fail(f"interrupted: the report has the {len(report.verdicts)} verdicts until then", INTERRUPTED)
    raise typer.Exit(status(report, bool(into.errors)))


def _settings() -> Settings:
    """The settings of the repository. Wrong settings end the command."""
    try:
        return settings_at(Path.cwd())
    except NotationError as e:
        fail(str(e))
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
        fail(str(e))
    return False


def _build(s: Stated) -> Any:
    """The claim that a text states."""
    from checkers.claim_text import claim_from

    return claim_from(s.kind, s.fields, s.dims, s.given, s.expect, s.shared)


def _kinds() -> Collection[str]:
    """The kinds of claims that text can state."""
    from checkers.claim_text import KINDS

    return KINDS
