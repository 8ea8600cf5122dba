"""``symlayout prove`` on kernels: where they count, what is shown of their claims, what makes them all hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from symlayout.cli import app
from tests.support.command import CliRunner

HEAD = """from symlayout import dim, dims
from symlayout.kernels import tma_copy, vector_copy
M, N = dims("M N")
"""
COPY = HEAD + "copy = tma_copy(M, N, tile=(16, 64), slots=4, blocks=132)\n"
RIGHT = HEAD + "copy = tma_copy(M, dim('K', multiple_of=4), tile=(16, 64), slots=4, blocks=132)\n"


def run(folder: Path, text: str, *options: str) -> tuple[int, str]:
    file = folder / "kernels.py"
    file.write_text(text)
    result = CliRunner().invoke(app, ["prove", str(file), *options], env={"COLUMNS": "200"})
    assert "Traceback" not in result.output
    return result.exit_code, result.output


def test_a_file_of_kernels_is_proved(tmp_path: Path) -> None:
    status, said = run(tmp_path, RIGHT)
    assert status == 0, said
    for kind in ("tensor map valid", "ring protocol", "written once", "computes: dst(m,n) = src(m,n)"):
        assert kind in said


def test_what_makes_all_claims_hold_is_said(tmp_path: Path) -> None:
    status, said = run(tmp_path, COPY)
    assert status == 1
    assert "all hold if N % 4 == 0" in said


def test_proofs_about_accesses_are_counted_unless_all_are_wanted(tmp_path: Path) -> None:
    text = HEAD + "copy = vector_copy(dim('L'))\n"
    _, said = run(tmp_path, text)
    assert "the accesses: " in said
    assert "aligned to 16 bytes" not in said
    _, said = run(tmp_path, text, "--verbose")
    assert "aligned to 16 bytes" in said


def test_kernels_beside_claims_are_parts_of_them(tmp_path: Path) -> None:
    text = COPY + "from checkers import HappensBefore\nordered = HappensBefore(copy)\n"
    status, said = run(tmp_path, text)
    assert status == 0, said
    assert "tensor map valid" not in said
    status, said = run(tmp_path, text + "def claim_whole():\n    return copy\n")
    assert status == 1
    assert "tensor map" in said or "stride_multiple_16" in said


def test_a_kernel_that_is_named_is_proved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "named_kernel_module.py").write_text(RIGHT)
    monkeypatch.syspath_prepend(tmp_path)
    result = CliRunner().invoke(app, ["prove", "named_kernel_module:copy"])
    assert result.exit_code == 0, result.output
    assert "ring protocol" in result.output


def test_what_was_not_asked_is_said(tmp_path: Path) -> None:
    text = HEAD + (
        "from symlayout import Layout\nfrom symlayout.kernel import Builder\n"
        "k = Builder('fills', grid=(4,), threads=32)\n"
        "x, r = k.global_tensor('x', 'f32', Layout(128)), k.registers('r', 'f32', 1)\n"
        "k.fill(r(), 0)\nk.copy('st.global.4', r(), x(32 * k.block[0] + k.thread))\nfills = k.kernel()\n"
    )
    status, said = run(tmp_path, text)
    assert status == 0, said
    assert "not asked: which values are stored to x" in said, said
