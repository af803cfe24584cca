"""The Compare page, without a browser."""

import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.url_state import BY_KGRAMS
from dashboard.widgets import downloads
from dashboard.widgets.data_picker import UPLOAD
from icaps.baselines.base import LINEAR
from icaps.baselines.fit_baseline import fit_baseline
from icaps.baselines.storage import load_baseline, save_baseline
from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.runs.folder import Request, RunFolder, find_runs
from icaps.train.text_hashes import load_hashes
from tests.conftest import make_texts
from tests.dashboard import run_folders
from tests.dashboard.run_folders import page_html, run
from tests.dashboard.visitor import errors

BOTH = "small,linear (baseline)"


@pytest.fixture
def linear(models: Path) -> Path:
    save_baseline(fit_baseline(LINEAR, open_source(make_texts(240, seed=2))), models / "linear")
    return models / "linear"


def open_page(data: Path, compared: str = "") -> AppTest:
    return run_folders.open_page("compare", data=str(data), compared=compared)


def open_form(data: Path) -> AppTest:
    """The page with the form that trains a baseline."""
    at = open_page(data)
    at.session_state["train baseline"] = True
    return run(at)


def open_tab(at: AppTest, name: str) -> AppTest:
    at.session_state["compare_tab"] = name
    return run(at)


def table(at: AppTest, n: int = 0) -> pd.DataFrame:
    return at.dataframe[n].value


def test_baselines_are_listed_on_compare_only(linear: Path) -> None:
    at = run(AppTest.from_file(str(run_folders.visitor.HOME), default_timeout=60))
    assert at.selectbox(key="model").options == ["small"]


def test_scores(linear: Path, models: Path, data_file: Path) -> None:
    at = open_page(data_file)
    assert at.multiselect(key="compare models").value == BOTH.split(",")  # of the same classes
    assert at.query_params == {"compared": BOTH, "data": str(data_file), "part": "test"}
    shown = table(at)
    pairs = list(open_source(data_file, "test").pairs())
    for row, scorer in zip(
        shown.to_dict("records"),
        (ICapsClassifier.load(models / "small"), load_baseline(linear)),
        strict=True,
    ):
        guesses = scorer.predict([text for text, _ in pairs])
        right = sum(a == b for a, (_, b) in zip(guesses, pairs, strict=True))
        assert row["accuracy"] == f"{right / 120:.2%}"
    assert shown["McNemar p"][0] == "–"
    assert 0 <= float(shown["McNemar p"][1].removeprefix("< ")) <= 1
    spec = json.loads(at.get("vega_lite_chart")[0].proto.spec)
    assert spec["layer"][1]["mark"]["type"] == "circle"


def test_a_link_names_the_compared_models(linear: Path, models: Path, data_file: Path) -> None:
    shutil.copytree(models / "small", models / "other")
    at = open_page(data_file, "other,nobody,small")
    assert at.multiselect(key="compare models").value == ["other", "small"]
    at.multiselect(key="compare models").set_value(["small", "other"])
    run(at)
    assert at.query_params["compared"] == "small,other"
    assert table(at)["model"].tolist() == ["small", "other"]


def test_disagreements(linear: Path, models: Path, data_file: Path) -> None:
    shutil.copytree(models / "small", models / "twin")
    at = open_tab(open_page(data_file, "small,twin"), "Disagreements")
    assert table(at)["same prediction"].tolist() == ["100.00%"]
    assert any("the same class for all texts" in info.value for info in at.info)
    # One that has other texts for its classes: it is wrong where the model is right.
    texts, labels = make_texts(240, seed=2)
    turned = {"Cooking": "Gardens", "Gardens": "Sailing", "Sailing": "Cooking"}
    source = open_source((texts, [turned[label] for label in labels]))
    save_baseline(fit_baseline(LINEAR, source), models / "turned")
    at = open_tab(open_page(data_file, "small,turned (baseline)"), "Disagreements")
    rows = table(at, 1)
    assert len(rows) >= 110
    assert set(rows["class"]) == set(turned)
    assert rows["turned (baseline)"][0].split()[0] == turned[rows["class"][0]]


