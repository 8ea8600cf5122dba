// kernel axpby(N)
//   grid (ceil(N/256),), 32 threads
//   result dst(i) = fma(alpha, x(i), mul(beta, y(i)))
// digest 9ccd341333aa4bd9a349346ed9d572d26ae521ba196d3b13d8ce916c139035ff
// assumed: the base of x, y, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with x, y
extern "C" __global__ void __launch_bounds__(32)
axpby(const __half* __restrict__ x, const __half* __restrict__ y, __half* __restrict__ dst, __half alpha, __half beta,
      int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) __half a[8];
    alignas(16) __half b[8];
    const int first = 256 * block_x + 8 * thread;
    if (N >= int64_t(first) + 8) {
        vector<16>(a) = vector<16>(x + first);
        vector<16>(b) = vector<16>(y + first);
        #pragma unroll
        for (int e = 0; e < 8; ++e) b[e] = __hmul_rn(beta, b[e]);
        #pragma unroll
        for (int e = 0; e < 8; ++e) b[e] = __hfma(alpha, a[e], b[e]);
        vector<16>(dst + first) = vector<16>(b);
    }
    if (first + 7 >= N) {
        for (int j = 0; j < 8; ++j) {
            if (N > first + j) {
                vector<2>(a) = vector<2>(x + first + j);
                vector<2>(b) = vector<2>(y + first + j);
                b[0] = __hmul_rn(beta, b[0]);
                b[0] = __hfma(alpha, a[0], b[0]);
                vector<2>(dst + first + j) = vector<2>(b);
            }
        }
    }
}
