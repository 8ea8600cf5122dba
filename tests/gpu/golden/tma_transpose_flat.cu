// kernel tma_transpose(M, N)
//   grid (2,), 160 threads
//   result dst(n,m) = src(m,n)
// digest d4b94343239b39b53b75f4531864f3ac4ec0a0f6d4a52e895a1af83adb3400ea
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(160)
tma_transpose(const __grid_constant__ CUtensorMap src_map, const __grid_constant__ CUtensorMap dst_map, int32_t M,
              int32_t N) {
    extern __shared__ __align__(1024) uint8_t shared[];
    float* const ring = reinterpret_cast<float*>(shared);
    float* const turned = reinterpret_cast<float*>(shared + 24576);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 32768);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 32792);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(src_map);
        prefetch_tensormap(dst_map);
        for (int i = 0; i < 3; ++i) mbarrier_init(full + i, 1);
        for (int i = 0; i < 3; ++i) mbarrier_init(empty + i, 4);
        fence_mbarrier_init();
    }
    __syncthreads();

    // consumer: warps 0 to 3
    if (threadIdx.x / 32 <= 3) {
        alignas(16) float x[4];
        const int64_t trips = ((((int64_t(M) + 31) >> 5) * ((int64_t(N) + 63) >> 6) + block_x + 1) >> 1) - block_x;
        int slot = 0, phase = 0;
        for (int64_t i = 0; i < trips; ++i) {
            if (thread < 32 && elect_one()) {
                bulk_wait_group_read<0>();
            }
            barrier_sync(1, 128);
            mbarrier_wait(full + slot, phase);
            for (int j = 0; j < 4; ++j) {
                vector<16>(x) = vector<16>(ring + 2048 * slot + 16 * j + 64 * thread - 2044 * (thread >> 5));
                #pragma unroll
                for (int q = 0; q < 4; ++q) {
                    vector<4>(turned + 512 * j + 32 * q + thread + 96 * (thread >> 5)) = vector<4>(x + q);
                }
            }
            __syncwarp();
            if (elect_one()) {
                mbarrier_arrive(empty + slot);
            }
            fence_proxy_async();
            barrier_sync(1, 128);
            if (thread < 32 && elect_one()) {
                tma_store_2d(dst_map, 32 * ((block_x + 2 * i) % ((int64_t(M) + 31) >> 5)),
                             64 * ((block_x + 2 * i) / ((int64_t(M) + 31) >> 5)), turned);
                bulk_commit_group();
            }
            if (++slot == 3) {
                slot = 0;
                phase ^= 1;
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
            const int64_t trips1 = ((((int64_t(M) + 31) >> 5) * ((int64_t(N) + 63) >> 6) + block_x
                                     + 1) >> 1) - block_x;
            int slot = 0, phase = 0;
            for (int64_t i = 0; i < trips1; ++i) {
                mbarrier_wait(empty + slot, phase ^ 1);
                mbarrier_arrive_expect_tx(full + slot, 8192);
                tma_load_2d(ring + 2048 * slot, src_map, 64 * ((block_x + 2 * i) / ((int64_t(M) + 31) >> 5)),
                            32 * ((block_x + 2 * i) % ((int64_t(M) + 31) >> 5)), full + slot);
                if (++slot == 3) {
                    slot = 0;
                    phase ^= 1;
                }
            }
        }
    }
}
