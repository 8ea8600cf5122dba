// M25, M26: what warps move by themselves: from shared memory to shared memory, and to and from L2.
#include "ptx.cuh"

#define LOAD_2(x, a) asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x[0]), "=r"(x[1]) : "r"(a) : "memory")
#define LOAD_4(x, a)                                                     \
    asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"     \
                 : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(a) : "memory")

// Chains of loads of several words, each at the address that the one before brought: their latency.
#define CHAIN(name, load)                                                                                 \
    extern "C" __global__ void name(Stamp* out, u32 count) {                                              \
        extern __shared__ __align__(1024) char shared[];                                                  \
        const u32 base = shared_address(shared);                                                          \
        for (u32 k = threadIdx.x; k < 1024; k += blockDim.x) reinterpret_cast<u32*>(shared)[k] = base;    \
        __syncthreads();                                                                                  \
        u32 x[4] = {base, 0, 0, 0};                                                                       \
        Stamp s = {};                                                                                     \
        begin(s);                                                                                         \
        for (u32 i = 0; i < count; ++i) {                                                                 \
            _Pragma("unroll") for (int k = 0; k < 16; ++k) load(x, x[0]);                                 \
        }                                                                                                 \
        end(s);                                                                                           \
        s.sum = x[0] ^ x[1] ^ x[2] ^ x[3];                                                                \
        if (threadIdx.x == 0) out[0] = s;                                                                 \
    }

CHAIN(chain_8, LOAD_2)
CHAIN(chain_16, LOAD_4)

// A load of 16 bytes by each thread, then stores of its parts, 8 times in a trip: what threads do that turn a tile.
#define TURN(name, bytes, stores)                                                                         \
    extern "C" __global__ void name(Stamp* out, u32 count) {                                              \
        extern __shared__ __align__(1024) char shared[];                                                  \
        const u32 from = shared_address(shared) + 16 * threadIdx.x;                                       \
        const u32 to = shared_address(shared) + 32768 + bytes * threadIdx.x;                              \
        u32 x[4];                                                                                         \
        Stamp s = {};                                                                                     \
        __syncthreads();                                                                                  \
        begin(s);                                                                                         \
        for (u32 i = 0; i < count; ++i) {                                                                 \
            _Pragma("unroll") for (int k = 0; k < 8; ++k) { LOAD_4(x, from); stores; }                    \
        }                                                                                                 \
        end(s);                                                                                           \
        s.sum = x[0];                                                                                     \
        if (threadIdx.x == 0) out[0] = s;                                                                 \
    }

#define PUT_2(k, x) asm volatile("st.volatile.shared.u16 [%0 + " #k "], %1;" ::"r"(to), "h"((unsigned short)(x)) : "memory")
#define PUT_4(k, x) asm volatile("st.volatile.shared.u32 [%0 + " #k "], %1;" ::"r"(to), "r"(x) : "memory")
#define PUT_8(k, x, y) asm volatile("st.volatile.shared.v2.u32 [%0 + " #k "], {%1, %2};" ::"r"(to), "r"(x), "r"(y) : "memory")
#define PUT_16(x)                                                                                         \
    asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]) \
                 : "memory")

TURN(turn_16, 16, PUT_16(x))
TURN(turn_8, 8, PUT_8(0, x[0], x[1]); PUT_8(8192, x[2], x[3]))
TURN(turn_4, 4, PUT_4(0, x[0]); PUT_4(4096, x[1]); PUT_4(8192, x[2]); PUT_4(12288, x[3]))
TURN(turn_2, 2, PUT_2(0, x[0]); PUT_2(2048, x[0] >> 16); PUT_2(4096, x[1]); PUT_2(6144, x[1] >> 16); PUT_2(8192, x[2]);
     PUT_2(10240, x[2] >> 16); PUT_2(12288, x[3]); PUT_2(14336, x[3] >> 16))

