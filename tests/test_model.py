import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from icaps.config import ModelConfig, TrainConfig
from icaps.inference import to_classes
from icaps.model import Activity, ICapsNet, margin_loss, squash
from icaps.nn.packing import lay_out
from icaps.text.batch import TokenBatch
from tests import reference
from tests.tokens import batch_of

SMALL = ModelConfig(
    fixed_dim=4,
    trained_dim=3,
    kernel_size=3,
    region_dim=6,
    query_dim=2,
    class_dim=3,
    embedding_dropout=0.0,
    dropout=0.0,
    word_dropout=0.0,
)
TEXTS = [[2, 3, 4, 5, 6, 7, 3], [8], [9, 2], [5, 5, 5, 5, 5], [3, 11, 10, 1, 4, 2]]
Document = list[list[int]]
DOCUMENTS = [[[2, 3, 4], [5, 6, 7, 3, 9]], [[8]], [[9, 2], [9, 2], [4]], [[3, 11], [10], [1, 4, 2]]]


def build(vocabulary_size: int = 12, num_classes: int = 3, **options: object) -> ICapsNet:
    torch.manual_seed(3)
    config = replace(SMALL, **options)
    vectors = torch.randn(vocabulary_size, config.fixed_dim)
    network = ICapsNet(config, vocabulary_size, num_classes, vectors).double()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.7)  # biases too, so that a lost one is noticed
    return network


def pack(texts: list[list[int]]) -> TokenBatch:
    """Texts of one sentence each."""
    return batch_of([[text] for text in texts])


def pack_documents(documents: list[Document]) -> TokenBatch:
    return batch_of(documents)


def attention_of(network: ICapsNet, documents: list[Document], index: int) -> Tensor:
    lengths = [sum(map(len, document)) for document in documents]
    return network(pack_documents(documents)).attention.split(lengths)[index].T


def sentence_attention_of(network: ICapsNet, documents: list[Document], index: int) -> Tensor:
    counts = [len(document) for document in documents]
    return network(pack_documents(documents)).sentence_attention.split(counts)[index].T


