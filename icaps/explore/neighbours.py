"""Nearest training texts of a text, by the cosine of their class capsules.

nearest/KEY/ready/facts.json    classes, and the number of all texts
                  texts.arrow   the texts, a random sample
                  labels.npy, vectors.npy
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.cache import Artifact, artifact_home
from icaps.data.fingerprint import check_unchanged, fingerprint, recent_fingerprint
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.data.sample import draw_sample
from icaps.data.source import open_source
from icaps.data.text_file import TextFile, TextFileWriter
from icaps.explore.text_projection import text_vectors

SAMPLE = 20_000  # texts at most
_VERSION = 2  # of the files
_PARTS = ("train",)
_FACTS, _TEXTS, _LABELS, _VECTORS = "facts.json", "texts.arrow", "labels.npy", "vectors.npy"
_PAIRS = 2_000  # random pairs of texts for the control


@dataclass(frozen=True)
class Neighbour:
    """A training text, the name of its class, and its similarity to the explained text.

    The similarity is the cosine of the class capsules of both, concatenated.
    """

    text: str
    label: str
    similarity: float


@dataclass(frozen=True)
class Nearest:
    """The training texts nearest to a text.

    Attributes:
        neighbours: The nearest first; empty for a text without a known word.
        sampled, texts: Number of training texts in the random sample, and of all.
        random: The mean similarity of two random training texts, the control.
        random_alike: The same for two of one class; NaN if no two were drawn.
    """

    neighbours: tuple[Neighbour, ...]
    sampled: int
    texts: int
    random: float
    random_alike: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        alike = None if math.isnan(self.random_alike) else self.random_alike
        return asdict(self) | {
            "neighbours": [asdict(neighbour) for neighbour in self.neighbours],
            "random_alike": alike,
        }


@dataclass(frozen=True)
class TrainingSample:
    """A sample of training texts with the direction of the class capsules of each.

    Attributes:
        classes: Names of the data's classes; sets of them if texts have several labels.
        total: The number of texts from which the sample was drawn.
        texts: Read from their file.
        labels: (sample,), numbers in `classes`.
        vectors: (sample, J d_c), of length 1, or 0 for a text without a known word; half precision.
    """

    classes: tuple[str, ...]
    total: int
    texts: TextFile
    labels: NDArray[np.int32]
    vectors: NDArray[np.float16]

    def nearest(self, classifier: ICapsClassifier, text: str, count: int = 5) -> Nearest:
        """The training texts nearest to a text, for the classifier of the sample.

        A text without a known word has none.
        """
        (vector,) = directions(text_vectors(classifier, [text]))
        order, similar = most_similar(self.vectors.astype(np.float32), vector, count)
        random = np.random.default_rng(0)
        one, other = random.integers(len(self.texts), size=(2, _PAIRS))
        pairs = np.einsum("nd,nd->n", *(self.vectors[part].astype(float) for part in (one, other)))
        pairs, same = pairs[one != other], (self.labels[one] == self.labels[other])[one != other]
        return Nearest(
            tuple(
                Neighbour(neighbour, self.classes[self.labels[n]], float(similarity))
                for n, similarity, neighbour in zip(
                    order.tolist(), similar, self.texts.take(order), strict=True
                )
            ),
            sampled=len(self.texts),
            texts=self.total,
            random=float(pairs.mean()) if len(pairs) else math.nan,
            random_alike=float(pairs[same].mean()) if same.any() else math.nan,
        )


def most_similar(
    vectors: NDArray[np.float32], vector: NDArray[np.float32], count: int
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """The vectors that are most similar to one, by their numbers, and their cosines with it.

    Args:
        vectors: (n, d), of length 1 or 0; see `directions`.
        vector: (d,), of length 1; with length 0, nothing is similar to it.
        count: The largest number of results.
    """
    cosines = vectors @ vector
    order = np.argsort(-cosines, kind="stable")[: count if vector.any() else 0]
    return order, cosines[order]


def sample_artifact(
    weights: str, place: Path, reading: Mapping[str, Any]
) -> Artifact[TrainingSample]:
    """The cache entry of the sample of training texts, for these weights and files.

    Args:
        weights: Fingerprint of the model by `icaps.train.checkpoint_files.weights_fingerprint`.
        place: A file or a folder, as `icaps.data.resolve.resolve` returns it.
        reading: Options of `open_source`.

    Raises:
        DataError: There is no training data at `place`.
    """
    return _artifact(weights, recent_fingerprint(place, _PARTS, reading), reading)


def make_sample(
    classifier: ICapsClassifier,
    weights: str,
    place: Path,
    reading: Mapping[str, Any],
    progress: ProgressReporter = SILENT,
) -> TrainingSample:
    """Draws the sample of training texts, unless it is cached.

    The training texts are read once, as a stream; memory holds the sample.

    Args:
        classifier: A fitted classifier with all capsules switched on.
        weights, place, reading: See `sample_artifact`.
        progress: Notified of the texts of the sample that the classifier has read.

    Raises:
        DataError: The texts can't be read or are changed meanwhile, or the cache can't be written.
    """
    before = fingerprint(place, _PARTS, reading)

    def fill(folder: Path) -> None:
        source = open_source(place, "train", **reading)
        sample = draw_sample(source, SAMPLE, math.inf)
        facts = {"classes": sample.distinct, "texts": sample.total}
        (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
        with TextFileWriter(folder / _TEXTS) as writer:
            for text in sample.texts:
                writer.add(text)
        np.save(folder / _LABELS, np.array(sample.labels, np.int32))
        progress.expect_texts(len(sample.texts))
        on_texts = progress.on_texts
        vectors = directions(text_vectors(classifier, sample.texts, on_texts=on_texts))
        np.save(folder / _VECTORS, vectors.astype(np.float16))
        check_unchanged(place, _PARTS, reading, before)

    return _artifact(weights, before, reading).make(fill)


def _artifact(weights: str, files: str, reading: Mapping[str, Any]) -> Artifact[TrainingSample]:
    skips = reading.get("on_bad_rows") == "skip"
    return Artifact(artifact_home("nearest", _VERSION, SAMPLE, weights, files, skips), _load)


def _load(folder: Path) -> TrainingSample:
    facts = json.loads((folder / _FACTS).read_text(encoding="utf-8"))
    texts = TextFile(folder / _TEXTS)
    labels, vectors = (np.load(folder / name, mmap_mode="r") for name in (_LABELS, _VECTORS))
    if not len(texts) == len(labels) == len(vectors):
        raise ValueError("its columns are not of one length")
    return TrainingSample(tuple(facts["classes"]), facts["texts"], texts, labels, vectors)


def directions(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors (texts, d) scaled to length 1; zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    directions: NDArray[np.float32] = np.divide(
        vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0
    )
    return directions
