"""Kernels that compute what they say, and slips in them: is a wrong value ever proved?

    python -m benchmarks.value_flow --trials 2000 --seed 0

Each trial draws a kernel (``benchmarks.value_kernels``), makes none, one or two slips in it or in its result
(``benchmarks.value_slips``), and asks ``Computes`` for a proof. A kernel that is proved is run at several sizes, and
what it stored compared with its result. *Known otherwise* are values that differ where another claim is not proved, on
which the walk relies: that accesses and the phases of barriers are in order. A difference that no such claim knows is
*wrong*: exit status 1. *Strict* are kernels without a slip that are not proved.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from checkers import Computes, prove
from checkers.kernel_claims import claims_of
from checkers.prover import Budget
from symlayout.answers.report import Outcome
from symlayout.errors import SymlayoutError
from symlayout.kernel import Kernel
from symlayout.semantics.execute import as_bytes, run
from symlayout.semantics.expected import expected
from symlayout.semantics.telling import telling_inputs

from .value_kernels import KINDS
from .value_slips import slipped

RELIED_ON = (
    *("happens before", "ring protocol", "transaction bytes", "barrier_bytes", "well formed", "shared memory fits"),
    *("TMA copy safe", "tensor map valid", "in bounds", "registers fit"),
)
ELEMENTS = 1 << 16  # of the tensors of one run


@dataclass(frozen=True)
class Judged:
    """What became of a kernel: its proof, what a run said ("" for the results), which other claims are not proved."""

    name: str
    slips: tuple[str, ...]
    why: str  # "" for a proof
    said: str = ""
    relied: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The column of the table."""
        if self.why.startswith("crash") or self.said.startswith("crash"):
            return "crash"
        if self.why:
            return "open" if self.slips else "strict"
        if not self.said:
            return "proved"
        return "known otherwise" if self.relied else "wrong"


def said(kernel: Kernel, sizes: tuple[dict[str, int], ...], orders: tuple[str, ...] = ("eager",)) -> str:
    """The first stored element that is not the result's, at sizes; "" where all are, or where no run ends."""
    output = kernel.results[0].tensor
    for at in sizes:
        try:
            bound = kernel.bind(**{s.name: at[s.name] for s in kernel.dims})
            if any(int(t.layout.size()) > ELEMENTS for t in bound.tensors):
                continue
            inputs = telling_inputs(bound)
            want = expected(bound, inputs)[output]
            for order in orders:
                memory = run(bound, inputs, order).memory[output]
                size = memory.tensor.dtype.bytes
                never = memory.codes[: memory.size].reshape(-1, size)[memory.tensor.layout.offsets()].any(axis=1)
                got = memory.get()
                wrong = (as_bytes(got) != as_bytes(want)).any(axis=-1) & ~never.reshape(got.shape, order="F")
                if wrong.any():
                    i = tuple(int(x[0]) for x in np.nonzero(wrong))
                    return f"{at}, {order}: {output}{i} is {got[i]}, expected {want[i]}, {memory.written_by(i)}"
        except SymlayoutError as e:
            if "puts poison" in str(e):
                return f"{at}: {e}"
    return ""


def judged(name: str, kernel: Kernel, slips: tuple[str, ...], sizes: tuple[dict[str, int], ...]) -> Judged:
    """The judgement on a kernel."""
    try:
        _, why = Computes(kernel, kernel.results[0].tensor)._followed()
    except SymlayoutError as e:
        why = str(e) or type(e).__name__
    except Exception as e:  # a defect of ours
        why = f"crash: {type(e).__name__}: {e}"
    if why:
        return Judged(name, slips, why)
    try:
        found = said(kernel, sizes)
    except Exception as e:  # likewise
        return Judged(name, slips, "", f"crash: {type(e).__name__}: {e}")
    return Judged(name, slips, "", found, tuple(_not_proved(kernel)) if found else ())


def _not_proved(kernel: Kernel) -> Iterator[str]:
    """The kinds of the claims that the walk relies on, and that are not proved."""
    try:
        claims = [c for c in claims_of(kernel) if any(c.kind.startswith(x) or x in str(c) for x in RELIED_ON)]
        verdicts = prove(claims, budget=Budget(solver_ms=500, repairs=False)).verdicts
    except SymlayoutError as e:
        yield str(e)
        return
    yield from dict.fromkeys(v.claim.kind for v in verdicts if v.outcome is not Outcome.PROVED)


def trials(name: str, count: int, seed: int) -> Iterator[Judged]:
    """Judgements on kernels of a kind, of which about a tenth have no slip."""
    r = random.Random(f"{name} {seed}")
    done = 0
    while done < count:
        base, sizes = KINDS[name](r)
        yield judged(name, base, (), sizes)
        done += 1
        for _ in range(9):
            kernel, slips = base, []
            for _ in range(r.choice((1, 1, 1, 2))):
                found = slipped(r, kernel)
                if found is not None:
                    slips.append(found[0])
                    kernel = found[1]
            if slips:
                yield judged(name, kernel, tuple(slips), sizes)
                done += 1


COLUMNS = ("proved", "open", "strict", "known otherwise", "crash", "wrong")
TOLD = ("crash", "wrong")


def main(argv: list[str] | None = None) -> int:
    """Print the table, and each kernel of its last columns; 1 if a wrong value was proved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=2000, help="kernels, spread over all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--tell", default=",".join(TOLD), help="columns whose kernels are listed")
    options = parser.parse_args(argv)
    kinds = [options.kind] if options.kind else list(KINDS)
    print(f"{'':14}{'trials':>7}{'seconds':>9}  " + "  ".join(COLUMNS))
    listed: list[Judged] = []
    wrong = 0
    for kind in kinds:
        begin = time.perf_counter()
        found = list(trials(kind, -(-options.trials // len(kinds)), options.seed))
        counts = collections.Counter(j.kind for j in found)
        row = "  ".join(f"{counts[c]:>{len(c)}}" for c in COLUMNS)
        print(f"{kind:14}{len(found):>7}{time.perf_counter() - begin:>9.0f}  {row}", flush=True)
        listed += [j for j in found if j.kind in options.tell.split(",")]
        wrong += counts["wrong"] + counts["crash"]
    for j in listed:
        print(f"\n{j.kind}: {j.name}: {'; '.join(j.slips)}\n  proof: {j.why}\n  run: {j.said}\n  {', '.join(j.relied)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
