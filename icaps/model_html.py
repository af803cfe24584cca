"""What a notebook shows of a model: classes, scores, capsules, warnings and settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from icaps.config import ModelConfig, TrainConfig
from icaps.html import percent, render_html
from icaps.train.metrics import scores_line, validation_scores
from icaps.train.result_warnings import warnings_of


def model_html(
    classes: Sequence[str],
    words: int,
    capsules: Sequence[str],
    settings: tuple[ModelConfig, TrainConfig],
    metrics: Mapping[str, Any],
    *,
    several: bool = False,
    muted: Collection[int] = (),
    edits: Sequence[str] = (),
) -> str:
    """An HTML fragment with its style and without scripts, for light and dark notebooks.

    Args:
        classes: Names of the J classes.
        words: Size of the vocabulary.
        capsules: What the I primary capsules are called.
        settings: Of the network and of its training.
        metrics: Those of the checkpoint, which may hold anything.
        several: Whether a text may have several labels.
        muted: Numbers of capsules that are switched off.
        edits: What is neutral.
    """
    test = metrics.get("test")
    model, train = settings
    return render_html(
        "notebook_model.html.j2",
        classes=_class_rows(classes, metrics),
        words=words,
        capsules=[(name, number in muted) for number, name in enumerate(capsules)],
        hierarchical=model.hierarchical,
        settings=dataclasses.asdict(model) | dataclasses.asdict(train),
        several=several,
        edits=edits,
        tested=scores_line(test),
        validated=scores_line(validation_scores(metrics)),
        interrupted=metrics.get("interrupted") is True,
        warnings=warnings_of(metrics),
    )


def _class_rows(classes: Sequence[str], metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The name of each class, its number of training texts and its F1 score; empty if unknown."""
    counts, test = metrics.get("training_classes"), metrics.get("test")
    scores = test.get("per_class") if isinstance(test, Mapping) else None
    rows = []
    for name in classes:
        count = counts.get(name) if isinstance(counts, Mapping) else None
        row = scores.get(name) if isinstance(scores, Mapping) else None
        f1 = row.get("f1") if isinstance(row, Mapping) else None
        rows.append(
            (
                name,
                f"{count:,}" if isinstance(count, int) else "",
                percent(f1) if isinstance(f1, float) else "",
            )
        )
    return rows
