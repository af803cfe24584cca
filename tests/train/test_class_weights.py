import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from icaps.classifier import ICapsClassifier
from icaps.config import ACCURACY, MACRO_F1, TrainConfig
from icaps.model import ICapsNet, margin_loss
from icaps.nn import distributed
from icaps.stats import macro_f1
from icaps.train.callbacks import Callback, Epoch, Validation
from icaps.train.class_weights import balanced_weights, describe_imbalance
from icaps.train.dataset import Corpus
from icaps.train.loop import Trainer, TrainingProgress, backward, train
from icaps.train.resume import StateFolder
from tests.conftest import MODEL, TRAIN
from tests.train.test_loop import network, toy_corpus
from tests.train.test_resume import IDENTITY, StopAt, same_weights

BALANCED = TrainConfig(
    class_weight="balanced", batch_size=32, epochs=4, learning_rate=0.01, average_decay=0.9
)


def unbalanced_corpus(count: int, seed: int, every: int = 20) -> Corpus:
    """The toy corpus with class 1 in one of `every` texts."""
    corpus = toy_corpus(count, seed)
    rare = np.flatnonzero(corpus.all_labels == 1)[: count // every]
    return corpus.select(np.concatenate([np.flatnonzero(corpus.all_labels == 0), rare]))


def noisy_corpus(count: int, seed: int) -> Corpus:
    """Texts with word 2 or 3: class 1 are 5% of the texts, each with word 3, as 10% of the others.

    So of the texts with word 3, only a third are of class 1.
    """
    random = np.random.default_rng(seed)
    labels = (np.arange(count) % 20 == 0).astype(np.int64)
    ids = random.integers(4, 12, (count, 6)).astype(np.int32)
    ids[:, 0] = np.where((labels == 1) | (random.random(count) < 0.1), 3, 2)
    texts = np.arange(count + 1)
    return Corpus(ids.ravel(), 6 * texts, texts, labels, texts[:-1])


def test_weights_by_hand() -> None:
    """Six texts of three classes: 6 / (3 * 3), 6 / (3 * 1), 6 / (3 * 2)."""
    weights = balanced_weights(np.array([0, 2, 0, 1, 2, 0]), 3)
    assert weights.tolist() == pytest.approx([2 / 3, 2, 1])


def test_a_class_without_a_text_has_no_weight() -> None:
    assert balanced_weights(np.array([0, 0, 0, 2]), 3).tolist() == pytest.approx([2 / 3, 0, 2])


def test_a_weighted_loss_by_hand() -> None:
    """Losses of 0.2^2 + 0.5 * 0.1^2 = 0.045 and of 0.4^2 = 0.16, weighted by 3 and 0.5."""
    norms = torch.tensor([[0.7, 0.2], [0.1, 0.5]], dtype=torch.float64)
    labels, weights = torch.tensor([0, 1]), torch.tensor([3.0, 0.5])
    loss = margin_loss(norms, labels, TrainConfig(), weights)
    assert loss.item() == pytest.approx((3 * 0.045 + 0.5 * 0.16) / 2)


def test_the_weighted_loss_is_that_of_repeated_texts() -> None:
    """3 texts of a class and 1 of another: with weights 2/3 and 2 as if there were 1 more each."""
    norms = torch.rand(4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    labels = torch.tensor([0, 0, 0, 1])
    weights = torch.from_numpy(balanced_weights(labels.numpy(), 2)).double()[labels]
    repeated = torch.tensor([0, 1, 2, 3, 3, 3])
    same = margin_loss(norms[repeated], labels[repeated], TrainConfig())
    assert margin_loss(norms, labels, TrainConfig(), weights).item() == pytest.approx(same.item())


@pytest.mark.parametrize("accumulate", [1, 3, 50])
def test_weights_are_those_of_the_training_part_in_each_part_of_a_batch(accumulate: int) -> None:
    model = dataclasses.replace(MODEL, embedding_dropout=0, dropout=0, word_dropout=0)
    corpus = unbalanced_corpus(200, 1)
    torch.manual_seed(0)
    trainer = Trainer(ICapsNet(model, 12, 2), corpus, BALANCED)
    assert trainer.class_weights is not None
    expected = balanced_weights(corpus.labels, 2)
    assert trainer.class_weights.tolist() == expected.tolist()
    batch, net = corpus.select(np.arange(75, 105)), trainer.network
    config = dataclasses.replace(BALANCED, accumulate=accumulate)
    norms = net(batch.tokens()).class_norms
    labels = torch.from_numpy(batch.labels)
    whole = margin_loss(norms, labels, BALANCED, torch.from_numpy(expected)[labels])
    gradients = torch.autograd.grad(whole, net.capsules.capsule_weight)[0]
    loss = backward(net, batch, config, trainer.class_weights)
    assert loss == pytest.approx(whole.item(), abs=1e-6)
    assert net.capsules.capsule_weight.grad is not None
    torch.testing.assert_close(net.capsules.capsule_weight.grad, gradients, rtol=0, atol=1e-6)


@pytest.mark.parametrize("processes", [2, 3, 40])
def test_processes_add_up_to_the_weighted_mean(
    processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each process has a share of the batch, of which some are empty."""
    model = dataclasses.replace(MODEL, embedding_dropout=0, dropout=0, word_dropout=0)
    corpus = unbalanced_corpus(200, 1)
    torch.manual_seed(0)
    net, weights = ICapsNet(model, 12, 2), torch.from_numpy(balanced_weights(corpus.labels, 2))
    batch = corpus.select(np.arange(75, 105))
    whole = backward(net, batch, BALANCED, weights)
    expected = net.capsules.capsule_weight.grad
    assert expected is not None
    net.zero_grad()
    losses = []
    for rank in range(processes):
        monkeypatch.setattr(distributed, "share", lambda rank=rank: slice(rank, None, processes))
        losses.append(backward(net, batch, BALANCED, weights))  # gradients add up
    assert sum(losses) == pytest.approx(whole, abs=1e-6)
    assert net.capsules.capsule_weight.grad is not None
    torch.testing.assert_close(net.capsules.capsule_weight.grad, expected, rtol=0, atol=1e-6)


def test_balanced_classes_have_a_better_macro_f1() -> None:
    """Weighted, a text with word 3 is of class 1; else it costs less to predict class 0 for all."""
    training, validation = noisy_corpus(600, 1), noisy_corpus(300, 2)
    words = np.array([ids[0] for ids in validation.iterate_ids()])
    scores = {}
    for name in ("none", "balanced"):
        config = dataclasses.replace(
            BALANCED, class_weight=name, score="macro_f1", epochs=6, patience=6
        )
        best = train(network(), training, validation, config).best
        assert best is not None
        scores[name] = best.validation_macro_f1
    assert scores["balanced"] == pytest.approx(macro_f1(validation.labels, words - 2, 2))
    assert scores["balanced"] > scores["none"] + 0.15


@pytest.mark.parametrize("place", [(2, 3), (2, None)])
def test_a_balanced_training_resumes_exactly(place: tuple[int, int | None], tmp_path: Path) -> None:
    def run(
        callback: Callback, folder: StateFolder | None = None
    ) -> tuple[ICapsNet, TrainingProgress]:
        net, parts = network(), (unbalanced_corpus(200, 1), unbalanced_corpus(100, 2))
        return net, train(net, *parts, BALANCED, [callback], folder)

    expected, progress = run(Callback())
    assert run(StopAt(*place), StateFolder.open(tmp_path, IDENTITY, False))[1].interrupted
    resumed, rest = run(Callback(), StateFolder.open(tmp_path, IDENTITY, True))
    assert same_weights(expected, resumed)
    assert rest.best_epoch == progress.best_epoch
    scores = [(e.validation_macro_f1, e.validation_loss) for e in rest.history]
    assert scores == [(e.validation_macro_f1, e.validation_loss) for e in progress.history]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_macro_f1_is_that_of_scikit_learn(classes: int) -> None:
    """Also if a class has no text, and another is never predicted."""
    random = np.random.default_rng(classes)
    labels, predicted = random.integers(0, classes - 1, 50), random.integers(1, classes, 50)
    expected = f1_score(labels, predicted, labels=range(classes), average="macro", zero_division=0)
    assert macro_f1(labels, predicted, classes) == pytest.approx(expected, abs=1e-12)
    corpus = dataclasses.replace(toy_corpus(50, 1), all_labels=labels)
    norms = torch.eye(classes)[predicted]
    assert Validation(corpus, norms, predicted, predicted > 0).macro_f1 == macro_f1(
        labels, predicted, classes
    )


def test_which_epoch_is_better() -> None:
    epoch = Epoch(1, 0.5, 0.8, 1.0, 0.6, 0.30)

    def better(score: str, **changes: float | None) -> bool:
        return dataclasses.replace(epoch, **changes).is_better(epoch, score)  # type: ignore[arg-type]

    assert better(ACCURACY, validation_accuracy=0.9, validation_macro_f1=0.1, validation_loss=9)
    assert not better(MACRO_F1, validation_accuracy=0.9, validation_loss=9)
    assert better(MACRO_F1, validation_accuracy=0.1, validation_macro_f1=0.7)
    for score in (ACCURACY, MACRO_F1):  # a tie
        assert better(score, validation_loss=0.29)
        assert not better(score)
        assert not better(score, validation_loss=0.31)
        assert not better(score, validation_loss=None)  # of an earlier version


def test_the_score_that_chooses_the_epoch() -> None:
    assert TrainConfig().epoch_score == ACCURACY
    assert BALANCED.epoch_score == MACRO_F1
    assert TrainConfig(score="macro_f1").epoch_score == MACRO_F1
    assert dataclasses.replace(BALANCED, score="accuracy").epoch_score == ACCURACY


@pytest.mark.parametrize("score", [ACCURACY, MACRO_F1])
def test_the_best_epoch_is_best_by_score_then_loss(score: str) -> None:
    config = dataclasses.replace(BALANCED, score=score, class_weight="none", epochs=8, patience=8)
    progress = train(network(), unbalanced_corpus(300, 1), unbalanced_corpus(100, 2), config)
    assert progress.best is not None
    keys = [(epoch.score(score), -(epoch.validation_loss or 0)) for epoch in progress.history]
    assert progress.best_epoch == progress.best.epoch == keys.index(max(keys)) + 1


def test_a_history_of_an_earlier_version_loads() -> None:
    old = {"epoch": 1, "loss": 0.5, "validation_accuracy": 0.25, "seconds": 2.0}
    facts = {"history": [old], "best_epoch": 1, "best_accuracy": 0.25, "epoch": 2}
    progress = TrainingProgress.from_facts(facts)
    assert progress.best == Epoch(1, 0.5, 0.25, 2.0)
    assert Epoch(2, 0.5, 0.3, 2.0, 0.3, 0.1).is_better(progress.best, ACCURACY)
    assert not Epoch(2, 0.5, 0.25, 2.0, 0.3, 0.1).is_better(progress.best, ACCURACY)


def test_a_state_of_an_earlier_version_resumes(tmp_path: Path) -> None:
    """It has no class_weight, which is as none."""
    now = {"dropout": 0.1, "class_weight": "none", "score": "auto"}
    folder = StateFolder.open(tmp_path, IDENTITY, False)
    trainer = Trainer(network(), toy_corpus(50, 1), TrainConfig(), state_folder=folder)
    trainer.save()
    assert StateFolder.open(tmp_path, IDENTITY | {"settings": now}, True).state is not None


def test_imbalance() -> None:
    assert describe_imbalance({"a": 10, "b": 100}) == ""
    assert describe_imbalance({"a": 99, "b": 1_000, "c": 100}) == ("'a' has 99 texts and 'b' 1,000")
    assert describe_imbalance({"a": 1, "b": 11}) == "'a' has 1 text and 'b' 11"


class Lines(Callback):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def on_log(self, line: str) -> None:
        self.lines.append(line)


@pytest.mark.parametrize(("weight", "score"), [("none", "accuracy"), ("balanced", "macro F1")])
def test_the_log_has_the_imbalance_and_the_chosen_epoch(weight: str, score: str) -> None:
    texts = [f"soup with bread {n}" for n in range(60)] + ["sail on deck", "mast and sail"] * 2
    log = Lines()
    config = dataclasses.replace(TRAIN, class_weight=weight, epochs=2)
    classifier = ICapsClassifier(MODEL, config, device="cpu", callbacks=[log])
    classifier.fit(texts, ["food"] * 60 + ["boats"] * 4)
    (line,) = [line for line in log.lines if "unbalanced" in line]
    effect = "lets" if weight == "balanced" else "would let"
    assert f"class_weight=balanced {effect} each class count the same" in line
    metrics = classifier.metrics_
    name = "validation_accuracy" if score == "accuracy" else "validation_macro_f1"
    expected = f"epoch {metrics['best_epoch']} chosen by validation {score} {metrics[name]:.2%}"
    assert expected in log.lines
    assert classifier.history_[0].keys() >= {"validation_macro_f1", "validation_loss"}


def test_it_is_a_parameter_of_the_estimator() -> None:
    classifier = ICapsClassifier(MODEL, TRAIN).set_params(train__class_weight="balanced")
    assert classifier.train == dataclasses.replace(TRAIN, class_weight="balanced")
    by_recipe = ICapsClassifier().set_params(train__class_weight="balanced")
    assert by_recipe.train == {"class_weight": "balanced"}  # the recipe chooses the others
