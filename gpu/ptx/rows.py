"""Device functions that are not templates of a shape: barriers, fences, groups, copies without a map, small helpers."""

from __future__ import annotations

from symlayout.atoms.cache import L2_PRIORITIES

from .accesses import async_copy, bulk_copy, prefetch, priority
from .function import ADDRESS, Function, asm, shared
from .functions import PACKED, SCALARS
from .peers import PEERS

WAIT = """\
__device__ inline void mbarrier_wait{at}(uint64_t* barrier, uint32_t parity{parameter}) {{
#ifdef POLL_LIMIT
    for (uint32_t polls = 0; !mbarrier_try_wait{at}(barrier, parity{argument}); ++polls)
        if (polls == POLL_LIMIT) __trap();  // a protocol error ends in an error code
#else
    while (!mbarrier_try_wait{at}(barrier, parity{argument})) {{}}
#endif
}}"""

TRY_WAIT = """\
__device__ inline bool mbarrier_try_wait{at}(uint64_t* barrier, uint32_t parity{parameter}) {{
    uint32_t done;
    asm volatile(
        "{{\\n"
        ".reg .pred p;\\n"
        "mbarrier.try_wait.parity{acquire}.shared::cta.b64 p, [%1], %2{suspend};\\n"
        "selp.u32 %0, 1, 0, p;\\n"
        "}}\\n" : "=r"(done) : "r"(shared_address(barrier)), "r"(parity){operand} : "memory");
    return done;
}}"""

ARRIVE_AT = """\
__device__ inline void mbarrier_arrive_at{at}(uint64_t* barrier, uint32_t rank{parameter}) {{
    asm volatile(
        "{{\\n"
        ".reg .b32 remote;\\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\\n"
        "mbarrier.arrive{release}.shared::cluster.b64 _, [remote]{times};\\n"
        "}}\\n" ::"r"(shared_address(barrier)), "r"(rank){operand} : "memory");
}}"""

NO_COMPLETE = """\
__device__ inline void mbarrier_arrive_no_complete(uint64_t* barrier, uint32_t count) {
    asm volatile(
        "{\\n"
        ".reg .b64 state;\\n"
        "mbarrier.arrive.noComplete.shared::cta.b64 state, [%0], %1;\\n"
        "}\\n" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}"""

ELECT = """\
__device__ inline bool elect_one() {
    uint32_t elected;
    asm volatile(
        "{\\n"
        ".reg .pred p;\\n"
        "elect.sync _|p, 0xffffffff;\\n"
        "selp.u32 %0, 1, 0, p;\\n"
        "}\\n" : "=r"(elected));
    return elected;
}"""

RANDOM_WAIT = """\
__device__ inline void random_wait(uint32_t place, uint32_t iteration, uint32_t most_ns) {
    uint32_t x = place ^ (blockIdx.x + 7919 * blockIdx.y + 104729 * blockIdx.z) * 0x9E3779B1u;
    x ^= threadIdx.x / 32 * 0x85EBCA77u ^ iteration * 0xC2B2AE3Du;
    x = (x ^ x >> 15) * 0x2C1B3C6Du;
    x = (x ^ x >> 12) * 0x297A2D39u;
    const uint64_t ns = (x >> 8) % most_ns * (x >> 7 & 1), begin = global_ns();
    while (global_ns() - begin < ns) {}
}"""

STAMP = """\
__device__ inline bool first_lane() { return (threadIdx.x & 31) == __ffs(__activemask()) - 1; }
__device__ inline void stamp(uint64_t* row, uint32_t iteration, uint32_t kept, uint32_t begin) {
    const uint32_t end = clock_now();
    if (iteration < kept && first_lane()) row[iteration] = uint64_t(end) << 32 | begin;
}"""

STAMP_WARP = """\
__device__ inline void stamp_warp(uint64_t* pair) {
    if (threadIdx.x % 32 == 0) {
        uint64_t before, ns, after;
        do {  // again where an instruction had to be fetched between them
            before = clock64_now(), ns = global_ns(), after = clock64_now();
        } while (after - before > 200);
        pair[0] = ns;
        pair[1] = before;
    }
}"""

SCOPES = ("", "cluster")  # "" for that which PTX takes without one, the CTA's


