"""The theorems behind the methods: one row each, from which ``explain`` and the page in ``docs`` are made.

``python -m symlayout.answers.theorems > docs/theorems.md`` writes the page.

>>> theorem = next(t for t in THEOREMS if t.number == "T12")
>>> print(theorem.head, "|", theorem.text.strip())
T12 Divisibility | m divides p for all integers iff it does for all residues modulo m.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

COLUMNS = 120  # of the page


@dataclass(frozen=True)
class Theorem:
    """A theorem as methods name it: *number* such as ``T3`` where it has one, and *text* in paragraphs."""

    number: str
    title: str
    text: str

    @property
    def name(self) -> str:
        """The name of the theorem in a verdict."""
        return self.number or self.title

    @property
    def head(self) -> str:
        """Number and title."""
        return f"{self.number} {self.title}".strip()


THEOREMS = (
    Theorem(
        "T1",
        "Differences",
        """\
L is injective iff sum delta_k s_k = 0 with |delta_k| <= n_k - 1 has only the zero solution: such vectors are exactly
the differences of two coordinates. This is the form that goes to the solver.
""",
    ),
    Theorem(
        "T2",
        "Chain",
        """\
If in some order every stride is at least 1 + sum of (n_j - 1) s_j over the modes before it, L is injective: the highest
digit that differs outweighs all lower ones. A gap is needed only where n_k >= 2. The chain may start at a block of
numbers whose sums, written out, all differ.
""",
    ),
    Theorem(
        "T3",
        "Mixed radix",
        """\
If in some order s_1 = 1 and s_(k+1) = n_k s_k, L is a bijection onto [0, n_1 ... n_r). Recombination: a value a + m*b
with 0 <= a < m determines the pair (a, b).
""",
    ),
    Theorem(
        "T5",
        "Residues",
        """\
If g divides the strides of some modes A, the others are injective modulo g, and A is injective, then L is: equality
modulo g fixes the other digits. Injective modulo g holds when strides reduced modulo g span less than g.
""",
    ),
    Theorem(
        "T7",
        "Counting",
        """\
Between finite sets of one size a map is injective iff it is onto. So bounds, injectivity and a polynomial identity of
sizes prove a bijection, with no quantifier.
""",
    ),
    Theorem(
        "",
        "Strides without gaps",
        """\
If the modes so far reach every value of 0 .. R and 0 <= s <= R + 1, then a mode (n, s) makes it 0 .. R + (n - 1) s.
This proves that a range is covered, also where values repeat.
""",
    ),
    Theorem(
        "T8",
        "Corners",
        """\
With the sign of each stride known, the extreme values are at corners: two polynomial inequalities.
""",
    ),
    Theorem(
        "T9",
        "Positivity",
        """\
p >= 0 if p, or m*p + m - 1 with m >= 1, is a sum of products of assumptions with non-negative coefficients. The search
eliminates variables through their bounds; the checker only expands the identity.
""",
    ),
    Theorem(
        "T10",
        "Quotients",
        """\
If p = D q + r with 0 <= r < D then p // D = q and p % D = r. Divisors are at least 1: where one is symbolic that is
shown first. A coordinate of an index expression is counted by digits so that its quotients divide out.
""",
    ),
    Theorem(
        "T11",
        "Alignment",
        """\
v divides base + L(d) at every coordinate iff it divides the base and the stride of every mode with n_k >= 2. A vector
access of v elements along a unit-stride mode splits that mode as (v, n/v), and the rest must be aligned.
""",
    ),
    Theorem(
        "T12",
        "Divisibility",
        """\
m divides p for all integers iff it does for all residues modulo m.
""",
    ),
    Theorem(
        "T13",
        "Linear over GF(2)",
        """\
A layout with power-of-two extents is linear over GF(2) iff the bits of its digit images are disjoint (no carries).
""",
    ),
    Theorem(
        "T14",
        "Swizzles",
        """\
Sw<B,M,S> with |S| >= B is its own inverse, maps every aligned block of 2^(M+B) offsets (2^(M+|S|+B) for S < 0) onto
itself, and commutes with adding multiples of 2^(M+|S|+B). So a common swizzle cancels from injectivity and equality,
and from bounds and bijectivity when the block divides the extent. Bits of a sum that are multiples of 2^k pass by a xor
with less than 2^k.

