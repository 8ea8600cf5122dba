"""The C++ types of CuTe layouts: what compilers print, what people write, and where the caret of an error stands."""

from __future__ import annotations

import random
import re

import pytest

from symlayout import Layout, dim
from symlayout.basis import ArithmeticTuple
from symlayout.errors import LayoutError, NotationError, SymlayoutError
from symlayout.text.notation import parse, parse_cpp, to_cpp

# What compilers print of types in CUTLASS 4.2: gcc 12 __PRETTY_FUNCTION__, gcc and clang demanglers,
# and nvcc 13.0 diagnostics, which keep the aliases _4 and write 4L.
COMPILERS = [
    (
        "cute::Layout<cute::tuple<cute::C<4>, cute::C<8> >, cute::tuple<cute::C<8>, cute::C<1> > >",
        "(4,8):(8,1)",
    ),
    ("cute::Layout<cute::tuple<cute::C<4>, cute::C<8> > >", "(4,8):(1,4)"),
    ("cute::Layout<cute::C<4>, cute::C<-1> >", "4:-1"),
    ("cute::Layout<cute::tuple<cute::C<4> >, cute::tuple<cute::C<-1> > >", "(4,):(-1,)"),
    ("cute::Layout<cute::C<4>, cute::C<5000000000ll> >", "4:5000000000"),
    ("cute::Layout<cute::tuple<>, cute::tuple<> >", "():()"),
    ("cute::Layout<cute::tuple<int, cute::C<8> >, cute::tuple<cute::C<8>, long int> >", "(s0,8):(8,d0)"),
    ("cute::Layout<cute::tuple<long, cute::C<8u> >, cute::tuple<cute::C<8l>, cute::C<1> > >", "(s0,8):(8,1)"),
    ("cute::Layout<cute::tuple<cute::C<4L>, unsigned int>, cute::tuple<cute::_8, cute::_1>>", "(4,s0):(8,1)"),
    (
        "cute::Layout<cute::tuple<int, cute::tuple<int, cute::C<3> > >, "
        "cute::tuple<cute::ScaledBasis<cute::C<1>, 0>, "
        "cute::tuple<cute::ScaledBasis<cute::C<1>, 1, 0>, cute::ScaledBasis<cute::C<1>, 1, 1> > > >",
        "(s0,(s1,3)):(1@0,(1@0@1,1@1@1))",
    ),
    (
        "cute::Layout<cute::tuple<int, int>, cute::tuple<cute::ScaledBasis<int, 0>, cute::ScaledBasis<int, 1, 0>>>",
        "(s0,s1):(d0@0,d1@0@1)",
    ),
    (
        "cute::ComposedLayout<cute::Swizzle<3, 4, 3>, cute::smem_ptr_flag_bits<16>, "
        "cute::Layout<cute::tuple<cute::_8, cute::_64>, cute::tuple<cute::_64, cute::_1>>>",
        "Sw<3,3,3> o 0 o (8,64):(64,1)",
    ),
    (
        "cute::ComposedLayout<cute::Swizzle<3, 1, 3>, cute::C<0>, "
        "cute::Layout<cute::tuple<cute::C<8>, cute::C<16> >, cute::tuple<cute::C<16>, cute::C<1> > > >",
        "Sw<3,1,3> o 0 o (8,16):(16,1)",
    ),
    ("cute::Swizzle<3, 4, -3>", "Sw<3,4,-3>"),
]

# What people write, and what other versions and tools print.
SPELLINGS = [
    ("Layout<Shape<_4,_8>,Stride<_8,_1>>", "(4,8):(8,1)"),
    ("::cute::Layout<cute::Shape<cute::Int<4>>, cute::Stride<cute::_m1>> const&", "(4,):(-1,)"),
    ("const cute::Layout<cute::C<(int)4>, cute::C<(int)-1>>", "4:-1"),
    ("class cute::Layout<struct cute::C<4>,struct cute::C<1> >", "4:1"),
    ("Layout<cute::constant<int, 4>, std::integral_constant<unsigned long, 4ul>>", "4:4"),
    ("Layout<cute::integral_constant<std::size_t, 8>, cute::C<(unsigned int)2>>", "8:2"),
    ("Layout<std::tuple<int64_t, std::size_t const, unsigned long long>>", "(s0,s1,s2):(1,s0,s0*s1)"),
    ("Layout<Shape<Shape<int,_2>,int>, Stride<Stride<_1,int>,long long int>>", "((s0,2),s1):((1,d0),d1)"),
    ("Layout<_8, ScaledBasis<ScaledBasis<C<3>,1>,0>>", "8:3@1@0"),
    ("cute::Shape<_4,_8>", "(4,8):(1,4)"),
    ("cute::tuple<_4, cute::Step<_2, cute::Coord<_3>>>", "(4,(2,(3,))):(1,(4,(8,)))"),
    ("cute::ArithmeticTuple<_4, _8>", "(4,8):(1,4)"),
    ("cute::Int<4>", "4:1"),
    ("cute::ComposedLayout<Swizzle<(int)3,(int)0,(int)3>, int, Layout<_8,_1> >", "Sw<3,0,3> o o0 o 8:1"),
    (
        "ComposedLayout<Layout<Shape<int,int>,Stride<_1,int>>, ArithmeticTuple<int,_2>, "
        "Layout<Shape<int,int>,Stride<ScaledBasis<_1,0>,ScaledBasis<_1,1>>>>",
        "(s0,s1):(1,d0) o (o0,2) o (s2,s3):(1@0,1@1)",
    ),
]


