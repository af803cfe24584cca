"""Progress bars of the running trainings, in the sidebar of every page."""

from urllib.parse import quote, urlencode

import streamlit as st

from dashboard import error_boundary, nav
from dashboard.model_registry import model_in, runs_folder
from dashboard.url_state import TRAININGS
from icaps.cli.formatting import duration
from icaps.html import escape
from icaps.runs.folder import DONE, FAILED, TRAINING, Run, Status, find_runs

# Seconds between two reads of the run folders while a training runs; each is a run of the script.
POLL = 4.0
_MOST_ENDED = 2  # ended trainings that the sidebar shows
_ICONS = {DONE: ":material/check_circle:", FAILED: ":material/error:"}


def show() -> None:
    """Shows a bar per running training, and a message when one has ended."""
    live = [run for run in find_runs(runs_folder()) if run.status.live]
    _notify_of_ended(live)
    _show_ended()
    if live:
        st.html('<p class="side-title">Training now</p>')
        st.fragment(_bars, run_every=POLL)(tuple(run.name for run in live))


def address(name: str) -> str:
    """The address of a training on the page Train, relative to any page."""
    return f"train?{urlencode({'run': name, 'train_view': TRAININGS}, quote_via=quote)}"


def describe(status: Status) -> str:
    """The state of a training in a few words."""
    if status.state != TRAINING or not status.steps:
        return status.state
    left = "" if status.eta is None else f", {duration(status.eta)} left"
    return f"epoch {status.epoch} of {status.epochs}{left}"


def _bars(names: tuple[str, ...]) -> None:
    """The bars; the page is run again when a training starts or ends."""
    live = [run for run in find_runs(runs_folder()) if run.status.live]
    if tuple(run.name for run in live) != names:
        st.rerun()
    for run in live:
        _bar(run)


def _bar(run: Run) -> None:
    status = run.status
    accuracy = "" if status.validation_accuracy is None else f" · {status.validation_accuracy:.1%}"
    percent = status.share * 100
    st.html(
        f'<div class="job"><p><b>{escape(run.name)}</b>'
        f"<span>{escape(describe(status))}{accuracy}</span></p>"
        f'<div class="bar" role="progressbar" aria-label="{escape(run.name)}" aria-valuemin="0" '
        f'aria-valuemax="100" aria-valuenow="{percent:.0f}">'
        f'<i style="width:{percent:.1f}%"></i></div></div>'
    )
    _links(run.name, "Watch", has_model=run.has_model)


def _links(name: str, label: str, has_model: bool) -> None:
    """Links to a training, and to its model once there is one."""
    with st.container(horizontal=True, gap="small"):
        _link(name, label)
        model = model_in(runs_folder() / name) if has_model else None
        if model is not None:
            address = {"model": model.name}
            st.page_link(nav.page("explain"), label="Explain with it", query_params=address)


def _link(name: str, label: str) -> None:
    parameters = {"run": name, "train_view": TRAININGS}
    st.page_link(nav.page("train"), label=label, query_params=parameters)


def _notify_of_ended(live: list[Run]) -> None:
    """Notifies this visitor of trainings that have ended since the last script run."""
    state = st.session_state
    before, state.jobs_alive = state.get("jobs_alive", set()), {run.name for run in live}
    ended = before - state.jobs_alive
    if not ended:
        return
    for run in find_runs(runs_folder()):
        if run.name in ended:
            message = run.status.error or run.status.state
            icon = _ICONS.get(run.status.state, ":material/stop_circle:")
            text = error_boundary.plain(f"{run.name}: {message}")
            if run.status.state == DONE:
                text += f" [What next?]({address(run.name)})"
                state.jobs_ended = [*state.get("jobs_ended", []), run.name][-_MOST_ENDED:]
            st.toast(text, icon=icon, duration="long")


def _show_ended() -> None:
    """The trainings that have ended, until the visitor has looked at them."""
    state = st.session_state
    looked_at = state.get("run") if state.get("train_view") == TRAININGS else None
    folder = runs_folder()
    state.jobs_ended = [
        name
        for name in state.get("jobs_ended", [])
        if name != looked_at and name not in state.jobs_alive and (folder / name).exists()
    ]
    for name in state.jobs_ended:
        st.html(f'<div class="job"><p><b>{escape(name)}</b><span>done</span></p></div>')
        _links(name, "What next?", has_model=True)
