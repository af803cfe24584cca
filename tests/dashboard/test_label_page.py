"""The page Label: each key's label is on the disk, and nothing gets lost or is labelled unseen."""

import csv
import io
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from dashboard import quotas
from dashboard.label import acceptance, keys, tasks, training
from dashboard.label.desk import Desk
from dashboard.quotas import NotAllowedError
from dashboard.url_state import LABELLING, NEW_TASK
from icaps.classifier import ICapsClassifier
from icaps.data.uploads import store_upload
from icaps.faithfulness.plausibility import read_marked_words
from icaps.label.task import LabelTask
from icaps.runs import jobs
from icaps.runs.folder import DONE, TRAINING, Request, RunFolder, Status
from tests.conftest import TOPICS, make_texts
from tests.dashboard.run_folders import open_page, write_run
from tests.dashboard.visitor import errors, page_html, run
from tests.several_labels import mixed_texts

CLASSES = tuple(TOPICS)
HELD_OUT = 4


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def task(cache: Path) -> LabelTask:
    return new_task("mine")


def new_task(name: str, several: bool = False, **options: Any) -> LabelTask:
    texts = options.pop("texts", None) or make_texts(40, seed=5)[0]
    options = {"classes": CLASSES, "held_out": HELD_OUT, **options}
    return LabelTask.create(tasks.root() / name, texts, several=several, **options)


def open_label(order: str = "random", **address: str) -> AppTest:
    return open_page("label", order=order, **address)


def desk(at: AppTest) -> Desk:
    found: Desk = at.session_state["label desk"]
    return found


def shown(at: AppTest) -> int:
    item = desk(at).item
    assert item is not None
    assert item.text.split()[0] in page_html(at)
    return item.id


def press(at: AppTest, name: str) -> AppTest:
    """Presses the button of a class, of "confirm", or of "skip"."""
    item = desk(at).item
    assert item is not None
    names = {"confirm": f"label confirm {item.id}", "skip": f"label skip {item.id}"}
    at.button(key=names.get(name, f"label {item.id} {name}")).click()
    return run(at)


def undo(at: AppTest) -> AppTest:
    next(button for button in at.button if button.label == "Undo").click()
    return run(at)


def plain(text: str) -> str:
    return text.replace("\\", "").replace("\u2060", "")


def button(at: AppTest, label: str) -> Any:
    return next(one for one in at.button if one.label == label)


def label_held_out(task: LabelTask) -> None:
    task.give_many([(n, CLASSES[n % 3]) for n in task.held_out])


def label_some(task: LabelTask, count: int) -> None:
    label_held_out(task)
    others = [n for n in range(len(task)) if n not in task.held_out]
    task.give_many([(n, CLASSES[n % 3]) for n in others[:count]])


def trained(models: Path, task: LabelTask, name: str, status: Status, model: bool = True) -> None:
    """The folder of a training on the labels so far."""
    arguments = ["train", "--data", str(task.training_data().resolve())]
    write_run(models, name, status, arguments=arguments)
    if model:
        shutil.copytree(models / "small", models / name, dirs_exist_ok=True)


def test_the_page_begins_with_the_form() -> None:
    at = open_page("label")
    assert at.session_state["label_view"] == NEW_TASK
    assert not at.error


def test_a_task_is_created_from_an_upload_and_typed_classes(cache: Path) -> None:
    texts, _ = make_texts(30, seed=3)
    place = store_upload("heap.csv", io.BytesIO("\n".join(["text", *texts]).encode()))
    at = open_page("label", data=str(place))
    at.text_area(key="label classes").set_value("praise\n complaint \npraise\n\n")
    at.number_input(key="label held out").set_value(10)
    at.run()
    assert at.text_input(key="label name").value == "heap"
    button(at, "Start labelling").click()
    run(at)
    assert at.session_state["label_view"] == LABELLING
    task = tasks.open_task("heap")
    assert task.classes == ("praise", "complaint")
    assert (len(task), len(task.held_out)) == (30, 10)
    assert shown(at) in task.held_out
    assert at.query_params["task"] == "heap"


