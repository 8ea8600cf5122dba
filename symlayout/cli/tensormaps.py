"""``symlayout tensormaps FILE``: recorded encode calls, judged by the rules of a profile."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..answers import console
from ..errors import LayoutError
from .exits import OK, UNEXPECTED, fail


class Plain(StrEnum):
    """The format of a report without verdicts."""

    TEXT = "text"
    JSON = "json"


class Profile(StrEnum):
    """Whose rules a descriptor must meet."""

    DRIVER = "driver"
    CCCL = "cccl"
    HARDWARE = "hardware"
    DOCUMENTED = "documented"


def tensormaps(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSON lines (.jsonl, .jsonl.gz), one encode call each.")],
    profile: Annotated[Profile, typer.Option(help="Whose rules count.")] = Profile.DRIVER,
    against: Annotated[str, typer.Option(metavar="FIELD", help="The field of the recorded code to compare with.")] = "",
    format: Annotated[Plain, typer.Option(help="How the report is printed.")] = Plain.TEXT,
) -> None:
    """Judge recorded cuTensorMapEncode calls: how many are accepted, and by which rules the others are not.

    A row has mode (tiled or im2col), dtype, rank, addr, dim, stride (bytes),
    box, estride, interleave, swizzle, l2, oob, and for im2col lower, upper,
    channels, pixels in place of box: the driver's numbers, innermost first.
    addr counts from an aligned address.

    driver: what the CUDA 13.0 driver accepts on compute capability 9.0.

    cccl: what cuda::make_tma_descriptor accepts, as far as a row knows: it has
    nothing of the DLTensor and does not tell null. Of im2col rows, which that
    function cannot make, all but the box is judged.

    hardware: as driver, and the tile fits the shared memory of a block.

    documented: the text of the Driver API.
    """
    from ..tma.recorded_report import judged

    try:
        found = judged(file, profile.value, against)
    except LayoutError as e:
        fail(str(e))
        return
    if format is Plain.JSON:
        sys.stdout.write(json.dumps(found.as_json(), indent=2) + "\n")
    else:
        for line in found.lines():
            console.out.print(line, markup=False)
    raise typer.Exit(UNEXPECTED if found.disagreements else OK)
