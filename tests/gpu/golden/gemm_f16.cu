// kernel gemm(M(at_most=1048576), N(at_most=1048576), K(at_most=1048576))
//   grid (128,), 256 threads, 1 CTA an SM
//   result c(m,n) = sum over k < K of a(m,k)*b(n,k)
// digest 8e5f4292a335970380e5e3e7128e505f3a057dd618eb2bf5f90e68833795b8fe
// assumed: the base of a, b, c is a multiple of 16 bytes
// assumed: c, which the kernel writes, shares no byte with a, b
extern "C" __global__ void __launch_bounds__(256, 1)
gemm(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
     const __grid_constant__ CUtensorMap c_map, int32_t M, int32_t N, int32_t K) {
    extern __shared__ __align__(1024) uint8_t shared[];
    __half* const stage = reinterpret_cast<__half*>(shared);
    __half* const buffer = reinterpret_cast<__half*>(shared + 73728);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 90112);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 90136);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(a_map);
        prefetch_tensormap(b_map);
        prefetch_tensormap(c_map);
        for (int i = 0; i < 3; ++i) mbarrier_init(full + i, 1);
        for (int i = 0; i < 3; ++i) mbarrier_init(empty + i, 4);
        fence_mbarrier_init();
    }
    __syncthreads();

    // producer: warps 0 to 3
    if (threadIdx.x / 32 <= 3) {
        setmaxnreg_dec<24>();
        if (thread < 32 && elect_one()) {
            const int trips = ((((N + 127) >> 7) * ((M + 63) >> 6) + 127 * block_x + 127) >> 7) - block_x;
            int slot = 0, phase = 0;
            for (int wave = 0; wave < trips; ++wave) {
                const int v = (block_x + 128 * wave) % (8 * ((N + 127) >> 7));
                const int v1 = (block_x + 128 * wave) / (8 * ((N + 127) >> 7));
                const int trips1 = (K + 63) >> 6;
                const int64_t v2 = 64 * (v % min(8, ((M + 63) >> 6) - 8 * v1)) + int64_t(512) * v1;
                const int v3 = 128 * (v / min(8, ((M + 63) >> 6) - 8 * v1));
                for (int i = 0; i < trips1; ++i) {
                    mbarrier_wait(empty + slot, phase ^ 1);
                    mbarrier_arrive_expect_tx(full + slot, 24576);
                    tma_load_2d(stage + 12288 * slot, a_map, 64 * i, v2, full + slot);
                    tma_load_2d(stage + 12288 * slot + 4096, b_map, 64 * i, v3, full + slot);
                    if (++slot == 3) {
                        slot = 0;
                        phase ^= 1;
                    }
                }
            }
        }
    }

    // consumer: warps 4 to 7
    if (threadIdx.x / 32 >= 4) {
        setmaxnreg_dec<240>();
        const int thread = threadIdx.x - 128;
        alignas(16) float acc[64];
        alignas(16) __half out[8];
        const int trips2 = ((((N + 127) >> 7) * ((M + 63) >> 6) + 127 * block_x + 127) >> 7) - block_x;
        const int v4 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * (((thread >> 4) & 1) ^ (thread & 7));
        const int v5 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * ((((thread >> 4) & 1) + 2) ^ (thread & 7));
        const int v6 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * ((((thread >> 4) & 1) + 4) ^ (thread & 7));
        const int v7 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * ((((thread >> 4) & 1) + 6) ^ (thread & 7));
        int slot = 0, phase = 0, slot1 = 2;
        for (int wave = 0; wave < trips2; ++wave) {
            const int v8 = (block_x + 128 * wave) % (8 * ((N + 127) >> 7));
            const int v9 = (block_x + 128 * wave) / (8 * ((N + 127) >> 7));
            const int v10 = v8 / min(8, ((M + 63) >> 6) - 8 * v9);
            const int v11 = v8 % min(8, ((M + 63) >> 6) - 8 * v9);
            const int trips3 = (K + 63) >> 6;
            for (int i = 0; i < trips3; ++i) {
                mbarrier_wait(full + slot, phase);
                wgmma_fence();
                wgmma_m64n128k16_f16(acc, descriptor<0x4000004000010000>(stage + 12288 * slot + 4096 * (thread >> 7)),
                                     descriptor<0x4000004000010000>(stage + 12288 * slot + 4096), min(1, i));
                wgmma_m64n128k16_f16(acc,
                                     descriptor<0x4000004000010000>(stage + 12288 * slot + 4096 * (thread >> 7) + 16),
                                     descriptor<0x4000004000010000>(stage + 12288 * slot + 4112), 1);
                wgmma_m64n128k16_f16(acc,
                                     descriptor<0x4000004000010000>(stage + 12288 * slot + 4096 * (thread >> 7) + 32),
                                     descriptor<0x4000004000010000>(stage + 12288 * slot + 4128), 1);
                wgmma_m64n128k16_f16(acc,
                                     descriptor<0x4000004000010000>(stage + 12288 * slot + 4096 * (thread >> 7) + 48),
                                     descriptor<0x4000004000010000>(stage + 12288 * slot + 4144), 1);
                wgmma_commit_group();
                wgmma_wait_group<1>();
                if (i > 0) {
                    if (elect_one()) {
                        mbarrier_arrive(empty + slot1);
                    }
                }
                slot1 = slot;
                if (++slot == 3) {
                    slot = 0;
                    phase ^= 1;
                }
            }
            wgmma_wait_group<0>();
            settled(acc);
            if (elect_one()) {
                mbarrier_arrive(empty + slot1);
            }
            if (elect_one()) {
                bulk_wait_group_read<1>();
            }
            __syncwarp();
            vector<4>(&out[0]) = pack_f16(acc[0], acc[1]);
            vector<4>(&out[2]) = pack_f16(acc[2], acc[3]);
            vector<4>(&out[4]) = pack_f16(acc[4], acc[5]);
            vector<4>(&out[6]) = pack_f16(acc[6], acc[7]);
            stmatrix_x4(out, buffer + v4);
            vector<4>(&out[0]) = pack_f16(acc[8], acc[9]);
            vector<4>(&out[2]) = pack_f16(acc[10], acc[11]);
            vector<4>(&out[4]) = pack_f16(acc[12], acc[13]);
            vector<4>(&out[6]) = pack_f16(acc[14], acc[15]);
            stmatrix_x4(out, buffer + v5);
            vector<4>(&out[0]) = pack_f16(acc[16], acc[17]);
            vector<4>(&out[2]) = pack_f16(acc[18], acc[19]);
            vector<4>(&out[4]) = pack_f16(acc[20], acc[21]);
            vector<4>(&out[6]) = pack_f16(acc[22], acc[23]);
            stmatrix_x4(out, buffer + v6);
            vector<4>(&out[0]) = pack_f16(acc[24], acc[25]);
            vector<4>(&out[2]) = pack_f16(acc[26], acc[27]);
            vector<4>(&out[4]) = pack_f16(acc[28], acc[29]);
            vector<4>(&out[6]) = pack_f16(acc[30], acc[31]);
            stmatrix_x4(out, buffer + v7);
            fence_proxy_async();
            __syncwarp();
            if (elect_one()) {
                tma_store_2d(c_map, 128 * v10, 64 * v11 + int64_t(512) * v9 + 16 * (thread >> 5),
                             buffer + 2048 * (thread >> 5));
                bulk_commit_group();
            }
            if (elect_one()) {
                bulk_wait_group_read<1>();
            }
            __syncwarp();
            vector<4>(&out[0]) = pack_f16(acc[32], acc[33]);
            vector<4>(&out[2]) = pack_f16(acc[34], acc[35]);
            vector<4>(&out[4]) = pack_f16(acc[36], acc[37]);
            vector<4>(&out[6]) = pack_f16(acc[38], acc[39]);
            stmatrix_x4(out, buffer + v4 + 1024);
            vector<4>(&out[0]) = pack_f16(acc[40], acc[41]);
            vector<4>(&out[2]) = pack_f16(acc[42], acc[43]);
            vector<4>(&out[4]) = pack_f16(acc[44], acc[45]);
            vector<4>(&out[6]) = pack_f16(acc[46], acc[47]);
            stmatrix_x4(out, buffer + v5 + 1024);
            vector<4>(&out[0]) = pack_f16(acc[48], acc[49]);
            vector<4>(&out[2]) = pack_f16(acc[50], acc[51]);
            vector<4>(&out[4]) = pack_f16(acc[52], acc[53]);
            vector<4>(&out[6]) = pack_f16(acc[54], acc[55]);
            stmatrix_x4(out, buffer + v6 + 1024);
            vector<4>(&out[0]) = pack_f16(acc[56], acc[57]);
            vector<4>(&out[2]) = pack_f16(acc[58], acc[59]);
            vector<4>(&out[4]) = pack_f16(acc[60], acc[61]);
            vector<4>(&out[6]) = pack_f16(acc[62], acc[63]);
            stmatrix_x4(out, buffer + v7 + 1024);
            fence_proxy_async();
            __syncwarp();
            if (elect_one()) {
                tma_store_2d(c_map, 128 * v10 + 64, 64 * v11 + int64_t(512) * v9 + 16 * (thread >> 5),
                             buffer + 2048 * (thread >> 5) + 1024);
                bulk_commit_group();
            }
        }
        if (elect_one()) {
            bulk_wait_group<0>();
        }
    }
}
