"""Orders in which texts are labelled, each with the reason why a text comes next.

Orders: "mixed", the default, "uncertain", "diverse", "doubted", "capsule", "search" and "random".
An order chooses a batch of texts at a time. Of a large task, a random part of the texts is looked
at (`MAX_TEXTS`), so that time and memory are bounded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import label_set
from icaps.data.text_file import TextFile
from icaps.errors import ConfigError
from icaps.explore.label_issues import doubted_labels
from icaps.explore.search import check_pattern
from icaps.inference import read_texts
from icaps.interpret.account import BatchAccount
from icaps.label.defaults import (
    CAPSULE,
    DEFAULT,
    DOUBTED,
    MIXED,
    ORDERS,
    RANDOM,
    SEARCH,
    UNCERTAIN,
)
from icaps.label.diverse import cluster_choice, text_features

BATCH = 25  # texts that an order chooses at a time
UNCERTAIN_TIMES = 10  # times a batch, the most uncertain texts from which "mixed" chooses
MAX_TEXTS = 20_000  # texts that are looked at, a random part of more


class Scorer(Protocol):
    """A trained classifier: an `ICapsClassifier`, or a baseline.

    `classes_` (J,) are its classes in the order of its probabilities.
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """Probabilities (texts, J)."""

    def predict(self, X: Sequence[str]) -> NDArray[Any]:  # noqa: N803
        """The classes (texts,), or with several per text their indicators (texts, J)."""


@dataclass(frozen=True)
class Order:
    """An order, with its options.

    Attributes:
        name: One of ORDERS.
        capsule: Number of the capsule, for "capsule".
        pattern: A regular expression of RE2, for "search".
        batch: Texts that are chosen at a time.
    """

    name: str = DEFAULT
    capsule: int | None = None
    pattern: str = ""
    batch: int = BATCH

    def __post_init__(self) -> None:
        if self.name not in ORDERS:
            raise ConfigError(f"There is no order {self.name!r}; choose {', '.join(ORDERS)}.")
        if (self.name == CAPSULE) != (self.capsule is not None):
            raise ConfigError(f"The order {CAPSULE!r} needs the number of a capsule, others none.")
        if (self.name == SEARCH) != bool(self.pattern):
            raise ConfigError(f"The order {SEARCH!r} needs a regular expression, others none.")
        if self.batch < 1:
            raise ConfigError(f"A batch of {self.batch} texts is too small; give 1 or more.")


@dataclass(frozen=True)
class Choice:
    """A text that an order has chosen.

    Attributes:
        id: Its number.
        why: The reason, as a sentence.
        guess: The model's probability of each class, the most probable first; empty without one.
    """

    id: int
    why: str
    guess: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Candidates:
    """What an order chooses from.

    Attributes:
        texts: All texts of the task, by id.
        open: (n,), ids of texts that may be chosen: neither labelled, skipped nor held out.
        labelled: (m,), ids of labelled texts outside the held-out part.
        labels: Their labels.
        reviewed: (m,), whether a label was given to a text that had one.
        seed: Seed of all that is random.
    """

    texts: TextFile
    open: NDArray[np.int64]
    labelled: NDArray[np.int64]
    labels: Sequence[str]
    reviewed: NDArray[np.bool_]
    seed: int

    def sample(self) -> Candidates:
        """At most `MAX_TEXTS` texts of each kind, a random part of more, in random order."""
        rng = np.random.default_rng(self.seed)
        chosen = rng.permutation(len(self.labelled))[:MAX_TEXTS]
        # The order of all texts, so that few labels more give nearly the same part.
        place = rng.permutation(len(self.texts))
        return replace(
            self,
            open=self.open[np.argsort(place[self.open])][:MAX_TEXTS],
            labelled=self.labelled[chosen],
            labels=[self.labels[n] for n in chosen],
            reviewed=self.reviewed[chosen],
        )


