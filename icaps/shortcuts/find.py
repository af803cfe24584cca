"""Search for shortcuts: K-grams and capsules that predictions depend on although off-topic.

Words of the topic flip predictions as well, when they are masked or added. So a finding needs both:
an effect well above that of random words, and a sign that it is not the topic of the class
(`heuristics`), stated in words for a person to judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from icaps.faithfulness.perturbation import REMOVALS
from icaps.shortcuts.candidates import Candidate, candidates, parts, words_by_share
from icaps.shortcuts.heuristics import Sign
from icaps.shortcuts.interventions import (
    DRAWS,
    Effect,
    insert,
    mask,
    norms_with,
    norms_with_off,
    norms_without,
    summarise,
)
from icaps.shortcuts.predicted_texts import Numbers, PredictedTexts, ShareTotal

KGRAM, CAPSULE = "K-gram", "capsule"
FEWEST = 10  # texts that a capsule must win at least
MASKED, INSERTED = 300, 200  # texts that are changed at most, drawn at random
STRONGEST = 15  # words that are measured whether they are shortcuts or not
# Largest share that may flip, above the control's, without being a finding.
MASKED_MOST, INSERTED_MOST = 0.05, 0.10
ALONE = 0.3  # share of right predictions that depend on a K-gram alone, which is itself a sign
SAME_WORDS = 0.5  # share of a capsule's K-grams that contain one finding, which is a sign


@dataclass(frozen=True)
class Finding:
    """A possible shortcut.

    Attributes:
        kind: KGRAM or CAPSULE.
        words: The K-gram as in the vocabulary; empty for a capsule.
        capsule: The number of the capsule; None for a K-gram.
        label: Name of the class.
        rows: (n,), numbers of the given texts that contain the K-gram, or that the capsule won.
        tied: Share of them that get the class.
        share: What it adds to the norm of the class, in the texts that get it.
        signs: Signs that it is not the topic.
        masked: Effect of masking the K-gram, by removal; for a capsule, effect of switching it off,
            with other capsules as the control.
        inserted: Effect of adding the K-gram to texts of other classes; None for a capsule.
        lost: Number of right predictions of `rows` that depend on it: those that flip, minus the
            control's, by the mean of `masked`.
    """

    kind: str
    words: tuple[str, ...]
    capsule: int | None
    label: str
    rows: Numbers
    tied: float
    share: ShareTotal
    signs: tuple[Sign, ...]
    masked: dict[str, Effect]
    inserted: Effect | None
    lost: float

    @property
    def name(self) -> str:
        """The K-gram or the capsule, for display."""
        return " ".join(self.words) if self.capsule is None else f"capsule {self.capsule}"

    @property
    def weak(self) -> bool:
        """Whether all its signs are weak."""
        return all(sign.weak for sign in self.signs)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "words": list(self.words),
            "capsule": self.capsule,
            "class": self.label,
            "texts": len(self.rows),
            "tied": self.tied,
            "share": self.share.total,
            "share_texts": self.share.texts,
            "share_per_text": self.share.mean,
            "lost": self.lost,
            "reasons": [sign.reason for sign in self.signs],
            "weak": self.weak,
            "masked": {name: effect.to_dict() for name, effect in self.masked.items()},
            "inserted": self.inserted and self.inserted.to_dict(),
        }


def find_shortcuts(
    texts: PredictedTexts,
    seed: int = 0,
    on_measured: Callable[[int, int], None] = lambda done, total: None,
) -> list[Finding]:
    """The shortcuts of a model, the worst first.

    Findings with weak signs alone come last. The others are sorted by the number of right
    predictions that depend on them, then by the share of texts that flip when they are added.

    Args:
        texts: Labelled texts and the model's predictions.
        seed: Seed of the sample of texts, and of the random words.
        on_measured: Called with the number of measured K-grams, and that of all.
    """
    findings: list[Finding] = []
    to_measure = candidates(texts)
    for number, candidate in enumerate(to_measure, start=1):
        finding = _measure(texts, candidate, seed)
        if finding is not None:
            findings.append(finding)
        on_measured(number, len(to_measure))
    findings += _capsules(texts, list(findings), seed)
    return sorted(findings, key=_sort_key)


def strongest_words(texts: PredictedTexts, count: int = STRONGEST, seed: int = 0) -> list[Finding]:
    """The words that add most to the scores of the predicted classes.

    They are candidates of `find_shortcuts`, measured whether they are shortcuts or not: what a
    model relies on where no shortcut was found. Those come first that change most predictions of
    other classes when they are added, beyond random words. `signs` may be empty.

    Args:
        texts: Labelled texts and the model's predictions.
        count: Number of words at most.
        seed: Seed of the sample of texts, and of the random words.
    """
    words = [
        _finding(texts, candidate, candidate.signs, *measure_effects(texts, candidate, seed))
        for candidate in words_by_share(texts)[:count]
    ]
    return sorted(words, key=lambda word: (-_added(word), -word.share.total))


def measure_effects(
    texts: PredictedTexts, candidate: Candidate, seed: int = 0
) -> tuple[dict[str, Effect], Effect]:
    """The effects of masking a K-gram, by removal, and of adding it."""
    words, target = candidate[:2]
    with_kgram, without_kgram = _sample(texts, candidate, seed)
    masked = {how: mask(texts, with_kgram, words, target, how, seed) for how in REMOVALS}
    return masked, insert(texts, without_kgram, words, target, seed)


def _measure(texts: PredictedTexts, candidate: Candidate, seed: int) -> Finding | None:
    """A finding if the effect is well above the control's and there is a sign, else None."""
    own_signs = candidate.signs
    if not _may_decide(texts, candidate, seed):
        return None
    masked, inserted = measure_effects(texts, candidate, seed)
    decides = all(is_above(effect, MASKED_MOST) for effect in masked.values())
    if not (decides or is_above(inserted, INSERTED_MOST)):
        return None
    flips = min(effect.flips for effect in masked.values())
    if decides and flips >= ALONE:
        alone = f"{flips:.0%} of the right predictions of its texts depend on it alone"
        own_signs = (Sign(alone), *own_signs)
    if not own_signs:
        return None
    return _finding(texts, candidate, own_signs, masked, inserted)


