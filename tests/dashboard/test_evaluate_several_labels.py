"""The page Evaluate for models with several labels per text."""

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.evaluate import charts
from dashboard.evaluate.inputs import CALIBRATION, CLASSES, ERRORS, TABS_OF_SETS, TWO_MODELS
from dashboard.evaluate.several_labels import NAMES
from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import label_set
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.evaluate.misleading import total_set_contrasts
from icaps.evaluate.multilabel_compare import compare_multilabel
from icaps.evaluate.multilabel_scores import CurvePoint, precision_recall
from icaps.evaluate.report import MultilabelReport, make_report
from icaps.reports.charts import INK, image
from icaps.train.checkpoint_files import weights_fingerprint
from tests.conftest import TOPICS
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import errors
from tests.evaluate.test_label_set_predictions import labelled
from tests.several_labels import NORMS, with_thresholds

NAMES_OF_CLASSES = list(TOPICS)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def several(models: Path, classifier: ICapsClassifier) -> Path:
    """A model of several labels, and another that predicts more of them."""
    with_thresholds(classifier, (0.3, 0.3, 0.3)).save(models / "eager")
    with_thresholds(classifier, NORMS).save(models / "several")
    return models / "several"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "sets.jsonl"
    rows = [{"label": list(label_set(label) or ()), "text": text} for text, label in labelled()]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def report_of(model: Path, data: Path) -> MultilabelReport:
    texts = EvaluationData(data, "test", {})
    report = make_report(
        evaluate_data(ICapsClassifier.load(model), weights_fingerprint(model), texts)
    )
    assert isinstance(report, MultilabelReport)
    return report


@pytest.fixture
def report(several: Path, data: Path) -> MultilabelReport:
    return report_of(several, data)


def opened(data: Path, tab: str = "Scores", **address: str) -> AppTest:
    return open_page("evaluate", data=str(data), evaluate_tab=tab, model="several", **address)


def cards(at: AppTest) -> list[str]:
    return [c.value.replace("\\", "") for c in at.caption if c.value.startswith("Text ")]


def test_the_scores(report: MultilabelReport, data: Path) -> None:
    at = opened(data)
    assert not errors(at)
    assert [tab.label for tab in at.tabs] == list(TABS_OF_SETS)
    overall = report.scores.overall
    expected = {label: f"{overall[name].value:.2%}" for name, label in NAMES.items()}
    assert {metric.label: metric.value for metric in at.metric} == expected
    low, high = (100 * end for end in overall["micro_f1"][1:])
    assert at.metric[0].delta == f"{low:.1f} to {high:.1f}%"
    table = at.dataframe[0].value
    assert table["class"].tolist() == NAMES_OF_CLASSES
    own = report.scores.per_class[NAMES_OF_CLASSES[1]]
    row = table.iloc[1]
    assert (row["texts"], row["predicted"], row["threshold"]) == (own.texts, own.predicted, "50.0%")
    f1, average = own.f1, own.average_precision
    for shown, score in ((row["F1"], f1), (row["average precision"], average)):
        assert shown == f"{100 * score.value:.1f} ({100 * score.low:.1f}–{100 * score.high:.1f})"
    assert any("Shuffled, the same predictions have a micro F1" in c.value for c in at.caption)
    assert any("1 of them without a known word" in caption.value for caption in at.caption)


def test_a_class(report: MultilabelReport, data: Path) -> None:
    name = NAMES_OF_CLASSES[1]
    at = opened(data, CLASSES, actual=name)
    assert not errors(at)
    assert at.selectbox(key="actual").value == name
    own = report.scores.per_class[name]
    sentence = f"{own.texts:,} have the class, and {own.predicted:,} are predicted it"
    assert any(sentence in text.value.replace("\\", "") for text in at.markdown)
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown["Average precision"] == f"{own.average_precision.value:.2%}"
    assert shown["of a random order"] == f"{own.chance:.2%}"
    assert shown["Calibration error"] == f"{report.reliability(1).error.value:.2%}"
    at.toggle(key="table precision and recall").set_value(True)
    table = run(at).dataframe[0].value
    assert table["recall"].tolist() == [p.recall for p in precision_recall(report.predictions, 1)]


def test_calibration_and_selective_prediction(report: MultilabelReport, data: Path) -> None:
    own = report.predictions
    confidence = [
        np.prod([p if has else 1 - p for p, has in zip(*row, strict=True)])
        for row in zip(own.probabilities.tolist(), own.predicted.tolist(), strict=True)
    ]
    assert own.confidence == pytest.approx(confidence)
    at = opened(data, CALIBRATION, threshold="50")
    assert not errors(at)
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown["Calibration error"] == f"{report.set_reliability.error.value:.2%}"
    sure = own.confidence >= 0.5
    assert 0 < sure.sum() < len(sure)
    text = " ".join(text.value.replace("\\", "") for text in at.markdown)
    assert f"It predicts {sure.mean():.1%} of the texts" in text
    assert f"{own.correct[sure].mean():.2%} of these predictions have all labels right" in text
    assert f"it abstains, {own.correct[~sure].mean():.2%} have all labels right" in text


