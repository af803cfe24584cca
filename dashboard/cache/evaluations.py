"""Evaluations of models and their cards, kept between reruns and shared by sessions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard import quotas, stamps
from dashboard.cache import models
from dashboard.model_registry import ModelFolder
from dashboard.stamps import Stamp
from icaps.data.cache import ready_folder
from icaps.data.resolve import resolve
from icaps.evaluate.cache import Evaluation, load_evaluated
from icaps.evaluate.compare import Comparison, compare
from icaps.evaluate.report import EvaluationReport
from icaps.evaluate.slices import SliceScore
from icaps.explore.saved_slices import Slice
from icaps.reports import measured_faithfulness
from icaps.reports.model_card import ModelCard, make_card, source_of


def evaluated(
    model: ModelFolder, value: str, part: str, reading: Mapping[str, Any]
) -> EvaluationReport | None:
    """What a model says of labelled texts; None where it was not asked yet.

    Raises:
        CheckpointError: The model can't be read.
        DataError: The data isn't there, or the answer is damaged.
    """
    weights = models.fingerprint(model)
    classes = [str(name) for name in models.load(model).classes_]
    home = Evaluation(weights, classes, resolve(value), part, reading).home()
    return _evaluated(str(home), str(model.path), model.stamp) if ready_folder(home) else None


def card(
    model: ModelFolder, value: str, part: str, report: EvaluationReport, limit: int
) -> ModelCard:
    """The card of a model, evaluated on a part of data; reasons are measured on `limit` texts.

    Raises:
        CheckpointError: The model, or what it has learnt, can't be read.
        DataError: The model knows no word of the texts that reasons are measured on.
    """
    home = str(report.evaluated.folder)
    return _card(str(model.path), model.stamp, home, value, part, limit, report)


def saved_slices(report: EvaluationReport, kept: Sequence[Slice]) -> list[SliceScore]:
    """How a model does on the texts of saved slices."""
    stamp = stamps.of_files(part.path for part in kept)
    return _saved_slices(str(report.evaluated.folder), stamp, report, kept)


def comparison(first: EvaluationReport, second: EvaluationReport) -> Comparison:
    """Two models on the same texts."""
    folders = str(first.evaluated.folder), str(second.evaluated.folder)
    return _comparison(folders, first, second)


@st.cache_resource(max_entries=6, show_spinner=False)
def _evaluated(home: str, path: str, stamp: int) -> EvaluationReport:
    found = load_evaluated(Path(home), models.load_from(path, stamp).inverse_temperature_)
    assert found is not None
    return EvaluationReport(found)


@st.cache_resource(max_entries=6, show_spinner=False)
def _card(
    path: str,
    stamp: int,
    home: str,
    value: str,
    part: str,
    limit: int,
    _report_: EvaluationReport,
) -> ModelCard:
    classifier = models.load_from(path, stamp)
    told = measured_faithfulness.measured(classifier, _report_.evaluated, limit) if limit else None
    tested = source_of(value, resolve(value), part, _report_)
    return make_card(classifier, path, tested, models.report_from(path, stamp), told)


@st.cache_data(max_entries=20, show_spinner="Looking for the texts of slices …")
def _saved_slices(
    folder: str, stamp: Stamp, _report: EvaluationReport, _kept: Sequence[Slice]
) -> list[SliceScore]:
    quotas.request()
    return _report.saved_slices(_kept)


@st.cache_data(max_entries=20, show_spinner="Comparing …")
def _comparison(
    folders: tuple[str, str], _first: EvaluationReport, _second: EvaluationReport
) -> Comparison:
    quotas.request()
    return compare(_first.predictions, _second.predictions)
