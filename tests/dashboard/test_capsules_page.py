"""The pages of capsules and queries, without a browser."""

import csv
import json
import os
import re
import shutil
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import tasks
from dashboard.capsules import inputs
from dashboard.widgets.data_picker import PATH
from icaps.classifier import ICapsClassifier
from icaps.data import news_sample
from icaps.interpret import tables
from icaps.interpret.corpus import Tally
from icaps.interpret.global_view import load_view
from icaps.reports.global_report import GlobalReport
from icaps.runs.folder import DONE, Request, RunFolder, Status
from icaps.train.checkpoint_files import CAPSULES
from tests.dashboard import visitor
from tests.dashboard.visitor import choose, open_app, page_html, run
from tests.interpret.test_global_view import without_shares


@pytest.fixture
def folder(models: Path, interpreted: Path) -> Path:
    """The only model, with capsule statistics."""
    shutil.rmtree(models / "small")
    shutil.copytree(interpreted, models / "seen")
    return models / "seen"


@pytest.fixture
def report(folder: Path, classifier: ICapsClassifier) -> GlobalReport:
    view = load_view(folder, 3, 6)
    assert view is not None
    return GlobalReport(classifier, view)


def open_page(name: str, **address: str) -> AppTest:
    at = AppTest.from_file(str(visitor.HOME), default_timeout=30)
    at.query_params.update(address)
    at.switch_page(f"../pages/{name}.py")
    return run(at)


def open_tab(at: AppTest, name: str) -> AppTest:
    at.session_state["capsule_tab"] = name
    return run(at)


def as_table(at: AppTest, label: str, n: int = 0) -> Any:
    """The table of a chart, after its toggle was switched on."""
    at.toggle(key=f"table {label}").set_value(True)
    return run(at).dataframe[n].value


def chart(at: AppTest, n: int = 0) -> dict[str, Any]:
    return json.loads(at.get("vega_lite_chart")[n].proto.spec)


def address_of(at: AppTest) -> dict[str, str]:
    """The address, which has the hash of the weights as well."""
    address = dict(at.query_params)
    assert address.pop("weights")
    return address


def example(at: AppTest) -> str:
    """The first text of the card, as it is read."""
    html = page_html(at).split('icaps-attention" dir="auto">')[1].split("</div>")[0]
    return unescape(re.sub("<[^>]+>", "", html))


def most_used(tally: Tally) -> tuple[int, int]:
    j, i = np.unravel_index(tally.frequency.argmax(), tally.frequency.shape)
    return int(j), int(i)


