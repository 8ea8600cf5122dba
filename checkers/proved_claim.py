"""One proved claim of a bundle: what it states, by which method, and the certificate that is bound to the statement.

>>> from symlayout import Layout
>>> from checkers import Bijective, prove
>>> (entry,) = map(Proved.of, prove(Bijective(Layout(64), onto=64)).verdicts)
>>> entry.check()
>>> from dataclasses import replace
>>> replace(entry, statement=entry.statement.replace('"onto":64', '"onto":65')).check()
Traceback (most recent call last):
    ...
symlayout.errors.CertificateError: the certificate is of another claim: expected onto 65, got 64
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from symlayout.answers.report import Verdict
from symlayout.errors import CertificateError, SerialError

from .trusted.certificate_checker import verify
from .trusted.statements.write import statement as stated


@dataclass(frozen=True)
class Proved:
    """One verdict: the sentence of the claim, its *statement* with every field as JSON text, and how it was proved.

    The statement is the one that a certificate of the claim has, and is bound to. *proof* is that certificate as
    JSON text; without one, a proof is repeated by *method*, with the same version.
    """

    claim: str
    statement: str
    method: str
    given: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    proof: str = ""

    @classmethod
    def of(cls, v: Verdict) -> Proved:
        """The verdict on a claim. Raises CertificateError for a claim that has no canonical statement."""
        try:
            statement = _json(_statement(v))
        except SerialError as e:
            raise CertificateError(f"expected a claim with a canonical statement, got {v.claim}: {e}") from e
        proof = "" if v.certificate is None else _json(v.certificate)
        return cls(str(v.claim), statement, v.method, v.given, v.lemmas, proof)

    @property
    def kernel(self) -> tuple[str, str] | None:
        """(name, digest) of the kernel that the statement is about, if it is about one."""
        try:
            said = json.loads(self.statement)["kernel"]
            return str(said["kernel"]), str(said["digest"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None  # ``check`` reports entries that are not statements

    @property
    def certificate(self) -> Mapping[str, Any] | None:
        """The certificate as data, or None."""
        return json.loads(self.proof) if self.proof else None

    @property
    def trusts(self) -> tuple[str, ...]:
        """What the certificate leaves to be believed beside its proof, as it says itself; empty where there is none."""
        said = self.certificate
        return () if said is None else tuple(map(str, said.get("trusts", ())))

    def check(self) -> None:
        """Verify the certificate, if there is one, and that its statement is this one.

        Raises CertificateError for another one, ValueError for text that is not JSON.
        """
        said = json.loads(self.statement)
        if not isinstance(said, dict) or "kind" not in said:
            raise CertificateError(f"expected the statement of a claim, got {self.statement[:80]}")
        if self.proof:
            certificate: Any = json.loads(self.proof)
            verify(certificate)
            difference = _difference(said, certificate.get("statement"))
            if difference:
                raise CertificateError(f"the certificate is of another claim: {difference}")


def _statement(v: Verdict) -> dict[str, Any]:
    """The statement of a claim: by transforms of a descriptor where its certificate has it so, else by the map."""
    plain = stated(v.claim)
    if v.certificate is None or v.certificate.get("statement") == plain:
        return plain
    by_transforms = stated(v.claim, graphs=True)
    return by_transforms if v.certificate.get("statement") == by_transforms else plain


def _difference(entry: dict[str, Any], certificate: Any) -> str:
    """The difference between the statement of an entry and that of its certificate; "" if there is none."""
    if not isinstance(certificate, dict):
        return "it states none"
    fields = dict.fromkeys(("kind", *entry, *certificate))
    told = [(k, *(_short(x, k) for x in (entry, certificate))) for k in fields if not _same(entry, certificate, k)]
    return "; ".join(f"expected {k} {mine}, got {its}" for k, mine, its in told[:2])


def _same(a: Mapping[str, Any], b: Mapping[str, Any], name: str) -> bool:
    """Whether a field is equal in two statements, or missing in both; numbers are not truth values here."""
    return (name in a) is (name in b) and _json(_sorted(a.get(name))) == _json(_sorted(b.get(name)))


def _sorted(x: Any) -> Any:
    """Data with the keys of each part in order."""
    if isinstance(x, dict):
        return {k: _sorted(x[k]) for k in sorted(x)}
    return list(map(_sorted, x)) if isinstance(x, list) else x


def _short(statement: Mapping[str, Any], name: str) -> str:
    text = _json(statement[name]) if name in statement else "none"
    return text if len(text) <= 60 else f"{text[:60]}.."


def _json(x: Any) -> str:
    return json.dumps(x, separators=(",", ":"))  # in the order that it has: definitions stand before their uses
