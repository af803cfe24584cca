"""What a model has learnt as tables: pandas frames, for files, charts and pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.interpret import controls
from icaps.interpret.ablation import KnockOut
from icaps.interpret.queries import QueryMap
from icaps.interpret.tally import Cell, Item, Tally
from icaps.interpret.words import Weighted, is_telling, most_relevant
from icaps.text.vocabulary import Vocabulary

VALUES = {  # columns of `cells` that a heatmap can show
    "count": "texts won",
    "share": "share of the class's texts",
    "routing": "mean routing β",
    "contribution": "mean contribution",
    "right": "right predictions",
    "wrong": "wrong predictions",
}


def cells(tally: Tally, classes: Sequence[str], names: Mapping[int, str]) -> pd.DataFrame:
    """A row a cell of C, class by class.

    class, capsule, name; count c_ji; share of its row, with the 95% bootstrap interval low to high;
    right and wrong, texts of the cell by whether the prediction is; accuracy, right over count;
    routing and contribution, means over all texts of the predicted class. NaN where nothing is.
    """
    low, high = controls.share_intervals(tally.frequency)
    texts = tally.frequency.sum(1, keepdims=True)
    j, i = np.indices(tally.frequency.shape).reshape(2, -1)
    columns = {
        "count": tally.frequency,
        "share": _divided(tally.frequency, texts),
        "low": low,
        "high": high,
        "right": tally.right,
        "wrong": tally.frequency - tally.right,
        "accuracy": _divided(tally.right, tally.frequency),
        "routing": _divided(tally.routing, texts),
        "contribution": _divided(tally.contribution, texts),
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
    tally: Tally, knock_out: KnockOut, classes: Sequence[str], names: Mapping[int, str]
) -> pd.DataFrame:
    """A row a primary capsule: what it is for, and what switching it off costs.

    capsule, name; wins, texts; main_class, that of most wins (empty for a dead capsule); purity,
    its share of them; state: "alive", "rare" (below 1% of the texts) or "dead"; neutral, whether
    it serves all classes alike; accuracy without it; cost, by how much that is lower; own_cost and
    other_cost, the same on the texts that it won and on all others (NaN where there are none).
    """
    wins = tally.frequency.sum(0)
    main = tally.frequency.argmax(0)
    states = np.where(controls.alive(tally.frequency), "alive", np.where(wins > 0, "rare", "dead"))
    accuracy = knock_out.accuracy
    texts = int(knock_out.confusion[0].sum())
    lost = np.round((accuracy[0] - accuracy[1:]) * texts)
    own_lost = tally.right.sum(0) - knock_out.own_right
    return pd.DataFrame(
        {
            "capsule": np.arange(len(wins)),
            "name": [names.get(i, "") for i in range(len(wins))],
            "wins": wins,
            "main_class": [classes[j] if won else "" for j, won in zip(main, wins, strict=True)],
            "purity": _divided(tally.frequency.max(0), wins),
            "state": states,
            "neutral": controls.neutral(tally.frequency),
            "accuracy": accuracy[1:],
            "cost": accuracy[0] - accuracy[1:],
            "own_cost": _divided(own_lost, wins),
            "other_cost": _divided(lost - own_lost, texts - wins),
        }
    )


def recalls(knock_out: KnockOut, classes: Sequence[str]) -> pd.DataFrame:
    """Recall of each class: with all capsules (row "all"), and with each one off."""
    index = pd.Index(["all", *range(len(knock_out.own_right))], name="capsule off")
    return pd.DataFrame(knock_out.recall(), index=index, columns=list(classes))


def rows(tally: Tally, classes: Sequence[str]) -> pd.DataFrame:
    """A row a class: texts, entropy of its shares and the share of its largest cells.

    Beside each, under `shuffled_`, what shuffled winners give (`trust.row_shapes`).
    """
    shapes = controls.row_shapes(tally.frequency)
    return pd.DataFrame(
        [
            {
                "class": name,
                "texts": int(texts),
                "entropy": shape.entropy,
                "shuffled_entropy": shape.shuffled_entropy,
                **{f"top_{top}": share for top, share in shape.top_share.items()},
                **{f"shuffled_top_{n}": share for n, share in shape.shuffled_top_share.items()},
            }
            for name, texts, shape in zip(classes, tally.frequency.sum(1), shapes, strict=True)
        ]
    )


def words(
    tally: Tally, vocabulary: Vocabulary, where: Sequence[Cell], **options: Any
) -> pd.DataFrame:
    """The words of cells by relevance: word, count, relevance; options as in `_relevant`.

    Without `all_words` stop words and punctuation are left out.
    """
    found = _relevant(
        tally.words_of(where),
        tally.words_of(tally.words),
        lambda word: (vocabulary.words[word],),
        **options,
    )
    return pd.DataFrame(found, columns=["word", "count", "relevance"])


def kgrams(
    tally: Tally, vocabulary: Vocabulary, where: Sequence[Cell], **options: Any
) -> pd.DataFrame:
    """The K-grams of cells by relevance, likewise; without `all_words` those with a telling one."""
    found = _relevant(
        tally.kgrams_of(where),
        tally.kgrams_of(tally.kgrams),
        lambda kgram: tuple(vocabulary.words[word] for word in kgram),
        **options,
    )
    return pd.DataFrame(found, columns=["kgram", "count", "relevance"])


def _relevant(
    here: Mapping[Item, int],
    everywhere: Mapping[Item, int],
    parts: Callable[[Item], tuple[str, ...]],
    *,
    lambda_: float = 1.0,
    top: int = 20,
    all_words: bool = True,
) -> list[Weighted]:
    """See `words.most_relevant`; `parts` are the words of an item."""

    def wanted(counts: Mapping[Item, int]) -> Mapping[Item, int]:
        if all_words:
            return counts
        return {item: n for item, n in counts.items() if any(map(is_telling, parts(item)))}

    def show(item: Item) -> str:
        return " ".join(parts(item))

    return most_relevant(wanted(here), wanted(everywhere), lambda_, top, show)


def query_points(made: QueryMap, about: pd.DataFrame) -> pd.DataFrame:
    """The table `about` of capsules, with the x and y of each one's query."""
    return about.assign(x=made.points[:, 0], y=made.points[:, 1])


def _divided(
    values: NDArray[np.int64] | NDArray[np.float64], by: NDArray[np.int64]
) -> NDArray[np.float64]:
    shape = np.broadcast_shapes(values.shape, by.shape)
    shares: NDArray[np.float64] = np.divide(values, by, out=np.full(shape, np.nan), where=by > 0)
    return shares
