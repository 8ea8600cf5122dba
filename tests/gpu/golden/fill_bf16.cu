// kernel fill(N)
//   grid (ceil(N/256),), 32 threads
//   result dst(i) = value
// digest 5be596b1ee13f5c35fa5ca6755db0a39ee8246fd4074f0c769bea6a9cfbbd2be
// assumed: the base of dst is a multiple of 16 bytes
extern "C" __global__ void __launch_bounds__(32)
fill(__nv_bfloat16* __restrict__ dst, __nv_bfloat16 value, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) __nv_bfloat16 x[8];
    const int first = 256 * block_x + 8 * thread;
    #pragma unroll
    for (int e = 0; e < 8; ++e) x[e] = value;
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
