"""``symlayout verify``, ``emit`` and ``kernels``: what each step says, and the exit status of every end."""

import json
import re
from pathlib import Path

import pytest

import gpu
from gpu import measuring, running
from gpu.cubin import Cubin
from gpu.differential import cases, testing
from gpu.errors import NoCompilerError
from symlayout.cli import app
from symlayout.errors import LayoutError
from symlayout.kernels.families import families, family
from tests.support import cuda_stand_in as stand_in
from tests.support.command import CliRunner
from tests.support.plain import within

NAMES = [f.name for f in families()]
DATA = Path(__file__).parents[1] / "gpu" / "data"
OWN = """
from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import bulk_copy, vector_copy
copy = vector_copy(dim("N"))
bulk = bulk_copy(dim("N"))
number = 7
def build(N) -> Kernel:
    return vector_copy(N, threads=64)
def wrong(N) -> Kernel:
    return copy.edited(lambda op: [])
"""


def run(*args):
    """The result of a command; anything but an exit is an error of ours."""
    with within(60):
        result = CliRunner().invoke(app, list(map(str, args)))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def compiled(monkeypatch):
    """The machine code of vector_copy, whatever compiler is here."""
    monkeypatch.setattr(
        running, "compile", lambda *_, **__: Cubin((DATA / "vector_copy.cubin").read_bytes(), compiler="a compiler")
    )


