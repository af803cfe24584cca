"""The whole form on the page Train: settings in groups, with a preview of the data beside them."""

from collections.abc import Callable, Mapping, Sequence

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import error_boundary, url_state
from dashboard.cache import data
from dashboard.model_registry import runs_folder
from dashboard.train import draft, estimates
from dashboard.train.draft import Draft
from dashboard.training_jobs import command_line
from dashboard.widgets import chart_card, data_picker, layout
from dashboard.widgets.data_picker import Choice
from icaps.cli.request import TrainRequest
from icaps.html import printable
from icaps.reports.charts import PALETTE
from icaps.text.vectors import list_sources
from icaps.train.class_weights import describe_imbalance

_MOST_CLASSES = 12  # in the chart of classes; the others are counted together
_WEIGHTS = "class_weight"

# The settings in each group: those in sight, and those that are folded.
_READING = ("max_words", "max_sentences"), ("language", "validation_share")
_NETWORK = (
    ("region_dim", "kernel_size"),
    (
        "query_dim",
        "class_dim",
        "routing",
        "routing_iterations",
        "activation",
        "squash_primary",
        "scale_votes",
        "dropout",
    ),
)
_TRAINING = (
    ("epochs", "learning_rate", "batch_size", "seed"),
    (
        "patience",
        "score",
        "class_weight",
        "loss",
        "margin_present",
        "margin_absent",
        "absent_weight",
        "warmup_share",
        "decay",
        "accumulate",
        "average_decay",
        "clip_norm",
        "unk_steps",
    ),
)
_WORDS = (
    ("min_frequency", "trained_dim"),
    (
        "fixed_dim",
        "vector_epochs",
        "min_coverage",
        "embedding_dropout",
        "word_dropout",
        "trained_dropout",
    ),
)
_EXPLANATIONS = (), ("purity_weight", "spread_weight", "ramp_share", "winner_sharpness")


def show(example: Callable[[], None] = lambda: None) -> None:
    """Asks for data and settings on the left; shows what they mean, and starts, on the right.

    Args:
        example: Shows what a training looks like, below that.
    """
    st.session_state["launch on page"] = True  # so that the sidebar does not ask for the same
    with st.container(key="training_form"):
        left, right = layout.master_detail("training")
        with right:
            place = st.container()
            with st.container():
                example()
        with left:
            st.header("Data", anchor=False)
            choice = data_picker.ask(draft.PLACE)
        if choice is None:
            with place:
                st.caption("Choose or upload data: its first texts and classes are shown here.")
            return
        with place:
            st.header("What is trained on", anchor=False)
            data_picker.show_preview(choice)
        if not choice.ready:
            return
        counts = {} if choice.preview is None else data.class_counts(choice.key)
        with left:
            current = _ask_settings(choice, counts)
        with place:
            _ask_start(current)
            _show_classes(counts)
            _show_recipe(current)


def _ask_settings(choice: Choice, counts: Mapping[str, int]) -> Draft:
    notes = _notes_on_classes(counts)
    with _group("Texts to read", "What of each text the network reads."):
        current = draft.read(choice)
        st.radio("Kind", current.kinds, key="launch kind", horizontal=True, persist_state="session")
        if current.recipe is not None:
            st.caption(error_boundary.plain(current.recipe.reasons[0]))
        _show_fields(current, "reading", _READING)
        draft.keep_unlabelled(data_picker.ask_unlabelled(draft.UNLABELLED_PLACE, choice.reading))
        st.multiselect(
            "Masked words",
            st.session_state.get(url_state.LAUNCH_MASKED) or [],
            key=url_state.LAUNCH_MASKED,
            accept_new_options=True,
            placeholder="None",
            persist_state="session",
            help="Words or K-grams on which the model shall not depend: each text that has one is "
            "read without it as well.",
        )
    with _group("Network and training", "From which settings all others start."):
        st.selectbox(
            "Settings",
            current.bases,
            key="launch base",
            help="Those of the paper are named after its data sets."
            + (
                f" {current.recipe.preset} is nearest to these texts."
                if current.recipe is not None
                else ""
            ),
            persist_state="session",
        )
        if current.recipe is None and current.base == draft.RECIPE:
            st.caption(
                "The settings are chosen once the data is downloaded, except those that you change."
            )
        _show_fields(current, "training", _TRAINING, notes)
        _show_fields(current, "the network", _NETWORK)
    with _group("Words and vectors", "How words become numbers."):
        st.multiselect(
            "Word vectors",
            list(dict.fromkeys([*draft.SOURCES, *st.session_state.get("launch vectors", [])])),
            default=list_sources(None),
            accept_new_options=True,
            key="launch vectors",
            help="'english' is a table of 100,000 English words that comes with iCaps: words that "
            "are rare in your texts, or absent, are read by their vectors. 'texts' trains vectors "
            "on your texts; by default they are added if the table has few of your words. For "
            "other languages enter a file, such as one of fastText, or a gensim-data name. Several "
            "are concatenated.",
            persist_state="session",
        )
        _show_fields(current, "words", _WORDS)
    with _group("Explanations", "What the capsules can tell afterwards."):
        current.fields.show_specialised()
        st.text_input(
            "Text to watch",
            key="launch watch",
            help="Its explanation is stored after each epoch.",
            persist_state="session",
        )
        _show_fields(current, "explanations", _EXPLANATIONS)
    return current


