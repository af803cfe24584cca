"""The recipe: facts of texts, and the settings that follow from them."""

import dataclasses
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.config import PRESETS, ModelConfig, TrainConfig
from icaps.data.sample import SpacedSample
from icaps.data.source import open_source
from icaps.errors import CheckpointError, ConfigError
from icaps.train.callbacks import Callback
from icaps.train.dataset import prepare_stream, prepare_texts
from icaps.train.estimate import suggest_settings
from icaps.train.recipe import Facts, Recipe, choose, measure, recipe_for, rules
from tests.conftest import make_texts
from tests.train.test_token_store import Row

FACTS = Facts(
    texts=5_000,
    classes=6,
    largest_class=0.2,
    words=10,
    sentences=1,
    most_words=18,
    most_sentence_words=15,
    most_sentences=2,
    longest=34,
)
DOCUMENTS = dataclasses.replace(FACTS, words=200, sentences=9, most_words=900, most_sentences=30)


def text_of(sentences: list[int]) -> str:
    """A text with sentences of so many words; the stop is a word, too."""
    return " ".join(" ".join(["Bread"] * (words - 1)) + " ." for words in sentences)


def recipe_of(lengths: list[list[int]], texts: int) -> Recipe:
    """Of texts as the words of each sentence."""
    return choose(measure([text_of(text) for text in lengths], texts, 4, 0.25))


def test_facts_of_short_texts() -> None:
    sample = [text_of([n]) for n in range(2, 102)]
    assert measure(sample, 120_000, 4, 0.3) == Facts(
        texts=120_000,
        classes=4,
        largest_class=0.3,
        words=51,
        sentences=1,
        most_words=96,
        most_sentence_words=96,
        most_sentences=1,
        longest=101,
    )


def test_short_texts() -> None:
    recipe = recipe_of([[n] for n in range(2, 102)], 120_000)
    model = recipe.model
    assert (model.hierarchical, model.max_words, model.max_sentences) == (False, 96, None)
    assert (recipe.preset, recipe.train.min_frequency) == ("ag_news-short", 5)
    assert recipe.reasons[0] == (
        "A typical text has 51 words in 1 sentence: the network for short texts reads it as one."
    )


def test_long_texts() -> None:
    lengths = [[20] * n for n in range(1, 20)] + [[20] * 4 + [200]]
    recipe = recipe_of(lengths, 650_000)
    model = recipe.model
    assert (model.hierarchical, model.max_words, model.max_sentences) == (True, 20, 18)
    assert (recipe.preset, recipe.train.min_frequency) == ("yelp_full-long", 5)
    assert "weighs sentences as well as words" in recipe.reasons[0]


def test_a_long_text_of_one_sentence_is_short() -> None:
    assert not recipe_of([[500]], 100).model.hierarchical


def test_a_sentence_that_is_split_counts_by_its_parts() -> None:
    """Of a hundred sentences four are longer than N, and are two."""
    model = recipe_of([[30] * 24 + [60]] * 4, 10_000).model
    assert (model.max_words, model.max_sentences) == (30, 26)


@pytest.mark.parametrize(
    ("texts", "short", "long"),
    [(300, 1, 1), (120_000, 5, 5), (560_000, 50, 5), (1_400_000, 100, 10), (3_600_000, 200, 10)],
)
def test_frequencies_of_the_tables(texts: int, short: int, long: int) -> None:
    assert recipe_of([[9]], texts).train.min_frequency == short
    assert recipe_of([[20] * 9], texts).train.min_frequency == long


def test_every_size_has_settings_and_a_preset() -> None:
    for texts in (4, 10**9):
        for lengths in ([[2]], [[3]], [[30] * 999]):
            for classes in (2, 17, 5_000):
                facts = measure([text_of(lengths[0])], texts, classes, 0.5)
                recipe = choose(facts)
                assert recipe.preset in PRESETS
                assert recipe.reasons
                assert all(reason.endswith(".") for reason in recipe.reasons)


def test_several_labels_per_text() -> None:
    """Routing stays over classes, and macro F1 chooses the epoch where the texts suffice."""
    recipe = choose(dataclasses.replace(FACTS, multilabel=True))
    alike = choose(FACTS)
    assert recipe.model == alike.model
    assert recipe.train == dataclasses.replace(alike.train, score="macro_f1")
    assert any("Several labels per text" in reason for reason in recipe.reasons)
    few = dataclasses.replace(FACTS, multilabel=True, texts=500)
    assert choose(few).train.score == "last"
    label_sets = np.array([[True, True, False], [False, False, False], [True, False, True]])
    facts = recipe_for(["a b"] * 4, np.array([0, 0, 1, 2]), label_sets=label_sets).facts
    assert facts is not None
    assert (facts.multilabel, facts.texts, facts.classes) == (True, 4, 3)
    assert facts.largest_class == 0.75


def test_blank_texts_have_settings() -> None:
    model = choose(measure(["", " "], 2, 2, 0.5)).model
    assert (model.hierarchical, model.max_words) == (False, 1)


