"""The page Evaluate and its charts."""

import dataclasses
import io
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import tasks, url_state
from dashboard.cache import at_once
from dashboard.evaluate import charts
from dashboard.evaluate.inputs import TABS
from dashboard.evaluate.view import PAGE
from dashboard.model_registry import SHIPPED
from dashboard.url_state import BY_KGRAMS, COUNTS, SHARES
from dashboard.widgets import downloads
from icaps.classifier import ICapsClassifier
from icaps.cli.main import make_parser
from icaps.evaluate.compare import compare
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.evaluate.learning_curve import Point
from icaps.evaluate.misleading import total_contrasts
from icaps.evaluate.report import EvaluationReport
from icaps.evaluate.selective import coverage_curve, select_at
from icaps.evaluate.slices import LENGTH, SAVED, UNKNOWN, score_slice
from icaps.explore.index import make_index
from icaps.explore.search import save_slice
from icaps.html import p_value
from icaps.reports.charts import INK, SELECTED, image
from icaps.reports.files import to_csv
from icaps.train.checkpoint_files import weights_fingerprint
from tests.conftest import MODEL, TRAIN, make_texts
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import errors, page_html, shown_text
from tests.explore.indexed import write

STRANGE = '=1+1 <b onclick="x">$x$</b> soup :sun: \ud83d'
OWN = [
    ("Sports", "The keeper saved a penalty and the visitors won the derby in stoppage time."),
    ("Business", "Shares of the grocer fell after it cut its profit forecast again."),
    ("Sci/Tech", "Engineers woke the probe, and its camera sent home pictures of the moon."),
    ("World", "Envoys from both capitals met at the border to talk of a truce."),
    ("World", "The striker sold his software start-up for millions before kick-off."),
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Texts of three topics, nine of them with a wrong label, and a training split."""
    texts, labels = make_texts(60, seed=4)
    texts[0] = STRANGE
    labels[:9] = labels[1:10]
    rows = list(zip(texts, labels, strict=True))
    return write(tmp_path / "data", train=rows[:30], test=rows)


def kept(model: Path, place: Path) -> EvaluationReport:
    """The evaluation as the command stores it."""
    classifier = ICapsClassifier.load(model)
    data = EvaluationData(place, "test", {})
    return EvaluationReport(evaluate_data(classifier, weights_fingerprint(model), data))


@pytest.fixture
def report(models: Path, data: Path) -> EvaluationReport:
    return kept(models / "small", data)


def opened(data: Path, tab: str = "Scores", **address: str) -> AppTest:
    return open_page("evaluate", data=str(data), evaluate_tab=tab, **address)


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def as_table(at: AppTest, name: str, place: int = -1) -> pd.DataFrame:
    at.toggle(key=f"table {name}").set_value(True)
    shown: pd.DataFrame = run(at).dataframe[place].value
    return shown


def cards(at: AppTest) -> list[str]:
    return [c.value for c in at.caption if c.value.startswith("Text ")]


class FakeTask:
    """A command that runs until the test ends it."""

    started: ClassVar[list[list[str]]] = []

    def __init__(self, arguments: Sequence[str]) -> None:
        self.started.append(list(arguments))
        self.running, self.failed, self.last_line = True, False, ""


def test_a_button_evaluates(data: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dashboard.tasks.Task", FakeTask)
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at = opened(data)
    assert not at.tabs
    at.button(key="task Evaluate small").click()
    assert "Evaluate small" in page_html(run(at))
    (arguments,) = FakeTask.started
    options = make_parser().parse_args(arguments)
    assert (options.model, options.data, options.part) == (
        str((models / "small").resolve()),
        str(data),
        "test",
    )
    ((_, task),) = tasks.started().items()
    kept(models / "small", data)
    task.running = False
    at = run(at)
    assert metrics(at)["Accuracy"]
    assert [tab.label for tab in at.tabs] == list(TABS)


@pytest.mark.parametrize("failed", [False, True])
def test_who_started_a_command_is_told_on_any_page_that_it_has_ended(
    data: Path, models: Path, monkeypatch: pytest.MonkeyPatch, failed: bool
) -> None:
    monkeypatch.setattr("dashboard.tasks.Task", FakeTask)
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at, other = opened(data), opened(data)
    at.button(key="task Evaluate small").click()
    run(at)
    assert "Evaluate small" in page_html(run(other))  # the same bar
    at.switch_page("../pages/capsules.py")
    assert not run(at).toast
    ((_, task),) = tasks.started().items()
    kept(models / "small", data)
    task.running, task.failed, task.last_line = False, failed, "icaps: it can't be done"
    (toast,) = run(at).toast
    found = re.sub(r"\\(.)|\u2060", r"\1", toast.value)
    assert found == (
        "it can't be done" if failed else f"small is evaluated on {data.name}: see Evaluate."
    )
    assert not run(at).toast  # once
    assert not run(other).toast


def test_few_texts_are_evaluated_without_a_button(data: Path, models: Path) -> None:
    at = opened(data)
    assert [tab.label for tab in at.tabs] == list(TABS)
    assert not [button for button in at.button if (button.key or "").startswith("task")]
    shown = metrics(at)["Accuracy"]
    assert shown == f"{kept(models / 'small', data).scores.accuracy.value:.2%}"


def test_the_scores(report: EvaluationReport, data: Path) -> None:
    at = opened(data)
    scores = report.scores
    assert metrics(at) == {
        "Accuracy": f"{scores.accuracy.value:.2%}",
        "Macro F1": f"{scores.macro['f1'].value:.2%}",
        "Macro recall": f"{scores.macro['recall'].value:.2%}",
        "Macro precision": f"{scores.macro['precision'].value:.2%}",
    }
    low, high = (100 * end for end in scores.accuracy[1:])
    assert at.metric[0].delta == f"{low:.1f} to {high:.1f}%"
    table = at.dataframe[0].value
    assert table["class"].tolist() == list(report.predictions.classes)
    f1 = scores.per_class["Sailing"]["f1"]
    assert table["F1"].iloc[2] == (f"{100 * f1.value:.1f} ({100 * f1.low:.1f}–{100 * f1.high:.1f})")
    slices = as_table(at, "slices")
    assert slices["accuracy"].tolist() == [part.accuracy.value for part in report.slices]
    assert any("Shuffled, the same predictions" in caption.value for caption in at.caption)


def test_saved_slices_are_scored(report: EvaluationReport, data: Path) -> None:
    index = make_index(data, {})
    save_slice(index, np.array([30, 31, 50]), "mine", {})  # of the test part
    table = as_table(opened(data), "slices")
    row = table[table["kind"] == "saved slice"].iloc[0]
    assert (row["slice"], row["texts"]) == ("mine", 3)


def test_the_confusion_matrix_and_its_texts(report: EvaluationReport, data: Path) -> None:
    predictions = report.predictions
    at = opened(data, "Confusion")
    mistakes = predictions.confusion - np.diag(predictions.confusion.diagonal())
    assert (
        mistakes.max()
        == predictions.confusion[
            predictions.classes.index(at.selectbox(key="actual").value),
            predictions.classes.index(at.selectbox(key="taken").value),
        ]
    )
    at.selectbox(key="actual").select("Gardens")
    at.selectbox(key="taken").select("Gardens")
    run(at)
    rows = predictions.cell(1, 1)
    assert f"{len(rows)} texts, the most confident predictions first" in [
        c.value for c in at.caption
    ]
    assert len(cards(at)) == PAGE
    assert f"Text {rows[0]} of class Gardens" in cards(at)[0]
    assert shown_text(at).startswith(report.evaluation.texts.take(rows[:1])[0])
    at.number_input(key="confusion page").set_value(2)
    assert f"Text {rows[PAGE]} of class" in cards(run(at))[0]
    at.segmented_control(key="cells show").set_value(SHARES)
    spec = json.loads(run(at).get("vega_lite_chart")[0].proto.spec)
    assert spec["layer"][0]["encoding"]["color"]["field"] == "share"
    table = as_table(at, "confusion", place=0)  # the words of the cell are below it
    assert table["texts"].sum() == 60


def test_a_click_in_the_matrix_picks_its_cell(
    report: EvaluationReport, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Picked:
        selection: ClassVar[dict[str, Any]] = {
            url_state.SELECTED: [{"class": "Sailing", "predicted": "Cooking"}]
        }

    session: Any = type("Session", (dict,), {"__setattr__": dict.__setitem__})(chart=Picked)
    monkeypatch.setattr("dashboard.url_state.st.session_state", session)
    url_state.pick_confusion("chart")
    assert (session["actual"], session["taken"]) == ("Sailing", "Cooking")


def test_calibration_and_the_threshold(report: EvaluationReport, data: Path) -> None:
    predictions = report.predictions
    at = opened(data, "Calibration", threshold="90")
    assert metrics(at)["Calibration error"] == f"{report.reliability.error.value:.2%}"
    assert at.slider(key="threshold").value == 90
    kept_texts = select_at(predictions.confidence, predictions.correct, 0.9)
    (sentence,) = [m.value for m in at.markdown if "It predicts" in m.value]
    assert f"{kept_texts.coverage:.1%}".replace(".", r"\.") in sentence
    assert len(at.get("vega_lite_chart")) == 2
    at.slider(key="threshold").set_value(100)
    sure = (predictions.confidence == 1).mean()  # rounded to that
    expected = rf"predicts {sure:.1%}".replace(".", r"\.") if sure else "abstains on all"
    assert any(expected in m.value for m in run(at).markdown)
    at.slider(key="threshold").set_value(0)
    assert any("predicts 100" in m.value for m in run(at).markdown)
    assert at.query_params["threshold"] == "0"


def test_the_errors(report: EvaluationReport, data: Path) -> None:
    rows = report.predictions.errors
    at = opened(data, "Errors")
    assert len(rows) >= 6
    assert [f"Text {row} of class" in card for row, card in zip(rows, cards(at), strict=False)]
    assert "its class" in cards(at)[0]
    at.number_input(key="errors page").set_value(-(-len(rows) // PAGE))
    run(at)
    assert not errors(at)


def test_the_words_that_misled(
    report: EvaluationReport, data: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files: dict[str, Any] = {}
    monkeypatch.setattr(
        downloads, "show_csv", lambda table, stem, *_, **__: files.update({stem: table})
    )
    classifier = ICapsClassifier.load(models / "small")
    rows = report.predictions.errors
    texts = report.evaluation.texts.take(rows)
    labels = [report.predictions.classes[n] for n in report.predictions.labels[rows]]
    totals = total_contrasts(classifier, texts, labels)
    totals = totals[totals["contrast"] > 0]
    at = opened(data, "Errors")
    shown = at.dataframe[0].value
    assert len(shown) == 10 < len(totals)
    for name in ("word", "predicted", "texts", "contrast", "share", "share of class"):
        assert shown[name].tolist() == totals[name].head(10).tolist()
    pd.testing.assert_frame_equal(files["words that misled"], totals)
    saved = files["errors"]()
    assert saved["text number"].tolist() == rows.tolist()
    (explanation,) = classifier.explain(texts[:1])
    columns = [explanation.classes.index(name) for name in (explanation.predicted, labels[0])]
    contrasts = explanation.account.shares[:, columns] @ [1, -1]
    top = explanation.words[int(contrasts.argmax())]
    assert texts[0][top.start : top.end] in saved["misled by"].iloc[0]
    # The card has the same: what words add to one class rather than to the other.
    assert f"{explanation.predicted} rather than {labels[0]}" in page_html(at)
    assert "K-grams covering the word" not in page_html(at)
    at.segmented_control(key="shaded").set_value(BY_KGRAMS)
    run(at)
    assert "K-grams covering the word" in page_html(at)
    assert "rather than" not in page_html(at)
    assert at.query_params["shaded"] == BY_KGRAMS


def test_the_words_of_right_predictions(report: EvaluationReport, data: Path) -> None:
    at = opened(data, "Confusion", actual="Gardens", taken="Gardens")
    (words,) = (frame.value for frame in at.dataframe)
    assert list(words) == ["word", "predicted", "texts", "share"]
    assert set(words["predicted"]) == {"Gardens"}
    assert words["share"].tolist() == sorted(words["share"], reverse=True)
    assert "rather than" not in page_html(at)
    assert page_html(at).count("icaps-account") == PAGE


def test_two_models(
    report: EvaluationReport, data: Path, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.tasks.Task", FakeTask)
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at = opened(data, "Two models", model="small")
    assert any("no other model" in caption.value for caption in at.caption)
    shutil.copytree(models / "small", models / "other")
    classifier = ICapsClassifier.load(models / "other")
    with pytest.MonkeyPatch.context():
        for weight in classifier.network_.parameters():
            weight.data *= 0.5
        classifier.save(models / "other")
    at = opened(data, "Two models", model="small")
    assert [button.key for button in at.button if button.key.startswith("task")] == [
        "task Evaluate other, too"
    ]
    other = kept(models / "other", data)
    found = compare(report.predictions, other.predictions)
    at = run(at)
    assert metrics(at)["McNemar’s p"] == p_value(found.p_value)
    assert metrics(at)["Accuracy of the second"] == f"{100 * found.accuracy.value:+.2f} points"
    table = at.dataframe[0].value
    assert table.iloc[:, 1:].to_numpy().tolist() == [
        [found.both, found.only_first],
        [found.only_second, found.neither],
    ]
    assert at.query_params["other"] == "other"


def test_the_learning_curve(report: EvaluationReport, data: Path, models: Path) -> None:
    at = opened(data, "Learning", model="small")
    assert any("no two models" in caption.value for caption in at.caption)
    shutil.copytree(models / "small", models / "less")
    path = models / "less" / "metrics.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"training_texts": 100}))
    table = as_table(opened(data, "Learning", model="small"), "learning")
    assert table["name"].tolist() == ["less", "small"]


def test_a_link_reopens_the_evaluation(report: EvaluationReport, data: Path, models: Path) -> None:
    address = {
        "part": "test",
        "evaluate_tab": "Confusion",
        "actual": "Sailing",
        "taken": "Cooking",
        "threshold": "40",
        "model": "small",
        "other": "",
    }
    at = open_page("evaluate", data=str(data), **address)
    weights = weights_fingerprint(models / "small")[:8]
    assert at.query_params == {"data": str(data), **address, "weights": weights}
    assert at.selectbox(key="actual").value == "Sailing"
    at.query_params["evaluate_tab"] = "Errors"
    at.query_params["taken"] = "Gardens"
    run(at)
    assert cards(at)
    assert at.query_params["evaluate_tab"] == "Errors"
    assert "confusion" not in at.session_state


@pytest.mark.parametrize(
    "address",
    [{"part": "x"}, {"actual": "Stars"}, {"evaluate_tab": "<b>"}, {"threshold": "101"}],
)
def test_a_wrong_address_is_ignored(
    report: EvaluationReport, data: Path, address: dict[str, str]
) -> None:
    for tab in ("Confusion", "Calibration"):
        at = open_page("evaluate", data=str(data), **{"evaluate_tab": tab, **address})
        assert not errors(at)


def test_the_training_split(
    report: EvaluationReport, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at = opened(data)
    at.selectbox(key="part").select("train")
    run(at)
    assert not at.tabs  # it was not evaluated
    assert at.query_params["part"] == "train"


def test_strange_texts_are_shown_as_they_are(report: EvaluationReport, data: Path) -> None:
    predictions = report.predictions
    address = {
        "actual": predictions.classes[predictions.labels[0]],
        "taken": predictions.classes[predictions.predicted[0]],
    }
    rows = predictions.cell(int(predictions.labels[0]), int(predictions.predicted[0]))
    at = opened(data, "Confusion", **address)
    while "=1+1" not in shown_text(at):
        page = at.number_input(key="confusion page")
        assert page.value < -(-len(rows) // PAGE)
        page.set_value(page.value + 1)
        run(at)
    frame = pd.read_csv(io.BytesIO(to_csv(report.table([0]))))
    assert frame["text"].iloc[0].startswith("'=1+1")


def test_an_error_is_shown_for_a_damaged_evaluation(report: EvaluationReport, data: Path) -> None:
    (report.evaluation.folder / "facts.json").write_text("{")
    assert "Delete the folder" in errors(opened(data))[0]


def test_own_sentences_with_the_shipped_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ICAPS_MODELS", str(SHIPPED))
    path = tmp_path / "own.csv"
    pd.DataFrame(OWN, columns=["label", "text"]).to_csv(path, index=False)
    report = kept(SHIPPED / "ag_news", path)
    at = opened(path, model="ag_news")
    assert metrics(at)["Accuracy"] == f"{report.scores.accuracy.value:.2%}"
    at = opened(path, "Errors", model="ag_news")
    assert len(cards(at)) == len(report.predictions.errors)


@pytest.mark.parametrize("ink", INK.values())
def test_every_chart_can_be_drawn(report: EvaluationReport, ink: str) -> None:
    predictions = report.predictions
    kept_texts = select_at(predictions.confidence, predictions.correct, 0.8)
    cells = charts.confusion_table(predictions.confusion, predictions.classes)
    points = [
        Point("a", "a", 100, 1, 0.8, None, 0),
        Point("b", "a", 200, 1, 0.9, 0.7, 10),
    ]
    drawn = [
        charts.confusion_chart(cells, COUNTS, ("Sailing", "Cooking"), ink),
        charts.confusion_chart(cells, SHARES, ("Sailing", "Cooking"), ink),
        charts.reliability_chart(charts.reliability_table(report.reliability), ink),
        charts.selective_chart(charts.selective_table(report.coverage), kept_texts, 0.8, ink),
        charts.slice_chart(charts.slice_table(report.slices), ink),
        charts.learning_chart(charts.learning_table(points), "validation accuracy", ink),
    ]
    for chart in drawn:
        assert len(image(chart.properties(width=300), "svg")) > 2_000


def large_confusion() -> pd.DataFrame:
    """Of 150 classes with ten texts each, of which class 3 has seven as class 5, class 9 one."""
    counts = 10 * np.eye(150, dtype=np.int64)
    counts[3, [3, 5]] = 3, 7
    counts[9, [9, 8]] = 9, 1
    return charts.confusion_table(counts, [f"class {number}" for number in range(150)])


def test_confusions_come_by_their_number() -> None:
    found = charts.confusions(large_confusion())
    assert found.to_numpy().tolist() == [
        ["class 3", "class 5", 7, 0.7],
        ["class 9", "class 8", 1, 0.1],
    ]


@pytest.mark.parametrize("ink", INK.values())
def test_a_matrix_of_many_classes_has_a_place_per_class_and_can_be_zoomed(ink: str) -> None:
    chart = charts.confusion_chart(large_confusion(), COUNTS, ("class 3", "class 5"), ink)
    plain = chart.to_dict()
    (cells,) = (rows for rows in plain["datasets"].values() if "column_end" in rows[0])
    assert len(cells) == 152  # empty ones are left out
    (cell,) = (row for row in cells if row["texts"] == 7)
    assert (cell["row"], cell["row_end"], cell["column"], cell["column_end"]) == (3, 4, 5, 6)
    assert {"zoom", SELECTED} <= {param["name"] for param in plain["params"]}
    assert len(image(chart.properties(width=300), "svg")) > 2_000


def test_shares_of_the_confusion_are_of_rows() -> None:
    table = charts.confusion_table(np.array([[8, 2], [0, 0]]), ("a", "b"))
    assert table["share"].tolist() == [0.8, 0.2, 0, 0]
    assert table["texts"].tolist() == [8, 2, 0, 0]


def test_points_of_few_texts_are_not_drawn() -> None:
    """One of a thousand texts that is wrong, and a slice of three texts."""
    random = np.random.default_rng(0)
    confidence, correct = random.uniform(0.5, 0.9, 1_000), np.ones(1_000, bool)
    confidence[0], correct[0] = 0.99, False
    table = charts.selective_table(coverage_curve(confidence, correct))
    assert table["accuracy"].min() == 0
    chart = charts.selective_chart(table, select_at(confidence, correct, 0), 0.999, "#000000")
    drawn = pd.DataFrame(next(iter(chart.to_dict()["datasets"].values())))
    assert drawn["accuracy"].min() > 0.85
    few = np.arange(1_000) < 3
    parts = [
        score_slice(kind, name, correct, mask)
        for kind, name, mask in (
            (LENGTH, "all", np.ones(1_000, bool)),
            (UNKNOWN, "few", few),
            (SAVED, "mine", few),
        )
    ]
    table = charts.slice_table(parts)
    columns = "kind,slice,texts,accuracy,low,high,random from,random to,than random ones"
    assert list(table) == columns.split(",")  # of the CSV file, which scripts may read
    chart = charts.slice_chart(table, "#000000")
    (shown,) = chart.to_dict()["datasets"].values()
    assert [row["slice"] for row in shown] == ["all", "mine"]


@pytest.fixture
def trained_on(models: Path, tmp_path: Path) -> Path:
    """A file of texts, and a model `own` that was trained on it."""
    texts, labels = make_texts(150, seed=5)
    path = tmp_path / "own.csv"
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    train = dataclasses.replace(TRAIN, epochs=2)
    ICapsClassifier(MODEL, train, device="cpu").fit(texts, labels).save(models / "own")
    return path


def evaluate_as_the_page_does(model: Path, data: Path, part: str) -> EvaluationReport:
    classifier = ICapsClassifier.load(model)
    texts = EvaluationData(data, part, {}, model)
    return EvaluationReport(evaluate_data(classifier, weights_fingerprint(model), texts))


def test_scores_on_the_training_file_are_of_the_held_out_part(
    models: Path, trained_on: Path
) -> None:
    model = models / "own"
    held_out = evaluate_as_the_page_does(model, trained_on, "held_out")
    assert held_out.scores.plain["n"] == 15
    everything = evaluate_as_the_page_does(model, trained_on, "train")
    page = opened(trained_on, model="own")
    split = page.selectbox(key="part")
    assert split.value == "held_out"
    assert split.options == ["held out of the training (15 texts)", "all texts"]
    assert f"{held_out.scores.accuracy.value:.2%}" in metrics(page).values()
    assert any("No weight was fitted to these 15 texts" in c.value for c in page.caption)
    assert not page.warning

    split.set_value("train")
    run(page)
    told = "135 of 150 texts (90%) were in this model's training; scores on them say little."
    assert page.warning[0].value == f"{told} Use the held-out 15."
    assert f"{everything.scores.accuracy.value:.2%}" in metrics(page).values()
    (button,) = (button for button in page.button if button.label == "Use the held-out 15")
    button.click()
    run(page)
    assert page.selectbox(key="part").value == "held_out"
    assert not page.warning
    assert f"{held_out.scores.accuracy.value:.2%}" in metrics(page).values()


def test_a_link_to_all_texts_is_followed(models: Path, trained_on: Path) -> None:
    evaluate_as_the_page_does(models / "own", trained_on, "train")
    page = opened(trained_on, model="own", part="train")
    assert page.selectbox(key="part").value == "train"
    assert len(page.warning) == 1


def test_it_says_if_the_texts_of_the_training_are_not_known(models: Path, trained_on: Path) -> None:
    (models / "own" / "texts.safetensors").unlink()
    evaluate_as_the_page_does(models / "own", trained_on, "train")
    page = opened(trained_on, model="own")
    words = "Whether this model was trained on these texts is not known"
    assert any(words in caption.value for caption in page.caption)
    assert "part" not in [box.key for box in page.selectbox]
