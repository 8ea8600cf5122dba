"""Access patterns of one warp in shared memory: an instruction and the byte address of each lane.

>>> len(PATTERNS) >= 40, PATTERNS["load_4 stride 33"].addresses[:3]
(True, (0, 132, 264))
>>> PATTERNS["ldmatrix_4 swizzle 128"].predicted
4
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from symlayout.banks import ldmatrix_rows, load_wavefronts, wavefronts
from symlayout.swizzle import Swizzle

LANES = range(32)


@dataclass(frozen=True)
class Pattern:
    """An instruction of the kernels in ``banks.cu``, and its addresses."""

    kernel: str
    addresses: tuple[int, ...]

    @property
    def predicted(self) -> int:
        """The wavefronts of one instruction, as ``symlayout.banks`` counts them."""
        word, _, width = self.kernel.rpartition("_")
        if "matrix" in word:
            return sum(ldmatrix_rows(self.addresses[: 8 * int(width)]))
        if word == "load":
            return load_wavefronts(self.addresses, int(width))
        return sum(wavefronts(self.addresses, int(width)))


def _pairs(draw: random.Random, distance: int) -> list[int]:
    """Random units, the same for lanes i and i ^ distance."""
    found = [draw.randrange(1024) for _ in LANES]
    return [found[i & ~distance] for i in LANES]


def _all() -> Iterable[tuple[str, Pattern]]:
    swizzle = Swizzle(3, 4, 3)  # of bytes: 16-byte chunks by the row of 128 bytes
    draw = random.Random(7)

    def of(kernel: str, name: str, addresses: Iterable[int]) -> tuple[str, Pattern]:
        return f"{kernel} {name}", Pattern(kernel, tuple(int(a) for a in addresses))

    for stride in (1, 2, 3, 4, 8, 16, 31, 32, 33):
        yield of("load_4", f"stride {stride}", (4 * stride * i for i in LANES))
    yield of("load_4", "one word", (64 for _ in LANES))
    yield of("load_4", "pairs of lanes, stride 32", (128 * (i // 2) for i in LANES))
    yield of("load_4", "random", (4 * draw.randrange(4096) for _ in LANES))
    yield of("load_4", "8 by 4 of a padded tile", (4 * (i % 4 + 36 * (i // 4)) for i in LANES))
    yield of("load_4", "column of a swizzled tile", (swizzle(128 * i) for i in LANES))
    for width in (1, 2):
        yield of(f"load_{width}", "stride 1", (width * i for i in LANES))
        yield of(f"load_{width}", "column, rows of 128 bytes", (128 * i for i in LANES))
        yield of(f"load_{width}", "column, rows of 130 bytes", (130 * i for i in LANES))
        yield of(f"load_{width}", "random", (width * draw.randrange(8192) for _ in LANES))
    for stride in (1, 2, 4, 16, 17):
        yield of("load_8", f"stride {stride}", (8 * stride * i for i in LANES))
    yield of("load_8", "pairs of lanes", (8 * (i // 2) for i in LANES))
    yield of("load_8", "halves alike", (8 * (i % 16) for i in LANES))
    yield of("load_8", "column of a padded tile", (136 * i for i in LANES))
    yield of("load_8", "random", (8 * draw.randrange(2048) for _ in LANES))
    for stride in (1, 2, 3, 8, 9):
        yield of("load_16", f"stride {stride}", (16 * stride * i for i in LANES))
    yield of("load_16", "one word", (256 for _ in LANES))
    yield of("load_16", "eighths alike", (16 * (i % 8) for i in LANES))
    yield of("load_16", "pairs of lanes", (16 * (i // 2) for i in LANES))
    yield of("load_16", "column of a swizzled tile", (swizzle(128 * i) for i in LANES))
    yield of("load_16", "rows of a swizzled tile", (swizzle(16 * i) for i in LANES))
    yield of("load_16", "random", (16 * draw.randrange(1024) for _ in LANES))
    for width in (8, 16):  # lanes that want the same bytes, in ways that tell which phases are served together
        same: dict[str, Callable[[int], int]] = {
            "lanes i and i ^ 2": lambda i: i & ~2,
            "lanes i and i ^ 4": lambda i: i & ~4,
            "lanes i and i ^ 16": lambda i: i & ~16,
            "quads": lambda i: i // 4,
            "eights": lambda i: i // 8,
            "pairs in the first half": lambda i: i // 2 if i < 16 else i,
            "pairs in the first quarter": lambda i: i // 2 if i < 8 else i,
            "pairs but one": lambda i: 40 if i == 5 else i // 2,
            "pairs by 1 in the first half, by 2 in the second": lambda i: i // 2 if i < 16 else i & ~2,
            "pairs two apart": lambda i: i // 2 * 2,
            "pairs in one bank": lambda i: 16 * (i // 2),
            "pairs, halves in the same banks": lambda i: i // 2 % 8 + 16 * (i // 16),
            "pairs, quarters in the same banks": lambda i: i // 2 % 4 + 16 * (i // 8),
        }
        for name, unit in same.items():
            yield of(f"load_{width}", name, (width * unit(i) for i in LANES))
        yield of(f"store_{width}", "pairs of lanes", (width * (i // 2) for i in LANES))
        yield of(f"store_{width}", "one word", (0 for _ in LANES))
    for k in range(6):
        yield of("load_8", f"random pairs {k}", (8 * x for x in _pairs(draw, 1 + k % 2)))
        yield of("load_16", f"random pairs {k}", (16 * x for x in _pairs(draw, 1 + k % 2)))
    for width in (4, 8, 16):
        yield of(f"store_{width}", "stride 1", (width * i for i in LANES))
        yield of(f"store_{width}", "stride 2", (2 * width * i for i in LANES))
        yield of(f"store_{width}", "column, rows of 128 bytes", (128 * i for i in LANES))
        yield of(f"store_{width}", "column, padded rows", ((128 + width) * i for i in LANES))
    yield of("store_16", "column of a swizzled tile", (swizzle(128 * i) for i in LANES))
    yield of("store_2", "column of a tile", (128 * i for i in LANES))
    yield of("store_2", "column of a swizzled tile", (swizzle(128 * i) for i in LANES))
    yield of("store_2", "row", (2 * i for i in LANES))
    for kernel in ("ldmatrix_1", "ldmatrix_2", "ldmatrix_4", "ldmatrix_trans_4", "stmatrix_1", "stmatrix_4"):
        yield of(kernel, "rows of 128 bytes", (128 * i for i in LANES))
        yield of(kernel, "rows of 144 bytes", (144 * i for i in LANES))
        yield of(kernel, "swizzle 128", (swizzle(128 * (i % 16) + 16 * (i // 16)) for i in LANES))
    yield of("ldmatrix_4", "rows of 64 bytes", (64 * i for i in LANES))
    yield of("ldmatrix_4", "rows of 16 bytes", (16 * i for i in LANES))


PATTERNS: dict[str, Pattern] = dict(_all())
