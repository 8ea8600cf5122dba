"""Data that tell: bits of every kind where bytes are only moved, small integers where they are added, and where tensor
cores multiply numbers of all kinds too.

>>> from symlayout import dim
>>> from symlayout.kernels import vector_copy
>>> bound = vector_copy(dim("N"), dtype="f16").bind(N=1000)
>>> [word for word, _ in data_sets(bound)]
['numbers', 'bits']
>>> bits = dict(data_sets(bound))["bits"]["src"]
>>> bool(np.isnan(bits).any() and np.isinf(bits).any())
True
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from symlayout.atoms import MemorySpace, MmaAtom
from symlayout.dtype import DType
from symlayout.errors import LayoutError
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Dot, Element, PackedDot, Total, elements, sum_type, sums
from symlayout.ops import LoadIndex
from symlayout.semantics.expected import expected
from symlayout.semantics.expected_range import approximate, expected_range, is_approximate
from symlayout.semantics.telling import telling_inputs, tellings

from ..definition.inputs import NUMBERS, SPECIAL
from ..definition.special import odd, only_moved, special
from ..guards import shape_of

Array = np.ndarray[Any, Any]

SMALL = (-2, 2)  # integers with exact sums of products
TOTALLED = {"uint": 1000}  # the most of integers that ``telling_inputs`` has for sums of elements of 32 bits: else 500
ROUNDED = "rounded"  # sums of them depend on the order, and are compared with those of tensor cores bit for bit
WIDE = 6  # binary orders of magnitude, up and down, over which numbers to multiply are spread, twice
KINDS = 16  # of so many rows one has all exponents, one subnormal numbers, one an infinity, one a NaN


def data_sets(bound: Kernel, seed: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
    """Inputs of a bound kernel by name, with a word for each set of them.

    *numbers* identify where elements and sums come from, and no order of a sum changes its bits. *bits* are random,
    with NaNs and infinities among them, for tensors whose bytes are only moved.
    """
    numbers = telling_inputs(bound) if bound.results else _of_reference(bound, seed)
    yield NUMBERS, numbers
    moved = only_moved(bound)
    if moved:
        of = {t.tensor.name: t for t in tellings(bound)}
        bits = {name: special(of[name].tensor.dtype, numbers[name].shape, of[name].seed) for name in moved}
        yield SPECIAL, {**numbers, **bits}


def words(bound: Kernel) -> tuple[str, ...]:
    """The words of the sets of data of a kernel with results."""
    return (NUMBERS, SPECIAL) if only_moved(bound) else (NUMBERS,)


def rounded(bound: Kernel, seed: int = 0) -> dict[str, Any] | None:
    """Inputs whose products tensor cores have to round, None for a kernel that has none of these.

    >>> from symlayout.kernels import gemm
    >>> x = rounded(gemm(64, 64, 64, cluster=1, blocks=1))["a"].astype(np.float32)
    >>> [bool(found) for found in (np.isnan(x).any(), np.isinf(x).any(), (np.abs(x) > 2.0**100).any())]
    [True, True, True]

    Numbers over 24 binary orders of magnitude; the large half of the products cancels, so that it shows what was cut
    off of the others. Among them rows of random bits, of subnormal numbers, with an infinity, with a NaN that has bits.
    """
    rows = [row for row in (op.row for op in bound.walk()) if isinstance(row, MmaAtom)]
    if not rows or any(row.acc_dtype.kind != "float" for row in rows):
        return None
    draw, out = np.random.default_rng(seed), _of_reference(bound, seed)
    for x in (x for r in bound.results for x in sums(r.value) if isinstance(x, Dot)):
        for e, sign in ((x.a, -1), (x.b, 1)):
            out[e.tensor] = _spread(bound.tensor(e.tensor).dtype, shape_of(bound.tensor(e.tensor)), draw, sign)
    return out


def _spread(dtype: DType, shape: tuple[int, ...], draw: np.random.Generator, sign: int) -> Array:
    """Rows of numbers; each fourth is the one before it, with a sign: it cancels where the other operand has it too."""
    rows, columns = shape[0], int(np.prod(shape[1:]))
    x = draw.standard_normal((rows, columns)) * 2.0 ** draw.integers(-WIDE, WIDE + 1, (rows, columns))
    x *= 2.0 ** np.resize([WIDE, WIDE, -WIDE, -WIDE], columns)  # what cancels is large
    x[:, 1::4] = sign * x[:, 0::4][:, : x[:, 1::4].shape[1]]
    out = x.astype(dtype.numpy())
    bits, (quiet, infinity, subnormal) = out.view(f"u{dtype.bytes}"), odd(dtype)[[0, 6, 10]]
    bits[1::KINDS] = np.frombuffer(draw.bytes(bits[1::KINDS].nbytes), bits.dtype).reshape(bits[1::KINDS].shape)
    bits[3::KINDS] %= subnormal + 1
    for first, one in ((5, infinity), (7, quiet)):
        for row in bits[first::KINDS]:
            row[draw.integers(columns)] = one
    return out.reshape(shape)


def rounds(bound: Kernel) -> str:
    """Why some order of a sum of *numbers* may round it, so that its bits depend on the order; "" where none does."""
    for x in (x for r in bound.results for x in sums(r.value)):
        of = [bound.tensor(e.tensor).dtype for e in elements(x)]
        kept = DType.of(x.dtype) if x.dtype else sum_type(*of)
        if isinstance(x, PackedDot) or (isinstance(x, Total) and x.function in ("min", "max")):
            continue  # sums of integers that are proved to fit, or no sums
        if isinstance(x, Total) and x.function == "mul":
            return f"products of {x.extent} numbers are rounded in {kept}"
        most = (int(x.extent) + 1) * _most(x, of)  # one more for what a sum is added to
        if most > _exact(kept):
            return f"sums of {x.extent} numbers may reach {most}, and {kept} holds integers up to {_exact(kept)}"
    return ""


def _most(x: Dot | Total, of: list[DType]) -> int:
    """The most that a term of a sum is."""
    return SMALL[1] ** 2 if isinstance(x, Dot) else TOTALLED.get(of[0].kind, 500) if of[0].bits >= 32 else SMALL[1]


def _exact(kind: DType) -> int:
    """The integers up to which a type holds all."""
    import ml_dtypes

    if kind.kind != "float":
        return int(np.iinfo(kind.numpy()).max)
    return 1 << int(ml_dtypes.finfo(kind.numpy()).nmant) + 1  # type: ignore[no-untyped-call]


def _of_reference(bound: Kernel, seed: int) -> dict[str, Any]:
    """Small integers for what the reference takes, or all that is only read; indices within their contracts."""
    draw = np.random.default_rng(seed)
    within = {op.src.tensor: op.name for op in bound.walk() if isinstance(op, LoadIndex)}
    tensors = {t.name: t for t in bound.tensors if t.space is MemorySpace.GLOBAL}
    taken = set(tensors) - set(bound.written) if bound.reference is None else set(_parameters(bound))
    out: dict[str, Any] = {p.name: p.within[0] if p.within else 2 + i for i, p in enumerate(bound.parameters)}
    for name, t in tensors.items():
        if name in taken:
            low, high = (int(x) for x in within[name].args[1:3]) if name in within else SMALL
            low = max(0, low) if np.dtype(t.dtype.numpy()).kind == "u" else low
            out[name] = draw.integers(low, high + 1, shape_of(t)).astype(t.dtype.numpy())
    return out


def _parameters(bound: Kernel) -> tuple[str, ...]:
    assert bound.reference is not None
    return tuple(inspect.signature(bound.reference).parameters)


def wanted(bound: Kernel, inputs: Mapping[str, Any]) -> dict[str, Array] | None:
    """The expected outputs of a run, by the reference or by the results; None if there is neither.

    A reference may round once where the kernel rounds each step, as its results say: so it is asked for elements and
    sums alone, which are exact. Raises LayoutError where its arrays have other shapes or types than the tensors.
    """
    exact = all(isinstance(r.value, Element | Dot | Total) for r in bound.results)
    if bound.reference is not None and exact:
        names = _parameters(bound)
        given = {k: x for k, x in inputs.items() if k in names}
        found = {k: np.asarray(x) for k, x in bound.reference(**given).items()}
    elif bound.results:
        found = expected(bound, inputs)
    else:
        return None
    for name, x in found.items():
        t = bound.tensor(name)
        if (x.shape, x.dtype) != (shape_of(t), t.dtype.numpy()):
            raise LayoutError(
                f"expected a reference of shape {shape_of(t)} and type {t.dtype.numpy()} for {name}, got {x.shape} and "
                f"{x.dtype}"
            )
    return found


def ranges(bound: Kernel, inputs: Mapping[str, Any]) -> tuple[dict[str, tuple[Array, Array]], str]:
    """The least and the greatest that each element of an output with approximate functions may be; what they are.

    >>> from symlayout import Layout
    >>> from symlayout.kernel import Builder
    >>> from symlayout.results import applied, element
    >>> k = Builder("powers", grid=(1,), threads=32)
    >>> x, y = (k.global_tensor(name, "f32", Layout(32)) for name in "xy")
    >>> k.result("y", lambda i: applied("ex2.approx", element("x", i)))
    >>> ranges(k.kernel(), {"x": np.full(32, 3, np.float32)})[1]
    'the range of ex2.approx'
    """
    words = dict.fromkeys(f for r in bound.results for f in approximate(r.value))
    if not words:
        return {}, ""
    found = expected_range(bound, inputs)
    return {
        r.tensor: found[r.tensor] for r in bound.results if is_approximate(r.value)
    }, f"the range of {', '.join(words)}"
