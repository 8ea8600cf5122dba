"""Verdicts by content: a claim that was decided before, by this version, is not decided again.

One SQLite file, a row committed for each verdict, so a process that is killed loses only the claim in hand.
The key covers everything the verdict depends on: all fields of the claim and the facts of its symbols, the versions of
these packages, of the memory model and of the solver, and the budget.
"""

from __future__ import annotations

import json
import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import symlayout
from symlayout.answers.report import Outcome, Verdict, Witness
from symlayout.canonical import digest, hashed
from symlayout.errors import SymlayoutError
from symlayout.expr import Fact
from symlayout.facts import Facts
from symlayout.text.notation import parse_fact

from .claim import Claim
from .orders.rules import MODEL
from .trusted.statements.bound import bound, unbound

SCHEMA = 5
SUM = 16  # characters before the text of a row, by which one that was damaged, or is another key's, is told


def default_path() -> Path:
    """``$SYMLAYOUT_CACHE``, else a file in the user's cache folder."""
    named = os.environ.get("SYMLAYOUT_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "symlayout" / "verdicts.sqlite"


def _summed(key: str, text: str) -> str:
    """A row as it is stored."""
    return hashed(key + text)[:SUM] + text


class Verdicts(ABC):
    """Verdicts by key, as text; where they are kept is up to a class of its own."""

    hits = 0

    @abstractmethod
    def _get(self, key: str) -> str | None: ...

    @abstractmethod
    def _put(self, key: str, text: str) -> None: ...

    def find(self, key: str, claim: Claim) -> Verdict | None:
        """The stored verdict of a claim, or None."""
        try:
            found = self._stored(key, claim)
        except (sqlite3.Error, ValueError, KeyError, TypeError, AttributeError, SymlayoutError):
            return None
        self.hits += found is not None
        return found

    def _stored(self, key: str, claim: Claim) -> Verdict | None:
        row = self._get(key)
        if row is None:
            return None
        text = row[SUM:]
        return _verdict(json.loads(text), claim) if row == _summed(key, text) else None

    def store(self, key: str, verdict: Verdict) -> None:
        """Keep a verdict, its repairs as text; one whose repairs do not read back is left out."""
        try:
            if _read(map(str, verdict.repairs), verdict.claim) == verdict.repairs:
                text = json.dumps(replace(verdict, certificate=unbound(verdict.certificate)).to_json())
                self._put(key, _summed(key, text))
        except (sqlite3.Error, TypeError, ValueError, SymlayoutError):
            return


class Cache(Verdicts):
    """A file of verdicts. A damaged file or a read-only place disables the cache; neither makes a proof fail."""

    def __init__(self, path: Path) -> None:
        self._rows: sqlite3.Connection | None = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._rows = sqlite3.connect(path, timeout=5, isolation_level=None)
            self._rows.execute("pragma journal_mode=wal")
            self._rows.execute("pragma synchronous=normal")
            self._rows.execute("create table if not exists verdict (key text primary key, value text not null)")
        except (sqlite3.Error, OSError):
            self._rows = None

    def _get(self, key: str) -> str | None:
        if self._rows is None:
            return None
        row = self._rows.execute("select value from verdict where key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def _put(self, key: str, text: str) -> None:
        if self._rows is not None:
            self._rows.execute("insert or replace into verdict values (?, ?)", (key, text))

    def keep(self, rows: Iterable[tuple[str, str]]) -> None:
        """Add the rows that a worker has found, see ``Rows``."""
        try:
            for key, text in rows:
                self._put(key, text)
        except sqlite3.Error:
            return

    def close(self) -> None:
        """End the connection."""
        if self._rows is not None:
            self._rows.close()
            self._rows = None


class Rows(Verdicts):
    """Verdicts in the memory of a worker, which sends its *new* ones to the process that has the file."""

    def __init__(self) -> None:
        self.new: dict[str, str] = {}

    def _get(self, key: str) -> str | None:
        return self.new.get(key)

    def _put(self, key: str, text: str) -> None:
        self.new[key] = text


class Missing(Exception):
    """A verdict that is not stored."""


class Remembered(Verdicts):
    """Another's verdicts, where one that is not stored raises Missing: nothing is decided anew."""

    def __init__(self, others: Verdicts) -> None:
        self.others = others

    def _get(self, key: str) -> str | None:
        return self.others._get(key)

    def _put(self, key: str, text: str) -> None:
        """Nothing: all that is found is stored already."""

    def find(self, key: str, claim: Claim) -> Verdict:
        """The stored verdict of a claim. Raises Missing."""
        found = self.others.find(key, claim)
        if found is None:
            raise Missing(key)
        return found

    def store(self, key: str, verdict: Verdict) -> None:
        """Nothing: all that is found is stored already."""


def key_of(claim: Claim, budget: Any, solver: str) -> str:
    """The content hash of a claim and of everything that its verdict depends on.

    The claim stands with every field (its architecture is one, where it has any), its symbols with their ranges. Raises
    SerialError for a claim about something that has no canonical serialisation.
    """
    versions = (SCHEMA, symlayout.__version__, MODEL, solver)
    return digest((*versions, budget, claim))


def _verdict(data: dict[str, Any], claim: Claim) -> Verdict:
    """A verdict from its JSON form."""
    w = data.get("witness")
    witness = None if w is None else Witness(w["sizes"], _tuples(w["coords"]), w["story"])
    same = ("method", "condition", "reason", "open", "checked", "seconds")
    parts: dict[str, Any] = {name: data[name] for name in same if name in data}
    parts["expect"] = Outcome(data.get("expect", Outcome.PROVED))
    for name in ("assumptions", "lemmas", "closing", "unused"):
        parts[name] = tuple(data.get(name, ()))
    parts["repairs"] = _read(data.get("repairs", ()), claim)
    parts["certificate"] = _bound(data.get("certificate"), claim)
    return Verdict(claim, Outcome(data["outcome"]), witness=witness, **parts)


def _bound(stored: dict[str, Any] | None, claim: Claim) -> dict[str, Any] | None:
    """A stored certificate with what binds it to its claim, which is written when it is looked at."""
    return stored if stored is None or "statement" in stored else bound(claim, None, stored)


def _read(texts: Iterable[str], claim: Claim) -> tuple[Fact, ...]:
    """Facts about the sizes of a claim from their text."""
    texts = tuple(texts)
    if not texts:
        return ()
    symbols = Facts.about(claim.parameters(), given=claim.given).symbols
    return tuple(f for t in texts for f in parse_fact(t, symbols))


def _tuples(x: Any) -> Any:
    return tuple(map(_tuples, x)) if isinstance(x, list) else x
