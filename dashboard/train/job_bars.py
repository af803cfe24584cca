"""The trainings that run, as small bars, which every page has in its sidebar."""

import streamlit as st

from dashboard import error_boundary, nav
from dashboard.model_registry import runs_folder
from icaps.html import escape
from icaps.runs.folder import DONE, FAILED, QUEUED, TRAINING, Run, Status, find_runs

# Seconds between two looks at the run folders, while a training lives. Each is a run of its own for
# each visitor, with all that Streamlit does for one.
POLL = 4.0
_ICONS = {DONE: ":material/check_circle:", FAILED: ":material/error:"}


def show() -> None:
    """Here, a bar for each training that lives, kept up to date; a word when one has ended."""
    live = [run for run in find_runs(runs_folder()) if run.status.live]
    _tell_ended(live)
    if live:
        st.html('<p class="side-title">Training now</p>')
        st.fragment(_bars, run_every=POLL)(tuple(run.name for run in live))


def ago(seconds: float) -> str:
    """A time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"


def place(status: Status) -> str:
    """Where a training stands, in a few words."""
    if status.state != TRAINING or not status.steps:
        return status.state
    left = "" if status.eta is None else f", {ago(status.eta)} left"
    return f"epoch {status.epoch} of {status.epochs}{left}"


def _bars(names: tuple[str, ...]) -> None:
    """The bars; what else is on the page changes when a training begins or ends."""
    live = [run for run in find_runs(runs_folder()) if run.status.live]
    if tuple(run.name for run in live) != names:
        st.rerun()
    for run in live:
        _bar(run)


def _bar(run: Run) -> None:
    status = run.status
    accuracy = "" if status.validation_accuracy is None else f" · {status.validation_accuracy:.1%}"
    percent = status.share * 100
    waits = " waits" if status.state == QUEUED else ""
    st.html(
        f'<div class="job{waits}"><p><b>{escape(run.name)}</b>'
        f"<span>{escape(place(status))}{accuracy}</span></p>"
        f'<div class="bar" role="progressbar" aria-label="{escape(run.name)}" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{percent:.0f}">'
        f'<i style="width:{percent:.1f}%"></i></div></div>'
    )
    st.page_link(nav.page("train"), label="Watch", query_params={"run": run.name})


def _tell_ended(live: list[Run]) -> None:
    """Tells this visitor of trainings that lived when they looked last, and don't any more."""
    state = st.session_state
    before, state.jobs_alive = state.get("jobs_alive", set()), {run.name for run in live}
    ended = before - state.jobs_alive
    if not ended:
        return
    for run in find_runs(runs_folder()):
        if run.name in ended:
            words = run.status.error or run.status.state
            icon = _ICONS.get(run.status.state, ":material/stop_circle:")
            st.toast(error_boundary.plain(f"{run.name}: {words}"), icon=icon, duration="long")