OPTIONS = [
    {},
    {"kernel_size": 1},
    {"kernel_size": 4},
    {"kernel_size": 5, "region_dim": 8, "query_dim": 4, "class_dim": 5},
    {"routing_iterations": 1},
    {"routing_iterations": 5},
    {"activation": "relu"},
    {"activation": "tanh", "squash_primary": True},
    {"scale_votes": True, "squash_primary": True},
    {"trained_dim": 0},
    {"fixed_dim": 0},
    {"hierarchical": True},
    {"hierarchical": True, "kernel_size": 4, "region_dim": 8, "query_dim": 4, "class_dim": 5},
    {"hierarchical": True, "activation": "relu"},
    {"hierarchical": True, "squash_primary": True, "routing_iterations": 2, "trained_dim": 0},
    {"routing": "independent"},
    {"routing": "independent", "scale_votes": True, "squash_primary": True},
    {"routing": "independent", "hierarchical": True, "routing_iterations": 5},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_network_equals_the_equations_forward_and_backward(options: dict[str, object]) -> None:
    network = build(**options)
    texts = DOCUMENTS if network.config.hierarchical else [[text] for text in TEXTS]
    activity = network(pack_documents(texts))
    loss_weights = torch.randn_like(activity.class_norms)
    (activity.class_norms * loss_weights).sum().backward()

    weights = {
        name: tensor.detach().clone().requires_grad_()
        for name, tensor in network.state_dict().items()
    }
    config = network.config
    scale = math.sqrt(network.num_classes / 4) if config.scale_votes else 1.0
    expected = [
        reference.run(
            weights,
            text,
            config.kernel_size,
            config.routing_iterations,
            config.activation,
            config.squash_primary,
            vote_scale=scale,
            independent=config.routing == "independent",
        )
        for text in texts
    ]
    each, detached = np.arange(len(texts)), Activity(*(values.detach() for values in activity))
    by_class = [
        to_classes(detached, each, np.full_like(each, j))[1] for j in range(network.num_classes)
    ]
    added = torch.from_numpy(np.stack(by_class, axis=2)).sum(1)  # (B, J)
    for b, text in enumerate(expected):
        lengths = torch.linalg.vector_norm(text["outputs"], dim=1)  # n^2 / (1 + n^2) of |s_j| = n
        torch.testing.assert_close(added[b], (lengths / (1 - lengths)).sqrt(), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(activity.class_norms[b], text["norms"], rtol=0, atol=1e-9)
        torch.testing.assert_close(activity.routing[b], text["routing"], rtol=0, atol=1e-9)
        agreement = scale * torch.einsum("ijc,jc->ij", text["votes"], text["outputs"])
        torch.testing.assert_close(activity.agreement[b], agreement, rtol=0, atol=1e-9)
        torch.testing.assert_close(activity.primary_capsules[b], text["primary"], rtol=0, atol=1e-9)
        torch.testing.assert_close(
            attention_of(network, texts, b), text["attention"], rtol=0, atol=1e-9
        )
        torch.testing.assert_close(
            sentence_attention_of(network, texts, b), text["rho"], rtol=0, atol=1e-9
        )
    sum((text["norms"] * loss_weights[b]).sum() for b, text in enumerate(expected)).backward()
    for name, parameter in network.named_parameters():
        torch.testing.assert_close(parameter.grad, weights[name].grad, rtol=0, atol=1e-9, msg=name)


@pytest.mark.parametrize(
    "options",
    [{}, {"squash_primary": True}, {"hierarchical": True}],
    ids=str,
)
def test_gradcheck(options: dict[str, object]) -> None:
    network = build(**options)
    names, values = zip(*network.named_parameters(), strict=True)
    batch = pack_documents(DOCUMENTS[:3] if network.config.hierarchical else [[TEXTS[0]], [[8]]])

    def norms(*tensors: Tensor) -> Tensor:
        return torch.func.functional_call(
            network, dict(zip(names, tensors, strict=True)), (batch,)
        ).class_norms

    checked = [i for i, name in enumerate(names) if name != "trained_embedding.weight"]
    inputs = [v.detach().requires_grad_(i in checked) for i, v in enumerate(values)]
    assert torch.autograd.gradcheck(norms, inputs, atol=1e-7)


def test_capsules_are_switched_off_for_all_texts_or_per_text() -> None:
    network = build()
    primary = network(pack(TEXTS)).primary_capsules
    masks = torch.tensor([[1.0, 0, 1], [1, 1, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0]]).double()
    together = network.capsules(primary, masks)
    for n, mask in enumerate(masks):
        alone = network.capsules(primary[[n]], mask)
        switched_on = mask.bool()
        for actual, expected in zip(together, alone, strict=True):
            torch.testing.assert_close(actual[[n]], expected, rtol=0, atol=1e-12)
        assert (alone.routing[:, ~switched_on] == 0).all()
        assert (alone.routing[:, switched_on].sum(2) - 1).abs().max() < 1e-12  # eq. 9


@pytest.mark.parametrize("hierarchical", [False, True])
def test_a_text_is_the_same_alone_and_in_any_batch(hierarchical: bool) -> None:
    network = build(hierarchical=hierarchical).float()
    texts = DOCUMENTS if hierarchical else [[text] for text in TEXTS]
    empty: Document = [] if hierarchical else [[]]
    together = network(pack_documents(texts))
    for b, text in enumerate(texts):
        for batch, index in (([text], 0), ([[[7] * 40], empty, text, [[2]]], 2)):
            alone = network(pack_documents(batch))
            torch.testing.assert_close(
                alone.class_norms[index], together.class_norms[b], rtol=0, atol=1e-6
            )
            for weights_of in (attention_of, sentence_attention_of):
                torch.testing.assert_close(
                    weights_of(network, batch, index),
                    weights_of(network, texts, b),
                    rtol=0,
                    atol=1e-6,
                )


def test_empty_texts_are_finite_and_attention_sums_to_one() -> None:
    network = build()
    activity = network(pack([[], [2, 3], []]))
    assert torch.isfinite(activity.class_norms).all()
    assert activity.primary_capsules[0].abs().max() == 0
    torch.testing.assert_close(activity.attention.sum(0), torch.ones(3).double())
    torch.testing.assert_close(activity.routing.sum(2), torch.ones(3, 3).double())
    assert network(pack([[], []])).attention.shape == (0, 3)


def test_empty_documents_are_finite_and_have_no_sentence_to_attend_to() -> None:
    network = build(hierarchical=True)
    activity = network(pack_documents([[], [[2, 3], [4]], []]))
    activity.class_norms.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in network.parameters())
    assert activity.primary_capsules[[0, 2]].abs().max() == 0
    torch.testing.assert_close(activity.sentence_attention.sum(0), torch.ones(3).double())
    nothing = network(pack_documents([[], []]))
    assert nothing.sentence_attention.shape == (0, 3)
    assert torch.isfinite(nothing.class_norms).all()


def test_a_document_of_one_sentence_by_hand() -> None:
    """rho is 1, so pc_i is the sentence's embedding through the second value weight."""
    network = build(hierarchical=True)
    short = build()
    short.load_state_dict(network.state_dict(), strict=False)
    one = network(pack([TEXTS[0]]))
    assert (one.sentence_attention == 1).all()
    embedding = short(pack([TEXTS[0]])).primary_capsules[0]
    expected = torch.einsum("ipd,id->ip", network.attention.sentence_value_weight, embedding)
    torch.testing.assert_close(one.primary_capsules[0], expected)


def test_huge_scores_do_not_overflow() -> None:
    network = build().float()
    network.attention.primary_queries.data *= 1e6
    assert torch.isfinite(network(pack(TEXTS)).class_norms).all()


def test_squash_by_hand_and_at_zero() -> None:
    x = torch.tensor([[3.0, 4.0], [0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    y = squash(x)
    torch.testing.assert_close(y[0], torch.tensor([3.0, 4.0]).double() * 5 / 26)
    assert y[1].tolist() == [0, 0]
    torch.linalg.vector_norm(y, dim=1).sum().backward()
    assert torch.isfinite(x.grad).all()


def test_word_dropout_reads_words_as_unknown_only_in_training() -> None:
    network = build(word_dropout=0.9)
    network.eval()
    assert torch.equal(network(pack(TEXTS)).class_norms, network(pack(TEXTS)).class_norms)
    network.train()
    torch.manual_seed(0)
    ids = network._drop_words(torch.full((10_000,), 5))
    assert set(ids.tolist()) == {1, 5}
    assert abs((ids == 1).double().mean() - 0.9) < 0.02


def test_the_fixed_part_is_frozen() -> None:
    network = build()
    network(pack(TEXTS)).class_norms.sum().backward()
    assert "fixed_embedding" not in dict(network.named_parameters())
    assert not network.fixed_embedding.requires_grad


def test_initial_weights_have_the_documented_spread() -> None:
    config = replace(SMALL, region_dim=256, query_dim=16, class_dim=16, hierarchical=True)
    torch.manual_seed(0)
    network = ICapsNet(config, 400, 5)
    assert not network.fixed_embedding.any()
    assert not network.region.bias.any()
    assert not network.capsules.capsule_bias.any()
    assert torch.equal(network.attention.sentence_value_weight, torch.eye(16).expand(16, 16, 16))
    # K = 3 words of 4 + 3 numbers each, so that the bound is 1 / sqrt(21).
    for weight, bound in (
        (network.trained_embedding.weight, 0.25),
        (network.region.weight, 1 / 21**0.5),
    ):
        assert -bound <= weight.min() < -0.98 * bound
        assert 0.98 * bound < weight.max() <= bound
    for weight, spread in (
        (network.attention.primary_queries, 1),
        (network.attention.key_weight, 1 / 16),
        (network.attention.value_weight, 1 / 16),
        (network.attention.sentence_key_weight, 1 / 4),
        (network.capsules.capsule_weight, 1 / 4),
    ):
        assert weight.std().item() == pytest.approx(spread, rel=0.15)
        assert abs(weight.mean()) < 0.15 * spread


def test_dropout_spares_no_part_of_embeddings_and_acts_in_training_alone() -> None:
    network = build(kernel_size=1, region_dim=8, embedding_dropout=0.5, dropout=0.25)
    with torch.no_grad():
        network.fixed_embedding.fill_(1)
        network.trained_embedding.weight.fill_(1)
        network.region.weight.copy_(torch.eye(7, 8))
        network.region.bias.fill_(3)
    words = torch.full((2000,), 5)
    network.eval()
    assert (network.project_words(words)[:, 0, :7] == 1).all()
    network.train()
    parts = network.project_words(words)[:, 0, :7].split([4, 3], dim=1)
    for part in parts:
        assert set(part.unique().tolist()) == {0, 2}
        assert part.mean().item() == pytest.approx(1, abs=0.1)
    layout = lay_out(np.array([3] * 2000), 1)
    torch.nn.init.zeros_(network.region.weight)
    regions = network.embed_regions(torch.arange(6000) % 12, layout)
    assert set(regions.unique().tolist()) == {0, 4}  # the bias of 3 over 1 - 0.25, or nothing
    assert regions.mean().item() == pytest.approx(3, abs=0.1)
    network.eval()
    assert (network.embed_regions(torch.tensor([1, 2, 3]), lay_out(np.array([3]), 1)) == 3).all()


def test_margin_loss_by_hand() -> None:
    norms = torch.tensor([[0.8, 0.3], [0.95, 0.05]])
    # (0.9 - 0.8)^2 + 0.5 (0.3 - 0.1)^2 = 0.03; second text: (0.9 - 0.05)^2 + 0.5 (0.95 - 0.1)^2
    expected = (0.03 + 0.85**2 + 0.5 * 0.85**2) / 2
    loss = margin_loss(norms, torch.tensor([0, 1]), TrainConfig())
    assert loss.item() == pytest.approx(expected, abs=1e-6)


def test_margin_loss_of_several_labels_by_hand() -> None:
    """A text of the first and the third class, and one of none."""
    norms = torch.tensor([[0.8, 0.3, 0.2], [0.05, 0.6, 0.1]])
    targets = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    # (0.9 - 0.8)^2 + 0.5 (0.3 - 0.1)^2 + (0.9 - 0.2)^2, and 0.5 (0.6 - 0.1)^2
    first, second = 0.01 + 0.5 * 0.04 + 0.49, 0.5 * 0.25
    loss = margin_loss(norms, targets, TrainConfig())
    assert loss.item() == pytest.approx((first + second) / 2, abs=1e-6)
    weights = torch.tensor([[1.0, 1.0, 3.0], [1.0, 1.0, 1.0]])  # of a text's classes alone
    weighted = margin_loss(norms, targets, TrainConfig(), weights)
    assert weighted.item() == pytest.approx((first + 2 * 0.49 + second) / 2, abs=1e-6)


def test_the_loss_of_one_label_per_text_does_not_depend_on_its_form() -> None:
    norms, labels = torch.rand(6, 4), torch.tensor([0, 3, 1, 1, 2, 0])
    one_hot = torch.nn.functional.one_hot(labels, 4).float()
    config = TrainConfig()
    assert margin_loss(norms, labels, config) == margin_loss(norms, one_hot, config)


@pytest.mark.parametrize("classes", [2, 3, 20])
def test_independent_routing_starts_as_routing_over_classes(classes: int) -> None:
    """And a weight for one class does not depend on the votes for the others."""
    networks = [build(num_classes=classes, routing=kind) for kind in ("classes", "independent")]
    for network in networks:
        network.capsules.iterations = 1
    batch = pack(TEXTS)
    over_classes, independent = (network(batch) for network in networks)
    torch.testing.assert_close(over_classes.class_norms, independent.class_norms)
    assert independent.routing.allclose(torch.tensor(1 / classes, dtype=torch.float64))
    layer = networks[1].capsules
    layer.iterations = 3
    before = layer(independent.primary_capsules)
    with torch.no_grad():
        layer.capsule_weight[1:] *= 2
    after = layer(independent.primary_capsules)
    torch.testing.assert_close(before.class_capsules[:, 0], after.class_capsules[:, 0])
    assert not before.class_capsules[:, 1].allclose(after.class_capsules[:, 1])
