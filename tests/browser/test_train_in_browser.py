"""The page of trainings: compared, understood, copied and deleted."""

from __future__ import annotations

import csv
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from filelock import FileLock

from icaps.cli.main import main as icaps
from icaps.results import Explanation
from icaps.runs import jobs
from icaps.runs.folder import FAILED, LIVE, PROGRESS, SNAPSHOTS, STOPPED, Run, find_runs
from tests.browser.visitor import read_text, wait_for_rest
from tests.browser.workshop import (
    HOSTILE,
    Workshop,
    alerts,
    assert_looks_good,
    choose,
    command,
    download,
    expect,
    fill,
    job,
    job_line,
    main,
    new_window,
    numbers,
    open_at,
    open_form,
    open_launcher,
    plain,
    side,
    tab_stops,
    tab_to,
    table,
    watched,
    workshop,
)
from tests.conftest import TOPICS, make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

WATCHED = "We bake <b>bread</b> & **soup** for $x$ and $y$ :smile:"
SMALL = {"trained_dim": 8, "region_dim": 24, "query_dim": 4, "class_dim": 6, "min_frequency": 0}
SMALL |= {"average_decay": 0.9, "batch_size": 8, "patience": 9}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """The server with two trainings that have ended: "first", of hostile names, and "second"."""
    place = tmp_path_factory.mktemp("trainings in the browser")
    write_table(place / "texts.csv", HOSTILE)
    vectors = place / "some vectors.vec"
    words = [*TOPICS["Cooking"].split(), *TOPICS["Sailing"].split()]
    lines = [
        f"{word} {' '.join(str((n * k) % 7 - 3) for k in range(4))}" for n, word in enumerate(words)
    ]
    vectors.write_text("\n".join([f"{len(words)} 4", *lines]) + "\n")
    with workshop(place) as found:
        first = ["--preset", "ag_news-short", "--vectors", str(vectors), "--vectors", "texts"]
        train(found, "first", *first, "--watch", WATCHED, epochs=4, fixed_dim=4, seed=3)
        train(found, "second", epochs=2, fixed_dim=0, learning_rate=0.01)
        yield found


@pytest.fixture(scope="module")
def window(browser: Any, shop: Workshop) -> Iterator[Page]:
    with new_window(browser, shop) as page:
        yield page


@pytest.fixture
def page(window: Page) -> Iterator[Page]:
    with watched(window):
        yield window


def write_table(path: Path, names: dict[str, str], rows: int = 90) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        texts, labels = make_texts(rows, seed=5)
        writer.writerows((text, names[label]) for text, label in zip(texts, labels, strict=True))


def train(shop: Workshop, name: str, *arguments: str, **settings: Any) -> None:
    given = [f"--set={key}={value}" for key, value in (SMALL | settings).items()]
    data = ["--data", str(shop.place / "texts.csv")]
    assert icaps(["train", *data, *arguments, *given, "--out", str(shop.runs / name)]) == 0


def finished(shop: Workshop, name: str) -> Run:
    run = shop.run(name)
    assert run is not None
    return run


def open_run(page: Page, name: str, tab: str = "Curves") -> Page:
    open_at(page, f"/train?run={name}", "Train")
    show_tab(page, tab)
    return page


def show_tab(page: Page, name: str) -> None:
    """Opens a part of the page and waits until it is there."""
    main(page).get_by_role("tab", name=name).click()
    seen = {
        "Curves": page.get_by_label("Memory, GB over the epochs", exact=True),
        "Reasons": page.get_by_label("Which capsules win texts, by epoch", exact=True),
        "Settings": table(page.get_by_role("tabpanel")),
        "Log": main(page).get_by_test_id("stCode").last,
    }
    expect(seen[name]).to_be_attached()
    wait_for_rest(page)


def put_beside(page: Page, name: str) -> None:
    choose(page, main(page).get_by_role("combobox", name="Compare with"), name)


def skip_to_main(page: Page) -> None:
    """Passes the sidebar, as one does who has keys alone."""
    page.locator("body").focus()
    tab_to(page, "element.innerText === 'Skip to main content'")
    page.keyboard.press("Enter")


