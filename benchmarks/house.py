"""How code is built: sizes, branches, comments, docstrings, types and circles, by one script for us and for others.

    python -m benchmarks.house                                      # symlayout, checkers, gpu
    python -m benchmarks.house symlayout Exo=../exo/src/exo         # folders, with a name where theirs says little

Each folder is a row of the table, and is read without being imported:

- module lines: lines of a file.
- function lines: from ``def`` to the end, without decorators and docstring. A function inside of another counts in
  both.
- branches of a function: ``if`` (also in an expression and a comprehension), ``for``, ``while``, ``except``, ``case``,
  and each ``and`` and ``or`` beyond the first operand.
- comments: lines with a ``#``, as a share of lines that are not blank.
- docstrings: of public classes and functions (no name on the way begins with ``_``), the share that has one.
- annotated: of parameters but ``self`` and ``cls``, the share with a type.
- bare Any: of annotated parameters, the share that is ``Any`` and nothing else; names for it, such as our ``IntTuple``,
  are types here.
- circles: groups of files that reach each other by imports, those inside functions and for types alone included; in
  brackets how many files are in them.
- isinstance: calls of it, for each 1 000 lines.
"""

from __future__ import annotations

import argparse
import ast
import io
import sys
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = ("symlayout", "checkers", "gpu")

Function = ast.FunctionDef | ast.AsyncFunctionDef
BRANCHES = (
    ast.If,
    ast.IfExp,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ExceptHandler,
    ast.match_case,
    ast.comprehension,
)


@dataclass(frozen=True)
class Module:
    """A file: its dotted name, its text and its syntax tree."""

    name: str
    source: str
    tree: ast.Module
    is_package: bool

    @property
    def lines(self) -> int:
        """All lines."""
        return self.source.count("\n")

    @property
    def code_lines(self) -> int:
        """The lines that are not blank."""
        return sum(bool(line.strip()) for line in self.source.splitlines())

    @property
    def comments(self) -> int:
        """The lines with a comment."""
        tokens = tokenize.generate_tokens(io.StringIO(self.source).readline)
        return len({t.start[0] for t in tokens if t.type == tokenize.COMMENT})

    @property
    def functions(self) -> list[Function]:
        """All functions and methods, at any depth."""
        return [n for n in ast.walk(self.tree) if isinstance(n, Function)]


