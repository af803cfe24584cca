"""Trainings: watched while they run, compared when they are done."""

import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.train import inputs
from dashboard.train import view as train_views
from dashboard.url_state import TRAIN_TABS
from dashboard.widgets import layout


def main() -> None:
    layout.show_title(
        "Train",
        "Trainings are processes of their own: they go on when this page is closed, and are here "
        "when you come back.",
    )
    runs = train_views.all_runs()
    if not runs:
        train_views.how_to_start()
        return
    left, right = st.columns(2, gap="medium")
    with left:
        run = inputs.which_run(runs)
    with right:
        others = inputs.which_others(runs, run)
    live = any(other.status.live for other in (run, *others))
    again = train_views.POLL if live else None
    st.fragment(show, run_every=again)(run.name, [other.name for other in others])


def show(name: str, others: list[str]) -> None:
    """What changes while a training runs."""
    with error_boundary.shown():
        url_state.publish(url_state.TRAIN)
        runs = {run.name: run for run in train_views.all_runs()}
        if name not in runs:
            st.rerun()
        run, shown = runs[name], [runs[n] for n in (name, *others) if n in runs]
        train_views.show_now(run)
        inputs.what_to_do(run)
        train_views.link_model(run)
        curves, reasons, settings, log = st.tabs(TRAIN_TABS, key="train_tabs", on_change="rerun")
        if curves.open:
            with curves:
                train_views.show_curves(shown)
        if reasons.open:
            with reasons:
                train_views.show_learning(run)
        if settings.open:
            with settings:
                train_views.show_settings(shown)
        if log.open:
            with log:
                train_views.show_log(run)
        train_views.show_history(list(runs.values()))


with error_boundary.shown():
    main()
