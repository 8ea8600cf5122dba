// M43: launches of a few tiles an SM, which all SMs load at once and then store at once. A CTA has a ring, as generated code
// writes it: tile block, block + grid, ... of so many. Mode 1 loads, 2 stores, 3 both. *STAMPED* leaves of each CTA when it
// began, on which SM, and after how many cycles each of its tiles had come, was read by its store, and when all was over.
#include "ptx.cuh"

constexpr u32 MOST = 6;  // tiles of a CTA that are told

struct Told {
    u64 ns0, ns1, clock0, clock1, sm, tiles, come[MOST], read[MOST];
};

__device__ inline void prefetch(const TensorMap& map) { asm volatile("prefetch.tensormap [%0];" ::"l"(&map) : "memory"); }

template <bool STAMPED, bool MAPPED>
__device__ inline void burst(const TensorMap* from, const TensorMap* to, const char* src, char* dst, Told* out, u32 bytes,
                             u32 slots, u32 tiles, u32 tiles_x, u32 box_x, u32 box_y, u32 mode) {
    extern __shared__ __align__(1024) char shared[];
    const u32 slots_at = (shared_address(shared) + 1023) / 1024 * 1024;
    const u32 full = slots_at + slots * bytes, empty = full + 8 * slots;
    u64 ns0 = 0, clock0 = 0;
    if (STAMPED && threadIdx.x >= 32) ns0 = nanoseconds(), clock0 = cycles();
    if (threadIdx.x < 32 && elect_one()) {
        if (MAPPED) prefetch(*from), prefetch(*to);
        for (u32 s = 0; s < slots; ++s) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 1);
        fence_init();
    }
    __syncthreads();
    Cursor at(slots);
    if (threadIdx.x < 32) {
        if (!elect_one()) return;
        if (mode & 1) {
            for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance()) {
                wait(empty + 8 * at.slot, at.parity ^ 1);
                expect(full + 8 * at.slot, bytes);
                const u32 to_slot = slots_at + at.slot * bytes;
                if (MAPPED) tensor_load(to_slot, *from, tile % tiles_x * box_x, tile / tiles_x * box_y, full + 8 * at.slot);
                else bulk_load(to_slot, src + u64(bytes) * tile, bytes, full + 8 * at.slot);
            }
        }
    } else {
        if (!elect_one()) return;
        u32 n = 0;
        u64 come[MOST] = {}, read[MOST] = {};
        for (u32 tile = blockIdx.x; tile < tiles; tile += gridDim.x, at.advance(), ++n) {
            if (mode & 1) wait(full + 8 * at.slot, at.parity);
            if (STAMPED) {
                const u64 now = cycles();
#pragma unroll
                for (u32 k = 0; k < MOST; ++k) if (k == n) come[k] = now - clock0;
            }
            if (mode & 2) {
                const u32 slot = slots_at + at.slot * bytes;
                if (MAPPED) tensor_store(*to, tile % tiles_x * box_x, tile / tiles_x * box_y, slot);
                else bulk_store(dst + u64(bytes) * tile, slot, bytes);
                commit();
                wait_read<0>();
            }
            if (STAMPED) {
                const u64 now = cycles();
#pragma unroll
                for (u32 k = 0; k < MOST; ++k) if (k == n) read[k] = now - clock0;
            }
            if (mode & 1) arrive(empty + 8 * at.slot);
        }
        wait_all();
        if (STAMPED) {
            Told t = {ns0, nanoseconds(), clock0, cycles(), multiprocessor(), n, {}, {}};
#pragma unroll
            for (u32 k = 0; k < MOST; ++k) t.come[k] = come[k], t.read[k] = read[k];
            out[blockIdx.x] = t;
        }
    }
}

#define BURST(stamped, suffix)                                                                                           \
    extern "C" __global__ void mapped_burst##suffix(const __grid_constant__ TensorMap from,                              \
                                                    const __grid_constant__ TensorMap to, Told* out, u32 bytes,          \
                                                    u32 slots, u32 tiles, u32 tiles_x, u32 box_x, u32 box_y, u32 mode) { \
        burst<stamped, true>(&from, &to, nullptr, nullptr, out, bytes, slots, tiles, tiles_x, box_x, box_y, mode);       \
    }                                                                                                                    \
    extern "C" __global__ void bulk_burst##suffix(Told* out, const char* src, char* dst, u32 bytes, u32 slots,           \
                                                  u32 tiles, u32 tiles_x, u32 box_x, u32 box_y, u32 mode) {              \
        burst<stamped, false>(nullptr, nullptr, src, dst, out, bytes, slots, tiles, tiles_x, box_x, box_y, mode);        \
    }
BURST(false, )
BURST(true, _stamped)
