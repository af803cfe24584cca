"""Asks for the options of an explanation."""

import streamlit as st

from dashboard import url_state
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
    classifier = models.load(model)
    targets = [url_state.PREDICTED, *map(str, classifier.classes_)]
    url_state.choose_among("target", targets)
    sliders = {"k1": "Capsules (k₁)", "k2": "K-grams per capsule (k₂)"}
    if classifier.network_.config.hierarchical:
        sliders["sentences"] = "Sentences per capsule"
    url_state.choose_among("ranking", list(_RANKINGS))
    first, *columns, last = st.columns(2 + len(sliders), gap="medium")
    target = first.selectbox("Class to explain", targets, key="target", persist_state="session")
    for column, (key, label) in zip(columns, sliders.items(), strict=True):
        column.slider(label, *url_state.BOUNDS[key], key=key, persist_state="session")
    ranking = last.selectbox(
        "K-grams ranked by",
        list(_RANKINGS),
        format_func=_RANKINGS.__getitem__,
        key="ranking",
        persist_state="session",
        help=_RANKING_HELP,
    )
    return ExplainOptions(
        target=None if target == url_state.PREDICTED else target,
        top_capsules=st.session_state.k1,
        top_kgrams=st.session_state.k2,
        top_sentences=st.session_state.sentences,
        ranking=ranking,
    )
