"""A labelling task: a folder with texts, their classes, and the labels that people give.

    FOLDER/task.json        the settings, replaced as a whole when they change
           pool/            the texts (`label.pool`)
           labels.jsonl     the labels (`data.label_file`); lines are only ever added
           scores.jsonl     the scores of trained models, one per line
           training/KEY/    train.jsonl and test.jsonl, the labelled texts for `icaps train`

Nothing is lost when a process is killed, and several processes and windows can work on one task.
Texts have numbers, their ids. Those of the held-out part are drawn at random and are labelled
first; models are scored on them, so that no order and no model has a part in choosing them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icaps.data.atomic import replaced_folder
from icaps.data.label_file import PERSON, GivenLabel, LabelFile
from icaps.data.label_sets import classes_of, format_label_set, label_set, names_in
from icaps.data.partly_labelled import partly_labelled
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.errors import DataError
from icaps.evaluate.predictions import Scorer as TextScorer
from icaps.label.curve import Curve, CurvePoint
from icaps.label.defaults import DEFAULT, HELD_OUT
from icaps.label.export import table_bytes
from icaps.label.guesses import (
    Accepted,
    Checked,
    Guesses,
    accepted_batches,
    by_model,
    check_guesses,
    find_guesses,
    is_by_model,
)
from icaps.label.log import Labelled, LabelLog
from icaps.label.order import Order
from icaps.label.pool import Pool, write_pool
from icaps.label.progress import Progress, count_progress
from icaps.label.queue import Item, Queue
from icaps.label.scores import Scorer, predicted_labels
from icaps.label.settings import SETTINGS, TaskSettings, add_class, checked_name
from icaps.label.training_data import write_training_data

HELD_OUT_SHARE = 0.5  # of all texts at most
EXPORTED = ("text", "label", "by", "time", "before", "part")  # columns of an export
_POOL, _LABELS, _SCORES, _TRAINING = "pool", "labels.jsonl", "scores.jsonl", "training"


class LabelTask:
    """A labelling task in a folder; created by `create`, and opened again by `open`.

    Attributes:
        folder: The folder.
        several: Whether a text may have several classes.
        source: The name or path of the data; empty for texts in memory.
        held_out: The ids of the held-out part, in the order in which they are labelled.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        settings = TaskSettings.read(folder)
        self.several, self.source = settings.several, settings.source
        self.held_out = settings.held_out
        self._pool = Pool(folder / _POOL)
        if not all(0 <= n < len(self._pool) for n in self.held_out):
            raise ValueError("a held-out text is not among the texts")
        self._file = LabelFile(folder / _LABELS)
        self._log = LabelLog(self._file, self._pool, settings.created)
        self._queue = Queue(self._pool, self._log, settings.held_out, settings.seed)
        self._curve = Curve(folder / _SCORES)

    @classmethod
    def create(
        cls,
        folder: str | Path,
        source: str | Path | Iterable[str],
        classes: Sequence[str] = (),
        several: bool = False,
        held_out: int = HELD_OUT,
        seed: int = 0,
        reading: Mapping[str, Any] | None = None,
        progress: ProgressReporter = SILENT,
    ) -> LabelTask:
        """Creates a task; its texts are copied, without blank and repeated ones.

        Args:
            folder: The folder, which must not exist or be empty.
            source: A file, a folder of which the train part is read, or texts. Labels of some of
                its rows count as given.
            classes: Names of the classes, to which those of the given labels are added.
            several: Whether a text may have several classes.
            held_out: Number of texts that are held out, drawn at random; at most half of all.
            seed: Seed of the draw and of random orders.
            reading: Options of `data.source.open_source`.
            progress: Receives the number of texts that were read.

        Raises:
            DataError: The folder is in use or cannot be written, the texts cannot be read, a class
                name is empty, or the data has several labels per text and the task does not.
        """
        folder = Path(folder)
        names = list(dict.fromkeys(map(checked_name, classes)))
        if held_out < 0:
            raise DataError(f"{held_out} texts cannot be held out; give 0 or more.")
        if isinstance(source, (str, Path)):
            pairs: Iterable[tuple[str, str]] = partly_labelled(source, reading or {})
        else:
            pairs = ((text, "") for text in source)
        try:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise DataError(f"{folder} exists already; give another folder for the labels.")
            folder.parent.mkdir(parents=True, exist_ok=True)
            with replaced_folder(folder) as scratch:
                (scratch / _POOL).mkdir()
                write_pool(pairs, scratch / _POOL, progress)
                pool = Pool(scratch / _POOL)
                _check_given(pool.names, several)
                count = min(held_out, int(HELD_OUT_SHARE * len(pool)))
                drawn = np.random.default_rng(seed).permutation(len(pool))[:count]
                TaskSettings(
                    classes=tuple(dict.fromkeys([*names, *classes_of(pool.names)])),
                    several=several,
                    held_out=tuple(drawn.tolist()),
                    seed=seed,
                    source=str(source) if isinstance(source, (str, Path)) else "",
                    created=_now(),
                ).write(scratch)
        except OSError as error:
            raise DataError(f"{folder} cannot be written ({error}).") from error
        return cls(folder)

    @classmethod
    def open(cls, folder: str | Path) -> LabelTask:
        """Opens a task.

        Raises:
            DataError: There is none, or its files are damaged.
        """
        folder = Path(folder)
        if not (folder / SETTINGS).is_file():
            raise DataError(f"There is no labelling task in {folder}; `icaps label` creates one.")
        try:
            return cls(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"The labelling task in {folder} is damaged ({error}).") from error

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, in the order in which they were named."""
        return TaskSettings.read(self.folder).classes

    def add_class(self, name: str) -> None:
        """Adds a class.

        Raises:
            DataError: The name is empty, has a line end, or exists; or the file cannot be written.
        """
        add_class(self.folder, name)

    def __len__(self) -> int:
        """The number of texts."""
        return len(self._pool)

    def text(self, ids: Iterable[int]) -> list[str]:
        """The texts of ids.

        Raises:
            DataError: There is no such text.
        """
        ids = list(ids)
        for n in ids:
            self._check_id(n)
        return self._pool.text(ids)

    def find(self, texts: Iterable[str]) -> list[int | None]:
        """The id of each text, without regard to case and white space; None for one not here."""
        return self._pool.find(texts)

    def next(
        self,
        order: str | Order = DEFAULT,
        model: Scorer | None = None,
        skip: Collection[int] = (),
    ) -> Item | None:
        """The text that comes next; None if none is left in this order.

        Args:
            order: Name of an order, see `label.order.ORDERS`, or one with its options.
            model: A trained model of the task's classes, or some of them.
            skip: Ids of texts that are passed over, without being marked as skipped.

        Raises:
            ConfigError: There is no such order, or it needs a model, or another one.
            DataError: A search has a mistake.
        """
        return next(iter(self.queue(1, order, model, skip)), None)

    def queue(
        self,
        count: int,
        order: str | Order = DEFAULT,
        model: Scorer | None = None,
        skip: Collection[int] = (),
    ) -> list[Item]:
        """The next texts in an order, one to `count` of them if any is left; see `next`."""
        order = order if isinstance(order, Order) else Order(order)
        return self._queue.items(count, order, model, set(skip))

    def give(self, id: int, label: str | Sequence[str], by: str = PERSON) -> str:
        """Gives a text a label, or several; returns the batch, for `undo`.

        It is on the disk when this returns.

        Raises:
            DataError: There is no such text or class, the task has one class per text and `label`
                is not one, or the file cannot be written.
        """
        return self.give_many([(id, label)], by)

    def give_many(self, labels: Iterable[tuple[int, str | Sequence[str]]], by: str = PERSON) -> str:
        """Gives several texts a label each, as one batch; see `give`.

        A model (`guesses.by_model`) gives no label to a held-out text.
        """
        classes = self.classes
        pairs = [(n, self._as_label(label, classes)) for n, label in labels]
        return self._add(pairs, by)

    def skip(self, id: int, by: str = PERSON) -> str:
        """Marks a text as skipped: no order returns it again; its label is taken away.

        Raises:
            DataError: There is no such text, or the file cannot be written.
        """
        return self._add([(id, "")], by)

    def undo(self, batch: str | None = None) -> tuple[int, ...]:
        """Takes back what `give`, `give_many` or `skip` did; returns the ids of its texts.

        Args:
            batch: What they returned; None for the last one that was not undone.

        Raises:
            DataError: There is nothing to undo, or the file cannot be written.
        """
        entries = self._log.entries()
        if batch is None:
            if not entries:
                raise DataError("There is no label that could be undone.")
            batch = entries[-1].batch
        ids = tuple(entry.id for entry in entries if entry.batch == batch)
        self._file.undo(batch)
        return ids

    def label(self, id: int) -> Labelled | None:
        """The label of a text, or that it was skipped; None if neither.

        Raises:
            DataError: There is no such text.
        """
        self._check_id(id)
        return self._log.label(id)

    def unlabelled(self, skip: Collection[int] = ()) -> NDArray[np.int64]:
        """The ids of texts that are neither labelled, skipped, held out, nor in `skip`."""
        return self._queue.open_ids(skip)

    def guesses(
        self, model: TextScorer, on_texts: Callable[[int], None] = lambda _: None
    ) -> Guesses:
        """A model's guesses for the texts without a label, the surest first.

        Texts of the held-out part, and those that were skipped, have none.

        Args:
            model: A trained model of the task's classes, or some of them.
            on_texts: Called with the number of texts that were predicted since the last call.
        """
        return find_guesses(model, self._pool.texts, self.unlabelled(), self.several, on_texts)

    def check_guesses(self, model: TextScorer) -> Checked:
        """A model's guesses for the held-out texts that people labelled, and which are right."""
        held_out = set(self.held_out)
        labels = {one.id: one for one in self.labels() if one.id in held_out}
        ids = np.fromiter(labels, np.int64)
        return check_guesses(find_guesses(model, self._pool.texts, ids, self.several), labels)

    def still_open(self, guesses: Guesses, skip: Collection[int] = ()) -> Guesses:
        """The guesses for texts that have no label meanwhile, and are not in `skip`."""
        return guesses.only(np.isin(guesses.ids, self.unlabelled(skip)))

    def accept(self, guesses: Guesses, model: str) -> str:
        """Gives texts the labels that a model guesses, as one batch; returns it, for `undo`.

        The labels are marked as given by the model. Texts that have a label meanwhile keep it.

        Args:
            guesses: Of this task, such as `task.guesses(model).from_probability(0.95)`.
            model: The name of the model.

        Raises:
            DataError: No text is left, a text is of the held-out part, there is no such class, or
                the file cannot be written.
        """
        left = guesses.only(~np.isin(guesses.ids, list(self._log.current())))
        if not len(left):
            raise DataError("All these texts have a label already.")
        labels = zip(left.ids.tolist(), map(names_in, left.labels.tolist()), strict=True)
        return self.give_many(labels, by_model(model))

    def accepted(self) -> list[Accepted]:
        """The batches of labels that models gave and that were not undone, the latest first."""
        return accepted_batches(self._log.entries())

    def recent(self, count: int = 20) -> list[Labelled]:
        """What was given or skipped last and not undone, the latest first."""
        return self._log.entries()[::-1][:count]

    def labels(self) -> Iterator[Labelled]:
        """The labels of all texts that have one, by id."""
        return self._log.labels()

    def progress(self) -> Progress:
        """How far the task is."""
        return count_progress(self._pool, self._log, self.held_out, self.classes)

    def training_data(self) -> Path:
        """Writes the labelled texts to a folder that `icaps train --data` reads; returns it.

        Its train part has the labelled texts outside the held-out part, and its test part those of
        it. A class with a single label is left out, as a training needs two; so are held-out texts
        of classes that the train part lacks, which `score` counts as wrong. A folder is never
        changed: other labels are in another one.

        Raises:
            DataError: There are no two classes with two labels outside the held-out part, or the
                folder cannot be written.
        """
        held_out = set(self.held_out)
        labels = list(self.labels())
        texts = self._pool.text(one.id for one in labels)
        rows = [
            (text, one.names, one.id in held_out) for text, one in zip(texts, labels, strict=True)
        ]
        return write_training_data(self.folder / _TRAINING, rows, self.several)

    def record_score(self, run: str, labels: int, correct: int, tested: int) -> CurvePoint:
        """Adds a point to the curve; see `CurvePoint`.

        Raises:
            DataError: The folder cannot be written.
        """
        point = CurvePoint(run, labels, correct, tested, _now())
        self._curve.add(point)
        return point

    def score(self, run: str, model: Scorer, labels: int) -> CurvePoint:
        """Scores a model on the held-out texts that have a label, and adds it to the curve.

        With several classes per text, a text is right if all its classes are.

        Args:
            run: Name of the model.
            model: The model.
            labels: Number of labelled texts that it was trained on.

        Raises:
            DataError: No held-out text has a label, or the folder cannot be written.
        """
        held_out = set(self.held_out)
        tested = [one for one in self.labels() if one.id in held_out]
        if not tested:
            raise DataError("No held-out text has a label yet; label them first.")
        predicted = predicted_labels(model, self._pool.text(one.id for one in tested))
        correct = sum(set(one.names) == set(p) for one, p in zip(tested, predicted, strict=True))
        return self.record_score(run, labels, correct, len(tested))

    def curve(self) -> list[CurvePoint]:
        """The scores of trained models, by number of labels, then by time.

        Raises:
            DataError: The file is damaged.
        """
        return self._curve.points()

    def export(self, kind: str) -> bytes:
        """All labels as a file of kind "csv", "jsonl" or "parquet", by id.

        The columns are text, label, by (who gave it), time, before (the label that it replaced) and
        part ("train", or "test" for the held-out part). Several labels are a list, which CSV has as
        JSON.

        Raises:
            ConfigError: There is no such kind.
        """
        held_out = set(self.held_out)
        labels = list(self.labels())
        rows = [
            {
                "text": text,
                "label": list(one.names) if self.several else one.label,
                "by": one.by,
                "time": one.time,
                "before": one.before,
                "part": "test" if one.id in held_out else "train",
            }
            for one, text in zip(labels, self._pool.text(one.id for one in labels), strict=True)
        ]
        return table_bytes(rows, EXPORTED, kind)

    def import_labels(self, pairs: Iterable[tuple[str, str]], by: str = PERSON) -> tuple[int, int]:
        """Gives labels to texts of the task by the texts themselves, as one batch.

        Args:
            pairs: Texts with labels (or sets of labels, `data.label_sets`); new classes are added.
            by: Who gave them.

        Returns:
            The number of labels that were given, and of texts that are not in the task.

        Raises:
            DataError: A label does not suit the task, or the files cannot be written.
        """
        pairs = list(pairs)
        ids = self._pool.find(text for text, _ in pairs)
        known = [(n, label) for n, (_, label) in zip(ids, pairs, strict=True) if n is not None]
        _check_given([label for _, label in known], self.several)
        for name in classes_of(label for _, label in known):
            if name not in self.classes:
                self.add_class(name)
        if known:
            self.give_many([(n, names_in(label)) for n, label in known], by)
        return len(known), len(pairs) - len(known)

    def _add(self, labels: Sequence[tuple[int, str]], by: str) -> str:
        for n, _ in labels:
            self._check_id(n)
        if is_by_model(by) and not {n for n, _ in labels}.isdisjoint(self.held_out):
            raise DataError(
                "A held-out text is not labelled by a model: models are scored on these texts."
            )
        befores = [self._log.label(n) for n, _ in labels]
        texts = self._pool.text(n for n, _ in labels)
        return self._file.add(
            GivenLabel(text, label, "" if before is None else before.label, by)
            for text, (_, label), before in zip(texts, labels, befores, strict=True)
        )

    def _as_label(self, label: str | Sequence[str], classes: Sequence[str]) -> str:
        names = [label] if isinstance(label, str) else list(label)
        for name in names:
            if name not in classes:
                raise DataError(f"There is no class {name!r}; there is {', '.join(classes)}.")
        if self.several:
            return format_label_set(names)
        if len(names) != 1:
            raise DataError(f"A text has one class in this task, not {len(names)}.")
        return names[0]

    def _check_id(self, id: int) -> None:
        if not 0 <= id < len(self):
            raise DataError(f"There is no text {id}; texts are numbered from 0 to {len(self) - 1}.")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat("T", "seconds")


def _check_given(labels: Iterable[str], several: bool) -> None:
    """Raises DataError if labels are sets of names and the task has one class per text, or not."""
    for label in labels:
        if (label_set(label) is not None) == several:
            continue
        if several:
            raise DataError(
                f"The label {label!r} is one class, and the task has several per text. Create a "
                "task of one class per text, or give lists of labels."
            )
        raise DataError(
            f"The label {label} is a list, and the task has one class per text. Create the task "
            "with --several (several=True)."
        )
