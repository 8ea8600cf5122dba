"""A proof by algebra that counts: the checker that knows nothing of how it was found has accepted its certificate."""

from __future__ import annotations

from symlayout.errors import InternalError, SymlayoutError
from symlayout.facts import Facts

from .claim import Claim, Proof
from .trusted.certificate_checker import verify


def certified(claim: Claim, facts: Facts) -> Proof | None:
    """A proof by algebra whose certificate the independent checker has accepted, or None."""
    proof = claim.certify(facts)
    if proof is not None and proof.certificate is not None:
        try:
            verify(proof.certificate)
        except SymlayoutError as e:
            raise InternalError(f"the certificate for {claim} was rejected: {e}") from e
    return proof
