"""The models that come with the app."""

import json
from pathlib import Path

import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.metrics import evaluate

FOLDER = Path(__file__).resolve().parents[1] / "checkpoints"
FACTS = {  # classes, training texts with those held out, test texts; what the card says of them
    "ag_news": (4, 46_927, 7_600, "46,927 of the 120,000"),
    "newsgroups": (20, 2_737, 2_738, "2,737 texts"),
}
DATA = {"ag_news": "ag_news", "newsgroups": "newsgroups_5k"}
PLAIN = [
    ("ag_news", "Sports", "The goalkeeper saved a penalty as the home side won the cup final."),
    ("ag_news", "Business", "Shares slid after the bank cut its profit forecast for the quarter."),
    ("ag_news", "World", "Rebel troops shelled the border town as peace talks collapsed."),
    ("ag_news", "Sci/Tech", "A new browser patch closes a hole that let worms infect computers."),
    (
        "newsgroups",
        "rec.sport.hockey",
        "The goalie stopped every shot. Our team made the playoff.",
    ),
    ("newsgroups", "sci.space", "The shuttle reached its orbit. NASA plans a lunar mission next."),
    ("newsgroups", "rec.motorcycles", "I rode my bike all day. Wear a helmet on a motorcycle!"),
]


@pytest.fixture(scope="module")
def shipped() -> dict[str, ICapsClassifier]:
    return {name: ICapsClassifier.load(FOLDER / name, device="cpu") for name in FACTS}


def test_no_other_model_ships() -> None:
    assert {folder.name for folder in FOLDER.iterdir() if folder.is_dir()} == set(FACTS)


@pytest.mark.parametrize("name", FACTS)
def test_it_is_small_and_says_what_it_is(name: str, shipped: dict[str, ICapsClassifier]) -> None:
    classes, training, test, words = FACTS[name]
    assert sum(file.stat().st_size for file in (FOLDER / name).iterdir()) <= 25_000_000
    assert len(shipped[name].classes_) == classes
    metrics = shipped[name].metrics_
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    assert metrics["training_texts"] + metrics["validation_texts"] == training
    assert metrics["test"]["n"] == test
    assert words in card
    assert f"| seed | {metrics['seed']} |" in card
    assert f"| accuracy | {metrics['test']['accuracy']:.2%} |" in card
    assert f"| macro F1 | {metrics['test']['macro_f1']:.2%} |" in card
    for values in metrics["test"]["per_class"].values():
        assert f"{values['f1']:.2%}" in card


@pytest.mark.parametrize(("name", "expected", "text"), PLAIN)
def test_it_knows_plain_cases(
    name: str, expected: str, text: str, shipped: dict[str, ICapsClassifier]
) -> None:
    (explanation,) = shipped[name].explain([text])
    assert explanation.predicted == expected
    assert all(text[k.start : k.end] == k.text for k in explanation.kgrams)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", FACTS)
def test_it_scores_what_its_card_says(
    name: str, shipped: dict[str, ICapsClassifier], shared_data: Path
) -> None:
    source = open_source(shared_data / "data" / DATA[name], "test")
    scores = evaluate(shipped[name], ((record.text, record.label) for record in source))
    written = json.loads((FOLDER / name / "metrics.json").read_text())["test"]
    assert abs(scores["accuracy"] - written["accuracy"]) <= 2 / scores["n"]  # ties in last digits