def _group(title: str, about: str) -> st.delta_generator.DeltaGenerator:
    box = st.container(border=True)
    with box:
        st.header(title, anchor=False)
        st.caption(about)
    return box


def _show_fields(
    current: Draft,
    about: str,
    names: tuple[Sequence[str], Sequence[str]],
    notes: Mapping[str, str] | None = None,
) -> None:
    """Fields in sight, with those that have a note, and the others folded."""
    common, rare = names
    noted = [name for name in rare if name in (notes or {})]
    current.fields.show([*common, *noted], notes)
    with st.expander(f"More about {about}", icon=":material/tune:"):
        current.fields.show([name for name in rare if name not in noted])


def _notes_on_classes(counts: Mapping[str, int]) -> dict[str, str]:
    """What to say about the class weights, by the name of the setting, if they may be needed."""
    imbalance = describe_imbalance(counts)
    if not imbalance:
        return {}
    return {
        _WEIGHTS: f"The classes are unbalanced: {imbalance}. With "
        "“balanced”, each class counts the same in the loss, however rare it is. Rare classes are "
        "then predicted more often: macro F1 rises, and accuracy may fall."
    }


def _show_classes(counts: Mapping[str, int]) -> None:
    """The number of texts per class, the most frequent first."""
    if not counts:
        return
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown, others = ordered[:_MOST_CLASSES], ordered[_MOST_CLASSES:]
    table = pd.DataFrame(
        [(printable(name), count) for name, count in shown], columns=["class", "texts"]
    )
    chart = (
        alt.Chart(table)
        .mark_bar(color=PALETTE[0], cornerRadius=2)
        .encode(
            x=alt.X("texts:Q", title="texts", axis=alt.Axis(format="~s", tickCount=4, grid=False)),
            y=alt.Y(
                "class:N",
                title=None,
                sort=None,
                axis=alt.Axis(labelLimit=140, labelOverlap=False, ticks=False),
            ),
            tooltip=["class:N", alt.Tooltip("texts:Q", format=",")],
        )
        .properties(height=50 + 24 * len(shown))
        .configure_view(stroke=None)
    )
    chart_card.show_chart(chart, "Number of texts per class")
    if others:
        total = sum(count for _, count in others)
        st.caption(f"{len(others)} more classes, of {total:,} texts together.")


def _show_recipe(current: Draft) -> None:
    """What the recipe chooses, and why."""
    recipe = current.recipe
    if recipe is None or current.base != draft.RECIPE:
        return
    summary = "; ".join(recipe.lines[:2])
    st.caption(error_boundary.plain(f"{summary[0].upper()}{summary[1:]}."))
    with st.expander("Why these settings", icon=":material/help:"):
        for reason in recipe.reasons:
            st.caption(error_boundary.plain(reason))


def _ask_start(current: Draft) -> None:
    request = current.request()
    _show_estimate(current, request)
    name = draft.ask_name(current.choice)
    with st.popover("Command", icon=":material/terminal:"):
        st.caption("The same on the command line:")
        line = command_line([*request.to_arguments(), "--out", str(runs_folder() / name)])
        st.code(line, language="bash", wrap_lines=True)
    draft.ask_start(request, name, again=draft.show_running(request))


def _show_estimate(current: Draft, request: TrainRequest) -> None:
    """The time and memory of the training, and how many words have a vector."""
    cost = estimates.cost(current, request)
    if cost is None:
        st.caption("The time can be estimated once the data is downloaded.")
        return
    st.caption(cost.sentences)
    coverage = cost.estimate.coverage
    if coverage is not None:
        show = st.warning if coverage.low else st.caption
        show(error_boundary.plain(estimates.coverage_sentences(coverage)))
