"""The kernel families at the sizes of their tests: small tiles and grids, so that rings go round and CTAs stay idle."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout import dims
from symlayout.kernel import Kernel
from symlayout.kernels.families import family
from symlayout.ops import LoadIndex

ORDERS = ("eager", "lazy", 1, 2, 3)
ADDING = ("row_sum", "row_max", "axpby", "tensor_axpby", "tma_reduce_add", "tma_reduce_max")


@dataclass(frozen=True)
class Family:
    """A kernel for all sizes, and the module that it is from."""

    word: str
    name: str
    build: Callable[[], Kernel]

    @property
    def sizes(self) -> tuple[dict[str, int], ...]:
        return importlib.import_module(f"symlayout.kernels.{self.name}").SIZES


def _built(name: str, symbols: str, **options: Any) -> Callable[[], Kernel]:
    def build() -> Kernel:
        return getattr(importlib.import_module(f"symlayout.kernels.{name}"), name)(*dims(symbols), **options)

    return build


def _row_sum(**options: Any) -> Callable[[], Kernel]:
    """Rows that lie *ld* apart, at least N."""
    return _rows("row_sum", **options)


def _rows(name: str, **options: Any) -> Callable[[], Kernel]:
    return lambda: family(name).build(**options)


FAMILIES = (
    Family("tma_copy", "tma_copy", _built("tma_copy", "M N", tile=(16, 64), slots=3, blocks=3)),
    Family("tma_copy_f64", "tma_copy", _built("tma_copy", "M N", dtype="f64", tile=(16, 64), slots=1, blocks=2)),
    Family("vector_copy", "vector_copy", _built("vector_copy", "N", dtype="f32")),
    Family("vector_copy_bf16", "vector_copy", _built("vector_copy", "N", dtype="bf16", vector_bytes=8, threads=64)),
    Family("bulk_copy", "bulk_copy", _built("bulk_copy", "N", chunk=256, slots=3, blocks=3)),
    Family("bulk_copy_bf16", "bulk_copy", _built("bulk_copy", "N", dtype="bf16", chunk=512, slots=1, blocks=2)),
    Family("cp_async_copy", "cp_async_copy", _built("cp_async_copy", "N", stages=3, blocks=3)),
    Family("cp_async_copy_deep", "cp_async_copy", _built("cp_async_copy", "N", stages=5, threads=64, blocks=1)),
    Family("tma_transpose", "tma_transpose", _built("tma_transpose", "M N", tile=(64, 64), stages=2, blocks=3)),
    Family(
        "tma_transpose_f32",
        "tma_transpose",
        _built("tma_transpose", "M N", dtype="f32", tile=(64, 64), stages=1, blocks=2),
    ),
    Family(
        "tma_transpose_flat",
        "tma_transpose",
        _built("tma_transpose", "M N", dtype="f32", tile=(32, 64), swizzle=0, stages=3, blocks=2),
    ),
    Family("row_sum", "row_sum", _row_sum(warps=2)),
    Family("row_max", "row_sum", _row_sum(function="max", warps=1)),
    Family("axpby", "axpby", _built("axpby", "N")),
    Family("axpby_f16", "axpby", _built("axpby", "N", dtype="f16", threads=32)),
    Family("fill", "fill", _built("fill", "N")),
    Family("fill_bf16", "fill", _built("fill", "N", dtype="bf16", threads=32)),
    Family("clear", "clear", _built("clear", "N", dtype="f16")),
    Family("copy_if", "copy_if", _rows("copy_if")),
    Family("copy_if_bf16", "copy_if", _rows("copy_if", dtype="bf16")),
    Family("tensor_axpby", "tensor_axpby", _rows("tensor_axpby")),
    Family("gather_rows", "gather_rows", _built("gather_rows", "K M N", tile=(16, 64), slots=3, blocks=3)),
    Family("tma_reduce_add", "tma_reduce_add", _built("tma_reduce_add", "S M N", tile=(16, 64), slots=3, blocks=3)),
    Family(
        "tma_reduce_max",
        "tma_reduce_add",
        _built("tma_reduce_add", "S M N", dtype="i32", function="max", tile=(8, 64), slots=2, blocks=2),
    ),
)
BY_WORD = {f.word: f for f in FAMILIES}


def inputs(bound: Kernel) -> dict[str, np.ndarray]:
    """What the reference of a kernel takes: random bytes, or small integers where numbers are added.

    Values that are read as indices keep their contracts.
    """
    draw, out = np.random.default_rng(1), {}
    contracts = {op.src.tensor: op.name for op in bound.walk() if isinstance(op, LoadIndex)}
    for name in inspect.signature(bound.reference).parameters:
        if name in {p.name for p in bound.parameters}:
            out[name] = int(draw.integers(-3, 4))
            continue
        x = bound.tensor(name)
        shape = x.layout.shape if isinstance(x.layout.shape, tuple) else (x.layout.shape,)
        if name in contracts:
            values = draw.integers(contracts[name].lower, contracts[name].upper + 1, shape)
        elif bound.name in ADDING:
            values = draw.integers(-8, 9, shape)
        else:
            values = np.frombuffer(draw.bytes(int(x.layout.size()) * x.dtype.bytes), x.dtype.numpy()).reshape(shape)
        out[name] = values.astype(x.dtype.numpy())
    return out
