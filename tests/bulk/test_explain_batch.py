"""ExplainBatch: the same columns for each kind of batch."""

import pickle
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from icaps.bulk import explain_batch
from icaps.bulk.columns import ExplanationColumns
from icaps.bulk.explain_batch import ExplainBatch
from icaps.errors import ConfigError, DataError
from icaps.trained_model import TrainedModel
from tests.conftest import make_texts

TEXTS = [*make_texts(6, 1)[0], "", "zzyzx"]
NUMBERS = list(range(len(TEXTS)))


@pytest.fixture(scope="module")
def expected(model_folder: Path) -> pa.Table:
    return ExplanationColumns(TrainedModel.load(model_folder)).explain(TEXTS)


def test_an_arrow_table_and_a_record_batch(model_folder: Path, expected: pa.Table) -> None:
    explain = ExplainBatch(model_folder)
    table = explain(pa.table({"id": NUMBERS, "text": TEXTS}))
    assert table.column_names == ["id", "text", *expected.column_names]
    assert table.select(expected.column_names).equals(expected)
    batch = explain(pa.record_batch({"id": NUMBERS, "text": TEXTS}))
    assert isinstance(batch, pa.RecordBatch)
    assert pa.Table.from_batches([batch]).equals(table)
    assert explain.schema == expected.schema


def test_a_frame_keeps_its_index(model_folder: Path, expected: pa.Table) -> None:
    frame = pd.DataFrame({"text": TEXTS, "id": NUMBERS}, index=[7 * n for n in NUMBERS])
    result = ExplainBatch(model_folder)(frame)
    assert list(result.index) == list(frame.index)
    assert list(result.columns) == ["text", "id", *expected.column_names]
    assert result["score"].tolist() == expected["score"].to_pylist()
    assert [list(words) for words in result["words"]] == expected["words"].to_pylist()


def test_a_dictionary_of_arrays(model_folder: Path, expected: pa.Table) -> None:
    result = ExplainBatch(model_folder)({"text": np.array(TEXTS), "id": np.array(NUMBERS)})
    assert list(result) == ["text", "id", *expected.column_names]
    assert result["score"].dtype == np.float32
    assert result["predicted"].tolist() == expected["predicted"].to_pylist()
    assert [list(words) for words in result["words"]] == expected["words"].to_pylist()


@pytest.mark.parametrize("missing", [None, float("nan"), np.nan, pd.NA])
def test_a_missing_text_is_an_empty_one(model_folder: Path, missing: object) -> None:
    batch = {"text": np.array(["soup", missing], dtype=object)}
    result = ExplainBatch(model_folder)(batch)
    assert result["problem"].tolist() == [None, "the text has no words"]
    frame = ExplainBatch(model_folder)(pd.DataFrame({"text": ["soup", missing]}))
    assert frame["problem"][1] == "the text has no words"


def test_options_and_names(model_folder: Path) -> None:
    explain = ExplainBatch(
        str(model_folder), text="body", prefix="icaps_", top_words=2, target="Gardens", mute=[1]
    )
    row = explain(pa.table({"body": ["Prune the roses, then soup"], "score": [1]})).to_pylist()[0]
    assert (row["score"], row["icaps_target"]) == (1, "Gardens")
    assert len(row["icaps_words"]) == 2
    assert all(name.startswith("icaps_") for name in explain.schema.names)


def test_a_process_loads_the_model_once_and_only_when_needed(
    model_folder: Path, tmp_path: Path
) -> None:
    explain_batch.load_columns.cache_clear()
    explain = ExplainBatch(model_folder)
    sent = pickle.dumps(explain)
    assert len(sent) < 1_000
    assert explain_batch.load_columns.cache_info().misses == 0
    table = pa.table({"text": ["soup"]})
    assert pickle.loads(sent)(table).equals(pickle.loads(sent)(table))
    assert explain_batch.load_columns.cache_info().misses == 1
    copy = tmp_path / "model"
    shutil.copytree(model_folder, copy)
    again, before = ExplainBatch(copy), ExplainBatch(copy)(table)
    (copy / "config.json").touch()  # as a new training does
    assert again(table).equals(before)
    assert explain_batch.load_columns.cache_info().misses == 3


def test_mistakes(model_folder: Path) -> None:
    explain = ExplainBatch(model_folder)
    with pytest.raises(DataError, match=r"no column 'text' but 'body'.*text='...'"):
        explain(pa.table({"body": ["soup"]}))
    with pytest.raises(DataError, match=r"a column 'score' already.*prefix"):
        explain(pa.table({"text": ["soup"], "score": [1]}))
    with pytest.raises(DataError, match=r"has 3, which is no string"):
        explain(pa.table({"text": [3]}))
    with pytest.raises(DataError, match=r"no string"):
        explain({"text": np.array([["a"], ["b"]], dtype=object)})
    with pytest.raises(ConfigError, match="top_kgrams"):
        ExplainBatch(model_folder, top_kgrams=0)
    with pytest.raises(ConfigError, match="no class 'Cars'"):
        ExplainBatch(model_folder, target="Cars")(pa.table({"text": ["soup"]}))
