"""A visitor's own texts, by clicks alone: upload, train, see, evaluate, compare, slice, retrain."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from icaps.runs.folder import DONE, Run
from tests.browser.geometry import measure
from tests.browser.visitor import wait_for_rest
from tests.browser.workshop import (
    Workshop,
    alerts,
    choose,
    expect,
    fill,
    main,
    new_window,
    open_launcher,
    side,
    watched,
    workshop,
)
from tests.conftest import make_texts

if TYPE_CHECKING:
    from playwright.sync_api import Page

NAME = "kitchen garden sea"
LONG_WAIT = 90_000  # milliseconds; only a failure takes as long


def upload() -> dict[str, Any]:
    """A file as people have it: other column names, an id, a semicolon."""
    texts, labels = make_texts(420, seed=33)
    labels[5] = "Sailing" if labels[5] != "Sailing" else "Gardens"
    out = io.StringIO()
    writer = csv.writer(out, delimiter=";")
    writer.writerow(["id", "Message", "Topic"])
    for n, (text, label) in enumerate(zip(texts, labels, strict=True)):
        writer.writerow([f"m{n:04}", text, label])
    return {"name": f"{NAME}.csv", "mimeType": "text/csv", "buffer": out.getvalue().encode()}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with workshop(tmp_path_factory.mktemp("own data")) as found:
        yield found


@pytest.fixture(scope="module")
def window(browser: Any, shop: Workshop) -> Iterator[Page]:
    with new_window(browser, shop) as page:
        yield page


@pytest.fixture
def page(window: Page) -> Iterator[Page]:
    with watched(window):
        yield window


@pytest.fixture(scope="module")
def trained(window: Page, shop: Workshop) -> Run:
    """The training that the visitor has started from the sidebar, at its end."""
    page = window
    page.goto("/")
    form = side(page).locator(".st-key-launcher")
    form.get_by_text("Train a model").click()
    choose(page, form.get_by_role("combobox", name="Data"), re.compile("Upload"))
    form.locator("input[type=file]").first.set_input_files(upload())
    form = open_launcher(page)
    fill(form.get_by_role("textbox", name="Name", exact=True), NAME)
    start = form.get_by_role("button", name="Start training")
    expect(start).to_be_in_viewport()  # without scrolling
    start.click()
    expect(side(page).get_by_role("progressbar")).to_be_visible()  # what was started is seen
    # Its process has a low priority, and the settings are those of users.
    return shop.wait(NAME, lambda run: run.status.state == DONE, seconds=300)


def next_step(page: Page, link: str, heading: str) -> None:
    """Takes a link of the card at the end of the training."""
    page.goto(f"/train?run={NAME}")
    main(page).locator(".st-key-next_steps").get_by_role("link", name=link).click()
    main(page).get_by_role("heading", level=1, name=heading).wait_for(timeout=LONG_WAIT)
    wait_for_rest(page)


def shown_model(page: Page) -> str:
    return side(page).get_by_role("combobox", name="Model").input_value()


def test_the_training_is_of_the_upload(trained: Run) -> None:
    metrics = json.loads((trained.path / "metrics.json").read_text())
    assert metrics["training_texts"] + metrics["validation_texts"] == 420
    assert set(metrics["training_classes"]) == {"Cooking", "Gardens", "Sailing"}
    assert (trained.path / "global_view").is_dir()  # its last step
    assert metrics["validation_accuracy"] > 0.8


def test_its_model_explains(trained: Run, page: Page) -> None:
    next_step(page, "Open in Explain", "Why this class?")
    box = page.get_by_label("Your text")
    expect(box).not_to_have_value("")  # an example of its own texts
    box.fill("Simmer the onion soup, then bake bread with butter.")
    expect(page.locator(".verdict")).to_have_text("Cooking")
    assert shown_model(page) == NAME
    assert not any(measure(page))


def test_its_capsules_are_counted(trained: Run, page: Page) -> None:
    next_step(page, "What its capsules do", "What the capsules do")
    expect(main(page).get_by_text("Capsules alive")).to_be_visible()
    assert "icaps interpret" not in main(page).inner_text()
    side(page).get_by_role("link", name="Queries").click()
    expect(main(page).get_by_text("Trustworthiness")).to_be_visible(timeout=LONG_WAIT)
    assert "icaps interpret" not in main(page).inner_text()


def test_it_is_evaluated_on_texts_that_it_did_not_see(trained: Run, page: Page) -> None:
    next_step(page, "Evaluate on", "Evaluate")
    button = main(page).get_by_role("button", name=re.compile(f"Evaluate {NAME}"))
    accuracy = main(page).get_by_test_id("stMetricValue").first
    expect(button.or_(accuracy).first).to_be_visible()
    if button.is_visible():
        button.click()
    expect(accuracy).to_be_visible(timeout=LONG_WAIT)
    held_out = json.loads((trained.path / "metrics.json").read_text())["validation_texts"]
    expect(main(page).get_by_text(f"Computed on {held_out} texts")).to_be_visible()
    assert "in this model's training" not in " ".join(alerts(page))


def test_a_score_on_its_training_texts_is_marked(trained: Run, page: Page) -> None:
    next_step(page, "Evaluate on", "Evaluate")
    choose(page, main(page).get_by_role("combobox", name="Split"), re.compile("^(train|all)"))
    button = main(page).get_by_role("button", name=re.compile(f"Evaluate {NAME}"))
    warning = main(page).get_by_text("in this model's training")
    expect(button.or_(warning).first).to_be_visible(timeout=LONG_WAIT)
    if not warning.is_visible():
        button.click()
    expect(warning).to_be_visible(timeout=LONG_WAIT)
    main(page).get_by_role("button", name=re.compile("held.out|held out")).click()
    expect(warning).to_have_count(0, timeout=LONG_WAIT)


def test_a_baseline_has_the_same_training_texts(trained: Run, page: Page, shop: Workshop) -> None:
    next_step(page, "Compare with a baseline", "Compare")
    main(page).get_by_text("Train a baseline for comparison", exact=True).click()
    main(page).get_by_role("button", name=re.compile("^Train")).last.click()
    (name,) = ("linear",) if shop.run("linear") else (f"linear {NAME}",)
    run = shop.wait(name, lambda run: run.status.state == DONE)
    metrics = json.loads((run.path / "metrics.json").read_text())
    own = json.loads((trained.path / "metrics.json").read_text())
    assert metrics["training_texts"] == own["training_texts"]


def test_an_error_slice_is_trained_again(trained: Run, page: Page, shop: Workshop) -> None:
    next_step(page, "Its texts in Datasets", "Datasets")
    explore = main(page).get_by_role("button", name="Explore these texts")
    rows = main(page).get_by_role("tab", name="Rows")
    expect(explore.or_(rows).first).to_be_visible(timeout=LONG_WAIT)
    if explore.is_visible():
        explore.click()
    rows.click(timeout=LONG_WAIT)
    choose(page, main(page).get_by_role("combobox", name="Classes"), "Sailing")
    main(page).get_by_role("button", name="Save as a slice").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    wait_for_rest(page)
    dialog.get_by_role("textbox", name="Name").fill("boats")
    dialog.get_by_role("button", name=re.compile("^Save")).click()
    expect(dialog).to_have_count(0)
    main(page).get_by_role("button", name="Train on it").first.click()
    form = main(page).locator(".st-key-training_form")
    expect(form.get_by_role("combobox", name="Data").first).to_have_value(re.compile("boats"))
