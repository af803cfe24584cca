"""The launcher: whatever is chosen comes out as the arguments of `icaps train`."""

import json
import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import training_jobs
from dashboard.model_registry import runs_folder
from dashboard.train.draft import ANY, LONG, RECIPE, SHORT
from dashboard.url_state import NEW_TRAINING, TRAININGS
from dashboard.widgets.data_picker import NONE, PATH
from icaps.cli.data_options import reading_options
from icaps.cli.request import TrainRequest, read_arguments
from icaps.config import ACTIVATIONS, PRESETS, ModelConfig, TrainConfig
from icaps.data.resolve import resolve
from icaps.data.source import Source, open_source
from icaps.runs import jobs
from icaps.runs.folder import QUEUED, Request, Run, Status
from icaps.text.coverage import VectorCoverage
from icaps.train.estimate import Estimate, Spread, suggest_settings
from icaps.train.recipe import Recipe, choose
from tests.conftest import make_texts
from tests.dashboard import visitor
from tests.dashboard.run_folders import open_page, run, write_run
from tests.dashboard.visitor import errors, page_html
from tests.train.test_recipe import FACTS

ESTIMATE = Estimate(
    *(500, False, ("a", "b"), Spread(12.4, 11.0, 20.0), 1234, 10**6),
    *(2_500_000, 1_300_000_000, 40.0, 480.0, 0.0, choose(FACTS)),
)


@dataclass
class Started:
    """The trainings and estimates that the launcher has requested."""

    calls: list[tuple[Path, str, list[str], int]] = field(default_factory=list)
    estimates: list[tuple[Any, ...]] = field(default_factory=list)

    def start(self, place: Path, name: str, arguments: Sequence[str], limit: int = 1) -> None:
        (place / name).mkdir()
        self.calls.append((place, name, list(arguments), limit))

    def measure(self, source: Any, *settings: Any, seconds: float) -> Estimate:
        self.estimates.append(settings)
        return ESTIMATE


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Started:
    """Nothing is trained or measured."""
    found = Started()
    monkeypatch.setattr(jobs, "start", found.start)
    monkeypatch.setattr("dashboard.cache.data.estimate", found.measure)
    return found


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A table with a title, a text, a class and another class; tabs between them."""
    path = tmp_path / "my texts.tsv"
    words, labels = make_texts(30, 1)
    topics = [label[:3] for label in labels]
    table = pd.DataFrame({"title": words, "text": words[::-1], "label": labels, "topic": topics})
    table.to_csv(path, index=False, sep="\t")
    return path


def open_launcher(data: str | None = None, **state: Any) -> AppTest:
    at = AppTest.from_file(str(visitor.HOME), default_timeout=60)
    at.switch_page("../pages/train.py")
    if data is not None:
        state |= {"launch data": PATH, "launch path": data}
    for key, value in state.items():
        at.session_state[key] = value
    run(at)
    assert not at.warning
    return at


def widget(at: AppTest, kind: str, name: str) -> Any:
    """The field of a setting, whatever data and preset it is of."""
    (found,) = [w for w in getattr(at, kind) if (w.key or "").startswith(f"set {name} ")]
    return found


def command(at: AppTest) -> list[str]:
    """The command that is shown, as a shell reads it."""
    return shlex.split(at.code[-1].value)


def press_start(at: AppTest) -> None:
    """Starts the training, and returns to the form from the page's view of trainings."""
    at.button(key="launch start").click()
    run(at)
    if not at.error:
        assert at.session_state["train_view"] == TRAININGS
        at.session_state["train_view"] = NEW_TRAINING
        run(at)


def arguments_of(at: AppTest, started: Started) -> list[str]:
    """The arguments of the started training, which are those on the page."""
    shown, place = command(at), runs_folder()
    name = at.text_input(key="launch name").value
    press_start(at)
    assert not at.error
    arguments = started.calls[-1][2]
    assert shown == ["python", "-m", "icaps", *arguments, "--out", str(place / name)]
    assert started.calls[-1][:2] == (place, name)
    return arguments


def settings_in(arguments: Sequence[str]) -> tuple[ModelConfig, TrainConfig]:
    """All settings of a training, those of the recipe included."""
    request = TrainRequest.from_arguments(arguments)
    recipe = recipe_of(request.data, **request.reading)
    recipe = recipe.with_settings(*request.given())
    return recipe.model, recipe.train


def recipe_of(data: str | Path, **reading: Any) -> Recipe:
    return suggest_settings(open_source(resolve(data), "train", **reading), seconds=600)


