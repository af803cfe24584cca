"""Snapshots after each epoch: the explanation of a text and the use of the capsules."""

import copy
import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig
from icaps.results import Explanation
from icaps.runs import snapshots
from icaps.runs.folder import SNAPSHOTS, RunFolder
from icaps.runs.snapshots import COUNTED, SnapshotWriter, snapshot
from icaps.text.sentences import encode
from icaps.train import loop
from icaps.train.callbacks import Callback, Validation
from icaps.train.dataset import Corpus
from icaps.train.loop import validate
from tests.conftest import MODEL, TRAIN, make_texts

TEXT = "We simmer the onion soup. It was old."
LONG = dataclasses.replace(MODEL, hierarchical=True, max_words=8, max_sentences=3)
HOSTILE = "<b>bread</b> & soup\0 \ud83d 👩🏽‍🍳\r\n\r\nline\u2028" + " butter" * 400


def validated(classifier: ICapsClassifier, texts: list[str]) -> Validation:
    encoded = encode(classifier.vocabulary_, texts, classifier.network_.config)
    return validate(classifier.network_, Corpus.from_tokens(encoded, [0] * len(texts)))


def counted(classifier: ICapsClassifier, texts: list[str]) -> list[list[int]]:
    """The matrix C by the explanations of the texts one by one."""
    names = list(classifier.classes_)
    counts = np.zeros((len(names), classifier.network_.config.num_capsules), int)
    for explanation in classifier.explain(texts, top_capsules=1, top_kgrams=1):
        if not explanation.blank:
            counts[names.index(explanation.predicted), explanation.capsules[0].capsule] += 1
    return counts.tolist()


@pytest.fixture(scope="module")
def long_classifier() -> ICapsClassifier:
    train = dataclasses.replace(TRAIN, epochs=2)
    return ICapsClassifier(LONG, train, device="cpu").fit(*documents(90, seed=1))


