"""Training with several labels per text: labels as numbers, splits, loop, checkpoint, estimator."""

import dataclasses
import json
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch
from safetensors.torch import load_file
from sklearn.metrics import accuracy_score, f1_score
from sklearn.model_selection import cross_val_score
from sklearn.preprocessing import MultiLabelBinarizer

from icaps.classifier import ICapsClassifier
from icaps.config import TrainConfig
from icaps.data.label_sets import format_label_set
from icaps.errors import CheckpointError, DataError
from icaps.nn import distributed
from icaps.results import Explanation
from icaps.stats import macro_f1_of_sets
from icaps.train.callbacks import Callback, Epoch, Validation
from icaps.train.checkpoint import save_checkpoint
from icaps.train.dataset import Corpus, prepare_stream, prepare_texts
from icaps.train.fit import fit_checkpoint
from icaps.train.labels import (
    encode_label_sets,
    has_label_sets,
    indicator_matrix,
    number_labels,
    read_labels,
)
from icaps.train.loop import backward, loss_weights
from icaps.train.result_warnings import sets_above_chance
from icaps.train.split import split, split_as
from icaps.train.text_hashes import TextHashes, hash_texts
from tests.conftest import COMMON, MODEL, TOPICS, TRAIN
from tests.tokens import batch_of

NAMES = sorted(TOPICS)
CONFIG = dataclasses.replace(TRAIN, loss="cross_entropy", epochs=6)


class Row(NamedTuple):
    text: str
    label: str


def make_sets(count: int, seed: int) -> tuple[list[str], list[list[str]]]:
    """`count` short texts with words of no topic, of one, two or three."""
    rng = random.Random(seed)
    texts, sets = [], []
    for n in range(count):
        names = rng.sample(NAMES, (0, 1, 1, 2, 2, 3)[n % 6])
        words = rng.choices(COMMON, k=rng.randint(3, 9))
        for name in names:
            words += rng.choices(TOPICS[name].split(), k=3)
        rng.shuffle(words)
        texts.append(" ".join(words).capitalize() + ".")
        sets.append(names)
    return texts, sets


def rows_of(texts: Sequence[str], sets: Sequence[Sequence[str]]) -> list[Row]:
    return [Row(text, format_label_set(names)) for text, names in zip(texts, sets, strict=True)]


@pytest.fixture(scope="module")
def several() -> ICapsClassifier:
    config = dataclasses.replace(CONFIG, epochs=8)
    return ICapsClassifier(MODEL, config, device="cpu").fit(*make_sets(600, 1))


def test_it_learns_to_give_no_label_one_or_several(several: ICapsClassifier) -> None:
    texts, sets = make_sets(120, 2)
    predicted = several.predict(texts)
    wanted = MultiLabelBinarizer(classes=NAMES).fit_transform(sets)
    assert predicted.dtype == np.int64
    assert predicted.shape == (120, 3)
    assert f1_score(wanted, predicted, average="macro") > 0.95
    assert set(predicted.sum(1)) == {0, 1, 2, 3}
    assert several.score(texts, sets) == accuracy_score(wanted, predicted)
    assert several.score(texts, wanted) == several.score(texts, sets)
    names = several.predict_labels(texts)
    assert names == [tuple(np.array(NAMES)[row > 0]) for row in predicted]


def test_probabilities_are_of_each_class_by_itself(several: ICapsClassifier) -> None:
    texts, sets = make_sets(600, 3)
    probabilities = several.predict_proba(texts)
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert abs(probabilities.sum(1) - 1).max() > 0.5
    thresholds = several.thresholds_
    assert thresholds is not None
    assert np.array_equal(several.predict(texts), probabilities >= thresholds)
    shares = several.indicator(sets).mean(0)
    np.testing.assert_allclose(probabilities.mean(0), shares, atol=0.05)
    assert several.decision_function(texts).shape == (600, 3)


def test_texts_without_a_known_word_have_no_label(several: ICapsClassifier) -> None:
    texts = ["", "qqqq zzzz"]
    assert several.predict(texts).tolist() == [[0, 0, 0]] * 2
    assert several.predict_labels(texts) == [(), ()]
    assert [e.predicted_classes for e in several.explain(texts)] == [(), ()]


