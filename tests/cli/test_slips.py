"""Slips of the pen in comments, TOML and Python: each gets its message, word for word as recorded in ``slips.txt``.

``UPDATE_EXPECTED=1 python -m pytest tests/cli/test_slips.py`` records them anew. A slip that is skipped, or read as
another claim than the one meant, was what a stranger met first: no test wrote down what slips look like.
"""

from __future__ import annotations

import functools
import os
import re
from pathlib import Path

import pytest

from tests.cli.test_text_ways import Run

RECORDED = Path(__file__).with_name("slips.txt")
SUFFIX = {"comment": ".cu", "toml": ".toml", "python": ".py"}
HEAD = {
    "comment": "",
    "toml": "",
    "python": "from checkers import *\nfrom symlayout import *\nfrom symlayout.address_map import AddressMap\nM, N = dims('M N')\n",
}

COMMENTS = """\
in_bounds 128*t + r extent M
bijective (8*r+c) onto 64
bijective 8*r+c onto 64 over r,c < 8,8
bijective 8*r+c onto 64 over (r,c) < 8
bijective 8*r+c onto 64 over (r,r) < (8,8)
equal 8*r + c and 64:1 over (r,c) < (8,8)
equal 8*r + c and (4,16):(16,1) over (r,c) < (8,8)
injective t/0 over t < 8
in_bounds (i - 4) % 8 over i < 16 extent 8
injective (M,8):(1,M) given (M - 3) % 8 == 1
injective i over i < 8 when i = 2
injective i over i < 8 when i != 2
injective i over i < 8 when j > 2 && i
bijective (4,8):(8,1)
bijective (4,8):(8,1) onto
bijective (4,8):(8,1) onto 32 exect refuted
bijective (4,8):(8,1) onto 32 onto 32
bijective (4,8):(8,1) onto 32.5
bijective
(4,8):(8,1)
biject (4,8):(8,1) onto 32
injective (4,8):(8,1
injective (4,8);(8,1)
injective (4,8):(8,1,1)
injective (4,8):8,1
injective (4 8):(8 1)
injective [4,8]:[8,1]
injective (M,4):(1,ld) given ld => M
injective (M,4):(1,ld) given ld = M
injective (M,4):(1,ld) given ld
injective (M,4):(1,ld) given ld >= M >
injective (M,4):(1,ld) expect fail
injective Sw<3,3> o 0 o (8,8):(8,1)
injective Sw<3,3,3> (8,8):(8,1)
conflict_free Sw<3,4,3> o 0 o (8,8):(64,8) element_bytes 2 width_bytes 16
conflict_free (8,8):(64,8) element_bytes 2 width_bytes 5
conflict_free (64,8):(1,64) element_bytes 4
fits_in (M,4):(1,ld) bits thirty
fits_in (M,4):(1,ld) bits 0
aligned (8,M):(1,ld) bytes 16
dims M(at_most=2^21)
dims M(multiple=8)
dims M(1..8)
in_bounds i over i < 0 extent 4
in_bounds x[i] over i < 4 extent 4
in_bounds f(i) over i < 4 extent 4
in_bounds 1.5*i over i < 4 extent 4
in_bounds i++ over i < 4 extent 4
in_bounds !i over i < 4 extent 4
in_bounds i & 3 == 0 over i < 4 extent 4
in_bounds i << -1 over i < 4 extent 4
in_bounds i over threadIdx < 4 extent 4
"""
TOML = [
    "[[claim]]\nkind = 'injective'\n",
    "[[claim]]\nkind = 'injective'\nlayout = '(4,8):(8,1'\n",
    "[[claim]]\nkind = 'injective'\nlayot = '8'\n",
    "[[claims]]\nkind = 'injective'\nlayout = '8'\n",
    "[[claim]]\nkind = 'bijective'\nlayout = '8'\nonto = 'eight'\n\n[dims]\nM = {}\n",
    "[[claim]]\nkind = 'injective'\nlayout = '8'\ngiven = 'M > 2'\n\n[dims]\nN = {}\n",
    "[[claim]]\nkind = 'injective'\nlayout = '8'\nexpect = 'true'\n",
    "[[claim]]\nkind = 'in_bounds'\nmap = '128*t + r'\nextent = 'M'\n",
    "[[claim]]\nkind = 'in_bounds'\nmap = 'r'\nover = 'r'\nwhen = 'r <'\nextent = 'M'\n",
    "[dims]\nM = { multiple = 8 }\n[[claim]]\nkind = 'injective'\nlayout = 'M'\n",
    "[[claim]\nkind = 'injective'\n",
]
PYTHON = [
    "c = Bijective(Layout(8))\n",
    "c = Injective(AddressMap.over(lambda i: i, (M,), when=M < 4))\n",
    "c = Injective('8:1')\n",
    "c = InBounds(Layout(M), 'M')\n",
    "M, M2 = dims(7)\n",
    "c = ConflictFree(Layout((8, 8), (64, 8)), element_bytes='bf16')\n",
    "def claim_layout():\n    Injective(Layout(8))\n",
    "c = Injective(Layout((4, 8), (8,)))\n",
    "c = Injective(Layout(M), given=[M < 4 and N < 4])\n",
    "c = Injective(Layout(M), given=['M < 4'])\n",
]
SLIPS = [
    *(("comment", f"// symlayout: {text}\n") for text in COMMENTS.splitlines()),
    *(("toml", text) for text in TOML),
    *(("python", text) for text in PYTHON),
]


