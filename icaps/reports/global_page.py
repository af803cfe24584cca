"""The global view as one HTML page of its own, without scripts or outside files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from icaps.reports.render import escape

if TYPE_CHECKING:
    from icaps.reports.global_report import Report

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'">
<title>What the model has learnt</title>
<style>
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 62rem; margin: 3rem auto;
  padding: 0 1.25rem; color: #1c2830; background: #fff; }}
svg {{ max-width: 100%; height: auto; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; width: 100%; margin: 1rem 0; font-size: .9rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem .75rem .3rem 0;
  border-bottom: 1px solid #0002; overflow-wrap: break-word; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
</style>
<h1>What the model has learnt</h1>
<p>{lead}</p>
<h2>Which capsule decides which class</h2>
<p>The matrix C: how many texts of each predicted class (row) each primary capsule (column) won,
that is, had the largest routing weight for.</p>
{heatmap}
<h2>Is it sparse, and is that due to the classes?</h2>
<p>Share of each class's texts that its largest cells have, beside the mean of {shuffles} shuffles
of which text was won by which capsule.</p>
{rows}
<h2>Capsules</h2>
<p>A capsule is alive when it wins 1% of the texts or more. <em>Cost</em> is the accuracy lost when
it alone is switched off: on all texts, on those it won, and on the others.</p>
{knockout}
{capsules}
<p>{few}</p>
<h2>Queries</h2>
<p>The effective queries by t-SNE, coloured by the class they serve. {trust}</p>
{queries}
</html>
"""


def report_page(report: Report, drawn: Mapping[str, str]) -> str:
    """The page.

    Args:
        report: The tables.
        drawn: The SVG of each of its pictures, by name.
    """
    from icaps.interpret.controls import SHUFFLES

    return _PAGE.format(
        lead=_lead(report),
        heatmap=f'<div class="wide">{drawn["C"]}</div>',
        shuffles=SHUFFLES,
        rows=_html(_row_table(report.rows)),
        knockout=f'<div class="wide">{drawn["knockout"]}</div>',
        capsules=_html(_capsule_table(report)),
        few=_few(report),
        trust="How far the picture can be trusted is in queries.csv, under preservation.",
        queries=f'<div class="wide">{drawn["queries"]}</div>',
    )


def _lead(report: Report) -> str:
    facts = report.facts
    blank = f" {facts['blank']:,} more have no word that the model knows." * bool(facts["blank"])
    return (
        f"Counted over {facts['texts']:,} texts ({escape(report.view.origin.part)}), of which "
        f"{facts['accuracy']:.2%} got the right class.{blank} {facts['alive']} of "
        f"{len(facts['knockout'])} capsules are alive, {facts['dead']} never win. Of all wins, "
        f"{facts['purity'] or 0:.1%} go to the winner's main class."
    )


def _few(report: Report) -> str:
    few = report.view.few
    numbers = ", ".join(map(str, few.capsules))
    return (
        f"{len(few.capsules)} capsules alone (found by greedy search: {numbers}) keep "
        f"{few.accuracy:.2%} of the {few.of_all:.2%} accuracy of all, on a sample of the texts."
    )


def _row_table(rows: pd.DataFrame) -> pd.DataFrame:
    columns = {"Class": rows["class"], "Texts": rows["texts"].map("{:,}".format)}
    for top in (1, 3, 5):
        columns[f"Top {top}"] = rows[f"top_{top}"].map(_percent)
        columns[f"shuffled {top}"] = rows[f"shuffled_top_{top}"].map(_percent)
    columns["Entropy"] = rows["entropy"].map(_number)
    columns["shuffled"] = rows["shuffled_entropy"].map(_number)
    return pd.DataFrame(columns)


def _capsule_table(report: Report) -> pd.DataFrame:
    about = report.labelled_capsules.sort_values("wins", ascending=False, kind="stable")
    kgrams = [
        ", ".join(report.kgrams(i, top=4, all_words=False)["kgram"]) for i in about["capsule"]
    ]
    return pd.DataFrame(
        {
            "Capsule": about["capsule"].astype(str) + (" " + about["name"]).str.rstrip(),
            "State": about["state"] + about["neutral"].map({True: ", neutral", False: ""}),
            "Same as": about["duplicates"],
            "Class": about["main_class"],
            "Wins": about["wins"].map("{:,}".format),
            "Purity": about["purity"].map(_percent),
            "Cost": about["cost"].map(_signed),
            "on its own": about["own_cost"].map(_signed),
            "on others": about["other_cost"].map(_signed),
            "Words": about["words"],
            "K-grams": kgrams,
        }
    )


_PLAIN = {"Class", "Capsule", "State", "Same as", "Words", "K-grams"}


def _html(table: pd.DataFrame) -> str:
    def cell(tag: str, name: str, value: str) -> str:
        return f"<{tag}{'' if name in _PLAIN else ' class=n'}>{escape(value)}"

    head = "".join(cell("th", name, name) for name in table)
    body = "".join(
        "<tr>" + "".join(cell("td", n, v) for n, v in zip(table, row, strict=True))
        for row in table.itertuples(index=False)
    )
    return f"<div class=wide><table><thead><tr>{head}</thead><tbody>{body}</tbody></table></div>"


def _percent(value: float) -> str:
    return "" if value != value else f"{value:.1%}"


def _signed(value: float) -> str:
    return "" if value != value else f"{value:+.2%}"


def _number(value: float) -> str:
    return "" if value != value else f"{value:.2f}"
