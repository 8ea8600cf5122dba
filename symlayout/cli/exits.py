"""The end of a command: its exit status, the message of wrong usage, the files that it writes."""

from __future__ import annotations

from pathlib import Path

import typer

from ..answers import console
from ..answers.report import Outcome, Report

OK, UNEXPECTED, BAD_INPUT, UNDECIDED, NO_DEVICE, INTERRUPTED = 0, 1, 2, 3, 4, 130


def status(report: Report, bad_input: bool) -> int:
    """The exit status of a report."""
    if bad_input:
        return BAD_INPUT
    wrong = [v for v in report.verdicts if not v.as_expected]
    if any(v.outcome in (Outcome.PROVED, Outcome.REFUTED) for v in wrong):
        return UNEXPECTED
    return UNDECIDED if wrong else OK


def fail(message: str, status: int = BAD_INPUT) -> None:
    """End with a message, about wrong usage or bad input unless the status says otherwise."""
    console.show_error(message)
    raise typer.Exit(status)


def check_target(file: Path) -> None:
    """End before any work where a file could not be written anyway."""
    if file.is_dir() or not file.parent.is_dir():
        fail(f"expected a file in a folder that exists, got {file}")


def write(texts: dict[Path, str]) -> None:
    """Write files; one that cannot be written ends the command."""
    for file, text in texts.items():
        try:
            file.write_text(text, encoding="utf-8")
        except OSError as e:
            fail(f"expected a file that can be written, got {file}: {e.strerror}")
