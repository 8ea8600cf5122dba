"""copy, copy_if, fill, clear and their kin on tensors over NumPy arrays, as ``include/cute/algorithm`` defines them.

    >>> a, b = np.arange(1.0, 7.0), np.zeros(6)
    >>> print(copy(Tensor(a, Layout((2, 3))), Tensor(b, Layout((2, 3), (3, 1)))))
    copy, over at once
    >>> b.tolist()
    [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]

Tensors are visited by their linear index, so they need equal sizes, not equal shapes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..atoms.atom import Atom
from ..dtype import DType
from ..errors import LayoutError
from ..int_tuple import rank
from ..layout import Layout  # noqa: F401  # of the examples
from ..tensor import Tensor
from .dispatch import Choice, choose_copy
from .elementwise import Array, converted, expect_no_race, expect_sizes, memory, moved, places, store, values
from .pointers import dtype_of, expect_kind, make_gmem_ptr, make_smem_ptr, space_of  # noqa: F401  # two for examples
from .results import Issued


def copy(*args: Any) -> Issued:
    """``copy(src, dst)`` and ``copy(atom, src, dst)``: ``dst(i) = src(i)`` for each i, in the type of the destination.

    >>> x, y = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    >>> src, dst = Tensor(make_gmem_ptr(x), Layout(8)), Tensor(make_smem_ptr(y), Layout(8))
    >>> print(copy(src, dst))
    copy by cp.async.16, over after: cp.async group, then CTA barrier
    >>> print(copy("cp.async.8", src, dst), y.sum())
    copy by cp.async.8, over after: cp.async group, then CTA barrier 28.0

    The instruction is chosen where both memory spaces are known. Raises LayoutError for sizes that differ, for a
    destination at which threads would race, and for an atom that does not fit, with the reason.
    """
    return _copied("copy", _parts(args, 2, "copy([atom,] src, dst)"), None)


def copy_if(*args: Any) -> Issued:
    """``copy_if([atom,] pred, src, dst)``: ``dst(i) = src(i)`` for each i at which ``pred(i)`` is true.

    >>> x, y = np.arange(4.0), np.full(4, -1.0)
    >>> print(copy_if(Tensor(np.array([1, 0, 2, 0]), Layout(4)), Tensor(x, Layout(4)), Tensor(y, Layout(4))))
    copy_if, over at once
    >>> y.tolist()
    [0.0, -1.0, 2.0, -1.0]

    A predicate is a tensor of the same size, with strides of 0 along the modes for which it decides once, or a function
    of the linear index. With an atom, a predicate of one mode less decides for whole vectors.
    """
    word, pred, src, dst = _parts(args, 3, "copy_if([atom,] pred, src, dst)")
    return _copied("copy_if", (word, src, dst), pred)


def _parts(args: tuple[Any, ...], count: int, call: str) -> tuple[Any, ...]:
    """(the atom or None, the others). Raises LayoutError for another count, and where the last two are no tensors."""
    if len(args) not in (count, count + 1) or not all(isinstance(x, Tensor) for x in args[-2:]):
        raise LayoutError(f"expected {call} of tensors, got {len(args)} arguments")
    return args if len(args) > count else (None, *args)


def _copied(what: str, args: tuple[str | Atom | None, Tensor, Tensor], pred: Any) -> Issued:
    word, src, dst = args
    expect_sizes(src, dst, what=what)
    expect_no_race(src, dst, what)
    known = space_of(src) is not None and space_of(dst) is not None
    same = dtype_of(src) == dtype_of(dst)
    choice: Choice | None = None
    if word is not None or (known and same):
        choice = choose_copy(src, dst, word)
    moved(src, dst, None if pred is None else kept(pred, src, word is not None))
    return Issued(what, choice)


def kept(pred: Any, like: Tensor, by_vector: bool = False) -> Array:
    """Where a predicate is true, by the linear index of *like*. Raises LayoutError for one of another size."""
    n = int(like.size())
    if callable(pred) and not isinstance(pred, Tensor):
        return np.array([bool(pred(i)) for i in range(n)])
    found: Array = values(pred).astype(bool)
    if by_vector and rank(pred.layout) == rank(like.layout) - 1:
        found = np.repeat(found, int(like.layout[0].size()))
    if len(found) != n:
        raise LayoutError(f"expected a predicate of {n} elements for {like.layout}, got {pred.layout}")
    return found


NUMBER = (int, float, complex, np.generic)


def fill(x: Tensor, value: Any) -> Issued:
    """``x(i) = value`` for each i, rounded to the type of the tensor.

    >>> a = np.zeros(6, np.int32)
    >>> print(fill(Tensor(a, Layout(3, 2)), 7), a)
    fill, over at once [7 0 7 0 7 0]
    """
    array, _ = memory(x)
    expect_kind(value, NUMBER, "a number to fill with")
    store(x, converted(np.array([value]), _type_of(value, x), dtype_of(x)).astype(array.dtype))
    return Issued("fill", None)


def _type_of(value: Any, x: Tensor) -> DType | None:
    if isinstance(value, np.generic):
        return DType.of(value.dtype)
    return DType.of("i64") if isinstance(value, int) and not isinstance(value, bool) else DType.of("f64")


def clear(x: Tensor) -> Issued:
    """``fill(x, 0)``: the elements become zeros of their type, whatever they were.

    >>> a = np.array([1.0, np.nan])
    >>> print(clear(Tensor(a, Layout(2))), a)
    clear, over at once [0. 0.]
    """
    array, _ = memory(x)
    store(x, np.zeros(1, array.dtype))
    return Issued("clear", None)


def for_each(x: Tensor, f: Callable[[Any], object]) -> None:
    """Call ``f(x(i))`` for each i, in order.

    >>> for_each(Tensor(np.arange(6), Layout((2, 3), (3, 1))), lambda e: print(e, end=" "))
    0 3 1 4 2 5
    """
    if not callable(f):
        raise LayoutError(f"expected a function of an element, got {f!r}")
    for e in values(x):
        f(e)


def transform(*args: Any) -> Issued:
    """``transform(x, f)``, ``transform(a, out, f)`` and ``transform(a, b, out, f)``: ``out(i) = f(a(i), b(i))``.

    >>> a = np.arange(4.0)
    >>> print(transform(Tensor(a, Layout(4)), lambda x: x * x), a)
    transform, over at once [0. 1. 4. 9.]

    Raises LayoutError for other numbers of tensors and for sizes that differ.
    """
    *tensors, f = args
    if not 1 <= len(tensors) <= 3 or not callable(f) or not all(isinstance(x, Tensor) for x in tensors):
        raise LayoutError(f"expected one to three tensors and a function, got {len(tensors)} and {f!r}")
    expect_sizes(*tensors, what="transform")
    *sources, out = tensors if len(tensors) > 1 else (tensors[0], tensors[0])
    found = np.array([f(*row) for row in zip(*map(values, sources), strict=True)])
    if found.ndim != 1 or found.dtype == object:
        raise LayoutError(f"expected a function that gives a number for each element, got {found.reshape(-1)[0]!r}")
    store(out, found.astype(memory(out)[0].dtype))
    return Issued("transform", None)


def reduce(x: Tensor, init: Any, op: Callable[[Any, Any], Any] = lambda a, b: a + b) -> Any:
    """``op(.. op(op(init, x(0)), x(1)) .., x(n - 1))``, the sum by default.

    >>> print(reduce(Tensor(np.arange(6.0), Layout((2, 3))), 10.0))
    25.0
    >>> print(reduce(Tensor(np.arange(6.0), Layout((2, 3))), 0.0, max))
    5.0
    """
    expect_kind(init, NUMBER, "a number to begin with")
    out = init
    for e in values(x):
        out = op(out, e)
    return out


def prefetch(x: Tensor) -> Issued:
    """A hint that the elements of a tensor in global memory will be read; it changes no value.

    Raises LayoutError for a tensor in another memory space.

    >>> print(prefetch(Tensor(make_gmem_ptr(dtype="f32"), Layout(128))))
    prefetch, over at once
    """
    space = space_of(x)
    if space is not None and space != "global":
        raise LayoutError(f"expected a tensor in global memory to prefetch, got {x}")
    return Issued("prefetch", None)


def cooperative_copy(threads: int, thread: int | None, src: Tensor, dst: Tensor, max_bits: int = 128) -> Issued:
    """The part of *thread* in a copy by so many threads: every *threads*-th vector of the destination's order.

    >>> x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    >>> print(cooperative_copy(4, 1, Tensor(x, Layout(64)), Tensor(y, Layout(64))), np.flatnonzero(y)[:6])
    cooperative_copy, over after: CTA barrier [ 4  5  6  7 20 21]

    Each vector has at most *max_bits* (``cooperative_copy.hpp``); without a thread all parts are copied. Raises
    LayoutError for a thread that there is not, and for sizes that differ.
    """
    if thread is not None and not 0 <= thread < threads:
        raise LayoutError(f"expected a thread of 0 .. {threads - 1}, got {thread}")
    n = expect_sizes(src, dst, what="cooperative_copy")
    order, width = _vectors(src, dst, max_bits)
    mine = np.ones(n, bool) if thread is None else np.arange(n) // width % threads == thread
    keep = np.zeros(n, bool)
    keep[order[mine]] = True
    moved(src, dst, keep)
    known = space_of(src) is not None and space_of(dst) is not None and dtype_of(src) == dtype_of(dst)
    made = choose_copy(src, dst) if known else Choice((), width, dtype_of(dst))
    return Issued("cooperative_copy", Choice(made.atoms, made.elements, made.dtype, made.completion, barrier=True))


def _vectors(src: Tensor, dst: Tensor, max_bits: int) -> tuple[Array, int]:
    """(linear indices by the order of the destination's addresses, elements of a vector)."""
    to, come = places(dst), places(src)
    order = np.argsort(to, kind="stable")
    together = (np.diff(to[order]) == 1) & (np.diff(come[order]) == 1)
    kind, width = dtype_of(dst), 1
    most = max(1, max_bits // (kind.bits if kind is not None else 8 * memory(dst)[0].itemsize))
    while 2 * width <= most and len(order) % (2 * width) == 0:
        inside = np.arange(len(order) - 1) % (2 * width) != 2 * width - 1
        if not together[inside].all():
            break
        width *= 2
    return order, width


def axpby(alpha: Any, x: Tensor, beta: Any, y: Tensor, pred: Any = None) -> Issued:
    """``y(i) = alpha*x(i) + beta*y(i)``, at each i or where a predicate is true.

    >>> x, y = np.array([1.0, 2.0]), np.array([np.nan, 3.0])
    >>> print(axpby(2.0, Tensor(x, Layout(2)), 0.0, Tensor(y, Layout(2))), y)
    axpby, over at once [2. 4.]

    As in BLAS a vector whose factor is 0 is not read, so that a NaN in it does not show. CuTe leaves out y alone: its
    ``0*x(i)`` is NaN for an infinite x. Products and the sum are rounded one after the other, in the wider of the two
    types, and the result to that of y. Raises LayoutError for sizes that differ.
    """
    for factor in (alpha, beta):
        expect_kind(factor, NUMBER, "a number as a factor of axpby")
    expect_sizes(x, y, what="axpby")
    array, _ = memory(y)
    keep = slice(None) if pred is None else kept(pred, y)
    held, old = values(x)[keep], values(y)[keep]
    kind = np.promote_types(held.dtype, old.dtype)
    terms = [np.asarray(c).astype(kind) * v.astype(kind) for c, v in ((alpha, held), (beta, old)) if c != 0]
    with np.errstate(all="ignore"):
        new = (sum(terms[1:], terms[0]) if terms else np.zeros(len(old), kind)).astype(array.dtype)
    store(y, new, places(y)[keep])
    return Issued("axpby", None)
