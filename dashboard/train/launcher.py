"""The launcher in the sidebar: data, settings, an estimate, and the start of a training."""

from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from dashboard import error_boundary, file_access, quotas
from dashboard.cache import data
from dashboard.model_registry import runs_folder
from dashboard.train import job_bars, setting_fields
from dashboard.training_jobs import command_line, free_name, max_running, path_for_command
from dashboard.widgets import data_picker
from dashboard.widgets.data_picker import Choice
from icaps.cli.data import reading_options
from icaps.cli.request import read_arguments
from icaps.cli.train import settings_of
from icaps.config import PRESETS, ModelConfig, TrainConfig, override
from icaps.html import printable
from icaps.runs import jobs
from icaps.runs.folder import Run
from icaps.text.fixed_part import TEXTS

PLACE = "launch"  # of its widgets
SUGGESTED = "Suggested for these texts"
SHORT, LONG = "Short texts", "Long documents"
_TITLE = "Train a model"


class _Plan(NamedTuple):
    """A training before it is named: the arguments, and the settings that they come to."""

    arguments: list[str]
    model: ModelConfig
    train: TrainConfig
    vectors: tuple[str, ...]


def show() -> None:
    """The form, in the sidebar; what is wrong is told as one fills it."""
    if quotas.read_only():
        with st.sidebar:
            st.caption(quotas.READ_ONLY.format("nothing is trained, uploaded or changed."))
        return
    state = st.session_state
    state.launcher = state.get("launcher", state.get("launcher_was", False))  # on all pages alike
    with st.sidebar:
        options: dict[str, Any] = {"icon": ":material/add_circle:", "on_change": "rerun"}
        with st.expander(_TITLE, key="launcher", **options) as box:
            state.launcher_was = bool(box.open)
            if box.open:
                with error_boundary.shown():
                    _form()


def take_over(run: Run) -> None:
    """Fills the form with the settings of a training, to change them."""
    assert run.request is not None
    with error_boundary.shown():
        options = read_arguments(run.request.arguments)
        model, train = settings_of(options)
        state = st.session_state
        folder = run.request.folder
        data_picker.take(PLACE, path_for_command(options.data, folder), reading_options(options))
        state["launch base"] = options.preset or SUGGESTED
        state["launch kind"] = LONG if model.hierarchical else SHORT
        vectors = options.vectors or [TEXTS]
        state["launch vectors"] = [
            v if v == TEXTS else path_for_command(v, folder) for v in vectors
        ]
        state["launch watch"] = options.watch
        state["launch name"] = free_name(run.name)
        setting_fields.start_from(model, train)
        state.launcher = True


def _form() -> None:
    choice = data_picker.ask(PLACE)
    if choice is None:
        return
    data_picker.show_preview(choice)
    if not choice.ready:
        return
    plan = _ask_plan(choice)
    _follow("launch watch", _first_text(choice))
    watch = st.text_input(
        "Text to watch",
        key="launch watch",
        help="How it is explained is kept after each epoch.",
        persist_state="session",
    )
    quotas.text(watch, "The text to watch")
    watched = data_picker.option("watch", printable(watch)) if watch else []
    arguments = [*plan.arguments, *watched]
    _show_estimate(choice, plan)
    _follow("launch name", free_name(_data_name(choice)))
    name = st.text_input("Name", key="launch name", persist_state="session").strip()
    with st.popover("Command", icon=":material/terminal:"):
        st.caption("The same on the command line:")
        line = command_line([*arguments, "--out", str(runs_folder() / name)])
        st.code(line, language="bash", wrap_lines=True)
    if st.button("Start training", type="primary", width="stretch", key="launch start"):
        quotas.new_run(runs_folder())
        jobs.start(runs_folder(), name, arguments, max_running())
        st.session_state.started = name
        del st.session_state["launch name"]
        st.rerun()


def _ask_plan(choice: Choice) -> _Plan:
    found = None if choice.preview is None else data.suggestion(choice.key)
    kinds = [SHORT, LONG]
    _follow("launch kind", kinds[found is not None and found.hierarchical])
    kind = st.radio("Kind", kinds, key="launch kind", horizontal=True, persist_state="session")
    if found is not None:
        st.caption(error_boundary.plain(found.reason))
    hierarchical = kind == LONG
    presets = [name for name, p in PRESETS.items() if p.model.hierarchical == hierarchical]
    state = st.session_state
    if state.get("launch base") not in (SUGGESTED, *presets):
        state["launch base"] = SUGGESTED
    base = st.selectbox(
        "Settings",
        [SUGGESTED, *presets],
        key="launch base",
        help="The paper's own are named after its data sets.",
        persist_state="session",
    )
    model, train = ModelConfig(), TrainConfig()
    if base != SUGGESTED:
        model, train = PRESETS[base].model, PRESETS[base].train
    starts: dict[str, Any] = {"hierarchical": hierarchical}
    if base == SUGGESTED and found is not None and found.hierarchical == hierarchical:
        starts |= {
            "max_words": found.max_words,
            "max_sentences": found.max_sentences,
            "min_frequency": found.min_frequency,
        }
    settings = setting_fields.ask((model, train), starts, f"{choice.value} {kind} {base}")
    vectors = st.multiselect(
        "Word vectors",
        [TEXTS, *state.get("launch vectors", [])],
        default=[TEXTS],
        accept_new_options=True,
        key="launch vectors",
        help="'texts' trains them on your texts; or a file, or a name of gensim-data. Several "
        "stand side by side.",
        persist_state="session",
    )
    arguments = ["train", "--data", choice.value, *data_picker.as_arguments(choice.reading)]
    if base != SUGGESTED:
        arguments += ["--preset", base]
    for name, value in settings.items():
        arguments += ["--set", f"{name}={value}"]
    for vector in vectors:
        file_access.check_vectors(vector)
        arguments += data_picker.option("vectors", vector)
    return _Plan(arguments, *override(model, train, settings), tuple(vectors))


def _show_estimate(choice: Choice, plan: _Plan) -> None:
    """How long it will take and how large it will be, measured on a sample."""
    if choice.preview is None:
        st.caption("How long it takes can be told when the data is here.")
        return
    found = data.estimate(choice.key, plan.model, plan.train, plan.vectors)
    about = "" if found.exact else "about "
    epoch, whole = job_bars.ago(found.seconds_per_epoch), job_bars.ago(found.seconds)
    st.caption(
        f"{about}{found.texts:,} texts of {len(found.classes)} classes, {found.words.median:.0f} "
        f"words each; {found.vocabulary:,} words known. {epoch} an epoch, up to {whole} in all; "
        f"a model of {found.checkpoint_bytes / 1e6:.1f} MB, {found.peak_bytes / 1e9:.1f} GB of "
        "memory."
    )


def _follow(key: str, suggested: Any) -> None:
    """Puts a suggestion in a field, unless the visitor has written something else there."""
    state, before = st.session_state, f"{key} suggested"
    if state.get(key, state.get(before)) == state.get(before):
        state[key] = suggested
    state[before] = suggested


def _first_text(choice: Choice) -> str:
    text = choice.preview.rows[0][0][:300] if choice.preview and choice.preview.rows else ""
    return printable(text)


def _data_name(choice: Choice) -> str:
    return Path(choice.value).name.split(".")[0] or "model"