@pytest.fixture
def own(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(OWN)
    return file


@pytest.fixture
def device(monkeypatch, compiled):
    """A stand-in, in this process, that copies."""
    machine = stand_in.install(monkeypatch)
    monkeypatch.setattr(testing, "availability", lambda: stand_in.libraries.Availability(True, "here", 1))
    monkeypatch.setattr(testing.child, "each", lambda _, rows, limit_s: map(testing._here, rows))
    monkeypatch.setattr(testing.child, "call", lambda _, *given, limit_s: measuring.measured_at(*given))
    monkeypatch.setattr(testing, "edges", lambda kernel, *_: (("least", {"N": 1}), ("large", {"N": 999})))
    monkeypatch.setattr("gpu.differential.edges", lambda kernel, *_: (("least", {"N": 1}), ("large", {"N": 999})))
    monkeypatch.setattr(measuring, "compile", lambda *_, **__: Cubin((DATA / "sweep.cubin").read_bytes()))
    cases._generated.cache_clear()

    def copies(machine, pieces):
        source, to = (int.from_bytes(p, "little") for p in pieces[:2])
        nbytes = 4 * int.from_bytes(pieces[2], "little")
        machine.bytes_at(to, nbytes)[:] = bytes(machine.bytes_at(source, nbytes))

    machine.kernels["vector_copy"] = copies
    return machine


# -- families and texts ----------------------------------------------------------------------------------------


def test_kernels_lists_every_family_with_sizes_and_options():
    result = run("kernels")

    assert result.exit_code == 0
    assert [line.partition("(")[0] for line in result.output.splitlines()[::2]] == list(NAMES)
    assert "gemm(M, N, K)  dtype=bf16 tile=128x256 stages=4 cluster=2 blocks=128 group=8" in result.output


@pytest.mark.parametrize("name", NAMES)
def test_every_family_builds_by_its_name(name):
    assert family(name).build().dims == tuple(family(name).symbols().values())
    assert family(name).summary


def test_options_of_families_are_read_as_they_are_shown():
    from symlayout.kernels.families import shown

    assert all(f.read(k, shown(x)) == x for f in families() for k, x in f.options.items())
    with pytest.raises(LayoutError, match="expected integers such as 64x64 for tile of gemm, got '64xx'"):
        family("gemm").read("tile", "64xx")
    for wrong in ("64", "64x64x64", ""):
        with pytest.raises(LayoutError, match="expected integers such as 64x64 for tile of tma_transpose, got"):
            family("tma_transpose").read("tile", wrong)
    for option, x in (("tile", (64, 0)), ("group", -1), ("stages", 0)):
        with pytest.raises(LayoutError, match=f"expected at least 1 for {option} of gemm, got"):
            family("gemm").build(**{option: x})
    with pytest.raises(LayoutError, match=r"expected an integer for slots of tma_copy, got '1\.5'"):
        family("tma_copy").build(slots=1.5)
    with pytest.raises(
        LayoutError, match=r"expected an option of vector_copy \(dtype, vector_bytes, threads, .*\), got 'stages'"
    ):
        family("vector_copy").build(stages=3)


def test_emit_prints_the_text():
    result = run("emit", "vector_copy", "dtype=bf16")

    assert result.exit_code == 0
    assert result.output == gpu.emit(family("vector_copy").build(dtype="bf16")).text


def test_emit_writes_a_file_with_options_and_waits(tmp_path):
    result = run("emit", "tma_transpose", "--set", "tile=32x64", "stages=3", "-o", tmp_path / "new", "--delays", "5")

    text = (tmp_path / "new" / "tma_transpose.cu").read_text()
    assert result.exit_code == 0
    assert result.output.count("wrote ") == 2
    assert "cuTensorMapEncodeTiled(&dst_map" in (tmp_path / "new" / "tma_transpose_launcher.hpp").read_text()
    assert f"// digest {family('tma_transpose').build(tile=(32, 64), stages=3).digest}" in text
    assert "random waits of seed 5" in text


def test_emit_prints_or_writes_the_definition(tmp_path):
    text = gpu.define(family("axpby").build()).text

    assert run("emit", "axpby", "--definition").output == text
    assert "axpby_definition.cu" in run("emit", "axpby", "--definition", "-o", tmp_path).output.replace("\n", "")
    assert (tmp_path / "axpby_definition.cu").read_text() == text


@pytest.mark.parametrize(
    "args, words",
    [
        (["tma_cpy"], "expected a kernel family (axpby, .*), got 'tma_cpy'; did you mean tma_copy?"),
        (["tma_copy", "M"], "expected NAME=VALUE such as M=4096, got 'M'"),
        (["tma_copy", "slots=x"], "expected an integer for slots of tma_copy, got 'x'"),
        (
            ["tma_copy", "Q=3"],
            "expected a size of tma_copy (M, N) or an option (dtype, tile, slots, blocks, order, loads, stores), got 'Q'",
        ),
        (["tma_copy", "M=3"], "expected all sizes of tma_copy, got none for N"),
        (["tma_copy", "M=3", "N=-4"], "expected a number for N, got '-4'"),
        (["gemm", "tile=100x100"], "expected a tile of 64, 128 or 192 rows, got 100"),
        (["nothere.py:copy"], "expected a file before :copy, got nothere.py, which does not exist"),
        (["no_such_module:copy"], "expected no_such_module:copy to be importable"),
    ],
)
@pytest.mark.parametrize("command", ["emit", "verify"])
def test_bad_input_is_one_line_and_status_2(command, args, words):
    result = run(command, *args)

    assert result.exit_code == 2, result.output
    assert re.search(re.escape(words).replace(r"\.\*", ".*"), result.output), result.output
    assert "Traceback" not in result.output


# -- verify ------------------------------------------------------------------------------------------------------


def test_without_a_device_it_ends_when_the_machine_code_was_checked(compiled):
    result = run("verify", "vector_copy", "--dims", "N=100", "--no-device")

    assert result.exit_code == 0, result.output
    assert [line.split()[0] for line in result.output.splitlines() if line[0] != " "] == [
        "proved",
        "printed",
        "compiled",
    ]
    assert f"claims for all sizes, sm_90a: vector_copy {family('vector_copy').build().digest}" in result.output
    assert "for sm_90a, by a compiler" in result.output
    assert "registers, 0 B of shared memory" in result.output


def test_repairs_of_a_family_are_assumed_and_shown(monkeypatch):
    def none(*_, **__):
        raise NoCompilerError("expected a compiler, got none; python -m pip install 'symlayout[compile]'")

    monkeypatch.setattr(running, "compile", none)
    result = run("verify", "bulk_copy", "--no-device")

    assert "given N % 4 == 0, assumed as it makes all hold" in result.output
    assert result.exit_code == 4
    assert "pip install 'symlayout[compile]'" in result.output


def test_repairs_of_ones_own_kernel_are_asked_for(own, compiled):
    result = run("verify", f"{own}:bulk", "--no-device")

    assert result.exit_code == 1
    assert "; --assume-repairs assumes N % 4 == 0" in result.output


def test_a_size_that_is_not_admitted_is_bad_input(compiled):
    result = run("verify", "tma_copy", "--dims", "M=4", "N=5")

    assert result.exit_code == 2
    assert "expected sizes that meet N % 4 == 0, got M = 4, N = 5" in result.output


@pytest.mark.parametrize("name", ["copy", "build"])
def test_ones_own_kernel_and_a_function_that_builds_one(own, compiled, name):
    result = run("verify", f"{own}:{name}", "--no-device", "--format", "json")

    answer = json.loads(result.output)
    assert (result.exit_code, answer["status"]) == (0, 0)
    assert answer["proved"]["kernel"] == "vector_copy"
    assert answer["compiled"]["arch"] == "sm_90a"


def test_a_wrong_kernel_ends_before_the_compiler(own, compiled):
    result = run("verify", f"{own}:wrong", "--format", "json")

    answer = json.loads(result.output)
    assert result.exit_code == answer["status"] == 1
    assert set(answer) == {"unproved", "status", "error"}


def test_what_is_no_kernel_is_bad_input(own):
    assert run("verify", f"{own}:number").exit_code == 2


def test_text_and_certificate_are_written(tmp_path, compiled):
    from checkers import Bundle

    result = run("verify", "vector_copy", "--no-device", "-o", tmp_path)

    assert result.exit_code == 0
    assert Bundle.load(tmp_path / "vector_copy.certificate.json").check()
    assert (tmp_path / "vector_copy.cu").read_text() == gpu.emit(family("vector_copy").build()).text


def test_a_missing_device_is_status_4(compiled):
    if gpu.availability().ok:
        pytest.skip("a device is here")

    result = run("verify", "vector_copy")

    assert result.exit_code == 4
    assert "symlayout[gpu]" in result.output


def test_all_steps_on_a_device(device):
    result = run("verify", "vector_copy", "--dims", "N=500")

    assert result.exit_code == 0, result.output
    words = [line.split("  ")[0].strip() for line in result.output.splitlines() if line[0] != " "]
    assert [w.split()[0] for w in words] == ["proved", "printed", "compiled", "ran", "ran", "measured"]
    assert "4 of 4 cases the same" in result.output
    assert "N=500 (given)" in result.output
    assert "vector_copy(N = 500) on Stand-in H200" in result.output
    assert "of the copy" in result.output


def test_a_difference_is_status_1_and_says_where(device):
    device.kernels["vector_copy"] = lambda machine, pieces: None

    result = run("verify", "vector_copy", "--format", "json")

    answer = json.loads(result.output)
    assert result.exit_code == answer["status"] == 1
    assert "expected the same bytes in all cases, got 4 cases with others: N=1 (least)" in answer["error"]
    assert "first at (0,), offset 0" in answer["ran"]["cases"][0]["told"]
    assert "measured" not in answer


def test_with_waits_nothing_is_measured(device):
    result = run("verify", "vector_copy", "--delays", "3", "--format", "json")

    answer = json.loads(result.output)
    assert result.exit_code == 0
    assert answer["ran"]["delays"] == 3
    assert "measured" not in answer
