// kernel bulk_copy(N)
//   grid (2,), 64 threads
//   result dst(n) = src(n)
// digest e09269f5166d8f93379bfbf5e567224ee58e7963cf27b2a16d70fbcaea3cd508
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(64)
bulk_copy(const __nv_bfloat16* __restrict__ src, __nv_bfloat16* __restrict__ dst, int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    __nv_bfloat16* const ring = reinterpret_cast<__nv_bfloat16*>(shared);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 1024);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 1032);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        mbarrier_init(full, 1);
        mbarrier_init(empty, 1);
        fence_mbarrier_init();
    }
    __syncthreads();

    // producer: warp 0
    if (threadIdx.x / 32 == 0) {
        if (elect_one()) {
            const int trips = int(((block_x + ((int64_t(N) + 511) >> 9) + 1) >> 1) - block_x);
            for (int i = 0; i < trips; ++i) {
                mbarrier_wait(empty, (i + 1) & 1);
                mbarrier_arrive_expect_tx(full, 2 * min(512, N - 512 * block_x - 1024 * i));
                bulk_load(ring, src + 512 * block_x + 1024 * i, 2 * min(512, N - 512 * block_x - 1024 * i), full);
            }
        }
    }

    // consumer: warp 1
    if (threadIdx.x / 32 == 1) {
        const int thread = threadIdx.x - 32;
        if (elect_one()) {
            const int trips1 = int(((block_x + ((int64_t(N) + 511) >> 9) + 1) >> 1) - block_x);
            for (int i = 0; i < trips1; ++i) {
                mbarrier_wait(full, i & 1);
                bulk_store(dst + 512 * block_x + 1024 * i, ring, 2 * min(512, N - 512 * block_x - 1024 * i));
                bulk_commit_group();
                bulk_wait_group_read<0>();
                mbarrier_arrive(empty);
            }
            bulk_wait_group<0>();
        }
    }
}
