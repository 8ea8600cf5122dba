"""The numbers of a machine that rows say: of which microbenchmark, in which unit, and by which rule.

A rule has the name of its number, but where several numbers have one rule: of arithmetic, of single operations, of
loads and stores.
"""

from __future__ import annotations

from dataclasses import dataclass

from .ends import dram_jitter, dram_skew
from .footprints import l2_again_bytes, l2_lost_bytes, l2_moved, l2_written
from .halves import dram_ahead, dram_ahead_time, dram_even_wait, dram_half
from .launches import (
    branch,
    constant_read,
    cta_retire,
    cta_turnover,
    dispatch,
    index_interval,
    launch,
    launch_drain,
    launch_step,
)
from .memory import (
    dram_latency,
    dram_place_latency,
    dram_rate,
    dram_spread,
    dram_turnaround,
    dram_turnaround_apart,
    dram_wait,
    hops,
    l2_beside_rate,
    l2_bytes,
    l2_fill,
    l2_half_latency,
    l2_rate,
    l2_write_rate,
    sm_clock,
    sm_port_rate,
    sm_rate,
    translation_latency,
)
from .rows import LOAD, STORE, Rule, by, commands, each
from .sharing import (
    first_tpcs,
    gpc_rate,
    l2_cluster_merged,
    l2_merged,
    l2_outside_rate,
    l2_reach,
    l2_shared,
)
from .short_rows import dram_lone_read_bytes, dram_lone_run_bytes, dram_read_run_bytes, dram_run_bytes
from .sm import (
    barrier_interval,
    barrier_release,
    cluster_barrier,
    cluster_release,
    division,
    fence,
    interval,
    matrix_interval,
    narrow_store,
    product_clock,
    shared_source_read,
    wavefront_interval,
    wgmma_clock,
    wgmma_clock_fall,
    wgmma_column,
    wgmma_issue,
    wgmma_issue_beside,
    wgmma_latency,
)
from .tiles import (
    crossbar_wait,
    l2_part_request,
    l2_request,
    l2_write_request,
    l2_write_wait,
    map_prefetch,
    mbarrier_setup,
)
from .tma import (
    cluster_arrive,
    descriptor_fetch,
    mbarrier_wake,
    tensor_address,
    tma_latency,
    tma_row,
    tma_store_read,
)


@dataclass(frozen=True)
class Source:
    """How a number is found: the microbenchmark, its unit, a sentence, and the rule."""

    rows: str
    unit: str
    sentence: str
    rule: Rule


