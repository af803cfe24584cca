import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sklearn.exceptions
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from icaps import inference
from icaps.classifier import ICapsClassifier, NotFittedError
from icaps.config import TrainConfig
from icaps.errors import ConfigError, DataError, ICapsError
from icaps.text.batch import UNK
from icaps.train.callbacks import Callback
from tests.conftest import MODEL, TOPICS, TRAIN, make_texts

HARD = [
    "",
    "   ",
    "bread",
    "bread soup",
    "zzz qqq xxx",
    "?! --",
    "bread " * 20_000,
    "x<script>alert(1)</script> bread",
    '" onmouseover="x bread',
    "Revenue $119.6 billion to $120 billion bread",
    "**a** _b_ :sunglasses: bread",
    "bread\n\tsoup  \r\n sail",
    "bread \U0001f468\U0001f3fd‍\U0001f469\U0001f3fd‍\U0001f466\U0001f3fd soup",
    "cafe\u0301 bread",
    "İstanbul bread",
    "שלום bread עולם",
    "面包很好吃 bread",
    "ขนมปังอร่อย bread",
    "bread\x00soup",
    "bread \ud800 soup \udfff",
]


def test_fit_learns_the_labels(classifier: ICapsClassifier) -> None:
    texts, labels = make_texts(120, seed=2)
    assert (classifier.predict(texts) == np.array(labels)).mean() > 0.95
    assert classifier.classes_.tolist() == ["Cooking", "Gardens", "Sailing"]
    assert 1 <= classifier.metrics_["best_epoch"] <= TRAIN.epochs
    assert len(classifier.history_) >= classifier.metrics_["best_epoch"]


def test_shuffled_labels_are_not_learnt() -> None:
    texts, labels = make_texts(360, seed=3)
    random.Random(0).shuffle(labels)
    test_texts, test_labels = make_texts(120, seed=4)
    fitted = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(texts, labels)
    assert (fitted.predict(test_texts) == np.array(test_labels)).mean() < 0.5


def test_a_text_is_the_same_alone_in_a_batch_and_after_a_round_trip(
    classifier: ICapsClassifier, model_folder: object
) -> None:
    loaded = ICapsClassifier.load(model_folder, device="cpu")
    together = classifier.decision_function(HARD)
    np.testing.assert_allclose(loaded.decision_function(HARD), together, rtol=0, atol=1e-6)
    explained = list(classifier.explain(HARD))
    for n, text in enumerate(HARD):
        alone = classifier.decision_function([text])[0]
        np.testing.assert_allclose(alone, together[n], rtol=0, atol=1e-6)
        (explanation,) = classifier.explain([text])
        assert explanation.kgrams == pytest.approx(explained[n].kgrams) or [
            (k.start, k.end, k.capsule) for k in explanation.kgrams
        ] == [(k.start, k.end, k.capsule) for k in explained[n].kgrams]


