"""The form in the sidebar that starts a training: data, settings and an estimate of its cost."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import error_boundary, file_access, quotas
from dashboard.cache import data
from dashboard.model_registry import runs_folder
from dashboard.train import job_bars, setting_fields
from dashboard.training_jobs import command_line, free_name, max_running, path_for_command
from dashboard.url_state import LAUNCH_PLACE
from dashboard.widgets import data_picker
from dashboard.widgets.data_picker import Choice
from icaps.cli.request import TrainRequest
from icaps.config import (
    PRESETS,
    ModelConfig,
    ModelSettings,
    TrainConfig,
    TrainSettings,
    format_value,
    parse_settings,
)
from icaps.html import printable
from icaps.runs import jobs
from icaps.runs.folder import Run
from icaps.text.coverage import VectorCoverage
from icaps.text.vectors import ENGLISH, TEXTS, list_sources
from icaps.train.class_weights import describe_imbalance
from icaps.train.recipe import Recipe

PLACE = LAUNCH_PLACE
UNLABELLED_PLACE = "launch unlabelled"  # of those for texts without labels
RECIPE = "Suggested for these texts"
SHORT, LONG = "Short texts", "Long documents"
ANY = "As suits the texts"  # of data that is not downloaded yet
_TITLE = "Train a model"
_SOURCES = (ENGLISH, TEXTS)  # of word vectors, besides files and names


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
        folder = run.request.folder
        state = st.session_state
        data_picker.take(PLACE, path_for_command(request.data, folder), request.reading)
        data_picker.take_unlabelled(
            UNLABELLED_PLACE,
            request.unlabelled and path_for_command(request.unlabelled, folder),
        )
        _fill_settings(request)
        state["launch vectors"] = [
            name if name in _SOURCES else path_for_command(str(name), folder)
            for name in request.vectors or list_sources(None)
        ]
        state["launch watch"] = request.watch
        state["launch name"] = free_name(run.name)
        state.launcher = True


def _form() -> None:
    choice = data_picker.ask(PLACE)
    if choice is None:
        return
    data_picker.show_preview(choice)
    if not choice.ready:
        return
    unlabelled = data_picker.ask_unlabelled(UNLABELLED_PLACE, choice.reading)
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
        choice.value, choice.reading, preset, settings, vectors, printable(watch), unlabelled
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


def _fill_settings(request: TrainRequest) -> None:
    """Fills the form with the preset and the settings of a request."""
    state, given = st.session_state, _as_mapping(request.given())
    state["launch base"] = request.preset or RECIPE
    state["launch kind"] = state["launch kind suggested"] = None  # as suits the texts
    if "hierarchical" in given:
        state["launch kind"] = LONG if given["hierarchical"] else SHORT
    if request.preset:
        if given["hierarchical"] == PRESETS[request.preset].model.hierarchical:
            given = _as_mapping(parse_settings(request.settings))
        else:  # the form has presets of one kind only
            state["launch base"] = RECIPE
    setting_fields.start_from(given)


def _as_mapping(settings: tuple[ModelSettings, TrainSettings]) -> dict[str, Any]:
    return {
        name: value
        for part in settings
        for name, value in (part if isinstance(part, Mapping) else asdict(part)).items()
    }


def _ask_settings(choice: Choice) -> tuple[str, dict[str, str]]:
    """Asks for a preset (empty: the recipe) and the settings that replace its own."""
    recipe = None if choice.preview is None else data.recipe(choice.key)
    kinds = [SHORT, LONG] if recipe else [ANY, SHORT, LONG]
    suited = _kind(recipe.model) if recipe else ANY
    _suggest("launch kind", suited)
    kind = st.radio("Kind", kinds, key="launch kind", horizontal=True, persist_state="session")
    if recipe is not None:
        st.caption(error_boundary.plain(recipe.reasons[0]))
    presets = [name for name, p in PRESETS.items() if kind in (ANY, _kind(p.model))]
    state = st.session_state
    if state.get("launch base") not in (RECIPE, *presets):
        state["launch base"] = RECIPE
    base = st.selectbox(
        "Settings",
        [RECIPE, *presets],
        key="launch base",
        help="Those of the paper are named after its data sets."
        + (f" {recipe.preset} is nearest to these texts." if recipe else ""),
        persist_state="session",
    )
    place = f"{choice.value} {kind} {base}"
    notes = _notes_on_classes(choice)
    if base != RECIPE:
        preset = PRESETS[base]
        return base, setting_fields.ask((preset.model, preset.train), place, notes)
    settings: dict[str, Any] = {} if kind == suited else {"hierarchical": kind == LONG}
    if recipe is None:
        st.caption(
            "The settings are chosen once the data is downloaded, except those that you change."
        )
        starts = ModelConfig(**settings), TrainConfig()
    else:
        recipe = recipe.with_settings(settings)
        _show_recipe(recipe)
        starts = recipe.model, recipe.train
    settings = {name: format_value(value) for name, value in settings.items()}
    return "", settings | setting_fields.ask(starts, place, notes)


def _kind(model: ModelConfig) -> str:
    return LONG if model.hierarchical else SHORT


def _show_recipe(recipe: Recipe) -> None:
    """What the recipe chooses, and why."""
    summary = "; ".join(recipe.lines[:2])
    st.caption(error_boundary.plain(f"{summary[0].upper()}{summary[1:]}."))
    with st.popover("Why these settings", icon=":material/help:"):
        for reason in recipe.reasons:
            st.caption(error_boundary.plain(reason))


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
    """Asks for word vectors; empty for the default.

    Raises:
        NotAllowedError: They may not be read here.
    """
    vectors = st.multiselect(
        "Word vectors",
        list(dict.fromkeys([*_SOURCES, *st.session_state.get("launch vectors", [])])),
        default=list_sources(None),
        accept_new_options=True,
        key="launch vectors",
        help="'english' is a table of 100,000 English words that comes with iCaps: words that are "
        "rare in your texts, or absent, are read by their vectors. 'texts' trains vectors on your "
        "texts; by default they are added if the table has few of your words. For other languages "
        "enter a file, such as one of fastText, or a gensim-data name. Several are concatenated.",
        persist_state="session",
    )
    for name in vectors:
        file_access.check_vectors(name)
    return () if tuple(vectors) == list_sources(None) else tuple(vectors)


def _show_estimate(choice: Choice, request: TrainRequest) -> None:
    """The time and memory of the training, measured on a sample."""
    model, train = request.given()
    if choice.preview is None:
        st.caption("The time can be estimated once the data is downloaded.")
        return
    recipe = data.recipe(choice.key).with_settings(model, train)
    estimate = data.training_estimate(choice.key, recipe.model, recipe.train, request.vectors)
    about = "" if estimate.exact else "about "
    epoch = job_bars.duration(estimate.seconds_per_epoch)
    st.caption(
        f"{about}{estimate.texts:,} texts of {len(estimate.classes)} classes, "
        f"{estimate.words.median:.0f} words per text; a vocabulary of {estimate.vocabulary:,} "
        f"words. {epoch} per epoch, up to {job_bars.duration(estimate.seconds)} in total; a model "
        f"of {estimate.checkpoint_bytes / 1e6:.1f} MB, {estimate.peak_bytes / 1e9:.1f} GB of "
        "memory."
    )
    if estimate.coverage is not None:
        show = st.warning if estimate.coverage.low else st.caption
        show(error_boundary.plain(_describe(estimate.coverage)))


def _describe(coverage: VectorCoverage) -> str:
    """How many words have a vector, and what to do if few have."""
    if not coverage.low:
        return coverage.summary
    return (
        f"{coverage.summary} For other languages, enter a file of vectors of that language in the "
        "field Word vectors, such as one of fastText."
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
