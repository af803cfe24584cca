"""The page Train: a new training, the progress of trainings, and their comparison."""

import streamlit as st

from dashboard import error_boundary, quotas, url_state
from dashboard.train import draft, form, inputs, next_steps, view
from dashboard.url_state import NEW_TRAINING, TRAIN_TABS
from dashboard.widgets import layout


def main() -> None:
    layout.show_title(
        "Train",
        "A training is a process of its own: it continues when this page is closed.",
        wide=True,
    )
    draft.take_like()
    runs = view.all_runs()
    if inputs.ask_view(runs) == NEW_TRAINING:
        url_state.publish(url_state.TRAIN)
        if quotas.read_only():
            view.show_example()
        else:
            with error_boundary.shown():
                form.show(view.show_example if not runs else lambda: None)
        return
    if not runs:
        view.show_how_to_start()
        view.show_example()
        return
    left, right = st.columns(2, gap="medium")
    with left:
        run = inputs.ask_run(runs)
    with right:
        others = inputs.ask_others(runs, run)
    live = any(other.status.live for other in (run, *others))
    again = view.POLL if live else None
    st.fragment(show, run_every=again)(run.name, [other.name for other in others])


def show(name: str, others: list[str]) -> None:
    """The parts of the page that change while a training runs."""
    with error_boundary.shown():
        url_state.publish(url_state.TRAIN)
        runs = {run.name: run for run in view.all_runs()}
        if name not in runs:
            st.rerun()
        run, shown = runs[name], [runs[n] for n in (name, *others) if n in runs]
        view.show_now(run)
        view.show_warnings(run)
        next_steps.show(run)
        inputs.show_actions(run)
        curves, reasons, settings, log = st.tabs(TRAIN_TABS, key="train_tabs", on_change="rerun")
        if curves.open:
            with curves:
                view.show_curves(shown)
        if reasons.open:
            with reasons:
                view.show_learning(run)
        if settings.open:
            with settings:
                view.show_settings(shown)
        if log.open:
            with log:
                view.show_log(run)
        view.show_history(list(runs.values()))


with error_boundary.shown():
    main()
