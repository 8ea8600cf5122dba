"""The one list of outcomes, for verdicts, for the expectation of a claim, and for explanations."""

from __future__ import annotations

import enum


class Outcome(enum.StrEnum):
    """The outcome of a claim. Only PROVED lets a build pass.

    >>> Outcome("refuted") is Outcome.REFUTED, str(Outcome.PROVED), Outcome.PROVED == "proved"
    (True, 'proved', True)
    """

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"
    VACUOUS = "vacuous"

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"
