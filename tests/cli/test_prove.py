"""``symlayout prove`` on Python: exit statuses by combination, and modules that raise, exit, hang, print or return junk."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from symlayout.cli import app
from symlayout.errors import InternalError
from tests.support.command import CliRunner
from tests.support.plain import within

ROOT = Path(__file__).parents[2]
HEAD = """from checkers import *
from symlayout import *
from symlayout.address_map import AddressMap
M, N, ld = dims("M N ld")
true = Layout((M, N), (1, M))
false = Layout((M, N), (1, 1))
open_ = AddressMap.over(lambda i: (40503 * i) ^ (i // 7), M)
"""
CLAIMS = {  # what a claim says of itself and what is found
    "proved": "Injective(true)",
    "refuted": "Injective(false)",
    "unknown": "Injective(open_)",
    "vacuous": "Injective(true, given=[M <= 0])",
    "known bug": 'Injective(false, expect="refuted")',
    "known bug, repaired": 'Injective(true, expect="refuted")',
    "known hole": 'Injective(open_, expect="unknown")',
    "known clash": 'Injective(true, given=[M <= 0], expect="vacuous")',
    "proved, known as open": 'Injective(true, expect="unknown")',
    "open, known as bug": 'Injective(open_, expect="refuted")',
}
STATUS = dict(zip(CLAIMS, (0, 1, 3, 3, 0, 1, 0, 0, 1, 3), strict=True))


def run(*args: object):
    """The result of a command; anything but an exit is an error of ours."""
    with within(30):
        result = CliRunner().invoke(app, ["prove", *map(str, args)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert "Traceback" not in result.output
    return result


def module(folder: Path, text: str, name: str = "claims.py") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(HEAD + text, encoding="utf-8")
    return path


# -- exit status ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def remembered(tmp_path_factory):
    """A cache, so that what stays open for half a second of a solver does so once for all combinations."""
    return tmp_path_factory.mktemp("remembered") / "verdicts.sqlite"


@pytest.mark.parametrize("name", CLAIMS)
def test_the_status_of_one_claim(tmp_path, remembered, name):
    assert run("--cache", remembered, module(tmp_path, f"c = {CLAIMS[name]}\n")).exit_code == STATUS[name]


@pytest.mark.parametrize("bad", [False, True], ids=["", "and a broken file"])
@pytest.mark.parametrize(
    "names", [*itertools.combinations(("proved", "refuted", "unknown", "known bug"), 2)], ids=" and ".join
)
def test_the_status_is_the_first_that_applies(tmp_path, remembered, names, bad):
    """2 before 1 before 3."""
    files = [module(tmp_path, f"c = {CLAIMS[name]}\n", f"{i}.py") for i, name in enumerate(names)]
    if bad:
        files.append(tmp_path / "none.py")
    found = {STATUS[n] for n in names}

    assert run("--cache", remembered, *files).exit_code == (2 if bad else 1 if 1 in found else 3 if 3 in found else 0)


def test_an_obligation_counts(tmp_path):
    path = module(tmp_path, "c = Injective(zipped_divide(Layout((M, N), (N, 1)), (64, 64)))\n")

    result = run(path)

    assert result.exit_code == 1
    assert "in domain: 64 divides M" in result.stdout


@pytest.mark.parametrize("args", [[], ["--format"], ["--format", "xml", "x.py"], ["--nothing", "x.py"]], ids=str)
def test_wrong_usage(tmp_path, monkeypatch, args):
    monkeypatch.chdir(tmp_path)  # where no pyproject.toml says what is to be proved

    assert CliRunner().invoke(app, ["prove", *args]).exit_code == 2


# -- what is printed ------------------------------------------------------------------------------------------


def test_text_names_the_file_each_verdict_and_the_sum(tmp_path):
    path = module(tmp_path, f"a = {CLAIMS['proved']}\nb = {CLAIMS['refuted']}\nc = {CLAIMS['known bug']}\n")

    result = run(path)

    lines = result.stdout.splitlines()
    assert lines[0] == str(path)
    assert "  8:1     proved    injective: (M,N):(1,M)  [chain of strides, T2]" in lines
    assert any(line.endswith("(as expected)") for line in lines)
    assert "1 proved, 2 refuted (1 of them expected)" in lines[-1]
    assert lines[-1].endswith("1 not as expected")


def test_claims_come_in_the_order_of_their_lines(tmp_path):
    text = "\n".join(f"{name} = Injective(Layout({n}))" for name, n in (("z", 2), ("a", 3), ("m", 4)))

    result = run(module(tmp_path, text + "\ndef claim_b():\n    return [Injective(Layout(5)), Injective(Layout(6))]\n"))

    assert [line.split("injective: ")[1].split()[0] for line in result.stdout.splitlines() if "injective" in line] == [
        f"{n}:1" for n in range(2, 7)
    ]


def test_json_is_all_there_is_on_the_output(tmp_path, remembered):
    good = module(tmp_path, "".join(f"c{i} = {c}\n" for i, c in enumerate(CLAIMS.values())) + "print('hello')\n")

    result = run("--format", "json", "--cache", remembered, good, tmp_path / "none.py")
    data = json.loads(result.stdout)

    assert [v["outcome"] for v in data["verdicts"]] == [
        "proved", "refuted", "unknown", "vacuous", "refuted", "proved", "unknown", "vacuous", "proved", "unknown",
    ]  # fmt: skip
    assert data["verdicts"][1]["witness"]["sizes"] == {"M": 2, "N": 2}
    assert data["verdicts"][0]["place"] == {"file": str(good), "line": 8, "column": 1, "name": "c0"}
    assert data["verdicts"][0]["certificate"]["claim"]["kind"] == "injective"
    assert "none.py" in data["errors"][0]["place"]["name"]
    assert result.exit_code == 2


def test_prints_of_a_module_do_not_mix_with_the_report(tmp_path):
    path = module(tmp_path, f"print('loading')\ndef claim_f():\n    print('working')\n    return {CLAIMS['proved']}\n")

    result = run(path)

    assert result.exit_code == 0
    assert "loading" not in result.stdout
    assert {"loading", "working"} <= set(result.stderr.split())


# -- modules that misbehave -----------------------------------------------------------------------------------

MISBEHAVING = [
    ("raises", "raise ValueError('boom')\n", "expected a module that can be imported, got ValueError: boom", True),
    ("raises in a claim", "def claim_f():\n    raise KeyError('boom')\n", "expected claims from claim_f(), got KeyError", False),
    ("a syntax error", "def f(:\n", "claims.py:8:7: expected a module that can be imported, got SyntaxError", True),
    ("null bytes", "\0", "expected a module that can be imported, got", True),
    ("exits", "import sys\nsys.exit(0)\n", "expected a module that can be imported, got SystemExit(0)", True),
    ("exits in a claim", "import sys\ndef claim_f():\n    sys.exit(0)\n", "expected claims from claim_f(), got SystemExit", False),
    ("stops", "class Stop(BaseException): pass\nraise Stop('no')\n", "expected a module that can be imported, got Stop: no", True),
    ("skips", "import pytest\npytest.skip('no device', allow_module_level=True)\n", "expected a module that can be imported, got Skipped: no device", True),
    ("skips in a claim", "import pytest\ndef claim_f():\n    pytest.skip('no device')\n", "expected claims from claim_f(), got Skipped: no device", False),
    ("no claims", "", "expected claims such as Bijective(layout, onto=64), got none", True),
    ("a number", "def claim_f():\n    return 5\n", "expected a claim or a list of claims from claim_f(), got 5", False),
    ("nothing", "def claim_f():\n    pass\n", "expected a claim or a list of claims from claim_f(), got None", False),
    ("an empty list", "def claim_f():\n    return []\n", "expected a claim or a list of claims from claim_f(), got []", False),
    ("a mixed list", "def claim_f():\n    return [Injective(true), 5]\n", "expected a claim or a list of claims from claim_f(), got", False),
    ("a mixed list of the module", "mixed = [Injective(true), 5]\n", "expected nothing but claims in the list mixed, got 5", False),
    ("a list in itself", "mixed = [Injective(true)]\nmixed.append(mixed)\n", "expected nothing but claims in the list mixed, got [", False),
    ("async", "async def claim_f():\n    return Injective(true)\n", "expected a function without async", False),
    ("an async generator", "async def claim_f():\n    yield Injective(true)\n", "expected a claim or a list of claims from claim_f(), got <async_genera", False),
    ("a generator", "def claim_f():\n    yield Injective(true)\n", "expected a claim or a list of claims from claim_f(), got", False),
    ("an argument", "def claim_f(x):\n    return Injective(true)\n", "expected claims from claim_f(), got TypeError", False),
    ("a layout", "def claim_f():\n    return true\n", "expected a claim or a list of claims from claim_f(), got", False),
    ("no layout", "def claim_f():\n    return Injective('(4,8)')\n", "expected claims from claim_f(), got", False),
    ("parts that do not fit", "bad = InBounds(Layout((4, 8)), (4, 8))\n", "expected", True),
    ("parts that do not fit, late", "bad = Aligned(AddressMap.over(lambda i: (i, i), M), 2)\n", "expected", True),
    ("two sizes of one name", "bad = Injective(Layout((M, dim('M', multiple_of=8))))\n", "expected one set of facts for M", False),
]  # fmt: skip


@pytest.mark.parametrize("text, message, alone", [pytest.param(*row, id=name) for name, *row in MISBEHAVING])
def test_a_module_that_misbehaves_is_one_message(tmp_path, text, message, alone):
    """Bad input, whatever else there is; what can be judged besides is judged."""
    path = module(tmp_path, text if alone else text + f"good = {CLAIMS['proved']}\n")

    result = run(path)

    assert result.exit_code == 2
    assert result.stderr.count("error: ") == 1
    assert message in result.stderr
    assert alone or "1 proved" in result.stdout


def test_a_module_of_this_folder_that_raises_has_its_line(tmp_path, monkeypatch):
    (tmp_path / "boom.py").write_text("import symlayout\nx = 1 / 0\n")
    monkeypatch.chdir(tmp_path)

    assert "boom.py:2:5: expected a module that can be imported, got ZeroDivisionError" in run("boom.py").stderr


@pytest.mark.parametrize("where", ["", "def claim_f():\n    "], ids=["import", "claim"])
def test_a_module_that_hangs_is_stopped(tmp_path, where):
    path = module(tmp_path, f"{where}while True: pass\n")

    result = run("--import-seconds", 0.3, path)

    assert result.exit_code == 2
    assert "more than 0.3 seconds" in result.stderr


def test_a_module_with_a_mark_of_its_encoding(tmp_path):
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbf" + (HEAD + "c = Injective(true)\n").encode())

    assert run(tmp_path / "bom.py").exit_code == 0


def test_a_module_sees_its_neighbours_and_leaves_no_traces(tmp_path):
    module(tmp_path, "shared = Injective(true)\n", "neighbour.py")
    before, modules = list(sys.path), set(sys.modules)

    result = run(module(tmp_path, "from neighbour import shared as s\nc = [s, s]\n"))

    assert result.exit_code == 0
    assert result.stdout.count("injective") == 2
    assert sys.path == before
    sys.modules.pop("neighbour", None)
    assert {m for m in sys.modules if not m.startswith("_symlayout_")} - modules <= {m for m in sys.modules if "." in m}


def test_imported_claims_are_not_judged_twice(tmp_path):
    module(tmp_path, "shared = Injective(true)\n", "neighbour.py")

    result = run(module(tmp_path, "from neighbour import shared\nown = Injective(Layout(8))\n"))

    sys.modules.pop("neighbour", None)
    assert result.stdout.count("injective") == 1


def test_a_defect_of_ours_is_no_verdict(tmp_path, monkeypatch):
    def broken(*_: object):
        raise InternalError("a counterexample does not replay")

    monkeypatch.setattr("checkers.prover.verdicts", broken)
    with pytest.raises(InternalError):
        run(module(tmp_path, f"c = {CLAIMS['proved']}\n"))


# -- places -----------------------------------------------------------------------------------------------


def test_folders_are_searched_below_hidden_ones_are_not(tmp_path):
    module(tmp_path, "c = Injective(true)\n", "a/b/c.py")
    module(tmp_path, "c = Injective(false)\n", ".venv/lib/site/x.py")
    module(tmp_path, "c = Injective(false)\n", "a/_private/x.py")
    module(tmp_path, "c = Injective(false)\n", "a/__init__.py")

    result = run(tmp_path)

    assert result.exit_code == 0
    assert "1 proved" in result.stdout


def test_a_folder_that_is_named_is_searched_whatever_its_name(tmp_path):
    module(tmp_path, "c = Injective(true)\n", "_examples/a.py")

    assert run(tmp_path / "_examples").exit_code == 0


@pytest.mark.parametrize(
    "target, message",
    [
        ("none.py", "expected a file, a folder or module:name, got"),
        ("none", "expected a file, a folder or module:name, got"),
        ("", "expected"),
        ("a.txt", "expected"),
        ("no_such_module_at_all:x", "No module named 'no_such_module_at_all'"),
        (":x", "expected :x to be importable"),
        ("json:nothing", "expected 'nothing' in json, got no such name"),
        ("json:loads", "expected"),
        ("json.decoder:nothing", "expected 'nothing' in json.decoder, got no such name"),
    ],
)
def test_what_is_no_place_is_bad_input(tmp_path, monkeypatch, target, message):
    (tmp_path / "a.txt").write_text("text")
    monkeypatch.chdir(tmp_path)

    result = run(target)

    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("error: ") == 1


@pytest.mark.parametrize("target", ["pack_a.inner:c", "pack_a.inner:make", "pack_a.inner:many", "pack_a:top"])
def test_a_claim_of_a_module_by_name(tmp_path, monkeypatch, target):
    text = "c = Injective(true)\nmany = [c, c]\ndef make():\n    return c\n"
    module(tmp_path, text, "pack_a/inner.py")
    module(tmp_path, "top = Injective(true)\n", "pack_a/__init__.py")
    monkeypatch.syspath_prepend(tmp_path)

    result = run(target)

    for name in [m for m in sys.modules if m.startswith("pack_a")]:
        del sys.modules[name]
    assert result.exit_code == 0
    assert "proved" in result.stdout


@pytest.mark.parametrize(
    "text", ["import sys\nsys.exit(0)\n", "def make():\n    import sys\n    sys.exit(0)\n"], ids=["import", "call"]
)
def test_a_module_by_name_that_exits_is_bad_input(tmp_path, monkeypatch, text):
    module(tmp_path, text, "exiting_module.py")
    monkeypatch.syspath_prepend(tmp_path)

    result = run("exiting_module:make")

    sys.modules.pop("exiting_module", None)
    assert result.exit_code == 2


@pytest.mark.parametrize(
    "text",
    [
        "if True:\n    def claim_f():\n        return Injective(false)\n",
        "try:\n    import nothing_of_that_name\nexcept ImportError:\n    def claim_f():\n        return [Injective(false)]\n",
        "def make():\n    global claim_f\n    def claim_f():\n        return Injective(false)\nmake()\n",
        "both = [Injective(true), [Injective(false)]]\n",
        "def claim_f():\n    return [FitsIn.each_step(lambda i: i * 2, M), Injective(false)]\n",
    ],
)
def test_no_claim_is_left_out_in_silence(tmp_path, text):
    result = run(module(tmp_path, f"{text}c = {CLAIMS['proved']}\n"))

    assert "refuted   injective" in result.stdout
    assert "error: " not in result.stderr


def test_a_table_of_claims_and_more_is_no_list_of_claims(tmp_path):
    """Such as the rows of a parametrized test, whose claims are judged there."""
    path = module(tmp_path, f"ROWS = [(Injective(false), 'refuted')]\nc = {CLAIMS['proved']}\n")

    assert run(path).exit_code == 0


def test_the_command_as_a_process(tmp_path):
    """Once for real: the entry point, its status, and no colour codes in a pipe."""
    path = module(tmp_path, f"c = {CLAIMS['refuted']}\n")
    done = subprocess.run(
        [sys.executable, "-c", "from symlayout.cli import main; main()", "prove", str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "refuted" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""
