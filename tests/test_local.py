"""Section 2.6 on a network whose weights are set by hand, so that each K-gram is known."""

import pytest
import torch

from icaps.config import ModelConfig
from icaps.errors import ConfigError
from icaps.interpret.local import Spotted, cover, spot_kgrams
from icaps.layers import Packed
from icaps.model import ICapsNet

ROUTING = torch.tensor([[0.2, 0.8], [0.7, 0.3], [0.7, 0.3], [0.5, 0.5]])
ATTENTION = torch.tensor(
    [[0.1, 0.2, 0.0, 0.3], [0.4, 0.2, 0.1, 0.3], [0.4, 0.5, 0.1, 0.3], [0.1, 0.1, 0.8, 0.1]]
)


def test_the_most_routed_capsules_and_their_most_attended_words() -> None:
    assert spot_kgrams(ROUTING, ATTENTION, 1, 3, 2, 2) == [
        Spotted(capsule=0, position=1, first=0, last=3),  # 0.4, a tie with word 2: earlier first
        Spotted(capsule=0, position=2, first=1, last=4),
        Spotted(capsule=3, position=0, first=0, last=2),  # clipped at the start
        Spotted(capsule=3, position=1, first=0, last=3),
    ]


def test_ties_between_capsules_go_to_the_lower_number() -> None:
    spotted = spot_kgrams(ROUTING, ATTENTION, 0, 3, 2, 1)
    assert [(kgram.capsule, kgram.position) for kgram in spotted] == [(1, 2), (2, 3)]
    assert spotted[1] == Spotted(2, 3, 2, 4)  # clipped at the end


def test_overlaps_are_counted() -> None:
    spotted = spot_kgrams(ROUTING, ATTENTION, 1, 3, 2, 2)
    assert cover(spotted, 4) == [3, 4, 3, 1]


def test_an_even_window_looks_further_right_as_the_convolution_does() -> None:
    (kgram,) = spot_kgrams(ROUTING, ATTENTION, 1, 2, 1, 1)
    assert (kgram.first, kgram.last) == (1, 3)


def test_more_than_there_is_means_all() -> None:
    assert len(spot_kgrams(ROUTING, ATTENTION, 0, 3, 99, 99)) == 16
    assert spot_kgrams(ROUTING, ATTENTION[:0], 0, 3, 2, 2) == []
    with pytest.raises(ConfigError, match="at least 1"):
        spot_kgrams(ROUTING, ATTENTION, 0, 3, 0, 2)


def test_a_network_set_by_hand_attends_where_it_should() -> None:
    """Capsule 0 looks for word 2 and votes class 0; capsule 1 for word 3 and votes class 1."""
    config = ModelConfig(
        fixed_dim=0,
        trained_dim=2,
        kernel_size=3,
        region_dim=2,
        query_dim=1,
        class_dim=2,
        embedding_dropout=0,
        dropout=0,
        word_dropout=0,
    )
    network = ICapsNet(config, 5, 2).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.trained_embedding.weight[2] = torch.tensor([1.0, 0.0])
        network.trained_embedding.weight[3] = torch.tensor([0.0, 1.0])
        network.region.weight[1] = torch.eye(2)  # the middle slice alone
        network.attention.primary_queries[:] = 4
        network.attention.key_weight[:, 0] = torch.eye(2)
        network.attention.value_weight[0, 0, 0] = 3
        network.attention.value_weight[1, 0, 1] = 3
        network.capsules.capsule_bias[0, 0, 0] = 4
        network.capsules.capsule_bias[1, 1, 1] = 4
        activity = network(Packed(torch.tensor([4, 2, 4, 4, 3]), torch.tensor([5])))
    e4 = torch.tensor(4.0).exp()
    torch.testing.assert_close(activity.attention[:, 0], torch.tensor([1, e4, 1, 1, 1]) / (e4 + 4))
    assert spot_kgrams(activity.routing[0], activity.attention, 0, 3, 1, 1) == [Spotted(0, 1, 0, 3)]
    assert spot_kgrams(activity.routing[0], activity.attention, 1, 3, 1, 1) == [Spotted(1, 4, 3, 5)]
