"""What a model has learnt as files: CSV, JSON, PNG and SVG, and one HTML page of all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from icaps.errors import CheckpointError
from icaps.interpret import controls, tables
from icaps.interpret.global_view import GlobalView
from icaps.interpret.projection import METHODS
from icaps.interpret.queries import (
    SPACES,
    cosines,
    map_queries,
    pointed_words,
    query_vectors,
)
from icaps.interpret.tables import column_order
from icaps.interpret.tally import Cell
from icaps.reports.global_page import report_page
from icaps.results import capsule_label

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

TOP = 20  # words and K-grams of a capsule


@dataclass(frozen=True)
class Report:
    """A model and its global view, as tables, plain data and files."""

    classifier: ICapsClassifier
    view: GlobalView

    @cached_property
    def classes(self) -> list[str]:
        """Names, in the order of the rows of C."""
        return [str(name) for name in self.classifier.classes_]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """See `tables.cells`."""
        return tables.cells(self.view.tally, self.classes, self.classifier.capsule_names_)

    @cached_property
    def capsules(self) -> pd.DataFrame:
        """See `tables.capsules`, with the pairs that are duplicates."""
        tally, knock_out = self.view.tally, self.view.knock_out
        table = tables.capsules(tally, knock_out, self.classes, self.classifier.capsule_names_)
        others: dict[int, list[int]] = {i: [] for i in table["capsule"]}
        for i, k in self.duplicates:
            others[i].append(k)
            others[k].append(i)
        return table.assign(duplicates=[" ".join(map(str, others[i])) for i in table["capsule"]])

    @cached_property
    def rows(self) -> pd.DataFrame:
        """See `tables.rows`."""
        return tables.rows(self.view.tally, self.classes)

    @cached_property
    def duplicates(self) -> list[tuple[int, int]]:
        """See `trust.duplicates`."""
        queries = cosines(query_vectors(self.classifier.network_, "effective"))
        return controls.duplicates(self.view.tally, queries)

    @cached_property
    def distinctness(self) -> controls.Distinctness:
        """See `trust.distinctness`."""
        return controls.distinctness(self.view.tally)

    def where(self, capsule: int, class_name: str | None) -> list[Cell]:
        """The cell of a capsule and a class, or all cells of the capsule."""
        if class_name is None:
            return self.view.tally.column(capsule)
        return [(self.classes.index(class_name), capsule)]

    def words(self, capsule: int, **options: Any) -> pd.DataFrame:
        """See `tables.words`, of a capsule's cells."""
        tally = self.view.tally
        return tables.words(tally, self.classifier.vocabulary_, tally.column(capsule), **options)

    def kgrams(self, capsule: int, **options: Any) -> pd.DataFrame:
        """See `tables.kgrams`, of a capsule's cells."""
        tally = self.view.tally
        return tables.kgrams(tally, self.classifier.vocabulary_, tally.column(capsule), **options)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Plain data for JSON.

        top_share: Of each class, the share of its three largest cells; knockout: the accuracy with
        each capsule switched off; words: of each capsule, the most frequent ones.
        """
        tally, capsules, few = self.view.tally, self.capsules, self.view.few
        states = capsules["state"].value_counts()
        return {
            "classes": self.classes,
            "texts": tally.texts,
            "blank": tally.blank,
            "accuracy": float(self.view.knock_out.accuracy[0]),
            "frequency": tally.frequency.tolist(),
            "top_share": _numbers(self.rows["top_3"]),
            "top_share_shuffled": _numbers(self.rows["shuffled_top_3"]),
            "entropy": _numbers(self.rows["entropy"]),
            "entropy_shuffled": _numbers(self.rows["shuffled_entropy"]),
            "alive": int(states.get("alive", 0)),
            "dead": int(states.get("dead", 0)),
            "neutral": capsules["capsule"][capsules["neutral"]].tolist(),
            "duplicates": [list(pair) for pair in self.duplicates],
            "purity": _number(controls.purity(tally.frequency)),
            "divergence": _number(self.distinctness.between),
            "divergence_random": _number(self.distinctness.random),
            "knockout": capsules["accuracy"].tolist(),
            "smallest_set": few._asdict() | {"capsules": list(few.capsules)},
            "names": {str(i): name for i, name in self.classifier.capsule_names_.items()},
            "words": [
                self.words(i, top=TOP)[["word", "count"]].to_dict("records")
                for i in capsules["capsule"]
            ],
        }

    def to_text(self) -> str:
        """Lines for a terminal: how C is, then a line a capsule that wins, the most wins first."""
        facts = self.facts
        pure = "unknown" if facts["purity"] is None else f"{facts['purity']:.2f}"
        lines = [
            f"{facts['texts']} texts, accuracy {facts['accuracy']:.2%}; {facts['alive']} of "
            f"{len(facts['knockout'])} capsules alive, {facts['dead']} dead, "
            f"{len(facts['duplicates'])} pairs alike; purity {pure}"
        ]
        lines += [
            f"{row['class']}: the top 3 capsules have {row.top_3:.1%} "
            f"(shuffled {row.shuffled_top_3:.1%})"
            if row.texts
            else f"{row['class']}: no text gets this class"
            for _, row in self.rows.iterrows()
        ]
        about = self.labelled_capsules.sort_values("wins", ascending=False, kind="stable")
        lines += [
            f"  {capsule_label(row.capsule, row.name_)}: {row.wins} texts, {row.purity:.0%} "
            f"{row.main_class}; without it {row.cost:+.2%}; {row.words}"
            for row in about.rename(columns={"name": "name_"}).itertuples()
            if row.wins
        ]
        return "\n".join(lines)

    def write(self, folder: str | Path) -> None:
        """Writes all files to a folder, which is made where it is missing.

        Raises:
            CheckpointError: The folder can't be written.
        """
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, table in self._tables().items():
                table.to_csv(folder / f"{name}.csv", index=False)
            text = json.dumps(self.facts, ensure_ascii=False, indent=1)
            (folder / "interpretation.json").write_text(text, encoding="utf-8")
            self._write_pictures(folder)
        except OSError as error:
            raise CheckpointError(f"The report can't be written to {folder}: {error}") from error

    def _tables(self) -> dict[str, pd.DataFrame]:
        numbers = self.capsules["capsule"].tolist()
        recalls = tables.recalls(self.view.knock_out, self.classes).reset_index()
        return {
            "C": self.cells,
            "capsules": self.capsules,
            "rows": self.rows,
            "words": _stacked({i: self.words(i, top=200) for i in numbers}),
            "kgrams": _stacked({i: self.kgrams(i, top=200) for i in numbers}),
            "knockout": recalls.astype({"capsule off": str}),
            "queries": self._query_table(),
            "pointed_words": self._pointed_table(),
        }

    def _query_table(self) -> pd.DataFrame:
        network = self.classifier.network_
        made = [
            (space, map_queries(query_vectors(network, space), space, method))
            for space in SPACES
            for method in METHODS
        ]
        return pd.concat(
            [
                self.capsules[["capsule", "name"]].assign(
                    space=space,
                    method=m.method,
                    x=m.points[:, 0],
                    y=m.points[:, 1],
                    seed=m.seed,
                    perplexity=m.perplexity,
                    preservation=m.preservation,
                    shuffled=m.shuffled,
                )
                for space, m in made
            ]
        )

    def _pointed_table(self) -> pd.DataFrame:
        found = pointed_words(self.classifier.network_, self.classifier.vocabulary_, TOP)
        rows = [(i, *pair) for i, pairs in enumerate(found) for pair in pairs]
        return pd.DataFrame(rows, columns=["capsule", "word", "score"])

    def pictures(self) -> dict[str, Any]:
        """The charts by name, for paper."""
        from icaps.reports import charts

        ink = charts.INK["light"]
        order = column_order(self.view.tally.frequency, "class")
        made = map_queries(query_vectors(self.classifier.network_, "effective"), "effective")
        points = tables.query_points(made, self.labelled_capsules)
        return {
            "C": charts.heatmap(self.cells, "count", order, None, ink),
            "knockout": charts.knock_out_bars(self.capsules, order, None, ink),
            "queries": charts.query_map(points, self.classes, None, ink),
        }

    @cached_property
    def labelled_capsules(self) -> pd.DataFrame:
        """The table of capsules with its telling words, and a label: the name, or the first two."""
        texts = [
            self.words(i, top=6, all_words=False, lambda_=0.6)["word"].tolist()
            for i in self.capsules["capsule"]
        ]
        pairs = zip(self.capsules["capsule"], self.capsules["name"], texts, strict=True)
        labels = [name or f"{i} {' '.join(words[:2])}".strip() for i, name, words in pairs]
        return self.capsules.assign(words=[", ".join(words) for words in texts], label=labels)

    def _write_pictures(self, folder: Path) -> None:
        from icaps.reports.charts import image

        drawn = {}
        for name, chart in self.pictures().items():
            wide = chart.properties(width=900)
            (folder / f"{name}.png").write_bytes(image(wide, "png"))
            (folder / f"{name}.svg").write_bytes(svg := image(wide, "svg"))
            drawn[name] = svg.decode()
        (folder / "report.html").write_text(report_page(self, drawn), encoding="utf-8")


def _stacked(tables_: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Tables under each other, with the capsule in front."""
    return pd.concat(tables_, names=["capsule"]).reset_index("capsule")


def _numbers(column: pd.Series) -> list[float | None]:
    return [_number(value) for value in column]


def _number(value: float) -> float | None:
    """A number for JSON, which has no NaN."""
    return None if value != value else float(value)
