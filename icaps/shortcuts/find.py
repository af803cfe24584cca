"""Shortcuts: K-grams and capsules on which predictions hang for a reason that is no topic.

A word of a topic flips predictions too, where it is masked or added. So a finding needs both: an
effect well above that of random words, and a sign that it isn't what the class is about, which is
told in words (`suspicion`). Such signs are for a person to judge.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from icaps.faithfulness.perturbation import REMOVALS
from icaps.shortcuts.heuristics import Sign, signs
from icaps.shortcuts.interventions import (
    DRAWS,
    Effect,
    effect,
    insert,
    mask,
    norms_with,
    norms_with_off,
    norms_without,
)
from icaps.shortcuts.predicted_texts import Numbers, PredictedTexts, Words
from icaps.stats import wilson
from icaps.text.batch import UNK

KGRAM, CAPSULE = "K-gram", "capsule"
FEWEST = 10  # texts that a capsule wins
NAMED = 5  # texts in which a K-gram of the explanation holds it
PURE = 0.8  # of a K-gram's texts get its class, by the low end of Wilson's interval: of 16, all
MASKED, INSERTED = 300, 200  # texts that are changed at most, drawn at random
MASKED_MOST, INSERTED_MOST = (
    0.05,
    0.10,
)  # share that may flip above the control's; a finding has more
ALONE = 0.3  # share of the right predictions that hang on a K-gram alone, which is a sign itself
SAME_WORDS = 0.5  # share of a capsule's K-grams that hold one finding, which is a sign
SAME_TEXTS = 0.9  # share of a K-gram's texts that have a longer one, which then stands for it
_POOL = 1_000  # K-grams whose texts are looked at
_MEASURED = 100  # K-grams whose effect is measured


class Candidate(NamedTuple):
    """A K-gram, the number of the class that its texts mostly get, these texts (n,), its signs."""

    words: Words
    target: int
    rows: Numbers
    signs: tuple[Sign, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What may be a shortcut.

    Attributes:
        kind: KGRAM or CAPSULE.
        words: The K-gram, as the vocabulary has it; empty for a capsule.
        capsule: Its number; None for a K-gram.
        label: Name of the class.
        rows: (n,), numbers of the texts, of those that were given, that have the K-gram, or that
            the capsule won.
        tied: Share of them that get the class.
        signs: Why it is suspicious.
        masked: The effect of masking it, by how it is removed; of a capsule, of switching it off,
            beside the mean of all others.
        inserted: The effect of adding it to texts of other classes; None for a capsule.
        lost: Right predictions of `rows` that hang on it: those that flip, less the control's, by
            the mean of `masked`.
    """

    kind: str
    words: tuple[str, ...]
    capsule: int | None
    label: str
    rows: Numbers
    tied: float
    signs: tuple[Sign, ...]
    masked: dict[str, Effect]
    inserted: Effect | None
    lost: float

    @property
    def name(self) -> str:
        """As it is shown."""
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
            "lost": self.lost,
            "reasons": [sign.reason for sign in self.signs],
            "weak": self.weak,
            "masked": {name: _plain(effect) for name, effect in self.masked.items()},
            "inserted": self.inserted and _plain(self.inserted),
        }


def find_shortcuts(
    texts: PredictedTexts,
    seed: int = 0,
    on_measured: Callable[[int, int], None] = lambda done, of: None,
) -> list[Finding]:
    """The findings, the worst first.

    Those of weak signs alone come last; else those on which most right predictions hang come
    first, and of as many those that flip most texts where they are added.

    Args:
        texts: As a model answered them.
        seed: Of the texts that are drawn, and of the random words.
        on_measured: Told how many K-grams of how many are measured.
    """
    found: list[Finding] = []
    chosen = candidates(texts)
    for number, candidate in enumerate(chosen, start=1):
        finding = _judge(texts, candidate, seed)
        if finding is not None:
            found.append(finding)
        on_measured(number, len(chosen))
    found += _capsules(texts, list(found), seed)
    return sorted(found, key=_order)


def candidates(texts: PredictedTexts) -> list[Candidate]:
    """K-grams, and parts of them, that the explanations name often and that stand with one class.

    Of those that hold each other there is the shortest, or a longer one that nearly all of its
    texts have. Those with signs come first, weak ones after others, and of them the most often
    named; _MEASURED at most.
    """
    named: dict[Words, Counter[int]] = {}
    for target, kgrams in zip(texts.predicted.tolist(), texts.kgrams, strict=True):
        for words in {part for kgram in kgrams for part in _parts(kgram)}:
            named.setdefault(words, Counter())[target] += 1
    often = [words for words, counts in named.items() if counts.total() >= NAMED]
    often = [words for words in often if UNK not in words]
    often.sort(key=lambda words: (-max(named[words].values()), len(words), words))
    found: dict[Words, Candidate] = {}
    for words in sorted(often[:_POOL], key=len):  # stable, and so the most often named first
        rows = np.unique(texts.text_of[texts.places(words)])
        parts = [part for part in _parts(words) if part in found]
        if any(len(rows) < SAME_TEXTS * len(found[part].rows) for part in parts):
            continue
        counts = np.bincount(texts.predicted[rows], minlength=len(texts.classes))
        target = int(counts.argmax())
        if wilson(int(counts[target]), len(rows)).low >= PURE:
            for part in parts:
                del found[part]
            found[words] = Candidate(words, target, rows)
    named_first = [found[words] for words in often if words in found]
    judged = [
        one._replace(signs=signs(texts, one.words, one.target, one.rows)) for one in named_first
    ]
    judged.sort(key=lambda one: min((1 + sign.weak for sign in one.signs), default=3))
    return judged[:_MEASURED]