def at_scope(scope: str) -> tuple[Function, ...]:
    """Arrivals, which release, and waits, which acquire, at a scope."""
    at = f"_{scope}" if scope else ""
    release, acquire = (f".{word}.{scope}" if scope else "" for word in ("release", "acquire"))
    return (
        asm(
            f"mbarrier_arrive{at}",
            "uint64_t* barrier",
            f"mbarrier.arrive{release}.shared::cta.b64 _, [%0]",
            f"{shared('barrier')} ",
            "mbarrier.arrive",
        ),
        asm(
            f"mbarrier_arrive_times{at}",
            "uint64_t* barrier, uint32_t count",
            f"mbarrier.arrive{release}.shared::cta.b64 _, [%0], %1",
            f'{shared("barrier")}, "r"(count) ',
            "mbarrier.arrive with a count",
        ),
        Function(
            f"mbarrier_arrive_at{at}",
            ARRIVE_AT.format(at=at, release=release, parameter="", times="", operand=""),
            "mbarrier.arrive at another CTA of the cluster",
            (ADDRESS,),
        ),
        Function(
            f"mbarrier_arrive_at_times{at}",
            ARRIVE_AT.format(
                at=f"_times{at}",
                release=release,
                parameter=", uint32_t count",
                times=", %2",
                operand=', "r"(count)',
            ),
            "mbarrier.arrive at another CTA of the cluster, with a count",
            (ADDRESS,),
        ),
        *waits(at, acquire),
        *waits(f"_by_tries{at}", acquire, "ns"),
    )


def waits(at: str, acquire: str, limit: str = "") -> tuple[Function, ...]:
    """A try to wait, and tries until one succeeds, each for at most so many nanoseconds where there is a *limit*."""
    parameter, argument = (f", uint32_t {limit}", f", {limit}") if limit else ("", "")
    suspend, operand = (", %3", f', "r"({limit})') if limit else ("", "")
    one = TRY_WAIT.format(at=at, acquire=acquire, parameter=parameter, suspend=suspend, operand=operand)
    what = "mbarrier.try_wait" + (" with a time limit" if limit else "")
    return (
        Function(f"mbarrier_try_wait{at}", one, what, (ADDRESS,)),
        Function(
            f"mbarrier_wait{at}",
            WAIT.format(at=at, parameter=parameter, argument=argument),
            "",
            (f"mbarrier_try_wait{at}",),
        ),
    )


