// M1, M9, M10, M16: arithmetic, barriers and fences. *count* is the number of trips of the timed loop.
#include "ptx.cuh"

#define TIMED(body)                                                   \
    Stamp s = {};                                                     \
    __syncthreads();                                                  \
    begin(s);                                                         \
    for (u32 i = 0; i < count; ++i) { body }                          \
    end(s);

// Chains of CHAIN instructions, ILP of them at once.
#define ARITHMETIC(name, ilp, start, instruction)                                                      \
    extern "C" __global__ void name##_##ilp(Stamp* out, u32 count, float y) {                          \
        start x[ilp];                                                                                  \
        for (int k = 0; k < ilp; ++k) x[k] = start(threadIdx.x + k);                                   \
        TIMED(_Pragma("unroll") for (int n = 0; n < 256 / ilp; ++n) {                                  \
            _Pragma("unroll") for (int k = 0; k < ilp; ++k) { instruction; }                           \
        })                                                                                             \
        float sum = 0;                                                                                 \
        for (int k = 0; k < ilp; ++k) sum += float(x[k]);                                              \
        s.sum = u64(sum);                                                                              \
        if (threadIdx.x == 0) out[blockIdx.x] = s;                                                     \
        else if (sum == 1.2345e-30f) out[blockIdx.x].b = 1;                                            \
    }
#define ALL(name, start, instruction)     \
    ARITHMETIC(name, 1, start, instruction) ARITHMETIC(name, 2, start, instruction) \
    ARITHMETIC(name, 4, start, instruction) ARITHMETIC(name, 8, start, instruction)

ALL(fma, float, asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[k]) : "f"(y)))
ALL(add, int, asm volatile("add.s32 %0, %0, %1;" : "+r"(x[k]) : "r"(__float_as_int(y))))
ALL(exp2, float, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[k])))
ALL(shuffle, int, asm volatile("shfl.sync.bfly.b32 %0, %0, 1, 31, -1;" : "+r"(x[k])))

// M20: index arithmetic in chains, 8 in a trip: divisions by what is known at run time only, and the trip of a loop.
#define INDEX(name, type, body)                                                    \
    extern "C" __global__ void name(Stamp* out, u32 count, type y) {               \
        type x = type(threadIdx.x) + 1234567;                                      \
        TIMED(_Pragma("unroll") for (int k = 0; k < 8; ++k) { body; })             \
        s.sum = u64(x);                                                            \
        if (threadIdx.x == 0) out[blockIdx.x] = s;                                 \
    }

INDEX(divide_32, int, x = x / y + 1234567 + k)
INDEX(remainder_32, int, x = x % y + 1234567 + k)
INDEX(divide_64, i64, x = x / y + 1234567 + k)
INDEX(remainder_64, i64, x = x % y + 1234567 + k)
INDEX(both_64, i64, x = x / y + x % y + 1234567 + k)
INDEX(fixed_64, i64, x = x / 3 + 1234567 + k)
INDEX(fixed_32, int, x = x / 3 + 1234567 + k)
INDEX(slot_64, i64, x = x % 3 + (x / 3 & 1) + 1234567 + k)
INDEX(slot_32, int, x = x % 3 + (x / 3 & 1) + 1234567 + k)
INDEX(both_32, int, x = x / y + x % y + 1234567 + k)
// By what is new each time: the reciprocal of the divisor is computed too. Then what tells where a tile of a product lies.
INDEX(divisor_32, int, x = (1234567 + k) / ((x & 1023) + y))
INDEX(divisor_64, i64, x = (1234567 + k) / ((x & 1023) + y))
INDEX(tile_32, int, const int w = x / (8 * y); const int v = x % (8 * y); const int h = min(8, 100 * y - 8 * w);
      x = 8 * w + v % h - (v % h != 0 && v < 0) + 16 * (v / h) + 1234567 + k)

