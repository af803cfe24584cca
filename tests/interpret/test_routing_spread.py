"""Histograms of routing weights, and the texts of high, middle and low routing."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.source import open_source
from icaps.inference import read_labelled, to_classes
from icaps.interpret.corpus import count_corpus
from icaps.interpret.global_view import (
    FOLDER,
    DataReference,
    load_view,
    make_view,
    read_counted_texts,
    save_view,
)
from icaps.interpret.routing_spread import (
    BINS,
    EDGES,
    EXCERPT,
    LEVELS,
    RoutedText,
    RoutingSpread,
    excerpt,
    main_classes,
    read_excerpts,
    thirds,
)

SHAPE = 3, 6
TEXTS = "texts.json"


def one_capsule(weights: list[float], first: int = 0) -> RoutingSpread:
    """Texts of class 0 of two, with these routing weights of the only capsule."""
    spread = RoutingSpread.empty(2, 1)
    numbers = np.arange(first, first + len(weights))
    spread.add(np.zeros(len(weights), np.int64), np.array(weights)[:, None], numbers)
    return spread


def test_each_weight_is_in_its_bin() -> None:
    """Bin n is from (n / 50)^2 on: 0.25 = (25 / 50)^2."""
    spread = one_capsule([0.0, 0.0004, 0.25, 0.2499, 1.0])
    expected = {0: 1, 1: 1, 25: 1, 24: 1, BINS - 1: 1}
    assert dict(enumerate(spread.counts[0, 0].tolist())).items() >= expected.items()
    assert spread.counts.sum() == 5
    assert not spread.counts[1].any()
    assert spread.texts[0, 0, 25] == [RoutedText(2, 0.25)]


def test_the_histogram_is_that_of_the_texts(classifier: ICapsClassifier, data_file: Path) -> None:
    labelled = [(row.text, row.label) for row in open_source(data_file, "test")]
    spread = count_corpus(classifier, labelled).routing
    classes = [str(name) for name in classifier.classes_]
    (batch,) = read_labelled(classifier.network_, classifier.vocabulary_, classes, labelled)
    predicted = batch.activity.class_norms.numpy().argmax(1)
    routing, _ = to_classes(batch.activity, np.arange(len(batch)), predicted)
    for j in range(3):
        for i in range(6):
            expected, _ = np.histogram(routing[predicted == j, i], EDGES)
            assert spread.counts[j, i].tolist() == expected.tolist()
    for (j, i, n), texts in spread.texts.items():
        for text in texts:
            assert predicted[text.number] == j
            assert routing[text.number, i] == pytest.approx(text.routing, abs=1e-4)
            assert EDGES[n] <= routing[text.number, i] <= EDGES[n + 1]


def test_merged_parts_are_the_whole() -> None:
    weights = np.random.default_rng(0).random(40).tolist()
    whole, part = one_capsule(weights), one_capsule(weights[25:], 25)
    part.merge(one_capsule(weights[:25]))
    assert part.counts.tolist() == whole.counts.tolist()
    assert part.texts == whole.texts
    for one, n in ((one_capsule(weights[:1]), 1), (one_capsule(weights[:25]), 25)):
        rest = weights[n:]
        one.add(np.zeros(len(rest), np.int64), np.array(rest)[:, None], np.arange(n, 40))
        assert one.texts == whole.texts


@pytest.mark.parametrize(
    ("occupied", "expected"),
    [
        ([], ((0, 0), (0, 0), (0, 0))),
        ([7], ((8, 8), (7, 8), (7, 7))),
        ([7, 8], ((8, 9), (8, 8), (7, 8))),
        ([10, 19], ((17, 20), (13, 17), (10, 13))),
    ],
)
def test_thirds_of_the_range(occupied: list[int], expected: tuple[tuple[int, int], ...]) -> None:
    counts = np.zeros(BINS, np.int64)
    counts[occupied] = 2
    found = thirds(counts)
    assert list(found) == list(LEVELS)
    assert [(bins.start, bins.stop) for bins in found.values()] == list(expected)


def test_texts_of_the_levels() -> None:
    """Ten bins from 10 to 19, one text each; high are 17 to 19, low 10 to 12."""
    middles = ((np.arange(10, 20) + 0.5) / BINS) ** 2
    levels = one_capsule(middles.tolist()).levels(0, 0)
    numbers = {level: [text.number for text in texts] for level, texts in levels.items()}
    assert numbers == {"high": [9, 8, 7], "middle": [5, 4, 3], "low": [2, 1, 0]}


def test_the_class_of_a_capsule_that_never_wins_is_that_of_its_routing() -> None:
    frequency = np.array([[0, 0, 4], [0, 1, 5]])
    routing = np.array([[1.0, 9, 9], [2, 1, 1]])
    assert main_classes(frequency, routing).tolist() == [1, 1, 1]


def test_excerpts_are_short_and_have_what_is_attended_to() -> None:
    words = [f"word{n:03}" for n in range(200)]
    text = " ".join(words)
    assert excerpt("short", 3) == "short"
    for n in (0, 1, 30, 100, 198, 199):
        cut = excerpt(text, n * 8)
        assert len(cut) <= EXCERPT
        assert words[n] in cut
        assert set(cut.split()) <= {*words, "…"}
        assert (cut.startswith("…"), cut.endswith("…")) == (n > 20, n < 180)
    assert len(excerpt("x" * 1_000, 500)) <= EXCERPT


def test_excerpts_are_around_the_attended_word(classifier: ICapsClassifier) -> None:
    long = "the and " * 10 + "soup bread " + "and the " * 10
    ((explanation,),) = [classifier.explain([long], top_capsules=6, ranking="routing")]
    reason = next(one for one in explanation.capsules if one.capsule == 2)
    attended = explanation.words[int(np.argmax(reason.attention))]
    labelled = [("soup", "Cooking"), (long, "Cooking"), ("rose", "Gardens")]
    found = read_excerpts(
        classifier.network_, classifier.vocabulary_, labelled, {2: [1, 0], 4: [2, 7]}
    )
    assert found.keys() == {(2, 1), (2, 0), (4, 2)}
    assert found[4, 2] == ("rose", "Gardens")
    assert found[2, 1].text == excerpt(long, attended.start)


@pytest.fixture
def folder(interpreted: Path, tmp_path: Path) -> Path:
    shutil.copytree(interpreted, tmp_path / "model")
    return tmp_path / "model"


def test_the_view_has_texts_of_each_capsule(folder: Path, data_file: Path) -> None:
    view = load_view(folder, *SHAPE)
    assert view is not None
    assert view.routing is not None
    assert view.routing.counts.sum((1, 2)).tolist() == (6 * view.tally.frequency.sum(1)).tolist()
    texts = read_counted_texts(view.origin, range(120))
    served = main_classes(view.tally.frequency, view.tally.routing)
    assert any(view.routing.numbers.values())
    for capsule, levels in enumerate(view.routing.levels):
        assert levels.keys() == set(LEVELS)
        for some in levels.values():
            assert len(some) <= 3
            for text in some:
                stored = view.routing.excerpts[capsule, text.number]
                assert stored == (texts[text.number].text, texts[text.number].label)
        if view.tally.frequency[:, capsule].any():
            high, low = levels["high"], levels["low"]
            assert min(text.routing for text in high) > max(text.routing for text in low)
    assert served.max() < 3


def test_texts_are_stored_unless_they_are_not_wanted(
    folder: Path, data_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data_file.parent)
    command = ["interpret", "--model", str(folder), "--data", "texts.csv"]
    path = folder / FOLDER / TEXTS
    before = path.read_bytes()
    assert main([*command, "--no-texts"]) == 0
    assert not path.exists()
    view = load_view(folder, *SHAPE)
    assert view is not None
    assert view.complete
    assert not view.has_texts
    assert main(command) == 0
    assert path.read_bytes() == before


def test_texts_of_a_data_set_with_a_name_are_not_stored(
    folder: Path, classifier: ICapsClassifier, data_file: Path
) -> None:
    """They can be read again where they are."""
    shutil.rmtree(folder / FOLDER)
    data = DataReference("ag_news", "test", {})
    save_view(make_view(classifier, folder, data, open_source(data_file, "test")), folder)
    assert not (folder / FOLDER / TEXTS).exists()
    view = load_view(folder, *SHAPE)
    assert view is not None
    assert view.complete


def test_an_older_view_loads_without_histograms(folder: Path, data_file: Path) -> None:
    path = folder / FOLDER / "view.json"
    facts = json.loads(path.read_text())
    del facts["levels"]
    path.write_text(json.dumps(facts))
    view = load_view(folder, *SHAPE)
    assert view is not None
    assert view.routing is None
    assert not view.complete
    save_view(view, folder)
    assert main(["interpret", "--model", str(folder), "--data", str(data_file)]) == 0
    again = load_view(folder, *SHAPE)
    assert again is not None
    assert again.complete
