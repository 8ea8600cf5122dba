"""Kernels as CUDA C++: the text of every family, a row for every operation and instruction, integers as they are stated.

The golden texts are rewritten by ``python -m tests.gpu.test_codegen``: look at the difference before it is committed.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpu
from gpu import ptx
from gpu.codegen import emit
from gpu.codegen.integers import C, Integers
from gpu.codegen.lines import broken
from gpu.codegen.printer import Printer
from symlayout import Layout, bf16, ceil_div, dim, dims, evaluate, f32
from symlayout.atoms import ATOMS, MatrixCopy, MmaAtom
from symlayout.errors import LayoutError
from symlayout.expr import index, maximum, minimum, select, xor
from symlayout.expr.partial_results import partial_results
from symlayout.kernel import Builder
from symlayout.kernels import gemm
from symlayout.ops import ByAtom, Copy, Op
from symlayout.semantics.maps import FUNCTIONS
from tests.support.compilers import NEEDS_COMPILER
from tests.support.kernel_families import FAMILIES

GOLDEN = Path(__file__).parent / "golden"
SMALL = {"at_most": 1 << 20}  # sizes for which 32 bits hold every tile of a product


def products():
    sizes = dims("M N K", **SMALL)
    return {
        "gemm": gemm(*sizes, cluster=1, blocks=132),
        "gemm_cluster": gemm(*sizes),
        "gemm_f16": gemm(*sizes, dtype="f16", tile=(64, 128), stages=3, cluster=1),
    }


KERNELS = {**{f.word: f.build for f in FAMILIES}, **{name: (lambda k=k: k) for name, k in products().items()}}


def written(source):
    """The part of a text that is the kernel's own: the functions before it are rows with tests of their own."""
    head, _, rest = source.text.partition("#include")
    return head + 'extern "C"' + rest.partition('extern "C"')[2]


# -- the text ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", KERNELS)
def test_the_text_of_a_family_is_the_golden_one(name):
    assert written(emit(KERNELS[name]())) == (GOLDEN / f"{name}.cu").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KERNELS)
def test_lines_are_short_and_end_clean(name):
    lines = emit(KERNELS[name]()).text.splitlines()

    assert [line for line in lines if line != line.rstrip()] == []
    assert [line for line in lines if len(line) > 120 and not line.startswith("//")] == []


def test_a_text_says_what_it_is_and_what_is_assumed():
    kernel = FAMILIES[0].build().assuming()
    text = emit(kernel).text

    assert f"// digest {kernel.digest}" in text
    assert all(f"// assumed: {sentence}" in text for sentence in kernel.assumed)


def test_a_tensor_that_may_alias_is_not_restricted():
    k = Builder("update", grid=(1,), threads=32)
    x, y = k.global_tensor("x", f32, Layout(32)), k.global_tensor("y", f32, Layout(32), may_alias="x")
    r = k.registers("r", f32, 1)
    k.copy("ld.global.4", x(k.thread), r())
    k.copy("st.global.4", r(), y(k.thread))

    assert [str(a) for a in emit(k.kernel()).arguments] == ["const float* x", "float* y"]


@pytest.mark.parametrize(
    "scope, instructions",
    [
        ("cta", ("try_wait.parity.shared::cta", "arrive.shared::cta", "arrive.shared::cluster")),
        (
            "cluster",
            (
                "try_wait.parity.acquire.cluster.shared::cta",
                "arrive.release.cluster.shared::cta",
                "arrive.release.cluster.shared::cluster",
            ),
        ),
    ],
)
def test_arrivals_and_waits_are_at_the_scope_that_the_value_says(scope, instructions):
    k = Builder("scopes", grid=(2,), threads=32, cluster=(2,))
    full = k.mbarriers("full", 1, 64)
    k.cluster_sync()
    k.arrive(full(), scope=scope)
    k.arrive(full(), 0, scope)
    k.wait(full(), 0, scope)
    found = re.findall(r"mbarrier\.((?:try_wait|arrive)\S*)\.b64", emit(k.kernel()).text)

    assert sorted(found) == sorted(instructions)


def test_an_arrival_for_many_is_one_instruction():
    k = Builder("counted", grid=(2,), threads=32, cluster=(2,))
    full = k.mbarriers("full", 1, 64)
    k.cluster_sync()
    with k.elect():
        k.arrive(full(), count=32)
        k.arrive(full(), 1, "cluster", count=32)
    text = emit(k.kernel()).text

    assert "mbarrier_arrive_times(full, 32);" in text
    assert "mbarrier_arrive_at_times_cluster(full, 1, 32);" in text
    assert text.count("_, [%0], %1;") == 1
    assert "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote], %2" in text


