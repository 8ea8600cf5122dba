"""Functions that values call although modules above them define them: operators, pictures, text.

A value has a method because users look for it there; what the method does may need a great deal that is built on the
value. A table names such functions, the module that has one enters it when the package is imported, and the method
calls it from the table. So no file imports another that imports it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class Definitions:
    """A table of functions by name; a subclass annotates the names that it has.

    >>> class Table(Definitions):
    ...     double: Callable[[int], int]
    >>> table = Table()
    >>> @table.defines
    ... def double(x):
    ...     return 2 * x
    >>> table.double(4)
    8
    """

    def defines(self, function: F) -> F:
        """Enter a function under its name. Raises TypeError for a name that the table does not have."""
        rows = type(self).__annotations__
        if function.__name__ not in rows:
            raise TypeError(f"expected one of {', '.join(rows)}, got {function.__name__}")
        setattr(self, function.__name__, function)
        return function
