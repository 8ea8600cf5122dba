"""Members of layouts that are loaded when they are called: text, fits and pictures, which few programs need."""

from __future__ import annotations

from typing import Any

from .members import members


@members.defines
def parse(source: str, symbols: Any) -> Any:
    """The value of CuTe text or of a CuTe C++ type, see :func:`symlayout.text.notation.parse`."""
    from .text import notation

    return notation.parse(source, symbols)


@members.defines
def fit(points: Any, shape: Any) -> Any:
    """The layout that explains points, see :func:`symlayout.fit.fit`."""
    from .fit import fit

    return fit(points, shape)


@members.defines
def rows(x: Any) -> Any:
    """Every value of a layout as an array, see :func:`symlayout.values.rows`."""
    from .values import rows

    return rows(x)


@members.defines
def picture(x: Any) -> str:
    """The picture in a notebook, see :func:`symlayout.draw.picture.picture`."""
    from .draw.picture import picture

    return picture(x)
