"""A folder of models in any state: the page says what to do, and other models still answer."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboard.url_state import PREDICTED
from tests.dashboard.visitor import (
    choose,
    errors,
    open_app,
    page_html,
    run,
    shown_text,
    type_text,
    verdict,
)

AGAIN = "Copy the folder again from where it came, or train the model again."


@pytest.fixture
def newest(models: Path) -> Path:
    """A second model, which the page takes first as it is the newest."""
    folder = Path(shutil.copytree(models / "small", models / "newest"))
    touch(folder)
    return folder


def touch(folder: Path, seconds: int = 60) -> None:
    """Makes the folder newer than any other, as training again would."""
    changed = max(file.stat().st_mtime for file in folder.iterdir()) + seconds
    for file in folder.iterdir():
        os.utime(file, (changed, changed))


def edit(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated weights": (lambda f: cut(f / "model.safetensors"), AGAIN),
    "empty weights": (lambda f: (f / "model.safetensors").write_bytes(b""), AGAIN),
    "pickled weights": (
        lambda f: (f / "model.safetensors").write_bytes(b"PK\3\4\x80x" * 99),
        AGAIN,
    ),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), AGAIN),
    "truncated config": (lambda f: cut(f / "config.json"), AGAIN),
    "binary config": (lambda f: (f / "config.json").write_bytes(b"\xff\x00" * 50), AGAIN),
    "config that is a folder": (lambda f: replace_by_folder(f / "config.json"), AGAIN),
    "hostile sizes": (
        lambda f: edit(f / "config.json", model={"fixed_dim": 10**6, "region_dim": 10**6}),
        AGAIN,
    ),
    "future format": (
        lambda f: edit(f / "config.json", format_version=99),
        "Use the iCaps that wrote it, or train the model again.",
    ),
    "foreign model": (
        lambda f: (f / "config.json").write_text('{"model_type": "bert", "hidden_size": 768}'),
        "so this is no iCaps checkpoint.",
    ),
    "truncated vocabulary": (lambda f: cut(f / "vocabulary.txt"), AGAIN),
    "one class": (lambda f: (f / "classes.txt").write_text("World\n"), AGAIN),
    "no metrics": (lambda f: (f / "metrics.json").unlink(), AGAIN),
}


@pytest.mark.parametrize(("damage", "advice"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_model_says_what_to_do_and_another_can_be_chosen(
    damage: Callable[[Path], object], advice: str, newest: Path
) -> None:
    damage(newest)
    at = open_app()
    assert at.selectbox(key="model").value == "newest"
    (error,) = errors(at)
    assert str(newest) in error
    assert error.endswith(advice)
    assert "verdict" not in page_html(at)
    choose(at, "model", "small")
    assert not at.error
    assert verdict(type_text(at, "bake bread")) == "Cooking"
    choose(at, "model", "newest")
    assert errors(at) == [error]


def test_the_error_shows_the_name_of_the_folder_as_it_is(models: Path) -> None:
    name = "**a** _b_ $x$ :sunglasses: <b>c"
    shutil.copytree(models / "small", models / name)
    (models / name / "classes.txt").unlink()
    touch(models / name)
    at = open_app()
    assert errors(at)[0].startswith(f"{models / name / 'classes.txt'} is missing")
    assert not {"**", "$x", ":sun", "<b>"} & set(at.error[0].value.split())


@pytest.mark.parametrize(
    "metrics",
    [
        {},
        {"training_texts": "many", "test": "good"},
        {"training_texts": None, "test": {"accuracy": "high", "n": []}},
        {"test": {"accuracy": 0.9, "n": "all"}, "validation_accuracy": "0.9"},
        {"test": None, "validation_accuracy": []},
    ],
)
def test_metrics_of_any_form(metrics: dict[str, object], newest: Path) -> None:
    """They are free-form, so what the page doesn't know of is left out."""
    (newest / "metrics.json").write_text(json.dumps(metrics))
    at = open_app()
    assert not at.error
    assert verdict(type_text(at, "bake bread")) == "Cooking"
    assert "<dt>Accuracy" not in page_html(at)
    assert "<dt>Trained on" not in page_html(at)


def test_accuracy_on_test_texts_comes_before_that_on_validation_texts(newest: Path) -> None:
    edit(newest / "metrics.json", test={"accuracy": 0.9145, "n": 7600}, validation_accuracy=1.0)
    facts = page_html(open_app())
    assert "<dt>Accuracy</dt><dd>91.5% of 7,600 test texts</dd>" in facts
    edit(newest / "metrics.json", test=None)
    touch(newest)
    assert "100.0% of the validation texts" in page_html(open_app())


@pytest.mark.parametrize("page", ["explain", "many"])
def test_without_a_model_the_page_says_how_to_train(page: str, models: Path) -> None:
    shutil.rmtree(models / "small")
    at = run(open_app().switch_page(f"../pages/{page}.py"))
    assert at.header[0].value == "There is no model yet"
    (link,) = (one.proto for one in at.main.get("page_link"))
    assert (link.page, link.label) == ("train", "New training")
    assert not at.code  # who trained by clicks has no shell
    assert not at.selectbox
    assert not at.error


def test_a_model_that_appears_is_found_without_a_restart(models: Path, model_folder: Path) -> None:
    shutil.rmtree(models / "small")
    at = open_app()
    assert at.header[0].value == "There is no model yet"
    shutil.copytree(model_folder, models / "own")
    assert at.title[0].value == run(at).title[0].value
    assert at.selectbox(key="model").value == "own"
    assert shown_text(at)


def test_a_model_trained_again_is_read_again(newest: Path) -> None:
    at = type_text(open_app(), "bake bread")
    assert verdict(at) == "Cooking"
    (newest / "classes.txt").write_text("<i>Kitchen</i>\nYard\nSea\n")
    touch(newest)
    assert verdict(run(at)) == "<i>Kitchen</i>"
    assert at.selectbox(key="target").options == [PREDICTED, "<i>Kitchen</i>", "Yard", "Sea"]


def test_a_class_that_the_next_model_lacks_is_not_asked_for(newest: Path) -> None:
    (newest / "classes.txt").write_text("Kitchen\nYard\nSea\n")
    at = choose(type_text(open_app(model="small"), "bake bread"), "target", "Sailing")
    choose(at, "model", "newest")
    assert at.selectbox(key="target").value == PREDICTED
    assert verdict(at) == "Kitchen"
    assert at.query_params["target"] == PREDICTED


def test_a_model_that_is_gone_gives_way_to_another(newest: Path) -> None:
    at = type_text(open_app(), "bake bread")
    shutil.rmtree(newest)
    assert run(at).selectbox(key="model").value == "small"
    assert (shown_text(at), verdict(at)) == ("bake bread", "Cooking")