def test_the_words_that_misled(report: MultilabelReport, data: Path, models: Path) -> None:
    own = report.predictions
    at = opened(data, ERRORS)
    shown = at.dataframe[-1].value
    classifier = ICapsClassifier.load(models / "several")
    texts = report.evaluation.texts.take(own.errors)
    total = total_set_contrasts(classifier, texts, own.labels[own.errors])
    assert shown["word"].tolist() == total["word"][:10].tolist()
    assert shown["contrast"].tolist() == pytest.approx(total["contrast"][:10].tolist())
    number = int(np.argmax(own.counts.labels - own.counts.hits))
    at = opened(data, ERRORS, actual=own.classes[number])
    listed = at.dataframe[-1].value
    assert set(zip(listed["class"], listed["kind"], strict=True)) == {
        (own.classes[number], "missed")
    }


def test_the_texts_whose_labels_differ(report: MultilabelReport, data: Path) -> None:
    own = report.predictions
    at = opened(data, ERRORS)
    assert not errors(at)
    assert any(f"{len(own.errors)} texts, those with most wrong" in c.value for c in at.caption)
    numbers = [int(card.split(":")[0].split()[1]) for card in cards(at)]
    assert numbers == own.errors[: len(numbers)].tolist()
    first = own.errors[0]
    missed = own.labels[first] & ~own.predicted[first]
    for name in own.names(missed):
        chance = own.probabilities[first, own.classes.index(name)]
        assert f"{name} ({chance:.1%} of 50.0%)" in cards(at)[0]
    for name in own.names(own.predicted[first] & ~own.labels[first]):
        assert f"{name} (" in cards(at)[0]
    links = [link for link in at.get("page_link") if link.proto.label == "Open in Explain"]
    assert len(links) == len(numbers)


def test_missed_and_extra_classes(report: MultilabelReport, data: Path) -> None:
    own = report.predictions
    for j, name in enumerate(own.classes):
        for kind, rows in (("actual", own.missed(j)), ("taken", own.extra(j))):
            if not len(rows):
                continue
            at = opened(data, ERRORS, **{kind: name})
            assert not errors(at)
            numbers = [int(card.split(":")[0].split()[1]) for card in cards(at)]
            assert numbers == rows[:5].tolist()
            assert [b for b in at.get("download_button") if "CSV of all" in b.label]
    row, column = np.argwhere(own.swaps)[0].tolist()
    at = opened(data, ERRORS, actual=own.classes[row], taken=own.classes[column])
    numbers = [int(card.split(":")[0].split()[1]) for card in cards(at)]
    assert numbers == own.swapped(row, column)[:5].tolist()
    swaps = at.dataframe[1].value
    assert swaps["texts"].sum() == own.swaps.sum()
    at = opened(data, ERRORS, actual="gone")
    assert at.selectbox(key="actual").value == ""
    assert cards(at)


def test_two_models(report: MultilabelReport, models: Path, data: Path) -> None:
    second = report_of(models / "eager", data)
    at = opened(data, TWO_MODELS)
    assert not errors(at)
    assert at.selectbox(key="other").options == ["eager"]  # not the model of one label
    test = compare_multilabel(report.predictions, second.predictions)
    shown = {metric.label: metric.value for metric in at.metric}
    for name, label in NAMES.items():
        gain = test.differences[name].value
        assert shown[f"{label} of the second"] == f"{100 * gain:+.2f} points"
    assert at.dataframe[0].value["eager right"].tolist() == [test.both, test.only_second]


def test_learning_of_several_labels_is_not_that_of_one(data: Path) -> None:
    at = opened(data, "Learning")
    assert not errors(at)
    assert any("no two models of these classes" in caption.value for caption in at.caption)


def test_a_model_of_one_label_says_that_the_texts_have_several(data: Path) -> None:
    at = open_page("evaluate", data=str(data), model="small")
    (warning,) = at.warning
    assert "its texts have several labels, and small gives a text one" in warning.value
    assert not at.tabs


def test_the_chart_of_precision_and_recall(tmp_path: Path) -> None:
    curve = [CurvePoint(0.1, 0.4, 1.0), CurvePoint(0.5, 0.7, 0.6), CurvePoint(0.9, 1.0, 0.1)]
    table = charts.precision_recall_table(curve)
    assert isinstance(table, pd.DataFrame)
    for ink in INK.values():
        chart = charts.precision_recall_chart(table, curve[1], 0.3, ink)
        assert image(chart, "png")[:4] == b"\x89PNG"
    svg = io.BytesIO(image(charts.precision_recall_chart(table, curve[1], 0.3, "#000"), "svg"))
    assert b"random order" in svg.read()