def _finding(
    texts: PredictedTexts,
    candidate: Candidate,
    signs: tuple[Sign, ...],
    masked: dict[str, Effect],
    inserted: Effect,
) -> Finding:
    words, target, rows, _ = candidate
    right = int(texts.right_as(target)[rows].sum())
    return Finding(
        kind=KGRAM,
        words=texts.spell(words),
        capsule=None,
        label=texts.classes[target],
        rows=texts.numbers[rows],
        tied=float(texts.given[rows, target].mean()),
        share=texts.share_of(words, target),
        signs=signs,
        masked=masked,
        inserted=inserted,
        lost=right * float(np.mean([effect.above.value for effect in masked.values()])),
    )


def is_above(effect: Effect, most: float) -> bool:
    """Whether the flips above random words are more than the share `most`, and significant."""
    return effect.above.value > most and effect.above.low > 0


def _sort_key(finding: Finding) -> tuple[bool, float, float, str]:
    return finding.weak, -max(finding.lost, 0.0), -_added(finding), finding.name


def _added(finding: Finding) -> float:
    """The share of texts that flip when the K-gram is added, above random words."""
    return finding.inserted.above.value if finding.inserted else 0.0


def _may_decide(texts: PredictedTexts, candidate: Candidate, seed: int) -> bool:
    """Whether enough predictions flip without the slow controls, which only reduce the effect."""
    words, target = candidate[:2]
    with_kgram, without_kgram = _sample(texts, candidate, seed)
    without = norms_without(texts, with_kgram, words)
    masked = ~texts.gets(without, target) | ~without.any(1)
    inserted = texts.gets(norms_with(texts, without_kgram, words), target)
    return bool(
        masked.sum() > MASKED_MOST * len(with_kgram)
        or inserted.sum() > INSERTED_MOST * len(without_kgram)
    )


def _sample(texts: PredictedTexts, candidate: Candidate, seed: int) -> tuple[Numbers, Numbers]:
    """Texts (n,) in which the K-gram is masked, and those to which it is added: all right."""
    _, target, rows, _ = candidate
    random = np.random.default_rng(seed)
    with_kgram = rows[texts.right_as(target)[rows]]
    without_kgram = np.setdiff1d(np.flatnonzero(texts.right_without(target)), rows)
    return _draw(with_kgram, MASKED, random), _draw(without_kgram, INSERTED, random)


def _capsules(texts: PredictedTexts, kgrams: list[Finding], seed: int) -> Iterator[Finding]:
    """Capsules that win by the words of a finding, and matter more than other capsules.

    The effect is measured on right predictions of the class, at most MASKED.
    """
    count = texts.network.config.num_capsules
    for finding in kgrams:
        target = texts.classes.index(finding.label)
        right = np.flatnonzero(texts.right_as(target))
        sample = _draw(right, MASKED, np.random.default_rng(seed))
        words = tuple(texts.vocabulary.id(word) for word in finding.words)
        contains = np.array([words in parts(kgrams[0]) for kgrams in texts.kgrams])
        for capsule in range(count):
            rows = np.flatnonzero(texts.capsules == capsule)
            if len(rows) < FEWEST or contains[rows].mean() < SAME_WORDS or count == 1:
                continue
            off = _switched_off(texts, sample, capsule, target, seed)
            if not is_above(off, MASKED_MOST):
                continue
            share = contains[rows].mean()
            sign = Sign(f"{share:.0%} of the K-grams that it wins by contain “{finding.name}”")
            yield Finding(
                kind=CAPSULE,
                words=(),
                capsule=capsule,
                label=finding.label,
                rows=texts.numbers[np.unique(texts.prediction_texts[rows])],
                tied=float((texts.predicted[rows] == target).mean()),
                share=ShareTotal.of(texts.winner_shares[rows[texts.predicted[rows] == target]]),
                signs=(sign,),
                masked={"off": off},
                inserted=None,
                lost=len(right) * off.above.value,
            )


def _switched_off(
    texts: PredictedTexts, rows: Numbers, capsule: int, target: int, seed: int
) -> Effect:
    """The effect of switching a capsule off, with DRAWS other capsules as the control."""
    others = np.setdiff1d(np.arange(texts.network.config.num_capsules), [capsule])
    others = _draw(others, DRAWS, np.random.default_rng(seed))
    norms = [norms_with_off(texts, rows, number) for number in (capsule, *others.tolist())]
    off = np.stack(norms, axis=1)  # (n, 1 + draws, J)
    changes = off[:, :, target] - texts.norms[rows, target][:, None]
    return summarise(~texts.gets(off, target), changes)


def _draw(rows: Numbers, most: int, random: np.random.Generator) -> Numbers:
    return np.sort(random.choice(rows, min(most, len(rows)), replace=False))
