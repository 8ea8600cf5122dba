"""Members of layouts, swizzles and tuples that modules above them define: see :mod:`symlayout.definitions`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .definitions import Definitions


class Members(Definitions):
    """Each by the name of the function that defines it."""

    make_raw: Callable[[Any, Any, Any], Any]
    flatten_layout: Callable[[Any], Any]
    complement: Callable[[Any, Any], Any]
    composition: Callable[[Any, Any], Any]
    rows: Callable[[Any], Any]
    parse: Callable[[str, Any], Any]
    fit: Callable[[Any, Any], Any]
    picture: Callable[[Any], str]


members = Members()
