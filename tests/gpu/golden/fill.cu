// kernel fill(N)
//   grid (ceil(N/512),), 128 threads
//   result dst(i) = value
// digest 1c8adcdc0fbfbb488f5e5ab3c93ae5db0a65b02bbd762551690d9ac30b050100
// assumed: the base of dst is a multiple of 16 bytes
extern "C" __global__ void __launch_bounds__(128)
fill(float* __restrict__ dst, float value, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) float x[4];
    const int first = 512 * block_x + 4 * thread;
    #pragma unroll
    for (int e = 0; e < 4; ++e) x[e] = value;
    if (N >= int64_t(first) + 4) {
        vector<16>(dst + first) = vector<16>(x);
    }
    if (first + 3 >= N) {
        for (int j = 0; j < 4; ++j) {
            if (N > first + j) {
                vector<4>(dst + first + j) = vector<4>(x);
            }
        }
    }
}
