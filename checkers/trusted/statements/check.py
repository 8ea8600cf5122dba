"""The theorem that a statement needs: derived here from the statement, and compared with the one that is proved.

    >>> layout = {"layout": {"shape": [4, 8], "stride": [8, 1]}}
    >>> check_statement({"statement": {"kind": "Injective", "layout": layout},
    ...                  "claim": {"kind": "injective", "modes": [[4, 8], [8, 1]]}})

A layout has modes; with a swizzle outside, what the theorems of ``docs/theorems.md`` allow is all that is accepted.
Nothing of the provers, and no layout, is imported.
"""

from __future__ import annotations

import hashlib
import json

from ..lemmas import need
from .graph_claims import GRAPH_CLAIMS, GRAPH_FIELDS
from .kinds import DERIVED, FIELDS
from .world import Data, World


def check_statement(certificate: Data) -> None:
    """Raise CertificateError unless what a certificate proves is what its statement needs."""
    statement = certificate["statement"]
    if "binding" in certificate:
        need(certificate["binding"] == binding(certificate), "statement, claim or proof differ from those bound")
        need(len(certificate.get("trusts", ())) > 0, "expected what is trusted to be said")
        return
    kind, how = statement["kind"], certificate.get("rewriting", {})
    need(kind in DERIVED or kind in GRAPH_CLAIMS, f"{kind} takes a binding, and words that say what is trusted")
    needed, may = {**FIELDS, **GRAPH_FIELDS}[kind], {"kind", "sizes", "atoms", "given"}
    need(needed <= set(statement) <= needed | may, "a field too many or too few")
    need(statement.get("when") is None, "a predicate is part of its map")
    if kind in DERIVED:
        DERIVED[kind](World(statement, how), statement, certificate["claim"], how)
        return
    asked = GRAPH_CLAIMS[kind](statement)
    asked.check(World(asked.statement, how), certificate["claim"], how)


def binding(certificate: Data) -> str:
    """The hash of all that a certificate says, itself aside."""
    said = {k: v for k, v in certificate.items() if k != "binding"}
    return hashlib.sha256(json.dumps(said, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
