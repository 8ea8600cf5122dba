// M2: one instruction of shared memory with given addresses, 16 times in each of *count* trips. Each lane reads its
// address, in bytes, from *at*, and adds *step* to it, which is 0: so no instruction is taken for another, or left out.
#include "ptx.cuh"

#define SHARED_BYTES 65536

#define ACCESS(name, declare, instruction, use)                                           \
    extern "C" __global__ void name(Stamp* out, const u32* at, u32 count, u32 step) {     \
        extern __shared__ __align__(1024) char shared[];                                  \
        u32 a = shared_address(shared) + at[threadIdx.x % 32];                      \
        u32 sum = threadIdx.x;                                                            \
        Stamp s = {};                                                                     \
        __syncthreads();                                                                  \
        begin(s);                                                                         \
        for (u32 i = 0; i < count; ++i) {                                                 \
            _Pragma("unroll") for (int k = 0; k < 16; ++k) {                              \
                declare;                                                                  \
                instruction;                                                              \
                a += step;                                                                \
                use;                                                                      \
            }                                                                             \
        }                                                                                 \
        end(s);                                                                           \
        s.sum = sum;                                                                      \
        if (threadIdx.x == 0) out[0] = s;                                                 \
        else if (sum == 0x5eed5eed) out[0].b = sum;                                       \
    }

ACCESS(load_1, unsigned short x, asm volatile("{.reg .u8 b; ld.volatile.shared.u8 b, [%1]; cvt.u16.u8 %0, b;}" : "=h"(x) : "r"(a) : "memory"), sum ^= x)
ACCESS(load_2, unsigned short x, asm volatile("ld.volatile.shared.u16 %0, [%1];" : "=h"(x) : "r"(a) : "memory"), sum ^= x)
ACCESS(load_4, u32 x, asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(a) : "memory"), sum ^= x)
ACCESS(load_8, u32 x; u32 y, asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(a) : "memory"), sum ^= x ^ y)
ACCESS(load_16, u32 x; u32 y; u32 z; u32 w,
       asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a) : "memory"),
       sum ^= x ^ y ^ z ^ w)
ACCESS(store_2, , asm volatile("st.volatile.shared.u16 [%0], %1;" ::"r"(a), "h"((unsigned short)sum) : "memory"), )
ACCESS(store_4, , asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(a), "r"(sum) : "memory"), )
ACCESS(store_8, , asm volatile("st.volatile.shared.v2.u32 [%0], {%1, %1};" ::"r"(a), "r"(sum) : "memory"), )
ACCESS(store_16, , asm volatile("st.volatile.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(a), "r"(sum) : "memory"), )
ACCESS(ldmatrix_1, u32 x, asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(a) : "memory"), sum ^= x)
ACCESS(ldmatrix_2, u32 x; u32 y, asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(x), "=r"(y) : "r"(a) : "memory"), sum ^= x ^ y)
ACCESS(ldmatrix_4, u32 x; u32 y; u32 z; u32 w,
       asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a) : "memory"),
       sum ^= x ^ y ^ z ^ w)
ACCESS(ldmatrix_trans_4, u32 x; u32 y; u32 z; u32 w,
       asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a) : "memory"),
       sum ^= x ^ y ^ z ^ w)
ACCESS(stmatrix_1, , asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(a), "r"(sum) : "memory"), )
ACCESS(stmatrix_4, , asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %1, %1, %1};" ::"r"(a), "r"(sum) : "memory"), )

// A chain of loads, each at the address that the one before brought: the latency.
extern "C" __global__ void load_chain(Stamp* out, const u32* at, u32 count, u32 step) {
    extern __shared__ __align__(1024) char shared[];
    const u32 base = shared_address(shared);
    for (u32 k = threadIdx.x; k < 1024; k += blockDim.x) reinterpret_cast<u32*>(shared)[k] = base + 4 * ((k + 32) % 1024);
    __syncthreads();
    u32 a = base + 4 * (threadIdx.x % 32);
    Stamp s = {};
    begin(s);
    for (u32 i = 0; i < count; ++i) {
#pragma unroll
        for (int k = 0; k < 16; ++k) asm volatile("ld.volatile.shared.u32 %0, [%0];" : "+r"(a)::"memory");
    }
    end(s);
    s.sum = a;
    if (threadIdx.x == 0) out[0] = s;
}

// M3: the first warps by the pattern, the others conflict-free loads of the 64 KB behind it, *count* trips each; a and b are
// the cycles of each group.
#define BESIDE(name, instruction)                                                          \
    extern "C" __global__ void name(Stamp* out, const u32* at, u32 first, u32 count, u32 step) { \
        extern __shared__ __align__(1024) char shared[];                                  \
        __shared__ u64 last[2];                                                            \
        const bool by_pattern = threadIdx.x / 32 < first;                                  \
        u32 a = shared_address(shared) + (by_pattern ? at[threadIdx.x % 32] : 4 * (threadIdx.x % 32)); \
        u32 sum = threadIdx.x, x = 0;                                                      \
        if (threadIdx.x < 2) last[threadIdx.x] = 0;                                        \
        Stamp s = {};                                                                      \
        __syncthreads();                                                                   \
        begin(s);                                                                          \
        if (by_pattern) {                                                                  \
            for (u32 i = 0; i < count; ++i) {                                              \
                _Pragma("unroll") for (int k = 0; k < 16; ++k) { instruction; a += step; sum ^= x; } \
            }                                                                              \
        } else {                                                                           \
            for (u32 i = 0; i < count; ++i) {                                              \
                _Pragma("unroll") for (int k = 0; k < 16; ++k) {                           \
                    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(a) : "memory"); \
                    a += step, sum ^= x;                                                   \
                }                                                                          \
            }                                                                              \
        }                                                                                  \
        if (sum == 0x5eed5eed) out[0].b = sum;                                             \
        s.clock1 = cycles();                                                               \
        atomicMax(&last[!by_pattern], s.clock1 - s.clock0);                                \
        __syncthreads();                                                                   \
        end(s);                                                                            \
        s.a = last[0], s.b = last[1];                                                      \
        if (threadIdx.x == 0) out[0] = s;                                                  \
    }

BESIDE(loads_beside, asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(x) : "r"(a) : "memory"))
BESIDE(stores_beside, asm volatile("st.volatile.shared.u32 [%0], %1;" ::"r"(a), "r"(sum) : "memory"))
BESIDE(matrices_beside, u32 y; u32 z; u32 w;
       asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(w) : "r"(a) : "memory"))
