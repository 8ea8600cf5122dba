"""Finding claims: in Python files and modules, in TOML files, in comments beside the code, below folders."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import os
import re
import reprlib
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, TypeAlias

from .errors import ClaimError, InternalError, SymlayoutError
from .expr import Fact, Symbol
from .reader import excerpt

SECONDS = 60  # a module that takes longer to import is taken to hang


@dataclass(frozen=True)
class Found:
    """A claim with its name and place, or the message why a place gave none."""

    place: str
    name: str
    claim: Any = None
    error: str = ""


@dataclass(frozen=True)
class Stated:
    """A claim as text states it: *shared* are facts of its file, *source* the text where a caret may point."""

    place: str
    name: str
    kind: str
    fields: Mapping[str, Any]
    dims: Iterable[Symbol] = ()
    given: tuple[Fact, ...] = ()
    shared: tuple[Fact, ...] = ()
    expect: str = "proved"
    source: str = field(default="", kw_only=True)


Builder: TypeAlias = Callable[[Stated], Any]
Kinds: TypeAlias = "type | tuple[type, ...]"


def collect(target: str, kind: type, build: Builder | None = None, whole: type | None = None) -> Iterator[Found]:
    """The claims (values of *kind*) of a file, of each file below a folder, or of ``module:name``, by line.

    Values of *whole*, such as kernels, which have claims of their own, count where they are named, where a function
    returns them, and in Python files without other claims.

    In Python, claims are module-level objects (or lists of them), and functions called ``claim_*`` that take no
    arguments and return one or several. With *build*, which makes claims of stated ones, they may also stand in
    TOML files and in comments. What cannot be read is reported, not raised.
    """
    path = Path(target)
    if path.is_dir():
        files = [p for p in _files(path) if p.suffix == ".py" or (build is not None and _states_claims(p))]
        if not files:
            also = "" if build is None else ", TOML files with a [[claim]] table or comments with claims"
            yield Found(target, "", error=f"expected Python files{also} below {target}, got none")
        for file in files:
            yield from _in_file(file, kind, build, whole)
    elif path.is_file():
        yield from _in_file(path, kind, build, whole)
    elif ":" in target and os.sep not in target:
        yield from _in_module(target, kind if whole is None else (kind, whole))
    else:
        yield Found(target, "", error=f"expected a file, a folder or module:name, got {target!r}, which does not exist")


def _files(folder: Path) -> list[Path]:
    """The files below a folder, in order, but for hidden ones and those of virtual environments."""
    out: list[Path] = []
    for root, folders, files in os.walk(folder):
        if "pyvenv.cfg" in files:
            folders.clear()
            continue
        folders[:] = [f for f in folders if not f.startswith((".", "_"))]
        out += [Path(root, f) for f in files if not f.startswith((".", "_"))]
    return sorted(p for p in out if p.is_file())


def _states_claims(path: Path) -> bool:
    """Whether a file that is no Python has claims, as far as a quick look tells."""
    from . import comments

    if path.suffix != ".toml" and path.suffix not in comments.SUFFIXES:
        return False
    try:
        source = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True  # to be reported
    if path.suffix == ".toml":
        return "[[" in source and _spec().states_claims(source)
    return comments.states_claims(source, path.suffix)


def _spec() -> ModuleType:
    """The reader of TOML files, loaded where there is one: pydantic takes its time."""
    from . import spec

    return spec


def _in_file(path: Path, kind: type, build: Builder | None, whole: type | None) -> Iterator[Found]:
    from . import comments

    if path.suffix == ".py":
        stated = list(comments.read(path)) if build else []
        if not stated or _may_hold_objects(path):
            yield from _in_python(path, kind, whole)
    elif build is not None and path.suffix == ".toml":
        stated = list(_spec().read(path))
    elif build is not None and path.suffix in comments.SUFFIXES:
        stated = list(comments.read(path))
    else:
        known = "a Python file" if build is None else f"a file with claims ({', '.join((*comments.SUFFIXES, '.toml'))})"
        stated = [Found(str(path), "", error=f"expected {known}, got {path}")]
    for s in stated:
        if isinstance(s, Found):
            yield s
        elif build is not None:
            yield _built(s, build)


def _may_hold_objects(path: Path) -> bool:
    """Whether a Python file that states claims in comments may also make some: if not, it is not imported."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return any(word in line.partition("#")[0] for line in lines for word in ("checkers", "claim", "kernel"))


def _built(s: Stated, build: Builder) -> Found:
    """The claim that a text states, or why there is none."""
    try:
        return Found(s.place, s.name, build(s))
    except InternalError:
        raise
    except (SymlayoutError, ArithmeticError, RecursionError, MemoryError) as e:
        message = str(e) or type(e).__name__
        if s.source and "\n" not in message:
            word = re.search(r"got '([^']*)'", message)
            message += f"\n{excerpt(s.source, max(0, s.source.find(word[1])) if word else 0)}"
        return Found(s.place, s.name, error=message)


