"""How time grows with words, documents, primary capsules, classes and the vocabulary.

    python -m benchmarks.scaling [--variables N V ...] [--rounds 3] [--quick] [--json] [--plot FILE]

One size is doubled while the others are constant. Its values are measured in turns in one process;
the time of a value is the median of its rounds. An exponent is the slope of a line through the
logarithms of sizes and times: 1 is linear, 0 constant. That of the upper half is less affected by
constant costs.

Texts are random word ids, each written as one character, so that tokenizing takes almost no time.
They use few different words, whatever the size of the vocabulary: the network projects each
distinct word of a batch once, so with few of them the time is that of the running words. With
--zipf words are as frequent as in English, and distinct words grow less than the texts.

Training is the time per step, and per epoch where documents are doubled. Prediction and explanation
are over all documents, with the network's lookup table, however large it is. The time to make the
table is separate.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd
import torch

from benchmarks.machine import machine
from benchmarks.timing import seconds
from benchmarks.training import Data, own_seconds
from icaps import inference
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, Preset, TrainConfig
from icaps.inference import build_lookup_table
from icaps.model import ICapsNet
from icaps.nn.lookup import MIN_READS
from icaps.reports.charts import PALETTE, image
from icaps.text.batch import TokenBatch
from icaps.text.vocabulary import Vocabulary
from icaps.train.dataset import Corpus

USED = {False: 250, True: 4_000}  # distinct words of the texts; with --zipf more, mostly rare
FIRST = 0x10000  # the character of word 0; all code points from here on are characters
BATCH = TrainConfig().batch_size
ENOUGH = 0.5


@dataclass(frozen=True)
class Sizes:
    """A value of each size; those of capsules are from the preset for AG's News."""

    words: int = 64  # of a text
    documents: int = 256
    capsules: int = 32
    capsule_dim: int = 8
    classes: int = 4
    vocabulary: int = 10_000

    @property
    def model(self) -> ModelConfig:
        """The network of these sizes."""
        width = self.capsules * self.capsule_dim
        return ModelConfig(region_dim=width, query_dim=self.capsule_dim, max_words=None)


