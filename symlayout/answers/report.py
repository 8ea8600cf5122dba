"""Answers as data: an outcome, what it rests on, and the smallest story where it fails."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..definitions import Definitions
from ..finding.place import NOWHERE, Place
from .outcome import Outcome

__all__ = ["LONGEST", "SCHEMA", "Outcome", "Report", "Verdict", "Witness", "identifier", "indented"]

SCHEMA = 2  # docs/report.schema.json
LONGEST = 120  # columns of a line that has a claim, what it is given, and how it was decided


class Ways(Definitions):
    """The display of reports, for modules that build on them."""

    report_html: Callable[[Any], str]
    reproduce: Callable[[Any], str]


ways = Ways()


@dataclass(frozen=True)
class Witness:
    """A counterexample in plain integers, already replayed: sizes, coordinates and what happens there."""

    sizes: Mapping[str, int]
    coords: tuple[Any, ...]
    story: str

    def __str__(self) -> str:
        sizes = ", ".join(f"{name} = {value}" for name, value in sorted(self.sizes.items()))
        return f"fails for {sizes}: {self.story}" if sizes else self.story


@dataclass(frozen=True)
class Verdict:
    """The answer to one claim, with what is needed to believe it. It has no truth value: unknown is not false.

    ``certificate`` can be checked again without a solver. ``condition`` repairs a refutation; ``repairs`` are its
    facts, under which the claim is proved. ``open`` is the missing lemma of an UNKNOWN, and ``checked`` says how far
    it was tried. ``digest`` and ``arch`` say which kernel it is about, and on what.
    """

    claim: Any  # prints as the claim's sentence
    outcome: Outcome
    method: str = ""
    witness: Witness | None = None
    assumptions: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()
    certificate: Mapping[str, Any] | None = None
    condition: str = ""
    repairs: tuple[Any, ...] = ()
    reason: str = ""
    open: str = ""
    checked: str = ""
    closing: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    expect: Outcome = Outcome.PROVED
    place: Place = NOWHERE
    seconds: float = 0.0
    digest: str = ""  # of the kernel that it is about
    arch: str = ""  # the architecture, where it was asked about one

    def __bool__(self) -> bool:
        raise TypeError(
            "expected verdict.outcome to be compared, got the verdict as a truth value; use Report for that"
        )

    @property
    def given(self) -> tuple[str, ...]:
        """The facts given to the claim on which the verdict rests: those without which it holds too are left out."""
        given = dict.fromkeys(map(str, getattr(self.claim, "given", ())))
        return tuple(f for f in given if f not in self.unused)

    @property
    def sentence(self) -> str:
        """The question: the claim, and the assumptions other than the ranges of its sizes."""
        return f"{self.claim}  given {' and '.join(self.given)}" if self.given else str(self.claim)

    @property
    def as_expected(self) -> bool:
        """Whether this is the outcome that the claim says it expects."""
        return self.outcome == self.expect

    def lines(self) -> Iterator[str]:
        """The verdict as text, one finding to a line."""
        end = f"  [{self.method}]" if self.method else ""
        if self.expect != Outcome.PROVED:
            end += "  (as expected)" if self.as_expected else f"  (expected {self.expect})"
        head, given = f"{self.outcome.value:<8}  {self.sentence}{end}", ""
        if len(head) > LONGEST and self.given:  # then what is assumed has a line of its own
            head, given = f"{self.outcome.value:<8}  {self.claim}{end}", " and ".join(self.given)
        yield head
        for label, value in (
            ("given ", given),
            ("", str(self.witness) if self.witness else ""),
            ("holds if ", self.condition),
            ("", self.reason),
            ("open: ", self.open),
            ("checked: ", self.checked),
            ("would close it: ", "; or ".join(self.closing)),
        ):
            if value:
                yield f"          {label}{value}"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def placed(self, place: Place) -> Verdict:
        """The verdict with the place of its claim."""
        return replace(self, place=place)

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``json``."""
        out: dict[str, Any] = {
            "claim": str(self.claim),
            "outcome": self.outcome.value,
            "expect": str(self.expect),
            "method": self.method,
            "assumptions": list(self.assumptions),
        }
        if self.witness:
            out["witness"] = {
                "sizes": dict(self.witness.sizes),
                "coords": [_plain(c) for c in self.witness.coords],
                "story": self.witness.story,
            }
        for name in ("condition", "reason", "open", "checked", "digest", "arch"):
            if getattr(self, name):
                out[name] = getattr(self, name)
        if self.place:
            out["place"] = self.place.to_json()
        for name in ("lemmas", "closing", "unused"):
            if getattr(self, name):
                out[name] = list(getattr(self, name))
        if self.repairs:
            out["repairs"] = list(map(str, self.repairs))
        if self.given:
            out["given"] = list(self.given)
        if self.certificate is not None:
            out["certificate"] = self.certificate
        out["seconds"] = round(self.seconds, 6)
        return out


