"""Who goes through the bodies of operations by itself: one visitor, one rewriter, one executor, and no prover."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.support.sources import nodes

ROOT = Path(__file__).parents[1]
BODIES = ("body", "inside")  # by which an operation has others

WALKS = {
    "symlayout/kernel/value.py": ["walk", "edited", "text"],  # a kernel hands on to its operations
    "symlayout/kernel/visitor.py": ["inside"],  # the visitor, to ``Site.inside``
    "symlayout/ops/op.py": ["nested"],  # what stands inside an operation
    "symlayout/ops/rewriting.py": ["edited", "named"],  # the rewriter
    "symlayout/kernel/unrolled.py": ["unrolled"],  # the executor
    "symlayout/kernel/cursors.py": ["_inside"],  # the sites inside a site, which know what is around them
    "checkers/claims/computes.py": ["iterations"],  # of the longest nest of loops
    "simulator/upkeep.py": ["_instructions"],  # a body counts as often as code repeats it
}


def recursions(source: str) -> Iterator[str]:
    """The functions that call one of their own name, and take the body of something."""
    for node in nodes(source):
        if isinstance(node, ast.FunctionDef):
            inner = list(ast.walk(node))
            called = {getattr(x.func, "attr", getattr(x.func, "id", "")) for x in inner if isinstance(x, ast.Call)}
            if node.name in called and any(isinstance(x, ast.Attribute) and x.attr in BODIES for x in inner):
                yield node.name


def test_bodies_are_gone_through_in_few_places() -> None:
    files = [f for package in ("symlayout", "checkers", "simulator", "gpu") for f in (ROOT / package).rglob("*.py")]
    found = {f.relative_to(ROOT).as_posix(): list(recursions(f.read_text(encoding="utf-8"))) for f in files}

    assert {path: names for path, names in found.items() if names} == WALKS


def test_a_recursion_is_seen() -> None:
    walk = "def f(ops):\n    for op in ops:\n        {}"
    assert list(recursions(walk.format("f(op.body)"))) == ["f"]
    assert list(recursions(walk.format("self.f(op.inside)"))) == ["f"]
    assert list(recursions(walk.format("g(op.body)"))) == []
    assert list(recursions(walk.format("f(op.sons)"))) == []
