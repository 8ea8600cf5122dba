"""The sum, or the greatest or least number, of each row: a warp for a row, vectors and a tail, a reduction over lanes.

>>> from symlayout import dim, dims
>>> M, N = dims("M N")
>>> print(row_sum(M, N, dim("ld", at_least=N), warps=4).text())
kernel row_sum(M, N, ld(at_least=N))
  grid (ceil(M/4),), 128 threads
  64 bits: N + 127
  64 bits: ld*row
  global src: f32 (M,N):(ld,1)
  global dst: f32 M:1
  register x: f32 4:1
  register part: f32 4:1
  register total: f32 1:0
  let row = 4*block_x + (thread//32)
  let lane = thread % 32
  fill part x4 with 0
  for j < ceil(N/128):
    let column = 128*j + 4*lane
    if M > row and N >= column + 4:
      ld.global.16 src[ld*row + column] -> x
      add part, x -> part x4
    if M > row and column + 3 >= N:
      for q < 4, unrolled:
        if N > column + q:
          ld.global.4 src[ld*row + column + q] -> x[q]
          add part[q], x[q] -> part[q] x1
  reduce add part x4 over 32 lanes -> total
  if lane <= 0 and M > row:
    st.global.4 total -> dst[row]
  result dst(m) = sum over n < N of src(m,n)

Each lane sums every 128th vector into four numbers; the order of all additions is the kernel's, so its bits are too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..dtype import f32
from ..errors import LayoutError
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import element
from ..kernel.specification import total as over
from ..layout import Layout
from ..ops import WARP

SIZES = (
    *(
        {"M": 1, "N": 1, "ld": 4},
        {"M": 3, "N": 4, "ld": 4},
        {"M": 4, "N": 127, "ld": 128},
        {"M": 5, "N": 128, "ld": 128},
    ),
    *({"M": 8, "N": 129, "ld": 132}, {"M": 9, "N": 130, "ld": 140}, {"M": 2, "N": 255, "ld": 256}),
    *({"M": 7, "N": 384, "ld": 384}, {"M": 33, "N": 3, "ld": 8}, {"M": 64, "N": 500, "ld": 512}),
)
VECTOR = 4  # elements: 16 bytes
NAMES = {"add": "row_sum", "max": "row_max", "min": "row_min"}
NEUTRAL = {"add": 0.0, "max": -math.inf, "min": math.inf}
OF_ROWS: Mapping[str, Callable[..., Any]] = {"add": np.sum, "max": np.max, "min": np.min}


def row_sum(M: int | Symbol, N: int | Symbol, ld: int | Symbol, *, function: str = "add", warps: int = 8) -> Kernel:
    """dst[m] = the fold of src[m, :] for (M,N) of f32 with rows *ld* apart. Needs ld >= N of whole 16-byte units.

    Raises LayoutError for a function other than add, max and min.
    """
    if function not in NEUTRAL:
        raise LayoutError(f"expected a function of {', '.join(NEUTRAL)}, got {function!r}")
    dims = (x for x in (M, N, ld) if not isinstance(x, int))
    k = Builder(NAMES[function], *dims, grid=(ceil_div(M, warps),), threads=WARP * warps)
    src, dst = k.global_tensor("src", f32, Layout((M, N), (ld, 1))), k.global_tensor("dst", f32, Layout(M))
    x, part, total = (k.registers(name, f32, n) for name, n in (("x", VECTOR), ("part", VECTOR), ("total", 1)))
    row, lane = k.let("row", warps * k.block[0] + k.thread // WARP), k.let("lane", k.thread % WARP)
    k.fill(part(), NEUTRAL[function], VECTOR)
    with k.loop("j", ceil_div(N, WARP * VECTOR)) as j:
        column = k.let("column", WARP * VECTOR * j + VECTOR * lane)
        with k.where(row < M, column + VECTOR <= N):
            k.copy("ld.global.16", src(ld * row + column), x())
            k.map(function, (part(), x()), part(), VECTOR)
        with k.where(row < M, column + VECTOR > N), k.loop("q", VECTOR, unroll="full") as q, k.where(column + q < N):
            k.copy("ld.global.4", src(ld * row + column + q), x(q))
            k.map(function, (part(q), x(q)), part(q))
    k.reduce(function, part(), total(), VECTOR, lanes=WARP)
    with k.where(lane <= 0, row < M):
        k.copy("st.global.4", total(), dst(row))
    k.result("dst", lambda m: over(N, lambda n: element("src", m, n), function))
    return k.kernel(reference=lambda src: reference(src, function))


def reference(src: np.ndarray[Any, Any], function: str = "add") -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel, but for rounding: sums in f64, rounded once."""
    return {"dst": OF_ROWS[function](src.astype(np.float64), axis=1).astype(np.float32)}


def bound(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """A bound on the error of sums: each addition rounds a sum of at most all absolute values.

    N - 1 additions in any order err by at most (N - 1) u (1 + u)^(N-2) sum |x|, with u = 2^-24 (Higham, Accuracy and
    Stability of Numerical Algorithms, section 4.2); the reference rounds once more.
    """
    n, total = src.shape[1] + VECTOR * WARP, np.abs(src.astype(np.float64)).sum(axis=1)
    return {"dst": 1.01 * (n * 2.0**-24 * total + 2.0**-149)}
