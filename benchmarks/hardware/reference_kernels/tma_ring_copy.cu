// A 2-D copy through a ring of shared-memory stages: each box comes in by a TMA load and leaves by a TMA store.
//
// One thread per block drives everything, because all of it is asynchronous: it waits for the oldest load, stores
// that tile, and loads another into the stage that the store LAG tiles ago has finished reading. So up to LAG stores
// and STAGES - LAG loads of 16 KiB are under way at any time; two loads are too few, and six cost bandwidth.
//
// Blocks are persistent and take the tiles from one counter, in row-major order. With a fixed share for each block
// some run ahead of others and the copy is 5 % slower: presumably because what is read and written at one time then
// lies ever further apart. Figures: benchmarks/results/reference_kernels.
#include "ptx.cuh"

constexpr int BOX_ROWS = 16, BOX_COLUMNS = 256, ELEMENT_BYTES = 4;
constexpr int STAGES = 7, LAG = 4;
constexpr uint32_t BOX_BYTES = BOX_ROWS * BOX_COLUMNS * ELEMENT_BYTES;

struct Shared {
    alignas(128) uint8_t data[STAGES][BOX_BYTES];
    uint64_t full[STAGES];
    int tile[STAGES];
};

// `taken` are two counters, zero at the first launch: of the tiles taken, and of the blocks that have taken their last.
extern "C" __global__ void __launch_bounds__(32)
tma_ring_copy(const __grid_constant__ CUtensorMap source, const __grid_constant__ CUtensorMap target, int tiles_x,
              int tiles, unsigned* taken) {
    extern __shared__ __align__(128) uint8_t dynamic[];
    Shared& shared = *reinterpret_cast<Shared*>(dynamic);
    if (threadIdx.x != 0) return;

    for (int s = 0; s < STAGES; ++s) mbarrier_init(shared_address(&shared.full[s]), 1);
    fence_mbarrier_init();

    // What is loaded is never read again; yet this policy is worth 1.3 %, presumably because written lines leave L2
    // sooner and in order.
    uint64_t policy = l2_evict_last();

    auto load = [&](int tile, uint32_t stage) {
        uint32_t full = shared_address(&shared.full[stage]);
        shared.tile[stage] = tile;
        mbarrier_arrive_expect_tx(full, BOX_BYTES);
        tma_load_hint(shared_address(shared.data[stage]), source, tile % tiles_x * BOX_COLUMNS,
                      tile / tiles_x * BOX_ROWS, full, policy);
    };
    auto store = [&](int tile, uint32_t stage) {
        tma_store(target, tile % tiles_x * BOX_COLUMNS, tile / tiles_x * BOX_ROWS,
                  shared_address(shared.data[stage]));
        bulk_commit_group();
    };
    Ring<STAGES> free, ready;
    auto take = [&] { return static_cast<int>(atomicAdd(&taken[0], 1)); };
    int next = take(), pending = 0;
    auto load_next = [&] {
        load(next, free.stage), free.advance();
        next = take();  // needed at the next load only
        ++pending;
    };
    while (pending < STAGES - LAG && next < tiles) load_next();

    for (; pending > 0; --pending) {
        mbarrier_wait(shared_address(&shared.full[ready.stage]), ready.parity);
        store(shared.tile[ready.stage], ready.stage), ready.advance();
        if (next < tiles) {
            bulk_wait_group_read<LAG>();
            load_next();
        }
    }
    bulk_wait_all();
    if (atomicInc(&taken[1], gridDim.x - 1) == gridDim.x - 1) taken[0] = 0;  // the last block, for the next launch
}