def test_rows_with_labels_count_as_given_and_their_classes_are_known(cache: Path) -> None:
    rows = [
        f"{text},{label if n % 2 else ''}"
        for n, (text, label) in enumerate(zip(*make_texts(20, 3), strict=True))
    ]
    place = store_upload("half.csv", io.BytesIO("\n".join(["text,label", *rows]).encode()))
    at = open_page("label", data=str(place))
    assert at.selectbox(key=f"label label {place}").value == "label"
    button(at, "Start labelling").click()
    run(at)
    progress = tasks.open_task("half").progress()
    assert (progress.labelled, progress.given) == (10, 10)
    assert "10 as given by the data" in page_html(at)


def test_rows_with_lists_of_labels_are_of_a_task_with_several_classes(cache: Path) -> None:
    texts = make_texts(12, seed=5)[0]
    rows: list[dict[str, Any]] = [{"text": text, "label": None} for text in texts]
    rows[0]["label"], rows[1]["label"] = ["a", "b"], ["b"]
    content = io.BytesIO("\n".join(map(json.dumps, rows)).encode())
    at = open_page("label", data=str(store_upload("lists.jsonl", content)))
    several = next(one for one in at.toggle if one.label == "A text can have several classes")
    assert (several.value, several.disabled) == (True, True)
    assert "The data has a, b; name others below." in [plain(one.value) for one in at.caption]
    button(at, "Start labelling").click()
    run(at)
    task = tasks.open_task("lists")
    assert (task.several, task.classes) == (True, ("a", "b"))
    assert task.progress().given == 2


def test_the_classes_of_a_model_come_with_its_guesses(cache: Path) -> None:
    place = store_upload(
        "heap.csv", io.BytesIO("\n".join(["text", *make_texts(30, 3)[0]]).encode())
    )
    at = open_page("label", data=str(place))
    at.selectbox(key="label classes from").select("small")
    at.number_input(key="label held out").set_value(0)
    run(at)
    button(at, "Start labelling").click()
    run(at)
    task = tasks.open_task("heap")
    assert task.classes == CLASSES
    assert "Guess of small" in page_html(at)
    assert "icaps-account" in page_html(at)


def test_a_key_labels_and_shows_the_next_text(task: LabelTask) -> None:
    at = open_label(task="mine")
    first = shown(at)
    assert [b.label for b in at.button if b.key and b.key.startswith(f"label {first} ")] == list(
        CLASSES
    )
    press(at, "Sailing")
    assert shown(at) != first
    entry = task.label(first)
    assert entry is not None
    assert (entry.label, entry.by) == ("Sailing", "person")
    assert "<b>1</b> of 40 labelled" in page_html(at)


def test_a_second_press_of_a_key_labels_nothing_unseen(task: LabelTask) -> None:
    at = open_label(task="mine")
    first = shown(at)
    press(at, "Sailing")
    desk(at).give(first, ["Cooking"])  # of the text that is gone
    assert [entry.label for entry in task.labels()] == ["Sailing"]


def test_the_held_out_part_comes_first_and_without_a_guess(task: LabelTask) -> None:
    tasks.store_page_settings(task, tasks.PageSettings(model="small"))
    at = open_label(task="mine")
    for n in task.held_out:
        assert shown(at) == n
        assert "drawn at random and labelled first" in page_html(at)
        assert "icaps-account" not in page_html(at)
        assert "guess is not shown" in page_html(at)
        press(at, CLASSES[0])
    assert shown(at) not in task.held_out
    assert "It was drawn at random." in page_html(at)
    assert "Guess of small" in page_html(at)


def test_undo_and_skip(task: LabelTask) -> None:
    at = open_label(task="mine")
    first = shown(at)
    press(at, "Gardens")
    second = shown(at)
    press(at, "skip")
    assert task.progress().skipped == 1
    undo(at)
    assert shown(at) == second
    assert task.progress().skipped == 0
    undo(at)
    assert shown(at) == first
    assert task.label(first) is None
    assert button(at, "Undo").disabled
    press(at, "Cooking")
    assert shown(at) == second  # in its place again


