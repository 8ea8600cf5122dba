"""The findings of a differential test: a row for each case, which prints as a table and is true if all are the same.

>>> case = Case("least", (("N", 1),), "bits", "same", compared=("reference", "untimed run"), seconds=0.01)
>>> found = Differential("vector_copy", "5f2a" * 16, "sm_90a", "NVIDIA H200", (case,))
>>> print(found)
vector_copy 5f2a5f2a5f2a5f2a for sm_90a on NVIDIA H200: 1 of 1 cases the same
sizes         data  outcome  compared with           seconds
N=1 (least)   bits  same     reference, untimed run     0.01
>>> bool(found)
True
"""

from __future__ import annotations

from dataclasses import dataclass

SAME = "same"
DIFFERS, OUTSIDE, INPUT = "differs", "wrote outside", "changed an input"
FAULT, NO_ANSWER, FAILED = "fault", "no answer", "failed"


@dataclass(frozen=True)
class Case:
    """One run: its sizes with the word for them, its data, how it ended, what it was compared with.

    *outcome* is ``same``, ``differs``, ``wrote outside``, ``changed an input``, ``fault``, ``no answer`` or
    ``failed``. *told* describes it: the first wrong element with coordinate, offset and the operation that wrote it.
    *why_host* says why a large one was not compared on the device.
    """

    word: str
    sizes: tuple[tuple[str, int], ...]
    data: str
    outcome: str
    told: str = ""
    compared: tuple[str, ...] = ()
    seconds: float = 0.0
    why_host: str = ""

    def __bool__(self) -> bool:
        return self.outcome == SAME

    @property
    def at(self) -> str:
        return f"{', '.join(f'{k}={n}' for k, n in self.sizes)} ({self.word})"


@dataclass(frozen=True)
class Differential:
    """All cases of a kernel on a device; *delays* is the seed of random waits, None without any."""

    kernel: str
    digest: str
    arch: str
    device: str
    cases: tuple[Case, ...]
    delays: int | None = None
    proved: bool = True

    def __bool__(self) -> bool:
        return bool(self.cases) and all(self.cases)

    @property
    def wrong(self) -> tuple[Case, ...]:
        """The cases that did not end as they should."""
        return tuple(c for c in self.cases if not c)

    def __str__(self) -> str:
        count = f"{len(self.cases) - len(self.wrong)} of {len(self.cases)} cases the same"
        more = ("" if self.delays is None else f", random waits of seed {self.delays}") + (
            "" if self.proved else ", not proved"
        )
        head = f"{self.kernel} {self.digest[:16]} for {self.arch} on {self.device}{more}: {count}"
        rows = [("sizes", "data", "outcome", "compared with", "seconds")]
        rows += [(c.at, c.data, c.outcome, ", ".join(c.compared), f"{c.seconds:.2f}") for c in self.cases]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [head]
        for row, case in zip(rows, (None, *self.cases), strict=True):
            cells = [x.ljust(w) for x, w in zip(row[:-1], widths[:-1], strict=True)]
            lines.append("  ".join([*cells, row[-1].rjust(widths[-1])]))
            if case is not None and case.told:
                lines += [f"    {line}" for line in case.told.splitlines()]
        reasons = dict.fromkeys(c.why_host for c in self.cases if c.why_host)
        return "\n".join([*lines, *(f"compared on the host, not on the device: {why}" for why in reasons)])
