"""Teachers of self-training: they predict classes for texts without labels.

A network that few texts have trained varies with its seed. A logistic regression on the TF-IDF
weights of the words and on the mean of their frozen vectors is more stable there, so both are tried
and the better one on the validation texts is the teacher.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from icaps.config import VECTOR_STEP
from icaps.text.batch import UNK
from icaps.text.sentences import encode
from icaps.train.calibration import fit_inverse_temperature
from icaps.train.checkpoint import Checkpoint
from icaps.train.dataset import Corpus, TrainingData
from icaps.train.loop import validate

MAX_LABELLED = 20_000  # training texts that the logistic regression is fitted to, evenly spaced
_INVERSE_REGULARISATION = 10.0  # C of the logistic regression
_CHUNK = 2_000  # texts whose predictions are computed at a time

Matrix: TypeAlias = "sp.csr_matrix"


@dataclass(frozen=True)
class Teacher:
    """A classifier of texts.

    Attributes:
        name: In words, for the log.
        accuracy: On the validation texts.
        scores: Returns the scores (texts, J) of a corpus.
        inverse_temperature: The factor that calibrates their softmax, fitted to the validation.
    """

    name: str
    accuracy: float
    scores: Callable[[Corpus], Tensor]
    inverse_temperature: float

    @classmethod
    def validated(
        cls, name: str, scores: Callable[[Corpus], Tensor], validation: Corpus
    ) -> Teacher:
        """The teacher with these scores, validated and calibrated."""
        predicted, labels = scores(validation), validation.labels
        accuracy = float((predicted.argmax(1).numpy() == labels).mean())
        return cls(name, accuracy, scores, fit_inverse_temperature(predicted, labels))

    def probabilities(self, corpus: Corpus) -> NDArray[np.float64]:
        """Calibrated probabilities (texts, J)."""
        scaled = self.scores(corpus).double() * self.inverse_temperature
        probabilities: NDArray[np.float64] = scaled.softmax(1).numpy()
        return probabilities


def best_teacher(
    checkpoint: Checkpoint, data: TrainingData, unlabelled: Corpus
) -> tuple[Teacher, Teacher]:
    """The better teacher on the validation texts, and the other one.

    The network must be better by more than a standard error, as the best of its epochs was chosen
    on the same texts.

    Args:
        checkpoint: A network that was trained on `data`.
        data: The labelled texts.
        unlabelled: Texts without labels, whose words count for TF-IDF.
    """
    linear = _linear_teacher(checkpoint, data, unlabelled)
    network = Teacher.validated(
        "the network", lambda corpus: _norms(checkpoint, corpus), data.validation
    )
    error = math.sqrt(linear.accuracy * (1 - linear.accuracy) / len(data.validation))
    if network.accuracy > linear.accuracy + error:
        return network, linear
    return linear, network


def encode_unlabelled(checkpoint: Checkpoint, texts: Sequence[str]) -> Corpus:
    """Texts as the network of a checkpoint reads them; all labels are 0."""
    tokens = encode(checkpoint.vocabulary, texts, checkpoint.network.config, spans=False)
    return Corpus.from_tokens(tokens, [0] * len(tokens))


def _norms(checkpoint: Checkpoint, corpus: Corpus) -> Tensor:
    return validate(checkpoint.network, corpus).class_norms


def _linear_teacher(checkpoint: Checkpoint, data: TrainingData, unlabelled: Corpus) -> Teacher:
    """A logistic regression on TF-IDF weights and on mean vectors.

    Vectors that were trained on the few labelled texts themselves would mislead it, so they are
    used only where no others were loaded.
    """
    vectors = _join_vectors(data.vectors.trained, data.vectors.others)  # (V, dim)
    if not vectors.shape[1]:
        network = checkpoint.network
        own = network.fixed_embedding.cpu().numpy(), network.vector_words.cpu().numpy()
        vectors = _join_vectors(*own)
    step = max(1, -(-len(data.training) // MAX_LABELLED))
    labelled = data.training.select(np.arange(0, len(data.training), step))
    texts_with = np.ones(len(vectors))  # (V,), number of texts with a word, plus 1
    for corpus in (labelled, unlabelled):
        for chunk in _chunks(corpus):
            texts_with += np.bincount(_counts(chunk, len(vectors)).indices, minlength=len(vectors))
    idf = np.log((1 + len(labelled) + len(unlabelled)) / texts_with) + 1

    def features(corpus: Corpus) -> Matrix:
        counts = _counts(corpus, len(vectors))
        weights = counts.copy()
        weights.data = (1 + np.log(weights.data)) * idf[weights.indices]
        means = counts.multiply(idf).tocsr() @ vectors
        return sp.hstack([_unit_rows(weights), _unit_rows(sp.csr_matrix(means))]).tocsr()

    regression = LogisticRegression(C=_INVERSE_REGULARISATION, max_iter=300)
    regression.fit(features(labelled), labelled.labels)
    assert len(regression.classes_) == len(data.classes)  # the split is stratified

    def scores(corpus: Corpus) -> Tensor:
        parts = [torch.zeros(0, len(data.classes), dtype=torch.float64)]
        for chunk in _chunks(corpus):
            parts.append(torch.from_numpy(regression.predict_log_proba(features(chunk))))
        return torch.cat(parts)

    return Teacher.validated("a logistic regression", scores, data.validation)


def _join_vectors(trained: NDArray[np.float32], others: NDArray[np.int8]) -> NDArray[np.float32]:
    """The vectors (V, dim) of the trained words, then of the vector words, which are int8 steps."""
    joined = np.zeros((len(trained) + len(others), trained.shape[1]), np.float32)
    joined[: len(trained)] = trained
    joined[len(trained) :, : others.shape[1]] = others * np.float32(VECTOR_STEP)
    return joined


def _chunks(corpus: Corpus) -> list[Corpus]:
    texts = np.arange(len(corpus))
    return [corpus.select(texts[start : start + _CHUNK]) for start in texts[::_CHUNK].tolist()]


def _counts(corpus: Corpus, words: int) -> Matrix:
    """How often each word is in each text (texts, V); `<pad>` and `<unk>` are not counted."""
    ids = [part[part > UNK] for part in corpus.iterate_ids()]
    offsets = np.cumsum([0, *map(len, ids)])
    columns = np.concatenate([np.zeros(0, np.int32), *ids])
    counts = sp.csr_matrix((np.ones(len(columns)), columns, offsets), shape=(len(ids), words))
    counts.sum_duplicates()
    return counts


def _unit_rows(matrix: Matrix) -> Matrix:
    """The rows divided by their lengths; zeros stay zeros."""
    lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(1)).ravel())
    return sp.diags(1 / np.where(lengths > 0, lengths, 1)) @ matrix
