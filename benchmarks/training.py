"""Training speed in texts per second, compared with the padded network and two peers.

    python -m benchmarks.training [--preset NAME] [--data DATA] [--quick] [--json]

All networks train on the same batches, of the preset's size, in turns in one process; the time of a
network is the median of its rounds. Without --data the texts are generated: words as frequent as in
English (Zipf), as many per text as in AG's News, or in 20 Newsgroups for presets of long documents.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.machine import machine
from benchmarks.peers import HAN, kim_cnn
from benchmarks.reference import PaddedICapsNet, pad
from icaps.config import Preset, get_preset
from icaps.data.resolve import resolve
from icaps.data.source import read_part
from icaps.model import ICapsNet, margin_loss
from icaps.train.callbacks import Callback, Step
from icaps.train.dataset import Corpus, prepare_texts
from icaps.train.loop import train

SHORT_WORDS, DIFFERENT = (45, 15), 60_000  # mean and spread of a text; words to draw from
LONG_SENTENCES, SENTENCE_WORDS = 15, 20
MADE = {False: 6_000, True: 1_500}  # texts, short and long
STEPS = {True: (12, 1), False: (40, 4)}  # per round, of the capsule network and of the others


class Data(NamedTuple):
    """A corpus, the size of its vocabulary and the number of its classes."""

    corpus: Corpus
    words: int
    classes: int


def made_data(preset: Preset) -> Data:
    """Generated texts."""
    rng = np.random.default_rng(1)
    count = MADE[preset.model.hierarchical]

    def words(size: int) -> str:
        drawn = (DIFFERENT ** rng.random(max(size, 1))).astype(int)
        return " ".join(f"w{number}" for number in drawn)

    def text() -> str:
        if not preset.model.hierarchical:
            return words(int(rng.normal(*SHORT_WORDS)))
        sentences = rng.poisson(SENTENCE_WORDS, rng.poisson(LONG_SENTENCES) + 1)
        return ". ".join(map(words, sentences))

    texts = [text() for _ in range(count)]
    return _prepared(preset, texts, (np.arange(count) % 4).astype(str))


def read_data(preset: Preset, name: str) -> Data:
    """The training texts of a data set."""
    found = read_part(resolve(name), "train")
    return _prepared(preset, found.texts, np.array(found.labels))


def _prepared(preset: Preset, texts: list[str], labels: np.ndarray) -> Data:
    classes, numbers = np.unique(labels, return_inverse=True)
    prepared = prepare_texts(texts, classes, numbers, preset.model, preset.train)
    return Data(prepared.training, len(prepared.vocabulary), len(classes))


def own_seconds(preset: Preset, data: Data, steps: int, seed: int) -> float:
    """Seconds per step of `icaps.train.loop`, without the first step."""
    times: list[float] = []

    class Clock(Callback):
        def on_step(self, step: Step) -> None:
            times.append(time.perf_counter())

    config = dataclasses.replace(preset.train, epochs=1, seed=seed)
    texts = np.random.default_rng(seed).permutation(len(data.corpus))
    part = data.corpus.select(texts[: (steps + 1) * config.batch_size])
    torch.manual_seed(0)
    vectors = torch.randn(data.words, preset.model.fixed_dim)
    network = ICapsNet(preset.model, data.words, data.classes, vectors)
    train(network, part, part.select(np.arange(1)), config, [Clock()])
    return (times[-1] - times[0]) / (len(times) - 1)


def peer_step(
    network: nn.Module, preset: Preset, data: Data, loss: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[int], None]:
    """A training step of a network over padded ids, by the number of its batch."""
    trained = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=preset.train.learning_rate)
    size = preset.train.batch_size
    order = np.random.default_rng(2).permutation(len(data.corpus))
    network.train()

    def step(number: int) -> None:
        places = np.arange(number * size, (number + 1) * size) % len(order)
        batch = data.corpus.select(order[places])
        optimizer.zero_grad()
        scores = network(pad(batch.tokens(), preset.model))
        loss(scores, torch.from_numpy(batch.labels)).backward()
        torch.nn.utils.clip_grad_norm_(trained, 5.0)
        optimizer.step()

    return step


def measure(preset: Preset, data: Data, rounds: int, quick: bool) -> dict[str, Any]:
    """Texts per second of each network, and the ratio of the capsule network to the padded one."""
    sizes = preset.model, data.words, data.classes
    peers = {
        "padded reference": peer_step(
            PaddedICapsNet(*sizes), preset, data, lambda a, b: margin_loss(a, b, preset.train)
        ),
        "Kim CNN": peer_step(kim_cnn(*sizes), preset, data, F.cross_entropy),
        "HAN": peer_step(HAN(*sizes), preset, data, F.cross_entropy),
    }
    if quick:
        del peers["Kim CNN"], peers["HAN"]
    own_steps, peer_steps = STEPS[quick]
    own: list[float] = []
    others: dict[str, list[float]] = {name: [] for name in peers}
    for step in peers.values():
        step(0)  # the first step allocates memory
    for number in range(rounds):
        own.append(own_seconds(preset, data, own_steps, number))
        for name, step in peers.items():
            started = time.perf_counter()
            for n in range(peer_steps):
                step(1 + number * peer_steps + n)
            others[name].append((time.perf_counter() - started) / peer_steps)
    size = preset.train.batch_size
    ratios = [theirs / ours for theirs, ours in zip(others["padded reference"], own, strict=True)]
    return {
        "preset": preset.name,
        "batch": size,
        "icaps": round(size / statistics.median(own)),
        **{name: round(size / statistics.median(times), 1) for name, times in others.items()},
        "ratio_to_reference": round(statistics.median(ratios), 2),
        "machine": machine(),
    }


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="ag_news-short")
    parser.add_argument("--data", help="a path or a name; by default texts are generated")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and no peers")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    preset = get_preset(options.preset)
    data = read_data(preset, options.data) if options.data else made_data(preset)
    figures = measure(preset, data, 3 if options.quick else 5, options.quick)
    if options.json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f"{name}: {value}")


if __name__ == "__main__":
    main()
