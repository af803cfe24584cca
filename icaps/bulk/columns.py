"""Explanations of many texts as Arrow columns, without an object per text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from icaps.config import ExplainOptions
from icaps.data.surrogates import replace_surrogates
from icaps.inference import CHUNK, find_table
from icaps.interpret.local import Reasons
from icaps.nn.lookup import MIN_READS
from icaps.trained_model import TrainedModel

_NO_WORDS, _NO_KNOWN_WORD = "the text has no words", "the model knows none of the words"
_WORD = (("start", pa.int32()), ("end", pa.int32()), ("share", pa.float32()))
_KGRAM = (
    ("text", pa.string()),
    ("start", pa.int32()),
    ("end", pa.int32()),
    ("capsule", pa.int32()),
    ("share", pa.float32()),
)


class ExplanationColumns:
    """Explains texts by a model as an Arrow table with a row per text.

    The columns are those of `schema`: `predicted` (a list of classes if the model gives several),
    `target` (the explained class), its `probability`, `score` and `bias`, `words` with their shares
    and `kgrams`, `scores` and `probabilities` by class, `unknown_share` and `truncated`, with the
    meanings of `results.Explanation`; and `problem`, why nothing is predicted, else null.
    Numbers are float32, as the network computes them, except for probabilities.

    The same texts in the same batches have the same numbers, bit for bit.

    Args:
        model: The model.
        options: The class to explain, and how many K-grams.
        top_words: Number of words per text, those with the largest shares, for or against, with
            their spelling; None: all words, in their order, by offsets.

    Attributes:
        schema: Names and types of the columns.
    """

    def __init__(
        self,
        model: TrainedModel,
        options: ExplainOptions = ExplainOptions(),  # noqa: B008 (frozen)
        top_words: int | None = None,
    ) -> None:
        self._model, self._options, self._top_words = model, options, top_words
        self._classes = list(map(str, model.classes_))
        self.schema = self._schema()
        # With the lookup table from the first text on, numbers do not depend on what came before.
        network = model.network_
        find_table(network, MIN_READS * len(network.fixed_embedding))

    def explain(
        self, texts: Sequence[str], problems: Mapping[int, str] = MappingProxyType({})
    ) -> pa.Table:
        """The explanations of texts, in their order.

        Args:
            texts: In place of one that could not be read, any string.
            problems: Why texts could not be read, by number from 0. Their rows have this as
                `problem`, and are null otherwise.

        Raises:
            ConfigError: The class to explain is not one of the model.
        """
        batches, start = [], 0
        for first in range(0, len(texts), CHUNK):
            chunk = [replace_surrogates(text) for text in texts[first : first + CHUNK]]
            for reasons in self._model.reasons(chunk, self._options):
                stop = start + len(reasons.texts)
                known = [problems.get(number) for number in range(start, stop)]
                batches.append(self._batch(reasons, known))
                start = stop
        return pa.Table.from_batches(batches, self.schema)

    def _schema(self) -> pa.Schema:
        name = pa.string()
        several = self._model.multilabel_
        word = _WORD if self._top_words is None else (("text", name), *_WORD)
        return pa.schema(
            [
                ("problem", name),
                ("predicted", pa.list_(name) if several else name),
                ("target", name),
                ("probability", pa.float64()),
                ("score", pa.float32()),
                ("bias", pa.float32()),
                ("words", pa.list_(pa.struct(word))),
                ("kgrams", pa.list_(pa.struct(_KGRAM))),
                ("scores", pa.struct([(each, pa.float32()) for each in self._classes])),
                ("probabilities", pa.struct([(each, pa.float64()) for each in self._classes])),
                ("unknown_share", pa.float64()),
                ("truncated", pa.bool_()),
            ]
        )

    def _batch(self, reasons: Reasons, problems: list[str | None]) -> pa.RecordBatch:
        """The rows of a batch, of which some could not be read."""
        unread = np.array([problem is not None for problem in problems], bool)
        nothing = unread | reasons.blank  # predicted
        tokens = reasons.batch.tokens
        for number in np.flatnonzero(nothing & ~unread).tolist():
            problems[number] = _NO_KNOWN_WORD if tokens.words_per_text[number] else _NO_WORDS
        rows = np.arange(len(reasons.texts))
        chances = self._model.calibrated(reasons.norms)  # (B, J)
        columns = {
            "problem": pa.array(problems, pa.string()),
            "predicted": self._predicted(reasons, chances, nothing),
            "target": self._names(reasons.targets, nothing),
            "probability": pa.array(chances[rows, reasons.targets], mask=nothing),
            "score": pa.array(reasons.norms[rows, reasons.targets], pa.float32(), unread),
            "bias": pa.array(reasons.biases, pa.float32(), unread),
            "words": self._words(reasons, unread),
            "kgrams": self._kgrams(reasons, unread),
            "scores": self._by_class(reasons.norms, pa.float32(), unread),
            "probabilities": self._by_class(chances, pa.float64(), unread),
            "unknown_share": pa.array(tokens.unknown_share, mask=unread),
            "truncated": pa.array(tokens.truncated, mask=unread),
        }
        return pa.record_batch(columns, self.schema)

    def _names(self, numbers: NDArray[np.int64], null: NDArray[np.bool_]) -> pa.Array:
        """Class names by number (n,)."""
        return pa.array(self._classes).take(pa.array(numbers, mask=null))

    def _predicted(
        self, reasons: Reasons, chances: NDArray[np.float64], null: NDArray[np.bool_]
    ) -> pa.Array:
        """The predicted class of each text, or its predicted classes, the most probable first."""
        sets = reasons.predicted_sets
        if sets is None:
            return self._names(reasons.predicted, null)
        order = np.where(sets, -chances, np.inf).argsort(1, kind="stable")  # (B, J)
        predicted = order[np.arange(order.shape[1]) < sets.sum(1)[:, None]]
        return _lists(sets.sum(1), pa.array(self._classes).take(pa.array(predicted)), null)

    def _words(self, reasons: Reasons, null: NDArray[np.bool_]) -> pa.Array:
        tokens, shares = reasons.batch.tokens, reasons.word_shares
        assert tokens.spans is not None
        if self._top_words is None:
            words = _structs(_WORD, *tokens.spans.T, shares)
            return _lists(tokens.words_per_text, words, null)
        text, word = reasons.largest_words(shares, self._top_words)
        spans = tokens.spans[word]
        rows = zip(text.tolist(), *spans.T.tolist(), strict=True)
        spelled = pa.array([reasons.texts[n][start:end] for n, start, end in rows], pa.string())
        words = _structs((("text", pa.string()), *_WORD), spelled, *spans.T, shares[word])
        return _lists(np.bincount(text, minlength=len(null)), words, null)

    def _kgrams(self, reasons: Reasons, null: NDArray[np.bool_]) -> pa.Array:
        text, start, end, capsule, *_ = reasons.kgrams
        spelled = pa.array(reasons.spell(), pa.string())
        kgrams = _structs(_KGRAM, spelled, start, end, capsule, reasons.kgram_shares)
        return _lists(np.bincount(text, minlength=len(null)), kgrams, null)

    def _by_class(
        self, values: NDArray[Any], kind: pa.DataType, null: NDArray[np.bool_]
    ) -> pa.Array:
        """Values (n, J) as structs with a field per class."""
        return _structs([(name, kind) for name in self._classes], *values.T, null=null)


def _structs(
    fields: Sequence[tuple[str, pa.DataType]], *columns: Any, null: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Structs (n,) of columns (n,)."""
    arrays = [
        pa.array(column).cast(kind) for column, (_, kind) in zip(columns, fields, strict=True)
    ]
    mask = None if null is None else pa.array(null)
    return pa.StructArray.from_arrays(
        arrays, fields=[pa.field(*each) for each in fields], mask=mask
    )


def _lists(sizes: NDArray[np.int64], items: pa.Array, null: NDArray[np.bool_]) -> pa.Array:
    """Lists of consecutive items, of these sizes (n,)."""
    offsets = np.concatenate([[0], sizes.cumsum()]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items, mask=pa.array(null))
