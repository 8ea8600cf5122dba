"""A certificate and what binds it to its claim, written when it is first looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from symlayout.errors import CertificateError
from symlayout.facts import NOTHING, Facts

from ...claim import Claim, Restated

# What a statement that the checker cannot read may raise on the way.
NOT_READ = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


class Bound(dict[str, Any]):
    """A certificate whose statement is written when it is first asked for: a proof is found more often than shown.

    It is a dictionary in every other way: ``json.dumps`` writes it whole, and pickling makes a plain one.
    """

    __slots__ = ("_bind",)
    _bind: tuple[Claim, Facts | None] | None

    def _whole(self) -> None:
        bind, self._bind = self._bind, None
        if bind is not None:
            super().update(parts_of(*bind, {k: dict.__getitem__(self, k) for k in ("claim", "proof")}))

    def __missing__(self, key: str) -> Any:
        if self._bind is None:
            raise KeyError(key)
        self._whole()
        return self[key]

    def __contains__(self, key: object) -> bool:
        self._whole()
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        self._whole()
        return super().__iter__()

    def __len__(self) -> int:
        self._whole()
        return super().__len__()

    def __eq__(self, other: object) -> bool:
        self._whole()
        return super().__eq__(other)

    __hash__ = None

    def get(self, key: str, default: Any = None) -> Any:
        self._whole()
        return super().get(key, default)

    def keys(self) -> Any:
        self._whole()
        return super().keys()

    def items(self) -> Any:
        self._whole()
        return super().items()

    def values(self) -> Any:
        self._whole()
        return super().values()

    def __repr__(self) -> str:
        self._whole()
        return super().__repr__()

    def copy(self) -> dict[str, Any]:
        self._whole()
        return super().copy()

    def __reduce__(self) -> Any:
        self._whole()
        return dict, (super().copy(),)


def bound(claim: Claim, facts: Facts | None, certificate: Mapping[str, Any]) -> Bound:
    """The certificate with its statement, written when it is read; *facts* are by default those of the claim."""
    out = Bound(certificate)
    out._bind = claim, facts
    return out


def unbound(certificate: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """The certificate without what ``bound`` writes anew from the claim alone; another as it is."""
    if not isinstance(certificate, Bound) or certificate._bind is None or certificate._bind[1] is not None:
        return certificate
    return {k: dict.__getitem__(certificate, k) for k in ("claim", "proof")}


def facts_about(claim: Claim) -> Facts:
    """Facts about the sizes of a claim."""
    return NOTHING if claim.static() else Facts.about(claim.parameters(), given=claim.given)


def _statements(claim: Claim, facts: Facts) -> Iterator[tuple[dict[str, Any], Restated]]:
    """Statements of a claim that the checker may derive, each with what the proof is about."""
    from .kinds import DERIVED
    from .write import statement

    if type(claim).__name__ in DERIVED:
        yield statement(claim), Restated(claim)
    for form in claim.restated(facts):
        yield statement(claim, graphs=form.graphs), form


def parts_of(claim: Claim, facts: Facts | None, certificate: dict[str, Any]) -> dict[str, Any]:
    """The link from a certificate to a claim: its statement and the rewriting, else its hash with what is trusted."""
    from .check import binding, check_statement
    from .proof_names import quotients, rewriting
    from .write import statement

    facts = facts_about(claim) if facts is None else facts
    for said, form in _statements(claim, facts):
        try:
            how = rewriting(form.claim, facts, certificate, form.asked, quotients(claim, form.moved))
            whole: dict[str, Any] = {"statement": said, "rewriting": how}
            whole = {k: v for k, v in whole.items() if v}
            check_statement(json.loads(json.dumps({**certificate, **whole})))
            return whole
        except (CertificateError, *NOT_READ):
            continue
    said = statement(claim)
    because = "that the claim which is proved, about the parts it names, is what the statement needs"
    whole = {"statement": said, "trusts": [because]}
    whole["binding"] = binding(json.loads(json.dumps({**certificate, **whole})))
    return whole
