// kernel clear(N)
//   grid (ceil(N/1024),), 128 threads
//   result dst(i) = 0
// digest dfd4614b750cc7461f9ada15c089b2527c5de497dffd51999b85d36d633f4acc
// assumed: the base of dst is a multiple of 16 bytes
extern "C" __global__ void __launch_bounds__(128)
clear(__half* __restrict__ dst, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) __half x[8];
    const int first = 1024 * block_x + 8 * thread;
    #pragma unroll
    for (int e = 0; e < 8; ++e) x[e] = __half(0.0f);
    if (N >= int64_t(first) + 8) {
        vector<16>(dst + first) = vector<16>(x);
    }
    if (first + 7 >= N) {
        for (int j = 0; j < 8; ++j) {
            if (N > first + j) {
                vector<2>(dst + first + j) = vector<2>(x);
            }
        }
    }
}
