"""Accuracy by slice: texts of similar length or share of unknown words, and saved slices."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

from icaps.data.saved_slices import Slice
from icaps.data.source import open_source
from icaps.data.text_file import TextFile, text_hash
from icaps.results import Interval
from icaps.stats import TAILS, wilson

LENGTH, UNKNOWN, SAVED = "length", "unknown words", "saved slice"
_PARTS = 5  # slices by length, of about the same size
_SHARES = (0.0, 0.05, 0.1, 0.2)  # upper ends of slices by unknown words; one more has the rest

Mask = NDArray[np.bool_]


class SliceScore(NamedTuple):
    """The accuracy of a slice, beside that of random subsets of the same size.

    `kind` is LENGTH, UNKNOWN or SAVED. The accuracies of 95% of the random subsets are between
    `random_low` and `random_high`.
    """

    kind: str
    name: str
    texts: int
    accuracy: Interval
    random_low: float
    random_high: float

    @property
    def verdict(self) -> str:
        """Whether it is "worse" or "better" than random subsets, or "as random ones"."""
        if self.accuracy.value < self.random_low:
            return "worse"
        return "better" if self.accuracy.value > self.random_high else "as random ones"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": self.kind,
            "name": self.name,
            "texts": self.texts,
            "accuracy": self.accuracy.value,
            "interval": self.accuracy[1:],
            "random": (self.random_low, self.random_high),
            "verdict": self.verdict,
        }


def score_slice(kind: str, name: str, correct: Mask, inside: Mask) -> SliceScore:
    """Scores the texts of a mask, one or more, beside random subsets.

    The number of right predictions in a random subset has a hypergeometric distribution, so no
    subset is drawn. Both arrays are (texts,).
    """
    texts = int(inside.sum())
    subset = hypergeom(len(correct), int(correct.sum()), texts)
    low, high = (float(subset.ppf(tail)) / texts for tail in TAILS)
    return SliceScore(kind, name, texts, wilson(int(correct[inside].sum()), texts), low, high)


def by_length(words: NDArray[np.integer[Any]]) -> dict[str, Mask]:
    """Masks (texts,) of texts with similar numbers of words, by name, the shortest first."""
    cuts = np.quantile(words, np.arange(1, _PARTS) / _PARTS, method="lower")
    tops = np.unique([*cuts.tolist(), int(words.max())])
    place = np.searchsorted(tops, words)
    masks = {}
    for n, top in enumerate(tops.tolist()):
        first = int(words.min()) if n == 0 else tops[n - 1] + 1
        name = f"{first:,} words" if first == top else f"{first:,} to {top:,} words"
        masks[name] = place == n
    return masks


def by_unknown(unknown: NDArray[np.floating[Any]]) -> dict[str, Mask]:
    """Masks (texts,) of texts with similar shares of unknown words, by name, 0 first."""
    place = np.searchsorted(np.array(_SHARES, unknown.dtype), unknown)
    names = ["none unknown"]
    names += [f"{low:.0%} to {high:.0%}" for low, high in pairwise(_SHARES)]
    names.append(f"more than {_SHARES[-1]:.0%}")
    masks = {name: place == n for n, name in enumerate(names)}
    return {name: mask for name, mask in masks.items() if mask.any()}


def by_saved(texts: TextFile, saved: Iterable[Slice]) -> dict[str, Mask]:
    """Masks (texts,) of the texts in saved slices, by name; slices without any are left out.

    Raises:
        DataError: A slice can't be read.
    """
    masks = {}
    hashes = texts.hashes(np.ones(len(texts), bool))
    for part in saved:
        slice_hashes = np.array(
            [text_hash(record.text) for record in open_source(part.path)], np.uint64
        )
        mask = np.isin(hashes, slice_hashes)
        if mask.any():
            masks[part.name] = mask
    return masks
