// kernel gather_rows(K, M, N)
//   grid (3,), 64 threads
//   result dst(i,j) = src(idx(i),j)
// digest 1cdfdcd2646838b3c545d81bc83c1f7c87efae8fb4eaefb98fef17b9cd4fb2cd
// assumed: the base of idx, src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with idx, src
// assumed: the data hold picked = idx[min(M - 1, r + 16*((block_x + 3*i)//ceil(N/64)))] within (0,K)
extern "C" __global__ void __launch_bounds__(64)
gather_rows(const __grid_constant__ CUtensorMap src_map, const __grid_constant__ CUtensorMap dst_map,
            const int32_t* __restrict__ idx, int32_t M, int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    float* const ring = reinterpret_cast<float*>(shared);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 12288);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 12312);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(src_map);
        prefetch_tensormap(dst_map);
        for (int i = 0; i < 3; ++i) mbarrier_init(full + i, 1);
        for (int i = 0; i < 3; ++i) mbarrier_init(empty + i, 1);
        fence_mbarrier_init();
    }
    __syncthreads();

    // producer: warp 0
    if (threadIdx.x / 32 == 0) {
        if (elect_one()) {
            const int64_t trips = (((int64_t(M) + 15) >> 4) * ((int64_t(N) + 63) >> 6) + 2 * block_x
                                   + 2) / 3 - block_x;
            int slot = 0, phase = 0;
            for (int64_t i = 0; i < trips; ++i) {
                const int64_t load = block_x + 3 * i;
                const int64_t row = 16 * (load / ((int64_t(N) + 63) >> 6));
                const int64_t column = 64 * (load % ((int64_t(N) + 63) >> 6));
                mbarrier_wait(empty + slot, phase ^ 1);
                mbarrier_arrive_expect_tx(full + slot, 4096);
                for (int r = 0; r < 16; ++r) {
                    const int picked = idx[min(int64_t(M - 1), r + row)];
                    tma_load_2d(ring + 1024 * slot + 64 * r, src_map, column, picked, full + slot);
                }
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
            const int64_t trips1 = (((int64_t(M) + 15) >> 4) * ((int64_t(N) + 63) >> 6) + 2 * block_x
                                    + 2) / 3 - block_x;
            int slot = 0, phase = 0;
            for (int64_t i = 0; i < trips1; ++i) {
                const int64_t store = block_x + 3 * i;
                mbarrier_wait(full + slot, phase);
                tma_store_2d(dst_map, 64 * (store % ((int64_t(N) + 63) >> 6)),
                             16 * (store / ((int64_t(N) + 63) >> 6)), ring + 1024 * slot);
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
