"""C and the knock-out of a model of several labels per text: each predicted class is counted."""

import json
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import format_label_set
from icaps.errors import DataError
from icaps.inference import read_labelled
from icaps.interpret import controls, global_view
from icaps.interpret.ablation import KnockOut, smallest_set
from icaps.interpret.account import BatchAccount
from icaps.interpret.corpus import CorpusCounts, count_corpus, find_winners
from icaps.interpret.global_view import GlobalView, Origin
from icaps.interpret.routing_spread import main_classes, spread_of
from icaps.interpret.set_knock_out import SetKnockOut, micro_f1
from icaps.reports.global_report import GlobalReport
from tests.conftest import TOPICS
from tests.several_labels import NORMS, mixed_texts, with_thresholds

TEXTS = [*mixed_texts(), "zzz"]
CLASSES = tuple(sorted(TOPICS))


def topics(text: str) -> set[str]:
    words = set(text.lower().replace(".", "").split())
    return {name for name, of_topic in TOPICS.items() if words & set(of_topic.split())}


LABELLED = [(text, format_label_set(topics(text))) for text in TEXTS]


@pytest.fixture(scope="module")
def several(classifier: ICapsClassifier) -> ICapsClassifier:
    return with_thresholds(classifier, NORMS)


@pytest.fixture(scope="module")
def counts(several: ICapsClassifier) -> CorpusCounts:
    return count_corpus(several, LABELLED)


def reached(classifier: ICapsClassifier) -> np.ndarray:
    """(texts, J), by norms and thresholds in plain numpy."""
    return classifier.class_norms(TEXTS) >= np.array(NORMS)


LABELS = np.array([[name in topics(text) for name in CLASSES] for text in TEXTS])


def test_each_predicted_class_is_counted(several: ICapsClassifier, counts: CorpusCounts) -> None:
    """Every pair of a text and a predicted class, as if the text were explained for that class."""
    frequency, right = np.zeros((2, 3, 6), int)
    given = reached(several)
    for n, text in enumerate(TEXTS):
        for j in np.flatnonzero(given[n]).tolist():
            (explanation,) = several.explain(
                [text], target=CLASSES[j], top_capsules=1, top_kgrams=1, ranking="routing"
            )
            frequency[j, explanation.capsules[0].capsule] += 1
            right[j, explanation.capsules[0].capsule] += LABELS[n, j]
    tally = counts.tally
    assert tally.frequency.tolist() == frequency.tolist()
    assert tally.right.tolist() == right.tolist()
    sizes = given[:-1].sum(1)
    assert tally.predictions == sizes.sum()
    assert (tally.blank, tally.undecided) == (1, int((sizes == 0).sum()))
    assert tally.further == np.maximum(sizes - 1, 0).sum() > 0
    assert tally.texts == len(TEXTS) - 1
    assert controls.purity(tally.frequency) == frequency.max(0).sum() / frequency.sum()
    assert counts.routing.counts.sum((1, 2)).tolist() == (6 * given.sum(0)).tolist()
    shares = counts.shares.totals()
    scores = np.where(given, several.class_norms(TEXTS), 0).sum(0)
    np.testing.assert_allclose(shares.capsules.sum(1), scores, atol=1e-5)


def test_the_knock_out_is_that_of_the_classifier_without_each_capsule(
    several: ICapsClassifier, counts: CorpusCounts
) -> None:
    knock_out = counts.knock_out
    assert isinstance(knock_out, SetKnockOut)
    assert knock_out.labelled.tolist() == LABELS.sum(0).tolist()
    every = [reached(several), *(reached(several.without([i])) for i in range(6))]
    for row, given in enumerate(every):
        hits, both = (given & LABELS).sum(), given.sum() + LABELS.sum()
        assert knock_out.accuracy[row] == pytest.approx(2 * hits / both)
        assert knock_out.exact[row] == (given == LABELS).all(1).sum()
        expected = (given & LABELS).sum(0) / LABELS.sum(0)
        np.testing.assert_allclose(knock_out.recall()[row], expected)
    won = np.zeros((len(TEXTS), 6), bool)
    batches = read_labelled(several.network_, several.vocabulary_, CLASSES, LABELLED, True)
    for batch in batches:
        for n, j in zip(*np.nonzero(every[0]), strict=True):
            one = batch.take(np.array([n]))
            winners = find_winners(BatchAccount(several.network_, one), np.array([j]))
            won[n, winners.capsules[0]] = True
    own, other = knock_out.costs(np.zeros(0, int), np.zeros(0, int))
    for i in range(6):
        for cost, rows in ((own[i], won[:, i]), (other[i], ~won[:, i])):
            if rows.any():
                before, after = (
                    f1(given[rows], LABELS[rows]) for given in (every[0], every[1 + i])
                )
                assert cost == pytest.approx(before - after, nan_ok=True)
            else:
                assert np.isnan(cost)


