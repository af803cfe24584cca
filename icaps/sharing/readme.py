"""The README of a model's repository on the Hub: metadata in YAML, the model's card, and its use.

https://huggingface.co/docs/hub/model-cards describes the metadata. A score is part of them unless
its texts are known to have had a part in the training.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from icaps.data.atomic import read_json
from icaps.errors import CheckpointError, ConfigError
from icaps.html import render_markdown
from icaps.train.checkpoint_files import (
    CLASSES,
    CONFIG,
    EDITS,
    METRICS,
    MULTILABEL,
    read_classes,
    weights_fingerprint,
)
from icaps.train.masking import MASKED_WORDS
from icaps.train.metrics import SCORES, known_scores, scores_line, validation_scores
from icaps.train.parts import HELD_OUT
from icaps.train.result_warnings import warnings_of

README = "README.md"
TASK = "text-classification"
TAGS = ("capsule-network", "explainable-ai", "icaps", "interpretability")
_USAGE = """\
from icaps import ICapsClassifier

classifier = ICapsClassifier.from_pretrained({})
for explanation in classifier.explain(["A text."]):
    print(explanation.to_text())"""


class Card(Protocol):
    """What is needed of a `reports.model_card.ModelCard`."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What the card says, as plain data."""

    def to_bytes(self, format_: str) -> bytes:
        """The card in a format, such as "markdown"."""


def write_readme(
    folder: Path,
    name: str,
    card: Card | None = None,
    repo_id: str | None = None,
    *,
    license: str | None = None,
    language: str | None = None,
) -> None:
    """Writes the README of a checkpoint folder.

    Args:
        folder: The checkpoint.
        name: Of the model.
        card: Its card; None: the README has what is known from the training.
        repo_id: Its repository; None: the README says how the folder is loaded.
        license, language: As the Hub names them; None: not stated.

    Raises:
        CheckpointError: The folder cannot be read or written.
        ConfigError: The card is of another model.
    """
    if card is not None and card.facts["weights"] != weights_fingerprint(folder):
        raise ConfigError(
            f"The card is of a model with other weights ({card.facts['name']}); make one for this "
            "model."
        )
    metrics = read_json(folder / METRICS)
    page = render_markdown(
        "hub_readme.j2",
        name=name,
        card=None if card is None else card.to_bytes("markdown").decode("utf-8"),
        usage=_USAGE.format(json.dumps(repo_id or name, ensure_ascii=False)),
        **_facts(folder, metrics),
    )
    metadata = _metadata(name, card, metrics, license, language)
    try:
        (folder / README).write_text(f"---\n{metadata}\n---\n\n{page}", encoding="utf-8")
    except OSError as error:
        raise CheckpointError(f"{folder / README} cannot be written: {error}") from error


def _facts(folder: Path, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """What the files of a checkpoint say about the model."""
    config = read_json(folder / CONFIG)
    masked = metrics.get(MASKED_WORDS)
    edits = read_json(folder / EDITS)["edits"] if (folder / EDITS).exists() else []
    return {
        "classes": read_classes(folder / CLASSES),
        "several": MULTILABEL in config,
        "settings": config["model"],
        "vocabulary": metrics.get("vocabulary_size"),
        "tested": scores_line(metrics.get("test")),
        "validated": scores_line(validation_scores(metrics)),
        "interrupted": metrics.get("interrupted") is True,
        "masked_words": masked if isinstance(masked, list) else [],
        "edits": len(edits),
        "warnings": warnings_of(metrics),
    }


def _metadata(
    name: str,
    card: Card | None,
    metrics: Mapping[str, Any],
    license_: str | None,
    language: str | None,
) -> str:
    """The metadata in YAML."""
    from huggingface_hub import EvalResult, ModelCardData

    results = [
        EvalResult(
            task_type=TASK,
            dataset_type=dataset,
            dataset_name=dataset,
            dataset_split=part or None,
            metric_type="f1" if score.endswith("f1") else score,
            metric_name=SCORES[score],
            metric_value=value,
        )
        for dataset, part, score, value in _independent_scores(card, metrics)
    ]
    data = ModelCardData(
        model_name=name if results else None,
        eval_results=results or None,
        library_name="icaps",
        pipeline_tag=TASK,
        tags=list(TAGS),
        license=license_,
        language=language,
    )
    return data.to_yaml()


def _independent_scores(
    card: Card | None, metrics: Mapping[str, Any]
) -> list[tuple[str, str, str, float]]:
    """Data set, part, name and value of each score on texts that are new to the model."""
    if card is None:
        dataset, part, scores = "test part of its data", "test", metrics.get("test")
    else:
        data, leak = card.facts["data"], card.facts["leak"]
        if data["part"] == HELD_OUT or (leak and leak["training"]):
            return []
        dataset, part, scores = data["name"], data["part"], card.facts["evaluation"]
    return [(dataset, part, score, value) for score, value in known_scores(scores).items()]
