"""The network again, as plain loops over the paper's equations: the oracle of the fast layers.

It takes nothing from `icaps.layers`. Scalars and small vectors of float64 tensors, so that
autograd gives gradients to compare as well.
"""

import math

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


def squash(x: Tensor) -> Tensor:
    """Equation 6, as printed."""
    square = (x * x).sum()
    return square / (1 + square) * x / torch.sqrt(square)


def route(votes: list[list[Tensor]], iterations: int) -> tuple[list[Tensor], list[list[Tensor]]]:
    """Algorithm 1: class capsules, and the beta that formed them."""
    capsules, classes = range(len(votes)), range(len(votes[0]))
    b = [[torch.zeros((), dtype=torch.float64) for _ in classes] for _ in capsules]
    for _ in range(iterations):
        beta = []
        for i in capsules:
            total = sum(torch.exp(b[i][j]) for j in classes)
            beta.append([torch.exp(b[i][j]) / total for j in classes])
        outputs = [squash(sum(beta[i][j] * votes[i][j] for i in capsules)) for j in classes]
        b = [[b[i][j] + votes[i][j] @ outputs[j] for j in classes] for i in capsules]
    return outputs, beta


def run(
    weights: Weights,
    ids: list[int],
    kernel_size: int,
    iterations: int,
    activation: str = "none",
    squash_primary: bool = False,
) -> dict[str, Tensor]:
    """One text through it: norms (J,), routing (I, J), attention (I, N), primary (I, d_p)."""
    functions = {"none": lambda x: x, "relu": torch.relu, "tanh": torch.tanh}
    regions = convolve(weights, embed(weights, ids), kernel_size)
    regions = [functions[activation](region) for region in regions]
    heads = [attend(weights, regions, i) for i in range(len(weights["attention.primary_queries"]))]
    primary = [squash(capsule) if squash_primary else capsule for capsule, _ in heads]
    weight, bias = weights["capsules.capsule_weight"], weights["capsules.capsule_bias"]
    votes = [
        [
            (weight[j] if weight.dim() == 3 else weight[i][j]) @ primary[i] + bias[i][j]
            for j in range(bias.shape[1])
        ]
        for i in range(len(primary))
    ]
    outputs, beta = route(votes, iterations)
    return {
        "norms": torch.stack([torch.sqrt((output * output).sum()) for output in outputs]),
        "routing": torch.stack([torch.stack(row) for row in beta]),
        "attention": torch.stack([torch.stack(weights) for _, weights in heads]),
        "primary": torch.stack(primary),
    }
