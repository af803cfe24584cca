"""What a worker process does: it explains the rows of a part, and writes them to its file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import torch

from icaps.bulk.explain_batch import load_columns
from icaps.bulk.options import BulkOptions, Part, PartReport
from icaps.bulk.parts import PartsFolder
from icaps.data.problems import Problem
from icaps.data.surrogates import replace_surrogates
from icaps.errors import ConfigError

_ROW, _FILE, _LINE, _TEXT = "row", "file", "line", "text"


class PartExplainer:
    """Explains parts; a callable for a process that does nothing else, on one core.

    Args:
        model: Folder of a trained model.
        folder: Where parts are written.
        options: What is computed and written.
        several_files: Whether each row has the name of its file.

    Raises:
        CheckpointError, ConfigError: As `explain_data`.
    """

    def __init__(
        self, model: str | Path, folder: PartsFolder, options: BulkOptions, several_files: bool
    ) -> None:
        torch.set_num_threads(1)
        self._columns = load_columns(str(model), options.explain, options.top_words, options.mute)
        self._folder, self._options, self._several_files = folder, options, several_files
        taken = {_ROW, _FILE, _LINE, _TEXT, *self._columns.schema.names}
        if twice := [name for name in options.keep if name in taken]:
            raise ConfigError(
                f"The column {twice[0]!r} cannot be kept, as the output has one of that name; "
                "rename it in the data."
            )

    def __call__(self, part: Part) -> PartReport:
        """Explains a part and writes it.

        Raises:
            ConfigError: The class to explain is not one of the model.
            DataError: The part cannot be written.
        """
        problems = {n: row.text for n, row in enumerate(part.rows) if isinstance(row.text, Problem)}
        texts = ["" if isinstance(row.text, Problem) else row.text for row in part.rows]
        reasons = {number: problem.reason for number, problem in problems.items()}
        explanations = self._columns.explain(texts, reasons)
        columns = self._columns_of(part)
        columns |= dict(zip(explanations.column_names, explanations.columns, strict=True))
        self._folder.write(part.number, pa.table(columns))
        unexplained = Counter(
            problems[number].kind if number in problems else reason
            for number, reason in enumerate(explanations["problem"].to_pylist())
            if reason is not None
        )
        return PartReport(len(part.rows), unexplained)

    def _columns_of(self, part: Part) -> dict[str, pa.Array]:
        """The columns that are not computed: place of the row, other columns, and text."""
        stop = part.start + len(part.rows)
        columns = {_ROW: pa.array(range(part.start, stop), pa.int64())}
        if self._several_files:
            columns[_FILE] = pa.array([row.file for row in part.rows], pa.string())
        columns[_LINE] = pa.array([row.line for row in part.rows], pa.int64())
        others = zip(*(row.others for row in part.rows), strict=True)
        for name, values in zip(self._options.keep, others, strict=True):
            columns[name] = _strings(values)
        if self._options.with_text:
            columns[_TEXT] = _strings([row.text for row in part.rows])
        return columns


def _strings(values: Sequence[str | Problem | None]) -> pa.Array:
    """Strings, null where there is none; lone surrogates become U+FFFD."""
    return pa.array(
        [replace_surrogates(value) if isinstance(value, str) else None for value in values],
        pa.string(),
    )
