"""dst += the sum of S parts, each tile of each part by some CTA: TMA loads in, tensor reductions out, as in split-K.

    >>> from symlayout import dims
    >>> for line in tma_reduce_add(*dims("S M N"), tile=(16, 64), slots=4).text().splitlines()[-11:-5]:
    ...     print(line.strip())
    role consumer, warp 1:
    elect one:
    for i < ceil((S*ceil(M/16)*ceil(N/64) + 131*block_x)/132) - block_x:
    let update = block_x + 132*i
    wait full[i % 4] parity (i//4) % 2
    tma.reduce.add ring[1024*(i % 4)] -> dst_map(64*(update % ceil(N/64)),16*((update//ceil(N/64)) % ceil(M/16)))

The parts of one element are added in any order, so sums of floats may differ in their last bits from run to run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..dtype import DType, DTypeLike
from ..errors import LayoutError
from ..expr import Symbol, multiple_of
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.ring import make_ring
from ..kernel.specification import applied, element, sum_type, total
from ..layout import Layout
from ..tma import TensorMap

SIZES = (
    *({"S": 1, "M": 16, "N": 64}, {"S": 4, "M": 16, "N": 64}, {"S": 3, "M": 1, "N": 4}, {"S": 2, "M": 100, "N": 132}),
    *({"S": 5, "M": 17, "N": 68}, {"S": 7, "M": 1, "N": 256}, {"S": 2, "M": 33, "N": 4}, {"S": 16, "M": 15, "N": 60}),
    *({"S": 3, "M": 48, "N": 196}, {"S": 9, "M": 20, "N": 72}),
)
UNIT_BYTES = 16
OF_PARTS: Mapping[str, Callable[..., Any]] = {"add": np.sum, "min": np.min, "max": np.max}
JOINED: Mapping[str, Callable[..., Any]] = {"add": np.add, "min": np.minimum, "max": np.maximum}


def tma_reduce_add(
    S: int | Symbol,
    M: int | Symbol,
    N: int | Symbol,
    *,
    dtype: DTypeLike = "f32",
    function: str = "add",
    tile: tuple[int, int] = (16, 256),
    slots: int = 4,
    blocks: int | Symbol = 132,
) -> Kernel:
    """dst[m, n] += sum over s of src[s, m, n], by *blocks* persistent CTAs. Needs N of whole 16-byte units.

    With another function than add, min or max in its place. Raises LayoutError for any other.
    """
    if function not in OF_PARTS:
        raise LayoutError(f"expected a function of {', '.join(OF_PARTS)}, got {function!r}")
    rows, columns = tile
    kind = DType.of(dtype)
    tiles_m, tiles_n = ceil_div(M, rows), ceil_div(N, columns)

    k = Builder(
        f"tma_reduce_{function}", *(x for x in (S, M, N, blocks) if not isinstance(x, int)), grid=(blocks,), threads=64
    )
    parts = k.global_tensor("src", kind, Layout((S, M, N), (M * N, N, 1)))
    whole = k.global_tensor("dst", kind, Layout((M, N), (N, 1)))
    src = k.tensor_map("src_map", parts(), TensorMap.over(Layout((N, M, S), (1, N, M * N)), kind, (columns, rows, 1)))
    dst = k.tensor_map("dst_map", whole(), TensorMap.over(Layout((N, M), (1, N)), kind, (columns, rows)))
    ring = make_ring(k, "ring", kind, Layout((columns, rows)), slots=slots, consumers=1)
    (block,) = k.block
    trips = (S * tiles_m * tiles_n - block + blocks - 1) // blocks

    with k.role("producer", 1), k.elect(), k.loop("i", trips) as i:
        at = k.let("load", block + blocks * i)
        with ring.produce(i) as slot:
            box = src(columns * (at % tiles_n), rows * (at // tiles_n % tiles_m), at // (tiles_m * tiles_n))
            k.copy("tma.load", box, slot.at(), slot.full)
    with k.role("consumer", 1), k.elect():
        with k.loop("i", trips) as i:
            at = k.let("update", block + blocks * i)
            with ring.consume(i) as slot:
                box = dst(columns * (at % tiles_n), rows * (at // tiles_n % tiles_m))
                k.copy(f"tma.reduce.{function}", slot.at(), box)
                k.commit("bulk")
                k.wait_group("bulk", 0, read=True)
        k.wait_group("bulk", 0)
    kept = kind.name if sum_type(kind) != kind else ""  # each addition is rounded to the type of the tensors
    k.result(
        "dst",
        lambda m, n: applied(
            function, element("dst", m, n), total(S, lambda s: element("src", s, m, n), function, kept)
        ),
    )
    units = [] if isinstance(N, int) else [multiple_of(N, UNIT_BYTES // kind.bytes)]
    return k.kernel(*units, reference=lambda src, dst: reference(src, dst, function))


def reference(
    src: np.ndarray[Any, Any], dst: np.ndarray[Any, Any], function: str = "add"
) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel where the sums are exact, in any order."""
    parts = OF_PARTS[function](src, axis=0, dtype=src.dtype) if function == "add" else OF_PARTS[function](src, axis=0)
    return {"dst": JOINED[function](dst, parts).astype(dst.dtype)}
