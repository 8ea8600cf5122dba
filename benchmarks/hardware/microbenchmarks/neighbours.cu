// M44: rings of bulk copies by chosen SMs, each over a region of its own in L2: what SMs take from one another. A CTA
// whose SM is not among the chosen ones (a bit each) leaves at once. Mode 1 loads, 2 stores.
#include "ptx.cuh"

extern "C" __global__ void neighbours(Stamp* out, char* data, u64 chosen0, u64 chosen1, u64 chosen2, u32 region, u32 apart,
                                      u32 bytes, u32 slots, u32 trips, u32 mode) {
    extern __shared__ __align__(1024) char shared[];
    const u32 slots_at = (shared_address(shared) + 127) / 128 * 128, full = slots_at + slots * bytes, sm = multiprocessor();
    Stamp s = {};
    const u64 chosen = sm < 64 ? chosen0 : sm < 128 ? chosen1 : chosen2;
    if (threadIdx.x) return;
    if (!(chosen >> sm % 64 & 1)) {
        s.sm = sm;
        out[blockIdx.x] = s;
        return;
    }
    for (u32 k = 0; k < slots; ++k) mbarrier_init(full + 8 * k, 1);
    fence_init();
    char* own = data + u64(sm) * apart;
    u32 from = 0;
    const u64 start = nanoseconds() / 8192 * 8192 + 16384;  // all at about the same time
    while (nanoseconds() < start) {}
    begin(s);
    if (mode == 1) {
        Cursor at(slots);
        for (u32 i = 0; i < trips + slots; ++i, at.advance()) {
            const u32 slot = slots_at + at.slot * bytes, barrier = full + 8 * at.slot;
            if (i >= slots) wait(barrier, at.parity ^ 1);
            if (i >= trips) continue;
            expect(barrier, bytes);
            bulk_load(slot, own + from, bytes, barrier);
            from = from + bytes < region ? from + bytes : 0;
        }
    } else {
        for (u32 i = 0; i < trips; ++i) {
            bulk_store(own + from, slots_at, bytes);
            from = from + bytes < region ? from + bytes : 0;
            commit();
            wait_read<1>();
        }
        wait_all();
    }
    end(s);
    s.sum = trips;
    out[blockIdx.x] = s;
}

// Which SMs the CTAs of a cluster are on.
extern "C" __global__ void placed(Stamp* out) {
    Stamp s = {};
    if (threadIdx.x) return;
    begin(s);
    const u64 until = nanoseconds() + 20000;  // so that all are there together
    while (nanoseconds() < until) {}
    end(s);
    out[blockIdx.x] = s;
}
