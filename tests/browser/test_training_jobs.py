"""Trainings that are started in the browser, and that outlive it and the server."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from icaps.runs.folder import DONE, LIVE, SNAPSHOTS, STOPPED, TRAINING, find_runs
from tests.browser.visitor import shaded, type_text, wait_for_rest
from tests.browser.workshop import (
    FILE,
    Workshop,
    alerts,
    choose,
    command,
    expect,
    fill,
    go_to,
    job,
    job_line,
    main,
    make_small,
    open_at,
    open_launcher,
    side,
    visiting,
    workshop,
)
from tests.conftest import make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

HEADINGS = {
    "Many texts": "Many texts",
    "Capsules": "What the capsules do",
    "Queries": "What the capsules look for",
    "Datasets": "Datasets",
    "Train": "Train",
    "Explain": "Why this class?",
}
GERMAN = {"Cooking": "Küche", "Gardens": "Gärten", "Sailing": "Häfen & Öl"}


@pytest.fixture(scope="module")
def shop(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    place = tmp_path_factory.mktemp("jobs in the browser")
    shutil.copytree(model_folder, place / "models" / "small")
    with workshop(place) as found:
        yield found


def german_file() -> bytes:
    """A table as a German Excel writes it, of columns with names of their own."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, delimiter=";")
    writer.writerow(("Überschrift", "Meldung", "Rubrik"))
    for text, label in zip(*make_texts(240, seed=4), strict=True):
        first, _, rest = text.partition(" ")
        writer.writerow((f"Über „{first}“", f'Größe;\n"{rest}"', GERMAN[label]))
    return file.getvalue().encode("cp1252")


def name_field(page: Page) -> Locator:
    return side(page).get_by_role("textbox", name="Name", exact=True)


def start(page: Page, name: str) -> None:
    form = open_launcher(page)
    fill(name_field(page), name)
    form.get_by_role("button", name="Start training").click()


def test_a_training_outlives_pages_windows_and_the_server(browser: Any, shop: Workshop) -> None:
    shop.forget("trial")
    with visiting(browser, shop) as (page,):
        open_at(page, "/", "Why this class?")
        form = open_launcher(page)
        expect(form.get_by_role("combobox", name="Data")).to_have_value("synthetic")
        make_small(page, form, epochs=7)
        go_to(page, "Explain", "Why this class?")
        start(page, "trial")
        job(page, "trial").wait_for()
        expect(name_field(page)).to_have_value("synthetic")  # the next one is another
        run = shop.wait("trial", lambda run: run.status.epoch >= 2 and run.has_model)
        with shop.holding(run):
            expect(job_line(page, "trial")).to_contain_text("epoch 2 of 7")
            for link, heading in HEADINGS.items():
                go_to(page, link, heading)
                expect(job(page, "trial")).to_be_visible()
                expect(name_field(page)).to_have_value("synthetic")  # the form stays open
            page.reload()
            expect(job(page, "trial")).to_be_visible()
    with visiting(browser, shop, server_goes=True) as (page,):
        open_at(page, "/many", "Many texts")
        expect(job(page, "trial")).to_be_visible()
        expect(side(page).get_by_role("link", name="Watch")).to_be_visible()
        expect(main(page).get_by_role("button", name=re.compile(r"^Explain \d"))).to_be_visible()
        expect(page.get_by_test_id("stSkeleton")).to_have_count(0)  # no part is still on its way
        shop.kill()
        # Nobody looks, and yet it goes on.
        run = shop.wait("trial", lambda run: run.status.epoch >= 3)
        assert run.status.state == TRAINING
        with shop.holding(run):
            shop.start()
            expect(page.get_by_test_id("stConnectionStatus")).to_have_count(0)
            # The window that was open finds the server again by itself.
            expect(job_line(page, "trial")).to_contain_text(re.compile("epoch [3-7] of 7"))


def test_a_training_is_explained_stopped_resumed_and_ends(browser: Any, shop: Workshop) -> None:
    with visiting(browser, shop) as (page,):
        run = shop.wait("trial", lambda run: run.has_model)
        with shop.holding(run):
            open_at(page, "/train?run=trial", "Train")
            main(page).get_by_role("link", name="Open in Explain").click()
            topics = re.compile("^(Food|Music|Science|Sports|Travel)$")
            expect(page.locator(".verdict")).to_have_text(topics)
            expect(side(page).get_by_role("combobox", name="Model")).to_have_value("trial")
            go_to(page, "Train", "Train")
            main(page).get_by_role("button", name="Stop", exact=True).click()
            expect(main(page).get_by_role("button", name="Stop at once")).to_be_visible()
            expect(job_line(page, "trial")).to_contain_text("stopping")
        run = shop.wait("trial", lambda run: run.status.state not in LIVE)
        assert run.status.state == STOPPED
        assert run.folder.resumable
        expect(page.get_by_test_id("stToast")).to_contain_text("stopped")
        expect(job(page, "trial")).to_have_count(0)
        expect(main(page).get_by_test_id("stProgress")).to_contain_text("stopped")
        page.reload()  # a toast of before is gone
        main(page).get_by_role("button", name="Resume").click()
        expect(job(page, "trial")).to_be_visible()
        go_to(page, "Explain", "Why this class?")
        run = shop.wait("trial", lambda run: run.status.state == DONE)
        epochs = [line["epoch"] for line in run.folder.records(SNAPSHOTS)]
        assert epochs == list(range(1, run.status.epoch + 1))  # none was lost
        expect(page.get_by_test_id("stToast")).to_contain_text("trial:")
        expect(page.get_by_test_id("stToast")).to_contain_text("done")
        expect(job(page, "trial")).to_have_count(0)
        choose(page, side(page).get_by_role("combobox", name="Model"), "trial")
        type_text(page, "The band played the song on a guitar.")
        expect(page.locator(".verdict")).to_have_text("Music")
        expect(shaded(page).locator("mark").first).to_be_visible()