def f1(given: np.ndarray, labels: np.ndarray) -> float:
    both = given.sum() + labels.sum()
    return 2 * (given & labels).sum() / both if both else float("nan")


def test_with_one_label_per_text_micro_f1_is_the_accuracy() -> None:
    labels, predicted = np.array([0, 1, 2, 2, 1]), np.array([0, 2, 2, 1, 1])
    given = np.eye(3, dtype=bool)[predicted]
    right = given & np.eye(3, dtype=bool)[labels]
    assert micro_f1(right.sum(), given.sum(), 5) == pytest.approx((labels == predicted).mean())


def test_parts_add_up_and_other_data_is_refused(
    several: ICapsClassifier, classifier: ICapsClassifier, counts: CorpusCounts
) -> None:
    parts = [count_corpus(several, some) for some in (LABELLED[:9], LABELLED[9:])]
    parts[0].merge(parts[1])
    for name, whole in counts.knock_out.matrices().items():
        assert parts[0].knock_out.matrices()[name].tolist() == whole.tolist()
    assert parts[0].tally.undecided == counts.tally.undecided
    assert parts[0].tally.further == counts.tally.further
    assert isinstance(count_corpus(classifier, [("bread", "Cooking")]).knock_out, KnockOut)
    with pytest.raises(DataError, match="several labels per text, and the model gives a text one"):
        count_corpus(classifier, LABELLED)
    alone = count_corpus(several, [("the a and we", "[]")])  # no text with a predicted class
    assert (alone.tally.predictions, alone.tally.undecided) == (0, 1)


def test_the_smallest_set_is_searched_by_micro_f1(
    several: ICapsClassifier, counts: CorpusCounts
) -> None:
    network = several.network_
    few = smallest_set(network.capsules, counts.sample, None, network.thresholds)
    assert few.of_all == pytest.approx(f1(reached(several), LABELS))  # the blank text has no label
    off = set(range(6)) - set(few.capsules)
    assert few.accuracy == pytest.approx(f1(reached(several.without(off)), LABELS), abs=1e-6)
    assert few.accuracy >= 0.99 * few.of_all


def test_routing_of_each_predicted_class(several: ICapsClassifier, counts: CorpusCounts) -> None:
    spread = spread_of(several.network_, several.vocabulary_, CLASSES, LABELLED)
    assert spread.counts.tolist() == counts.routing.counts.tolist()


def test_the_view_is_stored_and_reported(
    several: ICapsClassifier, counts: CorpusCounts, tmp_path: Path
) -> None:
    tally, network = counts.tally, several.network_
    few = smallest_set(network.capsules, counts.sample, None, network.thresholds)
    routing = counts.routing.of_classes(main_classes(tally.frequency, tally.routing))
    origin = Origin("texts", "test", {}, "content", "weights")
    view = GlobalView(
        origin, tally, counts.knock_out, few, counts.shares.totals(), routing=routing
    ).with_label_words(several.vocabulary_)
    (tmp_path / "view").mkdir()
    global_view._write(view, tmp_path / "view")
    facts = json.loads((tmp_path / "view" / "view.json").read_text())
    again = global_view._read(tmp_path / "view", facts, origin, (3, 6))
    assert again.knock_out.matrices().keys() == counts.knock_out.matrices().keys()
    assert again.tally.texts == tally.texts
    report = GlobalReport(several, again)
    assert report.facts["measure"] == "micro F1"
    assert report.facts["undecided"] == tally.undecided
    assert report.facts["accuracy"] == pytest.approx(counts.knock_out.accuracy[0])
    text = report.to_text()
    assert f"with {tally.predictions} predicted classes, {tally.undecided} without" in text
    assert "micro F1" in text
    page = " ".join(report.to_html().split())
    assert "A text with several predicted classes counts for each of them." in page
    assert "micro F1 lost when" in page
