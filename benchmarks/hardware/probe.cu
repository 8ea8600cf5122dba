// One TMA copy per case: reads a case per line on stdin, answers one binary record per case on stdout.
//
//     nvcc -std=c++17 -gencode=arch=compute_90a,code=sm_90a -I BUILD -o BUILD/probe probe.cu
//
// BUILD/fields.h holds `enum { F_id = 0, ... FIELDS }`, the place of every field in a line; benchmarks.hardware.cases
// writes it. A fault kills the context, so the program answers with the error and exits: start it again for the
// next case. Nothing waits without a bound: every poll of an mbarrier ends after `limit` cycles.

#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "fields.h"

enum Form {
  ENCODE, LOAD, LOAD_IM2COL, LOAD_MULTICAST, STORE, STORE_IM2COL, BULK_LOAD, BULK_STORE, BARRIER, MULTICAST_IM2COL
};
enum { REDUCE = 16, REDUCE_IM2COL = 32 };  // + add, min, max, inc, dec, and, or, xor

constexpr int HEADER = 1024;             // shared-memory bytes before the tile: the barriers, then poison
constexpr int CLUSTER = 8;               // CTAs of the largest cluster
constexpr int64_t GUARD = 16 << 20;      // global bytes of poison before and after what a case may touch
constexpr int64_t SOURCE = 2 << 20;      // global bytes that loads read
constexpr int64_t TARGET = 256 << 10;    // global bytes that stores and reductions write
constexpr int64_t LEAD = 4096;           // target bytes before the tensor
constexpr int64_t DUMP = 240 << 10;      // bytes of a CTA's dump at most
constexpr uint8_t POISON = 0xEE;

struct Plan {
  int form, nd, coord[5], off[3], base, region, dump, cluster, issuer, mask, barrier, size;
  unsigned arm[CLUSTER];
  long long limit;
  const uint8_t *content, *source;
  uint8_t *target, *dumps;
};

struct Report {  // one per CTA; states are the raw 64 bits of the mbarrier
  unsigned long long initial, armed, waited, settled, completed, polls, beyond, at;
};

// -- device -------------------------------------------------------------------------------------------------

#define TEXT_(...) #__VA_ARGS__
#define TEXT(...) TEXT_(__VA_ARGS__)

// Operands: %0 shared address, %1 map, %2 barrier, %3..%7 coordinates, %8..%10 im2col offsets, %11 mask.
#define OPERANDS                                                                                              \
  "r"(tile), "l"(map), "r"(bar), "r"(p.coord[0]), "r"(p.coord[1]), "r"(p.coord[2]), "r"(p.coord[3]),          \
      "r"(p.coord[4]), "h"((short)p.off[0]), "h"((short)p.off[1]), "h"((short)p.off[2]), "h"((short)p.mask)
#define C1 "{%3}"
#define C2 "{%3, %4}"
#define C3 "{%3, %4, %5}"
#define C4 "{%3, %4, %5, %6}"
#define C5 "{%3, %4, %5, %6, %7}"
#define O3 "{%8}"
#define O4 "{%8, %9}"
#define O5 "{%8, %9, %10}"