def test_each_class_of_a_text_has_an_account_that_adds_up(several: ICapsClassifier) -> None:
    texts, sets = make_sets(60, 17)
    pairs = zip(texts, sets, several.predict_labels(texts), strict=True)
    text, names = next(
        (text, names) for text, names, labels in pairs if len(names) == 2 and labels == (*names,)
    )
    (first,) = several.explain([text])
    assert set(first.predicted_classes or ()) == set(names)
    assert first.predicted == (first.predicted_classes or ("",))[0]
    for name in names:
        (explanation,) = several.explain([text], target=name)
        total = sum(word.share for word in explanation.words) + explanation.bias
        assert total == pytest.approx(explanation.score, abs=1e-5)
        assert explanation.target == name
    np.testing.assert_allclose(first.account.totals, first.scores, atol=1e-5)
    facts = json.loads(json.dumps(first.to_dict()))
    assert facts["predicted"] == list(first.predicted_classes or ())
    assert Explanation.from_dict(facts) == first


def test_forms_of_labels_give_the_same_model() -> None:
    texts, sets = make_sets(120, 4)
    config = dataclasses.replace(CONFIG, epochs=1)
    binarizer = MultiLabelBinarizer()
    matrix = binarizer.fit_transform(sets)
    forms = [
        sets,
        [set(names) for names in sets],
        [tuple(names) for names in sets],
        [format_label_set(names) for names in sets],
        pd.Series(sets),
        matrix,
        sp.csr_matrix(matrix),
        matrix.astype(bool),
        pd.DataFrame(matrix, columns=NAMES),
        matrix.tolist(),
    ]
    models = [ICapsClassifier(MODEL, config, device="cpu").fit(texts, form) for form in forms]
    streamed = ICapsClassifier(MODEL, config, device="cpu").fit_stream(rows_of(texts, sets))
    for n, model in enumerate([*models, streamed]):
        expected = [0, 1, 2] if 5 <= n < len(models) else NAMES
        assert model.classes_.tolist() == expected
        assert np.array_equal(model.class_norms(texts), models[0].class_norms(texts))
        assert np.array_equal(model.predict(texts), models[0].predict(texts))
    predicted = models[5].predict(texts)
    named = binarizer.inverse_transform(predicted)
    assert named == models[0].predict_labels(texts)
    assert binarizer.inverse_transform(models[0].predict(texts)) == named


def test_it_is_validated_by_scikit_learn() -> None:
    texts, sets = make_sets(180, 6)
    matrix = MultiLabelBinarizer().fit_transform(sets)
    classifier = ICapsClassifier(MODEL, CONFIG, device="cpu")
    scores = cross_val_score(classifier, np.array(texts), matrix, cv=2, scoring="f1_macro")
    assert scores.min() > 0.6


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["a", "b"], False),
        ([1, 0], False),
        (np.array([1, 0]), False),
        (np.array([[1], [0]]), False),
        (np.array([[1, 0], [0, 1]]), True),
        (np.array(["a", "b"], dtype=object), False),
        ([["a"], ["b"]], True),
        ([[], []], True),
        ([{"a"}, ("b", "c")], True),
        (['["a"]', "[]"], True),
        (['["a"]', "b"], False),
        (None, False),
    ],
    ids=str,
)
def test_which_labels_are_several(labels: object, expected: bool) -> None:
    assert has_label_sets(labels) == expected


def test_labels_that_cannot_be_used() -> None:
    with pytest.raises(DataError, match="other values than 0 and 1"):
        encode_label_sets(["x", "y"], np.array([[0, 2], [1, 0]]))
    with pytest.raises(DataError, match="2 texts have 1 sets"):
        encode_label_sets(["x", "y"], [["a", "b"]])
    with pytest.raises(DataError, match="no class"):
        encode_label_sets(["x", "y"], [[], []])
    with pytest.raises(DataError, match="name 1 class"):
        encode_label_sets(["x", "y"], [["a"], ["a"]])
    with pytest.raises(DataError, match="mix text"):
        encode_label_sets(["x", "y"], [["a"], [1]])
    with pytest.raises(DataError, match="'c' is none of the classes: a, b"):
        indicator_matrix([["c"]], ["a", "b"])
    with pytest.raises(DataError, match="3 columns for 2 classes"):
        indicator_matrix(np.ones((1, 3)), ["a", "b"])
    with pytest.raises(DataError, match="needs one label per text"):
        read_labels(rows_of(["x", "y"], [["a"], ["b"]]))
    with pytest.raises(DataError, match="several labels per text"):
        ICapsClassifier(MODEL, CONFIG).fit(*make_sets(30, 1), unlabelled=["some text"])


