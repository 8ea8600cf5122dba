// kernel tensor_axpby(M(at_most=1048576), N(at_most=1048576), ld(at_least=N))
//   grid (ceil(N/64),ceil(M/32)), 256 threads
//   result dst(m,n) = fma(alpha, x(m,n), mul(beta, y(m,n)))
// digest 5a2fdd5fad698b36352d4aa824b6103b04b1fc0b184789d1a72f3c6a5c70e25b
// assumed: the base of x, y, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with x, y
extern "C" __global__ void __launch_bounds__(256)
tensor_axpby(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ dst, float alpha,
             float beta, int32_t M, int32_t N, int32_t ld) {
    const int block_x = blockIdx.x;
    const int block_y = blockIdx.y;
    const int thread = threadIdx.x;
    alignas(16) float of_x[8];
    alignas(16) float of_y[8];
    const int m = 32 * block_y;
    const int n = 64 * block_x;
    #pragma unroll
    for (int e = 0; e < 8; ++e) of_x[e] = 0.0f;
    #pragma unroll
    for (int copy_0 = 0; copy_0 < 4; ++copy_0) {
        #pragma unroll
        for (int copy_1 = 0; copy_1 < 2; ++copy_1) {
            if (M > 8 * copy_0 + m + (thread >> 5) && N > (thread & 31) + 32 * copy_1 + n) {
                vector<4>(of_x + copy_0 + 4 * copy_1) = vector<4>(x + int64_t(8 * copy_0) * ld + int64_t(ld) * m
                          + int64_t(ld) * (thread >> 5) + 32 * copy_1 + n + thread - 32 * (thread >> 5));
            }
        }
    }
    #pragma unroll
    for (int e = 0; e < 8; ++e) of_y[e] = 0.0f;
    #pragma unroll
    for (int copy_0 = 0; copy_0 < 4; ++copy_0) {
        #pragma unroll
        for (int copy_1 = 0; copy_1 < 2; ++copy_1) {
            if (M > 8 * copy_0 + m + (thread >> 5) && N > (thread & 31) + 32 * copy_1 + n) {
                vector<4>(of_y + copy_0 + 4 * copy_1) = vector<4>(y + 32 * M * copy_1 + int64_t(M) * n
                          + M * thread - 32 * M * (thread >> 5) + 8 * copy_0 + m + (thread >> 5));
            }
        }
    }
    #pragma unroll
    for (int e = 0; e < 8; ++e) of_y[e] = __fmul_rn(beta, of_y[e]);
    #pragma unroll
    for (int e = 0; e < 8; ++e) of_y[e] = __fmaf_rn(alpha, of_x[e], of_y[e]);
    #pragma unroll
    for (int copy_0 = 0; copy_0 < 4; ++copy_0) {
        #pragma unroll
        for (int copy_1 = 0; copy_1 < 2; ++copy_1) {
            if (M > 8 * copy_0 + m + (thread >> 5) && N > (thread & 31) + 32 * copy_1 + n) {
                vector<4>(dst + 8 * N * copy_0 + int64_t(N) * m + N * (thread >> 5) + 32 * copy_1 + n
                          + thread - 32 * (thread >> 5)) = vector<4>(of_y + copy_0 + 4 * copy_1);
            }
        }
    }
}
