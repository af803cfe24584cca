"""A person's hour: labels by keys, a training, corrections, a repair; nothing gets lost."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_file import LabelFile
from icaps.faithfulness.plausibility import read_marked_words
from icaps.label.task import LabelTask
from icaps.runs.folder import DONE
from tests.browser.conftest import ROOT
from tests.browser.visitor import wait_for_rest
from tests.browser.workshop import (
    Workshop,
    expect,
    fill,
    main,
    new_window,
    plain,
    visiting,
    watched,
    workshop,
)
from tests.conftest import TOPICS, make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Page

CLASSES = list(TOPICS)
TEXTS = 90
HELD_OUT = 10
LABELS = 60
FASTEST = 150  # milliseconds from a key to the next text
LONG_WAIT = 90_000  # milliseconds; only a failure takes as long

# Presses a key, and returns after how many milliseconds another text is there with its buttons.
_PRESS = """(key) => new Promise((resolve) => {
  const text = () => document.querySelector(".to-label .icaps-text")?.textContent ?? "";
  const before = text(), start = performance.now();
  const look = () => {
    if (text() !== before && document.querySelector(".st-key-label-classes button"))
      resolve(performance.now() - start);
    else setTimeout(look, 2);
  };
  const code = key.toUpperCase().charCodeAt(0);
  for (const type of ["keydown", "keyup"])
    document.body.dispatchEvent(new KeyboardEvent(type, { key, keyCode: code, bubbles: true }));
  look();
})"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with workshop(tmp_path_factory.mktemp("labelling")) as found:
        yield found


@pytest.fixture
def page(browser: Any, shop: Workshop) -> Iterator[Page]:
    with new_window(browser, shop) as page, watched(page):
        yield page


def upload(name: str, seed: int) -> dict[str, Any]:
    texts, _ = make_texts(TEXTS, seed=seed)
    content = "\n".join(["text", *texts]).encode()
    return {"name": f"{name}.csv", "mimeType": "text/csv", "buffer": content}


def create(page: Page, name: str, seed: int, several: bool = False) -> None:
    """Creates a task from an upload, by the form."""
    page.goto("/label?label_view=New+task")
    main(page).locator("input[type=file]").set_input_files(upload(name, seed))
    box = main(page).get_by_role("textbox", name="Classes, one per line")
    box.fill("\n".join(CLASSES))
    box.press("Control+Enter")
    wait_for_rest(page)
    if several:
        main(page).get_by_text("A text can have several classes").click()
    fill(main(page).get_by_role("spinbutton", name="Texts held out"), str(HELD_OUT))
    fill(main(page).get_by_role("textbox", name="Name of the task"), name)
    wait_for_rest(page)
    main(page).get_by_role("button", name="Start labelling").click()
    main(page).locator(".to-label").wait_for()
    wait_for_rest(page)


def open_task(page: Page, name: str) -> None:
    page.goto(f"/label?task={name}")
    main(page).locator(".to-label").wait_for()
    wait_for_rest(page)


def text_of(page: Page) -> str:
    """The text that is being labelled, without tips."""
    return str(
        page.evaluate("""() => {
          const text = document.querySelector(".to-label .icaps-text").cloneNode(true);
          text.querySelectorAll(".icaps-tip").forEach((tip) => tip.remove());
          return text.textContent;
        }""")
    )


def class_of(text: str) -> str:
    words = set(re.findall(r"\w+", text.lower()))
    return max(CLASSES, key=lambda name: len(words & set(TOPICS[name].split())))


def press(page: Page, key: str) -> float:
    """Presses a key and waits for another text; returns the milliseconds between."""
    taken = float(page.evaluate(_PRESS, key))
    wait_for_rest(page)
    return taken


def label(page: Page, count: int) -> list[float]:
    """Labels texts by their keys."""
    return [press(page, str(1 + CLASSES.index(class_of(text_of(page))))) for _ in range(count)]


def folder(shop: Workshop, name: str) -> Path:
    return shop.data / "labelling" / name


def labelled(shop: Workshop, name: str) -> dict[str, str]:
    """The labels on the disk, by text."""
    file = LabelFile(folder(shop, name) / "labels.jsonl")
    return {one.text: one.label for one in file.current().values()}


def forget(shop: Workshop, name: str) -> None:
    """Deletes what an earlier try of a test has left, and starts the server if it was killed."""
    if shop.process is not None and shop.process.poll() is not None:
        shop.start()
    for run in list(shop.runs.glob(f"{name} *")):
        shop.forget(run.name)
        shutil.rmtree(run, ignore_errors=True)
    shutil.rmtree(folder(shop, name), ignore_errors=True)


def exported(page: Page, kind: str) -> bytes:
    with page.expect_download() as found:
        main(page).get_by_role("button", name=kind, exact=True).click()
    return Path(found.value.path()).read_bytes()


def correct(page: Page, text: str, key: str) -> None:
    """Gives a text of the list another label."""
    box = main(page).get_by_role("combobox", name="Correct the label of")
    if not box.count():
        main(page).get_by_text("Labels so far").click()
    box.click()
    box.press_sequentially(text[:25])
    page.get_by_role("option", name=text).first.click()
    expect(main(page).locator(".why")).to_contain_text("You chose it from the labels so far")
    wait_for_rest(page)
    assert text_of(page) == text
    press(page, key)


