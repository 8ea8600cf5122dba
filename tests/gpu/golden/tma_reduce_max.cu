// kernel tma_reduce_max(S, M, N)
//   grid (2,), 64 threads
//   given N % 4 == 0
//   result dst(m,n) = max(dst(m,n), greatest over s < S of src(s,m,n))
// digest d37c379e27b4a30cf251229600bf4455b45d373314394c657eebaf2aa741ae65
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(64)
tma_reduce_max(const __grid_constant__ CUtensorMap src_map, const __grid_constant__ CUtensorMap dst_map, int32_t S,
               int32_t M, int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    int32_t* const ring = reinterpret_cast<int32_t*>(shared);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 4096);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 4112);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(src_map);
        prefetch_tensormap(dst_map);
        for (int i = 0; i < 2; ++i) mbarrier_init(full + i, 1);
        for (int i = 0; i < 2; ++i) mbarrier_init(empty + i, 1);
        fence_mbarrier_init();
    }
    __syncthreads();

    // producer: warp 0
    if (threadIdx.x / 32 == 0) {
        if (elect_one()) {
            const int64_t trips = ((S * ((int64_t(N) + 63) >> 6) * ((int64_t(M) + 7) >> 3) + block_x
                                    + 1) >> 1) - block_x;
            for (int64_t i = 0; i < trips; ++i) {
                const int64_t load = block_x + 2 * i;
                mbarrier_wait(empty + (i & 1), ((i >> 1) + 1) & 1);
                mbarrier_arrive_expect_tx(full + (i & 1), 2048);
                tma_load_3d(ring + 512 * (i & 1), src_map, 64 * (load % ((int64_t(N) + 63) >> 6)),
                            8 * (load / ((int64_t(N) + 63) >> 6) % ((int64_t(M) + 7) >> 3)),
                            load / (((int64_t(N) + 63) >> 6) * ((int64_t(M) + 7) >> 3)), full + (i & 1));
            }
        }
    }

    // consumer: warp 1
    if (threadIdx.x / 32 == 1) {
        const int thread = threadIdx.x - 32;
        if (elect_one()) {
            const int64_t trips1 = ((S * ((int64_t(N) + 63) >> 6) * ((int64_t(M) + 7) >> 3) + block_x
                                     + 1) >> 1) - block_x;
            for (int64_t i = 0; i < trips1; ++i) {
                const int64_t update = block_x + 2 * i;
                mbarrier_wait(full + (i & 1), (i >> 1) & 1);
                tma_reduce_max_2d(dst_map, 64 * (update % ((int64_t(N) + 63) >> 6)),
                                  8 * (update / ((int64_t(N) + 63) >> 6) % ((int64_t(M) + 7) >> 3)),
                                  ring + 512 * (i & 1));
                bulk_commit_group();
                bulk_wait_group_read<0>();
                mbarrier_arrive(empty + (i & 1));
            }
            bulk_wait_group<0>();
        }
    }
}
