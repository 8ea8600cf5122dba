"""Machine code held against the operations of a kernel: what is missing and what should not be there is named."""

import pytest

import gpu
from gpu.cubin.sass import Instructions, read
from gpu.machine_code import KINDS, MachineCode, _counted, machine_code, wanted
from symlayout import dims
from symlayout.atoms import ATOMS, MmaAtom
from symlayout.kernels import tma_copy
from symlayout.kernels.families import families, family
from symlayout.ops import Copy
from tests.support.compilers import NEEDS_MACHINE_CODE

KERNEL = tma_copy(*dims("M N"))
GOOD = ("UTMALDG.2D", "UTMASTG.2D", "SYNCS.EXCH.64", "BAR.SYNC", "FENCE.VIEW.ASYNC", "IMAD")


def counted(*opcodes):
    lines = [f"  /*{16 * i:04x}*/ {opcode} R1 ;" for i, opcode in enumerate(opcodes)]
    code = Instructions(tuple(read("\n".join([".text.k:", *lines]))["k"]))
    return MachineCode("k", 32, 65600, tuple(_counted(KERNEL, code)))


def test_code_as_the_kernel_says():
    found = counted(*GOOD, "UTMALDG.2D")

    assert found
    assert str(found) == "32 registers, 65600 B of shared memory: 2 UTMALDG, 1 UTMASTG, 1 SYNCS, 1 BAR"


def test_what_is_never_executed_does_not_count():
    code = read("\n".join([".text.k:", "  /*0000*/ @!PT LDS RZ, [RZ] ;", "  /*0010*/ @!P0 LDS R0, [R1] ;"]))["k"]
    [row] = [kind for kind in KINDS if kind.opcode == "LDS"]

    assert row.opcodes(Instructions(tuple(code))) == ["LDS"]


@pytest.mark.parametrize(
    "opcodes, words",
    [
        (GOOD[1:], "expected some UTMALDG (tensor loads), got 0"),
        ((*GOOD, "LDG.E.128"), "expected no LDG (loads of global memory), got 1"),
        ((*GOOD, "STL.64", "LDL"), "expected no STL|LDL (local memory), got 2"),
        ((*GOOD, "UTMAREDG.2D.ADD"), "expected no UTMAREDG (tensor reductions), got 1"),
        ((*GOOD, "ATOMS.ADD"), "expected no ATOMS (atomics), got 1"),
    ],
)
def test_what_is_missing_and_what_is_too_many_is_named(opcodes, words):
    found = counted(*opcodes)

    assert not found
    assert [str(w) for w in found.wrong] == [words]


def test_opcodes_that_begin_alike_are_apart():
    """LDG is not LDGSTS, LDS not LDSM, HMMA not HGMMA, SYNCS not ...: no opcode is of two kinds."""
    opcodes = (
        "LDG.E",
        "LDGSTS.E",
        "LDGDEPBAR",
        "LDS.128",
        "LDSM.16.M88",
        "STS",
        "STSM",
        "HMMA.16816",
        "HGMMA.64x256x16",
        "UBLKCP.S.G",
        "UBLKCP.G.S",
    )
    kinds = {
        o: [k.what for k in KINDS if k.opcodes(Instructions(tuple(read(f".text.k:\n /*0000*/ {o} R1 ;")["k"])))]
        for o in opcodes
    }

    assert {o: len(found) for o, found in kinds.items()} == {o: int(o != "LDGDEPBAR") for o in opcodes}


@pytest.mark.parametrize("word", [w for w, row in ATOMS.items() if not isinstance(row, MmaAtom)])
def test_every_instruction_of_the_language_is_of_one_kind(word):
    op = Copy.__new__(Copy)
    object.__setattr__(op, "atom", word)

    assert sum(kind.of(op) for kind in KINDS) == 1, word


@NEEDS_MACHINE_CODE
@pytest.mark.parametrize("name", [f.name for f in families()])
def test_the_machine_code_of_every_family_is_as_it_says(name):
    kernel = family(name).build()
    found = machine_code(kernel, gpu.Generated(kernel).cubin)

    assert found, str(found)
    assert {k.what for k in wanted(kernel)} == {c.what for c in found.counted if c.instructions}
