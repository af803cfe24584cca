"""The tables of a model card: for its page, and all its numbers as one table for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from icaps.config import ModelConfig, Setting, TrainConfig, list_settings
from icaps.evaluate.multilabel_scores import (
    AVERAGE_PRECISION,
    HAMMING_LOSS,
    MACRO_F1,
    MICRO_F1,
    SUBSET_ACCURACY,
)
from icaps.html import Table, count, decimals, interval, percent, plain
from icaps.interpret.controls import SHUFFLES

Facts = Mapping[str, Any]
_MEASURES = ("precision", "recall", "f1")
SETS = MICRO_F1  # a score that only several labels per text have
_SET_SCORES = {
    MICRO_F1: "Micro F1",
    MACRO_F1: "Macro F1",
    AVERAGE_PRECISION: "Average precision",
    SUBSET_ACCURACY: "All labels right",
    HAMMING_LOSS: "Hamming loss (less is better)",
}
_SET_MEASURES = (*_MEASURES, AVERAGE_PRECISION)
_ESTIMATES = ("comprehensiveness", "sufficiency", "flips", "covered")


def page_tables(facts: Facts) -> dict[str, Table]:
    """The tables of the card's page, by the names that its template uses."""
    tables = {
        **_score_tables(facts),
        "calibration": _calibration_table(facts["evaluation"]["calibration"]),
        "slices": _slice_table(facts["slices"]),
        "training": _training_table(facts["training"]),
        "data": _data_table(facts["data"]),
        "model_settings": _setting_table(
            "The network", facts["model_settings"], list_settings(ModelConfig)
        ),
        "train_settings": _setting_table(
            "Its training", facts["train_settings"], list_settings(TrainConfig)
        ),
    }
    if facts["capsules"] is not None:
        tables["class_capsules"] = _class_capsule_table(facts["capsules"]["rows"])
        tables["capsules"] = _capsule_table(facts["capsules"]["each"])
    if facts["faithfulness"] is not None:
        tables["faithfulness"] = _faithfulness_table(facts["faithfulness"]["rows"])
    classes = facts["training"].get("training_classes")
    if isinstance(classes, Mapping):
        rows = [(name, count(texts)) for name, texts in classes.items()]
        tables["training_classes"] = _table("Its training texts", ("Class", "Texts"), rows)
    return tables


