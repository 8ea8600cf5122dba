"""A predicated copy of tensors, as CuTe's copy_if: threads share a tile, and each element has its coordinate.

>>> from symlayout import dim, dims
>>> M, N = dims("M N")
>>> for line in copy_if(M, N, dim("ld", at_least=N)).text().splitlines()[-9:-4]:
...     print(line.strip())
for copy_0 < 4, unrolled:
for copy_1 < 2, unrolled:
if M > 8*copy_0 + m + (thread//32) and N + 32*(thread//32) > 32*copy_1 + n + thread:
ld.global.4 src[8*copy_0*ld + ld*m + ld*(thread//32) + 32*copy_1 + n + thread - 32*(thread//32)] -> x[copy_0 + 4*copy_1]
for copy_0 < 4, unrolled:

The predicate is the tensor of coordinates, dealt as the data: an element is moved where its coordinate is inside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..algorithms import Inside, make_copy_atom, make_tiled_copy
from ..dtype import DType, DTypeLike
from ..expr import Symbol
from ..int_tuple import ceil_div
from ..kernel import Builder, Kernel
from ..kernel.specification import element
from ..layout import Layout
from ..tensor import Tensor, domain_offset, local_tile, make_identity_tensor

SIZES = (
    *({"M": 1, "N": 1, "ld": 1}, {"M": 32, "N": 64, "ld": 64}, {"M": 33, "N": 65, "ld": 70}),
    *({"M": 31, "N": 63, "ld": 63}, {"M": 7, "N": 200, "ld": 201}, {"M": 100, "N": 3, "ld": 3}),
    *({"M": 64, "N": 128, "ld": 256}, {"M": 1, "N": 129, "ld": 160}, {"M": 65, "N": 1, "ld": 2}),
    {"M": 50, "N": 70, "ld": 71},
)
TILE = (32, 64)
THREADS = Layout((8, 32), (32, 1))  # by row and column


def copy_if(M: int | Symbol, N: int | Symbol, ld: int | Symbol, *, dtype: DTypeLike = "f32") -> Kernel:
    """dst = src for (M,N) tensors of any sizes: src with rows *ld* apart, dst compact."""
    kind = DType.of(dtype)
    k = Builder(
        "copy_if",
        *(x for x in (M, N, ld) if not isinstance(x, int)),
        grid=(ceil_div(M, TILE[0]), ceil_div(N, TILE[1])),
        threads=int(THREADS.size()),
    )
    src = k.tensor(k.global_tensor("src", kind, Layout((M, N), (ld, 1)))())
    dst = k.tensor(k.global_tensor("dst", kind, Layout((M, N), (N, 1)))())
    load, store = (f"{way}.global.{kind.bytes}" for way in ("ld", "st"))
    part = dealt(k, load, kind)
    inside = Inside(part(make_identity_tensor((M, N))), (M, N))
    layout = Layout(part(src).layout.shape)
    x = k.tensor(k.registers("x", kind, int(layout.size()))(), layout)
    k.copy(load, part(src), x, when=inside)
    k.copy(store, x, part(dst), when=inside)
    k.result("dst", lambda m, n: element("src", m, n))
    return k.kernel(reference=reference)


def dealt(k: Builder, load: str, kind: DType) -> Callable[[Tensor], Tensor]:
    """The elements of a tensor that a thread of the kernel moves: those of its CTA's tile, dealt by the atom *load*."""
    mine = make_tiled_copy(make_copy_atom(load, kind), THREADS).get_slice(k.thread)
    corner = tuple(k.let(name, n * block) for name, n, block in zip("mn", TILE, k.block, strict=True))
    return lambda x: mine.partition_S(local_tile(domain_offset(corner, x), TILE, (0, 0)))


def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": src.copy()}