FIXED = (
    Function(
        ADDRESS,
        "__device__ inline uint32_t shared_address(const void* p) {\n"
        "    return static_cast<uint32_t>(__cvta_generic_to_shared(p));\n}",
        "the address of a place in shared memory, as instructions take it",
    ),
    Function(
        "floor_div",
        "template <class T>\n"
        "__device__ inline T floor_div(T a, T b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }",
        "quotients round down; C's round towards zero",
    ),
    Function(
        "floor_mod",
        "template <class T>\n__device__ inline T floor_mod(T a, T b) { return a - floor_div(a, b) * b; }",
        "",
        ("floor_div",),
    ),
    Function(
        "vector",
        "template <int BYTES> struct Vector;\n"
        "template <> struct Vector<1> { using type = uint8_t; };\n"
        "template <> struct Vector<2> { using type = uint16_t; };\n"
        "template <> struct Vector<4> { using type = uint32_t; };\n"
        "template <> struct Vector<8> { using type = uint2; };\n"
        "template <> struct Vector<16> { using type = uint4; };\n"
        "template <int BYTES>\n"
        "__device__ inline auto& vector(void* p) { return *static_cast<typename Vector<BYTES>::type*>(p); }\n"
        "template <int BYTES>\n"
        "__device__ inline const auto& vector(const void* p) "
        "{ return *static_cast<const typename Vector<BYTES>::type*>(p); }",
        "the bytes at an address as one access",
    ),
    asm(
        "mbarrier_init",
        "uint64_t* barrier, uint32_t arrivals",
        "mbarrier.init.shared::cta.b64 [%0], %1",
        f'{shared("barrier")}, "r"(arrivals) ',
        "mbarrier.init",
    ),
    asm(
        "mbarrier_inval",
        "uint64_t* barrier",
        "mbarrier.inval.shared::cta.b64 [%0]",
        f"{shared('barrier')} ",
        "mbarrier.inval",
    ),
    asm("fence_mbarrier_init", "", "fence.mbarrier_init.release.cluster", "", "fence.mbarrier_init"),
    *(f for scope in SCOPES for f in at_scope(scope)),
    Function("mbarrier_arrive_no_complete", NO_COMPLETE, "mbarrier.arrive.noComplete", (ADDRESS,)),
    asm(
        "mbarrier_arrive_expect_tx",
        "uint64_t* barrier, uint32_t bytes",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1",
        f'{shared("barrier")}, "r"(bytes) ',
        "mbarrier.arrive.expect_tx",
    ),
    Function("elect_one", ELECT, "elect.sync"),
    *(
        Function(
            name,
            f"__device__ inline uint{bits}_t {name}() {{\n    uint{bits}_t now;\n"
            f'    asm volatile("mov.u{bits} %0, %{register};" : "={letter}"(now)::"memory");\n    return now;\n}}',
            f"%{register}",
        )
        for name, register, bits, letter in (
            ("clock_now", "clock", 32, "r"),
            ("clock64_now", "clock64", 64, "l"),
            ("global_ns", "globaltimer", 64, "l"),
        )
    ),
    Function("stamp", STAMP, "for measurements: the clock before and after an operation", ("clock_now",)),
    Function("stamp_warp", STAMP_WARP, "for measurements: both clocks of a warp", ("clock64_now", "global_ns")),
    Function(
        *("random_wait", RANDOM_WAIT, "for tests: a wait of its own in each CTA, warp and iteration, or none"),
        ("global_ns",),
    ),
    asm(
        "barrier_sync",
        "uint32_t number, uint32_t threads",
        "barrier.sync %0, %1",
        '"r"(number), "r"(threads) ',
        "barrier.sync",
    ),
    asm(
        "barrier_arrive",
        "uint32_t number, uint32_t threads",
        "barrier.arrive %0, %1",
        '"r"(number), "r"(threads) ',
        "barrier.arrive",
    ),
    asm(
        "cluster_sync",
        "",
        "barrier.cluster.arrive.release.aligned;\\nbarrier.cluster.wait.acquire.aligned",
        "",
        "barrier.cluster",
    ),
    *(
        asm(f"cluster_{name}", "", f"barrier.cluster.{words}.aligned", "", f"barrier.cluster.{words}")
        for name, words in (
            ("arrive", "arrive.release"),
            ("arrive_relaxed", "arrive.relaxed"),
            ("wait", "wait.acquire"),
        )
    ),
    asm("fence_proxy_async", "", "fence.proxy.async.shared::cta", "", "fence.proxy.async"),
    asm("wgmma_fence", "", "wgmma.fence.sync.aligned", "", "wgmma.fence"),
    asm("wgmma_commit_group", "", "wgmma.commit_group.sync.aligned", "", "wgmma.commit_group"),
    *(
        asm(
            f"cp_async_mbarrier_arrive{word.replace('.', '_')}",
            "uint64_t* barrier",
            f"cp.async.mbarrier.arrive{word}.shared::cta.b64 [%0]",
            f"{shared('barrier')} ",
            f"cp.async.mbarrier.arrive{word}",
        )
        for word in ("", ".noinc")
    ),
    asm("cp_async_commit_group", "", "cp.async.commit_group", "", "cp.async.commit_group"),
    asm("bulk_commit_group", "", "cp.async.bulk.commit_group", "", "cp.async.bulk.commit_group"),
    *(
        asm(name, "", f"{word} %0", '"n"(PENDING) ', word, "template <int PENDING>\n")
        for name, word in (
            ("wgmma_wait_group", "wgmma.wait_group.sync.aligned"),
            ("cp_async_wait_group", "cp.async.wait_group"),
            ("bulk_wait_group", "cp.async.bulk.wait_group"),
            ("bulk_wait_group_read", "cp.async.bulk.wait_group.read"),
        )
    ),
    *(
        asm(
            f"setmaxnreg_{way}",
            "",
            f"setmaxnreg.{way}.sync.aligned.u32 %0",
            '"n"(REGISTERS) ',
            "setmaxnreg",
            "template <int REGISTERS>\n",
        )
        for way in ("inc", "dec")
    ),
    asm("prefetch_tensormap", "const CUtensorMap& map", "prefetch.tensormap [%0]", '"l"(&map) ', "prefetch"),
    *(async_copy(n, or_zero=zero) for zero in (False, True) for n in (4, 8, 16)),
    *(bulk_copy(way, hint=hint) for way in ("load", "store", "prefetch") for hint in (False, True)),
    *(bulk_copy("load", multicast=True, hint=hint) for hint in (False, True)),
    *(prefetch(word) for word in ("", "evict_last", "evict_normal")),
    *(priority(word) for word in L2_PRIORITIES),
    *(
        Function(
            f"pack_{kind}",
            f"__device__ inline uint32_t pack_{kind}(float low, float high) {{\n"
            "    uint32_t packed;\n"
            f'    asm("cvt.rn.{kind}x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));\n'
            "    return packed;\n}",
            "cvt.rn: two numbers rounded, in one register",
        )
        for kind in ("bf16", "f16")
    ),
    *PEERS,
    *SCALARS,
    *PACKED,
    Function(
        "descriptor",
        "template <uint64_t SHAPE>\n"
        "__device__ inline uint64_t descriptor(const void* start) {\n"
        "    return SHAPE | (shared_address(start) & 0x3FFFF) >> 4;\n}",
        "matrix descriptor of wgmma: how a matrix lies, and where it begins",
        (ADDRESS,),
    ),
    Function(
        "settled",
        "template <int N>\n__device__ inline void settled(float (&sums)[N]) {\n"
        "#pragma unroll\n"
        '    for (int i = 0; i < N; ++i) asm volatile("" : "+f"(sums[i])::"memory");\n}\n'
        "template <int N>\n__device__ inline void settled(int32_t (&sums)[N]) {\n"
        "#pragma unroll\n"
        '    for (int i = 0; i < N; ++i) asm volatile("" : "+r"(sums[i])::"memory");\n}',
        "sums are not read before the wait above this line",
    ),
)
