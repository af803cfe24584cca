"""A model card as one long table, a row a number, for a spreadsheet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pandas as pd


class Row(NamedTuple):
    """A number of a card: what of what, its interval, and what the control has."""

    part: str
    of: str
    what: str
    value: Any
    low: float | None = None
    high: float | None = None
    control: float | None = None


def frame(facts: Mapping[str, Any]) -> pd.DataFrame:
    """The table; a cell is empty where there is no interval or control."""
    rows = [*_about(facts), *_scores(facts["evaluation"]), *_slices(facts), *_capsules(facts)]
    rows += [*_faithfulness(facts)]
    return pd.DataFrame(rows, columns=Row._fields).astype(object).fillna("")


def _about(facts: Mapping[str, Any]) -> Iterator[Row]:
    for name in ("name", "weights", "numbers", "vocabulary", "capsule_count"):
        yield Row("model", "", name, facts[name])
    for part in ("training", "model_settings", "train_settings"):
        for name, value in facts[part].items():
            if not isinstance(value, (dict, list)):
                yield Row(part, "", name, value)
    data = facts["data"]
    for name in ("name", "part", "texts", "unknown_words"):
        yield Row("data", "", name, data[name])
    for name, value in data["words"].items():
        yield Row("data", "words a text", name, value)
    for name, value in data["classes"].items():
        yield Row("data", name, "texts", value)


def _scores(told: Mapping[str, Any]) -> Iterator[Row]:
    ends, chance = told["intervals"], told["chance"]
    for name in ("accuracy", "macro_precision", "macro_recall", "macro_f1"):
        low, high = ends[name]
        yield Row("evaluation", "", name, told[name], low, high, chance.get(name))
    for label, own in told["per_class"].items():
        for name in ("precision", "recall", "f1"):
            yield Row("evaluation", label, name, own[name], *ends["per_class"][label][name])
    for label, row in zip(told["classes"], told["confusion"], strict=True):
        for other, texts in zip(told["classes"], row, strict=True):
            yield Row("confusion", label, f"predicted {other}", texts)
    found = told["calibration"]
    low, high = found["interval"]
    yield Row("calibration", "", "error", found["error"], low, high, found["perfect"])


def _slices(facts: Mapping[str, Any]) -> Iterator[Row]:
    for part in facts["slices"]:
        of = f"{part['kind']}: {part['name']}"
        yield Row("slice", of, "accuracy", part["accuracy"], *part["interval"])


def _capsules(facts: Mapping[str, Any]) -> Iterator[Row]:
    told = facts["capsules"]
    if told is None:
        return
    for name in ("alive", "dead", "purity"):
        yield Row("capsules", "", name, told[name])
    yield Row("capsules", "", "divergence", told["divergence"], control=told["divergence_random"])
    for row in told["rows"]:
        for name in ("entropy", "top_1", "top_3", "top_5"):
            yield Row("capsules", row["class"], name, row[name], control=row[f"shuffled_{name}"])
    for label, row in zip(facts["classes"], told["frequency"], strict=True):
        for capsule, wins in enumerate(row):
            yield Row("C", label, f"capsule {capsule}", wins)
    for row in told["each"]:
        of = f"capsule {row['capsule']}"
        for name in ("name", "main_class", "wins", "purity", "cost", "own_cost", "other_cost"):
            yield Row("capsule", of, name, row[name])
        yield Row("capsule", of, "words", " ".join(row["words"]))


def _faithfulness(facts: Mapping[str, Any]) -> Iterator[Row]:
    for row in (facts["faithfulness"] or {"rows": ()})["rows"]:
        of = f"{row['ranking']}, {row['words']}, {row['removal']}"
        for name in ("comprehensiveness", "sufficiency", "flips", "covered"):
            yield Row("faithfulness", of, name, *(row[name][n] for n in ("mean", "low", "high")))
