"""The network again, as plain loops over the paper's equations: the oracle of `icaps.model`.

It takes nothing from `icaps.model`. Scalars and small vectors of float64 tensors, so that
autograd gives gradients to compare as well.
"""

import math
from collections.abc import Collection

import torch
from torch import Tensor

Weights = dict[str, Tensor]


def embed(weights: Weights, ids: list[int]) -> list[Tensor]:
    """e_1..e_N of section 2.2: the fixed part, then the trained part."""
    return [
        torch.cat([weights["fixed_embedding"][i], weights["trained_embedding.weight"][i]])
        for i in ids
    ]


def convolve(weights: Weights, embeddings: list[Tensor], kernel_size: int) -> list[Tensor]:
    """w_1..w_N: 1-D convolution with zero padding."""
    regions = []
    left = (kernel_size - 1) // 2
    for n in range(len(embeddings)):
        region = weights["region.bias"].clone()
        for k in range(kernel_size):
            position = n + k - left
            if 0 <= position < len(embeddings):
                region = region + weights["region.weight"][k].T @ embeddings[position]
        regions.append(region)
    return regions


def attend(weights: Weights, regions: list[Tensor], i: int) -> tuple[Tensor, list[Tensor]]:
    """pc_i and alpha^i_n of equations 1 to 4."""
    query = weights["attention.primary_queries"][i]
    values, exponents = [], []
    for region in regions:
        values.append(weights["attention.value_weight"][i] @ region)
        key = weights["attention.key_weight"][i] @ region
        exponents.append(torch.exp(query @ key / math.sqrt(len(query))))
    capsule = torch.zeros(weights["attention.value_weight"].shape[1], dtype=torch.float64)
    attention = [exponent / sum(exponents) for exponent in exponents]
    for weight, value in zip(attention, values, strict=True):
        capsule = capsule + weight * value
    return capsule, attention


def attend_document(
    weights: Weights, sentences: list[list[Tensor]], i: int
) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """pc_i, alpha^i of all words in their order, and rho^i_m, of section 2.5."""
    query = weights["attention.primary_queries"][i]
    embeddings, attention, values, exponents = [], [], [], []
    for regions in sentences:
        embedding, alpha = attend(weights, regions, i)  # s^i_m
        embeddings.append(embedding)
        attention += alpha
    for embedding in embeddings:
        values.append(weights["attention.sentence_value_weight"][i] @ embedding)
        key = weights["attention.sentence_key_weight"][i] @ embedding
        exponents.append(torch.exp(query @ key / math.sqrt(len(query))))
    rho = [exponent / sum(exponents) for exponent in exponents]
    capsule = torch.zeros_like(query)
    for weight, value in zip(rho, values, strict=True):
        capsule = capsule + weight * value
    return capsule, attention, rho


def squash(x: Tensor) -> Tensor:
    """Equation 6, as printed."""
    square = (x * x).sum()
    return square / (1 + square) * x / torch.sqrt(square)


