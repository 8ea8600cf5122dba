"""A certificate binds its claim: each field of the statement, changed by itself, is one that the checker refuses.

A change may leave the statement true, as a larger extent does in bounds or a fact that no proof needs. Then, and only
then, it may be accepted: the changed statement is read back as a claim, proved anew and tried at sizes by the oracle.
"""

from __future__ import annotations

import ast
import copy
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import checkers
from benchmarks.soundness.layouts import ROWS
from benchmarks.soundness.row import stated
from checkers import (
    Aligned,
    Bijective,
    Budget,
    Coalesced,
    ConflictFree,
    Covers,
    Equal,
    FitsIn,
    Holds,
    InBounds,
    Injective,
    Multiplicity,
    Partition,
    Surjective,
    Vectorizable,
    prove,
    verify,
)
from checkers.prover import decide
from checkers.trusted.statements import write
from checkers.trusted.statements.kinds import DERIVED
from checkers.trusted.statements.world import World
from symlayout import ComposedLayout, E, Layout, Swizzle, ceil_div, dim, dims, eq
from symlayout.address_map import AddressMap
from symlayout.answers.report import Outcome
from symlayout.errors import CertificateError, SymlayoutError
from symlayout.expr import Fact, maximum, minimum
from symlayout.kernels import vector_copy
from tests.support.statements import Reader, is_true

M, N = dims("M N", at_most=30)
K = dim("K", at_most=32, multiple_of=8)
S = dim("S", at_most=4)
ld = dim("ld", at_least=M, at_most=40)
tiles = ceil_div(M, 4)
over = AddressMap.over
THREADS = Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512)))
ROWS_OF_64 = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))

