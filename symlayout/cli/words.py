"""``symlayout explain`` and ``symlayout init``: the words of answers, and first files to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..answers import console
from ..errors import SymlayoutError
from .exits import fail, write


def explain(
    name: Annotated[
        str,
        typer.Argument(
            help="A kind of claim, an outcome, a method, a theorem such as T2, the id of a rule; a resource, a number "
            "of a machine, or what a role waits for."
        ),
    ] = "",
) -> None:
    """Say what a word in an answer means; without a name, list what there is."""
    from checkers.ck_tile import CK_CLAIMS
    from checkers.claim_text import KINDS
    from checkers.claims import OTHERS
    from simulator.glossary import entries

    from ..answers import explain as words

    stated = {k.made_by for k in KINDS.values()}
    kinds = (*KINDS.values(), *OTHERS, *(c for c in CK_CLAIMS if c not in stated))
    try:
        shown = str(words.explain(name, kinds, entries())) if name else words.overview(kinds, entries())
    except SymlayoutError as e:
        fail(str(e))
    console.out.print(shown, markup=False)


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write; made if it does not exist.")] = Path(),
) -> None:
    """Write a first file of claims and a test; both pass."""
    from ..finding.toml_claims import FIRST_FILES

    files = {folder / name: text for name, text in FIRST_FILES.items()}
    there = [str(f) for f in files if f.exists()]
    if there:
        fail(f"expected to write new files, got {' and '.join(there)}, which exist")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        fail(f"expected a folder, got {folder}: {e.strerror}")
    write(files)
    for file in files:
        console.out.print(f"wrote {file}", markup=False)
    console.out.print(f"next: symlayout prove {folder}", markup=False)
