// nvcc -gencode=arch=compute_90a,code=sm_90a -cubin -Xptxas=-v -o kernels.cubin kernels.cu, nvcc 13.0.88. Its report:
//   block_given  10 registers, 0 barriers
//   plain        12 registers, 1 barrier
//   rich         40 registers, 4 barriers, 528 bytes smem, 256 bytes stack frame
struct alignas(128) CUtensorMap { unsigned long long opaque[16]; };

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(256, 2)
rich(const __grid_constant__ CUtensorMap m, float* p, int n, long long q, float f) {
    __shared__ float s[128];
    __shared__ alignas(8) unsigned long long bar[2];
    float a[64];
    for (int i = 0; i < n; i++) a[i] = p[i * n];
    s[threadIdx.x & 127] = a[n];
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"((unsigned)__cvta_generic_to_shared(bar)));
    asm volatile("bar.sync 3, 256;");
    __syncthreads();
    p[threadIdx.x] = a[(n + 1) & 63] * f + s[q & 127] + *(const float*)&m;
}

extern "C" __global__ void __launch_bounds__(64) plain(int* p, char c) {
    extern __shared__ int d[];
    d[threadIdx.x] = c;
    __syncthreads();
    p[threadIdx.x] = d[63 - threadIdx.x];
}

extern "C" __global__ void __block_size__((128, 1, 1)) block_given(int* p) { p[threadIdx.x] = 1; }
