"""From a file or folder of labelled texts to the encoded corpus that training reads."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.errors import DataError
from icaps.text import EncodedText

if TYPE_CHECKING:
    from icaps.layers import Packed

TEXT_COLUMNS = ("text", "content", "document", "sentence", "description", "review")
LABEL_COLUMNS = ("label", "class", "category", "target", "topic")
# "NA" or "null" may be a text; only an empty field is missing.
_read_csv = partial(pd.read_csv, keep_default_na=False, na_values=[""])
_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".parquet": pd.read_parquet,
    ".csv": _read_csv,
    ".tsv": partial(_read_csv, sep="\t"),
}


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with the name of each one's class; `classes` in the order of the labels."""

    texts: list[str]
    labels: list[str]
    classes: tuple[str, ...]


def read_part(path: str | Path, part: str) -> LabelledTexts:
    """The texts of a file, or of the file named `part` ("train", "test") in a folder.

    A file is parquet, CSV or TSV with a text and a label column, by the usual names or else the
    only two columns. Beside it, a `classes.txt` (a name a line) names the classes of labels that
    count from 0.

    Raises:
        DataError: Nothing is there, the columns can't be told, or rows lack a text or label.
    """
    file = find_part(Path(path), part)
    table = _read_table(file)
    text, label = _text_and_label(table, file)
    missing = table[label].isna()
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        raise DataError(
            f"{file}: {int(missing.sum())} of {len(table)} rows have no {label!r}; the first is "
            f"row {first + 1} after the header. Give each row a label or leave it out."
        )
    texts = ["" if pd.isna(value) else str(value) for value in table[text]]
    names = file.parent / "classes.txt"
    if pd.api.types.is_integer_dtype(table[label]) and names.is_file():
        classes = tuple(names.read_text(encoding="utf-8").split("\n"))
        classes = classes[: len(classes) - (classes[-1] == "")]
        wrong = [int(number) for number in table[label] if not 0 <= number < len(classes)]
        if wrong:
            raise DataError(
                f"{file}: the label {wrong[0]} has no name in {names}, which names "
                f"{len(classes)} classes (labels 0 to {len(classes) - 1})."
            )
        return LabelledTexts(texts, [classes[number] for number in table[label]], classes)
    labels = [str(value) for value in table[label]]
    broken = next((name for name in labels if "\n" in name or "\r" in name), None)
    if broken is not None:
        raise DataError(f"{file}: the class name {broken!r} has a line end; rename the class.")
    order = sorted(set(table[label]), key=lambda value: (isinstance(value, str), value))
    return LabelledTexts(texts, labels, tuple(str(value) for value in order))


def find_part(path: Path, part: str) -> Path:
    """`path` itself when it is a file, else the file of that part in the folder.

    Raises:
        DataError: It isn't there, or its format is none of those read.
    """
    known = ", ".join(_READERS)
    if path.is_dir():
        found = [path / f"{part}{suffix}" for suffix in _READERS]
        found = [file for file in found if file.is_file()]
        if not found:
            raise DataError(f"{path} has no {part} file; put {part} there as one of {known}.")
        return found[0]
    if not path.is_file():
        raise DataError(f"There is no file or folder {path}.")
    if path.suffix.lower() not in _READERS:
        raise DataError(f"{path} is none of the formats that are read: {known}.")
    return path


def _read_table(file: Path) -> pd.DataFrame:
    try:
        table = _READERS[file.suffix.lower()](file)
    except (ValueError, OSError, UnicodeError) as error:
        raise DataError(f"{file} can't be read: {error}") from error
    if table.empty:
        raise DataError(f"{file} holds no rows.")
    return table


def _text_and_label(table: pd.DataFrame, file: Path) -> tuple[str, str]:
    names = {str(column).lower(): column for column in table.columns}
    text = next((names[name] for name in TEXT_COLUMNS if name in names), None)
    label = next((names[name] for name in LABEL_COLUMNS if name in names), None)
    if text is None or label is None:
        raise DataError(
            f"{file} has the columns {', '.join(map(str, table.columns))}; name one 'text' and "
            "one 'label'."
        )
    return text, label


@dataclass(frozen=True)
class Corpus:
    """Encoded texts end to end, in memory or mapped from files; a selection copies nothing.

    ids (tokens,); sentence_offsets (sentences + 1,), tokens before each sentence; text_offsets
    (all texts + 1,), sentences before each text; all_labels (all texts,); texts (texts,), the
    numbers of those that are selected, in their order.
    """

    ids: NDArray[np.int32]
    sentence_offsets: NDArray[np.int64]
    text_offsets: NDArray[np.int64]
    all_labels: NDArray[np.int64]
    texts: NDArray[np.int64]

    @classmethod
    def from_encoded(cls, encoded: Sequence[EncodedText], labels: Sequence[int]) -> Corpus:
        """Lays the texts end to end; `labels` are class numbers, one a text."""
        nothing = np.zeros(0, np.int64)
        ids = np.concatenate([nothing, *(text.ids for text in encoded)]).astype(np.int32)
        lengths = np.concatenate([nothing, *(text.sentences for text in encoded)])
        counts = [len(text.sentences) for text in encoded]
        return cls(
            ids,
            np.concatenate([[0], lengths.cumsum()]),
            np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]),
            np.array(labels, dtype=np.int64),
            np.arange(len(encoded)),
        )

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Class numbers (texts,)."""
        labels: NDArray[np.int64] = self.all_labels[self.texts]
        return labels

    def select(self, positions: NDArray[np.int64]) -> Corpus:
        """The corpus of these texts alone, in this order."""
        return dataclasses.replace(self, texts=self.texts[positions])

    def pack(self) -> Packed:
        """The texts as a batch for the network."""
        import torch

        from icaps.layers import Packed

        first, last = self.text_offsets[self.texts], self.text_offsets[self.texts + 1]
        offsets = [self.sentence_offsets[a : b + 1] for a, b in zip(first, last, strict=True)]
        ids = [self.ids[part[0] : part[-1]] for part in offsets]
        parts = (ids, [np.diff(part) for part in offsets], [last - first])
        nothing = np.zeros(0, np.int64)
        return Packed(*(torch.from_numpy(np.concatenate([nothing, *part])) for part in parts))
