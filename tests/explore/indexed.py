"""Small data sets that are indexed, and what a test compares with."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icaps.explore.index import Index, make_index

Rows = Sequence[tuple[str, str]]  # text and label


def write(folder: Path, **parts: Rows) -> Path:
    """A folder with a file of JSON lines a part, which hold any text."""
    folder.mkdir(parents=True, exist_ok=True)
    for part, rows in parts.items():
        lines = [json.dumps({"label": label, "text": text}) for text, label in rows]
        (folder / f"{part}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def indexed(place: Path, **reading: Any) -> Index:
    return make_index(place, reading)
