"""The probability of each class as bars, in HTML, which a browser draws at once."""

from icaps.html import chance, escape, percent
from icaps.reports.charts import class_colors
from icaps.results import Explanation

MAX_CLASSES = 8  # more would push the text off the page
_RARE = 0.01  # classes of a smaller probability are counted


def drawn_classes(explanation: Explanation) -> list[str]:
    """The classes that are shown, the most probable first; the explained one is among them."""
    ranked = [name for name, _, _ in explanation.ranked_classes]
    if explanation.target in ranked[:MAX_CLASSES]:
        return ranked[:MAX_CLASSES]
    return [*ranked[: MAX_CLASSES - 1], explanation.target]


def class_bars(explanation: Explanation) -> str:
    """A bar per class of `drawn_classes`, as long as its probability; HTML."""
    colors = class_colors(explanation.classes)
    chances = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    rows = []
    for name in drawn_classes(explanation):
        role = ""
        if name == explanation.target != explanation.predicted:
            role = '<span class="role"> ◂ explained</span>'
        rows.append(
            f'<tr><th dir="auto" title="{escape(name)}">{escape(name)}<td class="bar">'
            f'<div style="--width: {chances[name]:.1%}; background: {colors[name]}"></div>'
            f'<td class="n">{chance(chances[name])}{role}'
        )
    return (
        '<div class="classes"><table aria-label="Probability of each class"><tbody>'
        f"{''.join(rows)}</tbody></table>{_left_out(explanation)}</div>"
    )


def _left_out(explanation: Explanation) -> str:
    """How many classes are not shown, and how probable they are at most; HTML."""
    drawn = set(drawn_classes(explanation))
    pairs = zip(explanation.classes, explanation.probabilities, strict=True)
    others = [probability for name, probability in pairs if name not in drawn]
    if not others:
        return ""
    most = "below 1%" if max(others) < _RARE else f"of at most {percent(max(others), 0)}"
    return f"<p>{len(others):,} more {most}</p>"