def choose(order: Order, candidates: Candidates, model: Scorer | None = None) -> list[Choice]:
    """The next batch of an order; empty if no text is left.

    Raises:
        ConfigError: The order needs a model, or one with capsules.
        DataError: The regular expression has a mistake, or too few labels can be doubted.
    """
    if order.name == SEARCH:
        candidates = replace(candidates, open=_matching(order.pattern, candidates))
    candidates = candidates.sample()
    if order.name == DOUBTED:
        return _doubted(candidates, order.batch)
    if not len(candidates.open):
        return []
    if order.name in (UNCERTAIN, CAPSULE) and model is None:
        raise ConfigError(f"The order {order.name!r} needs a model; train one, or choose another.")
    texts = candidates.texts.take(candidates.open)
    scores = None if model is None else Scores.of(model, texts)
    whys: Sequence[str]
    if order.name == RANDOM:
        chosen = np.arange(min(order.batch, len(texts)))
        whys = ["It was drawn at random."] * len(chosen)
    elif order.name == SEARCH:
        chosen = np.arange(len(texts)) if scores is None else scores.by_uncertainty()
        chosen = chosen[: order.batch]
        whys = [f"It matches {order.pattern!r}."] * len(chosen)
    elif order.name == CAPSULE:
        assert order.capsule is not None
        chosen, whys = _by_capsule(model, order.capsule, texts, order.batch)
    elif order.name == UNCERTAIN:
        assert scores is not None
        chosen = scores.by_uncertainty()[: order.batch]
        whys = [scores.sentence(n) for n in chosen.tolist()]
    else:
        uncertain = scores if order.name == MIXED else None
        known = candidates.texts.take(candidates.labelled)
        chosen, whys = _diverse(texts, known, uncertain, order.batch, candidates.seed)
    return [
        Choice(int(candidates.open[n]), why, {} if scores is None else scores.guess(n))
        for n, why in zip(chosen.tolist(), whys, strict=True)
    ]


@dataclass(frozen=True)
class Scores:
    """A model's probabilities for texts.

    Attributes:
        classes: (J,), names.
        probabilities: (n, J).
        thresholds: (J,), of a model of several classes per text; None for one of one.
    """

    classes: tuple[str, ...]
    probabilities: NDArray[np.float64]
    thresholds: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, model: Scorer, texts: Sequence[str]) -> Scores:
        """The probabilities of texts."""
        several = getattr(model, "multilabel_", False)
        return cls(
            tuple(map(str, model.classes_)),
            np.asarray(model.predict_proba(texts), np.float64),
            np.asarray(model.thresholds_, np.float64) if several else None,  # type: ignore[attr-defined]
        )

    def margins(self) -> NDArray[np.float64]:
        """How sure the model is of each text (n,), 0 for not at all.

        The probability of the most probable class minus that of the second one (margin sampling,
        Scheffer, Decomain and Wrobel 2001). With several classes per text, the distance of the
        nearest probability from its threshold.
        """
        if self.thresholds is not None:
            return np.asarray(np.abs(self.probabilities - self.thresholds).min(1))
        if self.probabilities.shape[1] < 2:
            return np.ones(len(self.probabilities))
        top = np.partition(self.probabilities, -2, axis=1)[:, -2:]  # (n, 2)
        return np.asarray(top[:, 1] - top[:, 0])

    def by_uncertainty(self) -> NDArray[np.int64]:
        """The numbers of the texts, the least certain first, (n,)."""
        return np.argsort(self.margins(), kind="stable")

    def guess(self, n: int) -> dict[str, float]:
        """The probability of each class, the most probable first."""
        row = self.probabilities[n]
        return {self.classes[j]: float(row[j]) for j in np.argsort(-row, kind="stable")}

    def sentence(self, n: int) -> str:
        """What the model is unsure of."""
        row = self.probabilities[n]
        if self.thresholds is not None:
            j = int(np.abs(row - self.thresholds).argmin())
            return (
                f"The model is unsure of {self.classes[j]}: {row[j]:.0%}, where "
                f"{self.thresholds[j]:.0%} decides."
            )
        first, *second = list(self.guess(n).items())[:2]
        return (
            "The model is unsure: " + ", ".join(f"{c} {p:.0%}" for c, p in [first, *second]) + "."
        )


