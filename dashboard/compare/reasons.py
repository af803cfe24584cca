"""Shows whether two capsule networks have the same reasons: their words and their capsules."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import error_boundary
from dashboard.cache import evaluations, explanations, models
from dashboard.cache.evaluations import Sample
from dashboard.compare import charts
from dashboard.compare.tables import LISTED, MAX_CHARACTERS
from dashboard.model_registry import ModelFolder
from dashboard.url_state import BY_SHARE
from dashboard.widgets import capsule_picker, chart_card, downloads, shaded_text
from icaps.config import ExplainOptions
from icaps.evaluate.comparison_texts import ComparisonTexts
from icaps.html import escape, printable
from icaps.interpret import controls
from icaps.reports.global_report import GlobalReport
from icaps.results import Explanation

MAX_EXPLAINED = 200  # texts
_WORDS = 6  # per capsule
_DIFFERENT = 10  # words of a text


def show_reasons(
    sample: Sample,
    texts: ComparisonTexts,
    folders: Mapping[str, ModelFolder],
    pair: tuple[str, str],
) -> None:
    """Texts with each class that both predict, those with least in common first.

    Args:
        sample: The texts.
        texts: The same, as they were read.
        folders: The models by name.
        pair: The names of two capsule networks.
    """
    first, second = (folders[name] for name in pair)
    shared = evaluations.shared(sample, first, second, MAX_EXPLAINED)
    if not shared:
        st.info("There is no text for which both predict the same class.")
        return
    common = [text.common for text in shared]
    random = float(np.mean([text.random_common for text in shared]))
    overlap = np.mean([text.overlap for text in shared])
    random_overlap = np.mean([text.random for text in shared])
    st.write(
        f"If both predict the same class, {np.mean(common):.1%} of what words add to its score is "
        f"on the same words; with the shares of one shuffled, {random:.1%}. Their K-grams share "
        f"{overlap:.1%} of their words; at random positions they would share {random_overlap:.1%}."
    )
    table = pd.DataFrame(
        {
            "in common": common,
            "overlap": [text.overlap for text in shared],
            "class": [text.predicted for text in shared],
            pair[0]: [_joined(text.one) for text in shared],
            pair[1]: [_joined(text.other) for text in shared],
            "text": [printable(text.text[:MAX_CHARACTERS]) for text in shared],
        }
    )
    chart_card.show(
        lambda ink: charts.in_common(common, random, ink),
        table,
        "reasons",
        f"What the reasons of {pair[0]} and {pair[1]} have in common, by number of texts",
    )
    count = f"the {len(shared):,} with the same prediction"
    if texts.multilabel:
        count = f"{len(shared):,} pairs of a text and a class that both predict for it"
    st.caption(
        f"Of {min(MAX_EXPLAINED, len(texts.texts)):,} texts, {count}. In common: the words for "
        "the class, each with its part of what they add, and of the two models the smaller part; "
        "100% are the same words with the same weights. Overlap: words in the K-grams of both, of "
        "those in either; two capsules and two K-grams of each model. Choose a row to see the "
        "text as both models read it."
    )
    selected = st.dataframe(
        table.head(LISTED),
        width="stretch",
        hide_index=True,
        column_config={
            "in common": st.column_config.NumberColumn(format="percent"),
            "overlap": st.column_config.NumberColumn("K-grams", format="percent"),
        },
        selection_mode="single-row",
        on_select="rerun",
        key=f"reasons {pair}",
    ).selection.rows
    chosen = shared[selected[0] if selected else 0]
    options = ExplainOptions(target=chosen.predicted)
    shaded = shaded_text.ask_shading()
    read = [explanations.explain(model, chosen.text, options) for model in (first, second)]
    legend, cards = shaded_text.cards_of(read, [{}, {}] if shaded == BY_SHARE else None)
    st.html(legend)
    for name, card in zip(pair, cards, strict=True):
        st.html(f'<p class="chart-title">{escape(name)}</p>')
        st.html(card)
    _show_words(pair, read)


def _show_words(pair: tuple[str, str], read: Sequence[Explanation]) -> None:
    """What each word adds to the score of the class in both models, the most different first."""
    one, other = ({(w.start, w.end): w.share for w in explanation.words} for explanation in read)
    spans = [span for span in one if span in other]
    spans.sort(key=lambda span: -abs(other[span] - one[span]))
    text = read[0].text
    table = pd.DataFrame(
        {
            "word": [printable(text[start:end]) for start, end in spans],
            pair[0]: [one[span] for span in spans],
            pair[1]: [other[span] for span in spans],
            "difference": [other[span] - one[span] for span in spans],
        }
    )
    format_ = st.column_config.NumberColumn(format="%+.3f")
    st.html('<p class="chart-title">Words that one model uses more than the other</p>')
    st.dataframe(
        table.head(_DIFFERENT),
        width="stretch",
        hide_index=True,
        column_config=dict.fromkeys(table.columns[1:], format_),
    )
    downloads.show_csv(table, "words of both")


def show_matched(folders: Mapping[str, ModelFolder], pair: tuple[str, str]) -> None:
    """The capsules of two networks, matched one to one by their words."""
    reports = {name: models.report(folders[name]) for name in pair}
    missing = [name for name, report in reports.items() if report is None]
    if missing:
        names = " and ".join(missing)
        st.info(error_boundary.plain(f"Capsule statistics have not been computed for {names}."))
        capsule_picker.link_to_count(*(folders[name] for name in missing))
        return
    first, second = (report for report in reports.values() if report is not None)
    agreement = controls.agreement(
        first.view.tally,
        second.view.tally,
        first.classifier.vocabulary_.words,
        second.classifier.vocabulary_.words,
    )
    if not agreement.pairs:
        st.info("One of them has no capsule that wins 1% of the texts.")
        return
    st.write(
        "Matched one to one by the words that they attend to, the capsules share "
        f"{agreement.overlap:.1%} of their words; matched at random, "
        f"{agreement.random_overlap:.1%}."
    )
    rows = sorted(agreement.pairs, key=lambda row: -row[2])
    table = pd.DataFrame(
        {
            "overlap": [round(overlap, 3) for _, _, overlap in rows],
            pair[0]: [_capsule(first, i) for i, _, _ in rows],
            f"words of {pair[0]}": [_words(first, i) for i, _, _ in rows],
            pair[1]: [_capsule(second, i) for _, i, _ in rows],
            f"words of {pair[1]}": [_words(second, i) for _, i, _ in rows],
        }
    )
    percent = {"overlap": st.column_config.NumberColumn(format="percent")}
    st.dataframe(table, width="stretch", hide_index=True, column_config=percent)
    downloads.show_csv(table, "capsules matched")


def _capsule(report: GlobalReport, capsule: int) -> str:
    row = report.labelled_capsules.iloc[capsule]
    return f"{row['label']}, {row['main_class']}"


def _words(report: GlobalReport, capsule: int) -> str:
    top = report.words(capsule, lambda_=0.6)["word"].head(_WORDS)
    return ", ".join(printable(word) for word in top)


def _joined(kgrams: Sequence[str]) -> str:
    return " | ".join(printable(kgram) for kgram in kgrams)
