"""Comments that were meant as claims and are none: a mark without its colon, in capitals, misspelt or too late.

    >>> slip("symlayout bijective (4,8):(8,1) onto 32", KINDS)
    "'symlayout:' before a claim, got 'symlayout'"
    >>> slip("TODO symlayout: injective 8:1", KINDS)
    "'symlayout:' at the beginning of the comment, got it after 'TODO'"
    >>> slip("symlayout proves it", KINDS)

Prose about symlayout is not an error: what follows must be a kind of claim, ``dims`` or ``given``, and then a layout,
a size or a fact.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

MARK = "symlayout:"
DECLARATIONS = ("dims", "given")
KINDS = ("bijective", "injective")  # for the examples above
QUICK = re.compile(r"s[iy]m+[ _-]?l[ae]?[iy]?o?u?t?", re.IGNORECASE)
MEANT = re.compile(
    r"(?P<before>.*?)(?P<mark>[@\\#]?\b(?P<word>\w*s[iy]m+[ _-]?l\w*)\s*(?P<colon>[:;=.,-]|\b))"
    r"\s*(?P<kind>\w+)(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
ALIKE = 0.75  # of difflib's ratio: one or two letters other


def may_have_slips(source: str) -> bool:
    """Whether a source text has anything like the mark; a quick look."""
    return QUICK.search(source) is not None


def slip(comment: str, kinds: Collection[str]) -> str | None:
    """The error in a comment that was meant as a claim of *kinds* and does not begin with the mark."""
    found = MEANT.match(comment)
    if found is None or comment.startswith(MARK) or not _stated(found["kind"], found["rest"], kinds):
        return None
    name = re.sub("[ _-]", "", found["word"]).lower()
    if difflib.SequenceMatcher(None, name, MARK[:-1]).ratio() < ALIKE:
        return None
    before, mark = found["before"].strip(), found["mark"].strip()
    if before and mark != MARK and found["colon"] != ":":
        return None  # prose that goes on with a word of ours
    if before:
        return f"'{MARK}' at the beginning of the comment, got it after {before!r}"
    return f"'{MARK}' before a claim, got {mark!r}"


def _stated(kind: str, rest: str, kinds: Collection[str]) -> bool:
    """Whether a word begins a claim or a declaration, as far as it and what follows tell."""
    if kind == "dims":
        names = re.match(r"\s+[A-Za-z_]\w*\s*(\(|,|$|[A-Za-z_])", rest) is not None
        return names and not re.search(r"\b(of|are|is)\b", rest)
    if kind == "given":
        return re.search(r"[<>=%]", rest) is not None
    meant = kind in kinds or bool(difflib.get_close_matches(kind, kinds, 1, 0.85))
    return meant and re.search(r"[0-9(:<]", rest) is not None
