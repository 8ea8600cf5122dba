// A 2-D copy through a ring of shared-memory stages: each box comes in by a TMA load and leaves by a TMA store.
//
// One thread per block drives everything, because all of it is asynchronous:
//
//     load   tile i + STAGES - LAG  into the stage that the store of tile i - LAG has finished reading
//     store  tile i                 once its load has arrived
//
// so LAG stores and STAGES - LAG loads are under way at any time. Blocks are persistent; block b moves the tiles
// b, b + gridDim.x, ... in row-major order.
#include "ptx.cuh"

#ifndef BOX_ROWS
#define BOX_ROWS 16
#endif
#ifndef BOX_COLUMNS
#define BOX_COLUMNS 256
#endif
#ifndef ELEMENT_BYTES
#define ELEMENT_BYTES 4
#endif
#ifndef STAGES
#define STAGES 12
#endif
#ifndef LAG
#define LAG (STAGES / 2)
#endif

constexpr uint32_t BOX_BYTES = BOX_ROWS * BOX_COLUMNS * ELEMENT_BYTES;

struct Shared {
    alignas(128) uint8_t tile[STAGES][BOX_BYTES];
    uint64_t full[STAGES];
};

extern "C" __global__ void __launch_bounds__(32)
tma_ring_copy(const __grid_constant__ CUtensorMap source, const __grid_constant__ CUtensorMap target, int tiles_x,
              int tiles) {
    extern __shared__ __align__(128) uint8_t dynamic[];
    Shared& shared = *reinterpret_cast<Shared*>(dynamic);
    if (threadIdx.x != 0) return;

    for (int s = 0; s < STAGES; ++s) mbarrier_init(shared_address(&shared.full[s]), 1);
    fence_mbarrier_init();

    auto load = [&](int tile, uint32_t stage) {
        uint32_t full = shared_address(&shared.full[stage]);
        mbarrier_arrive_expect_tx(full, BOX_BYTES);
        tma_load(shared_address(shared.tile[stage]), source, tile % tiles_x * BOX_COLUMNS, tile / tiles_x * BOX_ROWS,
                 full);
    };
    int step = gridDim.x, next = blockIdx.x;
    Ring<STAGES> free, ready;
    for (; free.stage < STAGES - LAG && next < tiles; next += step) load(next, free.stage), free.advance();

    for (int tile = blockIdx.x; tile < tiles; tile += step) {
        mbarrier_wait(shared_address(&shared.full[ready.stage]), ready.parity);
        tma_store(target, tile % tiles_x * BOX_COLUMNS, tile / tiles_x * BOX_ROWS,
                  shared_address(shared.tile[ready.stage]));
        bulk_commit_group();
        ready.advance();
        if (next < tiles) {
            bulk_wait_group_read<LAG>();
            load(next, free.stage), free.advance();
            next += step;
        }
    }
    bulk_wait_all();
}
