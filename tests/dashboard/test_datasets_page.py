"""The page Datasets and its charts, with data of every kind."""

import html
import io
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import tasks as commands
from dashboard.cache import at_once
from dashboard.explore import charts
from dashboard.explore.inputs import LABEL_ISSUE, RIGHT, WRONG
from dashboard.explore.rows import PAGE
from dashboard.tasks import Task
from dashboard.widgets.data_picker import PATH, UPLOAD
from icaps.classifier import ICapsClassifier
from icaps.cli.main import make_parser
from icaps.config import PRESETS
from icaps.data.saved_slices import delete_slice, slices
from icaps.data.source import open_source
from icaps.data.uploads import store_upload
from icaps.errors import RunError
from icaps.explore.index import make_index
from icaps.explore.label_issues import find_label_issues
from icaps.explore.near_duplicates import find_duplicates
from icaps.explore.predicted_rows import predict_rows, row_predictions
from icaps.explore.statistics import Cut, Facts, Growth, Lengths, SplitFacts
from icaps.explore.text_projection import text_vectors
from icaps.html import chance, escape, printable
from icaps.reports.charts import PALETTE
from icaps.train.checkpoint_files import weights_fingerprint
from tests.conftest import make_texts
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import errors, page_html
from tests.explore.indexed import Rows, indexed, write

