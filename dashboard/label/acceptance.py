"""The model's guesses for all texts without a label: a sample of them, and the surest accepted."""

import math
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard import error_boundary, quotas
from dashboard.bounded_dict import BoundedDict
from dashboard.cache import models
from dashboard.label.desk import Desk, current
from dashboard.model_registry import ModelFolder
from dashboard.widgets import progress_bar
from icaps.data.label_sets import shown_label
from icaps.html import printable
from icaps.label.guesses import MOST, Accepted, Checked, Guesses
from icaps.label.task import LabelTask

POLL = 1.0  # seconds between two looks at the predictions
_PERCENTS = (50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9)
_LEAST = 95.0  # at first
_SAMPLE = 10  # texts
_CHARACTERS = 300  # of a text in the table
_CLASSES = 8  # whose counts are written
_BATCHES = 5  # that can be undone here
_STORED = 8  # predictions of tasks
_LIVE = "label guesses live"  # of the session state


class GuessTask:
    """The guesses of a model for a task, computed in a thread.

    Attributes:
        ids: The texts that are predicted.
        predicted: How many of them are so far.
    """

    def __init__(self, task: LabelTask, model: ModelFolder) -> None:
        self.ids = task.unlabelled()
        self.predicted = 0
        self._result: Future[tuple[Guesses, Checked]] = _threads().submit(
            self._compute, task, model
        )

    @property
    def done(self) -> bool:
        """Whether `result` returns at once."""
        return self._result.done()

    @property
    def failed(self) -> bool:
        """Whether it ended by an error."""
        return self.done and self._result.exception() is not None

    def result(self) -> tuple[Guesses, Checked]:
        """The guesses, and those for held-out texts that people labelled.

        Raises:
            DataError: The task cannot be read.
        """
        return self._result.result()

    def covers(self, ids: NDArray[np.int64]) -> bool:
        """Whether all of these texts are among the predicted ones."""
        return bool(np.isin(ids, self.ids).all())

    def _compute(self, task: LabelTask, model: ModelFolder) -> tuple[Guesses, Checked]:
        classifier = models.load(model)
        return task.guesses(classifier, self._count), task.check_guesses(classifier)

    def _count(self, texts: int) -> None:
        self.predicted += texts


def polls(desk: Desk) -> bool:
    """Whether guesses are being computed that `show` is to look at again."""
    found = _stored(desk)
    return found is not None and not found.done


def show() -> None:
    """The guesses, what is accepted, and what was; runs again by itself while they are computed."""
    desk = current()
    if st.session_state.get(_LIVE) and not polls(desk):
        st.session_state[_LIVE] = False
        st.rerun()  # the whole page, which looks no more
    with (
        st.expander(
            "Accept guesses of the model",
            icon=":material/done_all:",
            key="label accept",
            on_change="rerun",
        ) as box,
        error_boundary.shown(),
    ):
        if box.open:
            _show(desk)


def _show(desk: Desk) -> None:
    model, left = desk.model, desk.task.unlabelled()
    if model is None:
        st.caption("There is no model yet: train one on the labels, or choose one above.")
    elif not len(left):
        st.caption("There is no text without a label outside the held-out part.")
    else:
        found = _stored(desk)
        if found is None or found.failed or not found.covers(left):
            _ask_start(desk, model, len(left))
        elif not found.done:
            share = found.predicted / max(len(found.ids), 1)
            done = f"{found.predicted:,} of {len(found.ids):,} texts"
            progress_bar.show(f"{model.name} predicts", done, share)
        else:
            _ask_accept(desk, model, *found.result())
    for accepted in desk.task.accepted()[:_BATCHES]:
        _ask_undo(desk, accepted)


def _ask_start(desk: Desk, model: ModelFolder, count: int) -> None:
    st.caption(
        "Texts of which the model is sure enough get its guess as their label, after you have seen "
        "a sample. The labels say that they are the model's, and can be taken back together. "
        "Held-out texts are never labelled by a model."
    )
    name = f"See the guesses of {model.name} for {_plural(count, 'text')}"
    if st.button(error_boundary.plain(name), key="label accept start"):
        quotas.request()
        _tasks().put(_key(desk, model), GuessTask(desk.task, model))
        st.session_state[_LIVE] = True
        st.rerun()


