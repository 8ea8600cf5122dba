"""The widths that a kernel needs: 32 bits for what is shown to fit, 64 for the rest.

>>> from symlayout import dim
>>> from symlayout.kernel import Builder
>>> from symlayout.layout import Layout
>>> N = dim("N")
>>> k = Builder("clear", N, grid=((N + 255) // 256,), threads=32)
>>> x, r = k.global_tensor("x", "f32", Layout(N)), k.registers("r", "f32", 8)
>>> first = 8 * (32 * k.block[0] + k.thread)
>>> with k.where(first + 8 <= N):
...     k.copy("st.global.16", r(), x(first))
>>> [str(x) for x in with_widths(k.kernel()).wide]
['256*block_x + 8*thread + 8']
"""

from __future__ import annotations

from symlayout.answers.report import Outcome
from symlayout.expr import Int
from symlayout.kernel import Kernel
from symlayout.kernel.integer_widths import Evaluation, Ranges, widened

from .budget import Budget
from .claims.arithmetic_fits import PartialFits, partial_fits
from .prover import decide

QUICK = Budget(solver_ms=200, repairs=False, failures=False)


def with_widths(kernel: Kernel) -> Kernel:
    """The kernel with 32 bits wherever every partial result is shown to fit, and 64 elsewhere.

    Ranges show most; of the rest each is a claim of its own, under the assumptions and the conditions around. What
    is computed from a result of 64 bits has 64 as well.
    """
    ranges = Ranges(kernel)
    known: dict[PartialFits, bool] = {}

    def fits(e: Evaluation, value: Int) -> bool:
        if ranges.fit(e, value):
            return True
        claim = partial_fits(kernel, e, value, 32)
        if claim not in known:
            known[claim] = decide(claim, QUICK).outcome is Outcome.PROVED
        return known[claim]

    return widened(kernel, fits)
