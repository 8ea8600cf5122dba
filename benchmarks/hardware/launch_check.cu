// Kernels of launch_check.py: every kind of argument, clusters, much shared memory, and two that end badly.
#include <cuda.h>
#include <cstdint>

__device__ inline uint32_t shared_address(const void* p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ inline bool arrived(uint32_t barrier) {
    uint32_t done;
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}\n" : "=r"(done) : "r"(barrier) : "memory");
    return done;
}

// dst = a * scale + src + n + wide % 1000 + byte for 64 x 64 floats, of which each CTA takes 32 x 32; a comes by TMA.
extern "C" __global__ void __launch_bounds__(128)
all_kinds(const float* src, const __grid_constant__ CUtensorMap a, float* dst, int n, long long wide, float scale,
          unsigned char byte) {
    __shared__ alignas(128) float box[32][32];
    __shared__ alignas(8) uint64_t full;
    uint32_t barrier = shared_address(&full);
    int x = 32 * blockIdx.x, y = 32 * blockIdx.y;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(4096) : "memory");
        asm volatile(
            "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
            ::"r"(shared_address(box)), "l"(&a), "r"(x), "r"(y), "r"(barrier) : "memory");
    }
    __syncthreads();
    for (int polls = 0; polls < 1000000 && !arrived(barrier); ++polls) {  // bounded: a wrong map must not hang
    }
    for (int i = threadIdx.x; i < 32 * 32; i += 128) {
        int at = (y + i / 32) * 64 + x + i % 32;
        dst[at] = box[i / 32][i % 32] * scale + src[at] + n + static_cast<float>(wide % 1000) + byte;
    }
}

// out[2b], out[2b + 1]: how many CTAs the cluster of CTA b has, and what its neighbour (rank ^ 1) holds: 100 + its b.
extern "C" __global__ void neighbours(int* out) {
    __shared__ int mine;
    uint32_t rank, size, theirs = 0;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
    mine = 100 + blockIdx.x;
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if ((rank ^ 1) < size)
        asm volatile(
            "{\n.reg .b32 remote;\n"
            "mapa.shared::cluster.u32 remote, %1, %2;\n"
            "ld.shared::cluster.u32 %0, [remote];\n}\n"
            : "=r"(theirs) : "r"(shared_address(&mine)), "r"(rank ^ 1) : "memory");
    out[2 * blockIdx.x] = size, out[2 * blockIdx.x + 1] = theirs;
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// out[i] = i through the last 128 words of so many bytes of dynamic shared memory.
extern "C" __global__ void __launch_bounds__(128) much_shared(int* out, int bytes) {
    extern __shared__ int words[];
    int last = bytes / 4 - 128;
    words[last + 127 - threadIdx.x] = 127 - threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = words[last + threadIdx.x];
}

extern "C" __global__ void increment(int* out) { atomicAdd(out + threadIdx.x, 1); }

extern "C" __global__ void hang(volatile int* out) {
    while (out[0] == 0) {
    }
}
