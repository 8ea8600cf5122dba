"""What is assumed stands beside each verdict, in every format.

``injective (M,N):(1,ld) given ld >= M`` was told as "proved injective: (M,N):(1,ld)" in all formats but JSON, and tests of
formats had claims without assumptions.
"""

from __future__ import annotations

import json
import pickle
from xml.etree import ElementTree

import pytest

from checkers import Aligned, Injective, prove
from symlayout import Layout, dim, dims
from symlayout.answers.console import show_report
from symlayout.answers.formats import Format, rendered
from symlayout.answers.report import Outcome
from symlayout.cli import app
from symlayout.draw import html_page
from symlayout.facts.scope import Phrase, ranges_in_words, usual
from symlayout.kernels import tma_copy
from tests.support.command import CliRunner

M, N, ld = dims("M N ld")
PADDED = Layout((M, N), (1, ld))
SAID = "injective: (M,N):(1,ld)  given ld >= M"

pytest_plugins = ["pytester"]

CLAIMS = """
[dims]
M = {}
N = {}
ld = {}
K = { at_most = 64, multiple_of = 8 }
[[claim]]
kind = "injective"
layout = "(M,N):(1,ld)"
given = "ld >= M"
[[claim]]
kind = "injective"
layout = "(M,N):(1,ld)"
given = "N % 8 == 0"
[[claim]]
kind = "injective"
layout = "(K,M):(1,K)"
"""


@pytest.fixture
def claims(tmp_path):
    file = tmp_path / "claims.toml"
    file.write_text(CLAIMS)
    return str(file)


def shown(*arguments):
    return CliRunner().invoke(app, ["prove", *arguments]).output


def test_the_text_of_a_report_says_what_is_given_and_for_which_sizes():
    report = prove(Injective(PADDED), given=[ld >= M])

    assert str(report) == f"proved    {SAID}  [chain of strides, T2]\nsizes     M, N, ld in 1 .. 2^31 - 1"
    assert report.verdicts[0].given == report.given == ("ld >= M",)


def test_a_fact_that_a_proof_does_not_need_is_not_said_to_be_assumed():
    report = prove(Injective(PADDED), given=[ld >= M, N.multiple_of(8)])

    assert report.verdicts[0].given == ("ld >= M",)
    assert report.given == ("ld >= M", "N % 8 == 0")
    assert "no claim needs it: N % 8 == 0" in str(report)


@pytest.mark.parametrize(
    "given",
    [
        *([ld >= M, ld >= M], [ld >= M, 2 * ld >= 2 * M], [2 * ld >= 2 * M, ld >= M], [ld >= M, ld >= M + 1]),
        *([ld >= N, N >= M, ld >= M], [ld >= M, N >= M, ld >= N]),
    ],
)
def test_facts_are_left_out_together(given):
    """Of two facts that say the same each could be left out alone, so neither was said to be assumed."""
    [v] = prove(Injective(PADDED), given=given).verdicts

    assert v.outcome is Outcome.PROVED
    left = [f for f in given if str(f) in v.given]
    assert prove(Injective(PADDED), given=left).verdicts[0].outcome is Outcome.PROVED
    assert 1 <= len(left) < len(given) or given[0] == given[1]


def test_facts_about_quotients_are_left_out_together():
    given = [N.multiple_of(8), N.multiple_of(16), (3 * N).multiple_of(8)]
    [v] = prove(Aligned(Layout(M, N), 16, 2), given=given).verdicts
    left = [f for f in given if str(f) in v.given]

    assert v.outcome is Outcome.PROVED
    assert prove(Aligned(Layout(M, N), 16, 2), given=left)


def test_what_is_given_has_a_line_of_its_own_where_the_line_is_long():
    facts = [ld >= M, M >= 1000, M.multiple_of(8), N <= 5000, (3 * M).multiple_of(64), N.multiple_of(8)]
    [v] = prove(Injective(Layout((M, N), (1, 1))), given=facts).verdicts
    head, given, *_ = v.lines()

    assert " given " not in head
    assert given == f"          given {' and '.join(map(str, facts))}"


def test_claims_without_sizes_say_nothing_of_them():
    report = prove(Injective(Layout(64)))

    assert report.sizes == report.verdicts[0].given == ()
    assert str(report) == "proved    injective: 64:1  [chain of strides, T2]"


def test_kernels_say_what_they_are_given_and_what_else_is_assumed():
    kernel = tma_copy(M, dim("N", multiple_of=2), tile=(16, 64), slots=4, blocks=132).assuming(
        dim("N", multiple_of=2).multiple_of(4)
    )
    report = prove(kernel)

    assert report
    assert report.sizes == ("M in 1 .. 2^31 - 1", "N in 1 .. 2^31 - 1, a multiple of 2")
    assert report.given == ("N % 4 == 0",)
    assert report.assumed == kernel.assumed != ()
    assert all(f"assumed: {x}" in str(report) for x in kernel.assumed)
    assert "given N % 4 == 0" in str(report)
    told = json.loads(report.to_json())
    assert (told["sizes"], told["given"], told["assumed"]) == tuple(
        map(list, (report.sizes, report.given, report.assumed))
    )


