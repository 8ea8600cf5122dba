// In which pieces tensor loads and bulk copies credit a barrier: for each number of bytes that it can be armed with, how
// often its first phase ended.
//
//     credit_probe ROUNDS > rows.jsonl
//
// A phase armed with v of the n bytes that will come ends if, at some moment, exactly v have been credited. So the
// numbers that end it are the partial sums. Each try starts with a new barrier and waits until all bytes have arrived.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#define MUST(call)                                                                                    \
    do {                                                                                              \
        cudaError_t e = (call);                                                                       \
        if (e != cudaSuccess) { fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(e)); exit(1); } \
    } while (0)

enum Kind { TILE, IM2COL, BULK, MULTICAST };

// Block k tries v = 16 (k + 1), or -16 of it where blocks are pairs of a cluster.
__global__ void __launch_bounds__(32) probe(const __grid_constant__ CUtensorMap map, const uint8_t* source, int kind,
                                            int rank, int bytes, int rounds, int ctas, int cold, unsigned* flips) {
    extern __shared__ __align__(1024) uint8_t raw[];
    const uint32_t tile = (uint32_t)__cvta_generic_to_shared(raw), bar = tile + 128 * 1024;
    const int armed = 16 * (blockIdx.x / ctas + 1);
    const bool issues = blockIdx.x % ctas == 0;
    for (int round = 0; round < rounds; ++round) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.mbarrier_init.release.cluster;" ::"r"(bar) : "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(armed) : "memory");
        asm volatile("fence.proxy.async;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;" ::: "memory");
        int c0 = 0, c1 = cold ? (blockIdx.x / ctas * rounds + round) * 64 % 60000 : 0;
        if (issues && kind == TILE && rank == 1)
            asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
                         ::"r"(tile), "l"(&map), "r"(c0), "r"(bar) : "memory");
        if (issues && kind == TILE && rank == 2)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                         ::"r"(tile), "l"(&map), "r"(c0), "r"(c1), "r"(bar) : "memory");
        if (issues && kind == IM2COL)
            asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2, %2}], [%3], {%4};"
                         ::"r"(tile), "l"(&map), "r"(0), "r"(bar), "h"((short)0) : "memory");
        if (issues && kind == BULK)
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         ::"r"(tile), "l"(source), "r"(bytes), "r"(bar) : "memory");
        if (issues && kind == MULTICAST)
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %2}], [%3], %4;"
                         ::"r"(tile), "l"(&map), "r"(0), "r"(bar), "h"((short)((1 << ctas) - 1)) : "memory");
        for (const long long begin = clock64(); clock64() - begin < (cold ? 24000 : 12000);) {
        }
        int done;
        asm volatile("{\n.reg .pred q;\nmbarrier.test_wait.parity.shared::cta.b64 q, [%1], 0;\nselp.b32 %0, 1, 0, q;\n}"
                     : "=r"(done) : "r"(bar) : "memory");
        if (done && threadIdx.x == 0) flips[blockIdx.x] += 1;
        asm volatile("barrier.cluster.arrive;\nbarrier.cluster.wait;\nmbarrier.inval.shared::cta.b64 [%0];" ::"r"(bar) : "memory");
    }
}

template <class F>
static F driver(const char* name) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result;
    MUST(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
    return (F)found;
}

struct Box { Kind kind; int rank, inner, rows, swizzle, pitch, cold, ctas, from, estride; const char* name; };

