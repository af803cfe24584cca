"""The training texts that a model takes for most like a text, by the class capsules it gives them.

nearest/KEY/ready/facts.json    classes, and how many texts there are in all
                  texts.arrow   the texts, a random sample
                  labels.npy, vectors.npy
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from icaps.data.cache import data_folder, make_ready, ready_folder
from icaps.data.fingerprint import home_of
from icaps.data.sample import draw_sample
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.explore.text_map import text_vectors
from icaps.explore.texts import Texts, TextsWriter

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

SAMPLE = 20_000  # texts that are kept at most
_VERSION = 1
_FACTS, _TEXTS, _LABELS, _VECTORS = "facts.json", "texts.arrow", "labels.npy", "vectors.npy"
_PAIRS = 2_000  # random pairs of the control


@dataclass(frozen=True)
class Neighbour:
    """A training text, the name of its class, and the cosine of its class capsules with those of
    the text that is explained; all class capsules stand end to end."""

    text: str
    label: str
    similarity: float


@dataclass(frozen=True)
class Nearest:
    """The training texts nearest to a text.

    Attributes:
        neighbours: The nearest first; none of a text without a known word.
        sampled, texts: How many training texts were looked at, a random sample, of how many.
        random: Mean similarity of two random ones, the control.
        random_alike: The same for two of one class; NaN where no two were drawn.
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
    """A sample of training texts with the direction of each one's class capsules.

    Attributes:
        classes: Names of the data's classes.
        total: How many texts the sample was drawn from.
        texts: Read where they lie.
        labels: (sample,), numbers in `classes`.
        vectors: (sample, J d_c), of length 1, or 0 for a text without a known word; half precision.
    """

    classes: tuple[str, ...]
    total: int
    texts: Texts
    labels: NDArray[np.int32]
    vectors: NDArray[np.float16]

    def nearest(self, classifier: ICapsClassifier, text: str, count: int = 5) -> Nearest:
        """The training texts nearest to a text, which the same classifier reads.

        A text without a known word has none.
        """
        (vector,) = _directions(text_vectors(classifier, [text]))
        similar = self.vectors.astype(np.float32) @ vector
        order = np.argsort(-similar, kind="stable")[: count if vector.any() else 0]
        random = np.random.default_rng(0)
        one, other = random.integers(len(self.texts), size=(2, _PAIRS))
        pairs = np.einsum("nd,nd->n", *(self.vectors[part].astype(float) for part in (one, other)))
        pairs, same = pairs[one != other], (self.labels[one] == self.labels[other])[one != other]
        return Nearest(
            tuple(
                Neighbour(found, self.classes[self.labels[n]], float(similar[n]))
                for n, found in zip(order.tolist(), self.texts.take(order), strict=True)
            ),
            sampled=len(self.texts),
            texts=self.total,
            random=float(pairs.mean()) if len(pairs) else math.nan,
            random_alike=float(pairs[same].mean()) if same.any() else math.nan,
        )


def sample_home(weights: str, place: Path, reading: Mapping[str, Any]) -> Path:
    """Where the sample of training texts is kept, for these weights and files.

    Args:
        weights: The model's, by their fingerprint: `interpret.global_view.weights_fingerprint`.
        place: A file or a folder, as `icaps.data.resolve` gives it.
        reading: Options of `open_source`.

    Raises:
        DataError: There is no data at `place`.
    """
    told = [_VERSION, SAMPLE, weights, home_of(place, reading).name]
    key = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:24]
    return data_folder() / "nearest" / key


def make_sample(
    classifier: ICapsClassifier, place: Path, reading: Mapping[str, Any], home: Path
) -> None:
    """Draws the sample and keeps it in `home`, unless that was done before.

    The training texts are read once, as a stream; memory holds the sample.

    Args:
        classifier: Fitted, with no capsule switched off.
        place, reading, home: See `sample_home`.

    Raises:
        DataError: The texts can't be read, or the folder can't be written.
    """

    def fill(folder: Path) -> None:
        source = open_source(place, "train", **reading)
        sample = draw_sample(source, SAMPLE, math.inf)
        facts = {"classes": sample.classes, "texts": sample.texts}
        (folder / _FACTS).write_text(json.dumps(facts), encoding="utf-8")
        with TextsWriter(folder / _TEXTS) as writer:
            for text in sample.drawn:
                writer.add(text)
        np.save(folder / _LABELS, np.array(sample.labels, np.int32))
        vectors = _directions(text_vectors(classifier, sample.drawn))
        np.save(folder / _VECTORS, vectors.astype(np.float16))

    make_ready(home, fill)


def load_sample(home: Path) -> TrainingSample | None:
    """What `make_sample` kept; None where it was not called.

    Raises:
        DataError: It is damaged.
    """
    ready = ready_folder(home)
    if ready is None:
        return None
    try:
        facts = json.loads((ready / _FACTS).read_text(encoding="utf-8"))
        texts = Texts(ready / _TEXTS)
        labels, vectors = (np.load(ready / name, mmap_mode="r") for name in (_LABELS, _VECTORS))
        if not len(texts) == len(labels) == len(vectors):
            raise ValueError("its columns are not of one length")
        return TrainingSample(tuple(facts["classes"]), facts["texts"], texts, labels, vectors)
    except (OSError, EOFError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"{ready} can't be read ({error}). Delete the folder {home}, so that it is made anew."
        ) from error


def _directions(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors (texts, d) of length 1; one of length 0 stays so."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: NDArray[np.float32] = np.divide(
        vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0
    )
    return found