def modules(folder: Path) -> list[Module]:
    """The Python files below a folder, those that cannot be parsed left out."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8", errors="replace")
        parts = path.relative_to(folder.parent).with_suffix("").parts
        is_package = path.name == "__init__.py"
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        found.append(Module(".".join(parts[:-1] if is_package else parts), source, tree, is_package))
    return found


def function_lines(f: Function) -> int:
    """The lines of a function from ``def`` on, without its docstring.

    >>> [function_lines(f) for f in ast.parse("def f(x):\\n    '''Doc.'''\\n    return x").body]
    [2]
    """
    first = f.body[0]
    doc = first.end_lineno - first.lineno + 1 if ast.get_docstring(f, clean=False) is not None else 0
    return f.end_lineno - f.lineno + 1 - doc


def branches(f: Function) -> int:
    """How often a function decides.

    >>> [branches(f) for f in ast.parse("def f(x):\\n    return [a for a in x if a and x] if x else 0").body]
    [4]
    """
    count = 0
    for n in ast.walk(f):
        count += isinstance(n, BRANCHES)
        count += len(n.ifs) if isinstance(n, ast.comprehension) else 0
        count += len(n.values) - 1 if isinstance(n, ast.BoolOp) else 0
    return count


def public(body: Sequence[ast.stmt]) -> Iterator[Function | ast.ClassDef]:
    """The public classes, functions and methods of a body."""
    for n in body:
        if isinstance(n, Function | ast.ClassDef) and not n.name.startswith("_"):
            yield n
            if isinstance(n, ast.ClassDef):
                yield from public(n.body)


def parameters(f: Function) -> list[str]:
    """The types of the parameters as text, nothing for one without a type; ``self`` and ``cls`` are left out.

    >>> [parameters(f) for f in ast.parse("def f(self, x: int, *y): ...").body]
    [['int', '']]
    """
    a = f.args
    every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x is not None)]
    own = [p for p in every if p.arg not in ("self", "cls")]
    return ["" if p.annotation is None else ast.unparse(p.annotation) for p in own]


def imported(m: Module, known: Mapping[str, object]) -> set[str]:
    """The modules of *known* that a module imports, at any depth."""
    package = m.name.split(".") if m.is_package else m.name.split(".")[:-1]
    found: set[str] = set()
    for node in ast.walk(m.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: max(0, len(package) - node.level + 1)] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            members = [f"{origin}.{alias.name}" for alias in node.names]
            found |= {member if member in known else origin for member in members}
    return {name for name in known if any(f == name or f.endswith(f".{name}") for f in found)} - {m.name}


def circles(below: Mapping[str, set[str]]) -> list[frozenset[str]]:
    """The sets of modules that reach each other, the largest such sets.

    >>> [sorted(c) for c in circles({"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set()})]
    [['b', 'c']]
    """
    reach = {}
    for start in below:
        found: set[str] = set()
        todo = [start]
        while todo:
            new = below[todo.pop()] - found
            found |= new
            todo += new
        reach[start] = found
    joined = {frozenset(n for n in reach[m] if m in reach[n]) for m in below}
    return sorted((c for c in joined if c), key=sorted)


def quantiles(values: Sequence[int], *parts: float) -> str:
    """``4 / 13 / 60``: the values at these parts of the sorted list.

    >>> quantiles([1, 2, 3, 4, 100], 0.5, 1)
    '3 / 100'
    """
    ordered = sorted(values) or [0]
    return " / ".join(str(ordered[min(len(ordered) - 1, int(p * len(ordered)))]) for p in parts)


def share(some: int, of: int) -> str:
    """A share in percent."""
    return f"{100 * some / of:.1f} %" if of else "-"


HEAD = (
    "",
    "files",
    "module lines p50 / p90 / max",
    "function lines p50 / p90 / max",
    "branches p90 / max",
    "comments",
    "docstrings",
    "annotated",
    "bare Any",
    "circles",
    "isinstance",
)


def row(name: str, folder: Path) -> tuple[str, ...]:
    """The row of a folder. Raises SystemExit where it has no Python files."""
    found = modules(folder)
    if not found:
        raise SystemExit(f"expected a folder with Python files, got {folder}")
    functions = [f for m in found for f in m.functions]
    documented = [ast.get_docstring(n) is not None for m in found for n in public(m.tree.body)]
    taken = [t for f in functions for t in parameters(f)]
    types = [t for t in taken if t]
    known = {m.name: m for m in found}
    groups = circles({m.name: imported(m, known) for m in found})
    calls = [n for m in found for n in ast.walk(m.tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    asked = sum(n.func.id == "isinstance" for n in calls if isinstance(n.func, ast.Name))
    lines = sum(m.lines for m in found)
    return (
        name,
        str(len(found)),
        quantiles([m.lines for m in found], 0.5, 0.9, 1),
        quantiles([function_lines(f) for f in functions], 0.5, 0.9, 1),
        quantiles([branches(f) for f in functions], 0.9, 1),
        share(sum(m.comments for m in found), sum(m.code_lines for m in found)),
        share(sum(documented), len(documented)),
        share(len(types), len(taken)),
        share(sum(t in ("Any", "typing.Any") for t in types), len(types)),
        f"{len(groups)} ({sum(map(len, groups))})",
        f"{asked} ({1000 * asked / max(1, lines):.1f})",
    )


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """The rows as a Markdown table."""
    cells = [HEAD, tuple("---" for _ in HEAD), *rows]
    return "\n".join(f"| {' | '.join(r)} |" for r in cells)


def main(argv: list[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="[NAME=]FOLDER", help=f"by default {', '.join(OURS)}")
    options = parser.parse_args(argv)
    rows = []
    for text in options.folders or [str(ROOT / name) for name in OURS]:
        name, _, folder = text.rpartition("=")
        rows.append(row(name or Path(folder).name, Path(folder)))
    print(table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