def test_the_same_class_for_other_reasons(linear: Path, models: Path, data_file: Path) -> None:
    shutil.copytree(models / "small", models / "twin")
    at = open_tab(open_page(data_file, "small,twin"), "Same class, other reasons")
    assert any("share 100.0% of their" in markdown.value for markdown in at.markdown)
    assert any("100.0% of what words add" in markdown.value for markdown in at.markdown)
    rows = table(at)
    assert len(rows) == 120
    assert rows["in common"].tolist() == pytest.approx([1.0] * 120)
    words = table(at, 1)
    assert (words["small"] == words["twin"]).all()
    assert not words["difference"].any()
    assert page_html(at).count("icaps-account") == 2
    at.segmented_control(key="shaded").set_value(BY_KGRAMS)
    run(at)
    assert at.query_params["shaded"] == BY_KGRAMS
    assert "icaps-account" not in page_html(at)
    assert (rows["small"] == rows["twin"]).all()
    assert page_html(at).count('class="card"') == 2  # the first text, as both read it
    at = open_tab(open_page(data_file, BOTH), "Same class, other reasons")
    assert "Only capsule networks have K-grams" in at.info[0].value


def test_capsules_are_matched(models: Path, interpreted: Path, data_file: Path) -> None:
    shutil.copytree(models / "small", models / "twin")
    at = open_tab(open_page(data_file, "small,twin"), "Capsules matched")
    assert "have not been computed for small and twin" in at.info[0].value
    for name in ("small", "twin"):
        shutil.rmtree(models / name)
        shutil.copytree(interpreted, models / name)
    at = open_tab(open_page(data_file, "small,twin"), "Capsules matched")
    rows = table(at)
    assert rows["overlap"].tolist() == pytest.approx([1.0] * len(rows))
    assert rows["small"].tolist() == rows["twin"].tolist()
    assert any("share 100.0% of their words" in markdown.value for markdown in at.markdown)


