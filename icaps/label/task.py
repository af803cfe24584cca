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

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from icaps.data.atomic import replaced_folder
from icaps.data.label_file import GIVEN, PERSON, GivenLabel, LabelFile
from icaps.data.label_sets import classes_of, format_label_set, label_set, names_in
from icaps.data.partly_labelled import partly_labelled
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.errors import DataError
from icaps.label.curve import Curve, CurvePoint
from icaps.label.defaults import DEFAULT, DOUBTED, HELD_OUT
from icaps.label.export import table_bytes
from icaps.label.log import Labelled, LabelLog
from icaps.label.order import Candidates, Choice, Comparison, Order, choose
from icaps.label.pool import Pool, write_pool
from icaps.label.progress import Progress
from icaps.label.scores import Scorer, predicted_labels
from icaps.label.settings import SETTINGS, TaskSettings, add_class, checked_name

HELD_OUT_SHARE = 0.5  # of all texts at most
EXPORTED = ("text", "label", "by", "time", "before", "part")  # columns of an export
_POOL, _LABELS, _SCORES, _TRAINING = "pool", "labels.jsonl", "scores.jsonl", "training"
_HELD_OUT_WHY = (
    "It is one of the held-out texts, which are drawn at random and labelled first: models are "
    "scored on them."
)


