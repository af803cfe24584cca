"""Asks which trainings are shown, and stops, resumes, copies or deletes them."""

from collections.abc import Sequence

import streamlit as st

from dashboard import error_boundary, quotas, training_jobs, url_state
from dashboard.model_registry import runs_folder
from dashboard.train import draft
from dashboard.url_state import NEW_TRAINING, TRAIN_VIEWS, TRAININGS
from icaps.runs import jobs
from icaps.runs.folder import DONE, STOPPING, Run

MAX_SHOWN = 8  # trainings in one chart, one per colour


def ask_view(runs: Sequence[Run]) -> str:
    """Asks for a new training or those that there are; the form at first if there are none."""
    state = st.session_state
    if state.get("train_view") is None:
        state.train_view = TRAININGS if runs else NEW_TRAINING
    view: str = st.segmented_control(
        "View",
        TRAIN_VIEWS,
        key="train_view",
        required=True,
        label_visibility="collapsed",
        persist_state="session",
    )
    return view


def ask_run(runs: Sequence[Run]) -> Run:
    """Asks for a training; the newest at first."""
    names = [run.name for run in runs]
    url_state.choose_among("run", names, "training")
    name = st.selectbox("Training", names, key="run", persist_state="session")
    return runs[names.index(name)]


def ask_others(runs: Sequence[Run], run: Run) -> list[Run]:
    """Asks for the trainings to compare it with."""
    others = {other.name: other for other in runs if other.name != run.name}
    state = st.session_state
    state.beside = [name for name in state.get("beside", []) if name in others]
    chosen = st.multiselect(
        "Compare with",
        list(others),
        key="beside",
        max_selections=MAX_SHOWN - 1,
        placeholder="Other trainings" if others else "There is no other training",
        disabled=not others,
    )
    return [others[name] for name in chosen]


def show_actions(run: Run) -> None:
    """Buttons that stop, resume, copy or delete a training."""
    if quotas.read_only():
        return
    status = run.status
    with st.container(horizontal=True, vertical_alignment="center"):
        if status.live:
            label, effect = "Stop", "Ends it after the current step, and saves its state."
            if status.state == STOPPING:
                label, effect = (
                    "Stop at once",
                    "Ends it now; all since the last epoch is lost.",
                )
            if st.button(label, icon=":material/stop_circle:", help=effect, key=f"stop {run.name}"):
                quotas.change("no training can be stopped.")
                jobs.stop(run)
                st.rerun()
        elif status.state != DONE and run.request is not None:
            effect = (
                "Continues exactly from its last saved state."
                if run.folder.resumable
                else "Starts from the beginning, as no state was saved."
            )
            key = f"resume {run.name}"
            if st.button("Resume", icon=":material/play_circle:", help=effect, key=key):
                quotas.waiting(runs_folder())
                jobs.resume(run, training_jobs.max_running())
                st.rerun()
        of_model = run.request is not None and not run.request.is_baseline
        if of_model and st.button(
            "Duplicate with changes",
            icon=":material/content_copy:",
            help="Opens the form of a new training with its settings.",
            on_click=draft.fill_from,
            args=(run,),
            key="duplicate",
        ):
            st.rerun()  # the whole page: the button is in a part that runs again by itself
        if not status.live:
            _ask_delete(run)


def _ask_delete(run: Run) -> None:
    with st.popover("Delete", icon=":material/delete:"):
        size = run.folder.bytes_on_disk() / 1e6
        st.write(
            error_boundary.plain(f"Delete {run.name} and its model, {size:,.1f} MB, permanently?")
        )
        # The name is in the key, so that a click never deletes a run that is now in its place.
        if st.button("Delete it", type="primary", key=f"delete {run.name}"):
            quotas.change("nothing can be deleted.")
            jobs.delete(runs_folder(), run.name)
            st.rerun()
