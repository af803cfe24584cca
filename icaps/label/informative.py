"""Texts that tell a model most: uncertain ones that stand for many others and differ.

Information density (Settles and Craven, "An Analysis of Active Learning Strategies for Sequence
Labeling Tasks", EMNLP 2008): uncertainty times a power of the mean similarity to the nearest texts,
so that an odd text is not chosen for being odd. Within a batch, and from what is labelled already,
each further text is to differ, as in maximal marginal relevance (Carbonell and Goldstein, SIGIR
1998):

    u_n d_n^2 (1 - max_m cos(x_n, x_m)),   m labelled or chosen before,

with uncertainty u_n, 1 - margin of a logistic regression on the labels so far, and density d_n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from icaps.data.label_sets import classes_of, indicator, is_multilabel
from icaps.label.features import Features, text_features
from icaps.label.scores import Scores

POWER = 2  # of the density; by benchmarks.labelling
NEIGHBOURS = 20  # texts whose mean similarity is the density
SIMILAR = 0.5  # cosine from which a text is called similar
STRENGTH = 10.0  # C of the logistic regression
_BLOCK = 512  # texts whose similarities to all are in memory at a time

Numbers = NDArray[np.integer]


@dataclass(frozen=True)
class Chosen:
    """A text that was chosen.

    Attributes:
        number: Its number.
        similar: Number of texts that are similar to it.
        nearest: Cosine to the nearest labelled or chosen text; 0 for none.
    """

    number: int
    similar: int
    nearest: float


@dataclass(frozen=True)
class ComparedTexts:
    """Texts that can be compared with each other.

    Attributes:
        features: (n, d), as in `features.text_features`.
        directions: (n, d), the same of length 1.
        density: (n,), mean cosine to the nearest `NEIGHBOURS` other texts.
        similar: (n,), number of other texts with a cosine of `SIMILAR` or more.
    """

    features: Features
    directions: NDArray[np.float32]
    density: NDArray[np.float64]
    similar: NDArray[np.int64]

    @classmethod
    def of(cls, texts: Sequence[str], seed: int) -> ComparedTexts:
        """Compares texts in memory; time grows with the square of their number."""
        return cls.from_features(text_features(texts, seed))

    @classmethod
    def from_features(cls, features: Features) -> ComparedTexts:
        """Compares texts by their features (n, d)."""
        directions = normalize(features).astype(np.float32)
        count = len(directions)
        near = min(NEIGHBOURS, count - 1)
        density, similar = np.zeros(count), np.zeros(count, np.int64)
        for start in range(0, count if near else 0, _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, count))
            cosines = directions[rows] @ directions.T
            cosines[np.arange(len(rows)), rows] = -1  # a text is not its own neighbour
            similar[rows] = (cosines >= SIMILAR).sum(1)
            nearest = np.partition(cosines, -near, axis=1)[:, -near:]
            density[rows] = nearest.clip(min=0).mean(1)
        return cls(features, directions, density, similar)

    def choose(
        self,
        open_: Numbers,
        labelled: Numbers,
        count: int,
        uncertainty: NDArray[np.floating] | None = None,
    ) -> list[Chosen]:
        """Chooses texts one by one, by the product above; the first one on a tie.

        Args:
            open_: (m,), numbers of the texts that may be chosen.
            labelled: Numbers of the labelled texts.
            count: Number of texts to choose, at most all.
            uncertainty: (m,), from 0 to 1; None for 1 each.
        """
        value = self.density[open_] ** POWER
        if uncertainty is not None:
            value = value * uncertainty
        nearest = np.zeros(len(open_), np.float32)
        for start in range(0, len(labelled), _BLOCK):
            block = self.directions[labelled[start : start + _BLOCK]]
            nearest = np.maximum(nearest, (self.directions[open_] @ block.T).max(1))
        left = np.ones(len(open_), dtype=bool)
        chosen: list[Chosen] = []
        for _ in range(min(count, len(open_))):
            place = int(np.where(left, value * (1 - nearest), -np.inf).argmax())
            number = int(open_[place])
            chosen.append(Chosen(number, int(self.similar[number]), float(nearest[place])))
            left[place] = False
            nearest = np.maximum(nearest, self.directions[open_] @ self.directions[number])
        return chosen

    def quick_scores(
        self, labelled: Numbers, labels: Sequence[str], open_: Numbers
    ) -> Scores | None:
        """The probabilities of a logistic regression on the labels so far.

        None if they have one class. With several labels per text there is a regression for each
        class that some texts have and others have not.

        Args:
            labelled: (m,), numbers of the labelled texts.
            labels: (m,), their labels or sets of labels.
            open_: (n,), numbers of the texts to score.
        """
        names = classes_of(labels)
        if is_multilabel(labels):
            truth = indicator(labels, names)  # (m, J)
            used = [j for j in range(len(names)) if 0 < truth[:, j].sum() < len(truth)]
            if not used:
                return None
            columns = [self._fit(labelled, truth[:, j], open_)[:, 1] for j in used]
            classes = tuple(names[j] for j in used)
            return Scores(classes, np.stack(columns, 1), np.full(len(used), 0.5))
        if len(names) < 2:
            return None
        numbers = np.array([names.index(label) for label in labels])
        return Scores(names, self._fit(labelled, numbers, open_))

    def _fit(
        self, labelled: Numbers, numbers: NDArray[np.generic], open_: Numbers
    ) -> NDArray[np.float64]:
        model = LogisticRegression(C=STRENGTH, max_iter=60, tol=1e-3)
        model.fit(self.features[labelled], numbers)
        return np.asarray(model.predict_proba(self.features[open_]))
