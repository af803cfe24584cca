"""A function that explains a batch of rows, for engines such as Ray Data and Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from icaps.bulk.columns import ExplanationColumns
from icaps.config import ExplainKeywords, ExplainOptions
from icaps.data.fingerprint import fingerprint_files
from icaps.errors import DataError
from icaps.shipped import model_folder
from icaps.train.checkpoint_files import CONFIG, EDITS, WEIGHTS
from icaps.trained_model import TrainedModel

if TYPE_CHECKING:
    from typing_extensions import Unpack

Batch = TypeVar("Batch", bound=Any)


class ExplainBatch:
    """Explains a batch of rows: a callable that adds the columns of `ExplanationColumns` to it.

    The batch is an Arrow table or record batch, a DataFrame, or a mapping of names to arrays; the
    result is of the same kind. It has the columns of the batch, then those of the explanations. A
    missing text counts as an empty one.

    It is small to pickle: each process loads the model when it explains its first batch, once.

    Args:
        model: Folder of a trained model that each process can read, or the name of one that comes
            with the package.
        text: The column of the texts.
        prefix: Put before the name of each new column.
        top_words: As for `ExplanationColumns`.
        mute: Numbers of capsules that are switched off.
        **options: Of `ExplainOptions`.

    Raises:
        ConfigError: An option is out of range.
    """

    def __init__(
        self,
        model: str | Path,
        *,
        text: str = "text",
        prefix: str = "",
        top_words: int | None = None,
        mute: Iterable[int] = (),
        **options: Unpack[ExplainKeywords],
    ) -> None:
        self._text, self._prefix = text, prefix
        self._model = str(model), ExplainOptions(**options), top_words, tuple(mute)

    @property
    def schema(self) -> pa.Schema:
        """The new columns.

        Raises:
            CheckpointError, ConfigError: As `TrainedModel.load` and `without`.
        """
        fields = self._columns.schema
        return pa.schema([field.with_name(self._prefix + field.name) for field in fields])

    def __call__(self, batch: Batch) -> Batch:
        """The batch with the explanations of its texts.

        Raises:
            DataError: It has no such column of strings, or a column of a new name.
            CheckpointError, ConfigError: As `TrainedModel.load` and `explain`.
        """
        named = isinstance(batch, pa.Table | pa.RecordBatch)
        names = list(batch.schema.names if named else batch)
        if self._text not in names:
            raise DataError(
                f"The batch has no column {self._text!r} but {', '.join(map(repr, names))}; name "
                "that of the texts: text='...'."
            )
        if taken := set(names) & set(self.schema.names):
            raise DataError(
                f"The batch has a column {min(taken)!r} already; put something before the names of "
                "the new ones: prefix='icaps_'."
            )
        texts = self._strings(batch[self._text])
        table = self._columns.explain(texts).rename_columns(self.schema.names)
        result: Batch = self._joined(batch, table)
        return result

    @property
    def _columns(self) -> ExplanationColumns:
        """The model, loaded again if its files have changed, as by a new training."""
        folder = model_folder(self._model[0])
        state = fingerprint_files(folder / name for name in (CONFIG, WEIGHTS, EDITS))
        return load_columns(*self._model, state)

    def _strings(self, column: Any) -> list[str]:
        values = column.to_pylist() if hasattr(column, "to_pylist") else list(column)
        return [value if type(value) is str else self._string(value) for value in values]

    def _string(self, value: Any) -> str:
        import pandas as pd

        if isinstance(value, str):  # of numpy
            return str(value)
        missing = pd.isna(value)
        if isinstance(missing, bool) and missing:  # an array has an array
            return ""
        raise DataError(
            f"The column {self._text!r} has {value!r}, which is no string; convert it first."
        )

    @staticmethod
    def _joined(batch: Any, table: pa.Table) -> Any:
        """The columns of a batch and those of a table, in the form of the batch."""
        if isinstance(batch, pa.Table | pa.RecordBatch):
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            if isinstance(batch, pa.Table):
                return pa.table(columns | dict(zip(table.column_names, table.columns, strict=True)))
            new = (column.combine_chunks() for column in table.columns)
            return pa.record_batch(columns | dict(zip(table.column_names, new, strict=True)))
        if isinstance(batch, Mapping):
            arrays = {name: table[name].to_numpy() for name in table.column_names}
            return {**batch, **arrays}
        import pandas as pd

        return pd.concat([batch, table.to_pandas().set_index(batch.index)], axis=1)


@lru_cache(maxsize=2)
def load_columns(
    model: str,
    options: ExplainOptions,
    top_words: int | None,
    mute: tuple[int, ...],
    state: str = "",
) -> ExplanationColumns:
    """Loads a model for explanations on the CPU, once per process and `state` of its files.

    Raises:
        CheckpointError, ConfigError: As `TrainedModel.load` and `without`.
    """
    trained = TrainedModel.load(model, device="cpu").without(mute)
    return ExplanationColumns(trained, options, top_words)
