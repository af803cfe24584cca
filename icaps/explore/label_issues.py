"""What a trained model says of each text of an index, kept beside it.

explored/KEY/judged-1/WEIGHTS/ready/classes.json, and an array a column: predicted.npy and so on
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from icaps.data.cache import make_ready, ready_folder
from icaps.errors import DataError
from icaps.inference import CHUNK
from icaps.interpret.global_view import weights_fingerprint

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

BLANK = -1  # the prediction for a text without a known word
_FOLDER, _CLASSES = "judged-1", "classes.json"  # 1: the version
_COLUMNS = ("predicted", "probability", "label_probability")


@dataclass(frozen=True)
class Judged:
    """A model's judgement of texts.

    Attributes:
        classes: Names by number: the data's classes, then those that the model alone has.
        predicted: The number of each text's predicted class, BLANK without a known word, (texts,).
        probability: Of that class, (texts,); 1 / J for a blank text, as for each of its classes.
        label_probability: Of the text's label, (texts,); nan where the model lacks that class.
    """

    classes: tuple[str, ...]
    predicted: NDArray[np.integer[Any]]
    probability: NDArray[np.float32]
    label_probability: NDArray[np.float32]


def judged_folder(index_folder: Path, model_folder: Path) -> Path:
    """Where the judgement of an index by a model belongs; other weights have another place.

    Args:
        index_folder: Of `explore.index.make_index`.
        model_folder: A checkpoint.

    Raises:
        CheckpointError: The model's weights can't be read.
    """
    return index_folder.parent / _FOLDER / weights_fingerprint(model_folder)[:24]


def judge(
    classifier: ICapsClassifier,
    texts: Iterable[str],
    labels: NDArray[np.integer[Any]],
    classes: Sequence[str],
    folder: Path,
    progress: Callable[[int], None],
) -> None:
    """Judges texts, unless that was done before, and keeps it in `folder`, whole or not at all.

    Of several processes one does it, and the others wait. Memory holds some hundred texts, and
    about ten bytes for each.

    Args:
        classifier: Fitted.
        texts: Read once, as a stream.
        labels: Of the texts, (texts,), numbers in `classes`.
        classes: Names of the data's classes; the model's are told by their names.
        folder: See `judged_folder`.
        progress: Told how many more texts were judged.

    Raises:
        DataError: The folder can't be written.
        ValueError: There are more texts than labels, or fewer.
    """

    def fill(place: Path) -> None:
        names = (*classes, *(str(n) for n in classifier.classes_ if str(n) not in classes))
        (place / _CLASSES).write_text(json.dumps(names), encoding="utf-8")
        columns = _columns(classifier, texts, labels, names, progress)
        for name, values in zip(_COLUMNS, columns, strict=True):
            np.save(place / f"{name}.npy", values)

    make_ready(folder, fill)


def load_judged(folder: Path) -> Judged | None:
    """What `judge` kept, its arrays mapped from their files; None where it was not called.

    Raises:
        DataError: It is damaged.
    """
    ready = ready_folder(folder)
    if ready is None:
        return None
    try:
        names = tuple(json.loads((ready / _CLASSES).read_text(encoding="utf-8")))
        columns = [np.load(ready / f"{name}.npy", mmap_mode="r") for name in _COLUMNS]
        if len({values.shape for values in columns}) > 1:
            raise ValueError("its columns are not of one length")
    except (OSError, EOFError, TypeError, ValueError) as error:
        raise DataError(
            f"{ready} can't be read ({error}). Delete the folder {folder}, so that it is made anew."
        ) from error
    return Judged(names, *columns)


def correct(judged: Judged, labels: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
    """Whether each text's prediction is its label (texts,); never for a blank text."""
    return np.asarray(judged.predicted == labels)


def suspicious(judged: Judged, labels: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The texts whose label the model contradicts, the most confident contradiction first.

    The order is by the probability of the predicted class less that of the label, the normalised
    margin of confident learning (Northcutt et al. 2021, section 3.2); texts that are alike in it
    keep their order. Texts that are blank, or of a class that the model lacks, say nothing of
    their label and are left out. On texts that the model was trained on it finds fewer.

    Returns:
        Numbers of texts.
    """
    margin = judged.probability - judged.label_probability
    told = (judged.predicted != BLANK) & (judged.predicted != labels) & ~np.isnan(margin)
    rows = np.flatnonzero(told)
    ordered: NDArray[np.int64] = rows[np.argsort(-margin[rows], kind="stable")]
    return ordered


def _columns(
    classifier: ICapsClassifier,
    texts: Iterable[str],
    labels: NDArray[np.integer[Any]],
    names: Sequence[str],
    progress: Callable[[int], None],
) -> tuple[NDArray[Any], ...]:
    """The arrays of `Judged`, in the order of `_COLUMNS`."""
    number = np.array([names.index(str(name)) for name in classifier.classes_])
    column = np.full(len(names), -1)  # of the model's probabilities
    column[number] = np.arange(len(number))
    predicted = np.full(len(labels), BLANK, np.int16 if len(names) < 1 << 15 else np.int32)
    probability, label_probability = (np.full(len(labels), np.nan, np.float32) for _ in range(2))
    stream, done = iter(texts), 0
    while chunk := list(islice(stream, CHUNK)):
        norms = classifier.class_norms(chunk)
        rows = slice(done, done + len(chunk))
        own = column[labels[rows]]
        if len(own) < len(chunk):
            raise ValueError(f"there are more texts than the {len(labels)} labels")
        probabilities = softmax(norms * classifier.inverse_temperature_, axis=1)
        predicted[rows] = np.where(norms.any(1), number[norms.argmax(1)], BLANK)
        probability[rows] = probabilities.max(1)
        known = own >= 0
        label_probability[rows][known] = probabilities[known, own[known]]
        done += len(chunk)
        progress(len(chunk))
    if done < len(labels):
        raise ValueError(f"there are {done} texts and {len(labels)} labels")
    return predicted, probability, label_probability