int main(int, char** arguments) {
    const int rounds = atoi(arguments[1]);
    const Box boxes[] = {
        {TILE, 1, 256, 1, 0, 0, 0, 1, 0, 1, "row of 256 bytes"},
        {TILE, 2, 16, 64, 0, 1024, 0, 1, 0, 1, "64 rows of 16 bytes"},
        {TILE, 2, 32, 64, 0, 1024, 0, 1, 0, 1, "64 rows of 32 bytes"},
        {TILE, 2, 48, 64, 0, 1024, 0, 1, 0, 1, "64 rows of 48 bytes"},
        {TILE, 2, 64, 64, 0, 1024, 0, 1, 0, 1, "64 rows of 64 bytes"},
        {TILE, 2, 80, 64, 0, 1024, 0, 1, 0, 1, "64 rows of 80 bytes"},
        {TILE, 2, 128, 64, 0, 1024, 0, 1, 0, 1, "64 rows of 128 bytes"},
        {TILE, 2, 256, 64, 0, 1024, 0, 1, 0, 1, "64 rows of 256 bytes"},
        {TILE, 2, 128, 64, 3, 1024, 0, 1, 0, 1, "64 rows of 128 bytes, swizzle 128B"},
        {TILE, 2, 64, 64, 2, 1024, 0, 1, 0, 1, "64 rows of 64 bytes, swizzle 64B"},
        {TILE, 2, 32, 64, 1, 1024, 0, 1, 0, 1, "64 rows of 32 bytes, swizzle 32B"},
        {TILE, 2, 48, 64, 3, 1024, 0, 1, 0, 1, "64 rows of 48 bytes, swizzle 128B"},
        {TILE, 2, 128, 64, 3, 1040, 0, 1, 16, 1, "64 rows of 128 bytes, swizzle 128B, rows not at sectors"},
        {TILE, 2, 128, 64, 3, 2048, 1, 1, 0, 1, "64 rows of 128 bytes, swizzle 128B, mostly not in L2"},
        {TILE, 2, 128, 128, 3, 1024, 0, 1, 0, 2, "64 rows of 128 bytes, swizzle 128B, element stride 2"},
        {TILE, 2, 128, 96, 3, 1024, 0, 1, 0, 1, "96 rows of 128 bytes, swizzle 128B, 32 of them outside"},
        {IM2COL, 3, 64, 64, 2, 1024, 0, 1, 0, 1, "im2col, 64 pixels of 64 bytes"},
        {IM2COL, 3, 128, 64, 3, 1024, 0, 1, 0, 1, "im2col, 64 pixels of 128 bytes"},
        {BULK, 1, 4096, 1, 0, 0, 0, 1, 0, 1, "bulk copy of 4096 bytes"},
        {BULK, 1, 1008, 1, 0, 0, 0, 1, 16, 1, "bulk copy of 1008 bytes from 16 on"},
        {MULTICAST, 2, 128, 64, 3, 1024, 0, 2, 0, 1, "multicast to 2, 64 rows of 128 bytes, swizzle 128B"},
    };
    auto tiled = driver<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
    auto im2col = driver<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
    uint8_t* source;
    unsigned* flips;
    MUST(cudaMalloc(&source, size_t(70000) * 2048));
    MUST(cudaMemset(source, 1, size_t(70000) * 2048));
    MUST(cudaMalloc(&flips, 1 << 20));
    MUST(cudaFuncSetAttribute(probe, cudaFuncAttributeMaxDynamicSharedMemorySize, 129 * 1024));
    for (const Box& b : boxes) {
        CUtensorMap map = {};
        cuuint64_t dim[3] = {cuuint64_t(b.rank == 1 ? 4096 : 512), b.rows == 96 ? 64u : 65536u, 1}, stride[2] = {cuuint64_t(b.pitch), 1 << 26};
        cuuint32_t box[3] = {cuuint32_t(b.inner), cuuint32_t(b.rows), 1}, step[3] = {1, cuuint32_t(b.estride), 1};
        const auto swizzle = (CUtensorMapSwizzle)b.swizzle;
        int corner[1] = {0}, code = 0;
        if (b.kind == IM2COL) {
            dim[1] = 16384, dim[2] = 2;
            code = im2col(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, 3, source + b.from, dim, stride, corner, corner, b.inner, b.rows, step,
                          CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        } else if (b.kind != BULK) {
            code = tiled(&map, CU_TENSOR_MAP_DATA_TYPE_UINT8, b.rank, source + b.from, dim, stride, box, step,
                         CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
        }
        if (code) { fprintf(stderr, "%s: refused, %d\n", b.name, code); continue; }
        const int bytes = b.inner * b.rows / b.estride, values = bytes / 16 + 2;
        std::vector<unsigned> found(values * b.ctas);
        MUST(cudaMemset(flips, 0, 1 << 20));
        cudaLaunchConfig_t config = {};
        cudaLaunchAttribute cluster[1];
        cluster[0].id = cudaLaunchAttributeClusterDimension;
        cluster[0].val.clusterDim = {unsigned(b.ctas), 1, 1};
        config.gridDim = dim3(values * b.ctas), config.blockDim = dim3(1), config.dynamicSmemBytes = 129 * 1024;
        config.attrs = cluster, config.numAttrs = 1;
        MUST(cudaLaunchKernelEx(&config, probe, map, (const uint8_t*)source + b.from, int(b.kind), b.rank, bytes, rounds, b.ctas,
                                b.cold, flips));
        MUST(cudaDeviceSynchronize());
        MUST(cudaMemcpy(found.data(), flips, 4 * found.size(), cudaMemcpyDeviceToHost));
        printf("{\"box\":\"%s\",\"bytes\":%d,\"rounds\":%d,\"ctas\":%d,\"flips\":[", b.name, bytes, rounds, b.ctas);
        for (size_t i = 0; i < found.size(); ++i) printf("%s%u", i ? "," : "", found[i]);
        printf("]}\n");
    }
}
