"""How long claims about views of CK Tile take for all sizes: a padded GEMM operand and implicit GEMM.

    python -m benchmarks.ck_views [--runs 5]

Each figure is the median of processor time in milliseconds of a whole verdict, with its certificate verified and
nothing kept from before; the aim is 200.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from checkers import (
    GuaranteedVectorLength,
    MaskIsExactly,
    MovingEqualsMaking,
    NoInvalidAccess,
    VectorDoesNotStraddle,
    prove,
)
from checkers.prover import forget
from symlayout.expr import dims
from tests.support.ck_views import im2col, lds_tile, padded_gemm, predicate_of_im2col

AIM_MS = 200
M, K, C = dims("M K C")


ROWS: tuple[tuple[str, Callable[[], Any]], ...] = (
    ("padded GEMM: no invalid access", lambda: NoInvalidAccess(padded_gemm())),
    ("padded GEMM: mask is exactly", lambda: MaskIsExactly(padded_gemm(), lambda i, k: (2 * i < 2 * M - 1, k < K))),
    ("padded GEMM: vectors of 8", lambda: VectorDoesNotStraddle(padded_gemm(), 8, given=K.multiple_of(8))),
    ("padded GEMM: moving", lambda: MovingEqualsMaking(padded_gemm())),
    ("im2col: no invalid access", lambda: NoInvalidAccess(im2col())),
    ("im2col: mask is exactly", lambda: MaskIsExactly(im2col(), predicate_of_im2col)),
    ("im2col: vectors of 8", lambda: GuaranteedVectorLength(im2col(), 8, -1, 1, given=C.multiple_of(8))),
    ("im2col: moving", lambda: MovingEqualsMaking(im2col())),
    ("LDS tile 128 x 32: vectors of 8", lambda: GuaranteedVectorLength(lds_tile(128, 32, 8))),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; exit status 1 where a claim is not proved or takes longer than the aim."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(arguments)
    prove(ROWS[0][1]())  # what is imported when it is first needed
    slow = False
    print(f"{'claim':34} median ms  greatest ms")
    for name, make in ROWS:
        spent = []
        for _ in range(options.runs):
            forget()
            begin = time.process_time()
            proved = bool(prove(make()))
            spent.append(1e3 * (time.process_time() - begin))
            slow = slow or not proved
        slow = slow or statistics.median(spent) > AIM_MS
        print(f"{name:34} {statistics.median(spent):9.1f}  {max(spent):11.1f}")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
