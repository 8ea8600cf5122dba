"""What the commands that measure on a device have in common: options, what is said without a device, rows in a file."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import gpu

NO_DEVICE = 4  # the exit status, as of symlayout's own commands


def parser_of(about: str | None, cases: Collection[str] = ()) -> argparse.ArgumentParser:
    """A parser with ``--out`` for rows, and with ``--only`` for some of the cases where there are any.

    >>> parser_of("Rates of copies.", ["tma", "plain"]).parse_args(["--only", "tma"]).only
    ['tma']
    """
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0])
    if cases:
        parser.add_argument("--only", nargs="*", choices=cases, default=list(cases))
    parser.add_argument("--out", type=Path, help="a file for rows, a JSON object a line")
    return parser


def is_missing() -> bool:
    """Whether there is no device; what is missing is printed."""
    found = gpu.availability()
    if not found.ok:
        print(found)
    return not found.ok


def write(out: Path | None, rows: Iterable[Mapping[str, Any]], default: Callable[[Any], Any] | None = None) -> None:
    """Put rows into a file, where one is asked for; called as they come, so that what ends the rest loses none.

    What JSON has no form for is what *default* makes of it.
    """
    if out:
        out.write_text("".join(json.dumps(row, default=default) + "\n" for row in rows), encoding="utf-8")