def test_several_trainings_lie_over_each_other(page: Page, shop: Workshop) -> None:
    open_run(page, "first")
    put_beside(page, "second")
    chart = page.get_by_label("Loss over the epochs", exact=True)
    expect(chart.locator(".mark-line path")).to_have_count(2)
    drawn = [line.get_attribute("aria-label") for line in chart.locator(".mark-line path").all()]
    assert [re.search("run: (\\w+)", label or "")[1] for label in drawn] == ["first", "second"]
    assert chart.locator(".role-legend-label text").all_text_contents() == ["first", "second"]
    frame = chart.locator("svg .root path.background").first.bounding_box()
    assert frame is not None
    assert frame["height"] > 60  # the legend leaves room for the lines
    rows = numbers(page, "curve-accuracy")
    expected = [
        (name, line["epoch"], line["validation_accuracy"])
        for name in ("first", "second")
        for line in finished(shop, name).folder.records(PROGRESS)
        if "step" not in line
    ]
    found = [(r["run"], float(r["epoch"]), float(r["validation_accuracy"])) for r in rows]
    assert found == [(run, epoch, pytest.approx(share)) for run, epoch, share in expected]
    assert {row["run"] for row in numbers(page, "curve-loss")} == {"first", "second"}


def test_settings_stand_side_by_side(page: Page, shop: Workshop) -> None:
    open_run(page, "first", "Settings")
    put_beside(page, "second")
    place = page.get_by_role("tabpanel")
    differing = {row["setting"]: row for row in download(page, place, "CSV")}
    assert (differing["epochs"]["first"], differing["epochs"]["second"]) == ("4", "2")
    assert differing["preset"]["first"] == "ag_news-short"
    assert differing["vectors"]["first"] == f"{shop.place}/some vectors.vec, texts"
    assert "batch_size" not in differing
    rows = table(place).get_attribute("aria-rowcount") or ""
    place.get_by_text("Only differences").click()
    expect(table(place)).not_to_have_attribute("aria-rowcount", rows)
    every = {row["setting"]: row for row in download(page, place, "CSV")}
    assert every["batch_size"]["first"] == every["batch_size"]["second"] == "8"
    assert differing.items() <= every.items()


def test_the_reasons_are_those_of_the_epoch(page: Page, shop: Workshop) -> None:
    snapshots = finished(shop, "first").folder.records(SNAPSHOTS)
    assert len(snapshots) == 4
    open_run(page, "first", "Reasons")
    slider = main(page).get_by_role("slider", name="Epoch")
    for snapshot in reversed(snapshots):
        explanation = Explanation.from_dict(snapshot["explanation"])
        share = max(explanation.probabilities)
        said = f"After epoch {snapshot['epoch']}: {explanation.predicted}, {share:.0%}"
        line = main(page).get_by_text(f"After epoch {snapshot['epoch']}")
        line.wait_for()
        assert plain(line.inner_text()) == said
        assert read_text(page) == WATCHED
        if snapshot["epoch"] > 1:
            slider.press("ArrowLeft")
    assert page.evaluate("window.hacked") is None
    use = numbers(page, "capsule-use")
    assert {row["main class"] for row in use} <= {*HOSTILE.values(), "none"}
    assert len(use) == 4 * 6  # epochs by capsules


def test_the_log_and_the_command_are_reported(page: Page, shop: Workshop) -> None:
    open_run(page, "second", "Log")
    codes = main(page).get_by_role("tabpanel").get_by_test_id("stCode")
    given = shlex.split(codes.last.inner_text())
    request = finished(shop, "second").request
    assert request is not None
    assert given == ["python", "-m", "icaps", *request.arguments]


def test_a_copy_has_the_settings_with_the_changes(page: Page, shop: Workshop) -> None:
    open_run(page, "first")
    main(page).get_by_role("button", name="Duplicate with changes").click()
    main(page).locator(".st-key-training_form").wait_for()
    form = open_form(page)
    expect(form.get_by_role("spinbutton", name="Epochs")).to_have_value("4")
    expect(form.get_by_role("textbox", name="Text to watch")).to_have_value(WATCHED)
    expect(form.get_by_role("textbox", name="Name", exact=True)).to_have_value("first 2")
    fill(form.get_by_role("spinbutton", name="Epochs"), "5")
    words = command(page, form, "epochs=5")
    request = finished(shop, "first").request
    assert request is not None
    assert words[:4] == ["python", "-m", "icaps", "train"]
    (coverage,) = alerts(page)
    assert coverage.startswith("some vectors.vec: vectors for 23% of the running words.")
    # In another order it says the same but for the epochs and the place.
    given = list(request.arguments[1:])
    was = {
        (name, given[n + 1])
        for n, name in enumerate(given)
        if name.startswith("--") and "=" not in name
    }
    was |= {("--set", part.removeprefix("--set=")) for part in given if part.startswith("--set=")}
    now = set(zip(words[4::2], words[5::2], strict=True))
    assert now - was == {("--set", "epochs=5"), ("--out", f"{shop.runs}/first 2")}
    # The preset has some of them already, and what it has needs no word.
    gone = {value.partition("=")[0] for _, value in was - now}
    assert gone <= {"epochs", *SMALL, "fixed_dim", str(shop.runs / "first")}