def test_batches_are_bounded_by_words(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, _ = make_texts(30, seed=5)
    whole = classifier.decision_function(texts)
    monkeypatch.setattr(inference, "BATCH_WORDS", 20)
    np.testing.assert_allclose(classifier.decision_function(texts), whole, rtol=0, atol=1e-6)


@pytest.mark.parametrize("text", HARD, ids=range(len(HARD)))
def test_hard_texts(classifier: ICapsClassifier, text: str) -> None:
    (explanation,) = classifier.explain([text])
    assert explanation.text == text
    assert all(np.isfinite(explanation.scores))
    assert sum(explanation.probabilities) == pytest.approx(1)
    for kgram in explanation.kgrams:
        assert kgram.text == text[kgram.start : kgram.end] != ""
    for word in explanation.words:
        assert word.count == sum(
            kgram.start <= word.start and word.end <= kgram.end for kgram in explanation.kgrams
        )
    back = json.loads(json.dumps(explanation.to_dict()))
    assert back["text"] == text
    assert back["scores"] == dict(zip(explanation.classes, explanation.scores, strict=True))
    html = explanation.to_html()
    html.encode()
    assert "<script" not in html
    assert explanation.to_text()


@pytest.mark.parametrize("text", ["", "   ", "zzz qqq xxx", "?! --"])
def test_a_text_without_a_known_word_is_uniform_and_flagged(
    classifier: ICapsClassifier, text: str
) -> None:
    (explanation,) = classifier.explain([text])
    assert explanation.blank
    assert explanation.scores == (0, 0, 0)
    assert explanation.probabilities == pytest.approx([1 / 3] * 3)
    assert explanation.kgrams == ()
    assert explanation.predicted == "Cooking" == classifier.predict([text])[0]


def test_truncation_and_unknown_words_are_reported(classifier: ICapsClassifier) -> None:
    (long,) = classifier.explain(["bread " * 60])
    assert long.truncated
    assert len(long.words) == 50
    (short,) = classifier.explain(["bread zzz soup zzz"])
    assert not short.truncated
    assert short.unknown_share == 0.5


def test_another_class_can_be_explained(classifier: ICapsClassifier) -> None:
    (explanation,) = classifier.explain(["bread soup oven sail"], target="Sailing")
    assert (explanation.predicted, explanation.target) == ("Cooking", "Sailing")
    assert explanation.margin < 0
    with pytest.raises(ConfigError, match="no class 'Chess'; choose Cooking, Gardens, Sailing"):
        list(classifier.explain(["bread"], target="Chess"))


def test_probabilities_keep_the_order_of_the_norms(classifier: ICapsClassifier) -> None:
    texts, _ = make_texts(60, seed=6)
    norms, probabilities = classifier.decision_function(texts), classifier.predict_proba(texts)
    assert (norms.argsort(1) == probabilities.argsort(1)).all()
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert classifier.class_norms([]).shape == (0, 3)


def test_two_classes_have_one_decision() -> None:
    texts, labels = make_texts(360, seed=10)
    binary = ["water" if label == "Sailing" else "land" for label in labels]
    fitted = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(texts, binary)
    norms = fitted.class_norms(texts)
    np.testing.assert_allclose(fitted.decision_function(texts), norms[:, 1] - norms[:, 0])
    assert roc_auc_score(binary, fitted.decision_function(texts)) > 0.9


def test_the_same_seed_gives_the_same_model() -> None:
    texts, labels = make_texts(90, seed=7)
    settings = TrainConfig(min_frequency=0, epochs=2, batch_size=16, seed=5)
    first, second = (
        ICapsClassifier(MODEL, settings, device="cpu").fit(texts, labels) for _ in range(2)
    )
    np.testing.assert_array_equal(first.decision_function(texts), second.decision_function(texts))


def test_it_works_with_scikit_learn_tools() -> None:
    texts, labels = make_texts(90, seed=8)
    small = ICapsClassifier(MODEL, TrainConfig(min_frequency=0, epochs=1), device="cpu")
    assert clone(small).get_params() == small.get_params()
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    assert len(cross_val_score(make_pipeline(lower, small), texts, labels, cv=2)) == 2
    search = GridSearchCV(small, {"train__learning_rate": [1e-6, 0.02]}, cv=2)
    search.fit(texts, labels)
    assert set(search.best_params_) == {"train__learning_rate"}
    with pytest.raises(ValueError, match="no parameter 'train__colour'"):
        small.set_params(train__colour=1)


SMALL = {"fixed_dim": 4, "trained_dim": 4, "region_dim": 32, "query_dim": 8, "class_dim": 4}


@pytest.mark.parametrize(
    ("model", "train"),
    [
        (None, None),
        (SMALL, {"epochs": 2}),
        (dataclasses.replace(MODEL, **SMALL), TrainConfig(epochs=2)),
        (SMALL, TrainConfig(epochs=2)),
    ],
)
def test_settings_in_each_form_are_parameters(model: Any, train: Any) -> None:
    classifier = ICapsClassifier(model, train, device="cpu")
    copy = clone(classifier)
    assert copy.get_params() == classifier.get_params()
    assert (copy.model, copy.train) == (model, train)
    before = classifier.get_params()
    assert copy.set_params(train__epochs=3, model__dropout=np.float64(0.25)) is copy
    assert copy.get_params()["train__epochs"] == 3
    assert copy.get_params()["model__dropout"] == 0.25
    assert type(copy.train) is type({} if train is None else train)
    assert classifier.get_params() == before  # the original is not changed
    assert clone(copy).set_params(**copy.get_params()).get_params() == copy.get_params()
    with pytest.raises(ConfigError, match="epochs is 0"):
        copy.set_params(train__epochs=0)
    with pytest.raises(ValueError, match="no parameter 'train__colour'"):
        copy.set_params(train__colour=1)
    assert copy.set_params(model=None, train=None).get_params()["train"] is None


def test_a_grid_search_over_single_settings_of_the_recipe() -> None:
    texts, labels = make_texts(90, seed=8)
    classifier = ICapsClassifier(SMALL, {"epochs": 1}, device="cpu")
    search = GridSearchCV(classifier, {"train__learning_rate": np.array([1e-6, 0.02])}, cv=2)
    search.fit(texts, labels)
    best = search.best_estimator_
    assert best.train.keys() == {"epochs", "learning_rate"}
    assert best.train_config_.learning_rate == search.best_params_["train__learning_rate"]
    assert best.train_config_.batch_size == 16  # by the recipe
    assert classifier.train == {"epochs": 1}


def test_all_by_the_recipe(tmp_path: Path) -> None:
    texts, labels = make_texts(60, seed=8)
    fitted = ICapsClassifier(device="cpu").set_params(train__epochs=1).fit(texts, labels)
    assert fitted.model is None
    assert fitted.network_.config.max_words != MODEL.max_words
    fitted.save(tmp_path / "model")
    loaded = ICapsClassifier.load(tmp_path / "model", device="cpu")
    assert loaded.train == loaded.train_config_ == fitted.train_config_
    assert loaded.model == fitted.network_.config


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("one text", ["a"], "Give a list of texts"),
        (["a", "b"], ["x"], "2 texts have 1 labels"),
        (["a", 3], ["x", "y"], "Text 1 is int, not a string"),
        (["a", "b", "c"], ["x", "x", "x"], "one class; a classifier needs two"),
        (["a", "b", "c"], ["x", "x", "y"], "at least two texts per class"),
        ([], [], "needs two"),
    ],
)
def test_bad_data_says_what_to_do(texts: object, labels: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ICapsClassifier(MODEL, TRAIN).fit(texts, labels)


def test_an_unfitted_classifier_raises() -> None:
    with pytest.raises(NotFittedError, match="call fit, or load"):
        ICapsClassifier().predict(["a"])
    assert issubclass(NotFittedError, ICapsError)
    assert issubclass(NotFittedError, sklearn.exceptions.NotFittedError)


def test_integer_labels_come_back_as_given() -> None:
    texts, labels = make_texts(90, seed=9)
    numbers = [list(dict.fromkeys(labels)).index(label) for label in labels]
    fitted = ICapsClassifier(MODEL, TrainConfig(min_frequency=0, epochs=1), device="cpu").fit(
        texts, numbers
    )
    assert fitted.predict(texts[:5]).dtype.kind == "i"


def test_vector_files_are_named_without_their_folder(tmp_path: Path) -> None:
    words = " ".join(TOPICS.values()).split()
    lines = "\n".join(f"{word} {n / 7:.3f} {n % 5 - 2} 0.5" for n, word in enumerate(words))
    (tmp_path / "mine.txt").write_text(f"{len(words)} 3\n{lines}\n", encoding="utf-8")
    texts, labels = make_texts(60, seed=1)
    settings = dataclasses.replace(TRAIN, epochs=1)
    fitted = ICapsClassifier(MODEL, settings, tmp_path / "mine.txt", "cpu").fit(texts, labels)
    assert fitted.metrics_["vectors"] == "mine.txt"
    assert fitted.network_.config.fixed_dim == 3
    assert 0.3 < fitted.metrics_["vector_coverage"] < 1


def test_vectors_of_several_sources_are_concatenated(tmp_path: Path) -> None:
    words = TOPICS["Cooking"].split()
    lines = "\n".join(f"{word} {n + 1} -2" for n, word in enumerate(words))
    (tmp_path / "mine.txt").write_text(f"{len(words)} 2\n{lines}\n", encoding="utf-8")
    texts, labels = make_texts(60, seed=1)
    settings = dataclasses.replace(TRAIN, epochs=1)
    sources = (tmp_path / "mine.txt", "texts")
    both = ICapsClassifier(MODEL, settings, sources, "cpu").fit(texts, labels)
    own = ICapsClassifier(MODEL, settings, "texts", "cpu").fit(texts, labels)
    assert both.metrics_["vectors"] == "mine.txt + the training texts"
    assert both.network_.config.fixed_dim == 2 + MODEL.fixed_dim
    fixed = both.network_.fixed_embedding
    torch.testing.assert_close(fixed[:, 2:], own.network_.fixed_embedding)
    oven, old = (both.vocabulary_.id(word) for word in ("oven", "old"))
    assert fixed[oven, 1] / fixed[oven, 0] == pytest.approx(-2, abs=1e-2)
    assert fixed[old, :2].tolist() == [0, 0]  # the file lacks it
    assert both.metrics_["vector_coverage"] == 1
    assert ICapsClassifier(MODEL, settings).fit(texts, labels).metrics_["vectors"] == (
        "the training texts"
    )


class Lines(Callback):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_log(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.usefixtures("default_sources")
def test_by_default_words_that_training_never_saw_have_english_vectors() -> None:
    texts, labels = make_texts(60, seed=1)
    log = Lines()
    settings = dataclasses.replace(TRAIN, epochs=1)
    fitted = ICapsClassifier(MODEL, settings, callbacks=[log]).fit(texts, labels)
    assert fitted.metrics_["vectors"] == "english"
    assert fitted.network_.config.fixed_dim == 300
    for word in ("casserole", "Casserole", "CASSEROLE", "goalkeeper", "n't"):
        assert word not in " ".join(texts)
        assert fitted.vocabulary_.id(word) > UNK
    assert fitted.vocabulary_.id("Kartoffelsuppe") == UNK
    assert not any("Is it English?" in line for line in log.lines)


@pytest.mark.usefixtures("default_sources")
def test_texts_of_another_language_are_noticed() -> None:
    texts = [
        "Der Hafen war am Morgen noch leer, aber gegen Mittag kamen die ersten Boote zurück.",
        "Wir haben uns sehr über den Besuch gefreut und möchten bald wiederkommen.",
        "Das Essen war leider kalt und der Kellner unfreundlich.",
        "Gestern hat es den ganzen Tag geregnet, deshalb blieben wir zu Hause.",
    ] * 5
    log = Lines()
    settings = dataclasses.replace(TRAIN, epochs=1)
    fitted = ICapsClassifier(MODEL, settings, callbacks=[log])
    fitted.fit(texts, ["a", "b", "a", "b"] * 5)
    assert fitted.metrics_["vectors"] == "english + the training texts"
    assert fitted.network_.config.fixed_dim == 300 + MODEL.fixed_dim
    (line,) = [line for line in log.lines if "Is it English?" in line]
    assert line.startswith("english: vectors for ")
    assert "--vectors FILE" in line


def test_passes_for_the_texts_own_vectors_are_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    from icaps.text import vectors

    seen, real = [], vectors.train_vectors

    def train_vectors(*args: Any, **options: Any) -> Any:
        seen.append(options["epochs"])
        return real(*args, **options)

    monkeypatch.setattr(vectors, "train_vectors", train_vectors)
    train = dataclasses.replace(TRAIN, epochs=1, vector_epochs=2)
    ICapsClassifier(MODEL, train, device="cpu").fit(*make_texts(60, seed=1))
    assert seen == [2]


@pytest.mark.parametrize("kind", [int, bool, np.int64, str])
def test_labels_stay_what_they_are(kind: Callable[[int], Any], tmp_path: Path) -> None:
    texts = [f"{'rain fell on hills' if n % 2 else 'dough must rest'} {n}" for n in range(24)]
    labels = [kind(n % 2) for n in range(24)]
    settings: dict[str, Any] = {"epochs": 1, "min_frequency": 0}
    fitted = ICapsClassifier(train=settings, vectors="texts").fit(texts, labels)
    fitted.save(tmp_path / "model")
    for classifier in (fitted, ICapsClassifier.load(tmp_path / "model")):
        assert classifier.classes_.tolist() == [kind(0), kind(1)]
        assert type(classifier.classes_.tolist()[1]) is type(np.array([kind(1)]).tolist()[0])
        assert classifier.score(texts, labels) == np.mean(classifier.predict(texts) == labels)
        assert classifier.score(texts, [n % 2 for n in range(24)]) == classifier.score(
            texts, labels
        )
        for target in (kind(1), 1):
            (explanation,) = classifier.explain(texts[:1], target=target)  # type: ignore[arg-type]
            assert explanation.target == str(classifier.classes_[1])
