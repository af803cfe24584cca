"""What the visitor is asked to compare models: which, on which texts; and baselines to train."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import streamlit as st

from dashboard import error_boundary, quotas, url_state
from dashboard.address import SIZES
from dashboard.cache.evaluations import Sample
from dashboard.model_registry import ModelFolder, find_baselines, find_models, runs_folder
from dashboard.train import launcher
from dashboard.train.view import command_line
from dashboard.widgets import data_picker
from dashboard.widgets.data_picker import Choice
from icaps.baselines.kinds import FASTTEXT, KINDS
from icaps.data.files import has_part
from icaps.data.resolve import resolve
from icaps.errors import CheckpointError
from icaps.runs import jobs
from icaps.train.checkpoint_files import CLASSES, CONFIG, read_classes

MAX_MODELS = 6
_DEFAULT = 3  # models that are compared at first
_PICKED = "compare models"


def choices() -> dict[str, ModelFolder]:
    """All that can be compared, by the name that is shown."""
    found = {model.name: model for model in find_models()}
    return found | {f"{model.name} (baseline)": model for model in find_baselines()}


def which_models(known: Mapping[str, ModelFolder]) -> dict[str, ModelFolder]:
    """Asks which; the first is what the others are compared with."""
    session = st.session_state
    asked = [name for name in session.compared.split(",") if name in known][:MAX_MODELS]
    if session.get("compare shown") != session.compared and asked:  # a link was opened
        session[_PICKED] = asked
    session[_PICKED] = [name for name in session.get(_PICKED, []) if name in known] or _first(known)
    chosen = st.multiselect(
        "Models and baselines",
        list(known),
        key=_PICKED,
        max_selections=MAX_MODELS,
        persist_state="session",
        help="The first is what the others are compared with.",
    )
    session.compared = session["compare shown"] = ",".join(chosen)
    return {name: known[name] for name in chosen}


def which_data() -> Choice | None:
    """Asks for the texts."""
    if url_state.data_was_asked():
        data_picker.take(url_state.COMPARE_PLACE, st.session_state.data)
    return data_picker.ask(url_state.COMPARE_PLACE)


def how_many(choice: Choice) -> Sample:
    """Asks for the number of texts; of a data set with a test part these are test texts."""
    url_state.begin("compare size")
    size = st.select_slider(
        "Texts, at most",
        SIZES,
        format_func=lambda count: f"{count:,}",
        key="compare size",
        persist_state="session",
        help="Where there are more, they are drawn at random, with seed 0.",
    )
    place = resolve(choice.value)
    part = "test" if not place.is_dir() or has_part(place, "test") else "train"
    if part == "train":
        st.caption("This data has no test part, so these are texts that models may be trained on.")
    return Sample(choice.key, part, size)


def which_pair(models: Mapping[str, ModelFolder]) -> tuple[str, str] | None:
    """Asks for two of the capsule networks; None where there are not two."""
    networks = [name for name, model in models.items() if (model.path / CONFIG).is_file()]
    if len(networks) < 2:
        st.info("Only capsule networks have K-grams and capsules; choose two of them above.")
        return None
    if len(networks) == 2:
        return networks[0], networks[1]
    left, right = st.columns(2, gap="medium")
    one = left.selectbox("One", networks, key="compare one")
    others = [name for name in networks if name != one]
    return one, right.selectbox("The other", others, key="compare other")


def train_baseline(choice: Choice) -> None:
    """Offers to train a baseline on the chosen data, in a process of its own."""
    if quotas.read_only():
        return
    with st.popover("Train a baseline", icon=":material/add_circle:"):
        kind = st.selectbox(
            "Baseline", list(KINDS), format_func=lambda name: KINDS[name].title, key="baseline kind"
        )
        st.caption(error_boundary.plain(f"After {KINDS[kind].source}."))
        missing = kind == FASTTEXT and find_spec("fasttext") is None
        if missing:
            st.warning("It needs a package: `pip install fasttext-community`")
        seed = st.number_input("Seed", 0, 2**31 - 1, key="baseline seed")
        reading = data_picker.as_arguments(choice.reading)
        arguments = ["baseline", kind, "--data", choice.value, *reading, "--seed", str(seed)]
        name = launcher.free_name(f"{kind} {Path(choice.value).name.split('.')[0]}")
        place = str(runs_folder() / name)
        st.caption("The same on the command line:")
        line = command_line([*arguments, "--out", place])
        st.code(line, language="bash", wrap_lines=True)
        if st.button("Train it", type="primary", disabled=missing, key="baseline start"):
            quotas.new_run(runs_folder())
            jobs.start(runs_folder(), name, arguments, launcher.limit())
            st.session_state.started = name
            st.rerun()


def _first(known: Mapping[str, ModelFolder]) -> list[str]:
    """The model of the sidebar's picker or the first one, and others of the same classes."""
    if not known:
        return []
    first = st.session_state.model if st.session_state.model in known else next(iter(known))
    wanted = _classes(known[first])
    same = [name for name, model in known.items() if _classes(model) == wanted != frozenset()]
    return [first, *(name for name in same if name != first)][:_DEFAULT]


def _classes(model: ModelFolder) -> frozenset[str]:
    """Names of classes; none where the folder is damaged, which is told when it is chosen."""
    try:
        return frozenset(read_classes(model.path / CLASSES))
    except CheckpointError:
        return frozenset()
