"""Differential tests on a stand-in whose kernels are right or wrong in one way: what the table says of each."""

import pickle
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gpu
from checkers import prove
from gpu import running
from gpu.cubin import Cubin
from gpu.differential import cases, data, edges, testing
from gpu.differential.sizes import nearest, tiles
from gpu.errors import DeviceError, NoDeviceError, NotProvedError, RunError
from gpu.guards import Guarded
from symlayout import Layout, dim, dims, f32
from symlayout.errors import AssumptionError, LayoutError
from symlayout.kernel import Builder
from symlayout.kernels import axpby, gather_rows, gemm, vector_copy
from tests.support import cuda_stand_in as stand_in
from tests.support.kernel_families import BY_WORD, FAMILIES
from tests.support.rows import telling

KERNEL = vector_copy(dim("N"))
CERTIFICATE = prove(KERNEL).certificate
SMALL = ({"N": 100}, {"N": 1000})


@pytest.fixture
def machine(monkeypatch):
    machine = stand_in.install(monkeypatch)
    monkeypatch.setattr(
        running, "compile", lambda *_, **__: Cubin((Path(__file__).parent / "data" / "vector_copy.cubin").read_bytes())
    )
    monkeypatch.setattr(testing, "availability", lambda: stand_in.libraries.Availability(True, "here", 1))
    for module in (cases, testing):
        monkeypatch.setattr(module, "defined", lambda _: "this test is of comparisons on the host")
    for cached in (cases._generated, cases._defined):
        cached.cache_clear()
    return machine


def copying(wrong):
    """A kernel that copies, then does something *wrong* to memory, given dst's address and how many elements it has."""

    def kernel(machine, pieces):
        source, to = (struct.unpack("<Q", p)[0] for p in pieces[:2])
        n = int.from_bytes(pieces[2], "little")
        machine.bytes_at(to, 4 * n)[:] = bytes(machine.bytes_at(source, 4 * n))
        wrong(machine, source, to, n)

    return kernel


def compared(machine, wrong=lambda *_: None, sizes=SMALL, **more):
    machine.kernels["vector_copy"] = copying(wrong)
    return gpu.differential_test(KERNEL, CERTIFICATE, sizes, isolated=False, **more)


# -- what the table says ---------------------------------------------------------------------------------------


def test_a_right_kernel_is_the_same_at_all_edges(machine):
    found = compared(machine, sizes="edges", large_bytes=1 << 16)

    assert found
    assert {c.word for c in found.cases} >= {"least", "one tile", "below a tile", "above a tile", "random", "large"}
    assert {c.data for c in found.cases} == {"numbers", "bits"}
    assert all(c.compared == ("reference", "untimed run") for c in found.cases)
    assert str(found).splitlines()[0] == (
        f"vector_copy {KERNEL.digest[:16]} for sm_90a on Stand-in H200: {len(found.cases)} of {len(found.cases)} cases the same"
    )
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_wrong_element_is_told_with_its_place_and_the_operation_that_wrote_it(machine):
    def wrong(machine, source, to, n):
        machine.bytes_at(to + 4 * (n - 1), 4)[:] = b"\0\0\0\0"

    found = compared(machine, wrong, [{"N": 99}])

    assert not found
    [case, _] = found.cases
    assert case.outcome == "differs"
    assert case.told.startswith(
        "dst differs from the reference in 1 of 99 elements, first at (98,), offset 98: expected 99099.0 ("
    )
    assert case.told.endswith("got 0.0 (00000000), written by st.global.4 x -> dst[512*block_x + j + 4*thread]")
    assert case.told in str(found).replace("\n    ", "\n")


def test_a_wrong_bit_of_a_nan_is_seen(machine):
    def wrong(machine, source, to, n):
        machine.bytes_at(to, 1)[0] ^= 1

    numbers, bits = compared(machine, wrong, [{"N": 64}]).cases

    assert (numbers.outcome, bits.outcome) == ("differs", "differs")
    assert "expected nan" in bits.told


def test_where_no_untimed_run_was_made_the_store_is_named_that_covers_the_element(machine, monkeypatch):
    monkeypatch.setattr(cases, "UNTIMED_BYTES", 0)

    def wrong(machine, source, to, n):
        machine.bytes_at(to + 4 * (n - 2), 1)[0] ^= 1

    [case, _, other, _] = compared(machine, wrong, [{"N": 1003}, {"N": 1000}]).cases

    assert case.compared == ("reference",)
    assert case.told.endswith("written by st.global.4 x -> dst[512*block_x + j + 4*thread], CTA 1, thread 122, j = 1")
    assert other.told.endswith("written by st.global.16 x -> dst[512*block_x + 4*thread], CTA 1, thread 121")


