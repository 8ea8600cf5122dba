"""How long the simulator takes: the command, a product over all SMs, a main loop, a sweep of schedules.

    python -m benchmarks.simulator_speed [--rounds 3] [--points 50] [--out FILE.jsonl]

Seconds are those of the CPU, the least of some rounds; the command is a new process, imports included. The sweep takes
so many points of 1 080, drawn with seed 0, and says what 1 000 would take on two cores, proofs left out. The ratio is
what each takes without ``simulator/recurrence.py``, which counts iterations that repeat, to what it takes. Exit status
1 where something takes longer than its aim.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from symlayout.process import prepare

COMMAND = "simulate tma_copy --dims M=8192 N=8192 --set slots=4 --machine h200 -o"
CUBE = {"M": 8192, "N": 8192, "K": 8192}
SWEPT = {"M": 4096, "N": 4096, "K": 4096}
AXES: dict[str, list[Any]] = {
    "tile": [(64, 64), (64, 128), (64, 256), (128, 64), (128, 128), (128, 256), (256, 64), (256, 128), (192, 128)],
    "stages": [2, 3, 4, 5, 6],
    "cluster": [1, 2],
    "blocks": [64, 128, 132],
    "group": [1, 4, 8, 16],
}
POINTS, CORES = 1000, 2


@dataclass(frozen=True)
class Row:
    """What was timed, in seconds of the CPU; *each_step* is 0 where that was not."""

    what: str
    aim: float
    seconds: float
    each_step: float = 0.0

    def __str__(self) -> str:
        ratio = f"{self.each_step / self.seconds:6.1f}x" if self.each_step else ""
        return f"{self.what:55} {self.seconds:8.3f} s  aim {self.aim:6.2f} s  {ratio}"


def least(rounds: int, work: Callable[[], Any]) -> float:
    """The least seconds of the CPU of some rounds."""
    found = []
    for _ in range(rounds):
        began = time.process_time()
        work()
        found.append(time.process_time() - began)
    return min(found)


def command(rounds: int) -> float:
    """The seconds of the CPU of the command in a new process, which writes a timeline too."""

    def once() -> float:
        with tempfile.TemporaryDirectory() as folder:
            before = os.times()
            args = [sys.executable, "-m", "symlayout", *COMMAND.split(), str(Path(folder) / "t.json")]
            subprocess.run(args, check=True, stdout=subprocess.DEVNULL, timeout=60)
            after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    return min(once() for _ in range(rounds))


def rows(rounds: int, points: int) -> Iterator[Row]:
    """Everything that is timed."""
    from simulator import simulate
    from symlayout.kernels.families import family

    only = {"what_if": False, "uncertainty": False}
    yield Row(f"symlayout {COMMAND} t.json", 1.0, command(rounds))
    for cluster in (1, 2):
        bound = family("gemm").build(cluster=cluster, blocks=132).bind(**CUBE)
        both = (least(rounds, lambda b=bound, e=each: simulate(b, each_step=e, **only)) for each in (False, True))
        yield Row(f"gemm 8192 cubed, 132 CTAs, clusters of {cluster}", 1.0, *both)
        yield Row("  with what-ifs and range", 1.0, least(rounds, lambda b=bound: simulate(b)))
    loop = family("gemm").build(cluster=1, blocks=1).bind(M=128, N=256, K=8192)
    both = (least(rounds, lambda e=each: simulate(loop, each_step=e, **only)) for each in (False, True))
    yield Row("one main loop: 128 iterations of 128 x 256 x 64", 0.05, *both)
    yield Row(f"{POINTS} schedules of gemm 4096 cubed, {CORES} cores", 60.0, *swept(points))


def swept(points: int) -> tuple[float, float]:
    """The seconds that a sweep of all points takes on two cores, by some of them; and step by step."""
    from simulator import simulate
    from simulator.sweep import Point, Setting, predicted
    from symlayout.kernels.families import family

    gemm = family("gemm")
    drawn = random.Random(0).sample(list(itertools.product(*AXES.values())), points)
    todo = [Point(tuple(zip(AXES, x, strict=True)), tuple(SWEPT.items())) for x in drawn]
    found = []
    together = least(1, lambda: found.extend(predicted(gemm, Setting(), lambda _: None, p)[0] for p in todo))
    more = 0.0
    for point, row in zip(todo, found, strict=True):
        if not row.why:
            bound = gemm.build(**dict(point.options)).bind(**SWEPT)
            work = functools.partial(simulate, bound, what_if=False, uncertainty=False)
            more += least(1, functools.partial(work, each_step=True)) - least(1, work)
    scale = POINTS / points / CORES
    return together * scale, (together + more) * scale


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--points", type=int, default=50)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    prepare()
    late, found = 0, []
    for row in rows(given.rounds, given.points):
        print(row, flush=True)
        found.append(json.dumps(asdict(row)))
        late += row.seconds > row.aim
    if given.out is not None:
        given.out.write_text("\n".join(found) + "\n")
    return int(late > 0)


if __name__ == "__main__":
    sys.exit(main())
