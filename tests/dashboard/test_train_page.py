"""The page of trainings, over folders in every state that they can be found in."""

import io
import json
import math
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.model_registry import SHIPPED
from dashboard.train import charts, view
from dashboard.train.charts import CURVES, MAX_POINTS, curve_table, use_table
from dashboard.url_state import NEW_TRAINING, TRAININGS
from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig
from icaps.reports.charts import PALETTE, class_colors
from icaps.reports.files import to_csv
from icaps.runs import jobs
from icaps.runs.folder import (
    DONE,
    FAILED,
    INTERRUPTED,
    PREPARING,
    PROGRESS,
    QUEUED,
    REQUEST,
    SNAPSHOTS,
    STATUS,
    STOP,
    STOPPED,
    STOPPING,
    TRAINING,
    Run,
    RunFolder,
    Status,
)
from tests.dashboard.run_folders import (
    CLASSES,
    as_run,
    at_work,
    damage,
    done,
    epoch_line,
    open_page,
    run,
    status_of,
    steps,
    write_run,
)
from tests.dashboard.visitor import HOME, errors, page_html, shown_text

HTML = '<b onclick="x">a & b</b> $x$ **c** :sun: [d](javascript:e)'
COURSE = [*steps(1), epoch_line(1, 0.5), *steps(2, loss=0.25), epoch_line(2, 0.75)]
TABS = ("Curves", "Reasons", "Settings", "Log")
SETTINGS = ["--set", "fixed_dim=8", "--set", "epochs=3"]


TAB_OF = {"request": "Settings", "snapshots": "Reasons", "log": "Log"}  # where it is seen


@pytest.fixture
def place(models: Path) -> Path:
    """Where the app looks for trainings; the model of the tests is there, too."""
    return models


@pytest.fixture
def snapshots(classifier: ICapsClassifier) -> list[dict[str, Any]]:
    """Of two epochs; the second capsule wins all texts at last."""
    (explanation,) = classifier.explain(["Bake bread & <b>soup</b>."])
    plain = json.loads(json.dumps(explanation.to_dict()))
    first = [[3, 0, 0], [1, 4, 0], [0, 0, 0]]
    last = [[0, 8, 0], [0, 0, 0], [0, 0, 0]]
    return [
        {"epoch": 1, "classes": CLASSES, "frequency": first, "explanation": plain},
        {"epoch": 2, "classes": CLASSES, "frequency": last, "explanation": plain},
    ]


def open_tab(at: AppTest, name: str) -> AppTest:
    at.session_state["train_tabs"] = name
    return run(at)


def all_tabs(at: AppTest) -> AppTest:
    for name in TABS:
        open_tab(at, name)
    return at


def buttons(at: AppTest) -> set[str]:
    return {button.key.split()[0] for button in at.button if button.key} & {
        *("stop", "resume", "duplicate", "delete")
    }


def press(at: AppTest, what: str, name: str) -> AppTest:
    at.button(key=f"{what} {name}").click()
    return run(at)


def metrics(at: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in at.metric}


def progress_bar(at: AppTest) -> tuple[int, str]:
    (bar,) = at.get("progress")
    return bar.proto.value, bar.proto.text.replace("\\", "").replace("\u2060", "")


def history(at: AppTest) -> pd.DataFrame:
    return at.dataframe[-1].value


def test_without_a_training_the_page_has_the_form() -> None:
    at = open_page("train")
    assert at.session_state["train_view"] == NEW_TRAINING
    assert at.button(key="launch start").label == "Start training"
    at.session_state["train_view"] = TRAININGS
    run(at)
    assert at.header[0].value == "There is no training yet"
    assert "Open *New training* above, or *Train a model* in the sidebar" in at.markdown[-1].value
    assert not at.dataframe


