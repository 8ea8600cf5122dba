// kernel axpby(N)
//   grid (ceil(N/512),), 128 threads
//   result dst(i) = fma(alpha, x(i), mul(beta, y(i)))
// digest 4b7aa992c22df6a7cc50c6111c3cc3af066fe8333bca70406b975cf0f3f4f7f8
// assumed: the base of x, y, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with x, y
extern "C" __global__ void __launch_bounds__(128)
axpby(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ dst, float alpha, float beta,
      int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) float a[4];
    alignas(16) float b[4];
    const int first = 512 * block_x + 4 * thread;
    if (N >= int64_t(first) + 4) {
        vector<16>(a) = vector<16>(x + first);
        vector<16>(b) = vector<16>(y + first);
        #pragma unroll
        for (int e = 0; e < 4; ++e) b[e] = __fmul_rn(beta, b[e]);
        #pragma unroll
        for (int e = 0; e < 4; ++e) b[e] = __fmaf_rn(alpha, a[e], b[e]);
        vector<16>(dst + first) = vector<16>(b);
    }
    if (first + 3 >= N) {
        for (int j = 0; j < 4; ++j) {
            if (N > first + j) {
                vector<4>(a) = vector<4>(x + first + j);
                vector<4>(b) = vector<4>(y + first + j);
                b[0] = __fmul_rn(beta, b[0]);
                b[0] = __fmaf_rn(alpha, a[0], b[0]);
                vector<4>(dst + first + j) = vector<4>(b);
            }
        }
    }
}
