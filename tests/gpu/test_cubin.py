"""A cubin is read without any tool: kernels, where their parameters lie, what they use; bytes that are none are refused."""

import doctest
import importlib
import random
import struct
from pathlib import Path

import pytest

from gpu.cubin import Cubin, Instructions, Parameter, sass
from gpu.cubin.elf import HEADER
from gpu.errors import CubinError

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def image():
    return (DATA / "kernels.cubin").read_bytes()


@pytest.fixture(scope="module")
def cubin(image):
    return Cubin(image)


def test_kernels_and_architecture(cubin):
    assert [k.name for k in cubin.kernels] == ["block_given", "plain", "rich"]
    assert cubin.arch == "sm_90a"


def test_a_tensor_map_moves_every_later_parameter(cubin):
    # The bank of constants starts at 0x210: 0x70 further is the first multiple of 128 bytes.
    assert cubin.kernel("rich").parameters == ((0x70, 128), (0xF0, 8), (0xF8, 4), (0x100, 8), (0x108, 4))
    assert cubin.kernel("plain").parameters == (Parameter(0, 8), Parameter(8, 1))
    assert cubin.kernel("rich").argument_bytes == 0x10C


def test_what_kernels_use_is_what_ptxas_reported(cubin):
    """The numbers of ptxas's report, which kernels.cu quotes."""
    rows = {
        k.name: (k.registers, k.barriers, k.static_shared_bytes, k.frame_bytes, k.stack_bytes) for k in cubin.kernels
    }

    assert rows == {"block_given": (10, 0, 0, 0, 0), "plain": (12, 1, 0, 0, 0), "rich": (40, 4, 528, 256, 256)}


def test_bounds_of_launches(cubin):
    rich, plain, given = (cubin.kernel(name) for name in ("rich", "plain", "block_given"))

    assert (rich.max_threads, rich.block, rich.cluster) == (256, None, (2, 1, 1))
    assert (plain.max_threads, plain.block, plain.cluster) == (64, None, None)
    assert (given.max_threads, given.block) == (None, (128, 1, 1))


def test_it_prints_as_a_table(cubin):
    assert str(cubin) == (
        f"sm_90a cubin, {len(cubin.image)} bytes\n{cubin.kernel('block_given')}\n{cubin.kernel('plain')}\n"
        "rich\n"
        "  parameters            128 B at 0x70, 8 B at 0xf0, 4 B at 0xf8, 8 B at 0x100, 4 B at 0x108\n"
        "  registers             40\n"
        "  static shared memory  528 B\n"
        "  named barriers        4\n"
        "  stack                 256 B\n"
        "  threads               at most 256\n"
        "  cluster               2x1x1\n"
        "  code                  2688 B"
    )


def test_a_cubin_is_a_value(image):
    assert Cubin(image, log="this", compiler="that") == Cubin(image)
    assert Cubin(image).digest != Cubin(image + b"\0").digest


def test_a_missing_kernel_names_those_that_are_there(cubin):
    with pytest.raises(CubinError, match="expected a kernel of block_given, plain, rich, got 'ritch'"):
        cubin.kernel("ritch")


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda image: b"", "expected a cubin"),
        (lambda image: b"not an ELF file, for sure", "expected a cubin"),
        (lambda image: image[:40], "expected a cubin"),
        (lambda image: image[:18] + struct.pack("<H", 62) + image[20:], r"expected machine 190 \(CUDA\)"),
        (lambda image: image[:-2000], "expected"),
        (lambda image: image[:40] + struct.pack("<Q", 1 << 40) + image[48:], "table of sections"),
    ],
)
def test_bytes_that_are_no_cubin(image, damage, message):
    with pytest.raises(CubinError, match=message):
        Cubin(damage(image))


def test_no_truncation_is_read(image):
    table = struct.unpack_from("<Q", image, 40)[0]  # of sections; only program headers follow it
    for length in range(HEADER.size, table, 211):
        with pytest.raises(CubinError):
            Cubin(image[:length])


def test_damage_is_an_error_of_ours_or_none(image):
    """No traceback of struct, of an index or of text, whichever byte is wrong."""
    draw = random.Random(5)
    refused = 0
    for _ in range(2000):
        at = draw.choice((draw.randrange(64), draw.randrange(0x200, 0xA00), draw.randrange(0x2000, len(image))))
        try:
            assert len(Cubin(image[:at] + bytes([draw.randrange(256)]) + image[at + 1 :]).kernels) <= 3
        except CubinError:
            refused += 1
    assert refused > 50


