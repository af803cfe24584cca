"""Read many texts from lines; write their explanations as a table and as JSON."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from dashboard import quotas
from icaps.data.label_sets import format_label_set
from icaps.data.text_lines import split_lines
from icaps.html import decimals, printable
from icaps.interpret.local import Reasons
from icaps.text.batch import UNK

Calibrate: TypeAlias = Callable[[NDArray[np.floating[Any]]], NDArray[np.float64]]

MOST_WORDS = 10  # in a cell of the table
_DIGITS = 4  # of the table
_KGRAM = ("start", "end", "capsule", "share")
_WORD = ("start", "end", "count", "share", "known", "neutral")


def from_lines(text: str) -> tuple[str, ...]:
    """A text per line; blank lines are left out.

    Raises:
        NotAllowedError: There are too many, or one is too long.
    """
    return _checked([line for line in split_lines(printable(text)) if line.strip()])


@dataclass(frozen=True, eq=False)
class Explained:
    """The explanations of many texts, without what the network computed for them.

    Attributes:
        table: A row per text: text, predicted, probability, a norm per class, K-grams and their
            shares, the words with the largest shares, the bias, and the part of the norm that the
            words of the K-grams carry. With several labels per text, `predicted` is a set of them
            (`label_sets`), `probability` is that of the explained class, and two columns follow:
            `probabilities` and `words by class`, of all predicted classes.
        words: All words of each batch with their shares.
        classes: Names, in the order of labels.
    """

    table: pd.DataFrame
    words: Sequence["_Words"]
    classes: Sequence[str]
    multilabel: bool = False

    def to_json(self, model: Mapping[str, str], columns: pd.DataFrame) -> str:
        """A list with an object per text, each on a line, with the names of `icaps explain --json`.

        `words` has every word with its share; the norm of `target` is `bias` and all shares. With
        several labels per text, `predicted` is a list, and `accounts` has the bias and the shares
        of the words for each predicted class.

        Args:
            model: Facts about the model, such as its name, which each object has.
            columns: What the texts' rows hold besides, under "columns"; may have no columns.
        """
        facts = (one for part in self.words for one in part.facts(self.classes))
        rows = columns.to_dict("records") if len(columns.columns) else [{}] * len(self.table)
        lines = (
            json.dumps({**fact, **model, **({"columns": row} if row else {})})
            for fact, row in zip(facts, rows, strict=True)
        )
        return "[" + ",\n".join(lines) + "]\n"

    def to_file(self, model: Mapping[str, str], columns: pd.DataFrame) -> pd.DataFrame:
        """The table with all columns of the texts' rows before it, and the model after it.

        A column of the rows with the name of one of the table gets " (file)" after its name.
        """
        taken = {*self.table.columns, *model}
        named = columns.rename(columns={name: f"{name} (file)" for name in taken})
        facts = pd.DataFrame({name: [value] * len(self.table) for name, value in model.items()})
        return pd.concat([named, self.table, facts], axis=1)


def explain(parts: Iterable[Reasons], classes: Sequence[str], calibrate: Calibrate) -> Explained:
    """The explanations of batches of texts, of which one at a time is in memory.

    Args:
        parts: The reasons of each batch.
        classes: Names, in the order of labels.
        calibrate: Turns norms (texts, J) into probabilities (texts, J).
    """
    frames, words, multilabel = [], [], False
    for part in parts:
        multilabel = part.predicted_sets is not None
        accounts = _Accounts.of(part, calibrate) if multilabel else None
        frames.append(_frame(part, classes, calibrate, accounts))
        words.append(_Words.of(part, calibrate, accounts))
    table = pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()
    return Explained(table, words, classes, multilabel)


def to_frame(
    parts: Iterable[Reasons], classes: Sequence[str], calibrate: Calibrate
) -> pd.DataFrame:
    """`Explained.table` alone."""
    return explain(parts, classes, calibrate).table


class _Accounts(NamedTuple):
    """The accounts of all predicted classes of B texts, of a model of several labels per text.

    Attributes:
        classes: (B, R), the predicted classes of each text, the most probable first; -1 if there
            are fewer than R.
        chances: (B, R), their probabilities.
        shares: R times (T,), what each word adds to the norm of that class.
        biases: R times (B,).
    """

    classes: NDArray[np.int64]
    chances: NDArray[np.float64]
    shares: Sequence[NDArray[np.float32]]
    biases: Sequence[NDArray[np.floating[Any]]]

    @classmethod
    def of(cls, part: Reasons, calibrate: Calibrate) -> "_Accounts":
        """Of the reasons of a batch."""
        chances, sets = calibrate(part.norms), part.predicted_sets
        assert sets is not None
        order = np.where(sets, -chances, np.inf).argsort(1, kind="stable")
        order = order[:, : int(sets.sum(1).max(initial=0))]  # (B, R)
        rows = np.arange(len(order))[:, None]
        return cls(
            np.where(sets[rows, order], order, -1),
            chances[rows, order],
            [part.account.word_shares(column).astype(np.float32) for column in order.T],
            [part.account.biases(column) for column in order.T],
        )

    def names(self, text: int, classes: Sequence[str]) -> list[str]:
        """The predicted classes of a text."""
        return [classes[j] for j in self.classes[text].tolist() if j >= 0]


def _frame(
    part: Reasons, classes: Sequence[str], calibrate: Calibrate, accounts: _Accounts | None
) -> pd.DataFrame:
    norms = {f"norm {name}": part.norms[:, n].astype(float) for n, name in enumerate(classes)}
    kgrams = part.kgrams.text.tolist()
    frame = {
        "text": part.texts,
        "predicted": np.where(part.blank, "", np.array(classes, dtype=object)[part.predicted]),
        "probability": calibrate(part.norms).max(1),
        **norms,
        "K-grams": _joined(kgrams, part.spell(), len(part.texts)),
        "K-gram shares": _joined(kgrams, map(_signed, part.kgram_shares.tolist()), len(part.texts)),
        "words": _largest_words(part, part.word_shares),
        "covered": part.covered.astype(float),
        "bias": part.biases.astype(float),
    }
    if accounts is not None:
        frame |= _columns_of_sets(part, classes, accounts, calibrate)
    return pd.DataFrame(frame).round(_DIGITS)


def _columns_of_sets(
    part: Reasons, classes: Sequence[str], accounts: _Accounts, calibrate: Calibrate
) -> dict[str, Any]:
    """The columns that differ where a text may have several labels."""
    texts = np.arange(len(part.texts))
    names = [accounts.names(n, classes) for n in texts.tolist()]
    words = [_largest_words(part, shares) for shares in accounts.shares]
    chances = accounts.chances.round(_DIGITS).tolist()
    return {
        "predicted": [
            "" if blank else format_label_set(row)
            for blank, row in zip(part.blank, names, strict=True)
        ],
        "probability": calibrate(part.norms)[texts, part.targets],
        "probabilities": [
            " | ".join(f"{name} {chances[n][r]}" for r, name in enumerate(row))
            for n, row in enumerate(names)
        ],
        "words by class": [
            " ‖ ".join(f"{name}: {words[r][n]}" for r, name in enumerate(row))
            for n, row in enumerate(names)
        ],
    }


def _largest_words(part: Reasons, shares: NDArray[np.floating[Any]]) -> list[str]:
    """The words of each text whose shares (T,) are largest, for or against, with their shares."""
    tokens = part.batch.tokens
    assert tokens.spans is not None
    text, word = part.largest_words(shares, MOST_WORDS)
    shown = shares[word].round(_DIGITS) != 0
    text, word = text[shown], word[shown]
    columns = (text, *tokens.spans[word].T, shares[word])
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    words = (f"{part.texts[n][start:end]} {_signed(share)}" for n, start, end, share in rows)
    return _joined([row[0] for row in rows], words, len(part.texts))


def _joined(text: Sequence[int], items: Iterable[str], texts: int) -> list[str]:
    """The items of each text in one cell; `text` has the number of the text of each item."""
    cells: list[list[str]] = [[] for _ in range(texts)]
    for number, item in zip(text, items, strict=True):
        cells[number].append(item)
    return [" | ".join(cell) for cell in cells]


def _signed(share: float) -> str:
    return decimals(share, _DIGITS, sign=True)


class _Words(NamedTuple):
    """What the JSON of B texts needs as columns; some 15 bytes per word beside the texts."""

    texts: Sequence[str]
    predicted: Sequence[int | None]  # None for a blank text
    accounts: _Accounts | None  # of several labels per text
    targets: Sequence[int]
    norms: NDArray[np.float32]
    probabilities: NDArray[np.float64]
    biases: Sequence[float]
    covered: Sequence[float]
    kgram_offsets: Sequence[int]  # number of K-grams before each text, and in total (B + 1,)
    kgrams: Sequence[NDArray[Any]]  # start, end, capsule and share of each
    offsets: Sequence[int]  # the same of words
    spans: NDArray[np.int32]
    counts: NDArray[np.uint8]
    shares: NDArray[np.float32]
    known: NDArray[np.bool_]
    neutral: NDArray[np.bool_]

    @classmethod
    def of(cls, part: Reasons, calibrate: Calibrate, accounts: _Accounts | None) -> "_Words":
        """Of the reasons of a batch."""
        tokens = part.batch.tokens
        assert tokens.spans is not None
        counts = part.windows.count_per_word(len(part.word_shares))
        counted = part.account.counts(part.targets)
        return cls(
            texts=part.texts,
            predicted=[
                None if blank else number
                for number, blank in zip(part.predicted.tolist(), part.blank.tolist(), strict=True)
            ],
            accounts=accounts,
            targets=part.targets.tolist(),
            norms=part.norms,
            probabilities=calibrate(part.norms),
            biases=part.biases.tolist(),
            covered=part.covered.tolist(),
            kgram_offsets=part.kgrams.text.searchsorted(range(len(part.texts) + 1)).tolist(),
            kgrams=[*part.kgrams[1:4], part.kgram_shares],
            offsets=tokens.word_offsets.tolist(),
            spans=tokens.spans.astype(np.int32),
            counts=counts.clip(max=255).astype(np.uint8),
            shares=part.word_shares.astype(np.float32),
            known=tokens.ids != UNK,
            neutral=np.zeros(len(tokens.ids), bool) if counted is None else ~counted,
        )

    def facts(self, classes: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Plain data of each text."""
        norms, probabilities = self.norms.tolist(), self.probabilities.tolist()
        columns = (*self.spans.T, self.counts, self.shares, self.known, self.neutral)
        for n, text in enumerate(self.texts):
            kgrams = slice(self.kgram_offsets[n], self.kgram_offsets[n + 1])
            words = slice(self.offsets[n], self.offsets[n + 1])
            yield {
                "text": text,
                "predicted": self._predicted(n, classes),
                "target": classes[self.targets[n]],
                "scores": dict(zip(classes, norms[n], strict=True)),
                "probabilities": dict(zip(classes, probabilities[n], strict=True)),
                "bias": self.biases[n],
                "covered": self.covered[n],
                "kgrams": [
                    {"text": text[start:end], **_row(_KGRAM, start, end, *others)}
                    for start, end, *others in _rows(self.kgrams, kgrams)
                ],
                "words": [_row(_WORD, *values) for values in _rows(columns, words)],
                **self._accounts(n, words, classes),
            }

    def _predicted(self, text: int, classes: Sequence[str]) -> str | list[str] | None:
        if self.accounts is not None:
            return self.accounts.names(text, classes)
        number = self.predicted[text]
        return None if number is None else classes[number]

    def _accounts(self, text: int, words: slice, classes: Sequence[str]) -> dict[str, Any]:
        """Bias and shares of words for each predicted class, where there may be several."""
        if self.accounts is None:
            return {}
        return {
            "accounts": {
                name: {
                    "bias": float(self.accounts.biases[r][text]),
                    "shares": self.accounts.shares[r][words].astype(float).round(8).tolist(),
                }
                for r, name in enumerate(self.accounts.names(text, classes))
            }
        }


def _rows(columns: Iterable[NDArray[Any]], rows: slice) -> Iterator[tuple[Any, ...]]:
    """Rows of columns (n,) as numbers; float32 has no more than 8 digits that matter here."""
    parts = (column[rows] for column in columns)
    rounded = (part.astype(float).round(8) if part.dtype.kind == "f" else part for part in parts)
    return zip(*(part.tolist() for part in rounded), strict=True)


def _row(names: Sequence[str], *values: float) -> dict[str, float]:
    return dict(zip(names, values, strict=True))


def _checked(texts: list[str]) -> tuple[str, ...]:
    quotas.table(len(texts))
    for number, text in enumerate(texts, start=1):
        quotas.text(text, f"Text {number:,}")
    return tuple(texts)
