// kernel tma_copy(M, N)
//   grid (2,), 64 threads
//   result dst(m,n) = src(m,n)
// digest b6c655d425ff1511e51028488626dcd22ec72f2bffe95d8a21ba8c8921bb8596
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(64)
tma_copy(const __grid_constant__ CUtensorMap src_map, const __grid_constant__ CUtensorMap dst_map, int32_t M,
         int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    double* const ring = reinterpret_cast<double*>(shared);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 8192);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 8200);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(src_map);
        prefetch_tensormap(dst_map);
        mbarrier_init(full, 1);
        mbarrier_init(empty, 1);
        fence_mbarrier_init();
    }
    __syncthreads();

    // producer: warp 0
    if (threadIdx.x / 32 == 0) {
        if (elect_one()) {
            const int64_t trips = ((((int64_t(M) + 15) >> 4) * ((int64_t(N) + 63) >> 6) + block_x
                                    + 1) >> 1) - block_x;
            for (int64_t i = 0; i < trips; ++i) {
                mbarrier_wait(empty, (i + 1) & 1);
                mbarrier_arrive_expect_tx(full, 8192);
                tma_load_2d(ring, src_map, 64 * ((block_x + 2 * i) % ((int64_t(N) + 63) >> 6)),
                            16 * ((block_x + 2 * i) / ((int64_t(N) + 63) >> 6)), full);
            }
        }
    }

    // consumer: warp 1
    if (threadIdx.x / 32 == 1) {
        const int thread = threadIdx.x - 32;
        if (elect_one()) {
            const int64_t trips1 = ((((int64_t(M) + 15) >> 4) * ((int64_t(N) + 63) >> 6) + block_x
                                     + 1) >> 1) - block_x;
            for (int64_t i = 0; i < trips1; ++i) {
                mbarrier_wait(full, i & 1);
                tma_store_2d(dst_map, 64 * ((block_x + 2 * i) % ((int64_t(N) + 63) >> 6)),
                             16 * ((block_x + 2 * i) / ((int64_t(N) + 63) >> 6)), ring);
                bulk_commit_group();
                bulk_wait_group_read<0>();
                mbarrier_arrive(empty);
            }
            bulk_wait_group<0>();
        }
    }
}
