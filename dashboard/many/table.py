"""Read many texts from lines or a file; write their explanations as a table."""

import csv
import io
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dashboard import quotas
from icaps.data.formats.csv import allow_long_fields
from icaps.errors import DataError
from icaps.html import printable
from icaps.interpret.local import Reasons

Calibrate: TypeAlias = Callable[[NDArray[np.floating[Any]]], NDArray[np.float64]]

TEXT_COLUMN = "text"


def from_lines(text: str) -> tuple[str, ...]:
    """A text per line; blank lines are left out.

    Raises:
        NotAllowedError: There are too many, or one is too long.
    """
    return _checked([line for line in printable(text).splitlines() if line.strip()])


def from_file(name: str, data: bytes) -> tuple[str, ...]:
    """The texts of an uploaded file: the text column of a CSV, or the lines of any other file.

    Raises:
        DataError: It can't be read, or lacks the column.
        NotAllowedError: It holds too many texts, or too long ones.
    """
    try:
        content = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError("The file is not UTF-8 text; save it as UTF-8 and try again.") from error
    if not name.lower().endswith(".csv"):
        return from_lines(content)
    allow_long_fields()
    try:
        rows = csv.DictReader(io.StringIO(printable(content), newline=""))
        if TEXT_COLUMN not in (rows.fieldnames or []):
            raise DataError(
                f"The CSV file has no column named {TEXT_COLUMN!r}; give the column of the texts "
                "this name."
            )
        return _checked([row[TEXT_COLUMN] or "" for row in rows])
    except csv.Error as error:
        raise DataError(f"The CSV file can't be read ({error}).") from error


def to_frame(
    parts: Iterable[Reasons], classes: Sequence[str], calibrate: Calibrate
) -> pd.DataFrame:
    """A row per text: text, predicted, its probability, a norm per class, K-grams.

    `calibrate` turns norms (texts, J) into probabilities (texts, J).
    """
    frames = [_frame(part, classes, calibrate) for part in parts]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _frame(part: Reasons, classes: Sequence[str], calibrate: Calibrate) -> pd.DataFrame:
    kgrams: list[list[str]] = [[] for _ in part.texts]
    for text, kgram in zip(part.kgrams.text.tolist(), part.spell(), strict=True):
        kgrams[text].append(kgram)
    norms = {f"norm {name}": part.norms[:, n].astype(float) for n, name in enumerate(classes)}
    frame = {
        "text": part.texts,
        "predicted": np.where(part.blank, "", np.array(classes, dtype=object)[part.predicted]),
        "probability": calibrate(part.norms).max(1),
        **norms,
        "K-grams": [" | ".join(texts) for texts in kgrams],
    }
    return pd.DataFrame(frame).round(4)


def _checked(texts: list[str]) -> tuple[str, ...]:
    quotas.table(len(texts))
    for number, text in enumerate(texts, start=1):
        quotas.text(text, f"Text {number:,}")
    return tuple(texts)
