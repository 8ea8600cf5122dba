// M7, M8, M18: ordinary loads and stores over a footprint, chases through memory, launches.
#include "ptx.cuh"

// Vectors of 16 bytes, grid-stride, four at a time: mode 1 reads, 2 writes, 3 copies.
extern "C" __global__ void stream(Stamp* out, const uint4* src, uint4* dst, u64 first, u64 vectors, u64 total, u32 mode) {
    Stamp s = {};
    begin(s);
    const u64 step = u64(gridDim.x) * blockDim.x;
    u32 sum = 0;
    u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
    for (; i < vectors; i += 4 * step) {
        uint4 v[4] = {};
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            u64 at = first + i + k * step;
            if (at >= total) at -= total;
            if ((mode & 1) && i + k * step < vectors) v[k] = src[at];
        }
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            u64 at = first + i + k * step;
            if (at >= total) at -= total;
            if ((mode & 2) && i + k * step < vectors) dst[at] = v[k];
            sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
        }
    }
    end(s);
    s.sum = sum;
    if (threadIdx.x == 0) out[blockIdx.x] = s;
    else if (sum == 0x5eed5eed) out[blockIdx.x].b = sum;
}

// Words of 32 bits with digits that look random: the word number times an odd number.
extern "C" __global__ void words(u32* p, u64 n) {
    for (u64 i = blockIdx.x * 1024ull + threadIdx.x; i < n; i += gridDim.x * 1024ull) p[i] = u32(i) * 2654435761u;
}

extern "C" __global__ void plant(char* p, const u64* at, const u64* next, u32 nodes) {
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < nodes; i += gridDim.x * blockDim.x)
        *reinterpret_cast<u64*>(p + at[i]) = next[i];
}

// A dependent chase from node to node by one thread of SM *sm* (any for -1): kind 0 by loads, 1 by bulk copies.
extern "C" __global__ void chase(Stamp* out, const char* p, u64 start, u32 hops, u32 kind, int sm) {
    __shared__ __align__(128) u64 landed[2];
    __shared__ u64 barrier;
    if (threadIdx.x || (sm < 0 ? blockIdx.x != 0 : int(multiprocessor()) != sm)) return;
    const u32 full = shared_address(&barrier), to = shared_address(landed);
    mbarrier_init(full, 1);
    fence_init();
    Stamp s = {};
    u64 at = start;
    begin(s);
    if (kind == 0) {
        for (u32 i = 0; i < hops; ++i) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(at) : "l"(p + at) : "memory");
    } else {
        for (u32 i = 0; i < hops; ++i) {
            expect(full, 16);
            bulk_load(to, p + at, 16, full);
            wait(full, i & 1);
            asm volatile("ld.shared.u64 %0, [%1];" : "=l"(at) : "r"(to) : "memory");
        }
    }
    s.sum = at;
    end(s);
    out[0] = s;
}

// Each CTA says when it began, and stays for some nanoseconds.
extern "C" __global__ void stay(Stamp* out, u64 ns) {
    Stamp s = {};
    begin(s);
    while (nanoseconds() - s.ns0 < ns) {}
    end(s);
    if (threadIdx.x == 0) out[blockIdx.x] = s;
}

extern "C" __global__ void nothing(Stamp* out) {
    if (out == nullptr) __trap();
}
