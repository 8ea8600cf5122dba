// kernel fill(N)
//   grid (ceil(N/2048),), 128 threads
//   result dst(i) = value
// digest 6d8ce76ca7aded841e27973dc7bd0657e546ec011ded93a7b6305b98a75133e0
// assumed: the base of dst is a multiple of 16 bytes
extern "C" __global__ void __launch_bounds__(128)
fill(float* __restrict__ dst, float value, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) float x[4];
    #pragma unroll
    for (int e = 0; e < 4; ++e) x[e] = value;
    #pragma unroll
    for (int v = 0; v < 4; ++v) {
        const int at = 2048 * block_x + 4 * thread + 512 * v;
        if (N >= int64_t(at) + 4) {
            vector<16>(dst + at) = vector<16>(x);
        }
        if (at + 3 >= N) {
            for (int j = 0; j < 4; ++j) {
                if (N > at + j) {
                    vector<4>(dst + at + j) = vector<4>(x);
                }
            }
        }
    }
}
