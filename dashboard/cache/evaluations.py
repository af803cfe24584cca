"""Cached results of models on labelled texts: evaluations, comparisons and shortcuts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from dashboard import quotas
from dashboard.bounded_dict import BoundedDict
from dashboard.cache import at_once, models
from dashboard.cache.data import DataKey
from dashboard.model_registry import ModelFolder
from icaps.data.cache import Artifact
from icaps.data.fingerprint import fingerprint_files
from icaps.data.resolve import resolve
from icaps.data.sample import draw_sample
from icaps.data.saved_slices import Slice
from icaps.data.source import Source
from icaps.data.text_hash import text_hash
from icaps.errors import DataError
from icaps.evaluate.compare import PairedTest, TimedPredictions, predict_timed
from icaps.evaluate.comparison_texts import ComparisonTexts, sample_texts
from icaps.evaluate.evaluation import (
    AnyEvaluation,
    EvaluationData,
    evaluate_data,
    evaluation_artifact,
)
from icaps.evaluate.leakage import Leak, seen_share
from icaps.evaluate.misleading import total_contrasts, total_set_contrasts
from icaps.evaluate.multilabel_compare import MultilabelTest, TimedSets, predict_sets_timed
from icaps.evaluate.multilabel_scores import CurvePoint, precision_recall
from icaps.evaluate.reliability import Reliability
from icaps.evaluate.report import (
    EvaluationReport,
    MultilabelReport,
    compare_evaluations,
    make_report,
)
from icaps.evaluate.shared_reasons import SharedReasons, shared_reasons
from icaps.evaluate.slices import SliceScore
from icaps.reports.card_faithfulness import measure_faithfulness
from icaps.reports.model_card import ModelCard, evaluated_data, make_card
from icaps.shortcuts.find import Finding, find_shortcuts, strongest_words
from icaps.shortcuts.predicted_texts import PredictedTexts, predict_texts
from icaps.train.parts import open_part

_SHORTCUTS = 4  # pairs of a model and data


def _file_state(piece: Slice) -> str:
    return fingerprint_files([piece.path])


def _key_of(report: EvaluationReport | MultilabelReport) -> str:
    return report.evaluation.key


_BY_KEY: dict[str | type, Callable[[Any], Any]] = {
    EvaluationReport: _key_of,
    MultilabelReport: _key_of,
}


def evaluated(
    model: ModelFolder, data: DataKey, part: str
) -> EvaluationReport | MultilabelReport | None:
    """The evaluation of a model on one part of labelled data.

    None if it was not computed yet and the texts are many.

    Raises:
        CheckpointError: The model can't be read.
        DataError: The data does not exist or can't be read, has other classes than the model, or
            the stored evaluation is damaged.
    """
    if not data.corrections:
        return _evaluation(model, data, part)
    try:
        given = _evaluation(model, data.uncorrected, part)
    except DataError:  # perhaps by a class that the model lacks, and that was corrected
        given = None
    return _evaluation(model, data, part) if given is None else _corrected(given, data)


@st.cache_resource(
    max_entries=6,
    show_spinner="Correcting labels …",
    hash_funcs=_BY_KEY,
)
def _corrected(
    given: EvaluationReport | MultilabelReport, data: DataKey
) -> EvaluationReport | MultilabelReport:
    labels = data.corrected_labels
    return make_report(given.evaluation.with_corrections(labels, data.corrections))


def _evaluation(
    model: ModelFolder, data: DataKey, part: str
) -> EvaluationReport | MultilabelReport | None:
    texts = EvaluationData(resolve(data.value), part, data.reading, model.path)
    artifact = evaluation_artifact(models.load(model), models.fingerprint(model), texts)
    if artifact.exists:
        return _evaluated(artifact.home, model, artifact)
    if at_once.few(texts.open()):
        return _evaluated_at_once(artifact.home, model, texts, artifact)
    return None


@st.cache_resource(max_entries=6, show_spinner="Evaluating …")
def _evaluated_at_once(
    home: Path, model: ModelFolder, _data: EvaluationData, _artifact: Artifact[AnyEvaluation]
) -> EvaluationReport | MultilabelReport:
    quotas.request()
    weights, other_home = models.fingerprint(model), at_once.home_of(_artifact)
    return make_report(evaluate_data(models.load(model), weights, _data, home=other_home))


@st.cache_resource(max_entries=6, show_spinner=False)
def _evaluated(
    home: Path, model: ModelFolder, _artifact: Artifact[AnyEvaluation]
) -> EvaluationReport | MultilabelReport:
    evaluation = _artifact.load()
    assert evaluation is not None
    return make_report(evaluation)


@st.cache_resource(max_entries=6, show_spinner=False, hash_funcs=_BY_KEY)
def card(
    model: ModelFolder,
    data: DataKey,
    part: str,
    report: EvaluationReport | MultilabelReport,
    limit: int,
) -> ModelCard:
    """The card of a model with its evaluation; faithfulness is measured on `limit` texts.

    Raises:
        CheckpointError: The model or its global view can't be read.
        DataError: The model knows no word of the texts on which faithfulness is measured.
    """
    classifier = models.load(model)
    faithfulness = measure_faithfulness(classifier, report.evaluation, limit) if limit else None
    leak = seen_share(model.path, report.evaluation.texts)
    corrections = data.reading.get("corrections")
    tested = evaluated_data(data.value, resolve(data.value), part, report, leak, corrections)
    return make_card(classifier, str(model.path), tested, models.report(model), faithfulness)


@st.cache_data(
    max_entries=20,
    show_spinner="Reading the slices …",
    hash_funcs={**_BY_KEY, Slice: _file_state},
)
def saved_slices(
    report: EvaluationReport | MultilabelReport, slices: Sequence[Slice]
) -> list[SliceScore]:
    """The scores of a model on the texts of saved slices."""
    quotas.request()
    return report.saved_slices(slices)


@st.cache_data(max_entries=20, show_spinner="Comparing …", hash_funcs=_BY_KEY)
def comparison(
    first: EvaluationReport | MultilabelReport, second: EvaluationReport | MultilabelReport
) -> PairedTest | MultilabelTest:
    """Two models compared on the same texts.

    Raises:
        DataError: Only one of them has several labels per text.
    """
    quotas.request()
    return compare_evaluations(first.evaluation, second.evaluation)


@st.cache_data(max_entries=40, show_spinner="Evaluating …", hash_funcs=_BY_KEY)
def class_reliability(report: MultilabelReport, number: int) -> Reliability:
    """The calibration of the probabilities of one class."""
    quotas.request()
    return report.reliability(number)


@st.cache_data(max_entries=40, show_spinner=False, hash_funcs=_BY_KEY)
def class_curve(report: MultilabelReport, number: int) -> list[CurvePoint]:
    """The precision-recall curve of one class."""
    return precision_recall(report.predictions, number)


@st.cache_data(max_entries=20, show_spinner="Explaining …", hash_funcs=_BY_KEY)
def misleading(
    model: ModelFolder, report: EvaluationReport | MultilabelReport, rows: NDArray[np.int64]
) -> pd.DataFrame:
    """What each word adds to wrong classes rather than right ones, in all these texts together."""
    quotas.request()
    texts, labels = report.evaluation.texts.take(rows), report.predictions.labels[rows]
    if isinstance(report, MultilabelReport):
        return total_set_contrasts(models.load(model), texts, labels)
    names = [report.predictions.classes[number] for number in labels]
    return total_contrasts(models.load(model), texts, names)


@dataclass(frozen=True)
class Sample:
    """At most `limit` texts of one part of labelled data.

    For the part HELD_OUT, `model` is the one whose held-out texts they are.
    """

    data: DataKey
    part: str
    limit: int
    model: ModelFolder | None = None

    @property
    def uncorrected(self) -> "Sample":
        """The same texts with the labels that the data has."""
        return replace(self, data=self.data.uncorrected)

    def open(self) -> Source:
        """The part of the data.

        Raises:
            DataError: It can't be read.
        """
        folder = None if self.model is None else self.model.path
        return open_part(resolve(self.data.value), self.part, self.data.reading, folder)


@st.cache_data(max_entries=3, show_spinner="Reading the texts …")
def texts(sample: Sample, classes: tuple[str, ...], multilabel: bool = False) -> ComparisonTexts:
    """The texts of a sample, labelled by these classes; with several labels per text if wanted.

    Raises:
        DataError: They can't be read, or have other classes.
    """
    quotas.request()
    pairs = sample.open().pairs()
    return sample_texts(pairs, classes, sample.limit, multilabel=multilabel)


@st.cache_data(max_entries=20, show_spinner="Predicting …")
def predictions(
    sample: Sample, model: ModelFolder, name: str, classes: tuple[str, ...]
) -> TimedPredictions:
    """What a model or a baseline, shown as `name`, predicts for the texts of a sample.

    Raises:
        DataError: It has other classes.
    """
    quotas.request()
    return predict_timed(name, models.scorer(model), texts(sample, classes))


@st.cache_data(max_entries=20, show_spinner="Predicting …")
def predicted_sets(
    sample: Sample, model: ModelFolder, name: str, classes: tuple[str, ...]
) -> TimedSets:
    """As `predictions`, of a model or a baseline with several labels per text.

    Raises:
        DataError: It has other classes, or gives a text one label.
    """
    quotas.request()
    labelled = texts(sample, classes, multilabel=True)
    return predict_sets_timed(name, models.scorer(model), labelled)


@st.cache_data(max_entries=6, show_spinner="Explaining …")
def shared(
    sample: Sample, first: ModelFolder, second: ModelFolder, limit: int
) -> list[SharedReasons]:
    """The texts, among the first `limit` of a sample, with each class that both predict."""
    quotas.request()
    one, other = models.load(first), models.load(second)
    some = texts(sample, models.classes(first), one.multilabel_).texts[:limit]
    return shared_reasons(one, other, some)


class Shortcuts(NamedTuple):
    """Texts with class names, what a model predicts for those it can read, and its shortcuts.

    `given` are the texts with the class names that the data has, and `labelled` with those that it
    is opened with. `strongest` are the words that add most to the scores where there is no
    shortcut. `leak` counts the texts that it was trained on; None if that is not known.
    `corrections` is the state of the corrections with which the findings were computed.
    """

    given: list[tuple[str, str]]
    labelled: list[tuple[str, str]]
    texts: PredictedTexts
    findings: list[Finding]
    strongest: list[Finding]
    leak: Leak | None
    corrections: str

    @property
    def shown(self) -> list[Finding]:
        """The shortcuts, or else the strongest words."""
        return self.findings or self.strongest


def shortcuts(sample: Sample, model: ModelFolder) -> Shortcuts | None:
    """The shortcuts of a model on a random sample; None if they were not computed yet.

    They may have been computed with other corrections of the labels, as `corrections` shows.
    """
    found = _shortcuts().get((sample.uncorrected, model))
    return found and found._replace(labelled=_corrected_pairs(found.given, sample.data))


def find_model_shortcuts(
    sample: Sample, model: ModelFolder, on_measured: Callable[[int, int], None]
) -> Shortcuts:
    """Finds the shortcuts of a model, and caches them; see `icaps.shortcuts.find`.

    Raises:
        DataError: The texts can't be read, have other classes, or have no word that it knows.
        NotAllowedError: The visitor exceeds the rate limit.
    """
    quotas.request()
    given = draw_sample(sample.uncorrected.open(), sample.limit, math.inf).pairs()
    labelled = _corrected_pairs(given, sample.data)
    read = predict_texts(models.load(model), labelled)
    findings = find_shortcuts(read, on_measured=on_measured)
    leak = seen_share(model.path, (text for text, _ in labelled))
    strongest = [] if findings else strongest_words(read)
    state = sample.data.corrections
    result = Shortcuts(given, labelled, read, findings, strongest, leak, state)
    _shortcuts().put((sample.uncorrected, model), result)
    return result


def _corrected_pairs(given: list[tuple[str, str]], data: DataKey) -> list[tuple[str, str]]:
    """Texts with their labels in data that may be opened with corrections."""
    labels = data.corrected_labels
    return (
        [(text, labels.get(text_hash(text), label)) for text, label in given] if labels else given
    )


@st.cache_resource
def _shortcuts() -> BoundedDict[tuple[Sample, ModelFolder], Shortcuts]:
    # Not cached by Streamlit, as a cached function can't move a progress bar.
    return BoundedDict(_SHORTCUTS)
