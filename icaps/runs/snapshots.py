"""How reasons are learnt: after an epoch, one text's explanation and the use of the capsules."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.inference import read
from icaps.interpret.winners import find_winners
from icaps.runs.folder import SNAPSHOTS, RunFolder
from icaps.train.checkpoint_files import CONFIG
from icaps.train.corpus import Corpus

COUNTED = 2_000  # validation texts, at most


class Follower:
    """Keeps the best model so far in a run folder, and a snapshot of each epoch.

    Args:
        folder: That of the training.
        text: Whose explanation is kept; "" is none.
        resume: Whether the model that is there is of this training. One of another stays until the
            training is finished.
    """

    def __init__(self, folder: RunFolder, text: str, resume: bool) -> None:
        self._folder, self._text = folder, text
        self._saves = resume or not (folder.path / CONFIG).exists()

    def __call__(self, classifier: ICapsClassifier, validation: Corpus) -> None:
        """After each epoch, as `ICapsClassifier.each_epoch`."""
        if self._saves and classifier.metrics_["best_epoch"] == len(classifier.history_):
            classifier.save(self._folder.path)
        self._folder.append(SNAPSHOTS, snapshot(classifier, validation, self._text))


def snapshot(classifier: ICapsClassifier, validation: Corpus, text: str) -> dict[str, Any]:
    """Plain data on a classifier under training.

    Args:
        classifier: Of the weights after an epoch.
        validation: Encoded texts, of which the first ones are counted.
        text: To explain; "" is none.

    Returns:
        epoch, from 1; classes; frequency, (J, I) counts of the texts that each capsule won, by
        predicted class (the matrix C, section 2.6); explanation, of the text, or None.
    """
    explanation = next(classifier.explain([text])).to_dict() if text else None
    return {
        "epoch": len(classifier.history_),
        "classes": [str(name) for name in classifier.classes_],
        "frequency": _frequency(classifier, validation).tolist(),
        "explanation": explanation,
    }


def _frequency(classifier: ICapsClassifier, validation: Corpus) -> NDArray[np.int64]:
    network = classifier.network_
    counts = np.zeros((len(classifier.classes_), network.config.num_capsules), dtype=np.int64)
    texts = min(len(validation), COUNTED)
    part = validation.select(np.arange(texts))
    for reading in read(network, part.tokens()):
        labelled = dataclasses.replace(reading, labels=part.labels[reading.numbers])
        winners = find_winners(labelled, network.config.kernel_size)
        np.add.at(counts, (winners.predicted, winners.capsules), 1)
    return counts
