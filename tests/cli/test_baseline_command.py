"""`icaps baseline`, by hand and as a job."""

import json
import time
from pathlib import Path

import pytest

from icaps.baselines.storage import load_baseline
from icaps.cli.main import main
from icaps.cli.request import read_arguments
from icaps.data.label_file import GivenLabel, LabelFile
from icaps.data.source import open_source
from icaps.errors import RunError
from icaps.runs import jobs
from icaps.runs.folder import DONE, PROGRESS, RunFolder
from tests.conftest import make_texts

WORDS = ["baseline", "linear", "--data"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a train and a test file."""
    folder = tmp_path / "topics"
    folder.mkdir()
    for part, count, seed in (("train", 240, 1), ("test", 60, 2)):
        rows = [
            json.dumps({"text": text, "label": label})
            for text, label in zip(*make_texts(count, seed), strict=True)
        ]
        (folder / f"{part}.jsonl").write_text("\n".join(rows))
    return folder


def test_it_is_trained_scored_and_told(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "runs" / "linear"
    assert main([*WORDS, str(data), "--out", str(out), "--seed", "3", "--json"]) == 0
    metrics = json.loads(capsys.readouterr().out)
    assert metrics["seed"] == 3
    assert metrics["test"]["n"] == 60
    assert metrics["test"]["accuracy"] > 0.95
    assert metrics["data"] == str(data)
    loaded = load_baseline(out)
    assert loaded.metrics_ == metrics
    assert RunFolder(out).status().state == DONE
    request = RunFolder(out).request()
    assert request is not None
    assert request.is_baseline
    assert read_arguments(request.arguments).name == "linear"
    assert main([*WORDS, str(data), "--out", str(out)]) == 0  # over itself
    told = capsys.readouterr()
    test = metrics["test"]
    assert (
        f"test accuracy {test['accuracy']:.2%}, macro F1 {test['macro_f1']:.2%}, of 60" in told.out
    )
    assert "C 0.1: validation accuracy" in told.err


@pytest.mark.parametrize("kind", ["linear", "region-embeddings"])
def test_corrected_labels_are_counted(
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # processes that encode take long to start
    others = {"Cooking": "Sailing", "Gardens": "Cooking", "Sailing": "Gardens"}
    rows = [row for part in ("train", "test") for row in list(open_source(data, part))[::40]]
    file = LabelFile(tmp_path / "corrections.jsonl")
    file.add(GivenLabel(row.text, others[row.label], row.label) for row in rows)
    out = tmp_path / "baseline"
    command = ["baseline", kind, "--data", str(data), "--out", str(out)]
    assert main([*command, "--corrections", str(file.path)]) == 0
    metrics = load_baseline(out).metrics_
    counts = []
    for part in ("train", "test"):
        corrected = open_source(data, part, corrections=str(file.path))
        pairs = zip(open_source(data, part), corrected, strict=True)
        counts.append(sum(given.label != now.label for given, now in pairs))
    assert [metrics["corrected_texts"], metrics["corrected_test_texts"]] == counts
    assert counts[0] >= 6
    assert f"the labels of {counts[0]} training texts are corrected" in capsys.readouterr().out
    assert main(command) == 0
    assert "corrected_texts" not in load_baseline(out).metrics_


def test_a_network_tells_its_course(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # processes that encode take long to start
    out = tmp_path / "regions"
    command = ["baseline", "region-embeddings", "--data", str(data / "train.jsonl")]
    assert main([*command, "--out", str(out)]) == 0
    status = RunFolder(out).status()
    assert status.state == DONE
    assert status.validation_accuracy == load_baseline(out).metrics_["validation_accuracy"]
    epochs = [line for line in RunFolder(out).records(PROGRESS) if "validation_accuracy" in line]
    assert [line["epoch"] for line in epochs] == list(range(1, len(epochs) + 1))
    assert "test" not in load_baseline(out).metrics_  # there is no test part


def test_it_goes_to_runs_by_itself(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*WORDS, str(data)]) == 0
    load_baseline(tmp_path / "runs" / "linear")


def test_mistakes_are_told(
    data: Path, tmp_path: Path, model_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, str(data), "--out", str(model_folder)]) == 2
    assert "is not a baseline; choose another folder" in capsys.readouterr().err
    assert main([*WORDS, str(tmp_path / "nowhere"), "--out", str(tmp_path / "a")]) == 2
    assert "no file or folder" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()
    with pytest.raises(SystemExit):
        main(["baseline", "bert", "--data", str(data)])
    with pytest.raises(RunError, match="cannot be read"):
        read_arguments(["baseline", "bert", "--data", "x"])


def test_as_a_job(data: Path, tmp_path: Path) -> None:
    place = tmp_path / "runs"
    run = jobs.start(place, "mine", [*WORDS, str(data)])
    until = time.monotonic() + 120
    while run.folder.status().live and time.monotonic() < until:
        time.sleep(0.1)
    assert run.folder.status().state == DONE
    assert "saved to" in run.folder.log_tail()
    load_baseline(run.path)
    assert not run.has_model  # none of capsules
