// kernel tma_transpose(M, N)
//   grid (3,), 160 threads
//   result dst(n,m) = src(m,n)
// digest 888ae0550112e1ec833395e3bc5202b68f6059088927e4e805daa54579684648
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(160)
tma_transpose(const __grid_constant__ CUtensorMap src_map, const __grid_constant__ CUtensorMap dst_map, int32_t M,
              int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    __nv_bfloat16* const ring = reinterpret_cast<__nv_bfloat16*>(shared);
    __nv_bfloat16* const turned = reinterpret_cast<__nv_bfloat16*>(shared + 16384);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 24576);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 24592);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(src_map);
        prefetch_tensormap(dst_map);
        for (int i = 0; i < 2; ++i) mbarrier_init(full + i, 1);
        for (int i = 0; i < 2; ++i) mbarrier_init(empty + i, 4);
        fence_mbarrier_init();
    }
    __syncthreads();

    // consumer: warps 0 to 3
    if (threadIdx.x / 32 <= 3) {
        alignas(16) __nv_bfloat16 x[8];
        const int64_t trips = (((int64_t(M) + 63) >> 6) * ((int64_t(N) + 63) >> 6) + 2 * block_x + 2) / 3 - block_x;
        for (int64_t i = 0; i < trips; ++i) {
            if (thread < 32 && elect_one()) {
                bulk_wait_group_read<0>();
            }
            barrier_sync(1, 128);
            mbarrier_wait(full + (i & 1), (i >> 1) & 1);
            for (int j = 0; j < 4; ++j) {
                vector<16>(x) = vector<16>(ring + 4096 * (i & 1) - 4096 * (thread >> 6) + ((16 * j + 64 * thread
                    + 8 * (thread >> 6)) ^ (8 * ((thread + ((2 * j + (thread >> 6)) >> 3)) & 7))));
                #pragma unroll
                for (int q = 0; q < 8; ++q) {
                    vector<2>(turned + 1024 * j
                              + ((64 * q + thread + 448 * (thread >> 6)) ^ (8 * (q & 7)))) = vector<2>(x + q);
                }
            }
            __syncwarp();
            if (elect_one()) {
                mbarrier_arrive(empty + (i & 1));
            }
            fence_proxy_async();
            barrier_sync(1, 128);
            if (thread < 32 && elect_one()) {
                tma_store_2d(dst_map, 64 * ((block_x + 3 * i) % ((int64_t(M) + 63) >> 6)),
                             64 * ((block_x + 3 * i) / ((int64_t(M) + 63) >> 6)), turned);
                bulk_commit_group();
            }
        }
        if (thread < 32 && elect_one()) {
            bulk_wait_group<0>();
        }
    }

    // producer: warp 4
    if (threadIdx.x / 32 == 4) {
        const int thread = threadIdx.x - 128;
        if (elect_one()) {
            const int64_t trips1 = (((int64_t(M) + 63) >> 6) * ((int64_t(N) + 63) >> 6) + 2 * block_x
                                    + 2) / 3 - block_x;
            for (int64_t i = 0; i < trips1; ++i) {
                mbarrier_wait(empty + (i & 1), ((i >> 1) + 1) & 1);
                mbarrier_arrive_expect_tx(full + (i & 1), 8192);
                tma_load_2d(ring + 4096 * (i & 1), src_map, 64 * ((block_x + 3 * i) / ((int64_t(M) + 63) >> 6)),
                            64 * ((block_x + 3 * i) % ((int64_t(M) + 63) >> 6)), full + (i & 1));
            }
        }
    }
}
