"""True claims, broken mechanically: each mutant is refuted, or it is equivalent, never PROVED while false.

The claims are rows of the corpus and of the examples, as text. A mutation changes one thing as a slip of the pen
would: a stride or an extent by one, two strides swapped, a mode or a fact dropped, a digit of a constant, a bit of
a swizzle, a predicate. Whether a mutant that was not refuted is equivalent is decided by ``tests.corpus.oracle``,
on plain integers at three sizes or more. ``python -m tests.refuted.test_mutation`` prints every survivor.
"""

from __future__ import annotations

import collections
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.build import claim_from
from checkers.prover import Budget, decide
from symlayout.errors import SymlayoutError
from symlayout.int_tuple import leaves
from symlayout.report import Outcome, Verdict
from tests.corpus import oracle

Text = dict[str, Any]

with (Path(__file__).parents[1] / "corpus" / "symbolic.toml").open("rb") as file:
    CORPUS: dict[str, Text] = {t["name"]: t for t in tomllib.load(file)["claim"]}

CHOSEN = """
    compact/column_major_3 compact/row_major_4 compact/column_major_onto_3 compact/permuted_4 compact/with_constants
    compact/nested_interleaved chain/free_3 chain/tight_reach chain/residues_with_room
    leading_dimension/column leading_dimension/batch_free leading_dimension/heads_in_rows
    leading_dimension/extent_padded leading_dimension/extent_last_element
    overlap/two_windows overlap/stride_3_under_4 tiles/whole_tiles tiles/predicated
    tiles/predicated_injective tiles/blocked tiles/clamped_index
    bounds/halo_predicated bounds/product bounds/quotient_by_a_size im2col/unpadded_row im2col/padded_predicated
    equal/split_by_2_and_4 equal/merged_three equal/middle_digit equal/quotient_of_remainder equal/rounded_up
    raster/column raster/batch raster/grouped_4 raster/snake
    scheduler/strided_bounds scheduler/strided_injective scheduler/grid_of_tiles scheduler/split_k_bounds
    width/rows_of_4_int16 width/rows_of_4_uint8
    swizzle/rows_of_the_atom_3 swizzle/rows_of_the_atom_2 swizzle/padded_rows swizzle/half_rows_bounds_rounded
    aligned/row_stride_bf16 aligned/batch_strides aligned/padded_pitch vectorizable/padded_rows
    copies/threads_share copies/operand_for_every_thread coordinates/transposed
""".split()

# From the examples; tiles are small, so that plain integers can tell what becomes of their mutants.
EXAMPLES: tuple[Text, ...] = (
    {"name": "example/divided", "kind": "bijective", "layout": "(4,M//4):(1,4)", "onto": "M", "given": ["M % 4 == 0"]},
    {"name": "example/zipped_divide", "kind": "bijective", "layout": "((4,M//4),(2,N//2)):((N,4*N),(1,2))",
     "onto": "M*N", "given": ["M % 4 == 0", "N % 2 == 0"]},
    {"name": "example/two_predicates", "kind": "in_bounds", "map": "(4*a + i)*N + 2*b + j",
     "over": "(i, j, a, b) < (4, 2, ceil(M/4), ceil(N/2))", "when": "4*a + i < M and 2*b + j < N", "extent": "M*N"},
    {"name": "example/split_k", "kind": "covers", "map": "i*ceil_div(KT, S) + k", "over": "(i, k) < (S, ceil_div(KT, S))",
     "when": "i*ceil_div(KT, S) + k < KT", "domain": "KT", "by": "(k) -> (k//ceil_div(KT, S), k % ceil_div(KT, S))"},
    {"name": "example/persistent", "kind": "covers", "map": "b + G*i", "over": "(b, i) < (G, ceil_div(W, G))",
     "when": "b + G*i < W", "domain": "W", "by": "(w) -> (w % G, w//G)"},
    {"name": "example/coordinate_tiles", "kind": "bijective", "layout": "((4,M),(2,N)):((1@0,4@0),(1@1,2@1))",
     "onto": "(4*M,2*N)"},
    {"name": "example/step_before_predicate", "kind": "fits_in", "map": "4*t + r", "over": "(r, t) < (4, ceil(M/4))",
     "bits": 8, "given": ["M <= 128"]},
    {"name": "example/byte_swizzle", "kind": "equal", "map": "a ^ (a % 1024//128*16)", "and": "a ^ (a//128 % 8*16)",
     "over": "a < 2048"},
    {"name": "example/wgmma_all_n", "kind": "bijective", "layout": "((4,8,4),(2,2,n)):((128,1,16),(64,8,512))",
     "onto": "512*n"},
    {"name": "example/mma_a", "kind": "partition", "layout": "((4,8),(2,2,2)):((32,1),(16,8,128))", "onto": 256},
    {"name": "example/ldmatrix_x1", "kind": "partition", "layout": "((8,4),8):((8,0),1)", "onto": 64, "copies": 4},
    {"name": "example/swizzled_tile", "kind": "bijective", "layout": "Sw<3,3,3> o 0 o (16,64):(64,1)", "onto": 1024},
    {"name": "example/ldmatrix_phase", "kind": "conflict_free", "access": "Sw<3,3,3> o 0 o (8,8):(64,8)",
     "element_bytes": 2, "width_bytes": 16},
    {"name": "example/padded_column", "kind": "conflict_free", "access": "(32,32):(33,1)", "element_bytes": 4,
     "width_bytes": 4},
    {"name": "example/coalesced_row", "kind": "coalesced", "access": "(32,4):(1,1024)", "element_bytes": 4,
     "width_bytes": 4},
    {"name": "example/natten", "kind": "fits_in", "layout": "(Q,4,8):(32,8,1)", "bits": 16, "given": ["Q <= 1024"]},
)  # fmt: skip