def test_deleting_asks_first(page: Page, shop: Workshop) -> None:
    shutil.copytree(shop.runs / "second", shop.runs / "third_$x$")
    open_run(page, "third_$x$")
    place = page.get_by_test_id("stPopoverBody")
    main(page).get_by_role("button", name="Delete", exact=True).click()
    assert "Delete third_$x$ and its model" in plain(place.inner_text())
    page.keyboard.press("Escape")
    expect(place).to_have_count(0)
    assert shop.run("third_$x$") is not None
    main(page).get_by_role("button", name="Delete", exact=True).click()
    place.get_by_role("button", name="Delete it").click()
    expect(main(page).get_by_role("combobox", name="Training")).not_to_have_value("third_$x$")
    assert shop.run("third_$x$") is None
    assert not (shop.runs / "third_$x$").exists()
    assert shop.run("second") is not None


def test_tab_reaches_all_of_it(page: Page) -> None:
    common = {"Training", "Compare with", "Duplicate with changes", "Delete", "Open in Explain"}
    common |= {"What its capsules do", "Compare with a baseline", "Its texts in Datasets"}
    common |= {"canvas", "CSV"}  # the table of all trainings
    inside = {
        "Curves": {"As a table", "Save", "Fullscreen: Loss over the epochs"},
        "Reasons": {"Epoch", "As a table", "Save"},
        "Settings": {"Search"},
        "Log": set(),
    }
    open_run(page, "first", "Settings")
    put_beside(page, "second")
    for tab, names in inside.items():
        show_tab(page, tab)
        stops = tab_stops(page)
        assert common | names | {tab} <= set(stops)
        assert stops[-1] == "CSV"
    show_tab(page, "Reasons")
    assert any(re.search(r"[+-]\d\.\d\d", stop) for stop in tab_stops(page))  # of a word's share
    page.get_by_role("tab", name="Reasons").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Settings")).to_have_attribute("aria-selected", "true")


def test_writing_can_be_read_and_nothing_is_cut_off(page: Page) -> None:
    open_run(page, "first")
    put_beside(page, "second")
    open_launcher(page)
    assert_looks_good(page, [main(page), side(page)], "Curves")
    side(page).get_by_text("Train a model").click()
    for tab in ("Reasons", "Settings", "Log"):
        show_tab(page, tab)
        assert_looks_good(page, [main(page)], tab)


def test_the_error_of_a_training_is_shown_literally(page: Page, shop: Workshop) -> None:
    path = shop.place / "$x$ **b** <i> :sunglasses: [a](b).csv"
    write_table(path, HOSTILE)
    with path.open("a", encoding="utf-8") as file:
        file.write("a row,of,four,fields\n")
    shop.forget("fails")
    with FileLock(shop.runs / ".queue.lock"):  # the training waits, and cannot end unseen
        jobs.start(shop.runs, "fails", ["train", "--data", str(path)])
        open_run(page, "second", "Log")
        job(page, "fails").wait_for()
    toast = page.get_by_test_id("stToast").filter(has_text="fails")
    told = plain(toast.inner_text())  # at once: it is gone soon
    error = shop.wait("fails", lambda run: run.status.state == FAILED).status.error
    assert str(path) in error
    assert error in told
    choose(page, main(page).get_by_role("combobox", name="Training"), "fails")
    expect(page.get_by_test_id("stAlert")).to_be_visible()
    assert f"fails failed. {error}" in alerts(page)[0]