Bits that are all below the lowest of other bits add to them: x | y = x ^ y = x + y. In general x | y is x + y - (x &
y). With x >= 0 also 0 <= x & y <= x, whatever the sign of y; with both, 0 <= x ^ y <= x + y, and where both are less
than 2^k so are x ^ y and x | y. A mask of ones is the digits of x there, x & (2^w - 1) 2^j = 2^j ((x // 2^j) mod 2^w),
and 2^k >= k + 1 for k >= 0.
""",
    ),
    Theorem(
        "T15",
        "Rank",
        """\
A linear map is injective iff it has a left inverse T A = I over GF(2); T is the certificate.
""",
    ),
    Theorem(
        "T16",
        "Banks",
        """\
For lanes whose addresses are linear, the conflict degree is 2^(dim ker Bk - dim ker W), where W takes a lane to its
unit of max(width, 4) bytes and Bk to that unit modulo 128 bytes. It is the same in every phase and for every base that
is added after the swizzle and is a multiple of the unit. The split into phases (32 lanes up to 4 bytes, 16 at 8, 8 at
16) is a model of the hardware, kept as data. Modes that move every lane by a multiple of the unit and of the swizzle's
period change nothing; sectors of 32 bytes are counted alike. The lanes are all leaves of the first top-level mode. Of a
stride of lanes that is a size only the residue modulo a row of banks (128 bytes; a sector, 32) and the period counts:
where lanes that it separates are taken to lie in different units, no phase has a lower degree. So every residue is
tried that the congruences and equalities given allow: 32 k + 1 is one case, an odd row 16.
""",
    ),
    Theorem(
        "T17",
        "Normal form",
        """\
Drop extents of 1 and merge neighbours with s_2 = n_1 s_1: two layouts of one size are the same function of the linear
index iff these lists agree (for numbers; for symbols, identical lists suffice).
""",
    ),
    Theorem(
        "T18",
        "Pieces",
        """\
A size n is g F + r with 0 <= r < g, so ceil(n/g) is F or F + 1 and min(n - k g, g) is g for k < F and r for k = F. On
consecutive intervals of a coordinate, each with digits of its own, clips and minima are polynomials; what is injective
on each piece is so on all if of two pieces one lies above the other in some entry of the value.
""",
    ),
    Theorem(
        "T19",
        "Triangular maps",
        """\
A tuple-valued map is injective if its components, one after another, determine the digits that the ones before left
open. A digit may first be rotated to (j + c) % n, reversed to n - 1 - j, or become j ^ c with 0 <= c < 2^k where 2^k
divides n, by a c that depends on the others only: each permutes 0 .. n - 1.
""",
    ),
    Theorem(
        "T20",
        "Schedules",
        """\
Coordinates c with L(c) < W, where L is a mixed radix whose box reaches W, are one coordinate w = L(c) of 0 .. W - 1: so
a persistent loop, a split of K and a predicated tile visit each w exactly once.
""",
    ),
    Theorem(
        "T21",
        "Stores",
        """\
Let an element that a store writes be T s + r, with s by blocks and loops, r by lanes, 0 <= r < T in each mode. If s
takes each tile of the tensor once, each r belongs to one lane of each store that has it, and of the stores that share
an r the conditions of exactly one hold wherever T s + r is inside the tensor, then each element is stored exactly once:
e // T fixes the step, e mod T the lanes, and the conditions leave one. Stores of one stretch of memory that stay in it
and those of the next may be judged apart; so may rows, if no store leaves the row that it begins in.
""",
    ),
    Theorem(
        "T22",
        "Thresholds",
        """\
Where f does not decrease and f(x*) <= limit < f(x* + 1), the claim f(x) <= limit holds exactly for x <= x*: no
condition on x is weaker. Affine f gives x* by one division, any other by doubling and bisection.
""",
    ),
    Theorem(
        "T23",
        "Weakest divisibility",
        """\
Of the q for which q | x makes m divide p(x), one divides all others. It is found prime by prime over the divisors of m,
and is the weakest repair of this form.
""",
    ),
    Theorem(
        "T24",
        "Repairs",
        """\
A repair is a condition that the assumptions admit and under which the claim is proved by the ordinary methods, never by
samples. It is called the weakest of its form where each immediate weaker neighbour has a counterexample of its own.
""",
    ),
)

INTRODUCTION = """\
A flattened layout has modes (n_k, s_k); its offset at digits d_k in [0, n_k) is L(d) = sum d_k s_k. Extents and strides
are integer polynomials in sizes that meet the assumptions. An empty domain has nothing to prove, so a *proof* may
assume n_k >= 1; a refutation shows a point.

This page is written by `python -m symlayout.answers.theorems > docs/theorems.md`; `symlayout explain T3` reads the same
rows.
"""

ASSUMED = """\
What is assumed besides the listed facts: Python's integers, the
[checker](../checkers/trusted/certificate_checker.py), the translation of a layout into modes, and for verdicts that
name it, Z3. For a claim with a certificate the checker translates anew, from the statement
([what a certificate says](what_a_proof_means.md)).
"""


def page() -> str:
    """The page of all theorems, as Markdown."""
    parts = (f"**{t.head}.** {t.text}" for t in THEOREMS)
    texts = (_filled(p) for text in (INTRODUCTION, *parts, ASSUMED) for p in text.strip().split("\n\n"))
    return "\n\n".join(["# The theorems behind the methods", *texts]) + "\n"


def _filled(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), COLUMNS, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    print(page(), end="")