SUBJECTS = ("layout", "a", "b", "access")
EXTENTS = ("onto", "extent", "copies", "low", "tile")
NUMBERS = {"elements": 2, "to_bytes": 2, "element_bytes": 2, "width_bytes": 2, "unit_bytes": 2}  # by which factor


# -- one slip of the pen ------------------------------------------------------------------------------------


def spans(text: str) -> list[tuple[int, int]]:
    """Where the leaves of a tuple stand; the parentheses of a call belong to its leaf."""
    out, start, calls = [], 0, 0
    for i, c in enumerate(text):
        if c == "(" and (calls or (i and text[i - 1].isalnum())):
            calls += 1
        elif c == ")" and calls:
            calls -= 1
        elif not calls and c in "(),":
            if text[start:i].strip():
                out.append((start, i))
            start = i + 1
    if text[start:].strip():
        out.append((start, len(text)))
    return out


def replaced(text: str, span: tuple[int, int], by: str) -> str:
    return text[: span[0]] + by + text[span[1] :]


def off_by_one(leaf: str, step: int) -> str:
    """A leaf one larger or smaller; of ``3@1`` the number."""
    value, at, path = leaf.strip().partition("@")
    if at and not value.isdigit():
        return leaf
    made = str(int(value) + step) if value.isdigit() else f"{value} {'+' if step > 0 else '-'} 1"
    return made + at + path


def layouts(text: str) -> Iterator[tuple[str, str]]:
    """Mutants of a layout: strides and extents by one, strides swapped, a mode dropped, a bit of a swizzle."""
    *outer, inner = text.split(" o ")
    shape, _, stride = inner.partition(":")
    before = "".join(f"{part} o " for part in outer)
    shapes, strides = spans(shape), spans(stride)
    for i, at in enumerate(strides):
        for step in (1, -1):
            changed = off_by_one(stride[slice(*at)], step)
            yield f"stride {i} {step:+}", f"{before}{shape}:{replaced(stride, at, changed)}"
    for i, at in enumerate(shapes):
        yield f"extent {i} +1", f"{before}{replaced(shape, at, off_by_one(shape[slice(*at)], 1))}:{stride}"
        if shape[slice(*at)].strip().isdigit() and int(shape[slice(*at)]) > 1:
            yield f"extent {i} -1", f"{before}{replaced(shape, at, off_by_one(shape[slice(*at)], -1))}:{stride}"
    for i, (p, q) in enumerate(zip(strides, strides[1:], strict=False)):
        swapped = replaced(replaced(stride, q, stride[slice(*p)]), p, stride[slice(*q)])
        yield f"strides {i} and {i + 1} swapped", f"{before}{shape}:{swapped}"
    for i in range(len(shapes) if len(shapes) > 1 else 0):
        kept = [",".join(t[slice(*s)].strip() for k, s in enumerate(at) if k != i)
                for t, at in ((shape, shapes), (stride, strides))]  # fmt: skip
        yield f"mode {i} dropped", f"{before}({kept[0]}):({kept[1]})"
    if outer:
        numbers = [int(x) for x in re.findall(r"-?\d+", outer[0])]
        for i, step in ((0, 1), (0, -1), (1, 1), (1, -1), (2, 1), (2, -1)):
            moved = [x + step * (k == i) for k, x in enumerate(numbers)]
            yield f"swizzle {i} {step:+}", f"Sw<{','.join(map(str, moved))}> o {outer[1]} o {inner}"
        yield "offset +1", f"{outer[0]} o {outer[1]} + 1 o {inner}"


