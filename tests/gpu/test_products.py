"""Products of warps as they are printed: what starts anew is cleared, f64 and integers have registers of their own."""

from __future__ import annotations

import pytest

import gpu
from checkers import prove
from gpu.codegen import emit
from symlayout import Layout
from symlayout.atoms import atom
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import dot, element
from symlayout.semantics.expected import expect_results
from tests.support.compilers import NEEDS_MACHINE_CODE


def product(word: str, zero=0, steps: int = 1) -> Kernel:
    """c = a b^T by one warp, each element of an operand by a load of its own, K in *steps*."""
    row = atom(word)
    (m, n, k), kind, sums = row.mnk, row.dtype, row.acc_dtype
    b = Builder("product", grid=(1,), threads=32)
    x, y = (
        b.global_tensor(name, kind, Layout((rows, k * steps), (k * steps, 1))) for name, rows in (("a", m), ("b", n))
    )
    c = b.global_tensor("c", sums, Layout((m, n), (n, 1)))
    held = [b.registers(f"of_{name}", t, int(tv[1].size())) for name, t, tv in
            (("a", kind, row.tv_a), ("b", kind, row.tv_b), ("c", sums, row.tv_c))]  # fmt: skip
    lane = b.thread // 4, b.thread % 4

    def at(tv: Layout, rows: int, v: int):
        """(row, column) of a value of this thread."""
        d = tv.stride[0]
        first, value = d[0] * lane[1] + d[1] * lane[0], tv(0, v)
        return lane[0] * (d[1] % rows) + value % rows, (first - lane[0] * d[1]) // rows + value // rows

    if zero == 0:
        b.fill(held[2](), 0, int(row.tv_c[1].size()))
    with b.loop("i", steps) as i:
        for source, tv, rows, registers in ((x, row.tv_a, m, held[0]), (y, row.tv_b, n, held[1])):
            for v in range(int(tv[1].size())):
                r, s = at(tv, rows, v)
                b.copy(f"ld.global.{kind.bytes}", source(k * steps * r + k * i + s), registers(v))
        b.mma(word, held[0](), held[1](), held[2](), zero=zero if isinstance(zero, int) else zero(i))
    for v in range(int(row.tv_c[1].size())):
        r, s = at(row.tv_c, m, v)
        b.copy(f"st.global.{sums.bytes}", held[2](v), c(n * r + s))
    b.result("c", lambda i, j: dot(k * steps, lambda q: (element("a", i, q), element("b", j, q))))
    return b.kernel()


WORDS = ("mma.m8n8k4.f64", "mma.m16n8k16.f64", "mma.m8n8k16.i8", "mma.m16n8k16.u8", "mma.m16n8k16.bf16")


@pytest.mark.parametrize("word", WORDS)
def test_a_product_is_proved_and_runs(word):
    kernel = product(word)
    assert prove(kernel)
    for order in ("eager", "lazy"):
        expect_results(kernel, order)


def test_sums_that_start_anew_are_cleared_in_the_code():
    """mma.sync always adds: without the line, sums would go on from what the registers held."""
    kernel = product("mma.m16n8k16.bf16", zero=1)
    assert prove(kernel)
    text = emit(kernel).text
    assert text.index("of_c[e] = 0.0f;") < text.rindex("mma_m16n8k16_bf16(of_c")
    kernel = product("mma.m8n8k4.f64", zero=lambda i: 1 - i, steps=2)
    assert prove(kernel)
    expect_results(kernel, "eager")
    assert "if (1 - i) of_c[e] = 0.0;" in emit(kernel).text
    assert "of_c[e]" not in emit(product("mma.m8n8k4.f64", zero=0)).text.partition("for (int i")[2]


@NEEDS_MACHINE_CODE
@pytest.mark.parametrize("word, opcode", [("mma.m8n8k4.f64", "DMMA"), ("mma.m8n8k16.i8", "IMMA")])
def test_the_code_has_the_instruction(word, opcode):
    cubin = gpu.compile(emit(product(word)).text)
    assert opcode in {i.opcode.partition(".")[0] for i in cubin.instructions("product").every}
