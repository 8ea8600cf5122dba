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
from ..layout import Layout
from ..tensor import make_identity_tensor
from .axpby import REFERENCES, add, bound, reference, stated, terms
from .copy_if import LEAST_COLUMNS, ROWS, SIZES, dealt, grid

__all__ = ["SIZES", "bound", "reference", "tensor_axpby"]


def tensor_axpby(
    M: int | Symbol, N: int | Symbol, ld: int | Symbol, *, dtype: DTypeLike = "f32", zero: str = ""
) -> Kernel:
    """dst = alpha*x + beta*y for (M,N): x with rows *ld* apart, y column-major, dst row-major.

    *zero* is ``alpha`` or ``beta`` where that is 0: its tensor is no operand then. Raises LayoutError for another word.
    """
    kind, tile = DType.of(dtype), (ROWS, LEAST_COLUMNS)
    rows = ld if zero != "alpha" else N  # of x, which alone has ld
    k = grid("tensor_axpby", M, N, rows, tile)
    factors = [k.parameter(name, kind) for name, _ in terms(zero)]
    layouts = {"x": Layout((M, N), (ld, 1)), "y": Layout((M, N), (1, M)), "dst": Layout((M, N), (N, 1))}
    names = [name for _, name in terms(zero)]
    *sources, dst = (k.tensor(k.global_tensor(name, kind, layouts[name])()) for name in (*names, "dst"))
    load, store = (f"{way}.global.{kind.bytes}" for way in ("ld", "st"))
    part = dealt(k, load, kind, tile)
    inside = Inside(part(make_identity_tensor((M, N))), (M, N))
    layout = Layout(part(dst).layout.shape)
    count = int(layout.size())
    held = [k.registers(f"of_{name}", kind, count) for name in names]
    for source, registers in zip(sources, held, strict=True):
        k.fill(registers(), 0, count)
        k.copy(load, part(source), k.tensor(registers(), layout), when=inside)
    add(k, factors, held, count)
    k.copy(store, k.tensor(held[-1](), layout), part(dst), when=inside)
    k.result("dst", lambda m, n: stated(zero, m, n))
    return k.kernel(reference=REFERENCES[zero])
