"""What a model has learnt as files: CSV, JSON, PNG, SVG and an HTML page."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from icaps.classifier import ICapsClassifier
from icaps.errors import CheckpointError
from icaps.evaluate.leakage import Leak
from icaps.html import Picture, Table, count, decimals, percent, render_html
from icaps.interpret import controls, tables
from icaps.interpret.capsule_labels import automatic_label
from icaps.interpret.corpus import Cell
from icaps.interpret.global_view import GlobalView
from icaps.interpret.projection import METHODS
from icaps.interpret.queries import (
    SPACES,
    cosines,
    map_queries,
    nearest_words,
    query_vectors,
)
from icaps.interpret.routing_spread import main_classes
from icaps.interpret.set_knock_out import SetKnockOut
from icaps.interpret.share_totals import ALL, Place
from icaps.interpret.tables import column_order
from icaps.train.result_warnings import ResultWarning, capsule_warning, result_warnings

TOP = 20  # words of a capsule in the JSON
_MOST = 200  # words and K-grams of a capsule in the CSV
_WIDTH = 900  # of a picture
_CAPTIONS = {
    "C": "The matrix C: texts that each primary capsule won, by predicted class",
    "knockout": "Lost {measure} with each primary capsule switched off",
    "queries": "The effective queries by t-SNE, coloured by the class they serve",
}


@dataclass(frozen=True)
class GlobalReport:
    """A model and its global view, as tables, plain data and files."""

    classifier: ICapsClassifier
    view: GlobalView

    @cached_property
    def classes(self) -> list[str]:
        """Names, in the order of the rows of C."""
        return [str(name) for name in self.classifier.classes_]

    @cached_property
    def cells(self) -> pd.DataFrame:
        """The cells of C; see `tables.cells`."""
        names = self.classifier.capsule_names_
        return tables.cells(self.view.tally, self.classes, names, self.view.shares)

    @cached_property
    def capsules(self) -> pd.DataFrame:
        """The capsules with their duplicates; see `tables.capsules`."""
        tally, knock_out = self.view.tally, self.view.knock_out
        names, shares = self.classifier.capsule_names_, self.view.shares
        table = tables.capsules(tally, knock_out, self.classes, names, shares)
        others: dict[int, list[int]] = {i: [] for i in table["capsule"]}
        for i, k in self.duplicates:
            others[i].append(k)
            others[k].append(i)
        return table.assign(duplicates=[" ".join(map(str, others[i])) for i in table["capsule"]])

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows of C; see `tables.rows`."""
        return tables.rows(self.view.tally, self.classes, self.view.shares)

    @cached_property
    def duplicates(self) -> list[tuple[int, int]]:
        """Pairs of capsules that are alike; see `controls.duplicates`."""
        queries = cosines(query_vectors(self.classifier.network_, "effective"))
        return controls.duplicates(self.view.tally, queries)

    @cached_property
    def distinctness(self) -> controls.Distinctness:
        """How capsules of one class differ in words; see `controls.distinctness`."""
        return controls.distinctness(self.view.tally)

    @property
    def leak(self) -> Leak | None:
        """How many of the counted texts the model was trained on; None if that is not known."""
        trained_on = self.view.origin.trained_on
        counted = self.view.tally.texts + self.view.tally.blank
        return None if trained_on is None else Leak(counted, trained_on, 0)

    @cached_property
    def warnings(self) -> list[ResultWarning]:
        """What a user must know; see `result_warnings`."""
        knock_out, frequency = self.view.knock_out, self.view.tally.frequency
        part = self.view.origin.part
        if isinstance(knock_out, SetKnockOut):
            warning = capsule_warning(frequency, self.classes, f"predicted classes of {part}")
            return [] if warning is None else [warning]
        return result_warnings(knock_out.confusion[0], frequency, self.classes, texts=part)

    @property
    def multilabel(self) -> bool:
        """Whether the counts are of a model of several labels per text."""
        return isinstance(self.view.knock_out, SetKnockOut)

    @property
    def measure(self) -> str:
        """By what capsules that are switched off are measured."""
        return "micro F1" if self.multilabel else "accuracy"

    def where(self, capsule: int, class_name: str | None) -> list[Cell]:
        """The cell of a capsule and a class; without a class all cells of the capsule."""
        if class_name is None:
            return self.view.tally.column(capsule)
        return [(self.classes.index(class_name), capsule)]

    @cached_property
    def served_classes(self) -> list[str]:
        """The class that each capsule serves most; see `routing_spread.main_classes`."""
        tally = self.view.tally
        return [self.classes[j] for j in main_classes(tally.frequency, tally.routing)]

    def routing_bins(self, capsule: int, class_name: str | None = None) -> pd.DataFrame:
        """The histogram of a capsule's routing weights in the texts of a class.

        By default it is the class that it serves most. See `tables.routing_bins`; there are no rows
        in views of older versions.
        """
        if (routing := self.view.routing) is None:
            return pd.DataFrame(columns=["low", "high", "texts", "level"])
        number = self.classes.index(class_name or self.served_classes[capsule])
        return tables.routing_bins(routing.counts[number, capsule])

    def words(self, capsule: int, **options: Any) -> pd.DataFrame:
        """The words of a capsule's cells; see `tables.words`."""
        tally = self.view.tally
        return tables.words(tally, self.classifier.vocabulary_, tally.column(capsule), **options)

    def kgrams(self, capsule: int, **options: Any) -> pd.DataFrame:
        """The K-grams of a capsule's cells; see `tables.kgrams`."""
        tally = self.view.tally
        return tables.kgrams(tally, self.classifier.vocabulary_, tally.column(capsule), **options)

    def place(self, capsule: int | None, class_name: str | None) -> Place:
        """The place in `ShareLists` of a capsule and a class; None is all of them."""
        j = ALL if class_name is None else self.classes.index(class_name)
        return j, ALL if capsule is None else capsule

    def words_by_share(self, place: Place, **options: Any) -> pd.DataFrame:
        """The words of a place, see `tables.words_by_share`; none in views of older versions."""
        if (shares := self.view.shares) is None:
            return pd.DataFrame(columns=["word", "share", "relevance"])
        return tables.words_by_share(shares, self.classifier.vocabulary_, place, **options)

    def kgrams_by_share(self, place: Place, **options: Any) -> pd.DataFrame:
        """The K-grams of a place, see `tables.kgrams_by_share`; none in views of older versions."""
        if (shares := self.view.shares) is None:
            return pd.DataFrame(columns=["kgram", "share", "relevance"])
        return tables.kgrams_by_share(shares, self.classifier.vocabulary_, place, **options)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Plain data for JSON.

        `top_share` has the share of the three largest cells of each class, `knockout` the accuracy
        with each capsule switched off, `words` the most frequent words of each capsule. What was
        added up by shares is None or empty in views of older versions: `shares` (J, I) in points of
        the norms, `words_by_share` of each capsule, `class_words` and `class_kgrams`. So is
        `routing`: of each capsule the class that it serves most, with the histogram of its routing
        weights and the numbers of some texts, with excerpts where they are stored.
        """
        tally, capsules, few = self.view.tally, self.capsules, self.view.few
        states = capsules["state"].value_counts()
        return {
            "classes": self.classes,
            "texts": tally.texts,
            **self._facts_of_sets(),
            "trained_on": self.view.origin.trained_on,
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
            "warnings": [warning.to_dict() for warning in self.warnings],
            "words": [
                self.words(i, top=TOP)[["word", "count"]].to_dict("records")
                for i in capsules["capsule"]
            ],
            "shares": None if self.view.shares is None else self.view.shares.capsules.tolist(),
            "effective_capsules": _numbers(self.rows["effective_capsules"]),
            "words_by_share": [
                self._share_records(self.words_by_share, self.place(i, None))
                for i in capsules["capsule"]
            ],
            "class_words": {
                name: self._share_records(self.words_by_share, self.place(None, name))
                for name in self.classes
            },
            "class_kgrams": {
                name: self._share_records(self.kgrams_by_share, self.place(None, name))
                for name in self.classes
            },
            "routing": [self._routing_facts(i) for i in capsules["capsule"]],
        }

    def _facts_of_sets(self) -> dict[str, Any]:
        """What there is besides for several labels per text, where `accuracy` is micro F1."""
        knock_out, tally = self.view.knock_out, self.view.tally
        if not isinstance(knock_out, SetKnockOut):
            return {}
        return {
            "measure": self.measure,
            "subset_accuracy": knock_out.subset_accuracy,
            "predictions": tally.predictions,
            "undecided": tally.undecided,
        }

    def _routing_facts(self, capsule: int) -> dict[str, Any]:
        routing, served = self.view.routing, self.served_classes[capsule]
        if routing is None:
            return {"class": served, "histogram": [], "texts": {}}
        texts = {
            level: [
                text._asdict()
                | (
                    excerpt._asdict()
                    if (excerpt := routing.excerpts.get((capsule, text.number)))
                    else {}
                )
                for text in some
            ]
            for level, some in routing.levels[capsule].items()
        }
        bins = self.routing_bins(capsule)[["low", "high", "texts"]].to_dict("records")
        return {"class": served, "histogram": bins, "texts": texts}

    def to_text(self) -> str:
        """Lines for a terminal: C, its rows, then a line per capsule that wins, most wins first."""
        facts = self.facts
        purity = "unknown" if facts["purity"] is None else f"{facts['purity']:.2f}"
        texts = f"{facts['texts']} texts"
        if self.multilabel:
            texts += f" with {facts['predictions']} predicted classes, {facts['undecided']} without"
        lines = [
            f"{texts}, {self.measure} {facts['accuracy']:.2%}; {facts['alive']} of "
            f"{len(facts['knockout'])} capsules alive, {facts['dead']} dead, "
            f"{len(facts['duplicates'])} pairs alike; purity {purity}"
        ]
        lines += [f"{'WARNING' if one.serious else 'note'}: {one}" for one in self.warnings]
        if self.leak is not None and self.leak.serious:
            lines.append(f"WARNING: {self.leak}")
        lines += [
            f"{row['class']}: the top 3 capsules have {row.top_3:.1%} "
            f"(shuffled {row.shuffled_top_3:.1%})"
            if row.texts
            else f"{row['class']}: no text gets this class"
            for _, row in self.rows.iterrows()
        ]
        capsules = self.labelled_capsules.sort_values("wins", ascending=False, kind="stable")
        lines += [
            f"  capsule {row.capsule} {row.name_}".rstrip()
            + f": {row.wins} {'wins' if self.multilabel else 'texts'}, {row.purity:.0%} "
            f"{row.main_class}; without it {row.cost:+.2%}; {row.words}"
            for row in capsules.rename(columns={"name": "name_"}).itertuples()
            if row.wins
        ]
        return "\n".join(lines)

    def write(self, folder: str | Path) -> None:
        """Writes all files to a folder, which is created where it is missing.

        Raises:
            CheckpointError: The folder cannot be written.
        """
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, table in self._tables().items():
                table.to_csv(folder / f"{name}.csv", index=False)
            text = json.dumps(self.facts, ensure_ascii=False, indent=1)
            (folder / "interpretation.json").write_text(text, encoding="utf-8")
            self._write_pictures(folder)
            (folder / "report.html").write_text(self.to_html(), encoding="utf-8")
        except OSError as error:
            raise CheckpointError(f"The report cannot be written to {folder}: {error}") from error

    def _tables(self) -> dict[str, pd.DataFrame]:
        numbers = self.capsules["capsule"].tolist()
        recalls = tables.recalls(self.view.knock_out, self.classes).reset_index()
        return {
            "C": self.cells,
            "capsules": self.capsules,
            "rows": self.rows,
            "words": _stacked({i: self.words(i, top=_MOST) for i in numbers}),
            "kgrams": _stacked({i: self.kgrams(i, top=_MOST) for i in numbers}),
            "words_by_share": self._share_table(self.words_by_share),
            "kgrams_by_share": self._share_table(self.kgrams_by_share),
            "knockout": recalls.astype({"capsule off": str}),
            "queries": self._query_table(),
            "pointed_words": self._pointed_table(),
        }

    def _share_table(self, items: Callable[..., pd.DataFrame]) -> pd.DataFrame:
        """The words or K-grams of most share of each cell, capsule and class; "" is all of them."""
        parts = []
        for class_name in (None, *self.classes):
            for i in (None, *self.capsules["capsule"].tolist()):
                part = items(self.place(i, class_name), top=_MOST)
                where = class_name or "", "" if i is None else str(i)
                parts.append(part.assign(**{"class": where[0], "capsule": where[1]}))
        table = pd.concat([part for part in parts if len(part)] or parts[:1])
        return table[["class", "capsule", *table.columns[:-2]]]

    @staticmethod
    def _share_records(items: Callable[..., pd.DataFrame], place: Place) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = items(place, top=TOP).iloc[:, :2].to_dict("records")
        return records

    def _query_table(self) -> pd.DataFrame:
        network = self.classifier.network_
        maps = [
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
                for space, m in maps
            ]
        )

    def _pointed_table(self) -> pd.DataFrame:
        words = nearest_words(self.classifier.network_, self.classifier.vocabulary_, TOP)
        rows = [(i, *pair) for i, pairs in enumerate(words) for pair in pairs]
        return pd.DataFrame(rows, columns=["capsule", "word", "score"])

    def charts(self, theme: str = "light") -> dict[str, Any]:
        """The charts by name, for a theme of `charts.INK`."""
        from icaps.reports import charts

        ink = charts.INK[theme]
        order = column_order(self.view.tally.frequency, "class")
        return {
            "C": charts.heatmap(self.cells, "count", order, None, ink),
            "knockout": charts.knock_out_bars(self.capsules, order, None, ink),
            "queries": charts.query_map(self._query_points, self.classes, None, ink),
        }

    def pictures(self, *names: str) -> dict[str, Picture]:
        """Charts of `charts` for a page, by name."""
        from icaps.reports.charts import INK, inline_svg

        light, dark = (
            {
                name: inline_svg(chart, INK[theme], f"{name}-{theme}")
                for name, chart in self.charts(theme).items()
                if name in names
            }
            for theme in ("light", "dark")
        )
        return {
            name: Picture(
                light[name], dark[name], _CAPTIONS[name].format(measure=self.measure.capitalize())
            )
            for name in names
        }

    def to_html(self) -> str:
        """A page of its own, without scripts or outside files."""
        return render_html(
            "global_report.html.j2",
            facts=self.facts,
            measure=self.measure,
            multilabel=self.multilabel,
            part=self.view.origin.part,
            leak="" if self.leak is None else str(self.leak),
            shuffles=controls.SHUFFLES,
            pictures=self.pictures("C", "knockout", "queries"),
            classes=_class_table(self.rows),
            reasons=self._reason_table(),
            capsules=self._capsule_table(),
        )

    @cached_property
    def labelled_capsules(self) -> pd.DataFrame:
        """The table of capsules with their most relevant words, and a label.

        The words are those that add most to the scores, or in views of older versions those counted
        most often. The label is the capsule's name, or its number and its first two words.
        """
        texts = self.view.with_label_words(self.classifier.vocabulary_).label_words
        rows = zip(self.capsules["capsule"], self.capsules["name"], texts, strict=True)
        labels = [name or automatic_label(i, words) or str(i) for i, name, words in rows]
        return self.capsules.assign(words=[", ".join(words) for words in texts], label=labels)

    @cached_property
    def _query_points(self) -> pd.DataFrame:
        vectors = query_vectors(self.classifier.network_, "effective")
        return tables.query_points(map_queries(vectors, "effective"), self.labelled_capsules)

    def _capsule_table(self) -> Table:
        """The capsules as the page shows them, most wins first."""
        columns = ["Capsule", "State", "Same as", "Class", "Wins", "Purity", "Cost"]
        columns += ["on its own", "on others", "Of the scores", "Words", "K-grams"]
        capsules = self.labelled_capsules.sort_values("wins", ascending=False, kind="stable")
        rows = [
            (
                f"{row['capsule']} {row['name']}".strip(),
                row["state"] + (", neutral" if row["neutral"] else ""),
                row["duplicates"],
                row["main_class"],
                count(row["wins"]),
                percent(row["purity"], 1),
                percent(row["cost"], sign=True),
                percent(row["own_cost"], sign=True),
                percent(row["other_cost"], sign=True),
                percent(row["score_share"], 1),
                row["words"],
                ", ".join(self.kgrams(row["capsule"], top=4, all_words=False)["kgram"]),
            )
            for row in capsules.to_dict("records")
        ]
        return Table("", columns, rows, words={*columns[:4], *columns[-2:]})

    @cached_property
    def class_reasons(self) -> pd.DataFrame:
        """One row per class: what adds most to its scores; no rows in views of older versions.

        Columns:
            class, effective_capsules: As in `rows`.
            words, kgrams: The most relevant of positive shares, without stop words.
        """
        table = self.rows[["class", "effective_capsules"]]
        if self.view.shares is None:
            return table.iloc[:0].assign(words=[], kgrams=[])
        columns = {
            name: [
                ", ".join(_positive(items(self.place(None, one), top=8, all_words=False)))
                for one in self.classes
            ]
            for name, items in (("words", self.words_by_share), ("kgrams", self.kgrams_by_share))
        }
        return table.assign(**columns)

    def _reason_table(self) -> Table:
        columns = ["Class", "Capsules per text", "Words", "K-grams"]
        rows = [
            (name, decimals(number, 1), words, kgrams)
            for name, number, words, kgrams in self.class_reasons.itertuples(index=False)
        ]
        return Table("", columns, rows, words={columns[0], *columns[2:]})

    def _write_pictures(self, folder: Path) -> None:
        from icaps.reports.charts import image

        for name, chart in self.charts().items():
            wide = chart.properties(width=_WIDTH)
            (folder / f"{name}.png").write_bytes(image(wide, "png"))
            (folder / f"{name}.svg").write_bytes(image(wide, "svg"))


def _class_table(rows_of_c: pd.DataFrame) -> Table:
    """The rows of C as the page shows them."""
    columns = ["Class", "Texts"]
    for top in (1, 3, 5):
        columns += [f"Top {top}", f"shuffled {top}"]
    columns += ["Entropy", "shuffled"]
    rows = []
    for row in rows_of_c.to_dict("records"):
        cells = [row["class"], count(row["texts"])]
        for top in (1, 3, 5):
            cells += [percent(row[f"top_{top}"], 1), percent(row[f"shuffled_top_{top}"], 1)]
        cells += [decimals(row["entropy"], 2), decimals(row["shuffled_entropy"], 2)]
        rows.append(cells)
    return Table("", columns, rows, words=columns[:1])


def _stacked(tables_: Mapping[int, pd.DataFrame]) -> pd.DataFrame:
    """Tables under each other, with the capsule in front."""
    return pd.concat(tables_, names=["capsule"]).reset_index("capsule")


def _positive(table: pd.DataFrame) -> list[str]:
    """The words or K-grams of a table by share that speak for the class."""
    return [str(item) for item in table[table["share"] > 0].iloc[:, 0]]


def _numbers(column: pd.Series) -> list[float | None]:
    return [_number(value) for value in column]


def _number(value: float) -> float | None:
    """A number for JSON, which has no NaN."""
    return None if value != value else float(value)
