"""What threads compute in registers, as operations of a kernel: products by fma, axpby, fill and clear of tensors.

>>> from symlayout.kernel import Builder
>>> k = Builder("sums", grid=(1,), threads=32)
>>> shapes = {"a": 2, "b": 3, "c": (2, 3)}
>>> a, b, c = (k.tensor(k.registers(x, "f32", Layout(s).size())(), Layout(s)) for x, s in shapes.items())
>>> _ = k.clear(c)
>>> print(k.gemm(a, b, c))
gemm 2 -> 3 -> 5 -> 4 -> 1, 6 of fma
>>> print(*k.kernel().text().splitlines()[-4:], sep=chr(10))
  fill c x6 with 0
  for gemm_M < 2, unrolled:
    for gemm_N < 3, unrolled:
      fma a[gemm_M], b[gemm_N], c[gemm_M + 2*gemm_N] -> c[gemm_M + 2*gemm_N] x1
"""

from __future__ import annotations

import contextlib
import math
from typing import Any

from ..atoms import MemorySpace
from ..errors import LayoutError
from ..int_tuple import rank, size
from ..layout import Layout
from ..ops import Fill, Map, Param, Ref
from ..tensor import Tensor
from .lowering import Inside, Target, copied, fresh, place
from .pointers import Pointer, dtype_of, expect_space, space_of
from .products import Dispatched, case_of, chain, expect_modes
from .results import Issued

GLOBAL, SHARED, REGISTER = MemorySpace


def multiplied_by_fma(k: Target, a: Tensor, b: Tensor, c: Tensor) -> Dispatched:
    """Append C += A B^T by fused multiply-adds of each thread, in the cases of ``gemm``; C is in registers.

    A and B of matrices may lie in shared memory: each K is copied to registers before it is multiplied, as
    ``gemm.hpp`` does. Raises LayoutError for other ranks, modes, memory spaces and types.
    """
    case, names = case_of(a, b, c)
    extents = {n: int(size(x)) for n, x in expect_modes(names, (a, b, c)).items()}
    kind = dtype_of(c)
    for x, what in ((a, "A"), (b, "B"), (c, "C")):
        matrix = case in (3, 5) and what != "C"
        expect_space(x, (SHARED, REGISTER) if matrix else (REGISTER,), f"{what} of gemm")
        if dtype_of(x) != kind:
            raise LayoutError(f"expected A, B and C of one type for fma, got {what} of {dtype_of(x)} and C of {kind}")
    held = [
        None if space_of(x) is REGISTER else fragment(k, f"{what}_of_k", x(*[None] * (rank(x.layout) - 1), 0))
        for x, what in ((a, "a"), (b, "b"))
    ]
    with contextlib.ExitStack() as loops:
        at: dict[str, Any] = dict.fromkeys("VMNK", 0)
        if "K" in extents:
            at["K"] = loops.enter_context(k.loop("gemm_K", extents["K"], "full"))
        operands = [_slice(k, x, names[j], held[j], at) for j, x in enumerate((a, b))]
        for n in "VMN":
            if extents.get(n, 1) > 1:
                at[n] = loops.enter_context(k.loop(f"gemm_{n}", extents[n], "full"))
        u, v, w = (place(t, _coordinate(letters, at)) for t, letters in (*operands, (c, names[2])))
        k.add(Map("fma", (u, v, w), w))
    return Dispatched(chain(case), "fma", math.prod(extents.values()))


def _slice(k: Target, x: Tensor, letters: str, held: Tensor | None, at: dict[str, Any]) -> tuple[Tensor, str]:
    """An operand and its modes: where it lies, or what of it has this K, in registers."""
    if held is None:
        return x, letters
    copied(k, None, x(*[None] * (len(letters) - 1), at["K"]), held)
    return held, letters[:-1]


def _coordinate(letters: str, at: dict[str, Any]) -> Any:
    return tuple(at[n] for n in letters) if len(letters) > 1 else at[letters]


def fragment(k: Target, name: str, like: Tensor) -> Tensor:
    """Registers of each thread for the elements of a tensor, in the order of its linear index."""
    kind, shape = dtype_of(like), like.layout.shape
    if kind is None:
        raise LayoutError(f"expected a tensor of the kernel, as of Builder.tensor, got {like}")
    place_of = k.registers(fresh(k, name), kind, int(size(shape)))()
    return Tensor(Pointer(REGISTER, kind, place_of.tensor), Layout(shape))


def updated(k: Target, alpha: Any, x: Tensor, beta: Any, y: Tensor, when: Inside | None = None) -> Issued:
    """Append ``y(i) = alpha*x(i) + beta*y(i)``: x in registers, y there or in memory, at each i or where *when* holds.

    Factors are scalar parameters, 0 or 1. What has factor 0 is not read, as BLAS defines it. beta*y is rounded, then
    alpha*x is added and the sum is rounded once. Raises LayoutError for other numbers, sizes and types.
    """
    kind, n = dtype_of(y), int(y.size())
    expect_space(x, (REGISTER,), "x of axpby")
    if int(x.size()) != n or dtype_of(x) != kind:
        raise LayoutError(f"expected x and y of one size and type for axpby, got {x} and {y}")
    for name, factor in (("alpha", alpha), ("beta", beta)):
        if not isinstance(factor, Param) and factor not in (0, 1):
            raise LayoutError(f"expected a scalar parameter, 0 or 1 as {name} of axpby, got {factor!r}")
    held = y if space_of(y) is REGISTER else fragment(k, "axpby_y", y)
    if held is not y and not _is(beta, 0):
        if when is not None:  # what is not read is no number
            filled(k, held, 0)
        copied(k, None, y, held, when)
    for source, to, count in _runs(x, held, n):
        _combined(k, alpha, source, beta, to, count)
    return Issued("axpby", None) if held is y else Issued("axpby", copied(k, None, held, y, when).choice)


def _is(factor: Any, number: int) -> bool:
    return not isinstance(factor, Param) and factor == number


def _runs(x: Tensor, y: Tensor, n: int) -> list[tuple[Ref, Ref, int]]:
    """The places of both, all at once where they follow one another, else one by one."""
    if all(list(map(t.layout, range(n))) == list(range(n)) for t in (x, y)):
        return [(place(x, 0), place(y, 0), n)]
    return [(place(x, i), place(y, i), 1) for i in range(n)]


def _combined(k: Target, alpha: Any, x: Ref, beta: Any, y: Ref, count: int) -> None:
    """alpha*x + beta*y in the registers of y."""
    if _is(beta, 0):
        if _is(alpha, 0):
            k.add(Fill(y, 0, count))
        else:
            k.add(Map("convert", (x,), y, count) if _is(alpha, 1) else Map("mul", (alpha, x), y, count))
        return
    if isinstance(beta, Param):
        k.add(Map("mul", (beta, y), y, count))
    if not _is(alpha, 0):
        k.add(Map("add", (x, y), y, count) if _is(alpha, 1) else Map("fma", (alpha, x, y), y, count))


def filled(k: Target, x: Tensor, value: Any, when: Inside | None = None) -> Issued:
    """Append ``x(i) = value`` for each i: registers at once, memory from registers.

    Raises LayoutError for a tensor that is none of the kernel.
    """
    if space_of(x) is not REGISTER:
        held = fragment(k, "filled", x)
        filled(k, held, value)
        return Issued("fill", copied(k, None, held, x, when).choice)
    n = int(x.size())
    for _, to, count in _runs(x, x, n):
        k.add(Fill(to, value, count))
    return Issued("fill", None)