def test_made_up_texts_with_what_suits_them(started: Started) -> None:
    at = open_launcher()
    watched = at.text_input(key="launch watch").value
    arguments = arguments_of(at, started)
    options = read_arguments(arguments)
    assert (options.data, options.preset, options.vectors) == ("synthetic", None, None)
    assert options.watch == watched == next(iter(open_source_of("synthetic"))).text[:300]
    assert not {"--set", "--preset"} & set(arguments)  # the training chooses what suits the texts
    recipe = recipe_of("synthetic")
    assert settings_in(arguments) == (recipe.model, recipe.train)
    assert recipe.model.max_words != ModelConfig.max_words
    assert started.calls[-1][3] == jobs.LIMIT
    assert started.estimates == [(*settings_in(arguments), None)]
    assert at.session_state["run"] == "synthetic"  # it is looked at now


def open_source_of(name: str) -> Source:
    return open_source(resolve(name), "train")


def test_a_preset_is_logged_by_its_name(started: Started) -> None:
    at = open_launcher()
    at.selectbox(key="launch base").select("dbpedia-short")
    arguments = arguments_of(run(at), started)
    assert read_arguments(arguments).preset == "dbpedia-short"
    assert "--set" not in arguments
    preset = PRESETS["dbpedia-short"]
    assert settings_in(arguments) == (preset.model, preset.train)
    at.radio(key="launch kind").set_value(LONG)  # which has other presets
    run(at)
    assert at.selectbox(key="launch base").value == RECIPE
    longs = [name for name, preset in PRESETS.items() if preset.model.hierarchical]
    assert at.selectbox(key="launch base").options == [RECIPE, *longs]
    model, _ = settings_in(arguments_of(at, started))
    assert model == recipe_of("synthetic").with_settings({"hierarchical": True}).model


def test_a_setting_of_each_kind(started: Started) -> None:
    at = open_launcher()
    widget(at, "number_input", "epochs").set_value(7)
    widget(at, "number_input", "learning_rate").set_value(3e-05)
    squash = widget(at, "checkbox", "squash_primary")
    squash.set_value(not squash.value)
    widget(at, "checkbox", "decay").set_value(False)
    widget(at, "selectbox", "activation").select("gelu")
    widget(at, "text_input", "max_words").set_value(" None ")
    widget(at, "text_input", "max_sentences").set_value("12")
    widget(at, "text_input", "language").set_value("de")
    arguments = arguments_of(run(at), started)
    model, train = settings_in(arguments)
    changed = {"epochs": 7, "learning_rate": 3e-05, "decay": False}
    others = {"activation": "gelu", "max_words": None, "max_sentences": 12, "language": "de"}
    squash = {"squash_primary": not recipe_of("synthetic").model.squash_primary}
    expected = recipe_of("synthetic").with_settings(squash | others, changed)
    assert (model, train) == (expected.model, expected.train)
    given = TrainRequest.from_arguments(arguments).settings
    assert given.keys() == {*changed, *others, *squash}  # and nothing that was not changed
    assert "max_words=none" in arguments
    assert "epochs=7" in arguments


def notes_on_classes(at: AppTest) -> list[str]:
    return [caption.value for caption in at.caption if "unbalanced" in caption.value]


def test_class_weights_are_asked_for_unbalanced_classes(started: Started, tmp_path: Path) -> None:
    words, labels = make_texts(66, 1)  # 22 texts of each class
    rows = [row for n, row in enumerate(zip(words, labels, strict=True)) if n % 3 != 1 or n == 1]
    for name, kept in (("balanced", list(zip(words, labels, strict=True))), ("rare", rows)):
        pd.DataFrame(kept, columns=["text", "label"]).to_csv(tmp_path / f"{name}.csv", index=False)
    at = open_launcher(str(tmp_path / "balanced.csv"))
    assert notes_on_classes(at) == []
    at = open_launcher(str(tmp_path / "rare.csv"))
    (note,) = notes_on_classes(at)
    assert "'Gardens' has 1 text and 'Cooking' 22" in note
    assert "each class counts the same in the loss" in note
    weight = widget(at, "selectbox", "class_weight")
    assert (weight.value, weight.options) == ("none", ["none", "balanced"])
    assert settings_in(command(at)[3:-2])[1].class_weight == "none"  # as the command line has it
    weight.select("balanced")
    arguments = arguments_of(run(at), started)
    assert settings_in(arguments)[1].class_weight == "balanced"
    assert settings_in(arguments)[1].epoch_score == "last"  # as the texts are few


