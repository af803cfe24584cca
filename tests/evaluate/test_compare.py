"""Several classifiers on the same texts, by numbers that are worked out by hand."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from icaps.baselines.base import LINEAR
from icaps.baselines.fit_baseline import fit_baseline
from icaps.baselines.storage import save_baseline
from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.catalog import DATASETS
from icaps.data.source import open_source
from icaps.errors import CheckpointError, DataError
from icaps.evaluate.compare import (
    TimedPredictions,
    agreement_table,
    disagreement_table,
    disagreements,
    predict_timed,
    score_table,
)
from icaps.evaluate.compare_report import num_weights
from icaps.evaluate.comparison_texts import ComparisonTexts, sample_texts
from icaps.evaluate.predictions import load_scorer
from icaps.evaluate.published import COLUMNS, KINDS, published
from icaps.evaluate.shared_reasons import in_common, jaccard, shared_reasons, word_weights
from icaps.explanation_parts import WordShare
from icaps.results import Explanation
from tests.conftest import make_texts
from tests.several_labels import NORMS, mixed_texts, with_thresholds

CLASSES = ("a", "b", "c")
LABELS = np.array([0, 0, 1, 1, 2, 2])


class Fixed:
    """Gives the classes of its list, in its own order of classes, in turn."""

    multilabel_, thresholds_ = False, None

    def __init__(self, classes: Sequence[str], said: Sequence[str], sure: float = 0.8) -> None:
        self.classes_ = np.array(list(classes), dtype=object)
        self._said, self._sure = said, sure

    def predict_proba(self, X: Sequence[str]) -> NDArray[np.float64]:
        rest = (1 - self._sure) / (len(self.classes_) - 1)
        rows = np.full((len(X), len(self.classes_)), rest)
        for row, text in zip(rows, X, strict=True):
            row[list(self.classes_).index(self._said[int(text)])] = self._sure
        return rows

    def predict(self, X: Sequence[str]) -> NDArray[Any]:
        return self.classes_[self.predict_proba(X).argmax(1)]


ASKED = ComparisonTexts(tuple(map(str, range(6))), LABELS, CLASSES)


def answers() -> list[TimedPredictions]:
    return [
        predict_timed("one", Fixed("abc", "aabbca"), ASKED),  # the last is wrong
        predict_timed("two", Fixed("cab", "abbbab", 0.6), ASKED),  # wrong: 1, 4, 5
    ]


def test_answers_are_in_the_order_of_the_texts_classes() -> None:
    one, two = answers()
    assert one.predicted.tolist() == [0, 0, 1, 1, 2, 0]
    assert two.predicted.tolist() == [0, 1, 1, 1, 0, 1]
    assert two.probabilities[0].tolist() == pytest.approx([0.6, 0.2, 0.2])
    assert two.correct.tolist() == [True, False, True, True, False, False]
    assert one.texts_per_second == len(LABELS) / one.seconds
    with pytest.raises(DataError, match="x has the classes a, b, and not a, b, c"):
        predict_timed("x", Fixed("ab", "ababab"), ASKED)


def test_scores() -> None:
    first, second = score_table(answers()).to_dict("records")
    assert first["accuracy"] == pytest.approx(5 / 6)
    assert second["accuracy"] == pytest.approx(3 / 6)
    assert first["low"] < 5 / 6 < first["high"]
    # Classes are 2, 2, 2 of 6, so that any predictions are right a third of the time by chance.
    assert first["chance"] == pytest.approx(1 / 3)
    assert first["log_loss"] == pytest.approx(-(5 * np.log(0.8) + np.log(0.1)) / 6)
    assert second["difference"] == pytest.approx(-2 / 6)
    assert (second["only_it"], second["only_first"]) == (0, 2)
    assert second["p_value"] == pytest.approx(0.5)  # 2 of 2 on one side: 2 * 0.5 ** 2
    assert np.isnan(first["p_value"])


def test_agreement_and_disagreement() -> None:
    (pair,) = agreement_table(answers()).to_dict("records")
    assert (pair["one"], pair["other"], pair["both_wrong"]) == ("one", "two", 0)
    assert pair["same"] == pytest.approx(3 / 6)
    # one says a, b, c 3, 2, 1 times; two 2, 4, 0 times.
    assert pair["chance"] == pytest.approx((3 * 2 + 2 * 4) / 36)
    numbers = disagreements(answers())
    assert numbers.tolist() == [1, 4, 5]
    rows = disagreement_table(ASKED, answers(), numbers[:2]).to_dict("records")
    assert rows[0] == {"number": 1, "class": "a", "text": "1", "one": "a 80%", "two": "b 60%"}
    assert disagreements(answers()[:1]).tolist() == []


def timed(name: str, probabilities: np.ndarray) -> TimedPredictions:
    with np.errstate(divide="ignore"):
        scores = np.log(probabilities)
    return TimedPredictions(CLASSES, LABELS[:3], scores, name=name, seconds=1)


def test_the_surest_disagreement_comes_first() -> None:
    one = timed("one", np.array([[0.9, 0.1, 0], [0.5, 0.3, 0.2]] * 2)[:3])
    two = timed("two", np.array([[0.2, 0.4, 0.4], [0, 0.9, 0.1]] * 2)[:3])
    # The least sure of the two are 0.4, 0.5 and 0.4.
    assert disagreements([one, two]).tolist() == [1, 0, 2]


def test_a_sample_of_texts() -> None:
    pairs = [(str(n), CLASSES[n % 3]) for n in range(40)]
    whole = sample_texts(pairs, CLASSES)
    assert whole.texts == tuple(str(n) for n in range(40))
    assert whole.labels.tolist() == [n % 3 for n in range(40)]
    part = sample_texts(pairs, CLASSES, 10)
    numbers = [int(text) for text in part.texts]
    assert numbers == sorted(set(numbers))
    assert part.labels.tolist() == [n % 3 for n in numbers]
    assert part.texts == sample_texts(pairs, CLASSES, 10).texts
    drawn = [sample_texts(pairs, CLASSES, 10, seed).texts for seed in range(200)]
    counts = np.array([sum(str(n) in texts for texts in drawn) for n in range(40)])
    assert 25 < counts.min() <= counts.max() < 80  # 50 expected, with a deviation of 6
    with pytest.raises(DataError, match="no texts"):
        sample_texts([], CLASSES)
    with pytest.raises(DataError, match="class 'z'"):
        sample_texts([("x", "z")], CLASSES)


def test_jaccard() -> None:
    one, other = frozenset({(0, 1), (2, 3), (4, 5)}), frozenset({(2, 3), (6, 7)})
    assert jaccard(one, other) == 1 / 4
    assert jaccard(one, one) == 1
    assert jaccard(frozenset(), frozenset()) == 1


def test_reasons_of_a_model_beside_its_own(classifier: ICapsClassifier) -> None:
    texts, _ = make_texts(30, seed=5)
    found = shared_reasons(classifier, classifier, ["zzzz", *texts])
    assert [shared.number for shared in found] == list(range(1, 31))  # the blank one is left out
    assert all(shared.overlap == 1 and shared.divergence == 0 for shared in found)
    assert [shared.common for shared in found] == pytest.approx([1] * 30)
    assert 0 < np.mean([shared.random_common for shared in found]) < 0.9
    assert 0 < np.mean([shared.random for shared in found]) < 1
    assert all(shared.one == shared.other for shared in found)


def test_reasons_beside_a_model_without_some_capsules(classifier: ICapsClassifier) -> None:
    texts, _ = make_texts(40, seed=6)
    other = classifier.without([0, 1])
    found = shared_reasons(classifier, other, texts)
    same = classifier.predict(texts) == other.predict(texts)
    assert sorted(shared.number for shared in found) == np.flatnonzero(same).tolist()
    common = [shared.common for shared in found]
    assert common == sorted(common)
    assert min(common) < 1
    assert min(shared.overlap for shared in found) < 1
    for shared in found:
        options = {"top_capsules": 2, "top_kgrams": 2}
        (one,) = classifier.explain([shared.text], **options)
        (two,) = other.explain([shared.text], **options)
        words = [
            {
                (word.start, word.end)
                for word in explanation.words
                if any(k.start <= word.start and word.end <= k.end for k in explanation.kgrams)
            }
            for explanation in (one, two)
        ]
        assert shared.overlap == len(words[0] & words[1]) / len(words[0] | words[1])
        assert shared.predicted == one.predicted
        sums = [sum(max(w.share, 0) for w in explanation.words) for explanation in (one, two)]
        parts = [
            min(max(a.share, 0) / sums[0], max(b.share, 0) / sums[1])
            for a, b in zip(one.words, two.words, strict=True)
        ]
        assert shared.common == pytest.approx(sum(parts), abs=1e-6)
        assert shared.one == tuple(kgram.text for kgram in one.kgrams)


def test_reasons_for_each_class_that_both_predict(classifier: ICapsClassifier) -> None:
    one = with_thresholds(classifier, NORMS)
    other = with_thresholds(classifier, (0.2, 0.2, 0.2)).without([0])
    texts = mixed_texts()
    found = shared_reasons(one, other, texts)
    predicted = zip(one.predict_labels(texts), other.predict_labels(texts), strict=True)
    pairs = {(n, name) for n, (a, b) in enumerate(predicted) for name in {*a} & {*b}}
    assert {(shared.number, shared.predicted) for shared in found} == pairs
    assert len(found) == len(pairs) > len({number for number, _ in pairs})  # some of two classes
    for shared in found:
        options = {"target": shared.predicted, "top_capsules": 2, "top_kgrams": 2}
        first, second = (next(model.explain([shared.text], **options)) for model in (one, other))
        assert shared.text == texts[shared.number]
        assert shared.common == pytest.approx(in_common(*word_weights(first, second)))
        assert shared.other == tuple(kgram.text for kgram in second.kgrams)
    common = [round(shared.common, 9) for shared in found]
    assert common == sorted(common)


def test_what_shares_have_in_common(classifier: ICapsClassifier) -> None:
    (some,) = classifier.explain(["bread and soup"])

    def explained(*shares: float) -> Explanation:
        words = tuple(WordShare(2 * n, 2 * n + 1, 0, share) for n, share in enumerate(shares))
        return dataclasses.replace(some, words=words)

    def common(first: Explanation, second: Explanation) -> float:
        return in_common(*word_weights(first, second))

    first = explained(0.1, -0.5, 0.3, 0.0)  # weights 1/4, 0, 3/4, 0
    assert common(first, explained(0.2, 0.0, 0.6, -1.0)) == pytest.approx(1)  # of another scale
    assert common(first, explained(0.3, 0.0, 0.1, 0.0)) == pytest.approx(0.25 + 0.25)
    assert common(first, explained(0.1, 0.1, 0.1, 0.1)) == pytest.approx(0.25 + 0.25)
    assert common(first, explained(-0.1, 0.4, 0.0, 0.4)) == 0
    assert common(first, explained(-1, -1, -1, -1)) == 0
    assert common(explained(-1, 0), explained(1, 1)) == 0
    # The second read less: what it did not read counts for the first alone, and the other way.
    assert common(first, explained(0.5)) == pytest.approx(0.25)
    assert common(explained(0.5), first) == pytest.approx(0.25)
    # Other words, although as many.
    moved = dataclasses.replace(
        first, words=tuple(w._replace(start=w.start + 1, end=w.end + 1) for w in first.words)
    )
    assert common(first, moved) == 0


def test_published_numbers() -> None:
    rows = {row.model: row for row in published()}
    assert set(COLUMNS) == set(DATASETS)
    assert {row.kind for row in rows.values()} <= set(KINDS)
    paper = [row for row in rows.values() if row.kind == "paper"]
    assert len(paper) == 11
    assert rows["iCapsNets-Short"].accuracy["ag_news"] == 93.0
    assert rows["iCapsNets-Long"].accuracy["yahoo_answers"] == 74.5
    assert rows["CapsNets"].accuracy == {"ag_news": 92.6}
    assert "amazon_full" not in rows["D-LSTM"].accuracy
    for name in COLUMNS:  # what the table leaves out is better, which is why it is named
        best = max(row.accuracy.get(name, 0) for row in paper)
        assert max(rows["DPCNN"].accuracy[name], rows["DRNN"].accuracy[name]) > best
    assert all(50 < value < 100 for row in rows.values() for value in row.accuracy.values())


@pytest.fixture(scope="module")
def baseline_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("baselines") / "linear"
    save_baseline(fit_baseline(LINEAR, open_source(make_texts(240, seed=2))), folder)
    return folder


def test_any_folder_is_loaded(model_folder: Path, baseline_folder: Path, tmp_path: Path) -> None:
    network, linear = load_scorer(model_folder), load_scorer(baseline_folder)
    assert isinstance(network, ICapsClassifier)
    assert num_weights(network) > 1_000
    assert num_weights(linear) > 1_000
    with pytest.raises(CheckpointError, match="missing"):
        load_scorer(tmp_path)


def compare(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["compare", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_the_command(
    model_folder: Path,
    baseline_folder: Path,
    data_file: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    both = ["--model", model_folder, "--model", baseline_folder, "--data", data_file]
    found = json.loads(compare(capsys, *both, "--json"))
    assert found["texts"] == 120
    assert [row["model"] for row in found["scores"]] == [str(model_folder), str(baseline_folder)]
    assert found["scores"][0]["accuracy"] > 0.9
    assert found["scores"][0]["p_value"] is None
    assert 0 <= found["scores"][1]["p_value"] <= 1
    assert found["sizes"][1]["texts_per_second"] > 0
    assert "reasons" not in found  # of one capsule network
    assert "published" not in found
    text = compare(capsys, *both, "--limit", 50)
    assert text.startswith(f"50 texts; differences are from {model_folder}\n")
    assert "McNemar p" in text


def test_the_command_with_two_networks(
    model_folder: Path, interpreted: Path, data_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    both = ["--model", model_folder, "--model", interpreted, "--data", data_file]
    found = json.loads(compare(capsys, *both, "--json", "--reasons", 20, "--show", 3))
    assert found["disagreeing"] == 0
    assert found["reasons"]["overlap"] == 1
    assert found["reasons"]["random"] < 1
    assert found["reasons"]["common"] == pytest.approx(1)
    assert found["reasons"]["random_common"] < 1
    assert found["reasons"]["texts"][0].keys() >= {"common", "random_common", "overlap", "random"}
    assert len(found["reasons"]["texts"]) == 3
    lines = compare(capsys, *both)
    assert "share 100.0% of the words of their K-grams" in lines
    assert "have 100.0% of what words add to the score in common (shuffled " in lines


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "two or more different models"),
        (["--model", "{model}"], "two or more different models"),
        (["--model", "{linear}", "--limit", "-1"], "--limit is -1"),
        (["--model", "nowhere"], "no checkpoint folder nowhere"),
    ],
)
def test_mistakes_are_told(
    model_folder: Path,
    baseline_folder: Path,
    data_file: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    told: str,
) -> None:
    places = {"model": str(model_folder), "linear": str(baseline_folder)}
    given = [argument.format(**places) for argument in arguments]
    command = ["compare", "--model", str(model_folder), *given, "--data", str(data_file)]
    assert main(command) == 2
    assert told in capsys.readouterr().err
