"""The page Datasets with texts of several labels each, and the questions about their form."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.explore.inputs import ALL, RIGHT, WRONG
from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import label_set
from icaps.data.saved_slices import slices
from icaps.data.source import open_source
from tests.dashboard.run_folders import run
from tests.dashboard.visitor import errors, page_html
from tests.evaluate.test_label_set_predictions import labelled
from tests.several_labels import NORMS, with_thresholds

KINDS = [["weather"], ["food", "long"], [], ["weather", "food"], ["food"], ["weather", "long"]]
TEXTS = [
    "rain on the hills",
    "dough must rest for long hours",
    "nothing at all to say",
    "a cake in the rain",
    "bread and butter",
    "snow in May",
]
ROWS = [(f"{TEXTS[n % 6]} {n}", KINDS[n % 6]) for n in range(48)]
CLASSES = ("food", "long", "weather")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    path = tmp_path / "lists.jsonl"
    path.write_text(
        "".join(json.dumps({"text": text, "label": names}) + "\n" for text, names in ROWS)
    )
    return path


def table(path: Path, rows: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def open_data(path: Path, tab: str = "Overview", model: str = "") -> AppTest:
    at = AppTest.from_file(str(Path("dashboard/Home.py").resolve()), default_timeout=60)
    at.query_params["data"] = str(path)
    if model:
        at.query_params["model"] = model
    at.switch_page("../pages/datasets.py")
    at.session_state["data_tabs"] = tab
    return run(at)


def open_tab(at: AppTest, name: str) -> AppTest:
    at.session_state["data_tabs"] = name
    return run(at)


def captions(at: AppTest) -> str:
    return "\n".join(caption.value for caption in at.caption)


def shown(at: AppTest) -> Any:
    return next(frame.value for frame in at.dataframe if "row" in frame.value)


def test_classes_are_counted_one_by_one(lists: Path) -> None:
    at = open_data(lists)
    numbers = {metric.label: metric.value for metric in at.metric}
    assert (numbers["Texts"], numbers["Classes"]) == ("48", "3")
    assert numbers["Labels per text"] == "1.33"  # 64 labels
    assert "A text with several labels counts in each of its classes" in captions(at)
    assert "data: 8 texts (16.7%) are of no class" in captions(at)
    at.toggle(key="table classes").set_value(True)
    counts = next(frame.value for frame in run(at).dataframe if "texts" in frame.value)
    assert dict(zip(counts["class"], counts["texts"], strict=True)) == {
        "food": 24,
        "long": 16,
        "weather": 24,
    }
    open_tab(at, "Words")
    assert at.selectbox(key="telling").options == list(CLASSES)
    at.toggle(key="table telling-words").set_value(True)
    words = run(at).dataframe[0].value
    assert "in texts without it" in words
    cake = words[words["word"] == "cake"].iloc[0]
    assert (cake["count"], cake["in texts without it"]) == (8, 0)


def test_rows_by_class(lists: Path) -> None:
    at = open_data(lists, "Rows")
    assert shown(at)["class"].tolist()[:4] == ["weather", "food, long", "no class", "food, weather"]
    at.multiselect(key="rows classes").set_value(["long"])
    run(at)
    assert "16 of 48 rows" in captions(at)
    assert set(shown(at)["class"]) == {"food, long", "long, weather"}
    assert not errors(at)
    assert not [control for control in at.segmented_control if control.key == "rows judged"]
    assert "Classes <b>food, long</b>" in page_html(at)
    at.button(key="Rows slice").click()
    run(at)
    at.text_input(key="slice name").set_value("long ones")
    at.button(key="save slice").click()
    run(at)
    (saved,) = slices()
    source = open_source(saved.path)
    assert source.describe().multilabel
    assert [label for _, label in source.pairs()][:2] == ['["food", "long"]', '["long", "weather"]']


def test_rows_by_prediction(models: Path, classifier: ICapsClassifier, tmp_path: Path) -> None:
    several = with_thresholds(classifier, NORMS)
    several.save(models / "several")
    pairs = labelled()
    path = tmp_path / "sets.jsonl"
    rows = [{"text": text, "label": list(label_set(label) or ())} for text, label in pairs if text]
    path.write_text("\n".join(map(json.dumps, rows)))
    predicted = several.predict_labels([row["text"] for row in rows])
    wrong = [n for n, row in enumerate(rows) if {*row["label"]} != {*predicted[n]}]
    at = open_data(path, "Rows", model="several")
    assert not errors(at)
    control = at.button_group(key="rows judged")
    assert control.options == [ALL, RIGHT, WRONG]  # no label errors
    control.select(WRONG)
    run(at)
    listed = shown(at)
    assert listed["row"].tolist() == wrong
    assert listed["predicted"].tolist() == [", ".join(predicted[n]) or "no class" for n in wrong]
    assert listed["probability"].between(0, 1).all()
    at = open_tab(at, "Map")
    assert not errors(at)
    at = open_data(path, "Rows", model="small")
    assert not errors(at)
    assert "small gives a text one label, and these texts have several" in captions(at)
    assert "rows judged" not in {group.key for group in at.get("button_group")}


def test_other_tabs(lists: Path) -> None:
    at = open_data(lists, "Repeats")
    assert not errors(at)
    open_tab(at, "Map")
    assert not errors(at)
    assert len(at.get("plotly_chart")) == 1


def test_what_is_between_labels_is_asked_for(tmp_path: Path) -> None:
    path = table(tmp_path / "cells.csv", [("text", "tags"), *((t, ";".join(k)) for t, k in ROWS)])
    at = open_data(path)
    assert "have labels such as “food;long”" in at.info[0].value
    choice = at.radio(key=f"datasets separator choice {path}")
    options = [option.replace("\u2060", "") for option in choice.options]
    assert options == ["2 classes: food, long", "one class: food;long"]
    choice.set_value(";")
    run(at)
    assert not errors(at)
    assert {metric.label: metric.value for metric in at.metric}["Classes"] == "3"
    assert at.text_input(key=f"datasets separator {path}").value == ";"
    other = open_data(path)
    other.radio(key=f"datasets separator choice {path}").set_value("")
    run(other)
    assert "column 'tags': the row has no label" in errors(other)[0]  # as some cells are empty
    other.checkbox(key="datasets skip").set_value(True)
    run(other)
    assert not errors(other)
    assert {metric.label: metric.value for metric in other.metric}["Classes"] == "5"


def test_a_column_per_class_is_asked_for(tmp_path: Path) -> None:
    rows = [(text, *(int(name in kinds) for name in ("food", "long"))) for text, kinds in ROWS]
    path = table(tmp_path / "two.csv", [("text", "food", "long"), *rows])
    at = open_data(path)
    assert "has the columns text, food, long" in at.info[0].value
    at.toggle(key=f"datasets flags {path}").set_value(True)
    run(at)
    assert at.multiselect(key=f"datasets label columns {path}").value == ["food", "long"]
    buttons = [b for b in at.button if b.label == "Use these columns"]
    if buttons:
        buttons[0].click()
        run(at)
    assert not errors(at)
    numbers = {metric.label: metric.value for metric in at.metric}
    assert (numbers["Classes"], numbers["Labels per text"]) == ("2", "0.83")  # 40 labels of 48


def test_columns_that_are_known(tmp_path: Path) -> None:
    rows = [(text, *(int(name in kinds) for name in CLASSES)) for text, kinds in ROWS]
    path = table(tmp_path / "three.csv", [("text", *CLASSES), *rows])
    at = open_data(path)
    assert not errors(at)
    assert {metric.label: metric.value for metric in at.metric}["Classes"] == "3"
    assert at.multiselect(key=f"datasets label columns {path}").value == list(CLASSES)
    at.multiselect(key=f"datasets label columns {path}").set_value(["food", "weather"])
    run(at)
    assert {metric.label: metric.value for metric in at.metric}["Classes"] == "2"


def test_labels_that_the_form_says_are_several(tmp_path: Path) -> None:
    path = tmp_path / "ft.txt"
    lines = [" ".join(f"__label__{k}" for k in kinds or ["none"]) + f" {t}\n" for t, kinds in ROWS]
    path.write_text("".join(lines))
    at = open_data(path)
    assert "--multilabel" in errors(at)[0]
    at.selectbox(key=f"datasets labels {path}").select("any number of labels")
    run(at)
    assert not errors(at)
    assert {metric.label: metric.value for metric in at.metric}["Classes"] == "4"