WRONG = (
    ("number_input", "region_dim", 250, "a multiple of query_dim (8)"),
    ("number_input", "epochs", 0, "epochs is 0; it must be at least 1"),
    ("number_input", "dropout", 1.0, "dropout is 1.0; it must be from 0 to below 1"),
    ("text_input", "max_words", "many", "max_words is 'many'; it must be a whole number or"),
    ("text_input", "max_words", "²", "max_words is '²'; it must be a whole number or"),
    ("text_input", "max_words", "0", "max_words is 0; it must be at least 1, or none"),
    ("text_input", "max_words", "-3", "max_words is -3; it must be at least 1, or none"),
    ("text_input", "max_words", "9" * 5_000, "max_words"),
    ("text_input", "max_words", "[" * 5_000, "max_words"),
)


def test_a_wrong_setting_is_told_and_nothing_starts(started: Started, texts: Path) -> None:
    at = open_launcher(str(texts))
    for kind, name, value, words in WRONG:
        right = widget(at, kind, name).value
        widget(at, kind, name).set_value(value)
        (error,) = errors(run(at))
        assert words in error
        assert "launch start" not in [button.key for button in at.button]
        widget(at, kind, name).set_value(right)
        assert not errors(run(at))
    assert started.calls == []
    assert len(set(started.estimates)) == 1  # of the right ones


def test_several_vectors_stand_side_by_side(started: Started, tmp_path: Path) -> None:
    file = str(tmp_path / "my vectors.txt")
    at = open_launcher(**{"launch vectors": ["texts", file]})
    options = read_arguments(arguments_of(at, started))
    assert options.vectors == ["texts", file]
    assert started.estimates[-1][2] == ("texts", file)
    at.multiselect(key="launch vectors").set_value([file])
    assert read_arguments(arguments_of(run(at), started)).vectors == [file]
    at.multiselect(key="launch vectors").set_value([])
    assert read_arguments(arguments_of(run(at), started)).vectors is None  # the default


def unescaped(text: str) -> str:
    """A text as Markdown shows it."""
    return re.sub(r"\\(?=\W)|\u2060", "", text)


@pytest.mark.usefixtures("default_sources")
def test_english_vectors_are_the_default(started: Started) -> None:
    at = open_launcher()
    field = at.multiselect(key="launch vectors")
    assert (field.options[:2], field.value) == (["english", "texts"], ["english"])
    assert "'english' is a table of 100,000 English words" in field.help
    assert read_arguments(arguments_of(at, started)).vectors is None
    assert started.estimates[-1][2] is None


