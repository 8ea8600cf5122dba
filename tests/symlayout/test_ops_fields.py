"""Operations and operands hold what their annotations say: a field of another class is refused where it is made."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from symlayout import LayoutError, dim, index
from symlayout.ops import OPERATIONS, Arrive, Box, Copy, Fill, For, If, Matrix, Op, Param, Ref, Slot, Wait
from symlayout.ops.fields import fields_of
from tests.support.kernel_families import FAMILIES

OPERANDS = (Ref, Box, Slot, Param, Matrix)
NOTHING = object()
STRANGE = (NOTHING, b"", [1], 1.5j, {}, ("x", NOTHING))


@pytest.mark.parametrize("kind", [*OPERATIONS, *OPERANDS], ids=lambda k: k.__name__)
def test_each_field_has_its_classes(kind: type[Any]) -> None:
    found = fields_of(kind)

    assert [f.name for f in found] == [f.name for f in fields(kind)]
    assert all(isinstance(k, type) for f in found for k in f.kinds)


def every_operation() -> dict[type[Op], Op]:
    """One of each kind that the families have."""
    return {type(op): op for family in FAMILIES for op in family.build().walk()}


@pytest.mark.parametrize("op", every_operation().values(), ids=lambda op: type(op).__name__)
def test_a_field_of_another_class_is_refused_and_named(op: Op) -> None:
    for field in fields_of(type(op)):
        for x in STRANGE:
            with pytest.raises(LayoutError, match=f"expected .* as {field.name} of {type(op).__name__}, got "):
                replace(op, **{field.name: x})


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Copy("tma.load", Ref("x"), Ref("y"), 3), "expected a Slot or None as barrier of Copy, got 3"),
        (lambda: Copy("tma.load", Ref("x"), "y"), "expected a Ref or a Box as dst of Copy, got 'y'"),
        (lambda: Wait(None, 0), "expected a Slot as barrier of Wait, got None"),
        (lambda: Arrive(Slot("full"), "next"), "expected an integer or an expression or None as peer of Arrive, got 'next'"),
        (lambda: Fill(Ref("r"), True), "expected a number as value of Fill, got True"),
        (lambda: For(index("q", 4), (), 1.5), "expected an integer or a text or None as unroll of For, got 1.5"),
        (lambda: For(3, ()), "expected a Symbol as index of For, got 3"),
        (lambda: If((dim("N"),), ()), "expected a tuple, each a Fact, as condition of If, got (N,)"),
        (lambda: Ref("x", True), "expected an integer or an expression as offset of Ref, got True"),
        (lambda: Ref("x" * 300, 1.5), "expected an integer or an expression as offset of Ref, got 1.5"),
        (lambda: Ref(["x" * 300]), f"expected a text as tensor of Ref, got ['{'x' * 198}.."),
    ],
)  # fmt: skip
def test_what_is_said(make: Any, said: str) -> None:
    with pytest.raises(LayoutError) as error:
        make()
    assert str(error.value) == said