def test_labels_as_numbers() -> None:
    sets = [["b", "a"], [], ["c"], ["a", "b"], ["c", "a"]]
    (classes, labels, label_sets), _ = number_labels(rows_of(["x"] * 5, sets))
    assert label_sets is not None
    assert classes.tolist() == ["a", "b", "c"]
    rows = label_sets[labels].tolist()
    assert rows == [[True, True, False], [False] * 3, [False, False, True]] + [
        [True, True, False],
        [True, False, True],
    ]
    corpus = Corpus.from_tokens(batch_of([[[2]]] * 5), labels.tolist(), label_sets)
    assert corpus.targets.dtype == np.float32
    assert corpus.targets.tolist() == np.array(rows, float).tolist()
    assert corpus.class_counts(3).tolist() == [3, 2, 2]
    assert corpus.select(np.array([4, 1])).class_counts(3).tolist() == [1, 0, 1]
    one_label = Corpus.from_tokens(batch_of([[[2]]] * 3), [0, 2, 2])
    assert one_label.targets.tolist() == [0, 2, 2]
    assert one_label.class_counts(4).tolist() == [1, 0, 2, 0]


def test_memory_and_stream_have_the_same_data() -> None:
    texts, sets = make_sets(90, 5)
    classes, labels, label_sets = encode_label_sets(texts, sets)
    memory = prepare_texts(texts, classes, labels, MODEL, CONFIG, label_sets=label_sets)
    stream = prepare_stream(rows_of(texts, sets), MODEL, CONFIG)
    assert memory.multilabel
    assert stream.multilabel
    assert memory.content == stream.content
    for one, other in ((memory.training, stream.training), (memory.validation, stream.validation)):
        assert np.array_equal(one.targets, other.targets)
        assert np.array_equal(one.tokens().ids, other.tokens().ids)
    changed = prepare_stream(rows_of(texts, [[], *sets[1:]]), MODEL, CONFIG)
    assert changed.content != stream.content or not sets[0]


def test_a_split_has_each_class_in_both_parts() -> None:
    """Rare classes beside frequent ones, a class of one text, and texts without a label."""
    random_ = np.random.default_rng(0)
    rows = random_.random((400, 5)) < [0.6, 0.3, 0.1, 0.02, 0.0]
    rows[7] = [True, False, False, False, True]
    rows[:20] &= [False, False, False, False, True]
    label_sets, labels = np.unique(rows, axis=0, return_inverse=True)
    training, validation = split(labels.ravel(), 5, TrainConfig(), label_sets)
    assert sorted([*training, *validation]) == list(range(400))
    assert len(validation) == 40
    assert 7 in training
    counts = rows[validation].sum(0)
    assert (counts[:4] > 0).all()
    share = counts / np.maximum(rows.sum(0), 1)
    np.testing.assert_allclose(share[:3], 0.1, atol=0.04)
    assert (~rows[validation].any(1)).sum() >= 1


def test_too_few_texts_for_a_split() -> None:
    with pytest.raises(DataError, match="Give at least two texts per class"):
        ICapsClassifier(MODEL, CONFIG).fit(["x y", "y z"], [["a"], ["b"]])


def test_a_class_that_only_the_held_out_part_has(tmp_path: Path) -> None:
    """No training text has it; the model is complete none the less."""
    texts, sets = make_sets(240, 7)
    sets = [[*names, "rare"] if n % 60 == 0 else names for n, names in enumerate(sets)]
    classes, labels, label_sets = encode_label_sets(texts, sets)
    data = prepare_texts(texts, classes, labels, MODEL, CONFIG, label_sets=label_sets)
    assert label_sets is not None
    has = label_sets[labels][:, 3]
    training, held_out = np.flatnonzero(~has)[:180], np.flatnonzero(has)
    validation = np.concatenate([held_out, np.flatnonzero(~has)[180:]])

    whole = data.training.select_all()
    data = dataclasses.replace(
        data, training=whole.select(training), validation=whole.select(validation)
    )
    checkpoint = fit_checkpoint(data, MODEL, CONFIG, vectors="texts", device="cpu")
    thresholds = checkpoint.network.thresholds
    assert thresholds is not None
    assert (thresholds.slopes > 0).all()
    assert checkpoint.metrics["training_classes"]["rare"] == 0
    save_checkpoint(checkpoint, tmp_path / "model")
    loaded = ICapsClassifier.load(tmp_path / "model")
    assert set(loaded.predict_labels(texts)[0]) <= {*NAMES, "rare"}


def test_a_held_out_part_is_held_out_again_if_the_rest_has_all_classes() -> None:
    texts, sets = make_sets(60, 8)
    _, labels, label_sets = encode_label_sets(texts, sets)
    hashes = hash_texts(texts)
    held = TextHashes.of(hashes, np.arange(12, 60), np.arange(12))
    training, validation = split_as(held, hashes, labels, 3, CONFIG, label_sets)
    assert validation.tolist() == list(range(12))
    assert len(training) == 48
    assert label_sets is not None
    without = np.flatnonzero(~label_sets[labels][:, 0])
    held = TextHashes.of(hashes, without, np.flatnonzero(label_sets[labels][:, 0]))
    again = split_as(held, hashes, labels, 3, CONFIG, label_sets)
    for part, other in zip(again, split(labels, 3, CONFIG, label_sets), strict=True):
        assert np.array_equal(part, other)


