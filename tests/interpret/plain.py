"""Section 2.6 over a corpus again, text by text in plain Python: the oracle of the fast counts."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cache

import torch

from icaps.config import VECTOR_STEP, ModelConfig
from icaps.model import ICapsNet
from tests import reference

Document = list[list[int]]  # sentences of word ids
Cell = tuple[int, int]


@dataclass
class Plain:
    """What `Tally` has, as dictionaries from cells."""

    frequency: Counter[Cell] = field(default_factory=Counter)
    right: Counter[Cell] = field(default_factory=Counter)
    routing: Counter[Cell] = field(default_factory=Counter)
    contribution: Counter[Cell] = field(default_factory=Counter)
    words: dict[Cell, Counter[int]] = field(default_factory=dict)
    kgrams: dict[Cell, Counter[tuple[int, ...]]] = field(default_factory=dict)
    typical: dict[Cell, list[tuple[float, int]]] = field(default_factory=dict)


@cache
def weights_of(network: ICapsNet) -> dict[str, torch.Tensor]:
    """All weights, with the words that have a vector alone below the trained words."""
    weights = {name: value.detach().double() for name, value in network.state_dict().items()}
    vectors, trained = weights.pop("vector_words", None), weights["trained_embedding.weight"]
    if vectors is not None:
        fixed = torch.zeros(len(vectors), network.config.fixed_dim, dtype=torch.float64)
        fixed[:, : vectors.shape[1]] = vectors * VECTOR_STEP
        weights["fixed_embedding"] = torch.cat([weights["fixed_embedding"], fixed])
        rows = [trained[row] if row >= 0 else 0 * trained[0] for row in network.trained_rows]
        weights["trained_embedding.weight"] = torch.cat([trained, torch.stack(rows)])
    return weights


def run(network: ICapsNet, document: Document, muted: Collection[int] = ()) -> dict[str, object]:
    config: ModelConfig = network.config
    found = reference.run(
        weights_of(network),
        document,
        config.kernel_size,
        config.routing_iterations,
        config.activation,
        config.squash_primary,
        muted,
    )
    return {name: value.tolist() for name, value in found.items()}


def first_largest(values: Sequence[float]) -> int:
    best = 0
    for n, value in enumerate(values):
        if value > values[best]:
            best = n
    return best


def predict(network: ICapsNet, document: Document, muted: Collection[int] = ()) -> int:
    return first_largest(run(network, document, muted)["norms"])


def interpret(network: ICapsNet, documents: Sequence[Document], labels: Sequence[int]) -> Plain:
    plain = Plain()
    for number, (document, label) in enumerate(zip(documents, labels, strict=True)):
        found = run(network, document)
        j = first_largest(found["norms"])
        betas = [row[j] for row in found["routing"]]
        i = first_largest(betas)
        plain.frequency[j, i] += 1
        plain.right[j, i] += label == j
        output = found["outputs"][j]
        length = sum(x * x for x in output) ** 0.5
        gave = []
        for k, beta in enumerate(betas):
            along = sum(u * c for u, c in zip(found["votes"][k][j], output, strict=True)) / length
            gave.append(beta * along)
            plain.routing[j, k] += beta
            plain.contribution[j, k] += beta * along
        kgram = _kgram(document, found["attention"][i], found["rho"][i], network.config.kernel_size)
        plain.words.setdefault((j, i), Counter()).update(kgram)
        plain.kgrams.setdefault((j, i), Counter())[kgram] += 1
        plain.typical.setdefault((j, i), []).append((gave[i], number))
    for texts in plain.typical.values():
        texts.sort(key=lambda text: (-text[0], text[1]))
    return plain


def _kgram(
    document: Document, alpha: Sequence[float], rho: Sequence[float], kernel_size: int
) -> tuple[int, ...]:
    m = first_largest(rho)
    before = sum(len(sentence) for sentence in document[:m])
    sentence = document[m]
    middle = first_largest(alpha[before : before + len(sentence)])
    window = range(middle - (kernel_size - 1) // 2, middle + 1 + kernel_size // 2)
    return tuple(sentence[n] for n in window if 0 <= n < len(sentence))
