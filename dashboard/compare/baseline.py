"""Trains a baseline in its own process."""

from importlib.util import find_spec
from pathlib import Path

import streamlit as st

from dashboard import error_boundary, quotas, training_jobs
from dashboard.model_registry import runs_folder
from dashboard.widgets.data_picker import Choice
from icaps.baselines.base import BASELINES, FASTTEXT
from icaps.cli.request import reading_arguments
from icaps.runs import jobs


def show_training(choice: Choice) -> None:
    """A form that trains a baseline on the chosen data."""
    if quotas.read_only():
        return
    with st.popover("Train a baseline", icon=":material/add_circle:"):
        kind = st.selectbox(
            "Baseline",
            list(BASELINES),
            format_func=lambda name: BASELINES[name].title,
            key="baseline kind",
        )
        st.caption(error_boundary.plain(f"After {BASELINES[kind].source}."))
        missing = kind == FASTTEXT and find_spec("fasttext") is None
        if missing:
            st.warning("It needs a package: `pip install fasttext-community`")
        seed = st.number_input("Seed", 0, 2**31 - 1, key="baseline seed")
        reading = reading_arguments(choice.reading)
        arguments = ["baseline", kind, "--data", choice.value, *reading, "--seed", str(seed)]
        name = training_jobs.free_name(f"{kind} {Path(choice.value).name.split('.')[0]}")
        folder = str(runs_folder() / name)
        st.caption("The same on the command line:")
        line = training_jobs.command_line([*arguments, "--out", folder])
        st.code(line, language="bash", wrap_lines=True)
        if st.button("Train it", type="primary", disabled=missing, key="baseline start"):
            quotas.new_run(runs_folder())
            jobs.start(runs_folder(), name, arguments, training_jobs.max_running())
            st.session_state.started = name
            st.rerun()
