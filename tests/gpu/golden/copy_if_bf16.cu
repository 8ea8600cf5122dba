// kernel copy_if(M(at_most=1048576), N(at_most=1048576), ld(at_least=N))
//   grid (ceil(N/64),ceil(M/32)), 256 threads
//   result dst(m,n) = src(m,n)
// digest e6c4b4805213480d8d5e7c5377be41d3ce38e2b41d38ec8f00e413f3d1dcc74e
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(256)
copy_if(const __nv_bfloat16* __restrict__ src, __nv_bfloat16* __restrict__ dst, int32_t M, int32_t N, int32_t ld) {
    const int block_x = blockIdx.x;
    const int block_y = blockIdx.y;
    const int thread = threadIdx.x;
    alignas(16) __nv_bfloat16 x[8];
    const int m = 32 * block_y;
    const int n = 64 * block_x;
    #pragma unroll
    for (int copy_0 = 0; copy_0 < 4; ++copy_0) {
        #pragma unroll
        for (int copy_1 = 0; copy_1 < 2; ++copy_1) {
            if (M > 8 * copy_0 + m + (thread >> 5) && N > (thread & 31) + 32 * copy_1 + n) {
                vector<2>(x + copy_0 + 4 * copy_1) = vector<2>(src + int64_t(8 * copy_0) * ld + int64_t(ld) * m
                          + int64_t(ld) * (thread >> 5) + 32 * copy_1 + n + thread - 32 * (thread >> 5));
            }
        }
    }
    #pragma unroll
    for (int copy_0 = 0; copy_0 < 4; ++copy_0) {
        #pragma unroll
        for (int copy_1 = 0; copy_1 < 2; ++copy_1) {
            if (M > 8 * copy_0 + m + (thread >> 5) && N > (thread & 31) + 32 * copy_1 + n) {
                vector<2>(dst + 8 * N * copy_0 + int64_t(N) * m + N * (thread >> 5) + 32 * copy_1 + n
                          + thread - 32 * (thread >> 5)) = vector<2>(x + copy_0 + 4 * copy_1);
            }
        }
    }
}