def expressions(text: str) -> Iterator[tuple[str, str]]:
    """Mutants of an index expression: constants by one, names by one, one sum a difference, // a remainder."""
    for found in re.finditer(r"(?<![\w.])\d+(?!\w)", text):
        for step in (1, -1):
            yield f"{found[0]} {step:+} at {found.start()}", replaced(text, found.span(), str(int(found[0]) + step))
    for found in re.finditer(r"[A-Za-z_]\w*", text):
        if found[0] not in oracle.FUNCTIONS:
            yield f"{found[0]} +1 at {found.start()}", replaced(text, found.span(), f"({found[0]} + 1)")
    for sign, other in ((" + ", " - "), (" - ", " + "), ("//", " % "), (" % ", "//")):
        for found in re.finditer(re.escape(sign), text):
            yield f"{sign.strip()} at {found.start()}", replaced(text, found.span(), other)


def mutants(text: Text) -> Iterator[tuple[str, Text]]:
    """Every claim that is one slip away."""
    for field in SUBJECTS:
        if field in text:
            yield from ((f"{field}: {what}", {**text, field: made}) for what, made in layouts(text[field]))
    if "map" in text:
        yield from ((f"map: {what}", {**text, "map": made}) for what, made in expressions(text["map"]))
        names, extents = oracle.coordinates(text)
        for i, at in enumerate(spans(extents)):
            grown = replaced(extents, at, f"{extents[slice(*at)].strip()} + 1")
            yield f"extent {i} +1", {**text, "over": f"({', '.join(names)}) < {grown}"}
    if "when" in text:
        facts = text["when"].split(" and ")
        for i in range(len(facts)):
            left = " and ".join(facts[:i] + facts[i + 1 :])
            kept = {k: v for k, v in text.items() if k != "when"}
            yield f"predicate {i} dropped", {**kept, "when": left} if left else kept
        yield from ((f"when: {what}", {**text, "when": made}) for what, made in expressions(text["when"]))
        yield "when: <= for <", {**text, "when": re.sub(r" < ", " <= ", text["when"])}
    for i, fact in enumerate(text.get("given", ())):
        given = text["given"]
        yield f"fact {i} dropped", {**text, "given": given[:i] + given[i + 1 :]}
        if ">=" in fact:
            yield f"fact {i} by one", {**text, "given": [*given[:i], f"{fact} - 1", *given[i + 1 :]]}
        if re.search(r"<= \d+$", fact):
            yield f"fact {i} by one", {**text, "given": [*given[:i], f"{fact} + 1", *given[i + 1 :]]}
        if "% " in fact:
            modulus = re.sub(r"% (\d+)", lambda m: f"% {int(m[1]) // 2}", fact)
            yield f"fact {i} halved", {**text, "given": [*given[:i], modulus, *given[i + 1 :]]}
    for field in EXTENTS:
        if field in text:
            value = str(text[field])
            for i, at in enumerate(spans(value) if value.startswith("(") else [(0, len(value))]):
                for step in (1, -1):
                    yield (
                        f"{field} {i} {step:+}",
                        {**text, field: replaced(value, at, off_by_one(value[slice(*at)], step))},
                    )
    for field, factor in NUMBERS.items():
        if field in text:
            yield f"{field} doubled", {**text, field: text[field] * factor}
    if text["kind"] == "fits_in":
        yield "one bit less", {**text, "bits": text["bits"] - 1}
        yield "in units of 2 bytes", {**text, "unit_bytes": 2 * text.get("unit_bytes", 1)}


# Mutants that are false and that the provers leave undecided today, with the reason; none may be added.
UNDECIDED = {
    "raster/grouped_4: map: nn +1 at 26": "fails at nm = 7 first, and small sizes are 1 to 5 and those near 4 and 8",
    "swizzle/half_rows_bounds_rounded: layout: swizzle 1 +1": "fails at M = 17 first, between the small sizes",
    "aligned/row_stride_bf16: to_bytes doubled": "K % 8 == 0 is given, and small sizes are not drawn by it",
    "aligned/batch_strides: to_bytes doubled": "K % 8 == 0 is given, and small sizes are not drawn by it",
    "vectorizable/padded_rows: elements doubled": "K % 8 == 0 is given, and small sizes are not drawn by it",
    "example/divided: layout: mode 1 dropped": "M % 4 == 0 is given, and small sizes are not drawn by it",
    "example/divided: fact 0 halved": "M % 2 == 0 is given, and small sizes are not drawn by it",
    "example/zipped_divide: layout: stride 1 -1": "M % 4 == 0 is given, and small sizes are not drawn by it",
    "example/zipped_divide: layout: mode 1 dropped": "M % 4 == 0 is given, and small sizes are not drawn by it",
    "example/zipped_divide: fact 0 halved": "M % 2 == 0 is given, and small sizes are not drawn by it",
}

