"""``symlayout check-certificate FILE...``: proofs that were saved, checked again without the solver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..answers import console
from ..answers.formats import stored_in
from ..errors import CertificateError
from .exits import BAD_INPUT, OK, UNEXPECTED


def check_certificate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="JSON: reports, certificates, lists of them.")],
) -> None:
    """Verify certificates again, without the solver: what each one states, and whether that is proved.

    A FILE that report.certificate has saved is checked as a whole: whether it was changed since, which certificates
    hold, and by what each other proof would be repeated.
    """
    from checkers.trusted.certificate_checker import verify

    from ..answers.explain import in_words
    from ..answers.statement_text import statement_in_words

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
    """The bundle that ``report.certificate`` saved in a file; None if the file holds something else."""
    from checkers.bundle import KIND, Bundle

    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None  # which is reported when the file is read again
    return Bundle.from_data(data) if isinstance(data, dict) and data.get("kind") == KIND else None


def _checked(bundle: Any, file: Path) -> bool:
    """Show what a bundle says and whether it holds."""
    console.show_place(str(file))
    found = bundle.check()
    console.show_bundle(bundle.about(), found.rows())
    return bool(found)
