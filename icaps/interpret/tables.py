"""The matrix C as pandas tables: its cells, capsules, classes, and their words and K-grams.

Also the order of capsules in a chart of C, and the relevance of words for a cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage

from icaps.errors import ConfigError
from icaps.interpret import controls
from icaps.interpret.ablation import KnockOut
from icaps.interpret.corpus import Cell, Item, Tally, Words
from icaps.interpret.queries import QueryMap
from icaps.interpret.routing_spread import EDGES, thirds
from icaps.interpret.set_knock_out import SetKnockOut
from icaps.interpret.share_totals import ALL, Place, ShareLists, ShareTotals
from icaps.text.vocabulary import Vocabulary

SCORE_SHARE = "score_share"
VALUES = {  # columns of `cells` that a heatmap can show
    "count": "texts won",
    "share": "share of the class's texts",
    SCORE_SHARE: "share of the class's scores",
    "routing": "mean routing β",
    "contribution": "mean contribution",
    "right": "right predictions",
    "wrong": "wrong predictions",
}
ORDERS = ("class", "size", "clustered", "number")


def cells(
    tally: Tally,
    classes: Sequence[str],
    names: Mapping[int, str],
    shares: ShareTotals | None = None,
) -> pd.DataFrame:
    """One row per cell of C, class by class; NaN where nothing was counted.

    Columns:
        class, capsule, name: The cell, and the user's name of the capsule.
        count: c_ji, the texts of the class that the capsule won.
        share, low, high: Share of its row, with the 95% bootstrap interval.
        right, wrong: Texts of the cell by whether the prediction is right.
        accuracy: right / count.
        routing, contribution: Means over all texts of the predicted class.
        total_share: What the capsule adds to the scores of these texts, in points of the norm; NaN
            without `shares`, as the next.
        score_share: The same as a share of the sum of the scores, which a row adds up to.
    """
    added = np.full(tally.frequency.shape, np.nan) if shares is None else shares.capsules
    low, high = controls.share_intervals(tally.frequency)
    texts = tally.frequency.sum(1, keepdims=True)  # (J, 1)
    j, i = np.indices(tally.frequency.shape).reshape(2, -1)  # (J * I,) both
    columns = {
        "count": tally.frequency,
        "share": _ratio(tally.frequency, texts),
        "low": low,
        "high": high,
        "right": tally.right,
        "wrong": tally.frequency - tally.right,
        "accuracy": _ratio(tally.right, tally.frequency),
        "routing": _ratio(tally.routing, texts),
        "contribution": _ratio(tally.contribution, texts),
        "total_share": added,
        SCORE_SHARE: _ratio(added, added.sum(1, keepdims=True)),
    }
    return pd.DataFrame(
        {
            "class": np.array(classes, dtype=object)[j],
            "capsule": i,
            "name": [names.get(capsule, "") for capsule in i.tolist()],
            **{name: values.ravel() for name, values in columns.items()},
        }
    )


def capsules(
    tally: Tally,
    knock_out: KnockOut | SetKnockOut,
    classes: Sequence[str],
    names: Mapping[int, str],
    shares: ShareTotals | None = None,
) -> pd.DataFrame:
    """One row per primary capsule: its main class, and the cost of switching it off.

    Columns:
        capsule, name: Its number, and the user's name for it.
        wins: Texts that it won.
        main_class: The class of most wins; empty for a dead capsule.
        purity: Share of the wins that are of the main class.
        state: "alive", "rare" (below 1% of the texts) or "dead".
        neutral: Whether it serves all classes alike.
        accuracy: Accuracy without it; with several labels per text micro F1, as are the costs.
        cost: By how much the accuracy is lower without it.
        own_cost, other_cost: The same on the texts that it won, and on all others; NaN if there
            are none.
        score_share: What it adds to the scores, as a share of their sum; NaN without `shares`.
    """
    added = np.full(tally.frequency.shape[1], np.nan)
    if shares is not None:
        added = shares.capsules.sum(0)
    wins = tally.frequency.sum(0)  # (I,)
    main = tally.frequency.argmax(0)
    states = np.where(controls.alive(tally.frequency), "alive", np.where(wins > 0, "rare", "dead"))
    accuracy = knock_out.accuracy  # (1 + I,)
    own_cost, other_cost = knock_out.costs(wins, tally.right.sum(0))
    return pd.DataFrame(
        {
            "capsule": np.arange(len(wins)),
            "name": [names.get(i, "") for i in range(len(wins))],
            "wins": wins,
            "main_class": [classes[j] if won else "" for j, won in zip(main, wins, strict=True)],
            "purity": _ratio(tally.frequency.max(0), wins),
            "state": states,
            "neutral": controls.neutral(tally.frequency),
            "accuracy": accuracy[1:],
            "cost": accuracy[0] - accuracy[1:],
            "own_cost": own_cost,
            "other_cost": other_cost,
            SCORE_SHARE: _ratio(added, added.sum()),
        }
    )


def recalls(knock_out: KnockOut | SetKnockOut, classes: Sequence[str]) -> pd.DataFrame:
    """Recall of each class: with all capsules (row "all"), and with each one switched off."""
    recall = knock_out.recall()  # (1 + I, J)
    index = pd.Index(["all", *range(len(recall) - 1)], name="capsule off")
    return pd.DataFrame(recall, index=index, columns=list(classes))


def rows(tally: Tally, classes: Sequence[str], shares: ShareTotals | None = None) -> pd.DataFrame:
    """One row per class: its texts, the entropy of its shares, the share of its largest cells.

    The columns `shuffled_*` have the same for shuffled winners (`controls.row_shapes`).
    `effective_capsules` is the number of capsules that share the decision of a text, its mean
    (`share_totals.effective_capsules`); NaN without `shares`.
    """
    texts = tally.frequency.sum(1)
    effective = np.full(len(classes), np.nan)
    if shares is not None:
        effective = _ratio(shares.effective, texts)
    shapes = controls.row_shapes(tally.frequency)
    return pd.DataFrame(
        [
            {
                "class": name,
                "texts": int(n_texts),
                "entropy": shape.entropy,
                "shuffled_entropy": shape.shuffled_entropy,
                **{f"top_{top}": share for top, share in shape.top_share.items()},
                **{f"shuffled_top_{n}": share for n, share in shape.shuffled_top_share.items()},
                "effective_capsules": number,
            }
            for name, n_texts, shape, number in zip(classes, texts, shapes, effective, strict=True)
        ]
    )


def words(
    tally: Tally, vocabulary: Vocabulary, where: Sequence[Cell], **options: Any
) -> pd.DataFrame:
    """The most relevant words of cells: word, count, relevance.

    Options are `lambda_`, `top` and `all_words`, see `_relevant`. Without `all_words`, stop words
    and punctuation are left out.
    """
    relevant = _relevant(
        tally.words_of(where),
        tally.words_of(tally.words),
        lambda word: (vocabulary.words[word],),
        **options,
    )
    return pd.DataFrame(relevant, columns=["word", "count", "relevance"])


def kgrams(
    tally: Tally, vocabulary: Vocabulary, where: Sequence[Cell], **options: Any
) -> pd.DataFrame:
    """The most relevant K-grams of cells: kgram, count, relevance; options as for `words`.

    Without `all_words`, K-grams of stop words and punctuation alone are left out.
    """
    relevant = _relevant(
        tally.kgrams_of(where),
        tally.kgrams_of(tally.kgrams),
        lambda kgram: tuple(vocabulary.words[word] for word in kgram),
        **options,
    )
    return pd.DataFrame(relevant, columns=["kgram", "count", "relevance"])


def words_by_share(
    shares: ShareTotals, vocabulary: Vocabulary, place: Place, **options: Any
) -> pd.DataFrame:
    """The most relevant words of a cell, capsule or class by total share: word, share, relevance.

    Options are those of `words`. A negative share speaks against the class.
    """
    return _by_share("word", shares.top_words, place, lambda w: (vocabulary.words[w],), options)


def kgrams_by_share(
    shares: ShareTotals, vocabulary: Vocabulary, place: Place, **options: Any
) -> pd.DataFrame:
    """As `words_by_share`, for K-grams: kgram, share, relevance."""

    def parts(kgram: Words) -> tuple[str, ...]:
        return tuple(vocabulary.words[word] for word in kgram)

    return _by_share("kgram", shares.top_kgrams, place, parts, options)


def label_words(
    tally: Tally, shares: ShareTotals | None, vocabulary: Vocabulary, capsule: int
) -> list[str]:
    """The words that a capsule is called by (`capsule_labels`), the most relevant first.

    Those that add most to the scores through it; without `shares` those counted most often.
    """
    options: dict[str, Any] = {"top": 6, "all_words": False, "lambda_": 0.6}
    if shares is None:
        return [
            str(word) for word in words(tally, vocabulary, tally.column(capsule), **options)["word"]
        ]
    table = words_by_share(shares, vocabulary, (ALL, capsule), **options)
    return [str(word) for word in table["word"][table["share"] > 0]]


def routing_bins(counts: NDArray[np.int64]) -> pd.DataFrame:
    """A histogram of routing weights (BINS,), from the first to the last bin with a text.

    Columns:
        low, high: Ends of the bin.
        texts: Texts in it.
        level: The third of the range that it is in, of `routing_spread.LEVELS`.
    """
    rows = sorted((n, level) for level, bins in thirds(counts).items() for n in bins)
    return pd.DataFrame(
        [(EDGES[n], EDGES[n + 1], int(counts[n]), level) for n, level in rows],
        columns=["low", "high", "texts", "level"],
    )


def query_points(query_map: QueryMap, table: pd.DataFrame) -> pd.DataFrame:
    """A table of capsules with two more columns, the x and y of their queries in the plane."""
    return table.assign(x=query_map.points[:, 0], y=query_map.points[:, 1])


def column_order(frequency: NDArray[np.int64], by: str) -> list[int]:
    """The order of the capsules in a chart of C (J, I), from left to right.

    Capsules that never win come last, except by "number". Ties go to the lower number.

    Args:
        frequency: C.
        by: "class" puts capsules of one main class side by side, the larger first; "size" sorts by
            wins; "clustered" puts columns with similar shares side by side (average linkage,
            optimal leaf order); "number" sorts by number.

    Raises:
        ConfigError: There is no such order.
    """
    if by not in ORDERS:
        raise ConfigError(f"The order is {by!r}; it must be one of {', '.join(ORDERS)}.")
    numbers = list(range(frequency.shape[1]))
    if by == "number":
        return numbers
    wins = frequency.sum(0)
    dead = [i for i in numbers if not wins[i]]
    alive = [i for i in numbers if wins[i]]
    if by == "clustered" and len(alive) > 2:
        shares = (frequency[:, alive] / wins[alive]).T  # (alive, J)
        tree = linkage(shares, method="average", optimal_ordering=True)
        return [alive[n] for n in leaves_list(tree)] + dead
    main = frequency.argmax(0) if by == "class" else np.zeros_like(wins)
    return sorted(alive, key=lambda i: (main[i], -wins[i], i)) + dead


class RelevantItem(NamedTuple):
    """A word or K-gram as text, its count or total share, and its relevance."""

    text: str
    frequency: float
    relevance: float


def most_relevant(
    counts: Mapping[Item, float],
    everywhere: Mapping[Item, float],
    lambda_: float,
    top: int,
    show: Callable[[Item], str],
) -> list[RelevantItem]:
    """The items of a cell with the highest relevance (Sievert and Shirley 2014).

    lambda log p(w | cell) + (1 - lambda) log(p(w | cell) / p(w)): 1 sorts by count, as in the
    paper, and 0 by how much more frequent w is here than overall. Ties are sorted by text.

    Args:
        counts: The count of each item in the cell, or its share, which counts without its sign.
        everywhere: The count of each item in all cells together, or its shares without signs.
        lambda_: From 0 to 1.
        top: Number of items, at most.
        show: The text of an item.
    """
    here, all_cells = sum(map(abs, counts.values())), sum(everywhere.values())

    def relevance(item: Item, count: float) -> float:
        share = math.log(abs(count) / here)
        return share - (1 - lambda_) * math.log(everywhere[item] / all_cells)

    items = [RelevantItem(show(i), count, relevance(i, count)) for i, count in counts.items()]
    return sorted(items, key=lambda item: (-item.relevance, item.text))[:top]


def is_content_word(word: str) -> bool:
    """Whether a word is neither punctuation nor one of scikit-learn's English stop words."""
    return word[0].isalnum() and word.lower() not in _stop_words()


