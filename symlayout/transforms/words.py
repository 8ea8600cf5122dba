"""Each transform in words: what its page in docs/ck_tile says, and what CuTe calls it."""

from __future__ import annotations

from dataclasses import dataclass

from .embed import Embed
from .freeze import Freeze
from .indexing import Indexing
from .insert import Insert
from .left_pad import LeftPad
from .merge import Merge
from .modulo import Modulo
from .offset import Offset
from .pad import Pad
from .pass_through import PassThrough
from .replicate import Replicate
from .right_pad import RightPad
from .slice import Slice
from .transform import Transform
from .unmerge import Unmerge
from .xor import Xor

ALWAYS = "always"
NONE = "none"


@dataclass(frozen=True)
class Words:
    """A transform in words, with an instance for its picture."""

    example: Transform
    says: str
    ck: str  # the function that makes it
    lower: str
    lengths: str
    valid: str
    inverse: str
    upstream: str  # its rule for vectors
    lemma: str  # what a proof uses
    moves: str
    cute: str

    @property
    def kind(self) -> str:
        """Upstream's word."""
        return self.example.kind


BY_SUMS = "the step is scaled; moving is making"
AGAIN = "the lower index is computed anew; moving is making"

WORDS: tuple[Words, ...] = (
    Words(
        PassThrough(6),
        "A dimension as it is. Two of them with their new dimensions swapped are a transpose.",
        "make_pass_through_transform(low_length)",
        "l = u",
        "(L)",
        ALWAYS,
        "itself",
        "length and stride are kept",
        "the lower index lies in [0, L); any run of lanes stays one",
        BY_SUMS,
        "nothing: a mode stays a mode",
    ),
    Words(
        Pad(6, 2, 3),
        "Indices before and after a dimension that are there and not valid.",
        "make_pad_transform(low_length, left_pad, right_pad, skip=false)",
        "l = u - a",
        "(L + a + b)",
        "a <= u and u < a + L, unless skipped",
        "slice(L + a + b, a, a + L)",
        "the guarantee is dropped",
        "l lies in [0, L) where valid, however u is computed; lanes share a validity if the vector divides u, a and L",
        BY_SUMS,
        "a predicate beside the layout: no layout masks",
    ),
    Words(
        LeftPad(6, 2),
        "Indices before a dimension that are there and not valid; the other end is not tested.",
        "make_left_pad_transform(low_length, left_pad, skip=false)",
        "l = u - a",
        "(L + a)",
        "a <= u, unless skipped",
        "slice(L + a, a, a + L)",
        "length and stride are kept, which is true only if the vector divides a",
        "l lies in [0, L) if u is below L + a; lanes share a validity if the vector divides u and a",
        BY_SUMS,
        "a predicate beside the layout",
    ),
    Words(
        RightPad(6, 2),
        "Indices after a dimension that are there and not valid; the other end is not tested.",
        "make_right_pad_transform(low_length, right_pad, skip=false)",
        "l = u",
        "(L + b)",
        "u < L, unless skipped",
        "slice(L + b, 0, L)",
        "length and stride are kept, which is true only if the vector divides L",
        "l lies in [0, L) if u is at least 0; lanes share a validity if the vector divides u and L",
        BY_SUMS,
        "a predicate beside the layout, as tiles that overhang have",
    ),
    Words(
        Embed((3, 4), (2, 1)),
        "Several dimensions in one, by strides: a strided tensor, the taps of a convolution, a broadcast.",
        "make_embed_transform(up_lengths, coefficients)",
        "l = c0*u0 + c1*u1 + ...",
        "(U0, U1, ...)",
        ALWAYS,
        "merge, where the coefficients are those of a packed tensor",
        "nothing is guaranteed",
        "the sum is affine, so that its ends are at corners (T8); different indices may meet (T2, T4)",
        BY_SUMS,
        "shape:stride, several modes of one layout",
    ),
    Words(
        Merge((3, 4)),
        "Several dimensions as one, the last one fastest.",
        "make_merge_transform(low_lengths)",
        "l_i = u // s_i % L_i for u >= 0, with s_i the product of the later lengths; the first digit is not reduced",
        "(L0*L1*...)",
        ALWAYS,
        "unmerge(L0, L1, ...)",
        "those of the last lower dimension, which is true only if the vector divides its length",
        "indices are mixed-radix numbers, each once (T3), so that a proof speaks of digits and divides nothing (T10)",
        AGAIN,
        "nested modes in reversed order: CuTe's first mode is the fastest",
    ),
    Words(
        Unmerge((3, 4)),
        "One dimension as several, the last one fastest: a packed tensor, or an index split in two.",
        "make_unmerge_transform(up_lengths, use_24bit=false)",
        "l = u0*s0 + u1*s1 + ... with s_i the product of the later lengths",
        "(U0, U1, ...)",
        ALWAYS,
        "merge(U0, U1, ...)",
        "the last dimension: gcd of the length and the vector; at run time the vector alone, which is too long",
        "the indices number [0, U0*U1*...), each once (T3)",
        "the step is scaled; on 24 bits a step backwards goes far away",
        "a compact row-major layout, LayoutRight",
    ),
    Words(
        Freeze(2),
        "A dimension held at one index.",
        "make_freeze_transform(low_idx)",
        "l = c",
        "()",
        ALWAYS,
        NONE,
        "no dimension is left",
        "one index",
        "nothing moves",
        "slicing with a number: layout(2, None)",
    ),
    Words(
        Insert(4),
        "A dimension that memory does not have: all of its indices are one element.",
        "make_insert_transform(up_length)",
        "no lower dimension",
        "(L)",
        ALWAYS,
        NONE,
        "nothing is guaranteed",
        "no offset depends on it: never injective for lengths above 1",
        "nothing moves",
        "a mode of stride 0",
    ),
    Words(
        Replicate((2, 3)),
        "Dimensions that memory does not have: threads that hold the same elements.",
        "make_replicate_transform(up_lengths)",
        "no lower dimension",
        "(U0, U1, ...)",
        ALWAYS,
        NONE,
        "nothing is guaranteed",
        "no offset depends on them: each element has as many owners",
        "nothing moves",
        "modes of stride 0 among the threads",
    ),
    Words(
        Slice(8, 2, 6),
        "The part of a dimension from b to before e.",
        "make_slice_transform(low_length, slice_begin, slice_end)",
        "l = u + b",
        "(e - b)",
        ALWAYS,
        "pad(e - b, b, L - e)",
        "nothing is guaranteed",
        "l lies in [b, e); that e is at most L is an obligation, which upstream does not check",
        BY_SUMS,
        "domain_offset and a smaller shape",
    ),
    Words(
        Modulo(4, 10),
        "An index that starts again after m.",
        "make_modulo_transform(modulus, up_length)",
        "l = u % m for u >= 0",
        "(L)",
        ALWAYS,
        "pass_through, where L is at most m",
        "nothing is guaranteed",
        "l lies in [0, m); a run stays one if the vector divides u and m",
        "broken: the step does not compile, and as written counts twice",
        "a mode m:1 and a mode of stride 0, where m divides L",
    ),
    Words(
        Xor((4, 4)),
        "The columns of a tile permuted by its row, so that a column of it meets different banks.",
        "make_xor_transform(low_lengths)",
        "l0 = u0, l1 = u1 ^ (u0 % L1) for u0 >= 0",
        "(L0, L1)",
        ALWAYS,
        "itself, where L1 is a power of two",
        "those of both dimensions, which is true only of vectors that the row does not touch",
        "for each u0 a permutation of [0, L1) if L1 is a power of two (T14, T19); else an obligation fails",
        AGAIN,
        "Swizzle<b,m,s>, where the dimensions are fields of bits of the offset",
    ),
    Words(
        Offset(6, 5),
        "A dimension that begins further on.",
        "make_offset_transform(low_length, offset_length)",
        "l = u + o",
        "(L)",
        ALWAYS,
        "pad(L, o, 0)",
        "nothing is guaranteed",
        "l lies in [o, L + o); element_space_size does not count it",
        BY_SUMS,
        "a pointer moved, or the offset of a ComposedLayout",
    ),
    Words(
        Indexing(4, (3, 0, 2, 7)),
        "A dimension read through a table of indices (2025).",
        "make_indexing_transform(up_length, indices)",
        "l = table[u] for 0 <= u < L",
        "(L)",
        ALWAYS,
        NONE,
        "nothing is guaranteed",
        "entries are known where the table is; nothing is known of neighbours",
        "the entry that was read stays: moving is not making",
        "gather: a tensor of coordinates",
    ),
)


def words_of(kind: str) -> Words:
    """The words of a transform by its kind.

    >>> words_of("merge").inverse
    'unmerge(L0, L1, ...)'
    """
    return next(w for w in WORDS if w.kind == kind)
