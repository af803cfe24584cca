from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from icaps.data.source import open_source
from icaps.errors import DataError


class Dataset:
    """With the interface of `datasets.Dataset`."""

    def __init__(self, names: list[str] | None, **columns: list[Any]) -> None:
        self._columns = columns
        self.column_names = list(columns)
        self.features = {name: SimpleNamespace() for name in columns}
        if names:
            self.features["label"].names = names

    def iter(self, batch_size: int) -> Any:
        size = len(self._columns["text"])
        for start in range(0, size, batch_size):
            stop = start + batch_size
            yield {name: column[start:stop] for name, column in self._columns.items()}


def pairs(data: Any, part: str = "train", **options: Any) -> list[tuple[str, str]]:
    return [(record.text, record.label) for record in open_source(data, part, **options)]


def test_data_sets() -> None:
    texts = [f"text {n}" for n in range(2500)]
    labels = [n % 2 for n in range(2500)]
    data = Dataset(["neg", "pos"], id=texts, text=texts, label=labels)
    expected = [(text, ("neg", "pos")[label]) for text, label in zip(texts, labels, strict=True)]
    assert pairs(data) == expected
    assert [record.line for record in open_source(data)] == list(range(1, 2501))
    assert open_source(data).describe().classes == ("neg", "pos")
    assert pairs({"train": Dataset(None, text=["x"], label=[3]), "test": data}, "test") == expected
    assert pairs(Dataset(None, text=["x"], label=[3])) == [("x", "3")]


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        (pd.Series([1, 0]), ["1", "0"]),
        (pd.Series([True, False]), ["True", "False"]),
        (pd.Series(["a", "b"], dtype="category"), ["a", "b"]),
        (pd.Series([1, 2], dtype="Int64"), ["1", "2"]),
        (pd.Series([" a", "b "]), ["a", "b"]),
    ],
)
def test_frames(label: pd.Series, expected: list[str]) -> None:
    frame = pd.DataFrame({"Label": label, "Text": ["one", None], "other": [1.5, 2.5]})
    assert pairs(frame) == list(zip(["one", ""], expected, strict=True))
    assert pairs(frame, text=["Text", "other"])[0] == ("one 1.5", expected[0])


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA, pd.NaT, "", " \n"])
def test_no_label(nothing: Any) -> None:
    frame = pd.DataFrame({"label": ["a", nothing], "text": ["one", "two"]})
    for data in (frame, (["one", "two"], ["a", nothing])):
        source = open_source(data, on_bad_rows="skip")
        assert [record.text for record in source] == ["one"]
        (problem,) = source.problems.first["missing label"]
        assert (problem.line, problem.column, problem.unit) == (2, "label", "row")


def test_lists() -> None:
    assert pairs((np.array(["one", "two"]), np.array([3, 4]))) == [("one", "3"), ("two", "4")]
    assert pairs((pd.Series(["one"]), ["a"])) == [("one", "a")]
    with pytest.raises(DataError, match="2 texts have 1 labels; give one per text"):
        open_source((["a", "b"], ["c"]))
    with pytest.raises(DataError, match="has no part 'test'; it has train"):
        open_source({"train": (["a"], ["b"])}, "test")
    with pytest.raises(DataError, match="<lists>, row 1, column 'text': the text is list"):
        pairs(([["a"], "b"], ["c", "d"]))


def test_empty() -> None:
    for data in (([], []), pd.DataFrame({"label": [], "text": []})):
        with pytest.raises(DataError, match="holds no rows"):
            pairs(data)
