"""Each baseline learns, is saved and comes back the same; what is damaged is told."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from icaps.baselines.base import BASELINES, CAPSNET, FASTTEXT, LINEAR, NETWORKS, WORD_CNN, Baseline
from icaps.baselines.fit_baseline import fit_baseline
from icaps.baselines.linear import LinearBaseline
from icaps.baselines.networks import NetworkBaseline
from icaps.baselines.storage import load_baseline, save_baseline
from icaps.data.source import open_source
from icaps.errors import CheckpointError, ConfigError, DataError
from icaps.evaluate.scores import evaluate
from icaps.train.callbacks import Callback, Epoch, Step
from icaps.train.checkpoint import load_checkpoint
from tests.baselines.small import QUICK, fit
from tests.conftest import make_texts

TEXTS, LABELS = make_texts(90, seed=9)
ODD = ["", " ", "zzzz qqqq", "soup\nand\tbread", "\ud800 sail", "__label__1 __label__0", "\0"]


@pytest.fixture(scope="module")
def fitted() -> dict[str, Baseline]:
    return {kind: fit(kind) for kind in BASELINES}


@pytest.mark.parametrize("kind", BASELINES)
def test_it_learns_the_topics(fitted: dict[str, Baseline], kind: str) -> None:
    baseline = fitted[kind]
    assert baseline.kind == kind
    assert evaluate(baseline, zip(TEXTS, LABELS, strict=True))["accuracy"] > 0.95
    assert baseline.metrics_["training_texts"] == 324
    assert baseline.metrics_["validation_texts"] == 36
    assert baseline.metrics_["seed"] == 1
    assert baseline.metrics_["validation_accuracy"] > 0.9
    assert baseline.num_weights > 100


@pytest.mark.parametrize("kind", BASELINES)
def test_probabilities(fitted: dict[str, Baseline], kind: str) -> None:
    baseline = fitted[kind]
    texts = [*TEXTS[:5], *ODD]
    together = baseline.predict_proba(texts)
    assert together.shape == (len(texts), 3)
    assert together.sum(1) == pytest.approx(1)
    assert (together >= 0).all()
    alone = np.concatenate([baseline.predict_proba([text]) for text in texts])
    assert together == pytest.approx(alone, abs=1e-4)  # scores are float32
    assert baseline.predict(texts).tolist() == baseline.classes_[together.argmax(1)].tolist()
    assert baseline.predict_proba([]).shape == (0, 3)


@pytest.mark.parametrize("kind", BASELINES)
def test_a_folder_gives_the_same_answers(
    fitted: dict[str, Baseline], kind: str, tmp_path: Path
) -> None:
    baseline, folder = fitted[kind], tmp_path / "a" / "b"
    save_baseline(baseline, folder)
    save_baseline(baseline, folder)  # over itself
    loaded = load_baseline(folder)
    assert loaded.kind == kind
    assert loaded.classes_.tolist() == ["Cooking", "Gardens", "Sailing"]
    assert loaded.metrics_ == json.loads(json.dumps(baseline.metrics_))
    assert loaded.num_weights == baseline.num_weights
    assert loaded.predict_proba(TEXTS).tolist() == baseline.predict_proba(TEXTS).tolist()
    assert [path.name for path in folder.parent.iterdir()] == ["b"]  # no scratch left
    for file in folder.iterdir():
        assert not file.read_bytes().startswith((b"\x80", b"PK"))  # nothing is pickled


@pytest.mark.parametrize("kind", [LINEAR, FASTTEXT, WORD_CNN])
def test_a_seed_gives_one_baseline(fitted: dict[str, Baseline], kind: str) -> None:
    again = fit(kind)
    assert again.predict_proba(TEXTS).tolist() == fitted[kind].predict_proba(TEXTS).tolist()


def test_a_network_keeps_the_weights_of_its_best_epoch() -> None:
    class Course(Callback):
        def __init__(self) -> None:
            self.epochs: list[Epoch] = []
            self.steps: list[Step] = []

        def on_step(self, step: Step) -> None:
            self.steps.append(step)

        def on_epoch(self, epoch: Epoch) -> None:
            self.epochs.append(epoch)

    course = Course()
    baseline = fit(CAPSNET, callbacks=[course])
    accuracies = [epoch.validation_accuracy for epoch in course.epochs]
    assert baseline.metrics_["validation_accuracy"] == max(accuracies)
    assert baseline.metrics_["best_epoch"] == 1 + accuracies.index(max(accuracies))
    assert course.steps[0].steps == 11  # 324 texts by 32
    assert course.steps[10].loss == pytest.approx(course.epochs[0].loss)
    assert len(course.epochs) in (6, baseline.metrics_["best_epoch"] + 2)  # patience


def test_two_classes() -> None:
    texts, labels = make_texts(240, seed=4)
    pairs = [(t, label) for t, label in zip(texts, labels, strict=True) if label != "Sailing"]
    source = open_source(tuple(map(list, zip(*pairs, strict=True))))
    baseline = fit_baseline(LINEAR, source, QUICK)
    assert baseline.classes_.tolist() == ["Cooking", "Gardens"]
    right = baseline.predict([text for text, _ in pairs]) == [label for _, label in pairs]
    assert right.mean() > 0.95
    assert baseline.predict_proba(["soup bread"])[0, 0] > 0.5


def test_linear_is_what_scikit_learn_says(fitted: dict[str, Baseline]) -> None:
    """The probabilities, from the stored numbers, by counting n-grams."""
    baseline = fitted[LINEAR]
    assert isinstance(baseline, LinearBaseline)
    vectorizer, text = baseline._vectorizer, "the soup and the bread"
    counts = {"the": 2, "soup": 1, "and": 1, "bread": 1}
    counts |= dict.fromkeys(["the soup", "soup and", "and the", "the bread"], 1)
    known = {g: n for g, n in counts.items() if g in vectorizer.vocabulary_}
    values = np.zeros(len(vectorizer.vocabulary_))
    for gram, n in known.items():
        place = vectorizer.vocabulary_[gram]
        values[place] = (1 + np.log(n)) * vectorizer.idf_[place]
    values /= np.linalg.norm(values)
    scores = (baseline._weights @ values + baseline._intercepts) * baseline.inverse_temperature_
    expected = np.exp(scores) / np.exp(scores).sum()
    assert baseline.predict_proba([text])[0] == pytest.approx(expected, abs=1e-5)


def test_what_can_not_be_fitted() -> None:
    with pytest.raises(ConfigError, match="Unknown baseline 'bert'; choose one of linear"):
        fit_baseline("bert", open_source((["a", "b"], ["x", "y"])))
    with pytest.raises(DataError, match="one class"):
        fit_baseline(LINEAR, open_source((["a", "b"], ["x", "x"])))
    with pytest.raises(DataError, match="no words that can be counted"):
        fit_baseline(LINEAR, open_source((["a"] * 8, ["x", "y"] * 4)))


def test_without_the_library_of_fasttext(
    monkeypatch: pytest.MonkeyPatch, fitted: dict[str, Baseline], tmp_path: Path
) -> None:
    save_baseline(fitted[FASTTEXT], tmp_path / "kept")
    monkeypatch.setitem(sys.modules, "fasttext", None)
    for act in (lambda: fit(FASTTEXT), lambda: load_baseline(tmp_path / "kept")):
        with pytest.raises(ConfigError, match="pip install fasttext-community"):
            act()


def edit(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.fixture
def folders(fitted: dict[str, Baseline], tmp_path: Path) -> dict[str, Path]:
    for kind in (LINEAR, FASTTEXT, WORD_CNN):
        save_baseline(fitted[kind], tmp_path / kind)
    return {kind: tmp_path / kind for kind in (LINEAR, FASTTEXT, WORD_CNN)}


def test_every_file_is_needed(folders: dict[str, Path]) -> None:
    optional = "texts.safetensors"  # baselines of earlier versions have none
    for folder in folders.values():
        for file in sorted(path for path in folder.iterdir() if path.name != optional):
            content = file.read_bytes()
            file.unlink()
            with pytest.raises(CheckpointError, match=file.name):
                load_baseline(folder)
            file.write_bytes(content)
        load_baseline(folder)


def test_every_file_cut_short_is_told(folders: dict[str, Path]) -> None:
    for folder in folders.values():
        for file in sorted(folder.iterdir()):
            content = file.read_bytes()
            file.write_bytes(content[: len(content) // 2])
            with pytest.raises(CheckpointError):
                load_baseline(folder)
            file.write_bytes(content)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"format_version": 2}, "format version 2"),
        ({"kind": "bert"}, "kind or settings are missing"),
        ({"kind": ["linear"]}, "kind or settings are missing"),
        ({"settings": None}, "kind or settings are missing"),
        ({"settings": {}}, "inverse_temperature"),
        ({"settings": {"inverse_temperature": "x"}}, "damaged"),
        ({"settings": {"inverse_temperature": -1.0}}, "inverse_temperature is -1"),
        ({"kind": "word-cnn"}, "damaged|line|fit"),
    ],
)
def test_a_strange_config_is_told(
    folders: dict[str, Path], values: dict[str, Any], told: str
) -> None:
    edit(folders[LINEAR] / "baseline.json", **values)
    with pytest.raises(CheckpointError, match=told):
        load_baseline(folders[LINEAR])


def test_weights_of_other_sizes_are_told(folders: dict[str, Path]) -> None:
    for kind, name in ((LINEAR, "idf"), (WORD_CNN, "classes.bias")):
        path = folders[kind] / "weights.safetensors"
        weights = load_file(path)
        save_file(weights | {name: torch.cat([weights[name]] * 2)}, path)
        with pytest.raises(CheckpointError, match=f"does not fit baseline.json.*{name}"):
            load_baseline(folders[kind])
        save_file(weights | {name: weights[name] * float("nan")}, path)
        with pytest.raises(CheckpointError, match=f"{name} has NaN or infinity"):
            load_baseline(folders[kind])


def test_it_is_kept_apart_from_models(
    fitted: dict[str, Baseline], folders: dict[str, Path], model_folder: Path
) -> None:
    with pytest.raises(CheckpointError, match="is not a baseline; choose another folder"):
        save_baseline(fitted[LINEAR], model_folder)
    with pytest.raises(CheckpointError, match="holds a baseline, which has no capsules"):
        load_checkpoint(folders[LINEAR])
    assert set(NETWORKS) <= set(BASELINES)
    assert isinstance(load_baseline(folders[WORD_CNN]), NetworkBaseline)
