"""A ring that one warp fills by cp.async and another reads: each lane's arrival comes when its copies have landed."""

from __future__ import annotations

from contextlib import nullcontext

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.specification import element


def cp_async_ring(
    slots: int = 3,
    noinc: bool = True,
    arrivals: int = 32,
    tells: str = "copies",
    early: bool = False,
    full_parity: int = 0,
    free: bool = True,
    shift: int = 0,
    one: bool = False,
    own: bool = False,
    group: bool = False,
    store: str = "threads",
) -> Kernel:
    """A producer warp and a consumer warp; *tells* says how the producer arrives.

    That is with its copies ("copies"), plainly ("plain"), or with the copies as one more and then plainly ("both").
    With *group* it first waits for its copies. *own* lets the producer write a second element of the slot by itself, of which its copies do not tell.
    """
    L = dim("L")
    k = Builder("cp_async_ring", L, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((32, L))) for name in "ao")
    t, x = k.shared_tensor("t", "f32", Layout((32, slots))), k.registers("x", "f32", 1)
    full, empty = k.mbarriers("full", slots, arrivals), k.mbarriers("empty", slots, 1)
    u, y = (k.shared_tensor("u", "f32", Layout((32, slots))), k.registers("y", "f32", 1)) if own else (None, None)
    with k.role("producer", 1), k.loop("i", L) as i:
        if free:
            k.wait(empty(i % slots), (i // slots + 1) % 2)
        if early:
            k.cp_async_arrive(full(i % slots), noinc)
        k.copy("cp.async.4", a(32 * i + k.thread), t(32 * ((i + shift) % slots) + k.thread))
        if store == "bulk, fenced by the writer":
            k.fence("async")
        if group:
            k.commit("cp.async")
            k.wait_group("cp.async", 0)
        if u is not None:
            k.fill(y(), 1.0)
            k.copy("st.shared.4", y(), u(32 * (i % slots) + k.thread))
        if tells in ("copies", "both") and not early:
            with k.elect() if one else nullcontext():
                k.cp_async_arrive(full(i % slots), noinc)
        if tells in ("plain", "both"):
            k.arrive(full(i % slots))
    with k.role("consumer", 1), k.loop("i", L) as i:
        k.wait(full(i % slots), (i // slots + full_parity) % 2)
        if store == "bulk, fenced":
            k.fence("async")
            k.warp_sync()
        if store == "threads":
            k.copy("ld.shared.4", t(32 * (i % slots) + k.thread), x())
            if u is not None:
                k.copy("ld.shared.4", u(32 * (i % slots) + k.thread), x())
            k.copy("st.global.4", x(), o(32 * i + k.thread))
        else:
            with k.elect():
                k.copy("bulk.store", t(32 * (i % slots)), o(32 * i), nbytes=128)
                k.commit("bulk")
                k.wait_group("bulk", 0)
        k.warp_sync()
        with k.elect():
            k.arrive(empty(i % slots))
    k.result("o", lambda n, i: element("a", n, i))
    return k.kernel()