def route(
    votes: list[list[Tensor]],
    iterations: int,
    vote_scale: float = 1.0,
    independent: bool = False,
) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Algorithm 1: class capsules, and the beta that formed them; the sums may have a factor.

    With independent routing beta_ij is exp(b_ij) / (exp(b_ij) + J - 1).
    """
    capsules, classes = range(len(votes)), range(len(votes[0]))
    b = [[torch.zeros((), dtype=torch.float64) for _ in classes] for _ in capsules]
    for _ in range(iterations):
        beta = []
        for i in capsules:
            if independent:
                others = len(classes) - 1
                beta.append([torch.exp(b[i][j]) / (torch.exp(b[i][j]) + others) for j in classes])
                continue
            total = sum(torch.exp(b[i][j]) for j in classes)
            beta.append([torch.exp(b[i][j]) / total for j in classes])
        sums = [sum(beta[i][j] * votes[i][j] for i in capsules) for j in classes]
        outputs = [squash(vote_scale * total) for total in sums]
        b = [[b[i][j] + votes[i][j] @ outputs[j] for j in classes] for i in capsules]
    return outputs, beta


def run(
    weights: Weights,
    sentences: list[list[int]],
    kernel_size: int,
    iterations: int,
    activation: str = "none",
    squash_primary: bool = False,
    muted: Collection[int] = (),
    vote_scale: float = 1.0,
    independent: bool = False,
) -> dict[str, Tensor]:
    """One text through it: norms (J,), routing (I, J), attention (I, N), primary (I, d_p).

    Capsules of `muted` have votes of zero. A text of one sentence without weights for sentences is
    read as section 2.3 says; any other as section 2.5 says, with rho (I, M) as well.
    """
    functions = {"none": lambda x: x, "relu": torch.relu, "tanh": torch.tanh}
    regions = [
        [functions[activation](r) for r in convolve(weights, embed(weights, ids), kernel_size)]
        for ids in sentences
    ]
    heads = range(len(weights["attention.primary_queries"]))
    if "attention.sentence_key_weight" in weights:
        attended = [attend_document(weights, regions, i) for i in heads]
    else:
        one = [torch.ones((), dtype=torch.float64)]
        attended = [(*attend(weights, regions[0], i), one) for i in heads]
    primary = [squash(capsule) if squash_primary else capsule for capsule, _, _ in attended]
    weight, bias = weights["capsules.capsule_weight"], weights["capsules.capsule_bias"]
    votes = [
        [(weight[j] @ primary[i] + bias[i][j]) * (i not in muted) for j in range(bias.shape[1])]
        for i in heads
    ]
    outputs, beta = route(votes, iterations, vote_scale, independent)
    return {
        "norms": torch.stack([torch.sqrt((output * output).sum()) for output in outputs]),
        "routing": torch.stack([torch.stack(row) for row in beta]),
        "attention": torch.stack([torch.stack(alpha) for _, alpha, _ in attended]),
        "rho": torch.stack([torch.stack(rho) for _, _, rho in attended]),
        "primary": torch.stack(primary),
        "votes": torch.stack([torch.stack(row) for row in votes]),
        "outputs": torch.stack(outputs),
    }


def account(
    weights: Weights,
    sentences: list[list[int]],
    kernel_size: int,
    iterations: int,
    activation: str = "none",
    squash_primary: bool = False,
    muted: Collection[int] = (),
    vote_scale: float = 1.0,
    independent: bool = False,
) -> tuple[Tensor, Tensor]:
    """The split of each class norm over words (W, I, J), and what is left of it (J, I).

    By the equations at the head of `icaps.interpret.account`, one term at a time.
    """
    functions = {"none": lambda x: x, "relu": torch.relu, "tanh": torch.tanh}
    result = run(
        weights,
        sentences,
        kernel_size,
        iterations,
        activation,
        squash_primary,
        muted,
        vote_scale,
        independent,
    )
    beta, votes = result["routing"], result["votes"]
    capsules, classes = range(votes.shape[0]), range(votes.shape[1])
    left = (kernel_size - 1) // 2
    shares = torch.zeros(sum(map(len, sentences)), len(capsules), len(classes), dtype=torch.float64)
    bias = torch.zeros(len(classes), len(capsules), dtype=torch.float64)
    for j in classes:
        s = vote_scale * sum(beta[i][j] * votes[i][j] for i in capsules)
        length = torch.sqrt(s @ s)
        unit, scale = s / length, length / (1 + length**2)
        for i in capsules:
            if i in muted:
                continue
            factor = scale * vote_scale * beta[i][j]
            value_weight = weights["attention.value_weight"][i]
            if "attention.sentence_value_weight" in weights:
                value_weight = weights["attention.sentence_value_weight"][i] @ value_weight
            pooled = torch.zeros(len(value_weight), dtype=torch.float64)  # pc_i before its squash
            terms, first = [], 0  # (word, what it adds to pc_i)
            for m, ids in enumerate(sentences):
                regions = convolve(weights, embed(weights, ids), kernel_size)
                for n, region in enumerate(regions):
                    weight = result["attention"][i][first + n] * result["rho"][i][m]
                    value = functions[activation](region)
                    pooled = pooled + weight * (value_weight @ value)
                    if activation != "none":
                        terms.append((first + n, weight * (value_weight @ value)))
                        continue
                    for k in range(kernel_size):
                        word = n + k - left
                        if 0 <= word < len(ids):
                            (embedding,) = embed(weights, [ids[word]])
                            part = weights["region.weight"][k].T @ embedding
                            terms.append((first + word, weight * (value_weight @ part)))
                first += len(ids)
            norm = torch.sqrt(pooled @ pooled)
            g = norm / (1 + norm**2) if squash_primary else 1.0
            project = weights["capsules.capsule_weight"][j]
            for word, term in terms:
                shares[word, i, j] += factor * g * (unit @ (project @ term))
            bias[j, i] = factor * (unit @ weights["capsules.capsule_bias"][i][j])
            if activation == "none":
                rho = sum(result["rho"][i][m] for m, ids in enumerate(sentences) if ids)
                constant = value_weight @ weights["region.bias"]
                bias[j, i] += factor * g * rho * (unit @ (project @ constant))
    return shares, bias
