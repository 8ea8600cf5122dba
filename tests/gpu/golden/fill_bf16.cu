// kernel fill(N)
//   grid (ceil(N/1024),), 32 threads
//   result dst(i) = value
// digest 1a33503650bdab06f8867ea0dddbf2ad2b814a41bc7c625dc3ebf5b79a2706dd
// assumed: the base of dst is a multiple of 16 bytes
extern "C" __global__ void __launch_bounds__(32)
fill(__nv_bfloat16* __restrict__ dst, __nv_bfloat16 value, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) __nv_bfloat16 x[8];
    #pragma unroll
    for (int e = 0; e < 8; ++e) x[e] = value;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int at = 1024 * block_x + 8 * thread + 256 * v;
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
