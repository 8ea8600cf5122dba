"""The command: a campaign, and its table."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks import soundness

from .campaign import campaign, code_version, table
from .registry import AWAITED, PLACES, rows, rows_of


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign and print a table; 1 on any disagreement, 2 for a kind that has no row."""
    parser = argparse.ArgumentParser(
        "python -m benchmarks.soundness",
        description=soundness.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trials", type=int, default=100_000, help="static claims in all, dealt over the kinds")
    parser.add_argument("--symbolic", type=int, default=4_000, help="symbolic claims in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", default="", help="class names with commas; all kinds that have a row if left out")
    parser.add_argument("--place", choices=PLACES, help="the kinds of one module")
    parser.add_argument("--resume", type=Path, help="a file of finished slices, one JSON object a line")
    parser.add_argument("--seconds", type=float, default=0, help="start no slice after so long")
    parser.add_argument("--every-version", action="store_true", help="add up slices of other code versions too")
    args = parser.parse_args(arguments)
    known = {row.name: row for row in rows() if args.place is None or row in rows_of(args.place)}
    named = [k for k in args.kinds.split(",") if k] or list(known)
    unknown = [k for k in named if k not in known]
    if unknown:
        print(f"expected kinds among {', '.join(known)}, got {', '.join(unknown)}", file=sys.stderr)
        return 2
    wanted = {"static": args.trials, "symbolic": args.symbolic}
    every = campaign([known[k] for k in named], wanted, args.seed, args.resume, args.seconds)
    found = [s for s in every if args.every_version or s.version == code_version()]
    print(table(found))
    others = sum(s.trials for s in every) - sum(s.trials for s in found)
    if others:
        print(f"not counted: {others} claims of other code versions in {args.resume}")
    waiting = [name for names in AWAITED.values() for name in names]
    if waiting and not args.kinds:
        print(f"no generator yet: {', '.join(waiting)}")
    for s in found:
        for complaint in s.complaints:
            print("WRONG", f"{s.kind} {s.mode}, slice {s.number} of seed {s.seed}:", complaint)
    return 1 if any(s.wrong for s in found) else 0


if __name__ == "__main__":
    sys.exit(main())
