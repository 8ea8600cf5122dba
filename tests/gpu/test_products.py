"""Products of warps as they are printed: what starts anew is cleared, f64 and integers have registers of their own."""

from __future__ import annotations

import pytest

import gpu
from checkers import claims_of, prove
from checkers.dataflow.accumulators import Narrow, expect_held
from gpu.codegen import emit
from symlayout.answers.report import Outcome
from symlayout.atoms import ATOMS, MmaAtom
from symlayout.dtype import i32
from symlayout.facts import Facts
from symlayout.kernel.specification import dot, element
from symlayout.semantics.expected import expect_results
from tests.support.atom_products import warpgroup
from tests.support.compilers import NEEDS_MACHINE_CODE
from tests.support.warp_products import product

MIXED = tuple(
    r.word for r in ATOMS.values() if isinstance(r, MmaAtom) and r.src_b == "register" and r.types[0] != r.types[1]
)
SMALL = tuple(r.word for r in ATOMS.values() if isinstance(r, MmaAtom) and r.packed > 1)
PLAIN = ("mma.m8n8k4.f64", "mma.m16n8k16.f64", "mma.m8n8k16.i8", "mma.m16n8k16.u8", "mma.m16n8k16.bf16")
WORDS = tuple(dict.fromkeys((*PLAIN, *MIXED, *SMALL)))


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
@pytest.mark.parametrize(
    "word, opcodes",
    [
        ("mma.m8n8k4.f64", ["DMMA.8x8x4"]),
        ("mma.m8n8k16.i8", ["IMMA.8816.S8.S8"]),
        ("mma.m16n8k32.i8.u8", ["IMMA.16832.S8.U8"]),
        ("mma.m16n8k64.u4.i4", 2 * ["IMMA.16832.U8.S8"]),
        ("mma.m16n8k256.b1.and", ["BMMA.168256.AND.POPC"]),
        ("mma.m16n8k128.b1.xor", 2 * ["BMMA.168128.AND.POPC"]),
        ("mma.m16n8k32.e4m3.e5m2", 2 * ["HMMA.16816.F32"]),
        ("mma.m16n8k8.f16.f16", ["HMMA.1688.F16"]),
        ("mma.m16n8k16.f16.f16", ["HMMA.16816.F16"]),
    ],
)
def test_the_code_has_the_instruction(word, opcodes):
    every = gpu.compile(emit(product(word)).text).instructions("product").every
    assert [i.opcode for i in every if "MMA" in i.opcode] == opcodes


@NEEDS_MACHINE_CODE
@pytest.mark.parametrize("word, opcode", [("f16", "HGMMA.64x8x16.F16"), ("bf16", "HGMMA.64x8x16.F32.BF16")])
def test_sums_of_warpgroups_are_whole_registers(word, opcode):
    """Sums of 16 bits lie two to a register: the function of the instruction takes words."""
    kernel = warpgroup(f"wgmma.m64n8k16.{word}" + (".f16" if word == "f16" else ""))
    code = gpu.compile(emit(kernel).text, "sm_90a").instructions("warpgroup").every

    assert [i.opcode for i in code if "MMA" in i.opcode] == [opcode]


@NEEDS_MACHINE_CODE
@pytest.mark.parametrize(
    "arch, word, opcode",
    [
        ("sm_80", "mma.m16n8k64.u4.i4", "IMMA.16864.U4.S4"),
        ("sm_80", "mma.m16n8k256.b1.xor", "BMMA.168256.XOR.POPC"),
        ("sm_89", "mma.m16n8k32.e4m3.e5m2", "QMMA.16832.F32.E4M3.E5M2"),
    ],
)
def test_older_chips_have_it_as_one_instruction(arch, word, opcode):
    every = gpu.compile(emit(product(word)).text, arch).instructions("product").every
    assert [i.opcode for i in every if "MMA" in i.opcode] == [opcode]


@pytest.mark.parametrize(
    "word, other", [("mma.m16n8k64.i4", "i4.u4"), ("mma.m8n8k128.b1.and", "b1.xor"), ("mma.m16n8k32.u4", "i4")]
)
def test_products_of_other_elements_are_refuted(word, other):
    kernel = product(word, words=other)
    (found,) = (v for c in claims_of(kernel) if c.kind == "computes" for v in prove(c).verdicts)

    assert found.outcome is Outcome.REFUTED
    assert "expected" in str(found.witness)


def test_sums_of_words_have_to_fit():
    """512 of 8 products of -8 by -8 are 2^18: i32 holds those of 4194303 words, not of 2^22."""
    a, b = (element(x, 0) for x in "ab")
    value = dot(1 << 22, lambda k: (a, b), words="i4")
    facts = Facts.about()

    expect_held(dot((1 << 22) - 1, lambda k: (a, b), words="i4"), value.types, [i32], facts)
    with pytest.raises(Narrow, match="may wrap: expected 4194304 <= 4194303"):
        expect_held(value, value.types, [i32], facts)


@pytest.mark.gpu
@pytest.mark.parametrize("word", WORDS)
def test_a_device_multiplies_as_the_run_does(word):
    """Integers bit for bit; floats within the bound of the sums, which the reference of the test holds them to."""
    there = gpu.availability()
    if not there.ok:
        pytest.skip(there.reason)  # no PyCUDA, no driver or no device, in words
    kernel = product(word, steps=3)
    assert gpu.differential_test(kernel, prove(kernel).certificate, [{}])
