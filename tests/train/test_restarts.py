import dataclasses
import random
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import TrainConfig
from icaps.model import ICapsNet
from icaps.train.callbacks import Epoch, Step
from icaps.train.dataset import Corpus
from icaps.train.loop import TrainingProgress, learns, validate
from icaps.train.restarts import MAX_RESTARTS, describe_changes, gentler, train_with_restarts
from icaps.train.result_warnings import CHANCE, warnings_of
from icaps.train.resume import StateFolder
from tests.conftest import MODEL, make_texts
from tests.train.test_loop import Recorder, toy_corpus
from tests.train.test_resume import IDENTITY, same_weights

# 60 steps per epoch, so that two epochs are enough to see that nothing is learned.
LEARNS = TrainConfig(
    batch_size=8, epochs=3, learning_rate=0.04, average_decay=0.9, warmup_share=0, seed=5
)
STUCK = dataclasses.replace(LEARNS, learning_rate=0.16)  # a quarter of it is that above


class Course(Recorder):
    """Records, and presses Ctrl-C at one step (or, for step 0, at the end of an epoch)."""

    def __init__(self, *stop: int) -> None:
        super().__init__()
        self.stop, self.restarts = stop, list[int]()

    def on_restart(self, restarts: int) -> None:
        self.restarts.append(restarts)

    def on_step(self, step: Step) -> None:
        super().on_step(step)
        if (step.restarts, step.epoch, step.step) == self.stop:
            signal.raise_signal(signal.SIGINT)

    def on_epoch(self, epoch: Epoch) -> None:
        super().on_epoch(epoch)
        if (self.steps[-1].restarts, epoch.epoch, 0) == self.stop:
            signal.raise_signal(signal.SIGINT)


def new_network(seed: int) -> ICapsNet:
    torch.manual_seed(seed)
    return ICapsNet(MODEL, 12, 2)


def run(
    course: Course, config: TrainConfig = STUCK, state_folder: StateFolder | None = None
) -> tuple[ICapsNet, TrainingProgress]:
    texts = toy_corpus(480, 1), toy_corpus(100, 2)
    return train_with_restarts(new_network, *texts, config, [course], state_folder)


def with_random_labels(corpus: Corpus) -> Corpus:
    labels = np.random.default_rng(0).integers(0, 2, len(corpus))
    return dataclasses.replace(corpus, all_labels=labels)


def test_the_recipe_gets_gentler() -> None:
    config = TrainConfig(learning_rate=0.016, purity_weight=0.04, spread_weight=0.02)
    assert gentler(config, 0) is config
    once, twice = gentler(config, 1), gentler(config, 2)
    settings = "learning_rate=0.004, purity_weight=0.01, spread_weight=0.005"
    assert describe_changes(config, 1) == settings
    settings = "learning_rate=0.001, purity_weight=0, spread_weight=0"
    assert describe_changes(config, 2) == settings
    assert describe_changes(config, 0) == ""
    assert len({config.seed, once.seed, twice.seed}) == 3
    assert gentler(config, 1) == once


def test_a_training_that_learns_nothing_restarts_and_learns() -> None:
    course, log = Course(), list[str]()
    texts = toy_corpus(480, 1), toy_corpus(100, 2)
    network, progress = train_with_restarts(new_network, *texts, STUCK, [course], log=log.append)
    assert course.restarts == [1]
    assert progress.restarts == 1
    assert progress.learned
    assert not progress.gave_up
    assert [epoch.epoch for epoch in course.epochs] == [1, 2, 1, 2, 3]
    assert progress.history == course.epochs[2:]
    assert [step.restarts for step in course.steps] == [0] * 120 + [1] * 180
    assert validate(network, texts[1]).accuracy > 0.95
    (line,) = log
    assert "nothing learned after 2 epochs" in line
    assert line.endswith(
        "restart 1 of 2 from new weights with a gentler recipe, learning_rate=0.04"
    )


def test_a_training_that_learns_is_never_restarted() -> None:
    course = Course()
    _, progress = run(course, LEARNS)
    assert course.restarts == []
    assert progress.learned
    assert len(progress.history) == 3


def test_one_with_few_steps_is_not_restarted() -> None:
    """Three epochs of 15 steps may be too few to learn anything, so lower rates would be worse."""
    course = Course()
    _, progress = run(course, dataclasses.replace(STUCK, batch_size=32))
    assert course.restarts == []
    assert not progress.tried


