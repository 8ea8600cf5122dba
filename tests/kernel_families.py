"""The kernel families at the sizes of their tests: small tiles and grids, so that rings go round and CTAs stay idle."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from symlayout import dims
from symlayout.kernel import Kernel

ORDERS = ("eager", "lazy", 1, 2, 3)


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


FAMILIES = (
    Family("tma_copy", "tma_copy", _built("tma_copy", "M N", tile=(16, 64), slots=3, blocks=3)),
    Family("tma_copy_f64", "tma_copy", _built("tma_copy", "M N", dtype="f64", tile=(16, 64), slots=1, blocks=2)),
    Family("vector_copy", "vector_copy", _built("vector_copy", "N", dtype="f32")),
    Family("vector_copy_bf16", "vector_copy", _built("vector_copy", "N", dtype="bf16", vector_bytes=8, threads=64)),
    Family("cp_async_copy", "cp_async_copy", _built("cp_async_copy", "N", stages=3, blocks=3)),
    Family("cp_async_copy_deep", "cp_async_copy", _built("cp_async_copy", "N", stages=5, threads=64, blocks=1)),
    Family("tma_transpose", "tma_transpose", _built("tma_transpose", "M N", blocks=3)),
    Family("tma_transpose_f32", "tma_transpose", _built("tma_transpose", "M N", dtype="f32", stages=1, blocks=2)),
    Family(
        "tma_transpose_flat",
        "tma_transpose",
        _built("tma_transpose", "M N", dtype="f32", tile=(32, 64), swizzle=0, stages=3, blocks=2),
    ),
)
BY_WORD = {f.word: f for f in FAMILIES}


def inputs(bound: Kernel) -> dict[str, np.ndarray]:
    """Random bytes for the tensors that the reference of a kernel takes."""
    x = bound.tensor("src")
    shape = x.layout.shape if isinstance(x.layout.shape, tuple) else (x.layout.shape,)
    data = np.random.default_rng(1).bytes(int(x.layout.size()) * x.dtype.bytes)
    return {"src": np.frombuffer(data, dtype=x.dtype.numpy()).reshape(shape)}
