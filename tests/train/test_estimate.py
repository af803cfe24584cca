"""The estimated cost of a training, and recommended settings."""

import dataclasses
import random
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import TrainConfig
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.train import estimate as estimation
from icaps.train.dataset import Corpus
from icaps.train.estimate import Estimate, estimate, expected_words
from tests.conftest import MODEL, TRAIN, make_texts


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps; their time is tested with a fake clock."""
    monkeypatch.setattr(estimation, "_STEP_SECONDS", 0.0)


@pytest.fixture(scope="module")
def texts_and_labels() -> tuple[list[str], list[str]]:
    return make_texts(360, seed=1)


@pytest.fixture(scope="module")
def estimated(texts_and_labels: tuple[list[str], list[str]]) -> Estimate:
    return estimate(open_source(texts_and_labels), MODEL, TRAIN)


def lines_of(rows: int) -> list[str]:
    """Rows of a CSV with texts of different lengths, whose words follow Zipf's law."""
    rng = random.Random(0)
    words = [f"word{n}" for n in range(1, 20_001)]
    weights = list(accumulate(1 / n for n in range(1, 20_001)))
    return [
        f"{rng.choice('abc')},"
        f"{' '.join(rng.choices(words, cum_weights=weights, k=rng.randint(5, 60)))}\n"
        for _ in range(rows)
    ]


def test_small_data_are_counted(
    estimated: Estimate, texts_and_labels: tuple[list[str], list[str]]
) -> None:
    texts, _ = texts_and_labels
    lengths = [len(text.removesuffix(".").split()) + 1 for text in texts]
    assert (estimated.texts, estimated.exact) == (360, True)
    assert estimated.classes == ("Cooking", "Gardens", "Sailing")
    assert estimated.words.mean == pytest.approx(np.mean(lengths))
    assert estimated.words.median == np.median(lengths)
    assert estimated.words.most == np.quantile(lengths, 0.95, method="inverted_cdf")


def test_sizes_are_those_of_the_trained_network(
    estimated: Estimate, classifier: ICapsClassifier, model_folder: Path
) -> None:
    network = classifier.network_
    assert estimated.vocabulary == pytest.approx(len(classifier.vocabulary_), abs=3)
    rows = (estimated.vocabulary - len(classifier.vocabulary_)) * MODEL.trained_dim
    parameters = sum(values.numel() for values in network.parameters())
    assert estimated.parameters - rows == parameters
    stored = sum(file.stat().st_size for file in model_folder.iterdir())
    assert stored / 1.5 < estimated.checkpoint_bytes < stored * 1.5
    assert estimated.seconds == pytest.approx(estimated.seconds_per_epoch * TRAIN.epochs)
    assert estimated.seconds_per_epoch > 0
    assert estimated.vector_seconds > 0


def test_steps_for_unk_take_time(texts_and_labels: tuple[list[str], list[str]]) -> None:
    train = dataclasses.replace(TRAIN, unk_steps=400)
    estimated = estimate(open_source(texts_and_labels), MODEL, train)
    assert (
        estimated.seconds > 1.5 * estimated.seconds_per_epoch * TRAIN.epochs
    )  # 80 steps of the epochs