# Wrong proofs that are known: shown as expected failures until they are repaired.
KNOWN_WRONG = {
    "example/ldmatrix_phase: access: stride 1 +1": (
        "ConflictFree looks at the alignment of the lanes' strides only: (8,8):(64,9) of 2-byte elements starts "
        "column 1 at byte 18, no multiple of 16"
    ),
}

# -- what becomes of a mutant ---------------------------------------------------------------------------------

KILLED, EQUIVALENT, MISSED, WRONG = "killed", "equivalent", "missed", "wrong"
NO_DIVISOR = "expected a divisor of at least 1"  # a // b or a % b that means nothing at some sizes
BUDGET = Budget(solver_ms=150, repairs=False)


def verdict_on(text: Text) -> Verdict | None:
    """The verdict, or None where the claim is refused before it is tried."""
    fields = {k: v for k, v in text.items() if k not in ("name", "kind", "given", "expect")}
    try:
        return decide(claim_from(text["kind"], fields, given=text.get("given", ())), BUDGET)
    except SymlayoutError:
        return None


def fate(text: Text) -> str:
    """Refuted mutants must fail at their witness; the others are equivalent as far as three sizes or more tell."""
    verdict = verdict_on(text)
    if verdict is None or verdict.outcome is Outcome.VACUOUS or verdict.reason.startswith(NO_DIVISOR):
        return KILLED
    if verdict.outcome is Outcome.REFUTED:
        return KILLED if fails_at(text, verdict) else WRONG
    true, false = tried(text)
    if false:
        return WRONG if verdict.outcome is Outcome.PROVED else MISSED
    return EQUIVALENT if true >= 3 or (true and not oracle.names_of(text)) else MISSED


def fails_at(text: Text, verdict: Verdict) -> bool:
    assert verdict.witness is not None
    sizes = dict(verdict.witness.sizes)
    if not oracle.admits(text, sizes):
        return False
    try:
        return not oracle.holds(text, sizes, 40_000)
    except oracle.TooLarge:
        return oracle.fails_at(text, sizes, tuple(leaves(verdict.witness.coords[0])))


def tried(text: Text) -> tuple[int, int]:
    """(sizes at which a mutant holds, sizes at which it fails)."""
    true = false = 0
    for limit in (2500, 40_000):
        for sizes in oracle.samples(text, 60):
            try:
                held = oracle.holds(text, sizes, limit)
            except (oracle.TooLarge, oracle.NoSuchLayout):
                continue
            true, false = true + held, false + (not held)
            if false or true >= (12 if limit == 2500 else 3):
                return true, false
    return true, false


def campaign(text: Text) -> dict[str, list[str]]:
    """The names of the mutants of a claim by their fate."""
    out: dict[str, list[str]] = collections.defaultdict(list)
    for what, mutant in mutants(text):
        out[fate(mutant)].append(f"{text['name']}: {what}")
    return out


CLAIMS = {t["name"]: t for t in (*(CORPUS[name] for name in CHOSEN), *EXAMPLES)}


@pytest.mark.parametrize("name", CLAIMS)
def test_false_mutants_are_refuted(name):
    text = CLAIMS[name]
    original = verdict_on(text)
    assert original is not None
    assert original.outcome is Outcome.PROVED

    found = campaign(text)

    assert [w for w in found[WRONG] if w not in KNOWN_WRONG] == []
    assert [m for m in found[MISSED] if m not in UNDECIDED] == []
    assert found[KILLED]
    if found[WRONG]:
        pytest.xfail("; ".join(KNOWN_WRONG[w] for w in found[WRONG]))


def test_the_campaign_is_large():
    assert len(CLAIMS) >= 48
    assert sum(1 for t in CLAIMS.values() for _ in mutants(t)) >= 600


def main() -> None:
    """Every mutant by its fate, and the score."""
    total: collections.Counter[str] = collections.Counter()
    for text in CLAIMS.values():
        for kind, names in campaign(text).items():
            total[kind] += len(names)
            if kind != KILLED:
                print("\n".join(f"{kind:<12}{n}" for n in names))
    broken = total.total() - total[EQUIVALENT]
    print(f"{total.total()} mutants of {len(CLAIMS)} claims: " + ", ".join(f"{n} {k}" for k, n in total.items()))
    print(f"score {total[KILLED]}/{broken} = {100 * total[KILLED] / broken:.1f} %")


if __name__ == "__main__":
    main()
