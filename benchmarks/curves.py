"""Compares the training losses of the fast network and of the padded one, over several seeds.

    python -m benchmarks.curves [--preset NAME] [--data DATA] [--seeds N] [--steps N] [--json]

For each seed both start from the same weights and train on the same batches, each with its own
dropout. The losses are means over ten steps; the networks agree where the ranges of their seeds
overlap.
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.machine import machine
from benchmarks.reference import PaddedICapsNet, copy_weights, pad
from benchmarks.training import Data, made_data, read_data
from icaps.config import Preset, get_preset
from icaps.model import ICapsNet, margin_loss

MEAN_OF = 10  # steps
LEARNING_RATE = 0.002  # of the shipped models; with the paper's, so few steps learn little


def losses(
    network: nn.Module, preset: Preset, data: Data, steps: int, seed: int, padded: bool
) -> list[float]:
    """The loss of each step of a training."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=LEARNING_RATE)
    order = np.random.default_rng(seed).permutation(len(data.corpus))
    size, step_losses = preset.train.batch_size, []
    network.train()
    for step in range(steps):
        batch = data.corpus.select(order[step * size : (step + 1) * size])
        tokens = batch.tokens()
        norms: Tensor
        norms = network(pad(tokens, preset.model)) if padded else network(tokens).class_norms
        loss = margin_loss(norms, torch.from_numpy(batch.labels), preset.train)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, preset.train.clip_norm)
        optimizer.step()
        step_losses.append(loss.item())
    return step_losses


def compare(preset: Preset, data: Data, seeds: int, steps: int) -> list[dict[str, object]]:
    """A row per ten steps: lowest and highest loss of both networks over the seeds."""
    sides: dict[str, list[list[float]]] = {"icaps": [], "padded": []}
    for seed in range(seeds):
        torch.manual_seed(seed)
        vectors = torch.randn(data.words, preset.model.fixed_dim)
        fast = ICapsNet(preset.model, data.words, data.classes, vectors)
        plain = PaddedICapsNet(preset.model, data.words, data.classes)
        copy_weights(fast, plain)
        for name, network in (("icaps", fast), ("padded", plain)):
            torch.manual_seed(100 + seed)
            sides[name].append(losses(network, preset, data, steps, seed, name == "padded"))
    means = {
        name: np.array(side).reshape(seeds, -1, MEAN_OF).mean(2) for name, side in sides.items()
    }
    lows = {name: values.min(0) for name, values in means.items()}
    highs = {name: values.max(0) for name, values in means.items()}
    return [
        {
            "steps": f"{n * MEAN_OF + 1} to {(n + 1) * MEAN_OF}",
            **{name: f"{lows[name][n]:.4f} to {highs[name][n]:.4f}" for name in means},
            "overlap": bool(
                max(low[n] for low in lows.values()) <= min(high[n] for high in highs.values())
            ),
        }
        for n in range(steps // MEAN_OF)
    ]


def main() -> None:
    """Prints the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="ag_news-short")
    parser.add_argument("--data", help="a path or a name; by default texts are generated")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=60, help=f"a multiple of {MEAN_OF}")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    preset = get_preset(options.preset)
    data = read_data(preset, options.data) if options.data else made_data(preset)
    rows = compare(preset, data, options.seeds, options.steps)
    if options.json:
        print(json.dumps({"rows": rows, "machine": machine()}))
        return
    print("| steps | icaps | padded | overlap |\n|---|---|---|---|")
    for row in rows:
        print("|", " | ".join(map(str, row.values())), "|")


if __name__ == "__main__":
    main()
