"""Links tell the truth: what they ask for and is not here, or has changed, is said."""

import io
import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import error_boundary, model_registry
from dashboard.url_state import HASH_DIGITS
from icaps.data.uploads import delete_upload, store_upload
from icaps.runs.folder import TRAINING, Status
from icaps.train.checkpoint_files import weights_fingerprint
from tests.dashboard.run_folders import at_work, open_page, run, write_run
from tests.dashboard.visitor import open_app

CSV = b"text,label\nsome bread,Cooking\nthe tide,Sailing\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def notes(at: AppTest) -> list[str]:
    texts = [warning.value for warning in at.warning]
    plain = [text.replace("\\", "").replace(error_boundary.WORD_JOINER, "") for text in texts]
    return [text for text in plain if "link" in text]


def test_a_model_that_is_gone_is_named_and_the_rest_is_kept() -> None:
    at = open_app(model="gone", text="bake bread", k1="3", target="Foo")
    assert at.text_area(key="text").value == "bake bread"
    assert at.slider(key="k1").value == 3
    assert notes(at) == [
        "This link asks for the model gone, which is not here; below is small.",
        "This link asks for the class Foo, which is not here; below is the predicted class.",
    ]
    assert at.query_params["model"] == "small"
    at.text_area(key="text").set_value("sail")
    assert len(notes(run(at))) == 2  # what they say is still true
    at.selectbox(key="target").select("Cooking")
    assert len(notes(run(at))) == 1
    at.switch_page("../pages/many.py")
    assert notes(run(at)) == []
    at.switch_page("../pages/explain.py")
    assert notes(run(at)) == []


def test_without_a_link_nothing_is_noted() -> None:
    assert notes(open_app()) == []


def test_values_that_are_not_possible_are_named() -> None:
    at = open_app(text="bake bread", k1="99", k2="3")
    assert notes(at) == ["This link has values that are not possible, and were left out: k1=99."]
    assert at.slider(key="k2").value == 3


def test_other_weights_are_noted(models: Path) -> None:
    digits = weights_fingerprint(models / "small")[:HASH_DIGITS]
    at = open_app()
    assert at.query_params["weights"] == digits
    assert notes(open_app(model="small", weights=digits)) == []
    at = open_app(model="small", weights="0" * HASH_DIGITS)
    (note,) = notes(at)
    assert f"its weights are {digits}, and were 00000000" in note
    assert at.query_params["weights"] == digits
    (note,) = notes(open_app(model="gone", weights="0" * HASH_DIGITS))
    assert "which is not here" in note
    (note,) = notes(open_app(model="small", weights="<b>"))
    assert "weights=<b>" in note


def test_data_that_is_gone_is_named_without_its_folder() -> None:
    path = store_upload("mine.csv", io.BytesIO(CSV))
    other = store_upload("other.csv", io.BytesIO(CSV + b"more bread,Cooking\n"))
    delete_upload(path)
    at = open_page("evaluate", data=str(path), model="small")
    assert notes(at) == ["This link asks for the data mine.csv, which is not here."]
    assert not at.error
    assert at.selectbox(key="datasets data").value == "upload: other.csv"
    assert at.query_params["data"] == str(other)


def test_a_training_and_others_that_are_gone_are_named(models: Path) -> None:
    write_run(models, "one")
    write_run(models, "two")
    assert notes(open_page("train", run="two")) == []
    (note,) = notes(open_page("train", run="three"))
    assert note.startswith("This link asks for the training three, which is not here; below is ")


def test_a_capsule_and_a_class_that_are_gone_are_named(models: Path, interpreted: Path) -> None:
    shutil.rmtree(models / "small")
    shutil.copytree(interpreted, models / "small")
    at = open_page("capsules", model="small", capsule="999", cell_class="Foo")
    assert [note.split(",")[0] for note in notes(at)] == [
        "This link asks for the class Foo",
        "This link asks for the capsule 999",
    ]


def test_models_to_compare_that_are_gone_are_named() -> None:
    at = open_page("compare", compared="small,gone,lost")
    assert notes(at) == ["This link asks for the models gone, lost, which are not here."]


def test_a_hostile_link_is_shown_as_it_is() -> None:
    at = open_app(model="<b>**x**</b> $y$", text="bake bread")
    assert "the model <b>**x**</b> $y$, which" in notes(at)[0]


def test_the_first_model_of_a_visitor_is_none_that_is_being_trained(models: Path) -> None:
    shutil.copytree(models / "small", models / "learning")
    folder = write_run(models, "later", Status(TRAINING))
    shutil.copytree(models / "small", folder.path, dirs_exist_ok=True)
    (models / "learning").rename(models / "done")
    with at_work(folder):
        found = model_registry.find_models()
        assert found[0].name in ("later", "small", "done")
        assert model_registry.default_model(found).name != "later"
        newest = [model for model in found if model.name == "later"]
        assert model_registry.default_model(newest).name == "later"  # there is no other
        at = open_page("explain")
        assert at.selectbox(key="model").value != "later"
        assert "later" in at.selectbox(key="model").options


def test_the_first_model_is_the_shipped_one(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(models / "small", models / "runs" / "mine")
    monkeypatch.setattr(model_registry, "SHIPPED", models.resolve())
    monkeypatch.setenv("ICAPS_MODELS", f"{models}:{models / 'runs'}")
    found = model_registry.find_models()
    assert [model.name for model in found] == ["mine", "small"]
    assert model_registry.default_model(found).name == "small"