def choose_texts_by_keys(page: Page, place: Locator, shop: Workshop) -> None:
    """Chooses the table of the tests in a form whose list of data has the focus next."""
    press = page.keyboard.press
    tab_to(page, "element.getAttribute('aria-label') === 'Data'")
    page.keyboard.type("A path")
    expect(page.get_by_role("option", name="A path")).to_have_attribute("data-focused", "true")
    press("Enter")
    place.get_by_role("textbox", name="Path or name").wait_for()
    tab_to(page, "element.getAttribute('aria-label') === 'Path or name'")
    page.keyboard.type(str(shop.place / "texts.csv"))
    press("Enter")
    place.get_by_role("button", name="Start training").wait_for()
    wait_for_rest(page)


def test_a_training_is_started_in_the_sidebar_by_keys_alone(page: Page, shop: Workshop) -> None:
    """And what was started is seen at once; the button starts no second one."""
    shop.forget("texts")
    open_at(page, "/", "Why this class?")
    press = page.keyboard.press
    tab_to(page, "element.localName === 'summary' && /Train a model/.test(element.innerText)")
    press("Enter")
    side(page).get_by_role("button", name="Start training").wait_for()
    wait_for_rest(page)
    choose_texts_by_keys(page, side(page), shop)
    button = side(page).get_by_role("button", name="Start training")
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(button).to_be_in_viewport(ratio=1)
    tab_to(page, "element.innerText === 'Start training'")
    press("Enter")
    toast = page.get_by_test_id("stToast")  # at first, since it goes by itself
    expect(toast).to_contain_text("texts has started.")
    expect(toast.get_by_role("link", name="Watch it")).to_have_attribute(
        "href", "train?run=texts&train_view=Trainings"
    )
    run = shop.wait("texts", lambda run: bool(run.status.pid))
    with shop.holding(run):
        expect(job(page, "texts")).to_be_in_viewport(ratio=1)
        expect(side(page).get_by_role("button", name="Started")).to_be_disabled()
        expect(button).to_have_count(0)
        expect(side(page).get_by_role("button", name="Start it once more")).to_be_enabled()
    jobs.stop(run)
    shop.wait("texts", lambda run: run.status.state not in LIVE)
    jobs.delete(shop.runs, "texts")


def test_two_clicks_start_one_training(page: Page, shop: Workshop) -> None:
    shop.forget("synthetic")
    open_at(page, "/", "Why this class?")
    form = open_launcher(page)
    button = form.get_by_role("button", name="Start training")
    button.evaluate("(button) => { button.click(); button.click(); }")
    expect(form.get_by_role("button", name="Started")).to_be_disabled()
    wait_for_rest(page)
    begun = [run.name for run in find_runs(shop.runs) if run.name.startswith("synthetic")]
    assert begun == ["synthetic"]
    run = shop.wait("synthetic", lambda run: bool(run.status.pid))
    jobs.stop(run)
    shop.wait("synthetic", lambda run: run.status.state not in LIVE)
    jobs.delete(shop.runs, "synthetic")


def test_a_training_is_started_and_stopped_by_keys_alone(page: Page, shop: Workshop) -> None:
    keys = "element.innerText === '{}'"
    shop.forget("texts")
    open_run(page, "second")
    press = page.keyboard.press
    skip_to_main(page)
    tab_to(page, "element.getAttribute('role') === 'radio' && /New/.test(element.innerText)")
    press("Space")
    # The end of the first estimate changes the form, which would close a list that is open.
    main(page).get_by_role("button", name="Start training").wait_for()
    wait_for_rest(page)
    choose_texts_by_keys(page, main(page), shop)
    tab_to(page, "element.getAttribute('aria-label') === 'Epochs'")
    for _ in range(20):
        press("ArrowUp")
    tab_to(page, keys.format("Start training"))
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    press("Enter")
    run = shop.wait("texts", lambda run: bool(run.status.pid))
    with shop.holding(run):
        job(page, "texts").wait_for()
        expect(main(page).get_by_role("combobox", name="Training")).to_have_value("texts")
        skip_to_main(page)
        tab_to(page, keys.format("stop_circle\\n\\nStop"))
        press("Enter")
        expect(job_line(page, "texts")).to_contain_text("stopping")
        assert_looks_good(page, [side(page).locator(".job")], "the bar")
    run = shop.wait("texts", lambda run: run.status.state not in LIVE)
    assert run.status.state == STOPPED
    assert "--set epochs=80" in shlex.join(run.request.arguments if run.request else ())
    expect(main(page).get_by_role("button", name="Resume")).to_be_visible()
    skip_to_main(page)
    tab_to(page, keys.format("play_circle\\n\\nResume"))
    press("Space")
    shop.wait("texts", lambda run: run.status.live)
