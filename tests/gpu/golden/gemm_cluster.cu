// kernel gemm(M(at_most=1048576), N(at_most=1048576), K(at_most=1048576))
//   grid (128,) in clusters of (2,), 384 threads, 1 CTA an SM
//   result c(m,n) = sum over k < K of a(m,k)*b(n,k)
// digest c0661ec96ef51c3541e6e64d929e42f17caf97a7d71db3da59521cf5233fa55e
// assumed: the base of a, b, c is a multiple of 16 bytes
// assumed: c, which the kernel writes, shares no byte with a, b
extern "C" __global__ void __launch_bounds__(384, 1) __cluster_dims__(2, 1, 1)
gemm(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map,
     const __grid_constant__ CUtensorMap c_map, int32_t M, int32_t N, int32_t K) {
    extern __shared__ __align__(1024) uint8_t shared[];
    __nv_bfloat16* const stage = reinterpret_cast<__nv_bfloat16*>(shared);
    __nv_bfloat16* const buffer = reinterpret_cast<__nv_bfloat16*>(shared + 196608);
    uint64_t* const full = reinterpret_cast<uint64_t*>(shared + 229376);
    uint64_t* const empty = reinterpret_cast<uint64_t*>(shared + 229408);
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    if (thread < 32 && elect_one()) {
        prefetch_tensormap(a_map);
        prefetch_tensormap(b_map);
        prefetch_tensormap(c_map);
        for (int i = 0; i < 4; ++i) mbarrier_init(full + i, 1);
        for (int i = 0; i < 4; ++i) mbarrier_init(empty + i, 16);
        fence_mbarrier_init();
    }
    cluster_sync();

    // producer: warps 0 to 3
    if (threadIdx.x / 32 <= 3) {
        setmaxnreg_dec<24>();
        if (thread < 32 && elect_one()) {
            const int trips = ((((M + 255) >> 8) * ((N + 255) >> 8) + 63 * (block_x >> 1)
                                + 63) >> 6) - (block_x >> 1);
            for (int wave = 0; wave < trips; ++wave) {
                const int v = (64 * wave + (block_x >> 1)) % (8 * ((N + 255) >> 8));
                const int v1 = (64 * wave + (block_x >> 1)) / (8 * ((N + 255) >> 8));
                const int trips1 = (K + 63) >> 6;
                const int64_t v2 = 256 * floor_mod(v,
                    min(8, ((M + 255) >> 8) - 8 * v1)) + 128 * (block_x & 1) + int64_t(2048) * v1;
                const int v3 = 128 * (block_x & 1) + 256 * floor_div(v, min(8, ((M + 255) >> 8) - 8 * v1));
                for (int i = 0; i < trips1; ++i) {
                    mbarrier_wait(empty + ((wave * trips1 + i) & 3), (((wave * trips1 + i) >> 2) + 1) & 1);
                    mbarrier_arrive_expect_tx(full + ((wave * trips1 + i) & 3), 49152);
                    tma_load_2d(stage + 24576 * ((wave * trips1 + i) & 3), a_map, 64 * i, v2,
                                full + ((wave * trips1 + i) & 3));
                    tma_load_multicast_2d(stage + 24576 * ((wave * trips1 + i) & 3) + 8192 * (block_x & 1) + 8192,
                                          b_map, 64 * i, v3, full + ((wave * trips1 + i) & 3), 3);
                }
            }
        }
    }

    // consumer: warps 4 to 11
    if (threadIdx.x / 32 >= 4) {
        setmaxnreg_inc<240>();
        const int thread = threadIdx.x - 128;
        alignas(16) float acc[128];
        alignas(16) __nv_bfloat16 out[8];
        const int trips2 = ((((M + 255) >> 8) * ((N + 255) >> 8) + 63 * (block_x >> 1) + 63) >> 6) - (block_x >> 1);
        const int v4 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * (((thread >> 4) & 1) ^ (thread & 7));
        const int v5 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * ((((thread >> 4) & 1) + 2) ^ (thread & 7));
        const int v6 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * ((((thread >> 4) & 1) + 4) ^ (thread & 7));
        const int v7 = 64 * (thread & 15) + 2048 * (thread >> 5) + 8 * ((((thread >> 4) & 1) + 6) ^ (thread & 7));
        for (int wave = 0; wave < trips2; ++wave) {
            const int v8 = (64 * wave + (block_x >> 1)) % (8 * ((N + 255) >> 8));
            const int v9 = (64 * wave + (block_x >> 1)) / (8 * ((N + 255) >> 8));
            const int v10 = floor_div(v8, min(8, ((M + 255) >> 8) - 8 * v9));
            const int v11 = floor_mod(v8, min(8, ((M + 255) >> 8) - 8 * v9));
            const int trips3 = (K + 63) >> 6;
            for (int i = 0; i < trips3; ++i) {
                mbarrier_wait(full + ((wave * trips3 + i) & 3), ((wave * trips3 + i) >> 2) & 1);
                wgmma_fence();
                wgmma_m64n256k16_bf16(acc,
                    descriptor<0x4000004000010000>(stage + 24576 * ((wave * trips3 + i) & 3) + 4096 * (thread >> 7)),
                    descriptor<0x4000004000010000>(stage + 24576 * ((wave * trips3 + i) & 3) + 8192), min(1, i));
                wgmma_m64n256k16_bf16(acc, descriptor<0x4000004000010000>(stage + 24576 * ((wave * trips3 + i) & 3)
                                                                + 4096 * (thread >> 7)
                                                                + 16), descriptor<0x4000004000010000>(stage
                                                                + 24576 * ((wave * trips3 + i) & 3) + 8208), 1);
                wgmma_m64n256k16_bf16(acc, descriptor<0x4000004000010000>(stage + 24576 * ((wave * trips3 + i) & 3)
                                                                + 4096 * (thread >> 7)
                                                                + 32), descriptor<0x4000004000010000>(stage
                                                                + 24576 * ((wave * trips3 + i) & 3) + 8224), 1);
                wgmma_m64n256k16_bf16(acc, descriptor<0x4000004000010000>(stage + 24576 * ((wave * trips3 + i) & 3)
                                                                + 4096 * (thread >> 7)
                                                                + 48), descriptor<0x4000004000010000>(stage
                                                                + 24576 * ((wave * trips3 + i) & 3) + 8240), 1);
                wgmma_commit_group();
                wgmma_wait_group<1>();
                if (i > 0) {
                    if (elect_one()) {
                        mbarrier_arrive_at(empty + ((wave * trips3 + i + 3) & 3), 0);
                        mbarrier_arrive_at(empty + ((wave * trips3 + i + 3) & 3), 1);
                    }
                }
            }
            wgmma_wait_group<0>();
            settled(acc);
            if (elect_one()) {
                mbarrier_arrive_at(empty + ((wave * ((K + 63) >> 6) + ((K + 63) >> 6) + 3) & 3), 0);
                mbarrier_arrive_at(empty + ((wave * ((K + 63) >> 6) + ((K + 63) >> 6) + 3) & 3), 1);
            }
            if (elect_one()) {
                bulk_wait_group_read<1>();
            }
            __syncwarp();
            vector<4>(&out[0]) = pack_bf16(acc[0], acc[1]);
            vector<4>(&out[2]) = pack_bf16(acc[2], acc[3]);
            vector<4>(&out[4]) = pack_bf16(acc[4], acc[5]);
            vector<4>(&out[6]) = pack_bf16(acc[6], acc[7]);
            stmatrix_x4(out, buffer + v4);
            vector<4>(&out[0]) = pack_bf16(acc[8], acc[9]);
            vector<4>(&out[2]) = pack_bf16(acc[10], acc[11]);
            vector<4>(&out[4]) = pack_bf16(acc[12], acc[13]);
            vector<4>(&out[6]) = pack_bf16(acc[14], acc[15]);
            stmatrix_x4(out, buffer + v5);
            vector<4>(&out[0]) = pack_bf16(acc[16], acc[17]);
            vector<4>(&out[2]) = pack_bf16(acc[18], acc[19]);
            vector<4>(&out[4]) = pack_bf16(acc[20], acc[21]);
            vector<4>(&out[6]) = pack_bf16(acc[22], acc[23]);
            stmatrix_x4(out, buffer + v6);
            vector<4>(&out[0]) = pack_bf16(acc[24], acc[25]);
            vector<4>(&out[2]) = pack_bf16(acc[26], acc[27]);
            vector<4>(&out[4]) = pack_bf16(acc[28], acc[29]);
            vector<4>(&out[6]) = pack_bf16(acc[30], acc[31]);
            stmatrix_x4(out, buffer + v7);
            fence_proxy_async();
            __syncwarp();
            if (elect_one()) {
                tma_store_2d(c_map, 256 * v10,
                             256 * v11 + 128 * (block_x & 1) + int64_t(2048) * v9 + 16 * (thread >> 5),
                             buffer + 2048 * (thread >> 5));
                bulk_commit_group();
            }
            if (elect_one()) {
                bulk_wait_group_read<1>();
            }
            __syncwarp();
            vector<4>(&out[0]) = pack_bf16(acc[32], acc[33]);
            vector<4>(&out[2]) = pack_bf16(acc[34], acc[35]);
            vector<4>(&out[4]) = pack_bf16(acc[36], acc[37]);
            vector<4>(&out[6]) = pack_bf16(acc[38], acc[39]);
            stmatrix_x4(out, buffer + v4 + 1024);
            vector<4>(&out[0]) = pack_bf16(acc[40], acc[41]);
            vector<4>(&out[2]) = pack_bf16(acc[42], acc[43]);
            vector<4>(&out[4]) = pack_bf16(acc[44], acc[45]);
            vector<4>(&out[6]) = pack_bf16(acc[46], acc[47]);
            stmatrix_x4(out, buffer + v5 + 1024);
            vector<4>(&out[0]) = pack_bf16(acc[48], acc[49]);
            vector<4>(&out[2]) = pack_bf16(acc[50], acc[51]);
            vector<4>(&out[4]) = pack_bf16(acc[52], acc[53]);
            vector<4>(&out[6]) = pack_bf16(acc[54], acc[55]);
            stmatrix_x4(out, buffer + v6 + 1024);
            vector<4>(&out[0]) = pack_bf16(acc[56], acc[57]);
            vector<4>(&out[2]) = pack_bf16(acc[58], acc[59]);
            vector<4>(&out[4]) = pack_bf16(acc[60], acc[61]);
            vector<4>(&out[6]) = pack_bf16(acc[62], acc[63]);
            stmatrix_x4(out, buffer + v7 + 1024);
            fence_proxy_async();
            __syncwarp();
            if (elect_one()) {
                tma_store_2d(c_map, 256 * v10 + 64,
                             256 * v11 + 128 * (block_x & 1) + int64_t(2048) * v9 + 16 * (thread >> 5),
                             buffer + 2048 * (thread >> 5) + 1024);
                bulk_commit_group();
            }
            if (elect_one()) {
                bulk_wait_group_read<1>();
            }
            __syncwarp();
            vector<4>(&out[0]) = pack_bf16(acc[64], acc[65]);
            vector<4>(&out[2]) = pack_bf16(acc[66], acc[67]);
            vector<4>(&out[4]) = pack_bf16(acc[68], acc[69]);
            vector<4>(&out[6]) = pack_bf16(acc[70], acc[71]);
            stmatrix_x4(out, buffer + v4);
            vector<4>(&out[0]) = pack_bf16(acc[72], acc[73]);
            vector<4>(&out[2]) = pack_bf16(acc[74], acc[75]);
            vector<4>(&out[4]) = pack_bf16(acc[76], acc[77]);
            vector<4>(&out[6]) = pack_bf16(acc[78], acc[79]);
            stmatrix_x4(out, buffer + v5);
            vector<4>(&out[0]) = pack_bf16(acc[80], acc[81]);
            vector<4>(&out[2]) = pack_bf16(acc[82], acc[83]);
            vector<4>(&out[4]) = pack_bf16(acc[84], acc[85]);
            vector<4>(&out[6]) = pack_bf16(acc[86], acc[87]);
            stmatrix_x4(out, buffer + v6);
            vector<4>(&out[0]) = pack_bf16(acc[88], acc[89]);
            vector<4>(&out[2]) = pack_bf16(acc[90], acc[91]);
            vector<4>(&out[4]) = pack_bf16(acc[92], acc[93]);
            vector<4>(&out[6]) = pack_bf16(acc[94], acc[95]);
            stmatrix_x4(out, buffer + v7);
            fence_proxy_async();
            __syncwarp();
            if (elect_one()) {
                tma_store_2d(c_map, 256 * v10 + 128,
                             256 * v11 + 128 * (block_x & 1) + int64_t(2048) * v9 + 16 * (thread >> 5),
                             buffer + 2048 * (thread >> 5));
                bulk_commit_group();
            }
            if (elect_one()) {
                bulk_wait_group_read<1>();
            }
            __syncwarp();
            vector<4>(&out[0]) = pack_bf16(acc[96], acc[97]);
            vector<4>(&out[2]) = pack_bf16(acc[98], acc[99]);
            vector<4>(&out[4]) = pack_bf16(acc[100], acc[101]);
            vector<4>(&out[6]) = pack_bf16(acc[102], acc[103]);
            stmatrix_x4(out, buffer + v4 + 1024);
            vector<4>(&out[0]) = pack_bf16(acc[104], acc[105]);
            vector<4>(&out[2]) = pack_bf16(acc[106], acc[107]);
            vector<4>(&out[4]) = pack_bf16(acc[108], acc[109]);
            vector<4>(&out[6]) = pack_bf16(acc[110], acc[111]);
            stmatrix_x4(out, buffer + v5 + 1024);
            vector<4>(&out[0]) = pack_bf16(acc[112], acc[113]);
            vector<4>(&out[2]) = pack_bf16(acc[114], acc[115]);
            vector<4>(&out[4]) = pack_bf16(acc[116], acc[117]);
            vector<4>(&out[6]) = pack_bf16(acc[118], acc[119]);
            stmatrix_x4(out, buffer + v6 + 1024);
            vector<4>(&out[0]) = pack_bf16(acc[120], acc[121]);
            vector<4>(&out[2]) = pack_bf16(acc[122], acc[123]);
            vector<4>(&out[4]) = pack_bf16(acc[124], acc[125]);
            vector<4>(&out[6]) = pack_bf16(acc[126], acc[127]);
            stmatrix_x4(out, buffer + v7 + 1024);
            fence_proxy_async();
            __syncwarp();
            if (elect_one()) {
                tma_store_2d(c_map, 256 * v10 + 192,
                             256 * v11 + 128 * (block_x & 1) + int64_t(2048) * v9 + 16 * (thread >> 5),
                             buffer + 2048 * (thread >> 5) + 1024);
                bulk_commit_group();
            }
        }
        if (elect_one()) {
            bulk_wait_group<0>();
        }
    }
    cluster_sync();
}