def predicted_labels(model: Scorer, texts: Sequence[str]) -> list[tuple[str, ...]]:
    """The names of the classes that a model predicts for each text."""
    predicted = np.asarray(model.predict(texts))
    if predicted.ndim == 1:
        return [(str(name),) for name in predicted]
    names = [str(name) for name in model.classes_]
    return [tuple(names[j] for j in np.flatnonzero(row)) for row in predicted]


def _diverse(
    texts: Sequence[str],
    known: Sequence[str],
    scores: Scores | None,
    count: int,
    seed: int,
) -> tuple[NDArray[np.int64], list[str]]:
    """A batch of texts that differ from each other, of the uncertain ones if there are scores."""
    features = text_features([*texts, *known], seed)
    labelled = np.arange(len(texts), len(features))
    if scores is None:
        chosen, sizes = cluster_choice(features, np.arange(len(texts)), labelled, count, seed)
        return chosen, [_group(size) + " None of them is labelled." for size in sizes.tolist()]
    margins = scores.margins()
    open_ = np.argsort(margins, kind="stable")[: UNCERTAIN_TIMES * count]
    chosen, sizes = cluster_choice(
        features, open_, labelled[:0], count, seed, 1 - margins[open_] + 1e-6
    )
    whys = [
        f"{scores.sentence(n)} {_group(size)}"
        for n, size in zip(chosen.tolist(), sizes.tolist(), strict=True)
    ]
    return chosen, whys


def _group(size: int) -> str:
    return "No other text is like it." if size == 1 else f"It is typical of {size:,} similar texts."


def _matching(pattern: str, candidates: Candidates) -> NDArray[np.int64]:
    """The open texts that a regular expression matches."""
    check_pattern(pattern)
    mask = np.zeros(len(candidates.texts), dtype=bool)
    mask[candidates.open] = True
    candidates.texts.match(pattern, mask)
    return np.flatnonzero(mask)


def _by_capsule(
    model: Scorer | None, capsule: int, texts: Sequence[str], count: int
) -> tuple[NDArray[np.int64], list[str]]:
    """The texts in which a capsule adds most to the norm of the predicted class."""
    if not isinstance(model, ICapsClassifier):
        raise ConfigError(f"The order {CAPSULE!r} needs a capsule network.")
    number = model.network_.config.num_capsules
    if not 0 <= capsule < number:
        raise ConfigError(f"There is no capsule {capsule}; they are 0 to {number - 1}.")
    shares = np.zeros(len(texts))
    for batch in read_texts(model.network_, model.vocabulary_, texts, model.muted_):
        targets = batch.activity.class_norms.argmax(1).numpy()
        account = BatchAccount(model.network_, batch)
        shares[batch.numbers] = account.capsule_shares(targets)[:, capsule]
    chosen = np.argsort(-shares, kind="stable")[:count]
    label = model.capsule_labels_[capsule]
    whys = [
        f"Capsule {label.removeprefix('capsule ')} adds {shares[n]:+.2f} to the score of the "
        "predicted class."
        for n in chosen.tolist()
    ]
    return chosen, whys


def _doubted(candidates: Candidates, count: int) -> list[Choice]:
    """Labelled texts that models which did not see their label predict otherwise, by confidence.

    Confident learning with linear models by folds, as in `explore.label_issues`.
    """
    if any(label_set(label) is not None for label in candidates.labels):
        raise ConfigError(f"The order {DOUBTED!r} is for tasks of one class per text.")
    texts = candidates.texts.take(candidates.labelled)
    names, labels = np.unique(np.array(candidates.labels, dtype=object), return_inverse=True)
    issues = doubted_labels(texts, labels, len(names))
    choices = []
    for n in issues.rows.tolist():
        if candidates.reviewed[n]:
            continue
        given, suggested = names[labels[n]], names[issues.suggested[n]]
        why = (
            f"Its label {given!r} is doubted: a model that did not see it says {suggested!r} "
            f"({issues.probability[n]:.0%})."
        )
        guess = {str(suggested): float(issues.probability[n]), str(given): float(issues.given[n])}
        choices.append(Choice(int(candidates.labelled[n]), why, guess))
    return choices[:count]
