"""Sources as syntax trees, each parsed once for all tests that look at them."""

from __future__ import annotations

import ast
import functools


@functools.cache
def tree(source: str) -> ast.Module:
    """The syntax tree of a source. Nobody changes it: it is shared."""
    return ast.parse(source)


@functools.cache
def nodes(source: str) -> tuple[ast.AST, ...]:
    """All nodes of a source, as ``ast.walk`` goes through them."""
    return tuple(ast.walk(tree(source)))
