"""The models that come with the app."""

import json
from pathlib import Path

import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.evaluate.scores import evaluate
from icaps.interpret import controls
from icaps.interpret.global_view import load_view
from icaps.train.text_hashes import load_hashes

FOLDER = Path(__file__).resolve().parents[1] / "checkpoints"
FACTS = {  # classes, training texts with those held out, test texts; what the card says of them
    "ag_news": (4, 46_927, 7_600, "46,927 of the 120,000"),
    "ag_news_paper": (4, 46_927, 7_600, "46,927 of the 120,000"),
    "newsgroups": (20, 2_737, 2_738, "2,737 texts"),
}
DATA = {"ag_news": "ag_news", "ag_news_paper": "ag_news", "newsgroups": "newsgroups_5k"}
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
    files = [file for file in (FOLDER / name).rglob("*") if file.is_file()]
    assert (
        sum(file.stat().st_size for file in files) <= 27_000_000
    )  # of which counts are up to 1.4 MB
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


@pytest.mark.parametrize("name", FACTS)
def test_its_capsules_are_counted(name: str, shipped: dict[str, ICapsClassifier]) -> None:
    classifier = shipped[name]
    view = load_view(FOLDER / name, len(classifier.classes_), 32)
    assert view is not None  # else it is of other weights
    tally, test = view.tally, classifier.metrics_["test"]
    assert view.origin.source == DATA[name]
    assert tally.texts + tally.blank == test["n"]
    assert view.knock_out.accuracy[0] == pytest.approx(test["accuracy"])
    confusion = view.knock_out.confusion[0]
    blank = confusion.sum(0) - tally.frequency.sum(1)
    assert (blank[0], blank[1:].any()) == (tally.blank, False)  # taken for the first class
    alive, pure = int(controls.alive(tally.frequency).sum()), controls.purity(tally.frequency)
    card = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    if name == "ag_news_paper":
        assert (alive, round(pure, 2)) == (4, 0.39)
    else:
        assert alive >= 20
        assert pure >= (0.95 if len(classifier.classes_) <= 16 else 0.9)
        assert f"{alive} of 32 win 1%" in card


@pytest.mark.shared_data
@pytest.mark.parametrize("name", FACTS)
def test_it_scores_what_its_card_says(
    name: str, shipped: dict[str, ICapsClassifier], shared_data: Path
) -> None:
    source = open_source(shared_data / "data" / DATA[name], "test")
    scores = evaluate(shipped[name], ((record.text, record.label) for record in source))
    written = json.loads((FOLDER / name / "metrics.json").read_text())["test"]
    assert abs(scores["accuracy"] - written["accuracy"]) <= 2 / scores["n"]  # ties in last digits


@pytest.mark.parametrize("name", FACTS)
def test_it_knows_its_training_texts(name: str) -> None:
    hashes = load_hashes(FOLDER / name)
    metrics = json.loads((FOLDER / name / "metrics.json").read_text(encoding="utf-8"))
    assert hashes is not None
    assert len(hashes.training) <= metrics["training_texts"]  # less those that occur twice
    assert len(hashes.training) > 0.99 * metrics["training_texts"]
    assert len(hashes.held_out) > 0.99 * metrics["validation_texts"]