extern "C" __global__ void loop_trips(Stamp* out, u32 count, int y) {
    u32 x = y;
    TIMED(_Pragma("unroll 1") for (u32 n = 0; n < 8; ++n) asm volatile("add.u32 %0, %0, 1;" : "+r"(x));)
    s.sum = x;
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}

#define ONE_THREAD                                     \
    __shared__ u64 barriers[4];                        \
    __shared__ __align__(128) u64 tile[16];            \
    const u32 bar = shared_address(barriers), to = shared_address(tile); \
    if (threadIdx.x == 0) { for (u32 k = 0; k < 4; ++k) mbarrier_init(bar + 8 * k, 1); fence_init(); }

// M9, by one thread: each of these by itself, 8 in a trip of the loop.
#define BY_ONE_THREAD(name, once, body)                             \
    extern "C" __global__ void name(Stamp* out, const char* src, u32 count) { \
        ONE_THREAD                                                  \
        if (!elect_one()) return;                                   \
        once;                                                       \
        Stamp s = {};                                               \
        begin(s);                                                   \
        for (u32 i = 0; i < count; ++i) {                           \
            _Pragma("unroll") for (u32 k = 0; k < 8; ++k) { body }  \
        }                                                           \
        end(s);                                                     \
        __nanosleep(5000);  /* copies under way may still land */   \
        out[0] = s;                                                 \
    }

BY_ONE_THREAD(arrivals, mbarrier_init(bar, 1u << 19), arrive(bar);)
BY_ONE_THREAD(expectations, mbarrier_init(bar, 1u << 19), expect(bar, 0);)
BY_ONE_THREAD(waits, , wait(bar, 1);)  // for a phase that is over
BY_ONE_THREAD(arrive_and_wait, , arrive(bar); wait(bar, k & 1);)
BY_ONE_THREAD(expect_and_wait, , expect(bar, 0); wait(bar, k & 1);)
BY_ONE_THREAD(copy_and_wait, , expect(bar, 16); bulk_load(to, src, 16, bar); wait(bar, k & 1);)
BY_ONE_THREAD(failing, , s.a += try_wait(bar, 0);)
BY_ONE_THREAD(failing_soon, , s.a += try_wait_for(bar, 0, 100);)
// What a producer does in a trip, and a consumer: all slots are free, all are full.
BY_ONE_THREAD(produce, mbarrier_init(bar + 8, 1u << 19), wait(bar, 1); expect(bar + 8, 16); bulk_load(to, src, 16, bar + 8);)
BY_ONE_THREAD(consume, mbarrier_init(bar + 8, 1u << 19), wait(bar, 1);
              u32 word; asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(to) : "memory"); s.a ^= word; arrive(bar + 8);)
// The same with a slot that changes, as in a ring of eight.
BY_ONE_THREAD(produce_in_ring, for (u32 n = 0; n < 4; ++n) mbarrier_init(bar + 8 * n, 1u << 19),
              const u32 at = (i + k) & 3; wait(bar + 8 * at, 1); expect(bar + 8 * at, 16); bulk_load(to + 16 * at, src + 16 * at, 16, bar + 8 * at);)
BY_ONE_THREAD(store_in_ring, for (u32 n = 0; n < 4; ++n) mbarrier_init(bar + 8 * n, 1u << 19),
              const u32 at = (i + k) & 3; wait(bar + 8 * at, 1); bulk_store(const_cast<char*>(src) + 16 * at, to + 16 * at, 16); commit();
              wait_read<0>(); arrive(bar + 8 * at);)
BY_ONE_THREAD(store_and_read, , bulk_store(const_cast<char*>(src), to, 16); commit(); wait_read<0>();)
BY_ONE_THREAD(store_and_wait, , bulk_store(const_cast<char*>(src), to, 16); commit(); wait_all();)
BY_ONE_THREAD(commits, , commit();)
BY_ONE_THREAD(group_waits, , wait_read<0>();)