TABS = ("Overview", "Words", "Rows", "Repeats", "Map", "Corrections")
TRAIN, TEST = 60, 20
HTML = '<b onclick="x">a & b</b> $x$ **c** :sun: [d](javascript:e)'
STRANGE = [
    HTML,
    "=1+1",
    "שלום מרחוב",
    "👩🏽‍👩🏿‍👧🏻‍👦🏾",
    "a\0b\x1b[31m",
    "half \ud83d a smile",
    "x" * 300,
    "  spaces  ",
    "none",
    "all",
    "0",
    "train",
]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def labelled(count: int, seed: int) -> Rows:
    return list(zip(*make_texts(count, seed), strict=True))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Made-up texts of three classes with a test split and an index."""
    place = write(tmp_path / "data", train=labelled(TRAIN, 1), test=labelled(TEST, 2))
    make_index(place, {})
    return place


def small(tmp_path: Path, rows: Rows, name: str = "own") -> Path:
    place = write(tmp_path / name, train=rows)
    make_index(place, {})
    return place


def open_data(place: Path | str, tab: str = "Overview", **state: Any) -> AppTest:
    at = AppTest.from_file(str(Path("dashboard/Home.py").resolve()), default_timeout=60)
    at.query_params["data"] = str(place)
    at.switch_page("../pages/datasets.py")
    at.session_state["data_tabs"] = tab
    for key, value in state.items():
        at.session_state[key] = value
    return run(at)


def open_tab(at: AppTest, name: str) -> AppTest:
    at.session_state["data_tabs"] = name
    return run(at)


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def save_as(at: AppTest, place: str, name: str) -> AppTest:
    """Saves the rows that are shown in `place` by the dialog."""
    at.button(key=f"{place} slice").click()
    return save_in_dialog(run(at), name)


def save_in_dialog(at: AppTest, name: str) -> AppTest:
    at.text_input(key="slice name").set_value(name)
    at.button(key="save slice").click()
    return run(at)


def rows_shown(at: AppTest) -> pd.DataFrame:
    return next(d.value for d in at.dataframe if "row" in d.value)


def found(at: AppTest) -> str:
    return next(c.value for c in at.caption if c.value.endswith(" rows"))


def judged_by(place: Path, classifier: ICapsClassifier, models: Path) -> None:
    predict_rows(classifier, weights_fingerprint(models / "small"), indexed(place))


def test_each_part_of_the_page(data: Path) -> None:
    at = open_data(data)
    assert metrics(at) == {
        "Texts": "80",
        "Classes": "3",
        "In train": "60",
        "In test": "20",
        "Different words": str(indexed(data).facts.different_words),
        "Bad rows": "0",
    }
    assert len(at.get("vega_lite_chart")) == 3  # classes, words, sentences
    assert not at.warning
    open_tab(at, "Words")
    word = at.selectbox(key="telling")
    assert word.options == ["Cooking", "Gardens", "Sailing"]
    at.toggle(key="table telling-words").set_value(True)
    table = run(at).dataframe[0].value
    index = indexed(data)
    assert list(table.itertuples(index=False, name=None)) == index.distinctive_words("Cooking")
    open_tab(at, "Rows")
    shown = rows_shown(at)
    assert shown["text"].tolist() == index.text(np.arange(PAGE))
    assert shown["class"].tolist()[:3] == ["Cooking", "Gardens", "Sailing"]
    assert found(at) == "80 of 80 rows"
    open_tab(at, "Repeats")
    assert not [button.key for button in at.button if button.key.startswith("task")]
    assert list(at.dataframe[0].value.columns) == ["kind", "pairs", "of different classes"]
    open_tab(at, "Map")
    assert len(at.get("plotly_chart")) == 1
    assert any("Trustworthiness" in caption.value for caption in at.caption)
    (warning,) = at.warning  # of the predictions, which few rows get at once
    assert "were in this model's training" in warning.value
    assert at.query_params == {"data": str(data), "model": "small", "data_tabs": "Map"}


class FakeTask:
    """A command that runs until the test ends it."""

    started: ClassVar[list[list[str]]] = []

    def __init__(self, arguments: Sequence[str]) -> None:
        self.started.append(list(arguments))
        self.running, self.failed, self.last_line = True, False, ""

    def stop(self) -> None:
        self.running, self.failed = False, True


@pytest.fixture
def tasks(monkeypatch: pytest.MonkeyPatch) -> type[FakeTask]:
    monkeypatch.setattr("dashboard.tasks.Task", FakeTask)
    monkeypatch.setattr(at_once, "TEXTS", 0)
    FakeTask.started = []
    return FakeTask


def test_a_button_builds_the_index(tmp_path: Path, tasks: type[FakeTask]) -> None:
    place = write(tmp_path / "data", train=labelled(9, 1))
    at = open_data(place)
    assert at.dataframe[0].value["class"].tolist() == [
        *("Cooking", "Gardens", "Sailing", "Cooking", "Gardens")
    ]
    assert not at.tabs
    at.button(key="task Explore these texts").click()
    run(at)
    assert tasks.started == [["explore", str(place)]]
    assert "Explore these texts" in page_html(at)
    ((_, task),) = commands.started().items()
    assert isinstance(task, FakeTask)
    task.last_line = f"12 texts {HTML}"
    assert f"12 texts {escape(HTML)}" in page_html(run(at))
    assert "aria-valuenow" not in page_html(at)
    task.last_line = "30 of 40 texts, 9 s left"
    assert "30 of 40 texts, 9 s left" in page_html(run(at))
    assert 'aria-valuenow="75"' in page_html(at)
    at.button(key="stop Explore these texts").click()
    run(at)
    task.last_line = "icaps: it can't be done"
    assert errors(run(at)) == ["it can't be done"]
    at.button(key="task Explore these texts").click()  # again
    run(at)
    assert len(tasks.started) == 2
    make_index(place, {})  # by the command
    ((_, task),) = commands.started().items()
    task.running = False
    assert [tab.label for tab in run(at).tabs] == list(TABS)


def test_reading_options_are_passed_to_the_command(tmp_path: Path, tasks: type[FakeTask]) -> None:
    path = tmp_path / "own.csv"
    lines = [f"t{n};some bread {n};{'ab'[n % 2]};{'xy'[n % 2]}" for n in range(9)]
    path.write_text("\n".join(["title;text;label;-kind", *lines, "too;few"]) + "\n")
    at = open_data(path)
    at.multiselect(key=f"datasets text {path}").set_value(["title", "text"])
    at.selectbox(key=f"datasets label {path}").select("-kind")
    at.text_input(key="datasets delimiter").set_value(";")
    run(at)
    assert "fields" in errors(at)[0]
    assert not at.button  # it can't be explored as it is
    at.checkbox(key="datasets skip").set_value(True)
    run(at)
    assert not at.error
    at.button(key="task Explore these texts").click()
    run(at)
    (arguments,) = tasks.started
    options = make_parser().parse_args(arguments)
    assert (options.data, options.text) == (str(path), ["title", "text"])
    assert (options.label, options.delimiter) == ("-kind", ";")
    reading = {"text": ["title", "text"], "label": "-kind", "delimiter": ";"}
    make_index(path, reading)
    ((_, task),) = commands.started().items()
    task.running = False
    run(at)
    assert metrics(at)["Bad rows"] == "1"
    assert at.warning[0].value.replace("\\", "").startswith("data")
    open_tab(at, "Rows")
    assert rows_shown(at)["text"].tolist()[0] == "t0 some bread 0"
    assert rows_shown(at)["class"].tolist()[:2] == ["x", "y"]


def test_columns_that_no_command_can_name_are_not_offered(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    rows = [{"a\0b": f"some bread {n}", "half \ud83d": n, "label": "xy"[n % 2]} for n in range(9)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    at = open_data(path)
    assert not at.error  # the column of texts is detected, though it can't be chosen
    assert at.multiselect(key=f"datasets text {path}").options == ["label"]
    assert at.selectbox(key=f"datasets label {path}").options == ["label"]


def test_an_error_is_shown_for_an_impossible_argument() -> None:
    with pytest.raises(RunError, match="can't be started"):
        Task(["explore", "a\0b"])


def test_data_that_is_not_downloaded(tasks: type[FakeTask]) -> None:
    at = open_data("ag_news")
    assert at.selectbox(key="datasets data").value == "ag_news (download)"
    assert any("Not downloaded yet" in caption.value for caption in at.caption)
    at.button(key="task Explore these texts").click()
    run(at)
    assert tasks.started == [["explore", "ag_news"]]


def test_bad_rows_after_the_preview_are_left_out(tmp_path: Path) -> None:
    """The preview does not reach them, and an index always leaves them out."""
    path = tmp_path / "own.csv"
    lines = [f"some bread {n},{'ab'[n % 2]}" for n in range(200)]
    path.write_text("\n".join(["text,label", *lines, "a,b,c,d"]) + "\n")
    make_index(path, {})
    at = open_data(path)
    assert metrics(at)["Bad rows"] == "1"
    assert not at.error
    assert len(at.get("vega_lite_chart")) == 3


def test_relative_paths_start_at_the_folder_of_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real, as it depends on the folder that the process is started in."""
    write(tmp_path / "data", train=labelled(9, 1))
    monkeypatch.chdir(tmp_path)
    task = Task(["explore", "data"])
    while task.running:
        pass
    assert not task.failed, task.last_line
    assert task.last_line


