"""Sums of rows by clusters of two CTAs, through the shared memory of each other.

Each CTA has half of the columns. Of two rows it sums its halves, sends that of the one to the peer, and adds what the
peer sends of the other. Three ways: st.async, whose bytes complete on an mbarrier of the peer and may be sent as soon
as the peer has read its slot; st.shared::cluster and ld.shared::cluster, around which the cluster meets. All claims are
proved for every number of rows. Wrong are a slot that nobody waits for, a meeting too few, and a CTA that may have
exited when its peer still reaches it.
"""

from checkers import HappensBefore, claims_of
from symlayout import Layout, dim
from symlayout.kernel import Builder

R, C = dim("R", at_most=1 << 12), dim("C", at_most=1 << 10)  # pairs of rows of a cluster, clusters
HALF, SLOTS = 32, 2  # columns of a CTA; halves that may be under way


def sums(how, waits=True, meets=True, end=True):
    k = Builder("cluster_sum", R, C, grid=(2 * C,), threads=32, cluster=(2,))
    rank, cluster = k.block[0] % 2, k.block[0] // 2
    src = k.global_tensor("src", "f32", Layout((2 * R * C, 2 * HALF), (2 * HALF, 1)))
    dst = k.global_tensor("dst", "f32", Layout(2 * R * C))
    x, mine, theirs, other = (k.registers(name, "f32", 1) for name in ("x", "mine", "theirs", "other"))
    parts = k.shared_tensor("parts", "f32", Layout(SLOTS))
    full, empty = (k.mbarriers(name, SLOTS, 1) for name in ("full", "empty")) if how == "st.async" else (None, None)
    k.cluster_sync()
    with k.loop("r", R) as r:
        first = 2 * (R * cluster + r)
        for row, half in ((first + rank, mine), (first + 1 - rank, theirs)):
            k.copy("ld.global.4", src(2 * HALF * row + HALF * rank + k.thread), x())
            k.reduce("add", x(), half(), lanes=32)
        if how == "st.async":
            slot, wave = r % SLOTS, r // SLOTS
            with k.where(k.thread <= 0):
                if waits:
                    k.wait(empty(slot), (wave + 1) % 2, scope="cluster")
                k.expect_tx(full(slot), 4)
                k.peer_copy("st.async.4", theirs(), parts(slot), 1 - rank, full(slot))
                k.wait(full(slot), wave % 2)
                k.copy("ld.shared.4", parts(slot), other())
                k.arrive(empty(slot), 1 - rank, "cluster")
        else:
            with k.where(k.thread <= 0):
                if how == "st.cluster":
                    k.peer_copy("st.cluster.4", theirs(), parts(), 1 - rank)
                else:
                    k.copy("st.shared.4", theirs(), parts())
            if meets:
                k.cluster_sync()
            if how == "st.cluster":
                k.copy("ld.shared.4", parts(), other())
            else:
                k.peer_copy("ld.cluster.4", parts(), other(), 1 - rank)
            if waits:
                k.cluster_sync()
        with k.where(k.thread <= 0):
            k.map("add", (mine(), other()), mine())
            k.copy("st.global.4", mine(), dst(first + rank))
    if end:
        k.cluster_sync()
    return k.kernel()


def claim_sent():
    return claims_of(sums("st.async"))


def claim_stored():
    return claims_of(sums("st.cluster"))


def claim_loaded():
    return claims_of(sums("ld.cluster"))


nobody_waits_for_the_slot = HappensBefore(sums("st.async", waits=False), expect="refuted")
the_peer_may_have_exited = HappensBefore(sums("st.async", end=False), expect="refuted")
read_before_it_is_there = HappensBefore(sums("st.cluster", meets=False), expect="refuted")
written_before_it_is_read = HappensBefore(sums("st.cluster", waits=False), expect="refuted")
loaded_before_it_is_there = HappensBefore(sums("ld.cluster", meets=False), expect="refuted")
