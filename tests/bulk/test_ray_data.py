"""ExplainBatch in Ray Data, in local mode: the rows that `icaps explain --data` writes."""

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray

from icaps.bulk import explain_data
from icaps.bulk.explain_batch import ExplainBatch
from icaps.bulk.options import BulkOptions
from icaps.data.unlabelled import open_unlabelled
from icaps.shipped import ROOT
from tests.conftest import make_texts
from tests.in_process import run_here

ROWS, AT_ONCE = 40, 16


@pytest.fixture
def local_ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv("RAY_worker_niceness", "0")  # 15 otherwise: starves on a busy machine
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", paths)  # of Ray's processes, too
    ray.init(
        num_cpus=1, object_store_memory=100_000_000, include_dashboard=False, log_to_driver=False
    )
    yield
    ray.shutdown()


@pytest.mark.usefixtures("local_ray")
def test_the_rows_are_those_of_the_command(
    model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, out = tmp_path / "texts.parquet", tmp_path / "reasons.parquet"
    texts = [*make_texts(ROWS - 2, 3)[0], "", "zzyzx"]
    data = pa.table({"id": range(ROWS), "text": texts})
    pq.write_table(data, path)
    monkeypatch.setattr(explain_data, "run_tasks", run_here)
    explain_data.explain_data(
        model_folder, open_unlabelled(path), out, BulkOptions(part_rows=AT_ONCE, top_words=3)
    )
    rows = (
        ray.data.from_arrow(data)
        .map_batches(
            ExplainBatch,
            fn_constructor_args=(str(model_folder),),
            fn_constructor_kwargs={"top_words": 3},
            batch_format="pyarrow",
            batch_size=AT_ONCE,
            compute=ray.data.ActorPoolStrategy(size=1),
        )
        .take_all()
    )
    expected = pq.read_table(out).drop_columns(["row", "line"]).to_pylist()
    assert [row.pop("id") for row in rows] == list(range(ROWS))
    assert rows == expected
