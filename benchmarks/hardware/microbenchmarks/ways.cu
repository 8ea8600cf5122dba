// M40: persistent CTAs that move boxes of two tensor maps through a ring of slots, tile block + grid * i. Tiles that follow
// one another lie along x, or along y: of the source where *way* has bit 0, of the target where it has bit 1. 2^span tiles
// lie along that side. Mode 1 loads, 2 stores, 3 both.
#include "ptx.cuh"

struct Corner {
    int x, y;
};

__device__ inline Corner corner(u32 tile, u32 span, bool down, u32 box_x, u32 box_y) {
    const u32 fast = tile & ((1u << span) - 1), slow = tile >> span;
    return {int((down ? slow : fast) * box_x), int((down ? fast : slow) * box_y)};
}

extern "C" __global__ void ways(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to, Stamp* out,
                                u32 bytes, u32 slots, u32 trips, u32 first, u32 tiles, u32 from_span, u32 from_x,
                                u32 from_y, u32 to_span, u32 to_x, u32 to_y, u32 way, u32 mode) {
    extern __shared__ __align__(1024) char shared[];
    const u32 slots_at = (shared_address(shared) + 1023) / 1024 * 1024;
    const u32 full = slots_at + slots * bytes, empty = full + 8 * slots;
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < slots; ++s) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 1);
        fence_init();
    }
    __syncthreads();
    u32 tile = (first + blockIdx.x) & (tiles - 1);
    Cursor at(slots);
    if (threadIdx.x < 32 && (mode & 1)) {
        if (!elect_one()) return;
        for (u32 i = 0; i < trips; ++i, at.advance(), tile = (tile + gridDim.x) & (tiles - 1)) {
            wait(empty + 8 * at.slot, at.parity ^ 1);
            expect(full + 8 * at.slot, bytes);
            const Corner c = corner(tile, from_span, way & 1, from_x, from_y);
            tensor_load(slots_at + at.slot * bytes, from, c.x, c.y, full + 8 * at.slot);
        }
    } else if (threadIdx.x >= 32) {
        if (!elect_one()) return;
        Stamp s = {};
        begin(s);
        for (u32 i = 0; i < trips; ++i, at.advance(), tile = (tile + gridDim.x) & (tiles - 1)) {
            const u32 slot = slots_at + at.slot * bytes;
            if (mode & 1) {
                wait(full + 8 * at.slot, at.parity);
                u32 word;
                asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(slot) : "memory");
                s.sum ^= word;
            }
            if (mode & 2) {
                const Corner c = corner(tile, to_span, way & 2, to_x, to_y);
                tensor_store(to, c.x, c.y, slot);
                commit();
                if (mode & 1) wait_read<0>(); else wait_read<3>();
            }
            if (mode & 1) arrive(empty + 8 * at.slot);
        }
        wait_all();
        end(s);
        out[blockIdx.x] = s;
    }
}
