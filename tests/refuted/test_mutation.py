"""True claims, broken mechanically: each mutant is refuted, or it is equivalent, never PROVED while false.

The claims are rows of the corpus and of the examples, as text. A mutation changes one thing as a slip of the pen
would: a stride or an extent by one, two strides swapped, a mode or a fact dropped, a digit of a constant, a bit of
a swizzle, a predicate. Whether a mutant that was not refuted is equivalent is decided by ``tests.corpus.oracle``,
on plain integers at three sizes or more. ``python -m tests.refuted.test_mutation`` prints every survivor.
"""

from __future__ import annotations

import collections
import itertools
import random
import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checkers.claim_text import claim_from
from checkers.prover import Budget, decide
from symlayout.answers.report import Outcome, Verdict
from symlayout.errors import SymlayoutError
from symlayout.expr import dim
from symlayout.int_tuple import leaves
from tests.corpus import oracle

Text = dict[str, Any]

CORPUS = Path(__file__).parents[1] / "corpus"


def read(file: str) -> dict[str, Any]:
    return tomllib.loads((CORPUS / file).read_text(encoding="utf-8"))


LIST = read("mutated.toml")
UNDECIDED: dict[str, str] = LIST["undecided"]  # false mutants that stay open, with the reason
BY_NAME: dict[str, Text] = {t["name"]: t for t in read("symbolic.toml")["claim"]}
CLAIMS: dict[str, Text] = {t["name"]: t for t in (*(BY_NAME[name] for name in LIST["rows"]), *LIST["example"])}

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
    for i, (p, q) in enumerate(itertools.pairwise(strides)):
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


# -- what becomes of a mutant ---------------------------------------------------------------------------------

KILLED, EQUIVALENT, MISSED, WRONG = "killed", "equivalent", "missed", "wrong"
NO_DIVISOR = "expected a divisor of at least 1"  # a // b or a % b that means nothing at some sizes
FROM_ZERO = (dim("z", at_least=0), dim("pad", at_least=0))  # as the corpus declares them
BUDGET = Budget(solver_ms=400, repairs=False)  # what the solver refutes here takes it 10 ms


def verdict_on(text: Text) -> Verdict | None:
    """The verdict, or None where the claim is refused before it is tried."""
    fields = {k: v for k, v in text.items() if k not in ("name", "kind", "given", "expect")}
    try:
        return decide(claim_from(text["kind"], fields, FROM_ZERO, given=text.get("given", ())), BUDGET)
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
    sizes = dict.fromkeys(oracle.names_of(text), 1) | verdict.witness.sizes  # a size that cancels out may be any
    if not oracle.admits(text, sizes):
        return False
    try:
        return not oracle.holds(text, sizes, 300_000)
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


def campaign(text: Text, share: Callable[[int], int] = int) -> dict[str, list[str]]:
    """The names of the mutants of a claim, or of a share of them, by their fate."""
    out: dict[str, list[str]] = collections.defaultdict(list)
    every = list(mutants(text))
    for what, mutant in random.Random(text["name"]).sample(every, share(len(every))):
        out[fate(mutant)].append(f"{text['name']}: {what}")
    return out


@pytest.mark.parametrize("name", CLAIMS)
def test_false_mutants_are_refuted(share, name):
    text = CLAIMS[name]
    original = verdict_on(text)
    assert original is not None
    assert original.outcome is Outcome.PROVED

    found = campaign(text, share)

    assert found[WRONG] == []
    assert [m for m in found[MISSED] if m not in UNDECIDED] == []
    assert found[KILLED] or share(3) < 3, "the share that is drawn may have none"


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
