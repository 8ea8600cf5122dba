"""Compositions and divides against their definition: right, refused or obliged, never silently wrong.

    python -m benchmarks.honesty --trials 100000 --seed 0

Every trial draws a left operand A and what acts on it, and compares the answer with A(B(i)) at every i. For a divide
B is the tile and its complement. What is compared with is made of arrays of numbers, apart from the algebra under
test. An answer may

- be A(B(i)) at every i (``exact``),
- be A(B(i)) wherever B(i) lies in the domain of A, and carry an ``in domain`` obligation that is false (``overhang``),
- carry an ``exact`` obligation that is false: it promises nothing at these sizes (``obliged``),
- be refused (``refused``), even though CuTe's answer happens to be right (``too strict``).

Anything else is wrong, and the exit status 1. ``needless`` counts false obligations of answers that meet no case
outside the domain. The same numbers go to tensor-layouts where it is installed.
"""

from __future__ import annotations

import argparse
import collections
import importlib
import importlib.util
import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from symlayout import Layout, SymlayoutError
from symlayout.obligations import IN_DOMAIN

from .honesty_trials import Trial, listed, trials, wanted

INPUTS = ("fits", "overhangs", "no layout")
ANSWERS = ("exact", "overhang", "obliged", "refused", "too strict", "needless", "wrong")


def agrees(layout: Layout, want: np.ndarray, where: np.ndarray) -> bool:
    """Whether a layout of numbers has the values asked for, at these indices."""
    got = listed(layout.modes())
    return len(got) == len(want) and bool((got == want)[where].all())


def judged(trial: Trial) -> tuple[str, str, str]:
    """(what the input is, what the answer is, what the peer's answer is)."""
    want, inside, defined = wanted(trial.parts)
    try:
        cute: Layout | None = trial.ours(mode="cute")
    except SymlayoutError:
        cute = None
    possible = cute is not None and agrees(cute, want, inside)
    given = "no layout" if not possible else "fits" if inside.all() else "overhangs"
    return given, _ours(trial, want, inside, defined, possible), _peer(trial, want, inside)


def _ours(trial: Trial, want: np.ndarray, inside: np.ndarray, defined: np.ndarray, possible: bool) -> str:
    try:
        answer = trial.ours()
    except SymlayoutError:
        return "too strict" if possible else "refused"
    false = [o for o in answer.obligations if not o.holds(trial.env)]
    bound = answer.subs(trial.env) if trial.env else answer
    if any(o.kind != IN_DOMAIN for o in false):
        return "obliged"
    if not agrees(bound, want, inside):
        return "wrong"
    if false:
        return "needless" if inside.all() else "overhang"
    return "exact" if defined.all() and agrees(bound, want, defined) else "wrong"


def _peer(trial: Trial, want: np.ndarray, inside: np.ndarray) -> str:
    if PEER is None or trial.peer is None:
        return ""
    try:
        answer = trial.peer(PEER)
        layout = Layout(answer.shape, answer.stride)
    except (ValueError, TypeError, AssertionError, NotImplementedError, IndexError, ZeroDivisionError):
        return "refused"
    return "right" if agrees(layout, want, inside) else "silently wrong"


PEER = importlib.import_module("tensor_layouts") if importlib.util.find_spec("tensor_layouts") else None


class Result(NamedTuple):
    """Counts of (kind, what), and the texts of what was wrong."""

    counts: collections.Counter[tuple[str, str]]
    wrong: list[str]


def run(n: int, seed: int) -> Result:
    """Judge *n* trials."""
    result = Result(collections.Counter(), [])
    for trial in trials(n, seed):
        given, answer, peer = judged(trial)
        for kind in (trial.kind, "all"):
            result.counts.update([(kind, "trials"), (kind, f"input {given}"), (kind, answer), (kind, f"peer {peer}")])
        if answer == "wrong":
            result.wrong.append(trial.text)
    return result


def table(counts: collections.Counter[tuple[str, str]], columns: list[tuple[str, str]]) -> Iterator[str]:
    """Lines of a table: a row for each kind, a column for each count."""
    kinds = [k for k, what in counts if what == "trials" and k != "all"]
    yield f"{'':26}" + "".join(f"{head:>{max(10, len(head) + 2)}}" for head, _ in columns)
    for kind in [*sorted(kinds), "all"]:
        yield f"{kind:26}" + "".join(f"{counts[kind, what]:>{max(10, len(head) + 2)}}" for head, what in columns)


def main(argv: list[str] | None = None) -> int:
    """Print the tables; 1 if any answer was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    start = time.perf_counter()
    counts, wrong = run(options.trials, options.seed)
    print(f"{options.trials} trials, seed {options.seed}, {time.perf_counter() - start:.0f} s")
    print("\ninputs, by what CuTe's own algorithm makes of them")
    print(*table(counts, [("trials", "trials"), *((name, f"input {name}") for name in INPUTS)]), sep="\n")
    print("\nanswers")
    print(*table(counts, [(name, name) for name in ANSWERS]), sep="\n")
    if PEER is not None:
        print("\ntensor-layouts on the same numbers")
        print(*table(counts, [(name, f"peer {name}") for name in ("right", "refused", "silently wrong")]), sep="\n")
    for text in wrong[:10]:
        print(f"\nwrong: {text}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
