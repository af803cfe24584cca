"""The card of a model."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.text_hash import text_hash
from icaps.errors import ConfigError, DataError
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.evaluate.leakage import Leak
from icaps.evaluate.report import EvaluationReport
from icaps.interpret.global_view import load_view
from icaps.reports.card_faithfulness import (
    RANKINGS,
    measure_coverage,
    measure_faithfulness,
    read_faithfulness,
)
from icaps.reports.files import FILE_FORMATS, rounded, to_json
from icaps.reports.global_report import GlobalReport
from icaps.reports.model_card import EvaluatedData, ModelCard, evaluated_data, make_card
from icaps.train.checkpoint_files import weights_fingerprint
from tests.reports.standalone import Page


@pytest.fixture(scope="module")
def evaluated(classifier: ICapsClassifier, model_folder: Path, data_file: Path) -> EvaluationReport:
    weights = weights_fingerprint(model_folder)
    data = EvaluationData(data_file, "test", {})
    return EvaluationReport(evaluate_data(classifier, weights, data))


@pytest.fixture(scope="module")
def view(classifier: ICapsClassifier, interpreted: Path) -> GlobalReport:
    found = load_view(interpreted, len(classifier.classes_), classifier.model.num_capsules)
    assert found is not None
    return GlobalReport(classifier, found)


@pytest.fixture(scope="module")
def faithfulness(classifier: ICapsClassifier, evaluated: EvaluationReport) -> dict[str, object]:
    return measure_faithfulness(classifier, evaluated.evaluation, 6)


def make(classifier: ICapsClassifier, folder: Path, *parts: object) -> ModelCard:
    return make_card(classifier, folder, *parts)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def card(
    classifier: ICapsClassifier,
    interpreted: Path,
    data_file: Path,
    evaluated: EvaluationReport,
    view: GlobalReport,
    faithfulness: dict[str, object],
) -> ModelCard:
    tested = EvaluatedData(str(data_file), "test", evaluated)
    return make(classifier, interpreted, tested, view, faithfulness)


def test_its_numbers_are_the_librarys(
    card: ModelCard, evaluated: EvaluationReport, view: GlobalReport, classifier: ICapsClassifier
) -> None:
    facts = card.facts
    assert facts["evaluation"]["accuracy"] == round(evaluated.predictions.correct.mean(), 6)
    assert facts["evaluation"]["confusion"] == evaluated.predictions.confusion.tolist()
    assert facts["evaluation"]["calibration"] == rounded(evaluated.reliability.to_dict())
    assert facts["capsules"]["frequency"] == view.view.tally.frequency.tolist()
    assert facts["capsules"]["rows"][0]["shuffled_top_1"] is not None
    assert facts["data"]["classes"] == {"Cooking": 40, "Gardens": 40, "Sailing": 40}
    assert facts["data"]["words"]["median"] == np.median(evaluated.evaluation.words)
    assert facts["numbers"] == sum(v.numel() for v in classifier.network_.state_dict().values())
    known = facts["training"]["training_classes"]
    assert sum(known.values()) == facts["training"]["training_texts"] == 324
    assert {row["ranking"] for row in facts["faithfulness"]["rows"]} == set(RANKINGS)


def test_how_much_of_the_score_kgrams_carry(
    card: ModelCard, evaluated: EvaluationReport, classifier: ICapsClassifier
) -> None:
    texts = evaluated.evaluation.texts.take(np.arange(len(evaluated.evaluation.texts)))
    coverage = card.facts["coverage"]
    assert coverage["texts"] == len(texts) == 120
    shown = " ".join(card.to_bytes("markdown").decode().split())
    numbers = card.to_bytes("csv").decode("utf-8-sig")
    for row, ranking in zip(coverage["rankings"], ("routing", "account"), strict=True):
        explained = list(classifier.explain(texts, ranking=ranking))
        expected = {
            "covered": np.mean([one.covered for one in explained]),
            "bias": np.mean([one.bias / one.score for one in explained]),
            "words": np.mean([np.mean([w.count > 0 for w in one.words]) for one in explained]),
        }
        assert row["ranking"] == ranking
        assert {name: row[name]["mean"] for name in expected} == pytest.approx(expected, abs=2e-6)
        mean, low, high = row["covered"].values()
        assert low < mean < high
        assert f"carry {mean:.0%}" in shown
        assert f"are {row['words']['mean']:.0%} of the words" in shown
        assert f'"reasons","K-grams by {ranking}","covered",{mean},{low},{high}' in numbers
    few = measure_coverage(classifier, evaluated.evaluation, limit=7, seed=3)
    assert few["texts"] == 7
    assert few == measure_coverage(classifier, evaluated.evaluation, limit=7, seed=3)
    assert few != measure_coverage(classifier, evaluated.evaluation, limit=7, seed=4)


def test_the_page_loads_nothing_and_each_id_is_there_once(card: ModelCard) -> None:
    content = card.to_bytes("html")
    page = Page(content)
    assert content.count(b"<svg") == 4  # two charts, each for light and dark pages
    assert page.used == set(page.ids)
    assert len(page.ids) == len(set(page.ids)) > 1
    for part in ("How good it is", "Limits", "Comprehensiveness", "shuffles"):
        assert part in page.text


@pytest.mark.parametrize("kind", FILE_FORMATS)
def test_it_is_the_same_whenever_it_is_made(
    kind: str,
    card: ModelCard,
    classifier: ICapsClassifier,
    interpreted: Path,
    data_file: Path,
    evaluated: EvaluationReport,
    view: GlobalReport,
    faithfulness: dict[str, object],
) -> None:
    """Also where only the folder that the data lies in is another."""
    tested = EvaluatedData(data_file.name, "test", evaluated)
    again = make(classifier, interpreted, tested, view, faithfulness)
    assert again.to_bytes(kind) == card.to_bytes(kind)


def test_json_tells_all_that_the_page_does(card: ModelCard) -> None:
    facts = json.loads(card.to_bytes("json"))
    assert to_json(facts) == card.to_bytes("json")
    again = ModelCard(facts, card.pictures)
    assert sorted(again.to_bytes("html")) == sorted(card.to_bytes("html"))  # but for the order


def test_csv_has_each_number_with_its_interval_and_control(card: ModelCard) -> None:
    content = card.to_bytes("csv").decode("utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(content, newline="")))
    (accuracy,) = (r for r in rows if (r["part"], r["what"]) == ("evaluation", "accuracy"))
    evaluation = card.facts["evaluation"]
    assert float(accuracy["value"]) == evaluation["accuracy"]
    assert [float(accuracy[n]) for n in ("low", "high")] == evaluation["intervals"]["accuracy"]
    assert float(accuracy["control"]) == evaluation["chance"]["accuracy"]
    wins = sum(int(row["value"]) for row in rows if row["part"] == "C")
    assert wins == card.facts["capsules"]["texts"]


def test_what_was_not_done_is_said(
    classifier: ICapsClassifier, model_folder: Path, data_file: Path, evaluated: EvaluationReport
) -> None:
    tested = EvaluatedData(str(data_file), "test", evaluated)
    bare = make(classifier, model_folder, tested, None, None)
    text = Page(bare.to_bytes("html")).text
    assert "Capsule statistics were not computed" in text
    assert "This was not measured" in text
    assert bare.facts["training_command"] is None
    for kind in FILE_FORMATS:
        assert bare.to_bytes(kind)


def test_names_of_classes_are_shown_as_they_are(card: ModelCard) -> None:
    hostile = "<script>alert(1)</script>"
    facts = json.loads(card.to_bytes("json").decode().replace("Cooking", hostile))
    content = ModelCard(facts, card.pictures).to_bytes("html")
    assert b"<script" not in content
    assert hostile in Page(content).text
    assert "<script" not in ModelCard(facts).to_bytes("markdown").decode().replace(r"\<script", "")


def test_files_are_written(card: ModelCard, tmp_path: Path) -> None:
    card.write(tmp_path / "new")
    for name, kind in FILE_FORMATS.items():
        file = tmp_path / "new" / f"model_card.{kind.suffix}"
        assert file.read_bytes() == card.to_bytes(name)


def test_faithfulness_of_a_file(faithfulness: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "faithfulness.json"
    path.write_text(json.dumps({**faithfulness, "model": "x"}))
    names = ("texts", "blank", "seed", "rows", "verdicts")
    assert read_faithfulness(path) == {name: faithfulness[name] for name in names}
    for damage in (
        "{",
        "[]",
        '{"rows": 3}',
        json.dumps({**faithfulness, "rows": [{"ranking": "x"}]}),
    ):
        path.write_text(damage)
        with pytest.raises(DataError, match="is not the output of `icaps faithfulness --json`"):
            read_faithfulness(path)


def test_a_limit_is_a_number_of_texts(
    classifier: ICapsClassifier, evaluated: EvaluationReport
) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        measure_faithfulness(classifier, evaluated.evaluation, 0)


def test_it_warns_of_texts_that_were_trained_on(
    classifier: ICapsClassifier, model_folder: Path, data_file: Path, evaluated: EvaluationReport
) -> None:
    leak = Leak(120, 90, 30)
    data = evaluated_data("own.csv", data_file, "train", evaluated, leak)
    assert data.part == ""
    made = make(classifier, model_folder, data, None, None)
    assert made.facts["leak"]["training"] == 90
    told = "90 of 120 texts (75%) were in this model's training; scores on them say little."
    assert told in made.to_bytes("markdown").decode().replace("\n", " ")
    held_out = evaluated_data("own.csv", data_file, "held_out", evaluated, Leak(30, 0, 30))
    page = make(classifier, model_folder, held_out, None, None).to_bytes("markdown").decode()
    assert "were held out of the training" in page
    assert "--part held_out" in page
    assert told not in page


def test_corrected_labels_are_counted(
    classifier: ICapsClassifier,
    model_folder: Path,
    data_file: Path,
    evaluated: EvaluationReport,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = evaluated.evaluation.texts.take(np.array([0]))[0]
    labels = set(evaluated.predictions.classes)
    number = int(evaluated.predictions.labels[0])
    other = sorted(labels - {evaluated.predictions.classes[number]})[0]
    evaluation = evaluated.evaluation.with_corrections({text_hash(text): other}, "a name")
    monkeypatch.setitem(classifier.metrics_, "corrected_texts", 1_234)
    file = str(data_file.with_name("my corrections.jsonl"))
    data = evaluated_data(
        str(data_file), data_file, "test", EvaluationReport(evaluation), corrections=file
    )
    card = make(classifier, model_folder, data, None, None)
    count = evaluation.corrected
    assert count >= 1
    assert (card.facts["data"]["corrected"], card.facts["evaluation"]["corrected"]) == (count,) * 2
    assert "--corrections 'my corrections.jsonl'" in card.facts["commands"][0]
    for kind in ("markdown", "html"):
        page = " ".join(card.to_bytes(kind).decode().split())
        assert f"The labels of {count} of them are corrected." in page
        assert "The labels of 1,234 of its training texts are corrected." in page