def _ask_accept(desk: Desk, model: ModelFolder, guesses: Guesses, checked: Checked) -> None:
    """Asks for the least probability; shows what is accepted by it."""
    percent: float = st.select_slider(
        "Probability of a guess, at least",
        _PERCENTS,
        _LEAST,
        key="label accept from",
        format_func=lambda percent: f"{percent:g}%",
        persist_state="session",
        help="The model's calibrated probability of the class; with several classes per text, that "
        "exactly these are right.",
    )
    left = desk.task.still_open(guesses, desk.shown_in_windows)
    sure = left.from_probability(percent / 100)
    st.write(error_boundary.plain(_describe(sure, left)))
    st.caption(error_boundary.plain(_describe_check(checked, percent / 100)))
    if not len(sure):
        return
    sample = sure.sample(_SAMPLE)
    texts = desk.task.text(sample.ids.tolist())
    table = pd.DataFrame(
        {
            "guess": [printable(shown_label(label)) for label in sample.labels],
            "probability": sample.probabilities,
            "text": [printable(text[:_CHARACTERS]) for text in texts],
        }
    )
    st.dataframe(
        table,
        width="stretch",
        hide_index=True,
        column_config={
            "probability": st.column_config.NumberColumn(format="percent"),
            "text": st.column_config.TextColumn(width="large"),
        },
    )
    if len(sample) < len(sure):
        st.caption(f"A random sample of {len(sample)} of them, the surest first.")
    name = f"Label {_plural(len(sure), 'text')} as {model.name} guesses"
    if not quotas.read_only() and st.button(
        error_boundary.plain(name), key="label accept all", type="primary"
    ):
        desk.accept(sure, model.name)
        st.rerun()


def _describe(sure: Guesses, left: Guesses) -> str:
    """How many texts are accepted, as which classes, and how many of them may be wrong."""
    if not len(sure):
        return f"None of the {_plural(len(left), 'text')} with a guess has one that is so sure."
    most = f", the surest {MOST:,}" if len(sure) == MOST else ""
    sentence = f"{_plural(len(sure), 'text')} of {len(left):,} with a guess{most}"
    counts = list(sure.by_class().items())
    parts = [f"{count:,} as {name}" for name, count in counts[:_CLASSES]]
    parts += [f"{len(counts) - _CLASSES:,} more classes"] if len(counts) > _CLASSES else []
    wrong = float((1 - sure.probabilities).sum())
    return (
        f"{sentence}: {', '.join(parts) or 'none of the classes'}. By the model's own "
        f"probabilities about {wrong:,.0f} of them are wrong."
    )


def _describe_check(checked: Checked, least: float) -> str:
    """How many of such guesses are right on the held-out texts that people labelled."""
    accuracy = checked.accuracy(least)
    if math.isnan(accuracy.value):
        return "No held-out text with a label has such a guess, so it is not known how many are."
    count = int((checked.guesses.probabilities >= least).sum())
    return (
        f"Of the {_plural(count, 'held-out text')} with such a guess, {accuracy.value:.0%} are "
        f"right; 95% interval from {accuracy.low:.0%} to {accuracy.high:.0%}."
    )


def _ask_undo(desk: Desk, accepted: Accepted) -> None:
    """Takes back all labels of a batch."""
    when = accepted.time[:16].replace("T", " ")
    with st.container(horizontal=True, vertical_alignment="center"):
        sentence = f"{_plural(accepted.texts, 'label')} by {accepted.by}, {when} UTC"
        st.caption(error_boundary.plain(sentence))
        if not quotas.read_only() and st.button(
            "Take them back",
            key=f"label accept undo {accepted.batch}",
            icon=":material/undo:",
            type="tertiary",
        ):
            desk.undo_accepted(accepted)
            st.rerun()


def _plural(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _key(desk: Desk, model: ModelFolder) -> tuple[str, ModelFolder]:
    return str(desk.task.folder.resolve()), model


def _stored(desk: Desk) -> GuessTask | None:
    """The guesses that were asked for, perhaps not computed yet."""
    return None if desk.model is None else _tasks().get(_key(desk, desk.model))


@st.cache_resource
def _tasks() -> BoundedDict[tuple[str, ModelFolder], GuessTask]:
    return BoundedDict(_STORED)


@st.cache_resource
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "label guesses")
