"""What the words of a prediction mean: its resources, what roles wait for, and the numbers of machines.

>>> print(entries()[2])
L2 writes
  The bytes that L2 takes from all SMs: stores, and what bulk copies and TMA write.
  When it limits: nothing in the schedule helps where each byte is stored once.
>>> print(entries()[-1])  # doctest: +ELLIPSIS
wgmma_queue
  NVIDIA A100 ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from symlayout.answers.explain import WAITS, Entry, filled

from .machine import machine, machines
from .memory import LATENCY, POWER
from .sm import DISPATCH, IN_FLIGHT, ISSUING, RETIRE

# What it is and counts, and what to do when it limits.
RESOURCES: Mapping[str, tuple[str, str]] = {
    "DRAM": (
        "The bytes between L2 and DRAM, and the times for which DRAM turns from reads to writes and back.",
        "as fast as memory where it is busy for 95 % or more: move fewer bytes.",
    ),
    "L2": (
        "The bytes that L2 gives to all SMs, and a least time for each request, such as a row of a box.",
        "tiles are read too often, or by short rows: larger tiles, a cluster with multicast, another raster.",
    ),
    "L2 writes": (
        "The bytes that L2 takes from all SMs: stores, and what bulk copies and TMA write.",
        "nothing in the schedule helps where each byte is stored once.",
    ),
    LATENCY: (
        "The time until L2 or DRAM answers, beside which no resource is busy; a free one answers at once.",
        "too few bytes are in flight: more slots, larger boxes, more CTAs an SM.",
    ),
    POWER: (
        "With `--sustained`: the energy of all bytes and products, among many launches in a row, at the power limit.",
        "the device lowers its clock: fewer bytes from L2 for each product, smaller operands.",
    ),
    "SM port": (
        "The bytes that an SM takes in from L2.",
        "an SM loads as fast as it can: load a tile once for more products, or use more SMs.",
    ),
    "SM port, stores": (
        "The bytes that an SM gives to L2.",
        "an SM stores as fast as it can: use more SMs, or store a smaller type.",
    ),
    IN_FLIGHT: (
        "How many bytes of bulk copies and TMA an SM may have asked for and not received.",
        "more slots do not help: fewer bytes, or more SMs.",
    ),
    "TMA front end": (
        "The commands of an SM to its TMA, and the rows of their boxes, one after another.",
        "commands are too many, or rows of boxes too short: larger boxes, longer rows.",
    ),
    "shared memory": (
        "Wavefronts of loads and stores, bank conflicts among them, and what cp.async, bulk copies and TMA move there.",
        "another swizzle or a padded row where accesses conflict; operands in registers.",
    ),
    "load/store unit": (
        "Warp instructions that access memory, by their lines in L1.",
        "wider vectors, consecutive addresses for the threads of a warp, bulk copies instead of loads.",
    ),
    "mbarrier unit": (
        "Operations on mbarriers of an SM: arrivals, expect_tx, tests.",
        "one arrival for a warp instead of 32, or larger slots.",
    ),
    "issue slots": (
        "Warp instructions, at most one a cycle of each scheduler.",
        "wider vectors, fewer indices and conditions in the innermost loop, more warps where few schedulers have work.",
    ),
    "tensor core": (
        "Products by mma and wgmma. A wgmma takes longer where its operands come from shared memory more slowly.",
        "as fast as the tensor cores, where operands do not take longer; then larger tiles, or operands in registers.",
    ),
    "special functions": (
        "Exponentials and their like, divisions and roots, which a unit of few lanes does.",
        "fewer of them, or approximations.",
    ),
    DISPATCH: (
        "The start of CTAs, one after another, over all SMs.",
        "fewer CTAs that do more each: a persistent grid.",
    ),
    RETIRE: (
        "The end of CTAs, until the place of one on an SM is free for the next.",
        "fewer CTAs that do more each: a persistent grid.",
    ),
}

CAUSES: Mapping[str, str] = {
    ISSUING: "The warps of the role work: they issue instructions, and wait for no one. All other causes are waits.",
    "mbarrier full": (
        "A consumer waits until a slot of its ring is filled. Where it is much of its time, data comes too late."
    ),
    "mbarrier empty": (
        "A producer waits for a free slot. That is what one wants, since all slots are filled or being filled then."
    ),
    "mbarrier": "A role waits for a phase of the mbarrier that is named.",
    "CTA barriers": "The warps of a CTA wait for each other, at __syncthreads or a named barrier.",
    "cluster barriers": "The CTAs of a cluster wait for each other.",
    "loads": "Registers that come from global memory are not there yet.",
    "results": "Registers from shared memory or arithmetic are not there yet: more warps, or work in between.",
    "registers": "Stores into shared memory have not read their registers yet, which must not be written until then.",
    "cp.async groups": "Copies by cp.async that were committed are not over.",
    "bulk groups": "Bulk or TMA stores that were committed are not over.",
    "bulk groups to be read": (
        "Bulk or TMA stores have not read their shared memory yet: it must not be filled again until then."
    ),
    "wgmma groups": "Products that were committed are not over.",
    "wgmma queue": "The next wgmma waits for a place among those under way on the SM.",
    "wgmmas before a division": "The second half of a division waits until no wgmma is under way.",
    "fences": "A fence waits until loads and stores of shared memory before it are over.",
}


@cache
def entries() -> tuple[Entry, ...]:
    """The resources, what roles wait for, and each number with its value on all machines that there are files of."""
    resources = [Entry("resources", name, "", filled(meaning(name))) for name in RESOURCES]
    return (*resources, *(Entry(WAITS, name, "", filled(text)) for name, text in CAUSES.items()), *_numbers())


def meaning(name: str) -> str:
    """What a resource or a cause means, in paragraphs; nothing for other words.

    >>> meaning("mbarrier tile_ready")
    'A role waits for a phase of the mbarrier that is named.'
    """
    if name in RESOURCES:
        return "{}\n\nWhen it limits: {}".format(*RESOURCES[name])
    return CAUSES.get(name) or CAUSES.get(name.partition(" ")[0], "")


def table() -> str:
    """The resources as rows of a page."""
    rows = [f"| {name} | {text} | {advice[0].upper()}{advice[1:]} |\n" for name, (text, advice) in RESOURCES.items()]
    return "".join(["| limited by | what it is | what to try |\n|---|---|---|\n", *rows])


def _numbers() -> Iterator[Entry]:
    """What ``symlayout machines`` has in a line of each machine, by number."""
    all_of_them = [machine(name) for name in machines()]
    for name in sorted(dict.fromkeys(n for m in all_of_them for n in m.numbers)):
        lines = [f"{m.name}: {str(m[name]).partition(' = ')[2]}" for m in all_of_them if name in m.numbers]
        yield Entry("numbers of machines", name, "", "\n".join(lines))
