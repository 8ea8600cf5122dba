"""What is stated of the base pointers of a kernel's tensors: claims rest on it, and on no more.

The tests before took every base for address 0 and every two tensors for distinct allocations, so a vector access on a
base of 4 bytes, a write through a second name and a const tensor that is written could not be told from right kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from checkers import claims_of, prove
from checkers.aliases import changed_by, met
from symlayout import Layout, ceil_div, dim, dims
from symlayout.answers.report import Outcome
from symlayout.errors import AssumptionError, ExecutionError, LayoutError
from symlayout.kernel import Builder, Kernel, KernelTensor
from symlayout.kernel.launch_checks import check_launch
from symlayout.kernel.specification import element
from symlayout.kernel.value import tensor_assumptions
from symlayout.kernels import bulk_copy, tma_copy, vector_copy
from symlayout.semantics import execute


def stated(kernel: Kernel, name: str, **fields: Any) -> Kernel:
    """A kernel that states other things of one tensor."""
    return replace(kernel, tensors=tuple(replace(t, **fields) if t.name == name else t for t in kernel.tensors))


def outcomes(kernel: Kernel, kind: str) -> list[Outcome]:
    return [v.outcome for v in prove([c for c in claims_of(kernel) if c.kind == kind]).verdicts]


@pytest.mark.parametrize("align", [1, 2, 4, 8, 16, 32, 256])
@pytest.mark.parametrize("vector", [4, 8, 16])
def test_an_access_is_aligned_only_where_the_base_is(align: int, vector: int) -> None:
    if align < 4:
        with pytest.raises(LayoutError, match="power of two of at least 4, the bytes of an element"):
            stated(vector_copy(dim("N")), "src", align_bytes=align)
        return
    kernel = stated(vector_copy(dim("N"), vector_bytes=vector), "src", align_bytes=align)
    found = outcomes(kernel, "aligned")
    expected = Outcome.PROVED if align >= vector else Outcome.REFUTED
    assert found[0] is expected, "the vector load of src"
    assert found[1:] == [Outcome.PROVED] * (len(found) - 1)


def test_a_base_is_no_size_of_which_a_repair_could_be_about() -> None:
    report = prove(stated(vector_copy(dim("N")), "src", align_bytes=4))
    assert not report
    assert report.repairs == ()
    bad = next(v for v in report.verdicts if v.outcome is Outcome.REFUTED)
    assert "src_base" in str(bad.claim)
    assert "which 16 does not divide" in str(bad)


def test_an_access_of_32_bytes_on_a_base_of_16_is_not_proved() -> None:
    k = Builder("wide", grid=(4,), threads=32)
    x, r = k.global_tensor("x", "f32", Layout(1024)), k.shared_tensor("r", "f32", Layout(1024))
    from checkers.access_claims import access
    from symlayout.kernel.sites import sites

    k.copy("cp.async.16", x(256 * k.block[0] + 8 * k.thread), r(8 * k.thread))
    kernel = k.kernel()
    (site,) = sites(kernel)
    aligned = lambda kernel: next(c for c in access(kernel, site, site.op.src, 32) if c.kind == "aligned")  # noqa: E731
    assert prove(aligned(kernel)).verdicts[0].outcome is Outcome.REFUTED
    assert prove(aligned(stated(kernel, "x", align_bytes=32)))


@pytest.mark.parametrize("align,outcome", [(4, Outcome.REFUTED), (8, Outcome.REFUTED), (16, Outcome.PROVED)])
def test_a_tensor_map_is_at_the_base_of_its_tensor(align: int, outcome: Outcome) -> None:
    kernel = stated(tma_copy(*dims("M N", multiple_of=4), tile=(16, 64), slots=4, blocks=132), "src", align_bytes=align)
    found = prove([c for c in claims_of(kernel) if c.kind == "tensor map valid"]).verdicts
    assert (outcome is Outcome.REFUTED) == any(v.outcome is Outcome.REFUTED for v in found)
    assert all("multiple of 16" in str(v) for v in found if v.outcome is Outcome.REFUTED)


def test_a_map_with_an_offset_of_its_own_fails_at_one_base_or_the_other() -> None:
    kernel = tma_copy(64, 256, tile=(16, 64), slots=4, blocks=132)
    moved = tuple(replace(m, tensor_map=replace(m.tensor_map, global_address=8)) for m in kernel.maps)
    kernel = stated(replace(kernel, maps=moved), "src", align_bytes=8)
    assert Outcome.REFUTED in outcomes(kernel, "tensor map valid")


def test_a_bulk_copy_needs_a_base_of_16_bytes() -> None:
    kernel = bulk_copy(dim("N", multiple_of=4), chunk=64, slots=2, blocks=2)
    assert set(outcomes(kernel, "aligned")) == {Outcome.PROVED}
    assert Outcome.REFUTED in outcomes(stated(kernel, "dst", align_bytes=8), "aligned")


# -- const ----------------------------------------------------------------------------------------------


def test_a_const_tensor_is_not_written() -> None:
    kernel = vector_copy(dim("N"))
    assert prove(stated(kernel, "src", const=True))
    report = prove(stated(kernel, "dst", const=True))
    bad = [v for v in report.verdicts if v.outcome is Outcome.REFUTED]
    assert [v.claim.kind for v in bad] == ["well formed"]
    assert "dst is const, and this writes it" in str(bad[0])
    with pytest.raises(ExecutionError, match="dst to stay as it is, since it is const"):
        execute(stated(kernel, "dst", const=True).bind(N=9), {"src": np.arange(9, dtype=np.float32)})


@pytest.mark.parametrize(
    "build", [lambda: tma_copy(64, 256, tile=(16, 64), slots=4, blocks=132), lambda: bulk_copy(64, chunk=32, blocks=1)]
)
def test_a_const_tensor_is_not_written_by_copies_either(build: Any) -> None:
    kernel = stated(build(), "dst", const=True)
    assert outcomes(kernel, "well formed") == [Outcome.REFUTED]
    with pytest.raises(ExecutionError, match="dst to stay as it is, since it is const"):
        execute(kernel, {"src": np.ones(kernel.tensor("src").layout.shape, dtype=np.float32)})


# -- aliases --------------------------------------------------------------------------------------------


def test_claims_that_take_tensors_to_be_apart_say_so_where_they_may_not_be() -> None:
    kernel = stated(vector_copy(dim("N")), "dst", may_alias=("src",))
    assert kernel.aliases("src") == ("dst",)
    assert kernel.aliases("dst") == ("src",)
    (computes,) = (v for v in prove(kernel).verdicts if v.claim.kind == "computes")
    assert computes.outcome is Outcome.UNKNOWN
    assert "src and dst may be at one address, and the kernel writes dst" in str(computes)


def test_an_output_at_the_address_of_another_is_not_shown_to_be_written_once() -> None:
    N = dim("N")
    k = Builder("twice", N, grid=(ceil_div(N, 32),), threads=32)
    at, r = 32 * k.block[0] + k.thread, k.registers("r", "f32", 1)
    x, a, b = (k.global_tensor(name, "f32", Layout(N)) for name in "xab")
    with k.where(at < N):
        k.copy("ld.global.4", x(at), r())
        k.copy("st.global.4", r(), a(at))
        k.copy("st.global.4", r(), b(at))
    apart = k.kernel()
    assert outcomes(apart, "written once") == [Outcome.PROVED] * 2
    assert outcomes(stated(apart, "b", may_alias=("a",)), "written once") == [Outcome.UNKNOWN] * 2
    assert outcomes(stated(apart, "b", may_alias=("x",)), "written once") == [Outcome.PROVED] * 2


def test_an_index_that_the_kernel_may_change_is_not_that_of_the_data() -> None:
    N = dim("N")
    k = Builder("gather", N, grid=(ceil_div(N, 32),), threads=32)
    at, r = 32 * k.block[0] + k.thread, k.registers("r", "i32", 1)
    idx, dst = k.global_tensor("idx", "i32", Layout(N)), k.global_tensor("dst", "i32", Layout(N), may_alias="idx")
    with k.where(at < N):
        i = k.load_index("i", idx(at), within=(0, N))
        k.copy("ld.global.4", idx(i), r())
        k.copy("st.global.4", r(), dst(at))
    kernel = k.kernel()
    assert changed_by(kernel, "idx") == ("dst",)
    assert met(kernel)
    (formed,) = (v for v in prove(kernel).verdicts if v.claim.kind == "well formed")
    assert formed.outcome is Outcome.UNKNOWN
    assert "dst, which may be at the address of idx" in str(formed)


def test_a_run_with_one_array_for_two_tensors_has_one_memory_for_both() -> None:
    k = Builder("shift", grid=(1,), threads=32)
    a, b = k.global_tensor("a", "f32", Layout(64)), k.global_tensor("b", "f32", Layout(32), may_alias="a")
    r = k.registers("r", "f32", 1)
    k.copy("ld.global.4", a(k.thread + 32), r())
    k.copy("st.global.4", r(), b(k.thread))
    x = np.arange(64, dtype=np.float32)
    assert (execute(k.kernel(), {"a": x, "b": x[:32]})["a"] == np.concatenate([x[32:], x[32:]])).all()
    assert (execute(k.kernel(), {"a": x, "b": x[:32].copy()})["a"] == x).all()


def test_names_that_a_tensor_may_alias_are_tensors_in_global_memory() -> None:
    with pytest.raises(LayoutError, match=r"expected dst to alias other tensors in global memory \(src\), got 'x'"):
        stated(vector_copy(64), "dst", may_alias=("x",))
    with pytest.raises(LayoutError, match="global memory only"):
        KernelTensor("r", "register", vector_copy(64).tensor("src").dtype, Layout(4), const=True)


# -- what is assumed, and the launch --------------------------------------------------------------------


def test_what_is_stated_is_printed_and_is_part_of_the_digest() -> None:
    kernel = vector_copy(dim("N"))
    changed = [
        stated(kernel, "src", align_bytes=8),
        stated(kernel, "src", const=True),
        stated(kernel, "dst", may_alias=("src",)),
    ]
    assert len({k.digest for k in (kernel, *changed)}) == 4
    lines = [str(k.tensor(name)) for k, name in zip(changed, ("src", "src", "dst"), strict=True)]
    assert [line.rpartition("N:1")[2] for line in lines] == [", aligned to 8 bytes", ", const", ", may alias src"]
    assert all(set(tensor_assumptions(k)) <= set(k.assumed) for k in changed)
    assert tensor_assumptions(changed[0])[:2] == (
        "the base of src is a multiple of 8 bytes",
        "the base of dst is a multiple of 16 bytes",
    )
    assert tensor_assumptions(changed[2])[-1] == "dst and src are at one address or share no byte"


BOUND = vector_copy(dim("N")).bind(N=100)


@pytest.mark.parametrize(
    "places,said",
    [
        ({"src": (0x1000, 400), "dst": (0x2008, 400)}, "dst at a multiple of 16 bytes, got address 0x2008"),
        ({"src": (0x1000, 400), "dst": (0x2000, 396)}, "at least 400 bytes of global dst"),
        ({"src": (0x1000, 400), "dst": (0x1000, 400)}, "src and dst apart"),
        ({"src": (0x1100, 400), "dst": (0x1000, 400)}, "144 bytes are of both"),
        ({"src": (0x1000, 400)}, "a place for each of src, dst"),
    ],
)
def test_a_launch_is_refused(places: dict[str, tuple[int, int]], said: str) -> None:
    with pytest.raises(AssumptionError, match=said):
        check_launch(BOUND, places)


def test_a_launch_is_allowed() -> None:
    check_launch(BOUND, {"src": (0x1000, 400), "dst": (0x1190, 400)})
    alias = stated(BOUND, "dst", may_alias=("src",))
    check_launch(alias, {"src": (0x1000, 400), "dst": (0x1000, 400)})
    with pytest.raises(AssumptionError, match="at one address or apart"):
        check_launch(alias, {"src": (0x1000, 400), "dst": (0x1010, 400)})


def test_two_tensors_that_are_only_read_may_be_where_they_like() -> None:
    k = Builder("sum", grid=(1,), threads=32)
    a, b, c = (k.global_tensor(name, "f32", Layout(32)) for name in "abc")
    x, y = k.registers("x", "f32", 1), k.registers("y", "f32", 1)
    k.copy("ld.global.4", a(k.thread), x())
    k.copy("ld.global.4", b(k.thread), y())
    k.map("add", (x(), y()), x())
    k.copy("st.global.4", x(), c(k.thread))
    data = np.arange(32, dtype=np.float32)
    assert (execute(k.kernel(), {"a": data, "b": data})["c"] == 2 * data).all()
    with pytest.raises(AssumptionError, match="expected a and c apart, since sum writes c"):
        execute(k.kernel(), {"a": data, "b": data, "c": data})


def test_a_view_that_begins_inside_its_array_is_misaligned() -> None:
    data = np.arange(104, dtype=np.float32)
    assert (execute(BOUND, {"src": data[4:]})["dst"] == data[4:]).all()
    with pytest.raises(AssumptionError, match="src at a multiple of 16 bytes, got a view that begins 4 bytes into"):
        execute(BOUND, {"src": data[1:101]})
    execute(stated(BOUND, "src", align_bytes=4), {"src": data[1:101]})


def test_a_result_is_still_asked_of_tensors_apart() -> None:
    k = Builder("move", grid=(1,), threads=32)
    a, b, r = (
        k.global_tensor("a", "f32", Layout(32)),
        k.global_tensor("b", "f32", Layout(32)),
        k.registers("r", "f32", 1),
    )
    k.copy("ld.global.4", a(k.thread), r())
    k.copy("st.global.4", r(), b(k.thread))
    k.result("b", lambda i: element("a", i))
    assert prove(k.kernel())
