"""The network on a device without data: what would fetch numbers from it fails.

Some products take a tensor of another device there without a word, so that those of the layout are
looked at one by one.
"""

import numpy as np
import pytest
import torch
from torch import Tensor

from icaps import inference, model
from icaps.config import TrainConfig
from icaps.model import ICapsNet, margin_loss
from icaps.nn import lookup
from icaps.nn.packing import Layout, lay_out
from icaps.train.objectives import specialisation_loss
from tests.nn.test_lookup import BATCHES
from tests.test_model import build

DEVICE = torch.device("meta")


@pytest.fixture(autouse=True)
def distinct_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all words are distinct: the number of distinct words depends on data."""

    def unique(words: Tensor, return_inverse: bool) -> tuple[Tensor, Tensor]:
        assert return_inverse
        return words, torch.arange(len(words), device=words.device)

    monkeypatch.setattr(Tensor, "unique", unique)


@pytest.fixture(autouse=True)
def layouts(monkeypatch: pytest.MonkeyPatch) -> list[Layout]:
    """All layouts that are computed."""
    computed: list[Layout] = []

    def recorded(lengths: np.ndarray, kernel_size: int, device: torch.device) -> Layout:
        computed.append(lay_out(lengths, kernel_size, device))
        return computed[-1]

    for module in (model, inference):
        monkeypatch.setattr(module, "lay_out", recorded)
    return computed


def check(layouts: list[Layout], kind: str) -> None:
    """One layout of words, and for long texts one of sentences, all of them on the device."""
    assert len(layouts) == (2 if kind == "long" else 1)
    for layout in layouts:
        tensors = (layout.source, layout.blank, layout.windows, layout.cells, layout.rows)
        assert {values.device for values in tensors} == {DEVICE}


def network(kind: str) -> ICapsNet:
    shares = {"embedding_dropout": 0.3, "dropout": 0.3, "word_dropout": 0.2}
    return build(hierarchical=kind == "long", **shares).to(DEVICE)


@pytest.mark.parametrize("kind", BATCHES)
def test_a_training_step_copies_nothing_from_the_device(kind: str, layouts: list[Layout]) -> None:
    net, batch = network(kind).train(), BATCHES[kind]
    config = TrainConfig(purity_weight=0.1, spread_weight=0.1)
    activity = net(batch)
    labels = torch.zeros(len(activity.class_norms), dtype=torch.int64, device=DEVICE)
    loss = margin_loss(activity.class_norms, labels, config)
    (loss + specialisation_loss(activity.routing, labels, config)).backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.device == DEVICE, name
    assert {values.device for values in activity} == {DEVICE}
    check(layouts, kind)


@pytest.mark.parametrize("kind", BATCHES)
def test_a_lookup_table_is_on_the_device_of_the_network(
    kind: str, layouts: list[Layout], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookup, "MIN_READS", 0)
    net, batch = network(kind).eval(), BATCHES[kind]
    with torch.inference_mode():
        activity = inference._run(net, batch, torch.ones(net.config.num_capsules).to(DEVICE))
    assert net.lookup._entry.table is not None
    assert {values.device for values in activity} == {DEVICE}
    check(layouts, kind)