def test_vectors_of_a_file_count_by_their_size(
    texts_and_labels: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    (tmp_path / "own.txt").write_text("2 5\nsoup 1 2 3 4 5\nrose 1 2 3 4 5\n")
    source = open_source(texts_and_labels)
    config = dataclasses.replace(MODEL, trained_dim=4)
    alone = estimate(source, config, TRAIN, tmp_path / "own.txt")
    both = estimate(source, config, TRAIN, [tmp_path / "own.txt", "texts"])
    assert alone.vector_seconds == 0
    taps = MODEL.kernel_size * MODEL.region_dim
    assert both.parameters - alone.parameters == MODEL.fixed_dim * taps


def test_the_time_is_that_of_the_steps(
    texts_and_labels: tuple[list[str], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock advances by 1 second per step and a hundredth of a second per word."""
    now = 0.0

    def step(_network: object, batch: Corpus, _train: object) -> float:
        nonlocal now
        now += 1 + len(batch.tokens().ids) / 100
        return 0.0

    monkeypatch.setattr(estimation, "backward", step)
    monkeypatch.setattr(estimation.time, "perf_counter", lambda: now)
    train = dataclasses.replace(TRAIN, accumulate=4, unk_steps=100)
    estimated = estimate(open_source(texts_and_labels), MODEL, train)
    training, steps = 324, 11
    assert estimated.seconds_per_epoch == pytest.approx(
        steps + training * estimated.words.mean / 100, rel=1e-6
    )
    # A step for <unk> is one of the four parts that another one has.
    unk_seconds = 100 * (1 / 4 + 32 / 4 * estimated.words.mean / 100)
    assert estimated.seconds - TRAIN.epochs * estimated.seconds_per_epoch == pytest.approx(
        unk_seconds, rel=1e-6
    )


def test_the_random_state_is_restored(texts_and_labels: tuple[list[str], list[str]]) -> None:
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    threads = torch.get_num_threads()
    estimate(open_source(texts_and_labels), MODEL, TRAIN)
    assert torch.equal(torch.rand(3), expected)
    assert torch.get_num_threads() == threads


@pytest.mark.parametrize("parts", [1, 3, 40])
def test_settings_of_a_step(texts_and_labels: tuple[list[str], list[str]], parts: int) -> None:
    train = dataclasses.replace(TRAIN, accumulate=parts, purity_weight=0.1, spread_weight=0.1)
    assert estimate(open_source(texts_and_labels), MODEL, train).seconds > 0


def test_blank_texts_and_few() -> None:
    """Also if nothing can be learnt."""
    model = dataclasses.replace(MODEL, fixed_dim=0)
    estimated = estimate(open_source((["", "", "a"], ["x", "y", "x"])), model, TrainConfig())
    assert estimated.texts == 3
    assert estimated.vocabulary == 2
    with pytest.raises(DataError, match="All 2 texts have one class"):
        estimate(open_source((["a", "b"], ["x", "x"])), model, TrainConfig())


def test_an_estimate_of_a_part_is_near_that_of_the_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("label,text\n" + "".join(lines_of(20_000)))
    model, train = dataclasses.replace(MODEL, fixed_dim=0), TrainConfig(min_frequency=5)
    part, whole = (estimate(open_source(path), model, train, seconds=s) for s in (0.0, 600.0))
    assert not part.exact
    assert whole.exact
    assert whole.texts == 20_000
    assert part.texts == pytest.approx(20_000, rel=0.05)
    assert part.words.mean == pytest.approx(whole.words.mean, rel=0.1)
    assert part.vocabulary == pytest.approx(whole.vocabulary, rel=0.3)


@pytest.mark.parametrize("least", [0, 1, 5, 50])
@pytest.mark.parametrize("growth", [0.9, 2, 10])
def test_words_of_a_larger_corpus(least: int, growth: float) -> None:
    """Texts by Zipf's law with an exponent of 1.05, of which the sample is a part."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, 200_000) ** 1.05
    rates = 100_000 * shares / shares.sum()
    sample = rng.poisson(rates)
    true = (rng.poisson(rates * growth) > least).sum()
    actual = expected_words(sample[sample > 0], growth, least)
    assert actual == pytest.approx(true, rel=0.05 if growth < 1 else 0.3)


def test_words_of_an_empty_sample() -> None:
    assert expected_words(np.zeros(0, np.int64), 3.0, 5) == 0
    assert expected_words(np.array([1, 1]), 9.0, 1) == 0


def test_words_that_are_all_there() -> None:
    assert expected_words(np.full(500, 9_999), 9.0, 5) == 500
    assert expected_words(np.full(500, 9_999), 9.0, 0) == 500


@pytest.mark.usefixtures("default_sources")
def test_coverage_and_vector_words(
    texts_and_labels: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    alone = estimate(open_source(texts_and_labels), MODEL, TRAIN, "texts")
    assert alone.coverage is None
    english = estimate(open_source(texts_and_labels), MODEL, TRAIN)
    assert english.coverage is not None
    assert (english.coverage.sources, english.coverage.low) == ("english", False)
    assert english.coverage.share > 0.95
    fitted = ICapsClassifier(MODEL, dataclasses.replace(TRAIN, epochs=1)).fit(*texts_and_labels)
    fitted.save(tmp_path / "model")
    stored = sum(file.stat().st_size for file in (tmp_path / "model").iterdir())
    assert stored / 1.1 < english.checkpoint_bytes < stored * 1.1


@pytest.mark.usefixtures("default_sources")
def test_texts_of_another_language_have_a_low_coverage() -> None:
    texts = ["Der Hafen war morgens noch leer, die Boote kamen zurück."] * 4
    german = estimate(open_source((texts, ["a", "b", "a", "b"])), MODEL, TRAIN).coverage
    assert german is not None
    assert german.low
    assert "Hafen" in german.missing
