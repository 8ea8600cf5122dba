"""What tells two values apart: each field of each value of the language is in its serialisation.

Text was what digests and keys of caches stood on, and text is for people: a fill told 6 digits of its value, a result not
the type that it is rounded to, a size not its range. Tests changed one operation of one kernel. Here every field of every
dataclass is changed, and a dataclass without an example fails.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import importlib
import math
import pickle
import struct
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

from symlayout import ComposedLayout, E, Layout, Swizzle, dim, dims, eq, index, maximum, minimum, zipped_divide
from symlayout.address_map import AddressMap
from symlayout.arch import SM90
from symlayout.atoms.descriptor import MatrixDescriptor
from symlayout.basis import ArithmeticTuple, ArithmeticTupleIterator
from symlayout.canonical import PARTS, content, digest, serial
from symlayout.dtype import bf16, f32
from symlayout.errors import SerialError, SymlayoutError
from symlayout.expr import Atom, Expr, Symbol, intern
from symlayout.kernel import Builder, Kernel, KernelMap, KernelTensor, Mbarriers, Parameter, RingUse
from symlayout.kernel.specification import Applied, Dot, Element, Entry, Result, Scalar, Total, applied, element
from symlayout.kernels import tma_copy
from symlayout.linear import LinearLayout
from symlayout.ops import (
    Arrive,
    Barrier,
    Box,
    ByAtom,
    ClusterArrive,
    ClusterBarrier,
    ClusterWait,
    Commit,
    Copy,
    CpAsyncArrive,
    Elect,
    ExpectTx,
    Fence,
    Fill,
    For,
    If,
    Inval,
    Let,
    LoadIndex,
    Map,
    Matrix,
    Mma,
    Op,
    Param,
    PeerCopy,
    Reduce,
    Ref,
    Role,
    Shuffle,
    Slot,
    Wait,
    WaitGroup,
    WarpBarrier,
)
from symlayout.rules.tma_copy import TensorCopy
from symlayout.rules.tma_tile import TileCopy
from symlayout.tensor import Tensor
from symlayout.tma import Im2col, TensorMap, TmaOobFill
from symlayout.tma.tiled_copy import TmaPart, make_tma_copy

M, N = dims("M N")
I = index("i", N)  # noqa: E741
HERE, THERE, FULL = Ref("a", I), Ref("b", 4), Slot("full", I % 4)
WORK = Fill(HERE, 1.5, 2)
MAP = TensorMap.over(Layout((M, 64), (1, M)), "f32", (32, 8))
AT = Element("x", (I, 3))
COPY = make_tma_copy(Layout((M, 64), (64, 1)), Layout((16, 64), (64, 1)), dtype="bf16")

# Modules whose dataclasses are values of the language, or what claims are about.
MODULES = (
    *("ops", "results", "kernel", "tma", "tma_copy", "dtype", "arch", "linear", "atoms.descriptor"),
    *("rules.tma_copy", "rules.tma_tile"),
)
BASES = (Op, ByAtom)  # which have no values of their own

EXAMPLES = [
    *(HERE, FULL, Box("map", (I, 0)), Param("alpha"), Matrix(Ref("a"), MatrixDescriptor(0))),
    *(Copy("tma.load", Box("map", (I, 0)), THERE, FULL, 3, 64), Mma("wgmma", HERE, THERE, Ref("c"), I)),
    *(Map("add", (HERE, THERE), Ref("c"), 2), WORK, Shuffle("bfly", HERE, THERE, 1, 2)),
    *(
        PeerCopy("st.async.4", HERE, THERE, 1, FULL),
        Reduce("add", HERE, THERE, 2, 4),
        Let(dim("x"), I + 1),
        LoadIndex(dim("x", at_most=M), HERE),
    ),
    *(
        Arrive(FULL, 1),
        CpAsyncArrive(FULL),
        ExpectTx(FULL, 64),
        Wait(FULL, I // 4 % 2),
        Barrier(1, 64),
        WarpBarrier(),
        ClusterBarrier(),
        ClusterArrive(relaxed=True),
        ClusterWait(),
        Inval("full"),
    ),
    *(Fence("async"), Commit("bulk"), WaitGroup("bulk", 1, True), For(I, (WORK,)), If((I >= 3,), (WORK,))),
    *(Elect((WORK,), True), Role("consumer", 1, 2, (WORK,), 40)),
    *(Entry("idx", (I,)), AT, Scalar("alpha"), Dot(I, AT, Element("y", (I,))), Total("add", I, AT)),
    *(Applied("convert", (AT,), "f16"), Result("y", (I,), Scalar("alpha"))),
    *(KernelTensor("t", "shared", f32, Layout((M, 4)), 128, "role"), Parameter("alpha", f32, (0.0, 1.0))),
    *(KernelMap("map", "t", MAP), Mbarriers("full", 4, 1), RingUse("ring", "full", "empty", 4, 64 * M, 2)),
    *(
        tma_copy(M, N),
        MAP,
        Im2col((0, 0), (1, 1), 64, 32),
        COPY,
        COPY.get_slice(0),
        TmaPart(COPY, 0, 1, 64),
        bf16,
        SM90,
    ),
    *(LinearLayout((1, 2, 4)), MatrixDescriptor(0), TensorCopy(MAP, (0, I)), TileCopy(MAP, (0, I), shared_bytes=64)),
]

OVERHANG = zipped_divide(Layout(M), 64)
OTHERS = [  # values that are no dataclasses
    *(
        AddressMap.over(lambda i: i // M, N, when=lambda i: i < M),
        ArithmeticTuple(1, I),
        ArithmeticTupleIterator((1, I)),
    ),
    *(ComposedLayout(Swizzle(3, 3, 3), M, Layout(64)), eq(M, N), M.multiple_of(8), Layout((M, N), (E(0), E(1)))),
    *(OVERHANG, *OVERHANG.obligations, 3 * E(1, 0), Swizzle(3, 3, 3), Tensor(0, Layout(M))),
]


def words(x):
    return type(x).__name__


def language():
    """Every frozen dataclass of the language."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"symlayout.{name}")
        for x in vars(module).values():
            if isinstance(x, type) and dataclasses.is_dataclass(x) and x.__module__ == module.__name__:
                found[x] = True
    return [x for x in found if x not in BASES and x.__name__ != "Builder"]


