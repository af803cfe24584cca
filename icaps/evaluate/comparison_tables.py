"""Answers of several classifiers as tables: scores, disagreements, and how much they agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

from icaps.evaluate.answers import Answers, Texts
from icaps.evaluate.compare import compare
from icaps.evaluate.scores import score


def scores(answers: Sequence[Answers], seed: int = 0) -> pd.DataFrame:
    """A row a classifier, its differences being to the first.

    model; accuracy with its 95% interval from low to high (Wilson 1927); chance, the accuracy of
    the same predictions dealt out at random; macro_f1; log_loss, in nats; difference of the
    accuracies, from difference_low to difference_high by drawing the texts again; only_it and
    only_first, texts that one of the two alone has right; p_value, McNemar's exact one.
    """
    rows = []
    for given in answers:
        found = score(given.confusion, given.classes, seed)
        row = {
            "model": given.name,
            "accuracy": found.accuracy.value,
            "low": found.accuracy.low,
            "high": found.accuracy.high,
            "chance": found.chance["accuracy"],
            "macro_f1": found.macro["f1"].value,
            "log_loss": float(
                log_loss(given.labels, given.probabilities, labels=range(len(given.classes)))
            ),
        }
        if given is not answers[0]:
            beside = compare(answers[0], given, seed)
            row |= {
                "difference": beside.accuracy.value,
                "difference_low": beside.accuracy.low,
                "difference_high": beside.accuracy.high,
                "only_it": beside.only_second,
                "only_first": beside.only_first,
                "p_value": beside.p_value,
            }
        rows.append(row)
    return pd.DataFrame(rows)


def agreements(answers: Sequence[Answers]) -> pd.DataFrame:
    """A row a pair: one, other, same (share of texts with one prediction), chance, both_wrong.

    `chance` is the share of one prediction if each predicted its classes as often, but of texts at
    random; both_wrong are texts that both have wrong with one prediction.
    """
    rows = []
    for one, other in combinations(answers, 2):
        same = one.predicted == other.predicted
        shares = [
            np.bincount(given.predicted, minlength=len(given.classes)) / len(given.labels)
            for given in (one, other)
        ]
        rows.append(
            {
                "one": one.name,
                "other": other.name,
                "same": float(same.mean()),
                "chance": float(shares[0] @ shares[1]),
                "both_wrong": int((same & ~one.correct).sum()),
            }
        )
    return pd.DataFrame(rows)


def disagreeing(answers: Sequence[Answers]) -> NDArray[np.int64]:
    """Numbers of the texts that not all predict alike.

    First those of which the classifiers are surest, by the least sure of them.
    """
    predicted = np.stack([given.predicted for given in answers])
    rows = np.flatnonzero((predicted != predicted[0]).any(0))
    surest = np.min([given.probabilities[rows].max(1) for given in answers], axis=0)
    return np.asarray(rows[np.argsort(-surest, kind="stable")])


def disagreements(
    asked: Texts, answers: Sequence[Answers], numbers: Sequence[int] | NDArray[np.int64]
) -> pd.DataFrame:
    """A row a text: text, class, and of each classifier, under its name, what it predicts."""
    rows = np.asarray(numbers, dtype=np.int64)
    names = np.array(asked.classes, dtype=object)
    columns = {given.name: _said(given, names, rows) for given in answers}
    about = {
        "number": rows,
        "class": names[asked.labels[rows]],
        "text": [asked.texts[n] for n in rows.tolist()],
    }
    return pd.DataFrame(about | columns)


def _said(given: Answers, names: NDArray[np.object_], rows: NDArray[np.int64]) -> list[str]:
    """Predicted classes and how sure they are."""
    sure = given.probabilities[rows].max(1)
    return [
        f"{name} {share:.0%}"
        for name, share in zip(names[given.predicted[rows]], sure.tolist(), strict=True)
    ]