def test_the_checkpoint(several: ICapsClassifier, tmp_path: Path) -> None:
    texts, _ = make_sets(60, 9)
    several.save(tmp_path / "model")
    loaded = ICapsClassifier.load(tmp_path / "model")
    assert loaded.multilabel_
    assert loaded.classes_.tolist() == NAMES
    probabilities = several.predict_proba(texts)
    np.testing.assert_allclose(loaded.predict_proba(texts), probabilities, atol=1e-5)
    assert np.array_equal(loaded.predict(texts), several.predict(texts))
    config = json.loads((tmp_path / "model" / "config.json").read_text())
    assert config["format_version"] == 4
    loaded.save(tmp_path / "again")
    for name in ("config.json", "model.safetensors", "metrics.json"):
        files = [(tmp_path / folder / name).read_bytes() for folder in ("model", "again")]
        assert files[0] == files[1]
    config["multilabel"]["slopes"][0] = -1.0
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="a slope is not above 0"):
        ICapsClassifier.load(tmp_path / "model")
    del config["multilabel"]
    (tmp_path / "model" / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="damaged"):
        ICapsClassifier.load(tmp_path / "model")


def test_independent_routing_is_stored(tmp_path: Path) -> None:
    texts, sets = make_sets(120, 10)
    model = dataclasses.replace(MODEL, routing="independent")
    classifier = ICapsClassifier(model, CONFIG, device="cpu").fit(texts, sets)
    classifier.save(tmp_path)
    loaded = ICapsClassifier.load(tmp_path)
    assert loaded.network_.config.routing == "independent"
    np.testing.assert_allclose(loaded.class_norms(texts), classifier.class_norms(texts), atol=1e-6)


def test_a_model_of_one_label_is_stored_as_before(model_folder: Path) -> None:
    config = json.loads((model_folder / "config.json").read_text())
    assert config["format_version"] == 3
    assert "routing" not in config["model"]
    assert "multilabel" not in config
    loaded = ICapsClassifier.load(model_folder)
    assert not loaded.multilabel_
    assert loaded.thresholds_ is None
    (labels,) = loaded.predict_labels(["Onion soup and garlic bread."])
    assert labels == ("Cooking",)


class Recorder(Callback):
    def __init__(self, stops_after: int = 0) -> None:
        self.stops_after = stops_after
        self.epochs: list[Epoch] = []
        self.scores: list[tuple[float, float]] = []

    def on_validation(self, model: ICapsClassifier, validation: Validation) -> None:
        texts = validation.predicted_sets()
        truth = validation.corpus.targets > 0
        assert model.multilabel_
        norms = validation.class_norms.numpy()
        assert model.network_.thresholds is not None
        assert np.array_equal(model.network_.thresholds.predicted(norms), texts)
        self.scores.append((accuracy_score(truth, texts), f1_score(truth, texts, average="macro")))

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)
        if epoch.epoch == self.stops_after:
            signal.raise_signal(signal.SIGINT)


def test_epochs_are_scored_by_sets_and_a_stopped_training_resumes(tmp_path: Path) -> None:
    data = rows_of(*make_sets(150, 11))
    whole = Recorder()
    expected = ICapsClassifier(MODEL, CONFIG, device="cpu", callbacks=[whole]).fit_stream(data)
    for epoch, (exact, macro) in zip(whole.epochs, whole.scores, strict=True):
        assert epoch.validation_accuracy == pytest.approx(exact)
        assert epoch.validation_macro_f1 == pytest.approx(macro)
    stopped = ICapsClassifier(MODEL, CONFIG, device="cpu", callbacks=[Recorder(2)])
    assert stopped.fit_stream(data, state_folder=tmp_path).interrupted_
    resumed = ICapsClassifier(MODEL, CONFIG, device="cpu")
    resumed.fit_stream(data, state_folder=tmp_path, resume=True)
    texts, _ = make_sets(60, 12)
    assert np.array_equal(resumed.predict_proba(texts), expected.predict_proba(texts))
    other = rows_of(*make_sets(150, 13))
    with pytest.raises(CheckpointError, match="other data"):
        ICapsClassifier(MODEL, CONFIG).fit_stream(other, state_folder=tmp_path, resume=True)


