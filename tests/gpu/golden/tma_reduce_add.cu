// kernel tma_reduce_add(S, M, N)
//   grid (3,), 64 threads
//   given N % 4 == 0
//   result dst(m,n) = add(dst(m,n), sum over s < S of src(s,m,n))
// digest 038272f53ab12581e3d30820e9bba5b894988233f7ccf66c7fe90c2a656b95e8
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(64)
tma_reduce_add(const __grid_constant__ CUtensorMap src_map, const __grid_constant__ CUtensorMap dst_map, int32_t S,
               int32_t M, int32_t N) {
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
            const int64_t trips = (S * ((int64_t(M) + 15) >> 4) * ((int64_t(N) + 63) >> 6) + 2 * block_x
                                   + 2) / 3 - block_x;
            int slot = 0, phase = 0;
            for (int64_t i = 0; i < trips; ++i) {
                const int64_t load = block_x + 3 * i;
                mbarrier_wait(empty + slot, phase ^ 1);
                mbarrier_arrive_expect_tx(full + slot, 4096);
                tma_load_3d(ring + 1024 * slot, src_map, 64 * (load % ((int64_t(N) + 63) >> 6)),
                            16 * (load / ((int64_t(N) + 63) >> 6) % ((int64_t(M) + 15) >> 4)),
                            load / (((int64_t(M) + 15) >> 4) * ((int64_t(N) + 63) >> 6)), full + slot);
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
            const int64_t trips1 = (S * ((int64_t(M) + 15) >> 4) * ((int64_t(N) + 63) >> 6) + 2 * block_x
                                    + 2) / 3 - block_x;
            int slot = 0, phase = 0;
            for (int64_t i = 0; i < trips1; ++i) {
                const int64_t update = block_x + 3 * i;
                mbarrier_wait(full + slot, phase);
                tma_reduce_add_2d(dst_map, 64 * (update % ((int64_t(N) + 63) >> 6)),
                                  16 * (update / ((int64_t(N) + 63) >> 6) % ((int64_t(M) + 15) >> 4)),
                                  ring + 1024 * slot);
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
