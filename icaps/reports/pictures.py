"""Charts of a model card as SVG that a page can hold, the same bytes whenever they are drawn."""

from __future__ import annotations

import re
from typing import Any

from icaps.interpret.tables import column_order
from icaps.reports.document import Picture
from icaps.reports.global_report import Report

_WIDTH = 900
# What says the same in words is beside the picture, and names of styles and namespaces are of no
# use inside a page.
_SPARE = re.compile(r' (?:class|role|aria-[a-z]+|xmlns(?::xlink)?)="[^"]*"')
_ID = re.compile(r"\b(?:gradient_|clip)\d+\b")


def pictures(report: Report) -> dict[str, Picture]:
    """The matrix C and what each capsule costs, by the names "C" and "knockout"."""
    from icaps.reports import charts

    order = column_order(report.view.tally.frequency, "class")
    about = {
        "C": "The matrix C: texts that each primary capsule won, by predicted class",
        "knockout": "Accuracy lost with each primary capsule switched off",
    }
    drawn = {
        theme: {
            "C": charts.heatmap(report.cells, "count", order, None, ink),
            "knockout": charts.knock_out_bars(report.capsules, order, None, ink),
        }
        for theme, ink in charts.INK.items()
    }
    svg = {
        theme: {
            name: inline_svg(chart, charts.INK[theme], f"{name}-{theme}")
            for name, chart in made.items()
        }
        for theme, made in drawn.items()
    }
    return {name: Picture(svg["light"][name], svg["dark"][name], about[name]) for name in about}


def inline_svg(chart: Any, ink: str, name: str) -> str:
    """A chart as an SVG element.

    Args:
        chart: Of altair, as it stands on a page.
        ink: Colour of writing.
        name: Tells its gradients and clips from those of other pictures on a page, whose numbers go
            on from one picture to the next of a process.
    """
    from icaps.reports.charts import image

    clear = chart.properties(width=_WIDTH, background="transparent")
    clear = clear.configure_axis(labelColor=ink, titleColor=ink, gridColor="#8886")
    clear = clear.configure_legend(labelColor=ink, titleColor=ink)
    svg = _SPARE.sub("", image(clear, "svg").decode())
    known = {found: f"{name}-{n}" for n, found in enumerate(dict.fromkeys(_ID.findall(svg)))}
    return _ID.sub(lambda match: known[match[0]], svg)
