"""Certificates about views and distributions: the checker derives what they need from the transforms of a statement.

Each field of each statement is changed. A changed statement that is accepted must be true: its graph is read back as a
descriptor, and the oracle of the campaign counts its points in upstream's arithmetic.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from benchmarks.soundness import ck_oracle
from benchmarks.soundness.ck_tile import ROWS
from benchmarks.soundness.plain import TooMany
from benchmarks.soundness.row import drawn, stated
from checkers import (
    Budget,
    DistributionCovers,
    GuaranteedVectorLength,
    LdsConflictDegree,
    MaskIsExactly,
    NoInvalidAccess,
    VectorDoesNotStraddle,
    prove,
    verify,
)
from checkers.prover import decide
from checkers.trusted.statements.graph_claims import GRAPH_CLAIMS
from symlayout import Layout, dim
from symlayout.answers.report import Outcome
from symlayout.answers.statement_text import statement_in_words
from symlayout.banks import Access
from symlayout.ck_tile import (
    TensorDescriptor,
    TileDistribution,
    TileDistributionEncoding,
    make_naive_tensor_descriptor,
    make_naive_tensor_view,
    make_tile_window,
    pad_tensor_view,
    transform_tensor_descriptor,
)
from symlayout.ck_tile.adaptor import Graph
from symlayout.errors import SymlayoutError
from symlayout.expr import index
from symlayout.int_tuple import ceil_div
from symlayout.transforms import Embed, Merge, Offset, Pad, PassThrough, RightPad, Unmerge
from symlayout.transforms.transform import of_kind
from tests.checkers.test_statements import Reader, changed, rejects
from tests.support.ck_tiles import ACCUMULATOR, FRAGMENTS, GEMM_A
from tests.support.ck_views import im2col, lds_tile, predicate_of_im2col

M, K, S = dim("M", at_most=9), dim("K", at_most=9), dim("S", at_most=5)
BOTH = ((0,), (1,))
PADDED = pad_tensor_view(make_naive_tensor_view(None, (M, 4 * K), (4 * K, 1), 4, 1), (4, 8), (True, True))
MERGED = transform_tensor_descriptor(
    make_naive_tensor_descriptor((M, K), (K + 3, 1)), (Merge((M, K)),), ((0, 1),), ((0,),)
)
SMALL = TileDistributionEncoding((2,), ((2, 2), (4, 2)), (((1, 0), (0, 0)), ((2, 0),)), ((1, 1), (2, 1)))
WINDOW = make_tile_window(PADDED, (4, 8), (4 * index("m", ceil_div(M, 4)), 0), TileDistribution(SMALL)).access


MOST = 50  # changes of one certificate


def taps() -> TensorDescriptor:
    """A convolution in one dimension, three taps wide, with a pad on each side."""
    d = make_naive_tensor_descriptor((M, 4), (4, 1))
    d = transform_tensor_descriptor(d, (Pad(M, 1, 1), PassThrough(4)), BOTH, BOTH)
    d = transform_tensor_descriptor(d, (Embed((3, M), (1, 1)), PassThrough(4)), BOTH, ((0, 1), (2,)))
    return transform_tensor_descriptor(d, (PassThrough(M), Merge((3, 4))), ((1,), (0, 2)), BOTH)


CLAIMS = [
    NoInvalidAccess(PADDED),
    NoInvalidAccess(MERGED),
    NoInvalidAccess(taps()),
    NoInvalidAccess(WINDOW),
    NoInvalidAccess(lds_tile(8, 8, 4)),
    NoInvalidAccess(lds_tile(32, 8, 4)),
    MaskIsExactly(PADDED, lambda i, k: (2 * i < 2 * M - 1, k < 4 * K)),
    MaskIsExactly(taps(), lambda i, k: (2 * (i + k // 4) >= 1, i + k // 4 <= M)),
    VectorDoesNotStraddle(PADDED, 4),
    GuaranteedVectorLength(PADDED, 4),
    GuaranteedVectorLength(taps(), 4, -1, 1),
    GuaranteedVectorLength(WINDOW, 2, -1, 1),
    GuaranteedVectorLength(lds_tile(8, 8, 4)),
    NoInvalidAccess(make_naive_tensor_descriptor((M, 4 * K), (4 * K, 1)), elements=4),
    LdsConflictDegree(Layout(((8, 2), S), ((32, 8), 512)), 2, Access(16, lanes=16), 4),
    LdsConflictDegree(Layout((16, S), (2 * M + 1, 64)), 4, Access(4, lanes=16, banks=64), 1),
    DistributionCovers(SMALL),
    DistributionCovers(TileDistributionEncoding((M,), ((K, 2),), (((0, 0),), ((1, 0),)), ((1, 1),))),
]


def certificate_of(claim: Any) -> Any:
    verdict = decide(claim, Budget())
    assert verdict.outcome is Outcome.PROVED, verdict
    return json.loads(json.dumps(verdict.certificate))


class GraphReader(Reader):
    """A statement whose subject is a graph, as a claim again."""

    def data(self, x: Any) -> Any:
        if isinstance(x, dict) and "access" in x:
            return Access(**{k: self.data(v) for k, v in x["access"].items()})
        if not isinstance(x, dict) or "graph" not in x:
            return super().data(x)
        g = x["graph"]
        transforms = tuple(of_kind(kind, *map(self.data, parameters)) for kind, *parameters in g["transforms"])
        ids = [tuple(map(tuple, g[k])) for k in ("lower", "upper")]
        graph = Graph(transforms, *ids, tuple(g["bottom"]), tuple(g["top"]))
        if len(graph.bottom_ids) > 1 or self.statement["kind"] == "DistributionCovers":
            return encoding_of(graph)
        return TensorDescriptor(graph, 1, [f"{c}_" for c in g["coords"]])


def encoding_of(g: Graph) -> TileDistributionEncoding:
    """The encoding whose distribution a graph is."""
    replicate = [t.lengths for t in g.transforms if t.kind == "replicate"]
    factors = {i: t.lengths for t, low, _ in g.rows() if isinstance(t, Unmerge) for i in low}
    ids: dict[int, tuple[int, int]] = {}
    for t, low, up in g.rows():
        major = 0 if t.kind == "replicate" else low[0] + 1 if t.kind == "unmerge" else None
        ids.update({} if major is None else {i: (major, k) for k, i in enumerate(up)})
    ps = [tuple(ids[i] for i in low) for t, low, _ in g.rows() if t.kind == "merge"]
    ys = tuple(ids[i] for i in g.top_ids[len(ps) :])
    return TileDistributionEncoding(
        replicate[0] if replicate else (), tuple(factors[k] for k in g.bottom_ids), tuple(ps), ys
    )


def is_true(statement: Any) -> bool:
    """Whether a changed statement holds at drawn sizes, its parameters aside, which are obligations of their own."""
    claim = GraphReader(statement).claim()
    for env in drawn(claim, random.Random(1)):
        try:
            if not ck_oracle.HOLDS[type(claim).__name__](claim, env):
                return False
        except TooMany:
            continue
    return True


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_each_field_of_a_statement_is_bound(claim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ck_oracle, "legal", lambda d, env: True)
    certificate = certificate_of(claim)
    verify(certificate)
    assert "binding" not in certificate
    told = [c for c in changed(certificate["statement"]) if c[0][0] not in ("atoms", "version")]
    assert len(told) > 20
    for path, statement in random.Random(3).sample(told, min(len(told), MOST)):
        if rejects({**certificate, "statement": statement}):
            continue
        try:
            assert is_true(statement), (path, statement)
        except (SymlayoutError, KeyError):
            assert path[0] in ("sizes", "layout", "distribution"), path


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_proved_claim_is_bound_too(claim: Any) -> None:
    """A slip in the polynomials, extents and ends that are proved is refused."""
    certificate = certificate_of(claim)
    kept = {"floors", "ceilings", "positive", "define", "assume", "because", "bits"}
    if isinstance(claim, VectorDoesNotStraddle):
        kept |= {"parts"}  # multiples that the checker finds anew from the transforms
    told = [*changed(certificate["claim"])]
    for path, inner in random.Random(3).sample(told, min(len(told), MOST)):
        if not rejects({**certificate, "claim": inner}):
            assert set(path) & kept, path


def test_the_kinds_that_are_derived_from_transforms_are_changed_here() -> None:
    assert {type(c).__name__ for c in CLAIMS} == set(GRAPH_CLAIMS)


def test_implicit_gemm_and_the_distributions_of_a_gemm_are_derived() -> None:
    def other(m: Any, k: Any) -> Any:
        first, *rest = predicate_of_im2col(m, k)
        return (first.expr * 2 >= -1, *rest)

    claims = [NoInvalidAccess(im2col()), MaskIsExactly(im2col(), other)]
    claims += [DistributionCovers(e) for e in (GEMM_A, FRAGMENTS, ACCUMULATOR)]
    for claim in claims:
        c = certificate_of(claim)
        verify(c)
        assert "trusts" not in c, claim


def test_a_merge_of_negative_lengths_is_no_box_of_digits() -> None:
    """(-2)*(-3) is 6, and no digit runs below -2: every bound would hold of nothing."""
    c = certificate_of(NoInvalidAccess(MERGED))
    sizes = {"M": [-3, 9, 1], "K": [-3, 9, 1]}

    assert rejects({**c, "statement": {**c["statement"], "sizes": sizes}})


def renamed(x: Any, old: str, new: str) -> Any:
    return json.loads(json.dumps(x).replace(json.dumps(old), json.dumps(new)))


def test_names_of_sizes_are_no_digits_and_no_unknowns() -> None:
    """A size that is called as a digit, or as an integer of which nothing is known, is neither."""
    below = transform_tensor_descriptor(
        make_naive_tensor_descriptor((8,), (1,)),
        (Offset(dim("D", at_least=0), dim("D", at_least=0)),),
        ((0,),),
        ((0,),),
    )
    d = transform_tensor_descriptor(
        transform_tensor_descriptor(below, (RightPad(8, 4),), ((0,),), ((0,),)), (Offset(12, 3),), ((0,),), ((0,),)
    )
    c = certificate_of(NoInvalidAccess(d, 8 + dim("D", at_least=0)))
    other = renamed(c, "D", "[D")
    verify(other)
    other["statement"]["sizes"]["[D"][0] = -9
    assert rejects(other)

    c = certificate_of(VectorDoesNotStraddle(PADDED, 4))
    assert rejects(renamed(c, "M", "any 0"))


def test_a_tile_dimension_is_written_once() -> None:
    c = certificate_of(DistributionCovers(SMALL))
    g = c["statement"]["distribution"]["graph"]
    g["transforms"].append(["unmerge", [1], False])
    g["lower"].append([0])
    g["upper"].append([99])
    assert rejects(c)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_certificates_of_careless_claims_are_accepted_and_mostly_derived(row: Any) -> None:
    r, trusting, seen = random.Random(11), 0, 0
    for mode in ("static", "symbolic"):
        for _ in range(15):
            verdict = decide(stated(getattr(row, mode), r), Budget(solver_ms=20, repairs=False))
            if verdict.certificate is not None:
                certificate = json.loads(json.dumps(verdict.certificate))
                verify(certificate)
                trusting += "binding" in certificate
                seen += 1

    assert trusting <= max(1, seen // 3)


def test_a_statement_by_transforms_is_shown_in_words() -> None:
    said = statement_in_words(certificate_of(NoInvalidAccess(MERGED))["statement"])

    assert said.startswith("NoInvalidAccess of layout (x0) as dimensions [3]; [1,2] = merge((M,K)) of [3]; ")
    assert "[0] = embed((M,K), (K + 3,1)) of [1,2]; value [0], size K*M + 3*M - 3" in said
    lanes = certificate_of(LdsConflictDegree(Layout((16, S), (2 * M + 1, 64)), 4, Access(4, lanes=16, banks=64), 1))
    assert "served width_bytes 4, lanes 16, groups ((0,1,2," in statement_in_words(lanes["statement"])


def test_a_bundle_of_claims_about_views_is_checked_without_a_prover(tmp_path: Any) -> None:
    """A statement by transforms is that of its entry too; after a change of either it is not."""
    report = prove(NoInvalidAccess(PADDED), GuaranteedVectorLength(taps(), 4, -1, 1), DistributionCovers(SMALL))
    made = report.certificate
    made.save(tmp_path / "views.json")
    found = type(made).load(tmp_path / "views.json").check()

    assert (len(found.accepted), found.problems, found.trusting) == (3, (), ())
    text = (tmp_path / "views.json").read_text().replace("right_pad", "left_pad", 1)
    (tmp_path / "views.json").write_text(text)
    assert type(made).load(tmp_path / "views.json").check().problems