def parts(x):
    if dataclasses.is_dataclass(x):
        return [f.name for f in dataclasses.fields(x) if f.compare]
    return list(PARTS[type(x)])


def others(value):
    """Values that are not this one, some as near to it as they can be."""
    if isinstance(value, bool):
        return [not value, int(value)]
    if isinstance(value, enum.Enum):
        return [next(m for m in type(value) if m is not value)]
    if isinstance(value, int):
        return [value + 1, float(value), M]
    if isinstance(value, float):
        return [math.nextafter(value, 9), -value, math.nan]
    if isinstance(value, str):
        return [f"{value} ", f"{value}_", None]
    if isinstance(value, Symbol):
        name, lower, upper, multiple = value.args
        ranges = [(name, lower, upper, 2 * multiple), (name, lower, 77, multiple), (name, -7, upper, multiple)]
        return [*(intern(Symbol, x) for x in ranges), intern(Symbol, (f"{name}_", *value.args[1:])), 5]
    if isinstance(value, Expr):
        return [value + 1, 2 * value]
    if isinstance(value, tuple):
        longer = [(*value, 7)]
        return [*longer, value[:-1], (others(value[0])[0], *value[1:])] if value else longer
    if value is None:
        return [0, ""]
    if isinstance(value, SymlayoutError) or type(value) not in PARTS:
        return [None, changed(value, parts(value)[0], others(getattr(value, parts(value)[0]))[0])]
    return [changed(value, name, others(getattr(value, name))[0]) for name in parts(value)]


def changed(x, name, value):
    """The same value with another part, whether or not it would be accepted."""
    out = object.__new__(type(x))
    for part in (f.name for f in dataclasses.fields(x)) if dataclasses.is_dataclass(x) else parts(x):
        object.__setattr__(out, part, value if part == name else getattr(x, part))
    return out


def kernel_of(x):
    """A kernel that holds a value somewhere."""
    return Kernel("k", (), (1,), 32, (), (), (), (x,))


