"""dst = alpha*x + beta*y for tensors of different layouts: each thread reads and writes by coordinates, as in copy_if.

    >>> from symlayout import dim, dims
    >>> M, N = dims("M N")
    >>> kernel = tensor_axpby(M, N, dim("ld", at_least=N))
    >>> print(*kernel.tensors[:3], sep="; ")
    global x: f32 (M,N):(ld,1); global y: f32 (M,N):(1,M); global dst: f32 (M,N):(N,1)

beta*y is rounded to the type of the tensors, then alpha*x is added and the sum is rounded once.
"""

from __future__ import annotations

from ..algorithms import Inside
from ..dtype import DType, DTypeLike
from ..expr import Symbol
from ..kernel import Kernel
from ..kernel.specification import Value, applied, element, scalar
from ..layout import Layout
from ..tensor import make_identity_tensor
from .axpby import bound, reference
from .copy_if import LEAST_COLUMNS, ROWS, SIZES, dealt, grid

__all__ = ["SIZES", "bound", "reference", "tensor_axpby"]


def tensor_axpby(M: int | Symbol, N: int | Symbol, ld: int | Symbol, *, dtype: DTypeLike = "f32") -> Kernel:
    """dst = alpha*x + beta*y for (M,N): x with rows *ld* apart, y column-major, dst row-major."""
    kind = DType.of(dtype)
    tile = ROWS, LEAST_COLUMNS
    k = grid("tensor_axpby", M, N, ld, tile)
    alpha, beta = k.parameter("alpha", kind), k.parameter("beta", kind)
    layouts = {"x": Layout((M, N), (ld, 1)), "y": Layout((M, N), (1, M)), "dst": Layout((M, N), (N, 1))}
    x, y, dst = (k.tensor(k.global_tensor(name, kind, layout)()) for name, layout in layouts.items())
    load, store = (f"{way}.global.{kind.bytes}" for way in ("ld", "st"))
    part = dealt(k, load, kind, tile)
    inside = Inside(part(make_identity_tensor((M, N))), (M, N))
    held = Layout(part(x).layout.shape)
    count = int(held.size())
    of_x, of_y = (k.registers(name, kind, count) for name in ("of_x", "of_y"))
    for source, registers in ((x, of_x), (y, of_y)):
        k.fill(registers(), 0, count)
        k.copy(load, part(source), k.tensor(registers(), held), when=inside)
    k.map("mul", (beta, of_y()), of_y(), count)
    k.map("fma", (alpha, of_x(), of_y()), of_y(), count)
    k.copy(store, k.tensor(of_y(), held), part(dst), when=inside)
    k.result("dst", lambda m, n: _sum(scalar(alpha), element("x", m, n), scalar(beta), element("y", m, n)))
    return k.kernel(reference=reference)


def _sum(alpha: Value, x: Value, beta: Value, y: Value) -> Value:
    return applied("fma", alpha, x, applied("mul", beta, y))
