"""Walks by a table of handlers: what each operation's scope is, and which handler takes it."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from symlayout import Layout, dim
from symlayout.errors import LayoutError
from symlayout.kernel import Builder, Kernel, Site, Visitor
from symlayout.kernel.sites import Team, as_written, everyone, sites
from symlayout.kernel.visitor import Handlers, handler_of
from symlayout.kernels import gather_rows, gemm, vector_copy
from symlayout.ops import Copy, Elect, Fence, Fill, For, If, Let, Op, Role


def _kernel() -> Kernel:
    N = dim("N")
    k = Builder("scopes", N, grid=(N,), threads=96)
    a, x = k.global_tensor("a", "f32", Layout(64 * N)), k.registers("x", "f32", 4)
    with k.role("reader", warps=1), k.loop("i", 2) as i:
        base = k.let("base", 64 * k.block[0] + 32 * i)
        with k.where(k.thread >= 8), k.loop("j", 4) as j:
            k.copy("ld.global.4", a(base + k.thread), x(j))
        k.fence("async")
    with k.role("writer", warps=2), k.elect():
        k.fence("async")
    return k.kernel()


def test_a_scope_knows_who_where_and_under_what() -> None:
    load = next(s for s in as_written(_kernel()) if isinstance(s.op, Copy))
    assert load.role == "reader"
    assert [loop.index.name for loop in load.loops] == ["i", "j"]
    assert [str(f) for f in load.predicate] == ["thread >= 8"]
    assert load.conditions == ()
    assert load.team == Team(frozenset({0}), 24, load.predicate)
    assert [type(b.op) for b in load.bindings] == [For, Let, For]
    assert load.candidates == frozenset(range(8, 32))
    assert everyone(load) == load.team


def test_names_end_with_the_body_in_which_they_are_given() -> None:
    fences = [s for s in as_written(_kernel()) if isinstance(s.op, Fence)]
    assert [[str(b.op).split()[1] for b in s.bindings] for s in fences] == [["i", "base"], []]


def test_scopes_around_are_those_of_the_walk() -> None:
    for kernel in (_kernel(), gemm(*map(dim, "MNK")), gather_rows(*map(dim, "KMN"))):
        every = {s.places: s for s in as_written(kernel)}
        for s in every.values():
            outer = list(s.enclosing())
            assert outer == [every[s.places[:n]] for n in range(1, len(s.places))]
            assert [x.bindings for x in outer] == [every[x.places].bindings for x in outer]


def test_sites_are_the_operations_in_order() -> None:
    kernel = _kernel()
    assert [s.op for s in as_written(kernel)] == list(kernel.walk())
    assert [s.op for s in sites(kernel)] == list(kernel.plain.walk())


class _Depths(Visitor[list[tuple[int, str]]]):
    """Fills and copies with how deep they stand; what elections choose is passed over."""

    def _leaf(self, site: Site) -> list[tuple[int, str]]:
        return [(len(site.around), type(site.op).__name__)]

    def _inner(self, site: Site) -> list[tuple[int, str]]:
        return [row for rows in self.inside(site) for row in rows]

    handlers: ClassVar[Handlers] = {
        **dict.fromkeys((Fence, Copy, Let), _leaf),
        **dict.fromkeys((For, If, Role), _inner),
        Elect: lambda self, site: [],
    }


def test_handlers_say_whether_the_walk_goes_inside() -> None:
    found = [row for rows in _Depths().run(_kernel()) for row in rows]
    assert found == [(2, "Let"), (4, "Copy"), (2, "Fence")]


def test_an_operation_without_handler_is_named() -> None:
    k = Builder("fills", grid=(1,), threads=32)
    k.fill(k.registers("x", "f32", 1)(), 1)
    with pytest.raises(LayoutError, match=r"_Depths has a handler for \(Fence, .*got Fill: fill x x1 with 1"):
        list(_Depths().run(k.kernel()))


def test_the_nearest_class_takes_an_operation() -> None:
    class Marked(Fence):
        pass

    table: dict[type[Op], Any] = {Op: "any", Fence: "fence"}
    assert handler_of(table, Marked("async")) == "fence"
    assert handler_of(table, Fill(vector_copy(64).body[0].body[0].dst)) == "any"  # type: ignore[union-attr, attr-defined]
    assert handler_of({For: len}, Fence("async")) is None