def _table(caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table whose first column has words."""
    return Table(caption, columns, rows, words=columns[:1])


def _score_tables(facts: Facts) -> dict[str, Table]:
    if SETS in facts["evaluation"]:
        return _set_score_tables(facts)
    scores, texts = facts["evaluation"], facts["data"]["classes"]
    ends, chance = scores["intervals"], scores["chance"]
    overall = [("Accuracy", interval(scores["accuracy"], ends["accuracy"]), chance["accuracy"])]
    for measure, name in zip(_MEASURES, ("Precision", "Recall", "F1"), strict=True):
        key = f"macro_{measure}"
        overall.append((f"Macro {name}", interval(scores[key], ends[key]), chance.get(key)))
    per_class = [
        (
            name,
            count(texts[name]),
            *(interval(own[measure], ends["per_class"][name][measure]) for measure in _MEASURES),
        )
        for name, own in scores["per_class"].items()
    ]
    confusion = [
        (name, *map(count, row))
        for name, row in zip(facts["classes"], scores["confusion"], strict=True)
    ]
    return {
        "overall": _table(
            "Over all classes",
            ("Score", "Value", "By chance"),
            [(*row, "" if random is None else percent(random)) for *row, random in overall],
        ),
        "per_class": _table(
            "Each class", ("Class", "Texts", "Precision", "Recall", "F1"), per_class
        ),
        "confusion": _table(
            "Texts by class (rows) and prediction (columns)",
            ("Class", *facts["classes"]),
            confusion,
        ),
    }


def _set_score_tables(facts: Facts) -> dict[str, Table]:
    """The scores with several labels per text."""
    scores = facts["evaluation"]
    ends, chance = scores["intervals"], scores["chance"]
    overall: list[Sequence[str]] = [
        (title, _known(scores[name], ends[name]), percent(chance[name]))
        for name, title in _SET_SCORES.items()
    ]
    per_class = [
        (
            name,
            count(own["support"]),
            count(own["predicted"]),
            percent(own["threshold"]),
            *(_known(own[part], ends["per_class"][name][part]) for part in _SET_MEASURES),
        )
        for name, own in scores["per_class"].items()
    ]
    columns = ("Precision", "Recall", "F1", "Average precision")
    return {
        "overall": _table("Over all classes", ("Score", "Value", "By chance"), overall),
        "per_class": _table(
            "Each class, which is predicted from its threshold on",
            ("Class", "Texts", "Predicted", "Threshold", *columns),
            per_class,
        ),
    }


def _known(value: float | None, ends: Sequence[float] | None) -> str:
    """A score with its interval, or a dash where there is none."""
    return "–" if value is None or ends is None else interval(value, ends)


def _calibration_table(calibration: Facts) -> Table:
    if "per_class" in calibration:  # several labels per text
        errors = [(name, percent(error)) for name, error in calibration["per_class"].items()]
        return _table("Calibration error of each class", ("Class", "Error"), errors)
    rows = [
        (
            f"{percent(part['from'])} to {percent(part['to'])}",
            count(part["texts"]),
            percent(part["confidence"]),
            interval(part["accuracy"], part["interval"]),
        )
        for part in calibration["bins"]
    ]
    return _table("Texts by confidence", ("Confidence", "Texts", "Mean", "Accuracy"), rows)


def _slice_table(slices: Sequence[Facts]) -> Table:
    rows = [
        (
            f"{part['kind']}: {part['name']}",
            count(part["texts"]),
            interval(part["accuracy"], part["interval"]),
            " to ".join(map(percent, part["random"])),
            part["verdict"],
        )
        for part in slices
    ]
    return _table(
        "Each slice beside the range of 95% of random subsets of the same size",
        ("Texts of", "Number", "Accuracy", "Random subsets", "Verdict"),
        rows,
    )


def _class_capsule_table(classes: Sequence[Facts]) -> Table:
    rows = [
        (
            row["class"],
            count(row["texts"]),
            *(
                f"{percent(row[f'top_{n}'])} ({percent(row[f'shuffled_top_{n}'])})"
                for n in (1, 3, 5)
            ),
            f"{decimals(row['entropy'], 2)} ({decimals(row['shuffled_entropy'], 2)})",
        )
        for row in classes
    ]
    return _table(
        "Share of a class's texts that its largest capsules win, and entropy in nats; in brackets "
        f"the mean of {SHUFFLES} shuffles of which text was won by which capsule",
        ("Class", "Texts", "Top 1", "Top 3", "Top 5", "Entropy"),
        rows,
    )


def _capsule_table(capsules: Sequence[Facts]) -> Table:
    columns = ("Capsule", "Class", "Words", "Wins", "Purity", "Own cost", "Other cost")
    rows = [
        (
            f"{row['capsule']} {row['name']}".strip(),
            row["main_class"],
            ", ".join(row["words"]),
            count(row["wins"]),
            percent(row["purity"]),
            percent(row["own_cost"], sign=True),
            percent(row["other_cost"], sign=True),
        )
        for row in capsules
        if row["wins"]
    ]
    return Table(
        "Capsules that win, with their words by relevance; cost is the accuracy lost without one, "
        "on the texts that it won and on the others",
        columns,
        rows,
        words=columns[:3],
    )


def _faithfulness_table(measured: Sequence[Facts]) -> Table:
    columns = ("Words by", "Which", "Removed by", "Comprehensiveness", "Sufficiency", "Flips")
    rows = [
        (
            row["ranking"],
            row["words"],
            row["removal"],
            *(_estimate(row[name]) for name in ("comprehensiveness", "sufficiency")),
            percent(row["flips"]["mean"]),
        )
        for row in measured
    ]
    return Table(
        "The first words of each text (bins), or its K-grams, removed",
        columns,
        rows,
        words=columns[:3],
    )


def _estimate(estimate: Facts) -> str:
    mean, low, high = (decimals(estimate[name], 3) for name in ("mean", "low", "high"))
    return f"{mean} ({low} to {high})"


def _training_table(training: Facts) -> Table:
    rows = [
        (name.replace("_", " "), plain(value))
        for name, value in training.items()
        if name != "training_classes"
    ]
    return _table("Recorded by the training", ("", "Value"), rows)


def _data_table(data: Facts) -> Table:
    rows = [
        (name, count(texts), percent(texts / data["texts"]))
        for name, texts in data["classes"].items()
    ]
    return _table("Their classes", ("Class", "Texts", "Share"), rows)


def _setting_table(caption: str, values: Facts, settings: Sequence[Setting]) -> Table:
    columns = ("Setting", "Value", "What it is")
    rows = [(setting.name, plain(values[setting.name]), setting.help) for setting in settings]
    return Table(caption, columns, rows, words=columns)


class Number(NamedTuple):
    """A number of a card: its part and name, its interval, and the value of its control."""

    part: str
    of: str
    what: str
    value: Any
    low: float | None = None
    high: float | None = None
    control: float | None = None


def number_table(facts: Facts) -> pd.DataFrame:
    """All numbers of a card, a row each; a cell is empty where there is no interval or control."""
    numbers = [
        *_model_numbers(facts),
        *_score_numbers(facts["evaluation"]),
        *_slice_numbers(facts["slices"]),
        *_capsule_numbers(facts),
        *_coverage_numbers(facts["coverage"]),
        *_faithfulness_numbers(facts),
    ]
    return pd.DataFrame(numbers, columns=Number._fields).astype(object).fillna("")


def _model_numbers(facts: Facts) -> Iterator[Number]:
    for name in ("name", "weights", "numbers", "vocabulary", "vector_words", "capsule_count"):
        yield Number("model", "", name, facts[name])
    for part in ("training", "model_settings", "train_settings"):
        for name, value in facts[part].items():
            if not isinstance(value, (dict, list)):
                yield Number(part, "", name, value)
    data = facts["data"]
    for name in ("name", "part", "texts", "corrected", "unknown_words"):
        yield Number("data", "", name, data[name])
    for name, value in data["words"].items():
        yield Number("data", "words a text", name, value)
    for name, value in data["classes"].items():
        yield Number("data", name, "texts", value)


def _set_score_numbers(scores: Facts) -> Iterator[Number]:
    """The numbers with several labels per text."""
    ends, chance = scores["intervals"], scores["chance"]
    for name in _SET_SCORES:
        low, high = ends[name] or (None, None)
        yield Number("evaluation", "", name, scores[name], low, high, chance[name])
    for label, own in scores["per_class"].items():
        yield Number("evaluation", label, "threshold", own["threshold"])
        for name in _SET_MEASURES:
            low, high = ends["per_class"][label][name] or (None, None)
            yield Number("evaluation", label, name, own[name], low, high)
        yield Number("calibration", label, "error", scores["calibration"]["per_class"][label])
    yield Number("calibration", "", "error", scores["calibration"]["error"])


def _score_numbers(scores: Facts) -> Iterator[Number]:
    if SETS in scores:
        yield from _set_score_numbers(scores)
        return
    ends, chance = scores["intervals"], scores["chance"]
    for name in ("accuracy", "macro_precision", "macro_recall", "macro_f1"):
        low, high = ends[name]
        yield Number("evaluation", "", name, scores[name], low, high, chance.get(name))
    for label, own in scores["per_class"].items():
        for name in _MEASURES:
            low, high = ends["per_class"][label][name]
            yield Number("evaluation", label, name, own[name], low, high)
    for label, row in zip(scores["classes"], scores["confusion"], strict=True):
        for other, texts in zip(scores["classes"], row, strict=True):
            yield Number("confusion", label, f"predicted {other}", texts)
    calibration = scores["calibration"]
    low, high = calibration["interval"]
    error, perfect = calibration["error"], calibration["perfect"]
    yield Number("calibration", "", "error", error, low, high, perfect)


def _slice_numbers(slices: Sequence[Facts]) -> Iterator[Number]:
    for part in slices:
        low, high = part["interval"]
        of = f"{part['kind']}: {part['name']}"
        yield Number("slice", of, "accuracy", part["accuracy"], low, high)


def _capsule_numbers(facts: Facts) -> Iterator[Number]:
    capsules = facts["capsules"]
    if capsules is None:
        return
    for name in ("alive", "dead", "purity"):
        yield Number("capsules", "", name, capsules[name])
    divergence, random = capsules["divergence"], capsules["divergence_random"]
    yield Number("capsules", "", "divergence", divergence, control=random)
    for row in capsules["rows"]:
        for name in ("entropy", "top_1", "top_3", "top_5"):
            control = row[f"shuffled_{name}"]
            yield Number("capsules", row["class"], name, row[name], control=control)
    for label, row in zip(facts["classes"], capsules["frequency"], strict=True):
        for capsule, wins in enumerate(row):
            yield Number("C", label, f"capsule {capsule}", wins)
    for row in capsules["each"]:
        of = f"capsule {row['capsule']}"
        for name in ("name", "main_class", "wins", "purity", "cost", "own_cost", "other_cost"):
            yield Number("capsule", of, name, row[name])
        yield Number("capsule", of, "words", " ".join(row["words"]))


def _coverage_numbers(coverage: Facts) -> Iterator[Number]:
    for row in coverage["rankings"]:
        of = f"K-grams by {row['ranking']}"
        for name in ("covered", "bias", "words"):
            mean, low, high = (row[name][end] for end in ("mean", "low", "high"))
            yield Number("reasons", of, name, mean, low, high)


def _faithfulness_numbers(facts: Facts) -> Iterator[Number]:
    if facts["faithfulness"] is None:
        return
    for row in facts["faithfulness"]["rows"]:
        of = f"{row['ranking']}, {row['words']}, {row['removal']}"
        for name in _ESTIMATES:
            mean, low, high = (row[name][end] for end in ("mean", "low", "high"))
            yield Number("faithfulness", of, name, mean, low, high)
