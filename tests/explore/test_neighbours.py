"""The nearest training texts, by plain cosines."""

import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.cli.progress import Progress, share_of
from icaps.data.cache import Artifact
from icaps.errors import DataError
from icaps.explore.neighbours import TrainingSample, make_sample, sample_artifact
from icaps.explore.text_projection import text_vectors
from icaps.train.checkpoint_files import weights_fingerprint

TEXT = "Bake bread and soup with butter."


@pytest.fixture
def stored(
    model_folder: Path, data_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Artifact[TrainingSample]:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    return sample_artifact(weights_fingerprint(model_folder), data_file, {})


@pytest.fixture
def sample(
    classifier: ICapsClassifier,
    model_folder: Path,
    data_file: Path,
    stored: Artifact[TrainingSample],
) -> TrainingSample:
    assert stored.load() is None
    return make_sample(classifier, weights_fingerprint(model_folder), data_file, {})


def test_the_nearest_by_plain_cosines(classifier: ICapsClassifier, sample: TrainingSample) -> None:
    texts = sample.texts.take(np.arange(len(sample.texts)))
    vectors = text_vectors(classifier, texts).astype(float)
    (own,) = text_vectors(classifier, [TEXT]).astype(float)
    cosines = [
        float(v @ own / (np.linalg.norm(v) * np.linalg.norm(own))) if v.any() else 0.0
        for v in vectors
    ]
    found = sample.nearest(classifier, TEXT, 7)
    assert [one.similarity for one in found.neighbours] == pytest.approx(
        sorted(cosines, reverse=True)[:7], abs=2e-3
    )
    for one in found.neighbours:
        assert one.similarity == pytest.approx(cosines[texts.index(one.text)], abs=2e-3)
        assert one.label == sample.classes[sample.labels[texts.index(one.text)]]
    assert found.neighbours[0].label == "Cooking"
    assert found.sampled == found.texts == len(texts)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = vectors / np.where(lengths > 0, lengths, 1)
    every = units @ units.T
    apart = ~np.eye(len(texts), dtype=bool)
    alike = apart & (sample.labels[:, None] == sample.labels[None])
    assert found.random == pytest.approx(every[apart].mean(), abs=0.05)
    assert found.random_alike == pytest.approx(every[alike].mean(), abs=0.05)
    assert found.random_alike > found.random


def test_progress_counts_the_texts_of_the_sample(
    classifier: ICapsClassifier,
    model_folder: Path,
    data_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    stream = io.StringIO()
    weights = weights_fingerprint(model_folder)
    sample = make_sample(classifier, weights, data_file, {}, Progress(stream))
    last = stream.getvalue().splitlines()[-1]
    assert last.startswith(f"{len(sample.texts)} of {len(sample.texts)} texts, ")  # and the speed
    assert share_of(last) == 1


def test_a_blank_text_has_no_neighbours(
    classifier: ICapsClassifier, sample: TrainingSample
) -> None:
    assert sample.nearest(classifier, "").neighbours == ()
    count = len(sample.labels)  # of which no two are alike
    one = dataclasses.replace(
        sample, labels=np.arange(count), classes=tuple(map(str, range(count)))
    )
    assert one.nearest(classifier, TEXT).to_dict()["random_alike"] is None


def test_a_damaged_sample_is_told(sample: TrainingSample, stored: Artifact[TrainingSample]) -> None:
    np.save(stored.home / "ready" / "labels.npy", np.zeros(3, np.int32))
    with pytest.raises(DataError, match="not of one length"):
        stored.load()
    (stored.home / "ready" / "facts.json").write_text("{")
    with pytest.raises(DataError, match="Delete the folder"):
        stored.load()


def test_the_command(
    model_folder: Path,
    data_file: Path,
    stored: Artifact[TrainingSample],
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = ["explore", str(data_file), "--like", TEXT]
    assert main(given) == 2
    assert "name it with --model" in capsys.readouterr().err
    given += ["--model", str(model_folder)]
    assert main(given) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 6
    assert lines[0].split("\t")[1] == "Cooking"
    assert "two random ones" in lines[-1]
    assert main([*given, "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["neighbours"]) == 5
