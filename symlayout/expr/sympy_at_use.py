"""SymPy at the border, loaded when an expression of it is met or asked for: the import alone takes half a second."""

from __future__ import annotations

from typing import Any

from .arithmetic import defines


@defines
def from_sympy(x: Any) -> Any:
    """Our integer or expression for a SymPy one, see :func:`symlayout.expr.sympy_bridge.from_sympy`."""
    from . import sympy_bridge

    return sympy_bridge.from_sympy(x)


@defines
def to_sympy(x: Any) -> Any:
    """The SymPy expression for one of ours, see :func:`symlayout.expr.sympy_bridge.to_sympy`."""
    from . import sympy_bridge

    return sympy_bridge.to_sympy(x)


@defines
def latex(x: Any) -> str:
    """LaTeX of an expression."""
    from . import sympy_bridge

    return sympy_bridge.latex(x)