def test_there_is_an_example_of_every_dataclass_of_the_language():
    missing = {x.__name__ for x in language()} - set(map(words, EXAMPLES))

    assert not missing, f"expected an example in EXAMPLES of each, got none of {', '.join(sorted(missing))}"
    assert {words(x) for x in OTHERS} >= {x.__name__ for x in PARTS}


@pytest.mark.parametrize("x", EXAMPLES, ids=words)
def test_each_field_of_a_value_is_part_of_the_identity_of_a_kernel(x):
    whole = x if isinstance(x, Kernel) else kernel_of(x)
    assert whole == copy.deepcopy(whole)

    for name in parts(x):
        for value in others(getattr(x, name)):
            new = changed(x, name, value)
            mutant = new if isinstance(x, Kernel) else kernel_of(new)
            assert mutant.digest != whole.digest, f"{name}: {value!r}"
            assert mutant != whole


@pytest.mark.parametrize("x", OTHERS, ids=words)
def test_each_part_of_other_values_is_told(x):
    for name in parts(x):
        for value in others(getattr(x, name)):
            assert serial(changed(x, name, value)) != serial(x), f"{name}: {value!r}"


@pytest.mark.parametrize("x", [*EXAMPLES, *OTHERS], ids=words)
def test_a_copy_has_the_same_serialisation(x):
    assert serial(pickle.loads(pickle.dumps(x))) == serial(x)


def test_the_names_of_types_are_their_own():
    kinds = {*language(), *PARTS, *Atom.__subclasses__()}

    assert len({k.__name__ for k in kinds}) == len(kinds)


@pytest.mark.parametrize("kind", [k for k in Atom.__subclasses__() if k is not Symbol], ids=lambda k: k.__name__)
def test_expressions_are_told_apart_by_operation_and_operands(kind):
    wide = dim("M", at_most=2**40)
    pairs = [(M, N), (N, M), (M, 2 * N), (M, N + 1), (M, 8), (wide, N)]
    made = [serial(intern(kind, pair)) for pair in pairs]
    made += [serial(intern(k, (M, N))) for k in Atom.__subclasses__() if k not in (kind, Symbol)]

    assert len(set(made)) == len(made)


