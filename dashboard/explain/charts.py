"""The probability of each class as bars, in HTML, which a browser draws at once.

With several labels per text, a mark on each bar is the threshold of the class.
"""

from icaps.html import chance, escape, percent
from icaps.reports.charts import class_colors
from icaps.results import Explanation

MAX_CLASSES = 8  # more would push the text off the page
_RARE = 0.01  # classes of a smaller probability are counted


def drawn_classes(explanation: Explanation) -> list[str]:
    """The classes that are shown, the most probable first.

    All that are predicted and the explained one are among them.
    """
    ranked = [name for name, _, _ in explanation.ranked_classes]
    needed = {explanation.target, *explanation.given_classes}
    free = max(MAX_CLASSES - len(needed), 0)
    needed.update([name for name in ranked if name not in needed][:free])
    return [name for name in ranked if name in needed]


def class_bars(explanation: Explanation) -> str:
    """A bar per class of `drawn_classes`, as long as its probability; HTML."""
    colors = class_colors(explanation.classes)
    chances = dict(zip(explanation.classes, explanation.probabilities, strict=True))
    thresholds, rows = explanation.threshold_by_class, []
    several = len(explanation.given_classes) > 1
    for name in drawn_classes(explanation):
        role = threshold = state = ""
        if name == explanation.target and (name != explanation.predicted or several):
            role = '<span class="role"> ◂ explained</span>'
        if thresholds:
            threshold = (
                f'<i style="--at: {thresholds[name]:.3f}" title="threshold '
                f'{percent(thresholds[name], 0)}"></i>'
            )
            state = "" if name in explanation.given_classes else ' class="below"'
        rows.append(
            f'<tr{state}><th dir="auto" title="{escape(name)}">{escape(name)}<td class="bar">'
            f'<div style="--width: {chances[name]:.1%}; background: {colors[name]}"></div>'
            f'{threshold}<td class="n">{chance(chances[name])}{role}'
        )
    return (
        '<div class="classes"><table aria-label="Probability of each class"><tbody>'
        f"{''.join(rows)}</tbody></table>{_left_out(explanation)}"
        f"{'<p>The mark on a bar is the threshold of the class.</p>' if thresholds else ''}</div>"
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
