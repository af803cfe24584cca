"""Asks which models are compared, and on which texts."""

from collections.abc import Mapping

import streamlit as st

from dashboard import link_notes, url_state
from dashboard.cache.evaluations import Sample
from dashboard.model_registry import ModelFolder, default_model, find_baselines, find_models
from dashboard.url_state import SIZES
from dashboard.widgets import data_picker
from dashboard.widgets.data_picker import Choice
from icaps.errors import CheckpointError
from icaps.train.checkpoint_files import CLASSES, CONFIG, gives_several_labels, read_classes
from icaps.train.parts import HELD_OUT

MAX_MODELS = 6
_PRESELECTED = 3
_UNKNOWN = (frozenset[str](), False)  # of a damaged model
_PICKED = "compare models"


def all_models() -> dict[str, ModelFolder]:
    """Models and baselines, by the name that is shown."""
    models = {model.name: model for model in find_models()}
    return models | {f"{model.name} (baseline)": model for model in find_baselines()}


def ask_models(models: Mapping[str, ModelFolder]) -> dict[str, ModelFolder]:
    """Asks which models are compared; the first is the reference."""
    state = st.session_state
    asked = [name for name in state.compared.split(",") if name]
    link_notes.missing("compared", "model", [name for name in asked if name not in models])
    linked = [name for name in asked if name in models][:MAX_MODELS]
    if state.get("compare shown") != state.compared and linked:  # a link was opened
        state[_PICKED] = linked
    picked = [name for name in state.get(_PICKED, []) if name in models]
    state[_PICKED] = picked or _preselected(models)
    chosen = st.multiselect(
        "Models and baselines",
        list(models),
        key=_PICKED,
        max_selections=MAX_MODELS,
        persist_state="session",
        help="The others are compared with the first.",
    )
    state.compared = state["compare shown"] = ",".join(chosen)
    return {name: models[name] for name in chosen}


def ask_sample(choice: Choice, first: ModelFolder) -> Sample:
    """Asks for the split and the number of texts; `first` is the model that others are compared to.

    Raises:
        CheckpointError: What is stored about the texts of its training is damaged.
        DataError: The data can't be read.
    """
    split = data_picker.ask_split(choice, first)
    url_state.set_default("compare size")
    size = st.select_slider(
        "Maximum number of texts",
        SIZES,
        format_func=lambda count: f"{count:,}",
        key="compare size",
        persist_state="session",
        help="If there are more, a random sample is drawn (seed 0).",
    )
    return Sample(choice.key, split, size, first if split == HELD_OUT else None)


def ask_pair(models: Mapping[str, ModelFolder]) -> tuple[str, str] | None:
    """Asks for two of the capsule networks; None if there are fewer than two."""
    networks = [name for name, model in models.items() if (model.path / CONFIG).is_file()]
    if len(networks) < 2:
        st.info("Only capsule networks have K-grams and capsules; choose two of them above.")
        return None
    if len(networks) == 2:
        return networks[0], networks[1]
    left, right = st.columns(2, gap="medium")
    first = left.selectbox("First model", networks, key="compare one")
    others = [name for name in networks if name != first]
    return first, right.selectbox("Second model", others, key="compare other")


def _preselected(models: Mapping[str, ModelFolder]) -> list[str]:
    """The model of the sidebar, or else the first one, and others with the same classes."""
    if not models:
        return []
    first = st.session_state.model
    if first not in models:
        default = default_model(models.values())
        first = next(name for name, model in models.items() if model == default)
    kind = _kind(models[first])
    same = [name for name, model in models.items() if _kind(model) == kind != _UNKNOWN]
    return [first, *(name for name in same if name != first)][:_PRESELECTED]


def _kind(model: ModelFolder) -> tuple[frozenset[str], bool]:
    """Class names, and whether a text may have several of them.

    _UNKNOWN if the folder is damaged, which is reported once it is chosen.
    """
    try:
        return frozenset(read_classes(model.path / CLASSES)), gives_several_labels(model.path)
    except CheckpointError:
        return _UNKNOWN
