"""Accesses of a thread with a cache policy: ld, st, cp.async, red, and prefetches, a function for each.

    >>> from symlayout.atoms import CachePolicy
    >>> policy = CachePolicy.of("nc L1::no_allocate L2::evict_first")
    >>> print(named("ld_global_8", policy))
    ld_global_8_nc_l1_no_allocate_hint
    >>> print(load(8, policy).text.splitlines()[3].strip())
    asm("ld.global.nc.L1::no_allocate.L2::cache_hint.v2.b32 {%0, %1}, [%2], %3;"

A name says the words of the policy; which priority in L2 is an operand of 64 bits that createpolicy makes.
"""

from __future__ import annotations

import re

from symlayout.atoms.cache import CachePolicy, Caching

from .function import Function, asm, shared

HINT = "hint"  # the end of the name of a function that takes a policy
HINTED = ".L2::cache_hint"


def named(name: str, cache: CachePolicy | None) -> str:
    """The name of the function of an instruction with a cache policy."""
    if cache is None:
        return name
    words = [w.replace("::", "_").lower() for w in cache.words if w != f"L2::{cache.l2}"]
    return "_".join((name, *words, *([HINT] if cache.l2 else [])))


def policy_of(words: str, caching: Caching) -> CachePolicy | None:
    """The policy that the end of a name says, with the first priority in L2 for any; None where it says none."""
    every = {w.replace("::", "_").lower(): w for w in caching.words}
    every[HINT] = next((w for w in caching.words if re.fullmatch(r"L2::evict_\w+", w)), "")
    found = []
    while words:
        word = next((w for w in sorted(every, key=len, reverse=True) if words.startswith(f"_{w}") and every[w]), None)
        if word is None:
            return None
        found.append(every[word])
        words = words.removeprefix(f"_{word}")
    return CachePolicy.of(" ".join(found)) if found else None


def qualifiers(cache: CachePolicy) -> str:
    """The words of a policy as an instruction has them: ``.nc.L1::no_allocate.L2::cache_hint.L2::128B``."""
    told = (
        f".{cache.operator}" if cache.operator else "",
        ".nc" if cache.nc else "",
        f".L1::{cache.l1}" if cache.l1 else "",
        HINTED if cache.l2 else "",
        f".L2::{cache.fetch_bytes}B" if cache.fetch_bytes else "",
    )
    return "".join(told)


def _hint(cache: CachePolicy) -> tuple[str, str]:
    """(parameter, operand) of the policy in L2."""
    return (", uint64_t policy", ', "l"(policy)') if cache.l2 else ("", "")


# The PTX type of so many bytes, and the C++ type of a register of them.
TYPES = {1: ("b8", "uint8_t"), 2: ("b16", "uint16_t"), 4: ("b32", "uint32_t")}