#define ISSUE(body) asm volatile(body ::OPERANDS : "memory")
#define TILE_LOAD(N)                                                                                          \
  case N:                                                                                                     \
    ISSUE("cp.async.bulk.tensor." #N "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "            \
          "[%0], [%1, " C##N "], [%2];");                                                                     \
    break;
#define IM2COL_LOAD(N)                                                                                        \
  case N:                                                                                                     \
    ISSUE("cp.async.bulk.tensor." #N "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "          \
          "[%0], [%1, " C##N "], [%2], " O##N ";");                                                           \
    break;
#define MULTICAST_LOAD(N)                                                                                     \
  case N:                                                                                                     \
    ISSUE("cp.async.bulk.tensor." #N "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"             \
          ".multicast::cluster [%0], [%1, " C##N "], [%2], %11;");                                            \
    break;
#define MULTICAST_IM2COL_LOAD(N)                                                                              \
  case N:                                                                                                     \
    ISSUE("cp.async.bulk.tensor." #N "d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes"           \
          ".multicast::cluster [%0], [%1, " C##N "], [%2], " O##N ", %11;");                                  \
    break;
#define TILE_STORE(N)                                                                                         \
  case N:                                                                                                     \
    ISSUE("cp.async.bulk.tensor." #N "d.global.shared::cta.tile.bulk_group [%1, " C##N "], [%0];");           \
    break;
#define IM2COL_STORE(N)                                                                                       \
  case N:                                                                                                     \
    ISSUE("cp.async.bulk.tensor." #N "d.global.shared::cta.im2col_no_offs.bulk_group [%1, " C##N "], [%0];"); \
    break;
#define TILE_REDUCE(N, op)                                                                                    \
  case N:                                                                                                     \
    ISSUE("cp.reduce.async.bulk.tensor." #N "d.global.shared::cta." #op ".tile.bulk_group [%1, " C##N         \
          "], [%0];");                                                                                        \
    break;
#define IM2COL_REDUCE(N, op)                                                                                  \
  case N:                                                                                                     \
    ISSUE("cp.reduce.async.bulk.tensor." #N "d.global.shared::cta." #op ".im2col_no_offs.bulk_group [%1, "    \
          C##N "], [%0];");                                                                                   \
    break;
#define REDUCTIONS(code, op)                                                                                  \
  case REDUCE + code:                                                                                         \
    switch (p.nd) {                                                                                           \
      TILE_REDUCE(1, op) TILE_REDUCE(2, op) TILE_REDUCE(3, op) TILE_REDUCE(4, op) TILE_REDUCE(5, op)          \
    }                                                                                                         \
    break;                                                                                                    \
  case REDUCE_IM2COL + code:                                                                                  \
    switch (p.nd) { IM2COL_REDUCE(3, op) IM2COL_REDUCE(4, op) IM2COL_REDUCE(5, op) }                          \
    break;

__device__ void issue(const CUtensorMap* map, const Plan& p, uint32_t tile, uint32_t bar) {
  switch (p.form) {
    case LOAD:
      switch (p.nd) { TILE_LOAD(1) TILE_LOAD(2) TILE_LOAD(3) TILE_LOAD(4) TILE_LOAD(5) }
      break;
    case LOAD_IM2COL:
      switch (p.nd) { IM2COL_LOAD(3) IM2COL_LOAD(4) IM2COL_LOAD(5) }
      break;
    case LOAD_MULTICAST:
      switch (p.nd) { MULTICAST_LOAD(1) MULTICAST_LOAD(2) MULTICAST_LOAD(3) MULTICAST_LOAD(4) MULTICAST_LOAD(5) }
      break;
    case MULTICAST_IM2COL:
      switch (p.nd) { MULTICAST_IM2COL_LOAD(3) MULTICAST_IM2COL_LOAD(4) MULTICAST_IM2COL_LOAD(5) }
      break;
    case STORE:
      switch (p.nd) { TILE_STORE(1) TILE_STORE(2) TILE_STORE(3) TILE_STORE(4) TILE_STORE(5) }
      break;
    case STORE_IM2COL:
      switch (p.nd) { IM2COL_STORE(3) IM2COL_STORE(4) IM2COL_STORE(5) }
      break;
    case BULK_LOAD:
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(tile),
                   "l"(p.source), "r"(p.size), "r"(bar)
                   : "memory");
      break;
    case BULK_STORE:
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(p.target), "r"(tile),
                   "r"(p.size)
                   : "memory");
      break;
    case BARRIER:  // the credit of a copy without the copy: what the raw state means
      asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(bar), "r"(p.size) : "memory");
      break;
      REDUCTIONS(0, add)
      REDUCTIONS(1, min)
      REDUCTIONS(2, max)
      REDUCTIONS(3, inc)
      REDUCTIONS(4, dec)
      REDUCTIONS(5, and)
      REDUCTIONS(6, or)
      REDUCTIONS(7, xor)
  }
}

__device__ bool stores(int form) {
  return form == STORE || form == STORE_IM2COL || form == BULK_STORE || form >= REDUCE;
}

__device__ void cluster_sync() {
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}

__device__ unsigned long long raw_state(uint32_t bar) {
  unsigned long long state;
  asm volatile("ld.volatile.shared::cta.u64 %0, [%1];" : "=l"(state) : "r"(bar) : "memory");
  return state;
}

__device__ bool flipped(uint32_t bar) {
  int done;
  asm volatile(
      "{\n.reg .pred q;\nmbarrier.test_wait.parity.shared::cta.b64 q, [%1], 0;\nselp.b32 %0, 1, 0, q;\n}"
      : "=r"(done)
      : "r"(bar)
      : "memory");
  return done != 0;
}

__global__ void __launch_bounds__(256) probe(const __grid_constant__ CUtensorMap map, const __grid_constant__ Plan p,
                                             Report* reports) {
  extern __shared__ __align__(1024) uint8_t raw[];
  const uint32_t start = (uint32_t)__cvta_generic_to_shared(raw), tile = start + HEADER;
  uint8_t* bytes = raw + HEADER;
  const uint32_t bar = start + 64 * p.barrier;
  const bool store = stores(p.form);
  uint32_t rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  Report& report = reports[rank];

  for (int i = threadIdx.x; i < HEADER; i += blockDim.x) raw[i] = POISON;
  for (int i = threadIdx.x; i < p.region; i += blockDim.x) bytes[i] = store ? p.content[i] : POISON;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 0; k < 2; ++k)
      asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(start + 64 * k) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    report.at = tile;
    report.initial = raw_state(bar);
  }
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  cluster_sync();
  if (threadIdx.x == 0 && !store && p.arm[rank] != 0xFFFFFFFFu) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(bar), "r"(p.arm[rank]) : "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) report.armed = raw_state(bar);
  cluster_sync();

  if (threadIdx.x == 0 && rank == p.issuer) {
    issue(&map, p, tile + p.base, bar);
    if (store) {
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    }
  }
  if (threadIdx.x == 0 && !store) {
    const long long begin = clock64();
    unsigned long long polls = 0;
    bool done = false;
    while (!(done = flipped(bar)) && clock64() - begin < p.limit) ++polls;
    report.completed = done;
    report.polls = polls;
    report.waited = raw_state(bar);
    for (const long long settle = clock64(); clock64() - settle < 50000;) {
    }
    report.settled = raw_state(bar);
  }
  __syncthreads();
  cluster_sync();

  if (!store) {
    unsigned long long beyond = 0;
    for (int i = threadIdx.x; i < p.region; i += blockDim.x) {
      const uint8_t value = ((volatile uint8_t*)bytes)[i];
      if (i < p.dump) p.dumps[rank * DUMP + i] = value;
      else beyond += value != POISON;
    }
    for (int i = 128 + threadIdx.x; i < HEADER; i += blockDim.x) beyond += ((volatile uint8_t*)raw)[i] != POISON;
    if (beyond) atomicAdd(&report.beyond, beyond);
  }
  cluster_sync();
}

__global__ void strays(const unsigned long long* words, long long count, unsigned long long* found) {
  unsigned long long n = 0;
  for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < count; i += (long long)gridDim.x * blockDim.x)
    n += words[i] != 0xEEEEEEEEEEEEEEEEull;
  if (n) atomicAdd(found, n);
}

// -- host ---------------------------------------------------------------------------------------------------

struct Answer {
  int64_t magic = 0x414D54, id = -1, code = 0, error = 0, stage = 0, changed = 0, low = 0, length = 0, stray = 0,
          microseconds = 0;
  Report reports[CLUSTER] = {};
};

static void say(const Answer& answer, const void* payload) {
  fwrite(&answer, sizeof answer, 1, stdout);
  if (answer.length) fwrite(payload, 1, answer.length, stdout);
  fflush(stdout);
}

#define MUST(call)                                                                     \
  do {                                                                                 \
    cudaError_t status = (call);                                                       \
    if (status != cudaSuccess) {                                                       \
      fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status));                  \
      exit(2);                                                                         \
    }                                                                                  \
  } while (0)

