"""Agreement of word rankings with words that people marked as the reason (plausibility).

Metrics of ERASER (DeYoung et al. 2020): the area under the precision-recall curve of the scores of
words against the marked words, and token F1 of the first words; besides, whether the first word is
marked. A ranking may agree with people and not with what the model depends on, and the reverse:
`faithfulness` measures the other one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.data.plain_json import parse_json
from icaps.errors import DataError
from icaps.faithfulness.attributions.registry import DRAWS, RANDOM, score_words
from icaps.faithfulness.choices import first
from icaps.faithfulness.texts import ExplainedTexts
from icaps.inference import Reading, most_probable, read_texts
from icaps.interpret.account import BatchAccount
from icaps.interpret.kgrams import select_kgrams
from icaps.results import Interval
from icaps.stats import bootstrap_mean

KGRAMS = "kgrams"  # the ranking by the number of the paper's K-grams over a word
NEUTRAL = 2  # of sentiments of words from 0 to 4
RATERS = 2  # who must have marked a word, if votes are given

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class MarkedText:
    """The words of a text and which of them people marked.

    Attributes:
        words: As in the file; joined by spaces they are the text.
        marked: (words,).
        label: The class for which they are marked; None if the file has none.
    """

    words: tuple[str, ...]
    marked: Mask
    label: str | int | None

    @property
    def text(self) -> str:
        """The words, joined by spaces."""
        return " ".join(self.words)

    @property
    def spans(self) -> NDArray[np.int64]:
        """Start and end of each word in `text` (words, 2), in code points."""
        lengths = np.array([len(word) for word in self.words])
        ends = (lengths + 1).cumsum() - 1
        return np.stack([ends - lengths, ends], axis=1)


@dataclass(frozen=True)
class Plausibility:
    """How well a ranking of words agrees with people; means over texts.

    Attributes:
        ranking: One of `registry.RANKINGS`, or KGRAMS.
        texts: Number of texts that were compared.
        marked: Mean share of a text's words that are marked.
        auprc: Area under the precision-recall curve (average precision); about `marked` by chance.
        first_word: Share of texts whose first word of the ranking is marked.
        token_f1: F1 of the first words, as many as the share of `marked` of the text.
    """

    ranking: str
    texts: int
    marked: float
    auprc: Interval
    first_word: Interval
    token_f1: Interval


def read_marked_words(path: str | Path) -> list[MarkedText]:
    """Reads marked words: a JSON list, or JSON Lines, of objects with `words` and the marks.

    The marks are `mask` (true or 1 for each marked word), `votes` (how many raters marked each
    word; RATERS or more mark it), or `leaf` (a sentiment from 0 to 4 per word): then words on the
    side of the `label`, 0 or 1, are marked. `label` is the name or number of a class.

    Raises:
        DataError: The file can't be read, or an entry has another form.
    """
    try:
        content = Path(path).read_text(encoding="utf-8-sig")
        if content.lstrip().startswith("["):
            entries = parse_json(content)
        else:
            entries = [parse_json(line) for line in content.split("\n") if line.strip()]
    except (OSError, ValueError) as error:
        raise DataError(f"Marked words can't be read from {path}: {error}") from error
    return [_read_entry(entry, f"{path}, entry {n}") for n, entry in enumerate(entries, 1)]


def _read_entry(entry: Any, where: str) -> MarkedText:
    words = entry.get("words") if isinstance(entry, Mapping) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise DataError(f"{where}: it needs `words`, a list of strings.")
    label = entry.get("label")
    name = next((name for name in ("mask", "votes", "leaf") if name in entry), None)
    if name is None:
        raise DataError(f"{where}: it needs `mask`, `votes` or `leaf` beside `words`.")
    marks = entry[name]
    if not isinstance(marks, list) or len(marks) != len(words):
        raise DataError(f"{where}: `{name}` needs one number for each of the {len(words)} words.")
    if not all(isinstance(mark, int | float) for mark in marks):
        raise DataError(f"{where}: `{name}` holds something that is not a number.")
    values = np.array(marks, dtype=float)
    if name != "leaf":
        marked = values >= (RATERS if name == "votes" else 1)
    elif label in (0, 1):
        marked = values > NEUTRAL if label == 1 else values < NEUTRAL
    else:
        raise DataError(f"{where}: with `leaf`, `label` is 0 (negative) or 1 (positive).")
    if label is not None and not isinstance(label, str | int):
        raise DataError(f"{where}: `label` is neither a name nor a number of a class.")
    return MarkedText(tuple(words), marked, label)


def measure_plausibility(
    classifier: ICapsClassifier, texts: Sequence[MarkedText], rankings: Sequence[str], seed: int = 0
) -> Iterator[Plausibility]:
    """Compares rankings of words with the marked words, over the same texts.

    The explained class is the label, or the predicted class where there is none. The score of a
    word of the file is the sum of those of the model's words that overlap it; words that the model
    did not read have 0. Texts without a marked or an unmarked word, and blank texts, are left out.

    Args:
        classifier: The model.
        texts: Texts with marked words.
        rankings: Of `registry.RANKINGS`, whose packages are installed, or KGRAMS.
        seed: Of what is random in a ranking.

    Raises:
        DataError: A label is no class of the model, or no text can be compared.
    """
    numbered = [text for text in texts if text.marked.any() and not text.marked.all()]
    targets = [_target(classifier, text.label) for text in numbered]
    read = read_texts(
        classifier.network_,
        classifier.vocabulary_,
        [text.text for text in numbered],
        classifier.muted_,
    )
    readings = [reading for batch in read for reading in batch]
    known = [n for n, reading in enumerate(readings) if not reading.blank[0]]
    if not known:
        raise DataError("No text has marked and unmarked words, and a word that the model knows.")
    explained = ExplainedTexts(
        classifier.network_,
        classifier.muted_,
        tuple(readings[n] for n in known),
        tuple(
            _most_probable(classifier, readings[n]) if (j := targets[n]) is None else j
            for n in known
        ),
    )
    compared = [numbered[n] for n in known]
    for ranking in rankings:
        yield _measure(ranking, compared, _score(ranking, compared, explained, seed), seed)


def _most_probable(classifier: ICapsClassifier, reading: Reading) -> int:
    return int(most_probable(classifier.network_, reading.activity.class_norms.numpy())[0])


def _target(classifier: ICapsClassifier, label: str | int | None) -> int | None:
    """The number of a class, given by name or by number."""
    names = [str(name) for name in classifier.classes_]
    if label is None:
        return None
    if str(label) in names:
        return names.index(str(label))
    if isinstance(label, int) and 0 <= label < len(names):
        return label
    raise DataError(f"The model has no class {label!r}; it has {', '.join(names[:20])}.")


def _score(
    ranking: str, texts: Sequence[MarkedText], explained: ExplainedTexts, seed: int
) -> Iterator[NDArray[np.float64]]:
    """The scores of the words of each file entry (orders, words)."""
    if ranking == RANDOM:  # drawn for the words of the file, so that long ones have no advantage
        random = np.random.default_rng(seed)
        yield from (random.random((DRAWS, len(text.words))) for text in texts)
        return
    if ranking == KGRAMS:
        scores: Iterator[NDArray[Any]] = _count_kgrams(explained)
    else:
        scores = score_words(ranking, explained, "deletion", seed)
    for text, reading, of_model in zip(texts, explained.readings, scores, strict=True):
        yield _to_words(text, reading, of_model)


def _count_kgrams(explained: ExplainedTexts) -> Iterator[NDArray[Any]]:
    """The number of the paper's K-grams over each word of a text (1, words)."""
    for reading, target in explained:
        account = BatchAccount(explained.network, reading)
        kgrams = select_kgrams(account, np.array([target]), ExplainOptions())
        yield kgrams.count_per_word(len(reading.tokens.ids))[None]


