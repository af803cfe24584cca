"""What a model says of labelled texts: one streamed pass, and a few numbers of each text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.metrics import confusion_matrix

from icaps.data.records import class_numbers
from icaps.errors import DataError
from icaps.inference import CHUNK
from icaps.nn import distributed

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier
    from icaps.text.vocabulary import Vocabulary


@dataclass(frozen=True)
class Predictions:
    """A model's judgement of labelled texts.

    Attributes:
        classes: The model's classes, by number.
        labels: The number of each text's true class, (texts,).
        norms: Of the class capsules, (texts, J); 0 for a text without a known word.
        words: How many words each whole text has, (texts,).
        unknown: The share of them that the model's vocabulary lacks, 0 of none, (texts,).
        inverse_temperature: The factor that makes norms probabilities.
    """

    classes: tuple[str, ...]
    labels: NDArray[np.integer[Any]]
    norms: NDArray[np.float32]
    words: NDArray[np.integer[Any]]
    unknown: NDArray[np.float32]
    inverse_temperature: float

    @cached_property
    def predicted(self) -> NDArray[np.int64]:
        """The class of the largest norm, (texts,); the first class for a blank text."""
        return np.asarray(self.norms.argmax(1))

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """Calibrated probabilities (texts, J), as `ICapsClassifier.predict_proba` gives them."""
        return np.asarray(softmax(self.norms.astype(float) * self.inverse_temperature, axis=1))

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The probability of each text's predicted class, (texts,)."""
        return np.asarray(self.probabilities.max(1))

    @cached_property
    def correct(self) -> NDArray[np.bool_]:
        """Whether each text's prediction is its label, (texts,)."""
        return np.asarray(self.predicted == self.labels)

    @cached_property
    def blank(self) -> NDArray[np.bool_]:
        """Whether the model knows none of a text's words, (texts,)."""
        return np.asarray(~self.norms.any(1))

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Texts by true class (rows) and predicted class, (J, J)."""
        numbers = range(len(self.classes))
        return np.asarray(confusion_matrix(self.labels, self.predicted, labels=numbers))

    @cached_property
    def errors(self) -> NDArray[np.int64]:
        """Numbers of the texts that are predicted wrong, the most confident error first."""
        return self.ordered(~self.correct)

    def cell(self, true: int, predicted: int) -> NDArray[np.int64]:
        """Numbers of the texts of a cell of the confusion matrix, the most confident first."""
        return self.ordered((self.labels == true) & (self.predicted == predicted))

    def ordered(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Numbers of the texts of a mask (texts,), by falling confidence, then by number."""
        rows = np.flatnonzero(chosen)
        return np.asarray(rows[np.argsort(-self.confidence[rows], kind="stable")])


def predict_stream(
    classifier: ICapsClassifier,
    labelled: Iterable[tuple[str, str]],
    keep_text: Callable[[str], None] = lambda _: None,
    on_texts: Callable[[int], None] = lambda _: None,
) -> Predictions:
    """The judgement of texts, of which some thousand are held at a time.

    Under `torchrun` each process reads its share of the texts, and each gets the whole.

    Args:
        classifier: Fitted.
        labelled: Texts with the names of their classes, read once, as a stream.
        keep_text: Called with each text, in order.
        on_texts: Told how many more texts were read, by all processes together.

    Raises:
        DataError: There is no text, or a label is none of the model's classes.
    """
    classes = tuple(str(name) for name in classifier.classes_)
    stream = iter(labelled)
    labels, rows = [], []
    while chunk := list(islice(stream, CHUNK)):
        labels.append(class_numbers((label for _, label in chunk), classes))
        mine, found = distributed.share(), torch.zeros(len(chunk), len(classes) + 2)
        texts = [text for text, _ in chunk]
        if texts[mine]:
            found[mine] = _numbers(classifier, texts[mine])
        rows.append(distributed.add_up(found).numpy())
        for text in texts:
            keep_text(text)
        on_texts(len(chunk))
    if not rows:
        raise DataError("There are no texts to score.")
    values = np.concatenate(rows)
    return Predictions(
        classes,
        np.concatenate(labels).astype(np.int32),
        values[:, :-2],
        values[:, -2].astype(np.int32),
        values[:, -1],
        float(classifier.inverse_temperature_),
    )


def _numbers(classifier: ICapsClassifier, texts: list[str]) -> torch.Tensor:
    """Norms, words and share of unknown words of each text, (texts, J + 2)."""
    norms = torch.from_numpy(classifier.class_norms(texts)).float()  # which they were before
    return torch.cat([norms, _known_words(classifier.vocabulary_, texts)], dim=1)


def _known_words(vocabulary: Vocabulary, texts: Sequence[str]) -> torch.Tensor:
    tokens = vocabulary.encode(texts, spans=False)
    counts = tokens.words_per_text, tokens.known_per_text
    words, known = (torch.from_numpy(count).float() for count in counts)
    return torch.stack([words, (words - known) / words.clamp(min=1)], dim=1)
