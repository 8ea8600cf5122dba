"""The instructions that generated kernels are made of: device functions in CUDA C++, named after PTX, one row each.

    >>> print(function("fence_proxy_async").text)
    // fence.proxy.async
    __device__ inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

Sections are those of "Parallel Thread Execution ISA", version 9.1. Shared memory is given by pointers into it, as C++
has them; an instruction takes their 32-bit address in the ``.shared::cta`` window. A new instruction is a row in
``rows``; those that differ by a shape are made in ``boxes`` and ``matrices``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Mapping

from symlayout.atoms import ATOMS, MmaAtom
from symlayout.errors import LayoutError

from .accesses import HINT, async_copy, load, named, policy_of, store
from .boxes import tensor_copy
from .function import Function
from .functions import pair_name
from .matrices import c_name, matrices, product
from .reductions import reduction
from .rows import FIXED

BY_NAME = {f.name: f for f in FIXED}


@functools.cache
def function(name: str) -> Function:
    """The function of a name. Raises LayoutError for a name that has none."""
    if name in BY_NAME:
        return BY_NAME[name]
    if found := re.fullmatch(r"tma_(load|store|prefetch|reduce_\w+?)_(multicast_)?(hint_)?([1-5])d", name):
        return tensor_copy(found[1], int(found[4]), bool(found[2]), bool(found[3]))
    if name.startswith(("ldmatrix_", "stmatrix_")):
        return matrices(name.replace("_", "."))
    words = {c_name(word): word for word in ATOMS}
    if name in words and isinstance(ATOMS[words[name]], MmaAtom):
        return product(words[name])
    if (plain := name.removesuffix(f"_{HINT}")).startswith("red_") and plain in words:
        return reduction(words[plain], hint=plain != name)
    if found := re.fullmatch(r"(ld_global|st_global|cp_async(?:_or_zero)?)_(\d+)((?:_\w+)?)", name):
        row = ATOMS.get(words.get(f"{found[1].removesuffix('_or_zero')}_{found[2]}", ""))
        policy = None if row is None else policy_of(found[3], row.caching)
        if policy is not None:
            return ACCESSES[found[1]](int(found[2]), policy)
    raise LayoutError(f"expected an instruction that has a device function, got {name!r}")


ACCESSES: Mapping[str, Callable[..., Function]] = {
    "ld_global": load,
    "st_global": store,
    "cp_async": async_copy,
    "cp_async_or_zero": functools.partial(async_copy, or_zero=True),
}
PATTERNS = ("tma_", "ld_global_", "st_global_", "cp_async_", "red_global_")  # names that ``function`` reads


NAMES = re.compile(r"\b([a-z][a-z0-9_]*)(?:<[^<>;]*>)?\(")


def called_in(text: str) -> list[Function]:
    """The functions that C++ text calls, and all that these call, what is called first."""
    words = {c_name(word) for word in ATOMS}
    known = (n for n in dict.fromkeys(NAMES.findall(text)) if n in BY_NAME or n in words or n.startswith(PATTERNS))
    return with_needs(known)


def with_needs(names: Iterable[str]) -> list[Function]:
    """The functions of some names and all that they call, what is called first."""
    out: dict[str, Function] = {}

    def add(name: str) -> None:
        if name not in out:
            f = function(name)
            for other in f.needs:
                add(other)
            out[name] = f

    for name in names:
        add(name)
    return list(out.values())


__all__ = ["Function", "called_in", "function", "named", "pair_name", "with_needs"]