def test_random_labels_end() -> None:
    course = Course()
    training, validation = map(with_random_labels, (toy_corpus(480, 1), toy_corpus(100, 2)))
    _, progress = train_with_restarts(new_network, training, validation, STUCK, [course])
    assert len(course.restarts) <= MAX_RESTARTS
    assert not progress.learned
    assert not progress.gave_up


def test_after_the_last_restart_a_training_runs_to_its_end() -> None:
    course = Course()
    _, progress = run(course, dataclasses.replace(STUCK, learning_rate=16))
    assert course.restarts == [1, 2]
    assert [epoch.epoch for epoch in course.epochs] == [1, 2, 1, 2, 1, 2, 3]
    assert not progress.learned


@pytest.mark.parametrize("stop", [(0, 2, 30), (0, 2, 0), (1, 1, 1), (1, 2, 7), (1, 2, 0)], ids=str)
def test_it_resumes_exactly(stop: tuple[int, int, int], tmp_path: Path) -> None:
    """Stopped before the restart, at it, after its first step, in the middle, after an epoch."""
    whole = Course()
    expected, progress = run(whole)
    before, after = Course(*stop), Course()
    assert run(before, state_folder=StateFolder.open(tmp_path, IDENTITY, False))[1].interrupted
    resumed, rest = run(after, state_folder=StateFolder.open(tmp_path, IDENTITY, True))
    assert same_weights(expected, resumed)
    assert before.restarts + after.restarts == [1]
    steps = [(step.restarts, step.epoch, step.step, step.loss) for step in whole.steps]
    assert [
        (step.restarts, step.epoch, step.step, step.loss) for step in before.steps + after.steps
    ] == steps

    def untimed(progress: TrainingProgress) -> TrainingProgress:
        history = [dataclasses.replace(epoch, seconds=0) for epoch in progress.history]
        return dataclasses.replace(progress, history=history)

    assert untimed(rest) == untimed(progress)


def test_a_state_of_an_earlier_version_has_learned_if_it_has_an_epoch() -> None:
    facts = dataclasses.asdict(TrainingProgress(history=[Epoch(1, 0.5, 0.25, 2.0)], epoch=2))
    for name in ("restarts", "learned", "memorized", "tried", "gave_up"):
        del facts[name]
    assert TrainingProgress.from_facts(facts).learned
    assert not TrainingProgress.from_facts(facts | {"history": []}).learned


def test_predictions_of_one_class_may_have_learned() -> None:
    """All texts get class 0, but its norm is lower for those of the rare class."""
    labels = torch.arange(200) % 10 == 0
    corpus = dataclasses.replace(toy_corpus(200, 3), all_labels=labels.long().numpy())
    validation = validate(new_network(0).eval(), corpus)
    noise = torch.rand(200, 2, generator=torch.Generator().manual_seed(0))
    norms = torch.tensor([0.9, 0.1]) + noise / 100
    assert not learns(validation._replace(class_norms=norms))
    norms[:, 0] -= 0.1 * labels
    assert (norms.argmax(1) == 0).all()
    assert learns(validation._replace(class_norms=norms))


def test_a_fit_on_random_labels_ends_with_a_warning() -> None:
    texts, labels = make_texts(360, 1)
    random.Random(0).shuffle(labels)
    course = Course()
    lines: list[str] = []
    course.on_log = lines.append  # type: ignore[method-assign]
    classifier = ICapsClassifier(MODEL, STUCK, device="cpu", callbacks=[course])
    classifier.fit(texts, labels)
    warnings = warnings_of(classifier.metrics_)
    assert warnings[0].kind == CHANCE
    assert lines[-1] == f"WARNING: {warnings[0]}"
    assert classifier.metrics_["restarts"] == len(course.restarts)


def test_a_fit_with_a_restart_says_so() -> None:
    texts, labels = make_texts(360, 1)
    config = dataclasses.replace(STUCK, learning_rate=0.5, min_frequency=0)
    classifier = ICapsClassifier(MODEL, config, device="cpu").fit(texts, labels)
    restarts = classifier.metrics_["restarts"]
    assert restarts >= 1
    assert classifier.metrics_["restart_settings"] == f"learning_rate={0.5 / 4**restarts:g}"
    assert classifier.train == config
    assert [record["epoch"] for record in classifier.history_] == [1, 2, 3]