def identifier(claim: type) -> str:
    """The name of a kind of claim in text, in files of reports and to ``explain``.

    >>> class InBounds: ...
    >>> identifier(InBounds)
    'in_bounds'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", claim.__name__).lower()


def indented(where: str) -> str:
    """A line and column in a column of their own; nothing where there are none."""
    return f"{where:<8}" if where else ""


def _plain(x: Any) -> Any:
    return list(map(_plain, x)) if isinstance(x, tuple) else x


@dataclass(frozen=True)
class Report:
    """The verdicts of some claims. True only if there is at least one and all are PROVED.

    A report on a kernel has the *digest* of it, with its assumptions, and the architecture that it was asked about.
    """

    verdicts: tuple[Verdict, ...]
    repairs: tuple[Any, ...] = ()  # facts under which every refuted claim that has a repair is proved
    notes: tuple[str, ...] = ()
    digest: str = ""
    arch: str = ""
    sizes: tuple[str, ...] = ()  # their ranges, in words
    given: tuple[str, ...] = ()  # facts assumed of sizes, of a kernel or for all claims
    assumed: tuple[str, ...] = ()  # assumptions of proofs about a kernel other than those about sizes, a sentence each

    def __bool__(self) -> bool:
        return bool(self.verdicts) and all(v.outcome is Outcome.PROVED for v in self.verdicts)

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the one its claim expects, and there is at least one."""
        return bool(self.verdicts) and all(v.as_expected for v in self.verdicts)

    @property
    def certificates(self) -> tuple[Mapping[str, Any], ...]:
        """The certificates of the proofs that have one."""
        return tuple(v.certificate for v in self.verdicts if v.certificate is not None)

    def count(self, outcome: Outcome) -> int:
        """The number of verdicts with this outcome."""
        return sum(v.outcome is outcome for v in self.verdicts)

    def summary(self) -> str:
        """``12 proved, 1 refuted``."""
        parts = [f"{self.count(o)} {o.value}" for o in Outcome if self.count(o)]
        return ", ".join(parts) or "no claims"

    def __str__(self) -> str:
        return "\n".join([*map(str, self.verdicts), *self.size_lines(), *self.notes]) or "no claims"

    def size_lines(self) -> list[str]:
        """One line with the ranges of the sizes, which applies to every verdict; none if there are no sizes."""
        return [f"sizes     {'; '.join(self.sizes)}"] if self.sizes else []

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return ways.report_html(self)

    def reproduce(self) -> str:
        """A Python script that shows every refutation at the sizes of its witness; empty where there is none."""
        return "\n\n".join(ways.reproduce(v) for v in self.verdicts if v.witness is not None)

    def to_json(self) -> str:
        """The report as JSON text, with a schema number."""
        names = ("digest", "arch", "sizes", "given", "assumed")
        about = {name: getattr(self, name) for name in names if getattr(self, name)}
        return json.dumps({"schema": SCHEMA, **about, "verdicts": [v.to_json() for v in self.verdicts]}, indent=1)
