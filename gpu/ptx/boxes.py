"""Copies through tensor maps, of each rank: loads, stores and reductions of boxes."""

from __future__ import annotations

from .function import Function, asm, shared


def tensor_copy(way: str, rank: int, multicast: bool = False) -> Function:
    """A copy through a tensor map: *way* is load, store or reduce_add and its like."""
    coordinates = ", ".join(f"int c{i}" for i in range(rank))
    first = 1 if way == "load" else 0
    places = ", ".join(f"%{i + first + 1}" for i in range(rank))
    box = f"[%{first}, {{{places}}}]"
    values = ", ".join(f'"r"(c{i})' for i in range(rank))
    if way == "load":
        tail, more = (f", %{rank + 3}", ', "h"(ctas)') if multicast else ("", "")
        name = f"tma_load_{'multicast_' if multicast else ''}{rank}d"
        cast, mask = (".multicast::cluster", ", uint16_t ctas") if multicast else ("", "")
        return asm(
            name,
            f"void* to, const CUtensorMap& map, {coordinates}, uint64_t* barrier{mask}",
            f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{cast}"
            f" [%0], [%1, {{{', '.join(f'%{i + 2}' for i in range(rank))}}}], [%{rank + 2}]{tail}",
            f'{shared("to")}, "l"(&map), {values}, {shared("barrier")}{more} ',
            "cp.async.bulk.tensor",
        )
    word = "cp.async.bulk.tensor" if way == "store" else "cp.reduce.async.bulk.tensor"
    op = "" if way == "store" else f".{way.removeprefix('reduce_')}"
    return asm(
        f"tma_{way}_{rank}d",
        f"const CUtensorMap& map, {coordinates}, const void* from",
        f"{word}.{rank}d.global.shared::cta{op}.tile.bulk_group {box}, [%{rank + 1}]",
        f'"l"(&map), {values}, {shared("from")} ',
        word,
    )