def documents(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Texts of several sentences, of one topic each."""
    texts, labels = make_texts(3 * count, seed)
    joined = [" ".join(texts[n::count]) for n in range(count)]
    return joined, labels[:count]


def flat(value: Any, place: str = "") -> dict[str, Any]:
    """The values of nested data by their places."""
    if not isinstance(value, (dict, list, tuple)):
        return {place: value}
    parts = value.items() if isinstance(value, dict) else enumerate(value)
    return {k: v for name, part in parts for k, v in flat(part, f"{place}.{name}").items()}


@pytest.mark.parametrize("kind", ["classifier", "long_classifier"])
def test_the_use_of_capsules_is_a_count_of_explanations(
    kind: str, request: pytest.FixtureRequest
) -> None:
    classifier: ICapsClassifier = request.getfixturevalue(kind)
    texts = make_texts(70, 5)[0] if kind == "classifier" else documents(40, 5)[0]
    texts += ["", "zzyzx zzyzx", "bread", "zzyzx bread"]  # two without a known word
    actual = snapshot(classifier, validated(classifier, texts), TEXT)
    assert actual["frequency"] == counted(classifier, texts)
    assert np.sum(actual["frequency"]) == len(texts) - 2
    assert actual["epoch"] == len(classifier.history_)
    assert actual["classes"] == ["Cooking", "Gardens", "Sailing"]
    (explanation,) = classifier.explain([TEXT])
    # Up to rounding: after so many texts the classifier uses its lookup table.
    assert flat(actual["explanation"]) == pytest.approx(flat(explanation.to_dict()), abs=1e-6)
    assert snapshot(classifier, validated(classifier, texts), "")["explanation"] is None


def test_the_account_of_the_text_is_exact_in_half_the_bytes(
    long_classifier: ICapsClassifier,
) -> None:
    (text,) = [" ".join(documents(10, 7)[0])]
    actual = snapshot(long_classifier, validated(long_classifier, ["bread"]), text)["explanation"]
    (explanation,) = long_classifier.explain([text])
    assert Explanation.from_dict(json.loads(json.dumps(actual))) == explanation
    for name in ("account", "capsule_account"):
        whole = json.dumps(explanation.to_dict()[name])
        assert len(json.dumps(actual[name])) < 0.65 * len(whole)


def test_a_snapshot_of_an_older_version_is_read(classifier: ICapsClassifier) -> None:
    """Without an account, and without shares of words, K-grams, sentences and capsules."""
    plain = next(classifier.explain([TEXT])).to_dict()
    for name in ("account", "capsule_account", "bias", "by_region"):
        del plain[name]
    for name in ("words", "kgrams", "capsules"):
        for part in plain[name]:
            del part["share"]
    old = Explanation.from_dict(json.loads(json.dumps(plain)))
    assert len(old.account.bias) == 0
    assert old.word_account() is None
    assert old.account_html() == old.shaded_html()
    assert "All together" not in old.to_text()
    assert "icaps-account" not in old.to_html().partition("</style>")[2]


def test_an_account_is_read_by_the_names_of_classes(classifier: ICapsClassifier) -> None:
    """JSON with sorted keys may have them in another order than the labels."""
    (explanation,) = classifier.explain([TEXT])
    renamed = dataclasses.replace(explanation, classes=("9", "10", "a"), predicted="9", target="10")
    again = Explanation.from_dict(json.loads(json.dumps(renamed.to_dict(), sort_keys=True)))
    assert again == renamed
    assert again.account.totals == pytest.approx(renamed.scores, abs=1e-5)


@pytest.mark.parametrize("lost", ["a class", "a word", "a word by capsule", "a bias"])
def test_a_damaged_account_is_refused(lost: str, classifier: ICapsClassifier) -> None:
    plain = next(classifier.explain([TEXT])).to_dict()
    columns = plain["account"]["Gardens"]
    if lost == "a class":
        del plain["account"]["Gardens"]
    elif lost == "a bias":
        del columns["bias"]
    elif lost == "a word":
        columns["shares"].pop()
    else:
        for column in plain["capsule_account"]:
            column["shares"].pop()
    with pytest.raises((KeyError, ValueError)):
        Explanation.from_dict(plain)


def test_the_first_texts_are_counted_in_batches(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = make_texts(50, 6)[0]
    validation = validated(classifier, texts)
    whole = snapshot(classifier, validation, "")
    monkeypatch.setattr(loop, "VALIDATION_BATCH", 7)
    assert snapshot(classifier, validated(classifier, texts), "") == whole
    monkeypatch.setattr(snapshots, "COUNTED", 10)
    assert snapshot(classifier, validation, "")["frequency"] == counted(classifier, texts[:10])
    assert COUNTED >= 1_000


def test_no_text_at_all(classifier: ICapsClassifier) -> None:
    actual = snapshot(classifier, validated(classifier, ["zzyzx"]), "")
    assert np.sum(actual["frequency"]) == 0


@pytest.mark.parametrize("text", [TEXT, "", "zzyzx", HOSTILE, "bread"])
@pytest.mark.parametrize("kind", ["classifier", "long_classifier"])
@pytest.mark.parametrize("tops", [{}, {"top_capsules": 5, "top_kgrams": 3, "top_sentences": 2}])
def test_an_explanation_comes_back_from_json(
    text: str, kind: str, tops: dict[str, int], request: pytest.FixtureRequest
) -> None:
    (explanation,) = request.getfixturevalue(kind).explain([text], **tops)
    line = json.dumps(explanation.to_dict())
    again = Explanation.from_dict(json.loads(line))
    assert again == explanation
    assert hash(again) == hash(explanation)  # all of it frozen, as it was
    assert again.to_html() == explanation.to_html()
    assert again.to_text() == explanation.to_text()


def test_named_capsules_and_another_target_come_back(classifier: ICapsClassifier) -> None:
    named = copy.copy(classifier)
    named.capsule_names_ = {n: f"<i>{n}</i>" for n in range(6)}
    (explanation,) = named.explain([TEXT], target="Sailing")
    again = Explanation.from_dict(json.loads(json.dumps(explanation.to_dict())))
    assert again == explanation
    assert again.capsules[0].name.startswith("<i>")


@pytest.mark.parametrize("lost", ["classes", "kgrams", "words", "scores", "target"])
def test_an_incomplete_explanation_is_refused(lost: str, classifier: ICapsClassifier) -> None:
    (explanation,) = classifier.explain([TEXT])
    plain = explanation.to_dict()
    del plain[lost]
    with pytest.raises((KeyError, TypeError)):
        Explanation.from_dict(plain)


def under_training(classifier: ICapsClassifier, best: int, epoch: int) -> ICapsClassifier:
    """As `fit` passes it to `on_validation`."""
    now = copy.copy(classifier)
    now.metrics_ = {**classifier.metrics_, "best_epoch": best}
    now.history_ = [{"epoch": n, "loss": 0.1} for n in range(1, epoch + 1)]
    return now


def test_the_best_model_so_far_is_saved(classifier: ICapsClassifier, tmp_path: Path) -> None:
    """Epochs 1 and 3 are the best so far, 2 and 4 are not."""
    folder = RunFolder(tmp_path)
    writer = SnapshotWriter(folder, TEXT, resume=False)
    validation = validated(classifier, make_texts(9, 2)[0])
    saved = []
    for epoch, best in ((1, 1), (2, 1), (3, 3), (4, 3)):
        writer.on_validation(under_training(classifier, best, epoch), validation)
        saved.append(len(ICapsClassifier.load(tmp_path).history_))
    assert saved == [1, 1, 3, 3]
    lines = folder.records(SNAPSHOTS)
    assert [line["epoch"] for line in lines] == [1, 2, 3, 4]
    (explanation,) = classifier.explain([TEXT])
    assert Explanation.from_dict(lines[-1]["explanation"]) == explanation


def test_a_model_of_another_training_is_not_replaced(
    classifier: ICapsClassifier, model_folder: Path, tmp_path: Path
) -> None:
    place = tmp_path / "run"
    classifier.save(place)
    before = {file.name: file.read_bytes() for file in place.iterdir()}
    validation = validated(classifier, make_texts(9, 2)[0])
    writer = SnapshotWriter(RunFolder(place), "", resume=False)
    for epoch in (1, 2):
        writer.on_validation(under_training(classifier, epoch, epoch), validation)
    after = {file.name: file.read_bytes() for file in place.iterdir()}
    assert {name: after[name] for name in before} == before
    assert after.keys() - before.keys() == {SNAPSHOTS}
    writer = SnapshotWriter(RunFolder(place), "", resume=True)  # then it is this training's own
    writer.on_validation(under_training(classifier, 3, 3), validation)
    assert len(ICapsClassifier.load(place).history_) == 3


EPOCHS = 3


class Watcher(Callback):
    """Copies what `on_validation` is passed."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_validation(self, classifier: ICapsClassifier, validation: Validation) -> None:
        assert not classifier.network_.training
        self.seen.append(
            {
                "weights": {k: v.clone() for k, v in classifier.network_.state_dict().items()},
                "history": copy.deepcopy(classifier.history_),
                "best": classifier.metrics_["best_epoch"],
                "accuracy": classifier.metrics_["validation_accuracy"],
                "texts": len(validation.corpus),
                "norms": classifier.class_norms([TEXT]),
            }
        )
        torch.rand(5)  # what it does with random numbers is not the training's concern
        torch.manual_seed(99)
        np.random.default_rng().random()
        next(classifier.explain([TEXT]))


@pytest.mark.parametrize("model", [MODEL, LONG], ids=["short", "long"])
def test_on_validation_is_called_each_epoch_and_changes_nothing(model: ModelConfig) -> None:
    train = dataclasses.replace(TRAIN, epochs=EPOCHS, patience=EPOCHS)
    data = make_texts(90, 1) if model is MODEL else documents(60, 1)
    watcher = Watcher()
    watched = ICapsClassifier(model, train, device="cpu", callbacks=[watcher]).fit(*data)
    alone = ICapsClassifier(model, train, device="cpu").fit(*data)
    weights, expected = watched.network_.state_dict(), alone.network_.state_dict()
    assert weights.keys() == expected.keys()
    assert all(torch.equal(weights[name], expected[name]) for name in expected)
    assert watched.inverse_temperature_ == alone.inverse_temperature_
    losses = [record["loss"] for record in alone.history_]
    assert [record["loss"] for record in watched.history_] == losses

    assert len(watcher.seen) == EPOCHS
    for epoch, seen in enumerate(watcher.seen, 1):
        assert [record["epoch"] for record in seen["history"]] == list(range(1, epoch + 1))
        assert seen["accuracy"] == seen["history"][-1]["validation_accuracy"]
        accuracies = [record["validation_accuracy"] for record in seen["history"]]
        assert seen["best"] == accuracies.index(max(accuracies)) + 1
        assert seen["texts"] == watched.metrics_["validation_texts"]
    best = watcher.seen[watched.metrics_["best_epoch"] - 1]
    assert all(torch.equal(best["weights"][name], weights[name]) for name in weights)
    assert best["norms"].tolist() == watched.class_norms([TEXT]).tolist()
    moved = [
        not torch.equal(one["weights"]["capsules.capsule_weight"], two["weights"][name])
        for one, two in zip(watcher.seen, watcher.seen[1:], strict=False)
        for name in ("capsules.capsule_weight",)
    ]
    assert all(moved)  # the weights are those of each epoch


def test_a_failing_callback_ends_the_training() -> None:
    class Failing(Callback):
        def on_validation(self, model: object, validation: Validation) -> None:
            raise OSError("the disk is full")

    train = dataclasses.replace(TRAIN, epochs=2)
    with pytest.raises(OSError, match="full"):
        ICapsClassifier(MODEL, train, device="cpu", callbacks=[Failing()]).fit(*make_texts(30, 1))


def test_callbacks_are_a_parameter_like_others() -> None:
    watcher = Watcher()
    classifier = ICapsClassifier(MODEL, callbacks=[watcher])
    assert classifier.get_params()["callbacks"] == [watcher]
    assert classifier.set_params(callbacks=()).callbacks == ()
    assert set(classifier.get_params(deep=False)) == {
        "model",
        "train",
        "vectors",
        "device",
        "callbacks",
    }
