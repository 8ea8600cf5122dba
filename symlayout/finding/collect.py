"""Finding claims: in Python files and modules, in TOML files, in comments of sources, below folders.

Files are found by reading them. Of Python files only those that import symlayout or checkers are run, in a child
process (``importer``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

from ..errors import InternalError, SymlayoutError
from ..text.reader import excerpt
from .found import Builder, Found, Stated
from .importer import IMPORTER, SECONDS
from .place import Place
from .python_claims import OURS, mentions_us

__all__ = ["Found", "Search", "Stated", "collect"]

HERE = Path(__file__).resolve().parents[2]  # our packages


@dataclass(frozen=True)
class Search:
    """Settings of a search: what is left out, whether modules are run, and for how long each may run.

    *exclude* holds patterns such as ``third_party``, ``build/*`` or ``*_gen.py``, for names of files and folders and
    for paths below the folder that is searched.
    """

    exclude: tuple[str, ...] = ()
    run_modules: bool = True
    import_seconds: float = SECONDS

    def leaves_out(self, path: Path, folder: Path) -> bool:
        """Whether a pattern names a file or folder below the folder that is searched."""
        inside = path.relative_to(folder).as_posix()
        return any(fnmatch(path.name, p.rstrip("/")) or fnmatch(inside, p.rstrip("/")) for p in self.exclude)


def collect(
    target: str, build: Builder | None = None, kernels: bool = True, search: Search | None = None
) -> Iterator[Found]:
    """The claims of a file, of each file below a folder, or of ``module:name``, by line.

    In Python, claims are module-level objects (or lists of them), and functions called ``claim_*`` that take no
    arguments and return one or several. With *kernels*, which have claims of their own, these count too where they
    are named, where a function returns them, and in Python files without other claims. With *build*, which makes
    claims of stated ones, they may also be in TOML files and in comments. What cannot be read is reported, not
    raised.
    """
    path, search = Path(target), search or Search()
    if path.is_dir():
        yield from _in_folder(path, build, kernels, search)
    elif path.is_file():
        yield from _named(path, build, kernels, search)
    elif ":" in target and os.sep not in target:
        if search.run_modules:
            yield from IMPORTER.claims(target, named=True, kernels=kernels, seconds=search.import_seconds)
        else:
            said = f"expected a file or folder where modules are not imported, got {target}"
            yield Found(Place(name=target), error=said)
    else:
        said = f"expected a file, a folder or module:name, got {target!r}, which does not exist"
        yield Found(Place(name=target), error=said)


def _in_folder(folder: Path, build: Builder | None, kernels: bool, search: Search) -> Iterator[Found]:
    """The claims of the files below a folder that may have some, as reading them tells."""
    every = _files(folder, search)
    own = _own_packages(p.relative_to(folder) for p in every if not p.resolve().is_relative_to(HERE))
    mine = (p for p in every if not p.name.startswith("_"))
    files = [p for p in mine if _runs(p, search, own) or (build is not None and _states_claims(p, build))]
    if not files:
        also = "" if build is None else ", TOML files with a [[claim]] table or comments with claims"
        what = f"Python files that import symlayout or checkers{also}"
        yield Found(Place(str(folder)), error=f"expected {what} below {folder}, got none")
    for p in files:
        yield from _in_file(p, build, kernels, search, own)


def _named(path: Path, build: Builder | None, kernels: bool, search: Search) -> Iterator[Found]:
    """The claims of a file that the user names; a module that is not imported is reported."""
    found = list(_in_file(path, build, kernels, search, frozenset()))
    if not found and path.suffix == ".py" and search.run_modules and not _runs(path, search, frozenset()):
        also = f"; to import it anyway, name an object of it: {path.stem}:NAME"
        yield Found(Place(str(path)), error=f"expected a module that imports symlayout or checkers, got {path}{also}")
    yield from found


def _own_packages(files: Iterable[Path]) -> frozenset[str]:
    """The names of ours that a repository has modules or packages of its own for."""
    return frozenset(n for p in files if p.suffix == ".py" for n in OURS if n in (*p.parent.parts, p.stem))


def _files(folder: Path, search: Search) -> list[Path]:
    """The files below a folder, in order, without excluded ones, hidden folders, ``_private`` ones and environments."""
    out: list[Path] = []
    for root, folders, files in os.walk(folder):
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        here = Path(root)
        folders[:] = [f for f in folders if not f.startswith((".", "_")) and not search.leaves_out(here / f, folder)]
        out += [here / f for f in files if not f.startswith(".") and not search.leaves_out(here / f, folder)]
    return sorted(p for p in out if p.is_file())


def _states_claims(path: Path, build: Builder) -> bool:
    """Whether a file has claims in comments or in tables, as far as a quick look tells."""
    from . import comments

    if path.suffix != ".toml" and path.suffix not in comments.SUFFIXES:
        return False
    try:
        source = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix == ".toml":
            return "[[" in source and _spec().states_claims(source)
        return comments.states_claims(source, path.suffix, build.kinds)
    except OSError:
        return path.suffix != ".py"  # to be reported
    except SyntaxError:
        return False


def _spec() -> ModuleType:
    """The reader of TOML files, loaded where there is one: pydantic takes its time."""
    from . import toml_claims as spec

    return spec


def _runs(path: Path, search: Search, own: frozenset[str]) -> bool:
    """Whether a file is imported: it is Python and imports symlayout or checkers, not packages of its own so called."""
    if path.suffix != ".py" or not search.run_modules:
        return False
    try:
        return mentions_us(path.read_text(encoding="utf-8-sig", errors="replace"), own)
    except OSError:
        return True  # to be reported


def _in_file(path: Path, build: Builder | None, kernels: bool, search: Search, own: frozenset[str]) -> Iterator[Found]:
    from . import comments

    stated: list[Stated | Found]
    if path.suffix == ".py":
        stated = list(comments.read(path, build.kinds)) if build else []
        if _runs(path, search, own):
            yield from IMPORTER.claims(str(path), kernels=kernels, seconds=search.import_seconds)
    elif build is not None and path.suffix == ".toml":
        stated = list(_spec().read(path))
    elif build is not None and path.suffix in comments.SUFFIXES:
        stated = list(comments.read(path, build.kinds))
    else:
        known = "a Python file" if build is None else f"a file with claims ({', '.join((*comments.SUFFIXES, '.toml'))})"
        stated = [Found(Place(str(path)), error=f"expected {known}, got {path}")]
    for s in stated:
        if isinstance(s, Found):
            yield s
        elif build is not None:
            yield _built(s, build)


def _built(s: Stated, builder: Builder) -> Found:
    """The claim that a text states, or why there is none, at the field that cannot be read."""
    try:
        return Found(s.place, builder.make(s))
    except InternalError:
        raise
    except SymlayoutError as e:
        place = s.locate(e.field, e.at) if s.locate is not None and e.field else s.place
        if s.source and not e.excerpt:
            e.excerpt = excerpt(s.source, s.offsets.get(e.field, 0))
        return Found(place.named(s.place.name), error=str(e))
    except (ArithmeticError, RecursionError, MemoryError) as e:
        return Found(s.place, error=str(e) or type(e).__name__)
