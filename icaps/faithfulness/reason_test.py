"""The reason test: the shaded words of a text are removed, or all others are.

Words are numbered as in `Explanation.words`. Texts are not tokenised again, so that sentences stay
the same (`faithfulness.perturbation`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from icaps.errors import ConfigError
from icaps.explanation_parts import KGram
from icaps.faithfulness.choices import Choices, random_places
from icaps.faithfulness.perturbation import REMOVALS, class_norms_per_batch, remove
from icaps.faithfulness.reason_results import (
    RARE,
    Flip,
    Prediction,
    ReasonTest,
    decided_class,
    differs,
)
from icaps.inference import class_norms, predicted_sets
from icaps.results import Explanation, Interval
from icaps.text.batch import TokenBatch
from icaps.text.sentences import encode
from icaps.trained_model import TrainedModel

DRAWS = 50
ALL_SETS = 500  # sets of as many words; up to so many are all tried
DELETE, MASK, KEEP = "delete", "mask", "keep only"
ACTIONS = (DELETE, MASK, KEEP)
_BOUNDS = (0.05, 0.95)  # quantiles: the interval holds nine of ten draws
_ALL_WORDS = 20_000  # words of all sets of a text; with more, sets are drawn
_ALL_SUBSETS = 10  # K-grams of which every subset is tried
_TIE = 1e-6  # norms of sets of the same words differ by rounding

Norms = NDArray[np.floating]


def try_reasons(
    classifier: TrainedModel,
    explanations: Sequence[Explanation],
    removal: str = REMOVALS[0],
    draws: int = DRAWS,
    seed: int = 0,
) -> Iterator[ReasonTest | None]:
    """Tests the shaded words of each explanation against random words; None for a blank text.

    They are compared with all sets of as many words of the text, where these are at most ALL_SETS.
    In longer texts they are compared with random places of their runs, or with random words where
    their runs have few places.

    Args:
        classifier: The one that computed the explanations, with the same capsules switched off.
        explanations: Explanations by this classifier.
        removal: "deletion", or "unk", which masks the words.
        draws: Random sets of words per text.
        seed: Seed of the draws. A text's result does not depend on the other texts.

    Raises:
        ConfigError: There is no such removal, or `draws` is below 1.
    """
    if draws < 1:
        raise ConfigError(f"draws is {draws}; it must be at least 1.")
    known = [explanation for explanation in explanations if not explanation.blank]
    choices = []  # per text (1 + sets, words), the shaded words first
    for explanation in known:
        shaded = np.array([word.count > 0 for word in explanation.words])
        choices.append(np.concatenate([shaded[None], _other_sets(shaded, draws, seed)]))
    variants = (
        remove(text, np.concatenate([~chosen, chosen]), removal)
        for text, chosen in zip(_tokens(classifier, known), choices, strict=True)
    )
    norms = class_norms_per_batch(classifier.network_, variants, classifier.muted_)
    tests = (
        _reason_test(classifier, explanation, chosen, variant_norms, removal, seed)
        for explanation, chosen, variant_norms in zip(known, choices, norms, strict=True)
    )
    for explanation in explanations:
        yield None if explanation.blank else next(tests)


def scores_after(
    classifier: TrainedModel, explanation: Explanation, words: Collection[int], action: str
) -> tuple[float, ...]:
    """The norm of each class capsule after an action on some of a text's words.

    Args:
        classifier: The one that computed the explanation.
        explanation: The explanation of the text.
        words: Positions of words in `explanation.words`.
        action: One of ACTIONS: delete them, mask them, or delete all others.

    Raises:
        ConfigError: There is no such action, or no such word.
    """
    if action not in ACTIONS:
        raise ConfigError(f"The action is {action!r}; it must be one of {', '.join(ACTIONS)}.")
    count = len(explanation.words)
    if not set(words) <= set(range(count)):
        raise ConfigError(
            f"The text has words 0 to {count - 1}; {sorted(words)} are not all there."
        )
    text = _tokens(classifier, [explanation])
    chosen = np.isin(np.arange(count), list(words))[None]
    mask = chosen if action == KEEP else ~chosen
    variant = remove(text, mask, "unk" if action == MASK else "deletion")
    (norms,) = class_norms(classifier.network_, variant, classifier.muted_)
    return tuple(norms.tolist())


def words_under(explanation: Explanation, kgrams: Collection[KGram]) -> list[int]:
    """The positions of the words that the K-grams cover."""
    return [
        n
        for n, word in enumerate(explanation.words)
        if any(kgram.start <= word.start and word.end <= kgram.end for kgram in kgrams)
    ]


def flipping_set(
    classifier: TrainedModel, explanation: Explanation, removal: str = REMOVALS[0]
) -> Flip | None:
    """The smallest set of an explanation's K-grams without which another class is predicted.

    With several labels per text, those without which the explained class is not predicted, or if it
    is not anyway, the most probable of the predicted classes (`reason_results.decided_class`).

    K-grams are removed one after another, each time the one that lowers the lead of the class most.
    Then all smaller sets of the ten K-grams with the largest effect alone are tried. None if no set
    changes the class, if no class is predicted, or if the text is blank.

    Args:
        classifier: The one that computed the explanation.
        explanation: Its K-grams are the candidates; several over the same words count once.
        removal: "deletion" or "unk".

    Raises:
        ConfigError: There is no such removal.
    """
    if explanation.blank or not decided_class(explanation):
        return None
    search = _Search(classifier, explanation, removal)
    single = search.leads([(n,) for n in range(len(search.kgrams))])
    tried = np.argsort(single, kind="stable")[:_ALL_SUBSETS].tolist()
    greedy = search.greedy()
    largest = len(tried) if greedy is None else min(len(greedy) - 1, len(tried))
    for size in range(1, largest + 1):
        sets = list(combinations(sorted(tried), size))
        leads = search.leads(sets)
        if leads.min() < 0:
            greedy = sets[int(leads.argmin())]
            break
    return None if greedy is None else search.flip(greedy)


class _Search:
    """The search for a flipping set: the lead of the tested class without a set of K-grams."""

    def __init__(self, classifier: TrainedModel, explanation: Explanation, removal: str) -> None:
        first = {(kgram.start, kgram.end): kgram for kgram in reversed(explanation.kgrams)}
        self.kgrams = [kgram for kgram in explanation.kgrams if kgram in first.values()]
        self._classifier, self._explanation, self._removal = classifier, explanation, removal
        self._text = _tokens(classifier, [explanation])
        words = range(len(explanation.words))
        under = [words_under(explanation, [kgram]) for kgram in self.kgrams]
        self._covered = np.array([np.isin(words, numbers) for numbers in under])  # (kgrams, words)
        self._tested = explanation.classes.index(decided_class(explanation))

    def leads(self, sets: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        """The lead of the class without each set (sets,); negative if it is not predicted.

        It is over the largest norm of another class, or the norm at the threshold of the class.
        """
        norms, network = self._norms(sets), self._classifier.network_
        if network.thresholds is None:
            rivals = np.delete(norms, self._tested, axis=1).max(1)
        else:
            rivals = network.thresholds.norms[self._tested]
        lead = (norms[:, self._tested] - rivals).astype(float)
        lost = ~predicted_sets(network, norms)[:, self._tested]
        leads: NDArray[np.float64] = np.where(lost, np.minimum(lead, -np.finfo(float).tiny), lead)
        return leads

    def greedy(self) -> tuple[int, ...] | None:
        """The K-grams of a greedy removal until the class is not predicted; None if it stays."""
        chosen: tuple[int, ...] = ()
        while rest := [n for n in range(len(self.kgrams)) if n not in chosen]:
            sets = [(*chosen, n) for n in rest]
            leads = self.leads(sets)
            chosen = sets[int(leads.argmin())]
            if leads.min() < 0:
                return tuple(sorted(chosen))
        return None

    def flip(self, chosen: tuple[int, ...]) -> Flip:
        """The result of removing a set."""
        (norms,) = self._norms([chosen])
        (predicted,) = _predictions(self._classifier, self._explanation.classes, norms[None])
        kgrams = tuple(self.kgrams[n] for n in chosen)
        exact = len(self.kgrams) <= _ALL_SUBSETS or len(chosen) < 3  # all single ones were tried
        return Flip(kgrams, predicted, tuple(norms.tolist()), exact)

    def _norms(self, sets: Sequence[tuple[int, ...]]) -> Norms:
        removed = np.array([self._covered[list(chosen)].any(0) for chosen in sets])
        variants = remove(self._text, ~removed, self._removal)
        return class_norms(self._classifier.network_, variants, self._classifier.muted_)


def _tokens(classifier: TrainedModel, explanations: Sequence[Explanation]) -> TokenBatch:
    texts = [explanation.text for explanation in explanations]
    return encode(classifier.vocabulary_, texts, classifier.network_.config, spans=False)


def _other_sets(shaded: NDArray[np.bool_], draws: int, seed: int) -> Choices:
    """Sets of as many words as are shaded (W,) to compare them with (sets, W)."""
    words, size = len(shaded), int(shaded.sum())
    if _all_are_tried(words, size):
        every = np.zeros((math.comb(words, size), words), bool)
        for chosen, numbers in zip(every, combinations(range(words), size), strict=True):
            chosen[list(numbers)] = True
        return every
    (places,) = random_places([shaded[None]], seed, draws)
    if (places == shaded).all(1).mean() <= RARE:
        return places
    order = np.random.default_rng(seed).random((draws, words)).argsort(1)
    return np.asarray(order < size)


def _all_are_tried(words: int, size: int) -> bool:
    """Whether all sets of `size` words are tried."""
    sets = math.comb(words, size)
    return sets <= ALL_SETS and sets * words <= _ALL_WORDS


def _reason_test(
    classifier: TrainedModel,
    explanation: Explanation,
    chosen: Choices,
    norms: Norms,
    removal: str,
    seed: int,
) -> ReasonTest:
    """The test from sets of words (1 + sets, W), the shaded words first, and their norms."""
    target = explanation.classes.index(explanation.target)
    predicted = _predictions(classifier, explanation.classes, norms)
    whole: Prediction = explanation.predicted
    if explanation.predicted_classes is not None:
        whole = explanation.predicted_classes
    without, alone = np.split(norms[:, target].astype(float), 2)
    sets = len(chosen) - 1
    shaded = int(chosen[0].sum())
    return ReasonTest(
        target=explanation.target,
        removal=removal,
        words=chosen.shape[1],
        shaded=shaded,
        whole=explanation.scores[target],
        without=float(without[0]),
        alone=float(alone[0]),
        random_without=_interval_of_sets(without[1:]),
        random_alone=_interval_of_sets(alone[1:]),
        as_far=int((without[1:] <= without[0] + _TIE).sum()),
        as_much=int((alone[1:] >= alone[0] - _TIE).sum()),
        draws=sets,
        seed=seed,
        testable=bool((chosen[1:] == chosen[0]).all(1).mean() <= RARE),
        predicted=whole,
        predicted_without=predicted[0],
        predicted_alone=predicted[1 + sets],
        random_flips=sum(
            differs(whole, other, explanation.target) for other in predicted[1 : 1 + sets]
        ),
        exhaustive=_all_are_tried(chosen.shape[1], shaded),
    )


def _predictions(
    classifier: TrainedModel, classes: Sequence[str], norms: Norms
) -> list[Prediction]:
    """What is predicted for class norms (n, J); "" if all are 0, as no known word is left.

    With several labels per text it is a tuple of classes, the most probable first.
    """
    sets = predicted_sets(classifier.network_, norms)
    if classifier.network_.thresholds is None:
        return [next((classes[j] for j in np.flatnonzero(row).tolist()), "") for row in sets]
    order = (-classifier.calibrated(norms)).argsort(1, kind="stable")
    return [
        tuple(classes[j] for j in ranked.tolist() if row[j])
        for ranked, row in zip(order, sets, strict=True)
    ]


def _interval_of_sets(norms: NDArray[np.float64]) -> Interval:
    return Interval(float(norms.mean()), *np.quantile(norms, _BOUNDS).tolist())
