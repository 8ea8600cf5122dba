"""Who may import whom: edges between the packages, and the one place of each walled dependency."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

# package: the packages that it may import
BELOW = {
    "symlayout": (),
    "checkers": ("symlayout",),
    "simulator": ("symlayout",),
    "gpu": ("checkers", "simulator", "symlayout"),
}

# These load any package, when called.
DOORS = (
    "symlayout/__init__.py",
    "symlayout/cli.py",
    "symlayout/finding/importer.py",
    "symlayout/answers/judging.py",
    "symlayout/pytest_plugin.py",
)

CONSOLE = ("symlayout/cli.py", "symlayout/answers/console.py")

# dependency: the modules that may import it
WALLS = {
    "cloudpickle": ("symlayout/campaigns.py",),
    "cuda": ("gpu/compiling/nvrtc.py", "gpu/driver.py"),
    "dask": ("symlayout/campaigns.py",),
    "hypothesis": ("symlayout/strategies.py",),
    "joblib": ("symlayout/campaigns.py",),
    "pycuda": ("gpu/driver.py",),
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
    for node in ast.walk(ast.parse(source)):
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
        if name in WALLS and path not in WALLS[name]:
            wrong.append(f"{path}:{line}: expected {name} only in {', '.join(WALLS[name])}, got it here")
        elif name in BELOW and name not in (package, *BELOW[package]) and path not in DOORS:
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
        ("gpu/driver.py", "import pycuda.driver\nfrom cuda.bindings import driver"),
        ("gpu/compiling/nvrtc.py", "from cuda.bindings import nvrtc"),
        ("symlayout/__init__.py", "def prove():\n    import checkers"),
        ("symlayout/cli.py", "import typer\nfrom gpu import run"),
        ("symlayout/draw/svg.py", "from ..rich import table"),
    ],
)
def test_a_right_import_is_not_reported(path, source):
    assert wrong_edges(path, source) == []
