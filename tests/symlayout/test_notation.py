"""CuTe text, facts and sizes: tables and round trips."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import pytest

from symlayout import ComposedLayout, E, Layout, Swizzle, dim
from symlayout.errors import (
    AssumptionError,
    ExpressionError,
)
from symlayout.expr import Expr, ceil_div_int, floordiv, maximum, minimum, mod, xor
from symlayout.text.notation import (
    parse,
    parse_int_tuple,
    to_cpp,
)

M, N, K = (dim(name) for name in "MNK")
SW128 = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))

TEXT: list[tuple[str, Any]] = [
    (
        "((4,8,4),(2,2,8)):((128,1,16),(64,8,512))",
        Layout(((4, 8, 4), (2, 2, 8)), ((128, 1, 16), (64, 8, 512))),
    ),
    ("8:1", Layout(8, 1)),
    ("8", Layout(8, 1)),
    ("(4,8)", Layout((4, 8), (1, 4))),
    ("(_4,_8)", Layout((4, 8), (1, 4))),
    ("_4:_1", Layout(4, 1)),
    ("():()", Layout((), ())),
    ("()", Layout((), ())),
    (" ( 4 ,\t8 )\n: ( 8 , 1 ) ", Layout((4, 8), (8, 1))),
    # one item in parentheses: a tuple as a mode, a group in arithmetic
    ("(4,):(1,)", Layout((4,), (1,))),
    ("(_4):(_-1)", Layout((4,), (-1,))),
    ("((4),8):((1),4)", Layout(((4,), 8), ((1,), 4))),
    ("(((4))):(((1)))", Layout((((4,),),), (((1,),),))),
    ("(M+1)*N:1", Layout((M + 1) * N, 1)),
    ("((M+1)*N,4):(1,(M+1)*N)", Layout(((M + 1) * N, 4), (1, (M + 1) * N))),
    ("((M)*2):(1)", Layout((2 * M,), (1,))),
    ("((4))*2:1", Layout(8, 1)),
    # signs
    ("4:-1", Layout(4, -1)),
    ("_4:_-1", Layout(4, -1)),
    ("4:--1", Layout(4, 1)),
    ("4:-(2)", Layout(4, -2)),
    ("(2,3):(-1,+4)", Layout((2, 3), (-1, 4))),
    # arithmetic, as Python reads it
    ("2+3*4:1", Layout(14, 1)),
    ("20//3//2:1", Layout(3, 1)),
    ("4:-7//2", Layout(4, -4)),
    ("4:7-2-1", Layout(4, 4)),
    ("4:1^(2+4)", Layout(4, 7)),
    ("10 % 4*3:1", Layout(6, 1)),
    ("(M,N):(N,1)", Layout((M, N), (N, 1))),
    ("M//8:M%8", Layout(M // 8, M % 8)),
    ("ceil(M/64):1", Layout(ceil_div_int(M, 64), 1)),
    ("ceil(M + 1/64):1", Layout(ceil_div_int(M + 1, 64), 1)),
    ("ceil((M+1)/(2*N)):1", Layout(ceil_div_int(M + 1, 2 * N), 1)),
    ("ceil_div(M, 64):ceil_div(7,2)", Layout(ceil_div_int(M, 64), 4)),
    ("min(M,N,4)+1:max(M)", Layout(minimum(M, N, 4) + 1, M)),
    ("1000000000000000000000000000000:1", Layout(10**30, 1)),
    # coordinates as values
    ("(M,N):(1@1,1@0)", Layout((M, N), (E(1), E(0)))),
    ("(_4,(_2,_3)):(_1@0,(_1@0@1,_1@1@1))", Layout((4, (2, 3)), (E(0), (E(1, 0), E(1, 1))))),
    ("8:_1@0", Layout(8, E(0))),
    ("8:5@1@0", Layout(8, 5 * E(0, 1))),
    ("8:N@0", Layout(8, N * E(0))),
    ("8:(2*N)@0", Layout(8, 2 * N * E(0))),
    ("8:2*N@0", Layout(8, 2 * N * E(0))),
    ("8:(N+1)@0@2", Layout(8, (N + 1) * E(2, 0))),
    ("8:-3@0", Layout(8, -3 * E(0))),
    # swizzles
    ("Sw<3,4,3>", Swizzle(3, 4, 3)),
    ("S<3,4,3>", Swizzle(3, 4, 3)),
    ("Swizzle< 3, 4, -3 >", Swizzle(3, 4, -3)),
    ("Sw<3,3,3> o 0 o (8,64):(64,1)", SW128),
    ("S<3,3,3> o _0 o (_8,_64):(_64,_1)", SW128),
    ("Sw<3,3,3>∘0∘(8,64):(64,1)", SW128),
    ("Sw<3,3,3> o (8,64):(64,1)", SW128),
    ("Sw<3,3,3> o 0 o (8,64)", ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64)))),
    ("Sw<3,3,3> o 2*M+1 o 8:1", ComposedLayout(Swizzle(3, 3, 3), 2 * M + 1, Layout(8, 1))),
    (
        "(4,5):(_1,4) o (1,_2) o (2,3):(_1@0,_1@1)",
        ComposedLayout(Layout((4, 5), (1, 4)), (1, 2), Layout((2, 3), (E(0), E(1)))),
    ),
    (
        "Sw<1,0,1> o 3 o 8:2 o 4 o 5:6",
        ComposedLayout(Swizzle(1, 0, 1), 3, ComposedLayout(Layout(8, 2), 4, Layout(5, 6))),
    ),
    # a swizzle of byte addresses
    ("Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)", SW128),
    ("Sw<3,4,3> o smem_ptr[16b] o (8,64):(64,1)", SW128),
    ("Sw<3,4,3> o smem_ptr[8b](unset) o 8:1", ComposedLayout(Swizzle(3, 4, 3), 0, Layout(8, 1))),
    ("Sw<3,4,3> o smem_ptr[64b](unset) o 8:1", ComposedLayout(Swizzle(3, 1, 3), 0, Layout(8, 1))),
    ("Sw<0,4,3> o smem_ptr[16b](unset) o 8:1", ComposedLayout(Swizzle(0, 3, 3), 0, Layout(8, 1))),
    # names that are words elsewhere
    ("o o o o o:o", ComposedLayout(Layout(dim("o"), 1), dim("o"), Layout(dim("o"), dim("o")))),
    ("(S,Sw):(min,ceil)", Layout((dim("S"), dim("Sw")), (dim("min"), dim("ceil")))),
]


@pytest.mark.parametrize("text, value", TEXT, ids=[t for t, _ in TEXT])
def test_text_denotes_its_value(text: str, value: Any) -> None:
    assert parse(text) == value
    assert parse(str(parse(text))) == value


INT_TUPLES = [
    ("(3,(_,2))", (3, (None, 2))),
    ("_", None),
    ("(_)", (None,)),
    ("(_,)", (None,)),
    ("7", 7),
    ("-3", -3),
    ("(_-3,_4)", (-3, 4)),
    ("()", ()),
    ("(M,2*M+1)", (M, 2 * M + 1)),
    ("(1@0,_)", (E(0), None)),
]


@pytest.mark.parametrize("text, value", INT_TUPLES, ids=[t for t, _ in INT_TUPLES])
def test_int_tuples(text: str, value: Any) -> None:
    assert parse_int_tuple(text) == value


def test_names_are_the_symbols_given_else_new_ones() -> None:
    m = dim("M", multiple_of=8)

    assert parse("(M,N):(N,1)", [m]).symbols == (m, N)
    assert parse_int_tuple("M//8*8", [m]) == m // 8 * 8
    assert parse("(4,4):(1,M)", iter([m])).symbols == (m,)
    assert parse("cute::Layout<int, int>", [d0 := dim("d0", at_most=64)]).stride is d0


def test_symbols_that_clash_or_are_none_are_refused() -> None:
    with pytest.raises(AssumptionError, match="expected one symbol for each name, got two called M"):
        parse("M", [M, dim("M", multiple_of=8)])
    with pytest.raises(ExpressionError, match=r"expected symbols, got 2\*M"):
        parse("M", [2 * M])


@pytest.mark.parametrize("bits", [8, 16, 32, 64, 128])
def test_the_element_form_moves_the_same_bytes(bits: int) -> None:
    of_bytes = Swizzle(3, 4, 3)
    of_elements = parse(f"Sw<3,4,3> o smem_ptr[{bits}b](unset) o 1024:1")

    assert all(of_elements(i) * bits // 8 == of_bytes(i * bits // 8) for i in range(1024))


# -- round trips --------------------------------------------------------------------------------------------

SYMBOLS = [M, dim("N", multiple_of=8), dim("K", at_least=0), dim("ld", at_least=M), dim("o"), dim("µ_1")]


def random_expression(rng: random.Random, depth: int) -> Any:
    if not depth or rng.random() < 0.2:
        return rng.choice(SYMBOLS) if rng.random() < 0.65 else rng.randint(-9, 300)
    a, b = random_expression(rng, depth - 1), random_expression(rng, depth - 1)
    divisor = rng.choice([1, 2, 3, 8, 64, *SYMBOLS, b if isinstance(b, Expr) else 5])
    operations: list[Callable[[], Any]] = [
        lambda: a + b,
        lambda: a - b,
        lambda: a * b,
        lambda: floordiv(a, divisor),
        lambda: mod(a, divisor),
        lambda: ceil_div_int(a, divisor),
        lambda: minimum(a, b),
        lambda: maximum(a, b),
        lambda: xor(rng.choice(SYMBOLS), rng.choice([3, *SYMBOLS])),
    ]
    return rng.choice(operations)()


def random_shape(rng: random.Random, depth: int, leaf: Callable[[], Any]) -> Any:
    if depth and rng.random() < 0.5:
        return tuple(random_shape(rng, depth - 1, leaf) for _ in range(rng.randint(0, 3)))
    return leaf()


def random_layout(rng: random.Random, symbolic: bool) -> Layout:
    def extent() -> Any:
        x = random_expression(rng, 2) if symbolic and rng.random() < 0.5 else rng.randint(1, 64)
        return x if isinstance(x, Expr) else max(x, 1)

    def stride() -> Any:
        x = random_expression(rng, 3) if symbolic and rng.random() < 0.5 else rng.randint(-4, 99)
        path = [rng.randint(0, 3) for _ in range(rng.choice([0, 0, 0, 1, 2]))]
        return x * E(*path) if path else x

    def like(shape: Any) -> Any:
        return tuple(map(like, shape)) if isinstance(shape, tuple) else stride()

    shape = random_shape(rng, 3, extent)
    return Layout(shape, like(shape))


@pytest.mark.seeds(20)
def test_expressions_round_trip(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(100):
        e = random_expression(rng, rng.randint(1, 3))
        assert parse_int_tuple(str(e), SYMBOLS) == e, str(e)


@pytest.mark.seeds(20)
def test_layouts_round_trip(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        layout = random_layout(rng, symbolic=True)
        assert parse(str(layout), SYMBOLS) == layout, str(layout)


@pytest.mark.seeds(10)
def test_static_layouts_round_trip_through_cpp_and_underscores(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(50):
        layout = random_layout(rng, symbolic=False)
        tile = ComposedLayout(Swizzle(rng.randint(0, 3), rng.randint(0, 4), 3), rng.randint(0, 9), layout)
        cute = re.sub(r"(?<!@)-?\b\d+", r"_\g<0>", str(layout)).replace(",)", ")")  # as CuTe prints it

        assert parse(to_cpp(layout)) == layout, str(layout)
        assert parse(to_cpp(tile)) == parse(str(tile)) == tile, str(tile)
        assert parse(cute) == layout, cute


def test_what_layouts_compute_round_trips() -> None:
    value = Layout((M, (N, 8)), (8 * N, (8, 1)))(dim("i", at_least=0, below=M * N * 8))

    assert parse_int_tuple(str(value), value.symbols) == value