template <class F>
static F driver(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result;
  MUST(cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result));
  if (!found) {
    fprintf(stderr, "%s: not in this driver\n", name);
    exit(2);
  }
  return (F)found;
}

using Line = std::vector<int64_t>;

static int encode(const Line& v, uint8_t* address, CUtensorMap* map) {
  static auto tiled = driver<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  static auto im2col = driver<decltype(&cuTensorMapEncodeIm2col)>("cuTensorMapEncodeIm2col");
  cuuint64_t dim[5], stride[5] = {};
  cuuint32_t box[5], estride[5];
  int lower[3], upper[3];
  for (int i = 0; i < 5; ++i) dim[i] = v[F_dim + i], box[i] = v[F_box + i], estride[i] = v[F_estride + i];
  for (int i = 0; i < 4; ++i) stride[i] = v[F_stride + i];
  for (int i = 0; i < 3; ++i) lower[i] = v[F_lower + i], upper[i] = v[F_upper + i];
  const int64_t nulls = v[F_nulls];
  void* at = nulls & 1 ? nullptr : address;
  const auto type = (CUtensorMapDataType)v[F_dtype];
  const auto interleave = (CUtensorMapInterleave)v[F_interleave];
  const auto swizzle = (CUtensorMapSwizzle)v[F_swizzle];
  const auto l2 = (CUtensorMapL2promotion)v[F_l2];
  const auto fill = (CUtensorMapFloatOOBfill)v[F_oob];
  const auto* dims = nulls & 4 ? nullptr : dim;
  const auto* strides = nulls & 2 ? nullptr : stride;
  const auto* steps = nulls & 16 ? nullptr : estride;
  if (v[F_mode] == 1)
    return tiled(map, type, v[F_rank], at, dims, strides, nulls & 8 ? nullptr : box, steps, interleave, swizzle, l2,
                 fill);
  return im2col(map, type, v[F_rank], at, dims, strides, lower, upper, v[F_channels], v[F_pixels], steps, interleave,
                swizzle, l2, fill);
}

