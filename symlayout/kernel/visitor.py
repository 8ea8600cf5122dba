"""Walking a kernel: each operation, where it stands, goes to the handler of its class.

A walk is a ``Visitor`` with a table of handlers. A handler is given the visitor and the site of an operation, and says
whether the walk goes on inside; what it returns is for it to say. Its counterpart that rewrites is ``ops.edited``.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> from symlayout.ops import Copy, For, Op
>>> class Copies(Visitor[int]):
...     handlers = {Copy: lambda self, site: 1, Op: lambda self, site: sum(self.inside(site))}
>>> sum(Copies().run(vector_copy(dim("N"))))
4
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from ..errors import LayoutError
from ..ops import Op
from .sites import Site, top
from .value import Kernel

R = TypeVar("R")
Handlers: TypeAlias = "Mapping[type[Op], Callable[..., Any]]"


def handler_of(handlers: Handlers, op: Op) -> Callable[..., Any] | None:
    """The handler of an operation's class, else of the nearest class that it is derived from; ``Op`` takes all others.

    >>> from symlayout.ops import Fence, Op
    >>> handler_of({Op: str}, Fence("async"))(Fence("async"))
    'fence async'
    """
    found = handlers.get(type(op))  # as a rule
    return found or next((handlers[kind] for kind in type(op).__mro__ if kind in handlers), None)


class Visitor(Generic[R]):
    """A walk through a kernel by a table of *handlers*, which may be extended: ``{**Counter.handlers, Role: f}``."""

    handlers: ClassVar[Handlers] = {}

    def run(self, kernel: Kernel) -> Iterator[R]:
        """The results of the handlers for the operations of the kernel's body, in order."""
        return map(self.visit, top(kernel))

    def inside(self, site: Site) -> Iterator[R]:
        """The results of the handlers for the operations in the body of one."""
        return map(self.visit, site.inside())

    def visit(self, site: Site) -> R:
        """The result of the handler for an operation.

        Raises LayoutError, or what ``unhandled`` raises, where no handler takes it.
        """
        found: R = self.handler(site)(self, site)
        return found

    def handler(self, site: Site) -> Callable[..., Any]:
        """The handler of an operation."""
        handler = handler_of(self.handlers, site.op)
        if handler is None:
            raise self.unhandled(site)
        return handler

    def unhandled(self, site: Site) -> Exception:
        """The error for an operation that no handler takes."""
        known = ", ".join(kind.__name__ for kind in self.handlers)
        return LayoutError(
            f"expected an operation that {type(self).__name__} has a handler for ({known}), got "
            f"{type(site.op).__name__}: {site.op}"
        )
