"""Both losses, compared with their formulas in plain Python."""

import dataclasses
import math

import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import TrainConfig
from icaps.interpret import controls
from icaps.interpret.corpus import count_corpus
from icaps.train.objectives import classification_loss, specialisation_loss
from tests.conftest import MODEL, TRAIN, make_texts


def expected(routing: torch.Tensor, labels: list[int], config: TrainConfig) -> float:
    """Of texts (n, I, J) and their labels, or of pairs of a text and one of its labels."""
    capsules, classes = routing.shape[1:]
    joint = [[0.0] * capsules for _ in range(classes)]
    for text, label in zip(routing.tolist(), labels, strict=True):
        powers = [math.exp(config.winner_sharpness * betas[label]) for betas in text]
        for i in range(capsules):
            joint[label][i] += powers[i] / sum(powers) / len(labels)
    winner = [sum(row[i] for row in joint) for i in range(capsules)]
    given = -sum(p * math.log(p / winner[i]) for row in joint for i, p in enumerate(row) if p)
    spread = -sum(p * math.log(p) for p in winner)
    return config.purity_weight * given + config.spread_weight * (math.log(capsules) - spread)


@pytest.mark.parametrize("sharpness", [0.0, 3.0, 40.0])
def test_the_loss_equals_its_formula(sharpness: float) -> None:
    torch.manual_seed(0)
    routing = torch.rand(7, 5, 3, dtype=torch.float64).softmax(2)
    labels = [0, 2, 2, 0, 0, 2, 2]  # one class is missing
    config = TrainConfig(purity_weight=0.3, spread_weight=0.7, winner_sharpness=sharpness)
    actual = specialisation_loss(routing, torch.tensor(labels), config)
    assert float(actual) == pytest.approx(expected(routing, labels, config), abs=1e-12)