def _pieces(nbytes: int) -> tuple[str, str, int]:
    """(type as an instruction has it, C++ type, registers) of so many bytes."""
    kind, ctype = TYPES[min(nbytes, 4)]
    count = max(1, nbytes // 4)
    return (f"v{count}.{kind}" if count > 1 else kind), ctype, count


def _listed(first: int, count: int) -> str:
    places = ", ".join(f"%{first + i}" for i in range(count))
    return f"{{{places}}}" if count > 1 else places


def load(nbytes: int, cache: CachePolicy) -> Function:
    """ld.global of so many bytes. What ``nc`` reads never changes, so the compiler may move it."""
    kind, ctype, count = _pieces(nbytes)
    more, operand = _hint(cache)
    name = named(f"ld_global_{nbytes}", cache)
    last = f", %{count + 1}" if cache.l2 else ""
    words = f"ld.global{qualifiers(cache)}.{kind} {_listed(0, count)}, [%{count}]{last};"
    given = f'"l"(__cvta_generic_to_global(from)){operand}'
    fixed, clobber = ("", "") if cache.nc else (" volatile", ' : "memory"')
    outs = ", ".join(f'"=r"(x{i})' for i in range(count))
    stores = "".join(f"    static_cast<{ctype}*>(to)[{i}] = x{i};\n" for i in range(count))
    text = (
        f"__device__ inline void {name}(void* to, const void* from{more}) {{\n"
        f"    uint32_t {', '.join(f'x{i}' for i in range(count))};\n"
        f'    asm{fixed}("{words}"\n'
        f"        : {outs} : {given}{clobber});\n"
        f"{stores}}}"
    )
    return Function(name, text, "ld.global.nc" if cache.nc else "ld")


def store(nbytes: int, cache: CachePolicy) -> Function:
    """st.global of so many bytes."""
    kind, ctype, count = _pieces(nbytes)
    more, operand = _hint(cache)
    name = named(f"st_global_{nbytes}", cache)
    last = f", %{count + 1}" if cache.l2 else ""
    words = f"st.global{qualifiers(cache)}.{kind} [%0], {_listed(1, count)}{last};"
    values = ", ".join(f'"r"(uint32_t(x[{i}]))' for i in range(count))
    text = (
        f"__device__ inline void {name}(void* to, const void* from{more}) {{\n"
        f"    const {ctype}* x = static_cast<const {ctype}*>(from);\n"
        f'    asm volatile("{words}"\n'
        f'                 ::"l"(__cvta_generic_to_global(to)), {values}{operand} : "memory");\n}}'
    )
    return Function(name, text, "st")


def async_copy(nbytes: int, cache: CachePolicy | None = None, or_zero: bool = False) -> Function:
    """cp.async of so many bytes: in L2 alone where that is possible, unless a policy says otherwise.

    With *or_zero* it has a source size: bytes that are not read are zeros.
    """
    policy = cache or CachePolicy()
    usual = "cg" if nbytes == 16 else "ca"
    more, operand = _hint(policy)
    rest = qualifiers(CachePolicy(l2=policy.l2, fetch_bytes=policy.fetch_bytes))
    name, read, size = ("or_zero_", ", bool read", f', "r"(read ? {nbytes} : 0)') if or_zero else ("", "", "")
    last = "".join(f", %{2 + i}" for i in range(or_zero + bool(policy.l2)))
    return asm(
        named(f"cp_async_{name}{nbytes}", cache),
        f"void* to, const void* from{read}{more}",
        f"cp.async.{policy.operator or usual}.shared.global{rest} [%0], [%1], {nbytes}{last}",
        f'{shared("to")}, "l"(__cvta_generic_to_global(from)){size}{operand} ',
        "cp.async",
    )


def bulk_copy(way: str, multicast: bool = False, hint: bool = False) -> Function:
    """A copy without a tensor map, or a prefetch of what one would read: *way* is load, store or prefetch."""
    end, more, operand = (HINTED, ", uint64_t policy", ', "l"(policy)') if hint else ("", "", "")
    name = f"bulk_{way}{'_multicast' if multicast else ''}{f'_{HINT}' if hint else ''}"
    place = '"l"(__cvta_generic_to_global({}))'.format
    if way == "load":
        cast, ctas, mask = (".multicast::cluster", ", uint16_t ctas", ', "h"(ctas)') if multicast else ("", "", "")
        last = ", %4" * multicast + f", %{4 + multicast}" * hint
        return asm(
            name,
            f"void* to, const void* from, uint32_t bytes, uint64_t* barrier{ctas}{more}",
            f"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{cast}{end} [%0], [%1], %2, [%3]{last}",
            f'{shared("to")}, {place("from")}, "r"(bytes), {shared("barrier")}{mask}{operand} ',
            "cp.async.bulk",
        )
    if way == "store":
        return asm(
            name,
            f"void* to, const void* from, uint32_t bytes{more}",
            f"cp.async.bulk.global.shared::cta.bulk_group{end} [%0], [%1], %2{', %3' * hint}",
            f'{place("to")}, {shared("from")}, "r"(bytes){operand} ',
            "cp.async.bulk",
        )
    return asm(
        name,
        f"const void* from, uint32_t bytes{more}",
        f"cp.async.bulk.prefetch.L2.global{end} [%0], %1{', %2' * hint}",
        f'{place("from")}, "r"(bytes){operand} ',
        "cp.async.bulk.prefetch",
    )


def prefetch(priority: str = "") -> Function:
    """prefetch.global.L2 of the line of a place, at the usual priority or another."""
    at = f"::{priority}" if priority else ""
    return asm(
        "prefetch_l2" + (f"_{priority}" if priority else ""),
        "const void* from",
        f"prefetch.global.L2{at} [%0]",
        '"l"(__cvta_generic_to_global(from)) ',
        "prefetch",
    )


def priority(word: str) -> Function:
    """createpolicy: a policy of this priority in L2 for all accesses that take it."""
    name = f"l2_{word}"
    text = (
        f"__device__ inline uint64_t {name}() {{\n    uint64_t policy;\n"
        f'    asm("createpolicy.fractional.L2::{word}.b64 %0, 1.0;" : "=l"(policy));\n    return policy;\n}}'
    )
    return Function(name, text, "createpolicy")