# -- machine code ------------------------------------------------------------------------------------------

NVDISASM = """
.text.wgmma_gemm:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_3:
        /*0010*/               @P0 HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, !UPT, gsb0 ;
        /*0020*/              @!UP0 SYNCS.EXCH.64 URZ, [UR7], UR4 ;
        /*0030*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;
        /*0040*/                   BRA `(.L_x_3);
        /*0050*/                   NOP;
.text.other:
        /*0000*/                   EXIT ;
"""
CUOBJDUMP = """
\t\tFunction : wgmma_gemm
\t.headerflags\t@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_ACCELERATORS EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                       /* 0x00000a00ff017b82 */
                                                                                /* 0x000fe20000000800 */
        /*0010*/               @P0 HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24, !UPT, gsb0 ;  /* 0x00000a00ff017b82 */
        /*0020*/              @!UP0 SYNCS.EXCH.64 URZ, [UR7], UR4 ;             /* 0x00000a00ff017b82 */
        /*0030*/                   WARPGROUP.DEPBAR.LE gsb0, 0x1 ;              /* 0x00000a00ff017b82 */
        /*0040*/                   BRA `(.L_x_3);                               /* 0x00000a00ff017b82 */
        /*0050*/                   NOP;                                         /* 0x00000a00ff017b82 */
\t\tFunction : other
        /*0000*/                   EXIT ;                                       /* 0x00000a00ff017b82 */
"""


@pytest.mark.parametrize("text", [NVDISASM, CUOBJDUMP], ids=["nvdisasm", "cuobjdump"])
def test_instructions_of_either_disassembler(text):
    found = sass.read(text)
    code = Instructions(tuple(found["wgmma_gemm"]))

    assert [i.opcode for i in found["other"]] == ["EXIT"]
    assert code.counts == {"LDC": 1, "HGMMA": 1, "SYNCS": 1, "WARPGROUP": 1, "BRA": 1}
    assert code.every[1] == (0x10, "@P0", "HGMMA.64x256x16.F32.BF16", "R24, gdesc[UR8], R24, !UPT, gsb0")
    assert (code.every[2].predicate, code.every[2].base) == ("@!UP0", "SYNCS")


def test_counts_by_opcode_and_range():
    code = Instructions(tuple(sass.read(NVDISASM)["wgmma_gemm"]))

    assert code.count("HGMMA") == code.count("HGMMA.64x256x16") == 1
    assert code.count("HGMMA.64x64x16") == code.count("HG") == 0  # whole parts of an opcode only
    assert code.count("SYNCS", start=0x20) == code.count("SYNCS", stop=0x30) == 1
    assert code.count("SYNCS", start=0x30) == code.count("SYNCS", stop=0x20) == 0
    assert code.within(0x10, 0x30).counts == {"HGMMA": 1, "SYNCS": 1}


def test_the_machine_code_of_a_real_cubin(cubin):
    try:
        sass.disassembler()
    except CubinError as e:
        pytest.skip(str(e))
    plain, rich = cubin.instructions("plain"), cubin.instructions("rich")

    assert [plain.count(opcode) for opcode in ("STS", "BAR.SYNC", "LDS", "STG", "SYNCS")] == [1, 1, 1, 1, 0]
    assert [rich.count(opcode) for opcode in ("SYNCS.EXCH.64", "BAR", "STL", "LDL")] == [1, 2, 8, 2]
    assert rich.every[-1].address < cubin.kernel("rich").code_bytes


def test_no_disassembler(cubin, monkeypatch):
    monkeypatch.setattr(sass, "_disassemblers", lambda: iter(()))

    with pytest.raises(CubinError, match=r"expected nvdisasm or cuobjdump .*, got neither; python -m pip install"):
        cubin.instructions("plain")


def test_a_disassembler_that_hangs_is_killed(cubin, tmp_path, monkeypatch):
    program = tmp_path / "nvdisasm"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o755)
    monkeypatch.setattr(sass, "_disassemblers", lambda: iter([program]))
    monkeypatch.setattr(sass, "LIMIT_S", 0.2)

    with pytest.raises(CubinError, match=r"expected nvdisasm to end within 0.2 s, got none; killed"):
        cubin.instructions("plain")


def test_doctests():
    for name in ("gpu.cubin.sass", "gpu.cubin.cubin", "gpu.processes"):
        assert doctest.testmod(importlib.import_module(name)).failed == 0
