"""Cubins by content: what was compiled before, by this compiler with these options, is not compiled again.

One folder for each, with the cubin, the log and the source, so that a person can read what was compiled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

SCHEMA = 1


def default_folder() -> Path:
    """``$SYMLAYOUT_CUBINS``, else a folder in the user's cache folder."""
    named = os.environ.get("SYMLAYOUT_CUBINS")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "symlayout" / "cubins"


def key(*parts: object) -> str:
    """64 hex digits of everything that a cubin depends on: source, headers, options, compiler."""
    return hashlib.sha256(json.dumps([SCHEMA, *parts], sort_keys=True).encode()).hexdigest()


class Kept(NamedTuple):
    """A cubin and the log of its compilation."""

    image: bytes
    log: str


class Store:
    """A folder of cubins. A damaged file or a read-only place disables it; neither makes a compilation fail.

    >>> Store(None).find("00") is None    # no folder: nothing is kept
    True
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def find(self, key: str) -> Kept | None:
        """The value under a key, if its bytes are those that were written."""
        if self.folder is None:
            return None
        at = self.folder / key
        try:
            about = json.loads((at / "about.json").read_text(encoding="utf-8"))
            image = (at / "kernel.cubin").read_bytes()
            if hashlib.sha256(image).hexdigest() == about["sha256"]:
                return Kept(image, about["log"])
        except (OSError, ValueError, KeyError, TypeError):
            pass
        return None

    def put(self, key: str, kept: Kept, source: str) -> None:
        """Keep a cubin: all of it is there, or nothing; one that is there and damaged is replaced."""
        if self.folder is None:
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            scratch = Path(tempfile.mkdtemp(dir=self.folder, prefix="."))
            try:
                (scratch / "kernel.cu").write_text(source, encoding="utf-8")
                (scratch / "kernel.cubin").write_bytes(kept.image)
                about = {"sha256": hashlib.sha256(kept.image).hexdigest(), "log": kept.log}
                (scratch / "about.json").write_text(json.dumps(about), encoding="utf-8")
                if self.find(key) is None:
                    shutil.rmtree(self.folder / key, ignore_errors=True)
                    scratch.rename(self.folder / key)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
