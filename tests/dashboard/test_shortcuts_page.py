"""The page Shortcuts, with a model that relies on a planted token."""

import csv
import random
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import error_boundary, selection
from dashboard.cache import at_once, evaluations
from dashboard.cache.data import key_of
from dashboard.cache.evaluations import Sample
from dashboard.model_registry import find_models
from dashboard.quotas import NotAllowedError
from dashboard.shortcuts import view
from dashboard.shortcuts.predictions import predict_without
from dashboard.url_state import BY_KGRAMS
from dashboard.widgets.data_picker import Choice
from icaps.classifier import ICapsClassifier
from icaps.data.saved_slices import slices
from icaps.data.source import open_source
from icaps.shortcuts.find import STRONGEST
from tests.conftest import MODEL, TRAIN, make_texts
from tests.dashboard.run_folders import open_page, run
from tests.dashboard.visitor import page_html, shown_text

TOKEN = "zqx"


def planted(count: int, seed: int) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    return [
        (f"{TOKEN} {text}" if label == "Gardens" and rng.random() < 0.9 else text, label)
        for text, label in zip(*make_texts(count, seed), strict=True)
    ]


@pytest.fixture(scope="module")
def misled() -> ICapsClassifier:
    return ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*zip(*planted(360, 1), strict=True))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.fixture
def data(misled: ICapsClassifier, models: Path, tmp_path: Path) -> Path:
    misled.save(models / "misled")
    path = tmp_path / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *planted(150, 7)])
    return path


def opened(data: Path, model: str = "misled", **address: str) -> AppTest:
    return open_page("shortcuts", data=str(data), model=model, **address)


def press(at: AppTest, label: str) -> AppTest:
    next(button for button in at.button if button.label.startswith(label)).click()
    return run(at)


def test_a_planted_token_is_found_and_its_texts_are_shown(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(at_once, "TEXTS", 0)
    at = opened(data)
    assert not [found for found in at.selectbox if found.key == "finding"]
    at = press(at, "Look for shortcuts of misled")
    table = at.dataframe[0].value
    assert table.loc[0, ["finding", "class"]].tolist() == [TOKEN, "Gardens"]
    total, texts = table.loc[0, "share"], round(table.loc[0, "tied"] * table.loc[0, "texts"])
    assert table.loc[0, "share per text"] == pytest.approx(total / texts)
    told = f"It adds {total / texts:+.2f} to the score of Gardens per text, {total:+.2f} in the "
    told += f"{texts} texts that get the class: {table.loc[0, 'tied']:.1%} of the texts with it."
    assert error_boundary.plain(told) in [markdown.value for markdown in at.markdown]
    assert at.selectbox(key="finding").value == f"{TOKEN} (Gardens)"
    assert at.query_params["finding"] == f"{TOKEN} (Gardens)"
    assert at.query_params["looked_at"] == "2,000"
    labels = {metric.label for metric in at.metric}
    assert labels >= {"Flips masked (unknown)", "Flips masked (deleted)", "Flips added to others"}
    assert TOKEN in shown_text(at)
    assert any("without it" in caption.value for caption in at.caption)
    assert page_html(at).count("icaps-account") == view.PAGE
    at.segmented_control(key="shaded").set_value(BY_KGRAMS)
    assert page_html(run(at)).count("K-grams covering the word") == 1
    again = opened(data, finding=f"{TOKEN} (Gardens)")  # the link, on the same server
    assert again.selectbox(key="finding").value == f"{TOKEN} (Gardens)"


def test_a_clean_model_has_none_and_its_strongest_words_are_shown(data: Path) -> None:
    at = opened(data, "small")  # few texts, so without a button
    assert "No shortcut was found" in at.success[0].value
    table = at.dataframe[0].value
    assert 5 < len(table) <= STRONGEST
    assert (table["share"] > 0).all()
    first = table.loc[0, "finding"]
    assert at.selectbox(key="finding").value == f"{first} ({table.loc[0, 'class']})"
    assert first in shown_text(at)
    assert {"Flips masked (unknown)", "Flips added to others"} <= {m.label for m in at.metric}


def test_its_texts_are_saved_as_a_slice(data: Path) -> None:
    at = opened(data)
    at.button(key="finding slice").click()
    run(at).text_input(key="slice name").set_value("tagged")
    at.button(key="save slice").click()
    at = run(at)
    (kept,) = slices()
    texts = [record.text for record in open_source(kept.path)]
    assert (kept.name, kept.rows) == ("tagged", len(texts))
    assert all(text.startswith(TOKEN) for text in texts)
    assert any("as the slice tagged" in line.value for line in at.markdown)


def test_nothing_is_saved_in_read_only_mode(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.toml").write_text(f'read_only = true\ndata_roots = ["{tmp_path}"]\n')
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "settings.toml"))
    at = opened(data)
    assert not [button for button in at.button if button.label.startswith("Save ")]
    model = next(model for model in find_models() if model.name == "misled")
    kept = evaluations.find_model_shortcuts(
        Sample(key_of(str(data), {}), "test", 150), model, lambda *_: None
    )
    choice = Choice(key_of(str(data), {}), None)
    chosen = view.selected(choice, "test", kept, kept.findings[0])
    with pytest.raises(NotAllowedError, match="no slice can be saved"):
        selection.save_slice(chosen, "tagged")
    assert not slices()


def test_predictions_with_and_without_the_token(data: Path, misled: ICapsClassifier) -> None:
    model = next(model for model in find_models() if model.name == "misled")
    kept = evaluations.find_model_shortcuts(
        Sample(key_of(str(data), {}), "test", 150), model, lambda *_: None
    )
    finding = kept.findings[0]
    table = predict_without(misled, kept.texts, finding)
    texts = [kept.labelled[row][0] for row in finding.rows]
    assert table["with"].tolist() == misled.predict(texts).tolist()
    expected = misled.predict_proba(texts).max(1)
    assert table["probability with"].to_numpy() == pytest.approx(expected, abs=1e-5)
    unknown = [text.replace(TOKEN, "qqqq") for text in texts]
    assert table["without"].tolist() == misled.predict(unknown).tolist()
    flips = misled.predict(texts) != misled.predict(unknown)
    assert np.array_equal(table["flips"], flips)
