"""The three networks beside plain loops over single numbers, in float64."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from icaps.baselines.networks import CapsNet, RegionEmbeddings, WordCNN

Network = WordCNN | RegionEmbeddings | CapsNet
TEXTS = [[3, 1, 4, 2, 5, 4, 3], [2, 2, 5], [6], [], [4, 6, 1, 1]]
WORDS, CLASSES = 7, 3


def made(kind: type[Network], **sizes: int) -> Network:
    torch.manual_seed(3)
    network = kind(WORDS, CLASSES, **sizes).double().eval()
    with torch.no_grad():
        for name, weight in network.named_parameters():
            if name.endswith("bias"):  # zero ones would hide where they count
                weight.normal_()
    return network


def small(kind: type[Network]) -> Network:
    if kind is WordCNN:
        return made(kind, dim=4, filters=3)
    if kind is RegionEmbeddings:
        return made(kind, dim=4, c=2)
    sizes = {"dim": 4, "filters": 5, "channels": 2, "primary_dim": 3, "class_dim": 4}
    return made(kind, **sizes)


def numbers(network: Network, name: str) -> np.ndarray:
    return network.get_parameter(name).detach().numpy()


def padded(texts: list[list[int]], longer: int = 0) -> Tensor:
    width = max(map(len, texts)) + longer
    return torch.tensor([text + [0] * (width - len(text)) for text in texts])


def convolved(
    rows: list[np.ndarray], weight: np.ndarray, bias: np.ndarray, middle: int
) -> np.ndarray:
    """A convolution's output where the window's column `width // 2` lies at `middle`."""
    filters, _, width = weight.shape
    out = bias.copy()
    for k in range(width):
        place = middle + k - width // 2
        if 0 <= place < len(rows):
            for f in range(filters):
                out[f] += float(np.dot(weight[f, :, k], rows[place]))
    return out


def word_cnn(network: Network, text: list[int]) -> np.ndarray:
    table = numbers(network, "embedding.weight")
    rows = [table[word] for word in text]
    pooled = []
    for n in range(3):
        weight, bias = (numbers(network, f"convolutions.{n}.{p}") for p in ("weight", "bias"))
        values = [convolved(rows, weight, bias, place) for place in range(len(text))]
        pooled += [max([0.0, *(v[f] for v in values)]) for f in range(weight.shape[0])]
    return numbers(network, "classes.weight") @ pooled + numbers(network, "classes.bias")


def region_embeddings(network: Network, text: list[int]) -> np.ndarray:
    table, units = numbers(network, "embedding.weight"), numbers(network, "units.weight")
    dim, c = table.shape[1], 2
    total = np.zeros(dim)
    for i, word in enumerate(text):
        columns = units[word].reshape(2 * c + 1, dim)
        for d in range(dim):
            seen = []
            for t in range(-c, c + 1):
                inside = 0 <= i + t < len(text)
                seen.append(columns[c + t, d] * table[text[i + t], d] if inside else 0.0)
            total[d] += max(seen)
    return numbers(network, "classes.weight") @ total + numbers(network, "classes.bias")


def squashed(vector: np.ndarray) -> np.ndarray:
    length = math.sqrt(float(vector @ vector))
    return vector * (length / (1 + length**2))


def capsules(network: Network, text: list[int]) -> np.ndarray:
    table, votes = numbers(network, "embedding.weight"), numbers(network, "votes")
    first, second = (
        [numbers(network, f"{layer}.{part}") for part in ("weight", "bias")]
        for layer in ("ngrams", "primary")
    )
    rows = [table[word] for word in text]
    ngrams = [np.maximum(convolved(rows, *first, place), 0) for place in range(len(text))]
    given = []
    for place in range(0, len(text), 2):
        values = convolved(ngrams, *second, place).reshape(votes.shape[0], -1)
        for channel, value in enumerate(values):
            given.append([votes[channel, j] @ squashed(value) for j in range(CLASSES)])
    logits = np.zeros((len(given), CLASSES))
    found = [np.zeros(votes.shape[2])] * CLASSES
    for _ in range(3):
        shares = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        found = [
            squashed(sum((shares[i, j] * v[j] for i, v in enumerate(given)), 0 * found[j]))
            for j in range(CLASSES)
        ]
        logits += np.array([[v[j] @ found[j] for j in range(CLASSES)] for v in given]).reshape(
            logits.shape
        )
    return np.array([math.sqrt(float(v @ v)) for v in found])


PLAIN = {WordCNN: word_cnn, RegionEmbeddings: region_embeddings, CapsNet: capsules}


@pytest.mark.parametrize("kind", PLAIN)
def test_it_is_what_its_paper_says(kind: type[Network]) -> None:
    network = small(kind)
    scores = network(padded(TEXTS)).detach().numpy()
    for text, row in zip(TEXTS, scores, strict=True):
        assert row == pytest.approx(PLAIN[kind](network, text), abs=1e-12), text
    assert np.ptp(scores[0]) > 1e-3  # classes differ, so that something was compared


@pytest.mark.parametrize("kind", PLAIN)
def test_padding_changes_nothing(kind: type[Network]) -> None:
    network = small(kind)
    alone = torch.cat([network(padded([text], not text)) for text in TEXTS])
    for longer in (0, 1, 4, 9):
        assert torch.allclose(network(padded(TEXTS, longer)), alone, atol=1e-12)


@pytest.mark.parametrize("kind", PLAIN)
def test_padding_learns_nothing(kind: type[Network]) -> None:
    network = small(kind).train()
    network(padded(TEXTS, 2)).square().sum().backward()
    gradient = network.get_parameter("embedding.weight").grad
    assert gradient is not None
    found = gradient.to_dense()
    assert not found[0].any()
    assert all(found[word].any() for word in (1, 2, 3, 4, 5, 6))


def test_capsules_do_not_grow_out_of_bounds() -> None:
    norms = small(CapsNet)(padded(TEXTS))
    assert norms.min() >= 0
    assert norms.max() < 1
    assert norms[3].tolist() == [0, 0, 0]  # of a text without words