@pytest.mark.parametrize("way, pragma", [("full", "#pragma unroll"), (1, "#pragma unroll 1"), (None, "r")])
def test_a_loop_is_unrolled_as_the_value_says(way, pragma):
    k = Builder("loops", grid=(1,), threads=32)
    r = k.registers("r", f32, 4)
    with k.loop("q", 4, unroll=way):
        k.map("neg", (r(),), r(), 1)
    lines = emit(k.kernel()).text.splitlines()
    before = lines[next(i for i, line in enumerate(lines) if "for (int q" in line) - 1].strip()

    assert before == pragma or (way is None and "#pragma" not in before)


@pytest.mark.parametrize("at_once, bounds", [(None, "(64)"), (1, "(64, 1)"), (3, "(64, 3)")])
def test_launch_bounds_say_how_many_ctas_are_on_an_sm(at_once, bounds):
    k = Builder("bounds", grid=(1,), threads=64, ctas_per_sm=at_once)
    k.sync()

    assert f"__launch_bounds__{bounds}\n" in emit(k.kernel()).text


@NEEDS_COMPILER
@pytest.mark.parametrize("name", KERNELS)
def test_a_family_compiles_without_spills_and_with_the_instructions_of_its_value(name):
    kernel = KERNELS[name]()
    source = emit(kernel)

    code = gpu.compile(source.text, name=f"{name}.cu").kernel(source.name)

    assert len(code.parameters) == len(source.arguments)
    assert code.max_threads == kernel.threads
    mbarriers = 8 * sum(b.slots for b in kernel.barriers)
    assert source.shared_bytes >= mbarriers


# -- a row for everything --------------------------------------------------------------------------------------


def operations():
    """Every class of operations."""
    found, open_ = [], [Op]
    while open_:
        kind = open_.pop()
        open_ += kind.__subclasses__()
        found += [kind] if kind not in (Op, ByAtom) and kind.__module__.startswith("symlayout.") else []
    return found


@pytest.mark.parametrize("kind", operations(), ids=lambda kind: kind.__name__)
def test_every_operation_has_code(kind):
    assert kind in Printer.handlers


def test_every_matrix_instruction_has_a_function():
    words = [word for word, row in ATOMS.items() if isinstance(row, MmaAtom | MatrixCopy)]

    assert len(words) > 600
    for word in words:
        assert ptx.function(word.replace(".", "_")).text.count("asm volatile") == 1, word


@pytest.mark.parametrize("way", ["load", "load_multicast", "store", "reduce_add", "reduce_min", "reduce_max"])
@pytest.mark.parametrize("rank", range(1, 6))
def test_every_tensor_copy_has_a_function(way, rank):
    text = ptx.function(f"tma_{way}_{rank}d").text

    places = [int(n) for n in re.findall(r"%(\d+)", text)]
    assert sorted(set(places)) == list(range(max(places) + 1))  # each operand is used
    assert text.count('"r"(c') == rank


def test_an_operation_without_code_is_named():
    class Odd(Op):
        def __str__(self):
            return "odd"

    k = Builder("odd", grid=(1,), threads=32)
    k.sync()
    kernel = k.kernel().edited(lambda op: [Odd()])

    with pytest.raises(LayoutError, match="expected an operation that has code, got Odd: odd"):
        emit(kernel)


def test_a_function_without_code_is_named():
    k = Builder("odd", grid=(1,), threads=32)
    x, y = k.registers("x", "e4m3", 1), k.registers("y", bf16, 1)
    k.map("add", (x(), x()), y())

    with pytest.raises(LayoutError, match="expected a function that has code, got add of e4m3, e4m3 to bf16"):
        emit(k.kernel())


TYPED = [(word, kind) for word, row in FUNCTIONS.items() for kind in ((*row.types, *row.errors) or ("f32",))]


def of_registers(function, kind, count=2):
    k = Builder("f", grid=(1,), threads=32)
    x = k.registers("x", kind, count)
    k.map(function, tuple(x() for _ in FUNCTIONS[function].counts), x(), count)
    return k.kernel()


@pytest.mark.parametrize("function, kind", TYPED)
def test_every_function_has_code(function, kind):
    text = emit(of_registers(function, kind)).text

    assert "x[e]" in text or "vector<4>(&x[0])" in text or function == "convert"


