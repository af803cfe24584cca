"""The words that misled: what words add to a wrongly predicted class rather than to the true one.

The contrast of a word is what it adds to the norm of the predicted class (its share, see
`interpret.account`) minus what it adds to that of the true one. The contrasts of a text's words and
the difference of the two biases add up to the difference of the two norms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from icaps.classifier import ICapsClassifier

MISLED_BY = "misled by"  # column of `add_misled_by`
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
        batch, spans = reasons.batch, reasons.batch.tokens.spans
        assert spans is not None
        text = np.repeat(batch.numbers, batch.tokens.words_per_text)
        of_class = reasons.account.word_shares(numbers[batch.numbers])
        part = {
            "text": text,
            "word": [
                texts[number][start:end]
                for number, (start, end) in zip(text.tolist(), spans.tolist(), strict=True)
            ],
            "predicted": np.array(classes)[
                np.repeat(reasons.predicted, batch.tokens.words_per_text)
            ],
            "share": reasons.word_shares.astype(float),
            "share of class": of_class.astype(float),
        }
        parts.append(pd.DataFrame(part))
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


def total_contrasts(
    classifier: ICapsClassifier, texts: Sequence[str], labels: Sequence[str]
) -> pd.DataFrame:
    """One row per word and predicted class: the sums of `word_contrasts` over all texts.

    The largest contrast comes first, and of right predictions the largest share. The column `texts`
    is the number of texts with the word that get the class, `contrast per text` the mean over them.
    """
    sums = ["texts", "count", "share", "share of class", "contrast"]
    keys = ["word", "predicted"]
    total = pd.DataFrame(columns=[*keys, *sums]).set_index(keys)
    for start in range(0, len(texts), _BLOCK):
        block = slice(start, start + _BLOCK)
        words = word_contrasts(classifier, texts[block], labels[block]).assign(texts=1)
        total = words.groupby(keys, sort=False)[sums].sum().add(total, fill_value=0)
    total = total.astype({"texts": int, "count": int, **dict.fromkeys(sums[2:], float)})
    total["contrast per text"] = total["contrast"] / total["texts"]
    order = total.sort_index().sort_values(["contrast", "share"], ascending=False, kind="stable")
    return order.reset_index()


def misleading_words(words: pd.DataFrame, count: int = _LISTED) -> dict[int, pd.DataFrame]:
    """The words of each text that mislead most, by its number: the first with a contrast above 0.

    Args:
        words: From `word_contrasts`.
        count: Number of words per text at most.
    """
    some = words[words["contrast"] > 0].groupby("text", sort=False).head(count)
    return {int(number): rows for number, rows in some.groupby("text", sort=False)}


def add_misled_by(classifier: ICapsClassifier, table: pd.DataFrame) -> pd.DataFrame:
    """A table of `EvaluationReport.table` with the words that misled, and their contrasts.

    The column MISLED_BY is such as "AFP +0.213; Iraq +0.084", and empty for right predictions.
    """
    column = np.full(len(table), "", dtype=object)
    every = np.flatnonzero(~table["right"].to_numpy(bool))
    for start in range(0, len(every), _BLOCK):
        wrong = every[start : start + _BLOCK]
        texts, labels = (table[name].iloc[wrong].tolist() for name in ("text", "class"))
        for number, rows in misleading_words(word_contrasts(classifier, texts, labels)).items():
            pairs = zip(rows["word"], rows["contrast"], strict=True)
            column[wrong[number]] = "; ".join(f"{word} {contrast:+.3f}" for word, contrast in pairs)
    return table.assign(**{MISLED_BY: column})
