"""gemm: products of tensors by the number of their modes, as ``include/cute/algorithm/gemm.hpp`` dispatches them.

    >>> a, b, c = np.arange(6.0), np.arange(12.0), np.ones(8)
    >>> A, B, C = Tensor(a, Layout((2, 3))), Tensor(b, Layout((4, 3))), Tensor(c, Layout((2, 4)))
    >>> print(gemm(A, B, C), c[:4])
    gemm 3 -> 5 -> 4 -> 1, 24 of fma [41. 53. 47. 62.]

B is (N,K), not (K,N): C(m,n) += A(m,k) B(n,k). V, a mode of independent elements, is leftmost; K, the mode of the
sum, is rightmost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..atoms import Atom, MemorySpace, MmaAtom, atom
from ..atoms.functions import map_function
from ..dtype import DType
from ..errors import LayoutError
from ..int_tuple import rank, size
from ..layout import Layout  # noqa: F401  # for the examples
from ..tensor import Tensor
from .elementwise import Array, memory, places, store, values
from .pointers import dtype_of, expect_space

GLOBAL, SHARED, REGISTER = MemorySpace

# ranks of A, B, C: the case, and the names of the modes of each
CASES = {
    (1, 1, 1): (1, ("V", "V", "V")),
    (1, 1, 2): (2, ("M", "N", "MN")),
    (2, 2, 2): (3, ("MK", "NK", "MN")),
    (2, 2, 3): (4, ("VM", "VN", "VMN")),
    (3, 3, 3): (5, ("VMK", "VNK", "VMN")),
}
NEXT = {2: 3, 3: 5, 5: 4, 4: 1}  # the case that a case calls, in CUTLASS 3 and 4 (gemm.hpp, "Dispatch [2]" .. "[5]")
DOCUMENTED = {2: 4, 3: 2, 5: 4, 4: 1}  # in media/docs/cpp/cute/04_algorithms.md


def chain(case: int, following: dict[int, int] = NEXT) -> tuple[int, ...]:
    """The cases that a call goes through, down to the instruction.

    >>> chain(2), chain(2, DOCUMENTED)
    ((2, 3, 5, 4, 1), (2, 4, 1))
    """
    out = [case]
    while out[-1] in following:
        out.append(following[out[-1]])
    return tuple(out)


@dataclass(frozen=True)
class Dispatched:
    """The cases that a call of gemm went through, and how often it came to the instruction."""

    cases: tuple[int, ...]
    instruction: str
    calls: int

    def __str__(self) -> str:
        return f"gemm {' -> '.join(map(str, self.cases))}, {self.calls} of {self.instruction}"


def gemm(*args: Any, mode: str = "exact") -> Dispatched:
    """``gemm(A, B, C)`` and ``gemm(D, A, B, C)``, both with an atom in front too: D = C + A B^T, case by case.

    >>> v = np.array([1.0, 2.0])
    >>> print(gemm(Tensor(v, Layout(2)), Tensor(v, Layout(2)), Tensor(out := np.zeros(2), Layout(2))), out)
    gemm 1, 2 of fma [1. 4.]

    | A | B | C | meaning |
    | (V) | (V) | (V) | product of elements |
    | (M) | (N) | (M,N) | outer product |
    | (M,K) | (N,K) | (M,N) | product of matrices |
    | (V,M) | (V,N) | (V,M,N) | outer products, one for each v |
    | (V,M,K) | (V,N,K) | (V,M,N) | products of matrices, one for each v |

    Where D is another tensor than C, CuTe adds each k to the original C, so the last k alone remains; that is what
    ``mode="cute"`` gives. Raises LayoutError for other ranks, for modes of different sizes, for A or B in global memory
    and C or D elsewhere than in registers, and for an atom that does not fit.
    """
    row, (d, a, b, c) = _operands(args)
    case, names = case_of(a, b, c)
    if d.layout != c.layout and [d.layout[i].size() for i in range(rank(d.layout))] != _extents(c):
        raise LayoutError(f"expected D of the shape of C, got {d.layout} and {c.layout}")
    expect_modes(names, (a, b, c))
    for x, what in ((a, "A"), (b, "B")):
        expect_space(x, (SHARED, REGISTER) if case in (3, 5) else (REGISTER,), f"{what} of gemm")
    for x, what in ((c, "C"), (d, "D")):
        expect_space(x, (REGISTER,), f"{what} of gemm")
    of_a, of_b, of_c = (_array(x, n) for x, n in zip((a, b, c), names, strict=True))
    if row is None:
        out, calls = _fma(of_a, of_b, of_c, dtype_of(d), mode == "cute" and not _same(d, c))
        store(d, out.reshape(-1, order="F"), places(d))
        return Dispatched(chain(case), "fma", calls)
    out, calls = _by_atom(row, case, of_a, of_b, of_c, (dtype_of(a), dtype_of(b), dtype_of(c)))
    store(d, out, places(d))
    return Dispatched(chain(case), row.word, calls)


def _operands(args: tuple[Any, ...]) -> tuple[MmaAtom | None, tuple[Tensor, ...]]:
    """(the atom, (D, A, B, C))."""
    front, tensors = ((), args) if args and isinstance(args[0], Tensor) else (args[:1], args[1:])
    if len(tensors) not in (3, 4) or not all(isinstance(x, Tensor) for x in tensors):
        raise LayoutError(f"expected gemm([atom,] [D,] A, B, C) of tensors, got {len(args)} arguments")
    row = None if not front else front[0] if isinstance(front[0], Atom) else atom(front[0])
    if row is not None and not isinstance(row, MmaAtom):
        raise LayoutError(f"expected an atom of a matrix product, got {row.word}")
    return row, (tensors[2], *tensors) if len(tensors) == 3 else tensors


def _same(d: Tensor, c: Tensor) -> bool:
    """Whether two tensors have the same elements."""
    return memory(d)[0] is memory(c)[0] and np.array_equal(places(d), places(c))


def case_of(a: Tensor, b: Tensor, c: Tensor) -> tuple[int, tuple[str, str, str]]:
    """The case of gemm by the ranks of tensors, and the modes of each. Raises LayoutError for other ranks."""
    ranks = rank(a.layout), rank(b.layout), rank(c.layout)
    if ranks not in CASES:
        known = "; ".join(" x ".join(f"({','.join(n)})" for n in names) for _, names in CASES.values())
        raise LayoutError(f"expected tensors A x B x C of {known}, got ranks {ranks}")
    return CASES[ranks]


def _extents(x: Tensor) -> list[Any]:
    return [size(x.layout[i].shape) for i in range(rank(x.layout))] if rank(x.layout) > 1 else [x.size()]


def expect_modes(names: tuple[str, str, str], tensors: tuple[Tensor, Tensor, Tensor]) -> dict[str, Any]:
    """The extent of each named mode. Raises LayoutError for one with several; K is rightmost, V leftmost."""
    known: dict[str, tuple[Any, str]] = {}
    for what, letters, x in zip("ABC", names, tensors, strict=True):
        for letter, n in zip(letters, _extents(x), strict=True):
            if letter in known and known[letter][0] != n:
                other, first = known[letter]
                raise LayoutError(
                    f"expected {letter} of one extent, got {other} of {first} and {n} of {what} {x.layout} as "
                    f"({','.join(letters)}); V is the leftmost mode, K the rightmost, and B is (N,K)"
                )
            known.setdefault(letter, (n, what))
    return {letter: n for letter, (n, _) in known.items()}


def _array(x: Tensor, names: str) -> Array:
    """The elements as an array of modes (V,M,K), (V,N,K) or (V,M,N), missing ones of extent 1."""
    extents = dict(zip(names, _extents(x), strict=True))
    order = ("V", "M", "N") if "M" in names and "N" in names else ("V", "N" if "N" in names else "M", "K")
    return values(x).reshape([int(extents.get(n, 1)) for n in order], order="F")


def _fma(a: Array, b: Array, c: Array, kind: DType | None, cute: bool) -> tuple[Array, int]:
    """C + A B^T, one k after the other, each a*b + c rounded once; of f64 the product is rounded too."""
    start = c.astype(kind.numpy()) if kind is not None else c
    sums, calls = start, 0
    for k in range(a.shape[2]):
        x, y = (np.broadcast_to(v, c.shape) for v in (a[:, :, None, k], b[:, None, :, k]))
        sums = _fused(x, y, start if cute else sums, kind)
        calls += sums.size
    return sums, calls


def _fused(x: Array, y: Array, z: Array, kind: DType | None) -> Array:
    if kind is None or (kind.kind == "float" and kind.bits == 64):
        with np.errstate(all="ignore"):
            return np.asarray(x * y + z)
    sources = [(DType.of(v.dtype), v.reshape(-1)) for v in (x, y, z)]
    return map_function("fma").result(sources, kind, x.size).reshape(x.shape)


def _by_atom(
    row: MmaAtom, case: int, a: Array, b: Array, c: Array, kinds: tuple[DType | None, ...]
) -> tuple[Array, int]:
    """C + A B^T of matrices by an instruction, tile by tile. Raises LayoutError for what it does not multiply."""
    from ..semantics.matrix_sums import accumulated
    from ..semantics.packing import unpacked

    m, n, k = row.in_words
    if case != 3:
        raise LayoutError(f"expected matrices (M,K), (N,K), (M,N) for {row.word}, got case {case}")
    if kinds != row.held:
        raise LayoutError(
            f"expected A, B and C of {', '.join(map(str, row.held))} for {row.word}, got {', '.join(map(str, kinds))}"
        )
    (_, M, K), N = a.shape, b.shape[1]
    if M % m or N % n or K % k:
        raise LayoutError(f"expected M, N, K in whole tiles of {m}x{n}x{k} for {row.word}, got {M}x{N}x{K}")
    out = c[0].copy()
    for i in range(0, M, m):
        for j in range(0, N, n):
            for s in range(0, K, k):
                parts = (a[0, i : i + m, s : s + k], b[0, j : j + n, s : s + k])
                x, y = map(unpacked, parts, row.types) if row.packed > 1 else parts
                out[i : i + m, j : j + n] = accumulated(row, x, y, out[i : i + m, j : j + n])
    return out.reshape(-1, order="F"), (M // m) * (N // n) * (K // k)