@pytest.mark.parametrize("source, text", COMPILERS + SPELLINGS)
def test_types_denote_their_layout(source: str, text: str) -> None:
    assert str(parse_cpp(source)) == text
    assert parse(source) == parse_cpp(source)


def test_run_time_integers_are_sizes_in_shapes_and_may_be_zero_in_strides() -> None:
    layout = parse("Layout<Shape<int,int>, Stride<int,_1>>")

    assert layout == Layout((dim("s0"), dim("s1")), (dim("d0", at_least=0), 1))


def test_an_arithmetic_tuple_is_one_stride() -> None:
    assert parse("Layout<_4, ArithmeticTuple<_1,_2>>").stride == ArithmeticTuple(1, 2)


TO_CPP = [
    (
        "(4,8):(8,1)",
        "cute::Layout<cute::Shape<cute::Int<4>, cute::Int<8>>, cute::Stride<cute::Int<8>, cute::Int<1>>>",
    ),
    ("8:-1", "cute::Layout<cute::Int<8>, cute::Int<-1>>"),
    ("M:N", "cute::Layout<int, int>"),
    ("():()", "cute::Layout<cute::Shape<>, cute::Stride<>>"),
    ("8:2147483648", "cute::Layout<cute::Int<8>, cute::C<2147483648>>"),
    ("8:5@1@0", "cute::Layout<cute::Int<8>, cute::ScaledBasis<cute::Int<5>, 0, 1>>"),
    ("Sw<3,4,-3>", "cute::Swizzle<3, 4, -3>"),
    (
        "Sw<3,3,3> o 0 o 8:1",
        "cute::ComposedLayout<cute::Swizzle<3, 3, 3>, cute::Int<0>, cute::Layout<cute::Int<8>, cute::Int<1>>>",
    ),
]


@pytest.mark.parametrize("text, source", TO_CPP, ids=[t for t, _ in TO_CPP])
def test_to_cpp(text: str, source: str) -> None:
    assert to_cpp(parse(text)) == source
    if not getattr(parse(text), "symbols", ()):
        assert parse(source) == parse(text)


def test_cpp_has_no_integers_beyond_64_bits() -> None:
    with pytest.raises(LayoutError, match="expected integers within 64 bits"):
        to_cpp(Layout(4, 2**63))


# (source, column of the caret, a phrase of the message)
MALFORMED = [
    ("cute::", 6, "expected a type, got the end of the text"),
    ("cute::Layout", 6, "expected Layout<shape, stride>"),
    ("cute::Layout<cute::C<4>", 23, "expected ',' or '>' after a template argument"),
    ("cute::Layout<cute::C<4>> x", 25, "expected the end of the type, got 'x'"),
    ("cute::Layout<cute::C<true>>", 19, "expected an integer or tuple type, got 'C<true>'"),
    ("Layout<tuple<4>>", 13, "expected an integer or tuple type, got '4'"),
    ("Layout<tuple<int,>>", 17, "expected a type, got '>'"),
    ("Layout<half_t>", 7, "expected an integer or tuple type, got 'half_t'"),
    ("Layout<_4,_8,_1>", 0, "expected Layout<shape, stride>"),
    ("std::vector<int>", 5, "expected an integer or tuple type, got 'vector<int>'"),
    ("cute::Swizzle<1,2>", 6, "Swizzle<bits, base, shift>, got 'Swizzle<1,2>'"),
    ("cute::Swizzle<3,0,1>", 6, "expected 0 <= bits <= |shift| <= 64"),
    ("Layout<_4, ScaledBasis<_1, _0>>", 11, "expected an integer or tuple type, got 'ScaledBasis<_1, _0>'"),
    ("ComposedLayout<Swizzle<1,0,1>, smem_ptr_flag_bits<4>, Layout<_4,_1>>", 31, "got 4 bits"),
    ("ComposedLayout<Swizzle<1,0,1>, _0, Swizzle<1,0,1>>", 0, "ComposedLayout<outer, offset, inner>"),
]


@pytest.mark.parametrize("source, column, phrase", MALFORMED, ids=[m[0] for m in MALFORMED])
def test_malformed_types_get_a_caret(source: str, column: int, phrase: str) -> None:
    with pytest.raises(NotationError) as e:
        parse(source)
    message, shown, caret = str(e.value).split("\n")

    assert phrase in message
    assert re.match(r"expected .+, got .+", message)
    assert shown == source
    assert caret == " " * column + "^"


def error_of(source: str) -> SymlayoutError | None:
    try:
        parse(source)
    except SymlayoutError as e:
        return e
    return None


@pytest.mark.parametrize("seed", range(5))
def test_broken_types_are_values_or_errors_of_ours(seed: int) -> None:
    rng = random.Random(seed)
    for source, _ in (COMPILERS + SPELLINGS) * 3:
        i = rng.randrange(len(source))
        broken = source[:i] + rng.choice(["", *"<>,()-:_ 4", "int", "cute::"]) + source[i + rng.randint(0, 2) :]
        error = error_of(broken)
        assert isinstance(error, NotationError | LayoutError | None), broken
        assert error is None or str(error).startswith("expected "), broken
