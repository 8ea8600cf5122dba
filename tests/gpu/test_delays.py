"""Random waits in generated text: where they stand, that the seed alone decides, that nothing else changes."""

import pytest

from gpu import ptx
from gpu.codegen import emit
from gpu.codegen.delays import DELAYED, Delays
from symlayout import dims
from symlayout.kernels import gemm
from tests.support.kernel_families import BY_WORD, FAMILIES

KERNELS = {**{f.word: f.build for f in FAMILIES}, "gemm": lambda: gemm(*dims("M N K", at_most=1 << 20), cluster=2)}


def without_waits(text, seed):
    for function in map(ptx.function, ("random_wait", "global_ns")):
        text = text.replace(f"{function.text}\n\n", "").replace(f"{function.text}\n", "")
    kept = [line for line in text.splitlines() if "random_wait(0x" not in line and line != f"// {Delays(seed)}"]
    return "\n".join(kept) + "\n"


@pytest.mark.parametrize("word", KERNELS)
def test_a_text_with_waits_is_the_text_and_waits(word):
    kernel = KERNELS[word]()
    plain, waiting = emit(kernel), emit(kernel, delays=3)

    assert "random_wait" not in plain.text
    assert f"// {Delays(3)}" in waiting.text
    assert without_waits(waiting.text, 3) == plain.text
    assert (waiting.digest, waiting.arguments) == (plain.digest, plain.arguments)


def test_seeds_draw_other_places():
    kernel = BY_WORD["tma_copy"].build()
    texts = {emit(kernel, delays=seed).text for seed in range(5)}

    assert len(texts) == 5
    assert emit(kernel, delays=2).text == emit(kernel, delays=2).text


def test_every_kind_of_place_waits_for_some_seed():
    told = "".join(
        emit(KERNELS[w](), delays=s).text for w in ("gemm", "tma_transpose", "cp_async_copy") for s in range(8)
    )
    kernels = [KERNELS[w]() for w in ("gemm", "tma_transpose", "cp_async_copy")]
    there = {type(op) for k in kernels for op in k.walk()}

    assert all(f"// before {kind.__name__}" in told for kind in DELAYED if kind in there)


@pytest.mark.parametrize("word", KERNELS)
def test_no_wait_sleeps(word):
    """Other lanes pass a lane that sleeps: they may write registers that its last copy reads (docs/verify.md)."""
    assert all("nanosleep" not in emit(KERNELS[word](), delays=seed).text for seed in range(3))


def test_a_lane_may_wait_between_a_store_and_its_commit():
    texts = [emit(BY_WORD["tma_transpose"].build(), delays=seed).text for seed in range(9)]
    after = [t.rpartition("tma_store_2d(dst_map")[2].partition(";\n")[2].lstrip() for t in texts]

    assert any(t.startswith("random_wait(") and "// before Commit" in t.partition("\n")[0] for t in after)


def test_a_wait_knows_all_loops_around_it():
    assert {Delays(s).before("Wait", ("i", "j", "k")).partition(", ")[2].partition(",")[0] for s in range(9)} == {
        "",
        "61 * (61 * i + j) + k",
    }
