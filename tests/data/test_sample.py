"""Random samples of sources and of streams."""

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from icaps.data.sample import Reservoir, draw_sample
from icaps.data.source import open_source
from icaps.errors import DataError
from tests.train.test_estimate import lines_of


@pytest.mark.parametrize("packed", [False, True])
def test_a_large_csv_is_extrapolated_by_its_bytes(tmp_path: Path, packed: bool) -> None:
    content = ("label,text\n" + "".join(lines_of(20_000))).encode()
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(content, 1) if packed else content)
    sample = draw_sample(open_source(path), 100, seconds=0)
    assert not sample.exact
    assert sample.total == pytest.approx(20_000, rel=0.05)
    assert sample.classes == ("a", "b", "c")
    assert len(sample.texts) == len(sample.labels) == 100


def test_several_files_and_their_formats(tmp_path: Path) -> None:
    rows = lines_of(3_000)
    for number, part in enumerate((rows[:1_000], rows[1_000:])):
        (tmp_path / f"{number}.csv").write_text("label,text\n" + "".join(part))
        table = pa.table({"label": ["a"] * len(part), "text": part})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    sample = draw_sample(open_source(str(tmp_path / "*.csv")), 10, seconds=0)
    assert sample.total == pytest.approx(3_000, rel=0.05)
    sample = draw_sample(open_source(str(tmp_path / "*.parquet")), 10, seconds=0)
    assert (sample.total, sample.exact) == (3_000, False)
    lists = (["a"] * 3_000, ["x", "y", "z"] * 1_000)
    assert draw_sample(open_source(lists), 10, seconds=0).exact  # its size is unknown


def test_a_sample_is_of_all_that_was_read() -> None:
    """The mean place of a thousand texts of ten thousand, five times: within five deviations."""
    source = open_source(([str(n) for n in range(10_000)], ["x", "y"] * 5_000))
    for seed in range(5):
        sample = draw_sample(source, 1_000, 60, seed)
        places = np.array([int(text) for text in sample.texts])
        assert len(set(places)) == 1_000
        assert abs(places.mean() - 5_000) < 5 * 2_887 / 1_000**0.5
        assert abs(places[:200].mean() - 5_000) < 5 * 2_887 / 200**0.5  # in random order, too
        assert [sample.classes[label] for label in sample.labels] == ["xy"[n % 2] for n in places]


def test_bad_rows_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("text,label\none,a\ntwo,\nthree,b\n")
    assert draw_sample(open_source(path), 9, 60).total == 2
    path.write_text("text,label\ntwo,\n")
    with pytest.raises(DataError, match="holds no rows that can be read"):
        draw_sample(open_source(path, text="text", label="label"), 9, 60)


@pytest.mark.parametrize("size", [0, 3, 7, 9, None])
def test_a_reservoir_has_each_item_once(size: int | None) -> None:
    reservoir = Reservoir[int](size, seed=0)
    for item in range(7):
        reservoir.add(item)
    assert reservoir.seen == 7
    assert len(set(reservoir.items)) == len(reservoir.items) == min(7, 7 if size is None else size)
    if size is None or size >= 7:
        assert reservoir.items == list(range(7))
