// M38: what code of indices and conditions is made of, in chains of one warp. M39: launches that do little.
#include "ptx.cuh"

__constant__ u32 table[64];  // zeros: each entry says that the next is the first

// 8 steps in a trip, each behind the one before; an exit that never comes waits for its condition.
#define CHAIN(name, step)                                                                \
    extern "C" __global__ void name(Stamp* out, u32 count, u32 never, const u32* base) { \
        u32 x = threadIdx.x >> 5;                                                        \
        float f = float(x);                                                              \
        Stamp s = {};                                                                    \
        begin(s);                                                                        \
        for (u32 i = 0; i < count; ++i) {                                                \
            _Pragma("unroll") for (u32 k = 0; k < 8; ++k) { step; }                      \
        }                                                                                \
        end(s);                                                                          \
        s.sum = x + u32(f);                                                              \
        if (threadIdx.x == 0) out[blockIdx.x] = s;                                       \
    }
#define ADD asm volatile("add.u32 %0, %0, 1;" : "+r"(x))
#define LEAVE asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, %1;\n@p exit;\n}\n" ::"r"(x), "r"(never) : "memory")
#define SPECIAL                                                                                                  \
    {                                                                                                            \
        u32 y;                                                                                                   \
        asm volatile("mov.u32 %0, %%lanemask_eq;" : "=r"(y)::"memory");                                          \
        asm volatile("{\n.reg .pred p;\nsetp.eq.u32 p, %0, %1;\n@p exit;\n}\n" ::"r"(y), "r"(never) : "memory"); \
    }
#define ADDRESS                                                                                         \
    asm volatile("{\n.reg .s64 y;\n.reg .u32 low, high;\ncvt.s64.s32 y, %0;\nshl.b64 y, y, 2;\n"        \
                 "add.s64 y, y, %1;\nmov.b64 {low, high}, y;\nxor.b32 %0, low, high;\n}\n" : "+r"(x) : "l"(base))
// A body that is too long to be executed under a predicate: 16 sums, executed or jumped over.
#define WORK _Pragma("unroll") for (u32 n = 0; n < 16; ++n) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f))
#define BODY(condition)                             \
    {                                               \
        if (condition) { WORK; }                    \
        asm volatile("add.f32 %0, %0, %0;" : "+f"(f)); \
    }

CHAIN(adds, ADD)
CHAIN(leaves, ADD; LEAVE)
CHAIN(specials, SPECIAL)
CHAIN(constants, x = table[x])
CHAIN(addresses, ADDRESS)
CHAIN(bodies, BODY(true))
CHAIN(entered, BODY(f < __uint_as_float(never)))
CHAIN(passed, BODY(f > __uint_as_float(never)))

// Launches that begin with so many parameters, with a constant, with a load, or end with a store.
struct Words {
    u64 word[32];
};

template <int N>
__device__ inline void first(u64* out, const Words& words) {
    u64 sum = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) sum += words.word[k] * (k + 1);
    if (sum == 0x5eed5eed5eed5eed) out[0] = sum;
}

extern "C" __global__ void parameters_1(u64* out, Words words) { first<1>(out, words); }
extern "C" __global__ void parameters_8(u64* out, Words words) { first<8>(out, words); }
extern "C" __global__ void parameters_32(u64* out, Words words) { first<32>(out, words); }
extern "C" __global__ void constant_first(u64* out, Words words) {
    if (table[words.word[0] & 63] == 0x5eed5eed) out[0] = 1;
}
extern "C" __global__ void load_first(u64* out, Words words) {
    if (out[32 + (words.word[0] & 63) + threadIdx.x] == 0x5eed5eed5eed5eed) out[0] = 1;
}
extern "C" __global__ void store_last(u64* out, Words words) {
    out[32 + blockIdx.x * blockDim.x + threadIdx.x] = words.word[0];
}

// Launches whose CTAs load if *mode* has 1, then stay for some cycles, and store if it has 2.
extern "C" __global__ void spin(u64* out, u32 cycles, u32 mode) {
    const u32 at = (blockIdx.x * blockDim.x + threadIdx.x) & 0x7ffff;  // 4 MB, half of what is there
    u64 word = cycles;
    if (mode & 1) word = out[at];
    if (word == 0x5eed5eed5eed5eed) return;
    const u32 first = u32(clock64());
    while (u32(clock64()) - first < cycles) {}
    if (mode & 2) out[at] = word;
}
