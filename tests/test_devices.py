"""The network on a device without data: what would fetch numbers from it, or mix devices, fails."""

import pytest
import torch
from torch import Tensor

from icaps.config import TrainConfig
from icaps.model import ICapsNet
from icaps.specialisation import specialisation_loss
from icaps.tables import WordTable, make_rows
from icaps.training import margin_loss
from tests.test_model import build
from tests.test_tables import BATCHES

DEVICE = torch.device("meta")


@pytest.fixture(autouse=True)
def distinct_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there are is in the data, which this device hasn't; here all words are distinct."""

    def unique(words: Tensor, return_inverse: bool) -> tuple[Tensor, Tensor]:
        assert return_inverse
        return words, torch.arange(len(words), device=words.device)

    monkeypatch.setattr(Tensor, "unique", unique)


def network(kind: str) -> ICapsNet:
    shares = {"embedding_dropout": 0.3, "dropout": 0.3, "word_dropout": 0.2}
    return build(hierarchical=kind == "long", **shares).to(DEVICE)


@pytest.mark.parametrize("kind", BATCHES)
def test_a_step_brings_nothing_back(kind: str) -> None:
    net, batch = network(kind).train(), BATCHES[kind].to(DEVICE)
    config = TrainConfig(purity_weight=0.1, spread_weight=0.1)
    activity = net(batch)
    labels = torch.zeros(len(activity.class_norms), dtype=torch.int64, device=DEVICE)
    loss = margin_loss(activity.class_norms, labels, config)
    (loss + specialisation_loss(activity.routing, labels, config)).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.device == DEVICE, name
    assert {values.device for values in activity} == {DEVICE}


@pytest.mark.parametrize("kind", BATCHES)
def test_a_table_is_made_and_read_where_the_network_is(kind: str) -> None:
    net, batch = network(kind).eval(), BATCHES[kind].to(DEVICE)
    with torch.inference_mode():
        table = WordTable(net, make_rows(net))
        activity = net.route(
            table.attend(net, batch), torch.ones(net.config.num_capsules).to(DEVICE)
        )
    assert {values.device for values in activity} == {DEVICE}
