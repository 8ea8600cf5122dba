// M24: straight code. Each kernel executes *INSTRUCTIONS* of 16 bytes twice: a is the first pass, which brings the code into
// the caches of the SM, and b the second.
#include "ptx.cuh"

template <int INSTRUCTIONS>
__device__ inline void straight(Stamp* out, float y) {
    float x[4] = {y, y + 1, y + 2, y + 3};
    Stamp s = {};
    begin(s);
#pragma unroll 1
    for (u32 round = 0; round < 2; ++round) {
        const u64 at = cycles();
#pragma unroll
        for (int k = 0; k < INSTRUCTIONS; ++k) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[k % 4]) : "f"(y));
        (round ? s.b : s.a) = cycles() - at;
    }
    end(s);
    s.sum = u64(x[0] + x[1] + x[2] + x[3]);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}

#define CODE(n) \
    extern "C" __global__ void code_##n(Stamp* out, float y) { straight<n>(out, y); }
CODE(8) CODE(32) CODE(64) CODE(128) CODE(256) CODE(512) CODE(1024)
