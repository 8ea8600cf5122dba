"""Claims about tensor maps and their copies as text states them."""

from __future__ import annotations

import pytest

from checkers import prove
from checkers.claim_text import claim_from
from symlayout import SymlayoutError
from symlayout.answers.report import Outcome

MAP = {"tensor": "(K,M):(1,K)", "dtype": "bf16", "box": "(64,128)", "swizzle": 128}
LOOP = {**MAP, "start": "(64*k, 128*bm)", "over": "(k, bm, s) < (ceil_div(K, 64), ceil_div(M, 128), 4)"}


@pytest.mark.parametrize(
    "kind, fields, given, outcome",
    [
        ("tensor_map_valid", MAP, ["K % 8 == 0"], "proved"),
        ("tensor_map_valid", MAP, [], "refuted"),
        ("tensor_map_valid", {**MAP, "address": "A"}, ["K % 8 == 0", "A % 16 == 0"], "proved"),
        ("tensor_map_valid", {**MAP, "address": "A"}, ["K % 8 == 0"], "refuted"),
        ("tensor_map_valid", {**MAP, "element_stride": "(1,9)"}, ["K % 8 == 0"], "refuted"),
        ("tma_copy_safe", LOOP, ["K % 8 == 0"], "proved"),
        ("tma_copy_safe", {**LOOP, "start": "(60*k, 128*bm)"}, ["K % 8 == 0"], "refuted"),
        ("tma_copy_safe", {**LOOP, "shared_address": "16384*s", "shared_bytes": 65536}, [], "proved"),
        ("tma_copy_safe", {**LOOP, "shared_address": "16384*s", "shared_bytes": 65535}, [], "refuted"),
        ("tma_copy_safe", {**LOOP, "barrier_bytes": 8192}, [], "refuted"),
        ("tma_copy_safe", {**LOOP, "barrier_bytes": 32768, "copies": 2}, [], "proved"),
        ("tma_copy_safe", {**LOOP, "direction": "store"}, ["K % 8 == 0"], "proved"),
        ("tma_copy_safe", {**LOOP, "direction": "store"}, [], "refuted"),
        ("same_bytes", {"consumer": "Sw<3,3,3> o 0 o (64,128):(1,64)", **MAP}, [], "proved"),
        ("same_bytes", {"consumer": "(64,128):(1,64)", **MAP}, [], "refuted"),
    ],
)
def test_a_claim_of_text(kind, fields, given, outcome):
    if kind == "same_bytes":
        fields = {k: v for k, v in fields.items() if k != "tensor"}
    report = prove(claim_from(kind, fields, given=given))

    assert {v.outcome for v in report.verdicts} == {Outcome(outcome)}


@pytest.mark.parametrize(
    "kind, change, message",
    [
        ("tensor_map_valid", {"dtype": "half"}, "expected an element type"),
        ("tensor_map_valid", {"tensor": "(K,M):(M,1)"}, "expected stride 1 in the first mode"),
        ("tensor_map_valid", {"tensor": "((K,2),M):((1,K),K)"}, "expected flat modes"),
        ("tensor_map_valid", {"box": "(64,128,1)"}, "expected 2 entries of box_dim"),
        ("tensor_map_valid", {"swizzle": 96}, "expected one of none, bytes32"),
        ("tensor_map_valid", {"boxes": 4}, "expected fields of tensor_map_valid"),
        ("tma_copy_safe", {"start": "(64*k,)", "over": "(k) < (4)"}, "expected 2 entries of coordinate"),
    ],
)
def test_bad_text_is_one_message(kind, change, message):
    with pytest.raises(SymlayoutError, match=message):
        claim_from(kind, {**(LOOP if kind == "tma_copy_safe" else MAP), **change})
