"""What the visitor is asked about trainings, and what is done with them."""

from collections.abc import Sequence

import streamlit as st

from dashboard import error_boundary, quotas, training_jobs, url_state
from dashboard.model_registry import runs_folder
from dashboard.train import launcher
from icaps.runs import jobs
from icaps.runs.folder import DONE, STOPPING, Run

MAX_OVER = 8  # trainings over each other, one a colour


def which_run(runs: Sequence[Run]) -> Run:
    """The training that is looked at; the newest at first."""
    names = [run.name for run in runs]
    url_state.choose_among("run", names)
    name = st.selectbox("Training", names, key="run", persist_state="session")
    return runs[names.index(name)]


def which_others(runs: Sequence[Run], run: Run) -> list[Run]:
    """The trainings that are drawn beside it."""
    others = {other.name: other for other in runs if other.name != run.name}
    kept = [name for name in st.session_state.get("beside", []) if name in others]
    st.session_state.beside = kept
    chosen = st.multiselect(
        "Beside it",
        list(others),
        key="beside",
        max_selections=MAX_OVER - 1,
        placeholder="Others to compare with" if others else "There is no other",
        disabled=not others,
    )
    return [others[name] for name in chosen]


def what_to_do(run: Run) -> None:
    """Stops, resumes, copies or deletes a training."""
    if quotas.read_only():
        return
    status = run.status
    with st.container(horizontal=True, vertical_alignment="center"):
        if status.live:
            twice = status.state == STOPPING
            label = "Stop at once" if twice else "Stop"
            about = (
                "Ends it without saving what came after the last epoch."
                if twice
                else "Ends it after its step, with all that it has learnt saved."
            )
            if st.button(label, icon=":material/stop_circle:", help=about, key=f"stop {run.name}"):
                quotas.change("no training can be stopped.")
                jobs.stop(run)
                st.rerun()
        elif status.state != DONE and run.request is not None:
            about = (
                "Goes on exactly where it was last saved."
                if run.folder.resumable
                else "Begins anew, as nothing was saved yet."
            )
            key = f"resume {run.name}"
            if st.button("Resume", icon=":material/play_circle:", help=about, key=key):
                quotas.waiting(runs_folder())
                jobs.resume(run, training_jobs.max_running())
                st.rerun()
        if run.request is not None and not run.request.of_a_baseline:
            st.button(
                "Duplicate with changes",
                icon=":material/content_copy:",
                help="Puts its settings in the sidebar.",
                on_click=launcher.take_over,
                args=(run,),
                key="duplicate",
            )
        if not status.live:
            _ask_delete(run)


def _ask_delete(run: Run) -> None:
    with st.popover("Delete", icon=":material/delete:"):
        size = run.folder.bytes_on_disk() / 1e6
        st.write(
            error_boundary.plain(f"Delete {run.name} with its model, {size:,.1f} MB, for good?")
        )
        # Its name is in the key, so that a click never means a run that has taken its place.
        if st.button("Delete it", type="primary", key=f"delete {run.name}"):
            quotas.change("nothing can be deleted.")
            jobs.delete(runs_folder(), run.name)
            st.rerun()
