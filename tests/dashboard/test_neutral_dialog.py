"""Making words and capsules neutral on the pages: what changes, saving, undoing, retraining."""

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import model_registry
from dashboard.cache import repairs
from dashboard.model_registry import find_models
from dashboard.quotas import NotAllowedError
from dashboard.widgets import neutral_dialog
from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError, DataError, RunError
from icaps.evaluate.edit_effect import measure_edits
from icaps.interpret.edits import neutral_capsule, neutral_words
from icaps.train.examples import Example, save_examples
from tests.conftest import MODEL, TRAIN
from tests.dashboard.run_folders import done, open_page, run, write_run
from tests.dashboard.test_shortcuts_page import TOKEN, planted
from tests.dashboard.visitor import open_app, page_html, type_text


@pytest.fixture(scope="module")
def misled() -> ICapsClassifier:
    return ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*zip(*planted(360, 1), strict=True))


@pytest.fixture
def data(
    misled: ICapsClassifier, models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    misled.save(models / "misled")
    save_examples([Example("One", "The mast and the sail.")], models / "misled")
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *planted(150, 7)])
    return path


def folder(name: str) -> model_registry.ModelFolder:
    return next(model for model in find_models() if model.name == name)


def press(at: AppTest, key: str) -> AppTest:
    at.button(key=key).click()
    return run(at)


def test_a_finding_is_made_neutral_and_undone(data: Path, misled: ICapsClassifier) -> None:
    at = open_page("shortcuts", data=str(data), model="misled")
    at = press(at, "shortcut neutral")
    assert at.selectbox(key="shortcut thing").value == TOKEN
    assert at.selectbox(key="shortcut for").value == "All classes"
    at.text_area(key="shortcut texts").set_value(f"{TOKEN} <b>the mast</b>\n\n{TOKEN} bread")
    at = press(at, "shortcut measure")
    shown = page_html(at)
    assert f"{TOKEN} &lt;b&gt;the mast&lt;/b&gt;" in shown
    labelled = planted(150, 7)
    effect = measure_edits(misled, misled.edited([neutral_words(TOKEN)]), labelled)
    table = next(
        frame.value for frame in at.dataframe if "depend" in frame.value and "flips" in frame.value
    )
    assert table["flips"].tolist() == [row.flips for row in effect.rows]
    assert table["accuracy"].tolist() == pytest.approx([row.accuracy.value for row in effect.rows])
    assert any(f"{effect.flips} of 150 predictions change" in text.value for text in at.markdown)
    # In the model itself, for one class.
    at.selectbox(key="shortcut for").select("Gardens")
    at = press(run(at), "shortcut here")
    (edit,) = ICapsClassifier.load(folder("misled").path).edits_
    assert edit == neutral_words(TOKEN, "Gardens")
    assert "is neutral for Gardens" in page_html(at)  # in the facts of the sidebar
    assert any("is neutral for Gardens" in toast.value for toast in at.toast)
    # Undone.
    at = press(at, "shortcut neutral")
    at = press(at, "shortcut undo 0")
    assert not (folder("misled").path / "edits.json").exists()
    assert "is neutral for Gardens" not in page_html(at)


def test_a_word_of_a_text_is_made_neutral_in_a_copy(data: Path, misled: ICapsClassifier) -> None:
    at = type_text(open_app(model="misled"), f"{TOKEN} Bake the bread with {TOKEN}.")
    assert "Neutral for" not in page_html(at)
    at = press(at, "explain neutral")
    options = at.selectbox(key="explain thing").options
    assert TOKEN in options
    at.selectbox(key="explain thing").select(TOKEN)
    at = run(at)
    assert "The text of Explain" in page_html(at)
    at.text_input(key="explain name").set_value("../out")
    at = press(at, "explain copy")
    assert any("cannot be used" in error.value for error in at.error)
    at.text_input(key="explain name").set_value("mended")
    at = press(at, "explain copy")
    assert at.session_state["model"] == "mended"
    copy = ICapsClassifier.load(folder("mended").path)
    assert copy.edits_ == (neutral_words(TOKEN),)
    assert ICapsClassifier.load(folder("misled").path).edits_ == ()
    assert "Neutral for" in page_html(at)  # the line that names the neutral words
    assert f"“{TOKEN}”" in page_html(at)
    assert json.loads((folder("mended").path / "examples.json").read_text())
    texts = [text for text, _ in planted(20, 3)]
    wanted = misled.edited([neutral_words(TOKEN)]).class_norms(texts)
    np.testing.assert_allclose(copy.class_norms(texts), wanted, atol=1e-6)