def test_a_packed_function_of_other_types_has_none():
    with pytest.raises(LayoutError, match=r"expected a function that has code, got add\.x2 of f32, f32 to f32"):
        emit(of_registers("add.x2", "f32"))


@pytest.mark.parametrize("word", [w for w, row in ATOMS.items() if row.bytes])
def test_every_copy_of_bytes_has_code(word):
    row = ATOMS[word]
    k = Builder("c", grid=(1,), threads=32)
    places = {
        "global": k.global_tensor("g", "u8", Layout(16)),
        "shared": k.shared_tensor("s", "u8", Layout(16)),
        "register": k.registers("r", "u8", 16),
    }
    k.copy(word, places[row.src](), places[row.dst]())

    text = emit(k.kernel()).text

    assert [op.atom for op in k.kernel().walk() if isinstance(op, Copy)] == [word]
    assert any(f"{name}(" in text for name in (f"vector<{row.bytes}>", f"cp_async_{row.bytes}", word.replace(".", "_")))


@pytest.mark.parametrize("word", [w for w, row in ATOMS.items() if row.bytes and row.reduction is not None])
def test_every_reduction_of_an_element_has_code_of_its_own(word):
    row = ATOMS[word]
    k = Builder("r", grid=(1,), threads=32)
    r, g = k.registers("r", row.reduction.dtype, 4), k.global_tensor("g", row.reduction.dtype, Layout(16))
    k.copy(word, r(), g(8))

    text = emit(k.kernel()).text

    assert f"    {word.replace('.', '_')}(g + 8, r);" in text
    assert f'"red.global.{row.reduction.function}.' in text


@NEEDS_COMPILER
def test_reductions_of_elements_compile():
    k, words = Builder("reds", grid=(1,), threads=32), [w for w, row in ATOMS.items() if row.bytes and row.reduction]
    for i, word in enumerate(words):
        kind = ATOMS[word].reduction.dtype
        k.copy(word, k.registers(f"r{i}", kind, 4)(), k.global_tensor(f"g{i}", kind, Layout(4))())

    assert gpu.compile(emit(k.kernel()).text, name="reds.cu").kernel("reds").registers


# -- integers ----------------------------------------------------------------------------------------------------

M, N = dims("M N", at_most=1000)
T = index("thread", 256)
Z = dim("z", at_least=-500, at_most=500)
LEAVES = st.sampled_from([M, N, T, Z, 1, 3, 8])
DIVISORS = st.sampled_from([2, 3, 7, 8, 64, M, 4 * N])