def test_where_numbers_do_not_say_who_wrote_it_all_stores_are_named(machine, monkeypatch):
    monkeypatch.setattr(cases, "UNTIMED_BYTES", 0)
    monkeypatch.setattr("checkers.coverage.writes.BLOCKS_LOOKED_AT", 0)

    case = compared(machine, lambda machine, _, to, n: machine.bytes_at(to, 1).__setitem__(0, 1)).cases[0]

    assert "which st.global.16" in case.told
    assert " or st.global.4" in case.told


@pytest.mark.parametrize(
    "wrong, outcome, told",
    [
        (lambda m, s, to, n: m.bytes_at(to + 4 * n, 2).__setitem__(0, 1), "wrote outside", "1 bytes written behind"),
        (lambda m, s, to, n: m.bytes_at(to - 8, 2).__setitem__(0, 1), "wrote outside", "before it, the nearest 8"),
        (
            lambda m, s, to, n: m.bytes_at(s, 1).__setitem__(0, m.bytes_at(s, 1)[0] ^ 1),
            "wrote outside",
            "src, which the kernel only reads",
        ),
    ],
)
def test_what_lies_around_is_looked_at(machine, wrong, outcome, told):
    found = compared(machine, wrong)

    assert [c.outcome for c in found.cases] == [outcome] * 4
    assert all(told in c.told for c in found.cases)


def test_what_no_operation_writes_stays_poison(machine):
    machine.kernels["vector_copy"] = lambda machine, pieces: None

    found = gpu.differential_test(KERNEL, CERTIFICATE, [{"N": 8}], isolated=False)

    assert all("(a5a5a5a5)" in c.told for c in found.cases)


def test_bytes_between_rows_are_looked_at(machine):
    k = Builder("rows", grid=(1,), threads=32)
    k.global_tensor("dst", f32, Layout((2, 3), (8, 1)))
    tensor = k.kernel().tensor("dst")

    with gpu.Device() as device:
        region = Guarded(device, tensor)
        start = region.__cuda_array_interface__["data"][0]
        for at in (0, 32 + 4 * 2):  # the first element and the last
            machine.bytes_at(start + at, 4)[:] = b"!!!!"
        region.expect_gaps()

        machine.bytes_at(start + 12, 2)[:] = b"!!"
        with pytest.raises(
            RunError, match="bytes between the elements of dst untouched, got 2 others, the first at byte 12"
        ):
            region.expect_gaps()


def test_a_fault_is_a_row_and_what_follows_runs(machine):
    def fault(machine, source, to, n):
        if n == 100:
            machine.busy = 1 << 40

    machine.kernels["vector_copy"] = copying(fault)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpu.device.LIMIT_S", 0.05)
        patch.setattr(gpu.Device.__init__, "__defaults__", (0, 0.05))
        found = gpu.differential_test(KERNEL, CERTIFICATE, [{"N": 100}], isolated=False)

    assert [c.outcome for c in found.cases] == ["no answer"]
    assert "expected vector_copy to end within" in found.cases[0].told


# -- in child processes ------------------------------------------------------------------------------------------


def test_cases_have_processes_of_their_own(machine, monkeypatch):
    monkeypatch.setattr(testing, "CASES", "tests.support.child_cases:differential_case")

    found = gpu.differential_test(KERNEL, CERTIFICATE, [{"N": n} for n in (1, 2, 3, 4, 5)], limit_s=2)

    assert [c.outcome for c in found.cases] == ["same", "fault", "no answer", "fault", "same"]
    assert "an illegal memory access" in found.cases[1].told
    assert not found


# -- what is refused ---------------------------------------------------------------------------------------------


def test_another_certificate_is_refused(machine):
    other = vector_copy(dim("N"), threads=64)

    with pytest.raises(NotProvedError, match="expected the certificate of <kernel vector_copy"):
        gpu.differential_test(other, CERTIFICATE, SMALL, isolated=False)


def test_a_certificate_for_another_device_is_refused(machine):
    machine.capability = (8, 0)

    with pytest.raises(NotProvedError, match="it was proved on sm_90a, not on sm_80"):
        compared(machine)


def test_without_a_certificate_the_table_says_so(machine):
    machine.kernels["vector_copy"] = copying(lambda *_: None)

    assert ", not proved: 4 of 4" in str(gpu.differential_test(KERNEL, None, SMALL, isolated=False))


def test_without_a_device_nothing_is_tried():
    if gpu.availability().ok:
        pytest.skip("a device is here")
    with pytest.raises(NoDeviceError):
        gpu.differential_test(KERNEL, CERTIFICATE, SMALL)


