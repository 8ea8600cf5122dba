"""Stores of threads in tiles that a raster numbers: each element once, whatever the sizes; slips of rasters are refuted."""

from __future__ import annotations

import pytest

from checkers.claims import WrittenOnce
from checkers.prover import verdicts
from symlayout import Layout, dims
from symlayout.answers.report import Outcome
from symlayout.expr import minimum, multiple_of
from symlayout.facts import Facts
from symlayout.int_tuple import ceil_div
from symlayout.kernel import Builder, Kernel

M, N = dims("M N", at_most=1 << 20)
ROWS, COLUMNS = 8, 16


def corner(t, tiles_m, tiles_n, group):
    """(row, column) of tile t: *group* tiles of M, then the next column of them."""
    first, within = t // (group * tiles_n) * group, t % (group * tiles_n)
    high = minimum(group, tiles_m - first) if group > 1 else 1
    return ROWS * (first + within % high), COLUMNS * (within // high)


def kernel(
    group=4, at=corner, shape=(M, N), inside=lambda row, column, m, n: (row < m, column + 2 <= n), extra=0
) -> Kernel:
    """Each warp stores a tile of 8 x 16, two neighbours of a row a lane at a time, where they are inside."""
    m, n = shape
    tiles_m, tiles_n = ceil_div(m, ROWS), ceil_div(n, COLUMNS)
    b = Builder("tiles", *(x for x in shape if not isinstance(x, int)), grid=(tiles_m * tiles_n + extra,), threads=32)
    c, x = b.global_tensor("c", "f32", Layout((m, n), (n, 1))), b.registers("x", "f32", 2)
    b.fill(x(), 1, 2)
    row, column = at(b.block[0], tiles_m, tiles_n, group)
    with b.loop("q", 2, unroll="full") as q:
        i, j = row + b.thread // 4, column + 8 * q + 2 * (b.thread % 4)
        with b.where(*inside(i, j, m, n)):
            b.copy("st.global.8", x(), c(n * i + j))
    given = [multiple_of(n, 2)] if not isinstance(n, int) else []
    return b.kernel(*given)


def judged(k: Kernel):
    (found,) = verdicts(WrittenOnce(k, "c"))
    return found


@pytest.mark.parametrize("group", [1, 7])
def test_every_element_is_stored_once(group):
    found = judged(kernel(group))

    assert found.outcome is Outcome.PROVED
    assert found.certificate is not None
    assert "tiles of (16,8)" in found.method


def test_one_of_the_sizes_may_be_a_number():
    assert judged(kernel(4, shape=(M, 48))).outcome is Outcome.PROVED


SLIPS = {
    "rows of a whole group in the last one": {
        "at": lambda t, a, b, g: (ROWS * (t // (g * b) * g + t % (g * b) % g), COLUMNS * (t % (g * b) // g))
    },
    "remainder and quotient exchanged": {"at": lambda t, a, b, g: corner(t, a, b, g)[::-1]},
    "one tile too few": {"extra": -1},
    "the least of a group and one less": {
        "at": lambda t, a, b, g: (
            ROWS * (t // (g * b) * g + t % (g * b) % minimum(g, a - t // (g * b) * g + 1)),
            COLUMNS * (t % (g * b) // minimum(g, a - t // (g * b) * g + 1)),
        )
    },
}


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_slips_are_refuted_and_have_no_certificate(slip):
    claim = WrittenOnce(kernel(**slip), "c")

    assert claim.certify(Facts.about(M, N, given=claim.given)) is None
    assert judged(kernel(shape=(44, 50), **slip)).outcome is Outcome.REFUTED


def test_what_leaves_its_row_has_no_certificate():
    claim = WrittenOnce(kernel(inside=lambda i, j, m, n: (i < m,)), "c")

    assert claim.certify(Facts.about(M, N, given=claim.given)) is None
