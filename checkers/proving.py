"""``prove``: some claims, or all claims of a kernel.

>>> from symlayout import Layout, dims
>>> from checkers import Injective
>>> M, N = dims("M N")
>>> print(prove(Injective(Layout((M, N), (1, M)))))
proved    injective: (M,N):(1,M)  [chain of strides, T2]
sizes     M, N in 1 .. 2^31 - 1
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from symlayout.arch import SM90, Arch
from symlayout.errors import ClaimError
from symlayout.expr import Fact
from symlayout.kernel import Kernel

from .budget import Budget
from .bundle import ProofReport
from .cache import Verdicts
from .prover import report_on


def prove(
    *claims: Any,
    given: Iterable[Fact] = (),
    arch: Arch | None = None,
    budget: Budget | None = None,
    cache: Verdicts | None = None,
) -> ProofReport:
    """The report on some claims (or lists of them), under the facts *given* to all.

    With a *cache*, claims that were decided before by this version are looked up. The obligations that the
    layouts carry are part of the report. For a kernel all of its claims are proved, on *arch* (default SM90), see
    ``kernel_claims``. Raises ClaimError for a value that is not a claim, and for *arch* with claims: claims that
    depend on an architecture have it as a field.

    >>> from symlayout import SM90, dim
    >>> from symlayout.kernels import vector_copy
    >>> kernel = vector_copy(dim("N"))
    >>> report = prove(kernel, arch=SM90)
    >>> bool(report), report.arch, report.digest == kernel.digest
    (True, 'sm_90a', True)
    """
    if arch is not None and not isinstance(arch, Arch):
        raise ClaimError(f"expected an architecture such as SM90 as arch, got {arch!r} ({type(arch).__name__})")
    if len(claims) == 1 and isinstance(claims[0], Kernel):
        from .kernel_reports import prove_kernel  # with all that proves kernels: claims about layouts need little

        return prove_kernel(claims[0], arch or SM90, given=given, budget=budget, cache=cache)
    if arch is not None:
        raise ClaimError(
            f"expected arch with a kernel, got {arch} with {len(claims)} claims; one that depends on an architecture "
            f"has it as a field, as in SharedMemoryFits(kernel, arch={arch.name})"
        )
    return report_on(*claims, given=given, budget=budget, cache=cache)
