"""Test accuracies on the data sets of Zhang et al. (2015): published ones, and ours.

The rows of kind "paper" are table 4 of Wang, Hu and Ji, "iCapsNets" (2020). Those of kind
"published" are of models that are better and that it leaves out: DPCNN (Johnson and Zhang, "Deep
pyramid convolutional neural networks for text categorization", ACL 2017) and DRNN (Wang,
"Disconnected recurrent neural networks for text categorization", ACL 2018), whose papers give error
rates. Those of kind "measured" come from this repository: trained on the part of AG's training
texts that its README names, and scored on all official test texts.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

KINDS = {
    "paper": "Wang, Hu and Ji (2020), table 4",
    "published": "its own paper; not in that table",
    "measured": "measured here",
}
COLUMNS = {  # names of data sets, and their names in the paper's table
    "yelp_polarity": "Yelp P.",
    "yelp_full": "Yelp F.",
    "yahoo_answers": "Yah. A.",
    "amazon_polarity": "Amz P.",
    "amazon_full": "Amz F.",
    "ag_news": "AG",
    "dbpedia": "DBP",
}


@dataclass(frozen=True)
class Published:
    """A row of the table of accuracies.

    Attributes:
        model: As its source names it.
        reference: Its authors, or how it was measured.
        kind: The source of the numbers, one of KINDS.
        accuracy: In percent of the test texts, by the name of the data set; without unknown ones.
    """

    model: str
    reference: str
    kind: str
    accuracy: dict[str, float]


@cache
def published() -> tuple[Published, ...]:
    """All rows, in the order of the table."""
    with (files("icaps.evaluate") / "published.csv").open(encoding="utf-8") as file:
        return tuple(
            Published(
                row["model"],
                row["reference"],
                row["kind"],
                {name: float(row[name]) for name in COLUMNS if row[name]},
            )
            for row in csv.DictReader(file)
        )
