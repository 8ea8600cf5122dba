"""Atoms: the instructions that operations name, as rows."""

from __future__ import annotations

from .atom import ATOMS, Atom, atom

__all__ = ["ATOMS", "Atom", "atom"]
