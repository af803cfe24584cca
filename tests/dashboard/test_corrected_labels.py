"""Labels that are corrected where they are seen, reviewed, undone, and opened with the data."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import settings
from dashboard import tasks as commands
from dashboard.cache import at_once
from dashboard.widgets.data_picker import PATH
from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.correction_files import corrections_of
from icaps.data.label_file import GivenLabel, LabelFile
from icaps.data.saved_slices import save_texts
from icaps.data.source import open_source
from icaps.data.text_hash import text_hash
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.explore.index import make_index
from icaps.explore.label_issues import find_label_issues
from icaps.train.checkpoint_files import weights_fingerprint
from tests.conftest import make_texts
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import errors, page_html
from tests.explore.indexed import indexed, write

HOSTILE = '<b onclick="x">a & b</b> $x$ **c** :sun: [d](javascript:e)\nbread'
WRONG = 0  # the row whose label is wrong


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def rows() -> list[tuple[str, str]]:
    """Texts of three classes; the label of the first one is wrong."""
    texts, labels = make_texts(60, 1)
    labels[WRONG] = "Sailing" if labels[WRONG] != "Sailing" else "Cooking"
    return [*zip(texts, labels, strict=True), (HOSTILE, "Cooking")]


RIGHT = make_texts(60, 1)[1][WRONG]
TEXT, GIVEN = rows()[WRONG]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = write(tmp_path / "data", train=rows())
    make_index(place, {})
    return place


def file_of(data: Path) -> LabelFile:
    return corrections_of(str(data))


def now(data: Path) -> dict[str, str]:
    """The label of each text that is corrected."""
    return {one.text: one.label for one in file_of(data).current().values()}


def open_data(data: Path | str, tab: str = "Rows", **state: object) -> AppTest:
    at = AppTest.from_file(str(Path("dashboard/Home.py").resolve()), default_timeout=60)
    at.query_params["data"] = str(data)
    at.switch_page("../pages/datasets.py")
    at.session_state["data_tabs"] = tab
    for key, value in state.items():
        at.session_state[key.replace("__", " ")] = value
    return run(at)


def button(at: AppTest, label: str) -> AppTest:
    """Presses the first button with this label."""
    found = [button for button in at.button if plain(button.label) == label]
    assert found, [plain(button.label) for button in at.button]
    found[0].click()
    return run(at)


def type_in(at: AppTest, key: str, entry: str) -> None:
    """Types a class that may be none of the list, which a test's visitor can't do otherwise."""
    box = at.selectbox(key=key)
    box.options.append(entry)
    box.set_value(entry)
    run(at)
    at.selectbox(key=key).options.append(entry)


def plain(text: str) -> str:
    return re.sub(r"\\(.)|\u2060", r"\1", text)


def toggles(at: AppTest) -> list[str]:
    return [plain(toggle.label) for toggle in at.toggle if "corrected" in toggle.label]


def row_classes(at: AppTest) -> dict[int, str]:
    table = next(frame.value for frame in at.dataframe if "row" in frame.value)
    return dict(zip(table["row"], table["class"], strict=True))


def reviewed(at: AppTest) -> pd.DataFrame:
    return next(frame.value for frame in at.dataframe if "after" in frame.value)


def captions(at: AppTest) -> str:
    return "\n".join(plain(caption.value) for caption in at.caption)


def test_a_row_is_corrected_and_undone(data: Path) -> None:
    at = open_data(data)
    assert toggles(at) == []
    assert row_classes(at)[WRONG] == GIVEN
    button(at, f"{RIGHT} (as predicted)")
    assert now(data) == {TEXT: RIGHT}
    (one,) = file_of(data).labels()
    assert (one.before, one.by) == (GIVEN, "person")
    assert row_classes(at)[WRONG] == RIGHT
    assert toggles(at) == ["With 1 label corrected"]
    assert f"1 label changed from {GIVEN} to {RIGHT}." in plain(at.markdown[0].value)
    assert f"Corrected from {GIVEN} by person" in captions(at)
    assert f"Class <b>{RIGHT}</b>, as predicted" in page_html(at)
    button(at, "Undo")
    assert now(data) == {}
    assert row_classes(at)[WRONG] == GIVEN
    assert toggles(at) == []


def test_data_is_opened_with_corrections_or_without_them(data: Path) -> None:
    file_of(data).add([GivenLabel(TEXT.upper(), RIGHT, GIVEN, by="Ann")])
    at = open_data(data)
    (toggle,) = [toggle for toggle in at.toggle if "corrected" in toggle.label]
    assert toggle.value is True
    assert row_classes(at)[WRONG] == RIGHT
    toggle.set_value(False)
    run(at)
    assert row_classes(at)[WRONG] == GIVEN
    assert "Corrected from" not in captions(at)
    part = save_texts(rows()[:20], 20, "some", {"data": str(data), "reading": {}})
    at.session_state["datasets path"] = str(part)  # of the same data
    run(at)
    (toggle,) = [toggle for toggle in at.toggle if "corrected" in toggle.label]
    assert toggle.value is False
    toggle.set_value(True)
    run(at)
    assert row_classes(at)[WRONG] == RIGHT


def test_a_new_class_is_typed(data: Path) -> None:
    at = open_data(data)
    key = next(box.key for box in at.selectbox if box.key and box.key.endswith(" to"))
    type_in(at, key, "  Brand new ")
    button(at, "Change")
    assert now(data) == {TEXT: "Brand new"}
    assert row_classes(at)[WRONG] == "Brand new"
    at.session_state["data_tabs"] = "Overview"
    run(at)
    assert {metric.label: metric.value for metric in at.metric}["Classes"] == "4"
    key = f"row {text_hash(TEXT):x} Brand new to"
    at.session_state["data_tabs"] = "Rows"
    run(at)
    type_in(at, key, '["a", "b"]')
    button(at, "Change")
    assert errors(at) == ["""'["a", "b"]' is no name of a class; type another one."""]
    assert now(data) == {TEXT: "Brand new"}


def test_a_text_is_shown_and_written_as_it_is(data: Path) -> None:
    at = open_data(data)
    at.session_state["rows words"] = "onclick"
    run(at)
    key = f"row {text_hash(HOSTILE):x} Cooking to"
    type_in(at, key, "$x$ **y** :sun: <i>")
    button(at, "Change")
    assert now(data) == {HOSTILE: "$x$ **y** :sun: <i>"}
    assert "1 label changed from Cooking to $x$ **y** :sun: <i>." in plain(at.markdown[0].value)
    at.session_state["data_tabs"] = "Corrections"
    run(at)
    assert reviewed(at)["after"].tolist() == ["$x$ **y** :sun: <i>"]


def change_all(at: AppTest, key: str, to: str) -> AppTest:
    at.button(key=f"{key} labels").click()
    run(at)
    type_in(at, "labels to", to)
    at.button(key="change labels").click()
    return run(at)


def test_many_are_changed_at_once_and_undone_together(data: Path) -> None:
    at = open_data(data, rows__words="bread")
    shown = row_classes(at)
    at.button(key="Rows labels").click()
    run(at)
    assert at.button(key="change labels").disabled
    assert "The labels now: " in captions(at)
    at.selectbox(key="labels to").set_value("Gardens")
    run(at)
    changing = sum(label != "Gardens" for label in shown.values())
    assert at.button(key="change labels").label == f"Change {changing} labels"
    at.button(key="change labels").click()
    run(at)
    assert set(row_classes(at).values()) == {"Gardens"}
    assert len(now(data)) == changing
    assert len({one.batch for one in file_of(data).labels()}) == 1
    button(at, "Undo")  # of the message, which is about the batch
    assert row_classes(at) == shown


def test_each_gets_the_class_that_is_predicted(data: Path, classifier: ICapsClassifier) -> None:
    at = open_data(data, rows__judged="predicted wrong")
    wrong = {
        text: str(name)
        for (text, label), name in zip(
            rows(), classifier.predict([text for text, _ in rows()]), strict=True
        )
        if str(name) != label
    }
    assert wrong[TEXT] == RIGHT
    change_all(at, "Rows", "the predicted class of each text")
    assert now(data) == wrong
    assert "0 of 61 rows" in captions(at)


def test_a_doubted_label_is_doubted_no_more(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    issues = find_label_issues(indexed(data))
    assert WRONG in issues.rows
    at = open_data(data, rows__judged="possible label error")
    shown = row_classes(at)
    assert WRONG in shown
    at.session_state["open row"] = WRONG
    run(at)
    button(at, f"{RIGHT} (as suggested)")
    assert now(data) == {TEXT: RIGHT}
    assert "0 of 61 rows" in captions(at) or WRONG not in row_classes(at)
    assert f"{len(issues.rows) - 1:,} of 61 labels are doubted" in captions(at)
    assert "These doubts are of before the 1 corrected label." in at.info[0].value
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(commands, "start", started.append)
    button(at, "Search again")
    assert started == [
        ("data", "issues", str(data), "--corrections", str(corrections_of(str(data)).path))
    ]
    assert main([*started[0], "--json"]) == 0
    rerun = open_data(data, rows__judged="possible label error")
    assert not rerun.info
    found = json.loads(capsys.readouterr().out)
    assert f"{found['issues']:,} of 61 labels are doubted" in captions(rerun)
    assert found["accuracy"] != issues.accuracy


def test_rows_that_are_selected_in_the_table_are_changed(data: Path) -> None:
    at = open_data(data)
    at.toggle(key="rows several").set_value(True)
    run(at)
    table = next(frame for frame in at.dataframe if "row" in frame.value)
    key = f"rows several {hash(np.array(table.value['row']).tobytes())}"
    at.session_state[key] = {"selection": {"rows": [1, 3], "columns": [], "cells": []}}
    run(at)
    assert at.session_state["open row"] == 3
    change_all(at, "Rows", "Brand new")
    texts = [text for text, _ in rows()]
    assert now(data) == {texts[1]: "Brand new", texts[3]: "Brand new"}


def evaluated(model: Path, data: Path) -> None:
    from icaps.evaluate.predictions import load_scorer

    classifier = load_scorer(model)
    assert isinstance(classifier, ICapsClassifier)
    evaluate_data(classifier, weights_fingerprint(model), EvaluationData(data, "train", {}))


def accuracy(at: AppTest) -> str:
    return str({metric.label: metric.value for metric in at.metric}["Accuracy"])


def test_an_error_of_a_model_is_corrected(
    data: Path, models: Path, classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated(models / "small", data)
    monkeypatch.setattr(at_once, "TEXTS", 0)  # so that nothing may be computed anew
    at = open_page("evaluate", data=str(data), part="train", evaluate_tab="Errors")
    predicted = classifier.predict([text for text, _ in rows()])
    wrong = sum(str(name) != label for (_, label), name in zip(rows(), predicted, strict=True))
    assert f"{wrong} text" in captions(at)
    assert f"of class {GIVEN}: predicted {RIGHT}" in captions(at)
    key = next(
        button.key
        for button in at.button
        if button.key and f"{text_hash(TEXT):x}" in button.key and "as predicted" in button.label
    )
    at.button(key=key).click()
    run(at)
    assert now(data) == {TEXT: RIGHT}
    assert f"of class {GIVEN}: predicted {RIGHT}" not in captions(at)
    at.session_state["evaluate_tab"] = "Scores"
    at.session_state["evaluate_tabs"] = "Scores"
    run(at)
    assert accuracy(at) == f"{(61 - wrong + 1) / 61:.2%}"
    button(at, "Undo")
    assert accuracy(at) == f"{(61 - wrong) / 61:.2%}"


def test_a_class_that_the_model_lacks_is_an_error(data: Path, models: Path) -> None:
    evaluated(models / "small", data)
    file_of(data).add([GivenLabel(rows()[-1][0], "Brand new", "Cooking")])
    at = open_page("evaluate", data=str(data), part="train")
    assert any("'Brand new'" in error for error in [*errors(at), *[w.value for w in at.warning]])
    (toggle,) = [toggle for toggle in at.toggle if "corrected" in toggle.label]
    toggle.set_value(False)
    run(at)
    assert accuracy(at)


def test_shortcuts_show_and_change_labels(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = open_page("shortcuts", data=str(data), part="train", looked_at="1,000")
    key = next(box.key for box in at.selectbox if box.key and box.key.endswith(" to"))
    options = at.selectbox(key=key).options
    monkeypatch.setattr(at_once, "TEXTS", 0)  # findings remain, with the new labels
    at.selectbox(key=key).set_value(options[0])
    run(at)
    before = captions(at)
    next(b for b in at.button if b.key == key.removesuffix(" to") + " apply").click()
    run(at)
    ((_, label),) = now(data).items()
    assert label == options[0]
    assert "Labels were corrected after this was measured." in captions(at)
    assert captions(at) != before
    assert f"Text of class {label}: predicted" in captions(at)
    button(at, "Look again")
    assert "Labels were corrected after this was measured." not in captions(at)


def test_they_are_reviewed(data: Path) -> None:
    file = file_of(data)
    texts = [text for text, _ in rows()]
    file.add([GivenLabel(text, "Gardens", "Cooking", "Ann") for text in texts[:2]])
    file.add([GivenLabel(texts[0], "Sailing", "Gardens", "Ben"), GivenLabel("Elsewhere", "x")])
    at = open_data(data, "Corrections")
    table = reviewed(at)
    assert table["after"].tolist() == ["x", "Sailing", "Gardens", "Gardens"]
    assert table["counts"].tolist() == [True, True, True, False]
    assert {metric.label: metric.value for metric in at.metric}["Corrected texts"] == "3"
    at.selectbox(key="batch to undo").set_value(file.labels()[0].batch)
    run(at)
    button(at, "Undo all of these")
    assert now(data) == {texts[0]: "Sailing", "Elsewhere": "x"}
    assert reviewed(at)["after"].tolist() == ["x", "Sailing"]
    names = [one.proto.label for one in at.get("download_button")]
    assert {"CSV", "JSONL", "Parquet"} <= set(names)
    assert f"--corrections {file.path}" in captions(at)


def test_one_of_a_batch_is_undone(data: Path) -> None:
    file = file_of(data)
    texts = [text for text, _ in rows()]
    file.add([GivenLabel(text, "Brand new", "Cooking", "Ann") for text in texts[:3]])
    at = open_data(data, "Corrections")
    key = f"corrections table 3 {file.labels()[0].batch}"
    at.session_state[key] = {"selection": {"rows": [0, 2], "columns": [], "cells": []}}
    run(at)
    button(at, "Undo 2 labels")
    assert now(data) == {texts[1]: "Brand new"}


def test_a_file_is_uploaded(data: Path, tmp_path: Path) -> None:
    texts = [text for text, _ in rows()]
    content = LabelFile(tmp_path / "own.jsonl")
    content.add([GivenLabel(texts[3], "Brand new", by="Ann"), GivenLabel("Elsewhere", "x")])
    at = open_data(data, "Corrections")
    assert "No label of this data is corrected." in captions(at)
    at.file_uploader(key="corrections file 0").set_value(
        ("own.jsonl", content.path.read_bytes(), "application/json")
    )
    run(at)
    button(at, "Add these labels")
    (one,) = file_of(data).labels()
    assert (one.text, one.label, one.by) == (texts[3], "Brand new", "Ann")
    assert [plain(success.value) for success in at.success] == ["1 label added from own.jsonl."]
    assert row_classes(open_data(data))[3] == "Brand new"


def test_a_slice_is_corrected_where_it_is_from(data: Path, tmp_path: Path) -> None:
    part = save_texts(rows()[:20], 20, "some", {"data": str(data), "reading": {}})
    at = open_data(part)
    button(at, f"{RIGHT} (as predicted)")
    assert now(data) == {TEXT: RIGHT}
    assert row_classes(at)[WRONG] == RIGHT
    button(at, "Train again")
    assert at.title[0].value == "Train"
    assert at.text_input(key="launch path").value == str(data)


def test_it_is_trained_again_with_them(data: Path) -> None:
    at = open_data(data)
    button(at, f"{RIGHT} (as predicted)")
    button(at, "Train again")
    assert at.title[0].value == "Train"
    (code,) = [code.value for code in at.code if "icaps train" in code.value]
    assert f"--corrections {file_of(data).path}" in code
    at = open_page("train", train_view="New training")
    at.session_state["launch data"], at.session_state["launch path"] = PATH, str(data)
    run(at)
    (toggle,) = [toggle for toggle in at.toggle if "corrected" in toggle.label]
    toggle.set_value(False)
    run(at)
    (code,) = [code.value for code in at.code if "icaps train" in code.value]
    assert "--corrections" not in code


def test_the_file_of_a_command_is_shown_as_the_same(
    data: Path, models: Path, tmp_path: Path
) -> None:
    from icaps.runs.folder import DONE, Status
    from tests.dashboard.run_folders import write_run

    other = LabelFile(tmp_path / "my corrections.jsonl")
    other.add([GivenLabel(TEXT, "Gardens")])
    arguments = ["train", "--data", str(data), "--corrections", str(other.path)]
    write_run(models, "corrected", Status(DONE), arguments=arguments)
    at = open_page("train", run="corrected")
    button(at, "Duplicate with changes")
    assert toggles(at) == ["With 1 label corrected of my corrections.jsonl"]
    (code,) = [code.value for code in at.code if "icaps train" in code.value]
    assert f"--corrections '{other.path}'" in code
    at.query_params["data"] = str(data)
    at.switch_page("../pages/datasets.py")
    at.session_state["data_tabs"] = "Rows"
    run(at)
    assert row_classes(at)[WRONG] == "Gardens"
    assert "come from a command" in captions(at)
    assert not [b for b in at.button if "predicted" in b.label]


@pytest.fixture
def read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("read_only = true\n")
    monkeypatch.setenv(settings.SETTING, str(path))


def test_nothing_is_changed_in_read_only_mode(
    data: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    part = save_texts(rows()[:20], 20, "some", {"data": "elsewhere", "reading": {}})
    make_index(part, {})
    LabelFile(corrections_of(str(part)).path).add([GivenLabel(TEXT, "Gardens", GIVEN)])
    at = open_data(part)
    key = next(button.key for button in at.button if "as predicted" in button.label)
    request.getfixturevalue("read_only")
    shown = open_data(part)
    assert row_classes(shown)[WRONG] == "Gardens"
    assert toggles(shown) == ["With 1 label corrected"]
    assert f"Corrected from {GIVEN}" in captions(shown)
    assert not [b.label for b in shown.button if "predicted" in b.label or "labels" in b.label]
    at.button(key=key).click()  # of a page that was open before
    run(at)
    assert now(part) == {TEXT: "Gardens"}
    shown.session_state["data_tabs"] = "Corrections"
    run(shown)
    assert not [b.label for b in shown.button if "Undo" in b.label]
    assert not shown.get("file_uploader")


def test_there_is_a_limit(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("corrections = 3\n")
    monkeypatch.setenv(settings.SETTING, str(path))
    at = open_data(data, rows__words="bread")
    change_all(at, "Rows", "Brand new")
    (error,) = errors(at)
    assert "would be corrected, and the limit is 3." in error
    assert now(data) == {}


def test_two_windows_change_labels(data: Path) -> None:
    first, second = open_data(data), open_data(data)
    button(first, f"{RIGHT} (as predicted)")
    button(second, f"{RIGHT} (as predicted)")  # which the other window has done
    assert len(file_of(data).labels()) == 1
    assert now(data) == {TEXT: RIGHT}
    assert row_classes(second)[WRONG] == RIGHT
    button(first, "Undo")
    run(second)
    assert now(data) == {}
    assert row_classes(second)[WRONG] == GIVEN
    button(first, f"{RIGHT} (as predicted)")
    run(second)
    key = next(button.key for button in second.button if button.label == "Undo")
    batch = file_of(data).labels()[0].batch
    second.button(key=key).click()
    run(second)
    assert now(data) == {}
    first.button(key="undo labels").click()  # of what the other window has undone
    run(first)
    assert row_classes(first)[WRONG] == GIVEN
    assert batch not in {one.batch for one in file_of(data).labels()}


def of_sets(tmp_path: Path) -> Path:
    """Texts with any number of classes."""
    place = tmp_path / "sets.jsonl"
    labels = [["Cooking"], ["Cooking", "Gardens"], [], ["Sailing"]]
    lines = [
        json.dumps({"text": f"{text} {number}", "label": labels[number % 4]})
        for number, text in enumerate(make_texts(40, 1)[0])
    ]
    place.write_text("\n".join(lines))
    make_index(place, {})
    return place


def test_sets_of_classes_are_changed(tmp_path: Path, models: Path) -> None:
    shutil.rmtree(models / "small")
    place = of_sets(tmp_path)
    at = open_data(place)
    assert "Row 0 · line 1 · " in page_html(at)  # a single file has no parts
    (key,) = [box.key for box in at.multiselect if box.key and box.key.endswith(" to")]
    assert at.multiselect(key=key).value == ["Cooking"]
    at.multiselect(key=key).set_value(["Sailing", "Cooking"])
    run(at)
    button(at, "Change")
    assert list(now(place).values()) == ['["Cooking", "Sailing"]']
    at.button(key="Rows labels").click()
    run(at)
    assert "10 none" in captions(at)
    at.multiselect(key="labels to").set_value(["Gardens"])
    run(at)
    assert at.button(key="change labels").label == "Change 30 labels"  # the others have it
    at.button(key="change labels").click()
    run(at)
    labels = [record.label for record in open_source(place, corrections=str(file_of(place).path))]
    assert labels[:4] == [
        '["Cooking", "Gardens", "Sailing"]',
        '["Cooking", "Gardens"]',
        '["Gardens"]',
        '["Gardens", "Sailing"]',
    ]
    at.button(key="Rows labels").click()
    run(at)
    at.segmented_control(key="labels way").set_value("Remove")
    at.multiselect(key="labels to").set_value(["Gardens", "Cooking"])
    run(at)
    at.button(key="change labels").click()
    run(at)
    labels = [record.label for record in open_source(place, corrections=str(file_of(place).path))]
    assert labels[:4] == ['["Sailing"]', "[]", "[]", '["Sailing"]']