// Loads, stores and copies of W bytes by each thread, 8 in a trip, over a footprint in L2 of a power of two.
#define AT ((at + k * blockDim.x * W) & mask)
#define GLOBAL(name, w, body, rest)                                                                       \
    extern "C" __global__ void name(Stamp* out, const char* src, char* dst, u32 count, u32 mask) {        \
        constexpr u32 W = w;                                                                              \
        extern __shared__ __align__(1024) char shared[];                                                  \
        const u32 tile = shared_address(shared) + W * threadIdx.x;                                        \
        u32 at = (blockIdx.x * blockDim.x * 8 + threadIdx.x) * W, x[8][4] = {}, sum = tile;               \
        Stamp s = {};                                                                                     \
        __syncthreads();                                                                                  \
        begin(s);                                                                                         \
        for (u32 i = 0; i < count; ++i) {                                                                 \
            _Pragma("unroll") for (u32 k = 0; k < 8; ++k) { body; }                                       \
            rest;                                                                                         \
            at += gridDim.x * blockDim.x * 8 * W;                                                         \
        }                                                                                                 \
        end(s);                                                                                           \
        s.sum = sum;                                                                                      \
        if (threadIdx.x == 0) out[blockIdx.x] = s;                                                        \
        else if (sum == 0x5eed5eed) out[blockIdx.x].b = sum;                                              \
    }
#define SUM _Pragma("unroll") for (u32 k = 0; k < 8; ++k) sum ^= x[k][0] ^ x[k][1] ^ x[k][2] ^ x[k][3]

GLOBAL(read_4, 4, asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(x[k][0]) : "l"(src + AT)), SUM)
GLOBAL(read_16, 16, asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x[k][0]), "=r"(x[k][1]), "=r"(x[k][2]), "=r"(x[k][3])
                                 : "l"(src + AT)), SUM)
GLOBAL(write_4, 4, asm volatile("st.global.u32 [%0], %1;" ::"l"(dst + AT), "r"(sum) : "memory"), )
GLOBAL(write_8, 8, asm volatile("st.global.v2.u32 [%0], {%1, %1};" ::"l"(dst + AT), "r"(sum) : "memory"), )
GLOBAL(write_16, 16, asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(dst + AT), "r"(sum) : "memory"), )
#define COMMIT(n) asm volatile("cp.async.commit_group;\ncp.async.wait_group " #n ";" ::: "memory")
GLOBAL(async_16, 16, asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(tile), "l"(src + AT) : "memory"), COMMIT(4))
GLOBAL(async_4, 4, asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(tile), "l"(src + AT) : "memory"), COMMIT(4))

// One warp waits for all of its loads before the next: 1 of 16 bytes in a trip.
extern "C" __global__ void one_read(Stamp* out, const char* src, char*, u32 count, u32 mask) {
    u32 at = (blockIdx.x * blockDim.x + threadIdx.x) * 16, x[4] = {};
    Stamp s = {};
    __syncthreads();
    begin(s);
    for (u32 i = 0; i < count; ++i) {
#pragma unroll
        for (u32 k = 0; k < 8; ++k) {
            asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
                         : "l"(src + ((at + (x[0] & 1 & x[1] & x[2] & x[3])) & mask)));
            at += gridDim.x * blockDim.x * 16;
        }
    }
    end(s);
    s.sum = x[0];
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}

// What a ring of cp.async does in a trip, 8 slots: all meet, one copy of 16 bytes in, four words out.
extern "C" __global__ void ring_by_threads(Stamp* out, const char* src, char* dst, u32 count, u32 mask) {
    extern __shared__ __align__(1024) char shared[];
    const u32 tile = shared_address(shared), chunk = 16 * blockDim.x;
    u32 at = blockIdx.x * chunk, ahead = at;
    for (u32 k = 0; k < 7; ++k, ahead += gridDim.x * chunk) {
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(tile + k * chunk + 16 * threadIdx.x),
                     "l"(src + ((ahead + 16 * threadIdx.x) & mask)) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    }
    Stamp s = {};
    __syncthreads();
    begin(s);
    for (u32 i = 0; i < count; ++i) {
#pragma unroll
        for (u32 slot = 0; slot < 8; ++slot, at += gridDim.x * chunk, ahead += gridDim.x * chunk) {
            asm volatile("cp.async.wait_group 6;" ::: "memory");
            __syncthreads();
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(tile + ((slot + 7) & 7) * chunk + 16 * threadIdx.x),
                         "l"(src + ((ahead + 16 * threadIdx.x) & mask)) : "memory");
            asm volatile("cp.async.commit_group;" ::: "memory");
            u32 x[4];
#pragma unroll
            for (u32 k = 0; k < 4; ++k)
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(x[k]) : "r"(tile + slot * chunk + 4 * (k * blockDim.x + threadIdx.x)) : "memory");
#pragma unroll
            for (u32 k = 0; k < 4; ++k)
                asm volatile("st.global.u32 [%0], %1;" ::"l"(dst + ((at + 4 * (k * blockDim.x + threadIdx.x)) & mask)), "r"(x[k]) : "memory");
        }
    }
    end(s);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}
