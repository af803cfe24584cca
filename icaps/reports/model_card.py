"""Model cards: scores, calibration, capsules, faithfulness, limits and data of a trained model."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from icaps.classifier import ICapsClassifier
from icaps.errors import CheckpointError
from icaps.evaluate.leakage import Leak
from icaps.evaluate.report import EvaluationReport, MultilabelReport
from icaps.html import Picture, render_html, render_markdown
from icaps.reports.card_faithfulness import measure_coverage
from icaps.reports.card_tables import number_table, page_tables
from icaps.reports.files import FILE_FORMATS, check_format, model_name, rounded, to_csv, to_json
from icaps.reports.global_report import GlobalReport
from icaps.runs.folder import RunFolder
from icaps.train.masking import MASKED_WORDS
from icaps.train.parts import HELD_OUT
from icaps.train.result_warnings import (
    METRIC,
    LabelCounts,
    ResultWarning,
    label_set_warnings,
    result_warnings,
)

STEM = "model_card"  # of the file names of a card
_QUANTILES = {"shortest": 0.0, "5%": 0.05, "median": 0.5, "95%": 0.95, "longest": 1.0}
_WORDS = 8  # of a capsule
_CAPSULE_COLUMNS = (
    "capsule",
    "name",
    "state",
    "neutral",
    "main_class",
    "wins",
    "purity",
    "cost",
    "own_cost",
    "other_cost",
)
_VIEW_FACTS = (
    "texts",
    "blank",
    "accuracy",
    "frequency",
    "alive",
    "dead",
    "duplicates",
    "purity",
    "divergence",
    "divergence_random",
    "smallest_set",
)


@dataclass(frozen=True)
class ModelCard:
    """The content of a card: plain data for JSON, and its charts."""

    facts: Mapping[str, Any]
    pictures: Mapping[str, Picture] = field(default_factory=dict)

    def to_bytes(self, format_: str) -> bytes:
        """The card as a file of one of `files.FILE_FORMATS`.

        Raises:
            ConfigError: There is no such format.
        """
        check_format(format_)
        if format_ == "json":
            return to_json(dict(self.facts))
        if format_ == "csv":
            return to_csv(number_table(self.facts))
        render = render_html if format_ == "html" else render_markdown
        page = render(
            "model_card.j2",
            facts=self.facts,
            tables=page_tables(self.facts),
            pictures=self.pictures,
        )
        return page.encode("utf-8")

    def write(self, folder: str | Path) -> None:
        """Writes a file of each format to a folder, which is created where it is missing.

        Raises:
            CheckpointError: The folder cannot be written.
        """
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, format_ in FILE_FORMATS.items():
                (folder / f"{STEM}.{format_.suffix}").write_bytes(self.to_bytes(name))
        except OSError as error:
            raise CheckpointError(f"The card cannot be written to {folder}: {error}") from error


@dataclass(frozen=True)
class EvaluatedData:
    """Labelled texts by the name that the user gave, their part, and the model's evaluation.

    The part is empty for a single file, which has none. `leak` counts the texts that the model was
    trained on; None if that is not known. `corrections` is the file of corrected labels; empty
    without one.
    """

    name: str
    part: str
    report: EvaluationReport | MultilabelReport
    leak: Leak | None = None
    corrections: str = ""


def evaluated_data(
    name: str,
    place: Path,
    part: str,
    report: EvaluationReport | MultilabelReport,
    leak: Leak | None = None,
    corrections: str | None = None,
) -> EvaluatedData:
    """Labelled texts in a file or a folder; see `data.resolve.resolve`."""
    shown = part if place.is_dir() or part == HELD_OUT else ""
    return EvaluatedData(name, shown, report, leak, corrections or "")


def make_card(
    classifier: ICapsClassifier,
    folder: str | Path,
    data: EvaluatedData,
    view: GlobalReport | None,
    faithfulness: Mapping[str, Any] | None,
) -> ModelCard:
    """The card of a model. The same files give the same bytes, in whatever folder they are.

    Args:
        classifier: Loaded from the folder.
        folder: The folder of the model.
        data: The texts that it is evaluated on.
        view: Its global view, if that was computed.
        faithfulness: From `card_faithfulness`, if it was measured.

    Raises:
        CheckpointError: The weights cannot be read.
    """
    name, weights = model_name(folder)
    config, train = classifier.network_.config, classifier.train_config_
    facts = {
        "name": name,
        "weights": weights,
        "classes": [str(label) for label in classifier.classes_],
        "numbers": sum(value.numel() for value in classifier.network_.state_dict().values()),
        "vocabulary": classifier.vocabulary_.trained_words,
        "vector_words": classifier.vocabulary_.vector_words,
        "capsule_count": config.num_capsules,
        "edits": [str(edit) for edit in classifier.edits_],
        "masked_words": [f"“{word}”" for word in classifier.metrics_.get(MASKED_WORDS, [])],
        "model_settings": dataclasses.asdict(config),
        "train_settings": dataclasses.asdict(train),
        "training": {
            key: value for key, value in classifier.metrics_.items() if key not in ("test", METRIC)
        },
        "warnings": [warning.to_dict() for warning in _warnings(classifier, data, view)],
        "training_command": _training_command(Path(folder)),
        "data": _data_facts(data, classifier),
        "leak": None if data.leak is None else data.leak.to_dict(),
        "evaluation": {
            key: value for key, value in data.report.to_dict().items() if key != "rejection"
        },
        "slices": [part.to_dict() for part in data.report.slices],
        "capsules": None if view is None else _capsule_facts(view),
        "coverage": measure_coverage(classifier, data.report.evaluation),
        "faithfulness": None if faithfulness is None else dict(faithfulness),
        "commands": _commands(name, data, view, faithfulness),
    }
    return ModelCard(rounded(facts), {} if view is None else view.pictures("C", "knockout"))


def _warnings(
    classifier: ICapsClassifier, data: EvaluatedData, view: GlobalReport | None
) -> list[ResultWarning]:
    """What the scores here and the counts of the global view, if there are any, warn of."""
    classes, texts = [str(label) for label in classifier.classes_], data.part or "labelled"
    shape = len(classes), classifier.network_.config.num_capsules
    wins = np.zeros(shape, np.int64) if view is None else view.view.tally.frequency
    if isinstance(data.report, MultilabelReport):
        own = data.report.predictions
        counts = LabelCounts(len(own), own.counts.labels, own.counts.predicted, own.counts.hits)
        return label_set_warnings(counts, wins, classes, texts=texts)
    predictions = data.report.predictions
    return result_warnings(predictions.confusion, wins, classes, texts=texts)


def _training_command(folder: Path) -> str | None:
    """The command that trained the model, if its folder has it; paths lose their folders."""
    request = RunFolder(folder).request()
    if request is None:
        return None
    arguments = [
        Path(part).name if Path(part).is_absolute() else part for part in request.arguments
    ]
    return shlex.join(["icaps", *arguments])


def _commands(
    name: str,
    data: EvaluatedData,
    view: GlobalReport | None,
    faithfulness: Mapping[str, Any] | None,
) -> list[str]:
    """The commands that make the card again, run where the folders of model and data are."""
    options = ["--model", name, "--data", Path(data.name).name]
    options += ["--part", data.part] if data.part else []
    options += ["--corrections", Path(data.corrections).name] if data.corrections else []
    card = ["icaps", "card", *options]
    commands = []
    if view is not None:
        origin = view.view.origin
        counted = ["--model", name, "--data", Path(origin.source).name, "--part", origin.part]
        commands.append(shlex.join(["icaps", "interpret", *counted]))
    if faithfulness is not None and "limit" in faithfulness:
        card += ["--limit", str(faithfulness["limit"])]
    elif faithfulness is not None:
        measure = shlex.join(["icaps", "faithfulness", *options])
        commands.append(f"{measure} --json > faithfulness.json")
        card += ["--faithfulness", "faithfulness.json"]
    return [*commands, shlex.join([*card, "--out", "card"])]


def _data_facts(data: EvaluatedData, classifier: ICapsClassifier) -> dict[str, Any]:
    """The texts: their number, classes and lengths, and the share of words that are unknown."""
    predictions, config = data.report.predictions, classifier.network_.config
    words = data.report.evaluation.words
    cut = None
    if config.max_words is not None and not config.hierarchical:
        cut = int((words > config.max_words).sum())
    if isinstance(data.report, MultilabelReport):
        texts_by_class = data.report.predictions.counts.labels.tolist()
    else:
        texts_by_class = data.report.predictions.confusion.sum(1).tolist()
    return {
        "name": Path(data.name).name,
        "part": data.part,
        "texts": len(predictions.labels),
        "corrected": data.report.evaluation.corrected,
        "classes": dict(zip(predictions.classes, texts_by_class, strict=True)),
        "words": {
            **{name: float(np.quantile(words, share)) for name, share in _QUANTILES.items()},
            "mean": float(words.mean()),
        },
        "unknown_words": float(data.report.evaluation.unknown.astype(float).mean()),
        "cut": cut,
    }


def _capsule_facts(view: GlobalReport) -> dict[str, Any]:
    """C with its controls, and each capsule with its words."""
    origin, table = view.view.origin, view.labelled_capsules
    ordered = table.sort_values("wins", ascending=False, kind="stable")
    capsules = ordered[list(_CAPSULE_COLUMNS)].to_dict("records")
    for capsule in capsules:
        words = view.words(capsule["capsule"], top=_WORDS, all_words=False, lambda_=0.6)
        capsule["words"] = words["word"].tolist()
    return {
        "data": Path(origin.source).name,
        "part": origin.part,
        **{name: view.facts[name] for name in _VIEW_FACTS},
        "rows": view.rows.to_dict("records"),
        "each": capsules,
    }
