// kernel tma_transpose(M, N)
//   grid (2,), 160 threads
//   result dst(n,m) = src(m,n)
// digest c0ab6f5b7a2cae68634a37db795850ef9dc091465e9ec141b8f1834748084ac6
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(160)
tma_transpose(const __grid_constant__ CUtensorMap src_map, const __grid_constant__ CUtensorMap dst_map, int32_t M,
              int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    float* const ring = reinterpret_cast<float*>(shared);
    float* const turned = reinterpret_cast<float*>(shared + 16384);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 32768);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 32776);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(src_map);
        prefetch_tensormap(dst_map);
        mbarrier_init(full, 1);
        mbarrier_init(empty, 4);
        fence_mbarrier_init();
    }
    __syncthreads();

    // consumer: warps 0 to 3
    if (threadIdx.x / 32 <= 3) {
        alignas(16) float x[4];
        const int64_t trips = ((((int64_t(M) + 63) >> 6) * ((int64_t(N) + 63) >> 6) + block_x + 1) >> 1) - block_x;
        for (int64_t i = 0; i < trips; ++i) {
            const int v = int((block_x + 2 * i) % ((int64_t(M) + 63) >> 6));
            const int64_t v1 = (block_x + 2 * i) / ((int64_t(M) + 63) >> 6);
            if (thread < 32 && elect_one()) {
                bulk_wait_group_read<0>();
            }
            barrier_sync(1, 128);
            mbarrier_wait(full, i & 1);
            for (int j = 0; j < 8; ++j) {
                vector<16>(x) = vector<16>(ring + 1792 * ((2 * j
                    + (thread >> 6)) >> 3) - 2048 * (thread >> 6) + ((4 * (thread & 7)) ^ (8 * j + 32 * thread
                    + 224 * ((2 * j + (thread >> 6)) >> 3) + 4 * (thread >> 6))));
                #pragma unroll
                for (int q = 0; q < 4; ++q) {
                    vector<4>(turned + 256 * j + 1792 * (thread >> 5) - 4096 * (thread >> 6) + ((32 * q + thread
                        + 224 * (thread >> 5)
                        + 128 * (thread >> 6)) ^ (4 * ((q + 4 * (thread >> 6)) & 7)))) = vector<4>(x + q);
                }
            }
            __syncwarp();
            if (elect_one()) {
                mbarrier_arrive(empty);
            }
            fence_proxy_async();
            barrier_sync(1, 128);
            if (thread < 32 && elect_one()) {
                tma_store_2d(dst_map, 64 * v, 64 * v1, turned);
                tma_store_2d(dst_map, 64 * v + 32, 64 * v1, turned + 2048);
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
            const int64_t trips1 = ((((int64_t(M) + 63) >> 6) * ((int64_t(N) + 63) >> 6) + block_x
                                     + 1) >> 1) - block_x;
            for (int64_t i = 0; i < trips1; ++i) {
                const int64_t v2 = (block_x + 2 * i) / ((int64_t(M) + 63) >> 6);
                const int v3 = int((block_x + 2 * i) % ((int64_t(M) + 63) >> 6));
                mbarrier_wait(empty, (i + 1) & 1);
                mbarrier_arrive_expect_tx(full, 16384);
                tma_load_2d(ring, src_map, 64 * v2, 64 * v3, full);
                tma_load_2d(ring + 2048, src_map, 64 * v2 + 32, 64 * v3, full);
            }
        }
    }
}
