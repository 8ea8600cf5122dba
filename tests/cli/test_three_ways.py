"""The same claims in comments, in TOML and in Python are the same values: one digest, one line in the cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkers.claim_text import KINDS, claim_from
from symlayout.canonical import digest
from symlayout.finding.collect import collect
from symlayout.finding.found import Builder, Stated

HEAD = """from checkers import *
from symlayout import *
from symlayout.address_map import AddressMap
M, = dims("M", multiple_of=8)
ld = dim("ld", at_least=M)
"""
WAYS = [
    (
        "bijective ((4,8,4),(2,2,8)):((128,1,16),(64,8,512)) onto 4096",
        {"kind": "bijective", "layout": "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))", "onto": 4096},
        "Bijective(Layout(((4,8,4),(2,2,8)), ((128,1,16),(64,8,512))), onto=4096)",
    ),
    (
        "injective (M,4):(1,ld) given ld % 16 == 0",
        {"kind": "injective", "layout": "(M,4):(1,ld)", "given": "ld % 16 == 0"},
        "Injective(Layout((M,4), (1,ld)), given=[ld.multiple_of(16)])",
    ),
    (
        "conflict_free Sw<3,3,3> o 0 o (8,8):(64,8) element_bytes 2 width_bytes 16",
        {"kind": "conflict_free", "layout": "Sw<3,3,3> o 0 o (8,8):(64,8)", "element_bytes": 2, "width_bytes": 16},
        "ConflictFree(ComposedLayout(Swizzle(3,3,3), 0, Layout((8,8), (64,8))), element_bytes=2, width_bytes=16)",
    ),
    (
        "in_bounds 128*t + r over (r,t) < (128, ceil_div(M,128)) when 128*t + r < M extent M",
        {
            "kind": "in_bounds",
            "map": "128*t + r",
            "over": "(r,t) < (128, ceil_div(M,128))",
            "when": "128*t + r < M",
            "extent": "M",
        },
        "InBounds(AddressMap.over(lambda r, t: 128*t + r, (128, ceil_div(M,128)), when=lambda r, t: 128*t + r < M), M)",
    ),
    (
        "fits_in (M,4):(4,1) bits 32 expect refuted",
        {"kind": "fits_in", "layout": "(M,4):(4,1)", "bits": 32, "expect": "refuted"},
        "FitsIn(Layout((M,4), (4,1)), bits=32, expect='refuted')",
    ),
    (
        "equal (t & 7) + 8*(t >> 3) and t over t < M",
        {"kind": "equal", "a": "(t & 7) + 8*(t >> 3)", "b": "t", "over": "t < M"},
        "Equal(AddressMap.over(lambda t: (t & 7) + 8*(t >> 3), M), AddressMap.over(lambda t: t, M))",
    ),
]


def build(s: Stated):
    return claim_from(s.kind, s.fields, s.dims, s.given, s.expect, s.shared)


def claims_of(path: Path):
    found = list(collect(str(path), Builder(build, lambda: KINDS), kernels=False))
    assert not [f.error for f in found if f.error]
    return [f.claim for f in found]


def toml(fields: dict) -> str:
    rows = "\n".join(f"{k} = {v!r}" if isinstance(v, int) else f'{k} = "{v}"' for k, v in fields.items())
    return f"[[claim]]\n{rows}\n"


@pytest.fixture
def three_ways(tmp_path):
    (tmp_path / "a.cu").write_text(
        "// symlayout: dims M(multiple_of=8) ld(at_least=M)\n"
        + "".join(f"// symlayout: {text}\n" for text, _, _ in WAYS)
    )
    (tmp_path / "a.toml").write_text(
        "[dims]\nM = { multiple_of = 8 }\nld = { at_least = 'M' }\n" + "".join(toml(fields) for _, fields, _ in WAYS)
    )
    (tmp_path / "a.py").write_text(HEAD + "".join(f"c{i} = {code}\n" for i, (_, _, code) in enumerate(WAYS)))
    return [claims_of(tmp_path / name) for name in ("a.cu", "a.toml", "a.py")]


@pytest.mark.parametrize("i", range(len(WAYS)), ids=[text.partition(" ")[0] for text, _, _ in WAYS])
def test_one_digest(three_ways, i):
    comment, table, python = (claims[i] for claims in three_ways)

    assert str(comment) == str(table) == str(python)
    assert digest(comment) == digest(table) == digest(python)


def test_other_claims_have_other_digests(three_ways):
    assert len({digest(c) for claims in three_ways for c in claims}) == len(WAYS)
