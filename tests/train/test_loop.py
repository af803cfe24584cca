import numpy as np
import pytest
import torch

from icaps.config import TrainConfig
from icaps.model import ICapsNet
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.callbacks import Callback, Epoch, Step
from icaps.train.dataset import Corpus
from icaps.train.loop import train, validate
from icaps.train.optimizer import rate_shares
from tests.conftest import MODEL


def toy_corpus(count: int, seed: int) -> Corpus:
    """Texts of words 2..11; word 2 or 3, one of them in each text, is the label."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(4, 12, (count, 6)).astype(np.int32)
    labels = rng.integers(0, 2, count)
    ids[np.arange(count), rng.integers(0, 6, count)] = labels + 2
    texts = np.arange(count + 1)
    return Corpus(ids.ravel(), 6 * texts, texts, labels, texts[:-1])


class Recorder(Callback):
    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.epochs: list[Epoch] = []

    def on_step(self, step: Step) -> None:
        self.steps.append(step)

    def on_epoch(self, epoch: Epoch) -> None:
        self.epochs.append(epoch)


def network() -> ICapsNet:
    torch.manual_seed(0)
    return ICapsNet(MODEL, 12, 2)


def test_training_learns_and_calls_its_callbacks() -> None:
    recorder, net = Recorder(), network()
    training, validation = toy_corpus(300, 1), toy_corpus(100, 2)
    fixed = net.fixed_embedding.clone()
    config = TrainConfig(
        batch_size=50, epochs=30, patience=30, learning_rate=0.03, average_decay=0.9
    )
    progress = train(net, training, validation, config, [recorder])
    assert progress.best is not None
    assert progress.best.validation_accuracy > 0.95
    assert validate(net, validation).accuracy == pytest.approx(progress.best.validation_accuracy)
    assert [epoch.epoch for epoch in recorder.epochs] == list(range(1, 31))
    assert recorder.epochs == progress.history
    assert len(recorder.steps) == 30 * 6
    assert recorder.steps[-1].step == recorder.steps[-1].steps == 6
    assert progress.history[-1].loss < progress.history[0].loss / 2
    assert not net.training
    assert torch.equal(net.fixed_embedding, fixed)


def test_it_keeps_the_best_epoch_and_stops_after_patience() -> None:
    net = network()
    config = TrainConfig(batch_size=50, epochs=50, patience=2, learning_rate=0.01)
    progress = train(net, toy_corpus(300, 1), toy_corpus(100, 2), config)
    scores = [
        (epoch.validation_accuracy, -(epoch.validation_loss or 0)) for epoch in progress.history
    ]
    assert progress.best_epoch == scores.index(max(scores)) + 1
    assert len(scores) == progress.best_epoch + 2


def test_ctrl_c_keeps_the_best_so_far() -> None:
    class Stop(Recorder):
        def on_step(self, step: Step) -> None:
            if step.epoch == 3:
                raise KeyboardInterrupt

    net = network()
    validation = toy_corpus(100, 2)
    config = TrainConfig(batch_size=50, epochs=9, learning_rate=0.01)
    progress = train(net, toy_corpus(300, 1), validation, config, [Stop()])
    assert progress.interrupted
    assert len(progress.history) == 2
    assert validate(net, validation).accuracy == pytest.approx(progress.best.validation_accuracy)


def test_the_average_follows_the_weights_it_averages() -> None:
    """With a decay of 0 the averaged weights are the last ones; a late decay lags behind."""
    training, validation = toy_corpus(100, 1), toy_corpus(50, 2)
    results = {}
    for decay in (0.0, 0.99):
        net = network()
        start = net.capsules.capsule_weight.detach().clone()
        config = TrainConfig(epochs=1, batch_size=5, average_decay=decay, decay=False)
        train(net, training, validation, config)
        results[decay] = (net.capsules.capsule_weight - start).norm().item()
    assert 0 < results[0.99] < results[0.0]


def test_the_learning_rate_rises_then_falls_in_a_line() -> None:
    """Of 10 steps 4 are warm-up: 1/5, 2/5, 3/5, 4/5, then 1 down to 1/6 in sixths."""
    config = TrainConfig(epochs=2, warmup_share=0.4)
    rate = rate_shares(config, steps_per_epoch=5)
    expected = [0.2, 0.4, 0.6, 0.8, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6]
    assert [rate(step) for step in range(10)] == pytest.approx(expected)
    flat = rate_shares(TrainConfig(epochs=2, warmup_share=0, decay=False), steps_per_epoch=5)
    assert {flat(step) for step in range(10)} == {1.0}


def test_norms_of_a_corpus_are_those_of_its_texts() -> None:
    net, corpus = network().eval(), toy_corpus(1100, 3)
    norms = validate(net, corpus).class_norms
    one = net(corpus.select(np.array([1050])).tokens()).class_norms[0]
    torch.testing.assert_close(norms[1050], one.detach(), rtol=0, atol=1e-6)


def test_calibration_finds_the_factor_that_made_the_labels() -> None:
    generator = torch.Generator().manual_seed(0)
    norms = torch.rand(20_000, 3, generator=generator)
    labels = torch.multinomial((norms * 7).softmax(1), 1, generator=generator)[:, 0]
    assert fit_inverse_temperature(norms, labels.numpy()) == pytest.approx(7, rel=0.03)
