"""Agreement of two models on the order of words, such as of two seeds, by ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icaps.faithfulness.attributions.registry import RANDOM, score_words
from icaps.faithfulness.choices import first
from icaps.faithfulness.sanity import spearman
from icaps.faithfulness.stability import jaccard
from icaps.faithfulness.texts import ExplainedTexts, common_texts
from icaps.results import Interval
from icaps.stats import bootstrap_mean

FIRST_PERCENT = 10  # of a text's words, rounded up


@dataclass(frozen=True)
class WordAgreement:
    """The agreement of two models' word scores, on texts for which both predict the same class.

    Attributes:
        ranking: One of `registry.RANKINGS`.
        texts: Number of texts that were compared.
        jaccard: Jaccard index of the first FIRST_PERCENT of the words by each model.
        jaccard_random: The same with random words in place of the second model's.
        correlation: Spearman's rank correlation of the scores of a text's words.
        correlation_random: The same with a random order in place of the second model's.
        same_class: Share of all texts for which both predict the same class.
    """

    ranking: str
    texts: int
    jaccard: Interval
    jaccard_random: Interval
    correlation: Interval
    correlation_random: Interval
    same_class: float


def word_agreement(
    one: ExplainedTexts, other: ExplainedTexts, rankings: Sequence[str], seed: int = 0
) -> Iterator[WordAgreement]:
    """Compares two models' scores of words, matched by their positions in the text.

    Args:
        one: Texts as the first model read them, with its predictions.
        other: The same of the second model, which has the same classes.
        rankings: Some of `registry.RANKINGS`; those that remove words delete them. The random one
            is the control of each, and has no row.
        seed: Seed of what is random in a ranking, and of the control.
    """
    pairs = common_texts(one, other)
    same = [pair for pair in pairs if one.targets[pair[0]] == other.targets[pair[1]]]
    one, other = one.take([n for n, _ in same]), other.take([n for _, n in same])
    random = list(score_words(RANDOM, other, "deletion", seed))
    for name in (name for name in rankings if name != RANDOM):
        left, right = (list(score_words(name, texts, "deletion", seed)) for texts in (one, other))
        control = [_agreement(*scores) for scores in zip(left, random, strict=True)]
        agreement = [_agreement(*scores) for scores in zip(left, right, strict=True)]
        columns = np.array([*zip(*agreement, strict=True), *zip(*control, strict=True)])
        columns = columns.reshape(4, len(same))
        jaccards, correlations, random_jaccards, random_correlations = columns
        yield WordAgreement(
            ranking=name,
            texts=len(same),
            jaccard=bootstrap_mean(jaccards, seed),
            jaccard_random=bootstrap_mean(random_jaccards, seed),
            correlation=bootstrap_mean(correlations, seed),
            correlation_random=bootstrap_mean(random_correlations, seed),
            same_class=len(same) / len(pairs) if pairs else float("nan"),
        )


def _agreement(one: NDArray[np.floating], other: NDArray[np.floating]) -> tuple[float, float]:
    """Jaccard index of the first words, and rank correlation, of scores (orders, words).

    Means over the orders of `other`, with the first order of `one`.
    """
    words = min(one.shape[1], other.shape[1])  # limits may differ
    one, other = one[:1, :words], other[:, :words]
    size = -(-words * FIRST_PERCENT // 100)
    correlations = [spearman(one[0], scores) for scores in other]
    return jaccard(first(one, size), first(other, size)), float(np.mean(correlations))


def agreement_lines(rows: Sequence[WordAgreement]) -> Iterator[str]:
    """The rows as lines for a terminal."""
    yield (
        f"Words by the other model: the first {FIRST_PERCENT}% of both over those of either, and "
        f"rank correlation:"
    )
    yield (
        f"{'ranking':<21}{'texts':<7}{'overlap':<24}{'random':<9}{'correlation':<24}{'random':<9}"
        "same class"
    )
    for row in rows:
        yield (
            f"{row.ranking:<21}{row.texts:<7}{f'{row.jaccard:.3f}':<24}"
            f"{row.jaccard_random.value:<9.3f}{f'{row.correlation:.3f}':<24}"
            f"{row.correlation_random.value:<9.3f}{row.same_class:.1%}"
        )
