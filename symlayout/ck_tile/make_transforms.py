"""CK's functions that make transforms, with its names and the order of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..expr import integer
from ..transforms import (
    Embed,
    Freeze,
    Indexing,
    Insert,
    LeftPad,
    Merge,
    Modulo,
    Offset,
    Pad,
    PassThrough,
    Replicate,
    RightPad,
    Slice,
    Unmerge,
    Xor,
)
from ..transforms.transform import lengths_of


def make_pass_through_transform(low_length: Any) -> PassThrough:
    """The dimension as it is.

    >>> print(make_pass_through_transform(8))
    pass_through(8)
    """
    return PassThrough(low_length)


def make_pad_transform(low_length: Any, left_pad: Any, right_pad: Any, skip_is_valid_check: bool = False) -> Pad:
    """The dimension with indices before and after it that are not valid.

    >>> t = make_pad_transform(10, 2, 3)
    >>> print(t.upper_lengths, t.lower((2,)), [f.value for f in t.valid((1,))])
    (15,) (0,) [False, True]
    """
    return Pad(low_length, left_pad, right_pad, bool(skip_is_valid_check))


def make_left_pad_transform(low_length: Any, left_pad: Any, skip_is_valid_check: bool = False) -> LeftPad:
    """The dimension with indices before it that are not valid.

    >>> print(make_left_pad_transform(10, 2).upper_lengths)
    (12,)
    """
    return LeftPad(low_length, left_pad, bool(skip_is_valid_check))


def make_right_pad_transform(low_length: Any, right_pad: Any, skip_is_valid_check: bool = False) -> RightPad:
    """The dimension with indices after it that are not valid.

    >>> print(make_right_pad_transform(100, 28).upper_lengths)
    (128,)
    """
    return RightPad(low_length, right_pad, bool(skip_is_valid_check))


def make_embed_transform(up_lengths: Sequence[Any], coefficients: Sequence[Any]) -> Embed:
    """Several dimensions in one, by strides.

    >>> print(make_embed_transform((3, 4), (2, 1)).lower((2, 3)))
    (7,)
    """
    return Embed(lengths_of(up_lengths), lengths_of(coefficients))


def make_merge_transform(low_lengths: Sequence[Any]) -> Merge:
    """Several dimensions as one, the last one fastest.

    >>> print(make_merge_transform((2, 3, 4)).lower((23,)))
    (1, 2, 3)
    """
    return Merge(lengths_of(low_lengths))


def make_merge_transform_v2_magic_division(low_lengths: Sequence[Any]) -> Merge:
    """``make_merge_transform``, which divides by multiplication: exact for indices of 0 .. 2^31 - 1.

    >>> print(make_merge_transform_v2_magic_division((2, 3, 4)))
    merge(2, 3, 4)
    """
    return Merge(lengths_of(low_lengths))


def make_merge_transform_v3_division_mod(low_lengths: Sequence[Any]) -> Merge:
    """The merge by ``/`` and ``%``, the same for indices of at least 0.

    >>> print(make_merge_transform_v3_division_mod((2, 3, 4)))
    merge(2, 3, 4)
    """
    return Merge(lengths_of(low_lengths))


def make_unmerge_transform(up_lengths: Sequence[Any], use_24bit_integer_calculation: bool = False) -> Unmerge:
    """One dimension as several, the last one fastest.

    >>> print(make_unmerge_transform((3, 4)).lower((2, 1)))
    (9,)
    """
    return Unmerge(lengths_of(up_lengths), bool(use_24bit_integer_calculation))


def make_freeze_transform(low_idx: Any) -> Freeze:
    """The dimension held at one index.

    >>> print(make_freeze_transform(2).lower(()))
    (2,)
    """
    return Freeze(low_idx)


def make_insert_transform(up_length: Any) -> Insert:
    """A dimension that memory does not have.

    >>> print(make_insert_transform(4).lower((3,)))
    ()
    """
    return Insert(up_length)


def make_replicate_transform(up_lengths: Sequence[Any]) -> Replicate:
    """Dimensions that memory does not have.

    >>> print(make_replicate_transform((2, 3)).lower((1, 2)))
    ()
    """
    return Replicate(lengths_of(up_lengths))


def make_slice_transform(low_length: Any, slice_begin: Any, slice_end: Any) -> Slice:
    """The part of a dimension from *slice_begin* to before *slice_end*.

    >>> t = make_slice_transform(8, 2, 6)
    >>> print(t.upper_lengths, t.lower((0,)))
    (4,) (2,)
    """
    return Slice(low_length, slice_begin, slice_end)


def make_modulo_transform(modulus: Any, up_length: Any) -> Modulo:
    """A dimension that starts again after *modulus* indices.

    >>> print(make_modulo_transform(4, 10).lower((7,)))
    (3,)
    """
    return Modulo(modulus, up_length)


def make_xor_transform(low_lengths: Sequence[Any]) -> Xor:
    """The second of two dimensions permuted by the first.

    >>> print(make_xor_transform((8, 4)).lower((5, 2)))
    (5, 3)
    """
    return Xor(lengths_of(low_lengths))


def make_offset_transform(low_length: Any, offset_length: Any) -> Offset:
    """The dimension from *offset_length* on.

    >>> print(make_offset_transform(6, 5).lower((0,)))
    (5,)
    """
    return Offset(low_length, offset_length)


def make_indexing_transform(up_length: Any, indices: Sequence[Any] | Callable[[Any], Any]) -> Indexing:
    """A dimension read through a table of indices (2025), or through a function of the index.

    >>> print(make_indexing_transform(4, (3, 0, 2, 7)).lower((3,)))
    (7,)
    """
    return Indexing(integer(up_length), indices if callable(indices) else lengths_of(indices))
