"""Many texts at once: read them, and write the answers as a table."""

import csv
import io
from collections.abc import Iterable

import pandas as pd

from dashboard import limits
from icaps.data.csv_rows import allow_long_fields
from icaps.errors import DataError
from icaps.render import printable
from icaps.results import Explanation

TEXT_COLUMN = "text"


def from_lines(text: str) -> tuple[str, ...]:
    """A text a line; blank lines are left out.

    Raises:
        NotAllowedError: There are too many, or one is too long.
    """
    return _checked([line for line in printable(text).splitlines() if line.strip()])


def from_file(name: str, data: bytes) -> tuple[str, ...]:
    """The texts of an uploaded file: the text column of a CSV, or a text a line of any other.

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
            raise DataError(f"The CSV file has no column named {TEXT_COLUMN!r}; name one so.")
        return _checked([row[TEXT_COLUMN] or "" for row in rows])
    except csv.Error as error:
        raise DataError(f"The CSV file can't be read ({error}).") from error


def to_frame(explanations: Iterable[Explanation]) -> pd.DataFrame:
    """A row a text: text, predicted, its probability, a norm a class, K-grams."""
    return pd.DataFrame([_row(explanation) for explanation in explanations])


def _row(explanation: Explanation) -> dict[str, str | float]:
    norms = {
        f"norm {name}": round(norm, 4)
        for name, norm in zip(explanation.classes, explanation.scores, strict=True)
    }
    return {
        "text": explanation.text,
        "predicted": "" if explanation.blank else explanation.predicted,
        "probability": round(max(explanation.probabilities), 4),
        **norms,
        "K-grams": " | ".join(kgram.text for kgram in explanation.kgrams),
    }


def _checked(texts: list[str]) -> tuple[str, ...]:
    limits.table(len(texts))
    for number, text in enumerate(texts, start=1):
        limits.text(text, f"Text {number:,}")
    return tuple(texts)
