"""Descriptors of CK Tile broken mechanically: is each mutant refuted, or shown to be the same?

    python -m benchmarks.ck_mutants [--subject gemm]

A mutation is one slip: a length, pad, stride or bound one off, two of them swapped, a check skipped, dimensions in
another order, a buffer or a guarantee one off. A subject says what its author means: the offset at each admitted index,
the mask, the size, the guarantee, and that moving is making. A mutant fails one of these for some sizes (*refuted*),
keeps all of them (*equivalent*: the lengths of inner dimensions, for instance, are read by nothing), or cannot be made
(*refused*). An outcome that is none of these is *open*, and the exit status 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from checkers import Equal, GuaranteedVectorLength, Holds, MaskIsExactly, MovingEqualsMaking, NoInvalidAccess, prove
from checkers.prover import Budget
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TensorDescriptor,
    make_merge_transform,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    make_naive_tensor_view,
    make_pad_transform,
    make_pass_through_transform,
    make_slice_transform,
    make_unmerge_transform,
    make_xor_transform,
    pad_tensor_view,
    transform_tensor_descriptor,
    transpose_tensor_descriptor,
)
from symlayout.errors import SymlayoutError
from symlayout.expr import dim, dims, eq
from symlayout.transforms import Embed, Pad, PassThrough, RightPad, Transform

M, K = dims("M K")
BUDGET = Budget(repairs=False, seconds=20)
BOTH = ((0,), (1,))


@dataclass(frozen=True)
class Subject:
    """A descriptor, and what its author means by it: offset and mask as functions of the index, size, guarantee."""

    descriptor: TensorDescriptor
    offset: Callable[..., Any]
    mask: Callable[..., Any] | None
    size: Any
    guarantee: tuple[int, int] | None = None  # (dimension, length)

    def claims(self, d: TensorDescriptor) -> list[Any]:
        """What must hold for *d* to be this descriptor."""
        mine = self.descriptor
        wanted = AddressMap.over(self.offset, mine.extents, self.mask)
        if len(d.coords) != len(mine.coords):
            raise SymlayoutError("a descriptor of another rank")
        names = dict(zip(wanted.coords, d.coords, strict=True))
        facts = tuple(f.subs(names) for f in wanted.valid)
        out: list[Any] = [
            Holds(eq(d.element_space_size, self.size)),
            *(Holds(eq(a, b)) for a, b in zip(d.extents, mine.extents, strict=True)),
            MaskIsExactly(d, lambda *at: facts),
            NoInvalidAccess(d),
            MovingEqualsMaking(d),
        ]
        if d.extents == mine.extents:
            out.append(Equal(AddressMap(d.coords, d.extents, d.offset, facts), wanted))
        if self.guarantee is not None:
            lengths = d.get_top_dimension_safe_vector_length_strides()[0]
            along, length = self.guarantee
            out.append(Holds(eq(lengths[along], length)))
            if lengths[along] != -1:
                out.append(GuaranteedVectorLength(d, along=along))
        return out


# -- subjects -------------------------------------------------------------------------------------------------


def gemm() -> Subject:
    """A row-major operand padded to whole tiles."""
    lda = dim("lda", at_least=K)
    view = pad_tensor_view(make_naive_tensor_view(None, (M, K), (lda, 1)), (4, 8), (True, True))
    return Subject(view.descriptor, lambda i, k: i * lda + k, lambda i, k: (i < M, k < K), (M - 1) * lda + K)


def transposed() -> Subject:
    """The transpose of a tensor whose rows are vectors of 8."""
    d = transpose_tensor_descriptor(make_naive_tensor_descriptor((M, 8), (8, 1), 8, 1))
    return Subject(d, lambda k, i: 8 * i + k, None, 8 * M, (0, 8))


def tile() -> Subject:
    """A slice of a packed tensor."""
    d = make_naive_tensor_descriptor_packed((M + 6, 10))
    d = transform_tensor_descriptor(
        d, (make_slice_transform(M + 6, 2, M + 5), make_slice_transform(10, 3, 8)), BOTH, BOTH
    )
    return Subject(d, lambda i, j: 10 * (i + 2) + j + 3, None, 10 * (M + 6))


def im2col() -> Subject:
    """The implicit-GEMM operand of a convolution of one image of 5 x 4, three channels, taps 3 x 2, stride 2 and 1."""
    d = make_naive_tensor_descriptor((5, 4, 3), (12, 3, 1))
    padded = make_pad_transform(5, 1, 2), make_pad_transform(4, 1, 0), make_pass_through_transform(3)
    d = transform_tensor_descriptor(d, padded, ((0,), (1,), (2,)), ((0,), (1,), (2,)))
    taps = Embed((3, 3), (1, 2)), Embed((2, 4), (1, 1)), make_pass_through_transform(3)
    d = transform_tensor_descriptor(d, taps, ((0,), (1,), (2,)), ((0, 1), (2, 3), (4,)))
    merges = make_merge_transform((3, 4)), make_merge_transform((3, 2, 3))
    d = transform_tensor_descriptor(d, merges, ((1, 3), (0, 2, 4)), BOTH)

    def at(m: Any, k: Any) -> tuple[Any, Any, Any]:
        return k // 6 + 2 * (m // 4) - 1, k // 3 % 2 + m % 4 - 1, k % 3

    def offset(m: Any, k: Any) -> Any:
        row, column, channel = at(m, k)
        return 12 * row + 3 * column + channel

    def mask(m: Any, k: Any) -> Any:
        row, column, _ = at(m, k)
        return row >= 0, row < 5, column >= 0, column < 4

    return Subject(d, offset, mask, 60)


def lds() -> Subject:
    """A swizzled tile of shared memory: naive, xor, unmerge, two merges; 16 rows of 4 chunks of 4."""
    d = make_naive_tensor_descriptor((8, 8, 4), (4, 32, 1), 4, 1)
    keep = make_pass_through_transform
    d = transform_tensor_descriptor(d, (make_xor_transform((8, 8)), keep(4)), ((1, 0), (2,)), ((1, 0), (2,)))
    split = make_unmerge_transform((4, 2)), keep(8), keep(4)
    d = transform_tensor_descriptor(d, split, ((0,), (1,), (2,)), ((0, 2), (1,), (3,)))
    d = transform_tensor_descriptor(
        d, (make_merge_transform((8, 2)), make_merge_transform((4, 4))), ((1, 2), (0, 3)), BOTH
    )
    return Subject(d, lambda m, k: ((k // 4 * 2 + m % 2) ^ (m // 2)) * 4 + m // 2 * 32 + k % 4, None, 256, (1, 4))


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "gemm": gemm,
    "transposed": transposed,
    "tile": tile,
    "im2col": im2col,
    "lds": lds,
}


# -- mutants --------------------------------------------------------------------------------------------------


def mutants(d: TensorDescriptor) -> Iterator[tuple[str, Callable[[], TensorDescriptor]]]:
    """Each slip in a descriptor, in words, and the function that makes the mutant."""
    g = d.graph

    def made(**parts: Any) -> Callable[[], TensorDescriptor]:
        size = parts.pop("size", d.element_space_size)
        return lambda: TensorDescriptor(replace(g, **parts), size)

    for i, t in enumerate(g.transforms):
        for words, other in slips(t):
            before, after = g.transforms[:i], g.transforms[i + 1 :]
            yield f"{t}: {words}", lambda o=other, b=before, a=after: made(transforms=(*b, o(), *a))()
        for name in ("lower_ids", "upper_ids"):
            ids = getattr(g, name)
            for j in range(len(ids[i]) - 1):
                swapped = (*ids[i][:j], ids[i][j + 1], ids[i][j], *ids[i][j + 2 :])
                yield f"{t}: {name} {j} and {j + 1} swapped", made(**{name: (*ids[:i], swapped, *ids[i + 1 :])})
    if len(g.top_ids) > 1:
        yield "the first two dimensions swapped", made(top_ids=(g.top_ids[1], g.top_ids[0], *g.top_ids[2:]))
    yield "the size one more", made(size=d.element_space_size + 1)
    yield "the size one less", made(size=d.element_space_size - 1)
    for k, (dimension, length) in enumerate(g.lengths):
        doubled = (*g.lengths[:k], (dimension, 2 * length), *g.lengths[k + 1 :])
        yield f"twice the guarantee of dimension {dimension}", made(lengths=doubled)
        yield f"no guarantee of dimension {dimension}", made(lengths=g.lengths[:k] + g.lengths[k + 1 :])


def slips(t: Transform) -> Iterator[tuple[str, Callable[[], Transform]]]:
    """Transforms that differ from one in one parameter, or are of a neighbouring kind."""
    for f in fields(t):
        value = getattr(t, f.name)
        if isinstance(value, bool):
            yield f"{f.name} turned round", lambda n=f.name, v=value: replace(t, **{n: not v})
        elif isinstance(value, tuple):
            for j, x in enumerate(value):
                for by in (1, -1):
                    moved = (*value[:j], x + by, *value[j + 1 :])
                    yield f"{f.name}[{j}] {by:+}", lambda n=f.name, v=moved: replace(t, **{n: v})
                if j:
                    swapped = (*value[: j - 1], x, value[j - 1], *value[j + 1 :])
                    yield f"{f.name}[{j}] swapped with the one before", lambda n=f.name, v=swapped: replace(t, **{n: v})
        elif not callable(value):
            for by in (1, -1):
                yield f"{f.name} {by:+}", lambda n=f.name, v=value + by: replace(t, **{n: v})
    if isinstance(t, RightPad):
        yield "a pad of two sides", lambda: Pad(t.length, 0, t.right)
        yield "no pad", lambda: PassThrough(t.length + t.right)
    if isinstance(t, Pad):
        yield "a pad of one side", lambda: RightPad(t.length + t.left, t.right)
    if isinstance(t, PassThrough):
        yield "an empty pad", lambda: RightPad(t.length, 0)


def judged(subject: Subject, make: Callable[[], TensorDescriptor]) -> tuple[str, str]:
    """How the claims of a mutant of a descriptor come out; see ``outcome``."""
    return outcome(lambda: subject.claims(make()))


def outcome(make: Callable[[], list[Any]]) -> tuple[str, str]:
    """("refuted", "equivalent", "refused" or "open", why) for a list of claims."""
    try:
        asked = make()
    except SymlayoutError as e:
        return "refused", str(e)
    open_ = ""
    for c in asked:
        for v in prove(c, budget=BUDGET).verdicts:
            if v.outcome is Outcome.REFUTED:
                return "refuted", f"{c.kind}: {v.witness.story if v.witness else ''}"
            if v.outcome is not Outcome.PROVED:
                open_ = open_ or str(v)
    return ("open", open_) if open_ else ("equivalent", "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge every mutant and print a row for each subject."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subject", choices=SUBJECTS)
    parser.add_argument("--show", action="store_true", help="print every mutant")
    options = parser.parse_args(arguments)
    failed = False
    for name in [options.subject] if options.subject else SUBJECTS:
        subject, begin, tally = SUBJECTS[name](), time.process_time(), Counter[str]()
        if judged(subject, lambda s=subject: s.descriptor)[0] != "equivalent":
            print(f"{name}: not proved itself: {judged(subject, lambda s=subject: s.descriptor)[1]}")
            failed = True
            continue
        for words, make in mutants(subject.descriptor):
            kind, why = judged(subject, make)
            tally[kind] += 1
            if options.show or kind in ("open", "equivalent"):
                print(f"  {kind:10} {words}   {why.splitlines()[0] if why else ''}")
        failed = failed or bool(tally["open"])
        counted = ", ".join(f"{n} {k}" for k, n in sorted(tally.items()))
        print(f"{name}: {sum(tally.values())} mutants, {counted}, {time.process_time() - begin:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
