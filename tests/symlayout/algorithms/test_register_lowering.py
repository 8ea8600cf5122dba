"""gemm by fma, axpby, fill and clear of tensors in kernels compute what the algorithms on NumPy do."""

from __future__ import annotations

import numpy as np
import pytest

from checkers import prove
from symlayout import Layout, LayoutError, Tensor, dim, make_identity_tensor, make_tensor
from symlayout.algorithms import Inside, gemm
from symlayout.algorithms.products import CASES
from symlayout.kernel import Builder
from symlayout.kernel.specification import applied, element, number, scalar
from symlayout.semantics import execute

EXTENTS = {"V": 2, "M": 3, "N": 4, "K": 5}


def product(letters: tuple[str, str, str], space: str):
    """A kernel of 32 threads that all multiply the same tensors, from registers or from shared memory."""
    k = Builder("product", grid=(1,), threads=32)
    shapes = [Layout(tuple(EXTENTS[x] for x in word) if len(word) > 1 else EXTENTS[word]) for word in letters]
    sources = [k.global_tensor(name, "f32", Layout(shape.size())) for name, shape in zip("abc", shapes, strict=True)]
    tensors = []
    for name, source, shape in zip("abc", sources, shapes, strict=True):
        whole = k.tensor(source())
        held = k.tensor(k.registers(f"of_{name}", "f32", int(shape.size()))(), Layout(shape.size()))
        k.copy("ld.global.4", whole, held)
        if space == "shared" and name != "c":
            tile = k.tensor(k.shared_tensor(f"{name}_tile", "f32", shape)())
            with k.elect():
                k.copy("st.shared.4", held, Tensor(tile.iterator, Layout(shape.size())))
            tensors.append(tile)
        else:
            tensors.append(Tensor(held.iterator, shape))
    k.sync()
    done = k.gemm(*tensors)
    with k.elect():
        k.copy("st.global.4", Tensor(tensors[2].iterator, Layout(shapes[2].size())), k.tensor(sources[2]()))
    return k.kernel(), done, shapes


@pytest.mark.parametrize("case, space", [(c, "register") for c in range(1, 6)] + [(3, "shared"), (5, "shared")])
def test_a_product_is_that_of_numpy(case, space):
    [letters] = [names for c, names in CASES.values() if c == case]
    kernel, done, shapes = product(letters, space)
    draw = np.random.default_rng(case)
    given = {n: draw.integers(-9, 10, int(s.size())).astype(np.float32) for n, s in zip("abc", shapes, strict=True)}
    want = {n: x.copy() for n, x in given.items()}
    told = gemm(*(make_tensor(want[n], s) for n, s in zip("abc", shapes, strict=True)))
    assert (done.cases, done.calls) == (told.cases, told.calls)
    assert np.array_equal(execute(kernel, given, "lazy")["c"], want["c"])


FACTORS = {
    ("alpha", "beta"): lambda x, y: applied("fma", scalar_("alpha"), x, applied("mul", scalar_("beta"), y)),
    ("alpha", 0): lambda x, y: applied("mul", scalar_("alpha"), x),
    ("alpha", 1): lambda x, y: applied("fma", scalar_("alpha"), x, y),
    (1, "beta"): lambda x, y: applied("add", x, applied("mul", scalar_("beta"), y)),
    (0, "beta"): lambda x, y: applied("mul", scalar_("beta"), y),
    (1, 0): lambda x, y: x,
    (1, 1): lambda x, y: applied("add", x, y),
    (0, 0): lambda x, y: number(0),
}


def scalar_(name: str):
    from symlayout.ops import Param

    return scalar(Param(name))


def updated(alpha, beta):
    """y = alpha*x + beta*y for tensors of any length, four elements of each thread, 32 apart."""
    N = dim("N")
    k = Builder("updated", N, grid=((N + 127) // 128,), threads=32)
    names = {n: k.parameter(n, "f32") for n in (alpha, beta) if isinstance(n, str)}
    x, y = (k.global_tensor(n, "f32", Layout(N)) for n in "xy")
    mine = Layout(4, 32)
    first = 128 * k.block[0] + k.thread
    held = k.tensor(k.registers("held", "f32", 4)())
    ident = make_identity_tensor((N,))
    inside = Inside(Tensor(ident.iterator + ident.layout(first), Layout(4, 32 * ident.layout.stride[0])), (N,))
    k.clear(held)
    k.copy(k.tensor(x(first), mine), held, when=inside)
    k.axpby(names.get(alpha, alpha), held, names.get(beta, beta), k.tensor(y(first), mine), when=inside)
    k.result("y", lambda i: FACTORS[alpha, beta](element("x", i), element("y", i)))
    return k.kernel()


@pytest.mark.parametrize("alpha, beta", FACTORS)
def test_an_update_in_place_is_proved_and_reads_nothing_of_factor_0(alpha, beta):
    kernel = updated(alpha, beta)
    report = prove(kernel)
    assert report, str(report)
    x, y = np.arange(133, dtype=np.float32), np.ones(133, np.float32)
    y[5] = np.nan if beta == 0 else 1
    given = {"x": x, "y": y, "alpha": 2, "beta": 3}
    kept = {n: v for n, v in given.items() if n in ("x", "y", alpha, beta)}
    factor = {"alpha": 2, "beta": 3}
    want = factor.get(alpha, alpha) * x + (0 if beta == 0 else factor.get(beta, beta) * y)
    assert np.array_equal(execute(kernel.bind(N=133), kept)["y"], want)


@pytest.mark.parametrize("call, said", [
    (lambda k, r, g: k.axpby(2, r, 1, g), "expected a scalar parameter, 0 or 1 as alpha of axpby, got 2"),
    (lambda k, r, g: k.axpby(1, g, 1, r), "expected x of axpby in register memory, got global"),
    (lambda k, r, g: k.axpby(1, r, 1, k.tensor(k.registers("s", "f16", 4)())), "expected x and y of one size and type"),
    (lambda k, r, g: k.gemm(r, r), r"expected gemm\(\[tiled product,\] A, B, C\) of tensors, got 2 arguments"),
    (lambda k, r, g: k.gemm(g, r, r), "expected A of gemm in register memory, got global"),
    (lambda k, r, g: k.gemm(r, k.tensor(k.registers("s", "f16", 4)()), r), "expected A, B and C of one type for fma"),
    (lambda k, r, g: k.copy(g, r, when=(k.thread < 3,)), r"expected Inside\(coords, shape\) as the predicate"),
])  # fmt: skip
def test_what_does_not_fit_is_an_error(call, said):
    k = Builder("errors", grid=(1,), threads=32)
    r, g = k.tensor(k.registers("r", "f32", 4)()), k.tensor(k.global_tensor("g", "f32", Layout(4))())
    with pytest.raises(LayoutError, match=said):
        call(k, r, g)


def test_fill_and_clear_of_global_tensors():
    k = Builder("filled", grid=(1,), threads=32)
    x, y = (k.global_tensor(n, "f32", Layout(128)) for n in "xy")
    k.fill(k.tensor(x(4 * k.thread), Layout(4)), 2.5)
    k.clear(k.tensor(y(4 * k.thread), Layout(4)))
    k.result("x", lambda i: number(2.5))
    k.result("y", lambda i: number(0))
    assert prove(k.kernel())
    assert [op.atom for op in k.kernel().walk() if hasattr(op, "atom")] == ["st.global.16"] * 2
