"""The card of a model: what it is, how good, what its capsules do, and what it can't do."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from icaps.errors import CheckpointError
from icaps.evaluate.report import EvaluationReport
from icaps.reports import document
from icaps.reports.card_sections import sections, title
from icaps.reports.card_table import frame
from icaps.reports.document import Picture
from icaps.reports.files import KINDS, check_kind, rounded, to_csv, to_json
from icaps.reports.global_report import Report
from icaps.reports.naming import model_name
from icaps.reports.pictures import pictures
from icaps.runs.folder import RunFolder

if TYPE_CHECKING:
    from icaps.classifier import ICapsClassifier

STEM = "model_card"  # of the files of a card
_QUANTILES = {"shortest": 0.0, "5%": 0.05, "median": 0.5, "95%": 0.95, "longest": 1.0}
_WORDS = 8  # of a capsule


@dataclass(frozen=True)
class ModelCard:
    """All that a card tells, as plain data for JSON, and its charts."""

    facts: Mapping[str, Any]
    pictures: Mapping[str, Picture] = field(default_factory=dict)

    def to_bytes(self, kind: str) -> bytes:
        """The card as a file of a kind of `files.KINDS`.

        Raises:
            ConfigError: There is no such kind.
        """
        check_kind(kind)
        if kind == "json":
            return to_json(dict(self.facts))
        if kind == "csv":
            return to_csv(frame(self.facts))
        told = sections(self.facts, self.pictures)
        tell = document.html_page if kind == "html" else document.markdown
        return tell(title(self.facts), told).encode("utf-8")

    def write(self, folder: str | Path) -> None:
        """Writes all kinds of files to a folder, which is made where it is missing.

        Raises:
            CheckpointError: The folder can't be written.
        """
        folder = Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name, kind in KINDS.items():
                (folder / f"{STEM}.{kind.suffix}").write_bytes(self.to_bytes(name))
        except OSError as error:
            raise CheckpointError(f"The card can't be written to {folder}: {error}") from error


@dataclass(frozen=True)
class Source:
    """Labelled texts as a user named them, their part, and what the model says of them.

    The part is empty for a file, which has none.
    """

    name: str
    part: str
    report: EvaluationReport


def source_of(name: str, place: Path, part: str, report: EvaluationReport) -> Source:
    """Labelled texts that lie in a file or a folder; see `data.names.resolve`."""
    return Source(name, part if place.is_dir() else "", report)


def make_card(
    classifier: ICapsClassifier,
    folder: str | Path,
    data: Source,
    view: Report | None,
    faithfulness: Mapping[str, Any] | None,
) -> ModelCard:
    """The card of a model: the same bytes from the same files, wherever these lie.

    Args:
        classifier: As it is in the folder.
        folder: Of the model.
        data: What it is evaluated on.
        view: What it has learnt, where it was interpreted.
        faithfulness: From `faithfulness.measured` or `read_measured`, where that was done.

    Raises:
        CheckpointError: The weights can't be read.
    """
    name, weights = model_name(folder)
    config, train = classifier.network_.config, classifier.train
    facts = {
        "name": name,
        "weights": weights,
        "classes": [str(label) for label in classifier.classes_],
        "numbers": sum(value.numel() for value in classifier.network_.state_dict().values()),
        "vocabulary": len(classifier.vocabulary_),
        "capsule_count": config.num_capsules,
        "model_settings": dataclasses.asdict(config),
        "train_settings": dataclasses.asdict(train),
        "training": {key: value for key, value in classifier.metrics_.items() if key != "test"},
        "training_command": _training_command(Path(folder)),
        "data": _described(data, classifier),
        "evaluation": {
            key: value for key, value in data.report.to_dict().items() if key != "rejection"
        },
        "slices": [part.to_dict() for part in data.report.slices],
        "capsules": None if view is None else _capsules(view),
        "faithfulness": None if faithfulness is None else dict(faithfulness),
        "commands": _commands(name, data, view, faithfulness),
    }
    return ModelCard(rounded(facts), {} if view is None else pictures(view))


def _training_command(folder: Path) -> str | None:
    """The command that trained it, where its folder knows; of a path on that machine the name."""
    request = RunFolder(folder).request()
    if request is None:
        return None
    given = [Path(part).name if Path(part).is_absolute() else part for part in request.arguments]
    return shlex.join(["icaps", *given])


def _commands(
    name: str, data: Source, view: Report | None, faithfulness: Mapping[str, Any] | None
) -> list[str]:
    """What makes the card again, from the folder of the model and of the data."""
    given = ["--model", name, "--data", Path(data.name).name]
    given += ["--part", data.part] if data.part else []
    card = ["icaps", "card", *given]
    lines = []
    if view is not None:
        origin = view.view.origin
        counted = ["--model", name, "--data", Path(origin.source).name, "--part", origin.part]
        lines.append(shlex.join(["icaps", "interpret", *counted]))
    if faithfulness is not None and "limit" in faithfulness:
        card += ["--limit", str(faithfulness["limit"])]
    elif faithfulness is not None:
        lines.append(shlex.join(["icaps", "faithfulness", *given]) + " --json > faithfulness.json")
        card += ["--faithfulness", "faithfulness.json"]
    return [*lines, shlex.join([*card, "--out", "card"])]


def _described(data: Source, classifier: ICapsClassifier) -> dict[str, Any]:
    """The texts: how many, of which classes, how long, and how much the model knows of them."""
    told = data.report.predictions
    limit = classifier.network_.config.max_words
    cut = None if limit is None or classifier.network_.config.hierarchical else told.words > limit
    return {
        "name": Path(data.name).name,
        "part": data.part,
        "texts": len(told.labels),
        "classes": dict(zip(told.classes, told.confusion.sum(1).tolist(), strict=True)),
        "words": {name: float(np.quantile(told.words, share)) for name, share in _QUANTILES.items()}
        | {"mean": float(told.words.mean())},
        "unknown_words": float(told.unknown.astype(float).mean()),
        "cut": None if cut is None else int(cut.sum()),
    }


def _capsules(view: Report) -> dict[str, Any]:
    """C with its controls, and each capsule with its words."""
    origin, about = view.view.origin, view.labelled_capsules
    columns = ["capsule", "name", "state", "neutral", "main_class", "wins", "purity"]
    columns += ["cost", "own_cost", "other_cost"]
    ordered = about.sort_values("wins", ascending=False, kind="stable")
    each = ordered[columns].to_dict("records")
    for row in each:
        row["words"] = view.words(row["capsule"], top=_WORDS, all_words=False, lambda_=0.6)[
            "word"
        ].tolist()
    facts = view.facts
    kept = ["texts", "blank", "accuracy", "frequency", "alive", "dead", "duplicates", "purity"]
    kept += ["divergence", "divergence_random", "smallest_set"]
    return {
        "data": Path(origin.source).name,
        "part": origin.part,
        **{name: facts[name] for name in kept},
        "rows": view.rows.to_dict("records"),
        "each": each,
    }
