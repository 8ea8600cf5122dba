"""Large sizes compared on the device: the definition fills the twins of tensors, and no array comes to the host.

The stand-in runs the printed definition, and compares as the text that compares says.
"""

from pathlib import Path

import numpy as np
import pytest

import gpu
from checkers import prove
from gpu import running
from gpu.cubin import Cubin
from gpu.definition import comparison, define
from gpu.definition import running as definitions
from gpu.definition.comparison import Comparison, Unequal
from gpu.differential import cases, data, testing
from gpu.differential.on_device import Twins
from gpu.errors import CompileError
from symlayout import Layout, dim, dims, f32
from symlayout.kernel import Builder
from symlayout.kernels import gemm, row_sum, vector_copy
from tests.gpu.test_differential import copying
from tests.support import cuda_stand_in as stand_in
from tests.support import definition_text

DATA = Path(__file__).parent / "data"
KERNEL = vector_copy(dim("N"))
CERTIFICATE = prove(KERNEL).certificate


@pytest.fixture
def machine(monkeypatch):
    machine = stand_in.install(monkeypatch)
    found = {running: "vector_copy", definitions: "vector_copy_definition", comparison: "comparison"}
    for module, name in found.items():
        image = (DATA / f"{name}.cubin").read_bytes()
        monkeypatch.setattr(module, "compile", lambda *_, image=image, **__: Cubin(image))
    monkeypatch.setattr(testing, "availability", lambda: stand_in.libraries.Availability(True, "here", 1))
    monkeypatch.setattr(cases, "UNTIMED_BYTES", 0)
    for cached in (cases._generated, cases._defined):
        cached.cache_clear()
    definition_text.install(machine, define(KERNEL), {"src": np.float32, "dst": np.float32})
    return machine


def compared(machine, wrong=lambda *_: None, sizes=({"N": 1003},)):
    machine.kernels["vector_copy"] = copying(wrong)
    return gpu.differential_test(KERNEL, CERTIFICATE, sizes, isolated=False)


def test_a_right_kernel_is_the_same_and_no_array_comes_to_the_host(machine):
    found = compared(machine)

    assert found
    assert [c.compared for c in found.cases] == [("definition on the device",)] * 2
    assert max(call[-1] for call in machine.calls if call[0] == "memcpy_dtoh") == 24
    assert "definition on the device" in str(found)


def test_a_wrong_element_has_its_place_both_numbers_and_the_operation_that_wrote_it(machine):
    def wrong(machine, source, to, n):
        for i in (700, n - 1):
            machine.bytes_at(to + 4 * i, 4)[:] = b"\0\0\0\0"

    numbers, _ = compared(machine, wrong).cases

    assert numbers.outcome == "differs"
    assert numbers.told == (
        "dst differs from the definition in 2 of 1003 elements, first at (700,), offset 700: expected -2.7942268924391995e+29 "
        "(f061b742), got 0.0 (00000000), written by st.global.16 x -> dst[512*block_x + 4*thread], CTA 1, thread 47"
    )
    assert max(call[-1] for call in machine.calls if call[0] == "memcpy_dtoh") == 24


def test_a_wrong_bit_of_a_nan_is_seen(machine):
    _, bits = compared(machine, lambda machine, _, to, n: machine.bytes_at(to, 1).__setitem__(0, 9)).cases

    assert bits.outcome == "differs"
    assert "expected nan" in bits.told


@pytest.mark.parametrize(
    "at, told",
    [
        (lambda s, to, n: to + 4 * n + 2, "dst's surroundings untouched, got 1 bytes written behind it, the nearest 3"),
        (lambda s, to, n: to - 8, "dst's surroundings untouched, got 1 bytes written before it, the nearest 8 "),
        (
            lambda s, to, n: s + 40,
            "src, which the kernel only reads, unchanged, got 1 other bytes, the first at byte 40",
        ),
    ],
)
def test_what_lies_around_is_compared(machine, at, told):
    def wrong(machine, source, to, n):
        machine.bytes_at(at(source, to, n), 1)[0] ^= 0x40

    found = compared(machine, wrong)

    assert [c.outcome for c in found.cases] == ["wrote outside"] * 2
    assert all(told in c.told for c in found.cases)


def test_what_no_operation_writes_stays_poison(machine):
    machine.kernels["vector_copy"] = lambda machine, pieces: None

    found = gpu.differential_test(KERNEL, CERTIFICATE, [{"N": 80}], isolated=False)

    assert all("in 80 of 80 elements, first at (0,)" in c.told and "(a5a5a5a5)" in c.told for c in found.cases)


def test_bytes_between_rows_are_told_apart_from_elements(machine):
    k = Builder("rows", grid=(1,), threads=32)
    k.global_tensor("dst", f32, Layout((2, 3), (8, 1)))

    with gpu.Device() as device:
        twins, by = Twins(device, k.kernel().tensor("dst")), Comparison(device)
        twins.repeat()
        assert twins.same(by)
        machine.bytes_at(twins.address + 32 + 4 * 2, 1)[0] ^= 1  # (1, 2)
        assert (twins.elements(by), twins.units(by)) == (Unequal(1, 5, 5), Unequal(1, 10, 10))
        machine.bytes_at(twins.address + 12, 2)[:] = b"!!"
        assert (twins.elements(by), twins.units(by)) == (Unequal(1, 5, 5), Unequal(2, 3, 10))


def test_memory_is_given_back(machine):
    compared(machine)

    assert machine.memory == {}


def test_a_kernel_without_a_definition_is_compared_on_the_host_and_the_table_says_why(machine, monkeypatch):
    monkeypatch.setattr(cases, "defined", lambda kernel: "ex2.approx is approximate")

    found = compared(machine)

    assert found
    assert [c.compared for c in found.cases] == [("reference",)] * 2
    assert str(found).splitlines()[-1] == "compared on the host, not on the device: ex2.approx is approximate"


def test_where_tensors_do_not_fit_twice_they_are_compared_on_the_host(machine):
    machine.free_bytes = 16000

    found = compared(machine)

    assert [c.compared for c in found.cases] == [("reference",)] * 2
    assert "all tensors twice take 16048 bytes of device memory, and 16000 are free" in str(found)


def test_a_definition_that_does_not_compile_says_why(machine, monkeypatch):
    def refused(*_, **__):
        raise CompileError("expected vector_copy_definition.cu to compile")

    monkeypatch.setattr(definitions, "compile", refused)

    assert "expected vector_copy_definition.cu to compile" in str(compared(machine))


# -- sums whose bits depend on their order -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kernel, sizes, told",
    [
        (KERNEL, {"N": 1 << 28}, ""),
        (gemm(*dims("M N K")), {"M": 8, "N": 8, "K": 16384}, ""),
        (gemm(*dims("M N K")), {"M": 8, "N": 8, "K": 1 << 22}, "sums of 4194304 numbers may reach 16777220, and f32"),
        (row_sum(*dims("M N ld")), {"M": 8, "N": 16384, "ld": 16384}, ""),
        (row_sum(*dims("M N ld")), {"M": 1, "N": 1 << 16, "ld": 1 << 16}, "and f32 holds integers up to 16777216"),
        (row_sum(*dims("M N ld"), function="max"), {"M": 1, "N": 1 << 16, "ld": 1 << 16}, ""),
    ],
)
def test_sums_that_some_order_rounds_are_known(kernel, sizes, told):
    found = data.rounds(kernel.bind(**sizes))

    assert told in found
    assert bool(told) == bool(found)
