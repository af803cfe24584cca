"""Reports, notebooks and lines of a terminal on a text with several predicted classes."""

import io
import json
import re

import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.data.label_sets import format_label_set
from icaps.reports.files import FILE_FORMATS, ModelName
from icaps.reports.text_report import TextReport
from icaps.results import Explanation
from tests.reports.standalone import Page
from tests.several_labels import NORMS, mixed_texts, with_thresholds


@pytest.fixture(scope="module")
def several(classifier: ICapsClassifier) -> ICapsClassifier:
    return with_thresholds(classifier, NORMS)


@pytest.fixture(scope="module")
def two(several: ICapsClassifier) -> Explanation:
    return next(one for one in several.explain(mixed_texts()) if len(one.given_classes) == 2)


@pytest.fixture(scope="module")
def none(several: ICapsClassifier) -> Explanation:
    return next(several.explain(["the a and we"]))


def content(explanation: Explanation, kind: str) -> str:
    report = TextReport(explanation, ModelName("small", "0" * 64), ExplainOptions())
    return report.to_bytes(kind).decode()


def test_lines_for_a_terminal_have_an_account_of_each_class(two: Explanation) -> None:
    lines = two.to_text().split("\n")
    first, second = two.given_classes
    assert lines[0] == two.verdict
    totals = [line for line in lines if line.startswith("All together")]
    scores = [two.scores[two.classes.index(name)] for name in (first, second)]
    assert [float(line.split(": ")[1]) for line in totals] == pytest.approx(scores, abs=0.006)
    assert [line for line in lines if line.startswith(f"For {first}:")]
    assert [line for line in lines if line.startswith(f"For {second}:")]


def test_html_has_an_account_of_each_class_and_thresholds(two: Explanation) -> None:
    second = two.given_classes[1]
    for html in (content(two, "html"), two.to_html(), two._repr_html_()):
        assert two.account_html(of=second) in html
        assert f"What the words add for {second}" in html
        assert "<script" not in html
    page = " ".join(Page(content(two, "html").encode()).text.split())
    assert "Threshold" in page
    assert page.count("(predicted)") == 2


def test_markdown_has_a_table_of_each_class(two: Explanation) -> None:
    text = content(two, "markdown")
    for name in two.given_classes:
        assert f"From the bias to the score of {name}" in text
    assert re.search(r"\| Class \| Probability \| Threshold \| Norm \|", text)


def test_csv_has_the_classes_as_training_reads_them(two: Explanation, none: Explanation) -> None:
    for explanation in (two, none):
        table = pd.read_csv(io.StringIO(content(explanation, "csv").lstrip("\ufeff")))
        assert set(table["predicted"]) == {format_label_set(explanation.given_classes)}
        assert set(table["class"]) == {explanation.target}


def test_json_is_read_again(two: Explanation, none: Explanation) -> None:
    for explanation in (two, none):
        facts = json.loads(content(explanation, "json"))["explanation"]
        assert facts["predicted"] == list(explanation.given_classes)
        assert Explanation.from_dict(facts).given_classes == explanation.given_classes


@pytest.mark.parametrize("kind", FILE_FORMATS)
def test_a_text_without_a_class_has_a_report(none: Explanation, kind: str) -> None:
    assert content(none, kind)
    assert none.verdict.startswith("No class reaches its threshold; the most probable is")
    if kind in ("html", "markdown"):
        assert "No class reaches its threshold" in content(none, kind)


def test_one_label_has_no_thresholds(classifier: ICapsClassifier) -> None:
    (explanation,) = classifier.explain(["bread and butter"])
    for kind in ("html", "markdown"):
        assert "Threshold" not in content(explanation, kind)
        assert "What the words add for" not in content(explanation, kind)
