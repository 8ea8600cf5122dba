"""Random kernels of CK Tile's windows: what is proved has to run right, and what runs wrong must not be proved.

    python -m benchmarks.ck_windows [--count 200] [--seed 1]

Each kernel copies one matrix to another by windows of a random distribution: rows further apart than they are long,
transposes, pads or none, guarantees of vectors that are true or not, linear windows. It is proved, or not, and run
under two schedules; what a run leaves is compared with NumPy. Exit status 1 where a proved kernel runs wrong, or one
that is refuted runs right.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from checkers import prove
from symlayout import ceil_div
from symlayout.answers.report import Outcome
from symlayout.ck_tile import (
    TileDistributionEncoding,
    kernel_view,
    load_tile,
    make_naive_tensor_view,
    make_static_tile_distribution,
    make_tile_window,
    make_tile_window_linear,
    pad_tensor_view,
    store_tile,
    transpose_tensor_view,
)
from symlayout.errors import LayoutError, SymlayoutError
from symlayout.kernel import Builder, Kernel
from symlayout.results import element
from symlayout.semantics import execute

LANES = 32
SCHEDULES: tuple[str | int, ...] = ("lazy", 1)


@dataclass(frozen=True)
class Case:
    """A kernel, and the contents that b has to have for those of a."""

    kernel: Kernel
    turned: bool

    def wanted(self, a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The contents of b."""
        return a.T if self.turned else a


def random_encoding(rng: random.Random) -> TileDistributionEncoding:
    """A distribution of a tile to 32 lanes: factors of lanes and of registers in any order, the vector mostly last."""
    down = rng.choice((1, 2, 4, 8, 16, 32))
    rows = [("lane", down), ("y", rng.choice((1, 2, 3)))]
    columns = [("lane", LANES // down), ("y", rng.choice((1, 2)))]
    rng.shuffle(rows)
    rng.shuffle(columns)
    columns.insert(2 if rng.random() < 0.8 else rng.randrange(3), ("y", rng.choice((1, 2, 4))))
    pairs = [(k + 1, m, who) for k, h in enumerate((rows, columns)) for m, (who, _) in enumerate(h)]
    owned = {who: [(a, b) for a, b, x in pairs if x == who] for who in ("lane", "y")}
    rng.shuffle(owned["lane"])
    if rng.random() < 0.5:
        rng.shuffle(owned["y"])
    hs = tuple(tuple(n for _, n in h) for h in (rows, columns))
    return TileDistributionEncoding((), hs, (tuple(owned["lane"]),), tuple(owned["y"]))


def random_case(rng: random.Random) -> Case:
    """A kernel that copies by random windows. Raises LayoutError for a linear window that upstream mistakes."""
    d = make_static_tile_distribution(random_encoding(rng))
    rows, columns = (rng.choice((n, n * rng.randrange(1, 4), rng.randrange(1, 3 * n + 1))) for n in d.lengths)
    turned, version = rng.random() < 0.3, rng.choice(("V24", "V25"))
    pads = tuple(rng.random() < 0.8 for _ in range(2))

    def view(shape: tuple[int, int], gap: int, turn: bool) -> Any:
        n = rng.choice((-1, 2, 4))
        made = make_naive_tensor_view(None, shape, (shape[1] + gap, 1), n, 1 if n > 1 else -1)
        return pad_tensor_view(transpose_tensor_view(made) if turn else made, d.lengths, pads)

    k = Builder("windows", grid=(ceil_div(rows, d.lengths[0]), ceil_div(columns, d.lengths[1])), threads=LANES)
    source = view((columns, rows) if turned else (rows, columns), rng.choice((0, 0, 1, 4)), turned)
    views = kernel_view(k, "a", source), kernel_view(k, "b", view((rows, columns), 0, False))
    at = tuple(n * b for n, b in zip(d.lengths, k.block, strict=True))
    linear = None if rng.random() < 0.7 else rng.choice(((0, 1), (1, 1), (0, 0)))
    make = [make_tile_window(v, d.lengths, at, d, version=version) for v in views]
    if linear is not None:
        make[0] = make_tile_window_linear(views[0], d.lengths, at, d, linear, version=version)
    store_tile(make[1], load_tile(make[0]))
    k.result("b", lambda m, n: element("a", n, m) if turned else element("a", m, n))
    return Case(k.kernel(), turned)


def runs_right(case: Case) -> str:
    """The first thing that goes wrong in runs, or nothing."""
    bound = case.kernel.bind()
    shape = tuple(int(n) for n in np.atleast_1d(bound.tensor("a").layout.shape))
    a = 1 + np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    for order in SCHEDULES:
        try:
            found = execute(bound, {"a": a}, order)["b"]
        except SymlayoutError as e:
            return str(e)
        wrong = int((found.reshape(-1) != case.wanted(a).reshape(-1)).sum())
        if wrong:
            return f"{wrong} elements differ"
    return ""


def judged(case: Case) -> tuple[Outcome, str]:
    """The verdict on all claims together, and what goes wrong in runs."""
    outcomes = {v.outcome for v in prove(case.kernel).verdicts}
    last = next((o for o in (Outcome.REFUTED, Outcome.UNKNOWN, Outcome.VACUOUS) if o in outcomes), Outcome.PROVED)
    return last, runs_right(case)


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw kernels, judge them, and say what came out."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    rng, seen, bad = random.Random(options.seed), Counter[str](), 0
    began = time.process_time()
    for number in range(options.count):
        try:
            case = random_case(rng)
        except LayoutError:
            seen["refused"] += 1
            continue
        verdict, wrong = judged(case)
        seen[f"{verdict.value}, runs {'wrong' if wrong else 'right'}"] += 1
        if verdict is (Outcome.PROVED if wrong else Outcome.REFUTED):
            bad += 1
            print(f"kernel {number} is {verdict.value}, runs: {wrong or 'right'}\n{case.kernel.text()}")
    for what, n in sorted(seen.items()):
        print(f"{n:6} {what}")
    print(f"{options.count} kernels, {time.process_time() - began:.1f} s of processor time")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