def test_without_capsule_statistics_a_button_counts_them(
    models: Path, data_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the data of the training, if the folder says what that was."""
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(tasks, "start", started.append)
    arguments = ("train", "--data", str(data_file))
    run_folder = RunFolder(models / "small")
    run_folder.write_request(Request(arguments, str(models)))
    run_folder.write_status(Status(DONE))
    for name in ("capsules", "queries"):
        at = open_page(name)
        assert at.text_input(key="counted path").value == str(data_file)
        assert not at.get("vega_lite_chart")
        at.button(key="task Count what the capsules of small do").click()
        run(at)
        command = started.pop()
        assert command[0] == "interpret"
        options = dict(zip(command[1::2], command[2::2], strict=False))
        assert options["--model"] == str(models / "small")
        assert options["--data"] == str(data_file)


def test_the_facts_of_the_matrix(report: GlobalReport) -> None:
    at = open_page("capsules")
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown["Capsules alive"] == f"{report.facts['alive']} of 6"
    assert shown["Purity"] == f"{report.facts['purity']:.1%}"
    assert shown["Accuracy"] == f"{report.facts['accuracy']:.1%}"
    assert any("Counted over 120 test texts" in caption.value for caption in at.caption)
    cells = as_table(at, "C")
    assert cells["count"].sum() == 120
    assert cells.columns.tolist()[:3] == ["class", "capsule", "name"]


def test_a_cell_shows_its_words(report: GlobalReport) -> None:
    j, i = most_used(report.view.tally)
    name = report.classes[j]
    at = open_page("capsules", model="seen", capsule=str(i), words_by="count")
    at = choose(at, "cell_class", name)
    address = {"model": "seen", "capsule": str(i), "cell_class": name, "words_by": "count"}
    assert address_of(at) == address
    at.slider(key="lambda words").set_value(1.0)
    at.toggle(key="all words").set_value(True)
    table = as_table(run(at), f"words of capsule {i}")
    expected = tables.words(report.view.tally, report.classifier.vocabulary_, [(j, i)])
    assert table.to_dict("list") == expected.to_dict("list")
    open_tab(at, "K-grams")
    at.slider(key="lambda kgrams").set_value(1.0)
    at.toggle(key="all kgrams").set_value(True)
    table = as_table(run(at), f"kgrams of capsule {i}")
    expected = tables.kgrams(report.view.tally, report.classifier.vocabulary_, [(j, i)])
    assert table["kgram"].tolist() == expected["kgram"].tolist()


def test_words_are_shown_by_share(report: GlobalReport) -> None:
    j, i = most_used(report.view.tally)
    at = open_page("capsules", model="seen", capsule=str(i), cell_class=report.classes[j])
    assert address_of(at) == {"model": "seen", "capsule": str(i), "cell_class": report.classes[j]}
    assert chart(at, 2)["layer"][0]["encoding"]["x"]["field"] == "share"
    for kind, tab, items in (
        ("words", "Words", report.words_by_share),
        ("kgrams", "K-grams", report.kgrams_by_share),
    ):
        open_tab(at, tab)
        at.slider(key=f"lambda {kind}").set_value(1.0)
        at.toggle(key=f"all {kind}").set_value(True)
        table = as_table(run(at), f"{kind} of capsule {i}")
        expected = items((j, i), top=20).sort_values("share", ascending=False, kind="stable")
        assert table.to_dict("list") == expected.to_dict("list")  # as the bars are long
    shown = {metric.label: metric.value for metric in at.metric}
    assert 1 <= float(shown["Capsules per text"]) <= 6


def test_what_adds_to_each_class(report: GlobalReport) -> None:
    at = open_page("capsules", model="seen")
    at.session_state["reasons"] = True
    tables_ = [frame.value for frame in run(at).dataframe]
    (table,) = [one for one in tables_ if "kgrams" in one.columns]
    assert table.to_dict("list") == report.class_reasons.to_dict("list")


def test_a_view_of_an_older_version_shows_counts(folder: Path, report: GlobalReport) -> None:
    without_shares(folder)
    at = open_page("capsules", model="seen", cell_value="score_share")
    assert at.selectbox(key="cell_value").value == "count"
    assert tables.SCORE_SHARE not in at.selectbox(key="cell_value").options
    assert any("Count again" in caption.value for caption in at.caption)
    assert "Capsules per text" not in {metric.label for metric in at.metric}
    assert chart(at, 2)["layer"][0]["encoding"]["x"]["field"] == "count"
    at.session_state["recount"] = True
    assert "older version" in " ".join(line.value for line in run(at).markdown)
    assert at.button(key="task Count what the capsules of seen do")


def test_an_empty_cell_says_so(report: GlobalReport) -> None:
    j, i = np.argwhere(report.view.tally.frequency == 0)[0].tolist()
    name = report.classes[j]
    at = open_page("capsules", model="seen", capsule=str(i), cell_class=name, words_by="count")
    assert "nothing to count" in at.info[0].value
    at.session_state["texts_by"] = "Contribution"
    assert "won no such text" in open_tab(at, "Typical texts").info[0].value


@pytest.mark.parametrize(
    "address",
    [
        {"capsule": "99"},
        {"capsule": "-1"},
        {"capsule": "9" * 5_000},
        {"capsule": "two"},
        {"cell_class": "<script>"},
        {"capsule": "3", "cell_class": ""},
    ],
)
def test_a_wrong_address_is_ignored(report: GlobalReport, address: dict[str, str]) -> None:
    at = open_page("capsules", model="seen", **address)
    largest = int(report.view.tally.frequency.sum(0).argmax())
    right = int(address["capsule"]) if address.get("capsule") == "3" else largest
    assert at.selectbox(key="capsule").value == right
    assert at.selectbox(key="cell_class").value == "every class"


@pytest.mark.parametrize("value", list(tables.VALUES))
@pytest.mark.parametrize("order", ["class", "size", "clustered", "number"])
def test_every_value_and_order_of_the_heatmap(report: GlobalReport, value: str, order: str) -> None:
    at = open_page("capsules", model="seen")
    at.selectbox(key="cell_value").select(value)
    at.selectbox(key="columns").select(order)
    spec = chart(run(at))
    assert spec["layer"][0]["encoding"]["color"]["field"] == value


def test_typical_texts_open_in_explain(report: GlobalReport, data_file: Path) -> None:
    j, i = most_used(report.view.tally)
    first = report.view.tally.typical[j, i][0]
    at = open_page("capsules", model="seen", capsule=str(i), cell_class=report.classes[j])
    at.session_state["texts_by"] = "Contribution"
    open_tab(at, "Typical texts")
    with data_file.open(encoding="utf-8") as file:
        text, label = list(csv.reader(file))[1 + first.number]
    assert example(at).startswith(text)
    assert f"Text {first.number}, class {label}" in page_html(at)
    at.button(key=f"open largest {first.number}").click()
    run(at)
    assert at.title[0].value == "Why this class?"
    assert at.text_area(key="text").value == text


def test_typical_texts_without_the_data(folder: Path) -> None:
    path = folder / "global_view" / "view.json"
    facts = json.loads(path.read_text())
    facts["origin"]["source"] = "elsewhere.csv"
    path.write_text(json.dumps(facts))
    at = open_page("capsules", model="seen")
    at.session_state["texts_by"] = "Contribution"
    assert "not on this machine" in open_tab(at, "Typical texts").info[0].value
    assert not at.error
    at.session_state["texts_by"] = "Routing"  # of these there are excerpts
    assert "High routing" in page_html(run(at))
    (folder / "global_view" / "texts.json").unlink()
    facts["blank"] += 0  # the view is read again
    path.write_text(json.dumps(facts))
    assert "not on this machine" in run(at).info[0].value


def test_texts_of_high_middle_and_low_routing(report: GlobalReport) -> None:
    i = most_used(report.view.tally)[1]
    at = open_tab(open_page("capsules", model="seen", capsule=str(i)), "Typical texts")
    routing = report.view.routing
    assert routing is not None
    html = page_html(at)
    for level, some in routing.levels[i].items():
        assert (f"{level.capitalize()} routing" in html) == bool(some)
        for text in some:
            excerpt = routing.excerpts[i, text.number]
            assert f"Text {text.number}, class {excerpt.label}" in html
            assert f"β {text.routing:.3f} to {report.served_classes[i]}" in html
    first = routing.levels[i]["high"][0]
    assert example(at) == routing.excerpts[i, first.number].text
    at.button(key=f"open high {i} {first.number}").click()
    run(at)
    assert at.text_area(key="text").value == routing.excerpts[i, first.number].text


def test_without_the_counted_texts_those_of_the_package_are_shown(
    folder: Path, report: GlobalReport, monkeypatch: pytest.MonkeyPatch, data_file: Path
) -> None:
    (folder / "global_view" / "texts.json").unlink()
    path = folder / "global_view" / "view.json"
    facts = json.loads(path.read_text())
    facts["origin"]["source"] = "ag_news"
    path.write_text(json.dumps(facts))
    monkeypatch.setattr(news_sample, "CLASSES", tuple(report.classes))
    monkeypatch.setattr(news_sample, "FILE", data_file)
    at = open_tab(open_page("capsules", model="seen"), "Typical texts")
    assert any("that come with iCaps" in caption.value for caption in at.caption)
    assert "High routing" in page_html(at)
    assert at.button(key="task Download ag_news")
    at.session_state["texts_by"] = "Contribution"
    assert "not on this machine" in run(at).info[0].value
    assert at.button(key="task Download ag_news")


def test_a_text_of_ones_own(report: GlobalReport) -> None:
    i = most_used(report.view.tally)[1]
    at = open_tab(open_page("capsules", model="seen", capsule=str(i)), "Your text")
    text = "Bread and soup from the oven, with garlic."
    at.text_area(key="capsule text").set_value(text)
    (explanation,) = report.classifier.explain([text], top_capsules=6, ranking="routing")
    reason = next(one for one in explanation.capsules if one.capsule == i)
    j = explanation.classes.index(explanation.predicted)
    shown = {metric.label: metric.value for metric in run(at).metric}
    assert shown[f"Routing to {explanation.predicted}"] == f"{reason.routing[j]:.3f}"
    assert shown["Share"] == f"{reason.share:+.2f}"
    ranks = sorted((one.routing[j] for one in explanation.capsules), reverse=True)
    assert shown["Rank"] == f"{1 + ranks.index(reason.routing[j])} of 6"
    assert example(at) == text
    at.text_area(key="capsule text").set_value("")
    assert "no words" in run(at).info[0].value


def test_a_histogram_of_the_routing(folder: Path, report: GlobalReport) -> None:
    j, i = most_used(report.view.tally)
    at = open_page("capsules", model="seen", capsule=str(i))
    table = as_table(at, f"routing of capsule {i}")
    assert table.to_dict("list") == report.routing_bins(i).to_dict("list")
    assert table["texts"].sum() == report.view.tally.frequency[j].sum()
    at = open_page("capsules", model="seen", capsule=str(i), cell_class=report.classes[j - 1])
    table = as_table(at, f"routing of capsule {i}")
    assert table["texts"].sum() == report.view.tally.frequency[j - 1].sum()


def test_a_toast_says_that_capsules_are_counted(
    models: Path, interpreted: Path, data_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "Task", lambda _: SimpleNamespace(running=True, last_line=""))
    at = open_page("capsules", model="small", data=str(data_file))
    assert not at.get("vega_lite_chart")
    at.selectbox(key="counted data").select(PATH)
    at.text_input(key="counted path").set_value(str(data_file))
    run(at).button(key="task Count what the capsules of small do").click()
    run(at)
    ((_, task),) = tasks.started().items()
    shutil.copytree(interpreted / "global_view", models / "small" / "global_view")
    task.running, task.failed = False, False  # type: ignore[attr-defined]
    run(at)
    assert at.get("vega_lite_chart")
    (toast,) = at.toast
    assert "are counted" in toast.value
    assert "Next" in " ".join(line.value for line in at.markdown)
    at.button(key="close counted").click()
    assert "Next" not in " ".join(line.value for line in run(at).markdown)
    assert not at.toast


def test_rows_of_many_classes_scroll_below_the_names_of_capsules(
    report: GlobalReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.capsules.view._MANY_CLASSES", 2)
    at = open_page("capsules")
    header, rows = (json.loads(chart.proto.spec) for chart in at.get("vega_lite_chart")[:2])
    for chart in (header, rows):  # each name of a class is beside its row, the first and last, too
        assert chart["config"]["axisBand"] == {"labelFlush": False}
    header, rows = header["encoding"], rows["layer"][0]["encoding"]
    assert header["x"]["sort"] == rows["x"]["sort"]
    assert (header["x"]["axis"] is None, rows["x"]["axis"] is None) == (False, True)
    assert header["color"]["scale"] == rows["color"]["scale"]
    assert header["color"]["scale"]["domain"] == [0, report.cells["count"].max()]
    widths = {
        part["y"]["axis"][name] for part in (header, rows) for name in ("minExtent", "maxExtent")
    }
    assert len(widths) == 1
    assert len(as_table(at, "C")) == len(report.cells)


def test_many_classes_are_searched_and_sorted(
    report: GlobalReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_FEW", 2)
    at = open_page("capsules", model="seen", class_search="gard")
    rows = chart(at)["layer"][0]["encoding"]["y"]["sort"]
    assert rows == ["Gardens"]
    at.text_input(key="class_search").set_value("")
    at.selectbox(key="class_order").select("texts")
    rows = chart(run(at))["layer"][0]["encoding"]["y"]["sort"]
    wins = dict(zip(report.classes, report.view.tally.frequency.sum(1).tolist(), strict=True))
    assert [wins[name] for name in rows] == sorted(wins.values(), reverse=True)
    assert at.query_params["class_order"] == "texts"


def test_accuracy_lost_without_a_capsule(report: GlobalReport) -> None:
    about = report.capsules.iloc[most_used(report.view.tally)[1]]
    at = open_page("capsules", model="seen", capsule=str(about["capsule"]))
    open_tab(at, "Switched off")
    shown = {metric.label: metric.value for metric in at.metric}
    assert shown["Accuracy lost without it"] == f"{about['cost']:+.2%}"
    assert shown["on texts it won"] == f"{about['own_cost']:+.2%}"


def test_a_capsule_name_is_stored_and_shown_everywhere(report: GlobalReport, folder: Path) -> None:
    i = most_used(report.view.tally)[1]
    at = open_page("capsules", model="seen", capsule=str(i))
    at.text_input[0].set_value("  bread \n& $x$ <b>soup</b> ")
    at.button[0].click()
    run(at)
    name = "bread & $x$ <b>soup</b>"
    assert json.loads((folder / CAPSULES).read_text()) == {str(i): name}
    assert f"{name}" in at.selectbox(key="capsule").options
    (text, _) = next(iter(_won(report, i)))
    at = visitor.type_text(open_app(model="seen", ranking="routing"), text)
    assert name in visitor.evidence(at)[0][2]
    at = open_page("capsules", model="seen", capsule=str(i))
    at.text_input[0].set_value("")
    at.button[0].click()
    run(at)
    assert json.loads((folder / CAPSULES).read_text()) == {}


def _won(report: GlobalReport, capsule: int) -> list[tuple[str, str]]:
    from icaps.interpret.global_view import read_counted_texts

    tally = report.view.tally
    numbers = [t.number for cell in tally.column(capsule) for t in tally.typical.get(cell, [])]
    return [tuple(text) for text in read_counted_texts(report.view.origin, numbers).values()]


def test_an_error_is_shown_if_a_name_cannot_be_written(folder: Path) -> None:
    if os.geteuid() == 0:
        (folder / f".{CAPSULES}").mkdir()  # root may write anywhere, but not over a folder
    else:
        folder.chmod(0o555)
    at = open_page("capsules", model="seen")
    at.text_input[0].set_value("x")
    at.button[0].click()
    assert "cannot be written" in visitor.errors(run(at))[0]
    folder.chmod(0o755)


def test_an_error_is_shown_for_a_damaged_view(folder: Path) -> None:
    (folder / "global_view" / "words.parquet").write_bytes(b"PAR1")
    for name in ("capsules", "queries"):
        (error,) = visitor.errors(open_page(name))
        assert "damaged" in error
        assert "icaps interpret" in error
    assert not visitor.errors(open_app())  # explaining needs no view


def test_a_capsule_switched_off_for_one_text(report: GlobalReport) -> None:
    at = open_app()
    at.session_state["what_if"] = True
    assert not run(at).dataframe  # nothing is switched off yet
    labels = at.multiselect(key="muted").options
    names = report.labelled_capsules["label"]
    assert labels == [f"capsule {label}" if label.isdigit() else label for label in names]
    at.multiselect(key="muted").set_value([2])
    table = run(at).dataframe[0].value.set_index("class")
    text = at.text_area(key="text").value
    without = report.classifier.without([2])
    expected = dict(zip(report.classes, without.predict_proba([text])[0], strict=True))
    assert table["without them"].to_dict() == pytest.approx(expected)
    said = [*(line.value for line in at.warning), *(line.value for line in at.markdown)]
    assert any(f"Without {labels[2]} it " in line for line in said)


def test_two_models_side_by_side(folder: Path, models: Path) -> None:
    shutil.copytree(folder, models / "other")
    at = open_page("capsules", model="seen")
    at.session_state["compare"] = True
    table = run(at).dataframe[-1].value
    assert sorted(table.columns) == ["other", "seen"]
    assert table["other"].tolist() == table["seen"].tolist()
    assert any("share 100.0% of their words" in caption.value for caption in at.caption)


def test_whether_the_pattern_is_due_to_classes(report: GlobalReport) -> None:
    at = open_page("capsules", model="seen")
    at.session_state["sparsity"] = True
    rows, capsules = (frame.value for frame in run(at).dataframe[-2:])
    assert rows["class"].tolist() == report.classes
    assert capsules["state"].tolist() == report.capsules["state"].tolist()


def test_the_queries(report: GlobalReport) -> None:
    at = open_page("queries", model="seen", capsule="4")
    assert at.selectbox(key="capsule").value == 4
    assert address_of(at) == {"model": "seen", "capsule": "4"}
    assert any("Trustworthiness" in caption.value for caption in at.caption)
    assert "seed 0, initialized by PCA" in " ".join(caption.value for caption in at.caption)
    choose(at, "method", "pca")
    assert at.slider(key="perplexity").disabled
    choose(at, "space", "queries")
    points = as_table(at, "queries")
    assert len(points) == 6
    from icaps.interpret.queries import map_queries, query_vectors

    vectors = query_vectors(report.classifier.network_, "queries")
    assert points["x"].tolist() == pytest.approx(
        map_queries(vectors, "queries", "pca").points[:, 0].tolist()
    )


def test_similar_texts_of_data_that_is_not_here_are_downloaded_by_a_button(
    report: GlobalReport, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "global_view" / "view.json"
    facts = json.loads(path.read_text())
    facts["origin"]["source"] = "ag_news"
    path.write_text(json.dumps(facts))
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(tasks, "start", started.append)
    at = open_app()
    at.session_state["similar"] = True
    run(at).button(key="task Download ag_news").click()
    run(at)
    assert started == [("data", "fetch", "ag_news")]
