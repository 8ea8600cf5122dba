"""Runs the commands of the pages in this folder again, and writes their output and their pictures anew.

    python docs/simulator/refresh.py

A block of a page that begins with ``$ symlayout`` has the command's output below it, and the table of resources is that
of ``simulator.glossary``. Numbers change with the machine
files and with the model, and pictures with them; the words do not, and a test compares these.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BLOCK = re.compile(r"```console\n\$ symlayout ([^\n]*)\n(.*?)```", re.DOTALL)
TABLE = re.compile(r"\| limited by \|[^\n]*\n(?:\|[^\n]*\n)*")
PICTURES = {  # a file of docs/images: the command that makes it
    "timeline_gemm_2.svg": "simulate gemm M=1024 N=1024 K=1024 cluster=1 blocks=132 stages=2",
    "timeline_gemm_4.svg": "simulate gemm M=1024 N=1024 K=1024 cluster=1 blocks=132 stages=4",
}


def output(arguments: list[str]) -> tuple[int, str]:
    """The exit status of a command, and what it prints."""
    from typer.testing import CliRunner

    from symlayout.cli import app

    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.stdout


def refreshed(text: str) -> str:
    """A page with the output of its commands as it is now."""

    def again(found: re.Match[str]) -> str:
        return f"```console\n$ symlayout {found[1]}\n{output(found[1].split())[1]}```"

    return with_table(BLOCK.sub(again, text))


def with_table(text: str) -> str:
    """A page with the table of resources as it is now."""
    from simulator.glossary import table

    return TABLE.sub(lambda _: table(), text)


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for page in sorted(HERE.glob("*.md")):
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
    for picture, command in PICTURES.items():
        output([*command.split(), "-o", str(ROOT / "docs/images" / picture)])
