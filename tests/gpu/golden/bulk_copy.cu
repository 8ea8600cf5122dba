// kernel bulk_copy(N)
//   grid (3,), 64 threads
//   result dst(n) = src(n)
// digest a10d681853239fc36aa9c6be9dbac4b07c1826de57bac1db5a5e152d0caf4c72
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(64)
bulk_copy(const float* __restrict__ src, float* __restrict__ dst, int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    float* const ring = reinterpret_cast<float*>(shared);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 3072);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 3096);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        for (int i = 0; i < 3; ++i) mbarrier_init(full + i, 1);
        for (int i = 0; i < 3; ++i) mbarrier_init(empty + i, 1);
        fence_mbarrier_init();
    }
    __syncthreads();

    // producer: warp 0
    if (threadIdx.x / 32 == 0) {
        if (elect_one()) {
            const int trips = int((2 * block_x + ((int64_t(N) + 255) >> 8) + 2) / 3 - block_x);
            int slot = 0, phase = 0;
            for (int i = 0; i < trips; ++i) {
                mbarrier_wait(empty + slot, phase ^ 1);
                mbarrier_arrive_expect_tx(full + slot, 4 * min(256, N - 256 * block_x - 768 * i));
                bulk_load(ring + 256 * slot, src + 256 * block_x + 768 * i, 4 * min(256, N - 256 * block_x - 768 * i),
                          full + slot);
                if (++slot == 3) {
                    slot = 0;
                    phase ^= 1;
                }
            }
        }
    }

    // consumer: warp 1
    if (threadIdx.x / 32 == 1) {
        const int thread = threadIdx.x - 32;
        if (elect_one()) {
            const int trips1 = int((2 * block_x + ((int64_t(N) + 255) >> 8) + 2) / 3 - block_x);
            int slot = 0, phase = 0;
            for (int i = 0; i < trips1; ++i) {
                mbarrier_wait(full + slot, phase);
                bulk_store(dst + 256 * block_x + 768 * i, ring + 256 * slot,
                           4 * min(256, N - 256 * block_x - 768 * i));
                bulk_commit_group();
                bulk_wait_group_read<0>();
                mbarrier_arrive(empty + slot);
                if (++slot == 3) {
                    slot = 0;
                    phase ^= 1;
                }
            }
            bulk_wait_group<0>();
        }
    }
}
