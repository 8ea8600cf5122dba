// What the microbenchmarks are made of: stamps, mbarriers, bulk and tensor copies, by the names of PTX ISA 9.1.
// Shared-memory addresses are 32-bit numbers in the .shared::cta window.
#pragma once

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

// What a CTA leaves: SM cycles and nanoseconds at both ends, the SM, a checksum, and three numbers of the kernel's own.
struct Stamp {
    u64 clock0, clock1, ns0, ns1, sm, sum, a, b;
};

struct alignas(64) TensorMap {
    char bytes[128];
};

__device__ inline u64 cycles() {
    u64 x;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(x)::"memory");
    return x;
}

__device__ inline u64 nanoseconds() {
    u64 x;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(x)::"memory");
    return x;
}

__device__ inline u32 multiprocessor() {
    u32 x;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(x));
    return x;
}

__device__ inline void begin(Stamp& s) { s.ns0 = nanoseconds(), s.clock0 = cycles(), s.sm = multiprocessor(); }
__device__ inline void end(Stamp& s) { s.clock1 = cycles(), s.ns1 = nanoseconds(); }

__device__ inline u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }

// One thread of a warp that is here as a whole; the compiler knows that it is one.
__device__ inline bool elect_one() {
    u32 one;
    asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}\n" : "=r"(one));
    return one;
}

// ---- mbarrier -------------------------------------------------------------------------------------------------------

__device__ inline void mbarrier_init(u32 barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ inline void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void arrive(u32 barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ inline void arrive_at(u32 barrier, u32 rank) {
    asm volatile(
        "{\n.reg .b32 remote;\nmapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}\n" ::"r"(barrier), "r"(rank) : "memory");
}

__device__ inline void expect(u32 barrier, u32 bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

__device__ inline bool try_wait(u32 barrier, u32 parity) {
    u32 done;
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(done) : "r"(barrier), "r"(parity) : "memory");
    return done;
}

__device__ inline bool try_wait_for(u32 barrier, u32 parity, u32 ns) {
    u32 done;
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;\nselp.u32 %0, 1, 0, p;\n}\n"
        : "=r"(done) : "r"(barrier), "r"(parity), "r"(ns) : "memory");
    return done;
}

// A wait that is bounded: a slip ends in a trap, not in a kernel that never returns.
__device__ inline void wait(u32 barrier, u32 parity) {
    for (u32 polls = 0; !try_wait(barrier, parity); ++polls)
        if (polls == 1000000) __trap();
}

// ---- bulk copies ----------------------------------------------------------------------------------------------------

__device__ inline void bulk_load(u32 to, const char* from, u32 bytes, u32 barrier) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
}

__device__ inline void bulk_load_multicast(u32 to, const char* from, u32 bytes, u32 barrier, u32 mask) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;"
        ::"r"(to), "l"(from), "r"(bytes), "r"(barrier), "h"(static_cast<unsigned short>(mask)) : "memory");
}

__device__ inline void bulk_store(char* to, u32 from, u32 bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(from), "r"(bytes)
                 : "memory");
}

__device__ inline void bulk_add(char* to, u32 from, u32 bytes) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;"
                 ::"l"(to), "r"(from), "r"(bytes) : "memory");
}

__device__ inline void tensor_load(u32 to, const TensorMap& map, int x, int y, u32 barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
        ::"r"(to), "l"(&map), "r"(x), "r"(y), "r"(barrier) : "memory");
}

__device__ inline void tensor_store(const TensorMap& map, int x, int y, u32 from) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];"
                 ::"l"(&map), "r"(x), "r"(y), "r"(from) : "memory");
}

__device__ inline void commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }

template <int PENDING>
__device__ inline void wait_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
}

__device__ inline void wait_all() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

__device__ inline void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ inline u32 cluster_rank() {
    u32 x;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(x));
    return x;
}

// A ring of slots: which one is next, and the parity of its current use.
struct Cursor {
    u32 slots, slot = 0, parity = 0;
    __device__ explicit Cursor(u32 n) : slots(n) {}
    __device__ void advance() {
        if (++slot == slots) slot = 0, parity ^= 1;
    }
};
