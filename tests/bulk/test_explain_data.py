"""Explanations of files: their rows, their formats, what resumes, and what is refused.

The parts are explained in this process, except in `tests/cli/test_explain_data_command.py`.
"""

import csv
import errno
import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from filelock import FileLock

from icaps.bulk import explain_data as module
from icaps.bulk import part_formats
from icaps.bulk.columns import ExplanationColumns
from icaps.bulk.explain_data import explain_data
from icaps.bulk.options import BulkOptions
from icaps.bulk.parts import PartsFolder
from icaps.config import ExplainOptions
from icaps.data.surrogates import replace_surrogates
from icaps.data.unlabelled import open_unlabelled
from icaps.errors import ConfigError, DataError, RunError
from icaps.trained_model import TrainedModel
from tests.conftest import make_texts
from tests.data.hostile import TEXTS as ODD_TEXTS
from tests.in_process import run_here

TEXTS = [*make_texts(22, 1)[0], "", "zzyzx", 'two\nlines, "soup"']
SMALL = BulkOptions(part_rows=4)
PARTS = 7


@pytest.fixture(autouse=True)
def explained(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the parts that are explained, here in place of worker processes."""
    numbers: list[int] = []

    def run(prepare: Callable[[], Any], tasks: Iterable[Any], jobs: int) -> Iterator[Any]:
        return run_here(prepare, (numbers.append(part.number) or part for part in tasks), jobs)

    monkeypatch.setattr(module, "run_tasks", run)
    return numbers


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("id", "text"))
        writer.writerows((f"n{number}", text) for number, text in enumerate(TEXTS))
    return path


@pytest.fixture(scope="module")
def expected(model_folder: Path) -> list[dict[str, Any]]:
    columns, rows = ExplanationColumns(TrainedModel.load(model_folder)), []
    for start in range(0, len(TEXTS), SMALL.part_rows):
        rows += columns.explain(TEXTS[start : start + SMALL.part_rows]).to_pylist()
    return rows


def explain(
    model: Path, data: Path, out: Path, options: BulkOptions = SMALL, resume: bool = False
) -> module.BulkReport:
    return explain_data(model, open_unlabelled(data), out, options, resume=resume)


def test_rows_of_a_parquet_file(
    model_folder: Path, data: Path, tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    out = tmp_path / "reasons.parquet"
    report = explain(model_folder, data, out, BulkOptions(part_rows=4, keep=("id",)))
    rows = pq.read_table(out).to_pylist()
    assert [row.pop("row") for row in rows] == list(range(1, len(TEXTS) + 1))
    assert [row.pop("line") for row in rows] == list(range(2, len(TEXTS) + 2))
    assert [row.pop("id") for row in rows] == [f"n{number}" for number in range(len(TEXTS))]
    assert [row.pop("text") for row in rows] == TEXTS
    assert rows == expected
    assert (report.rows, report.resumed) == (len(TEXTS), 0)
    assert dict(report.unexplained) == {
        "the text has no words": 1,
        "the model knows none of the words": 1,
    }
    assert {file.name for file in tmp_path.iterdir()} == {data.name, out.name}


def test_rows_of_json_lines_and_csv(
    model_folder: Path, data: Path, tmp_path: Path, expected: list[dict[str, Any]]
) -> None:
    lines, table = tmp_path / "reasons.jsonl", tmp_path / "reasons.csv"
    options = BulkOptions(part_rows=4, with_text=False)
    explain(model_folder, data, lines, options)
    for line, row in zip(lines.read_text().splitlines(), expected, strict=True):
        found = json.loads(line)
        assert {name: found[name] for name in row} == row
        assert "text" not in found
    explain(model_folder, data, table)
    with table.open(newline="", encoding="utf-8") as file:
        cells = list(csv.DictReader(file))
    assert [row["text"] for row in cells] == TEXTS
    for found, row in zip(cells, expected, strict=True):
        assert json.loads(found["words"]) == row["words"]
        assert json.loads(found["scores"]) == row["scores"]
        assert float(found["score"]) == pytest.approx(row["score"], rel=1e-6)
        assert found["predicted"] == (row["predicted"] or "")


def test_a_folder_of_parts(model_folder: Path, data: Path, tmp_path: Path) -> None:
    whole, folder = tmp_path / "reasons.parquet", tmp_path / "reasons"
    explain(model_folder, data, whole)
    explain(model_folder, data, folder)
    assert sorted(file.name for file in folder.iterdir()) == [
        f"part-{number:06}.parquet" for number in range(PARTS)
    ]
    assert pq.read_table(folder).equals(pq.read_table(whole))


def test_rows_that_cannot_be_read_keep_their_place(model_folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        path = tmp_path / f"{name}.csv"
        path.write_bytes(b"text,id\nbread soup,1\nragged\nrose \xff tide,3\n,4\nsoup,5\n")
    out = tmp_path / "reasons.parquet"
    texts = open_unlabelled(tmp_path / "*.csv", text="text", encoding="utf-8")
    report = explain_data(model_folder, texts, out, BulkOptions(keep=("id",)))
    rows = pq.read_table(out).to_pylist()
    assert [row["id"] for row in rows] == ["1", None, None, "4", "5"] * 2
    assert [Path(row["file"]).name for row in rows] == ["a.csv"] * 5 + ["b.csv"] * 5
    assert [row["line"] for row in rows] == [2, 3, 4, 5, 6] * 2
    for number in (1, 2):
        assert rows[number]["text"] is rows[number]["predicted"] is rows[number]["words"] is None
        assert rows[number]["problem"]
    assert rows[3]["problem"] == "the text has no words"
    assert report.unexplained["ragged row"] == 2
    assert report.unexplained.total() == 6


def test_a_folder_of_texts(model_folder: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "mails", tmp_path / "day=3" / "reasons.parquet"
    for place in (folder, out.parent):
        place.mkdir()
    for number, text in enumerate(TEXTS[:5]):
        (folder / f"{number}.txt").write_text(text)
    explain(model_folder, folder, out, BulkOptions(part_rows=2))
    rows = pq.ParquetFile(out).read().to_pylist()
    assert [(Path(row["file"]).name, row["text"]) for row in rows] == [
        (f"{number}.txt", text) for number, text in enumerate(TEXTS[:5])
    ]
    assert "day" not in rows[0]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_odd_texts_come_through_each_format(
    model_folder: Path, tmp_path: Path, suffix: str
) -> None:
    data, out = tmp_path / "odd.jsonl", tmp_path / f"reasons{suffix}"
    texts = [*ODD_TEXTS, "half \ud83d", "\0"]
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    explain(model_folder, data, out, BulkOptions(part_rows=7))
    if suffix == ".parquet":
        written = pq.read_table(out)["text"].to_pylist()
    elif suffix == ".csv":
        with out.open(newline="", encoding="utf-8") as file:
            written = [row["text"] for row in csv.DictReader(file)]
    else:
        with out.open(encoding="utf-8", newline="\n") as file:
            written = [json.loads(line)["text"] for line in file]
    assert written == [replace_surrogates(text) for text in texts]


def stop_after(count: int) -> Callable[..., Iterator[Any]]:
    def run(prepare: Callable[[], Any], tasks: Iterable[Any], jobs: int) -> Iterator[Any]:
        explain = prepare()
        for number, part in enumerate(tasks):
            if number == count:
                raise KeyboardInterrupt
            yield explain(part)

    return run


@pytest.mark.parametrize("name", ["reasons.parquet", "reasons.csv", "reasons.jsonl"])
def test_an_interrupted_run_continues_to_the_same_bytes(
    model_folder: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    explained: list[int],
    name: str,
) -> None:
    unbroken, out = tmp_path / f"unbroken_{name}", tmp_path / name
    explain(model_folder, data, unbroken)
    here = module.run_tasks
    monkeypatch.setattr(module, "run_tasks", stop_after(3))
    with pytest.raises(KeyboardInterrupt):
        explain(model_folder, data, out)
    folder = PartsFolder(out)
    assert folder.done() == {0, 1, 2}
    folder.part(1).unlink()  # parts may be complete in any order
    (folder.path / f"_{folder.part(3).name}.17").write_bytes(b"half")  # of a killed process
    (folder.path / "__joined.17").write_bytes(b"half")
    with pytest.raises(RunError, match=r"has 2 parts of a run that was stopped.*--resume"):
        explain(model_folder, data, out)
    monkeypatch.setattr(module, "run_tasks", here)
    explained.clear()
    report = explain(model_folder, data, out, resume=True)
    assert explained == [1, 3, 4, 5, 6]
    assert report.resumed == 8
    assert out.read_bytes() == unbroken.read_bytes()
    assert not folder.path.exists()


def test_parts_of_another_run_are_not_continued(
    model_folder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "reasons.parquet"
    here = module.run_tasks
    monkeypatch.setattr(module, "run_tasks", stop_after(2))
    with pytest.raises(KeyboardInterrupt):
        explain(model_folder, data, out)
    monkeypatch.setattr(module, "run_tasks", here)
    other = BulkOptions(part_rows=4, explain=ExplainOptions(target="Gardens"))
    with pytest.raises(RunError, match="2 parts of a run with another target"):
        explain(model_folder, data, out, other, resume=True)
    content = data.read_bytes()
    data.write_bytes(content + b"n99,soup\n")
    with pytest.raises(RunError, match="with another data"):
        explain(model_folder, data, out, resume=True)
    assert PartsFolder(out).done() == {0, 1}  # nothing is lost
    (PartsFolder(out).path / "_job.json").write_text("{")
    with pytest.raises(RunError, match="is damaged"):
        explain(model_folder, data, out, resume=True)


def test_another_model_of_the_same_weights(
    model_folder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "reasons.parquet"
    here = module.run_tasks
    monkeypatch.setattr(module, "run_tasks", stop_after(1))
    with pytest.raises(KeyboardInterrupt):
        explain(model_folder, data, out)
    monkeypatch.setattr(module, "run_tasks", here)
    other = tmp_path / "model"
    shutil.copytree(model_folder, other)
    classes = (other / "classes.txt").read_text().replace("Sailing", "Boats")
    (other / "classes.txt").write_text(classes)
    with pytest.raises(RunError, match="with another model"):
        explain(other, data, out, resume=True)


def test_an_output_that_exists_is_left_alone(
    model_folder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "reasons.parquet"
    out.write_text("mine")
    with pytest.raises(DataError, match="exists; choose another"):
        explain(model_folder, data, out, resume=True)
    out.unlink()
    here = module.run_tasks

    def run(*arguments: Any) -> Iterator[Any]:
        yield from here(*arguments)
        out.write_text("mine")  # somebody writes it meanwhile

    monkeypatch.setattr(module, "run_tasks", run)
    with pytest.raises(DataError, match="exists; choose another"):
        explain(model_folder, data, out)
    assert out.read_text() == "mine"
    assert len(PartsFolder(out).done()) == PARTS


def test_a_second_process_is_refused(model_folder: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "reasons.parquet"
    folder = PartsFolder(out).path
    folder.mkdir()
    with (
        FileLock(folder / "_lock"),
        pytest.raises(RunError, match="Another process writes"),
    ):
        explain(model_folder, data, out, resume=True)
    assert explain(model_folder, data, out).rows == len(TEXTS)


def test_files_of_others_are_never_deleted(model_folder: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "reasons.parquet"
    folder = PartsFolder(out).path
    folder.mkdir()
    (folder / "part-00001.csv").write_text("mine")
    (folder / "_SUCCESS").write_text("mine")
    with pytest.raises(ConfigError):
        explain(model_folder, data, out, BulkOptions(explain=ExplainOptions(target="Cars")))
    explain(model_folder, data, out)
    assert {file.name for file in folder.iterdir()} == {"part-00001.csv", "_SUCCESS"}


def test_a_full_disk_loses_no_part(
    model_folder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "reasons.csv"
    room = [3]

    def write(table: pa.Table, file: BinaryIO, first: bool) -> None:
        part_formats.CSV.write(table.slice(0, 1), file, first)
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        room[0] -= 1
        file.seek(0)
        file.truncate()
        part_formats.CSV.write(table, file, first)

    full = part_formats.CSV._replace(write=write)
    monkeypatch.setattr(PartsFolder, "format", property(lambda self: full))
    with pytest.raises(DataError, match=r"No space left.*--resume"):
        explain(model_folder, data, out)
    assert PartsFolder(out).done() == {0, 1, 2}
    assert not [file for file in PartsFolder(out).path.iterdir() if file.name.startswith("_part")]
    room[0] = 100
    explain(model_folder, data, out, resume=True)
    with out.open(newline="", encoding="utf-8") as file:
        assert [row["text"] for row in csv.DictReader(file)] == TEXTS


def test_a_damaged_part_is_named(
    model_folder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "reasons.parquet"
    folder, here = PartsFolder(out), module.run_tasks

    def run(*arguments: Any) -> Iterator[Any]:
        yield from here(*arguments)
        folder.part(2).write_bytes(b"PAR1")

    monkeypatch.setattr(module, "run_tasks", run)
    with pytest.raises(DataError, match="damaged"):
        explain(model_folder, data, out)
    folder.part(2).unlink()
    monkeypatch.setattr(module, "run_tasks", here)
    assert explain(model_folder, data, out, resume=True).rows == len(TEXTS)


def test_data_that_change_meanwhile(
    model_folder: Path, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = module.run_tasks

    def run(*arguments: Any) -> Iterator[Any]:
        yield from here(*arguments)
        data.write_bytes(data.read_bytes() + b"n99,soup\n")

    monkeypatch.setattr(module, "run_tasks", run)
    with pytest.raises(DataError, match="was changed while it was read"):
        explain(model_folder, data, tmp_path / "reasons.parquet")


def test_mistakes_leave_no_folder(model_folder: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "reasons.parquet"
    empty = tmp_path / "empty.csv"
    empty.write_text("id,text\n")
    cars = BulkOptions(explain=ExplainOptions(target="Cars"))
    for options, message in (
        (cars, "no class 'Cars'"),
        (BulkOptions(keep=("date",)), "no column 'date'"),
        (BulkOptions(keep=("text",)), "'text' cannot be kept"),
        (BulkOptions(mute=(99,)), "99"),
    ):
        with pytest.raises((ConfigError, DataError), match=message):
            explain(model_folder, data, out, options)
    with pytest.raises(DataError, match="holds no rows"):
        explain(model_folder, empty, out)
    with pytest.raises(ConfigError, match=r"reasons.xlsx is of no format.*\.parquet"):
        explain(model_folder, data, tmp_path / "reasons.xlsx")
    with pytest.raises(DataError, match=r"cannot be written \(No such file or directory\)"):
        explain(model_folder, data, tmp_path / "nowhere" / "reasons.csv")
    with pytest.raises(ConfigError, match="part_rows is 0"):
        BulkOptions(part_rows=0)
    with pytest.raises(ConfigError, match="jobs is 0"):
        explain_data(model_folder, open_unlabelled(data), out, jobs=0)
    assert {file.name for file in tmp_path.iterdir()} == {data.name, empty.name}


def test_parts_of_long_texts_have_few_rows(
    model_folder: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    explained: list[int],
) -> None:
    monkeypatch.setattr(module, "_PART_CHARACTERS", 10)
    assert explain(model_folder, data, tmp_path / "reasons.parquet").rows == len(TEXTS)
    assert len(explained) > 20


def test_progress(model_folder: Path, tmp_path: Path) -> None:
    calls: list[tuple[str, int]] = []

    class Reporter:
        def say(self, line: str) -> None:
            calls.append((line, 0))

        def on_bytes(self, file: str, done: int, total: int | None) -> None: ...

        def expect_texts(self, total: int) -> None:
            calls.append(("expected", total))

        def on_texts(self, count: int) -> None:
            calls.append(("done", count))

    path = tmp_path / "texts.parquet"
    pq.write_table(pa.table({"text": TEXTS}), path)
    texts = open_unlabelled(path)
    explain_data(model_folder, texts, tmp_path / "out", SMALL, progress=Reporter())
    assert calls == [("expected", 25), *[("done", 4)] * 6, ("done", 1), ("7 parts are done", 0)]
