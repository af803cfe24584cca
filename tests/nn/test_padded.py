"""The network against one that pads its texts, with all of its own code: `benchmarks.reference`."""

import pytest
import torch

from benchmarks.reference import PaddedICapsNet, copy_weights, pad
from icaps.config import TrainConfig
from icaps.model import margin_loss
from icaps.text.batch import TokenBatch
from tests.test_model import DOCUMENTS, TEXTS, build, pack, pack_documents

CASES: dict[str, tuple[TokenBatch, dict[str, object]]] = {
    "short": (pack(TEXTS), {"max_words": 9}),
    "even kernel": (pack(TEXTS), {"max_words": 9, "kernel_size": 4}),
    "squashed": (pack(TEXTS), {"max_words": 9, "squash_primary": True}),
    "long": (pack_documents(DOCUMENTS), {"max_words": 6, "max_sentences": 4, "hierarchical": True}),
}


@pytest.mark.parametrize("name", CASES)
def test_packed_is_padded(name: str) -> None:
    """The same norms, and the same gradients of the margin loss."""
    batch, options = CASES[name]
    network = build(**options)
    reference = PaddedICapsNet(network.config, 12, 3).double()
    copy_weights(network, reference)
    labels = torch.arange(len(batch)) % 3
    norms = reference(pad(batch, network.config))
    actual = network(batch).class_norms
    assert torch.allclose(actual, norms, atol=1e-12)
    for values in (norms, actual):
        margin_loss(values, labels, TrainConfig()).backward()
    gradients = {n: p.grad for n, p in reference.named_parameters() if p.grad is not None}
    pairs = {
        "trained_embedding.weight": network.trained_embedding.weight.grad,
        "queries": network.attention.primary_queries.grad,
        "keys": network.attention.key_weight.grad,
        "values": network.attention.value_weight.grad,
        "weight": network.capsules.capsule_weight.grad,
        "bias": network.capsules.capsule_bias.grad,
    }
    for part, gradient in pairs.items():
        assert gradient is not None
        assert gradient.abs().max() > 0
        assert torch.allclose(gradient, gradients[part], atol=1e-12), part
    convolution = network.region.weight.grad
    assert convolution is not None
    assert torch.allclose(convolution.permute(2, 1, 0), gradients["convolution.weight"], atol=1e-12)
