"""Asks for the options of an explanation."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from dashboard import glossary, url_state
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from icaps.config import ACCOUNT, CONTRIBUTION, ROUTING, ExplainOptions

_RANKINGS = {
    ACCOUNT: "account",
    ROUTING: "routing (the paper)",
    CONTRIBUTION: "contribution",
}
# icaps faithfulness --model checkpoints/ag_news --data ag_news --removal deletion --limit 1000
_RANKING_HELP = (
    "Account: the K-grams whose words add most to the score, at most k₁ × k₂ of them. Routing, the "
    "paper's rule: those that the capsules with the largest routing weight attend to. "
    "Contribution: the same, of the capsules that add most to the score. On 1,000 test texts of "
    "AG's News deleting the first words lowers the class norm by 0.145 with the account, by 0.061 "
    "with contribution, by 0.044 with the paper's routing and by 0.005 with random words; deleting "
    "the K-grams by 0.161, 0.056, 0.052, and 0.005 with random ones."
)


def ask(model: ModelFolder) -> ExplainOptions:
    """Asks for the class, k1, k2, the ranking, and if texts are split, the sentences."""
    sliders = _sliders(model)
    first, *columns, last = st.columns(2 + len(sliders), gap="medium")
    target = _ask_target(model, first)
    return _ask_kgrams(sliders, target, [*columns, last])


def ask_in_row(model: ModelFolder) -> ExplainOptions:
    """As `ask`, in a horizontal container: all that concerns K-grams alone is in a popover."""
    target = _ask_target(model, st.container(width=260))
    sliders = _sliders(model)
    with st.popover("Options", icon=":material/tune:", help="Which K-grams are shown."):
        place = st.container()
    return _ask_kgrams(sliders, target, [place] * (len(sliders) + 1))


def _sliders(model: ModelFolder) -> dict[str, str]:
    """Keys and labels of the sliders."""
    sliders = {"k1": "Capsules (k₁)", "k2": "K-grams per capsule (k₂)"}
    if models.load(model).network_.config.hierarchical:
        sliders["sentences"] = "Sentences per capsule"
    return sliders


def _ask_target(model: ModelFolder, place: DeltaGenerator) -> str | None:
    """Asks for the class to explain; None is the predicted one."""
    targets = [url_state.PREDICTED, *map(str, models.load(model).classes_)]
    url_state.choose_among("target", targets, "class")
    target: str = place.selectbox(
        "Class to explain", targets, key="target", persist_state="session"
    )
    return None if target == url_state.PREDICTED else target


def _ask_kgrams(
    sliders: dict[str, str], target: str | None, places: list[DeltaGenerator]
) -> ExplainOptions:
    """Asks for what concerns K-grams: a slider in each place, and the ranking in the last."""
    url_state.choose_among("ranking", list(_RANKINGS))
    helps = {"k1": glossary.sentence("k₁"), "k2": glossary.sentence("k₂")}
    for place, (key, label) in zip(places, sliders.items(), strict=False):
        place.slider(
            label,
            *url_state.BOUNDS[key],
            key=key,
            persist_state="session",
            help=helps.get(key),
        )
    ranking = places[-1].selectbox(
        "K-grams ranked by",
        list(_RANKINGS),
        format_func=_RANKINGS.__getitem__,
        key="ranking",
        persist_state="session",
        help=_RANKING_HELP,
    )
    return ExplainOptions(
        target=target,
        top_capsules=st.session_state.k1,
        top_kgrams=st.session_state.k2,
        top_sentences=st.session_state.sentences,
        ranking=ranking,
    )
