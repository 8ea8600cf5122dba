// kernel row_max(M, N, ld(at_least=N))
//   grid (M,), 32 threads
//   result dst(m) = greatest over n < N of src(m,n)
// digest 666c6341ba1c5cb0b26b163d743cd450ca9436f783ef28a0d5050e6d27012fe1
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(32)
row_max(const float* __restrict__ src, float* __restrict__ dst, int32_t M, int32_t N, int32_t ld) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) float x[4];
    alignas(16) float part[4];
    alignas(16) float total[1];
    const int row = block_x + (thread >> 5);
    const int lane = thread & 31;
    #pragma unroll
    for (int e = 0; e < 4; ++e) part[e] = __uint_as_float(0xff800000);
    const int trips = int((int64_t(N) + 127) >> 7);
    for (int j = 0; j < trips; ++j) {
        const int column = 128 * j + 4 * lane;
        if (M > row && N >= int64_t(column) + 4) {
            vector<16>(x) = vector<16>(src + int64_t(ld) * row + column);
            #pragma unroll
            for (int e = 0; e < 4; ++e) part[e] = fmaxf(part[e], x[e]);
        }
        if (M > row && column + 3 >= N) {
            #pragma unroll
            for (int q = 0; q < 4; ++q) {
                if (N > column + q) {
                    vector<4>(x + q) = vector<4>(src + int64_t(ld) * row + column + q);
                    part[q] = fmaxf(part[q], x[q]);
                }
            }
        }
    }
    {
        float folded = part[0];
        #pragma unroll
        for (int e = 1; e < 4; ++e) folded = fmaxf(folded, part[e]);
        #pragma unroll
        for (int far = 16; far > 0; far /= 2) folded = fmaxf(folded, __shfl_xor_sync(0xffffffff, folded, far));
        total[0] = folded;
    }
    if (lane <= 0 && M > row) {
        vector<4>(dst + row) = vector<4>(total);
    }
}
