// The instructions of sm_90a that the kernels beside this file are made of, one function each, named after PTX.
// Sections are those of "Parallel Thread Execution ISA", version 9.1. Shared-memory addresses are 32-bit numbers in
// the .shared::cta window.
#pragma once

#include <cuda.h>  // CUtensorMap, the 128-byte tensor map
#include <cstdint>

__device__ inline uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

// ---- mbarrier (9.7.13.15) -------------------------------------------------------------------------------------------

__device__ inline void mbarrier_init(uint32_t barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// Makes the initialised barriers visible to the async proxy and to the other blocks of the cluster.
__device__ inline void fence_mbarrier_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ inline void mbarrier_arrive_expect_tx(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// Arrives at the barrier that lies at the same address in block `rank` of the cluster. The release is that of the
// default scope: one at cluster scope costs a MEMBAR.GPU, and what is released here are reads by wgmma that a
// wgmma.wait_group has completed, never ordinary writes.
__device__ inline void mbarrier_arrive_at(uint32_t barrier, uint32_t rank) {
    asm volatile(
        "{\n"
        ".reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
        "}\n" ::"r"(barrier), "r"(rank) : "memory");
}

__device__ inline bool mbarrier_try_wait(uint32_t barrier, uint32_t parity) {
    uint32_t done;
    asm volatile(
        "{\n"
        ".reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n"
        "}\n" : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    return done;
}

// Waits until the phase of this parity is complete. With POLL_LIMIT the wait is bounded: a protocol error then ends
// in a trap and an error code, not in a kernel that never returns.
__device__ inline void mbarrier_wait(uint32_t barrier, uint32_t parity) {
#ifdef POLL_LIMIT
    for (uint32_t polls = 0; !mbarrier_try_wait(barrier, parity); ++polls)
        if (polls == POLL_LIMIT) __trap();
#else
    while (!mbarrier_try_wait(barrier, parity)) {}
#endif
}

// A ring of stages: which one is next, and the parity of its current use.
template <int SIZE>
struct Ring {
    uint32_t stage = 0, parity = 0;
    __device__ void advance() {
        if (++stage == SIZE) stage = 0, parity ^= 1;
    }
};

// ---- bulk tensor copies (9.7.9.25, 9.7.9.27) ------------------------------------------------------------------------

__device__ inline void prefetch_tensormap(const CUtensorMap& map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory");
}

__device__ inline void tma_load(uint32_t target, const CUtensorMap& map, int x, int y, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(target), "l"(&map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

// The policy of an access whose lines L2 keeps longest (createpolicy).
__device__ inline uint64_t l2_evict_last() {
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}

__device__ inline void tma_load_hint(uint32_t target, const CUtensorMap& map, int x, int y, uint32_t barrier,
                                     uint64_t policy) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint"
        " [%0], [%1, {%2, %3}], [%4], %5;"
        ::"r"(target), "l"(&map), "r"(x), "r"(y), "r"(barrier), "l"(policy) : "memory");
}

// The box lands, and its bytes are counted, at the same addresses in every block whose bit is set in `blocks`.
__device__ inline void tma_load_multicast(uint32_t target, const CUtensorMap& map, int x, int y, uint32_t barrier,
                                          uint16_t blocks) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster"
        " [%0], [%1, {%2, %3}], [%4], %5;"
        ::"r"(target), "l"(&map), "r"(x), "r"(y), "r"(barrier), "h"(blocks) : "memory");
}

__device__ inline void tma_store(const CUtensorMap& map, int x, int y, uint32_t source) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(x), "r"(y), "r"(source) : "memory");
}

__device__ inline void bulk_commit_group() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

// Waits until at most `PENDING` of this thread's latest groups have still to read their shared memory.
template <int PENDING>
__device__ inline void bulk_wait_group_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

// Waits until all of this thread's groups are complete.
__device__ inline void bulk_wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// Orders this thread's ordinary writes to shared memory before later copies out of it.
__device__ inline void fence_proxy_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- clusters and registers -----------------------------------------------------------------------------------------

__device__ inline uint32_t cluster_ctarank() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ inline void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

template <int REGISTERS>
__device__ inline void setmaxnreg_inc() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS>
__device__ inline void setmaxnreg_dec() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