@pytest.mark.parametrize(
    "sizes, error, words",
    [
        ("corners", LayoutError, "expected 'edges' or a list of sizes, got 'corners'"),
        ([], LayoutError, "expected at least one choice of sizes"),
        ([{"N": 0}], AssumptionError, "expected sizes that meet N >= 1, got N = 0"),
        ([{"M": 1}], AssumptionError, "expected sizes N, got M"),
    ],
)
def test_sizes_that_are_none(machine, sizes, error, words):
    with pytest.raises(error, match=words):
        compared(machine, sizes=sizes)


# -- sizes and data ------------------------------------------------------------------------------------------------


NAMED = {f.name: f for f in FAMILIES[::-1]}  # one of each: other types have their edges at other multiples


@pytest.mark.parametrize("family", telling(FAMILIES, *NAMED.values(), BY_WORD["bulk_copy_bf16"]), ids=lambda f: f.word)
def test_edges_are_admissible_and_around_the_tiles(family, decided):
    kernel = family.build()
    kernel = kernel.assuming(*prove(kernel, cache=decided).repairs)
    tile = tiles(kernel)
    found = edges(kernel, large_bytes=1 << 20)

    assert all(kernel.bind(**sizes) for _, sizes in found)
    assert len({tuple(sizes.items()) for _, sizes in found}) == len(found) >= 8
    assert any(sizes[k] < n for _, sizes in found for k, n in tile.items())
    assert any(sizes[k] > n and sizes[k] % n for _, sizes in found for k, n in tile.items())


def test_sizes_that_depend_on_others_follow_them():
    N = dim("N")
    k = Builder("rows", N, ld := dim("ld", at_least=N), grid=(1,), threads=32)
    kernel = k.kernel().assuming(ld.multiple_of(4))

    assert nearest(kernel, {"N": 9, "ld": 1}) == {"N": 9, "ld": 12}


def test_sizes_begin_where_the_assumptions_do():
    N = dim("N")
    found = dict(edges(vector_copy(N).assuming(N >= 10000, N.multiple_of(7)), large_bytes=1 << 20))

    assert found["least"] == {"N": 10003}
    assert found["large"]["N"] > 100000


@pytest.mark.parametrize(
    "kernel",
    [vector_copy(dim("N", at_most=9000)), vector_copy(dim("N")).assuming(dim("N") <= 9000)],
    ids=["range", "fact"],
)
def test_sizes_end_where_the_assumptions_do(kernel):
    found = dict(edges(kernel, large_bytes=1 << 17))

    assert (found["large"], found["most"]) == ({"N": 8999}, {"N": 9000})
    assert "most" not in dict(edges(kernel, large_bytes=1 << 16))
    assert "most" not in dict(edges(KERNEL, large_bytes=1 << 17))


def test_a_kernel_whose_assumptions_admit_nothing_is_an_error():
    N = dim("N")

    with pytest.raises(LayoutError, match="expected sizes that meet what vector_copy assumes, found none"):
        edges(vector_copy(N).assuming(N >= 5, N <= 4))


def test_bits_hold_what_arithmetic_would_change():
    for kind in ("f32", "f16", "bf16", "f64"):
        bound = vector_copy(dim("N"), dtype=kind).bind(N=1000)
        x = dict(data.data_sets(bound))["bits"]["src"]
        with np.errstate(invalid="ignore"):
            wide = x.astype(np.float64)

        assert np.isnan(wide).any()
        assert np.isposinf(wide).any()
        assert np.isneginf(wide).any()
        assert (np.signbit(wide) & (wide == 0)).any()
        assert (
            (np.abs(wide) > 0)
            & (np.abs(wide) < float(np.finfo(np.float32).tiny if kind in ("f32", "bf16") else np.finfo(x.dtype).tiny))
        ).any()


@pytest.mark.parametrize(
    "kernel, sizes, moved",
    [
        (KERNEL, {"N": 8}, ("src",)),
        (axpby(dim("N")), {"N": 8}, ()),
        (gather_rows(*dims("K M N")), {"K": 2, "M": 3, "N": 4}, ("src",)),
        (gemm(*dims("M N K")), {"M": 8, "N": 8, "K": 8}, ()),
    ],
)
def test_only_what_is_moved_gets_bits(kernel, sizes, moved):
    assert data.only_moved(kernel.bind(**sizes)) == moved


def test_a_reference_of_another_type_is_an_error():
    bound = replace(KERNEL.bind(N=4), reference=lambda src: {"dst": src.astype(np.float64)})

    with pytest.raises(LayoutError, match=r"expected a reference of shape \(4,\) and type float32 for dst"):
        data.wanted(bound, {"src": np.ones(4, np.float32)})


def test_errors_of_a_device_are_faults():
    assert (
        testing._ended("least", {"N": 1}, testing.RaisedError("DeviceError: x", kind="DeviceError"), 1.0).outcome
        == "fault"
    )
    assert issubclass(NoDeviceError, DeviceError)
