"""The claims of Python modules: objects at module level, and functions called ``claim_*``.

Importing a module runs it, and a module can do anything, so ``importer`` calls these functions in a child process.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
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
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from ..errors import ClaimError, SymlayoutError
from ..expr import dim
from .found import Found, Kinds
from .place import Place

OURS = ("symlayout", "checkers")
PACKAGES = (*OURS, "simulator", "gpu")
QUICK = re.compile(r"^\s*(?:from|import)\b.*\b(?:symlayout|checkers)\b", re.MULTILINE)


def mentions_us(source: str, own: Iterable[str] = ()) -> bool:
    """Whether a Python source imports symlayout or checkers; names in *own* are other packages of its repository.

    >>> mentions_us("from checkers import Injective"), mentions_us("# symlayout: bijective 8:1 onto 8")
    (True, False)
    >>> mentions_us("import checkers.chess", own={"checkers"})
    False

    A source that cannot be parsed mentions us where a line of it begins such an import.
    """
    if not QUICK.search(source):
        return False
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True  # importing it says what is wrong
    return any(name in OURS and name not in own for name in _imported(tree))


def _imported(tree: ast.Module) -> Iterator[str]:
    """The top-level packages that a module imports, at any depth."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def of_file(path: Path, kind: type, whole: type | None, seconds: float) -> Iterator[Found]:
    """The claims of a file, by line; what cannot be imported is one finding with its reason."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8-sig"), str(path))
        with limited(str(path), seconds):
            module = _load(path)
    except KeyboardInterrupt:
        raise
    except BaseException as e:  # whatever a user's module raises, an exit or pytest's skip too
        yield _failure(path, e)
        return
    places = _places(tree, str(path))
    names = sorted((n for n in vars(module) if n in places), key=lambda n: (places[n].line, places[n].column))

    def of(kinds: Kinds, some: Iterable[str]) -> list[Found]:
        return [f for n in some for f in _claims(places[n], getattr(module, n), kinds, seconds)]

    both = kind if whole is None else (kind, whole)
    functions = [n for n in names if n.startswith("claim_")]
    found = {n: of(both if n in functions else kind, [n]) for n in names}
    claims = [f for some in found.values() for f in some]
    yield from claims if claims or whole is None else of(whole, names)


def forget(known: Iterable[str]) -> None:
    """Drop the modules that were not *known*, but for ours and installed ones.

    The next folder may have its own of such a name, and what stays in no module is pickled by value.
    """
    installed = [Path(p) for p in set(sysconfig.get_paths().values())]
    for name in set(sys.modules) - set(known):
        file = getattr(sys.modules[name], "__file__", None)
        if name.partition(".")[0] in PACKAGES or file is None:
            continue
        if not any(Path(file).is_relative_to(p) for p in installed):
            del sys.modules[name]


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
        spec.loader.exec_module(module)
    finally:
        with contextlib.suppress(ValueError):  # the module may have taken it out itself
            sys.path.remove(str(path.parent))
    return module


def of_name(target: str, kind: Kinds, seconds: float) -> Iterator[Found]:
    """The claims of ``FILE.py:name``, or of ``module:name`` with the current folder on the path, as ``python -m``."""
    where, _, name = target.rpartition(":")
    path = Path(where) if where.endswith(".py") else None
    place = Place(name=target)
    try:
        with limited(target, seconds):
            found: Any = _load(path) if path else _imported_module(where)
    except KeyboardInterrupt:
        raise
    except BaseException as e:  # an import can raise anything
        told = f"expected {target} to be importable, got {_named(e)}"
        yield _failure(path, e) if path else Found(place, error=told)
        return
    for part in name.split("."):
        if not hasattr(found, part):
            yield Found(place, error=f"expected {part!r} in {where}, got no such name{_close(part, found)}")
            return
        found = getattr(found, part)
    claims = list(_claims(place, found, kind, seconds))
    if not claims and callable(found):
        claims = list(_claims(place, found, kind, seconds, called=True))
    yield from claims or [Found(place, error=f"expected a claim or a kernel at {target}, got {reprlib.repr(found)}")]


def _imported_module(name: str) -> ModuleType:
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    return importlib.import_module(name)


def _close(name: str, owner: object) -> str:
    near = difflib.get_close_matches(name, vars(owner) if hasattr(owner, "__dict__") else (), 1)
    return f"; did you mean {near[0]}?" if near else ""


def _claims(place: Place, value: Any, kind: Kinds, seconds: float, called: bool = False) -> Iterator[Found]:
    """The claims in a module-level value."""
    name = place.name
    called = called or (name.startswith("claim_") and callable(value))
    if called:
        try:
            with limited(str(place), seconds):
                value = _called(value)
        except KeyboardInterrupt:
            raise
        except BaseException as e:  # a user's function can raise anything
            yield Found(place, error=f"expected claims from {name}(), got {_named(e)}")
            return
    other = list(itertools.islice((v for v in _flat(value) if not isinstance(v, kind)), 1))
    claims = [] if other else list(_flat(value))
    if claims:
        yield from (Found(place, claim) for claim in claims)
    elif called:
        got = reprlib.repr(value)
        yield Found(place, error=f"expected a claim or a list of claims from {name}(), got {got}")
    elif isinstance(value, list | tuple) and any(isinstance(v, kind) for v in value):
        got = reprlib.repr(other[0])
        yield Found(place, error=f"expected nothing but claims in the list {name}, got {got}")


def _called(f: Callable[..., Any]) -> Any:
    """The result of a function; one that says it gives a kernel is called with a symbol for each size that it needs."""
    if inspect.iscoroutinefunction(f):
        raise ClaimError("expected a function without async, whose call gives the claims")
    if str(getattr(f, "__annotations__", {}).get("return", "")).rpartition(".")[2].rstrip("'>") != "Kernel":
        return f()
    parameters = inspect.signature(f).parameters.values()
    return f(*(dim(p.name) for p in parameters if p.default is p.empty and p.kind in BY_PLACE))


BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _flat(value: Any, depth: int = 8) -> Iterator[Any]:
    """The elements of nested lists and tuples; anything else alone."""
    if isinstance(value, list | tuple) and depth:
        for v in value:
            yield from _flat(v, depth - 1)
    else:
        yield value


def _places(tree: ast.Module, file: str) -> dict[str, Place]:
    """The first assignment or definition of each name, at any depth; imported names have none."""
    out: dict[str, Place] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            out.setdefault(node.name, Place(file, node.lineno, node.col_offset + 1, node.name))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            out.setdefault(node.id, Place(file, node.lineno, node.col_offset + 1, node.id))
    return out


def _failure(path: Path, e: BaseException) -> Found:
    """One line about a module that could not be read, with the line of the file where it happened."""
    line, column = (e.lineno, e.offset) if isinstance(e, SyntaxError) else (None, None)
    if line is None:
        frames = [f for f in traceback.extract_tb(e.__traceback__) if Path(f.filename).resolve() == path.resolve()]
        line = frames[-1].lineno if frames else None
        column = frames[-1].colno + 1 if frames and frames[-1].colno is not None else None
    place = Place(str(path), line or 0, column or 0)
    if isinstance(e, SymlayoutError) and not isinstance(e, _OutOfTime):
        return Found(place, error=str(e).strip())
    message = f"SystemExit({e.code})" if isinstance(e, SystemExit) else _named(e)
    return Found(place, error=f"expected a module that can be imported, got {message}{_shadowing(path, e)}")


def _named(e: BaseException) -> str:
    """An exception as Python's last line has it; one of ours says it all itself."""
    return str(e).strip() if isinstance(e, SymlayoutError) else f"{type(e).__name__}: {str(e).strip()}"


def _shadowing(path: Path, e: BaseException) -> str:
    """Both paths, if a folder next to the file has the name of one of our packages and its import failed."""
    missing = (getattr(e, "name", None) or "").partition(".")[0] if isinstance(e, ImportError) else ""
    ours = sys.modules.get(missing)
    theirs = next((p for p in (path.parent / missing, path.parent / f"{missing}.py") if missing and p.exists()), None)
    if ours is None or theirs is None or not getattr(ours, "__file__", None):
        return ""
    return f"; {theirs} has the name of symlayout's {Path(str(ours.__file__)).parent}, which was imported: rename yours"


class _OutOfTime(SymlayoutError, TimeoutError):
    """A module or claim function that did not end in time."""


@contextlib.contextmanager
def limited(what: str, seconds: float) -> Iterator[None]:
    """Raise after *seconds*, where signals allow it (the main thread of a Unix process)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise _OutOfTime(f"more than {seconds:g} seconds in {what}")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
