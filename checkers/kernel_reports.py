"""The report on every claim of a kernel: for which sizes it is proved, what repairs it, what nobody asked."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from symlayout.answers.report import Outcome, Verdict
from symlayout.arch import SM90, Arch
from symlayout.expr import Fact
from symlayout.facts.scope import ranges_in_words
from symlayout.kernel import Kernel
from symlayout.tma import TensorMap

from . import prover
from .budget import Budget
from .bundle import ProofReport
from .claim import facts_of
from .claims import (
    HappensBefore,
    WellFormed,
)
from .claims.updated_once import updates
from .coverage.store_sites import outputs, reduced
from .kernel_claims import claims_of
from .redundant import redundant
from .repairs.weakest import joint

NOTHING_ELSE = "not asked: anything else, since an operation cannot be read"
QUICK = Budget(seconds=5, solver_ms=500, repairs=False)  # of a proof that tries whether an operation is needed


def prove_kernel(kernel: Kernel, arch: Arch = SM90, *, given: Iterable[Fact] = (), **options: Any) -> ProofReport:
    """The report on every claim of a kernel; what ``prove(kernel)`` calls, with its options.

    What the tensor maps need of the sizes often repairs their copies too: it is tried before any other repair, so
    ``kernel.assuming(*report.repairs)`` assumes no more than it must.

    >>> from symlayout import dims
    >>> from symlayout.kernels import tma_copy
    >>> M, N = dims("M N")
    >>> k = tma_copy(M, N, blocks=132)
    >>> report = prove_kernel(k)
    >>> report.repairs, bool(prove_kernel(k.assuming(*report.repairs)))
    ((N % 4 == 0,), True)
    """
    kernel = kernel.assuming(*facts_of(tuple(given)))
    claims = claims_of(kernel, arch)
    report = prover.report_on(claims, **options)
    digest, on = kernel.digest, str(arch)
    verdicts = tuple(
        v if v.digest == digest and v.arch == on else replace(v, digest=digest, arch=on) for v in report.verdicts
    )
    readable = any(not isinstance(c, WellFormed) for c in claims)
    notes = (*report.notes, *_not_asked(kernel)) if readable else (NOTHING_ELSE,)
    spare = functools.partial(redundant, kernel, functools.partial(_quickly, arch))
    own: dict[str, Any] = {"spare": spare, **_scope(kernel)}
    report = replace(report, verdicts=verdicts, notes=notes, digest=digest, arch=on, **own)
    needed = joint(f for v in report.verdicts if _of_a_map(v) for f in v.repairs)
    if not needed:
        return report
    found = tuple(v if _of_a_map(v) else _under(v, needed, options) for v in report.verdicts)
    return replace(report, verdicts=found, repairs=joint(f for v in found for f in v.repairs))


def _quickly(arch: Arch, kernel: Kernel) -> bool:
    """Whether all claims of a kernel are proved, those about order first."""
    return bool(prover.report_on(HappensBefore(kernel), budget=QUICK)) and bool(
        prover.report_on(claims_of(kernel, arch), budget=QUICK)
    )


def _scope(kernel: Kernel) -> Any:
    """For which sizes and under which assumptions a kernel is proved."""
    given, sizes = tuple(map(str, kernel.given)), ranges_in_words(kernel.dims)
    return {"name": kernel.name, "sizes": sizes, "given": given, "assumed": kernel.assumed}


def _not_asked(kernel: Kernel) -> Iterator[str]:
    """Questions that no claim covers: values without a result, the number of reductions, assumptions about data."""
    updated = [name for name in reduced(kernel) if name not in {c.output for c in updates(kernel)}]
    for name in sorted({*outputs(kernel)} - {*reduced(kernel)} - {r.tensor for r in kernel.results}):
        yield f"not asked: which values are stored to {name} (no result is stated; Builder.result states one)"
    for name in updated:
        yield f"not asked: how often each element of {name} is updated, and that it is written exactly once"
    for sentence in kernel.assumed:
        yield f"assumed: {sentence}"


def _of_a_map(v: Verdict) -> bool:
    return isinstance(getattr(v.claim, "subject", None), TensorMap)


def _under(v: Verdict, needed: tuple[Fact, ...], options: Any) -> Verdict:
    """A refutation with the repair that the maps need anyway, where that is one for it too."""
    if v.outcome is not Outcome.REFUTED or set(v.repairs) == set(needed):
        return v
    stronger = replace(v.claim, given=(*v.claim.given, *needed))
    if not prover.report_on(stronger, **options):
        return v
    return replace(v, repairs=needed, condition=f"{' and '.join(map(str, needed))}, which the tensor maps need as well")
