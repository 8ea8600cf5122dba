"""Packages of other people that have the names of ours: an error with both paths, not a traceback of theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import checkers
import symlayout

ROOT = Path(__file__).parents[2]


def python(folder: Path, *args: str):
    env = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
    return subprocess.run([sys.executable, *args], cwd=folder, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(params=["checkers", "simulator", "gpu"])
def shadow(tmp_path, request):
    """A folder with a package that hides one of ours, and its path."""
    (tmp_path / request.param).mkdir()
    (tmp_path / request.param / "__init__.py").write_text("raise RuntimeError('not ours')\n")
    return tmp_path, request.param


def test_the_command_names_both_paths(shadow):
    folder, name = shadow

    done = python(folder, "-m", "symlayout", "--version")

    assert done.returncode == 2
    assert f"expected the package {name} of symlayout at {ROOT / name}, got {folder / name}" in done.stderr
    assert "Traceback" not in done.stderr


def test_prove_and_claims_name_both_paths(tmp_path):
    (tmp_path / "checkers.py").write_text("")

    for name in ("prove", "Injective"):
        done = python(tmp_path, "-c", f"from symlayout import {name}")
        assert f"got {tmp_path / 'checkers.py'}, which comes first on the path" in done.stderr


def test_everything_is_reachable_from_symlayout_alone():
    for name in checkers.__all__:
        if name[0].isupper() or name == "prove":
            assert getattr(symlayout, name) is getattr(checkers, name)
    assert symlayout.prove(symlayout.Injective(symlayout.Layout(8)))


@pytest.mark.parametrize("name", ["nothing", "Nothing", "claims_of"])
def test_other_names_are_missing(name):
    with pytest.raises(AttributeError, match=f"module 'symlayout' has no attribute '{name}'"):
        getattr(symlayout, name)