// M10: two threads of two warps (distance 32) or warpgroups (128) hand over and back.
extern "C" __global__ void hand_over(Stamp* out, u32 count, u32 distance, u32 kind) {
    ONE_THREAD
    __syncthreads();
    const u32 me = threadIdx.x / distance;
    Stamp s = {};
    begin(s);
    if (kind == 0 && threadIdx.x % distance == 0) {
        for (u32 i = 0; i < count; ++i) {
            if (me == 0) arrive(bar), wait(bar + 8, i & 1);
            else wait(bar, i & 1), arrive(bar + 8);
        }
    } else if (kind == 1) {
        for (u32 i = 0; i < count; ++i) {
            const int n = 2 * distance;
            if (me == 0) {
                asm volatile("barrier.cta.arrive 1, %0;" ::"r"(n) : "memory");
                asm volatile("barrier.cta.sync 2, %0;" ::"r"(n) : "memory");
            } else {
                asm volatile("barrier.cta.sync 1, %0;" ::"r"(n) : "memory");
                asm volatile("barrier.cta.arrive 2, %0;" ::"r"(n) : "memory");
            }
        }
    }
    end(s);
    if (threadIdx.x == 0) out[0] = s;
}

// M29: one thread hands over to all lanes of some *warps*, each of which hands back by an arrival of its own (kind 0), or
// all together by one behind a barrier (kind 1).
extern "C" __global__ void hand_to_many(Stamp* out, u32 count, u32 warps, u32 kind) {
    ONE_THREAD
    if (threadIdx.x == 0) { mbarrier_init(bar + 8, kind ? 1 : warps); fence_init(); }
    __syncthreads();
    Stamp s = {};
    begin(s);
    if (threadIdx.x == 0) {
        for (u32 i = 0; i < count; ++i) arrive(bar), wait(bar + 8, i & 1);
    } else if (threadIdx.x >= 32) {
        for (u32 i = 0; i < count; ++i) {
            wait(bar, i & 1);
            if (kind) asm volatile("barrier.cta.sync 1, %0;" ::"r"(32 * warps) : "memory");
            if (kind ? threadIdx.x == 32 : elect_one()) arrive(bar + 8);
            __syncwarp();
        }
    }
    end(s);
    if (threadIdx.x == 0) out[0] = s;
}

extern "C" __global__ void meet(Stamp* out, u32 count) {
    TIMED(__syncthreads();)
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}

// M16: a store to shared memory, and a fence or a barrier of the cluster after it.
#define FENCE(name, body)                                           \
    extern "C" __global__ void name(Stamp* out, u32 count) {        \
        __shared__ volatile u32 word[1024];                         \
        TIMED(word[threadIdx.x] = i; body)                          \
        if (threadIdx.x == 0) out[blockIdx.x] = s;                  \
    }

// The same after four matrices, as a product stores its sums: the proxy of TMA is to see them.
#define MATRICES(name, body)                                                                                       \
    extern "C" __global__ void name(Stamp* out, u32 count) {                                                       \
        __shared__ __align__(1024) u32 tile[16384 / 4 * 2];                                                        \
        const u32 at = shared_address(tile) + 2048 * (threadIdx.x / 32) + 16 * (threadIdx.x % 32);                 \
        TIMED(_Pragma("unroll") for (u32 k = 0; k < 4; ++k)                                                        \
                  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};"                  \
                               ::"r"(at + 512 * k), "r"(i) : "memory"); body)                                      \
        if (threadIdx.x == 0) out[blockIdx.x] = s;                                                                 \
    }
MATRICES(matrices, __syncwarp();)
MATRICES(fence_matrices, asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); __syncwarp();)

FENCE(no_fence, )
FENCE(fence_async_shared, asm volatile("fence.proxy.async.shared::cta;" ::: "memory");)
FENCE(fence_async, asm volatile("fence.proxy.async;" ::: "memory");)
FENCE(fence_cta, asm volatile("fence.acq_rel.cta;" ::: "memory");)
FENCE(fence_cluster, asm volatile("fence.acq_rel.cluster;" ::: "memory");)
FENCE(cluster_barrier, cluster_sync();)