def test_undo_in_a_new_window_takes_back_the_last_label(task: LabelTask) -> None:
    at = open_label(task="mine")
    first = shown(at)
    press(at, "Gardens")
    desk(at)._session = ""  # its window is closed
    again = open_label(task="mine")
    again_id = shown(again)
    undo(again)
    assert shown(again) == first
    assert task.label(first) is None
    press(again, "Sailing")
    assert shown(again) == again_id


def test_several_classes_are_toggled_and_confirmed() -> None:
    task = new_task("many", several=True)
    at = open_label(task="many")
    first = shown(at)
    press(at, "Cooking")
    press(at, "Sailing")
    press(at, "Gardens")
    press(at, "Gardens")
    assert shown(at) == first
    assert [plain(b.label) for b in at.button if b.label.startswith("Confirm")] == [
        "Confirm: Cooking, Sailing"
    ]
    press(at, "confirm")
    entry = task.label(first)
    assert entry is not None
    assert entry.names == ("Cooking", "Sailing")
    second = shown(at)
    press(at, "confirm")
    entry = task.label(second)
    assert entry is not None
    assert (entry.label, entry.names) == ("[]", ())
    assert json.loads(task.export("jsonl").decode().splitlines()[0])["label"] in (
        [],
        ["Cooking", "Sailing"],
    )


def test_a_task_is_reopened_by_its_address(task: LabelTask) -> None:
    new_task("other")
    at = open_label(task="mine")
    labels = {}
    for name in (*CLASSES, *CLASSES, "skip"):
        labels[shown(at)] = name
        press(at, name)
    desk(at)._session = ""
    again = open_label(**at.query_params)
    assert desk(again).name == "mine"
    assert shown(again) not in labels
    reopened = tasks.open_task("mine")
    assert {entry.id: entry.label for entry in reopened.labels()} == {
        n: name for n, name in labels.items() if name != "skip"
    }


def test_a_link_to_a_task_that_is_gone_says_so(task: LabelTask) -> None:
    at = open_label(task="other")
    assert "asks for the task other, which is not here" in at.warning[0].value.replace(
        "\\", ""
    ).replace("\u2060", "")
    assert desk(at).name == "mine"


