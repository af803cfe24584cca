"""What a visitor's window has open: a task, the text that is being labelled, and the next ones."""

import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import replace

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard import quotas
from dashboard.label import tasks
from dashboard.label.ahead import Ahead
from dashboard.model_registry import ModelFolder
from icaps.data.label_file import PERSON
from icaps.data.marked_words import MarkedWordsFile
from icaps.errors import DataError
from icaps.label.guesses import Accepted, Guesses
from icaps.label.order import Order
from icaps.label.queue import Item
from icaps.label.task import LabelTask

_DESK = "label desk"
_CLAIMED = 600.0  # seconds for which a text that is shown in one window is not in another


class Claims:
    """The texts that are shown in windows, by task, so that no two people label the same one."""

    def __init__(self) -> None:
        self._claims: dict[tuple[str, str], tuple[int, float]] = {}  # by task and session
        self._lock = threading.Lock()

    def claim(self, task: str, session: str, text: int | None) -> None:
        """A window shows a text, or none any more."""
        with self._lock:
            if text is None:
                self._claims.pop((task, session), None)
            else:
                self._claims[task, session] = text, time.monotonic()

    def of_others(self, task: str, session: str) -> set[int]:
        """The ids of the texts that other windows show."""
        with self._lock:
            old = time.monotonic() - _CLAIMED
            self._claims = {key: value for key, value in self._claims.items() if value[1] > old}
            return {
                text
                for (name, other), (text, _) in self._claims.items()
                if name == task and other != session and _is_open(other)
            }


def _is_open(session: str) -> bool:
    """Whether the window of a session is still there."""
    return not runtime.exists() or runtime.get_instance().is_active_session(session)


@st.cache_resource
def _claims() -> Claims:
    return Claims()


