"""Orders in which texts are labelled, each with the reason why a text comes next.

Orders: "mixed", the default, "uncertain", "diverse", "doubted", "capsule", "search" and "random".
An order chooses a batch of texts at a time. Of a large task, a random part of the texts is looked
at (`MAX_TEXTS`, `MAX_COMPARED`), so that time and memory are bounded; a search covers all. "mixed"
follows each label without a training: see `label.informative`. A model's guesses are shown with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

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
    DIVERSE,
    DOUBTED,
    MIXED,
    ORDERS,
    RANDOM,
    SEARCH,
    UNCERTAIN,
)
from icaps.label.informative import SIMILAR, Chosen, ComparedTexts
from icaps.label.scores import Scorer, Scores

BATCH = 25  # texts that an order chooses at a time
MAX_TEXTS = 20_000  # texts that a model predicts for an order, a random part of more
MAX_COMPARED = 5_000  # texts that are compared with each other


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
        # Of all texts and drawn first, so that the part stays the same while labels are added.
        place = rng.permutation(len(self.texts))
        chosen = rng.permutation(len(self.labelled))[:MAX_TEXTS]
        return replace(
            self,
            open=self.open[np.argsort(place[self.open])][:MAX_TEXTS],
            labelled=self.labelled[chosen],
            labels=[self.labels[n] for n in chosen],
            reviewed=self.reviewed[chosen],
        )


class Comparison:
    """The comparison of a task's texts, which is reused from batch to batch.

    It has at most `MAX_COMPARED` texts without and as many with a label. A new one is made when
    half of its texts without a label are labelled, and others are left.
    """

    def __init__(self) -> None:
        self._ids: NDArray[np.int64] = np.zeros(0, np.int64)
        self._compared: ComparedTexts | None = None

    def of(self, candidates: Candidates) -> tuple[NDArray[np.int64], ComparedTexts]:
        """The ids of the compared texts, rising, and their comparison."""
        wanted = min(len(candidates.open), MAX_COMPARED // 2)
        inside = int(np.isin(candidates.open, self._ids).sum())
        if self._compared is None or inside < wanted:
            chosen = candidates.open[:MAX_COMPARED], candidates.labelled[:MAX_COMPARED]
            self._ids = np.sort(np.concatenate(chosen))
            texts = candidates.texts.take(self._ids)
            self._compared = ComparedTexts.of(texts, candidates.seed)
        return self._ids, self._compared


def choose(
    order: Order,
    candidates: Candidates,
    model: Scorer | None = None,
    comparison: Comparison | None = None,
) -> list[Choice]:
    """The next batch of an order; empty if no text is left.

    Args:
        order: The order.
        candidates: What it chooses from.
        model: A trained model.
        comparison: Of earlier batches of the same task.

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
    ids, whys = _ranked(order, candidates, model, comparison or Comparison())
    if model is None:
        return [Choice(n, why) for n, why in zip(ids, whys, strict=True)]
    scores = Scores.of(model, candidates.texts.take(np.array(ids, np.int64)))
    return [
        Choice(n, why, scores.guess(place))
        for place, (n, why) in enumerate(zip(ids, whys, strict=True))
    ]


def _ranked(
    order: Order, candidates: Candidates, model: Scorer | None, comparison: Comparison
) -> tuple[list[int], list[str]]:
    """The ids of the next texts, and why."""
    open_ = candidates.open
    if order.name in (MIXED, DIVERSE):
        return _informative(candidates, comparison, order)
    if order.name == RANDOM:
        chosen = open_[: order.batch].tolist()
        return chosen, ["It was drawn at random."] * len(chosen)
    if model is None:
        assert order.name == SEARCH, order
        chosen = open_[: order.batch].tolist()
        return chosen, [f"It matches {order.pattern!r}."] * len(chosen)
    texts = candidates.texts.take(open_)
    if order.name == CAPSULE:
        assert order.capsule is not None
        places, whys = _by_capsule(model, order.capsule, texts, order.batch)
        return open_[places].tolist(), whys
    scores = Scores.of(model, texts)
    places = scores.by_uncertainty()[: order.batch]
    whys = [scores.sentence(place) for place in places.tolist()]
    if order.name == SEARCH:
        whys = [f"It matches {order.pattern!r}. {why}" for why in whys]
    return open_[places].tolist(), whys


def _informative(
    candidates: Candidates, comparison: Comparison, order: Order
) -> tuple[list[int], list[str]]:
    """Texts that stand for many and differ; in the order "mixed" also uncertain ones."""
    ids, compared = comparison.of(candidates)
    open_ = np.flatnonzero(np.isin(ids, candidates.open))
    label_of = dict(zip(candidates.labelled.tolist(), candidates.labels, strict=True))
    labelled = np.flatnonzero(np.isin(ids, candidates.labelled))
    scores = None
    if order.name == MIXED and len(labelled):
        labels = [label_of[n] for n in ids[labelled].tolist()]
        scores = compared.quick_scores(labelled, labels, open_)
    uncertainty = None if scores is None else 1 - scores.margins()
    place_of = {number: place for place, number in enumerate(open_.tolist())}
    chosen, whys = [], []
    for one in compared.choose(open_, labelled, order.batch, uncertainty):
        chosen.append(int(ids[one.number]))
        whys.append(_stands_for(one))
        if scores is not None:
            doubt = scores.sentence(place_of[one.number], "A quick model of the labels so far")
            whys[-1] = f"{doubt} {whys[-1]}"
    return chosen, whys


def _stands_for(one: Chosen) -> str:
    """For which texts a chosen one stands, as a sentence."""
    if one.nearest >= SIMILAR:
        known = "although one like it is labelled or comes before"
    else:
        known = "and no text like it is labelled yet"
    if not one.similar:
        return f"Few texts are like it, {known}."
    verb = "text is" if one.similar == 1 else "texts are"
    return f"{one.similar:,} other {verb} like it, {known}."


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
