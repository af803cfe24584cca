"""Labels that people gave: kept through a kill, undone, exported, and applied to data."""

import csv
import io
import json
import multiprocessing
from pathlib import Path

import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data import fingerprint as fingerprints
from icaps.data.fingerprint import fingerprint, recent_fingerprint
from icaps.data.label_file import GivenLabel, LabelFile, load_corrections
from icaps.data.source import open_source
from icaps.errors import DataError

HOSTILE = 'Line\n"end", \u2028 =cmd() \U0001f600 <b>'


def label(text: str, name: str, before: str = "") -> GivenLabel:
    return GivenLabel(text, name, before, time="2026-01-02T03:04:05+00:00")


def test_the_last_label_of_a_text_counts(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "folder" / "labels.jsonl")
    assert file.labels() == []
    file.add([label("A text", "x"), label(HOSTILE, "y")])
    second = file.add([label("a  TEXT ", "z", "x")])
    assert {one.label for one in file.current().values()} == {"y", "z"}
    assert load_corrections(file.path).keys() == file.current().keys()
    file.undo(second)
    assert {one.label for one in file.current().values()} == {"x", "y"}
    file.add([label("A text", "")])  # skipped
    assert list(load_corrections(file.path).values()) == ["y"]
    assert len(file.path.read_text().splitlines()) == 5  # nothing is ever removed
    with pytest.raises(DataError, match="no labels nothing that"):
        file.undo("nothing")


def test_one_text_of_a_batch_is_undone(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "labels.jsonl")
    first = file.add([label("One", "x"), label("Two", "x")])
    file.add([label("One", "y", "x")])
    file.undo(first, "Two")
    assert [(one.text, one.label) for one in file.labels()] == [("One", "x"), ("One", "y")]
    for text in ("Two", "Three"):  # undone already, or not in it
        with pytest.raises(DataError, match="could be undone"):
            file.undo(first, "One", text)
    file.undo(first)
    assert [(one.text, one.label) for one in file.labels()] == [("One", "y")]


def test_a_kill_in_the_middle_of_a_line_loses_that_line_alone(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "labels.jsonl")
    for n in range(3):
        file.add([label(f"Text {n}", "x")])
    content = file.path.read_bytes()
    ends = [n for n, byte in enumerate(content) if byte == ord("\n")]
    for cut in range(len(content) + 1):
        file.path.write_bytes(content[:cut])
        whole = sum(end < cut for end in ends)
        assert [one.text for one in file.labels()] == [f"Text {n}" for n in range(whole)]
    file.path.write_bytes(content[:-9])
    file.add([label("Another", "y")])
    assert [one.text for one in file.labels()] == ["Text 0", "Text 1", "Another"]


def add_some(path: Path, number: int) -> None:
    for n in range(20):
        LabelFile(path).add([label(f"Text {number} {n}", "x")] * 3)


def test_two_windows_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=add_some, args=(path, number)) for number in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(LabelFile(path).labels()) == 120
    assert len(LabelFile(path).current()) == 40


@pytest.mark.parametrize(
    "line", ["x", "[]", "{}", '{"text": "a"}', '{"text": "a", "label": 1}', '{"other": 1}']
)
def test_a_damaged_line_is_named(line: str, tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "labels.jsonl")
    file.add([label("A text", "x")])
    with file.path.open("a") as out:
        out.write(line + "\n")
    with pytest.raises(DataError, match=r"labels\.jsonl, line 2: it is no label"):
        file.labels()


def test_exports_hold_who_said_what(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "labels.jsonl")
    file.add([label("A text", "x", "y"), label(HOSTILE, "z"), label("Skipped", "")])
    wanted = [
        {"text": "A text", "label": "x", "before": "y", "by": "person"},
        {"text": HOSTILE, "label": "z", "before": "", "by": "person"},
    ]
    wanted = [row | {"time": "2026-01-02T03:04:05+00:00"} for row in wanted]
    rows = csv.DictReader(io.StringIO(file.to_bytes("csv").decode(), newline=""))
    assert list(rows) == wanted
    lines = file.to_bytes("jsonl").decode().split("\n")
    assert [json.loads(line) for line in lines if line] == wanted
    table = pd.read_parquet(io.BytesIO(file.to_bytes("parquet")))
    assert table.to_dict("records") == wanted


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rows = [("Bread and soup.", "Food"), ("The SAIL", "Food"), ("the  sail", "Food"), ("Rose", "x")]
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    return tmp_path / "data.csv"


def test_data_is_read_with_corrections(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fingerprints, "_SLOW", -1)  # so that each one is reused
    monkeypatch.setattr(fingerprints, "_REUSE", 1e9)
    file = LabelFile(tmp_path / "labels.jsonl")
    file.add([label("the sail", "Boats", "Food"), label("Rose", ""), label("Elsewhere", "x")])
    reading = {"corrections": str(file.path)}
    source = open_source(data, **reading)
    for _ in range(2):  # counted anew each time
        assert [record.label for record in source] == ["Food", "Boats", "Boats", "x"]
        assert source.corrected == 2
    assert [record.label for record in open_source(data)] == ["Food", "Food", "Food", "x"]
    before = fingerprint(data, ("train",), reading)
    assert recent_fingerprint(data, ("train",), reading) == before
    assert before != fingerprint(data, ("train",), {})
    file.add([label("Rose", "Plants")])
    assert fingerprint(data, ("train",), reading) != before
    assert recent_fingerprint(data, ("train",), reading) != before
    with pytest.raises(DataError, match="no file of corrections"):
        open_source(data, corrections=tmp_path / "missing")


def test_the_command(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "labels.jsonl")
    assert main(["corrections", path]) == 2
    assert "--add starts one" in capsys.readouterr().err
    assert main(["corrections", path, "--add", str(data), "--by", "Ann", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (len(facts["labels"]), facts["texts"]) == (4, 3)
    batch = facts["labels"][0]["batch"]
    assert main(["corrections", path, "--out", str(tmp_path / "out.csv")]) == 0
    assert f"{batch} " in capsys.readouterr().out
    assert len(open_source(tmp_path / "out.csv").describe().files) == 1
    assert main(["corrections", path, "--out", "x.txt"]) == 2
    assert main(["corrections", path, "--undo", batch]) == 0
    assert capsys.readouterr().out == "0 labels in 0 batches\n"


def test_a_model_is_evaluated_on_corrected_labels(
    classifier: ICapsClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier.save(tmp_path / "model")
    rows = [("Bread and soup.", "Cooking"), ("The sail and the mast.", "Cooking")]
    with (tmp_path / "data.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])
    LabelFile(tmp_path / "labels.jsonl").add([label("The sail and the mast.", "Sailing")])
    given = ["evaluate", "--model", str(tmp_path / "model"), "--data", str(tmp_path / "data.csv")]
    scores = []
    for more in ([], ["--corrections", str(tmp_path / "labels.jsonl")]):
        assert main([*given, "--json", *more]) == 0
        facts = json.loads(capsys.readouterr().out)
        scores.append((facts["accuracy"], facts["corrected"]))
    assert scores == [(0.5, 0), (1.0, 1)]