def test_an_uploaded_table_is_trained_on_by_its_columns(browser: Any, shop: Workshop) -> None:
    shop.forget("Meldungen", "Meldungen 2")
    with visiting(browser, shop) as (page,):
        open_at(page, "/", "Why this class?")
        form = open_launcher(page)
        choose(page, form.get_by_role("combobox", name="Data"), "Upload a file")
        file = {**FILE, "name": "Meldungen.csv", "buffer": german_file()}
        form.locator("input[type=file]").set_input_files(file)
        expect(page.get_by_test_id("stAlert")).to_contain_text("Überschrift, Meldung, Rubrik")
        expect(form.get_by_role("button", name="Start training")).to_have_count(0)
        texts = form.get_by_role("combobox", name="Text columns")
        choose(page, texts, "Überschrift")  # the likeliest columns are there already
        expect(page.get_by_test_id("stAlert")).to_have_count(0)
        form.get_by_role("button", name="Start training").wait_for()
        wait_for_rest(page)
        expect(name_field(page)).to_have_value("Meldungen")
        form = make_small(page, form, epochs=6)
        watched = form.get_by_role("textbox", name="Text to watch").input_value()
        assert watched.startswith("Größe;")
        words = command(page, form, "region_dim=32")
        columns = ["--text", "Meldung", "--text", "Überschrift", "--label", "Rubrik"]
        assert words[6:12] == columns
        form.get_by_role("button", name="Start training").click()
        job(page, "Meldungen").wait_for()
        run = shop.wait("Meldungen", lambda run: run.status.state not in LIVE)
        assert run.status.state == DONE, run.folder.log_tail()
        assert (run.path / "classes.txt").read_text("utf-8").splitlines() == sorted(GERMAN.values())
        metrics = json.loads((run.path / "metrics.json").read_text())
        assert metrics["training_texts"] == 216  # no row is lost in its line ends
        expect(page.get_by_test_id("stToast")).to_contain_text("Meldungen:")
        go_to(page, "Explain", "Why this class?")
        choose(page, side(page).get_by_role("combobox", name="Model"), "Meldungen")
        side(page).get_by_role("button", name="3 classes").click()
        expect(page.locator(".facts")).to_contain_text("Gärten, Häfen & Öl, Küche")
        page.keyboard.press("Escape")
        type_text(page, 'Größe;\n"bake bread with butter"')
        expect(page.locator(".verdict")).to_have_text(re.compile("|".join(GERMAN.values())))
        assert page.locator(".verdict").inner_text() in GERMAN.values()
        go_to(page, "Train", "Train")
        main(page).get_by_role("button", name="Duplicate with changes").click()
        expect(form.get_by_role("textbox", name="Name", exact=True)).to_have_value("Meldungen 2")
        wait_for_rest(page)
        again = command(page, form, "region_dim=32")
        assert set(again) ^ set(words) == {str(run.path), f"{run.path} 2"}
        assert alerts(page) == []


def test_of_two_that_start_one_name_one_is_reported(browser: Any, shop: Workshop) -> None:
    shop.forget("twins", "later")
    with visiting(browser, shop, 2) as pages:
        for page in pages:
            open_at(page, "/many", "Many texts")
            open_launcher(page)
            expect(name_field(page)).to_have_value("synthetic")
            fill(name_field(page), "twins")
            wait_for_rest(page)
        for page in pages:
            button = side(page).get_by_role("button", name="Start training")
            button.evaluate("(button) => button.click()")  # waits for nothing
        run = shop.wait("twins", lambda run: bool(run.status.pid))
        with shop.holding(run):
            for page in pages:
                expect(
                    job(page, "twins")
                ).to_be_visible()  # also for the visitor who sees the message
            # Which of the two comes second is not known. It is refused the name, or sees in time
            # that the same training runs already, as the first one does.
            messages = [text for page in pages for text in alerts(page)]
            assert len(messages) <= 1
            assert all("There is a run named twins already" in message for message in messages)
            assert [run.name for run in find_runs(shop.runs)].count("twins") == 1
            assert "twins 2" not in [run.name for run in find_runs(shop.runs)]
            # Another one waits for its turn, and both are seen.
            fill(name_field(pages[0]), "later")
            again = re.compile("^Start (training|it once more)")
            side(pages[0]).get_by_role("button", name=again).click()
            expect(job_line(pages[0], "later")).to_contain_text("queued")
            expect(job(pages[0], "twins")).to_be_visible()
            pages[1].reload()
            expect(job_line(pages[1], "later")).to_contain_text("queued")
