"""Who may import whom: edges between the packages, no circles of files, the one place of each walled dependency."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from tests.support.first_imports import Module, missing_names
from tests.support.sources import nodes, tree

ROOT = Path(__file__).resolve().parents[1]

# package: the packages that it may import
BELOW = {
    "symlayout": (),
    "checkers": ("symlayout",),
    "simulator": ("symlayout",),
    "gpu": ("checkers", "simulator", "symlayout"),
}

# Files, and folders with a slash, that load any package, when called.
DOORS = (
    "symlayout/__init__.py",
    "symlayout/cli/",
    "symlayout/finding/importer.py",
    "symlayout/answers/judging.py",
    "symlayout/pytest_plugin.py",
)

CONSOLE = ("symlayout/cli/", "symlayout/answers/console.py")

# dependency: the modules, and folders, that may import it
WALLS = {
    "cloudpickle": ("symlayout/campaigns.py",),
    "cuda": ("gpu/compiling/nvrtc.py", "gpu/libraries.py"),
    "dask": ("symlayout/campaigns.py",),
    "hypothesis": ("symlayout/strategies.py",),
    "joblib": ("symlayout/campaigns.py",),
    "pycuda": ("gpu/libraries.py",),
    "pydantic": ("symlayout/finding/toml_claims.py",),
    "pytest": ("symlayout/pytest_plugin.py",),
    "rich": CONSOLE,
    "sympy": ("symlayout/expr/sympy_bridge.py",),
    "typer": CONSOLE,
    "z3": ("checkers/smt.py",),
    "cvc5": ("checkers/smt.py",),
}


def absolute_imports(source: str) -> list[tuple[int, str]]:
    """Line and top-level name of each absolute import, at any depth; relative ones stay in their package."""
    found = []
    for node in nodes(source):
        match node:
            case ast.Import(names=names):
                found += [(node.lineno, alias.name) for alias in names]
            case ast.ImportFrom(module=str(name), level=0):
                found.append((node.lineno, name))
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                found.append((node.lineno, name))
    return sorted((line, name.partition(".")[0]) for line, name in found)


def wrong_edges(path: str, source: str) -> list[str]:
    """The imports of a module that the rows above forbid, one sentence each."""
    package = path.partition("/")[0]
    wrong = []
    for line, name in absolute_imports(source):
        if name in WALLS and not path.startswith(WALLS[name]):
            wrong.append(f"{path}:{line}: expected {name} only in {', '.join(WALLS[name])}, got it here")
        elif name in BELOW and name not in (package, *BELOW[package]) and not path.startswith(DOORS):
            allowed = ", ".join(BELOW[package]) or "no other package"
            wrong.append(f"{path}:{line}: expected {package} to import {allowed}, got {name}")
    return wrong


@pytest.mark.parametrize("package", BELOW)
def test_every_import_is_allowed(package):
    modules = sorted((ROOT / package).rglob("*.py"))

    assert modules
    assert [
        edge
        for module in modules
        for edge in wrong_edges(module.relative_to(ROOT).as_posix(), module.read_text(encoding="utf-8"))
    ] == []


def test_rows_cover_every_package_of_the_wheel():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

    assert set(BELOW) == set(project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"])


def test_importing_the_packages_loads_nothing_walled():
    script = f"import sys, {', '.join(BELOW)}; print(*{{name.partition('.')[0] for name in sys.modules}})"

    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
    assert set(BELOW) <= set(run.stdout.split())
    assert set(WALLS) & set(run.stdout.split()) == set()


@pytest.mark.parametrize(
    "path, source, finding",
    [
        ("symlayout/layout.py", "import checkers", "symlayout to import no other package, got checkers"),
        ("checkers/prove.py", "from gpu.device import Device", "checkers to import symlayout, got gpu"),
        ("checkers/prove.py", "import numpy, simulator", "checkers to import symlayout, got simulator"),
        ("simulator/engine.py", "def f():\n    from checkers import prove", ":2: expected simulator to"),
        ("checkers/prove.py", "import z3", "expected z3 only in checkers/smt.py"),
        ("checkers/claims/smt.py", "from z3 import Int", "expected z3 only in checkers/smt.py"),
        ("gpu/__init__.py", "if True:\n    import pycuda.driver as cu", ":2: expected pycuda only in"),
        ("gpu/codegen.py", "from cuda.bindings import nvrtc", "expected cuda only in"),
        ("gpu/compiling/nvrtc.py", "import pycuda.driver", "expected pycuda only in"),
        ("symlayout/expr/expression.py", "x = importlib.import_module('sympy')", "expected sympy only in"),
        ("symlayout/expr/expression.py", "x = __import__('sympy.core')", "expected sympy only in"),
        ("symlayout/__init__.py", "import sympy", "expected sympy only in"),
        ("symlayout/pytest_plugin.py", "import rich", "expected rich only in"),
    ],
)
def test_a_wrong_import_is_reported(path, source, finding):
    [report] = wrong_edges(path, source)

    assert report.startswith(f"{path}:")
    assert finding in report


@pytest.mark.parametrize(
    "path, source",
    [
        ("symlayout/layout.py", "import numpy\nfrom symlayout.expr import Expr\nfrom . import basis"),
        ("checkers/prove.py", "from symlayout import Layout\nfrom .smt import solve"),
        ("checkers/smt.py", "import z3"),
        ("gpu/verify.py", "import checkers, simulator, symlayout"),
        ("gpu/libraries.py", "import pycuda.driver\nfrom cuda.bindings import driver"),
        ("gpu/compiling/nvrtc.py", "from cuda.bindings import nvrtc"),
        ("symlayout/__init__.py", "def prove():\n    import checkers"),
        ("symlayout/cli/prove.py", "import typer\nfrom gpu import run"),
        ("symlayout/draw/svg.py", "from ..rich import table"),
    ],
)
def test_a_right_import_is_not_reported(path, source):
    assert wrong_edges(path, source) == []


def modules() -> dict[str, Path]:
    """Each file of the packages by its dotted name; a package is its ``__init__``."""
    files = [f for package in BELOW for f in (ROOT / package).rglob("*.py")]
    return {".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): f for f in files}


def imported(name: str, source: str, known: Iterable[str], is_package: bool = False) -> set[str]:
    """The modules that a file imports anywhere: at the top, inside functions, and for the type checker alone."""
    parts = name.split(".")
    package = parts if is_package else parts[:-1]
    found = set()
    for node in nodes(source):
        match node:
            case ast.Import(names=names):
                found |= {alias.name for alias in names}
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package[: len(package) - level + 1] if level else []
                origin = ".".join([*above, *([module] if module else [])])
                members = [f"{origin}.{alias.name}" for alias in names]
                found |= {member if member in known else origin for member in members}
    return found & {*known} - {name}


def circles(below: Mapping[str, set[str]]) -> list[set[str]]:
    """The sets of modules that reach each other by imports, the largest such sets."""

    def reached(start: str) -> set[str]:
        found, todo = set(), [start]
        while todo:
            new = below[todo.pop()] - found
            found |= new
            todo += new
        return found

    reach = {m: reached(m) for m in below}
    joined = {m: frozenset(n for n in reach[m] if m in reach[n]) for m in below}
    return [set(c) for c in sorted({c for c in joined.values() if c}, key=sorted)]


def test_no_circle_of_imports_between_files():
    files = modules()
    found = circles(
        {
            name: imported(name, path.read_text(encoding="utf-8"), files, path.name == "__init__.py")
            for name, path in files.items()
        }
    )

    assert found == []


def test_each_file_can_be_imported_first():
    files = {
        name: Module(name, path.read_text(encoding="utf-8"), path.name == "__init__.py")
        for name, path in modules().items()
    }

    assert missing_names(files) == {}


SOURCES = {  # a package that imports all of its files, one of which takes from a file that takes from the package
    "p": "",
    "p.all": "from .one import One\nfrom .two import Two",
    "p.all.one": "from ..deep import found\nclass One: pass",
    "p.all.two": "class Two: pass",
    "p.deep": "from .all.two import Two\ndef found(): pass",
}
LAZY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .one import One\ndef __getattr__(name): ..."


def of_sources(**changed):
    return {n: Module(n, s, is_package=n in ("p", "p.all")) for n, s in (SOURCES | changed).items()}


def test_a_file_that_cannot_be_imported_first_is_found():
    assert missing_names(of_sources()) == {"p.deep": "p.all.one finds no found in p.deep"}
    assert missing_names(of_sources(**{"p.all": LAZY})) == {}
    assert missing_names(of_sources(**{"p.all": LAZY, "p.deep": "from .all import One\ndef found(): pass"})) == {
        "p.deep": "p.all.one finds no found in p.deep",
        "p.all.one": "p.deep finds no One in p.all.one",
    }


@pytest.mark.parametrize("name", ["p.deep", "p.all", "p.all.one"])
@pytest.mark.parametrize("of_all", [SOURCES["p.all"], LAZY])
def test_python_imports_what_the_sources_say(tmp_path, name, of_all):
    files = of_sources(**{"p.all": of_all})
    for module in files.values():
        file = tmp_path / (module.name.replace(".", "/") + ("/__init__.py" if module.is_package else ".py"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(module.source)

    run = subprocess.run([sys.executable, "-S", "-c", f"import {name}"], cwd=tmp_path, capture_output=True, text=True)

    assert (run.returncode != 0) == (name in missing_names(files)), run.stderr


def test_each_file_says_what_it_holds():
    said = {name: ast.get_docstring(tree(path.read_text(encoding="utf-8"))) for name, path in modules().items()}

    assert [name for name, docstring in said.items() if not docstring] == []


def test_circles_are_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}) == [{"b", "c"}]
    assert circles({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


IMPORTS = """
from __future__ import annotations
from typing import TYPE_CHECKING
import q.c
if TYPE_CHECKING:
    from .a import b
def f():
    from . import anything
    from .a import name
"""


def test_imports_at_any_depth_count():
    known = {"p", "p.a", "p.a.b", "p.d", "q.c"}

    assert imported("p.d", IMPORTS, known) == {"q.c", "p.a.b", "p", "p.a"}
    assert imported("p", IMPORTS, known, is_package=True) == {"q.c", "p.a.b", "p.a"}
