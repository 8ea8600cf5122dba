"""Points at which predictions are held against a device: drawn by a seed, or read from a file.

>>> draw(1, 2)[0]
Config(group='vector_copy', family='vector_copy', options={...}, dims={'N': ...}, cache=...)
>>> len(draw(1, 2)) == 2 * len(GROUPS)
True

A point is a family, its options, its sizes, and where its data are: *warm* where all of it fits L2 and the launch
before left it there, *dram* where it is several times as large. Sizes in between are left out, since what L2 then holds
depends on how it replaces lines, which M46 tells; a round has not drawn any yet.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from symlayout.errors import SymlayoutError
from symlayout.kernel import Kernel
from symlayout.kernels.families import family

WARM_BYTES = (1 << 19, 30 << 20)  # of all tensors
DRAM_BYTES = (200 << 20, 700 << 20)
SHARED_BYTES = 232448  # of a CTA
SMS = (1, 8, 33, 66, 132)
MOST_PARTS = 15_000  # chunks, tiles or CTAs of one SM, so that a simulation takes seconds at most
TRIES = 1000


@dataclass(frozen=True)
class Config:
    """A point: *group* is the class in which its error is counted."""

    group: str
    family: str
    options: dict[str, Any] = field(default_factory=dict)
    dims: dict[str, int] = field(default_factory=dict)
    cache: str = "dram"

    def kernel(self) -> Kernel:
        """The kernel for all its sizes."""
        return family(self.family).build(**{k: _value(x) for k, x in self.options.items()})

    def bound(self) -> Kernel:
        """The kernel at the sizes. Raises SymlayoutError where there is none."""
        return self.kernel().bind(**self.dims)

    def as_row(self) -> dict[str, Any]:
        return {k: getattr(self, k) for k in ("group", "family", "options", "dims", "cache")}


def _value(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x


def read(path: Path) -> list[Config]:
    """The points of a file: ``[[point]]`` with group, family, options, dims and cache."""
    rows = tomllib.loads(path.read_text()).get("point", [])
    return [Config(**{"group": r["family"], **r}) for r in rows]


def draw(seed: int, count: int, groups: tuple[str, ...] = ()) -> list[Config]:
    """*count* points of each group, all of them kernels that a device runs."""
    found = []
    for name in groups or GROUPS:
        one = random.Random(f"{seed} {name}")
        mine: list[Config] = []
        for _ in range(TRIES):
            if len(mine) == count:
                break
            config = GROUPS[name](one)
            if config is not None and config not in mine and _runs(config):
                mine.append(config)
        found += mine
    return found


def _runs(config: Config) -> bool:
    try:
        bound = config.bound()
    except SymlayoutError:
        return False
    return int(bound.shared_bytes) <= SHARED_BYTES and bound.threads <= 1024


def _size(one: random.Random, cache: str) -> int:
    """Bytes of all tensors, log-uniform."""
    low, high = WARM_BYTES if cache == "warm" else DRAM_BYTES
    return int(low * (high / low) ** one.random())


def _kept(config: Config, nbytes: int, part: int, sms: int = 132) -> Config | None:
    """The point, unless an SM has too many parts of so many bytes, read and written."""
    return config if nbytes // (2 * part * sms) <= MOST_PARTS else None


def _few(one: random.Random) -> tuple[int, int]:
    """(SMs, CTAs of each) of a persistent grid."""
    sms = one.choice((*SMS, 132, 132, 132))
    return sms, one.choice((1, 2, 3, 4)) if sms == 132 else 1


def _cache(one: random.Random) -> str:
    return one.choice(("warm", "dram"))


def _vector_copy(one: random.Random) -> Config | None:
    cache, dtype = _cache(one), one.choice(("f32", "bf16"))
    width, threads = one.choice((4, 8, 16)), one.choice((64, 128, 256, 512, 1024))
    nbytes = _size(one, cache)
    options = {"dtype": dtype, "vector_bytes": width, "threads": threads}
    dims = {"N": nbytes // (8 if dtype == "f32" else 4)}
    return _kept(Config("vector_copy", "vector_copy", options, dims, cache), nbytes, width * threads)


def _cp_async_copy(one: random.Random) -> Config | None:
    cache, (sms, per_sm), threads = _cache(one), _few(one), one.choice((64, 128, 256, 512))
    nbytes = _size(one, cache)
    options = {"stages": one.randint(2, 8), "threads": threads, "blocks": sms * per_sm}
    config = Config("cp_async_copy", "cp_async_copy", options, {"N": nbytes // 32 * 4}, cache)
    return _kept(config, nbytes, 16 * threads, sms)


def _bulk_copy(one: random.Random) -> Config | None:
    cache, (sms, per_sm), chunk = _cache(one), _few(one), 128 * 2 ** one.randint(0, 6)
    nbytes = _size(one, cache)
    options = {"chunk": chunk, "slots": one.choice((1, 2, 3, 4, 6, 8)), "blocks": sms * per_sm}
    return _kept(Config("bulk_copy", "bulk_copy", options, {"N": nbytes // 32 * 4}, cache), nbytes, 4 * chunk, sms)


def _tma_copy(one: random.Random) -> Config | None:
    cache, (sms, per_sm), dtype = _cache(one), _few(one), one.choice(("f32", "bf16"))
    width = 4 if dtype == "f32" else 2
    tile = (2 ** one.randint(0, 7), 2 ** one.randint(3, 8))
    part, nbytes = tile[0] * tile[1] * width, _size(one, cache)
    if not 512 <= part <= 32768:
        return None
    options = {"dtype": dtype, "tile": list(tile), "slots": one.choice((1, 2, 3, 4, 6, 8)), "blocks": sms * per_sm}
    config = Config("tma_copy", "tma_copy", options, _shape(one, nbytes // (2 * width)), cache)
    return _kept(config, nbytes, part, sms)


def _shape(one: random.Random, elements: int) -> dict[str, int]:
    """M and N of a product, N a multiple of 64 from 256 to 32768."""
    n = 64 * round(4 * 128 ** one.random())
    return {"M": max(1, elements // n), "N": n}


def _tma_transpose(one: random.Random) -> Config:
    cache, dtype = _cache(one), one.choice(("f32", "bf16"))
    swizzle, sides = one.choice((0, 32, 64, 128)), (32, 64, 128)
    options = {"dtype": dtype, "tile": [one.choice(sides), one.choice(sides)], "swizzle": swizzle}
    options |= {"stages": one.choice((1, 2, 3, 4)), "blocks": 132 * one.choice((1, 1, 2, 4))}
    shape = _shape(one, _size(one, cache) // (8 if dtype == "f32" else 4))
    dims = {"M": max(64, shape["M"] // 64 * 64), "N": shape["N"]}
    return Config("tma_transpose", "tma_transpose", options, dims, cache)


def _row_sum(one: random.Random) -> Config:
    cache = _cache(one)
    shape = _shape(one, _size(one, cache) // 4)
    return Config("row_sum", "row_sum", {"warps": one.choice((2, 4, 8, 16))}, {**shape, "ld": shape["N"]}, cache)


def _gemm(one: random.Random) -> Config:
    tile = [64 * one.randint(1, 3), 64 * one.randint(1, 4)]
    options = {"tile": tile, "stages": one.randint(2, 8), "cluster": one.choice((1, 2))}
    dims = {k: 128 * round(4 * 16 ** one.random()) for k in "MNK"}
    nbytes = 2 * (dims["M"] * dims["K"] + dims["N"] * dims["K"] + dims["M"] * dims["N"])
    return Config("gemm", "gemm", options, dims, "warm" if nbytes <= WARM_BYTES[1] else "dram")


GROUPS: dict[str, Callable[[random.Random], Config | None]] = {
    "vector_copy": _vector_copy,
    "cp_async_copy": _cp_async_copy,
    "bulk_copy": _bulk_copy,
    "tma_copy": _tma_copy,
    "tma_transpose": _tma_transpose,
    "row_sum": _row_sum,
    "gemm": _gemm,
}
