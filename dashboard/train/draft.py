"""The training that is being prepared: the sidebar and the page Train start the same one.

Both ask for it by widgets of the same keys, of which the sidebar shows a few. What it does not show
is read from the session state.
"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import error_boundary, file_access, quotas
from dashboard.cache import data
from dashboard.model_registry import runs_folder
from dashboard.train import job_bars, setting_fields
from dashboard.train.setting_fields import SettingFields
from dashboard.training_jobs import (
    corrections_for_command,
    free_name,
    max_running,
    path_for_command,
)
from dashboard.url_state import LAUNCH_LIKE, LAUNCH_MASKED, LAUNCH_PLACE, NEW_TRAINING
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
from icaps.runs.folder import Run, find_runs
from icaps.text.vector_files import ENGLISH
from icaps.text.vectors import TEXTS, list_sources
from icaps.train.recipe import Recipe

PLACE = LAUNCH_PLACE
UNLABELLED_PLACE = "launch unlabelled"  # of those for texts without labels
RECIPE = "Suggested for these texts"
SHORT, LONG = "Short texts", "Long documents"
ANY = "As suits the texts"  # of data that is not downloaded yet
SOURCES = (ENGLISH, TEXTS)  # of word vectors, besides files and names
_UNLABELLED = "launch texts without labels"  # as `--unlabelled` takes it
_STARTED = "launch pressed"  # the last training that this visitor has started: its name, and when
_ONE_CLICK = 10.0  # seconds in which the same name is not started by the same visitor again


@dataclass(frozen=True)
class Draft:
    """What the fields describe so far.

    Attributes:
        choice: The data.
        recipe: What the texts call for; None if the data is not downloaded yet.
        kinds: Kinds of texts to choose from.
        bases: RECIPE and the presets to choose from.
        base: The chosen one.
        starts: The settings of the base, which the fields replace.
        fields: The fields of the settings.
        by_kind: The setting that replaces the recipe's as the visitor has chosen another kind.
    """

    choice: Choice
    recipe: Recipe | None
    kinds: tuple[str, ...]
    bases: tuple[str, ...]
    base: str
    starts: tuple[ModelConfig, TrainConfig]
    fields: SettingFields
    by_kind: Mapping[str, Any]

    def request(self) -> TrainRequest:
        """The training as it stands.

        Raises:
            NotAllowedError: A path may not be read here, or the text to watch is too long.
        """
        state = st.session_state
        by_kind = {name: format_value(value) for name, value in self.by_kind.items()}
        watch = state["launch watch"]
        quotas.text(watch, "The text to watch")
        unlabelled = state.get(_UNLABELLED, "")
        if unlabelled:
            file_access.check_data(unlabelled)
        return TrainRequest(
            self.choice.value,
            self.choice.reading,
            "" if self.base == RECIPE else self.base,
            by_kind | self.fields.changed(),
            _vectors(),
            printable(watch),
            unlabelled,
            tuple(state.get(LAUNCH_MASKED) or ()),
        )


def read(choice: Choice) -> Draft:
    """The draft for this data, by the widgets of the form, whether they are shown or not."""
    state = st.session_state
    recipe = None if choice.preview is None else data.recipe(choice.key)
    suited = _kind(recipe.model) if recipe else ANY
    suggest("launch kind", suited)
    suggest("launch watch", _first_text(choice))
    kind = state["launch kind"]
    kinds = (SHORT, LONG) if recipe else (ANY, SHORT, LONG)
    presets = [name for name, p in PRESETS.items() if kind in (ANY, _kind(p.model))]
    if state.get("launch base") not in (RECIPE, *presets):
        state["launch base"] = RECIPE
    base = state["launch base"]
    by_kind = {} if base != RECIPE or kind == suited else {"hierarchical": kind == LONG}
    if base != RECIPE:
        starts = PRESETS[base].model, PRESETS[base].train
    elif recipe is None:
        starts = ModelConfig(**by_kind), TrainConfig()
    else:
        recipe = recipe.with_settings(by_kind)
        starts = recipe.model, recipe.train
    fields = SettingFields(starts, f"{choice.value} {kind} {base}")
    return Draft(choice, recipe, kinds, (RECIPE, *presets), base, starts, fields, by_kind)


def keep_unlabelled(value: str) -> None:
    """Remembers the texts without labels that the form asks for."""
    st.session_state[_UNLABELLED] = value


def take_like() -> None:
    """Fills the form from the training that another page named, with its masked words."""
    state = st.session_state
    name = state.pop(LAUNCH_LIKE, "")
    run = next((run for run in find_runs(runs_folder()) if run.name == name), None)
    if name and run is not None and run.request is not None:
        masked = state.get(LAUNCH_MASKED) or []
        fill_from(run)
        state[LAUNCH_MASKED] = list(dict.fromkeys([*state[LAUNCH_MASKED], *masked]))


def fill_from(run: Run) -> None:
    """Fills the form with the settings of a training, to change them, and opens it."""
    assert run.request is not None
    with error_boundary.shown():
        request = TrainRequest.from_arguments(run.request.arguments)
        folder = run.request.folder
        state = st.session_state
        reading = corrections_for_command(request.reading, folder)
        data_picker.take(PLACE, path_for_command(request.data, folder), reading)
        unlabelled = request.unlabelled and path_for_command(request.unlabelled, folder)
        data_picker.take_unlabelled(UNLABELLED_PLACE, unlabelled)
        keep_unlabelled(unlabelled)
        _fill_settings(request)
        state["launch vectors"] = [
            name if name in SOURCES else path_for_command(str(name), folder)
            for name in request.vectors or list_sources(None)
        ]
        state["launch watch"] = request.watch
        state[LAUNCH_MASKED] = list(request.masked)
        state["launch name"] = free_name(run.name)
        state.train_view = NEW_TRAINING


def ask_name(choice: Choice) -> str:
    """Asks for the name of the training."""
    if st.session_state.pop("launch renamed", False):  # of the training that has just started
        st.session_state["launch name"] = st.session_state.get("launch name suggested")
    suggest("launch name", free_name(Path(choice.value).name.split(".")[0] or "model"))
    return str(st.text_input("Name", key="launch name", persist_state="session")).strip()


def show_running(request: TrainRequest) -> bool:
    """Whether the same training is running or queued already; says so in place of the start."""
    twin = _running_twin(request.to_arguments())
    if twin is None:
        return False
    st.button(
        "Started",
        icon=":material/check:",
        disabled=True,
        width="stretch",
        key="launch started",
    )
    st.caption(error_boundary.plain(f"{twin.name} trains on this data with these settings."))
    return True


def ask_start(request: TrainRequest, name: str, again: bool) -> None:
    """A button that starts the training.

    Args:
        request: The training.
        name: Its name.
        again: Whether the visitor knows that the same training is running already. Otherwise it is
            not started a second time, whatever the browser sends.

    Raises:
        NotAllowedError: Nothing may be trained here, or there are too many trainings.
        RunError: The name is invalid or taken.
    """
    arguments = request.to_arguments()
    if again:
        if st.button("Start it once more", width="stretch", key="launch again"):
            _start(name, arguments)
        return
    if not st.button("Start training", type="primary", width="stretch", key="launch start"):
        return
    # Of two clicks at once the second arrives after the training has started, perhaps before its
    # process has told that it lives.
    started, when = st.session_state.get(_STARTED, ("", 0.0))
    if started == name and time.monotonic() - when < _ONE_CLICK:
        st.rerun()
    twin = _running_twin(arguments)
    if twin is None or twin.name == name:
        _start(name, arguments)
    st.rerun()


def show_started() -> None:
    """A message about the training that was just started, with a link to it."""
    name = st.session_state.pop("launch toast", "")
    if name:
        link = f"[Watch it]({job_bars.address(name)})"
        text = f"{error_boundary.plain(f'{name} has started.')} {link}"
        st.toast(text, icon=":material/model_training:", duration="long")


def suggest(key: str, suggestion: Any) -> None:
    """Puts a suggestion in a field, unless the visitor has entered something else there."""
    state, before = st.session_state, f"{key} suggested"
    if state.get(key, state.get(before)) == state.get(before):
        state[key] = suggestion
    state[before] = suggestion


def _start(name: str, arguments: list[str]) -> None:
    state = st.session_state
    quotas.new_run(runs_folder())
    jobs.start(runs_folder(), name, arguments, max_running())
    state[_STARTED] = name, time.monotonic()
    state.started = state["launch toast"] = name
    state["launch renamed"] = True
    st.rerun()


def _running_twin(arguments: list[str]) -> Run | None:
    """A running or queued training with the same data and settings."""
    twins = (run for run in find_runs(runs_folder()) if run.status.live and run.request is not None)
    return next((run for run in twins if list(run.request.arguments) == arguments), None)


def _vectors() -> tuple[str, ...]:
    """The word vectors; empty for the default.

    Raises:
        NotAllowedError: They may not be read here.
    """
    vectors = tuple(st.session_state.get("launch vectors", list_sources(None)))
    for name in vectors:
        file_access.check_vectors(name)
    return () if vectors == list_sources(None) else vectors


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


def _kind(model: ModelConfig) -> str:
    return LONG if model.hierarchical else SHORT


def _first_text(choice: Choice) -> str:
    text = choice.preview.rows[0][0][:300] if choice.preview and choice.preview.rows else ""
    return printable(text)
