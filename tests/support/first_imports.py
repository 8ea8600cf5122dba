"""What an import runs, seen in the sources: whether each module can be the first that a process imports.

Importing ``a.b.c`` runs ``a`` and ``a.b`` before it. Where one of these imports a module that imports ``a.b.c`` in turn,
that finds it without its names: a circle, though no file imports one that imports it. Imports inside functions are
left out, since they run later.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from tests.support.sources import tree


@dataclass
class Module:
    """A file of a package, as its statements run."""

    name: str
    source: str
    is_package: bool = False

    @cached_property
    def steps(self) -> list[tuple[str, str | None]]:
        """(a module, a name taken from it) of each import, and ("", a name) of each name that is bound, in order."""
        return [*self._steps(tree(self.source).body)]

    @cached_property
    def later(self) -> dict[str, list[tuple[str, str]]]:
        """The names that load on first use, with what they load: type checkers see it imported, or all of it listed."""
        if ("", "__getattr__") not in self.steps:
            return {}
        seen = [s for s in tree(self.source).body if isinstance(s, ast.If) and _is_typing(s)]
        steps = [step for statement in seen for step in self._steps(statement.body)]
        taken = [(module, name) for module, name in steps if module and name]
        return {name: taken for module, name in steps if not module and name} | {n: [(m, n)] for m, n in taken}

    def _steps(self, body: list[ast.stmt]) -> Iterator[tuple[str, str | None]]:
        for statement in body:
            match statement:
                case ast.If(orelse=other) if _is_typing(statement):
                    yield from self._steps(other)
                case ast.Import(names=names):
                    for alias in names:
                        yield alias.name, None
                        yield "", alias.asname or alias.name.partition(".")[0]
                case ast.ImportFrom(module=module, names=names, level=level):
                    parts = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
                    above = parts[: len(parts) - level + 1] if level else []
                    for alias in names:
                        yield ".".join([*above, *([module] if module else [])]), alias.name
                        yield "", alias.asname or alias.name
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    yield "", name
                case _:
                    for node in ast.walk(statement):
                        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                            yield "", node.id
                    for part in ("body", "orelse", "handlers", "finalbody"):
                        yield from self._steps(getattr(statement, part, []))


def _is_typing(statement: ast.If) -> bool:
    return isinstance(statement.test, ast.Name) and statement.test.id == "TYPE_CHECKING"


@dataclass
class Process:
    """The modules that a process has loaded so far, or has begun to load, with the names that each has."""

    files: Mapping[str, Module]
    names: dict[str, set[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def load(self, name: str) -> None:
        """Run a module, after the packages that it is in."""
        if name in self.names or name not in self.files:
            return
        self.load(name.rpartition(".")[0])
        if name in self.names:  # its package has loaded it
            return
        bound = self.names[name] = set()
        for origin, what in self.files[name].steps:
            if not origin:
                bound.add(str(what))
            elif what is None or f"{origin}.{what}" in self.files:
                self.load(origin)
                self.load(f"{origin}.{what}")
            elif origin in self.files:
                self.load(origin)
                self._take(name, origin, what)

    def _take(self, name: str, origin: str, what: str) -> None:
        if what in self.names[origin]:
            return
        later = self.files[origin].later.get(what)
        if later is None:
            self.missing.append(f"{name} finds no {what} in {origin}")
        for module, one in later or ():
            self.load(module)
            self._take(name, module, one)


def missing_names(files: Mapping[str, Module]) -> dict[str, str]:
    """What the first failing import finds missing, of each module that cannot be imported first."""
    found = {}
    for name in files:
        process = Process(files)
        process.load(name)
        if process.missing:
            found[name] = process.missing[0]
    return found