def test_finding_rows(data: Path) -> None:
    index = indexed(data)
    at = open_data(data, "Rows")
    at.text_input(key="rows words").set_value("BREAD")
    at.multiselect(key="rows classes").set_value(["Cooking"])
    at.selectbox(key="rows split").select("test")
    run(at)
    texts = index.text(np.arange(len(index)))
    wanted = [
        row
        for row, text in enumerate(texts)
        if row >= TRAIN and "bread" in text.lower().rstrip(".").split() and index.labels[row] == 0
    ]
    assert wanted
    assert rows_shown(at)["row"].tolist() == wanted
    assert found(at) == f"{len(wanted)} of 80 rows"
    at.text_input(key="rows words").set_value("")
    at.multiselect(key="rows classes").set_value([])
    at.selectbox(key="rows split").select("all")
    at.text_input(key="rows regex").set_value(r"(?i)^tide\b")
    run(at)
    wanted = [row for row, text in enumerate(texts) if text.startswith("Tide ")]
    assert found(at) == f"{len(wanted)} of 80 rows"
    at.text_input(key="rows regex").set_value("")
    longest = int(index.words.max())
    at.slider(key="rows length").set_value((longest, longest))
    run(at)
    assert set(rows_shown(at)["words"]) == {longest}
    assert len(rows_shown(at)) == min((index.words == longest).sum(), PAGE)


def test_an_error_is_shown_for_a_wrong_pattern(data: Path) -> None:
    at = open_data(data, "Rows")
    for pattern in ("(", "[a", "*", "a{2,1}", r"\1", "(?P<a", "(" * 2000):
        at.text_input(key="rows regex").set_value(pattern)
        (error,) = errors(run(at))
        assert error.startswith(f"The regular expression {pattern!r}")
    at.text_input(key="rows regex").set_value("")
    assert found(run(at)) == "80 of 80 rows"


def test_no_matching_rows_are_no_error(data: Path) -> None:
    for tab in ("Rows", "Map"):
        at = open_data(data, tab, **{"rows words": "nowhere"})
        assert found(at) == "0 of 80 rows"
        assert not at.error
        assert [d for d in at.dataframe if "row" in d.value] == []


def test_the_last_page(data: Path) -> None:
    at = open_data(data, "Rows")
    page = at.number_input(key="rows page")
    assert (page.label, page.min, page.max) == ("Page of 4", 1, 4)
    page.set_value(4)
    assert rows_shown(run(at))["row"].tolist() == [75, 76, 77, 78, 79]
    at.selectbox(key="rows split").select("test")  # of which there are 20
    run(at)
    assert not [field for field in at.number_input if field.key == "rows page"]  # all fit on one
    assert rows_shown(at)["row"].tolist() == list(range(TRAIN, TRAIN + TEST))
    assert at.get("download_button")[0].proto.label == "CSV of all 20 rows"


def test_an_opened_row(data: Path, classifier: ICapsClassifier) -> None:
    index = indexed(data)
    at = open_data(data, "Rows")
    at.selectbox(key="open row").set_value(3)
    run(at)
    (text,) = index.text([3])
    (explanation,) = classifier.explain([text])
    assert (
        f"Class <b>Cooking</b>, as predicted ({escape(chance(max(explanation.probabilities)))} "
        in (page_html(at))
    )
    assert "Row 3 · train, line 4 · " in page_html(at)
    assert page_html(at).count("icaps-account") == 1
    assert text.split()[0] in page_html(at)
    (link,) = [p for p in at.get("page_link") if p.proto.label == "Open in Explain"]
    assert parse_qs(link.proto.query_string) == {"text": [text], "model": ["small"]}
    at.number_input(key="rows page").set_value(2)  # where that row isn't
    run(at)
    assert at.selectbox(key="open row").value == PAGE  # the first of the page
    at.toggle(key="rows shaded").set_value(True)
    run(at)
    assert page_html(at).count('<div class="card">') == PAGE + 1


def test_a_row_is_opened_by_selecting_it_in_the_table(data: Path) -> None:
    at = open_data(data, "Rows")
    assert at.session_state["rows table"]["selection"]["rows"] == [0]
    at.selectbox(key="open row").set_value(3)
    run(at)
    assert at.session_state["rows table"]["selection"]["rows"] == [3]
    at.session_state["open row"] = 7  # as the callback of the table sets it
    assert "Row 7 · " in page_html(run(at))
    assert at.selectbox(key="open row").value == 7


def test_similar_rows(data: Path, classifier: ICapsClassifier, models: Path) -> None:
    index = indexed(data)
    at = open_data(data, "Rows", **{"similar rows": True})
    vectors = text_vectors(classifier, index.text(np.arange(80)))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors[0]
    nearest = [n for n in np.argsort(-cosines, kind="stable").tolist() if n != 0][:5]
    table = re.findall(r'<tr><td class="n">(\d+)<td dir="auto">', page_html(at))
    assert sorted(map(int, table)) == sorted(nearest)
    assert any("among all rows" in caption.value for caption in at.caption)


