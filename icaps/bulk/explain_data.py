"""Explains all rows of files by all cores, in flat memory; continues after an interruption."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path

from icaps.bulk.options import BulkOptions, Part, PartReport
from icaps.bulk.parts import PartsFolder
from icaps.bulk.workers import run_tasks
from icaps.data.raw_table import FileDescription
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.data.sample import can_estimate_total, estimate_total
from icaps.data.unlabelled import TextRow, UnlabelledTexts
from icaps.errors import ConfigError, DataError
from icaps.shipped import model_folder
from icaps.train.checkpoint_files import model_fingerprint

_PART_CHARACTERS = 20_000_000  # of texts in a part, which has at least one
_VERSION = 1  # of the columns; parts of another one are not continued


@dataclass
class BulkReport:
    """What was done.

    Attributes:
        rows: Number of rows of the output.
        resumed: How many of them an earlier process had explained.
        unexplained: Number of rows without a prediction that this process saw, by their problem.
    """

    rows: int = 0
    resumed: int = 0
    unexplained: Counter[str] = field(default_factory=Counter)


def explain_data(
    model: str | Path,
    texts: UnlabelledTexts,
    out: str | Path,
    options: BulkOptions = BulkOptions(),  # noqa: B008 (frozen)
    *,
    jobs: int = 1,
    resume: bool = False,
    progress: ProgressReporter = SILENT,
) -> BulkReport:
    """Explains all rows of files, and writes a row for each, in their order.

    The columns are `row`, from 1; `file`, if there are several; `line`, the line of the file, or
    its row; those of `options.keep`; `text`; and those of `columns.ExplanationColumns`. A row that
    cannot be read has a `problem`, and nothing else. The output is the same, byte for byte, for
    any number of processes and interruptions.

    Rows are explained in parts, each of which is stored in the folder OUT.parts as soon as it is
    complete. A process that is killed loses the parts that it was working on.

    Args:
        model: Folder of a trained model, or the name of one that comes with the package.
        texts: The rows.
        out: A file (.parquet, .csv, .jsonl); or a folder, of a Parquet file per part.
        options: What is computed and written.
        jobs: Number of processes, each of which has the model in memory and uses one core.
        resume: Whether to continue a call that was interrupted, with the same data, model and
            options.
        progress: Receives the number of rows.

    Raises:
        ConfigError: An option is out of range or unknown to the model, or the suffix of `out` is.
        DataError: The data cannot be read, is empty or was changed meanwhile; `out` exists or
            cannot be written.
        RunError: Another process writes `out`, or there are parts that cannot be continued.
        CheckpointError: The model cannot be read.
        WorkerError: A process died.
    """
    if jobs < 1:
        raise ConfigError(f"jobs is {jobs}; it must be at least 1.")
    folder, model = PartsFolder(Path(out)), model_folder(model)
    files, data = texts.describe(), texts.fingerprint()
    job = {
        "version": _VERSION,
        "format": folder.format.suffix,
        "model": model_fingerprint(model),
        "data": data,
        "reading of the data": [[each.encoding, each.delimiter, *each.text] for each in files],
        **options.to_dict(),
    }
    several_files = len(files) > 1 or Path(files[0].file).is_dir()
    prepare = partial(_load_explainer, model, folder, options, several_files)
    with folder.claimed(job, resume):
        tasks = _Tasks(texts.rows(options.keep), options.part_rows, folder.done(), files, progress)
        report = BulkReport()
        with closing(run_tasks(prepare, tasks, jobs)) as results:  # ends the processes
            for rows, unexplained in results:
                progress.on_texts(rows)
                report.unexplained.update(unexplained)
        if not tasks.rows:
            raise DataError(f"{files[0].file} holds no rows; add some.")
        if texts.fingerprint() != data:
            raise DataError(
                f"The data was changed while it was read; delete {folder.path}, and start again."
            )
        progress.say(f"{tasks.parts:,} parts are done")
        folder.publish(tasks.parts)
    report.rows, report.resumed = tasks.rows, tasks.resumed
    return report


class _Tasks:
    """The parts that are not done; an iterator that counts the rows of all parts.

    Attributes:
        parts, rows: Number of parts and rows so far.
        resumed: Number of rows of parts that are done.
    """

    def __init__(
        self,
        rows: Iterator[TextRow],
        part_rows: int,
        done: frozenset[int],
        files: Sequence[FileDescription],
        progress: ProgressReporter,
    ) -> None:
        self.parts = self.rows = self.resumed = 0
        self._stream, self._part_rows, self._done = rows, part_rows, done
        self._files, self._progress = files, progress

    def __iter__(self) -> Iterator[Part]:
        """Yields the parts."""
        first = True
        while rows := list(self._next_rows()):
            part = Part(self.parts, self.rows + 1, rows)
            self.parts += 1
            self.rows += len(rows)
            if part.number in self._done:
                self.resumed += len(rows)
                continue
            if first:
                self._expect(rows[-1])
                first = False
            yield part

    def _next_rows(self) -> Iterator[TextRow]:
        """The rows of a part; which these are depends on the data and the options alone."""
        characters = 0
        for row in islice(self._stream, self._part_rows):
            yield row
            characters += len(row.text) if isinstance(row.text, str) else 0
            if characters >= _PART_CHARACTERS:
                return

    def _expect(self, last: TextRow) -> None:
        """Reports the number of rows that are not done, when they were read up to `last`."""
        if self._done:
            self._progress.say(f"{len(self._done):,} parts are done already")
        if last.line is not None and can_estimate_total(self._files):
            total = estimate_total(self._files, last.file, last.line, self.rows)
            done = round(len(self._done) * self.rows / self.parts)
            self._progress.expect_texts(total - done)


def _load_explainer(
    model: str | Path, folder: PartsFolder, options: BulkOptions, several_files: bool
) -> Callable[[Part], PartReport]:
    """The function of a worker process; the process that starts it needs no torch."""
    from icaps.bulk.explain_part import PartExplainer

    return PartExplainer(model, folder, options, several_files)
