import io
from collections import deque
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from datasets import Dataset

from icaps.data.texts import check_texts
from icaps.errors import DataError

TEXTS = ["one text", "", "another"]
FRAME = pd.DataFrame({"text": TEXTS, "label": ["a", "b", "a"]})


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, dtype=object),
        pd.Series(TEXTS, index=[7, 8, 9]),
        FRAME["text"].array,
        deque(TEXTS),
        iter(TEXTS),
        Dataset.from_pandas(FRAME)["text"],
    ],
)
def test_collections_of_strings(texts: Any) -> None:
    assert check_texts(texts) == TEXTS


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a text", "The texts are one string. Give a list of texts; for a single one, [text]."),
        (b"a text", "The texts are bytes."),
        (FRAME, "a DataFrame with the columns 'text', 'label'. Give the column of the texts, "),
        (Dataset.from_pandas(FRAME), "a Dataset of columns. Give that of the texts, such as X['te"),
        (pa.table(FRAME), "a Table of columns"),
        ({"text": TEXTS}, "a mapping with the keys 'text'. Give a list of texts"),
        (set(TEXTS), "a set, which has no order"),
        (io.StringIO("a\nb\n"), "an open file. Give a list of texts"),
        (np.array([TEXTS]), "an array of shape (1, 3). Give one of shape (texts,), such as X.rav"),
        (np.array([TEXTS] * 2), "an array of shape (2, 3). Give one of shape (texts,), such as a"),
        (np.array("x"), "an array of shape ()"),
        (3, "The texts are an int; give a list of strings."),
        (None, "The texts are a NoneType; give a list of strings."),
        (["a", 3], "Text 1 is int, not a string; give only strings."),
        (["a", None], "Text 1 is NoneType, not a string: a missing value. Remove it"),
        (["a", float("nan")], "Text 1 is float, not a string: a missing value."),
        (["a", b"b"], "Text 1 is bytes, not a string; decode it."),
        ([["a", "b"]], "Text 0 is list, not a string; give one string per text"),
        (zip(TEXTS, "aba", strict=True), "Text 0 is tuple, not a string"),
        (pa.array(TEXTS), "Text 0 is StringScalar, not a string"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(texts: Any, message: str) -> None:
    with pytest.raises(DataError) as error:
        check_texts(texts)
    assert message in str(error.value)
