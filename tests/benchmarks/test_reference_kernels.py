"""The kernels by hand compile without spills or serialized wgmma, and their arguments go where the cubin says."""

import re

import pytest

from benchmarks.hardware.reference_kernels import build, launch, run
from gpu.compiling.toolchains import Nvcc
from gpu.errors import CompileError

needs_nvcc = pytest.mark.skipif(Nvcc.found() is None, reason="no nvcc here")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    return {name: build.compile_kernel(name, tmp_path_factory.mktemp(name)) for name in run.KERNELS}


@needs_nvcc
def test_no_spills_and_no_serialized_wgmma(compiled):
    # compile_kernel raises on either; the registers show that it read the report.
    assert 0 < compiled["tma_ring_copy"].registers <= 32
    assert compiled["wgmma_gemm"].registers == 168  # 65536 / 384, rounded down to a multiple of 8


@needs_nvcc
def test_bounded_waits_compile(tmp_path):
    for name in run.KERNELS:
        build.compile_kernel(name, tmp_path, defines=(f"POLL_LIMIT={run.POLL_LIMIT}",))


@needs_nvcc
def test_parameter_table(compiled):
    # Tensor maps first: each 128 bytes, a multiple of 128 in the constant bank, which starts at 0x210.
    for name, sizes in (("tma_ring_copy", [128, 128, 4, 4, 8]), ("wgmma_gemm", [128, 128, 128, 4, 4, 4])):
        table = compiled[name].parameters
        assert [p.size for p in table] == sizes
        assert all((0x210 + p.offset) % 128 == 0 for p in table if p.size == 128)
        assert [p.offset for p in table] == sorted(p.offset for p in table)


@needs_nvcc
def test_a_doctored_kernel_is_refused(tmp_path, monkeypatch):
    source = (build.HERE / "wgmma_gemm.cu").read_text()
    (tmp_path / "ptx.cuh").write_text((build.HERE / "ptx.cuh").read_text())
    (tmp_path / "wgmma_gemm.cu").write_text(source.replace("wgmma_commit_group();", "d[0] *= 2; wgmma_commit_group();"))
    monkeypatch.setattr(build, "HERE", tmp_path)
    with pytest.raises(CompileError, match="wgmma-wait-injected: expected no wait or fence"):
        build.compile_kernel("wgmma_gemm", tmp_path)


def test_table():
    rows = [
        {"case": "a copy", "name": name, "round": i, "unit": "TB/s", "rate": rate}
        for name, rates in (("memcpy", (4.0, 4.2, 4.0)), ("tma_ring_copy", (4.0, 4.0, 4.1)))
        for i, rate in enumerate(rates)
    ]
    _, line = run.table(rows)
    # The ratio is the median of 4/4, 4/4.2 and 4.1/4, of the same rounds; not the ratio of the medians.
    assert line.split() == ["a", "copy", "TB/s", "4.000", "4.000", "1.000", "0.976..1.012", "0.952..1.025", "3"]


def test_without_nvcc(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(Nvcc, "found", classmethod(lambda cls: None))
    monkeypatch.setattr("sys.argv", ["run", "--out", str(tmp_path)])
    assert run.main() == 1
    assert "expected nvcc" in capsys.readouterr().err


def constants(name):
    """The integers that a source defines: ``constexpr ... A = 1, B = 2;``."""
    lines = [line for line in (build.HERE / f"{name}.cu").read_text().splitlines() if line.startswith("constexpr")]
    return {key: int(value) for key, value in re.findall(r"(\w+) = (\d+)[,;]", "\n".join(lines))}


def test_launches_agree_with_the_sources():
    gemm, copy = constants("wgmma_gemm"), constants("tma_ring_copy")
    product, ring = launch.Gemm, launch.RingCopy
    assert (gemm["TILE_M"], gemm["TILE_N"], gemm["TILE_K"]) == product.TILE
    assert (gemm["STORE_ROWS"], gemm["STORE_COLUMNS"]) == product.STORE
    assert [gemm["CLUSTER"], gemm["STAGES"]] == [product.CLUSTER, product.STAGES]
    assert 128 * (1 + gemm["CONSUMERS"]) == product.THREADS
    assert (copy["BOX_ROWS"], copy["BOX_COLUMNS"]) == ring.BOX
    assert [copy["ELEMENT_BYTES"], copy["STAGES"]] == [ring.ELEMENT_BYTES, ring.STAGES]