def effects(
    texts: PredictedTexts, candidate: Candidate, seed: int = 0
) -> tuple[dict[str, Effect], Effect]:
    """What masking a K-gram does, by how it is removed, and what adding it does."""
    words, target = candidate[:2]
    own, others = _drawn(texts, candidate, seed)
    masked = {how: mask(texts, own, words, target, how, seed) for how in REMOVALS}
    return masked, insert(texts, others, words, target, seed)


def _judge(texts: PredictedTexts, candidate: Candidate, seed: int) -> Finding | None:
    """A finding, where the effect is well above the control's and there is a sign."""
    words, target, rows, given = candidate
    if not _may_decide(texts, candidate, seed):
        return None
    masked, inserted = effects(texts, candidate, seed)
    decides = all(is_above(effect, MASKED_MOST) for effect in masked.values())
    if not (decides or is_above(inserted, INSERTED_MOST)):
        return None
    flips = min(effect.flips for effect in masked.values())
    if decides and flips >= ALONE:
        alone = f"{flips:.0%} of the right predictions of its texts hang on it alone"
        given = (Sign(alone), *given)
    if not given:
        return None
    own = int((texts.right[rows] & (texts.labels[rows] == target)).sum())
    return Finding(
        *(KGRAM, texts.spell(words), None, texts.classes[target], texts.numbers[rows]),
        *(float((texts.predicted[rows] == target).mean()), given, masked, inserted),
        lost=own * float(np.mean([effect.above.value for effect in masked.values()])),
    )


def is_above(effect: Effect, most: float) -> bool:
    """Whether more flips than may, and surely more than by random words."""
    return effect.above.value > most and effect.above.low > 0


def _order(finding: Finding) -> tuple[bool, float, float, str]:
    added = finding.inserted.above.value if finding.inserted else 0.0
    return finding.weak, -max(finding.lost, 0.0), -added, finding.name


def _may_decide(texts: PredictedTexts, candidate: Candidate, seed: int) -> bool:
    """Whether enough flips, without the controls, which can only make it less: they take long."""
    words, target = candidate[:2]
    own, others = _drawn(texts, candidate, seed)
    left = norms_without(texts, own, words)
    masked = (left.argmax(1) != target) | ~left.any(1)
    inserted = norms_with(texts, others, words).argmax(1) == target
    return bool(
        masked.sum() > MASKED_MOST * len(own) or inserted.sum() > INSERTED_MOST * len(others)
    )


def _drawn(texts: PredictedTexts, candidate: Candidate, seed: int) -> tuple[Numbers, Numbers]:
    """Texts (n,) in which it is masked, and such to which it is added, all predicted right."""
    _, target, rows, _ = candidate
    random = np.random.default_rng(seed)
    own = rows[texts.right[rows] & (texts.labels[rows] == target)]
    others = np.setdiff1d(np.flatnonzero(texts.right & (texts.labels != target)), rows)
    return _draw(own, MASKED, random), _draw(others, INSERTED, random)


def _capsules(texts: PredictedTexts, kgrams: list[Finding], seed: int) -> Iterator[Finding]:
    """Capsules that win by one finding's words, and without which more is lost than without others.

    The effect is that on texts that are rightly predicted to be of the class, MASKED at most.
    """
    count = texts.network.config.num_capsules
    for finding in kgrams:
        target = texts.classes.index(finding.label)
        right = np.flatnonzero(texts.right & (texts.labels == target))
        own = _draw(right, MASKED, np.random.default_rng(seed))
        words = tuple(texts.vocabulary.id(word) for word in finding.words)
        holds = np.array([words in _parts(kgrams[0]) for kgrams in texts.kgrams])
        for capsule in range(count):
            rows = np.flatnonzero(texts.capsules == capsule)
            if len(rows) < FEWEST or holds[rows].mean() < SAME_WORDS or count == 1:
                continue
            off = _switched_off(texts, own, capsule, target, seed)
            if not is_above(off, MASKED_MOST):
                continue
            why = Sign(
                f"{holds[rows].mean():.0%} of the K-grams that it wins by hold “{finding.name}”"
            )
            yield Finding(
                *(CAPSULE, (), capsule, finding.label, texts.numbers[rows]),
                *(float((texts.predicted[rows] == target).mean()), (why,), {"off": off}, None),
                lost=len(right) * off.above.value,
            )


def _switched_off(
    texts: PredictedTexts, rows: Numbers, capsule: int, target: int, seed: int
) -> Effect:
    """The effect of switching a capsule off, beside that of each of DRAWS others."""
    others = np.setdiff1d(np.arange(texts.network.config.num_capsules), [capsule])
    others = _draw(others, DRAWS, np.random.default_rng(seed))
    norms = [norms_with_off(texts, rows, number) for number in (capsule, *others.tolist())]
    off = np.stack(norms, axis=1)  # (n, 1 + draws, J)
    changes = off[:, :, target] - texts.norms[rows, target][:, None]
    return effect(off.argmax(2) != target, changes)


def _parts(words: Words) -> list[Words]:
    """All runs of its words, itself the last."""
    ends = range(1, len(words) + 1)
    return [words[end - size : end] for size in ends for end in ends if end >= size]


def _draw(rows: Numbers, most: int, random: np.random.Generator) -> Numbers:
    return np.sort(random.choice(rows, min(most, len(rows)), replace=False))


def _plain(effect: Effect) -> dict[str, Any]:
    return {**effect._asdict(), "above": effect.above._asdict()}
