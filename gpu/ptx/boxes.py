"""Copies through tensor maps, of each rank: loads, stores, reductions and prefetches of boxes."""

from __future__ import annotations

from .accesses import HINTED
from .function import Function, asm, shared


def tensor_copy(way: str, rank: int, multicast: bool = False, hint: bool = False) -> Function:
    """A copy through a tensor map, or a prefetch: *way* is load, store, prefetch, or reduce_add and its like.

    With *hint* it takes a policy for L2 behind all else.
    """
    coordinates = ", ".join(f"int c{i}" for i in range(rank))
    values = ", ".join(f'"r"(c{i})' for i in range(rank))
    name = f"tma_{way}_{'multicast_' if multicast else ''}{'hint_' if hint else ''}{rank}d"
    end, parameter, operand = (HINTED, ", uint64_t policy", ', "l"(policy)') if hint else ("", "", "")
    if way == "load":
        cast, ctas, mask = (".multicast::cluster", ", uint16_t ctas", ', "h"(ctas)') if multicast else ("", "", "")
        tail = f", %{rank + 3}" * multicast + f", %{rank + 3 + multicast}" * hint
        return asm(
            name,
            f"void* to, const CUtensorMap& map, {coordinates}, uint64_t* barrier{ctas}{parameter}",
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{cast}{end}"
            f" [%0], [%1, {_places(2, rank)}], [%{rank + 2}]{tail}",
            f'{shared("to")}, "l"(&map), {values}, {shared("barrier")}{mask}{operand} ',
            "cp.async.bulk.tensor",
        )
    if way == "prefetch":
        last = f", %{rank + 1}" * hint
        return asm(
            name,
            f"const CUtensorMap& map, {coordinates}{parameter}",
            f"cp.async.bulk.prefetch.tensor.{rank}d.L2.global.tile{end} [%0, {_places(1, rank)}]{last}",
            f'"l"(&map), {values}{operand} ',
            "cp.async.bulk.prefetch.tensor",
        )
    last = f", %{rank + 2}" * hint
    word = "cp.async.bulk.tensor" if way == "store" else "cp.reduce.async.bulk.tensor"
    op = "" if way == "store" else f".{way.removeprefix('reduce_')}"
    return asm(
        name,
        f"const CUtensorMap& map, {coordinates}, const void* from{parameter}",
        f"{word}.{rank}d.global.shared::cta{op}.tile.bulk_group{end} [%0, {_places(1, rank)}], [%{rank + 1}]{last}",
        f'"l"(&map), {values}, {shared("from")}{operand} ',
        word,
    )


def _places(first: int, count: int) -> str:
    return "{" + ", ".join(f"%{first + i}" for i in range(count)) + "}"