def _to_words(
    text: MarkedText, reading: Reading, scores: NDArray[np.floating]
) -> NDArray[np.float64]:
    """Sums over the model's words that overlap each word of the file (orders, words)."""
    assert reading.tokens.spans is not None
    spans, (starts, ends) = text.spans, reading.tokens.spans.T
    from_word = np.searchsorted(ends, spans[:, 0], side="right")
    to_word = np.searchsorted(starts, spans[:, 1], side="left")
    sums = np.concatenate([np.zeros((len(scores), 1)), scores.cumsum(1)], axis=1)
    return np.asarray(sums[:, to_word] - sums[:, np.minimum(from_word, to_word)])


def _measure(
    ranking: str,
    texts: Sequence[MarkedText],
    scores: Iterator[NDArray[np.float64]],
    seed: int,
) -> Plausibility:
    share = float(np.mean([text.marked.mean() for text in texts]))
    rows = [
        _compare(text.marked, of_text, share) for text, of_text in zip(texts, scores, strict=True)
    ]
    auprc, first_word, token_f1 = (
        bootstrap_mean(column, seed) for column in np.array(rows, dtype=float).T
    )
    return Plausibility(ranking, len(texts), share, auprc, first_word, token_f1)


def _compare(marked: Mask, scores: NDArray[np.float64], share: float) -> tuple[float, float, float]:
    """Average precision, whether the first word is marked, and token F1; means over the orders."""
    size = max(1, round(share * len(marked)))
    chosen = first(scores, size)
    hits = (chosen & marked).sum(1)
    return (
        float(np.mean([average_precision_score(marked, order) for order in scores])),
        float(marked[scores.argmax(1)].mean()),
        float((2 * hits / (size + marked.sum())).mean()),
    )


def plausibility_lines(rows: Sequence[Plausibility]) -> Iterator[str]:
    """The rows as lines for a terminal."""
    yield f"{rows[0].texts:,} texts; people marked {rows[0].marked:.1%} of the words of a text."
    yield f"{'ranking':<22}{'AUPRC':<24}{'first word marked':<24}token F1"
    for row in rows:
        yield (
            f"{row.ranking:<22}{f'{row.auprc:.3f}':<24}{f'{row.first_word:.3f}':<24}"
            f"{row.token_f1:.3f}"
        )