def test_a_fresh_clone_shows_how_its_model_was_trained(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ICAPS_MODELS", f"{SHIPPED}:{tmp_path / 'none'}")
    at = open_page("train")
    assert at.header[-1].value == "How the model ag_news was trained"
    captions = [caption.value.replace("\\", "") for caption in at.caption]
    about = "44,580 texts, 5 epochs, 2 min, 91.9% of the test texts right."
    assert [caption for caption in captions if caption.startswith(about)]
    assert len(at.get("vega_lite_chart")) == 4  # classes; accuracy and two losses by epoch
    at.toggle(key="table example-accuracy").set_value(True)
    shares = run(at).dataframe[-1].value["validation_accuracy"]
    assert [round(share, 3) for share in shares] == [0.911, 0.922, 0.922, 0.928, 0.929]


LIVE = {"stop", "duplicate"}
ENDED = {"resume", "duplicate", "delete"}
# The status that is written, whether its process lives, whether a stop was requested: the state and
# the buttons that are shown.
STATES: dict[str, tuple[Status | None, bool, bool, str, set[str]]] = {
    "just requested": (None, False, False, QUEUED, LIVE),
    "queued": (Status(QUEUED, 1), True, False, QUEUED, LIVE),
    "preparing": (Status(PREPARING, 1), True, False, PREPARING, LIVE),
    "training": (
        Status(TRAINING, 1, epoch=2, epochs=4, step=5, steps=10, eta=70.0),
        *(True, False, "epoch 2 of 4, 70 s left", LIVE),
    ),
    "first step": (
        Status(TRAINING, 1, epoch=1, epochs=4, step=1, steps=10),
        *(True, False, "epoch 1 of 4", LIVE),
    ),
    "stopping": (Status(TRAINING, 1, epoch=1, epochs=2, steps=3), True, True, STOPPING, LIVE),
    "stopped": (
        Status(STOPPED, 1, epoch=1, epochs=2, step=3, steps=3),
        False,
        True,
        STOPPED,
        ENDED,
    ),
    "killed while stopping": (Status(TRAINING, 1), False, True, STOPPED, ENDED),
    "done": (done(), False, False, DONE, {"duplicate", "delete"}),
    "failed": (Status(FAILED, 1, error=HTML), False, False, FAILED, ENDED),
    "interrupted": (Status(TRAINING, 1), False, False, INTERRUPTED, ENDED),
}


@pytest.mark.parametrize("name", STATES)
def test_each_state(name: str, place: Path) -> None:
    status, alive, stop, words, expected = STATES[name]
    folder = write_run(place, name, status, stop_requested=stop, progress=COURSE)
    with at_work(folder) if alive else nullcontext():
        at = open_page("train")
        assert buttons(at) == expected
        if name == "failed":
            assert errors(at) == [f"failed failed. {HTML}"]
        else:
            assert progress_bar(at)[1] == f"{name}: {words}."
            assert not at.error
        state = TRAINING if words.startswith("epoch") else words
        assert history(at)["state"].tolist() == [state]
        live = name == "just requested" or alive
        assert ("Training now" in page_html(at)) == live


def test_the_numbers_of_a_training(place: Path) -> None:
    status = Status(
        TRAINING,
        1,
        started=time.time() - 60,
        epoch=3,
        epochs=4,
        step=5,
        steps=10,
        loss=0.12345,
        validation_accuracy=0.875,
        learning_rate=5e-4,
        texts_per_second=1234.5,
        eta=7_200.0,
        memory=1_250_000_000,
        validation_macro_f1=0.75,
    )
    folder = write_run(place, "mine", status)
    with at_work(folder):
        at = open_page("train", run="mine")
        assert metrics(at) == {
            "Loss": "0.1235",
            "Best validation": "87.5%",
            "Best macro F1": "75.0%",
            "Texts per second": "1,234",
            "Learning rate": "0.0005",
            "Memory": "1.25 GB",
        }
        assert progress_bar(at) == (62, "mine: epoch 3 of 4, 2.0 h left.")  # 25 of 40 steps
        bar = page_html(at)
        assert 'aria-valuenow="62"' in bar
        assert '<i style="width:62.5%"' in bar
        assert "epoch 3 of 4, 2.0 h left · 87.5%" in bar
        row = history(at).iloc[0]
        assert (row["epochs"], row["validation"], row["minutes"]) == (3, 0.875, 1.0)
        assert row["validation macro F1"] == 0.75


def test_names_that_are_markup(place: Path) -> None:
    """By hand a folder can be called almost anything."""
    name = HTML.replace("/", "|")
    folder = write_run(place, name, Status(TRAINING, 1, epoch=1, epochs=2, step=1, steps=2))
    with at_work(folder):
        at = all_tabs(open_page("train"))
        assert progress_bar(at)[1] == f"{name}: epoch 1 of 2."
        assert at.selectbox(key="run").value == name
        assert "onclick" not in page_html(at).replace("onclick=&#34;", "")


DAMAGES: dict[str, Callable[[RunFolder], object]] = {
    "empty status": lambda f: damage(f.path / STATUS, b""),
    "binary status": lambda f: damage(f.path / STATUS, b"\xff\x00" * 99),
    "half a status": lambda f: damage(f.path / STATUS, '{"state": "trai'),
    "status of other numbers": lambda f: status_of(f, state=DONE, epoch=0, epochs=2, steps=10),
    "status before 1970": lambda f: status_of(f, state=DONE, started=-1e17),
    "status of the far future": lambda f: status_of(f, state=DONE, started=1e17, updated=1e17),
    "status of no time": lambda f: status_of(f, state=DONE, started=1e300, learning_rate=1e38),
    "huge status": lambda f: status_of(f, state=DONE, memory=10**400),
    "status of no numbers": lambda f: damage(
        f.path / STATUS, '{"state": "done", "loss": NaN, "started": Infinity}'
    ),
    "unknown state": lambda f: status_of(f, state=HTML),
    "no request": lambda f: (f.path / REQUEST).unlink(),
    "half a request": lambda f: damage(f.path / REQUEST, '{"arguments": ["tr'),
    "request of numbers": lambda f: damage(f.path / REQUEST, '{"arguments": [1], "folder": "/"}'),
    "request of nothing": lambda f: damage(f.path / REQUEST, '{"arguments": [], "folder": "/"}'),
    "request for help": lambda f: damage(
        f.path / REQUEST, '{"arguments": ["train", "--help"], "folder": "/"}'
    ),
    "request of the future": lambda f: damage(
        f.path / REQUEST, '{"arguments": ["train", "--data", "x", "--new", "1"], "folder": "/"}'
    ),
    "request of half a character": lambda f: damage(
        f.path / REQUEST,
        r'{"arguments": ["train", "--data", "\ud800", "--label", "\u0000"],'
        r' "folder": "/"}',
    ),
    "binary progress": lambda f: damage(f.path / PROGRESS, b"\xff\x00\n" * 99),
    "progress of other kinds": lambda f: [
        f.append(PROGRESS, record)
        for record in (
            {"epoch": 3, "step": 1, "steps": 2, "loss": "low", "memory": [1]},
            {"epoch": 3, "step": 2, "loss": 0.5},
            {"epoch": 3, "step": 3, "steps": 0, "loss": {"a": 1}, "learning_rate": None},
            {"epoch": 3, "step": 4, "steps": None, "loss": 10**400},
            {"epoch": 3, "step": "5", "loss": 0.5, "steps": None},
            {"epoch": 4, "validation_accuracy": "0.5"},
            {"epoch": 5, "validation_accuracy": [0.5]},
            {"epoch": 10**400, "step": 1, "steps": 1, "loss": 0.5},
        )
    ],
    "binary snapshots": lambda f: damage(f.path / SNAPSHOTS, b"\xff\x00\n" * 99),
    "snapshots of other kinds": lambda f: [
        f.append(SNAPSHOTS, record)
        for record in (
            {"epoch": 3},
            {"epoch": 4, "classes": CLASSES, "frequency": [], "explanation": None},
            {"epoch": 5, "classes": [], "frequency": [[1, 2]], "explanation": None},
            {"epoch": 6, "classes": "abc", "frequency": "abc", "explanation": "abc"},
            {"epoch": 7, "classes": CLASSES, "frequency": [["1"], [], [None]], "explanation": {}},
            {"epoch": 8, "classes": CLASSES, "frequency": [[1], [2], [3]], "explanation": [1]},
        )
    ],
    "metrics of another form": lambda f: damage(f.path / "metrics.json", '{"test": [1]}'),
    "deep metrics": lambda f: damage(f.path / "metrics.json", "[" * 100_000),
    "binary metrics": lambda f: damage(f.path / "metrics.json", b"\xff\xfe"),
    "binary log": lambda f: damage(f.path / "train.log", b"\xff\x00\x1b[31m" * 99),
    "a log that is a folder": lambda f: (f.path / "train.log").mkdir(),
    "a status that is a folder": lambda f: [(f.path / STATUS).unlink(), (f.path / STATUS).mkdir()],
    "progress that is a folder": lambda f: [
        (f.path / PROGRESS).unlink(),
        (f.path / PROGRESS).mkdir(),
    ],
    "a config alone": lambda f: damage(f.path / "config.json", "{}"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_folder_is_shown_as_far_as_it_can_be(
    name: str, place: Path, snapshots: list[dict[str, Any]]
) -> None:
    for kind in ("whole", "bad"):
        folder = write_run(place, kind, done(), progress=COURSE, snapshots=snapshots)
    DAMAGES[name](folder)
    about = next((word for word in TAB_OF if word in name), "")
    at = AppTest.from_file(str(HOME), default_timeout=60)
    at.session_state["train_tabs"] = TAB_OF.get(about, "Curves")
    at.session_state["beside"] = ["whole"]
    at.query_params["run"] = "bad"
    at.switch_page("../pages/train.py")
    run(at)
    assert at.selectbox(key="run").value == "bad"
    assert at.multiselect(key="beside").value == ["whole"]
    assert sorted(history(at)["name"]) == ["bad", "whole"]
    assert "delete" in buttons(at)
    if about == "request":
        open_tab(at, "Log")
    if about == "snapshots":
        assert len(at.get("vega_lite_chart")) == (name != "binary snapshots")


def test_a_folder_that_is_no_training_is_left_alone(place: Path) -> None:
    (place / "notes").mkdir()
    (place / "file").write_text("x")
    (place / "link").symlink_to(place / "nowhere")
    (place / ".hidden").mkdir()
    damage(place / ".hidden" / STATUS, "{}")
    write_run(place, "mine", done())
    assert open_page("train").selectbox(key="run").options == ["mine"]


def test_a_rate_that_is_far_too_high_is_drawn() -> None:
    records = [{"epoch": 1, "step": 1, "steps": 1, "learning_rate": 1e38, "loss": float("nan")}]
    assert curve_table({"a": records}, CURVES["rate"])["learning_rate"].tolist() == [1e38]
    assert curve_table({"a": records}, CURVES["loss"]).empty


def test_curves_by_hand() -> None:
    records = {
        "a": [
            {"epoch": 1, "step": 5, "steps": 10, "loss": 0.5, "memory": 2 * 10**9},
            {
                "epoch": 1,
                "loss": 0.4,
                "validation_accuracy": 0.75,
                "seconds": 1.0,
                "validation_macro_f1": 0.5,
            },
            {"epoch": 2, "step": 10, "steps": 10, "loss": 0.25, "memory": 3 * 10**9},
            {"epoch": 2, "step": 11, "steps": 10, "loss": None},
        ],
        "b": [{"epoch": 3, "step": 1, "steps": 4, "loss": 1}],
        "c": [],
    }
    loss = curve_table(records, CURVES["loss"])
    assert loss.to_dict("list") == {
        "run": ["a", "a", "b"],
        "epoch": [0.5, 2.0, 2.25],
        "loss": [0.5, 0.25, 1.0],
    }
    assert curve_table(records, CURVES["macro_f1"])["validation_macro_f1"].tolist() == [0.5]
    accuracy = curve_table(records, CURVES["accuracy"])
    assert accuracy.to_dict("list") == {
        "run": ["a"],
        "epoch": [1.0],
        "validation_accuracy": [0.75],
    }
    assert curve_table(records, CURVES["memory"])["memory"].tolist() == [2.0, 3.0]
    for curve in CURVES.values():
        assert curve_table({}, curve).empty


@pytest.mark.parametrize("count", [1, MAX_POINTS, MAX_POINTS + 1, 2 * MAX_POINTS, 4_001])
def test_a_long_curve_keeps_its_end(count: int) -> None:
    records = [
        {"epoch": 1, "step": n, "steps": count, "loss": float(n)} for n in range(1, 1 + count)
    ]
    table = curve_table({"a": records, "b": records[:3]}, CURVES["loss"])
    points = table[table["run"] == "a"]
    assert points["loss"].iloc[-1] == count
    assert len(points) <= MAX_POINTS
    assert len(points) >= min(count, MAX_POINTS // 2)
    assert points["epoch"].is_monotonic_increasing
    assert len(set(points["loss"].diff().dropna())) <= 1  # evenly spaced
    assert len(table) == len(points) + min(count, 3)


def test_the_use_of_capsules_by_hand(snapshots: list[dict[str, Any]]) -> None:
    table = use_table(snapshots)
    assert table.to_dict("list") == {
        "epoch": [1, 1, 1, 2, 2, 2],
        "capsule": [0, 1, 2, 0, 1, 2],
        "main class": ["Cooking", "Gardens", "none", "none", "Cooking", "none"],
        "share": [0.5, 0.5, 0.0, 0.0, 1.0, 0.0],
    }
    nothing = [{"epoch": 1, "classes": ["a", "b"], "frequency": [[0], [0]]}]
    assert use_table(nothing)["share"].tolist() == [0.0]
    assert list(use_table([])) == ["epoch", "capsule", "main class", "share"]


def drawn(chart: alt.TopLevelMixin) -> dict[str, Any]:
    found: dict[str, Any] = chart.to_dict()
    return found


def test_a_run_has_its_colour_whatever_is_drawn() -> None:
    """By its place among the runs, also where a curve lacks one of them."""
    names = ["a", "b", "c"]
    table = curve_table({"c": steps(1)}, CURVES["loss"])
    encoding = drawn(charts.draw(table, CURVES["loss"], names, "#111111"))["layer"][0]["encoding"]
    assert encoding["color"]["scale"] == {"domain": names, "range": list(PALETTE[:3])}
    assert encoding["color"]["legend"] is not None
    alone = drawn(charts.draw(table, CURVES["loss"], ["c"], "#111111"))["layer"][0]["encoding"]
    assert alone["color"]["legend"] is None


def test_each_class_of_the_use_has_its_colour(snapshots: list[dict[str, Any]]) -> None:
    colors = class_colors(CLASSES)
    chart = drawn(charts.draw_use(use_table(snapshots), colors, "#111111"))
    scale = chart["layer"][0]["encoding"]["color"]["scale"]
    assert dict(zip(scale["domain"], scale["range"], strict=True)) == colors
    (rows,) = chart["datasets"].values()
    assert {row["capsule"] for row in rows} == {0, 1}  # one that wins nothing has no cell
    assert chart["layer"][0]["encoding"]["x"]["scale"]["domain"] == [0, 1, 2]


def test_curves_on_the_page(place: Path) -> None:
    write_run(place, "one", done(), progress=COURSE)
    write_run(place, "two", done(), progress=COURSE[:5])
    write_run(place, "none", done())
    at = open_page("train", run="one")
    at.multiselect(key="beside").set_value(["two", "none"])
    open_tab(at, "Curves")
    titles = [json.loads(c.proto.spec)["title"]["text"] for c in at.get("vega_lite_chart")]
    assert sorted(titles) == sorted(curve.title for curve in CURVES.values())
    at.toggle(key="table curve-accuracy").set_value(True)
    table = run(at).dataframe[0].value
    assert table.to_dict("list") == {
        "run": ["one", "one"],
        "epoch": [1.0, 2.0],
        "validation_accuracy": [0.5, 0.75],
    }
    at.selectbox(key="run").select("none")
    at.multiselect(key="beside").set_value([])
    assert any("No curves were recorded" in c.value for c in run(at).caption)
    assert at.query_params["run"] == "none"


def test_a_queued_training_has_no_curves_yet(place: Path) -> None:
    with at_work(write_run(place, "waits", Status(QUEUED, 1))):
        at = open_tab(open_page("train", run="waits"), "Curves")
        assert any("start with the first step" in c.value for c in at.caption)


def test_how_reasons_are_learnt(place: Path, snapshots: list[dict[str, Any]]) -> None:
    write_run(place, "mine", done(), snapshots=snapshots)
    at = open_tab(open_page("train"), "Reasons")
    assert shown_text(at).startswith("Bake bread & <b>soup</b>.")
    assert at.select_slider[0].value == 2
    caption = next(c.value for c in at.caption if "win validation" in c.value)
    assert "1 of 3 win at least 1% after the last epoch, 2 after the first" in caption
    at.select_slider[0].set_value(1)
    assert "After epoch 1" in run(at).markdown[-1].value


def test_epochs_without_an_explanation(place: Path, snapshots: list[dict[str, Any]]) -> None:
    """Resumed by hand without --watch, and with it again."""
    snapshots += [dict(snapshots[0], epoch=3, explanation=None)]
    write_run(place, "mine", done(3), snapshots=snapshots)
    at = open_tab(open_page("train"), "Reasons")
    assert at.select_slider[0].value == 2
    assert at.select_slider[0].options == ["1", "2"]
    for snapshot in snapshots:
        snapshot["explanation"] = None
    write_run(place, "other", done(3), snapshots=snapshots)
    at = open_tab(open_page("train", run="other"), "Reasons")
    assert not at.select_slider
    assert len(at.get("vega_lite_chart")) == 1


def test_classes_that_are_markup(place: Path, snapshots: list[dict[str, Any]]) -> None:
    names = [HTML, "=1+1", "x" * 300]
    for snapshot in snapshots:
        renamed = dict(zip(CLASSES, names, strict=True))
        plain = dict(snapshot["explanation"])
        plain["classes"] = names
        plain |= {key: renamed[plain[key]] for key in ("predicted", "target")}
        for key in ("scores", "probabilities"):
            plain[key] = {renamed[name]: value for name, value in plain[key].items()}
        snapshot |= {"classes": names, "explanation": plain}
    write_run(place, "mine", done(), snapshots=snapshots)
    at = open_tab(open_page("train"), "Reasons")
    (line,) = [m.value for m in at.markdown if m.value.startswith("After epoch")]
    assert "<b" not in line.replace("\\<b", "")
    assert "**" not in line.replace("\\*\\*", "")


def test_settings_side_by_side(place: Path) -> None:
    work = ["train", "--data", "texts.csv"]
    config = {"model": vars(ModelConfig(fixed_dim=8)), "train": vars(TrainConfig(epochs=3))}
    for name in ("one", "same"):
        folder = write_run(place, name, done(), arguments=[*work, *SETTINGS])
        damage(folder.path / "config.json", json.dumps(config))
        damage(folder.path / "metrics.json", json.dumps({"recipe": ["6 *classes*: wide."]}))
    two = [*work, "--vectors", "/v.txt", "--seed", "4"]
    folder = write_run(place, "two", done(), arguments=two)
    config = {"model": vars(ModelConfig()), "train": vars(TrainConfig(seed=4))}
    damage(folder.path / "config.json", json.dumps(config))
    write_run(place, "older", done(), arguments=[*work, "--set", "gone=1"])
    at = open_tab(open_page("train", run="one"), "Settings")
    table = at.dataframe[0].value.set_index("setting")["one"]
    known = {**vars(ModelConfig(fixed_dim=8)), **vars(TrainConfig(epochs=3))}
    assert set(known) <= set(table.index)
    for name, value in known.items():
        assert table[name] == ("" if value is None else str(value))
    assert (table["data"], table["vectors"]) == ("texts.csv", "texts")
    assert (table["preset"], table["given"]) == ("the recipe", "fixed_dim=8, epochs=3")
    assert any("\\*classes\\*" in caption.value for caption in at.caption)  # why
    at.multiselect(key="beside").set_value(["two"])
    table = run(at).dataframe[0].value
    assert {row["setting"]: (row["one"], row["two"]) for _, row in table.iterrows()} == {
        "preset": ("the recipe", ""),
        "given": ("fixed_dim=8, epochs=3", "seed=4"),
        "vectors": ("texts", "/v.txt"),
        "fixed_dim": ("8", "300"),
        "epochs": ("3", "12"),
        "seed": ("0", "4"),
    }
    at.toggle(key="only_differences").set_value(False)
    assert len(run(at).dataframe[0].value) > len(known)
    at.toggle(key="only_differences").set_value(True)
    at.multiselect(key="beside").set_value(["same"])
    assert any("settings are the same" in caption.value for caption in run(at).caption)
    at.multiselect(key="beside").set_value(["older"])
    table = run(at).dataframe[0].value.set_index("setting")
    assert "There is no setting 'gone'" in table.loc["data", "older"]


@pytest.mark.parametrize("name", ["setting", "0"])
def test_a_run_may_be_called_as_a_column_is(name: str, place: Path) -> None:
    write_run(place, name, done(), arguments=["train", "--data", "d.csv"], progress=COURSE)
    write_run(place, "other", done(), arguments=["train", "--data", "e.csv"], progress=COURSE)
    at = open_page("train", run=name)
    at.multiselect(key="beside").set_value(["other"])
    table = open_tab(at, "Settings").dataframe[0].value
    assert table.iloc[0].tolist()[-2:] == ["d.csv", "e.csv"]


def test_the_log_and_the_command(place: Path) -> None:
    arguments = ["train", "--data", "my texts.csv", "--watch", "it's <b>"]
    write_run(place, "mine", done(), arguments=arguments, log="reading\n 0%\r100%\n<b>\0\n")
    write_run(place, "new", done(), arguments=None)
    at = open_tab(open_page("train", run="mine"), "Log")
    log, command = (code.value for code in at.code)
    assert log.splitlines()[:2] == ["reading", "100%"]
    assert command == ("python -m icaps train --data 'my texts.csv' --watch 'it'\"'\"'s <b>'")
    at.selectbox(key="run").select("new")
    assert [code.value for code in run(at).code] == ["The log is empty."]
    assert buttons(at) == {"delete"}  # nobody knows how it was started


def test_the_table_of_all_trainings(place: Path) -> None:
    status = done(5, started=1_700_000_000.0, validation_accuracy=0.9)
    folder = write_run(place, "a", status, arguments=["train", "--data", "=1+1"])
    test = {"accuracy": 0.875, "macro_f1": 0.75, "n": 8}
    damage(folder.path / "metrics.json", json.dumps({"test": test}))
    (folder.path / "model.safetensors").write_bytes(bytes(2_500_000))
    write_run(place, "b", Status(FAILED, error="x"), arguments=None)
    at = open_page("train")
    table = history(at).set_index("name")
    row = table.loc["a"]
    assert (row["state"], row["data"], row["epochs"]) == (DONE, "=1+1", 5)
    assert (row["validation"], row["test"], row["MB"]) == (0.9, 0.875, 2.5)
    assert row["test macro F1"] == 0.75
    assert row["started (UTC)"] == pd.Timestamp("2023-11-14 22:13:20")
    assert row["minutes"] == pytest.approx((time.time() - 1.7e9) / 60, abs=1)
    row = table.loc["b"]
    assert (row["state"], row["data"]) == (FAILED, "")
    assert math.isnan(row["validation"])
    assert math.isnan(row["test"])
    assert math.isnan(row["test macro F1"])
    assert math.isnan(row["validation macro F1"])  # as of earlier versions
    assert pd.isna(row["started (UTC)"])
    assert any(f"2 trainings in {place.resolve()}, 2 MB" in caption.value for caption in at.caption)


def test_files_for_a_spreadsheet_hold_no_formulas(place: Path) -> None:
    hostile = ["=1+1", "+1", "-1", "@x", "\tx", "\rx", '=cmd|" /C calc"!A0']
    table = pd.DataFrame({"name": hostile, "n": [-1.5, 2, 3, 4, 5, 6, None]})
    read = pd.read_csv(io.BytesIO(to_csv(table)), keep_default_na=False)
    assert read["name"].tolist() == [f"'{cell}" for cell in hostile]
    assert read["n"].tolist()[:2] == ["-1.5", "2.0"]
    write_run(place, "a", done(), arguments=["train", "--data", "=cmd"])
    at = open_tab(open_page("train"), "Settings")
    files = [download.proto for download in at.get("download_button")]
    assert [file.label for file in files] == ["CSV", "CSV"]
    assert not any(file.url for file in files)  # written when they are pressed


def test_deleting(place: Path) -> None:
    for name in ("one", "two"):
        write_run(place, name, done(), progress=COURSE)
    at = open_page("train", run="one")
    assert any("Delete one and its model, 0.0 MB, permanently?" in plain(m) for m in at.markdown)
    press(at, "delete", "one")
    assert not (place / "one").exists()
    assert (place / "two" / PROGRESS).is_file()
    assert (place / "small").is_dir()
    assert at.selectbox(key="run").value == "two"
    assert at.query_params["run"] == "two"
    assert press(at, "delete", "two").header[0].value == "There is no training yet"


def plain(element: Any) -> str:
    return str(element.value.replace("\\", "").replace("\u2060", ""))


def test_a_run_that_begins_before_it_is_deleted_stays(place: Path) -> None:
    folder = write_run(place, "one", done())
    at = open_page("train")
    with at_work(folder):
        press(at, "delete", "one")
        assert folder.path.is_dir()
    write_run(place, "gone", done())
    at = open_page("train", run="gone")
    jobs.delete(place, "gone")  # in another window
    assert press(at, "delete", "gone").selectbox(key="run").options == ["one"]
    assert folder.path.is_dir()  # a click on another's button is none on this one's


def test_stopping_asks_its_process(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(place, "one", Status(TRAINING, 4_194_305, epoch=1, epochs=2, steps=2))
    killed: list[int] = []
    monkeypatch.setattr(jobs.os, "kill", lambda pid, _: killed.append(pid))
    with at_work(folder):
        at = open_page("train")
        assert at.button(key="stop one").label == "Stop"
        press(at, "stop", "one")
        assert killed == [4_194_305]
        assert (folder.path / STOP).is_file()
        assert at.button(key="stop one").label == "Stop at once"
        assert progress_bar(at)[1] == "one: stopping."
    assert buttons(run(at)) == ENDED


def test_a_status_of_all_processes_stops_none(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_run(place, "one", done())
    status_of(folder, state=TRAINING, pid=-1)
    monkeypatch.setattr(jobs.os, "kill", lambda *_: pytest.fail("all processes were stopped"))
    with at_work(folder):
        press(open_page("train"), "stop", "one")


def test_resuming(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_JOBS", "4")
    write_run(place, "one", Status(STOPPED, 1), resumable=True)
    write_run(place, "two", Status(FAILED, 1, error="x"))
    launched: list[tuple[Any, ...]] = []
    monkeypatch.setattr(jobs, "_launch", lambda *arguments: launched.append(arguments))
    for name, words in (
        ("one", "exactly from its last saved state"),
        ("two", "Starts from the beginning"),
    ):
        at = open_page("train", run=name)
        assert words in at.button(key=f"resume {name}").help
        press(at, "resume", name)
    request = ["train", "--data", "synthetic"]
    folder = str(place)
    assert launched == [
        (place.resolve() / "one", [*request, "--resume"], 4, folder),
        (place.resolve() / "two", request, 4, folder),
    ]


def test_resuming_where_the_folder_of_the_command_is_gone(place: Path) -> None:
    folder = write_run(place, "one", Status(STOPPED, 1))
    damage(folder.path / REQUEST, '{"arguments": ["train"], "folder": "/nowhere/at/all"}')
    assert "which no longer exists" in errors(press(open_page("train"), "resume", "one"))[0]


def test_duplicating_opens_the_form(place: Path) -> None:
    write_run(place, "one", done(), arguments=["train", "--data", "synthetic", *SETTINGS])
    at = open_page("train")
    at.button(key="duplicate").click()
    run(at)
    assert at.session_state["train_view"] == NEW_TRAINING
    assert at.text_input(key="launch name").value == "one 2"
    values = {(w.key or "").split(" ")[1]: w.value for w in at.number_input}
    assert (values["fixed_dim"], values["epochs"]) == (8, 3)


def test_who_watches_is_told_of_an_end(place: Path) -> None:
    """Between two looks one is done, one fails, one is deleted, and one goes on."""
    live = Status(TRAINING, 1, epoch=1, epochs=2, step=1, steps=2)
    folders = {name: write_run(place, name, live) for name in ("a", "b", "c", "d")}
    with ExitStack() as alive:
        alive.enter_context(at_work(folders["d"]))
        with ExitStack() as ending:
            for name in ("a", "b", "c"):
                ending.enter_context(at_work(folders[name]))
            at = open_page("train", run="b")
            assert [p for p in "abcd" if f"<b>{p}</b>" in page_html(at)] == [*"abcd"]
            assert not at.toast
        folders["a"].write_status(done())
        folders["b"].write_status(Status(FAILED, 1, error=HTML))
        jobs.delete(place, "c")
        toasts = [plain(toast) for toast in run(at).toast]
        next_steps = "[What next?](train?run=a&train_view=Trainings)"
        assert sorted(toasts) == [f"a: done {next_steps}", f"b: {HTML}"]
        # The sidebar keeps what has ended well, until it is looked at.
        assert [p for p in "abcd" if f"<b>{p}</b>" in page_html(at)] == ["a", "d"]
        at.selectbox(key="run").select("a")
        run(at)
        assert [p for p in "abcd" if f"<b>{p}</b>" in page_html(at)] == ["d"]
        assert not run(at).toast  # once
        assert not open_page("train").toast  # who comes later has missed it
    assert [plain(toast) for toast in run(at).toast] == [f"d: {INTERRUPTED}"]
    assert "Training now" not in page_html(at)


def test_the_bars_are_on_every_page(place: Path) -> None:
    folder = write_run(place, "mine", Status(QUEUED, 1))
    with at_work(folder):
        for name in ("explain", "many", "capsules", "datasets"):
            at = open_page(name)
            assert 'class="job"' in page_html(at)
            links = {link.proto.label for link in at.get("page_link")}
            assert "Watch" in links


def test_a_model_that_still_learns_can_be_opened(place: Path, model_folder: Path) -> None:
    import shutil

    shutil.copytree(model_folder, place / "mine")
    folder = RunFolder(place / "mine")
    folder.write_status(Status(TRAINING, 1, epoch=1, epochs=2, step=1, steps=2))
    with at_work(folder):
        at = open_page("train", run="mine")
        (link,) = [p.proto for p in at.get("page_link") if p.proto.label == "Open in Explain"]
        assert link.query_string == "model=mine"
        found: Run = as_run(folder)
        model = view.model_of(found)
        assert model is not None
        assert (model.name, model.path) == ("mine", folder.path.resolve())
    write_run(place, "bare", done())
    at = open_page("train", run="bare")
    assert "Open in Explain" not in [p.proto.label for p in at.get("page_link")]


def test_two_places_with_a_model_of_one_name(
    place: Path, tmp_path: Path, model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    other = tmp_path / "others"
    shutil.copytree(model_folder, other / "small")
    monkeypatch.setenv("ICAPS_MODELS", f"{place}:{other}")
    RunFolder(other / "small").write_status(done())
    found = view.model_of(as_run(RunFolder((other / "small").resolve())))
    assert found is not None
    assert (found.name, found.path) == ("others/small", (other / "small").resolve())


def test_hundreds_of_trainings(place: Path, snapshots: list[dict[str, Any]]) -> None:
    for n in range(200):
        status = done(2, queued=float(n), started=float(n))
        write_run(place, f"run {n}", status, progress=COURSE, snapshots=snapshots)
    at = open_page("train")
    assert at.selectbox(key="run").options[:2] == ["run 199", "run 198"]  # the newest first
    assert len(history(at)) == 200
    beside = [f"run {n}" for n in range(90, 97)]
    at.multiselect(key="beside").set_value(beside)
    at.toggle(key="table curve-accuracy").set_value(True)
    assert set(run(at).dataframe[0].value["run"]) == {"run 199", *beside}


def test_a_wrong_address_is_ignored(place: Path) -> None:
    write_run(place, "mine", done())
    for name in ("<script>", "../small", "x" * 5_000, ""):
        at = open_page("train", run=name)
        assert at.selectbox(key="run").value == "mine"
        assert at.query_params["run"] == "mine"