def test_a_word_that_the_model_does_not_know(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neutral_dialog, "things_of", lambda explanation: ["qqqq"])
    at = press(type_text(open_app(model="misled"), "The mast."), "explain neutral")
    assert any("does not know the word" in info.value for info in at.info)
    assert not [button for button in at.button if button.key == "explain copy"]


def test_a_capsule_of_a_cell_is_made_neutral(models: Path, interpreted: Path) -> None:
    shutil.copytree(interpreted, models / "seen")
    at = press(open_page("capsules", model="seen"), "capsule neutral")
    chosen, capsule = at.selectbox(key="capsule thing"), at.session_state["capsule"]
    assert chosen.value == f"capsule {capsule}"
    assert len(chosen.options) > 3  # and words of the cell
    assert not [button for button in at.button if button.key == "capsule train"]  # no word to mask
    at = press(at, "capsule here")
    assert ICapsClassifier.load(models / "seen").edits_ == (neutral_capsule(capsule),)


def test_an_error_of_the_data_leaves_saving_open(
    models: Path, interpreted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DataError("The upload is damaged.")

    monkeypatch.setattr(neutral_dialog, "_show_effect", fail)
    shutil.copytree(interpreted, models / "seen")
    at = press(open_page("capsules", model="seen"), "capsule neutral")
    assert any("The upload is damaged" in error.value for error in at.error)
    assert not at.button(key="capsule here").proto.disabled


def test_models_trained_on_masked_texts_stand_beside(data: Path, misled: ICapsClassifier) -> None:
    place = folder("misled").path.parent
    arguments = ("train", "--data", str(data), "--mask-word", TOKEN)
    for name, words in (("taught", arguments), ("other", arguments[:-2])):
        write_run(place, f"{name} run", done(), arguments=words)
        misled.edited([neutral_capsule(0)]).save(place / f"{name} run")
    assert [m.name for m in repairs.retrained_without(folder("misled"), TOKEN)] == ["taught run"]
    assert repairs.retrained_without(folder("misled"), "bread") == []
    assert repairs.retrained_without(folder("small"), "") == []
    at = press(open_page("shortcuts", data=str(data), model="misled"), "shortcut neutral")
    at = press(at, "shortcut measure")
    tables = [frame.value for frame in at.dataframe]
    (table,) = [table for table in tables if {"depend", ""} <= set(table)]
    assert table[""].tolist() == [
        "As it is",
        "Neutral",
        "taught run (masked texts)",
        "Random words or capsules",
    ]


def test_training_on_masked_texts_opens_the_form(data: Path) -> None:
    at = open_page("shortcuts", data=str(data), model="misled")
    at = press(at, "shortcut neutral")
    at.button(key="shortcut train").click()
    at.run()
    assert at.session_state["launch masked"] == [TOKEN]
    assert at.session_state["train_view"] == "New training"


def test_what_may_not_be_saved(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, edits = folder("misled"), [neutral_words(TOKEN)]
    monkeypatch.setattr(model_registry, "SHIPPED", model.path.parent)
    assert "comes with the app" in repairs.why_not_here(model)
    with pytest.raises(ConfigError, match="comes with the app"):
        repairs.save_here(model, edits)
    with pytest.raises(RunError, match="already"):
        repairs.save_copy(model, edits, "misled")
    with pytest.raises(RunError, match="cannot be used"):
        repairs.save_copy(model, edits, "../misled 2")
    (tmp_path / "settings.toml").write_text("read_only = true\n")
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    with pytest.raises(NotAllowedError):
        repairs.save_copy(model, edits, "mended")
    with pytest.raises(NotAllowedError):
        repairs.save_here(model, edits)