NUMBERS: dict[str, Source] = {
    "sm_clock": Source("M4", "GHz", "cycles of a nanosecond while DRAM streams", sm_clock),
    "alu_latency": Source("M1", "cycles", "a chain of FFMA", lambda rows: each(rows, kernel="fma_1", warps=1)),
    "alu_interval": Source("M1", "cycles", "FFMA of 16 warps", interval("fma_8")),
    "sfu_latency": Source("M1", "cycles", "a chain of MUFU.EX2", lambda rows: each(rows, kernel="exp2_1", warps=1)),
    "sfu_interval": Source("M1", "cycles", "MUFU.EX2 of 16 warps", interval("exp2_8")),
    "shuffle_latency": Source("M1", "cycles", "a chain of SHFL", lambda rows: each(rows, kernel="shuffle_1", warps=1)),
    "shared_latency": Source("M2", "cycles", "a chain of LDS", lambda rows: each(rows, pattern="chain")),
    "wavefront_interval": Source("M2", "cycles", "all patterns, eight warps, by wavefronts", wavefront_interval),
    "matrix_interval": Source("M2", "cycles", "ldmatrix.x1 of eight warps", matrix_interval),
    "shared_source_read": Source(
        "M25 M1 M2",
        "cycles",
        "warps that load 16 bytes and store them as four words: from the last store to the next load",
        shared_source_read,
    ),
    "narrow_store": Source(
        "M25 M1 M2",
        "cycles",
        "warps that load 16 bytes and store them in eight parts: each store",
        narrow_store,
    ),
    "group_commit": Source("M9", "cycles", "commit of a bulk group", by("commits")),
    "group_wait": Source("M9", "cycles", "wait for a group that is over", by("group_waits")),
    "mbarrier_arrive": Source("M9", "cycles", "arrivals one after another", by("arrivals")),
    "mbarrier_expect": Source("M9", "cycles", "arrivals that expect bytes", by("expectations")),
    "mbarrier_wait": Source("M9", "cycles", "a wait for a phase that is over", by("waits")),
    "mbarrier_wake": Source(
        "M50 M4 M9 M38",
        "cycles",
        "generated rings that store: half of what an iteration of one slot takes longer than of three, and a wait",
        mbarrier_wake,
    ),
    "barrier_interval": Source("M10", "cycles", "__syncthreads, of one more warp", barrier_interval),
    "barrier_release": Source("M10", "cycles", "__syncthreads, without its warps", barrier_release),
    "fence": Source("M16", "cycles", "fence.proxy.async.shared::cta of four warps, less the store before it", fence),
    "cluster_barrier": Source("M16", "cycles", "barrier.cluster of two CTAs, less that of one", cluster_barrier),
    "cluster_release": Source(
        "M16", "cycles", "the same of 12 warps less that of 4, for each further of a scheduler", cluster_release
    ),
    "tma_issue": Source("M5", "cycles", "bulk loads of one thread, one after another", commands(0, "a")),
    "tma_command": Source("M13", "cycles", "bulk stores of one thread, one after another", commands(1, "cycles")),
    "tensor_address": Source(
        "M50 M4 M5 M7 M9 M38",
        "cycles",
        "generated rings of three slots that store boxes: from a wait until the command",
        tensor_address,
    ),
    "descriptor_fetch": Source("M11", "cycles", "the first copy by a map, less the first bulk copy", descriptor_fetch),
    "tma_row": Source("M6", "cycles", "a row of a box of many short rows", tma_row),
    "cluster_arrive": Source("M17", "cycles", "slots that two CTAs load for both, less those of one", cluster_arrive),
    "tma_store_read": Source("M9 M5", "cycles", "a store and the wait until its source was read", tma_store_read),
    "sm_port_rate": Source("M23", "B/cycle", "boxes from L2 by one SM", sm_port_rate),
    "sm_write_rate": Source("M7", "B/cycle", "stores into L2 by up to 16 SMs", sm_rate(STORE)),
    "l2_rate": Source("M7", "B/ns", "loads from L2 by all SMs, 4 to 32 MB", l2_rate(LOAD)),
    "l2_write_rate": Source("M43", "B/ns", "launches that store up to three tiles of each SM into L2", l2_write_rate),
    "l2_bytes": Source("M7 M4", "bytes", "loops over footprints: what L2 holds as a whole", l2_bytes),
    "l2_again_bytes": Source(
        "M46 M7 M4", "bytes", "launches in a row by footprint: what the next one finds", l2_again_bytes
    ),
    "l2_lost_bytes": Source("M46 M7 M4", "bytes", "the same: of how much it finds nothing", l2_lost_bytes),
    "l2_written": Source("M46 M7 M4", "part", "the same of copies: what L2 holds of written bytes", l2_written),
    "l2_moved": Source("M46 M7 M4", "part", "the same where CTAs come to other SMs in each launch", l2_moved),
    "l2_fill": Source("M7 M4", "part", "loops over footprints: the time of L2 for a byte that it has missed", l2_fill),
    "l2_latency": Source("M8", "ns", "a chase by loads of lines in L2", lambda rows: hops(rows, 0, 0)),
    "l2_half_latency": Source("M8 M27", "ns", "the same of lines that all SMs have read, less that", l2_half_latency),
    "tma_latency": Source(
        "M8 M2 M4 M5 M9 M13 M20", "ns", "a chase by bulk copies, less the rest of a hop", tma_latency
    ),
    "dram_latency": Source("M8", "ns", "the same of lines that L2 does not have, less that", dram_latency),
    "translation_latency": Source("M8", "ns", "lines in L2 from 512 MB on, less those below", translation_latency),
    "dram_rate": Source("M4", "B/ns", "loads with 96 KB of each SM in flight", dram_rate(LOAD)),
    "dram_write_rate": Source("M4", "B/ns", "stores", dram_rate(STORE)),
    "dram_turnaround": Source(
        "M40 M19 M4",
        "B/ns",
        "bytes stored in what copies by CTAs that start as others end take longer than both alone",
        dram_turnaround,
    ),
    "dram_turnaround_apart": Source(
        "M40 M48 M4",
        "B/ns",
        "the same of rings of CTAs that have their part of the work from the start, served alike",
        dram_turnaround_apart,
    ),
    "dram_even_wait": Source(
        "M40 M48 M7 M8",
        "ns",
        "rings by what is under way: until when loads are over where they end together, less what one takes alone",
        dram_even_wait,
    ),
    "dram_ahead": Source(
        "M48 M7 M4", "part", "launches in a row: what DRAM moves more for one half of the SMs at first", dram_ahead
    ),
    "dram_ahead_time": Source("M48 M7 M4", "ns", "the same by their length: in what time that falls", dram_ahead_time),
    "dram_half": Source(
        "M53 M48 M7 M4", "part", "launches in a row by what is under way: the rate of DRAM for the half left", dram_half
    ),
    "dram_skew": Source(
        "M55",
        "part",
        "transpositions of one slot: what the last CTA ends behind those of as many iterations, by one over their root",
        dram_skew,
    ),
    "dram_jitter": Source(
        "M55", "part", "the same: the standard deviation of what a load takes, as a part of it", dram_jitter
    ),
    "dram_read_run_bytes": Source(
        "M6 M4", "bytes", "a row of 64 bytes that is read: its time beyond that of its bytes", dram_read_run_bytes
    ),
    "dram_run_bytes": Source(
        "M40 M4",
        "bytes",
        "a row of 128 bytes that transpositions write, beside others: the same",
        dram_run_bytes,
    ),
    "dram_lone_read_bytes": Source(
        "M40 M4",
        "bytes",
        "a row of 128 bytes that copies read, its neighbours at other times: the same",
        dram_lone_read_bytes,
    ),
    "dram_lone_run_bytes": Source(
        "M6 M4",
        "bytes",
        "a row of 128 bytes that transpositions write, its neighbours at other times: the same",
        dram_lone_run_bytes,
    ),
    "dram_spread": Source("M51 M8", "ns", "one load under way of generated copies, by its lines", dram_spread),
    "dram_place_latency": Source(
        "M51 M8", "ns", "the same of rows of boxes, and of longer chunks, by how many they are", dram_place_latency
    ),
    "dram_read_wait": Source(
        "M4 M19 M35 M40 M48", "ns", "rings of more SMs, by what DRAM reads, and its queues", dram_wait(0)
    ),
    "dram_write_wait": Source(
        "M4 M19 M35 M40 M48", "ns", "the same of rings that copy, by what it writes", dram_wait(1)
    ),
    "l2_request": Source("M32", "ns", "rows of a sector that all SMs load", l2_request),
    "l2_write_request": Source("M32", "ns", "rows of a sector that all SMs store", l2_write_request),
    "l2_part_request": Source("M32", "ns", "rows of half a sector that all SMs store", l2_part_request),
    "l2_write_wait": Source(
        "M33 M7", "ns", "one chunk under way that all SMs copy in L2, by what L2 writes", l2_write_wait
    ),
    "crossbar_wait": Source(
        "M30 M23", "ns", "rings without products of all SMs, less those of one, by what their ports take", crossbar_wait
    ),
    "mbarrier_setup": Source("M31 M10", "cycles", "a launch until all have met behind its mbarriers", mbarrier_setup),
    "map_prefetch": Source("M31", "cycles", "the same with two maps that are prefetched, less that", map_prefetch),
    "l2_beside_rate": Source("M43 M7", "B/ns", "launches that copy them in L2, beside their loads", l2_beside_rate),
    "l2_merged": Source("M21", "part", "SMs that load the same: what L2 answers together of a GPC's", l2_merged),
    "l2_reach": Source("M21", "count", "the same: CTAs in a row of a GPC that are answered together", l2_reach),
    "l2_cluster_merged": Source(
        "M42", "part", "clusters of a GPC that load the same: what L2 answers together", l2_cluster_merged
    ),
    "gpc_rate": Source("M44", "B/ns", "loads from L2 by 12 and more SMs of a GPC", gpc_rate),
    "first_tpcs": Source("M44", "count", "TPCs of which a grid of few CTAs takes both SMs", first_tpcs),
    "l2_outside_rate": Source("M45", "B/ns", "boxes of all SMs by their rows outside of the tensor", l2_outside_rate),
    "l2_shared": Source(
        "M41", "part", "passes of all SMs over the same bytes, by those of one SM over each", l2_shared
    ),
    "wgmma_column": Source("M14", "cycles", "chains of 16 by two warpgroups", wgmma_column),
    "wgmma_latency": Source("M14", "cycles", "one wgmma and its wait, less N/2", wgmma_latency),
    "wgmma_issue": Source("M15 M5 M9 M20", "cycles", "one of four wgmmas of a step, N = 64", wgmma_issue),
    "wgmma_issue_beside": Source("M15", "cycles", "the same of more warpgroups, for each further", wgmma_issue_beside),
    "wgmma_clock": Source(
        "M30", "GHz", "the clock of all SMs in main loops, by what their tensor cores are busy: hardly", wgmma_clock
    ),
    "wgmma_clock_fall": Source("M30", "part", "the part of it that is lost by busy ones", wgmma_clock_fall),
    "product_clock": Source("M14", "GHz", "the clock that long products of all SMs leave", product_clock),
    "launch": Source("M18", "ns", "empty kernels of one CTA in a stream", launch),
    "launch_step": Source("M47", "ns", "launches in a row that stay a little longer each: their times", launch_step),
    "launch_drain": Source(
        "M18 M38", "ns", "a launch that stays and writes, less that, an empty one, and what its code does", launch_drain
    ),
    "cta_dispatch": Source("M18", "ns", "until one more CTA has begun, by CTAs and warps", dispatch(0)),
    "warp_dispatch": Source("M18", "ns", "the same of one more warp", dispatch(1)),
    "cta_retire": Source("M18", "ns", "one more CTA of an empty launch", cta_retire),
    "cta_turnover": Source(
        "M18 M38",
        "ns",
        "from the end of a CTA to the begin of the next in its place, less what its code does",
        cta_turnover,
    ),
    "constant_read": Source(
        "M38", "cycles", "a chain of loads from constant memory, less their addresses", constant_read
    ),
    "branch": Source("M38", "cycles", "half of what a body on a condition takes longer than without one", branch),
    "index_interval": Source(
        "M38", "cycles", "addresses of 64 bits in a chain, by their instructions, two at a time", index_interval
    ),
    "divide_32": Source("M20 M1", "cycles", "a chain of divisions of 32 bits, each by another number", division),
    "divide_fixed": Source("M20", "cycles", "a chain of divisions of 64 bits by 3", by("fixed_64")),
    "divide_64": Source("M20", "cycles", "a chain of divisions of 64 bits", by("divide_64")),
    "loop_trip": Source("M20", "cycles", "trips of a loop that is not unrolled", by("loop_trips")),
}
