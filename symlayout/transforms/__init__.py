"""Coordinate transforms of CK Tile, one file each: what they map, where they are valid, and the lemmas of proofs.

    >>> t = Merge((4, 5))
    >>> print(t.lower((7,)), t.inverse())
    (1, 2) unmerge(4, 5)

A new transform is a file here and a row of ``TRANSFORMS``. Descriptors that are made of them are in
:mod:`symlayout.ck_tile`.
"""

from __future__ import annotations

from .embed import Embed
from .freeze import Freeze
from .indexing import Indexing
from .insert import Insert
from .left_pad import LeftPad
from .merge import Merge, digits_by_magic, digits_truncated, magic_division
from .modulo import Modulo
from .offset import Offset
from .pad import Pad
from .pass_through import PassThrough
from .replicate import Replicate
from .right_pad import RightPad
from .slice import Slice
from .transform import UNKNOWN, VERSIONS, Indices, Run, Transform
from .unmerge import Unmerge
from .xor import Xor

TRANSFORMS: tuple[type[Transform], ...] = (
    PassThrough,
    Pad,
    LeftPad,
    RightPad,
    Embed,
    Merge,
    Unmerge,
    Freeze,
    Insert,
    Replicate,
    Slice,
    Modulo,
    Xor,
    Offset,
    Indexing,
)

__all__ = [
    "TRANSFORMS",
    "UNKNOWN",
    "VERSIONS",
    "Embed",
    "Freeze",
    "Indexing",
    "Indices",
    "Insert",
    "LeftPad",
    "Merge",
    "Modulo",
    "Offset",
    "Pad",
    "PassThrough",
    "Replicate",
    "RightPad",
    "Run",
    "Slice",
    "Transform",
    "Unmerge",
    "Xor",
    "digits_by_magic",
    "digits_truncated",
    "magic_division",
]
