"""A predicated copy of tensors, as CuTe's copy_if: threads share a tile, and each element has its coordinate.

>>> from symlayout import dim, dims
>>> M, N = dims("M N")
>>> for line in copy_if(M, N, dim("ld", at_least=N)).text().splitlines()[-9:-4]:
...     print(line.strip())
for copy_0 < 4, unrolled:
for copy_1 < 2, unrolled:
if M > 8*copy_0 + m + (thread//32) and N > (thread % 32) + 32*copy_1 + n:
ld.global.4 src[8*copy_0*ld + ld*m + ld*(thread//32) + 32*copy_1 + n + thread - 32*(thread//32)] -> x[copy_0 + 4*copy_1]
for copy_0 < 4, unrolled:

The predicate is the tensor of coordinates, dealt as the data: an element is moved where its coordinate is inside. Where
rows are known to be of whole vectors, and as far apart, a vector is inside or outside as one, and is moved at once:

>>> N = dim("N", multiple_of=4)
>>> for line in copy_if(M, N, dim("ld", at_least=N, multiple_of=4)).text().splitlines()[-7:-4]:
...     print(line.strip())
for copy_0 < 4, unrolled:
if M > 8*copy_0 + m + (thread//32) and N >= 4*(thread % 32) + n + 4:
ld.global.16 src[8*copy_0*ld + ld*m + ld*(thread//32) + n + 4*thread - 128*(thread//32)] -> x[4*copy_0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..algorithms import Inside, choose_copy, make_copy_atom, make_gmem_ptr, make_tiled_copy
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
THREADS = Layout((8, 32), (32, 1))  # by row and column
ROWS = 32  # of a tile
LEAST_COLUMNS = 2 * 32  # so that a thread has 8 elements in flight where it moves one at a time


def copy_if(M: int | Symbol, N: int | Symbol, ld: int | Symbol, *, dtype: DTypeLike = "f32") -> Kernel:
    """dst = src for (M,N) tensors of any sizes: src with rows *ld* apart, dst compact.

    Vectors are as wide as facts about N and *ld* allow, at most 16 bytes (``choose_copy``).
    """
    kind = DType.of(dtype)
    elements = together(M, N, ld, kind)
    tile = ROWS, max(32 * elements, LEAST_COLUMNS)
    k = grid("copy_if", M, N, ld, tile)
    src = k.tensor(k.global_tensor("src", kind, Layout((M, N), (ld, 1)))())
    dst = k.tensor(k.global_tensor("dst", kind, Layout((M, N), (N, 1)))())
    load, store = (f"{way}.global.{elements * kind.bytes}" for way in ("ld", "st"))
    part = dealt(k, load, kind, tile)
    inside = Inside(part(make_identity_tensor((M, N))), (M, N))
    layout = Layout(part(src).layout.shape)
    x = k.tensor(k.registers("x", kind, int(layout.size()))(), layout)
    k.copy(load, part(src), x, when=inside)
    k.copy(store, x, part(dst), when=inside)
    k.result("dst", lambda m, n: element("src", m, n))
    return k.kernel(reference=reference)


def together(M: int | Symbol, N: int | Symbol, ld: int | Symbol, kind: DType) -> int:
    """The elements of a row that may be moved at once in both tensors, for all sizes."""
    src, dst = (Tensor(make_gmem_ptr(dtype=kind), Layout((N, M), (1, apart))) for apart in (ld, N))
    return choose_copy(src, dst).elements


def grid(name: str, M: int | Symbol, N: int | Symbol, ld: int | Symbol, tile: tuple[int, int]) -> Builder:
    """A CTA for each tile; neighbours in a row run together, since their rows are neighbours in memory."""
    sizes = dict.fromkeys(x for x in (M, N, ld) if not isinstance(x, int))
    return Builder(name, *sizes, grid=(ceil_div(N, tile[1]), ceil_div(M, tile[0])), threads=int(THREADS.size()))


def dealt(k: Builder, load: str, kind: DType, tile: tuple[int, int]) -> Callable[[Tensor], Tensor]:
    """The elements of a tensor that a thread of the kernel moves: those of its CTA's tile, dealt by the atom *load*."""
    atom = make_copy_atom(load, kind)
    mine = make_tiled_copy(atom, THREADS, Layout((1, atom.values))).get_slice(k.thread)
    across, down = k.block
    corner = k.let("m", tile[0] * down), k.let("n", tile[1] * across)
    return lambda x: mine.partition_S(local_tile(domain_offset(corner, x), tile, (0, 0)))


def reference(src: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """The contents of dst after the kernel."""
    return {"dst": src.copy()}
