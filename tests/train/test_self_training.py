"""Self-training: texts without labels help, and where they do not, nothing changes."""

import csv
import dataclasses
import json
import signal
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.config import TrainConfig
from icaps.data.source import open_source
from icaps.data.unlabelled import open_unlabelled
from icaps.errors import CheckpointError, DataError
from icaps.runs.folder import RunFolder
from icaps.train import self_training
from icaps.train.callbacks import Callback, Epoch, Step
from icaps.train.dataset import ExtraTexts, prepare_stream, prepare_texts
from icaps.train.self_training import MAX_CHARACTERS, sample_texts, second_training_seconds
from tests.conftest import MODEL, TRAIN, make_texts

FEW = dataclasses.replace(TRAIN, epochs=12, patience=12, batch_size=16, validation_share=0.3)


class Recorder(Callback):
    """Records what it is called with, and presses Ctrl-C after an epoch."""

    def __init__(self, stop_after: int = 0) -> None:
        self.lines: list[str] = []
        self.epochs: list[int] = []
        self.steps: list[tuple[int, int]] = []
        self.stop_after = stop_after

    def on_log(self, line: str) -> None:
        self.lines.append(line)

    def on_step(self, step: Step) -> None:
        self.steps.append((step.epoch, step.epochs))

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch.epoch)
        if epoch.epoch == self.stop_after:
            signal.raise_signal(signal.SIGINT)


def fitted(
    labelled: int = 36, unlabelled: Iterable[str] = (), stop_after: int = 0, **options: Any
) -> tuple[ICapsClassifier, Recorder]:
    recorder = Recorder(stop_after)
    classifier = ICapsClassifier(MODEL, FEW, "texts", "cpu", [recorder])
    texts, labels = make_texts(labelled, seed=4)
    return classifier.fit(texts, labels, unlabelled=unlabelled, **options), recorder


def same_network(one: ICapsClassifier, other: ICapsClassifier) -> bool:
    first, second = one.network_.state_dict(), other.network_.state_dict()
    return first.keys() == second.keys() and all(torch.equal(first[n], second[n]) for n in first)


@pytest.fixture(scope="module")
def without() -> ICapsClassifier:
    return fitted()[0]


@pytest.fixture(scope="module")
def trained() -> tuple[ICapsClassifier, Recorder]:
    return fitted(unlabelled=make_texts(600, seed=104)[0])


def test_texts_without_labels_help(
    without: ICapsClassifier, trained: tuple[ICapsClassifier, Recorder]
) -> None:
    texts, labels = make_texts(300, seed=204)
    classifier, _ = trained
    assert classifier.score(texts, labels) > without.score(texts, labels) + 0.1
    facts = classifier.metrics_["unlabelled"]
    assert facts["kept"]
    assert (facts["texts"], facts["used"]) == (600, 600)
    assert sum(facts["accepted_classes"].values()) == facts["accepted"] > 400
    assert facts["validation_after"] >= facts["validation_before"]
    # Words that only texts without labels have are known now.
    assert len(classifier.vocabulary_) > len(without.vocabulary_)


def test_the_log_and_the_history_have_both_trainings(
    without: ICapsClassifier, trained: tuple[ICapsClassifier, Recorder]
) -> None:
    classifier, recorder = trained
    first = len(without.history_)
    assert [r["epoch"] for r in classifier.history_] == list(range(1, len(classifier.history_) + 1))
    assert len(classifier.history_) > first
    assert recorder.epochs == [record["epoch"] for record in classifier.history_]
    assert recorder.steps[-1] == (len(classifier.history_), len(classifier.history_))
    best = classifier.history_[classifier.metrics_["best_epoch"] - 1]
    assert best["validation_accuracy"] == classifier.metrics_["validation_accuracy"]
    assert classifier.metrics_["training_texts"] == without.metrics_["training_texts"]
    lines = [line for line in recorder.lines if line.startswith("self-training:")]
    assert "600 of 600 texts without labels" in lines[0]
    accepted = classifier.metrics_["unlabelled"]["accepted"]
    assert f"{accepted:,} predictions of a probability of at least 50%" in lines[1]
    assert "Cooking" in lines[1]
    assert "before" in lines[2]
    assert lines[2].endswith("better")


def test_no_texts_are_the_same_as_none(without: ICapsClassifier) -> None:
    classifier, recorder = fitted(unlabelled=[])
    assert same_network(classifier, without)
    assert "unlabelled" not in classifier.metrics_
    assert not [line for line in recorder.lines if "self-training" in line]


