"""Finding claims in Python files, folders and modules."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib
import importlib.util
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from .errors import ClaimError, SymlayoutError

SECONDS = 60  # a module that takes longer to import is taken to hang


@dataclass(frozen=True)
class Found:
    """A claim with its name and place, or the message why a place gave none."""

    place: str
    name: str
    claim: Any = None
    error: str = ""


def collect(target: str, kind: type) -> Iterator[Found]:
    """The claims (values of *kind*) of a file, of each ``*.py`` below a folder, or of ``module:name``, by line.

    Claims are module-level objects (or lists of them), and functions called ``claim_*`` that take no
    arguments and return one or several. A module that cannot be read is reported, not raised.
    """
    path = Path(target)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*.py") if not any(part.startswith((".", "_")) for part in p.parts[-2:]))
        if not files:
            yield Found(target, "", error=f"expected Python files below {target}, got none")
        for file in files:
            yield from _in_file(file, kind)
    elif path.is_file():
        yield from _in_file(path, kind)
    elif ":" in target and not path.suffix:
        yield from _in_module(target, kind)
    else:
        yield Found(target, "", error=f"expected a file, a folder or module:name, got {target!r}, which does not exist")


def _in_file(path: Path, kind: type) -> Iterator[Found]:
    if path.suffix != ".py":
        yield Found(str(path), "", error=f"expected a Python file, got {path}")
        return
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
        with _limits(str(path)):
            module = _load(path)
    except (SyntaxError, UnicodeDecodeError, ValueError, OSError, RecursionError) as e:
        yield _failure(path, e)
        return
    except Exception as e:  # whatever a user's module raises is reported with its line
        yield _failure(path, e)
        return
    except SystemExit as e:
        yield Found(str(path), "", error=f"expected a module that can be imported, got SystemExit({e.code})")
        return
    lines = _lines(tree)
    for name in sorted((n for n in vars(module) if n in lines), key=lines.__getitem__):
        yield from _claims(f"{path}:{lines[name]}", name, getattr(module, name), kind)


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


def _in_module(target: str, kind: type) -> Iterator[Found]:
    module_name, _, name = target.partition(":")
    try:
        with _limits(target), contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(module_name)
            for part in name.split("."):
                found = getattr(found, part)
    except Exception as e:  # an import can raise anything
        yield Found(target, name, error=f"expected {target} to be importable, got {type(e).__name__}: {e}")
        return
    claims = list(_claims(target, name, found, kind))
    if not claims and callable(found):
        claims = list(_claims(target, f"claim_{name}", found, kind))
    yield from claims or [Found(target, name, error=f"expected a claim at {target}, got {found!r}")]


def _claims(place: str, name: str, value: Any, kind: type) -> Iterator[Found]:
    """The claims that a module-level value stands for."""
    if name.startswith("claim_") and callable(value):
        try:
            with _limits(place), contextlib.redirect_stdout(sys.stderr):
                value = value()
        except Exception as e:  # a user's function can raise anything
            yield Found(place, name, error=f"expected claims from {name}(), got {type(e).__name__}: {e}")
            return
        if not _is_claims(value, kind):
            yield Found(place, name, error=f"expected a claim or a list of claims from {name}(), got {value!r}")
            return
    if _is_claims(value, kind):
        for claim in value if isinstance(value, list | tuple) else (value,):
            yield Found(place, name, claim)


def _is_claims(value: Any, kind: type) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(v, kind) for v in value)
    return isinstance(value, kind)


def _lines(tree: ast.Module) -> dict[str, int]:
    """The line on which each module-level name is assigned or defined; imported names have none."""
    out: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node in tree.body:
            out[node.name] = node.lineno
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
