"""The scores in the metrics of a checkpoint, and how they are called for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCORES = {"accuracy": "accuracy", "macro_f1": "macro F1", "micro_f1": "micro F1"}


def known_scores(values: Any) -> dict[str, float]:
    """The scores among the values of an evaluation, by their key in SCORES.

    The metrics of a checkpoint may hold anything: what is no number is left out, and so is
    everything if `values` is no mapping.
    """
    known = values if isinstance(values, Mapping) else {}
    return {name: known[name] for name in SCORES if isinstance(known.get(name), float)}


def scores_line(values: Any) -> str:
    """Such as "accuracy 91.93%, macro F1 91.92%"; empty if no score is known."""
    return ", ".join(f"{SCORES[name]} {value:.2%}" for name, value in known_scores(values).items())


def validation_scores(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The scores on the validation texts, by which the epoch was chosen."""
    return {name: metrics.get(f"validation_{name}") for name in SCORES}