@pytest.mark.parametrize(
    ("coverage", "warned"),
    [
        (VectorCoverage("english", 0.98, ("Zo",)), False),
        (VectorCoverage("english", 0.12, ("der", "*und*")), True),
    ],
)
def test_coverage_is_shown_and_a_low_one_with_advice(
    coverage: VectorCoverage, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimate = replace(ESTIMATE, coverage=coverage)
    monkeypatch.setattr("dashboard.cache.data.estimate", lambda *_, **__: estimate)
    at = open_page("train")
    at.session_state["launcher"] = True
    run(at)
    warnings = [unescaped(warning.value) for warning in at.warning]
    captions = [unescaped(c.value) for c in at.caption if "running words" in c.value]
    if warned:
        (text,) = warnings
        assert captions == []
        assert "english: vectors for 12% of the running words." in text
        assert "Words without one: der" in text
        assert "Is it English? For other languages, enter a file of vectors" in text
        assert "in the field Word vectors" in text
        assert "\\*und\\*" in at.warning[0].value  # it is no Markdown
    else:
        assert warnings == []
        assert captions == ["english: vectors for 98% of the running words."]


def test_how_data_is_read(started: Started, texts: Path) -> None:
    at = open_launcher(str(texts))
    assert reading_of(arguments_of(at, started)) == {"on_bad_rows": "strict"}
    at.multiselect(key=f"launch text {texts}").set_value(["title", "text"])
    at.selectbox(key=f"launch label {texts}").select("topic")
    at.text_input(key="launch encoding").set_value("utf-8")
    at.text_input(key="launch delimiter").set_value(r"\t")
    at.checkbox(key="launch skip").set_value(True)
    run(at)
    table = at.dataframe[0].value
    assert table["class"].tolist()[:3] == ["Coo", "Gar", "Sai"]
    arguments = arguments_of(at, started)
    assert reading_of(arguments) == {
        "text": ["title", "text"],
        "label": "topic",
        "encoding": "utf-8",
        "delimiter": "\t",
        "on_bad_rows": "skip",
    }
    assert "\t" not in " ".join(arguments)  # which no terminal takes as it is pasted
    source = open_source(texts, **reading_of(arguments))
    words, labels = make_texts(30, 1)
    assert next(source.pairs()) == (f"{words[0]} {words[-1]}", labels[0][:3])


def reading_of(arguments: Sequence[str]) -> dict[str, Any]:
    found = reading_options(read_arguments(arguments))
    return {name: value for name, value in found.items() if value is not None}


def test_rows_that_are_left_out_are_not_in_the_way(started: Started, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("text,label\nsome bread,a\nthree,fields,here\nmore soup,b\n")
    at = open_launcher(str(path))
    assert "fields" in errors(at)[0]
    assert "launch start" not in [button.key for button in at.button]
    at.checkbox(key="launch skip").set_value(True)
    run(at)
    assert at.dataframe[0].value["text"].tolist() == ["some bread", "more soup"]
    assert reading_of(arguments_of(at, started)) == {"on_bad_rows": "skip"}


def test_columns_of_another_delimiter(started: Started, tmp_path: Path) -> None:
    """What was chosen among the columns that were there before is forgotten."""
    path = tmp_path / "two ways.csv"
    path.write_text("text,label;class\nsome bread,a;x\nmore soup,b;y\n")
    at = open_launcher(str(path))
    at.text_input(key="launch delimiter").set_value(",")
    run(at)
    at.multiselect(key=f"launch text {path}").set_value(["label;class"])
    at.selectbox(key=f"launch label {path}").select("text")
    assert not errors(run(at))
    at.text_input(key="launch delimiter").set_value(";")
    run(at)
    at.multiselect(key=f"launch text {path}").set_value(["text,label"])
    at.selectbox(key=f"launch label {path}").select("class")
    assert reading_of(arguments_of(run(at), started)) == {
        "delimiter": ";",
        "on_bad_rows": "strict",
        **chosen_beside_found(path, {"text": ["text,label"], "label": "class"}),
    }


def test_columns_that_can_not_be_told_are_chosen(started: Started, tmp_path: Path) -> None:
    path = tmp_path / "unclear.csv"
    path.write_text("one,two,three\na b c,d e f,g h i\nj k l,m n o,p q r\n")
    at = open_launcher(str(path))
    assert "launch start" not in [button.key for button in at.button]
    assert list(at.dataframe[0].value.columns) == ["one", "two", "three"]
    at.multiselect(key=f"launch text {path}").set_value(["one"])
    at.selectbox(key=f"launch label {path}").select("three")
    run(at)
    assert at.dataframe[0].value["class"].tolist() == ["g h i", "p q r"]
    assert reading_of(arguments_of(at, started)) == {
        "text": ["one"],
        "label": "three",
        "on_bad_rows": "strict",
    }


@pytest.mark.parametrize(("name", "value"), [("encoding", "utf-9"), ("delimiter", "two")])
def test_ways_of_reading_that_there_are_not(
    name: str, value: str, started: Started, texts: Path
) -> None:
    at = open_launcher(str(texts), **{f"launch {name}": value})
    assert repr(value) in errors(at)[0]
    at.text_input(key=f"launch {name}").set_value("")
    assert not errors(run(at))


def chosen_beside_found(path: Path, chosen: dict[str, Any]) -> dict[str, Any]:
    """What of the choice is not found out anyway."""
    file = open_source(path, delimiter=";").describe().files[0]
    found = {"text": list(file.text), "label": file.label}
    return {name: value for name, value in chosen.items() if found[name] != value}


def test_texts_and_columns_that_look_like_options(started: Started, tmp_path: Path) -> None:
    path = tmp_path / "dashes.jsonl"
    rows = [{"--text": "--seed=5", "-label": "-a"}, {"--text": "-x\0\ud800", "-label": "--b"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = {f"launch text {path}": ["--text"], f"launch label {path}": "-label"}
    at = open_launcher(str(path), **columns, **{f"launch columns chosen {path}": True})
    arguments = arguments_of(at, started)
    options = read_arguments(arguments)
    assert (options.watch, options.text, options.label) == ("--seed=5", ["--text"], "-label")
    assert settings_in(arguments)[1].seed == 0
    assert at.dataframe[0].value["text"].tolist() == ["--seed=5", "-x\ufffd\ufffd"]
    at.text_input(key="launch watch").set_value("a\0b")
    assert "\0" not in " ".join(arguments_of(run(at), started))  # no process takes it


def test_data_that_is_not_here_can_be_started(started: Started) -> None:
    at = open_launcher(**{"launch data": "ag_news (download)"})
    assert any("Not downloaded yet" in caption.value for caption in at.caption)
    assert any("once the data is downloaded" in caption.value for caption in at.caption)
    arguments = arguments_of(at, started)
    assert arguments == ["train", "--data", "ag_news"]
    assert at.radio(key="launch kind").value == ANY
    for kind, setting in ((LONG, "hierarchical=true"), (SHORT, "hierarchical=false")):
        at.radio(key="launch kind").set_value(kind)
        assert setting in arguments_of(run(at), started)
    at.radio(key="launch kind").set_value(ANY)
    run(at).selectbox(key="launch data").select(PATH)
    run(at).text_input(key="launch path").set_value("owner/name")
    assert read_arguments(arguments_of(run(at), started)).data == "owner/name"
    assert started.estimates == []


def test_data_that_is_nowhere_is_reported(started: Started) -> None:
    at = open_launcher("nothing.csv")
    for path in ("/nowhere/at/all.csv", "../nowhere.csv", "x" * 5_000, "a\0b", "a b/c"):
        assert "There is no file or folder" in errors(at)[0]
        at.text_input(key="launch path").set_value(path)
        (error,) = errors(run(at))
        assert f"There is no file or folder {path.split(chr(0))[0]}" in error


def test_the_limit_of_trainings(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_JOBS", "3")
    at = open_launcher()
    press_start(at)
    assert started.calls[-1][3] == 3
    for wrong in ("two", "0", "-1", ""):
        monkeypatch.setenv("ICAPS_JOBS", wrong)
        press_start(at)
        if wrong:
            assert "ICAPS_JOBS" in errors(at)[0]
    assert [call[3] for call in started.calls] == [3, 1]  # empty is not set


def test_names_are_free_and_safe(started: Started, tmp_path: Path) -> None:
    folder = runs_folder()
    assert training_jobs.free_name("my texts") == "my texts"
    for taken in ("my texts", "my texts 2"):
        (folder / taken).mkdir()
    assert training_jobs.free_name("my texts") == "my texts 3"
    for wanted in (
        *("", "...", "-rf", "../../etc", "a/b\\c", "x" * 300, "наш текст", "😀", "é" * 300),
        *("a\nb", "a\0b", "<b>x</b>", "_", " a ", "שלום", "x" * 49 + " .", "=1+1", "\ud800"),
    ):
        name = training_jobs.free_name(wanted)
        assert jobs.NAME.fullmatch(name), wanted
        (folder / name).mkdir()
        again = training_jobs.free_name(wanted)
        assert jobs.NAME.fullmatch(again)
        assert again != name


def test_a_name_goes_with_the_data_and_is_not_suggested_twice(
    started: Started, texts: Path, tmp_path: Path
) -> None:
    at = open_launcher()
    assert at.text_input(key="launch name").value == "synthetic"
    press_start(at)
    assert at.text_input(key="launch name").value == "synthetic 2"
    at.selectbox(key="launch data").select(PATH)
    run(at).text_input(key="launch path").set_value(str(texts))
    run(at)
    assert at.text_input(key="launch name").value == "my texts"
    assert at.text_input(key="launch watch").value == make_texts(30, 1)[0][-1]
    at.text_input(key="launch name").set_value("mine")
    at.text_input(key="launch watch").set_value("my own")
    run(at)
    assert read_arguments(arguments_of(at, started)).watch == "my own"
    assert started.calls[-1][1] == "mine"


def test_a_name_that_can_not_be_used_is_reported(models: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("dashboard.cache.data.estimate", Started().measure)
    monkeypatch.setattr(jobs, "_launch", lambda *_: pytest.fail("it was started"))
    at = open_launcher()
    for name, words in (("a/b", "cannot be used"), ("small", "There is a run named small already")):
        at.text_input(key="launch name").set_value(name)
        run(at)
        press_start(at)
        assert words in errors(at)[0]
    at.text_input(key="launch name").set_value("**a** <b>")
    press_start(at)
    assert "'**a** <b>'" in errors(at)[0]
    assert sorted(path.name for path in models.iterdir()) == ["small"]


def test_who_is_refused_a_name_sees_whose_training_has_it(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dashboard.cache.data.estimate", lambda *_, **__: ESTIMATE)
    start = jobs.start

    def start_second(place: Path, name: str, arguments: Sequence[str], limit: int) -> Run:
        """Another visitor has taken the same name a moment before."""
        write_run(place, name, Status(QUEUED, queued=time.time()))
        return start(place, name, arguments, limit)

    monkeypatch.setattr(jobs, "start", start_second)
    at, name = open_launcher(), "twins"
    at.text_input(key="launch name").set_value(name)
    press_start(at)
    assert errors(at) == [f"There is a run named {name} already; choose another name."]
    assert f'role="progressbar" aria-label="{name}"' in page_html(at)


def test_the_estimate_is_shown(started: Started) -> None:
    at = open_launcher()
    (caption,) = [c.value for c in at.caption if "per epoch" in c.value]
    assert caption == (
        "about 500 texts of 2 classes, 11 words per text; a vocabulary of 1,234 words. 40 s per "
        "epoch, up to 8 min in total; a model of 2.5 MB, 1.3 GB of memory."
    )


def test_a_real_estimate(texts: Path) -> None:
    at = open_launcher(str(texts))
    (caption,) = [c.value for c in at.caption if "in total" in c.value]
    assert caption.startswith("30 texts of 3 classes, ")


def test_long_documents_are_told_from_short_texts(
    started: Started, texts: Path, tmp_path: Path
) -> None:
    words, labels = make_texts(240, 3)
    rows = {"text": [" ".join(words[n::24]) for n in range(24)] * 210, "label": labels[:24] * 210}
    path = tmp_path / "documents.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    at = open_launcher(str(path))
    assert at.radio(key="launch kind").value == LONG
    model, train = settings_in(arguments_of(at, started))
    recipe = recipe_of(path)
    assert recipe.model.hierarchical
    assert (model, train) == (recipe.model, recipe.train)
    at.text_input(key="launch path").set_value(str(texts))
    run(at)
    assert at.radio(key="launch kind").value == SHORT  # what suits these
    at.radio(key="launch kind").set_value(LONG)  # what the visitor wants
    run(at).selectbox(key="launch data").select("synthetic")
    assert run(at).radio(key="launch kind").value == LONG


@pytest.mark.parametrize("vectors", ["/nowhere/v.txt", "-x", "no such name", "a\0b"])
def test_vectors_that_there_are_not_are_reported(vectors: str, texts: Path) -> None:
    at = open_launcher(str(texts), **{"launch vectors": ["texts", vectors]})
    assert len(errors(at)) == 1
    assert not at.button


def test_one_class_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("text,label\nsome bread,a\nmore soup,a\n")
    (error,) = errors(open_launcher(str(path)))
    assert error == "All 2 texts have one class; a classifier needs two."


def random_settings(random: Random) -> dict[str, str]:
    """Settings as --set takes them, of which each is there or not."""
    whole = random.randint
    drawn: dict[str, Any] = {
        "fixed_dim": whole(0, 400),
        "region_dim": whole(1, 9) * 16,  # a multiple of query_dim in each preset
        "kernel_size": whole(1, 9),
        "max_words": random.choice(["none", whole(1, 2_000)]),
        "max_sentences": random.choice(["none", whole(1, 50)]),
        "language": random.choice(["en", "de", "fr"]),
        "squash_primary": random.choice(["true", "false"]),
        "hierarchical": random.choice(["true", "false"]),
        "activation": random.choice(ACTIVATIONS),
        "dropout": random.choice([0, random.random()]),
        "word_dropout": random.random() ** 9,
        "min_frequency": whole(0, 500),
        "learning_rate": random.random() ** 9,
        "clip_norm": random.choice([0, 2, random.random()]),
        "decay": random.choice(["true", "false"]),
        "epochs": random.choice([whole(1, 9), 10**17]),
        "validation_share": 1e-9 + random.random() / 2,
        "seed": random.choice([0, 2**32 - 1]),
    }
    return {name: str(value) for name, value in drawn.items() if random.random() < 0.6}


def train_arguments(data: Path, settings: dict[str, str], preset: str | None = None) -> list[str]:
    arguments = ["train", "--data", str(data)]
    if preset is not None:
        arguments += ["--preset", preset]
    for name, value in settings.items():
        arguments += ["--set", f"{name}={value}"]
    return arguments


def run_of(arguments: Sequence[str], name: str = "old", folder: str = "/") -> Run:
    return Run(name, Path(folder) / name, Status("done"), Request(tuple(arguments), folder))


def taking_script() -> None:
    """The form alone, filled as by the button of the Train page."""
    import streamlit

    from dashboard import url_state as state
    from dashboard.train import draft, form

    state.restore()
    if "take" in streamlit.session_state:
        draft.fill_from(streamlit.session_state["take"])
        del streamlit.session_state["take"]
    form.show()


def taken_over(at: AppTest, taken: Run, started: Started) -> list[str]:
    """What is started after a run was duplicated, without any change."""
    at.session_state["take"] = taken
    run(at)
    assert not at.warning
    assert not at.error, errors(at)
    at.button(key="launch start").click()
    run(at)
    assert not at.error, errors(at)
    return started.calls[-1][2]


def test_a_run_that_is_taken_over_has_the_same_settings(started: Started, texts: Path) -> None:
    """One after the other in one session, where nothing of a run may stay for the next."""
    at = AppTest.from_function(taking_script, default_timeout=60)
    random = Random(1)
    for _ in range(7):
        given = random_settings(random)
        preset = random.choice([None, *PRESETS])
        arguments = train_arguments(texts, given, preset)
        again = taken_over(at, run_of(arguments), started)
        assert settings_in(again) == settings_in(arguments)


@pytest.mark.parametrize("preset", list(PRESETS)[::4])
def test_each_preset_is_taken_over(preset: str, started: Started, texts: Path) -> None:
    at = AppTest.from_function(taking_script, default_timeout=60)
    arguments = train_arguments(texts, {}, preset)
    again = taken_over(at, run_of(arguments), started)
    assert settings_in(again) == settings_in(arguments)
    assert read_arguments(again).preset == preset


def test_all_of_a_run_is_taken_over(started: Started, texts: Path) -> None:
    arguments = ["train", "--data", str(texts), "--text", "title", "--text", "text"]
    arguments += ["--label", "topic", "--encoding", "utf-8", "--delimiter", "\t"]
    arguments += ["--on-bad-rows", "skip", "--watch", "--a text", "--vectors", "texts"]
    arguments += ["--vectors", "/v.txt", "--seed", "7", "--set", "epochs=3", "--preset"]
    arguments += ["ag_news-short"]
    at = AppTest.from_function(taking_script, default_timeout=60)
    repeated = taken_over(at, run_of(arguments, "a name"), started)
    again = read_arguments(repeated)
    given_ = read_arguments(arguments)
    for name in ("data", "text", "label", "encoding", "delimiter", "on_bad_rows", "watch"):
        assert getattr(again, name) == getattr(given_, name), name
    assert again.vectors == ["texts", "/v.txt"]
    assert settings_in(repeated) == settings_in(arguments)
    assert started.calls[-1][1] == "a name"
    plain = ["train", "--data", str(texts)]  # nothing stays of the run before
    again = read_arguments(taken_over(at, run_of(plain), started))
    for name in ("text", "label", "encoding", "delimiter", "on_bad_rows"):
        assert getattr(again, name) == getattr(read_arguments(plain), name), name
    assert again.vectors is None
    assert again.watch == ""


def test_data_beside_the_folder_of_the_command(started: Started, texts: Path) -> None:
    """A run that was started elsewhere, with a path that means something there alone."""
    at = AppTest.from_function(taking_script, default_timeout=60)
    old = run_of(["train", "--data", texts.name], folder=str(texts.parent))
    assert Path(read_arguments(taken_over(at, old, started)).data) == texts


def test_another_text_column_has_another_recipe(started: Started, tmp_path: Path) -> None:
    """A field that was not changed shows the new value, and nothing of it is given."""
    path = tmp_path / "columns.csv"
    words, labels = make_texts(30, 1)
    long = [f"{text} " * 5 for text in words]
    table = pd.DataFrame({"text": words, "long": long, "label": labels})
    table.to_csv(path, index=False)
    at = open_launcher(str(path))
    before = widget(at, "text_input", "max_words").value
    widget(at, "number_input", "epochs").set_value(5)
    at.multiselect(key=f"launch text {path}").set_value(["long"])
    run(at)
    assert int(widget(at, "text_input", "max_words").value) == 5 * int(before)
    request = TrainRequest.from_arguments(arguments_of(at, started))
    assert request.settings == {"epochs": "5"}


def test_the_page_says_what_the_recipe_chooses_and_why(started: Started, texts: Path) -> None:
    at = open_launcher(str(texts))
    recipe = recipe_of(texts)
    captions = [caption.value.replace("\\", "") for caption in at.caption]
    assert all(reason.split(":")[0] in " ".join(captions) for reason in recipe.reasons)
    assert any("network for short texts, N = " in caption for caption in captions)
    at.selectbox(key="launch base").select("dbpedia-short")
    assert not any("network for short texts, N = " in c.value for c in run(at).caption)


def test_what_was_changed_is_reset_by_taking_over_again(started: Started, texts: Path) -> None:
    at = AppTest.from_function(taking_script, default_timeout=60)
    old = run_of(train_arguments(texts, {"epochs": "3"}))
    at.session_state["take"] = old
    run(at)
    widget(at, "number_input", "epochs").set_value(99)
    run(at)
    assert settings_in(taken_over(at, old, started))[1].epochs == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train"], "cannot be read"),
        (["evaluate", "--model", "x"], "cannot be read"),
        (["train", "--data", "synthetic", "--new-option"], "has no option --new-option"),
        (["train", "--data", "synthetic", "--preset", "<b>"], "There is no preset '<b>'"),
        (["train", "--data", "synthetic", "--set", "nothing=1"], "There is no setting 'nothing'"),
    ],
)
def test_a_command_that_is_not_known_any_more_is_reported(
    arguments: list[str], words: str, started: Started
) -> None:
    at = AppTest.from_function(taking_script, default_timeout=60)
    at.session_state["take"] = run_of(arguments)
    assert words in errors(run(at))[0]


def test_settings_are_all_asked_for(started: Started) -> None:
    at = open_launcher()
    fields = {
        w.key.split()[1]: w
        for kind in ("number_input", "text_input", "checkbox", "selectbox")
        for w in getattr(at, kind)
        if (w.key or "").startswith("set ")
    }
    known = asdict(ModelConfig()) | asdict(TrainConfig())
    assert fields.keys() == known.keys() - {"hierarchical"}
    assert all(f"Default {launcher_words(known[name])}." in w.help for name, w in fields.items())


def launcher_words(value: Any) -> str:
    return "none" if value is None else str(value).lower()


def test_data_of_the_address_is_the_one_that_is_trained_on(texts: Path, started: Started) -> None:
    at = AppTest.from_file(str(visitor.HOME), default_timeout=60)
    at.query_params["data"] = str(texts)
    at.switch_page("../pages/train.py")
    at.session_state["launcher"] = True
    assert read_arguments(arguments_of(run(at), started)).data == str(texts)


def test_texts_without_classes(started: Started, texts: Path, tmp_path: Path) -> None:
    """A file of lines goes into the command; what cannot be read is said before the start."""
    lines = tmp_path / "more.txt"
    lines.write_text("\n".join(make_texts(5, 2)[0]))
    place = "launch unlabelled"
    at = open_launcher(str(texts))
    assert at.selectbox(key=f"{place} data").value == NONE
    assert "--unlabelled" not in command(at)
    at.selectbox(key=f"{place} data").select(PATH)
    run(at)
    at.text_input(key=f"{place} path").set_value(str(lines))
    run(at)
    assert make_texts(5, 2)[0][0][:-1] in "".join(caption.value for caption in at.caption)
    options = read_arguments(arguments_of(at, started))
    assert (options.data, options.unlabelled) == (str(texts), str(lines))
    at.text_input(key=f"{place} path").set_value(str(tmp_path / "absent.txt"))
    run(at)
    (error,) = errors(at)
    assert "There is no file or folder" in error
    (tmp_path / "empty.txt").write_text("")
    at.text_input(key=f"{place} path").set_value(str(tmp_path / "empty.txt"))
    run(at)
    (error,) = errors(at)
    assert "it is empty" in error


def test_texts_without_classes_are_taken_over(started: Started, texts: Path) -> None:
    """And those of one run do not stay for the next, which has none."""
    lines = texts.parent / "more.txt"
    lines.write_text("\n".join(make_texts(5, 2)[0]))
    at = AppTest.from_function(taking_script, default_timeout=60)
    arguments = train_arguments(texts, {}, None)
    first = run_of([*arguments, "--unlabelled", "more.txt"], folder=str(texts.parent))
    assert read_arguments(taken_over(at, first, started)).unlabelled == str(lines)
    assert read_arguments(taken_over(at, run_of(arguments), started)).unlabelled is None