def test_all_rows_are_in_the_file(
    data: Path, classifier: ICapsClassifier, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dashboard.explore import rows

    monkeypatch.setattr(rows, "_BLOCK", 7)
    index = indexed(data)
    predictions = predict_rows(classifier, weights_fingerprint(models / "small"), index)
    numbers = np.arange(80)[::-1]
    table = pd.read_csv(io.BytesIO(rows.to_csv_file(index, numbers, predictions)))
    assert table["row"].tolist() == numbers.tolist()
    assert table["text"].tolist() == index.text(numbers)
    assert table["predicted"].tolist() == classifier.predict(index.text(numbers)).tolist()
    empty = pd.read_csv(io.BytesIO(rows.to_csv_file(index, numbers[:0], None)))
    assert (list(empty.columns)[:3], len(empty)) == (["row", "text", "class"], 0)


def plain(element: Any) -> str:
    return str(element.value.replace("\\", "").replace("\u2060", ""))


def test_rows_by_prediction(
    data: Path, classifier: ICapsClassifier, models: Path, tmp_path: Path
) -> None:
    texts, labels = make_texts(30, 3)
    texts[10] = "zzyzx"  # blank
    texts[4] = "the old and new"  # of no topic, so that the model is not sure of it
    guess = classifier.predict([texts[4]])[0]
    labels[4] = next(name for name in classifier.classes_ if name != guess)
    for mistake in (7, 13, 22):
        labels[mistake] = labels[mistake + 1]
    place = small(tmp_path, list(zip(texts, labels, strict=True)))
    predicted = classifier.predict(texts).tolist()
    right = [n for n in range(30) if predicted[n] == labels[n] and n != 10]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(at_once, "few_rows", lambda _: False)
        at = open_data(place, "Rows")
        kinds = at.button_group(key="rows judged").options
        assert kinds == ["all", LABEL_ISSUE]
    at = open_data(place, "Rows")
    kinds = at.button_group(key="rows judged").options
    assert kinds == ["all", RIGHT, WRONG, LABEL_ISSUE]
    judged_by(place, classifier, models)
    at = open_data(place, "Rows", **{"rows judged": RIGHT})
    assert rows_shown(at)["row"].tolist() == right[:PAGE]
    at.button_group(key="rows judged").select(WRONG)
    wrong = [n for n in range(30) if n not in right]
    assert rows_shown(run(at))["row"].tolist() == wrong
    blank = rows_shown(at).set_index("row").loc[10]
    assert blank["predicted"] == ""


def test_doubted_labels_are_not_the_wrong_predictions(
    classifier: ICapsClassifier, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, labels = make_texts(200, 3)
    mistakes = list(range(0, 200, 20))
    for mistake in mistakes:
        labels[mistake] = labels[mistake + 1]
    place = small(tmp_path, list(zip(texts, labels, strict=True)))
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(commands, "start", started.append)
    at = open_data(place, "Rows", **{"rows judged": LABEL_ISSUE})
    at.button(key="task Look for label errors").click()
    run(at)
    assert started == [("data", "issues", str(place))]
    make_parser().parse_args(started[0])
    index = make_index(place, {})
    issues = find_label_issues(index)
    at = open_data(place, "Rows", **{"rows judged": LABEL_ISSUE})
    shown = rows_shown(at)
    assert shown["row"].tolist() == issues.rows[:PAGE].tolist()
    assert len(set(mistakes) & set(shown["row"])) > 7
    for row in shown.to_dict("records"):
        assert row["class"] == labels[row["row"]]
        assert row["label probable"] == pytest.approx(float(issues.given[row["row"]]), abs=1e-3)
        assert row["suggested"] == index.classes[issues.suggested[row["row"]]] != row["class"]
        assert row["suggested probable"] > row["label probable"]
    told = f"{len(issues.rows)} of 200 labels are doubted by linear models that did not see them"
    assert any(told in caption.value for caption in at.caption)
    save_as(at, "Rows", "doubted ones")
    (saved,) = slices()
    assert (saved.name, saved.rows) == ("doubted ones", len(issues.rows))
    assert saved.origin["judged"] == LABEL_ISSUE
    assert "model" not in saved.origin
    again = [record.text for record in open_source(saved.path)]
    assert again == [texts[n] for n in issues.rows]


def test_labels_that_a_model_contradicts_too_come_first(
    classifier: ICapsClassifier, models: Path, tmp_path: Path
) -> None:
    texts, labels = make_texts(200, 3)
    for mistake in range(0, 200, 20):
        labels[mistake] = labels[mistake + 1]
    place = small(tmp_path, list(zip(texts, labels, strict=True)))
    issues = find_label_issues(make_index(place, {}))
    predicted = classifier.predict(texts).tolist()
    wrong = [row for row in issues.rows.tolist() if predicted[row] != labels[row]]
    right = [row for row in issues.rows.tolist() if predicted[row] == labels[row]]
    assert wrong
    judged_by(place, classifier, models)
    at = open_data(place, "Rows", **{"rows judged": LABEL_ISSUE})
    assert rows_shown(at)["row"].tolist() == (wrong + right)[:PAGE]
    assert any("Those that small contradicts, too, come first" in c.value for c in at.caption)


def test_predictions_of_rows_that_were_trained_on(
    classifier: ICapsClassifier, models: Path, tmp_path: Path
) -> None:
    place = small(tmp_path, list(zip(*make_texts(360, 1), strict=True)))  # as the small model's
    judged_by(place, classifier, models)
    at = open_data(place, "Rows")
    told = "324 of 360 texts (90%) were in this model's training; scores on them say little."
    assert [warning.value for warning in at.warning] == [told]


def test_a_slice_is_a_data_set(data: Path) -> None:
    at = open_data(data, "Rows", **{"rows classes": ["Sailing"]})
    save_as(at, "Rows", "mine")
    (saved,) = slices()
    assert saved.rows == 26
    assert "slice: mine" in at.selectbox(key="datasets data").options
    assert "already" in errors(save_as(at, "Rows", "mine"))[0]
    for name in ("../x", ""):
        assert "can't be called" in errors(save_in_dialog(at, name))[0]
    save_in_dialog(at, "other")
    assert not [button for button in at.button if button.key == "save slice"]
    assert [kept.name for kept in slices()] == ["mine", "other"]
    delete_slice("other")
    at.selectbox(key="datasets data").select("slice: mine")
    run(at)
    assert at.query_params["data"] == str(saved.path)
    assert set(at.dataframe[0].value["class"]) == {"Sailing"}
    at.button(key=f"delete data {saved.path}").click()
    run(at)
    assert slices() == []
    assert at.selectbox(key="datasets data").value == "synthetic"


def test_a_damaged_slice_shows_an_error_and_blocks_nothing(data: Path, cache: Path) -> None:
    (cache / "slices").mkdir()
    (cache / "slices" / "bad.parquet").write_bytes(b"PAR1")
    at = open_data(data)
    assert "is no slice, or is damaged" in errors(at)[0]
    assert metrics(at)["Texts"] == "80"


def test_duplicates(tmp_path: Path) -> None:
    rows = [("we bake some bread in the old oven today", "a"), ("another text of its own", "b")]
    place = write(
        tmp_path / "data", train=[*rows, rows[0], (rows[0][0], "b")], test=[rows[1], ("new", "a")]
    )
    find_duplicates(indexed(place))
    at = open_data(place, "Repeats")
    summary = at.dataframe[0].value.set_index("kind")
    assert summary["pairs"].to_dict() == {
        "exact duplicates in train": 2,
        "near-duplicates in train": 0,
        "exact duplicates in test": 0,
        "near-duplicates in test": 0,
        "test texts that are training texts": 1,
        "test texts that are nearly training texts": 0,
    }
    assert summary.loc["exact duplicates in train", "of different classes"] == 1
    pairs = at.dataframe[1].value
    assert sorted(zip(pairs["first row"], pairs["second row"], strict=True)) == [(0, 2), (0, 3)]
    at.selectbox(key="repeats of").select("test texts that are training texts")
    assert run(at).dataframe[1].value["second row"].tolist() == [4]
    at.selectbox(key="repeats of").select("near-duplicates in test")
    assert any(caption.value == "There are none." for caption in run(at).caption)


def test_strange_classes_and_texts(
    tmp_path: Path, classifier: ICapsClassifier, models: Path
) -> None:
    rows = [(text, name) for name in STRANGE for text in (*STRANGE[:6], "")]
    place = small(tmp_path, rows)
    find_duplicates(indexed(place))
    judged_by(place, classifier, models)
    at = open_data(place)
    for tab in TABS:
        open_tab(at, tab)
        assert not at.error, errors(at)
    open_tab(at, "Map")
    for color in ("class", "predicted"):
        at.selectbox(key="map color").select(color)
        (chart,) = run(at).get("plotly_chart")
        names = [trace.get("name", "") for trace in json.loads(chart.proto.spec)["data"]]
        assert not any("<b" in name for name in names)
    open_tab(at, "Rows")
    index = indexed(place)
    assert rows_shown(at)["text"].tolist() == [
        printable(text[:400]) for text in index.text(np.arange(PAGE))
    ]
    for name in index.classes:
        at.multiselect(key="rows classes").set_value([name])
        assert found(run(at)) == f"7 of {len(rows)} rows"
    for row in rows_shown(at)["row"].tolist():
        at.selectbox(key="open row").set_value(row)
        run(at)
    open_tab(at, "Words")
    for name in index.classes:
        at.selectbox(key="telling").set_value(name)
        run(at)


def test_class_names_without_half_characters_can_be_trained_on(tmp_path: Path) -> None:
    """A file cannot hold them, so each becomes U+FFFD."""
    place = small(tmp_path, [("a", "half \ud83d a smile"), ("b", "x")])
    assert indexed(place).classes == ("half \ufffd a smile", "x")


@pytest.mark.parametrize(
    "rows",
    [
        [("some bread", "a")],
        [("", "a")],
        [("", "a"), ("", "b"), (" ", "b")],
        [("some bread", "a"), ("more soup", "a"), ("soup", "a")],
        [(f"bread {n}", f"class {n}") for n in range(200)],
        [("word " * 30_000, "a"), ("x", "b")],
        [("zzyzx", "a"), ("zzyzx", "b"), ("zzyzx", "b")],
    ],
    ids=["1 row", "1 empty", "all empty", "1 class", "200 classes", "1 long", "unknown words"],
)
def test_few_and_many(rows: Rows, tmp_path: Path) -> None:
    place = small(tmp_path, rows)
    find_duplicates(indexed(place))
    at = open_data(place)
    assert metrics(at)["Texts"] == f"{len(rows):,}"
    for tab in TABS[1:]:
        open_tab(at, tab)
        assert not at.error, errors(at)
        assert not at.warning


def test_changed_data_gets_a_new_index(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at = open_data(data, "Rows")
    write(data, train=[("new text", "x"), ("old text", "y")])
    os.utime(data / "train.jsonl", (1, 1))
    run(at)
    assert not at.tabs
    assert at.dataframe[0].value["text"].tolist() == ["new text", "old text"]
    assert at.button(key="task Explore these texts")
    make_index(data, {})
    assert found(open_tab(at, "Rows")) == "22 of 22 rows"


def test_an_index_of_few_texts_is_built_without_a_button(tmp_path: Path) -> None:
    place = write(tmp_path / "few", train=labelled(9, 1))
    at = open_data(place)
    assert [tab.label for tab in at.tabs] == list(TABS)
    assert found(open_tab(at, "Rows")) == "9 of 9 rows"


def test_an_error_is_shown_for_deleted_data(data: Path) -> None:
    at = open_data(data, "Rows")
    (data / "train.jsonl").unlink()
    (data / "test.jsonl").unlink()
    assert "has no train file" in errors(run(at))[0]
    data.rmdir()
    assert f"There is no file or folder {data}" in errors(run(at))[0]


@pytest.mark.parametrize(
    "name", ["facts.json", "labels.npy", "texts.arrow", "words.parquet", "distinctive.parquet"]
)
@pytest.mark.parametrize("content", [b"", b"\xff\x00 nonsense"])
def test_an_error_is_shown_for_a_damaged_index(name: str, content: bytes, data: Path) -> None:
    folder = indexed(data).folder
    (folder / name).write_bytes(content)
    at = open_data(data)
    messages = errors(at)
    for tab in TABS[1:] if not messages else ():
        messages += errors(open_tab(at, tab))
        at.session_state["rows words"] = "bread"
    assert messages
    assert all("can't be read" in error and "Delete the folder" in error for error in messages)


def test_an_error_is_shown_for_damaged_predictions(
    data: Path, classifier: ICapsClassifier, models: Path
) -> None:
    judged_by(data, classifier, models)
    weights = weights_fingerprint(models / "small")
    folder = row_predictions(classifier, weights, indexed(data)).home / "ready"
    np.zeros(3, np.int32).tofile(folder / "labels.bin")
    assert "can't be read" in errors(open_data(data, "Rows"))[0]
    np.zeros((3, 3), np.float32).tofile(folder / "scores.bin")
    assert "can't be read" in errors(open_data(data, "Rows"))[0]


def test_an_address_opens_data(data: Path, tmp_path: Path) -> None:
    at = open_data(data)
    address = dict(at.query_params)
    again = open_page("datasets", **address)
    assert metrics(again) == metrics(at)
    assert again.selectbox(key="datasets data").value == PATH
    assert again.text_input(key="datasets path").value == str(data)
    for wrong in ("", "<script>", "x" * 5_000, "a\0b", "/nowhere/at/all", "../../nowhere"):
        at = open_page("datasets", data=wrong)
        assert not at.exception
        if wrong:
            assert at.warning[0].value.startswith("This link asks for the data ")
        else:
            assert at.selectbox(key="datasets data").value == "synthetic"


def test_back_and_forward_are_followed(data: Path, tmp_path: Path) -> None:
    other = small(tmp_path, labelled(9, 4), "other")
    at = open_data(data)
    before = dict(at.query_params)
    at.text_input(key="datasets path").set_value(str(other))
    run(at)
    assert metrics(at)["Texts"] == "9"
    after = dict(at.query_params)
    for address, texts in ((before, "80"), (after, "9")):
        at.query_params.clear()
        at.query_params.update(address)
        assert metrics(run(at))["Texts"] == texts
        assert at.query_params == address


def test_filters_of_other_data_are_reset(data: Path, tmp_path: Path) -> None:
    """Classes, a split, lengths, a page, a row and a word that the next data set lacks."""
    other = small(tmp_path, [("Bread", "x"), ("Soup and more", "y")], "other")
    at = open_data(data, "Rows")
    at.multiselect(key="rows classes").set_value(["Sailing"])
    at.selectbox(key="rows split").select("train")
    at.slider(key="rows length").set_value((9, 11))
    run(at)
    at.selectbox(key="open row").set_value(int(rows_shown(at)["row"].iloc[-1]))
    run(at)
    at.text_input(key="datasets path").set_value(str(other))
    run(at)
    assert not at.error
    assert found(at) == "2 of 2 rows"
    for tab in TABS:
        open_tab(at, tab)
        assert not at.error
    open_tab(at, "Map")
    assert at.selectbox(key="map color").value == "class"


def test_without_a_model(data: Path, models: Path) -> None:
    import shutil

    shutil.rmtree(models / "small")
    at = open_data(data)
    for tab in TABS:
        open_tab(at, tab)
        assert not at.error
    open_tab(at, "Map")
    assert any("A map needs a model" in caption.value for caption in at.caption)


def test_the_coverage_of_word_vectors(data: Path, tmp_path: Path) -> None:
    index = indexed(data)
    words = [word for batch in index.vocabulary.batches() for word in batch]
    known = words[: len(words) // 2]
    lines = [f"{word} 0.5 -0.5" for word in known]
    (tmp_path / "v.txt").write_text(f"{len(known)} 2\n" + "\n".join(lines) + "\n")
    at = open_data(data, "Words", **{"covered vectors": str(tmp_path / "v.txt")})
    table = at.dataframe[-1].value.set_index("split")
    counts = index.vocabulary.counts[0]
    has = np.array([word in known or word.lower() in known for word in words])
    assert table.loc["train", "running words"] == pytest.approx(counts[has].sum() / counts.sum())
    at.text_input(key="covered vectors").set_value("/nowhere/v.txt")
    assert len(errors(run(at))) == 1
    assert "/nowhere/v.txt" in errors(at)[0]


def lengths(*pairs: tuple[int, int]) -> Lengths:
    return Lengths(tuple(n for n, _ in pairs), tuple(texts for _, texts in pairs))


def facts_of(*splits: SplitFacts, classes: Sequence[str] = ("a", "b")) -> Facts:
    growth = (Growth(1, 5, 4), Growth(2, 11, 7))
    cuts = (Cut(0, 7, (1.0, 0.75)), Cut(5, 1, (0.5, 0.25)))
    return Facts("/d.csv", {}, tuple(classes), splits, 7, growth, cuts, 7)


def split(name: str, rows: int, class_rows: tuple[int, ...], **others: Any) -> SplitFacts:
    words = others.get("words", lengths((1, rows)))
    return SplitFacts(name, rows, {}, class_rows, 11, words, words, rows)


def test_tables_by_hand() -> None:
    facts = facts_of(split("train", 8, (6, 2)), split("test", 0, (0, 0)))
    assert charts.class_table(facts).to_dict("list") == {
        "class": ["a", "b", "a", "b"],
        "split": ["train", "train", "test", "test"],
        "texts": [6, 2, 0, 0],
        "share": [0.75, 0.25, 0.0, 0.0],
    }
    assert charts.growth_table(facts).to_dict("list") == {
        "texts": [1, 2],
        "running words": [5, 11],
        "different words": [4, 7],
    }
    assert charts.cut_table(facts).to_dict("list") == {
        "F": [0, 5],
        "words": [7, 1],
        "covered of train": [1.0, 0.5],
        "covered of test": [0.75, 0.25],
    }


def test_the_largest_classes_are_drawn() -> None:
    names = [f"class {n}" for n in range(60)]
    facts = facts_of(split("train", 1770, tuple(range(60))), classes=names)
    chart = charts.class_bars(charts.class_table(facts), "#111111").to_dict()
    (rows,) = chart["datasets"].values()
    assert [row["class"] for row in rows] == names[20:]
    assert chart["encoding"]["y"]["sort"] == names[:19:-1]
    assert chart["encoding"]["x"]["title"] == "share of the texts"
    facts = facts_of(split("train", 8, (6, 2)), split("test", 4, (2, 2)))
    chart = charts.class_bars(charts.class_table(facts), "#111111").to_dict()
    assert chart["encoding"]["x"]["title"] == "share of the split"


def test_short_texts_have_one_bin_per_length() -> None:
    table = charts.length_table({"train": lengths((0, 1), (2, 3), (49, 4))})
    assert table.to_dict("list") == {
        "split": ["train"] * 3,
        "from": [0, 2, 49],
        "below": [1, 3, 50],
        "texts": [1, 3, 4],
        "share": [0.125, 0.375, 0.5],
    }


def test_a_long_tail_is_in_the_last_bin() -> None:
    """99 of 100 texts have at most 99 words: bins of two, and the one of 10,000 in the last."""
    table = charts.length_table({"train": lengths((10, 50), (99, 49), (10_000, 1))})
    assert table["from"].tolist() == [10, 98]
    assert table["below"].tolist() == [12, 100]
    assert table["texts"].tolist() == [50, 50]
    # Two of 100 don't pass 99%: the bins reach to the longest.
    table = charts.length_table({"train": lengths((10, 98), (10_000, 2))})
    assert table["from"].tolist() == [0, 9849]
    assert table["texts"].sum() == 100


def test_splits_have_the_same_bins() -> None:
    table = charts.length_table({"train": lengths((5, 10)), "test": lengths((7, 3), (500, 1))})
    assert set(table["below"] - table["from"]) == {11}  # 501 lengths in 50 bins
    assert table[table["split"] == "test"]["share"].tolist() == [0.75, 0.25]
    assert charts.length_table({"train": lengths(), "test": lengths()}).empty


def test_the_mark_of_a_network() -> None:
    table = charts.length_table({"train": lengths((10, 98), (20, 2))})
    chart = charts.length_bars(table, "words", 195, "N", "#111111").to_dict()
    text = chart["layer"][2]["encoding"]["text"]["value"]
    assert text == "N = 195 →"  # beyond what is drawn
    assert charts.length_bars(table, "words", None, "", "#111111").to_dict()["layer"][1:] == []
    inside = charts.length_bars(table, "words", 15, "N", "#111111").to_dict()
    assert inside["layer"][2]["encoding"]["text"]["value"] == "N = 15"


@pytest.mark.parametrize(("limit", "share"), [(0, 1.0), (5, 0.5), (6, 0.25), (9, 0.0)])
def test_the_share_that_is_cut(limit: int, share: float) -> None:
    assert charts.cut_share(lengths((5, 2), (6, 1), (9, 1)), limit) == share
    assert charts.cut_share(lengths(), limit) == 0.0


def test_the_selected_model_marks_its_limits(data: Path, classifier: ICapsClassifier) -> None:
    at = open_data(data)
    assert at.selectbox(key="marked preset").value == "small (the selected model)"
    limit = classifier.network_.config.max_words
    captions = [caption.value for caption in at.caption]
    assert any(caption.startswith(f"N = {limit} words truncates ") for caption in captions)


def test_a_preset_marks_its_limits(data: Path) -> None:
    at = open_data(data)
    at.selectbox(key="marked preset").select("yelp_full-long")
    run(at)
    preset = PRESETS["yelp_full-long"].model
    captions = [caption.value for caption in at.caption]
    assert any(
        c.startswith(f"M = {preset.max_sentences} sentences truncates 0.0%") for c in captions
    )
    assert not any(c.startswith("N =") for c in captions)


def test_many_classes_on_the_map_and_the_overview(tmp_path: Path) -> None:
    texts, _ = make_texts(150, 4)
    rows = [(text, f"class {n // 2 if n < 40 else n}") for n, text in enumerate(texts)]
    at = open_data(small(tmp_path, rows), "Map")
    (chart,) = at.get("plotly_chart")
    names = [trace["name"] for trace in json.loads(chart.proto.spec)["data"] if "name" in trace]
    assert [name for name in names if name.startswith("class ")] == [f"class {n}" for n in range(8)]
    assert [name for name in names if name.endswith(" others")] == ["122 others"]
    open_tab(at, "Overview")
    assert any(c.value.startswith("The 40 largest of 130 classes") for c in at.caption)


def test_words_are_highlighted_on_the_map(data: Path) -> None:
    at = open_data(data, "Map", **{"map words": "bread"})
    index = indexed(data)
    texts = index.text(np.arange(80))
    count = sum(bool(re.search(r"\bbread\b", text, re.IGNORECASE)) for text in texts)
    assert any(c.value == f"{count} of the points have the words." for c in at.caption)
    at.button(key="pick matching").click()
    run(at)
    assert found(at) == f"{count} of 80 rows"
    at.button(key="unpick").click()
    run(at)
    assert found(at) == "80 of 80 rows"


def points(rows: Sequence[tuple[int, str, str, str]]) -> pd.DataFrame:
    named = ["row", "class", "predicted", "text"]
    table = pd.DataFrame(rows, columns=named)
    return table.assign(x=table["row"] * 1.0, y=0.5)[["row", "x", "y", *named[1:]]]


def test_the_map_of_texts() -> None:
    table = points([(4, "a", "b", "x"), (7, HTML, "a", HTML), (9, "a", "a", "y" * 300)])
    colors = charts.map_colors(sorted(set(table["class"])))
    figure = charts.text_map(table, "class", colors, 7, "#123456")
    first, second, ring = figure.data
    assert list(first.customdata) == [7]
    assert "<b" not in first.name
    shown = html.escape(HTML, quote=False)  # Plotly knows no &quot;
    assert first.hovertext[0] == f"row 7<br>class {shown}<br>predicted a<br>{shown}"
    assert (list(second.customdata), list(second.x)) == ([4, 9], [4.0, 9.0])
    assert second.marker.color == colors["a"]
    assert (list(ring.x), ring.marker.line.color) == ([7.0], "#123456")
    assert len(charts.text_map(table, "class", colors, 5, "#123456").data) == 2  # no such row
    colors = charts.map_colors(["a", "b", "of no text"])
    predicted = charts.text_map(table, "predicted", colors, None, "#123456")
    assert [(trace.name, list(trace.customdata)) for trace in predicted.data] == [
        ("a", [7, 9]),
        ("b", [4]),
    ]


def test_one_colour_per_name() -> None:
    names = [f"n{n}" for n in range(10)]
    colors = charts.map_colors(names)
    assert list(colors) == names
    assert colors["n0"] == PALETTE[0]
    assert len(set(colors.values())) == len(colors)
    assert len({colors[name] for name in names[:8]}) == 8


def test_rows_shows_what_is_picked_on_the_map(data: Path) -> None:
    at = open_data(data, "Rows", picked=(str(indexed(data).folder), (3, 5, 77)))
    assert rows_shown(at)["row"].tolist() == [3, 5, 77]
    at.toggle(key="rows picked").set_value(False)
    assert found(run(at)) == "80 of 80 rows"
    at = open_data(data, "Rows", picked=("/another/index", (3, 999)))
    assert found(at) == "80 of 80 rows"


def test_no_cell_of_the_row_table_is_a_formula(tmp_path: Path) -> None:
    from dashboard.explore.rows import row_table
    from icaps.reports.files import to_csv

    place = small(tmp_path, [("=1+1", "@a"), ("-x \ud800", "b")])
    index = indexed(place)
    numbers = np.arange(2)
    table = row_table(index, numbers, index.text(numbers), None)
    read = pd.read_csv(io.BytesIO(to_csv(table)))
    assert read["text"].tolist() == ["'=1+1", "'-x \ufffd"]
    assert read["class"].tolist() == ["'@a", "b"]


CSV = b"text,label\nsome bread,a\nmore soup,b\n"


def test_an_upload_is_stored_and_listed(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at = open_page("datasets", **{})
    at.selectbox(key="datasets data").select(UPLOAD)
    run(at)
    at.file_uploader[0].set_value(("my texts.csv", CSV, "text/csv"))
    run(at)
    assert at.dataframe[0].value["text"].tolist() == ["some bread", "more soup"]
    (path,) = (cache / "uploads").glob("*/*")
    assert at.query_params["data"] == str(path)
    at.button(key=f"delete data {path}").click()
    run(at)
    assert not path.exists()
    run(at)
    assert not path.exists()  # it is still in the browser, and doesn't come back by that


def test_uploads_of_the_same_name_have_different_labels(cache: Path) -> None:
    old = store_upload("a.csv", io.BytesIO(CSV))
    os.utime(old, (1_700_000_000, 1_700_000_000))
    new = store_upload("a.csv", io.BytesIO(CSV + b"third,a\n"))
    at = open_page("datasets", **{})
    offered = [name for name in at.selectbox(key="datasets data").options if "a.csv" in name]
    assert offered[0] == "upload: a.csv"
    assert offered[1].startswith("upload: a.csv of 2023-11-14 22:13 UTC")
    for name, path in zip(offered, (new, old), strict=True):
        at.selectbox(key="datasets data").select(name)
        assert run(at).query_params["data"] == str(path)
    at.query_params["data"] = str(new)
    assert run(at).selectbox(key="datasets data").value == "upload: a.csv"


@pytest.mark.parametrize(
    ("words", "preset"),
    [(100, "ag_news-short"), (195, "ag_news-short"), (196, "amazon_polarity-short")]
    + [(593, "yahoo_answers-short"), (5_000, "dbpedia-short")],
)
def test_the_marked_preset_cuts_few_texts(words: int, preset: str) -> None:
    lengths = Lengths((5, words, 9_000), (10, 86, 4))  # 4% are longer
    split = SplitFacts("train", 100, {}, (100,), 1, lengths, lengths, 100)
    facts = Facts("x", {}, ("a",), (split,), 1, (), (), 1)
    assert charts.fitting_preset(facts) == preset
