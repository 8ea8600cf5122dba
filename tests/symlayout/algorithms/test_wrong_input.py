"""Calls of the algorithms with what they do not take: one clear error each, never one of Python's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from symlayout import Layout, Tensor, dim, dims, local_tile, make_identity_tensor, make_tensor
from symlayout import algorithms as alg
from symlayout.errors import SymlayoutError
from symlayout.expr import eq
from symlayout.kernel import Builder
from symlayout.ops import Map


def some():
    """(a builder, values of every kind by name)."""
    m, n = dims("M N", multiple_of=8)
    k = Builder("k", m, n, grid=(4,), threads=32)
    g, shared = (
        k.global_tensor("g", "f32", Layout((m, n), (n, 1))),
        k.shared_tensor("s", "f32", Layout((16, 32), (32, 1))),
    )
    registers, halves = k.registers("r", "f32", 8), k.registers("h", "bf16", 8)
    coords = local_tile(make_identity_tensor((m, n)), (16, 32), (0, 0))
    return k, {
        "None": None,
        "number": 5,
        "text": "x",
        "product": "mma.m16n8k16.bf16",
        "copy": "cp.async.16",
        "list": [1, 2],
        "array": np.arange(4.0),
        "Layout": Layout((2, 3)),
        "numbers": make_tensor(np.arange(6.0), Layout(6)),
        "integers": make_tensor(np.arange(6), Layout(6)),
        "global": k.tensor(g()),
        "shared": k.tensor(shared()),
        "registers": k.tensor(registers(), Layout(8)),
        "halves": k.tensor(halves(), Layout(8)),
        "coordinates": coords,
        "tiled copy": alg.make_tiled_copy(
            alg.make_copy_atom("cp.async.16", "f32"), Layout((4, 8), (8, 1)), Layout((1, 4))
        ),
        "tiled product": alg.make_tiled_mma("mma.m16n8k64.i4"),
        "by TMA": k.tma_copy("map", g(), Layout((16, 32), (32, 1))),
        "predicate": alg.Inside(coords, (m, n)),
        "mbarrier": k.mbarriers("full", 1, 1)(),
        "rows": Tensor(alg.make_gmem_ptr(dtype="f32"), Layout((64, 8), (1, dim("ld")))),
    }


TWO = (
    "copy fill for_each transform choose_copy make_copy_atom make_tiled_copy_A make_tiled_copy_S make_tiled_mma reduce"
)
THREE = "copy_if gemm choose_mma choose_operand_copy make_tiled_copy make_cotiled_copy"
CALLS = {
    **{name: (getattr(alg, name), 1) for name in ("clear", "prefetch", "make_fragment_like", "make_tiled_mma")},
    **{f"{name}, two": (getattr(alg, name), 2) for name in TWO.split()},
    **{f"{name}, three": (getattr(alg, name), 3) for name in THREE.split()},
}
OF_A_KERNEL = {
    "k.tensor": (lambda k, x: k.tensor(x), 1),
    "k.clear": (lambda k, x: k.clear(x), 1),
    "k.complete": (lambda k, x, y: k.complete(x, barrier=y), 2),
    "k.copy": (lambda k, x, y: k.copy(x, y), 2),
    "k.copy with an atom": (lambda k, x, y, z: k.copy(x, y, z), 3),
    "k.copy when": (lambda k, x, y, z: k.copy(x, y, when=z), 3),
    "k.copy on a barrier": (lambda k, x, y, z: k.copy(x, y, barrier=z), 3),
    "k.copy by TMA": (lambda k, x, y, z: k.copy(x, y, tma=z), 3),
    "k.gemm": (lambda k, x, y, z: k.gemm(x, y, z), 3),
    "k.tma_copy": (lambda k, x, y: k.tma_copy("other", x, y), 2),
}
FEW = ("None", "number", "copy", "array", "numbers", "global", "shared", "registers", "coordinates", "by TMA")


def unclear(call, count: int, of_kernel: bool) -> list[str]:
    """Calls that end in an error of Python's own."""
    k, every = some()
    names = every if count == 1 else FEW
    found = []
    for chosen in itertools.product(names, repeat=count):
        try:
            call(*([k] if of_kernel else []), *(every[name] for name in chosen))
        except SymlayoutError:
            continue
        except Exception as e:  # which is what is looked for
            found.append(f"{chosen}: {type(e).__name__}: {e}")
    return found


@pytest.mark.parametrize("name", CALLS)
def test_what_an_algorithm_does_not_take_is_an_error_of_ours(name):
    assert unclear(*CALLS[name], of_kernel=False) == []


@pytest.mark.parametrize("name", OF_A_KERNEL)
def test_what_a_kernel_does_not_take_is_an_error_of_ours(name):
    assert unclear(*OF_A_KERNEL[name], of_kernel=True) == []


def test_a_copy_between_registers_is_a_move():
    k, every = some()
    source = every["registers"]
    other = k.tensor(k.registers("other", "f32", 8)(), Layout(8))
    assert k.copy(source, other).waits == ()
    k.copy(Tensor(source.iterator, Layout(4, 2)), Tensor(other.iterator, Layout(4)))
    moves = [str(op) for op in k.kernel().walk() if isinstance(op, Map)]

    assert moves == [
        "convert r -> other x8",
        *(
            f"convert r{at} -> other{to} x1"
            for at, to in zip(("", "[2]", "[4]", "[6]"), ("", "[1]", "[2]", "[3]"), strict=True)
        ),
    ]


def test_one_fact_is_a_condition_too():
    k, every = some()
    n = every["global"].layout.shape[1]
    k.copy(
        "cp.async.16",
        every["global"].iterator and k.global_tensor("x", "f32", Layout(n))(),
        k.shared_tensor("y", "f32", Layout(4))(),
        when=eq(n, 8),
    )

    assert str(list(k.kernel().walk())[-1]).endswith("if N == 8, else 0")
