"""The model of a task: which one guesses, its trainings on the labels, and their accuracy."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import error_boundary, nav, quotas, training_jobs
from dashboard.cache import models
from dashboard.label import charts, tasks
from dashboard.label.desk import Desk, current
from dashboard.label.tasks import EVERY, TrainedModel
from dashboard.model_registry import ModelFolder, model_in, runs_folder
from dashboard.url_state import TRAININGS
from dashboard.widgets import chart_card, progress_bar
from icaps.cli.formatting import duration
from icaps.cli.request import TrainRequest
from icaps.errors import CheckpointError, ICapsError
from icaps.label.task import LabelTask
from icaps.runs import jobs
from icaps.runs.folder import DONE, TRAINING, Status
from icaps.train.checkpoint_files import CLASSES, read_classes

POLL = 2.0  # seconds between two looks at a training
NEWEST, NO_MODEL = "The newest of this task", "None"
GUESSES = "label guesses"  # of the session state: the model that was chosen
_FEWEST = 8  # labels of a training
_scorer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="label score")
_being_scored: set[str] = set()  # paths of runs
_lock = threading.Lock()


def choose_model(task: LabelTask) -> ModelFolder | None:
    """The model that gives guesses: the one that was chosen, or the newest of the task."""
    chosen = st.session_state.get(GUESSES, NEWEST)
    if chosen == NO_MODEL:
        return None
    suitable = _suitable(task)
    if chosen != NEWEST:
        return next((model for model in suitable if model.name == chosen), None)
    for training in tasks.trainings(task):
        if training.run.status.state == DONE:
            path = training.run.path.resolve()
            model = next((model for model in suitable if model.path == path), None)
            if model is not None:
                return model
    start = tasks.page_settings(task).model
    return next((model for model in suitable if model.name == start), None)


def ask_model(task: LabelTask) -> None:
    """Asks for the model that gives guesses."""
    names = [NEWEST, *(model.name for model in _suitable(task)), NO_MODEL]
    if st.session_state.get(GUESSES) not in names:
        st.session_state[GUESSES] = NEWEST
    st.selectbox("Guesses of", names, key=GUESSES, persist_state="session")


def start_if_due(desk: Desk) -> None:
    """Starts a training if there are as many new labels as were asked for.

    Raises:
        NotAllowedError: There are too many trainings.
        RunError: It cannot be started.
    """
    every, labels = tasks.page_settings(desk.task).every, desk.task.progress().training
    if not every or labels - desk.trained < every or quotas.read_only():
        return
    trainings = tasks.trainings(desk.task)
    desk.trained = max((training.labels for training in trainings), default=0)
    if labels - desk.trained >= every and _can_train(desk.task) and not _live(trainings):
        _start(desk)
        st.rerun()


def show() -> None:
    """The state of the model; runs again by itself while one is trained."""
    desk = current()
    trainings = tasks.trainings(desk.task)
    desk.trained = max((training.labels for training in trainings), default=0)
    live = _live(trainings)
    if live is None and st.session_state.pop("label training live", False):
        st.rerun()  # the whole page: the next texts are chosen by the new model
    if live is not None:
        st.session_state["label training live"] = True
    if desk.waiting:
        st.caption("The next texts are being chosen by the new model. Go on meanwhile.")
        if desk.can_take_over:
            st.rerun()
    st.html('<p class="side-title">Model</p>')
    _show_state(desk, trainings, live)
    with error_boundary.shown():
        if not quotas.read_only():
            _ask_training(desk, trainings, live)
        _score(desk.task, trainings)
        _show_curve(desk.task)


def polls(task: LabelTask) -> bool:
    """Whether something is under way that `show` is to look at again."""
    return _live(tasks.trainings(task)) is not None


def _show_state(desk: Desk, trainings: list[TrainedModel], live: TrainedModel | None) -> None:
    if live is not None:
        status = live.run.status
        detail = _describe(status)
        progress_bar.show(f"Training on {live.labels:,} labels", detail, status.share or None)
        st.page_link(
            nav.page("train"),
            label="Watch it",
            icon=":material/model_training:",
            query_params={"run": live.run.name, "train_view": TRAININGS},
        )
    elif trainings and trainings[0].run.status.state != DONE:
        status = trainings[0].run.status
        problem = f"The training {trainings[0].run.name} is {status.state}. {status.error}"
        st.warning(error_boundary.message(problem), icon=":material/error:")
    if desk.model is None:
        st.caption("There is no model yet: train one on the labels, or choose one above.")
        return
    own = next((t for t in trainings if t.run.path.resolve() == desk.model.path), None)
    learned = "" if own is None else f", trained on {own.labels:,} labels"
    st.caption(error_boundary.plain(f"Guesses are those of {desk.model.name}{learned}."))
    with st.container(horizontal=True, gap="small"):
        for page, label in (("explain", "Explain with it"), ("capsules", "Its capsules")):
            link = {"model": desk.model.name}
            st.page_link(nav.page(page), label=label, icon=nav.page(page).icon, query_params=link)


def _describe(status: Status) -> str:
    if status.state != TRAINING or status.eta is None:
        return status.state
    return f"{duration(status.eta)} left"


def _ask_training(desk: Desk, trainings: list[TrainedModel], live: TrainedModel | None) -> None:
    labels = desk.task.progress().training
    last = max((training.labels for training in trainings), default=0)
    can = _can_train(desk.task)
    if st.button(
        f"Train on {labels:,} labels",
        key="label train",
        icon=":material/model_training:",
        type="primary",
        disabled=live is not None or not can,
    ):
        _start(desk)
        st.rerun()
    if not can:
        st.caption(
            f"A training needs {_FEWEST} labels of at least two classes outside the held-out part."
        )
    elif last and live is None:
        st.caption(f"{max(labels - last, 0):,} labels are new since the last training.")
    stored = tasks.page_settings(desk.task)
    every = st.selectbox(
        "Train again",
        EVERY,
        index=EVERY.index(stored.every),
        key="label every",
        format_func=lambda n: f"after every {n} labels" if n else "only by the button",
    )
    unlabelled = stored.unlabelled
    if not desk.task.several and desk.task.source:
        unlabelled = st.toggle(
            "Learn from texts without labels, too",
            value=stored.unlabelled,
            key="label unlabelled",
            help="By self-training: it takes longer, and is kept only if it is better.",
        )
    if (every, unlabelled) != (stored.every, stored.unlabelled):
        tasks.store_page_settings(desk.task, replace(stored, every=every, unlabelled=unlabelled))


def _show_curve(task: LabelTask) -> None:
    """The accuracy on the held-out part by the number of labels."""
    points = {point.run: point for point in task.curve()}  # the latest of each model
    progress = task.progress()
    if not points:
        if progress.held_out and not progress.held_out_labelled:
            st.caption("Models are scored on the held-out part once it has labels.")
        return
    rows = [
        (point.labels, *_interval(point.accuracy), point.run)
        for point in sorted(points.values(), key=lambda point: point.labels)
    ]
    table = pd.DataFrame(rows, columns=charts.COLUMNS)
    tested = max(point.tested for point in points.values())

    def draw(ink: str) -> alt.LayerChart:
        return charts.draw_curve(table, ink)

    latest = table.iloc[-1]
    what = "Held-out texts with all classes right" if task.several else "Held-out accuracy"
    st.html(
        f'<p class="chart-title">{what} {latest.accuracy:.0%} '
        f"<span>of {tested:,} texts, after {latest.labels:,} labels; 95% interval from "
        f"{latest.low:.0%} to {latest.high:.0%}</span></p>"
    )
    chart_card.show(draw, table, "label-curve", "Held-out accuracy by number of labels")


def _interval(value: object) -> tuple[float, float, float]:
    return float(value.value), float(value.low), float(value.high)  # type: ignore[attr-defined]


def _suitable(task: LabelTask) -> list[ModelFolder]:
    """The models that know no class besides those of the task, its own first."""
    classes, suitable = set(task.classes), []
    for model in tasks.models_of(task):
        with suppress(CheckpointError):  # which other pages show
            if set(classes_of(model)) <= classes:
                suitable.append(model)
    return suitable


def classes_of(model: ModelFolder) -> tuple[str, ...]:
    """The class names of a model, without loading it.

    Raises:
        CheckpointError: It is damaged.
    """
    return read_classes(model.path / CLASSES)


def _can_train(task: LabelTask) -> bool:
    progress = task.progress()
    return progress.training >= _FEWEST and sum(map(bool, progress.by_class.values())) > 1


def _live(trainings: list[TrainedModel]) -> TrainedModel | None:
    return next((training for training in trainings if training.run.status.live), None)


def _start(desk: Desk) -> None:
    """Starts a training on the labels so far.

    Raises:
        NotAllowedError: Nothing may be trained here, or there are too many trainings.
        DataError: The labels cannot be written.
        RunError: It cannot be started.
    """
    quotas.new_run(runs_folder())
    task = desk.task
    use_unlabelled = tasks.page_settings(task).unlabelled and not task.several
    request = TrainRequest(
        data=str(task.training_data().resolve()),
        reading={},
        preset="",
        settings={},
        vectors=(),
        watch="" if desk.item is None else desk.item.text[:300],
        unlabelled=task.source if use_unlabelled else "",
    )
    name = training_jobs.free_name(f"{desk.name} {task.progress().training} labels")
    jobs.start(runs_folder(), name, request.to_arguments(), training_jobs.max_running())


def _score(task: LabelTask, trainings: list[TrainedModel]) -> None:
    """Scores the trained models that are not on the curve yet, in the background."""
    if quotas.read_only() or not task.progress().held_out_labelled:
        return
    known = {point.run for point in task.curve()}
    for training in trainings:
        run, key = training.run, str(training.run.path)
        model = model_in(run.path) if run.status.state == DONE else None
        with _lock:
            if model is None or run.name in known or key in _being_scored:
                continue
            _being_scored.add(key)
        _scorer.submit(_score_one, task, run.name, model, training.labels, key)


def _score_one(task: LabelTask, run: str, model: ModelFolder, labels: int, key: str) -> None:
    try:
        task.score(run, models.load(model), labels)
    except ICapsError:
        return  # it stays in the set, so that it is not tried again and again
    with _lock:
        _being_scored.discard(key)
