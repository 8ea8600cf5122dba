"""The rows that devices left: what they show still holds of the texts, statements and figures that name them."""

import gzip
import json
from pathlib import Path

import pytest

import gpu
from benchmarks import reproduce
from benchmarks.hardware import asleep, ck_views, correct, functions, mma_bounds, mutants, peers, rings, speeds, stamped
from benchmarks.kernel_mutation import FAMILIES, Judged
from gpu.child import Outcome
from gpu.libraries import Availability
from symlayout.atoms.functions import FUNCTIONS

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
BELOW = {"gemm_mma_8192_square", "gemm_8192_cluster_1"}  # of their aims


def rows(name):
    return [json.loads(x) for x in gzip.decompress((reproduce.ROWS / name).read_bytes()).decode().splitlines()]


def of_kind(kind):
    return sorted(p.name for p in reproduce.ROWS.glob(f"{kind}_*.jsonl.gz"))


@pytest.mark.parametrize("kind", reproduce.TABLES)
def test_every_kind_of_rows_is_there_and_prints(kind):
    for name in of_kind(kind):
        assert list(reproduce.TABLES[kind](reproduce.ROWS / name))
    assert of_kind(kind)


@pytest.mark.parametrize("name", of_kind("correct"))
def test_all_cases_are_the_same_at_twenty_sizes_or_more_half_of_them_with_waits(name):
    found = rows(name)
    sizes = {(r["name"], str(r["sizes"])) for r in found}

    assert {r["outcome"] for r in found} == {"same"}
    assert all(sum(n == kernel for n, _ in sizes) >= 20 for kernel in {r["name"] for r in found})
    assert sum(r["delays"] is not None for r in found) == len(found) / 2


def test_the_figures_of_the_readme_are_those_of_the_rows():
    found = {r["name"]: r for r in rows("speeds_h200.jsonl.gz")}
    cases = rows("correct_h200.jsonl.gz")

    assert {name for name, r in found.items() if r["ratio"] < r["aim"]} == BELOW
    assert f"{len(cases)} of {len(cases)} cases of {len({r['name'] for r in cases})} kernels" in README
    for name in ("vector_copy", "axpby", "row_sum", "cp_async_copy", "bulk_copy", "tma_copy", "copy_if", "fill"):
        assert f"{found[name]['ratio']:.3f}" in README, name
    for name in ("gemm_mma_8192", "gemm_mma_8192_grouped", "gemm_8192", "tma_transpose"):
        assert f"{found[name]['ratio']:.3f}" in README, name


def test_no_mutant_that_was_let_pass_did_otherwise():
    found = [r for name in of_kind("mutants") for r in rows(name)]
    passed = [r for r in found if reproduce.was_let_pass(r)]

    assert {r["family"] for r in passed} == set(FAMILIES)
    assert f"{len(passed)} of {len(passed)} that the prover lets pass" in README
    assert all(not r["device"] or reproduce.is_refusal(r["device"]) for r in passed)
    assert {reproduce.caught_by(r) for r in found if not reproduce.was_let_pass(r)} == {
        "proof",
        "proof and run",
        "proof and device",
        "proof and run and device",
    }


@pytest.mark.parametrize("name", of_kind("functions"))
def test_what_is_stated_of_errors_is_what_was_measured_and_nothing_is_outside(name):
    found = rows(name)

    assert all(r["outside"] == 0 for r in found)
    for r in found:
        row = FUNCTIONS[r["function"]]
        assert r["stated"] == str(row.errors.get(r["type"], "rounded once")), r["function"]
    every = {(kind, *call) for kind in functions.TYPES for call in functions.calls(kind)}
    assert {(r["of"], r["function"], r["type"]) for r in found} == every
    measured = {(r["function"], r["type"]) for r in found}
    assert {(w, kind) for w, row in FUNCTIONS.items() for kind in row.errors} <= measured


@pytest.mark.parametrize("name", of_kind("stamped"))
def test_times_that_kernels_took_of_themselves_can_be_true(name):
    found = rows(name)

    assert {r["name"] for r in found} == set(stamped.CASES)
    assert all(map(stamped.is_plausible, found))
    assert not stamped.is_plausible({**found[0], "landed_before_issue": 1})


@pytest.mark.parametrize("name", of_kind("asleep"))
def test_a_sleeping_lane_is_overtaken_and_the_store_before_it_faults_one_that_reads_the_timer_is_not(name):
    found = rows(name)

    assert {r["case"] for r in found if r["experiment"] == "store"} == set(asleep.CASES)
    assert all(map(asleep.is_as_stated, found))
    assert sum("illegal instruction" in r.get("said", "") for r in found) == 1


def test_every_view_of_ck_tile_left_the_bytes_that_it_says():
    found = list(reproduce.rows(reproduce.ROWS.parent / "ck_tile" / "ck_views_h200.jsonl.gz"))

    assert {r["name"] for r in found} == set(ck_views.CASES)
    assert all(r["wrong"] == 0 for r in found)
    assert sum(r["delays"] is not None for r in found) == len(found) / 2


def test_every_way_to_reach_the_memory_of_a_peer_left_its_bytes():
    found = rows("peers_h200.jsonl.gz")

    assert {(r["kernel"], r["delays"]) for r in found} == {(f"summed {w}", d) for w in peers.WAYS for d in peers.DELAYS}
    assert all(r["same"] and "5 of 5 cases the same" in r["said"] for r in found)


def test_all_ways_of_launching_ended_as_expected():
    found = rows("launch_check_h200.jsonl.gz")

    assert len(found) == 20
    assert all(r["as_expected"] for r in found)


SCRIPTS = (asleep, ck_views, correct, functions, mma_bounds, mutants, peers, rings, speeds, stamped)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda m: m.__name__)
def test_a_script_without_a_device_says_so_with_status_4(script, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "availability", lambda: Availability(False, "no device here"))
    monkeypatch.setattr("sys.argv", [script.__name__])

    assert script.main() == 4
    assert capsys.readouterr().out == "no device here\n"


def test_a_mutant_that_has_a_row_is_not_run_again(monkeypatch, tmp_path, capsys):
    ran = []

    def each(_, cases, limit_s):
        for m in cases:
            ran.append(m)
            yield Outcome("" if m[1] % 2 else "{'N': 3}: dst differs")

    def judged(wanted, *_):
        yield from ((m, Judged("slip", "proved" if m[1] % 2 else "refuted", "", "")) for m in wanted)

    monkeypatch.setattr(gpu, "availability", lambda: Availability(True, "a device"))
    monkeypatch.setattr(mutants.child, "each", each)
    monkeypatch.setattr(mutants, "judgements", judged)
    out = tmp_path / "rows.jsonl"
    command = ["mutants", "--family", "fill", "--workers", "3", "--every", "60", "--out", str(out)]
    monkeypatch.setattr("sys.argv", [*command, "--most", "5"])
    assert mutants.main() == 0
    out.write_text(out.read_text() + '{"family": "fill", "dig')  # a line that was cut off
    monkeypatch.setattr("sys.argv", [*command, "--most", "8"])
    assert mutants.main() == 0

    assert len(ran) == len(set(ran)) == 8
    assert len(out.read_text().splitlines()) == 8 + 1
    assert out.read_text().count('"device"') == 8
    assert "caught by proof and device" in capsys.readouterr().out