def test_rules_name_settings() -> None:
    names = {
        field.name for kind in (ModelConfig, TrainConfig) for field in dataclasses.fields(kind)
    }
    for facts in (FACTS, DOCUMENTS):
        for settings, _ in rules(facts, facts.hierarchical):
            assert settings.keys() <= names


def test_given_settings_replace_those_of_the_recipe_one_by_one() -> None:
    recipe = choose(FACTS)
    changed = choose(FACTS, {"max_words": 7}, {"epochs": 3})
    assert changed.model == dataclasses.replace(recipe.model, max_words=7)
    assert changed.train == dataclasses.replace(recipe.train, epochs=3)
    assert changed.given == {"max_words": 7, "epochs": 3}
    assert recipe.reasons[0] not in changed.reasons  # as N is not the recipe's
    assert changed.lines[-1] == "given, not by the recipe: max_words = 7, epochs = 3"
    assert recipe.with_settings({"max_words": 7}, {"epochs": 3}) == changed


def test_whole_configurations_are_not_changed() -> None:
    model, train = ModelConfig(max_words=7), TrainConfig(epochs=3)
    assert choose(FACTS, model).model == model
    assert choose(FACTS, model).train == choose(FACTS).train
    assert choose(FACTS, None, train).train == train
    assert choose(FACTS, None, train).lines[-1].endswith("all settings of the training")
    recipe = recipe_for(["unread"], np.array([0, 1]), model, train)
    assert (recipe.model, recipe.train, recipe.facts, recipe.lines) == (model, train, None, ())


def test_the_other_settings_suit_the_given_network() -> None:
    """Long documents that are to be read as short texts, and the reverse."""
    short = choose(DOCUMENTS, {"hierarchical": False}).model
    assert (short.hierarchical, short.max_words, short.max_sentences) == (False, 900, None)
    long = choose(FACTS, {"hierarchical": True}).model
    assert (long.hierarchical, long.max_words, long.max_sentences) == (True, 15, 2)