@cache
def _stop_words() -> frozenset[str]:
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # takes a second to import

    return frozenset({*ENGLISH_STOP_WORDS, "n't", "n’t"})


def _by_share(
    name: str,
    lists: ShareLists,
    place: Place,
    parts: Callable[[Any], tuple[str, ...]],
    options: Mapping[str, Any],
) -> pd.DataFrame:
    here = lists.places.get(place, {})
    relevant = _relevant(here, lists.magnitudes, parts, **options)
    return pd.DataFrame(relevant, columns=[name, "share", "relevance"])


def _relevant(
    here: Mapping[Item, float],
    everywhere: Mapping[Item, float],
    parts: Callable[[Item], tuple[str, ...]],
    *,
    lambda_: float = 1.0,
    top: int = 20,
    all_words: bool = True,
) -> list[RelevantItem]:
    """See `most_relevant`; `parts` are the words of an item.

    Without `all_words`, items without a content word are left out.
    """

    def wanted(counts: Mapping[Item, float]) -> Mapping[Item, float]:
        if all_words:
            return counts
        return {item: n for item, n in counts.items() if any(map(is_content_word, parts(item)))}

    def show(item: Item) -> str:
        return " ".join(parts(item))

    return most_relevant(wanted(here), wanted(everywhere), lambda_, top, show)


def _ratio(
    values: NDArray[np.int64] | NDArray[np.float64],
    by: NDArray[np.int64] | NDArray[np.float64] | np.float64,
) -> NDArray[np.float64]:
    """values / by, NaN where `by` is 0."""
    divisor = np.asarray(by)
    shape = np.broadcast_shapes(values.shape, divisor.shape)
    empty = np.full(shape, np.nan)
    ratio: NDArray[np.float64] = np.divide(values, divisor, out=empty, where=divisor > 0)
    return ratio
