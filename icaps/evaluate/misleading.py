"""The words that misled: what words add to a wrongly predicted class rather than to the true one.

The contrast of a word is what it adds to the norm of the predicted class (its share, see
`interpret.account`) minus what it adds to that of the true one. The contrasts of a text's words and
the difference of the two biases add up to the difference of the two norms.

With several labels per text each wrong class is a case of its own: the contrast of a word is what
it adds to the norm of an extra class, or takes from that of a missed one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import indicator
from icaps.interpret.local import Reasons

MISLED_BY = "misled by"  # column of `add_misled_by`
EXTRA, MISSED = "extra", "missed"  # a class that a text lacks, and one that is not predicted
_LISTED = 5  # words of a text in that column
_BLOCK = 1_000  # texts whose words are in memory at a time


def word_contrasts(
    classifier: ICapsClassifier, texts: Sequence[str], labels: Sequence[str]
) -> pd.DataFrame:
    """One row per text and word, the largest contrast of each text first.

    Columns:
        text: Number of the text, from 0.
        word: As it is written in the text.
        predicted: Name of the class that the classifier predicts.
        count: Number of its occurrences, whose shares are added.
        share: What they add to the norm of the predicted class.
        share of class: What they add to that of the true class.
        contrast: `share` minus `share of class`; 0 for a right prediction.

    Args:
        classifier: A fitted classifier.
        texts: Texts, in memory.
        labels: The name of the true class of each.
    """
    classes = [str(name) for name in classifier.classes_]
    numbers = np.array([classes.index(label) for label in labels], np.int64)
    parts = [pd.DataFrame(columns=["text", "word", "predicted", "share", "share of class"])]
    for reasons in classifier.reasons(texts):
        of_class = reasons.account.word_shares(numbers[reasons.batch.numbers])
        predicted = np.repeat(reasons.predicted, reasons.batch.tokens.words_per_text)
        columns = {
            "predicted": np.array(classes)[predicted],
            "share": reasons.word_shares.astype(float),
            "share of class": of_class.astype(float),
        }
        parts.append(_words(reasons, texts).assign(**columns))
    words = pd.concat([part for part in parts if len(part)] or parts)
    grouped = words.groupby(["text", "word", "predicted"], sort=False)
    table = grouped.agg(
        **{
            "count": ("share", "size"),
            "share": ("share", "sum"),
            "share of class": ("share of class", "sum"),
        }
    ).reset_index()
    table["contrast"] = table["share"] - table["share of class"]
    return table.sort_values(["text", "contrast"], ascending=[True, False], kind="stable")


def set_contrasts(
    classifier: ICapsClassifier, texts: Sequence[str], labels: NDArray[np.bool_]
) -> pd.DataFrame:
    """One row per text, wrong class and word, the largest contrast of each text first.

    Columns:
        text: Number of the text, from 0.
        word: As it is written in the text.
        class: Name of the class.
        kind: EXTRA or MISSED.
        count: Number of its occurrences, whose contrasts are added.
        contrast: What they add to the norm of an extra class; of a missed one, minus that.

    Args:
        classifier: A fitted classifier of several labels per text.
        texts: Texts, in memory.
        labels: Whether each has each class, (texts, J).
    """
    keys = ["text", "word", "class", "kind"]
    parts = [pd.DataFrame(columns=[*keys, "contrast"])]
    for reasons in classifier.reasons(texts):
        assert reasons.predicted_sets is not None
        has = labels[reasons.batch.numbers]  # (B, J)
        wrong = reasons.predicted_sets != has
        words = _words(reasons, texts)
        owner = np.repeat(np.arange(len(has)), reasons.batch.tokens.words_per_text)  # (T,)
        for number in np.flatnonzero(wrong.any(0)).tolist():
            shares = reasons.account.word_shares(np.full(len(has), number))
            missed = has[owner, number]
            columns = {
                "class": str(classifier.classes_[number]),
                "kind": np.where(missed, MISSED, EXTRA),
                "contrast": np.where(missed, -shares, shares).astype(float),
            }
            parts.append(words.assign(**columns)[wrong[owner, number]])
    table = pd.concat([part for part in parts if len(part)] or parts)
    grouped = table.groupby(keys, sort=False)["contrast"]
    table = grouped.agg(count="size", contrast="sum").reset_index()
    return table.sort_values(["text", "contrast"], ascending=[True, False], kind="stable")


def total_contrasts(
    classifier: ICapsClassifier, texts: Sequence[str], labels: Sequence[str]
) -> pd.DataFrame:
    """One row per word and predicted class: the sums of `word_contrasts` over all texts.

    The largest contrast comes first, and of right predictions the largest share. The column `texts`
    is the number of texts with the word that get the class, `contrast per text` the mean over them.
    """
    blocks = (word_contrasts(classifier, texts[part], labels[part]) for part in _blocks(len(texts)))
    sums = ["share", "share of class", "contrast"]
    return _total(blocks, ["word", "predicted"], sums, order=["contrast", "share"])


def total_set_contrasts(
    classifier: ICapsClassifier, texts: Sequence[str], labels: NDArray[np.bool_]
) -> pd.DataFrame:
    """One row per word, class and kind: the sums of `set_contrasts` over all texts.

    The largest contrast comes first. `texts` and `contrast per text` are as in `total_contrasts`.
    """
    blocks = (set_contrasts(classifier, texts[part], labels[part]) for part in _blocks(len(texts)))
    return _total(blocks, ["word", "class", "kind"], ["contrast"], order=["contrast"])


def misleading_words(words: pd.DataFrame, count: int = _LISTED) -> dict[int, pd.DataFrame]:
    """The words of each text that mislead most, by its number: the first with a contrast above 0.

    Args:
        words: From `word_contrasts` or `set_contrasts`.
        count: Number of words per text at most.
    """
    some = words[words["contrast"] > 0].groupby("text", sort=False).head(count)
    return {int(number): rows for number, rows in some.groupby("text", sort=False)}


def add_misled_by(classifier: ICapsClassifier, table: pd.DataFrame) -> pd.DataFrame:
    """A table of `Report.table` with the words that misled, and their contrasts.

    The column MISLED_BY is such as "AFP +0.213; Iraq +0.084", and empty for right predictions. With
    several labels per text it has the class as well: "AFP +0.213 (World extra)".
    """
    column = np.full(len(table), "", dtype=object)
    every = np.flatnonzero(~table["right"].to_numpy(bool))
    for part in _blocks(len(every)):
        wrong = every[part]
        rows = table.iloc[wrong]
        texts = rows["text"].tolist()
        if classifier.multilabel_:
            labels = indicator(
                rows["classes"].tolist(), [str(name) for name in classifier.classes_]
            )
            words = set_contrasts(classifier, texts, labels)
        else:
            words = word_contrasts(classifier, texts, rows["class"].tolist())
        for number, listed in misleading_words(words).items():
            column[wrong[number]] = "; ".join(map(_written, listed.to_dict("records")))
    return table.assign(**{MISLED_BY: column})


def _words(reasons: Reasons, texts: Sequence[str]) -> pd.DataFrame:
    """The words of a batch: the number of the text, and the word as it is written in it."""
    tokens = reasons.batch.tokens
    assert tokens.spans is not None
    text = np.repeat(reasons.batch.numbers, tokens.words_per_text)
    places = zip(text.tolist(), tokens.spans.tolist(), strict=True)
    words = [texts[number][start:end] for number, (start, end) in places]
    return pd.DataFrame({"text": text, "word": words})


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, count, _BLOCK))


def _total(
    blocks: Iterable[pd.DataFrame], keys: list[str], sums: list[str], order: list[str]
) -> pd.DataFrame:
    """The sums of some columns over the texts of all blocks, one row per value of the keys."""
    counts = ["texts", "count"]
    total = pd.DataFrame(columns=[*keys, *counts, *sums]).set_index(keys)
    for block in blocks:
        grouped = block.assign(texts=1).groupby(keys, sort=False)
        total = grouped[[*counts, *sums]].sum().add(total, fill_value=0)
    total = total.astype({**dict.fromkeys(counts, int), **dict.fromkeys(sums, float)})
    total["contrast per text"] = total["contrast"] / total["texts"]
    return total.sort_index().sort_values(order, ascending=False, kind="stable").reset_index()


def _written(row: dict[str, Any]) -> str:
    """A word with its contrast, as in the column MISLED_BY."""
    of = f" ({row['class']} {row['kind']})" if "kind" in row else ""
    return f"{row['word']} {row['contrast']:+.3f}{of}"
