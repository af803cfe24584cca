"""The model that comes with the app."""

import json
from pathlib import Path

import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.metrics import evaluate

FOLDER = Path(__file__).resolve().parents[1] / "checkpoints" / "ag_news"


@pytest.fixture(scope="module")
def shipped() -> ICapsClassifier:
    return ICapsClassifier.load(FOLDER, device="cpu")


def test_it_is_small_and_says_what_it_is(shipped: ICapsClassifier) -> None:
    assert sum(file.stat().st_size for file in FOLDER.iterdir()) <= 25_000_000
    assert set(shipped.classes_) == {"World", "Sports", "Business", "Sci/Tech"}
    metrics, card = shipped.metrics_, (FOLDER / "README.md").read_text(encoding="utf-8")
    assert metrics["training_texts"] + metrics["validation_texts"] == 46_927
    assert (metrics["seed"], metrics["test"]["n"]) == (2, 7_600)
    assert "46,927 of the 120,000" in card
    assert f"{metrics['test']['accuracy']:.2%}" in card
    for values in metrics["test"]["per_class"].values():
        assert f"{values['f1']:.2%}" in card


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The goalkeeper saved a penalty as the home side won the cup final.", "Sports"),
        ("Shares slid after the bank cut its profit forecast for the quarter.", "Business"),
        ("Rebel troops shelled the border town as peace talks collapsed.", "World"),
        ("A new browser patch closes a hole that let worms infect computers.", "Sci/Tech"),
    ],
)
def test_it_knows_plain_cases(shipped: ICapsClassifier, text: str, expected: str) -> None:
    (explanation,) = shipped.explain([text])
    assert explanation.predicted == expected
    assert all(text[k.start : k.end] == k.text for k in explanation.kgrams)


@pytest.mark.shared_data
def test_it_scores_what_its_card_says(shipped: ICapsClassifier, shared_data: Path) -> None:
    source = open_source(shared_data / "data" / "ag_news", "test")
    scores = evaluate(shipped, ((record.text, record.label) for record in source))
    written = json.loads((FOLDER / "metrics.json").read_text())["test"]
    assert abs(scores["accuracy"] - written["accuracy"]) <= 2 / 7_600  # ties in the last digits
