"""Products that ptxas refuses for the registers of a launch, whatever setmaxnreg gives a role later."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gpu
from checkers import RegistersFit, prove
from gpu.errors import CompileError
from symlayout import dims
from symlayout.answers.report import Outcome
from symlayout.arch import SM90
from symlayout.atoms import ATOMS, MmaAtom
from symlayout.kernel import Kernel
from symlayout.kernels import gemm
from tests.support.atom_products import warpgroup
from tests.support.compilers import NEEDS_COMPILER
from tests.support.warp_products import product

# word, threads of a CTA, CTAs of an SM, and whether ptxas of CUDA 13.0 takes it with so many
LAUNCHES = (
    ("wgmma.m64n200k16.bf16", 512, 1, True),
    ("wgmma.m64n208k16.bf16", 512, 1, False),
    ("wgmma.m64n208k16.bf16", 384, 1, True),
    ("wgmma.m64n208k16.bf16", 256, 2, False),
    ("wgmma.m64n192k16.bf16.rs", 512, 1, True),
    ("wgmma.m64n200k16.bf16.rs", 512, 1, False),
    ("wgmma.m64n128k16.f16.f16", 1024, 1, True),
    ("wgmma.m64n160k16.f16.f16", 1024, 1, False),
    ("mma.m16n8k4.f64", 1024, 1, True),
    ("mma.m16n8k4.f64", 1024, 2, False),
    ("mma.m8n8k4.f64", 1024, 2, True),
)
CLOSE = [("wgmma.m64n200k16.bf16", 512), ("wgmma.m64n208k16.bf16", 512), ("mma.m16n8k4.f64", 1024)]


def launched(word: str, threads: int, ctas: int) -> Kernel:
    made = warpgroup(word) if word.startswith("wgmma") else product(word)
    return replace(made, threads=threads, ctas_per_sm=ctas)


@pytest.mark.parametrize("word, threads, ctas, taken", LAUNCHES)
def test_a_launch_has_the_registers_that_a_product_needs(word: str, threads: int, ctas: int, taken: bool) -> None:
    assert taken is (ATOMS[word].launch_registers <= SM90.registers_at(threads, ctas))  # type: ignore[attr-defined]
    (v,) = prove(RegistersFit(launched(word, threads, ctas))).verdicts
    assert v.outcome is (Outcome.PROVED if taken else Outcome.REFUTED)
    assert taken or f"{word} needs" in str(v.witness)


@NEEDS_COMPILER
@pytest.mark.parametrize("word, threads, ctas, taken", [x for x in LAUNCHES if x[:2] in CLOSE])
def test_the_compiler_agrees(word: str, threads: int, ctas: int, taken: bool) -> None:
    text = gpu.emit(launched(word, threads, ctas)).text
    if taken:
        assert gpu.compile(text, "sm_90a", allow=("spills", "stack"))
    else:
        with pytest.raises(CompileError, match=r"Insufficient registers \(128\)|register target constraints"):
            gpu.compile(text, "sm_90a")


def test_setmaxnreg_does_not_help() -> None:
    """The sums fit the 160 registers of a consumer, and 3 x 160 + 24 is less than 4 x 128: it was proved."""
    four = replace(gemm(*dims("M N K"), tile=(128, 256)), threads=512)
    (v,) = prove(RegistersFit(four)).verdicts
    assert v.outcome is Outcome.REFUTED
    assert (
        "wgmma.m64n256k16.bf16 needs 154 registers of each thread at the launch, 26 more than sm_90a gives 512"
        in str(v.witness)
    )


def test_no_product_needs_more_than_one_cta_of_its_issuers_has() -> None:
    rows = [row for row in ATOMS.values() if isinstance(row, MmaAtom)]
    assert all(row.launch_registers <= SM90.registers_at(row.threads) for row in rows)