#define DRIVER(call)                                    \
  do {                                                  \
    CUresult status = (call);                           \
    if (status != CUDA_SUCCESS) {                       \
      fprintf(stderr, "%s: %d\n", #call, (int)status);  \
      exit(2);                                          \
    }                                                   \
  } while (0)

// Addresses far apart with little memory behind them: WINDOW bytes of memory are mapped where a case wants them, the
// rest of the addresses is reserved and nothing lies there.
constexpr int64_t WINDOW = 4 << 20, REACH = 1ll << 43;

class Far {
 public:
  // The address that is `offset` bytes, a multiple of 2 MiB, behind the start of the reserved ones, with memory.
  uint8_t* map(int64_t offset) {
    if (!start) reserve();
    if (at) DRIVER(unmap_((CUdeviceptr)at, WINDOW));
    at = start + offset;
    DRIVER(map_((CUdeviceptr)at, WINDOW, 0, memory, 0));
    CUmemAccessDesc access = {};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    DRIVER(access_((CUdeviceptr)at, WINDOW, &access, 1));
    MUST(cudaMemset(at, POISON, WINDOW));
    return at;
  }
  uint8_t* start = nullptr;

 private:
  void reserve() {
    CUdeviceptr found = 0;
    DRIVER(driver<decltype(&cuMemAddressReserve)>("cuMemAddressReserve")(&found, REACH + WINDOW, 2 << 20, 0, 0));
    CUmemAllocationProp made = {};
    made.type = CU_MEM_ALLOCATION_TYPE_PINNED, made.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    DRIVER(driver<decltype(&cuMemCreate)>("cuMemCreate")(&memory, WINDOW, &made, 0));
    map_ = driver<decltype(map_)>("cuMemMap"), unmap_ = driver<decltype(unmap_)>("cuMemUnmap");
    access_ = driver<decltype(access_)>("cuMemSetAccess");
    start = (uint8_t*)found;
  }
  uint8_t* at = nullptr;
  CUmemGenericAllocationHandle memory = 0;
  decltype(&cuMemMap) map_ = nullptr;
  decltype(&cuMemUnmap) unmap_ = nullptr;
  decltype(&cuMemSetAccess) access_ = nullptr;
};

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: probe CONTENTS < cases\n");
    return 2;
  }
  MUST(cudaSetDevice(0));
  MUST(cudaFree(nullptr));

  // CONTENTS: the number of blobs, then offset and length of each in the bytes that follow, all 64-bit.
  std::ifstream file(argv[1], std::ios::binary);
  int64_t blobs = 0;
  file.read((char*)&blobs, 8);
  std::vector<int64_t> table(2 * blobs);
  file.read((char*)table.data(), 16 * blobs);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  if (blobs < 2 || packed.size() < size_t(SOURCE)) {
    fprintf(stderr, "%s: no contents\n", argv[1]);
    return 2;
  }
  uint8_t *content, *source, *target, *dumps;
  Report* reports;
  unsigned long long* found;
  MUST(cudaMalloc(&content, packed.size() + GUARD));
  MUST(cudaMalloc(&source, SOURCE + 2 * GUARD));
  MUST(cudaMalloc(&target, TARGET + 2 * GUARD));
  MUST(cudaMalloc(&dumps, CLUSTER * DUMP));
  MUST(cudaMalloc(&reports, CLUSTER * sizeof(Report)));
  MUST(cudaMalloc(&found, 8));
  MUST(cudaMemcpy(content, packed.data(), packed.size(), cudaMemcpyHostToDevice));
  MUST(cudaMemset(source, POISON, SOURCE + 2 * GUARD));
  MUST(cudaMemset(target, POISON, TARGET + 2 * GUARD));
  source += GUARD;
  target += GUARD;
  MUST(cudaMemcpy(source, content + table[0], SOURCE, cudaMemcpyDeviceToDevice));
  cudaFuncAttributes attributes;
  MUST(cudaFuncGetAttributes(&attributes, probe));
  cudaDeviceProp device;
  MUST(cudaGetDeviceProperties(&device, 0));
  MUST(cudaFuncSetAttribute(probe, cudaFuncAttributeMaxDynamicSharedMemorySize,
                            device.sharedMemPerBlockOptin - attributes.sharedSizeBytes));
  int driver_version = 0, runtime_version = 0;
  MUST(cudaDriverGetVersion(&driver_version));
  MUST(cudaRuntimeGetVersion(&runtime_version));
  {
    std::ostringstream text;
    text << device.name << "\n" << device.major << "." << device.minor << "\n" << driver_version << "\n"
         << runtime_version << "\n" << device.sharedMemPerBlockOptin << "\n" << attributes.sharedSizeBytes << "\n"
         << attributes.numRegs << "\n" << device.reservedSharedMemPerBlock;
    Answer ready;
    ready.length = text.str().size();
    say(ready, text.str().data());
  }

  std::vector<uint8_t> host(CLUSTER * DUMP), initial(TARGET), after(TARGET);
  Far distant;
  std::string text;
  while (std::getline(std::cin, text)) {
    const auto begin = std::chrono::steady_clock::now();
    std::istringstream words(text);
    Line v;
    for (int64_t x; words >> x;) v.push_back(x);
    if (v.size() != FIELDS) {
      fprintf(stderr, "expected %d fields, got %zu\n", (int)FIELDS, v.size());
      return 2;
    }
    Answer answer;
    answer.id = v[F_id];
    const int form = v[F_form];
    const bool store = form == STORE || form == STORE_IM2COL || form == BULK_STORE || form >= REDUCE;
    uint8_t* address = (store ? target + LEAD : source + (v[F_edge] ? SOURCE / 2 : 0)) + v[F_addr];
    uint8_t *written = target, *window = nullptr;
    if (v[F_wide]) {  // the tensor begins addr bytes behind the reserved start, memory lies wide bytes behind it
      window = written = distant.map(v[F_wide]);
      if (!store) MUST(cudaMemcpy(window, source, SOURCE, cudaMemcpyDeviceToDevice));
      address = distant.start + v[F_addr];
    }

    CUtensorMap map = {};
    if (v[F_mode]) {
      answer.code = encode(v, address, &map);
      if (answer.code || form == ENCODE) {
        answer.stage = 1;
        say(answer, nullptr);
        continue;
      }
    }

    Plan plan = {};
    plan.form = form, plan.nd = v[F_nd], plan.base = v[F_base], plan.region = v[F_smem], plan.dump = v[F_dump];
    plan.cluster = v[F_cluster], plan.issuer = v[F_issuer], plan.mask = v[F_mask], plan.barrier = v[F_barrier];
    plan.size = v[F_size], plan.limit = v[F_limit];
    for (int i = 0; i < 5; ++i) plan.coord[i] = (int)v[F_coord + i];
    for (int i = 0; i < 3; ++i) plan.off[i] = v[F_off + i];
    for (int i = 0; i < CLUSTER; ++i) plan.arm[i] = v[F_arm + i] < 0 ? 0xFFFFFFFFu : (unsigned)v[F_arm + i];
    plan.content = content + table[2 * v[F_fill]];
    plan.source = address, plan.target = address, plan.dumps = dumps;

    MUST(cudaMemset(reports, 0, CLUSTER * sizeof(Report)));
    if (store) {
      memcpy(initial.data(), packed.data() + table[2 * v[F_init]], TARGET);
      MUST(cudaMemcpy(written, content + table[2 * v[F_init]], TARGET, cudaMemcpyDeviceToDevice));
    }
    MUST(cudaDeviceSynchronize());

    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute cluster[1];
    cluster[0].id = cudaLaunchAttributeClusterDimension;
    cluster[0].val.clusterDim.x = plan.cluster, cluster[0].val.clusterDim.y = 1, cluster[0].val.clusterDim.z = 1;
    config.gridDim = dim3(plan.cluster), config.blockDim = dim3(256);
    config.dynamicSmemBytes = HEADER + plan.region;
    config.attrs = cluster, config.numAttrs = 1;
    cudaError_t status = cudaLaunchKernelEx(&config, probe, map, plan, reports);
    answer.stage = 2;
    if (status == cudaSuccess) status = cudaDeviceSynchronize(), answer.stage = 3;
    answer.error = status;
    if (status != cudaSuccess) {
      say(answer, nullptr);
      if (answer.stage == 3) _Exit(3);
      cudaGetLastError();
      continue;
    }

    MUST(cudaMemcpy(answer.reports, reports, CLUSTER * sizeof(Report), cudaMemcpyDeviceToHost));
    const uint8_t* payload = host.data();
    if (store) {
      MUST(cudaMemset(found, 0, 8));
      if (window) {
        strays<<<264, 256>>>((unsigned long long*)(window + TARGET), (WINDOW - TARGET) / 8, found);
      } else {
        strays<<<264, 256>>>((unsigned long long*)(target - GUARD), GUARD / 8, found);
        strays<<<264, 256>>>((unsigned long long*)(target + TARGET), GUARD / 8, found);
      }
      MUST(cudaMemcpy(&answer.stray, found, 8, cudaMemcpyDeviceToHost));
      MUST(cudaMemcpy(after.data(), written, TARGET, cudaMemcpyDeviceToHost));
      int64_t low = 0, high = TARGET;
      while (low < high && after[low] == initial[low]) ++low;
      while (high > low && after[high - 1] == initial[high - 1]) --high;
      for (int64_t i = low; i < high; ++i) answer.changed += after[i] != initial[i];
      answer.low = low, answer.length = high - low;
      payload = after.data() + low;
      if (answer.stray && !window) {
        MUST(cudaMemset(target - GUARD, POISON, GUARD));
        MUST(cudaMemset(target + TARGET, POISON, GUARD));
      }
    } else if (plan.dump) {
      for (int k = 0; k < plan.cluster; ++k)
        MUST(cudaMemcpy(host.data() + k * plan.dump, dumps + k * DUMP, plan.dump, cudaMemcpyDeviceToHost));
      answer.length = int64_t(plan.cluster) * plan.dump;
    }
    answer.microseconds =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begin).count();
    say(answer, payload);
  }
  return 0;
}