@pytest.mark.parametrize("format", Format)
def test_every_format_says_what_a_verdict_assumes(format):
    report = prove(Injective(PADDED), Aligned(Layout(M, ld), 16), given=[ld >= M])
    text = rendered(format, report, [])

    assert text.count("given") + text.count("assumptions") >= 1
    assert ("ld >= M" in text) or ("ld &gt;= M" in text)
    assert "M, N, ld in 1 .. 2^31 - 1" in text


def test_html_says_it_once():
    page = html_page(prove(Injective(PADDED), given=[ld >= M]))

    assert page.count("given ld &gt;= M") == 1
    assert "sizes     M, N, ld in 1 .. 2^31 - 1" in page


def test_junit_names_what_was_proved(claims):
    suite = ElementTree.fromstring(shown(claims, "--format", "junit"))
    cases = {c.get("name"): c for c in suite.iter("testcase")}

    assert SAID in cases
    assumed = cases[SAID].find("properties/property[@name='assumptions']").get("value")
    assert assumed.endswith("ld >= M")
    assert "1 <= M <= 2147483647" in assumed
    [sizes] = suite.findall("testsuite/properties/property[@name='sizes']")
    assert sizes.get("value").startswith("M, N, ld in 1 .. 2^31 - 1; K in 1 .. 64, a multiple of 8 (")


def test_sarif_says_what_a_refuted_claim_was_given(claims):
    [run] = json.loads(shown(claims, "--format", "sarif"))["runs"]
    [result] = run["results"]

    assert "given N % 8 == 0" in result["message"]["text"]
    assert "N % 8 == 0" in result["properties"]["assumptions"]
    assert run["properties"]["sizes"][0] == "M, N, ld in 1 .. 2^31 - 1"


def test_json_lists_the_facts_used(claims):
    found = json.loads(shown(claims, "--format", "json"))

    assert [v.get("given") for v in found["verdicts"]] == [["ld >= M"], ["N % 8 == 0"], None]
    assert found["sizes"][0] == "M, N, ld in 1 .. 2^31 - 1"


def test_the_terminal_tells_usual_sizes_once_and_others_beside_their_claim(claims):
    text = shown(claims)

    assert text.count("sizes are in 1 .. 2^31 - 1 unless said otherwise") == 1
    assert "sizes     K in 1 .. 64, a multiple of 8; M in 1 .. 2^31 - 1" in text
    assert text.count("sizes     ") == 1
    assert SAID in text


def test_accesses_that_are_counted_say_what_they_are_given(capsys):
    show_report(prove([Aligned(Layout(M, n * ld), 16) for n in range(1, 6)], given=[ld.multiple_of(16)]))

    assert "the accesses: 5 times aligned  given ld % 16 == 0 (--verbose" in capsys.readouterr().out


def test_a_failing_test_says_what_was_given(pytester):
    pytester.makepyfile(
        """
        from checkers import Injective
        from symlayout import Layout, dims
        def test_it(prove):
            M, N, ld = dims("M N ld")
            prove(Injective(Layout((M, N), (1, ld))), given=[N.multiple_of(8)])
        """
    )
    said = "\\n".join(pytester.runpytest("-p", "no:cacheprovider").outlines)

    assert "expected proved, got refuted: injective: (M,N):(1,ld)  given N % 8 == 0" in said
    assert "sizes     M, N, ld in 1 .. 2^31 - 1" in said


@pytest.mark.parametrize(
    "symbols, words",
    [
        ([M, N], ["M, N in 1 .. 2^31 - 1"]),
        ([M, dim("K", multiple_of=8)], ["M in 1 .. 2^31 - 1", "K in 1 .. 2^31 - 1, a multiple of 8"]),
        ([dim("a", multiple_of=8), dim("b", multiple_of=8)], ["a, b in 1 .. 2^31 - 1, multiples of 8"]),
        ([dim("a", at_least=None, at_most=None)], ["any a"]),
        ([dim("a", at_least=N, at_most=None)], ["a at least N"]),
        ([dim("a", at_least=None, at_most=7)], ["a at most 7"]),
        ([dim("a", at_most=2**40), dim("b", at_most=4096)], ["a in 1 .. 2^40", "b in 1 .. 4096"]),
        ([], []),
    ],
)
def test_ranges_in_words(symbols, words):
    assert list(ranges_in_words(symbols)) == words


def test_phrases_know_their_names_and_whether_they_are_usual():
    both, other = ranges_in_words([dim("K", at_least=2), *dims("M N")][::-1])

    assert (both.names, both.usual, both) == (("N", "M"), True, usual(["N", "M"]))
    assert (other.names, other.usual) == (("K",), False)
    assert not any(
        p.usual for p in ranges_in_words([dim("a", multiple_of=8), dim("b", at_least=0), dim("c", at_most=N)])
    )


def test_phrases_travel_to_other_processes():
    [phrase] = pickle.loads(pickle.dumps(ranges_in_words(dims("M N"))))

    assert isinstance(phrase, Phrase)
    assert (phrase, phrase.names, phrase.usual) == ("M, N in 1 .. 2^31 - 1", ("M", "N"), True)
