"""Trains a baseline in its own process, on the data of the model that it is compared with."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import error_boundary, quotas, training_jobs
from dashboard.cache import leaks, models
from dashboard.model_registry import ModelFolder, runs_folder
from dashboard.widgets import data_picker
from dashboard.widgets.data_picker import Choice
from icaps.baselines.base import BASELINES, FASTTEXT
from icaps.cli.request import option, reading_arguments
from icaps.data.resolve import available
from icaps.errors import CheckpointError
from icaps.runs import jobs
from icaps.train.checkpoint_files import BASELINE

_PLACE = "baseline"  # key prefix of the data picker
_OF = "baseline of"  # the model whose data is preselected


def show_training(model: ModelFolder) -> None:
    """A form that trains a baseline, at first on the data that the model was trained on.

    Raises:
        DataError: What was named or uploaded can't be used.
        NotAllowedError: It may not be read or uploaded here.
    """
    if quotas.read_only():
        return
    with st.expander(
        "Train a baseline for comparison",
        icon=":material/add_circle:",
        key="train baseline",
        on_change="rerun",
    ) as box:
        if not box.open:
            return
        left, right = st.columns(2, gap="large")
        with left:
            choice = _ask_data(model)
        with right:
            kind, seed = _ask_kind()
        if choice is None or not choice.ready:
            return
        arguments = ["baseline", kind, *option("data", choice.value)]
        arguments += [*reading_arguments(choice.reading), "--seed", str(seed)]
        if leaks.hashes(model) is not None:
            arguments += option("held-out-of", str(model.path))
        name = training_jobs.free_name(f"{kind} {Path(choice.value).name.split('.')[0]}")
        folder = str(runs_folder() / name)
        missing = kind == FASTTEXT and find_spec("fasttext") is None
        if missing:
            st.warning("It needs a package: `pip install fasttext-community`")
        if st.button("Train it", type="primary", disabled=missing, key="baseline start"):
            quotas.new_run(runs_folder())
            jobs.start(runs_folder(), name, arguments, training_jobs.max_running())
            st.session_state.started = name
            st.rerun()
        st.caption("The same on the command line:")
        line = training_jobs.command_line([*arguments, "--out", folder])
        st.code(line, language="bash", wrap_lines=True)


def _ask_data(model: ModelFolder) -> Choice | None:
    """Asks for the data to train on; never that of the comparison unless the visitor says so."""
    state = st.session_state
    trained = _training_data(model)
    if state.get(_OF) != model.path:
        state[_OF] = model.path
        if trained is None:
            state[f"{_PLACE} data"] = data_picker.UPLOAD
        else:
            data_picker.take(_PLACE, *trained)
    choice = data_picker.ask(_PLACE)
    if choice is None or choice.preview is None:
        return choice
    count = leaks.held_out_count(model, choice.key) if choice.ready else 0
    if count:
        st.caption(
            error_boundary.plain(
                f"What {model.name} was trained on. The baseline holds out the same {count:,} "
                "texts, so both can be compared on them."
            )
        )
    elif leaks.hashes(model) is not None:
        st.caption(
            error_boundary.plain(
                f"{model.name} was trained on other texts. Compare both on texts that neither was "
                "trained on."
            )
        )
    return choice


def _ask_kind() -> tuple[str, int]:
    """Asks for the kind of the baseline and its seed."""
    kind = st.selectbox(
        "Baseline",
        list(BASELINES),
        format_func=lambda name: BASELINES[name].title,
        key="baseline kind",
    )
    st.caption(error_boundary.plain(f"After {BASELINES[kind].source}."))
    seed = st.number_input("Seed", 0, 2**31 - 1, key="baseline seed")
    return kind, int(seed)


def _training_data(model: ModelFolder) -> tuple[str, dict[str, Any]] | None:
    """What a model was trained on; of a shipped model, the named data that it was counted over."""
    trained = training_jobs.data_of(model.path)
    if trained is not None or (model.path / BASELINE).is_file():
        return trained
    try:
        counted = models.report(model)
    except CheckpointError:  # damaged counts, which other pages show
        return None
    if counted is None or counted.view.origin.source not in {row.name for row in available()}:
        return None
    return counted.view.origin.source, {}
