"""Rows picked by an index: dst[i, :] = src[idx[i], :], by TMA loads of single rows and TMA stores of whole tiles.

    >>> from symlayout import dims
    >>> kernel = gather_rows(*dims("K M N"), tile=(16, 64), slots=4)
    >>> print(next(line.strip() for line in kernel.text().splitlines() if "within" in line))
    let picked = idx[min(M - 1, r + row)] within (0,K)

All that is known of an index is its contract, 0 <= idx[i] < K: what is proved holds for every table that keeps it. Rows
past the last are loaded like the last one, and not stored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..expr import Symbol, minimum
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.ring import make_ring
from ..kernel.specification import element, entry
from ..layout import Layout
from ..tma import TensorMap

SIZES = (
    *({"K": 1, "M": 1, "N": 4}, {"K": 10, "M": 16, "N": 64}, {"K": 3, "M": 40, "N": 4}, {"K": 100, "M": 17, "N": 68}),
    *(
        {"K": 7, "M": 33, "N": 132},
        {"K": 50, "M": 5, "N": 256},
        {"K": 1, "M": 64, "N": 60},
        {"K": 200, "M": 48, "N": 64},
    ),
    *({"K": 31, "M": 31, "N": 192}, {"K": 64, "M": 130, "N": 72}),
)


def gather_rows(
    K: int | Symbol,
    M: int | Symbol,
    N: int | Symbol,
    *,
    dtype: DTypeLike = "f32",
    tile: tuple[int, int] = (16, 256),
    slots: int = 4,
    blocks: int | Symbol = 132,
) -> Kernel:
    """dst[i] = src[idx[i]] for row-major src (K,N), dst (M,N) and M indices. Needs N of whole 16-byte units."""
    rows, columns = tile
    kind = DType.of(dtype)
    tiles_n = ceil_div(N, columns)

    k = Builder("gather_rows", *(x for x in (K, M, N, blocks) if not isinstance(x, int)), grid=(blocks,), threads=64)
    idx = k.global_tensor("idx", "i32", Layout(M))
    boxes = []
    for name, m, height in (("src", K, 1), ("dst", M, rows)):
        tensor = k.global_tensor(name, kind, Layout((m, N), (N, 1)))
        tensor_map = TensorMap.over(Layout((N, m), (1, N)), kind, (columns, height))
        boxes.append(k.tensor_map(f"{name}_map", tensor(), tensor_map))
    src, dst = boxes
    ring = make_ring(k, "ring", kind, Layout((columns, rows)), slots=slots, consumers=1)
    (block,) = k.block
    trips = (ceil_div(M, rows) * tiles_n - block + blocks - 1) // blocks

    with k.role("producer", 1), k.elect(), k.loop("i", trips) as i:
        load = k.let("load", block + blocks * i)
        row, column = k.let("row", rows * (load // tiles_n)), k.let("column", columns * (load % tiles_n))
        with ring.produce(i) as slot, k.loop("r", rows) as r:
            picked = k.load_index("picked", idx(minimum(row + r, M - 1)), within=(0, K))
            k.copy("tma.load", src(column, picked), slot.at(columns * r), slot.full)
    with k.role("consumer", 1), k.elect():
        with k.loop("i", trips) as i:
            store = k.let("store", block + blocks * i)
            with ring.consume(i) as slot:
                k.copy("tma.store", slot.at(), dst(columns * (store % tiles_n), rows * (store // tiles_n)))
                k.commit("bulk")
                k.wait_group("bulk", 0, read=True)
        k.wait_group("bulk", 0)
    k.result("dst", lambda i, j: element("src", entry("idx", i), j))
    return k.kernel(reference=reference)


def reference(src: np.ndarray[Any, Any], idx: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": src[idx]}
