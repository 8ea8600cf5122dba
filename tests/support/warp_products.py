"""A product of one instruction of a warp as a kernel: what tests prove, run, print and launch."""

from __future__ import annotations

from symlayout import Layout
from symlayout.atoms import atom
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import dot, element


def product(word: str, zero=0, steps: int = 1, words: str | None = None) -> Kernel:
    """c = a b^T by one warp, each register of an operand by a load of its own, K in *steps*."""
    row = atom(word)
    (m, n, k), (of_a, of_b, sums), (tv_a, tv_b, tv_c) = row.in_words, row.held, row.words
    b = Builder("product", grid=(1,), threads=32)
    x, y = (
        b.global_tensor(name, kind, Layout((rows, k * steps), (k * steps, 1)))
        for name, kind, rows in (("a", of_a, m), ("b", of_b, n))
    )
    c = b.global_tensor("c", sums, Layout((m, n), (n, 1)))
    held = [b.registers(f"of_{name}", t, int(tv[1].size())) for name, t, tv in
            (("a", of_a, tv_a), ("b", of_b, tv_b), ("c", sums, tv_c))]  # fmt: skip
    lane = b.thread // 4, b.thread % 4

    def at(tv: Layout, rows: int, v: int):
        """(row, column) of a value of this thread."""
        d = tv.stride[0]
        first, value = d[0] * lane[1] + d[1] * lane[0], tv(0, v)
        return lane[0] * (d[1] % rows) + value % rows, (first - lane[0] * d[1]) // rows + value // rows

    if zero == 0:
        b.fill(held[2](), 0, int(tv_c[1].size()))
    with b.loop("i", steps) as i:
        for source, tv, kind, rows, registers in ((x, tv_a, of_a, m, held[0]), (y, tv_b, of_b, n, held[1])):
            for v in range(int(tv[1].size())):
                r, s = at(tv, rows, v)
                b.copy(f"ld.global.{kind.bytes}", source(k * steps * r + k * i + s), registers(v))
        b.mma(word, held[0](), held[1](), held[2](), zero=zero if isinstance(zero, int) else zero(i))
    for v in range(int(tv_c[1].size())):
        r, s = at(tv_c, m, v)
        b.copy(f"st.global.{sums.bytes}", held[2](v), c(n * r + s))
    kept, packed = sums.name if sums.bits < 32 else "", row.product if words is None else words
    b.result("c", lambda i, j: dot(k * steps, lambda q: (element("a", i, q), element("b", j, q)), kept, words=packed))
    return b.kernel()