def test_an_hour_of_a_person(browser: Any, shop: Workshop) -> None:
    forget(shop, "hour")
    done = 0
    with visiting(browser, shop, 1, server_goes=True) as (page,):
        create(page, "hour", seed=71)
        expect(main(page).locator(".why")).to_contain_text("held-out texts")
        label(page, 25)
        done += 25
        first = text_of(page)
        press(page, "s")
        assert labelled(shop, "hour")[first] == ""  # skipped
        press(page, "z")
        assert text_of(page) == first
        assert first not in labelled(shop, "hour")
        label(page, 1)
        done += 1
        assert len(labelled(shop, "hour")) == done
        shop.kill()  # in the middle of it, as by kill -9
    assert len(labelled(shop, "hour")) == done
    shop.start()

    with visiting(browser, shop, 2) as (page, other):
        open_task(page, "hour")
        open_task(other, "hour")
        assert text_of(page) != text_of(other)
        assert text_of(page) not in labelled(shop, "hour")
        label(other, 4)  # two windows at once
        label(page, LABELS - done - 4)
        counts = main(page).locator(".progress")
        expect(counts).to_contain_text(f"{LABELS} of {TEXTS} labelled")
    known = labelled(shop, "hour")
    assert len(known) == LABELS
    assert all(class_of(text) == name for text, name in known.items())

    with visiting(browser, shop, 1) as (page,):
        open_task(page, "hour")
        main(page).get_by_role("button", name=f"Train on {LABELS - HELD_OUT} labels").click()
        expect(main(page).get_by_role("progressbar")).to_be_visible()
        here = text_of(page)
        name = f"hour {LABELS - HELD_OUT} labels"
        shop.wait(name, lambda run: run.status.state == DONE, seconds=400)
        guess = main(page).locator(".guess")
        expect(guess).to_contain_text(f"Guess of {name}", timeout=LONG_WAIT)
        assert text_of(page) == here  # the place is not lost
        expect(main(page).locator(".chart-title")).to_contain_text("Held-out accuracy")
        for text in list(known)[10:15]:
            wrong = CLASSES[CLASSES.index(known[text]) - 1]
            correct(page, text, str(1 + CLASSES.index(wrong)))
            known[text] = wrong
        assert labelled(shop, "hour") == known
        rows = list(csv.DictReader(io.StringIO(exported(page, "CSV").decode("utf-8-sig"))))
        assert {row["text"]: row["label"] for row in rows} == known
        assert sum(bool(row["before"]) for row in rows) == 5
        assert {row["by"] for row in rows} == {"person"}
        assert all(row["time"] for row in rows)
        lines = [json.loads(line) for line in exported(page, "JSON Lines").splitlines()]
        assert {row["text"]: row["label"] for row in lines} == known
        columns = pq.read_table(io.BytesIO(exported(page, "Parquet"))).to_pydict()
        assert dict(zip(columns["text"], columns["label"], strict=True)) == known
        shop.kill()

    repaired = shop.runs / "hour repaired"
    command = ["repair", "--model", str(shop.runs / name), "--word", "soup", "--out", str(repaired)]
    result = subprocess.run(
        [sys.executable, "-m", "icaps", *command], cwd=ROOT, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    assert json.loads((repaired / "edits.json").read_text())

    shop.start()  # tomorrow
    with visiting(browser, shop, 1) as (page,):
        open_task(page, "hour")
        expect(main(page).locator(".progress")).to_contain_text(f"{LABELS} of {TEXTS} labelled")
        expect(main(page).locator(".guess")).to_contain_text(f"Guess of {name}")
        expect(main(page).locator(".chart-title")).to_contain_text("Held-out accuracy")
        assert text_of(page) not in known
        assert labelled(shop, "hour") == known


def test_the_next_text_comes_at_once(page: Page, shop: Workshop) -> None:
    """Others share the processor, so it is the fastest key that tells what the page takes."""
    forget(shop, "fast")
    create(page, "fast", seed=77)
    times = label(page, 20)
    assert min(times) < FASTEST, times


def test_labels_are_corrected(page: Page, shop: Workshop) -> None:
    forget(shop, "corrected")
    create(page, "corrected", seed=76)
    label(page, 4)
    known = labelled(shop, "corrected")
    for text in list(known)[1:3]:
        known[text] = CLASSES[CLASSES.index(known[text]) - 1]
        correct(page, text, str(1 + CLASSES.index(known[text])))
    assert labelled(shop, "corrected") == known


def test_a_key_that_is_held_down_labels_one_text(page: Page, shop: Workshop) -> None:
    forget(shop, "held")
    create(page, "held", seed=72)
    before = text_of(page)
    page.keyboard.down("1")
    for _ in range(10):
        page.keyboard.down("1")  # a repetition
        page.wait_for_timeout(60)
    page.keyboard.up("1")
    expect(main(page).locator(".progress")).to_contain_text("1 of")
    wait_for_rest(page)
    assert labelled(shop, "held") == {before: CLASSES[0]}


def test_keys_in_a_field_label_nothing(page: Page, shop: Workshop) -> None:
    forget(shop, "typed")
    create(page, "typed", seed=73)
    main(page).get_by_role("button", name="Options").click()
    page.get_by_role("textbox", name="Add a class").press_sequentially("1 s z")
    wait_for_rest(page)
    assert labelled(shop, "typed") == {}


def test_several_classes_and_marked_words(page: Page, shop: Workshop) -> None:
    forget(shop, "several")
    create(page, "several", seed=74, several=True)
    text = text_of(page)
    confirm = main(page).get_by_role("button", name="Confirm")
    page.keyboard.press("1")
    expect(confirm).to_contain_text(re.compile(rf"Confirm:\W*{CLASSES[0]}"))
    page.keyboard.press("m")
    words = main(page).get_by_role("checkbox")
    expect(words).to_have_count(len(text.split()) + main(page).get_by_role("switch").count())
    words.filter(has_text=text.split()[1]).first.click()
    expect(main(page).get_by_text("1 word marked")).to_be_visible()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    expect(main(page).get_by_text("2 words marked")).to_be_visible()
    page.keyboard.press("3")
    expect(confirm).to_contain_text(f"{CLASSES[0]}, {CLASSES[2]}")
    assert [plain(line) for line in main(page).get_by_text("words marked").all_inner_texts()] == [
        f"0 words marked as the reason for {CLASSES[2]}."
    ]
    page.keyboard.press("Enter")
    expect(main(page).locator(".progress")).to_contain_text("1 of")
    wait_for_rest(page)
    assert labelled(shop, "several") == {text: json.dumps([CLASSES[0], CLASSES[2]])}
    (marked,) = read_marked_words(folder(shop, "several") / "words.jsonl")
    assert (marked.label, marked.marked.nonzero()[0].tolist()) == (CLASSES[0], [1, 2])


def test_guesses_are_accepted_and_taken_back_another_day(
    browser: Any, shop: Workshop, classifier: ICapsClassifier
) -> None:
    forget(shop, "bulk")
    classifier.save(shop.models / "small")
    LabelTask.create(folder(shop, "bulk"), make_texts(TEXTS, 78)[0], CLASSES, held_out=HELD_OUT)
    settings = {"model": "small", "every": 0, "unlabelled": False}
    (folder(shop, "bulk") / "page.json").write_text(json.dumps(settings))
    with visiting(browser, shop, 1, server_goes=True) as (page,):
        open_task(page, "bulk")
        label(page, HELD_OUT)
        expect(main(page).locator(".guess")).to_contain_text("Guess of small")
        here = text_of(page)
        main(page).get_by_text("Accept guesses of the model").click()
        main(page).get_by_role("button", name="See the guesses of small").click()
        accept = main(page).get_by_role("button", name="as small guesses")
        expect(accept).to_be_visible(timeout=LONG_WAIT)
        accept.click()
        progress = main(page).locator(".progress")
        expect(progress).to_contain_text("by a model")
        wait_for_rest(page)
        assert text_of(page) == here
        shop.kill()
    known = LabelFile(folder(shop, "bulk") / "labels.jsonl").labels()
    guessed = [one for one in known if one.by == "model small"]
    assert len(guessed) > (TEXTS - HELD_OUT) / 2
    assert here not in {one.text for one in guessed}
    assert len(known) == len(guessed) + HELD_OUT

    shop.start()  # tomorrow
    with visiting(browser, shop, 1) as (page,):
        open_task(page, "bulk")
        main(page).get_by_text("Accept guesses of the model").click()
        main(page).get_by_role("button", name="Take them back").click()
        progress = main(page).locator(".progress")
        expect(progress).to_contain_text(f"{HELD_OUT} of")
        expect(progress).not_to_contain_text("by a model")
    assert len(labelled(shop, "bulk")) == HELD_OUT


def test_the_browser_is_killed(browser: Any, shop: Workshop) -> None:
    forget(shop, "killed")
    mark = f"--icaps-test={uuid.uuid4().hex}"
    own = browser.browser_type.launch(
        executable_path=shutil.which("chromium") or browser.browser_type.executable_path,
        args=["--no-sandbox", "--disable-gpu", mark],
    )
    page = own.new_context(base_url=shop.address).new_page()
    create(page, "killed", seed=75)
    label(page, 3)
    before = labelled(shop, "killed")
    assert len(before) == 3
    here = text_of(page)
    (pid,) = (
        int(folder.name)
        for folder in Path("/proc").glob("[0-9]*")
        if mark in commands_of(folder) and "--type=" not in commands_of(folder)
    )
    os.kill(pid, signal.SIGKILL)
    with visiting(browser, shop, 1) as (page,):
        open_task(page, "killed")
        assert labelled(shop, "killed") == before
        assert text_of(page) == here


def commands_of(process: Path) -> str:
    """The command line of a process, of its folder in /proc."""
    try:
        return (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""
