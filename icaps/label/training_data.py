"""The labelled texts of a task as a folder that `icaps train --data` reads."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from icaps.data.atomic import replaced_folder
from icaps.errors import DataError

Row = tuple[str, tuple[str, ...], bool]  # a text, its classes, and whether it is held out


def write_training_data(home: Path, rows: Sequence[Row], several: bool) -> Path:
    """Writes the train part and, of the held-out texts, the test part; returns their folder.

    A class with a single label in the train part is left out, as a training needs two. A folder is
    never changed: other labels are in another one.

    Args:
        home: Where the folder is written, named after its content.
        rows: The labelled texts.
        several: Whether labels are lists.

    Raises:
        DataError: There are no two classes with two labels outside the held-out part, or the folder
            cannot be written.
    """
    counts = Counter(name for _, names, held_out in rows if not held_out for name in names)
    trained = {name for name, count in counts.items() if count > 1}
    if len(trained) < 2:
        raise DataError(
            "A training needs two classes with two labels each outside the held-out part; "
            "label more texts."
        )
    rows = [row for row in rows if several or trained.issuperset(row[1])]
    folder = home / hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]
    if folder.is_dir():
        return folder
    try:
        home.mkdir(exist_ok=True)
        with replaced_folder(folder) as scratch:
            for part, held_out in (("train", False), ("test", True)):
                chosen = [row for row in rows if row[2] == held_out]
                if chosen:
                    _write_part(scratch / f"{part}.jsonl", chosen, several)
    except OSError as error:
        raise DataError(f"{folder} cannot be written ({error}).") from error
    return folder


def _write_part(path: Path, rows: Sequence[Row], several: bool) -> None:
    with path.open("w", encoding="utf-8") as file:
        for text, names, _ in rows:
            label = list(names) if several else names[0]
            file.write(json.dumps({"text": text, "label": label}) + "\n")
