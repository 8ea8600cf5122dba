"""The probe's parts that need no device: its cases, its memory, its program text, its parent process."""

import collections
import gzip
import hashlib
import itertools
import json
import math
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hardware import contents, models, tma_probe
from benchmarks.hardware.cases import FIELDS, FORMS, PLAIN, SIZE, SPAN, UNIT, header, line, steps
from benchmarks.hardware.families import FAMILIES
from benchmarks.hardware.rows import unpacked
from benchmarks.hardware.rules import RULES, every_case

AT = dict(
    zip((f for f, _ in FIELDS), itertools.accumulate((w for _, w in FIELDS), initial=0), strict=False), FIELDS=0
) | {"FIELDS": sum(w for _, w in FIELDS)}


def cases():
    """Every case, made when a test first asks: workers that run none of these tests need none."""
    return every_case()


def numbers(case):
    """Every number of a case, by field and place."""
    return {(f, i): v for f in PLAIN for i, v in enumerate(case[f] if isinstance(case[f], list) else [case[f]])}


class TestCases:
    def test_same_every_time(self):
        assert every_case.__wrapped__() == cases()
        assert [c["id"] for c in cases()] == list(range(len(cases())))

    def test_every_family_and_rule_is_there(self):
        found = collections.Counter(c["family"] for c in cases())
        planned = {name: count for name, _, count, _ in FAMILIES} | {rule: 2 * count for rule, _, count in RULES}
        assert found == planned

    def test_two_hundred_faults_a_rule(self):
        sides = collections.Counter((c["rule"], c["side"]) for c in cases() if "rule" in c)
        for rule, _, _ in RULES:
            assert sides[rule, "fault"] == sides[rule, "ok"]
            assert sides[rule, "fault"] >= 200 or rule == "shared_end_by"

    def test_neighbours_differ_in_one_number(self):
        pairs = collections.defaultdict(dict)
        for case in cases():
            if "rule" in case:
                pairs[case["rule"], case["pair"]][case["side"]] = case
        for (rule, _), pair in pairs.items():
            good, bad = numbers(pair["ok"]), numbers(pair["fault"])
            assert good.keys() == bad.keys()
            differ = [k for k in good if good[k] != bad[k]]
            assert len(differ) == 1, (rule, pair)
            assert differ[0][0] == pair["ok"]["broken"]

    def test_a_pair_breaks_its_rule_on_one_side(self):
        for case in cases():
            if "rule" not in case:
                continue
            bad = case["side"] == "fault"
            rule = case["rule"]
            if rule.startswith("inner_start"):
                assert (case["coord"][0] * SIZE[case["dtype"]] % 16 != 0) == bad
            elif rule.startswith("negative_start"):
                assert (min(case["coord"]) < 0) == bad
                assert case["coord"][0] * SIZE[case["dtype"]] % 16 == 0
            elif rule.startswith("shared_address"):
                assert (case["base"] % 128 != 0) == bad
            elif rule.startswith("shared_end"):
                assert (case["box"][1] * SPAN[case["swizzle"]] > case["smem"]) == bad
            elif rule == "map_rank":
                assert (case["nd"] != case["rank"]) == bad
            else:
                assert (("im2col" in case["form"]) != (case["mode"] == "im2col")) == bad

    def test_maps_are_ones_that_encode_accepts(self):
        for case in cases():
            if case["mode"] == "none":
                continue
            e, unit = SIZE[case["dtype"]], 32 if case["interleave"] == 2 else 16
            rank, dim = case["rank"], case["dim"]
            assert len(dim) == len(case["estride"]) == len(case["coord"]) == rank
            assert len(case["stride"]) == rank - 1
            assert rank >= 3 or (not case["interleave"] and case["mode"] == "tiled")
            assert case["addr"] % unit == 0
            assert all(s % unit == 0 and 0 <= s < 1 << 40 for s in case["stride"])
            assert all(1 <= d <= 1 << 32 for d in dim)
            assert all(1 <= s <= 8 for s in case["estride"])
            assert not case["oob"] or case["dtype"] >= 6
            span = SPAN[case["swizzle"]] if not case["interleave"] else 0
            if case["mode"] == "tiled":
                inner = case["box"][0] * e
                assert all(1 <= b <= 256 for b in case["box"]), case
                assert e * math.prod(b // s for b, s in zip(case["box"], case["estride"], strict=True)) <= 233_472
            else:
                inner, first = case["channels"] * e, 0 if case["interleave"] else 1
                assert 1 <= case["channels"] <= 256
                assert 1 <= case["pixels"] <= 1024
                limit = 1 << {3: 15, 4: 7, 5: 4}[rank]
                for i, (lo, up) in enumerate(zip(case["lower"], case["upper"], strict=True)):
                    assert -limit <= min(lo, up) <= max(lo, up) < limit
                    assert dim[first + i] + up > lo
            assert inner % 16 == 0
            assert not span or inner <= span

    def test_memory_is_wide_enough(self):
        for case in cases():
            if case["mode"] == "none" or case["family"].startswith(("far", "wide", "null", "outside")):
                continue
            size = UNIT[case["interleave"]] or SIZE[case["dtype"]]
            last = [d - 1 for d in case["dim"]]
            end = case["addr"] + models.offset(case, last, size) + max(size, 16)
            stores = case["form"].startswith(("store", "reduce"))
            assert end <= (contents.TARGET - 4096 if stores else contents.SOURCE // 2)
            assert case["smem"] + 1024 <= 232_448
            assert case["dump"] <= case["smem"]

    def test_lines_have_every_field(self):
        width = sum(w for _, w in FIELDS)
        for case in cases()[::37]:
            words = [int(word) for word in line(case).split()]
            assert len(words) == width
            assert words[AT["form"]] == FORMS[case["form"]]
            assert words[AT["dim"] : AT["dim"] + case["rank"]] == case["dim"] or case["mode"] == "none"
        assert f"FIELDS = {width}" in header()
        assert f"F_dim = {AT['dim']}," in header()


class TestContents:
    def test_same_bytes_whatever_the_numpy(self, tmp_path):
        contents.write(tmp_path / "contents")
        digest = hashlib.sha256((tmp_path / "contents").read_bytes()).hexdigest()
        assert digest.startswith("be7c1332a416b5bc818b2f24fdc831a8")

    def test_sizes(self):
        for name, make in contents.CONTENTS.items():
            assert len(make()) == (contents.SOURCE if name == "source" else contents.TARGET)


class TestModels:
    def test_steps_of_an_interleaved_box(self):
        case = PLAIN | {"interleave": 1, "rank": 4, "box": [8, 2, 3, 1], "estride": [1, 1, 1, 1]}
        assert steps(case) == [8, 2, 1, 1]

    def test_narrow_swizzled_row_keeps_its_gap(self):
        case = PLAIN | {"dtype": 0, "rank": 2, "dim": [16, 2], "stride": [16], "box": [16, 2], "estride": [1, 1]}
        case |= {"coord": [0, 0], "swizzle": 3, "dump": 256}
        dump = models.load(case)
        memory = contents.source()
        assert dump[:16] == memory[:16]
        assert dump[16:128] == b"\xee" * 112
        assert dump[144:160] == memory[16:32]  # row 1: chunk 0 ^ 1

    def test_store_writes_whole_units(self):
        case = PLAIN | {"form": "store", "dtype": 0, "rank": 1, "dim": [20], "box": [64], "estride": [1], "coord": [0]}
        target = models.store(case)
        assert target[:32] == contents.tile()[:32]
        assert target[32:] == b"\xee" * (len(target) - 32)

    @pytest.mark.parametrize(
        "word, rounded",
        [
            (0x3F801000, 0x3F800000),
            (0x3F803000, 0x3F804000),
            (0x3F801001, 0x3F802000),
            (0x7F7FFFFF, 0x7F800000),
            (0xFFC00000, 0x7FFFE000),
            (0x80000001, 0x80000000),
            (0x7F800000, 0x7F800000),
        ],
    )
    def test_tf32(self, word, rounded):
        assert models.rounded(word) == rounded


class TestSource:
    def test_compiles(self, tmp_path):
        nvcc = shutil.which("nvcc")
        if nvcc is None:
            pytest.skip("nvcc is not installed")
        (tmp_path / "fields.h").write_text(header())
        source = Path(tma_probe.HERE) / "probe.cu"
        command = [nvcc, "-std=c++17", "-gencode=arch=compute_90a,code=sm_90a", "-cubin", "-I", str(tmp_path)]
        done = subprocess.run([*command, "-o", str(tmp_path / "probe.cubin"), str(source)], capture_output=True)
        if b"compute_90a" in done.stderr:
            pytest.skip("this nvcc does not know sm_90a")
        assert done.returncode == 0, done.stderr.decode()

    def test_forms_are_those_of_the_program(self):
        text = (Path(tma_probe.HERE) / "probe.cu").read_text()
        names = text.split("enum Form {")[1].split("}")[0].split(",")
        known = [n.strip().lower().replace("load_multicast", "multicast") for n in names]
        assert known == [f for f in FORMS if not f.startswith("reduce")]
        assert "REDUCE = 16, REDUCE_IM2COL = 32" in text


def rows_of(folder):
    found = []
    for file in sorted(folder.glob("*.jsonl.gz")):
        head, *rest = map(json.loads, gzip.decompress(file.read_bytes()).splitlines())
        assert head["header"]["device"] == "Fake"
        found += rest
    return found


class TestParent:
    def run(self, folder, *more):
        fake = Path(__file__).with_name("fake_probe.py")
        places = " ".join(str(AT[f]) for f in ("id", "form", "dump", "cluster", "FIELDS"))
        runner = f"{sys.executable} -S {fake} {places}"
        return tma_probe.main(["--out", str(folder), "--runner", runner, "--procs", "3", *more])

    def test_no_row_is_lost_to_faults(self, tmp_path, capsys):
        families = "known_load,known_store,multicast,encode_null"
        assert self.run(tmp_path, "--families", families, "--patience-s", "1") == 0
        rows = {r["id"]: r for r in rows_of(tmp_path)}
        assert rows.keys() == {c["id"] for c in cases() if c["family"] in families.split(",")}
        for number, found in rows.items():
            if number % 97 == 5:
                assert (found["error"], found["errno"]) == ("illegal instruction", 715)
            elif number % 101 == 7:
                assert found["error"] == "died: signal 11"
            elif number % 499 == 11:
                assert found["error"] == "died: said nothing in time"
            elif found["family"] == "multicast":
                assert len(found["ctas"]) == found["cluster"]
            elif found["family"] == "known_load":
                assert unpacked(found["raw"]) == b"\xee" * found["dumped"]
        assert "known_store" in capsys.readouterr().out
        assert (tmp_path / "summary.txt").exists()

    def test_deadline(self, tmp_path, capsys):
        assert self.run(tmp_path, "--deadline-s", "0") == 0
        assert f"{len(cases())} cases not run: go on with --first 0" in capsys.readouterr().out

    def test_no_device(self, tmp_path, capsys):
        runner = f"{sys.executable} -c exit(2)"
        assert tma_probe.main(["--out", str(tmp_path), "--runner", runner]) == 2
        assert "expected a device that runs the probe, got exit status 2" in capsys.readouterr().out

    def test_unknown_family(self, tmp_path):
        with pytest.raises(SystemExit):
            tma_probe.main(["--out", str(tmp_path), "--families", "stroe"])

    def test_credit_is_read_off_the_barrier(self):
        rng = random.Random(0)
        rows = []
        for size in (16, 4096, 1 << 18):
            armed = rng.getrandbits(64) >> 8
            states = ["0", f"{armed:x}", f"{(armed + (size << 13)) % (1 << 64):x}", "0"]
            rows.append({"states": states, "size": size, "completed": 0})
        assert tma_probe.credit_shift(rows) == (1, 13)
