"""Mutants of comparisons, choices and functions of bits: one that a run catches is not proved."""

from __future__ import annotations

import pytest

from benchmarks.kernel_slips import mutants
from checkers import prove
from symlayout.errors import SymlayoutError
from symlayout.kernel import Kernel
from symlayout.semantics.expected import expect_results
from tests.symlayout.test_choices import bits, relu_gate


def said(mutant: Kernel) -> str:
    """What a run with telling inputs says of a mutant."""
    try:
        for n in (1, 33):
            expect_results(mutant.bind(N=n))
    except SymlayoutError as e:
        return str(e)
    return ""


@pytest.mark.parametrize("kernel", [relu_gate(), bits()], ids=["choice", "bits"])
def test_no_mutant_that_a_run_catches_is_proved(kernel: Kernel) -> None:
    found = [(name, m) for name, m in mutants(kernel) if any(w in name for w in (": function", ": srcs"))]
    caught = [(name, m) for name, m in found if said(m)]

    assert not [name for name, m in caught if prove(m)]
    assert sum(": function" in name for name, _ in caught) >= 4
    assert len(caught) >= 10