def test_a_worse_model_is_not_returned(without: ICapsClassifier) -> None:
    """Half of the words of a class are in texts of another, so what is learned is wrong."""
    texts = [f"{text} oven sail" for text in make_texts(300, seed=7)[0]]
    wrong = [" ".join(sorted(text.split(), reverse=True)[:2]) for text in texts]
    classifier, recorder = fitted(unlabelled=wrong)
    facts = classifier.metrics_["unlabelled"]
    assert not facts["kept"]
    assert facts["validation_after"] <= facts["validation_before"]
    assert same_network(classifier, without)
    assert len(classifier.history_) == len(without.history_)
    assert "the model without these texts is returned" in recorder.lines[-1]


def test_texts_of_unknown_words_and_labelled_texts_are_not_used(without: ICapsClassifier) -> None:
    known, _ = make_texts(36, seed=4)
    classifier, recorder = fitted(unlabelled=[*known, "", "  ", *known])
    facts = classifier.metrics_["unlabelled"]
    assert (facts["texts"], facts["used"], facts["accepted"], facts["kept"]) == (74, 0, 0, False)
    assert same_network(classifier, without)
    assert "0 of 74 texts" in recorder.lines[-3]


@pytest.mark.parametrize("texts", [["one", 2], "one text", [None]])
def test_what_is_no_text(texts: Any) -> None:
    with pytest.raises(DataError, match=r"not a string|a list of texts"):
        fitted(unlabelled=texts)


def test_a_sample_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_training, "MAX_TEXTS", 100)
    stream = (f"text {n}" for n in range(1_000))
    sample = sample_texts(stream)
    assert (len(sample.texts), sample.total) == (100, 1_000)
    numbers = np.array([int(text.split()[1]) for text in sample.texts])
    assert 300 < numbers.mean() < 700  # of the whole stream
    assert sample_texts(f"text {n}" for n in range(1_000)) == sample
    (text,) = sample_texts(["x" * 10**6]).texts
    assert len(text) == MAX_CHARACTERS
    assert sample.without(sample.texts[:40]).texts == sample.texts[40:]


@pytest.mark.parametrize("stop_after", [2, 12, 13])
def test_a_stopped_training_resumes_exactly(
    stop_after: int, trained: tuple[ICapsClassifier, Recorder], tmp_path: Path
) -> None:
    """Stopped in the first training, at its end, and in the second one."""
    texts = make_texts(600, seed=104)[0]
    stopped, _ = fitted(unlabelled=texts, stop_after=stop_after, state_folder=tmp_path)
    assert stopped.interrupted_
    resumed, recorder = fitted(unlabelled=texts, state_folder=tmp_path, resume=True)
    assert not resumed.interrupted_
    assert same_network(resumed, trained[0])
    assert recorder.epochs == list(range(stop_after + 1, trained[1].epochs[-1] + 1))
    assert resumed.metrics_ == trained[0].metrics_
    assert resumed.inverse_temperature_ == trained[0].inverse_temperature_


def test_other_texts_do_not_fit_a_stopped_second_training(tmp_path: Path) -> None:
    fitted(unlabelled=make_texts(600, seed=104)[0], stop_after=13, state_folder=tmp_path)
    with pytest.raises(CheckpointError, match="other data"):
        fitted(unlabelled=make_texts(500, seed=105)[0], state_folder=tmp_path, resume=True)
    # A training from the start does not meet the old state.
    fitted(stop_after=2, state_folder=tmp_path, unlabelled=make_texts(500, seed=105)[0])
    classifier, _ = fitted(
        unlabelled=make_texts(500, seed=105)[0], state_folder=tmp_path, resume=True
    )
    assert classifier.metrics_["unlabelled"]["texts"] == 500