def test_speed_and_size(linear: Path, data_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files: dict[str, pd.DataFrame] = {}
    monkeypatch.setattr(downloads, "show_csv", lambda table, stem: files.update({stem: table}))
    at = open_tab(open_page(data_file, BOTH), "Speed and size")
    rows = table(at)
    assert (rows["texts per second"] > 0).all()
    # Scripts may read the file, whose columns have their earlier names.
    columns = ["model", "texts a second", "accuracy", "MB", "numbers"]
    assert list(files["speed and size"]) == columns
    size = sum(file.stat().st_size for file in linear.iterdir())
    assert rows["MB"][1] == pytest.approx(size / 1e6)
    assert rows["numbers"][1] == load_baseline(linear).num_weights


def test_published_numbers(linear: Path, data_file: Path) -> None:
    at = open_tab(open_page(data_file, BOTH), "Published")
    rows = table(at).set_index("model")
    assert rows.loc["iCapsNets-Short", "AG"] == 93.0
    assert rows.loc["DRNN", "AG"] == 94.47
    assert "not in that table" in rows.loc["DPCNN", "source"]
    assert "small" not in rows.index  # measured on other texts


def test_an_error_is_shown_for_a_model_of_other_classes(
    linear: Path, models: Path, data_file: Path
) -> None:
    texts, labels = make_texts(60, seed=2)
    source = open_source((texts, [f"x {label}" for label in labels]))
    save_baseline(fit_baseline(LINEAR, source), models / "foreign")
    at = open_page(data_file)
    assert "foreign (baseline)" not in at.multiselect(key="compare models").value
    (error,) = errors(open_page(data_file, "small,foreign (baseline)"))
    assert "has the classes" in error


def test_an_error_is_shown_for_a_damaged_baseline(linear: Path, data_file: Path) -> None:
    (linear / "weights.safetensors").write_bytes(b"x")
    (error,) = errors(open_page(data_file, BOTH))
    assert "damaged" in error


def test_one_model_alone(models: Path, data_file: Path) -> None:
    at = open_page(data_file)
    assert any("two or more" in info.value for info in at.info)


def trained_on(models: Path, data: Path) -> None:
    """Gives the model the command of a training on this data."""
    request = Request(("train", "--data", str(data)), str(models))
    RunFolder(models / "small").write_request(request)


def write_texts(path: Path, texts: Sequence[str], labels: Sequence[str]) -> Path:
    pd.DataFrame({"text": texts, "label": labels}).to_csv(path, index=False)
    return path


def test_a_baseline_is_trained_on_the_data_of_the_model(
    models: Path, tmp_path: Path, data_file: Path
) -> None:
    """Not on the texts of the comparison, and with the same texts held out."""
    own = write_texts(tmp_path / "own.csv", *make_texts(360, seed=1))
    trained_on(models, own)
    at = open_form(data_file)
    assert at.selectbox(key="baseline kind").value == LINEAR
    (line,) = (code.value for code in at.code if "icaps baseline linear" in code.value)
    assert f"--data {own}" in line
    assert f"--held-out-of {models / 'small'}" in line
    assert any("holds out the same 36 texts" in caption.value for caption in at.caption)
    at.button(key="baseline start").click()
    run(at)
    (found,) = (run for run in find_runs(models) if run.name != "small")
    assert found.name == "linear own"
    until = time.monotonic() + 120
    while found.folder.status().live and time.monotonic() < until:
        time.sleep(0.1)
    assert load_baseline(found.path).metrics_["training_texts"] == 324
    model, baseline = load_hashes(models / "small"), load_hashes(found.path)
    assert model is not None
    assert baseline is not None
    assert baseline.held_out.tolist() == model.held_out.tolist()
    assert f"{found.name} (baseline)" in run(at).multiselect(key="compare models").options
    at = run_folders.open_page("train", run=found.name)
    assert [button.label for button in at.button if "Duplicate" in button.label] == []
    assert not at.error


def test_a_hostile_name(linear: Path, models: Path, data_file: Path) -> None:
    name = "$x$ <b>:smile:</b>"
    shutil.copytree(models / "small", models / name.replace("/", ""))
    at = open_page(data_file, f"{name.replace('/', '')},small")
    for tab in ("Disagreements", "Same class, other reasons", "Capsules matched", "Published"):
        assert not open_tab(at, tab).error


def plain(text: str) -> str:
    return text.replace("\\", "").replace("\u2060", "")


def test_without_known_training_data_none_is_chosen(models: Path, data_file: Path) -> None:
    at = open_form(data_file)
    assert at.selectbox(key="baseline data").value == UPLOAD
    assert "baseline start" not in [button.key for button in at.button]


def test_models_that_were_trained_on_the_texts_are_marked(
    models: Path, tmp_path: Path, data_file: Path
) -> None:
    unseen = write_texts(tmp_path / "unseen.csv", *make_texts(120, seed=77))
    save_baseline(fit_baseline(LINEAR, open_source(unseen)), models / "linear")
    at = open_page(unseen)
    told = "Not a fair comparison: linear (baseline) (90%) was trained on these very texts."
    assert plain(at.warning[0].value).startswith(told)
    shown = table(at)
    assert shown["trained on these"].tolist() == ["no", "90%"]
    assert shown["McNemar p"].tolist() == ["–", "not a fair test"]
    assert "use held out" not in [button.key for button in at.button]  # none is of the first model

    at = open_page(unseen, "linear (baseline),small")
    assert at.selectbox(key="part").value == "held_out"  # of the first
    assert not at.warning
    assert "12 texts" in at.selectbox(key="part").options[0]
    at.selectbox(key="part").set_value("train")
    run(at)
    assert at.query_params["part"] == "train"
    assert plain(at.warning[0].value).startswith(told)
    assert table(at)["McNemar p"].tolist() == ["–", "not a fair test"]
    at.button(key="use held out").click()
    run(at)
    assert not at.warning
    assert 0 <= float(table(at)["McNemar p"][1].removeprefix("< ")) <= 1
