// M31: a launch whose CTAs move one tile each, written as generated code has it and ended after a step: 0 at once, 1 when
// both maps are prefetched, 2 when the mbarriers are there and all have met, 3 when the tile has come, 4 when its store has
// read it, 5 when that is over. *STAMPED* tells how long the consumer took from its first instruction on.
#include "ptx.cuh"

__device__ inline void prefetch(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

template <int STEP, bool STAMPED, bool MAPPED>
__device__ inline void step(const TensorMap* from, const TensorMap* to, const char* src, char* dst, Stamp* out, u32 tiles_x) {
    extern __shared__ __align__(1024) char shared[];
    __shared__ u64 full, empty;
    Stamp s = {};
    if (STAMPED && threadIdx.x / 32 == 1) begin(s);
    if (STEP >= 1) {
        if (threadIdx.x < 32 && elect_one()) {
            if (MAPPED) prefetch(*from), prefetch(*to);
            if (STEP >= 2) {
                mbarrier_init(shared_address(&full), 1), mbarrier_init(shared_address(&empty), 1);
                fence_init();
            }
        }
    }
    if (STEP >= 2) __syncthreads();
    const u32 x = blockIdx.x & ((1u << tiles_x) - 1), y = blockIdx.x >> tiles_x;
    if (STEP >= 3 && threadIdx.x / 32 == 0 && elect_one()) {
        wait(shared_address(&empty), 1);
        expect(shared_address(&full), 4096);
        if (MAPPED) tensor_load(shared_address(shared), *from, 64 * x, 16 * y, shared_address(&full));
        else bulk_load(shared_address(shared), src + 4096 * blockIdx.x, 4096, shared_address(&full));
    }
    if (threadIdx.x / 32 == 1 && elect_one()) {
        if (STEP >= 3) wait(shared_address(&full), 0);
        if (STEP >= 4) {
            if (MAPPED) tensor_store(*to, 64 * x, 16 * y, shared_address(shared));
            else bulk_store(dst + 4096 * blockIdx.x, shared_address(shared), 4096);
            commit();
            wait_read<0>();
        }
        if (STEP >= 5) wait_all();
        if (STAMPED) {
            end(s);
            out[blockIdx.x] = s;
        }
    }
}

#define STEP(n, stamped, name)                                                                                          \
    extern "C" __global__ void mapped_##name(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to, \
                                             Stamp* out, u32 tiles_x) {                                                 \
        step<n, stamped, true>(&from, &to, nullptr, nullptr, out, tiles_x);                                             \
    }                                                                                                                   \
    extern "C" __global__ void bulk_##name(Stamp* out, const char* src, char* dst, u32 tiles_x) {                       \
        step<n, stamped, false>(nullptr, nullptr, src, dst, out, tiles_x);                                              \
    }
#define BOTH(n) STEP(n, false, n) STEP(n, true, stamped_##n)
BOTH(0) BOTH(1) BOTH(2) BOTH(3) BOTH(4) BOTH(5)

// M32: stores alone of boxes of a tensor map, *slots* in flight at most: tile block + grid * i in row order, or transposed.
extern "C" __global__ void box_stores(const __grid_constant__ TensorMap, const __grid_constant__ TensorMap to, Stamp* out,
                                      u32 bytes, u32 slots, u32 trips, u32 first, u32 tiles_x_bits, u32 tiles, u32 box_x,
                                      u32 box_y, u32 mode) {
    extern __shared__ __align__(1024) char shared[];
    const u32 slots_at = (shared_address(shared) + 1023) / 1024 * 1024, mask = (1u << tiles_x_bits) - 1;
    if (threadIdx.x >= 32 || !elect_one()) return;
    u32 tile = (first + blockIdx.x) & (tiles - 1);
    Cursor at(slots);
    Stamp s = {};
    begin(s);
    for (u32 i = 0; i < trips; ++i, at.advance(), tile = (tile + gridDim.x) & (tiles - 1)) {
        const int x = (tile & mask) * box_x, y = (tile >> tiles_x_bits) * box_y;
        if (mode & 4) tensor_store(to, y, x, slots_at + at.slot * bytes);
        else tensor_store(to, x, y, slots_at + at.slot * bytes);
        commit();
        if (slots > 1) wait_read<1>(); else wait_read<0>();
    }
    wait_all();
    end(s);
    out[blockIdx.x] = s;
}
