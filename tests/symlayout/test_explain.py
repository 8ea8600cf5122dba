"""What can be explained: every kind, outcome and theorem, as the documents have them; certificates in words."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from checkers import Aligned, Bijective, Covers, Equal, InBounds, Injective, Surjective, prove
from checkers.claim_text import KINDS
from checkers.claims import OTHERS
from checkers.trusted.certificate_checker import KINDS as CERTIFICATES
from symlayout import ComposedLayout, E, Layout, Swizzle, ceil_div, dims
from symlayout.address_map import AddressMap
from symlayout.answers.explain import SENTENCES, entries, explain, in_words, overview
from symlayout.answers.report import Outcome
from symlayout.answers.theorems import THEOREMS, page
from symlayout.errors import ClaimError
from tests.support.kernel_families import FAMILIES
from tests.support.rows import telling

ROOT = Path(__file__).parents[2]
M, N, ld = dims("M N ld")


def plain(text: str) -> str:
    return " ".join(text.split())


def test_the_page_of_theorems_is_written_from_the_rows() -> None:
    there = (ROOT / "docs" / "theorems.md").read_text(encoding="utf-8")

    assert there == page(), "python -m symlayout.answers.theorems > docs/theorems.md"
    assert len({t.name for t in THEOREMS}) == len(THEOREMS) >= 20


def test_every_theorem_that_a_method_names_is_explained() -> None:
    sources = [*(ROOT / "checkers").rglob("*.py")]
    named = {n for p in sources for n in re.findall(r"\bT\d+\b", p.read_text(encoding="utf-8"))}

    assert named - {e.name for e in entries()} == set()


def test_every_name_has_its_entry() -> None:
    listed = overview(KINDS.values()).splitlines()
    for name in (*KINDS, *(o.value for o in Outcome), *(e.name for e in entries())):
        found = explain(name, KINDS.values())
        assert found.name == name
        assert found.text, name
        assert f"  {found.name} {found.title}".rstrip() in listed


@pytest.mark.parametrize(
    "asked, name",
    [
        ("In Bounds", "in_bounds"),
        ("InBounds", "in_bounds"),
        ("conflict-free", "conflict_free"),
        ("t2", "T2"),
        ("chain of strides, T2", "T2"),
        ("mixed radix", "T3"),
        ("strides without gaps", "Strides without gaps"),
        ("REFUTED", "refuted"),
        ("z3 5.4.0", "solver"),
        ("in domain", "in domain"),
    ],
)
def test_names_as_answers_print_them(asked: str, name: str) -> None:
    assert explain(asked, KINDS.values()).name == name


EVERY_KIND = (*KINDS.values(), *OTHERS)
SENTENCE = re.compile(
    r"(?:proved|refuted|unknown|vacuous) +(?P<claim>.*?): .*?(?:  \[(?P<method>[^\[\]]*)\])?(?:  \(|$)"
)


WORDS = {f.name: f for f in FAMILIES[::-1]}  # one of each: reports on another type or another tile have no other words


@pytest.mark.parametrize("family", telling(FAMILIES, *WORDS.values()), ids=lambda f: f.word)
def test_every_word_of_the_reports_on_kernels_is_explained(family, decided) -> None:
    """``explain`` lacked what most reports on kernels say: ring protocol, written once, rule by rule."""
    kernel = family.build()
    report = prove(kernel, cache=decided)

    repaired = (
        prove(kernel.assuming(*report.repairs), cache=decided).verdicts if report.repairs else ()
    )  # else the same
    verdicts = (*report.verdicts, *repaired)
    words = {v.claim.rule.id if hasattr(v.claim, "rule") else type(v.claim).__name__ for v in verdicts}
    for word in words | {v.outcome.value for v in verdicts} | {v.method for v in verdicts if v.method}:
        assert explain(word, EVERY_KIND).text


def test_every_method_of_the_examples_is_explained() -> None:
    lines = [line for p in (ROOT / "examples" / "expected").glob("*.txt") for line in p.read_text().splitlines()]
    methods = {m["method"] for line in lines if (m := SENTENCE.match(line)) and m["method"]}

    assert len(methods) > 15
    for method in methods:
        assert explain(method, EVERY_KIND).text


@pytest.mark.parametrize("claim", OTHERS, ids=lambda c: c.__name__)
def test_claims_about_kernels_are_explained_by_class_and_by_kind(claim) -> None:
    for word in (claim.__name__, getattr(claim, "kind", claim.__name__)):
        if isinstance(word, str):
            assert explain(word, EVERY_KIND).text.startswith(inspect.getdoc(claim).splitlines()[0])


def test_a_kind_shows_its_fields_and_its_comment() -> None:
    text = str(explain("fits_in", KINDS.values()))

    assert text.startswith("fits_in\n  Every value, times *unit_bytes*")
    assert "fields: layout, bits = 32, signed = True, unit_bytes = 1" in text
    assert text.endswith("// symlayout: fits_in LAYOUT [bits BITS] [signed SIGNED] [unit_bytes UNIT_BYTES]")
    assert str(explain("equal", KINDS.values())).endswith("// symlayout: equal A and B")


@pytest.mark.parametrize("name", ["bijectve", "T99", "?", "-"])
def test_unknown_names_say_what_lists_all(name: str) -> None:
    with pytest.raises(
        ClaimError, match=rf"expected a word that an answer uses, got '{re.escape(name)}'.*symlayout explain lists"
    ):
        explain(name, KINDS.values())


# -- certificates in words ------------------------------------------------------------------------------------

INT32 = "2147483647"
WORDS = [
    (Injective(Layout((4, 8), (8, 1))), "(4,8):(8,1) is injective"),
    (Bijective(Layout((4, 8), (8, 1)), 32), "(4,8):(8,1) is a bijection onto [0, 32)"),
    (
        Injective(Layout((M, N), (1, ld)), given=[ld >= M]),
        f"(M,N):(1,ld) is injective, where 1 <= M <= {INT32}, 1 <= N <= {INT32}, 1 <= ld <= {INT32}, ld >= M",
    ),
    (
        InBounds(Layout((M, 8), (-1, M)), 8 * M, low=1 - M),
        f"(M,8):(-1,M) lies in [1 - M, 8*M - 1], both ends included, where 1 <= M <= {INT32}",
    ),
    (
        Injective(Layout((ceil_div(M, 64), 64), (64, 1))),
        f"(q0,64):(64,1) is injective, where q0 = (M + 63)//64, 1 <= M <= {INT32}",
    ),
    (
        Equal(Layout((8, M)), Layout(8 * M)),
        f"(8,M):(1,8) and (8*M):(1) are one function, where 1 <= M <= {INT32}",
    ),
    (
        Aligned(Layout(M, 8), to_bytes=16, element_bytes=2),
        f"16 divides every value of (M):(16), where 1 <= M <= {INT32}",
    ),
    (Surjective(Layout((4, 4), (1, 2)), 8), "(4,4):(1,2) reaches every value of [0, 8)"),
    (
        Injective(ComposedLayout(Swizzle(1, 0, 2), 0, Layout((2, 2, 2), (1, 4, 2)))),
        "(2,2,2):(1,4,2) is injective",
    ),
    (
        Injective(Layout((2, 2), (E(0), E(1)))),
        "(2):(1) is injective; (2):(1) is injective (each component determines its digits)",
    ),
    (
        Bijective(AddressMap.over(lambda b: (b % M, b // M), (4 * M,)), (M, 4)),
        f"(b) -> (b - M*a0,a0) for b < 4*M with a0 = b//M is a bijection onto (M,4), where 1 <= M <= {INT32}",
    ),
    (
        Covers(AddressMap.over(lambda t, r: 8 * t + r, (ceil_div(M, 8), 8), when=lambda t, r: 8 * t + r < M), M),
        "(t,r) -> (r + 8*t) for t < q0, r < 8 when M >= r + 8*t + 1 is a bijection onto (M), "
        f"where q0 = (M + 7)//8, 1 <= M <= {INT32}",
    ),
]


@pytest.mark.parametrize("claim, words", WORDS, ids=[w for _, w in WORDS])
def test_certificates_say_what_they_prove(claim: Any, words: str) -> None:
    (certificate,) = prove(claim).certificates

    assert in_words(certificate["claim"]) == words


def test_every_kind_of_certificate_has_its_sentence() -> None:
    assert set(SENTENCES) == set(CERTIFICATES)


def test_no_assumption_is_left_out() -> None:
    assume = [
        [[1, "M"]],
        [[1, "M"], [-3]],
        [[-1, "M"], [9]],
        [[1, "M", "N"], [4]],
        [[-2, "N"], [5]],
        [[-1]],
        [[1, "k"]],
    ]
    define = {"q": ["minimum", [[1, "M"]], 8]}
    claim = {"kind": "nonneg", "poly": [[2, "q"], [-1]], "assume": assume, "define": define}

    assert in_words(claim) == (
        "2*q0 - 1 >= 0, where q0 = min(M, 8), 3 <= M <= 9, 0 <= k, M*N + 4 >= 0, 5 >= 2*N, 0 >= 1"
    )


@pytest.mark.parametrize("claim", [None, 4, {}, {"kind": []}, {"kind": "bounds"}, {"kind": "nonneg", "poly": [3]}])
def test_what_is_no_claim_is_said_too(claim: Any) -> None:
    assert in_words(claim) == "a claim that cannot be read"
