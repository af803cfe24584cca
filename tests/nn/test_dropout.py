"""Dropout of numbers from random bytes, and of words."""

import numpy as np
import pytest
import torch

from icaps.nn.dropout import dropout, dropped_words


def test_dropout_keeps_the_mean_and_the_share() -> None:
    torch.manual_seed(1)
    values = torch.ones(400, 500)
    dropped = dropout(values, 0.3, training=True)
    assert np.unique(dropped.numpy()).tolist() == pytest.approx([0, 256 / 179])
    assert (dropped == 0).double().mean().item() == pytest.approx(77 / 256, abs=0.004)
    assert dropped.double().mean().item() == pytest.approx(1, abs=0.006)


def test_dropout_follows_the_seed_and_its_gradient_the_mask() -> None:
    values = torch.randn(31, 7, requires_grad=True)
    torch.manual_seed(5)
    first, second = dropout(values, 0.5, True), dropout(values, 0.5, True)
    torch.manual_seed(5)
    again = dropout(values, 0.5, True)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)
    first.sum().backward()
    assert values.grad is not None
    assert torch.equal(values.grad, (first != 0).float() * 2)
    assert dropout(values, 0.5, training=False) is values
    assert dropout(values, 0.0, training=True) is values
    assert dropout(torch.zeros(0, 3), 0.5, training=True).shape == (0, 3)
    assert 0 < (dropout(torch.ones(100_000), 0.0001, True) == 0).sum() < 1_000


def test_a_share_of_the_words_is_dropped_but_never_a_whole_sentence() -> None:
    lengths = torch.tensor([10, 0, 1, 4] * 2_000)
    shares = torch.tensor([0.3, 1.0, 1.0, 1.0] * 2_000)
    dropped = dropped_words(lengths, shares, torch.Generator().manual_seed(0))
    counts = torch.stack([part.sum() for part in dropped.split(lengths.tolist())])
    tens = counts[lengths == 10].double()
    assert abs(tens.mean() - 0.3 * 9) < 0.1  # one stays, and the others go independently
    assert abs(tens.var() - 9 * 0.3 * 0.7) < 0.15
    assert set(counts[lengths == 4].tolist()) == {3}
    assert not counts[lengths <= 1].any()
    places = dropped.split(lengths.tolist())[3::4]
    assert {int((~part).nonzero()) for part in places} == {0, 1, 2, 3}  # any one stays