def _in_python(path: Path, kind: type, whole: type | None) -> Iterator[Found]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"), str(path))
        with _limits(str(path)):
            module = _load(path)
    except KeyboardInterrupt:
        raise
    except BaseException as e:  # whatever a user's module raises, an exit or pytest's skip too
        yield _failure(path, e)
        return
    lines = _lines(tree)
    names = sorted((n for n in vars(module) if n in lines), key=lines.__getitem__)

    def of(kinds: Kinds, some: Iterable[str]) -> list[Found]:
        return [f for n in some for f in _claims(f"{path}:{lines[n]}", n, getattr(module, n), kinds)]

    both = kind if whole is None else (kind, whole)
    functions = [n for n in names if n.startswith("claim_")]
    found = {n: of(both if n in functions else kind, [n]) for n in names}
    claims = [f for some in found.values() for f in some]
    yield from claims if claims or whole is None else of(whole, names)


def _load(path: Path) -> ModuleType:
    """The module of a file, under a name of its own, with its folder on the path while it loads."""
    name = f"_symlayout_{path.stem}_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ClaimError(f"expected a Python module, got {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def _in_module(target: str, kind: Kinds) -> Iterator[Found]:
    module_name, _, name = target.partition(":")
    try:
        with _limits(target), contextlib.redirect_stdout(sys.stderr):
            if "" not in sys.path and str(Path.cwd()) not in sys.path:
                sys.path.insert(0, str(Path.cwd()))  # as python -m does
            found: Any = importlib.import_module(module_name)
            for part in name.split("."):
                found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as e:  # an import can raise anything
        yield Found(target, name, error=f"expected {target} to be importable, got {type(e).__name__}: {e}")
        return
    claims = list(_claims(target, name, found, kind))
    if not claims and callable(found):
        claims = list(_claims(target, f"claim_{name}", found, kind))
    yield from claims or [Found(target, name, error=f"expected a claim at {target}, got {reprlib.repr(found)}")]


def _claims(place: str, name: str, value: Any, kind: Kinds) -> Iterator[Found]:
    """The claims that a module-level value stands for."""
    called = name.startswith("claim_") and callable(value)
    if called:
        try:
            with _limits(place), contextlib.redirect_stdout(sys.stderr):
                value = _called(value)
        except KeyboardInterrupt:
            raise
        except BaseException as e:  # a user's function can raise anything
            yield Found(place, name, error=f"expected claims from {name}(), got {type(e).__name__}: {e}")
            return
    other = list(itertools.islice((v for v in _flat(value) if not isinstance(v, kind)), 1))
    claims = [] if other else list(_flat(value))
    if claims:
        yield from (Found(place, name, claim) for claim in claims)
    elif called:
        got = reprlib.repr(value)
        yield Found(place, name, error=f"expected a claim or a list of claims from {name}(), got {got}")
    elif isinstance(value, list | tuple) and any(isinstance(v, kind) for v in value):
        got = reprlib.repr(other[0])
        yield Found(place, name, error=f"expected nothing but claims in the list {name}, got {got}")


def _called(f: Callable[[], Any]) -> Any:
    if inspect.iscoroutinefunction(f):
        raise ClaimError("expected a function without async, whose call gives the claims")
    return f()


def _flat(value: Any, depth: int = 8) -> Iterator[Any]:
    """The elements of nested lists and tuples; anything else alone."""
    if isinstance(value, list | tuple) and depth:
        for v in value:
            yield from _flat(v, depth - 1)
    else:
        yield value


def _lines(tree: ast.Module) -> dict[str, int]:
    """The line on which each name is first assigned or defined, at any depth; imported names have none."""
    out: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            out.setdefault(node.name, node.lineno)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            out.setdefault(node.id, node.lineno)
    return out


def _failure(path: Path, e: BaseException) -> Found:
    """One line about a module that could not be read, with the line of the file where it happened."""
    line = e.lineno if isinstance(e, SyntaxError) else None
    if line is None:
        frames = [f for f in traceback.extract_tb(e.__traceback__) if Path(f.filename) == path]
        line = frames[-1].lineno if frames else None
    place = f"{path}:{line}" if line else str(path)
    message = str(e).strip() if isinstance(e, SymlayoutError) else f"{type(e).__name__}: {str(e).strip()}"
    if isinstance(e, SystemExit):
        message = f"SystemExit({e.code})"
    return Found(place, "", error=f"expected a module that can be imported, got {message}")


class _OutOfTime(SymlayoutError, TimeoutError):
    """A module or claim function that did not end in time."""


@contextlib.contextmanager
def _limits(what: str, seconds: int = SECONDS) -> Iterator[None]:
    """Raise after *seconds*, where signals allow it (the main thread of a Unix process)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _OutOfTime(f"more than {seconds} seconds in {what}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
