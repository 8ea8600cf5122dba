// kernel vector_copy(N)
//   grid (ceil(N/256),), 64 threads
//   result dst(i) = src(i)
// digest cd94e2f165a5f181a2913f925c02871fe7baaf57d60a1a24fc13088d3c67d9f4
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(64)
vector_copy(const __nv_bfloat16* __restrict__ src, __nv_bfloat16* __restrict__ dst, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) __nv_bfloat16 x[4];
    if (N >= int64_t(256 * block_x + 4 * thread) + 4) {
        vector<8>(x) = vector<8>(src + 256 * block_x + 4 * thread);
        vector<8>(dst + 256 * block_x + 4 * thread) = vector<8>(x);
    }
    if (256 * block_x + 4 * thread + 3 >= N) {
        for (int j = 0; j < 4; ++j) {
            if (N > 256 * block_x + j + 4 * thread) {
                vector<2>(x) = vector<2>(src + 256 * block_x + j + 4 * thread);
                vector<2>(dst + 256 * block_x + j + 4 * thread) = vector<2>(x);
            }
        }
    }
}
