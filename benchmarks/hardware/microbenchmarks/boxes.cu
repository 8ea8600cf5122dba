// M6: persistent CTAs that move boxes of two tensor maps through a ring of slots, tile block + grid * i in row order.
// Mode 1 loads, 3 copies, 7 stores box (x, y) at (y, x) of the second tensor: the traffic of a transposition.
#include "ptx.cuh"

extern "C" __global__ void boxes(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to, Stamp* out,
                                 u32 bytes, u32 slots, u32 trips, u32 first, u32 tiles_x_bits, u32 tiles, u32 box_x,
                                 u32 box_y, u32 mode) {
    extern __shared__ __align__(1024) char shared[];
    const u32 slots_at = (shared_address(shared) + 1023) / 1024 * 1024;
    const u32 full = slots_at + slots * bytes, empty = full + 8 * slots;
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < slots; ++s) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 1);
        fence_init();
    }
    __syncthreads();
    const u32 mask = (1u << tiles_x_bits) - 1;
    u32 tile = (first + blockIdx.x) & (tiles - 1);
    Cursor at(slots);
    if (threadIdx.x < 32) {
        if (!elect_one()) return;
        for (u32 i = 0; i < trips; ++i, at.advance(), tile = (tile + gridDim.x) & (tiles - 1)) {
            wait(empty + 8 * at.slot, at.parity ^ 1);
            expect(full + 8 * at.slot, bytes);
            tensor_load(slots_at + at.slot * bytes, from, (tile & mask) * box_x, (tile >> tiles_x_bits) * box_y,
                        full + 8 * at.slot);
        }
    } else {
        if (!elect_one()) return;
        Stamp s = {};
        begin(s);
        for (u32 i = 0; i < trips; ++i, at.advance(), tile = (tile + gridDim.x) & (tiles - 1)) {
            wait(full + 8 * at.slot, at.parity);
            u32 word;
            asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(slots_at + at.slot * bytes) : "memory");
            s.sum ^= word;
            if (mode & 2) {
                const int x = (tile & mask) * box_x, y = (tile >> tiles_x_bits) * box_y;
                if (mode & 4) tensor_store(to, y, x, slots_at + at.slot * bytes);
                else tensor_store(to, x, y, slots_at + at.slot * bytes);
                commit();
                wait_read<0>();
            }
            arrive(empty + 8 * at.slot);
        }
        wait_all();
        end(s);
        out[blockIdx.x] = s;
    }
}

// M11: the first two copies after the launch, by one thread of each CTA: kind 0 bulk, 1 by the map, 2 by the map which was
// prefetched *ahead* cycles before. a is the time of the first, b that of the second, of other lines.
extern "C" __global__ void first_copies(const __grid_constant__ TensorMap from, const __grid_constant__ TensorMap to,
                                        Stamp* out, const char* src, u32 kind, u32 ahead) {
    extern __shared__ __align__(1024) char shared[];
    __shared__ u64 barriers[2];
    if (!elect_one()) return;
    const u32 tile = (shared_address(shared) + 1023) / 1024 * 1024, full = shared_address(barriers);
    Stamp s = {};
    begin(s);
    mbarrier_init(full, 1), mbarrier_init(full + 8, 1);
    fence_init();
    if (kind == 2) {
        asm volatile("prefetch.tensormap [%0];" ::"l"(&from) : "memory");
        const u64 at = cycles();
        while (cycles() - at < ahead) {}
    }
    u64 last = cycles();
#pragma unroll
    for (u32 k = 0; k < 2; ++k) {
        expect(full + 8 * k, 2048);
        if (kind == 0) bulk_load(tile + 2048 * k, src + 4096 * (2 * blockIdx.x + k), 2048, full + 8 * k);
        else tensor_load(tile + 2048 * k, from, 32 * k, 16 * (blockIdx.x & 127), full + 8 * k);
        wait(full + 8 * k, 0);
        const u64 now = cycles();
        if (k == 0) s.a = now - last; else s.b = now - last;
        last = now;
    }
    end(s);
    out[blockIdx.x] = s;
}

// M23: the loads of a product without its products: CTA b takes tile (b % high, b / high), and for each step of 32 words of
// K a box of rows of A and one of B, both into a slot; a consumer gives it back at once. In M45 A begins at a row of its own.
__device__ inline void product_loads(const TensorMap& a, const TensorMap& b, Stamp* out, u32 rows_a, u32 rows_b, u32 slots,
                                     u32 steps, int m, int n, u32 repeats) {
    extern __shared__ __align__(1024) char shared[];
    const u32 bytes_a = 128 * rows_a, bytes = bytes_a + 128 * rows_b;
    const u32 slots_at = (shared_address(shared) + 1023) / 1024 * 1024, full = slots_at + slots * bytes, empty = full + 8 * slots;
    if (threadIdx.x == 0) {
        for (u32 s = 0; s < slots; ++s) mbarrier_init(full + 8 * s, 1), mbarrier_init(empty + 8 * s, 1);
        fence_init();
    }
    __syncthreads();
    Cursor at(slots);
    if (threadIdx.x < 32) {
        if (!elect_one()) return;
        for (u32 r = 0; r < repeats; ++r)
            for (u32 i = 0; i < steps; ++i, at.advance()) {
                wait(empty + 8 * at.slot, at.parity ^ 1);
                expect(full + 8 * at.slot, bytes);
                tensor_load(slots_at + at.slot * bytes, a, 32 * i, m, full + 8 * at.slot);
                tensor_load(slots_at + at.slot * bytes + bytes_a, b, 32 * i, n, full + 8 * at.slot);
            }
    } else {
        if (!elect_one()) return;
        Stamp s = {};
        begin(s);
        for (u32 i = 0; i < steps * repeats; ++i, at.advance()) {
            wait(full + 8 * at.slot, at.parity);
            arrive(empty + 8 * at.slot);
        }
        end(s);
        out[blockIdx.x] = s;
    }
}

extern "C" __global__ void operands(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, Stamp* out,
                                    u32 rows_a, u32 rows_b, u32 slots, u32 steps, u32 high, u32 repeats) {
    const int m = blockIdx.x % high * rows_a, n = blockIdx.x / high * rows_b;
    product_loads(a, b, out, rows_a, rows_b, slots, steps, m, n, repeats);
}

extern "C" __global__ void partial(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, Stamp* out,
                                   u32 rows_a, u32 rows_b, u32 slots, u32 steps, u32 high, u32 repeats, u32 first) {
    product_loads(a, b, out, rows_a, rows_b, slots, steps, first, blockIdx.x / high * rows_b, repeats);
}
