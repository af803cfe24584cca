"""Products in bfloat16: within a bound of those in float32, and only where they are faster."""

import dataclasses
from pathlib import Path

import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import AUTO, BFLOAT16, FLOAT32
from icaps.model import ICapsNet
from icaps.nn.layers import RegionEmbedding
from icaps.train import precision
from icaps.train.callbacks import Callback
from icaps.train.loop import train
from icaps.train.precision import Choice, choose_precision
from icaps.train.resume import StateFolder
from tests.conftest import MODEL, TRAIN, make_texts
from tests.train.test_loop import Recorder, network, toy_corpus
from tests.train.test_resume import CONFIG, IDENTITY, StopAt, same_weights


@pytest.fixture
def layer() -> RegionEmbedding:
    torch.manual_seed(0)
    return RegionEmbedding(300, 64, 3)


@pytest.fixture
def words() -> torch.Tensor:
    torch.manual_seed(1)
    return torch.randn(50, 300)


def take(layer: RegionEmbedding, words: torch.Tensor, name: str) -> torch.Tensor:
    layer.precision = name
    return layer.project(words[:, :200], words[:, 200:])


def test_a_product_is_within_the_bound_that_is_stated(
    layer: RegionEmbedding, words: torch.Tensor
) -> None:
    kernel = layer.weight.detach().double().transpose(0, 1).flatten(1)
    exact = (words.double() @ kernel).view(50, 3, 64)
    bound = 2**-6 * (words.double().abs() @ kernel.abs()).view(50, 3, 64)
    found = take(layer, words, BFLOAT16)
    assert found.dtype == torch.float32
    difference = (found.double() - exact).abs()
    assert (difference <= bound).all()
    assert difference.max() > 1e-3  # so it was rounded
    assert (take(layer, words, FLOAT32).double() - exact).abs().max() < 1e-5


@pytest.mark.parametrize("fixed_dim", [0, 1])
def test_a_product_of_few_numbers_is_within_the_bound(fixed_dim: int) -> None:
    """Where errors don't even out: numbers just below the middle of two of bfloat16."""
    layer = RegionEmbedding(fixed_dim + 1, 1, 1)
    layer.precision = BFLOAT16
    with torch.no_grad():
        layer.weight.fill_(1.06640625)
    words = torch.full((1, fixed_dim + 1), 1.06640625)
    found = layer.project(words[:, :fixed_dim], words[:, fixed_dim:]).item()
    exact = (fixed_dim + 1) * 1.06640625**2
    assert 2**-8 * exact < abs(found - exact) <= 2**-6 * exact


def test_gradients_are_those_of_float32_but_for_rounding(
    layer: RegionEmbedding, words: torch.Tensor
) -> None:
    wanted = torch.randn(50, 3, 64)
    found = {}
    for name in (FLOAT32, BFLOAT16):
        own = words.clone().requires_grad_()
        found[name] = torch.autograd.grad(take(layer, own, name), (own, layer.weight), wanted)
    for full, low in zip(found[FLOAT32], found[BFLOAT16], strict=True):
        assert low.dtype == torch.float32
        assert 1e-4 < (low - full).norm() / full.norm() < 2**-7


def test_what_is_trained_is_read_in_float32(layer: RegionEmbedding, words: torch.Tensor) -> None:
    layer.eval()
    assert torch.equal(take(layer, words, BFLOAT16), take(layer, words, FLOAT32))


def test_trainings_in_both_learn_alike() -> None:
    losses = {}
    for name in (FLOAT32, BFLOAT16):
        net, config = network(), dataclasses.replace(CONFIG, product_precision=name)
        course = train(net, toy_corpus(300, 1), toy_corpus(100, 2), config)
        assert course.precision == name
        assert net.region.weight.dtype == torch.float32
        losses[name] = [epoch.loss for epoch in course.history]
    assert losses[FLOAT32] != losses[BFLOAT16]
    assert losses[BFLOAT16] == pytest.approx(losses[FLOAT32], rel=0.02)


def test_this_machine_is_measured() -> None:
    choice = choose_precision(AUTO, network())
    assert choice.ratio is not None
    assert choice.ratio > 0
    assert choice.precision == (BFLOAT16 if choice.ratio < 0.9 else FLOAT32)


@pytest.mark.parametrize(
    ("times", "expected"), [((2.0, 1.0), BFLOAT16), ((2.0, 1.9), FLOAT32), ((1.0, 20.0), FLOAT32)]
)
def test_it_is_taken_where_it_wins(
    times: tuple[float, float], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "_measured", lambda *_: times)
    assert choose_precision(AUTO, network()) == (expected, times[1] / times[0])


def test_what_is_asked_for_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_measured", lambda *_: pytest.fail("it was measured"))
    for name in (FLOAT32, BFLOAT16):
        assert choose_precision(name, network()) == (name, None)
    nowhere = network().to("meta")  # which has nothing to measure
    assert choose_precision(AUTO, nowhere) == (FLOAT32, None)


def test_the_choice_is_said() -> None:
    said: list[str] = []
    texts, labels = make_texts(40, 3)
    train = dataclasses.replace(TRAIN, epochs=1, product_precision=BFLOAT16)
    callback = Callback()
    callback.on_log = said.append
    classifier = ICapsClassifier(MODEL, train, device="cpu", callbacks=[callback])
    classifier.fit(texts, labels)
    assert "products of words with the kernel in bfloat16" in said
    assert classifier.metrics_["product_precision"] == BFLOAT16
    measured = str(Choice(FLOAT32, 9.61))
    assert measured.endswith("in float32: in bfloat16 they take 9.6 times as long as in float32")


def test_a_training_goes_on_in_the_precision_that_it_began_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever would be measured by then."""
    corpora = toy_corpus(100, 1), toy_corpus(50, 2)

    def run(recorder: Recorder, *rest: StateFolder) -> ICapsNet:
        net = network()
        train(net, *corpora, CONFIG, [recorder], *rest)
        return net

    monkeypatch.setattr(precision, "_measured", lambda *_: (2.0, 1.0))
    expected = run(Recorder())
    run(StopAt(2, 3), StateFolder.open(tmp_path, IDENTITY, False))
    monkeypatch.setattr(precision, "_measured", lambda *_: (1.0, 2.0))
    assert same_weights(expected, run(Recorder(), StateFolder.open(tmp_path, IDENTITY, True)))
    assert not same_weights(expected, run(Recorder()))
