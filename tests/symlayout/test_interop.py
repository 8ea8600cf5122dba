"""Layouts of other libraries: the values stay the same, whatever they are called there."""

# No postponed annotations here: CuTe DSL evaluates those of a traced function.
import doctest
import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from symlayout import ComposedLayout, Layout, LayoutError, Swizzle, interop, make_tensor, of
from symlayout.linear import LinearLayout, linear

TILE = ComposedLayout(Swizzle(3, 3, 3), 0, Layout((8, 64), (64, 1)))


def test_the_docstrings_run():
    assert doctest.testmod(interop).failed == 0


@pytest.mark.parametrize("layout", [Layout((4, (2, 3)), (6, (3, 1))), TILE, Swizzle(3, 4, 3)], ids=str)
def test_ours_and_text_are_taken(layout):
    assert of(layout) is layout
    assert of(str(layout)) == layout


def test_a_tensor_gives_its_layout():
    assert of(make_tensor(0, TILE)) == TILE


# -- arrays ---------------------------------------------------------------------------------------------


def elements(a: np.ndarray[Any, Any]) -> list[int]:
    """Where each element lies, in elements from the first one, mode 0 fastest."""
    first = a.__array_interface__["data"][0]
    cells = (a[tuple(slice(i, i + 1) for i in index[::-1])] for index in np.ndindex(*a.shape[::-1]))
    return [(cell.__array_interface__["data"][0] - first) // a.itemsize for cell in cells]


BASE = np.zeros((6, 8, 10), dtype=np.float32)


@pytest.mark.parametrize(
    "array",
    [BASE, BASE.T, BASE[1:5, ::2, 3], BASE[::-1, :, ::-3], np.broadcast_to(BASE[0, 0], (3, 10)), BASE[:, None, 0],
     np.asfortranarray(BASE), BASE.astype(np.int8)[:, 1], np.lib.stride_tricks.sliding_window_view(np.zeros(9), 4)],
)  # fmt: skip
def test_an_array_is_read_in_elements(array):
    layout = of(array)

    assert layout.shape == array.shape
    assert [layout(i) for i in range(layout.size())] == elements(array)


def test_texts_of_arrays():
    a = np.zeros((4, 6), dtype=np.int32)

    assert [str(of(x)) for x in (a, a.T, a[::-1, ::2], np.broadcast_to(a[0], (3, 6)))] == [
        "(4,6):(6,1)", "(6,4):(1,6)", "(4,3):(-6,2)", "(3,6):(0,1)",
    ]  # fmt: skip
    assert str(of(np.float64(3))) == "():()"
    assert str(of(memoryview(bytearray(12)).cast("i"))) == "(3,):(1,)"
    assert str(of(memoryview(a)[::2])) == "(2,6):(12,1)"


def test_strides_between_elements_are_an_error():
    field = np.zeros((2, 3), dtype=[("a", "i4"), ("b", "i1")])["a"]

    with pytest.raises(LayoutError, match=r"multiples of the element's 4 bytes, got \(15,5\)"):
        of(field)
    assert of(field[:1, :1]) == Layout((1, 1), (0, 0))  # an extent of 1 takes no step


def test_an_empty_array_is_no_layout():
    with pytest.raises(LayoutError, match="expected extents of at least 1, got 0"):
        of(np.zeros((0, 3)))


def test_dlpack():
    class Exported:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    assert of(Exported(BASE.T)) == of(BASE.T)
    with pytest.raises(LayoutError, match="expected an array that NumPy reads through DLPack, got Exported: "):
        of(Exported(None))


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    t = torch.zeros(4, 6, 8, dtype=torch.bfloat16)

    assert [str(of(x)) for x in (t, t.permute(2, 0, 1), t[:, :1].expand(4, 3, 8), t[..., ::2])] == [
        "(4,6,8):(48,8,1)", "(8,4,6):(1,48,8)", "(4,3,8):(48,0,1)", "(4,6,4):(48,8,2)",
    ]  # fmt: skip


# -- layouts --------------------------------------------------------------------------------------------


def test_pycute_by_its_attributes():
    nested = SimpleNamespace(shape=(4, (2, 3)), stride=(6, (3, 1)))
    swizzle = SimpleNamespace(bits=3, base=3, shift=3)
    composed = SimpleNamespace(layoutB=swizzle, offset=0, layoutA=SimpleNamespace(shape=(8, 64), stride=(64, 1)))

    assert of(nested) == Layout((4, (2, 3)), (6, (3, 1)))
    assert of(swizzle) == Swizzle(3, 3, 3)
    assert of(composed) == TILE


def test_pycute_itself():
    pycute = pytest.importorskip("pycute", reason="pycute is not installed")
    plain = pycute.Layout((4, (2, 3)), (6, (3, 1)))

    for theirs in (plain, pycute.ComposedLayout(pycute.Swizzle(2, 0, 2), 5, plain)):
        assert [of(theirs)(i) for i in range(24)] == [theirs(i) for i in range(24)]


def test_tensor_layouts():
    tl = pytest.importorskip("tensor_layouts", reason="tensor-layouts is not installed")
    plain = tl.Layout(((2, 4), 8), ((1, 16), 2))
    swizzled = tl.ComposedLayout(tl.Swizzle(2, 1, 3), tl.Layout((8, 16), (16, 1)), offset=5)

    for theirs in (plain, tl.compose(tl.Swizzle(3, 3, 3), tl.Layout((8, 64), (64, 1))), swizzled):
        ours = of(theirs)
        assert [ours(i) for i in range(ours.size())] == [theirs(i) for i in range(tl.size(theirs))]
    assert of(tl.Swizzle(3, 4, 3)) == Swizzle(3, 4, 3)
    assert of(tl.Tensor(plain, 7)) == of(plain)
    atom = importlib.import_module("tensor_layouts.atoms_nv").SM80_16x8x16_F32F16F16F32_TN
    assert of(atom.c_layout) == Layout.parse("((4,8),(2,2)):((32,1),(16,8))")


def traced(f: Any) -> Any:
    """What *f* returns inside a CuTe DSL trace with a 32-bit and a 64-bit size known at run time."""
    import cutlass
    import cutlass.cute as cute

    box = {}

    @cute.jit
    def trace(n: cutlass.Int32, m: cutlass.Int64):
        box["found"] = f(cute, n, m)

    cute.compile(trace, cutlass.Int32(8), cutlass.Int64(8))
    return box["found"]


@pytest.mark.filterwarnings("default")
def test_cute_dsl(monkeypatch):
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_90a")
    pytest.importorskip("cutlass.cute", reason="nvidia-cutlass-dsl is not installed")

    def everything(cute, n, m):
        swizzle = cute.make_swizzle(3, 3, 3)
        twice = cute.make_composed_layout(cute.make_layout(64, stride=2), 3, cute.make_layout((8, 8), stride=(8, 1)))
        run_time = cute.make_layout((cute.assume(n, divby=8), (4, m)), stride=(m, (1, 8)))
        bases = ((cute.E([0, 1]) * 2, cute.E([1])), cute.E([0, 0]))
        known = [
            cute.make_layout((4, (2, 8)), stride=(8, (1, 2))),
            cute.make_identity_layout((4, 8)),
            cute.make_layout(((4, 2), 8), stride=bases),
            swizzle,
            cute.make_composed_layout(swizzle, 0, cute.make_layout((8, 64), stride=(64, 1))),
            twice,
        ]
        moved = cute.make_composed_layout(swizzle, n * 8, run_time)
        return [(str(x), of(x)) for x in known], [int(twice((i, i))) for i in range(8)], of(run_time), of(moved)

    known, values, run_time, moved = traced(everything)

    for text, ours in known:
        assert ours == Layout.parse(text)
    assert [known[-1][1](i, i) for i in range(8)] == values
    assert str(run_time) == "(s0,(4,s1)):(d0,(1,8))"
    assert str(moved) == "Sw<3,3,3> o o0 o (s0,(4,s1)):(d0,(1,8))"
    found = [(s.name, s.lower, s.upper, s.multiple) for s in run_time.symbols]
    assert found == [("d0", 0, 2**63 - 1, 1), ("s0", 1, 2**31 - 1, 8), ("s1", 1, 2**63 - 1, 1)]


# -- linear layouts -------------------------------------------------------------------------------------


def test_triton_by_its_attributes():
    bases = {"register": [[1, 0], [2, 0]], "lane": [[0, 1], [0, 2], [4, 0]]}
    with_sizes = SimpleNamespace(bases=list(bases.items()), out_dims=[("dim0", 8), ("dim1", 4)])

    for theirs in (with_sizes, SimpleNamespace(bases=bases), LinearLayout.from_triton(bases, ["dim0", "dim1"])):
        assert str(of(theirs)) == "(4,(4,2)):(1@0,(1@1,4@0))"


def test_gluon_by_its_attributes():
    distributed = SimpleNamespace(
        reg_bases=[[0, 1], [8, 0]], lane_bases=[[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp_bases=[], block_bases=[]
    )

    assert str(of(distributed)) == "((2,2),(4,8),1,1):((1@1,8@0),(2@1,1@0),0,0)"


def test_what_no_layout_says_stays_linear():
    found = of(linear(TILE))

    assert [found(i) for i in range(512)] == [TILE(i) for i in range(512)]
    with pytest.raises(LayoutError, match=r"expected a linear layout that is a CuTe layout, .* got index: 1 2 7"):
        of(LinearLayout((1, 2, 7)))


# -- everything else ------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [None, 3, (4, 8), object(), [1, 2]])
def test_what_is_accepted_is_said(x):
    with pytest.raises(LayoutError, match=r"expected a layout, a swizzle .* an array of NumPy.* or CuTe text; got "):
        of(x)


def test_a_stride_that_is_no_integer():
    with pytest.raises(LayoutError, match=r"expected integers in a shape or stride, got 1.5 \(float\)"):
        of(SimpleNamespace(shape=(4,), stride=(1.5,)))
