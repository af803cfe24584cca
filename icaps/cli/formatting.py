"""Formatting of texts and durations for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def one_line(text: str, width: int = 100) -> str:
    """A text on one line, cut off after `width` characters."""
    line = " ".join(text.split())
    return line[:width] + ("..." if len(line) > width else "")


def duration(seconds: float) -> str:
    """A duration in seconds, minutes or hours."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5_400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3_600:.1f} h"


def describe_test(scores: Mapping[str, Any]) -> str:
    """The test scores in a phrase, from the result of `evaluate.scores.evaluate`."""
    if "micro_f1" in scores:  # several labels per text
        return (
            f"test micro F1 {scores['micro_f1']:.2%}, macro F1 {scores['macro_f1']:.2%}, subset "
            f"accuracy {scores['subset_accuracy']:.2%}"
        )
    return f"test accuracy {scores['accuracy']:.2%}, macro F1 {scores['macro_f1']:.2%}"