CLAIMS = [
    Injective(Layout((4, 8), (8, 1))),
    Injective(Layout((M, N), (1, ld))),
    Injective(Layout((M, N), (1, N)), given=(N >= M + 1,)),
    Injective(Layout((3, 3), (2, 3))),
    Injective(ROWS_OF_64),
    Injective(ComposedLayout(Swizzle(2, 0, 3), 0, Layout((4, 8), (8, 1)))),
    Injective(Layout((M, N), (E(0), E(1)))),
    Injective(over(lambda b: b % M * N + b // M, (M * N,))),
    Injective(over(lambda i, j: 4 * i + j, (tiles, 4), lambda i, j: 4 * i + j < M)),
    Bijective(THREADS, onto=4096),
    Bijective(Layout((M, N), (N, 1)), M * N),
    Bijective(Layout((K, N), (N, 1)), K * N),
    Bijective(over(lambda b: (b % M, b // M), (M * N,)), (M, N)),
    Bijective(ComposedLayout(Swizzle(2, 0, 3), 0, Layout((32, N), (1, 32))), 32 * N),
    Surjective(Layout((M, 3, N), (1, 0, M)), M * N),
    Partition(Layout((M, 3, N), (1, 0, M)), M * N, copies=3),
    Partition(THREADS, 4096),
    Multiplicity(Layout((32, M, N), (0, 1, ld)), copies=32),
    Covers(over(lambda b: (b % tiles, b // tiles), (tiles * ceil_div(N, 8),)), (M, N), tile=(4, 8)),
    Covers(Layout(tiles), M, tile=4),
    InBounds(Layout((M, N), (1, ld)), ld * N),
    InBounds(Layout((M, N), (-1, ld)), ld * N, low=1 - M),
    InBounds(ComposedLayout(Swizzle(2, 0, 3), 0, Layout((32, N), (1, 32))), 32 * N),
    InBounds(over(lambda i, j: 4 * i + j, (tiles, 4), lambda i, j: 4 * i + j < M), M),
    InBounds(over(lambda b: b % M * N + b // M, (M * N,)), M * N),
    InBounds(Layout((M, N), (E(0), E(1))), (M, N)),
    FitsIn(Layout((M, N), (1, 40)), bits=12, unit_bytes=1),
    FitsIn(Layout((M, N), (1, 40)), bits=12, signed=False, unit_bytes=2),
    FitsIn(M * N, bits=11),
    Equal(Layout((8, M), (1, ld)), Layout((2, 4, M), (1, 2, ld))),
    Equal(Layout((M, 8), (1, ld)), Layout((M, 2, 4), (1, ld, 2 * ld)), given=(eq(ld, 2 * M),)),
    Aligned(Layout((M, K), (K, 8)), to_bytes=16, element_bytes=2, base_bytes=16 * N),
    Aligned(ComposedLayout(Swizzle(3, 3, 3), 64 * M, Layout((8, N), (64, 8))), to_bytes=16, element_bytes=2),
    Aligned(over(lambda i: 8 * (i // 3), (M,)), to_bytes=16, element_bytes=2),
    Vectorizable(Layout((K, M), (1, K)), elements=8),
    Vectorizable(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((64, M), (1, 64))), elements=8),
    ConflictFree(ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 8, S), (64, 8, 512))), element_bytes=2, width_bytes=16),
    ConflictFree(Layout(((4, 8), S), ((1, 4), 256)), element_bytes=4, width_bytes=4),
    ConflictFree(Layout(((4, 8), S), ((1, 8), 256)), element_bytes=4, width_bytes=4, degree=2),
    Coalesced(Layout(((4, 8), S), ((1, 1024), 8192)), element_bytes=4, width_bytes=4, sectors=8),
    Coalesced(Layout((32, S, N), (1, 1024, 8 * M)), element_bytes=4, width_bytes=4),
    Holds(M * N >= M),
    Holds(Fact(minimum(M, N) - 1, ">=")),
    Holds(Fact(4 * tiles - M, ">=")),
]


def certificate_of(claim: Any) -> Any:
    verdict = decide(claim, Budget())
    assert verdict.outcome is Outcome.PROVED, verdict
    return json.loads(json.dumps(verdict.certificate))


def rejects(certificate: Any) -> bool:
    try:
        verify(certificate)
    except CertificateError:
        return True
    return False


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_a_statement_says_the_whole_claim(claim):
    """Read back it is the same claim, so no field is missing from it."""
    assert Reader(certificate_of(claim)["statement"]).claim() == claim


# -- changes ------------------------------------------------------------------------------------------------------


def nodes(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every number, word and list below."""
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from nodes(value, (*path, key))


def at(x: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        x = x[key]
    return x


def others(x: Any) -> Iterator[Any]:
    """What a value may be changed to."""
    if type(x) is bool:
        yield not x
    elif type(x) is int:
        yield from (x + 1, x - 1)
    elif type(x) is str:
        yield f"{x}'"
    elif x is None:
        yield 1
    elif isinstance(x, list) and x:
        yield x[:-1]
        yield [*x, x[0]]
        if x[::-1] != x:
            yield x[::-1]


def same(a: Any, b: Any) -> bool:
    """Whether two values are one polynomial, its terms in another order."""
    terms = [sorted(map(repr, x)) if isinstance(x, list) and all(isinstance(t, list) for t in x) else x for x in (a, b)]
    return terms[0] == terms[1]


def changed(statement: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    for path in nodes(statement):
        for new in others(at(statement, path)):
            if same(at(statement, path), new):
                continue
            out = copy.deepcopy(statement)
            at(out, path[:-1])[path[-1]] = new
            yield path, out


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_each_field_of_a_statement_is_bound(claim):
    """`ConflictFree` of 32 lanes had the certificate of 4, which said nothing of lanes; the checker took it.

    The old tests changed what the certificate held, and it held too little.
    """
    certificate = certificate_of(claim)
    verify(certificate)
    assert "binding" not in certificate
    rejected, taken = set(), []
    for path, statement in changed(certificate["statement"]):
        if rejects({**certificate, "statement": statement}):
            rejected.add(path[0])
        else:
            taken.append((path, statement))
    for path, statement in taken:
        if path[0] == "label" or path[0] == "obligation":
            continue  # words of a claim about a fact, which say nothing of their own
        try:
            assert is_true(statement), (path, at(statement, path))
        except SymlayoutError as e:
            pytest.fail(f"{path} changed to {at(statement, path)} is no claim: {e}")

    free = {"label", "obligation", "sizes", "given"} | ({"atoms"} if not certificate.get("rewriting") else set())
    assert rejected >= set(certificate["statement"]) - free - ({"low"} if claim.kind == "fits in" else set())


def test_every_kind_that_is_derived_is_changed_here():
    assert {type(c).__name__ for c in CLAIMS} == set(DERIVED)


def test_a_statement_of_another_claim_is_refused():
    found = [certificate_of(c) for c in CLAIMS]
    for a in found:
        for b in found:
            if a is not b and a["statement"] != b["statement"]:
                mixed = {**a, "statement": b["statement"]}
                assert rejects(mixed) or is_true(b["statement"])


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_no_slip_in_the_rewriting_makes_another_statement_pass(claim):
    """Two changes at once, one of the statement and one of what its sizes and quotients are called in the proof."""
    certificate = certificate_of(claim)
    r = random.Random(2)
    statements = [statement for _, statement in changed(certificate["statement"])]
    slips = [how for _, how in changed(certificate.get("rewriting", {}))]
    for _ in range(40 if slips else 0):
        statement = r.choice(statements)
        if not rejects({**certificate, "statement": statement, "rewriting": r.choice(slips)}):
            assert is_true(statement)


def test_a_quotient_in_a_solved_size_is_the_one_that_is_stated():
    """ld is 4*(N//2) by what is given; a proof that calls another thing N//2 is refused."""
    claim = Injective(Layout((2, N), (N // 2 * 4, ld)), given=(eq(ld, N // 2 * 4 + 1), N >= 2))
    names = write.statement(claim)["atoms"]
    (q,) = names
    how = {
        "let": [["ld", [[4, q], [1]]]],
        "names": {q: ["floordiv", [[1, "N"]], 4], "half": ["floordiv", [[1, "N"]], 2]},
        "rows": {q: [[1, "half"]]},
    }
    forged = {**write.statement(claim), "kind": "Injective"}
    with pytest.raises(CertificateError, match="means two things"):
        World(json.loads(json.dumps(forged)), how)
    assert World(json.loads(json.dumps(forged)), {"let": how["let"]}).lets


def test_a_count_at_all_sizes_does_not_rest_on_a_point():
    """At Z = 0 there is no coordinate, and max(Z, 1) is 1: that some point exists proves nothing about counts."""
    Z = dim("Z", at_least=0, at_most=9)
    claim = Bijective(over(lambda i: i, (Z,)), maximum(Z, 1))
    assert decide(claim, Budget()).outcome is Outcome.REFUTED
    said = json.loads(json.dumps(write.statement(claim)))
    (k,) = said["atoms"]
    rows = [[[1, "Z"]], [[-1, "Z"], [9]], [[1, "i"]], [[1, "Z"], [-1, "i"], [-1]]]
    why = [None, {"sum": [[1, 2], [1, 3]]}]  # Z - 1 is i + (Z - 1 - i)
    forged = {
        "statement": said,
        "rewriting": {"goal": [[k, [[1, "Z"]], *(why if said["atoms"][k][1] == [[1, "Z"]] else why[::-1])]]},
        "claim": {"kind": "bijective", "modes": [[[[1, "Z"]], 1]], "onto": [[1, "Z"]], "assume": rows[:2]},
        "proof": {"order": [0], "extents": [{"sum": [[1, 0]]}]},
    }
    verify({"claim": forged["claim"], "proof": forged["proof"]})
    for world in ({"world": {"assume": rows}}, {"points": {"assume": rows}}, {}):
        assert rejects({**forged, "rewriting": {**forged["rewriting"], **world}})


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_proved_claim_is_bound_too(claim):
    """A slip in what is proved is refused, unless it proves the same statement."""
    certificate = certificate_of(claim)
    kept = {"floors", "ceilings", "positive", "define", "assume", "because"}
    kept |= {"parts"} if isinstance(claim, Injective) else set()  # the entries of a value in another order
    kept |= {"modes"} if claim.kind == "vectorizable" else set()  # of the first extent only that it is whole vectors
    for path, inner in changed(certificate["claim"]):
        if not rejects({**certificate, "claim": inner}):
            assert set(path) & kept, (path, at(inner, path))


# -- the rest -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_certificates_of_random_claims_are_bound(row):
    """And nearly none by its hash alone: the derivation goes through."""
    r, bound, seen = random.Random(3), 0, 0
    for mode in ("static", "symbolic"):
        for _ in range(12):
            verdict = decide(stated(getattr(row, mode), r), Budget(solver_ms=20, repairs=False))
            if verdict.certificate is not None:
                certificate = json.loads(json.dumps(verdict.certificate))
                verify(certificate)
                bound += "binding" in certificate
                seen += 1

    assert seen
    assert bound <= 1


def test_what_is_not_derived_is_bound_by_its_hash_and_says_so():
    report = prove(vector_copy(dim("N", multiple_of=4)))
    certificates = [json.loads(json.dumps(c)) for c in report.certificates]
    assert certificates
    for c in certificates:
        verify(c)
        if "binding" not in c:
            continue
        assert c["trusts"]
        for key in ("statement", "claim", "proof", "trusts"):
            for _, new in changed(c[key]):
                assert rejects({**c, key: new})
                break


CHECKER = (
    "certificate_checker",
    "lemmas",
    "map_checker",
    "map_steps",
    "piece_checker",
    *(
        f"statements/{m}"
        for m in (
            "check",
            "graph_claims",
            "graphs",
            "kinds",
            "lane_claims",
            "linear_forms",
            "world",
        )
    ),
)


@pytest.mark.parametrize("module", CHECKER)
def test_the_checker_imports_nothing_of_the_provers(module):
    """No layout, no expression, no solver: of this project only its own modules and the errors."""
    root = Path(checkers.__file__).parent / "trusted"
    own = {root / f"{m}.py" for m in CHECKER}
    for node in ast.walk(ast.parse((root / f"{module}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = (root / module).parents[node.level - 1]
            assert folder.joinpath(*str(node.module).split(".")).with_suffix(".py") in own
        elif isinstance(node, ast.ImportFrom):
            assert node.module == "symlayout.errors" or node.module.partition(".")[0] in sys.stdlib_module_names
        elif isinstance(node, ast.Import):
            assert {a.name.partition(".")[0] for a in node.names} <= sys.stdlib_module_names


def test_a_binding_needs_words():
    c = certificate_of(CLAIMS[0])

    assert rejects({**c, "binding": "0"})
    assert rejects({**c, "statement": {**c["statement"], "kind": "RingProtocol"}})


def test_a_certificate_is_written_when_it_is_asked_for():
    c = decide(CLAIMS[1], Budget()).certificate

    assert c is not None
    assert c["claim"]["kind"] == "injective"
    assert dict.__len__(c) == 2
    assert c["statement"]["kind"] == "Injective"
    assert dict(c) == {**c} == json.loads(json.dumps(c)) == copy.deepcopy(c)