def test_balanced_weights_count_a_rare_class_more_in_its_own_texts() -> None:
    class_weights = torch.tensor([1.0, 4.0])
    targets = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    weights = loss_weights(class_weights, targets)
    assert weights is not None
    assert weights.tolist() == [[1.0, 4.0], [1.0, 1.0], [1.0, 1.0]]
    texts, sets = make_sets(90, 14)
    config = dataclasses.replace(CONFIG, class_weight="balanced", epochs=1)
    ICapsClassifier(MODEL, config, device="cpu").fit(texts, sets)


def test_shares_of_processes_add_up_to_the_whole_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loss and the gradient of two shares of a batch are those of the batch."""
    texts, sets = make_sets(30, 15)
    classes, labels, label_sets = encode_label_sets(texts, sets)
    model = dataclasses.replace(MODEL, embedding_dropout=0.0, dropout=0.0, word_dropout=0.0)
    config = dataclasses.replace(CONFIG, loss="margin")
    data = prepare_texts(texts, classes, labels, model, config, label_sets=label_sets)
    batch = data.training.select(np.arange(11))
    weights = torch.tensor([1.0, 2.0, 0.5])
    from icaps.model import ICapsNet

    torch.manual_seed(0)
    network = ICapsNet(model, data.vocabulary.trained_words, 3).double()

    def gradients(shares: list[slice]) -> tuple[float, list[torch.Tensor]]:
        network.zero_grad()
        loss = 0.0
        for share in shares:
            monkeypatch.setattr(distributed, "share", lambda share=share: share)
            loss += backward(network, batch, config, weights)
        return loss, [p.grad.clone() for p in network.parameters() if p.grad is not None]

    whole, one = gradients([slice(None)])
    parts, other = gradients([slice(0, None, 2), slice(1, None, 2)])
    assert parts == pytest.approx(whole)
    for first, second in zip(one, other, strict=True):
        torch.testing.assert_close(first, second, rtol=1e-9, atol=1e-12)


def test_macro_f1_of_sets_is_that_of_scikit_learn() -> None:
    random_ = np.random.default_rng(3)
    truth, predicted = random_.random((2, 40, 6)) < 0.3
    truth[:, 4] = predicted[:, 4] = False
    expected = f1_score(truth, predicted, average="macro", zero_division=0)
    assert macro_f1_of_sets(truth, predicted) == pytest.approx(expected)


def test_predictions_in_random_order_are_at_chance() -> None:
    random_ = np.random.default_rng(5)
    targets = (random_.random((400, 4)) < [0.6, 0.4, 0.2, 0.05]).astype(np.float32)
    assert not sets_above_chance(targets, random_.integers(0, 4, 400))
    assert not sets_above_chance(targets, np.zeros(400, np.int64))  # the most frequent class
    assert sets_above_chance(targets, (targets * [1, 2, 3, 4]).argmax(1))
    assert not sets_above_chance(targets[:0], np.zeros(0, np.int64))


def test_the_command_trains_and_explains(tmp_path: Path) -> None:
    """A JSON Lines file with lists as labels; `predicted` is a list."""
    texts, sets = make_sets(240, 16)
    lines = [
        json.dumps({"text": text, "label": names}) for text, names in zip(texts, sets, strict=True)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(lines))
    settings = ["fixed_dim=8", "trained_dim=8", "region_dim=16", "query_dim=4", "epochs=8"]
    settings += ["min_frequency=0", "learning_rate=0.01", "batch_size=32", "average_decay=0.9"]
    options = [part for setting in settings for part in ("--set", setting)]
    out = tmp_path / "model"
    command = ["train", "--data", str(tmp_path / "train.jsonl"), "--out", str(out)]
    command += ["--vectors", "texts", "--device", "cpu", "--watch", texts[3], *options]
    run(command)
    explained = ["Onion soup with garlic and the anchor of the harbour crew.", "The a and we."]
    output = run(["explain", "--model", str(out), "--json", *explained]).stdout
    facts, of_nothing = map(json.loads, output.splitlines())
    assert isinstance(facts["predicted"], list)
    assert {"Cooking", "Sailing"} <= set(facts["predicted"])
    assert of_nothing["predicted"] == []
    assert facts["target"] in facts["predicted"]
    assert set(facts["account"]) == set(NAMES)
    assert json.loads((out / "examples.json").read_text())
    assert (out / "global_view" / "view.json").is_file()
    assert load_file(out / "model.safetensors")["capsules.capsule_bias"].shape[1] == 3


def run(command: list[str]) -> subprocess.CompletedProcess[str]:

    result = subprocess.run(
        [sys.executable, "-m", "icaps", *command],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result
