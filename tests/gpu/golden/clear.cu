// kernel clear(N)
//   grid (ceil(N/4096),), 128 threads
//   result dst(i) = 0
// digest 2535a0a45b5eeab100734e444e41c5e7faf4d138ee3e76f39e0487b082838b4c
// assumed: the base of dst is a multiple of 16 bytes
extern "C" __global__ void __launch_bounds__(128)
clear(__half* __restrict__ dst, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) __half x[8];
    #pragma unroll
    for (int e = 0; e < 8; ++e) x[e] = __half(0.0f);
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int at = 4096 * block_x + 8 * thread + 1024 * v;
        if (N >= int64_t(at) + 8) {
            vector<16>(dst + at) = vector<16>(x);
        }
        if (at + 7 >= N) {
            for (int j = 0; j < 8; ++j) {
                if (N > at + j) {
                    vector<2>(dst + at + j) = vector<2>(x);
                }
            }
        }
    }
}