def write(path: Path, rows: Iterable[tuple[str, ...]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def test_a_stream_gives_the_same_model(
    trained: tuple[ICapsClassifier, Recorder], tmp_path: Path
) -> None:
    labelled = write(
        tmp_path / "texts.csv",
        [("text", "label"), *zip(*make_texts(36, seed=4), strict=True)],
    )
    others = tmp_path / "others.txt"
    others.write_text("\n".join(make_texts(600, seed=104)[0]))
    classifier = ICapsClassifier(MODEL, FEW, "texts", "cpu")
    classifier.fit_stream(open_source(labelled), unlabelled=open_unlabelled(others))
    assert same_network(classifier, trained[0])
    assert classifier.metrics_["unlabelled"] == trained[0].metrics_["unlabelled"]


def test_extra_texts_are_for_training_only() -> None:
    texts, labels = make_texts(40, seed=3)
    classes, numbers = np.unique(labels, return_inverse=True)
    extra = ExtraTexts(["quokka soup", "quokka rose"], np.array([0, 1]))
    config = TrainConfig(min_frequency=0)
    plain = prepare_texts(texts, classes, numbers, MODEL, config)
    more = prepare_texts(texts, classes, numbers, MODEL, config, extra=extra)
    assert more.validation.texts.tolist() == plain.validation.texts.tolist()
    assert more.training.texts.tolist() == [*plain.training.texts.tolist(), 40, 41]
    assert more.training.labels[-2:].tolist() == [0, 1]
    assert "quokka" in more.vocabulary.words
    assert more.content != plain.content
    records = open_source((texts, labels))
    streamed = prepare_stream(records, MODEL, config, extra=extra)
    assert streamed.vocabulary == more.vocabulary
    for one, other in ((streamed.training, more.training), (streamed.validation, more.validation)):
        assert one.labels.tolist() == other.labels.tolist()
        assert [ids.tolist() for ids in one.iterate_ids()] == [
            ids.tolist() for ids in other.iterate_ids()
        ]


SETTINGS = [
    *("fixed_dim=8", "trained_dim=8", "region_dim=24", "query_dim=4", "class_dim=6"),
    *("epochs=12", "patience=12", "batch_size=16", "validation_share=0.3", "min_frequency=0"),
    *("learning_rate=0.01", "average_decay=0.9", "embedding_dropout=0.1", "dropout=0.1"),
    *("word_dropout=0.1", "max_words=50", "seed=1"),
]


def train_command(data: Path, out: Path, *more: str) -> int:
    settings = [part for setting in SETTINGS for part in ("--set", setting)]
    command = [
        "train",
        "--data",
        str(data),
        "--out",
        str(out),
        "--device",
        "cpu",
        "--vectors",
        "texts",
    ]
    return main([*command, *settings, *more])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its file has labels, which are not read: an unknown one does not matter."""
    rows = zip(*make_texts(36, seed=4), strict=True)
    data = write(tmp_path / "texts.csv", [("text", "label"), *rows])
    others = write(
        tmp_path / "others.csv",
        [("text", "label"), *((text, "?") for text in make_texts(600, seed=104)[0])],
    )
    assert train_command(data, tmp_path / "model", "--unlabelled", str(others)) == 0
    loaded = ICapsClassifier.load(tmp_path / "model", device="cpu")
    facts = loaded.metrics_["unlabelled"]
    assert (facts["texts"], facts["used"]) == (600, 600)
    assert facts["accepted"] == sum(facts["accepted_classes"].values()) > 0
    shown = capsys.readouterr().err
    assert f"{others}: its labels ('label') are not read" in shown
    assert "600 of 600 texts without labels" in shown
    assert not (tmp_path / "model" / "last").exists()
    progress = (tmp_path / "model" / "progress.jsonl").read_text().splitlines()
    epochs = [line["epoch"] for line in map(json.loads, progress) if "validation_accuracy" in line]
    assert epochs == list(range(1, len(epochs) + 1))
    assert len(epochs) > 12  # those of both trainings
    status = RunFolder(tmp_path / "model").status()
    assert (status.epoch, status.epochs) == (epochs[-1], epochs[-1])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "it is empty"),
        ("a.csv", b"text\n", "no text that can be read"),
        ("a.png", b"\x89PNG\r\n", "a PNG image"),
        ("absent.txt", None, "There is no file or folder"),
    ],
)
def test_the_command_reports_a_bad_file(
    name: str,
    content: bytes | None,
    message: str,
    data_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    code = train_command(data_file, tmp_path / "model", "--unlabelled", str(tmp_path / name))
    assert code != 0
    shown = capsys.readouterr().err
    assert message in shown
    assert "epoch 1" not in shown


def test_the_second_training_takes_as_long_as_its_texts() -> None:
    """100 labelled texts and 900 others: 1,000 in an epoch, 3 epochs at least, 10 at most."""
    assert second_training_seconds(2.0, 10, 100, 900) == 2.0 * 10 * 3
    assert second_training_seconds(2.0, 2, 100, 900) == 2.0 * 10 * 2
    # 9,900 others: each labelled text is repeated 10 times, as 11 times is more than allowed.
    assert second_training_seconds(2.0, 10, 100, 9_900) == pytest.approx(2.0 * 109 * 3)
    # Of more than 50,000 others a sample is used: (6 * 1,000 + 50,000) / 1,000 epochs' time.
    assert second_training_seconds(1.0, 10, 1_000, 10**9) == pytest.approx(56.0 * 3)