def test_sizes_are_told_with_what_is_known_of_them():
    """Two sizes of one name print the same, so kernels that differ in them only had one text."""
    sizes = [dim("M"), dim("M", at_least=0), dim("M", at_most=N), dim("M", multiple_of=8), dim("M", at_most=dim("K"))]

    assert len({serial(x) for x in sizes}) == len(sizes)
    assert len({serial(2 * x // 3 + 1) for x in sizes}) == len(sizes)


def test_floats_are_told_with_all_their_bits():
    odd = struct.unpack(">d", bytes.fromhex("7ff8000000000001"))[0]
    numbers = [0, 0.0, -0.0, 1, 1.0, True, math.nextafter(1, 2), 1.0000004, math.inf, -math.inf, math.nan, odd, 5e-324]

    assert len({serial(x) for x in numbers}) == len(numbers)
    assert serial(np.float32(0.1)) == serial(float(np.float32(0.1))) != serial(0.1)
    assert serial(np.int64(7)) == serial(7)
    assert len({serial(x) for x in (Fraction(1, 2), 0.5, "1/2")}) == 3


def test_a_type_that_is_not_known_is_an_error():
    @dataclasses.dataclass
    class Loose:
        x: int = 1

    for x in (object(), [1], {1: 2}, {1}, Loose(), lambda i: i, 1j, np.arange(3), bytearray(b"a")):
        with pytest.raises(SerialError, match="expected frozen values of the language"):
            serial(x)
    with pytest.raises(SerialError, match=r"in Fill\.value, got \[1\] \(list\)"):
        _ = kernel_of(changed(WORK, "value", [1])).digest


def test_layouts_are_told_with_what_they_still_need():
    whole = zipped_divide(Layout(64), 64)
    assert serial(OVERHANG) != serial(Layout(OVERHANG.shape, OVERHANG.stride))
    assert serial(whole) == serial(Layout(whole.shape, whole.stride))


def test_deep_expressions_have_short_serialisations():
    x = M
    for i in range(3000):
        x = (x // 3 + N) % (7 + i)
    assert len(serial(x)) < 2000
    assert serial(x) != serial(x + 1)


def test_the_order_in_which_an_expression_is_written_is_none_of_its_parts():
    assert serial(M * N + 2 * M + 1) == serial(1 + M + N * M + M)
    assert serial(minimum(M, N)) == serial(minimum(N, M)) != serial(maximum(M, N))


def test_a_digest_is_the_same_in_every_process():
    script = "from symlayout import dims; from symlayout.kernels import gemm; print(gemm(*dims('M N K')).digest)"
    digests = [
        subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in "12"
    ]

    assert digests[0] == digests[1]
    assert len(digests[0].strip()) == 64


# -- kernels ----------------------------------------------------------------------------------------------


def converted(held, said="f16", start=1.0):
    """A kernel that rounds by registers of one type and says another."""
    n = dim("N", multiple_of=32)
    k = Builder("convert", n, grid=(n // 32,), threads=32)
    x, y = k.global_tensor("x", "f32", Layout(n)), k.global_tensor("y", "f32", Layout(n))
    r, h = k.registers("r", "f32", 1), k.registers("h", held, 1)
    at = 32 * k.block[0] + k.thread
    k.fill(r(), start)
    k.copy("ld.global.4", x(at), r())
    k.map("convert", (r(),), h())
    k.map("convert", (h(),), r())
    k.copy("st.global.4", r(), y(at))
    k.result("y", lambda i: applied("convert", element("x", i), dtype=said))
    return k.kernel()


def test_the_text_of_a_kernel_loses_nothing_that_a_reader_needs():
    """Fills told 6 digits, results not the type that a function rounds to, sizes not their ranges."""
    texts = [
        *(converted("f16", start=x).text() for x in (1.0, 1.0000004, -0.0, 0.0, 2**53, 2**53 + 1, 1e-30, math.nan)),
        *(converted("f16", said="bf16").text(), converted("bf16").text()),
        *(tma_copy(dim("M", **more), N).text() for more in ({}, {"multiple_of": 4}, {"at_least": 0}, {"at_most": N})),
    ]

    assert len(set(texts)) == len(texts)
    assert "convert.f16(x(i))" in texts[0]
    assert str(MAP) != str(dataclasses.replace(MAP, oob_fill=TmaOobFill.nan))


def test_a_reference_is_no_part_of_a_kernel():
    kernel = tma_copy(M, N)

    assert kernel == dataclasses.replace(kernel, reference=None)


def test_a_kernel_under_other_assumptions_is_another():
    kernel = tma_copy(M, N)
    assumed = kernel.assuming(N.multiple_of(4))

    assert kernel != assumed
    assert kernel.assuming(N.multiple_of(4)) == assumed
    assert hash(kernel.assuming(N.multiple_of(4))) == hash(assumed)


def test_a_bound_kernel_knows_what_it_was_bound_from():
    kernel = tma_copy(M, N)
    bound = kernel.bind(M=64, N=64)

    assert bound.origin == kernel
    assert bound.digest not in (kernel.digest, kernel.bind(M=64, N=128).digest)
    assert bound == kernel.bind(M=64, N=64) != kernel.assuming(N.multiple_of(4)).bind(M=64, N=64)


def test_what_is_assumed_of_a_launch_is_said():
    n = dim("N")
    k = Builder("pick", n, grid=(1,), threads=32)
    idx = k.global_tensor("idx", "i32", Layout(32))
    k.parameter("alpha", "f32", within=(0, 1))
    k.parameter("beta", "f32")
    k.load_index("at", idx(k.thread), within=(0, n))

    base, *others = k.kernel().assumed
    assert base == "the base of idx is a multiple of 16 bytes"
    assert others == ["alpha is within (0,1)", "the data hold at = idx[thread] within (0,N)"]
    assert tma_copy(M, N).assumed[1:] == ("dst, which the kernel writes, shares no byte with src",)


def test_digests_of_tensor_maps_tell_sizes_of_one_name_apart():
    """The digest stood on the text of each parameter, in which M is M whatever its range."""
    maps = [TensorMap.over(Layout((m, 64), (1, 64)), "f32", (32, 8)) for m in (M, dim("M", multiple_of=4))]

    assert maps[0].digest != maps[1].digest
    assert digest(MAP) == MAP.digest
    assert content(MAP) == serial(MAP)