def test_two_windows_show_different_texts(task: LabelTask, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = open_label(task="mine"), None
    desk(first)._session = "one"
    desk(first)._show(desk(first).item)
    second = open_label(task="mine")
    assert shown(first) != shown(second)
    taken = shown(first)
    task.give(taken, "Gardens")  # by a third one, without a claim
    desk(first)._before = None
    press(first, "Sailing")
    assert "Another window had given that text" in "".join(c.value for c in first.caption)
    assert [entry.label for entry in tasks.open_task("mine").labels() if entry.id == taken] == [
        "Sailing"
    ]


def test_a_label_is_corrected_from_the_list(task: LabelTask) -> None:
    at = open_label(task="mine")
    first = shown(at)
    press(at, "Gardens")
    second = shown(at)
    desk(at).open(first)
    run(at)
    assert shown(at) == first
    assert "Its label is Gardens." in page_html(at)
    press(at, "Sailing")
    entry = task.label(first)
    assert entry is not None
    assert (entry.label, entry.before) == ("Sailing", "Gardens")
    assert shown(at) == second


def test_marked_words_are_kept_as_plausibility_reads_them(task: LabelTask) -> None:
    at = open_label(task="mine")
    item = desk(at).item
    assert item is not None
    button(at, "Mark words").click()
    run(at)
    assert "icaps-account" not in page_html(at)
    desk(at).mark("", [1, 2])
    press(at, "Sailing")
    (read,) = read_marked_words(desk(at).words_file.path)
    assert read.text == " ".join(item.text.split())
    assert read.label == "Sailing"
    assert read.marked.nonzero()[0].tolist() == [1, 2]
    undo(at)
    press(at, "Cooking")  # marks follow the label
    assert [one.label for one in read_marked_words(desk(at).words_file.path)] == ["Cooking"]
    undo(at)
    press(at, "skip")
    assert read_marked_words(desk(at).words_file.path) == []


def test_marks_of_several_classes_are_apart() -> None:
    new_task("many", several=True)
    at = open_label(task="many")
    press(at, "Cooking")
    desk(at).mark("Cooking", [0])
    press(at, "Sailing")
    desk(at).mark("Sailing", [1])
    press(at, "confirm")
    marks = {
        one.label: one.marked.nonzero()[0].tolist()
        for one in read_marked_words(desk(at).words_file.path)
    }
    assert marks == {"Cooking": [0], "Sailing": [1]}


def test_exports(task: LabelTask) -> None:
    at = open_label(task="mine")
    press(at, "Gardens")
    assert [one.proto.label for one in at.get("download_button")][:4] == [
        "CSV",
        "JSON Lines",
        "Parquet",
        "Marked words",
    ]
    (row,) = csv.DictReader(io.StringIO(task.export("csv").decode()))
    assert (row["label"], row["by"], row["part"]) == ("Gardens", "person", "test")


def test_a_training_on_the_labels(
    task: LabelTask, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(
        jobs, "start", lambda _, name, arguments, limit: started.append((name, arguments))
    )
    at = open_label(task="mine")
    assert button(at, "Train on 0 labels").disabled
    label_some(task, 9)
    at = open_label(task="mine")
    button(at, "Train on 9 labels").click()
    run(at)
    ((name, arguments),) = started
    assert name == "mine 9 labels"
    assert arguments[:2] == ["train", "--data"]
    rows = [
        json.loads(line) for line in (Path(arguments[2]) / "train.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 9


def test_a_training_starts_after_every_so_many_labels(
    task: LabelTask, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(_: Path, name: str, arguments: Sequence[str], limit: int) -> None:
        started.append(name)
        write_run(models, name, Status(TRAINING, 1), arguments=arguments)

    monkeypatch.setattr(jobs, "start", start)
    monkeypatch.setattr(training, "POLL", None)
    label_some(task, 18)
    tasks.store_page_settings(task, tasks.PageSettings(every=10))
    trained(models, task, "mine 18 labels", Status(DONE, queued=1.0))
    at = open_label(task="mine")
    for n in range(10):
        assert started == [], n
        press(at, CLASSES[n % 3])
    assert started == ["mine 28 labels"]
    for n in range(3):
        press(at, CLASSES[n])
    assert len(started) == 1


def test_the_queue_follows_the_newest_model_and_keeps_the_place(
    task: LabelTask, models: Path
) -> None:
    label_some(task, 9)
    at = open_label(task="mine")
    before = shown(at)
    assert desk(at).model is None
    trained(models, task, "mine 9 labels", Status(DONE, queued=2.0))
    run(at)
    desk(at)._coming and desk(at)._coming._coming.result()  # type: ignore[union-attr]
    run(at)
    assert shown(at) == before
    assert "are chosen by mine 9 labels" in "".join(
        caption.value for caption in at.caption
    ).replace("\u2060", "")
    assert "Guess of mine 9 labels" in page_html(at)
    training._scorer.submit(int).result()
    (point,) = task.curve()
    assert (point.run, point.labels, point.tested) == ("mine 9 labels", 9, HELD_OUT)
    run(at)
    assert "after 9 labels" in page_html(at)


def test_a_training_that_failed_is_named(task: LabelTask, models: Path) -> None:
    label_some(task, 9)
    trained(models, task, "mine 9 labels", Status("failed", error="No memory."), model=False)
    at = open_label(task="mine")
    assert "No memory" in at.warning[0].value


def test_more_classes_than_keys() -> None:
    names = [f"class {n}" for n in range(60)]
    assert len(keys.of_classes(names[: keys.MAX_CLASSES], [])) == keys.MAX_CLASSES
    assert len(set(keys.of_classes(names[: keys.MAX_CLASSES], []).values())) == keys.MAX_CLASSES
    assert next(iter(keys.of_classes(names, ["class 50"]))) == "class 50"
    task = new_task("wide", classes=names)
    at = open_label(task="wide")
    first = shown(at)
    at.selectbox(key=f"label other {first} 0").select("class 59")
    run(at)
    entry = task.label(first)
    assert entry is not None
    assert entry.label == "class 59"


def test_keys_are_apart() -> None:
    others = {keys.UNDO, keys.SKIP, keys.CONFIRM, keys.MARK, "C", "R"}
    assert not others & set(keys.of_classes([str(n) for n in range(keys.MAX_CLASSES)], []).values())


def test_an_order_that_needs_a_model_says_so(task: LabelTask) -> None:
    label_held_out(task)
    at = open_label(order="uncertain", task="mine")
    assert "needs a model" in errors(at)[0]


def test_a_search(task: LabelTask) -> None:
    label_held_out(task)
    at = open_label(order="search", task="mine", order_words="bake")
    assert desk(at).item is not None
    assert "bake" in desk(at).item.text  # type: ignore[union-attr]
    assert at.query_params["order_words"] == "bake"


@pytest.mark.parametrize("several", [False, True])
def test_hostile_names_and_texts(several: bool) -> None:
    names = ["<b>bold</b> **x**", ":sunglasses: $x$", '<img src=x onerror="1">']
    texts = [f"{name} [a](javascript:alert) {n}" for n in range(4) for name in names]
    new_task("bad", several, classes=names, texts=texts, held_out=0)
    at = open_label(task="bad")
    press(at, names[0])
    if several:
        press(at, "confirm")
    assert not at.error


def open_guesses(at: AppTest) -> AppTest:
    """Opens the guesses of the model for all texts, and waits for them."""
    at.session_state["label accept"] = True
    run(at)
    at.button(key="label accept start").click()
    run(at)
    found = acceptance._stored(desk(at))
    assert found is not None
    found.result()
    return run(at)


def test_guesses_are_accepted_together_and_taken_back(classifier: ICapsClassifier) -> None:
    task = new_task("mine", texts=[*make_texts(20, seed=5)[0], *mixed_texts()])
    label_held_out(task)
    tasks.store_page_settings(task, tasks.PageSettings(model="small"))
    at = open_guesses(open_label(task="mine"))
    assert not errors(at)
    shown_id = shown(at)
    open_ids = [n for n in range(len(task)) if n not in task.held_out and n != shown_id]
    texts = task.text(open_ids)
    chances, predicted = classifier.predict_proba(texts).max(1), classifier.predict(texts)
    least = 99
    at.select_slider(key="label accept from").set_value(least)
    run(at)
    sure = {
        n: name
        for n, name, chance in zip(open_ids, predicted, chances, strict=True)
        if chance >= least / 100
    }
    assert 0 < len(sure) < len(open_ids)
    told = " ".join(plain(one.value) for one in [*at.markdown, *at.caption])
    assert f"{len(sure)} texts of {len(open_ids)} with a guess" in told
    assert "held-out text" in told
    sample = next(frame.value for frame in at.dataframe if "guess" in frame.value)
    assert len(sample) == min(10, len(sure))
    assert sample["probability"].ge(least / 100).all()
    assert task.progress().labelled == HELD_OUT  # nothing is accepted yet
    button(at, f"Label {len(sure)} texts as small guesses").click()
    run(at)
    assert not errors(at)
    labels = {one.id: (one.label, one.by) for one in task.labels() if one.id not in task.held_out}
    assert labels == {n: (name, "model small") for n, name in sure.items()}
    assert shown(at) == shown_id  # what a person looks at is not labelled
    assert f"{len(sure)} by a model" in page_html(at)
    rows = [json.loads(line) for line in task.export("jsonl").splitlines()]
    assert sum(row["by"] == "model small" for row in rows) == len(sure)
    told = " ".join(plain(one.value) for one in at.caption)
    assert f"{len(sure)} labels by model small" in told
    again = open_label(task="mine")  # another day
    again.session_state["label accept"] = True
    run(again)
    button(again, "Take them back").click()
    run(again)
    assert task.progress().labelled == HELD_OUT
    assert not errors(again)


def test_undo_takes_accepted_guesses_back(task: LabelTask) -> None:
    label_held_out(task)
    tasks.store_page_settings(task, tasks.PageSettings(model="small"))
    at = open_guesses(open_label(task="mine"))
    at.select_slider(key="label accept from").set_value(50)
    run(at)
    at.button(key="label accept all").click()
    run(at)
    assert task.progress().by_models > 20
    before = shown(at)
    undo(at)
    assert task.progress().by_models == 0
    assert shown(at) == before


def test_guesses_need_a_model(task: LabelTask) -> None:
    at = open_label(task="mine")
    at.session_state["label accept"] = True
    at.selectbox(key="label guesses").select("None")
    run(at)
    assert any("There is no model yet" in one.value for one in at.caption)
    assert "label accept start" not in {one.key for one in at.button}


def test_a_task_is_deleted(task: LabelTask) -> None:
    at = open_label(task="mine")
    assert button(at, "Delete the task").disabled
    at.checkbox(key="label sure mine").check()
    run(at)
    button(at, "Delete the task").click()
    run(at)
    assert tasks.names() == []
    assert at.session_state["label_view"] == NEW_TASK


def test_a_read_only_app_shows_and_changes_nothing(
    task: LabelTask, classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label_some(task, 9)
    before = task.export("jsonl")
    (tmp_path / "settings.toml").write_text("read_only = true\n")
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    at = open_label(task="mine")
    assert [one.label for one in at.button] == []
    assert "<b>13</b> of 40 labelled" in page_html(at)
    assert "read-only" in open_page("label", label_view=NEW_TASK).info[0].value
    item = desk(at).item
    assert item is not None
    guesses = task.guesses(classifier)
    monkeypatch.setattr(
        quotas, "read_only", lambda: False
    )  # as a browser that shows hidden buttons
    actions: list[Callable[[], object]] = [
        lambda: desk(at).give(item.id, ["Sailing"]),
        lambda: desk(at).skip(item.id),
        lambda: desk(at).undo(),
        lambda: desk(at).accept(guesses, "small"),
        lambda: tasks.delete("mine"),
        lambda: tasks.new_folder("new"),
        lambda: tasks.store_page_settings(task, tasks.PageSettings()),
        lambda: training._start(desk(at)),
    ]
    for action in actions:
        with pytest.raises(NotAllowedError):
            action()
    assert task.export("jsonl") == before


def test_the_number_of_tasks_is_limited(
    task: LabelTask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.toml").write_text("label_tasks = 1\n")
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    with pytest.raises(NotAllowedError, match="1 tasks already"):
        tasks.new_folder("new")


def test_trainings_of_other_data_are_not_those_of_the_task(task: LabelTask, models: Path) -> None:
    write_run(models, "else", Status(DONE), arguments=["train", "--data", "texts.csv"])
    RunFolder(models / "else").write_request(Request(("train", "--data", "texts.csv"), "/"))
    assert tasks.trainings(task) == []


def test_texts_without_classes_lead_here_from_other_pages(cache: Path) -> None:
    texts, _ = make_texts(30, seed=3)
    place = store_upload("heap.csv", io.BytesIO("\n".join(["text", *texts]).encode()))
    at = open_page("datasets", data=str(place))
    links = [link.proto for link in at.get("page_link")]
    (link,) = [link for link in links if link.label == "Has it no classes? Label its texts"]
    assert link.page == "label"
    assert "heap.csv" in link.query_string


def test_too_many_requests_hide_no_button(task: LabelTask, monkeypatch: pytest.MonkeyPatch) -> None:
    label_held_out(task)
    tasks.store_page_settings(task, tasks.PageSettings(model="small"))
    at = open_label(task="mine")

    def refuse() -> None:
        raise NotAllowedError("Too many requests; try again in 5 seconds.")

    monkeypatch.setattr(quotas, "request", refuse)
    first = shown(at)
    press(at, "Sailing")
    assert shown(at) != first
    assert "Too many requests" in "".join(caption.value for caption in at.caption)
    press(at, "Cooking")
    assert task.progress().labelled == HELD_OUT + 2