@pytest.mark.parametrize(
    ("model", "train", "message"),
    [
        ({"colour": 1}, None, "There is no setting 'colour'"),
        ({"epochs": 1}, None, "There is no setting 'epochs'"),
        (None, {"epochs": "3"}, "epochs is '3'; it must be a whole number"),
        (None, {"epochs": 0}, "epochs is 0; it must be at least 1"),
        (TrainConfig(), None, "give a ModelConfig, single settings by their names, or None"),
        (None, 5, "give a TrainConfig"),
    ],
)
def test_wrong_settings(model: Any, train: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        choose(FACTS, model, train)


def test_the_log_says_what_was_chosen() -> None:
    class Log(Callback):
        def __init__(self) -> None:
            self.lines: list[str] = []

        def on_log(self, line: str) -> None:
            self.lines.append(line)

    log = Log()
    fitted = ICapsClassifier(SMALL_MODEL, SMALL_TRAIN, device="cpu", callbacks=[log])
    fitted.fit(*make_texts(60, 1))
    text = "\n".join(log.lines)
    assert "recipe for 60 texts of 3 classes: network for short texts, N = " in text
    assert "epochs = 2" in text
    assert fitted.metrics_["recipe"]


SMALL_MODEL = {"fixed_dim": 8, "trained_dim": 8, "region_dim": 64, "query_dim": 32, "class_dim": 6}
SMALL_TRAIN = {"epochs": 2, "average_decay": 0.9}


def test_a_stream_and_texts_in_memory_have_the_same_recipe() -> None:
    """Of more texts than are measured."""
    texts, names = make_texts(5_000, 1)
    texts = [text * (1 + n % 7 % 3) for n, text in enumerate(texts)]
    classes, labels = np.unique(np.array(names, dtype=object), return_inverse=True)
    memory = prepare_texts(texts, classes, labels).recipe
    stream = prepare_stream([Row(*pair) for pair in zip(texts, names, strict=True)]).recipe
    assert memory == stream
    assert memory.facts is not None
    assert memory.facts.texts == 5_000
    page = suggest_settings(open_source((texts, names)), seconds=600)
    assert page == stream


def test_a_spaced_sample_covers_the_stream() -> None:
    assert SpacedSample("abc").texts == ["a", "b", "c"]
    texts = [str(n) for n in range(2_000)]
    assert SpacedSample(texts).texts == texts
    for count in (2_001, 10_000, 100_003):
        numbers = np.array([int(text) for text in SpacedSample(map(str, range(count))).texts])
        assert 990 <= len(numbers) <= 2_000
        gaps = np.diff([-1, *numbers, count])
        assert (gaps > 0).all()
        assert gaps.max() <= 3 * count / len(numbers)
        for period in (2, 3, 4, 10):  # classes that alternate are sampled alike
            shares = np.bincount(numbers % period) / len(numbers)
            np.testing.assert_allclose(shares, 1 / period, atol=0.02)


MODEL_FILES = ("config.json", "vocabulary.txt", "classes.txt", "model.safetensors", "metrics.json")


def same_models(first: Path, second: Path) -> bool:
    """Whether two checkpoints are the same to the last byte, but for the time of an epoch."""
    for name in MODEL_FILES:
        assert (first / name).read_bytes() == (second / name).read_bytes(), name
    histories = [(folder / "history.jsonl").read_text() for folder in (first, second)]
    without_seconds = [re.sub(r'"seconds": [^,}]*', "", history) for history in histories]
    return without_seconds[0] == without_seconds[1]


def as_arguments(*settings: Mapping[str, Any]) -> list[str]:
    pairs = [f"{name}={value}" for part in settings for name, value in part.items()]
    return [argument for pair in pairs for argument in ("--set", pair)]


def test_command_line_and_estimator_train_the_same_model(tmp_path: Path) -> None:
    """With a few sizes replaced, so that it is fast; the rest is by the recipe."""
    texts, labels = make_texts(150, 2)
    data = tmp_path / "texts.jsonl"
    rows = zip(texts, labels, strict=True)
    data.write_text("".join(json.dumps({"text": t, "label": y}) + "\n" for t, y in rows))
    trained = tmp_path / "trained"
    arguments = ["train", "--data", str(data), "--out", str(trained), "--device", "cpu"]
    assert main([*arguments, *as_arguments(SMALL_MODEL, SMALL_TRAIN)]) == 0
    assert ICapsClassifier.load(trained).train_config_.batch_size == 16  # and not the default
    classifier = ICapsClassifier(SMALL_MODEL, SMALL_TRAIN, device="cpu")
    classifier.fit(texts, labels).save(tmp_path / "fitted")
    assert same_models(trained, tmp_path / "fitted")
    classifier.fit_stream(open_source(data)).save(tmp_path / "streamed")
    assert same_models(trained, tmp_path / "streamed")


@pytest.mark.parametrize(
    ("facts", "model", "train"),
    [
        (
            FACTS,
            {"kernel_size": 3, "query_dim": 8, "num_capsules": 32},
            {"epochs": 13, "batch_size": 32, "purity_weight": 0.2, "score": "auto"},
        ),
        (
            dataclasses.replace(FACTS, texts=200),
            {"kernel_size": 3, "hierarchical": False},
            {"epochs": 60, "patience": 60, "batch_size": 16, "score": "last"},
        ),
        (
            dataclasses.replace(FACTS, texts=500),
            {"kernel_size": 3},
            {"epochs": 32, "patience": 32, "batch_size": 16},
        ),
        (
            dataclasses.replace(FACTS, texts=1_000),
            {"kernel_size": 3},
            {"epochs": 25, "patience": 25, "batch_size": 32},
        ),
        (
            dataclasses.replace(FACTS, texts=10_000, classes=150),
            {"query_dim": 32, "num_capsules": 8},
            {"epochs": 19, "purity_weight": 0.0, "spread_weight": 0.0},
        ),
        (
            dataclasses.replace(DOCUMENTS, texts=2_700, classes=20),
            {"kernel_size": 1, "hierarchical": False, "query_dim": 16, "num_capsules": 32},
            {"purity_weight": 0.1, "spread_weight": 0.05, "score": "last"},
        ),
        (
            DOCUMENTS,
            {"kernel_size": 3, "hierarchical": True},
            {"purity_weight": 0.2, "spread_weight": 0.1, "score": "auto"},
        ),
        (
            dataclasses.replace(FACTS, texts=47_000),
            {"kernel_size": 3, "query_dim": 8},
            {"epochs": 5, "batch_size": 128, "learning_rate": 0.002, "validation_share": 0.05},
        ),
    ],
)
def test_settings_by_hand(facts: Facts, model: dict[str, Any], train: dict[str, Any]) -> None:
    recipe = choose(facts)
    assert {name: getattr(recipe.model, name) for name in model} == model
    assert {name: getattr(recipe.train, name) for name in train} == train


def test_a_training_by_the_recipe_resumes(tmp_path: Path) -> None:
    """The state has the resolved settings, which the same texts have again."""
    texts, labels = make_texts(60, 3)
    state = tmp_path / "state"
    first = ICapsClassifier(SMALL_MODEL, SMALL_TRAIN, device="cpu")
    first.fit(texts, labels, state_folder=state).save(tmp_path / "first")
    again = ICapsClassifier(SMALL_MODEL, SMALL_TRAIN, device="cpu")
    again.fit(texts, labels, state_folder=state, resume=True).save(tmp_path / "again")
    assert same_models(tmp_path / "first", tmp_path / "again")
    resolved = ICapsClassifier(SMALL_MODEL, first.train_config_, device="cpu")
    resolved.fit(texts, labels, state_folder=state, resume=True)
    other = ICapsClassifier(SMALL_MODEL, {**SMALL_TRAIN, "batch_size": 8}, device="cpu")
    with pytest.raises(CheckpointError, match="the setting batch_size was 16 and is 8"):
        other.fit(texts, labels, state_folder=state, resume=True)
