"""Accesses to the shared memory of another CTA of the cluster, a function for each; ``mapa`` finds the place there.

>>> print(*peer_store(8).text.splitlines()[6:8], sep="\\n")
        "mapa.shared::cluster.u32 remote, %0, %1;\\n"
        "st.shared::cluster.v2.b32 [remote], {%2, %3};\\n"
"""

from __future__ import annotations

from .function import ADDRESS, Function

TYPES = {4: ("b32", 1), 8: ("v2.b32", 2), 16: ("v4.b32", 4)}  # of so many bytes, and their registers of 32 bits
VALUES = "    const uint32_t* x = static_cast<const uint32_t*>(from);\n"


def _listed(first: int, count: int) -> str:
    places = ", ".join(f"%{first + i}" for i in range(count))
    return "{" + places + "}" if count > 1 else places


def _block(registers: str, lines: tuple[str, ...], operands: str) -> str:
    """Instructions with registers of their own."""
    said = ["{", f".reg .b32 {registers};", *(f"{line};" for line in lines), "}"]
    text = "\n".join(f'        "{line}\\n"' for line in said)
    return f'    asm volatile(\n{text} {operands} : "memory");\n'


def _values(count: int) -> str:
    return ", ".join(f'"r"(x[{i}])' for i in range(count))


def peer_load(nbytes: int) -> Function:
    """ld.shared::cluster of so many bytes."""
    kind, n = TYPES[nbytes]
    lines = (
        f"mapa.shared::cluster.u32 remote, %{n}, %{n + 1}",
        f"ld.shared::cluster.{kind} {_listed(0, n)}, [remote]",
    )
    outs = ", ".join(f'"=r"(x{i})' for i in range(n))
    text = (
        f"__device__ inline void ld_cluster_{nbytes}(void* to, const void* from, uint32_t rank) {{\n"
        f"    uint32_t {', '.join(f'x{i}' for i in range(n))};\n"
        + _block("remote", lines, f': {outs} : "r"(shared_address(from)), "r"(rank)')
        + "".join(f"    static_cast<uint32_t*>(to)[{i}] = x{i};\n" for i in range(n))
        + "}"
    )
    return Function(f"ld_cluster_{nbytes}", text, "ld", (ADDRESS,))


def peer_store(nbytes: int) -> Function:
    """st.shared::cluster of so many bytes."""
    kind, n = TYPES[nbytes]
    lines = (
        "mapa.shared::cluster.u32 remote, %0, %1",
        f"st.shared::cluster.{kind} [remote], {_listed(2, n)}",
    )
    text = (
        f"__device__ inline void st_cluster_{nbytes}(void* to, const void* from, uint32_t rank) {{\n"
        + VALUES
        + _block("remote", lines, f'::"r"(shared_address(to)), "r"(rank), {_values(n)}')
        + "}"
    )
    return Function(f"st_cluster_{nbytes}", text, "st", (ADDRESS,))


def peer_store_async(nbytes: int) -> Function:
    """st.async of so many bytes, which credits them to an mbarrier of the peer."""
    kind, n = TYPES[nbytes]
    lines = (
        "mapa.shared::cluster.u32 remote, %0, %2",
        "mapa.shared::cluster.u32 there, %1, %2",
        f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{kind} [remote], {_listed(3, n)}, [there]",
    )
    given = f'::"r"(shared_address(to)), "r"(shared_address(barrier)), "r"(rank), {_values(n)}'
    text = (
        f"__device__ inline void st_async_{nbytes}(void* to, const void* from, uint64_t* barrier, uint32_t rank) {{\n"
        + VALUES
        + _block("remote, there", lines, given)
        + "}"
    )
    return Function(f"st_async_{nbytes}", text, "st.async", (ADDRESS,))


PEERS = tuple(f(n) for f in (peer_load, peer_store, peer_store_async) for n in TYPES)