def _doubled(first: int, last: int) -> list[int]:
    return [first * 2**n for n in range((last // first).bit_length())]


VARIABLES = {
    "N": ("words of a text", {n: Sizes(words=n) for n in _doubled(32, 1024)}),
    "documents": (
        "documents",
        {n: Sizes(words=16, documents=n) for n in _doubled(1_024, 16_384)},
    ),
    "I": ("primary capsules of 8 numbers each", {n: Sizes(capsules=n) for n in _doubled(8, 128)}),
    "I-alone": (
        "primary capsules, all of 256 numbers together",
        {n: Sizes(capsules=n, capsule_dim=256 // n) for n in _doubled(8, 128)},
    ),
    "J": ("classes", {n: Sizes(classes=n) for n in _doubled(2, 128)}),
    "V": (
        "words of the vocabulary",
        {n: Sizes(vocabulary=n) for n in _doubled(5_000, 160_000)},
    ),
}


class Characters(Vocabulary):
    """A vocabulary whose words are single characters without spaces."""

    def encode(
        self, texts: Iterable[str], max_words: int | None = None, *, spans: bool = True
    ) -> TokenBatch:
        """The number and the span of each character."""
        ids = [np.frombuffer(text.encode("utf-32-le"), "<i4") - FIRST for text in texts]
        lengths = np.array([len(text) for text in ids])
        starts = np.concatenate([np.arange(length) for length in lengths])
        places = starts[:, None] + np.arange(2)
        none = np.zeros(len(lengths), bool)
        return TokenBatch(np.concatenate(ids), lengths, np.ones_like(lengths), places, none)


class Case:
    """What is measured at one value of a size."""

    def __init__(self, sizes: Sizes, *, zipf: bool) -> None:
        rng = np.random.default_rng(1)
        shape = sizes.documents, sizes.words
        used = USED[zipf]
        numbers = used ** rng.random(shape) if zipf else rng.uniform(1, used, shape)
        ids = numbers.astype("<i4") + 1  # 0 and 1 are not words
        self.texts = [(row + FIRST).tobytes().decode("utf-32-le") for row in ids]
        labels = rng.integers(0, sizes.classes, sizes.documents).tolist()
        corpus = Corpus.from_tokens(Characters((), ()).encode(self.texts), labels)
        self.data = Data(corpus, sizes.vocabulary, sizes.classes)
        self.preset = Preset("made", sizes.model, TrainConfig(batch_size=BATCH))
        self.classifier = self._classifier(sizes)
        for _ in range(-(-MIN_READS * sizes.vocabulary // ids.size) + 1):
            self.classifier.class_norms(self.texts)

    def _classifier(self, sizes: Sizes) -> ICapsClassifier:
        torch.manual_seed(0)
        vectors = torch.randn(sizes.vocabulary, sizes.model.fixed_dim)
        classifier = ICapsClassifier(sizes.model)
        network = ICapsNet(sizes.model, sizes.vocabulary, sizes.classes, vectors)
        classifier.network_, classifier.vocabulary_ = network.eval(), Characters((), ())
        classifier.classes_ = np.array([f"class {n}" for n in range(sizes.classes)], dtype=object)
        classifier.inverse_temperature_ = 1.0
        classifier.muted_, classifier.capsule_names_ = (), {}
        return classifier

    def times(self, seed: int) -> dict[str, float]:
        """Seconds of each operation; of training, those of a step, the mean of an epoch's."""
        steps = len(self.texts) // BATCH - 1
        explain = self.classifier.explain
        return {
            "training": own_seconds(self.preset, self.data, steps, seed),
            "prediction": _timed(lambda: self.classifier.class_norms(self.texts)),
            "explanation": _timed(lambda: deque(explain(self.texts), maxlen=0)),
            "table of words": _timed(lambda: build_lookup_table(self.classifier.network_)),
        }


def _timed(run: Callable[[], Any]) -> float:
    """Median time of the calls that fit into `ENOUGH` seconds."""
    times = [seconds(run)]
    while sum(times) < ENOUGH:
        times.append(seconds(run))
    return median(times)


class Row(NamedTuple):
    """Time of an operation at one value of a size."""

    variable: str
    value: int
    operation: str
    milliseconds: float


def measure(variable: str, *, rounds: int, quick: bool, zipf: bool) -> list[Row]:
    """Each operation at each value of one size."""
    sizes = VARIABLES[variable][1]
    cases = {value: Case(sizes[value], zipf=zipf) for value in list(sizes)[: 3 if quick else None]}
    found: dict[tuple[int, str], list[float]] = {}
    for number in range(rounds):
        for value, case in cases.items():
            for operation, taken in case.times(number).items():
                steps = len(case.texts) / BATCH
                epoch = variable == "documents" and operation == "training"
                found.setdefault((value, operation), []).append(taken * (steps if epoch else 1))
    return [Row(variable, *key, round(1e3 * median(times), 3)) for key, times in found.items()]


def exponents(rows: list[Row]) -> dict[str, dict[str, tuple[float, float]]]:
    """By size and operation: the exponent over all values, and over the upper half of them."""
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for (variable, operation), part in pd.DataFrame(rows).groupby(
        ["variable", "operation"], sort=False
    ):
        upper = part.iloc[len(part) // 2 :]
        found.setdefault(variable, {})[operation] = _slope(part), _slope(upper)
    return found


def _slope(part: pd.DataFrame) -> float:
    return round(float(np.polyfit(np.log(part["value"]), np.log(part["milliseconds"]), 1)[0]), 3)


def draw(rows: list[Row]) -> alt.ConcatChart:
    """A panel per size, with logarithmic axes."""
    table = pd.DataFrame(rows)
    operations = list(dict.fromkeys(table["operation"]))
    panels = []
    for variable, part in table.groupby("variable", sort=False):
        values = sorted(set(part["value"].tolist()))
        panels.append(
            alt.Chart(part)
            .mark_line(point=True)
            .encode(
                x=alt.X(
                    "value:Q",
                    title=VARIABLES[variable][0],
                    scale=alt.Scale(type="log", domain=[values[0], values[-1]]),
                    axis=alt.Axis(values=values, format=",d", grid=False),
                ),
                y=alt.Y("milliseconds:Q", title="milliseconds", scale=alt.Scale(type="log")),
                color=alt.Color(
                    "operation:N",
                    title=None,
                    scale=alt.Scale(domain=operations, range=list(PALETTE[: len(operations)])),
                    legend=alt.Legend(orient="top"),
                ),
            )
            .properties(width=260, height=220)
        )
    chart: alt.ConcatChart = alt.concat(*panels, columns=3).configure_view(stroke=None)
    return chart


def tell(rows: list[Row]) -> None:
    """Prints a table per size with its exponents."""
    slopes = exponents(rows)
    for variable, part in pd.DataFrame(rows).groupby("variable", sort=False):
        wide = part.pivot(index="value", columns="operation", values="milliseconds")
        operations = list(slopes[variable])
        epoch = "an epoch" if variable == "documents" else "a step"
        heads = [f"training {epoch}, ms", *(f"{name}, ms" for name in operations[1:])]
        print(f"| {VARIABLES[variable][0]} | {' | '.join(heads)} |")
        print("|---" * (1 + len(heads)) + "|")
        for value, times in wide[operations].iterrows():
            print(f"| {value:,} | {' | '.join(f'{time:,.1f}' for time in times)} |")
        for name, kind in (("exponent", 0), ("of the upper half", 1)):
            cells = (f"{slopes[variable][operation][kind]:.2f}" for operation in operations)
            print(f"| {name} | {' | '.join(cells)} |")
        print()


def main() -> None:
    """Measures, and prints tables or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variables", nargs="+", choices=VARIABLES, default=list(VARIABLES))
    parser.add_argument("--zipf", action="store_true", help="words as frequent as in English")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="three values per size, one round")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="a .svg or .png to draw")
    options = parser.parse_args()
    inference.MAX_BYTES = sys.maxsize
    rows = [
        row
        for variable in options.variables
        for row in measure(
            variable,
            rounds=1 if options.quick else options.rounds,
            quick=options.quick,
            zipf=options.zipf,
        )
    ]
    if options.plot:
        options.plot.write_bytes(image(draw(rows), options.plot.suffix[1:]))
    if options.json:
        figures = {"machine": machine(), "exponents": exponents(rows)}
        print(json.dumps(figures | {"rows": [row._asdict() for row in rows]}))
        return
    tell(rows)
    print(machine())


if __name__ == "__main__":
    main()