def test_a_text_with_several_labels_counts_once_for_each() -> None:
    torch.manual_seed(4)
    routing = torch.rand(4, 5, 3, dtype=torch.float64)
    targets = torch.tensor([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
    pairs = routing[[0, 0, 2, 3, 3, 3]]
    config = TrainConfig(purity_weight=0.3, spread_weight=0.7, winner_sharpness=9.0)
    wanted = expected(pairs, [0, 2, 1, 0, 1, 2], config)
    actual = specialisation_loss(routing, targets, config)
    assert float(actual) == pytest.approx(wanted, abs=1e-12)
    one_label = torch.tensor([[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]])
    by_number = specialisation_loss(routing, torch.tensor([0, 2, 1, 0]), config)
    assert float(specialisation_loss(routing, one_label, config)) == float(by_number)


def test_texts_without_labels_have_no_specialisation() -> None:
    routing = torch.rand(3, 5, 2, requires_grad=True)
    config = TrainConfig(purity_weight=0.3, spread_weight=0.7)
    loss = specialisation_loss(routing, torch.zeros(3, 2), config)
    loss.backward()
    assert float(loss.detach()) == 0
    assert routing.grad is not None
    assert not routing.grad.any()


def test_the_cross_entropy_of_several_labels_by_hand() -> None:
    """A sigmoid per class, of 20 times what the norm is above 0.5."""
    norms = torch.tensor([[0.9, 0.45, 0.2], [0.5, 0.6, 0.5]], dtype=torch.float64)
    targets = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    config = TrainConfig(loss="cross_entropy")
    first = [math.log(1 + math.exp(x)) for x in (-8, 1, -6)]
    second = [math.log(1 + math.exp(x)) for x in (0, 2, 0)]
    loss = classification_loss(norms, targets, config)
    assert loss.item() == pytest.approx((sum(first) + sum(second)) / 2, abs=1e-12)
    weights = torch.tensor([[1.0, 5.0, 1.0], [1.0, 1.0, 1.0]])
    weighted = classification_loss(norms, targets, config, weights)
    assert weighted.item() == pytest.approx((sum(first) + 4 * first[1] + sum(second)) / 2)


def test_the_cross_entropy_by_hand() -> None:
    norms = torch.tensor([[0.9, 0.1, 0.2], [0.5, 0.5, 0.5]], dtype=torch.float64)
    config = TrainConfig(loss="cross_entropy")
    first = math.log(1 + math.exp(-16) + math.exp(-14))  # 20 times the differences of norms
    second = math.log(3)
    labels = torch.tensor([0, 2])
    loss = classification_loss(norms, labels, config)
    assert loss.item() == pytest.approx((first + second) / 2, abs=1e-12)
    weighted = classification_loss(norms, labels, config, torch.tensor([2.0, 0.5]))
    assert weighted.item() == pytest.approx((2 * first + 0.5 * second) / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("ramp", "done", "share"), [(0.0, 0.0, 1), (0.5, 0.0, 0), (0.5, 0.2, 0.4), (0.5, 0.9, 1)]
)
def test_the_ramp_of_the_specialisation_loss(ramp: float, done: float, share: float) -> None:
    torch.manual_seed(2)
    routing = torch.rand(6, 4, 2, dtype=torch.float64).softmax(2)
    labels = [0, 1, 1, 0, 1, 0]
    config = TrainConfig(purity_weight=0.3, spread_weight=0.2, ramp_share=ramp)
    actual = specialisation_loss(routing, torch.tensor(labels), config, done)
    assert float(actual) == pytest.approx(share * expected(routing, labels, config), abs=1e-12)


def test_its_minimum_and_maximum() -> None:
    config = TrainConfig(purity_weight=1, spread_weight=0, winner_sharpness=1e4)
    labels = torch.tensor([0, 1, 0, 1])
    own = torch.zeros(4, 2, 2, dtype=torch.float64)
    own[labels == 0, 0] = own[labels == 1, 1] = 1  # a capsule a class
    assert float(specialisation_loss(own, labels, config)) == pytest.approx(0, abs=1e-9)
    same = torch.zeros(4, 2, 2, dtype=torch.float64)
    same[:, 0] = 1  # one for both
    assert float(specialisation_loss(same, labels, config)) == pytest.approx(math.log(2))
    spread = TrainConfig(purity_weight=0, spread_weight=1, winner_sharpness=1e4)
    assert float(specialisation_loss(own, labels, spread)) == pytest.approx(0, abs=1e-9)
    assert float(specialisation_loss(same, labels, spread)) == pytest.approx(math.log(2))


def test_gradients_without_a_winner() -> None:
    config = TrainConfig(purity_weight=0.5, spread_weight=0.5, winner_sharpness=200)
    labels = torch.tensor([0, 1, 1])
    torch.manual_seed(1)
    logits = torch.randn(3, 4, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda x: specialisation_loss(x.softmax(2), labels, config), logits
    )
    hard = (torch.tensor([[[9.0, -9]] + [[-9.0, 9]] * 3] * 3)).requires_grad_()
    specialisation_loss(hard.softmax(2), labels, config).backward()
    assert hard.grad is not None
    assert torch.isfinite(hard.grad).all()


def fitted(**settings: float) -> ICapsClassifier:
    train = dataclasses.replace(TRAIN, **settings)
    return ICapsClassifier(MODEL, train, device="cpu").fit(*make_texts(360, seed=1))


def test_training_with_it_makes_capsules_pure(classifier: ICapsClassifier) -> None:
    special = fitted(purity_weight=0.3, spread_weight=0.1, winner_sharpness=100)
    labelled = list(zip(*make_texts(150, seed=5), strict=True))
    plain, pure = (count_corpus(c, labelled).tally.frequency for c in (classifier, special))
    assert controls.purity(pure) > 0.95 > controls.purity(plain)
    assert controls.alive(pure).sum() >= controls.alive(plain).sum()


def test_zero_weights_change_nothing(classifier: ICapsClassifier) -> None:
    off = fitted(winner_sharpness=7).network_.state_dict()
    for name, value in classifier.network_.state_dict().items():
        assert torch.equal(off[name], value)
