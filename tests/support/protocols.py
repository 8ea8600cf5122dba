"""Kernels with protocols of barriers that are no plain ring, each as real kernels have it, and with one thing wrong."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from symlayout import Layout, dim
from symlayout.kernel import Builder, Kernel
from symlayout.kernel.ring import RingSlot, make_ring
from symlayout.kernel.specification import element
from symlayout.ops import Slot

WARP_BYTES = 128  # of an f32 tile of one element a lane


def hello(wait: bool = True, fence: bool = True, meet: bool = True, parity: int = 0, nbytes: int = 512) -> Kernel:
    """The CUDA guide's first TMA example: one thread loads, all wait and modify in place, one thread stores."""
    N = dim("N", multiple_of=128)
    k = Builder("hello", N, grid=(N // 128,), threads=128)
    src, dst = (k.global_tensor(name, "f32", Layout(N)) for name in ("src", "dst"))
    x, r, bar = k.shared_tensor("x", "f32", Layout(128)), k.registers("r", "f32", 1), k.mbarriers("bar", 1, 1)
    with k.elect():
        k.expect_tx(bar(0), nbytes)
        k.copy("bulk.load", src(128 * k.block[0]), x(), bar(0), nbytes=512)
    if wait:
        k.wait(bar(0), parity)
    k.copy("ld.shared.4", x(k.thread), r())
    k.map("add", (r(), r()), r(), 1)
    k.copy("st.shared.4", r(), x(k.thread))
    if fence:
        k.fence("async")
    if meet:
        k.sync()
    with k.elect():
        k.copy("bulk.store", x(), dst(128 * k.block[0]), nbytes=512)
        k.commit("bulk")
        k.wait_group("bulk", 0)
    return k.kernel()


def two_rings(slots: tuple[int, int] = (3, 2), late: int = 0, order: str = "ab", flip: bool = False) -> Kernel:
    """Two rings of one producer and one consumer, as K and V of an attention kernel; the second given back late."""
    L = dim("L")
    k = Builder("two_rings", L, grid=(1,), threads=64)
    a, b, o = (k.global_tensor(name, "f32", Layout((32, L))) for name in "abo")
    rings = {
        name: make_ring(k, f"tile_{name}", "f32", Layout(32), slots=n, consumers=1, prefix=f"{name}_")
        for name, n in zip("ab", slots, strict=True)
    }
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i:
        for name, src in (("a", a), ("b", b)):
            with rings[name].produce(i + flip * slots[0] if name == "a" else i) as s:
                k.copy("bulk.load", src(32 * i), s.at(), s.full, nbytes=WARP_BYTES)
    with k.role("consumer", 1):
        x, y = k.registers("xr", "f32", 1), k.registers("yr", "f32", 1)
        with k.loop("i", L) as i:
            for name in order:
                s = rings[name].acquire(i)
                k.copy("ld.shared.4", s.at(k.thread), (x if name == "a" else y)())
            rings["a"].release(i)
            with k.where(i >= late) if late else nullcontext():
                rings["b"].release(i - late)
            k.map("add", (x(), y()), x(), 1)
            k.copy("st.global.4", x(), o(32 * i + k.thread))
    return k.kernel()


def ahead(slots: int = 3, by: int = 2, first: int = 2, meet: bool = True, last: bool = True) -> Kernel:
    """One role fills *by* uses ahead of those that it reads; nothing but a barrier frees a slot."""
    L = dim("L", at_least=slots)
    k = Builder("ahead", L, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((64, L))) for name in "ao")
    t, full, x = (
        k.shared_tensor("t", "f32", Layout((64, slots))),
        k.mbarriers("full", slots, 1),
        k.registers("x", "f32", 1),
    )

    def fill(n: Any) -> None:
        k.expect_tx(full(n % slots), 256)
        k.copy("bulk.load", a(64 * n), t(64 * (n % slots)), full(n % slots), nbytes=256)

    with k.elect(), k.loop("p", first) as p:
        fill(p)
    with k.loop("i", L) as i:
        k.wait(full(i % slots), i // slots % 2)
        k.copy("ld.shared.4", t(64 * (i % slots) + k.thread), x())
        k.copy("st.global.4", x(), o(64 * i + k.thread))
        if meet:
            k.sync()
        with k.where(i + by < L) if last else nullcontext(), k.elect():
            fill(i + by)
    return k.kernel()


def by_turns(slots: int = 4, producers: int = 2, start: int = 0, arrivals: int = 1) -> Kernel:
    """Producer warps that take every other slot, and one consumer."""
    L = dim("L")
    k = Builder("by_turns", L, grid=(1,), threads=32 * (producers + 1))
    a, o = (k.global_tensor(name, "f32", Layout((32, producers * L))) for name in "ao")
    ring = make_ring(k, "t", "f32", Layout(32), slots=slots, consumers=arrivals)
    for n in range(producers):
        with k.role(f"producer{n}", 1), k.elect(), k.loop("j", L) as j, ring.produce(producers * j + n + start) as s:
            k.copy("bulk.load", a(32 * (producers * j + n)), s.at(), s.full, nbytes=WARP_BYTES)
    with k.role("consumer", 1):
        x = k.registers("x", "f32", 1)
        with k.loop("i", producers * L) as i, ring.consume(i) as s:
            k.copy("ld.shared.4", s.at(k.thread), x())
            k.copy("st.global.4", x(), o(32 * i + k.thread))
    return k.kernel()


def elected_wait(sync: str = "warp", read: int = 0, before: bool = False) -> Kernel:
    """One lane waits for a fill, the others follow at a barrier; slot *read* uses away is the one that is read."""
    L = dim("L")
    k = Builder("elected_wait", L, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((32, L))) for name in "ao")
    ring = make_ring(k, "t", "f32", Layout(32), slots=2, consumers=1)
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i, ring.produce(i) as s:
        k.copy("bulk.load", a(32 * i), s.at(), s.full, nbytes=WARP_BYTES)
    with k.role("consumer", 1):
        x = k.registers("x", "f32", 1)
        with k.loop("i", L) as i:
            place = RingSlot(ring, i + read).at(k.thread)
            if before:
                k.copy("ld.shared.4", place, x())
            with k.elect():
                ring.acquire(i)
            if sync == "warp":
                k.warp_sync()
            elif sync == "barrier":
                k.sync(1, 32)
            if not before:
                k.copy("ld.shared.4", place, x())
            k.copy("st.global.4", x(), o(32 * i + k.thread))
            ring.release(i)
    return k.kernel()


def in_place(slots: int = 3, give: str = "full", fence: str = "writer") -> Kernel:
    """A role loads, a second one changes the tile in place, a third one stores it and gives the slot back."""
    L = dim("L")
    k = Builder("in_place", L, grid=(1,), threads=96)
    a, o = (k.global_tensor(name, "f32", Layout((32, L))) for name in "ao")
    t = k.shared_tensor("t", "f32", Layout((32, slots)))
    full, done, free = (k.mbarriers(name, slots, 1) for name in ("full", "done", "free"))
    with k.role("load", 1), k.elect(), k.loop("i", L) as i:
        k.wait(free(i % slots), (i // slots + 1) % 2)
        k.expect_tx(full(i % slots), WARP_BYTES)
        k.copy("bulk.load", a(32 * i), t(32 * (i % slots)), full(i % slots), nbytes=WARP_BYTES)
    with k.role("change", 1), k.loop("i", L) as i:
        x = k.registers("x", "f32", 1)
        k.wait(full(i % slots), i // slots % 2)
        k.copy("ld.shared.4", t(32 * (i % slots) + k.thread), x())
        k.map("add", (x(), x()), x(), 1)
        k.copy("st.shared.4", x(), t(32 * (i % slots) + k.thread))
        if fence == "writer":
            k.fence("async")
        k.warp_sync()
        with k.elect():
            k.arrive((done if give == "full" else free)(i % slots))
    with k.role("store", 1), k.elect(), k.loop("i", L) as i:
        if fence == "reader, too soon":
            k.fence("async")
        k.wait((done if give == "full" else full)(i % slots), i // slots % 2)
        if fence == "reader":
            k.fence("async")
        k.copy("bulk.store", t(32 * (i % slots)), o(32 * i), nbytes=WARP_BYTES)
        k.commit("bulk")
        k.wait_group("bulk", 0)
        k.arrive((free if give == "full" else done)(i % slots))
    return k.kernel()


def static_slots(crossed: bool = False, parity: int = 0, twice: bool = False, parity_of_second: int = 1) -> Kernel:
    """Two mbarriers of one array, each for a tile of its own; with *twice* each for a second one behind a barrier."""
    k = Builder("static_slots", grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((64, 4))) for name in "ao")
    t, full, x = k.shared_tensor("t", "f32", Layout((64, 2))), k.mbarriers("full", 2, 1), k.registers("x", "f32", 1)
    for phase, at in ((0, parity), (1, parity_of_second))[: 1 + twice]:
        with k.elect():
            for slot in (0, 1):
                k.expect_tx(full(slot), 256)
                k.copy("bulk.load", a(64 * (2 * phase + slot)), t(64 * slot), full(slot), nbytes=256)
        for slot in (0, 1):
            k.wait(full(1 - slot if crossed else slot), at)
            k.copy("ld.shared.4", t(64 * slot + k.thread), x())
            k.copy("st.global.4", x(), o(64 * (2 * phase + slot) + k.thread))
        k.sync()
    return k.kernel()


def ping_pong(count: int = 128, first: str = "second", early: bool = False, arrive: bool = True) -> Kernel:
    """Two roles take turns at a tile over named barriers: each waits for its own, then tells the other's."""
    L = dim("L")
    k = Builder("ping_pong", L, grid=(1,), threads=128)
    o, t = k.global_tensor("o", "f32", Layout((128, L))), k.shared_tensor("t", "f32", Layout(64))
    for n, name in enumerate(("first", "second")):
        with k.role(name, 2):
            x = k.registers(f"x{n}", "f32", 1)
            k.fill(x(), n)
            if name == first:
                k.sync_arrive(1, count)
            with k.loop("i", L) as i:
                k.sync(1 + n, count)
                k.copy("st.shared.4", x(), t(k.thread))
                k.sync(3 + n, 64)
                if arrive and early:
                    k.sync_arrive(2 - n, count)
                k.copy("ld.shared.4", t(63 - k.thread), x())
                if arrive and not early:
                    k.sync_arrive(2 - n, count)
                k.copy("st.global.4", x(), o(128 * i + 64 * n + k.thread))
            if name != first:
                k.sync(1, count)
    return k.kernel()


def two_levels(readers: int = 2, steps: int = 0, reset: bool = False, early: bool = False) -> Kernel:
    """A ring of tiles and a ring of the steps inside of each, one producer, a consumer of both and one of tiles."""
    L, K = dim("L", at_most=1 << 16), dim("K", at_most=1 << 10)
    k = Builder("two_levels", L, K, grid=(1,), threads=96)
    a, b, o = (k.global_tensor(name, "f32", Layout((32, L * K))) for name in "abo")
    step = make_ring(k, "step", "f32", Layout(32), slots=4, consumers=1, prefix="s_")
    tile = make_ring(k, "tile", "f32", Layout(32), slots=2, consumers=readers, prefix="t_")
    with k.role("producer", 1), k.elect(), k.loop("t", L) as t:
        with tile.produce(t) as s:
            k.copy("bulk.load", b(32 * t), s.at(), s.full, nbytes=WARP_BYTES)
        with k.loop("i", K) as i, step.produce(i if reset else t * K + i) as s:
            k.copy("bulk.load", a(32 * (t * K + i)), s.at(), s.full, nbytes=WARP_BYTES)
    with k.role("consumer", 1):
        x, y = k.registers("x", "f32", 1), k.registers("y", "f32", 1)
        with k.loop("t", L) as t:
            s = tile.acquire(t)
            k.copy("ld.shared.4", s.at(k.thread), y())
            if early:
                tile.release(t)
            with k.loop("i", K + steps) as i, step.consume(i if reset else t * K + i) as s:
                k.copy("ld.shared.4", s.at(k.thread), x())
                k.map("add", (x(), y()), x(), 1)
                k.copy("st.global.4", x(), o(32 * (t * K + i) + k.thread))
            if not early:
                tile.release(t)
    with k.role("watcher", 1):
        z = k.registers("z", "f32", 1)
        with k.loop("t", L) as t, tile.consume(t) as s:
            k.copy("ld.shared.4", s.at(k.thread), z())
    return k.kernel()


def late_steps(slots: int = 2, late: int = 1, shift: int = 0, first: int | None = None) -> Kernel:
    """Two steps of each tile, one ring for all of them; a slot is given back *late* uses later."""
    L = dim("L")
    k = Builder("late_steps", L, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((32, 2 * L))) for name in "ao")
    ring = make_ring(k, "t", "f32", Layout(32), slots=slots, consumers=1)
    with k.role("producer", 1), k.elect(), k.loop("t", L) as t, k.loop("s", 2) as s, ring.produce(2 * t + s) as slot:
        k.copy("bulk.load", a(32 * (2 * t + s)), slot.at(), slot.full, nbytes=WARP_BYTES)
    with k.role("consumer", 1), k.loop("t", L) as t, k.loop("s", 2) as s:
        x, n = k.registers("x", "f32", 1), 2 * t + s
        slot = ring.acquire(n)
        k.copy("ld.shared.4", slot.at(k.thread), x())
        k.copy("st.global.4", x(), o(32 * n + k.thread))
        k.warp_sync()
        with k.where(n >= (late if first is None else first)), k.elect():
            k.arrive(Slot(ring.empty, (n - late + shift) % slots))
    return k.kernel()


def begun(slots: int = 4, fewer: int = 0, pair: tuple[int, ...] = (0, 1), shift: int = 0, steps: int = 0) -> Kernel:
    """A producer that fills K slots, as many as a size says, and then some in each iteration; *shift* uses on."""
    L, K = dim("L", at_most=1 << 16), dim("K", at_most=1 << 16)
    k = Builder("begun", L, K, grid=(1,), threads=64)
    total = K + len(pair) * L
    a, o = (k.global_tensor(name, "f32", Layout((32, total))) for name in "ao")
    ring = make_ring(k, "t", "f32", Layout(32), slots=slots, consumers=1)

    def fill(n: Any) -> None:
        with ring.produce(n) as s:
            k.copy("bulk.load", a(32 * n), s.at(), s.full, nbytes=WARP_BYTES)

    with k.role("producer", 1), k.elect():
        with k.loop("p", K - fewer) as p:
            fill(p)
        with k.loop("j", L) as j:
            for n in pair:
                fill(K + len(pair) * j + n + shift)
    with k.role("consumer", 1):
        x = k.registers("x", "f32", 1)
        with k.loop("i", total + steps) as i, ring.consume(i) as s:
            k.copy("ld.shared.4", s.at(k.thread), x())
            k.copy("st.global.4", x(), o(32 * i + k.thread))
    return k.kernel()


def late_tails(slots: int = 3, late: int = 1, shift: int = 0, first: int = 1, tail: str = "behind") -> Kernel:
    """K steps of each tile, one ring for all; a slot is given back a step late, the last of a tile behind its steps."""
    L, K = dim("L", at_most=1 << 16), dim("K", at_most=1 << 10)
    k = Builder("late_tails", L, K, grid=(1,), threads=64)
    a, o = (k.global_tensor(name, "f32", Layout((32, L * K))) for name in "ao")
    ring = make_ring(k, "t", "f32", Layout(32), slots=slots, consumers=1)
    with k.role("producer", 1), k.elect(), k.loop("t", L) as t, k.loop("s", K) as s, ring.produce(t * K + s) as slot:
        k.copy("bulk.load", a(32 * (t * K + s)), slot.at(), slot.full, nbytes=WARP_BYTES)
    with k.role("consumer", 1), k.loop("t", L) as t:
        x = k.registers("x", "f32", 1)
        if tail == "before":
            ring.release(t * K + K - 1)
        with k.loop("s", K) as s:
            n = t * K + s
            slot = ring.acquire(n)
            k.copy("ld.shared.4", slot.at(k.thread), x())
            k.copy("st.global.4", x(), o(32 * n + k.thread))
            with k.where(s >= first):
                ring.release(n - late)
        if tail == "behind":
            ring.release(t * K + K - 1 + shift)
    return k.kernel()


def next_fill() -> Kernel:
    """A slot is given back before it is read, and read once a third role has waited for the fill after it.

    Nothing is out of order, but what is read is not the fill that was waited for.
    """
    L = dim("L", at_least=2)
    k = Builder("next_fill", L, grid=(1,), threads=96)
    a, o = (k.global_tensor(name, "f32", Layout((32, L))) for name in "ao")
    ring = make_ring(k, "t", "f32", Layout(32), slots=1, consumers=1)
    with k.role("producer", 1), k.elect(), k.loop("i", L) as i, ring.produce(i) as s:
        k.copy("bulk.load", a(32 * i), s.at(), s.full, nbytes=WARP_BYTES)
    with k.role("consumer", 1):
        x = k.registers("x", "f32", 1)
        k.sync(2, 64)
        with k.loop("i", L) as i:
            s = ring.acquire(i)
            with k.elect():
                k.arrive(Slot(ring.empty, 0))
            k.sync(1, 64)
            k.copy("ld.shared.4", s.at(k.thread), x())
            k.copy("st.global.4", x(), o(32 * i + k.thread))
            k.warp_sync()
    with k.role("helper", 1):
        k.wait(Slot(ring.full, 0), 0)
        k.sync(2, 64)
        with k.loop("i", L) as i:
            with k.where(i < L - 1):
                k.wait(Slot(ring.full, 0), (i + 1) % 2)
            k.sync(1, 64)
    k.result("o", lambda n, i: element("a", n, i))
    return k.kernel()