@dataclass(frozen=True)
class Item:
    """A text to label.

    Attributes:
        id: Its number.
        text: The text.
        why: Why it is this text's turn, as a sentence.
        held_out: Whether it is of the held-out part.
        label: The label that it has; empty for none. It has one if labels are doubted.
        guess: The model's probability of each class, the most probable first; empty without one.
    """

    id: int
    text: str
    why: str
    held_out: bool = False
    label: str = ""
    guess: Mapping[str, float] = dataclasses.field(default_factory=dict)


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
        self._settings = settings
        self._pool = Pool(folder / _POOL)
        self._file = LabelFile(folder / _LABELS)
        self._log = LabelLog(self._file, self._pool)
        self._comparison = Comparison()
        self._curve = Curve(folder / _SCORES)
        self._batch: tuple[Order, Scorer | None, list[Choice]] | None = None

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
        state = self._log.current()
        passed = {*state, *skip}
        first = [n for n in self.held_out if n not in passed and not self._is_given(n)][:count]
        texts = self._pool.text(first)
        items = [Item(n, t, _HELD_OUT_WHY, True) for n, t in zip(first, texts, strict=True)]
        if len(items) < count:
            chosen = self._chosen(order, model, set(skip))
            items += self._items(chosen[: count - len(items)])
        return items

    def give(self, id: int, label: str | Sequence[str], by: str = PERSON) -> str:
        """Gives a text a label, or several; returns the batch, for `undo`.

        It is on the disk when this returns.

        Raises:
            DataError: There is no such text or class, the task has one class per text and `label`
                is not one, or the file cannot be written.
        """
        return self.give_many([(id, label)], by)

    def give_many(self, labels: Iterable[tuple[int, str | Sequence[str]]], by: str = PERSON) -> str:
        """Gives several texts a label each, as one batch; see `give`."""
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
        return self._log.current().get(id) or self._given(id)

    def recent(self, count: int = 20) -> list[Labelled]:
        """What was given or skipped last and not undone, the latest first."""
        return self._log.entries()[::-1][:count]

    def labels(self) -> Iterator[Labelled]:
        """The labels of all texts that have one, by id."""
        state = self._log.current()
        for n in sorted({*state, *np.flatnonzero(self._pool.given >= 0).tolist()}):
            one = state.get(n) or self._given(n)
            if one is not None and one.label:
                yield one

    def progress(self) -> Progress:
        """How far the task is."""
        current = self._log.current()
        by_data = self._pool.given >= 0
        by_data[list(current)] = False
        codes = np.bincount(self._pool.given[by_data], minlength=len(self._pool.names)).tolist()
        counts: Counter[str] = Counter()
        for label, count in zip(self._pool.names, codes, strict=True):
            counts.update(dict.fromkeys(names_in(label), count))
        labels = [one for one in current.values() if one.label]
        for one in labels:
            counts.update(one.names)
        held_out = set(self.held_out)
        inside = int(by_data[list(held_out)].sum()) + sum(one.id in held_out for one in labels)
        return Progress(
            texts=len(self),
            labelled=sum(codes) + len(labels),
            skipped=len(current) - len(labels),
            held_out=len(held_out),
            held_out_labelled=inside,
            by_class={name: counts[name] for name in self.classes},
            given=sum(codes),
        )

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
        counts = Counter(name for one in labels if one.id not in held_out for name in one.names)
        trained = {name for name, count in counts.items() if count > 1}
        if len(trained) < 2:
            raise DataError(
                "A training needs two classes with two labels each outside the held-out part; "
                "label more texts."
            )
        labels = [one for one in labels if self.several or trained.issuperset(one.names)]
        parts = {
            "train": [one for one in labels if one.id not in held_out],
            "test": [one for one in labels if one.id in held_out],
        }
        key = hashlib.sha256(json.dumps([(one.id, one.label) for one in labels]).encode())
        home = self.folder / _TRAINING / key.hexdigest()[:16]
        if home.is_dir():
            return home
        try:
            home.parent.mkdir(exist_ok=True)
            with replaced_folder(home) as scratch:
                for part, chosen in parts.items():
                    if chosen:
                        self._write_part(scratch / f"{part}.jsonl", chosen)
        except OSError as error:
            raise DataError(f"{home} cannot be written ({error}).") from error
        return home

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
        state = self._log.current()
        befores = [state.get(n) or self._given(n) for n, _ in labels]
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

    def _given(self, id: int) -> Labelled | None:
        """The label that the data has for a text; None without one."""
        if not self._is_given(id):
            return None
        return Labelled(id, self._pool.names[self._pool.given[id]], GIVEN, self._settings.created)

    def _is_given(self, id: int) -> bool:
        return bool(self._pool.given[id] >= 0)

    def _check_id(self, id: int) -> None:
        if not 0 <= id < len(self):
            raise DataError(f"There is no text {id}; texts are numbered from 0 to {len(self) - 1}.")

    def _chosen(self, order: Order, model: Scorer | None, skip: set[int]) -> list[Choice]:
        """The rest of the batch; a new one if none is left, or for another order or model."""
        left: list[Choice] = []
        if self._batch is not None and self._batch[0] == order and self._batch[1] is model:
            left = self._left(self._batch[2], order, skip)
        if left:
            return left
        choices = choose(order, self._candidates(skip), model, self._comparison)
        self._batch = order, model, choices
        return choices

    def _left(self, choices: Sequence[Choice], order: Order, skip: set[int]) -> list[Choice]:
        """The choices that are still to be labelled, or to be labelled again."""
        current = self._log.current()

        def wanted(id: int) -> bool:
            one = current.get(id)
            return one is None or (order.name == DOUBTED and bool(one.label) and not one.before)

        return [choice for choice in choices if choice.id not in skip and wanted(choice.id)]

    def _candidates(self, skip: set[int]) -> Candidates:
        current = self._log.current()
        closed = np.zeros(len(self), dtype=bool)
        closed[[*current, *skip, *self.held_out]] = True
        held_out = set(self.held_out)
        known = [one for one in self.labels() if one.id not in held_out and one.id not in skip]
        return Candidates(
            texts=self._pool.texts,
            open=np.flatnonzero(~closed & (self._pool.given < 0)),
            labelled=np.array([one.id for one in known], np.int64),
            labels=[one.label for one in known],
            reviewed=np.array([bool(one.before) for one in known], np.bool_),
            seed=self._settings.seed,
        )

    def _items(self, choices: Sequence[Choice]) -> list[Item]:
        texts = self._pool.text(choice.id for choice in choices)
        state = self._log.current()
        items = []
        for choice, text in zip(choices, texts, strict=True):
            one = state.get(choice.id) or self._given(choice.id)
            label = "" if one is None else one.label
            items.append(Item(choice.id, text, choice.why, False, label, choice.guess))
        return items

    def _write_part(self, path: Path, labels: Sequence[Labelled]) -> None:
        texts = self._pool.text(one.id for one in labels)
        with path.open("w", encoding="utf-8") as file:
            for one, text in zip(labels, texts, strict=True):
                label = list(one.names) if self.several else one.label
                file.write(json.dumps({"text": text, "label": label}) + "\n")


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
