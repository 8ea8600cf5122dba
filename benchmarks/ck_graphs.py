"""Random graphs of CK Tile transforms: symbolic, enumerated and NumPy results agree, and no claim is proved that fails.

    python -m benchmarks.ck_graphs [--count 10000] [--seed 0] [--claims 5]

Each graph has up to four layers of transforms on a naive descriptor, some of its lengths symbols. Its offsets and masks
are found three ways: the symbolic map at sizes, the transforms on Python integers, and formulas of this file on arrays,
which share no code with them. One in *claims* graphs is also asked what holds for it: a certificate for a claim that a
table of the graph contradicts is an error, and so is a digit form that differs. Exit status 1 for any of these.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers import GuaranteedVectorLength, Injective, MovingEqualsMaking, NoInvalidAccess, VectorDoesNotStraddle
from checkers.certified import certified
from checkers.claim import TooLarge
from symlayout.address_map import AddressMap
from symlayout.ck_tile import (
    TensorDescriptor,
    make_naive_tensor_descriptor,
    make_naive_tensor_descriptor_packed,
    transform_tensor_descriptor,
)
from symlayout.ck_tile.forms import digit_form
from symlayout.expr import dim
from symlayout.facts import Facts
from symlayout.transforms import (
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
    Transform,
    Unmerge,
    Xor,
)

LAYERS = 4
POINTS = 3000  # of a graph; larger ones are drawn again
RANK = 4
VECTORS = (2, 4, 8)


@dataclass
class Drawn:
    """A descriptor with symbols, the sizes that stand for them, and the same descriptor in numbers."""

    symbolic: TensorDescriptor
    sizes: dict[str, int]
    number: TensorDescriptor


# -- drawing --------------------------------------------------------------------------------------------------


class Drawing:
    """Lengths, some of them symbols, and transforms of them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.sizes = rng, dict[str, int]()

    def named(self, n: int) -> Any:
        """A number, or at times a symbol of this value."""
        if n < 1 or len(self.sizes) >= 4 or self.rng.random() < 0.75:
            return n
        name = f"s{len(self.sizes)}"
        self.sizes[name] = n
        return dim(name)

    def value(self, x: Any) -> int:
        """The number that an integer or expression stands for."""
        return int(x if type(x) is int else x.subs(self.sizes))

    def base(self) -> TensorDescriptor:
        lengths = [self.named(self.rng.choice((1, 2, 3, 4, 5, 6, 8, 12))) for _ in range(self.rng.randint(1, 3))]
        if self.rng.random() < 0.5:
            return make_naive_tensor_descriptor_packed(lengths, self.rng.choice((-1, 2, 4)))
        strides: list[Any] = []
        stride: Any = 1
        for n in reversed(lengths):
            strides.insert(0, stride)
            stride = stride * n + self.rng.choice((0, 0, 1, 2))
        return make_naive_tensor_descriptor(lengths, strides, self.rng.choice((-1, 2, 4)), 1)

    def layer(self, lengths: Sequence[Any]) -> tuple[list[Transform], list[list[int]], list[list[int]]]:
        """Transforms that take each dimension once, in a random order of what comes out."""
        left = [*range(len(lengths))]
        self.rng.shuffle(left)
        transforms: list[Transform] = []
        lower: list[list[int]] = []
        while left:
            taken = [left.pop() for _ in range(min(len(left), self.rng.choice((1, 1, 1, 2, 2, 3))))]
            transforms.append(self.transform([lengths[i] for i in taken]))
            lower.append(taken[: transforms[-1].lower_rank])
            left += taken[transforms[-1].lower_rank :]
        if self.rng.random() < 0.1:
            extra = Insert(self.named(2)) if self.rng.random() < 0.5 else Replicate((2,))
            transforms.append(extra)
            lower.append([])
        total = sum(t.upper_rank for t in transforms)
        places = [*range(total)]
        self.rng.shuffle(places)
        return transforms, lower, [[places.pop() for _ in range(t.upper_rank)] for t in transforms]

    def transform(self, lengths: list[Any]) -> Transform:
        """A transform of the first dimensions of some lengths."""
        if len(lengths) >= 2 and self.rng.random() < 0.7:
            return Xor(tuple(lengths[:2])) if self.rng.random() < 0.3 else Merge(tuple(lengths))
        n = lengths[0]
        makers: tuple[Callable[[Any], Transform], ...] = (
            PassThrough,
            self._pad,
            self._slice,
            self._unmerge,
            lambda n: Merge((n,)),
            lambda n: Offset(n, self.named(self.rng.randint(1, 3))),
            lambda n: Freeze(self.rng.randrange(self.value(n))),
            lambda n: Modulo(n, self.value(n) + self.rng.randint(0, 3)),
            lambda n: Embed((2, self.named(3)), (self.rng.randint(0, 3), self.named(1))),
            lambda n: Indexing(3, tuple(self.rng.randrange(self.value(n)) for _ in range(3))),
        )
        return self.rng.choice((*makers[:5], *makers))(n)

    def _pad(self, n: Any) -> Transform:
        left, right = self.named(self.rng.randint(0, 3)), self.named(self.rng.randint(0, 4))
        skip = self.rng.random() < 0.05
        return self.rng.choice((Pad(n, left, right, skip), LeftPad(n, left, skip), RightPad(n, right, skip)))

    def _slice(self, n: Any) -> Transform:
        end = self.value(n)
        begin = self.rng.randrange(end)
        return Slice(n, begin, self.rng.choice((n, end)))

    def _unmerge(self, n: Any) -> Transform:
        number = self.value(n)
        inner = self.rng.choice([d for d in range(1, number + 1) if number % d == 0])
        return Unmerge((number // inner, self.named(inner)))


def drawn(rng: random.Random) -> Drawn:
    """A random descriptor of at most ``POINTS`` indices."""
    while True:
        made = Drawing(rng)
        d = made.base()
        for _ in range(rng.randint(1, LAYERS)):
            d = transform_tensor_descriptor(d, *made.layer(d.lengths))
        number = d.subs(made.sizes)
        points = int(number.element_size)
        if 1 <= points <= POINTS and len(d.lengths) <= RANK:
            return Drawn(d, made.sizes, number)


# -- by NumPy -------------------------------------------------------------------------------------------------

Arrays = list[np.ndarray[Any, Any]]


def by_numpy(d: TensorDescriptor) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(offset, mask) at every index, the last dimension fastest, by formulas on arrays."""
    lengths = tuple(int(n) for n in d.lengths)  # type: ignore[arg-type]
    hidden: dict[int, np.ndarray[Any, Any]] = {}
    grids = np.indices(lengths).reshape(len(lengths), -1) if lengths else np.zeros((0, 1), dtype=int)
    count = grids.shape[1] if lengths else 1
    hidden.update(zip(d.graph.top_ids, grids, strict=True))
    mask = np.ones(count, dtype=bool)
    for t, low, up in reversed([*d.graph.rows()]):
        lower, ok = ROWS[type(t)](t, [hidden[i] for i in up], count)
        mask &= ok
        hidden.update(zip(low, lower, strict=True))
    zero = np.zeros(count, dtype=int)
    return hidden.get(d.graph.bottom_ids[0], zero) + zero, mask


def _merge(t: Any, u: Arrays, count: int) -> tuple[Arrays, Any]:
    """Digits taken off one after another, the last one first."""
    rest, out = u[0], []
    for n in t.lengths[:0:-1]:
        rest, digit = np.divmod(rest, n)
        out.append(digit)
    return [rest, *reversed(out)], True


def _unmerge(t: Any, u: Arrays, count: int) -> tuple[Arrays, Any]:
    total = np.zeros(count, dtype=int)
    for n, x in zip(t.lengths, u, strict=True):
        total = total * n + x
    return [total], True


def _pad(t: Any, u: Arrays, count: int) -> tuple[Arrays, Any]:
    inside = u[0] - t.left
    return [inside], t.skip | ((inside >= 0) & (inside < t.length))


ROWS: dict[type[Transform], Callable[[Any, Arrays, int], tuple[Arrays, Any]]] = {
    PassThrough: lambda t, u, n: (u, True),
    Pad: _pad,
    LeftPad: lambda t, u, n: ([u[0] - t.left], t.skip | (u[0] >= t.left)),
    RightPad: lambda t, u, n: (u, t.skip | (u[0] < t.length)),
    Embed: lambda t, u, n: ([sum((c * x for c, x in zip(t.coefficients, u, strict=True)), np.zeros(n, int))], True),
    Merge: _merge,
    Unmerge: _unmerge,
    Freeze: lambda t, u, n: ([np.full(n, t.index)], True),
    Insert: lambda t, u, n: ([], True),
    Replicate: lambda t, u, n: ([], True),
    Slice: lambda t, u, n: ([u[0] + t.begin], True),
    Modulo: lambda t, u, n: ([np.mod(u[0], t.modulus)], True),
    Xor: lambda t, u, n: ([u[0], np.bitwise_xor(u[1], np.mod(u[0], t.lengths[1]))], True),
    Offset: lambda t, u, n: ([u[0] + t.offset], True),
    Indexing: lambda t, u, n: ([np.take(t.table, np.where(u[0] < 0, t.length - 1, u[0]), mode="clip")], True),
}


# -- comparing ------------------------------------------------------------------------------------------------


def differences(x: Drawn) -> list[str]:
    """The ways in which the offsets and masks of one graph differ; none of a right one."""
    offsets, mask = by_numpy(x.number)
    lengths = tuple(int(n) for n in x.number.lengths)  # type: ignore[arg-type]
    wrong = []
    at = np.indices(lengths).reshape(len(lengths), -1).T if lengths else np.zeros((1, 0), dtype=int)
    for row in range(0, len(at), max(1, len(at) // 64)):
        c = tuple(map(int, at[row]))
        if (x.number(c), x.number.valid_at(c)) != (offsets[row], mask[row]):
            wrong.append(f"integers and NumPy at {c}")
            break
    moved = AddressMap(x.symbolic.coords, x.symbolic.extents, x.symbolic.offset, x.symbolic.valid).subs(x.sizes)
    for name, made in (("the symbolic map", moved), ("the map in numbers", x.number)):
        found, values = made.table()
        places = (
            np.ravel_multi_index(tuple(found.T.astype(int)), lengths) if lengths else np.zeros(len(found), dtype=int)
        )
        seen = np.zeros(len(mask), dtype=bool)
        seen[places.astype(int)] = True
        if not np.array_equal(seen, mask) or not np.array_equal(values[:, 0], offsets[places.astype(int)]):
            wrong.append(f"{name} and NumPy")
    return wrong + _of_digits(x.number, offsets, mask)


def _of_digits(d: TensorDescriptor, offsets: np.ndarray[Any, Any], mask: np.ndarray[Any, Any]) -> list[str]:
    """The digit form has each valid index once, with its offset."""
    form = digit_form(d)
    table = form.map_of((*form.top, form.offset)).table()[1]
    lengths = tuple(int(n) for n in d.lengths)  # type: ignore[arg-type]
    tops = tuple(table[:, :-1].T.astype(int))
    places = np.ravel_multi_index(tops, lengths).astype(int) if lengths else np.zeros(len(table), dtype=int)
    right = np.array_equal(np.sort(places), np.flatnonzero(mask)) and np.array_equal(table[:, -1], offsets[places])
    return [] if right else ["the digit form and NumPy"]


def wrong_proofs(x: Drawn, tally: Counter[str]) -> list[str]:
    """Claims with a certificate that the numbers contradict, with sizes as symbols and as numbers."""
    wrong = []
    for d in (x.symbolic, x.number):
        claims: list[Any] = [NoInvalidAccess(d), Injective(d), MovingEqualsMaking(d)]
        for v in VECTORS:
            claims += [VectorDoesNotStraddle(d, v, along) for along in range(len(d.lengths))]
            claims += [NoInvalidAccess(d, elements=v, along=along) for along in range(len(d.lengths))]
            claims += [GuaranteedVectorLength(d, v, along, 1) for along in range(len(d.lengths))]
        for c in claims:
            facts = Facts.about(c.parameters())
            if certified(c, facts) is None:
                continue
            tally[c.kind] += 1
            try:
                found = c.bind(x.sizes).counterexample()
            except TooLarge:
                continue
            if found is not None:
                wrong.append(f"{c} is proved, and {found.story}")
    return wrong


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw, compare and count; print what differs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--claims", type=int, default=5, help="one graph in so many is asked what holds for it")
    options = parser.parse_args(arguments)
    rng, begin = random.Random(options.seed), time.process_time()
    kinds: Counter[str] = Counter()
    proved: Counter[str] = Counter()
    failed = 0
    for i in range(options.count):
        x = drawn(rng)
        kinds.update(t.kind for t in x.number.graph.transforms)
        wrong = differences(x) + (wrong_proofs(x, proved) if i % options.claims == 0 else [])
        for w in wrong:
            print(f"{i}: {w}\n   {x.symbolic.graph} at {x.sizes}")
        failed += bool(wrong)
    print(f"{options.count} graphs, {failed} wrong, {time.process_time() - begin:.0f} s of processor time")
    print("transforms", ", ".join(f"{k} {n}" for k, n in sorted(kinds.items())))
    print("certificates", ", ".join(f"{k} {n}" for k, n in sorted(proved.items())))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