def said(folder: Path, kind: str, text: str) -> str:
    """What the command prints about a file with the slip, and its exit status."""
    path = folder / f"claims{SUFFIX[kind]}"
    path.write_text(HEAD[kind] + text, encoding="utf-8")
    run = Run("prove", path)
    out = "".join(line for line in (run.out + run.err).splitlines(True) if not re.search(r" in \d+\.\d s", line))
    return f"{out.replace(f'{folder}/', '')}status {run.status}\n"


def entry(kind: str, text: str) -> str:
    return "".join(f"> {line}\n" for line in text.splitlines())


@functools.cache
def recorded() -> dict[str, str]:
    """What is recorded of each slip."""
    out: dict[str, str] = {}
    for block in RECORDED.read_text(encoding="utf-8").split("\n\n"):
        lines = block.splitlines(True)
        head = [line for line in lines if line.startswith("> ")]
        out["".join(head)] = "".join(lines[len(head) :])
    return out


def test_there_are_enough():
    assert len(SLIPS) >= 60
    assert len({entry(*s) for s in SLIPS}) == len(SLIPS)


def test_what_is_recorded_is_what_is_tried(tmp_path):
    if os.environ.get("UPDATE_EXPECTED"):
        text = "\n".join(entry(*s) + said(tmp_path, *s) for s in SLIPS)
        RECORDED.write_text(text, encoding="utf-8")

    assert list(recorded()) == [entry(*s) for s in SLIPS]


@pytest.mark.parametrize("kind, text", SLIPS, ids=[f"{k} {i}" for i, (k, _) in enumerate(SLIPS)])
def test_each_slip_has_its_message(tmp_path, kind, text):
    found = said(tmp_path, kind, text)

    assert found.rstrip("\n") == recorded()[entry(kind, text)].rstrip("\n")
    assert "Traceback" not in found
    assert not found.endswith("status 0\n")


@pytest.mark.parametrize(
    "text, outcome",
    [
        ("equal (t - 4)/8 and select(t >= 4, (t - 4)//8, -((4 - t)//8)) over t < 16", "proved"),
        ("equal (t - 4)/8 and (t - 4)//8 over t < 16", "refuted"),  # C rounds towards 0
        ("equal t/8 and t//8 over t < M", "proved"),
        ("equal mod(i - 4, 8) and (i + 4) % 8 over i < 16", "proved"),
        ("injective (M,8):(1,M) given (M - 3) % 8 == 0", "proved"),  # 0 is 0 in C too
        ("bijective (threadIdx.x & 7) + 8*(threadIdx.x >> 3) onto 32 over threadIdx.x < 32", "proved"),
    ],
)
def test_what_c_means_is_what_is_proved(tmp_path, text, outcome):
    (tmp_path / "a.cu").write_text(f"// symlayout: dims M\n// symlayout: {text} expect {outcome}\n")

    run = Run("prove", tmp_path / "a.cu")

    assert run.status == 0, run.out + run.err