class Desk:
    """A task as it is open in a window.

    Attributes:
        task: The task.
        name: Its name.
        item: The text that is being labelled; None if none is left, or before the first one.
        chosen: Its classes so far, if a text may have several.
        words: The words that were marked in it, by class.
        words_version: Changes when `words` was set by other means than the widget.
        note: What the visitor should know about the last step; may be empty.
        problem: Why the last step was refused; may be empty.
        trained: The most labels that a model of the task was trained on.
    """

    def __init__(self, name: str) -> None:
        self.task: LabelTask = tasks.open_task(name)
        self.name = name
        self.item: Item | None = None
        self.chosen: list[str] = []
        self.words: dict[str, frozenset[int]] = {}
        self.words_version = 0
        self.note = self.problem = ""
        self.trained = 0
        self._ahead: Ahead | None = None
        self._coming: Ahead | None = None  # of another order or model, while it is being chosen
        # Batches of this window, and their text; None for many texts, labelled by a model.
        self._done: list[tuple[str, Item | None]] = []
        self._before: str | None = None  # the label of `item` when it was shown
        context = get_script_run_ctx()
        self._session = context.session_id if context is not None else ""

    @property
    def model(self) -> ModelFolder | None:
        """The model that chose the text and gives the guess."""
        return None if self._ahead is None else self._ahead.model

    @property
    def waiting(self) -> bool:
        """Whether texts are being chosen by another model or order."""
        return self._coming is not None

    @property
    def can_take_over(self) -> bool:
        """Whether `advance` goes over to another model or order."""
        return self._coming is not None and self._coming.ready

    @property
    def ready(self) -> bool:
        """Whether a text can be shown at once."""
        return self.item is not None or (self._ahead is not None and self._ahead.ready)

    @property
    def words_file(self) -> MarkedWordsFile:
        """The words that people marked."""
        return tasks.words_file(self.task)

    def follow(self, order: Order, model: ModelFolder | None) -> None:
        """Takes the next texts from this order and model, as soon as these have chosen some.

        The text that is being labelled stays, unless another order was asked for.
        """
        latest = self._coming or self._ahead
        if latest is None or (latest.order, latest.model) != (order, model):
            self._coming = Ahead(self.task, order, model)
        self._take_over()

    def _take_over(self) -> None:
        if self._coming is None or not (self._coming.ready or self._ahead is None):
            return
        former, now = self._ahead, self._coming
        self._ahead, self._coming = now, None
        if former is None:
            return
        model = now.model
        if former.order != now.order and not self.chosen:
            self._show(None)
        elif former.model != model and model is not None:
            self.note = f"From the next text on the texts are chosen by {model.name}."
            if self.item is not None and not self.item.held_out:
                self.item = replace(self.item, why="It was chosen before this model was there.")

    def advance(self) -> None:
        """Shows the next text, if none is shown; by another model or order, if it is ready.

        Raises:
            ConfigError: The order needs a model.
            DataError: The task cannot be read, or a search has a mistake.
        """
        self._take_over()
        if self.item is None and self._ahead is not None:
            others = _claims().of_others(self.name, self._session)
            self._show(self._ahead.take(others) or (self._ahead.take() if others else None))

    def give(self, id: int, names: Sequence[str]) -> None:
        """Gives the shown text its classes, and shows the next one.

        Nothing is done if another text is shown: the key was pressed twice.

        Raises:
            NotAllowedError: The app is read-only.
            DataError: There is no such class any more, or the folder cannot be written.
        """
        if self.item is None or self.item.id != id:
            return
        quotas.change("no text can be labelled.")
        self._say_conflict()
        label = names if self.task.several else names[0]
        self._done.append((self.task.give(id, label), self.item))
        self._store_words(names)
        self._show(None)
        self.advance()

    def skip(self, id: int) -> None:
        """Marks the shown text as skipped, and shows the next one; see `give`."""
        if self.item is None or self.item.id != id:
            return
        quotas.change("no text can be labelled.")
        self.note = ""
        self._done.append((self.task.skip(id), self.item))
        self._store_words(())
        self._show(None)
        self.advance()

    def accept(self, guesses: Guesses, model: str) -> None:
        """Gives texts the labels that a model guesses, as one batch.

        Raises:
            NotAllowedError: The app is read-only.
            DataError: They have labels meanwhile, or the folder cannot be written.
        """
        quotas.change("no text can be labelled.")
        self._done.append((self.task.accept(guesses, model), None))
        self.note = f"{len(guesses):,} texts have the label that {model} guesses."

    def undo_accepted(self, accepted: Accepted) -> None:
        """Takes back labels that a model gave.

        Raises:
            NotAllowedError: The app is read-only.
            DataError: They were undone elsewhere, or the folder cannot be written.
        """
        quotas.change("no label can be undone.")
        self._done = [done for done in self._done if done[0] != accepted.batch]
        self.task.undo(accepted.batch)
        self.note = f"The {accepted.texts:,} labels by {accepted.by} are taken back."

    @property
    def shown_in_windows(self) -> set[int]:
        """The ids of the texts that somebody is looking at, in this window or in another."""
        own = set() if self.item is None else {self.item.id}
        return own | _claims().of_others(self.name, self._session)

    @property
    def can_undo(self) -> bool:
        """Whether `undo` has something to take back."""
        return bool(self._done) or self._last_of_task() is not None

    def undo(self) -> None:
        """Takes back the last label or skip, and shows its text again.

        That is the last one of this window, or in a new window the last one of the task.

        Raises:
            NotAllowedError: The app is read-only.
            DataError: It was undone elsewhere, or the folder cannot be written.
        """
        quotas.change("no label can be undone.")
        last = self._done.pop() if self._done else self._last_of_task()
        if last is None:
            return
        batch, item = last
        texts = self.task.undo(batch)
        if item is None:
            self.note = f"The {len(texts):,} labels of the model are taken back."
            return
        if self.item is not None and self._ahead is not None and self.item.id != item.id:
            self._ahead.put_back(self.item)
        self._show(item)
        self.note = "The label is taken back."

    def open(self, id: int) -> None:
        """Shows a text that is labelled or skipped already, to correct it."""
        entry = self.task.label(id)
        if (
            self.item is not None
            and self._ahead is not None
            and self.task.label(self.item.id) is None
        ):
            self._ahead.put_back(self.item)
        (text,) = self.task.text([id])
        label = "" if entry is None else entry.label
        held_out = id in self.task.held_out
        self._show(Item(id, text, "You chose it from the labels so far.", held_out, label))
        self.chosen = list(entry.names) if entry is not None and self.task.several else []

    def toggle(self, id: int, name: str) -> None:
        """Adds a class to those of the shown text, or removes it."""
        if self.item is not None and self.item.id == id:
            others = [other for other in self.chosen if other != name]
            self.chosen = others if name in self.chosen else [*others, name]

    def mark(self, name: str, marked: Collection[int]) -> None:
        """Words of the shown text are the reason for a class."""
        self.words = {**self.words, name: frozenset(marked)}

    def _show(self, item: Item | None) -> None:
        _claims().claim(self.name, self._session, None if item is None else item.id)
        self.item, self.chosen, self.words = item, [], {}
        self.words_version += 1
        self._before = None
        if item is not None:
            entry = self.task.label(item.id)
            self._before = None if entry is None else entry.label
            self.item = replace(item, label=self._before or "")
            if self.words_file.path.exists():
                self.words = self.words_file.marks(item.text)

    def _store_words(self, names: Sequence[str]) -> None:
        """Stores the words that were marked in the shown text, for its classes.

        Words that were marked before there was a class (under the name "") are for all of them.
        """
        assert self.item is not None
        if not self.words:
            return
        for_all = self.words.get("", frozenset())
        marks = {name: self.words.get(name, frozenset()) | for_all for name in names}
        if len(names) == 1:  # another class than before
            marks = {names[0]: frozenset().union(*self.words.values())}
        self.words_file.set_marks(self.item.text, marks)

    def _say_conflict(self) -> None:
        """Notes that the text was labelled in another window while it was shown here."""
        assert self.item is not None
        entry = self.task.label(self.item.id)
        now = None if entry is None else entry.label
        self.note = ""
        if entry is not None and now != self._before:
            label = ", ".join(entry.names) or "skipped"
            self.note = f"Another window had given that text: {label}. Yours counts now."

    def _last_of_task(self) -> tuple[str, Item | None] | None:
        """The last label of the task, unless somebody else is at work on it."""
        if _claims().of_others(self.name, self._session):
            return None
        for entry in self.task.recent(1):
            if entry.by == PERSON and entry.batch:
                (text,) = self.task.text([entry.id])
                held_out = entry.id in self.task.held_out
                return entry.batch, Item(entry.id, text, "You labelled it last.", held_out)
        return None


def open_desk(name: str) -> Desk:
    """The desk of this window for a task; a new one if another task was open.

    Raises:
        DataError: There is no such task, or it is damaged.
    """
    desk: Desk | None = st.session_state.get(_DESK)
    if desk is None or desk.name != name or not desk.task.folder.is_dir():
        desk = st.session_state[_DESK] = Desk(name)
    return desk


def current() -> Desk:
    """The desk that is open.

    Raises:
        DataError: There is none.
    """
    desk: Desk | None = st.session_state.get(_DESK)
    if desk is None:
        raise DataError("No task is open.")
    return desk
