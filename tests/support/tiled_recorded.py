"""What the CuTe DSL 4.8.1 says of tiled products and copies: a JSON object of question and answer."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

FILE = Path(__file__).resolve().parents[1] / "data" / "tiled_golden.json.gz"


def recorded() -> dict[str, str]:
    """The answers by question."""
    return json.loads(gzip.decompress(FILE.read_bytes()))
