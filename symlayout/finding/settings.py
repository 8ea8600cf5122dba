"""A repository's settings for its proofs, in the table ``[tool.symlayout]`` of its pyproject.toml.

    [tool.symlayout]
    paths = ["kernels", "claims.toml"]   # what `symlayout prove` takes without arguments
    exclude = ["third_party", "*_gen.py"]
    budget = 5                           # seconds for each solver query
    cache = ".symlayout.sqlite"
    jobs = 2

Paths are relative to the file. Options of the command come first.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from ..errors import NotationError, unread
from ..expr import names
from ..text.reader import suggestion

FILE = "pyproject.toml"


@dataclass(frozen=True)
class Settings:
    """The table as a value; what it does not say is empty."""

    paths: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    budget: float | None = None
    cache: Path | None = None
    jobs: int | None = None
    imports: bool = True
    import_seconds: float | None = None

    @classmethod
    def of(cls, table: Mapping[str, Any], file: Path) -> Settings:
        """The settings of a table. Raises NotationError for a key that is none and for a value of another type."""
        known = {f.name.replace("_", "-"): f.name for f in fields(cls)}
        wrong = next((k for k in table if k not in known), None)
        if wrong is not None:
            said = f"expected one of {names(known)}, got {wrong!r}{suggestion(wrong, list(known))}"
            raise NotationError(f"{file}: tool.symlayout: {said}")
        return cls(**{known[k]: _value(k, v, file) for k, v in table.items()})


def _value(key: str, value: Any, file: Path) -> Any:
    """One value, as its key takes it."""
    texts = isinstance(value, list) and all(isinstance(v, str) for v in value)
    number = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    if key == "paths" and texts:
        return tuple(str(file.parent / v) if ":" not in v else v for v in value)
    if key == "exclude" and texts:
        return tuple(value)
    if key == "cache" and isinstance(value, str):
        return file.parent / value
    if key in ("budget", "import-seconds") and number:
        return float(value)
    if key == "jobs" and type(value) is int and (value > 0 or value == -1):
        return value
    if key == "imports" and isinstance(value, bool):
        return value
    wanted = {
        "paths": "a list of texts",
        "exclude": "a list of texts",
        "cache": "the path of a file",
        "jobs": "a number of processes, or -1 for all cores",
        "imports": "true or false",
    }.get(key, "a number of seconds above 0")
    raise NotationError(f"{file}: tool.symlayout.{key}: expected {wanted}, got {value!r}")


def settings_at(folder: Path) -> Settings:
    """The settings of the nearest pyproject.toml with such a table, from a folder upwards.

    Raises NotationError for a table that cannot be read.
    """
    for place in (folder.resolve(), *folder.resolve().parents):
        file = place / FILE
        if not file.is_file():
            continue
        try:
            data = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            raise NotationError(f"{file}: expected a TOML file, got {unread(e)}") from None
        table = data.get("tool", {}).get("symlayout")
        if table is not None:
            return _shortened(Settings.of(table, file))
    return Settings()


def _shortened(found: Settings) -> Settings:
    """Paths below the current folder as seen from it, which is how they are printed."""
    here = Path.cwd()

    def short(path: str) -> str:
        p = Path(path)
        return str(p.relative_to(here)) if p.is_absolute() and p.is_relative_to(here) else path

    return replace(found, paths=tuple(map(short, found.paths)))
