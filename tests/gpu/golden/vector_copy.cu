// kernel vector_copy(N)
//   grid (ceil(N/512),), 128 threads
//   result dst(i) = src(i)
// digest 1b2ce943b509ebdc760efe8e7850baba7383d79051ddc90d3719d0e6b73ae215
// assumed: the base of src, dst is a multiple of 16 bytes
// assumed: dst, which the kernel writes, shares no byte with src
extern "C" __global__ void __launch_bounds__(128)
vector_copy(const float* __restrict__ src, float* __restrict__ dst, int32_t N) {
    const int block_x = blockIdx.x;
    const int thread = threadIdx.x;
    alignas(16) float x[4];
    if (N >= int64_t(512 * block_x + 4 * thread) + 4) {
        vector<16>(x) = vector<16>(src + 512 * block_x + 4 * thread);
        vector<16>(dst + 512 * block_x + 4 * thread) = vector<16>(x);
    }
    if (512 * block_x + 4 * thread + 3 >= N) {
        for (int j = 0; j < 4; ++j) {
            if (N > 512 * block_x + j + 4 * thread) {
                vector<4>(x) = vector<4>(src + 512 * block_x + j + 4 * thread);
                vector<4>(dst + 512 * block_x + j + 4 * thread) = vector<4>(x);
            }
        }
    }
}
