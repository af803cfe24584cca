"""The form in the sidebar that starts a training: data, settings and an estimate of its cost."""

from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import error_boundary, file_access, quotas
from dashboard.cache import data
from dashboard.model_registry import runs_folder
from dashboard.train import job_bars, setting_fields
from dashboard.training_jobs import command_line, free_name, max_running, path_for_command
from dashboard.widgets import data_picker
from dashboard.widgets.data_picker import Choice
from icaps.cli.request import TrainRequest
from icaps.config import PRESETS, build_configs
from icaps.html import printable
from icaps.runs import jobs
from icaps.runs.folder import Run
from icaps.text.vectors import TEXTS
from icaps.train.class_weights import describe_imbalance

PLACE = "launch"  # prefix of the keys of its widgets
SUGGESTED = "Suggested for these texts"
SHORT, LONG = "Short texts", "Long documents"
_TITLE = "Train a model"


def show() -> None:
    """The form, collapsed at first."""
    if quotas.read_only():
        with st.sidebar:
            st.caption(quotas.READ_ONLY.format("nothing is trained, uploaded or changed."))
        return
    state = st.session_state
    state.launcher = state.get("launcher", state.get("launcher_was", False))  # open on all pages
    with st.sidebar:
        icon = ":material/add_circle:"
        with st.expander(_TITLE, key="launcher", icon=icon, on_change="rerun") as box:
            state.launcher_was = bool(box.open)
            if box.open:
                with error_boundary.shown():
                    _form()


def fill_from(run: Run) -> None:
    """Fills the form with the settings of a training, to change them."""
    assert run.request is not None
    with error_boundary.shown():
        request = TrainRequest.from_arguments(run.request.arguments)
        model, train = request.configs()
        folder = run.request.folder
        state = st.session_state
        data_picker.take(PLACE, path_for_command(request.data, folder), request.reading)
        state["launch base"] = request.preset or SUGGESTED
        state["launch kind"] = LONG if model.hierarchical else SHORT
        state["launch vectors"] = [
            name if name == TEXTS else path_for_command(name, folder)
            for name in request.vectors or (TEXTS,)
        ]
        state["launch watch"] = request.watch
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
    preset, settings = _ask_settings(choice)
    vectors = _ask_vectors()
    _suggest("launch watch", _first_text(choice))
    watch = st.text_input(
        "Text to watch",
        key="launch watch",
        help="Its explanation is stored after each epoch.",
        persist_state="session",
    )
    quotas.text(watch, "The text to watch")
    request = TrainRequest(
        choice.value, choice.reading, preset, settings, vectors, printable(watch)
    )
    _show_estimate(choice, request)
    _suggest("launch name", free_name(Path(choice.value).name.split(".")[0] or "model"))
    name = st.text_input("Name", key="launch name", persist_state="session").strip()
    arguments = request.to_arguments()
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


def _ask_settings(choice: Choice) -> tuple[str, dict[str, str]]:
    """Asks for a preset (empty: none) and the settings that differ from it."""
    suggestion = None if choice.preview is None else data.suggestion(choice.key)
    kinds = [SHORT, LONG]
    _suggest("launch kind", kinds[suggestion is not None and suggestion.hierarchical])
    kind = st.radio("Kind", kinds, key="launch kind", horizontal=True, persist_state="session")
    if suggestion is not None:
        st.caption(error_boundary.plain(suggestion.reason))
    hierarchical = kind == LONG
    presets = [name for name, p in PRESETS.items() if p.model.hierarchical == hierarchical]
    state = st.session_state
    if state.get("launch base") not in (SUGGESTED, *presets):
        state["launch base"] = SUGGESTED
    base = st.selectbox(
        "Settings",
        [SUGGESTED, *presets],
        key="launch base",
        help="Those of the paper are named after its data sets.",
        persist_state="session",
    )
    starts: dict[str, Any] = {"hierarchical": hierarchical}
    if base == SUGGESTED and suggestion is not None and suggestion.hierarchical == hierarchical:
        starts |= {
            "max_words": suggestion.max_words,
            "max_sentences": suggestion.max_sentences,
            "min_frequency": suggestion.min_frequency,
        }
    preset = "" if base == SUGGESTED else base
    place = f"{choice.value} {kind} {base}"
    notes = _notes_on_classes(choice)
    return preset, setting_fields.ask(build_configs(preset, {}), starts, place, notes)


def _notes_on_classes(choice: Choice) -> dict[str, str]:
    """What to say about the class weights, by the name of the setting, if they may be needed."""
    counts = {} if choice.preview is None else data.class_counts(choice.key)
    imbalance = describe_imbalance(counts)
    if not imbalance:
        return {}
    return {
        "class_weight": f"The classes are unbalanced: {imbalance}. With "
        "“balanced”, each class counts the same in the loss, however rare it is. Rare classes are "
        "then predicted more often: macro F1 rises, and accuracy may fall."
    }


def _ask_vectors() -> tuple[str, ...]:
    """Asks for word vectors.

    Raises:
        NotAllowedError: They may not be read here.
    """
    vectors = st.multiselect(
        "Word vectors",
        [TEXTS, *st.session_state.get("launch vectors", [])],
        default=[TEXTS],
        accept_new_options=True,
        key="launch vectors",
        help="'texts' trains them on your texts. Or a file, or a gensim-data name. Several are "
        "concatenated.",
        persist_state="session",
    )
    for name in vectors:
        file_access.check_vectors(name)
    return tuple(vectors)


def _show_estimate(choice: Choice, request: TrainRequest) -> None:
    """The time and memory of the training, measured on a sample."""
    model, train = request.configs()
    if choice.preview is None:
        st.caption("The time can be estimated once the data is downloaded.")
        return
    estimate = data.training_estimate(choice.key, model, train, request.vectors)
    about = "" if estimate.exact else "about "
    epoch = job_bars.duration(estimate.seconds_per_epoch)
    st.caption(
        f"{about}{estimate.texts:,} texts of {len(estimate.classes)} classes, "
        f"{estimate.words.median:.0f} words per text; a vocabulary of {estimate.vocabulary:,} "
        f"words. {epoch} per epoch, up to {job_bars.duration(estimate.seconds)} in total; a model "
        f"of {estimate.checkpoint_bytes / 1e6:.1f} MB, {estimate.peak_bytes / 1e9:.1f} GB of "
        "memory."
    )


def _suggest(key: str, suggestion: Any) -> None:
    """Puts a suggestion in a field, unless the visitor has entered something else there."""
    state, before = st.session_state, f"{key} suggested"
    if state.get(key, state.get(before)) == state.get(before):
        state[key] = suggestion
    state[before] = suggestion


def _first_text(choice: Choice) -> str:
    text = choice.preview.rows[0][0][:300] if choice.preview and choice.preview.rows else ""
    return printable(text)
