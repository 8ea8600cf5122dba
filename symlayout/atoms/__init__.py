"""Atoms: the instructions that operations name, as rows."""

from __future__ import annotations

from . import bulk, ldmatrix, mma, peers, wgmma
from .access import AccessKind, Combines, Completion, Extent, Issuer, MemorySpace, Proxy, Reduction
from .atom import ATOMS, Atom, MatrixCopy, MmaAtom, add_atoms, atom
from .cache import CachePolicy
from .descriptor import MatrixDescriptor
from .reads import DescriptorRead, LdmatrixRead
from .table import Table

__all__ = [
    "ATOMS",
    "AccessKind",
    "Atom",
    "CachePolicy",
    "Combines",
    "Completion",
    "DescriptorRead",
    "Extent",
    "Issuer",
    "LdmatrixRead",
    "MatrixCopy",
    "MatrixDescriptor",
    "MemorySpace",
    "MmaAtom",
    "Proxy",
    "Reduction",
    "Table",
    "add_atoms",
    "atom",
]

for _rows in (bulk.ROWS, peers.ROWS, ldmatrix.ROWS, mma.ROWS, wgmma.ROWS):
    add_atoms(_rows)
