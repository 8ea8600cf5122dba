"""Kernels broken mechanically: none is proved while a run catches it; the gaps that were found so stay closed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.kernel_mutation import BUDGET, FAMILIES, chosen, judged, judgements, main
from benchmarks.kernel_slips import mutants
from checkers import Computes, HappensBefore, claims_of, prove
from symlayout import LayoutError, dim, dims
from symlayout.answers.report import Outcome
from symlayout.facts import Facts
from symlayout.kernel import Builder, Kernel
from symlayout.kernels import gemm, gemm_simt, tma_copy, tma_transpose, vector_copy
from symlayout.ops import Copy, Elect, Fill, If, Map, Matrix, Mma, Op, Ref, Wait, WaitGroup

# One in so many mutants of a family; a run of all is python -m benchmarks.kernel_mutation.
EVERY = {
    **{"vector_copy": 8, "cp_async_copy": 11, "tma_copy": 9, "tma_transpose": 13, "gemm": 61, "bulk_copy": 9},
    **{"row_sum": 21, "axpby": 9, "gather_rows": 11, "tma_reduce_add": 11},
    **{"fill": 7, "copy_if": 9, "clear": 7, "copy_if_vectors": 9, "tensor_axpby": 29},
}
LONG = ("gemm_simt", "gemm_mma")  # whose mutants take seconds each; tests/symlayout/kernels has some of them
BOUND = {
    "gather_rows": {"K": 20, "M": 9, "N": 68},
    "tma_reduce_add": {"M": 36, "N": 100},
    "cp_async_copy": {"N": 3076},
    "tma_copy": {"M": 36, "N": 100},
    "tma_transpose": {"M": 32, "N": 68},
    "gemm": {"K": 72},
}


@pytest.mark.parametrize("family", [name for name in FAMILIES if name not in LONG])
def test_a_mutant_is_refuted_or_equivalent(share: Callable[[int], int], family: str) -> None:
    kernel = FAMILIES[family].build()
    if family in BOUND:
        kernel = kernel.bind(**BOUND[family])
    known = Counter(v.claim.kind for v in prove(kernel, budget=BUDGET).verdicts if v.outcome is Outcome.REFUTED)
    sizes = [BOUND.get(family, FAMILIES[family].sizes[-1])]
    drawn = list(mutants(kernel))[:: EVERY[family]]
    drawn = random.Random(family).sample(drawn, min(len(drawn), max(4, share(len(drawn)))))
    found = [judged(name, m, sizes, known) for name, m in drawn]

    assert [j for j in found if j.kind not in ("both", "refuted only", "equivalent")] == []
    kinds = {j.kind for j in found}
    assert "both" in kinds
    assert len(kinds) >= 2 or share(2) < 2, "a few of them may all be caught"


BY_OTHERS = {
    "gemm": (
        "3.0.0.1 fence wgmma: by one",
        "3.0.3 elect one of each warp:: by thread 1",
        "3.0.3 elect one of each warp:: each_warp flipped",
        "3.0.13 fence async: by one",
    ),
    "tma_transpose": ("2.0.0 elect one:: by thread 1", "2.1 elect one:: by thread 1"),
}


@pytest.mark.parametrize("family", BY_OTHERS)
def test_what_other_threads_do_ends_nothing(family: str) -> None:
    every = dict(mutants(FAMILIES[family].build().bind(**BOUND[family])))
    found = [judged(name, every[name], [BOUND[family]], Counter()) for name in BY_OTHERS[family]]

    assert [j for j in found if j.kind != "both"] == []


def test_every_mutant_is_another_kernel_with_a_name() -> None:
    kernel = FAMILIES["tma_copy"].build()
    every = list(mutants(kernel))

    assert len({name for name, _ in every}) == len(every) >= 100
    assert all(m != kernel for _, m in every)


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--family", "vector_copy", "--limit", "4"]) == 0
    assert "proved but caught" in capsys.readouterr().out


def test_a_table_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    file, few = tmp_path / "rows.jsonl", chosen("vector_copy", 4)
    first = dict(judgements(few[:2], file))
    with file.open("a") as f:
        f.write('{"family": "vec')
    found = dict(judgements(few, file))

    assert len(first) == 2
    assert {m: found[m] for m in first} == first, "their seconds too: they are not judged again"
    assert dict(judgements(few, file)) == found
    assert len(file.read_text().splitlines()) == len(few) + 1


# -- what proofs and runs left open ---------------------------------------------------------------------


@pytest.mark.parametrize("column", [72, 128])
@pytest.mark.parametrize("by", ["nobody", "one thread"])
def test_what_a_store_leaves_out_need_not_be_right(column: int, by: str) -> None:
    """Of the columns of a tile those from N on are outside of the tensor."""
    kernel = gemm(64, column, dim("K", multiple_of=8), tile=(64, 128), stages=2, cluster=1, blocks=1, group=1)
    wrong = [op for op in kernel.walk() if isinstance(op, Map) and op.function == "convert"][-1]
    instead = () if by == "nobody" else (Elect((wrong,)),)
    claim = Computes(kernel.edited(lambda op: instead if op is wrong else (op,)), "c")

    assert bool(prove(claim, budget=replace(BUDGET, failures=False))) == (column == 72)


def test_sizes_that_take_long_to_run_are_tried_last() -> None:
    """A slip in the last of 4 x 4 sums of a thread shows in one CTA, and not in 17."""
    kernel = gemm_simt(*dims("M N K", at_most=1 << 20))
    claim = Computes(kernel.edited(lambda op: (replace(op, count=15),) if isinstance(op, Fill) else (op,)), "c")
    tried = [tuple(sizes[d] for d in kernel.dims) for sizes in claim.trials(Facts.about(*kernel.dims))]

    assert tried.index((16, 16, 16)) < tried.index((1025, 1, 1))
    assert claim.bind(dict.fromkeys(kernel.dims, 16)).counterexample() is not None


# -- what proofs did not see ----------------------------------------------------------------------------


def stories(kernel: Kernel) -> str:
    return "\n".join(str(v.witness) for v in prove(kernel, budget=BUDGET).verdicts if v.outcome is Outcome.REFUTED)


def test_registers_are_in_bounds() -> None:
    kernel = vector_copy(dim("N"), threads=64)
    past = kernel.edited(
        lambda op: [replace(op, dst=Ref("x", 1))] if isinstance(op, Copy) and op.atom == "ld.global.16" else [op]
    )

    assert "maps to 1, past the last valid 0" in stories(past)
    assert len(list(claims_of(past))) == len(list(claims_of(kernel))) + 1, "asked where numbers do not say it"


def test_mbarriers_are_those_of_their_array() -> None:
    kernel = tma_copy(64, 64, tile=(16, 64), slots=2, blocks=1)
    past = kernel.edited(
        lambda op: (
            [replace(op, barrier=replace(op.barrier, slot=op.barrier.slot + 1))] if isinstance(op, Wait) else [op]
        )
    )

    assert "the value is 2, past the last valid 1" in stories(past)
    assert "in bounds" not in {c.kind for c in claims_of(kernel)}


def product(change: Callable[[Op], Iterable[Op]]) -> str:
    """What is refuted of a product of matrices with one mistake."""
    return stories(gemm(128, 128, 128, tile=(64, 64), stages=2, cluster=1, blocks=1).edited(change))


def test_operands_of_matrix_instructions() -> None:
    def moved(op: Op) -> Iterable[Op]:
        if not isinstance(op, Mma) or not isinstance(op.a, Matrix):
            return [op]
        return [replace(op, a=replace(op.a, start=replace(op.a.start, offset=op.a.start.offset + by)))]

    by = 1
    assert "which 16 does not divide" in product(moved)
    by = 8192
    assert "past the last valid" in product(moved)
    assert "past the last valid 0" in product(
        lambda op: [replace(op, acc=Ref("acc", 1))] if isinstance(op, Mma) else [op]
    )


def test_sums_that_are_read_too_soon() -> None:
    soon = product(lambda op: [] if isinstance(op, WaitGroup) and op.group == "wgmma" and not op.pending else [op])
    assert "no commit and wait_group wgmma before convert acc -> out x8" in soon
    with pytest.raises(LayoutError, match="expected a wait for reads of bulk groups, got one of wgmma groups"):
        WaitGroup("wgmma", 0, read=True)


def test_a_matrix_instruction_by_one_thread() -> None:
    assert "expected all 128 threads of it, got warps 4 .. 7, 1 lane each" in product(
        lambda op: [Elect((op,), each_warp=True)] if isinstance(op, Mma) else [op]
    )


def test_a_wait_for_a_barrier_on_which_no_copy_completes() -> None:
    kernel = tma_copy(64, 64, tile=(16, 64), slots=2, blocks=1)
    no_load = kernel.edited(lambda op: [] if isinstance(op, Copy) and op.barrier else [op])

    assert "expect_tx full[i % 2] 4096 B for no copy" in str(prove(no_load, budget=BUDGET))
    assert "nothing writes ring" in stories(no_load)


def ending(by_all: bool) -> Kernel:
    """A transposition whose last wait_group is by all threads, or by thread 1, and not by the one that has stored."""
    kernel = tma_transpose(64, 64, blocks=1)
    thread = Builder("k", grid=(1,), threads=160).thread

    def last(op: Op) -> list[Op]:
        if not (isinstance(op, Elect) and isinstance(op.inside[0], WaitGroup) and not op.inside[0].read):
            return [op]
        return list(op.inside) if by_all else [If((thread >= 1, thread <= 1), op.inside)]

    return kernel.edited(last)


def test_a_wait_group_by_more_threads_than_have_committed() -> None:
    assert prove(HappensBefore(ending(by_all=True)))


def test_a_wait_group_by_another_thread_is_no_wait() -> None:
    (v,) = prove(HappensBefore(ending(by_all=False))).verdicts

    assert v.outcome is Outcome.REFUTED
    assert "no wait_group bulk 0 after the last store" in str(v.witness)
