"""C = A B^T by fused multiply-adds of threads: cp.async of single elements, transposed and with zeros behind the ends.

    >>> from symlayout import dims
    >>> print(gemm_simt(*dims("M N K")).text().splitlines()[1])
      grid (ceil(M/64),ceil(N/64)), 256 threads

Each thread has 4 x 4 sums. A slot has the rows of A, and those of B, as columns, so that a thread reads 4 of them at
once. Sizes are any: what is outside of the matrices is zero in shared memory, and is not stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import dot, element
from ..layout import Layout
from .gemm import reference

__all__ = ["SIZES", "bound", "gemm_simt", "reference"]

SIZES = (
    *({"M": 64, "N": 64, "K": 16}, {"M": 64, "N": 128, "K": 64}, {"M": 1, "N": 1, "K": 1}, {"M": 3, "N": 5, "K": 7}),
    *({"M": 65, "N": 63, "K": 17}, {"M": 100, "N": 1, "K": 33}, {"M": 1, "N": 130, "K": 16}),
    *({"M": 64, "N": 2, "K": 100}, {"M": 130, "N": 70, "K": 31}, {"M": 7, "N": 64, "K": 48}),
)
TILE, STEP_K = 64, 16
EACH = 4  # rows, and columns, of a thread: 16 bytes of f32
THREADS = (TILE // EACH) ** 2
PADDED = TILE + 4  # elements between columns of a slot: 4 banks, so that 8 columns are in different ones


def gemm_simt(
    M: int | Symbol, N: int | Symbol, K: int | Symbol, *, dtype: DTypeLike = "f32", stages: int = 2
) -> Kernel:
    """c = a b^T for row-major a (M,K), b (N,K) and c (M,N) of f32, of any sizes.

    Raises LayoutError for another type, and for fewer than 2 stages.
    """
    kind = DType.of(dtype)
    if kind.name != "f32":
        raise LayoutError(f"expected f32, got {kind}")
    if stages < 2:
        raise LayoutError(f"expected at least 2 stages, since one is filled while another is read, got {stages}")
    sizes = [x for x in (M, N, K) if not isinstance(x, int)]
    k = Builder("gemm_simt", *sizes, grid=(ceil_div(M, TILE), ceil_div(N, TILE)), threads=THREADS)
    a, b = k.global_tensor("a", kind, Layout((M, K), (K, 1))), k.global_tensor("b", kind, Layout((N, K), (K, 1)))
    c = k.global_tensor("c", kind, Layout((M, N), (N, 1)))
    slots = [
        k.shared_tensor(f"{name}_slots", kind, Layout((TILE, STEP_K, stages), (1, PADDED, PADDED * STEP_K)))
        for name in "ab"
    ]
    x, y, acc = k.registers("x", kind, EACH), k.registers("y", kind, EACH), k.registers("acc", kind, EACH * EACH)
    m, n = (k.let(name, TILE * block) for name, block in zip("mn", k.block, strict=True))
    column, row = k.let("column", k.thread % STEP_K), k.let("row", k.thread // STEP_K)
    first, second = (k.let(name, EACH * e) for name, e in (("first", k.thread // 16), ("second", k.thread % 16)))
    steps = ceil_div(K, STEP_K)

    def fetch(i: Any) -> None:
        """A group of copies for a step, empty past the last one."""
        with k.where(i < steps):
            for source, slot, start, limit in ((a, slots[0], m, M), (b, slots[1], n, N)):
                with k.loop("j", TILE * STEP_K // THREADS, unroll="full") as j:
                    line = start + row + THREADS // STEP_K * j
                    to = PADDED * (STEP_K * (i % stages) + column) + row + THREADS // STEP_K * j
                    inside = line < limit, STEP_K * i + column < K
                    k.copy("cp.async.4", source(K * line + STEP_K * i + column), slot(to), when=inside)
        k.commit("cp.async")

    k.fill(acc(), 0, EACH * EACH)
    with k.loop("s", stages - 1) as s:
        fetch(s)
    with k.loop("i", steps) as i:
        k.wait_group("cp.async", stages - 2)
        k.sync()
        fetch(i + stages - 1)
        with k.loop("j", STEP_K, unroll="full") as j:
            at = PADDED * (STEP_K * (i % stages) + j)
            k.copy("ld.shared.16", slots[0](at + first), x())
            k.copy("ld.shared.16", slots[1](at + second), y())
            with k.loop("p", EACH, unroll="full") as p, k.loop("q", EACH, unroll="full") as q:
                k.map("fma", (x(p), y(q), acc(EACH * p + q)), acc(EACH * p + q))
    _store(k, acc, c, (m + first, n + second), (M, N))
    k.result("c", lambda m, n: dot(K, lambda k: (element("a", m, k), element("b", n, k))))
    return k.kernel(reference=reference)


def _store(k: Builder, acc: Any, c: Any, first: tuple[Any, Any], shape: tuple[Any, Any]) -> None:
    """The sums of a thread that are inside."""
    (m, n), (M, N) = first, shape
    with k.loop("p", EACH, unroll="full") as p, k.loop("q", EACH, unroll="full") as q, k.where(m + p < M, n + q < N):
        k.copy("st.global.4", acc(EACH * p + q), c(N * (m + p) + n + q))


def bound(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """A bound on the error of c, element by element.

    K fused multiply-adds round K times: at most K u (1 + u)^K sum |a b|, with u = 2^-24 (Higham, Accuracy and Stability
    of Numerical Algorithms, section 3.1), and as much as the least subnormal number each; the reference rounds once.
    """
    size = np.abs(a.astype(np.float64)) @ np.abs(b.astype(np.float64)).T
    return {"c": 1.01 * ((a.shape[1] + 1) * 2.0**-24 * size + (a.shape[1] + 1) * 2.0**-149)}