def _grown(children):
    pairs = st.tuples(children, children)
    return st.one_of(
        pairs.map(lambda ab: ab[0] + ab[1]),
        pairs.map(lambda ab: ab[0] - ab[1]),
        st.tuples(children, LEAVES).map(lambda ab: ab[0] * ab[1]),
        st.tuples(children, DIVISORS).map(lambda ab: ab[0] // ab[1]),
        st.tuples(children, DIVISORS).map(lambda ab: ab[0] % ab[1]),
        st.tuples(children, DIVISORS).map(lambda ab: ceil_div(ab[0], ab[1])),
        pairs.map(lambda ab: minimum(*ab)),
        pairs.map(lambda ab: maximum(*ab)),
        pairs.map(lambda ab: xor(*ab)),
        st.tuples(children, children, children).map(lambda abc: select(abc[0] >= 3, abc[1], abc[2])),
    )


EXPRESSIONS = st.recursive(LEAVES, _grown, max_leaves=7)
PRELUDE = """
#include <cstdint>
#include <algorithm>
using std::min; using std::max;
#define __device__
"""


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler here")
@settings(max_examples=4, deadline=None)
@given(st.lists(EXPRESSIONS, min_size=30, max_size=30), st.integers(0, 2**32))
def test_integers_are_what_python_computes(tmp_path_factory, exprs, seed):
    """Each expression in 64 bits as C++ computes it, at three points, signs included."""
    import random

    draw, folder = random.Random(seed), tmp_path_factory.mktemp("c")
    points = [
        {M: draw.randint(1, 1000), N: draw.randint(1, 1000), T: draw.randrange(256), Z: draw.randint(-500, 500)}
        for _ in range(3)
    ]
    known = {M, N, T}
    c = Integers(frozenset(), 64, lambda x: (isinstance(x, int) and x >= 0) or x in known)
    lines = [f'  printf("%lld\\n", (long long)({c.text(x)}));' for x in exprs]
    helpers = "".join(ptx.function(n).body + "\n" for n in ("floor_div", "floor_mod"))
    code = f"#include <cstdio>\n{PRELUDE}{helpers}void at(int64_t M, int64_t N, int64_t thread, int64_t z) {{\n"
    code += "\n".join(lines) + "\n}\nint main() {\n"
    code += "\n".join(f"  at({p[M]}, {p[N]}, {p[T]}, {p[Z]});" for p in points) + "\n}\n"
    (folder / "t.cc").write_text(code)
    subprocess.run(["c++", "-w", "-O0", "-o", folder / "t", folder / "t.cc"], check=True, timeout=120)
    found = subprocess.run([folder / "t"], check=True, capture_output=True, text=True, timeout=20).stdout.split()

    wanted = [evaluate(x, p) for p in points for x in exprs]
    assert list(map(int, found)) == list(map(int, wanted))


def test_a_wide_partial_result_is_computed_in_64_bits():
    i, j = dims("i j")
    c = Integers(frozenset({i * j}), 32, lambda x: True)

    assert c.text(i * j + 4 * i) == "int64_t(i) * j + 4 * i"
    assert c.of(i * j + 4 * i).bits == 64
    assert c.of(4 * i).bits == 32
    assert len(partial_results(i * j + 4 * i)) == 3


def test_what_is_computed_from_a_short_name_has_the_bits_that_are_stated():
    """A loop to ceil(N/128) has an int of an index, which the value holds in 64 bits: 4 behind its last may not fit."""
    text = emit(next(f for f in FAMILIES if f.word == "row_sum").build()).text
    i, j = dims("i j")
    c = Integers(frozenset(), 32, lambda x: True, {i: C("i", stated=64)}, short=lambda x: x == i + j)

    assert "N >= int64_t(column) + 4" in text
    assert [c.text(x) for x in (i + j, 4 * i, -i, i // 3, i + j + 1)] == [
        *("i + j", "int64_t(4) * i", "-int64_t(i)", "i / 3", "int64_t(i + j) + 1")
    ]


def test_names_of_the_printer_are_none_of_the_kernel():
    """Loops over registers and lanes, names of expressions and stamps: a kernel may use the same words."""
    k = Builder("words", dim("begin", at_most=64), grid=(1,), threads=32)
    v = k.registers("v", f32, 64)
    with k.loop("e", 4, unroll="full") as e, k.loop("far", 2, unroll="full") as far:
        k.map("neg", (v(8 * e + 4 * far),), v(8 * e + 4 * far), 4)
        k.reduce("add", v(8 * e), v(8 * e + far), 8, 32)
    with k.loop("folded", k.dims[0]) as folded:
        k.wait(k.mbarriers("full", 3, 1)(folded % 3), 0)
    text = emit(k.kernel(), stamps=2).text

    assert "v[8 * e + 4 * far + e1] = -v[8 * e + 4 * far + e1];" in text
    assert "float folded1 = v[8 * e];" in text
    assert "__shfl_xor_sync(0xffffffff, folded1, far1)" in text
    assert "const uint32_t begin1 = clock_now();" in text


def test_an_index_of_the_same_name_inside_has_a_value_of_its_own():
    k = Builder("again", dim("N"), grid=(1,), threads=64)
    src, x = k.global_tensor("src", f32, Layout(1 << 20)), k.registers("x", f32, 1)
    with k.loop("i", 5) as i, k.loop("j", 3):
        k.copy("ld.global.4", src(i // k.dims[0]), x())
        with k.loop("i", 5) as again:
            k.copy("ld.global.4", src(again // k.dims[0]), x())
        with k.role("first", 1):
            pass
        with k.role("second", 1):
            k.copy("ld.global.4", src((k.thread + 64) // k.dims[0]), x())
    lines = [line.strip() for line in emit(k.kernel()).text.splitlines() if "= vector<4>(src" in line]

    assert [re.search(r"src \+ (.*)\);", line)[1] for line in lines] == ["i / N", "i / N", "(thread + 64) / N"]


def test_long_calls_break_behind_their_commas():
    assert broken("call(aaaa, bbbb(c, d), eeee);", 20) == ["call(aaaa,", "     bbbb(c, d),", "     eeee);"]


def main():
    """Write the golden texts."""
    for name, build in KERNELS.items():
        (GOLDEN / f"{name}.cu").write_text(written(emit(build())), encoding="utf-8")


if __name__ == "__main__":
    main()
