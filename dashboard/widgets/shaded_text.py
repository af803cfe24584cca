"""The text with its K-grams shaded, and the legend beside it, as HTML fragments."""

from icaps.reports.render import MAX_LEVEL, shaded_text
from icaps.results import Explanation


def text_card(explanation: Explanation) -> str:
    """The shaded text in a card, with the legend when there is something to explain."""
    legend = legend_row(explanation) if explanation.kgrams else ""
    return f'<div class="card">{shaded_text(explanation)}{legend}</div>'


def legend_row(explanation: Explanation) -> str:
    """What each shade that occurs says: how many K-grams lie over the word."""
    highest = max(min(word.count, MAX_LEVEL) for word in explanation.words)
    more = any(word.count > MAX_LEVEL for word in explanation.words)
    labels = [str(level) for level in range(1, highest + 1)]
    if more:
        labels[-1] += " or more"
    marks = "".join(
        f'<mark class="l{level}">{label}</mark>' for level, label in enumerate(labels, start=1)
    )
    return (
        f'<p class="legend icaps-text">K-grams over a word {marks}'
        '<span class="hint">Point at or tab to a word to see them.</span></p>'
    )
