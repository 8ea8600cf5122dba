"""Kernels broken mechanically: does the proof refute each mutant, does a run catch it, or is it the same kernel?

    python -m benchmarks.kernel_mutation [--family gemm] [--limit 100] [--resume FILE] [--workers 8]

A mutation is one slip in the lowered form: an operation dropped, doubled or swapped with the next, a number one off, a
fence about something else, an mbarrier that awaits one arrival more. A mutant is to be refuted, or to be the same
kernel: it is run at three sizes, eager, lazy and shuffled, and leaves the reference's bytes. Exit status 1 if one is
neither: *caught only* by a run, though the proof leaves it open; proved, with *other values* or *but caught* by a
fault, a race or a hang; *unexplained*. Of the equivalent ones, *open* counts those of which the proof leaves a claim.
With ``--resume`` each mutant is a line of a file, and those that are there are not judged again. *seconds* are those
of a core, of whatever run judged them.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import functools
import importlib
import inspect
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from checkers import prove
from checkers.prover import Budget
from symlayout import campaigns, dims
from symlayout.answers.report import Outcome
from symlayout.errors import ExecutionError, SymlayoutError
from symlayout.expr import Symbol, dim
from symlayout.kernel import Kernel
from symlayout.kernel.specification import Dot, sums
from symlayout.kernels import (
    axpby,
    bulk_copy,
    clear,
    copy_if,
    cp_async_copy,
    fill,
    gather_rows,
    gemm,
    gemm_mma,
    gemm_simt,
    row_sum,
    tensor_axpby,
    tma_copy,
    tma_reduce_add,
    tma_transpose,
    vector_copy,
)
from symlayout.semantics import expect_reference

from .kernel_slips import mutants

LONG = ("gemm_mma", "gemm_simt", "gemm")  # families whose mutants take seconds each
ORDERS: tuple[str | int, ...] = ("eager", "lazy", 1, 2)
BUDGET = Budget(solver_ms=1000, repairs=False)


# -- the families ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Family:
    """A kernel that is small enough to run often, and sizes at which a CTA idles, ends a ring or goes round it."""

    build: Callable[[], Kernel]
    sizes: tuple[dict[str, int], ...]


def _rows(**facts: Any) -> tuple[Symbol, Symbol, Symbol]:
    """M rows of N elements, ld apart."""
    N = dim("N", at_most=1 << 20, **facts)
    return dim("M", at_most=1 << 20), N, dim("ld", at_least=N, at_most=1 << 20, **facts)


FAMILIES = {
    "vector_copy": Family(lambda: vector_copy(*dims("N"), threads=64), ({"N": 3}, {"N": 256}, {"N": 701})),
    "cp_async_copy": Family(
        lambda: cp_async_copy(*dims("N"), stages=3, threads=64, blocks=2), ({"N": 4}, {"N": 516}, {"N": 3076})
    ),
    "tma_copy": Family(
        lambda: tma_copy(*dims("M N", multiple_of=4), tile=(8, 32), slots=2, blocks=2),
        ({"M": 4, "N": 4}, {"M": 16, "N": 68}, {"M": 36, "N": 100}),
    ),
    "bulk_copy": Family(
        lambda: bulk_copy(*dims("N", multiple_of=4), chunk=64, slots=2, blocks=2), ({"N": 4}, {"N": 132}, {"N": 516})
    ),
    "tma_transpose": Family(
        lambda: tma_transpose(*dims("M N", multiple_of=4), dtype="f32", tile=(32, 32), stages=2, blocks=2),
        ({"M": 8, "N": 4}, {"M": 32, "N": 68}, {"M": 100, "N": 100}),
    ),
    "row_sum": Family(
        lambda: row_sum(*dims("M N"), dim("ld", at_least=dim("N"), multiple_of=4), warps=2),
        ({"M": 1, "N": 3, "ld": 4}, {"M": 5, "N": 130, "ld": 132}, {"M": 4, "N": 256, "ld": 256}),
    ),
    "axpby": Family(lambda: axpby(*dims("N"), threads=64), ({"N": 3}, {"N": 256}, {"N": 701})),
    "gather_rows": Family(
        lambda: gather_rows(dim("K"), dim("M"), dim("N", multiple_of=4), tile=(4, 32), slots=2, blocks=2),
        ({"K": 3, "M": 4, "N": 4}, {"K": 20, "M": 9, "N": 68}, {"K": 7, "M": 30, "N": 36}),
    ),
    "tma_reduce_add": Family(
        lambda: tma_reduce_add(3, *dims("M N", multiple_of=4, at_most=1 << 16), tile=(8, 32), slots=2, blocks=2),
        ({"M": 4, "N": 4}, {"M": 16, "N": 68}, {"M": 36, "N": 100}),
    ),
    "gemm": Family(
        lambda: gemm(65, 72, *dims("K", multiple_of=8), tile=(64, 128), stages=3, cluster=1, blocks=1, group=1),
        ({"K": 8}, {"K": 72}, {"K": 264}),
    ),
    "fill": Family(lambda: fill(*dims("N"), threads=64), ({"N": 3}, {"N": 256}, {"N": 701})),
    "clear": Family(lambda: clear(*dims("N"), dtype="bf16", threads=64), ({"N": 3}, {"N": 512}, {"N": 1405})),
    "copy_if": Family(
        lambda: copy_if(*_rows()),
        ({"M": 1, "N": 1, "ld": 1}, {"M": 33, "N": 65, "ld": 70}, {"M": 64, "N": 128, "ld": 128}),
    ),
    "copy_if_vectors": Family(
        lambda: copy_if(*_rows(multiple_of=4)),
        ({"M": 1, "N": 4, "ld": 4}, {"M": 33, "N": 132, "ld": 140}, {"M": 64, "N": 256, "ld": 256}),
    ),
    "tensor_axpby": Family(
        lambda: tensor_axpby(*_rows()),
        ({"M": 1, "N": 1, "ld": 1}, {"M": 33, "N": 65, "ld": 70}, {"M": 32, "N": 64, "ld": 64}),
    ),
    "gemm_simt": Family(
        lambda: gemm_simt(*dims("M N K", at_most=1 << 20)),
        ({"M": 1, "N": 1, "K": 1}, {"M": 65, "N": 3, "K": 33}, {"M": 3, "N": 66, "K": 64}),
    ),
    "gemm_mma": Family(
        lambda: gemm_mma(65, 8, dim("K", multiple_of=8, at_most=1 << 20), tile=(64, 64), step=32, stages=3),
        ({"K": 8}, {"K": 72}, {"K": 160}),
    ),
}


def inputs(bound: Kernel) -> dict[str, Any]:
    """Small integers, no zeros among them, for the tensors that the kernel reads: sums of products are exact."""
    taken = inspect.signature(bound.reference).parameters if bound.reference else ()
    out: dict[str, Any] = {p.name: 2 + i for i, p in enumerate(bound.parameters)}
    multiplied = any(isinstance(x, Dot) for r in bound.results for x in sums(r.value))
    for t in bound.tensors:
        if t.space == "global" and t.name in taken:
            shape = t.layout.shape if isinstance(t.layout.shape, tuple) else (t.layout.shape,)
            n = np.arange(int(t.layout.size()), dtype=np.int64)
            few = np.array([-2, -1, 1, 2])[n * 2654435761 % 2**32 // 2**13 % 4]
            every = few if t.dtype.bits == 16 or multiplied else n + 1  # a copy of 32 bits keeps each element apart
            if t.name == "idx":
                every = n * 7 % int(bound.tensor("src").layout.shape[0])
            out[t.name] = every.astype(t.dtype.numpy()).reshape(shape)
    return out


# -- judgement ------------------------------------------------------------------------------------------

VALUES = re.compile(r"differs in|was never written there|which nobody wrote")


@dataclass(frozen=True)
class Judged:
    """What became of a mutant: how the proof ended, what its run said ("" for the reference's bytes)."""

    name: str
    proof: str  # proved, refuted, unknown, refused
    reason: str
    said: str
    seconds: float = 0.0  # of one core

    @property
    def kind(self) -> str:
        """The column of the table; a mutant that both know is of neither alone."""
        if self.said.startswith("crash") or self.reason.startswith("crash"):
            return "unexplained"
        if self.proof == "refuted":
            return "both" if self.said else "refuted only"
        if self.said and self.proof == "proved":
            return "proved, other values" if VALUES.search(self.said) else "proved but caught"
        if self.said:
            return "caught only"
        return "unexplained" if self.proof == "refused" else "equivalent"


def refuted(kernel: Kernel) -> collections.Counter[str]:
    """How many claims of each kind are refuted."""
    return collections.Counter(v.claim.kind for v in prove(kernel, budget=BUDGET).verdicts if _is_refuted(v))


def _is_refuted(v: Any) -> bool:
    return v.outcome is Outcome.REFUTED


def proof(kernel: Kernel, known: collections.Counter[str]) -> tuple[str, str]:
    """(how the proof of a mutant ends, the first verdict that says so), beside what is *known* of the original."""
    try:
        found = prove(kernel, budget=BUDGET).verdicts
    except SymlayoutError as e:
        return "refused", str(e)
    except Exception as e:  # a defect of ours, which Judged.kind lists as unexplained
        return "refused", f"crash: {type(e).__name__}: {e}"
    bad = [v for v in found if _is_refuted(v)]
    if collections.Counter(v.claim.kind for v in bad) - known:
        return "refuted", str(bad[0])
    left = [v for v in found if v.outcome not in (Outcome.PROVED, Outcome.REFUTED)]
    return ("unknown", str((left or bad)[0])) if left or bad else ("proved", "")


def said(kernel: Kernel, sizes: Iterable[dict[str, int]]) -> str:
    """What the first run that does not end with the reference's bytes says, with sizes and order."""
    for at in sizes:
        for order in ORDERS:
            try:
                bound = kernel.bind(**at) if kernel.dims else kernel
                expect_reference(bound, inputs(bound), order)
            except (ExecutionError, SymlayoutError) as e:
                return f"{at}, {order}: {e}"
            except Exception as e:  # likewise
                return f"crash: {at}, {order}: {type(e).__name__}: {e}"
    return ""


def judged(name: str, mutant: Kernel, sizes: Iterable[dict[str, int]], known: collections.Counter[str]) -> Judged:
    """The judgement on a mutant."""
    begin = time.process_time()
    outcome, reason = proof(mutant, known)
    return Judged(name, outcome, reason, said(mutant, sizes), round(time.process_time() - begin, 3))


# -- many mutants ---------------------------------------------------------------------------------------

Mutant: TypeAlias = tuple[str, int]  # family, number


@functools.cache
def every(family: str) -> list[tuple[str, Kernel]]:
    """The mutants of a family with their names, in order."""
    return list(mutants(FAMILIES[family].build()))


@functools.cache
def _known(family: str) -> collections.Counter[str]:
    return refuted(FAMILIES[family].build())


def key(mutant: Mutant) -> tuple[str, str]:
    """What a row has of a mutant: family and digest, so that the row of another text is not taken."""
    family, i = mutant
    return family, every(family)[i][1].digest


def judge(mutant: Mutant) -> Judged:
    """The judgement on one mutant."""
    family, i = mutant
    return judged(*every(family)[i], FAMILIES[family].sizes, _known(family))


def chosen(family: str, limit: int = 0) -> list[Mutant]:
    """The mutants of a family; with a *limit* at most that many, evenly spread."""
    n = len(every(family))
    return [(family, i) for i in range(0, n, max(1, -(-n // limit)) if limit else 1)]


def judgements(wanted: Sequence[Mutant], path: Path | None = None, workers: int = 1) -> Iterator[tuple[Mutant, Judged]]:
    """The judgements on mutants, as they are made, by so many *workers* (-1 for all cores).

    Those that the file at *path* has come first, and are not made again. Each other one is a line more of it at once.
    """
    before = _judged_before(path)
    left = []
    for m in wanted:
        if before and key(m) in before:
            yield m, before[key(m)]
        else:
            left.append(m)
    left.sort(key=_longest_first)
    cut_off = path is not None and path.exists() and not path.read_text().endswith("\n")
    by_name = importlib.import_module("benchmarks.kernel_mutation").judge  # workers import it: this may be __main__
    for n, found in campaigns.each(by_name, left, workers):
        if isinstance(found, campaigns.Failed):
            raise RuntimeError(f"{found}\n{found.trace}")
        if path is not None:
            family, digest = key(left[n])
            with path.open("a") as f:
                f.write("\n" * cut_off + json.dumps({"family": family, "digest": digest, **vars(found)}) + "\n")
            cut_off = False
        yield left[n], found


def _longest_first(m: Mutant) -> tuple[bool, int]:
    """Families whose mutants take seconds each before all others; all of them evenly mixed."""
    return m[0] not in LONG, int(f"{m[1]:012b}"[::-1], 2)


def _judged_before(path: Path | None) -> dict[tuple[str, str], Judged]:
    """The judgements of a file by family and digest. A line that was cut off is none."""
    out: dict[tuple[str, str], Judged] = {}
    for line in path.read_text().splitlines() if path is not None and path.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            row = json.loads(line)
            found = row.pop("family"), row.pop("digest")
            out[found] = Judged(**row)
    return out


KINDS = (
    *("both", "refuted only", "caught only", "equivalent"),
    *("proved, other values", "proved but caught", "unexplained"),
)
TOLD = ("caught only", "proved, other values", "proved but caught", "unexplained")


def main(argv: list[str] | None = None) -> int:
    """Print the table, and each mutant that is neither refuted nor the same kernel; 1 if there is one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES)
    parser.add_argument("--limit", type=int, default=0, help="mutants of each family (default: all)")
    parser.add_argument("--resume", type=Path, help="a file of judgements, to go on with")
    parser.add_argument("--workers", type=int, default=1, help="processes (-1: one for each core)")
    parser.add_argument("--tell", nargs="*", default=TOLD, choices=KINDS, help="columns whose mutants are listed")
    options = parser.parse_args(argv)
    print(f"{'':14}{'mutants':>9}{'seconds':>9}{'proof':>8}{'run':>6}  " + "  ".join((*KINDS, "open")))
    wanted = {f: chosen(f, options.limit) for f in ([options.family] if options.family else FAMILIES)}
    found: dict[Mutant, Judged] = {}
    listed, wrong = [], 0
    for m, judgement in judgements([m for of in wanted.values() for m in of], options.resume, options.workers):
        found[m] = judgement
        done = next((f for f, of in wanted.items() if m in of and all(x in found for x in of)), None)
        if done is not None:
            mine = [found[x] for x in wanted[done]]
            print(_row(done, mine), flush=True)
            listed += [(done, j) for j in mine if j.kind in options.tell]
            wrong += sum(j.kind in TOLD for j in mine)
    for family, j in listed:
        print(f"\n{j.kind}: {family}: {j.name}\n  proof: {j.proof} {j.reason}\n  run: {j.said}")
    return 1 if wrong else 0


def _row(family: str, found: Sequence[Judged]) -> str:
    counts = collections.Counter(j.kind for j in found)
    by_proof, by_run = sum(j.proof == "refuted" for j in found), sum(bool(j.said) for j in found)
    row = "  ".join(f"{counts[k]:>{len(k)}}" for k in KINDS)
    row += f"  {sum(j.kind == 'equivalent' and j.proof == 'unknown' for j in found):>4}"
    return f"{family:14}{len(found):>9}{sum(j.seconds for j in found):>9.0f}{by_proof:>8}{by_run:>6}  {row}"


if __name__ == "__main__":
    sys.exit(main())
