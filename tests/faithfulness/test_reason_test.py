"""Tests of one text's explanation, against plain loops and brute force."""

import dataclasses
import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.errors import ConfigError
from icaps.faithfulness.reason_results import ReasonTest, flip_sentence
from icaps.faithfulness.reason_test import (
    ACTIONS,
    DELETE,
    KEEP,
    MASK,
    flipping_set,
    scores_after,
    try_reasons,
    words_under,
)
from icaps.results import Explanation, Interval
from icaps.text.sentences import encode
from tests.conftest import make_texts
from tests.faithfulness.test_perturbation import left, plain_norms
from tests.interpret.test_corpus import hand_set, texts, untrained

REMOVALS = ("deletion", "unk")


def some(count: int, **options: object) -> tuple[ICapsClassifier, list[Explanation]]:
    classifier = untrained(**options)
    classifier.network_.double()
    given = [text for text, _ in texts(count, seed=6)]
    return classifier, list(classifier.explain(given, top_capsules=2, top_kgrams=1))


def norms(
    classifier: ICapsClassifier, explanation: Explanation, kept: np.ndarray, removal: str
) -> list[float]:
    config = classifier.network_.config
    (encoded,) = encode(classifier.vocabulary_, [explanation.text], config)
    return plain_norms(classifier, left(encoded, kept, removal), classifier.muted_)


def shaded(explanation: Explanation) -> np.ndarray:
    return np.array([word.count > 0 for word in explanation.words])


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}])
def test_the_reason_by_plain_loops(options: dict[str, object], removal: str) -> None:
    classifier, explanations = some(8, **options)
    trials = try_reasons(classifier, explanations, removal, draws=10)
    for explanation, trial in zip(explanations, trials, strict=True):
        assert trial is not None
        target, reason = explanation.classes.index(explanation.target), shaded(explanation)
        assert (trial.words, trial.shaded) == (len(reason), reason.sum())
        whole = norms(classifier, explanation, reason | True, removal)[target]
        without = norms(classifier, explanation, ~reason, removal)[target]
        alone = norms(classifier, explanation, reason, removal)[target]
        assert (trial.whole, trial.without, trial.alone) == pytest.approx(
            (whole, without, alone), abs=1e-6
        )
        assert trial.comprehensiveness == pytest.approx(whole - without, abs=1e-6)
        assert trial.sufficiency == pytest.approx(whole - alone, abs=1e-6)


@pytest.mark.parametrize("removal", REMOVALS)
def test_chance_is_every_place_of_as_many_words(removal: str) -> None:
    classifier, explanations = some(12)
    tested = 0
    for explanation in explanations:
        reason = shaded(explanation)
        ends = np.diff(np.pad(reason.astype(int), 1))
        if (ends > 0).sum() != 1 or len(reason) < 4:  # a single run, whose places are few
            continue
        tested += 1
        size, target = int(reason.sum()), explanation.classes.index(explanation.target)
        places = []
        for start in range(len(reason) - size + 1):
            words = np.isin(np.arange(len(reason)), range(start, start + size))
            places.append(norms(classifier, explanation, ~words, removal)[target])
        (trial,) = try_reasons(classifier, [explanation], removal, draws=500)
        assert trial is not None
        assert trial.random_without.value == pytest.approx(np.mean(places), abs=0.03)
        assert min(places) - 1e-6 <= trial.random_without.low
        assert trial.random_without.high <= max(places) + 1e-6
        far = np.mean(np.array(places) <= trial.without + 1e-9)
        assert trial.as_far / trial.draws == pytest.approx(far, abs=0.08)
        assert not trial.testable  # each of so few places is drawn often
    assert tested > 2


def test_a_text_is_tried_alike_alone_and_among_others() -> None:
    classifier, explanations = some(6)
    blank = next(classifier.explain(["quillmarsh"]))
    together = list(try_reasons(classifier, [*explanations[:3], blank, *explanations[3:]]))
    assert together[3] is None
    for explanation, trial in zip(explanations, together[:3] + together[4:], strict=True):
        (alone,) = try_reasons(classifier, [explanation])
        assert alone is not None
        assert trial is not None
        assert alone.without == pytest.approx(trial.without)
        assert alone.random_alone == pytest.approx(trial.random_alone)
    (other,) = try_reasons(classifier, explanations[:1], seed=1)
    assert other != together[0]


def test_where_one_word_decides_the_verdict_is_that_it_does() -> None:
    """Only "rose" has an embedding that speaks for the garden, and capsule 1 alone reads it."""
    classifier = hand_set().without([0])
    text = " ".join(["the"] * 50 + ["rose"] + ["the"] * 50)
    (explanation,) = classifier.explain([text], top_capsules=1, top_kgrams=1)
    assert [kgram.text for kgram in explanation.kgrams] == ["rose"]
    (good,) = try_reasons(classifier, [explanation])
    assert good is not None
    assert good.without == pytest.approx(0, abs=1e-5)
    assert (good.testable, good.decides, good.suffices) == (True, True, True)
    assert good.to_sentences()[0].startswith("The shaded words matter more than random words, and")
    # A word of nothing is no better than chance.
    words = tuple(word._replace(count=int(n == 3)) for n, word in enumerate(explanation.words))
    (bad,) = try_reasons(classifier, [dataclasses.replace(explanation, words=words)])
    assert bad is not None
    assert (bad.testable, bad.decides, bad.suffices) == (True, False, False)
    assert "Not distinguishable from chance" in bad.to_sentences()[0]


def test_words_deleted_masked_and_kept() -> None:
    classifier, explanations = some(5, hierarchical=True)
    for explanation in explanations:
        words = range(0, len(explanation.words), 2)
        chosen = np.isin(np.arange(len(explanation.words)), words)
        for action, kept, removal in (
            (DELETE, ~chosen, "deletion"),
            (MASK, ~chosen, "unk"),
            (KEEP, chosen, "deletion"),
        ):
            found = scores_after(classifier, explanation, list(words), action)
            assert found == pytest.approx(norms(classifier, explanation, kept, removal), abs=1e-6)
        for action in (DELETE, MASK):
            assert scores_after(classifier, explanation, [], action) == pytest.approx(
                explanation.scores, abs=1e-6
            )
        everything = range(len(explanation.words))
        assert not any(scores_after(classifier, explanation, everything, DELETE))


def test_mistakes_are_refused() -> None:
    classifier, (explanation,) = some(1)
    with pytest.raises(ConfigError, match="must be one of delete, mask, keep only"):
        scores_after(classifier, explanation, [0], "shuffle")
    with pytest.raises(ConfigError, match="words 0 to"):
        scores_after(classifier, explanation, [-1], ACTIONS[0])
    with pytest.raises(ConfigError, match="draws is 0"):
        next(try_reasons(classifier, [explanation], draws=0))
    with pytest.raises(ConfigError, match="The removal is 'x'"):
        next(try_reasons(classifier, [explanation], "x"))


@pytest.mark.parametrize("removal", REMOVALS)
def test_the_smallest_flipping_set_by_brute_force(removal: str) -> None:
    classifier = untrained()
    classifier.network_.double()
    sizes = set()
    for explanation in classifier.explain(
        [text for text, _ in texts(25, seed=9)], top_capsules=3, top_kgrams=2
    ):
        kgrams = list({(k.start, k.end): k for k in explanation.kgrams}.values())
        predicted = explanation.classes.index(explanation.predicted)
        smallest = None
        for size in range(1, len(kgrams) + 1):
            for some_kgrams in combinations(kgrams, size):
                kept = np.ones(len(explanation.words), dtype=bool)
                kept[words_under(explanation, some_kgrams)] = False
                found = norms(classifier, explanation, kept, removal)
                if not any(found) or np.argmax(found) != predicted:
                    smallest = size
            if smallest:
                break
        flip = flipping_set(classifier, explanation, removal)
        sizes.add(smallest)
        assert (None if flip is None else len(flip.kgrams)) == smallest
        if flip is None:
            assert "stays" in flip_sentence(explanation, None)
            continue
        assert flip.exact
        kept = np.ones(len(explanation.words), dtype=bool)
        kept[words_under(explanation, flip.kgrams)] = False
        found = norms(classifier, explanation, kept, removal)
        assert flip.scores == pytest.approx(found, abs=1e-6)
        winner = explanation.classes[int(np.argmax(found))] if any(found) else ""
        assert flip.predicted == winner != explanation.predicted
        assert flip.kgrams[0].text in flip_sentence(explanation, flip)
    assert len(sizes - {None}) > 1  # or brute force would show little


def test_a_blank_text_has_nothing_to_flip() -> None:
    classifier, _ = some(1)
    assert flipping_set(classifier, next(classifier.explain([""]))) is None


NOTHING = Interval(0.8, 0.7, 0.9)
TRIAL = ReasonTest(
    *("Sports", "deletion", 40, 8, 0.83, 0.21, 0.9, NOTHING, Interval(0.4, 0.1, 0.7)),
    *(0, 1, 50, 0, True),
)


def test_the_verdict_in_words() -> None:
    first, removed, alone = TRIAL.to_sentences()
    assert first.startswith("The shaded words matter more than random words, and ")
    assert removed == (
        "Removing the shaded words (8 of 40 words) lowers Sports from 0.83 to 0.21; removing as "
        "many random words: 0.80 (0.70 to 0.90 in 90% of draws)."
    )
    assert "alone, all others removed: 0.90" in alone
    two, three = (dataclasses.replace(TRIAL, as_far=n) for n in (2, 3))
    assert (two.decides, three.decides) == (True, False)  # of 50, below one in twenty
    chance = dataclasses.replace(three, as_much=30)
    assert chance.to_sentences()[0] == (
        "Not distinguishable from chance: 3 of 50 random word sets change Sports as much."
    )
    assert "enough on their own" in three.to_sentences()[0]
    masked = dataclasses.replace(TRIAL, removal="unk", without=0.95)
    assert masked.to_sentences()[1].startswith("Masking the shaded words (8 of 40 words) raises ")
    short = dataclasses.replace(TRIAL, testable=False)
    assert (short.decides, short.suffices, len(short.to_sentences())) == (False, False, 1)


def test_the_command(model_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["explain", "--model", str(model_folder), "--trust", make_texts(1, seed=2)[0][0], ""]
    assert main([*given, "--json"]) == 0
    full, blank = map(json.loads, capsys.readouterr().out.splitlines())
    assert blank["trust"] is None
    trust = full["trust"]
    assert trust["whole"] == full["scores"][full["target"]]
    assert trust["comprehensiveness"] == pytest.approx(trust["whole"] - trust["without"])
    assert trust["flip"] is None or trust["flip"]["predicted"] != full["predicted"]
    explanation = Explanation.from_dict({k: v for k, v in full.items() if k != "trust"})
    assert trust["shaded"] == sum(word.count > 0 for word in explanation.words)
    assert main([*given, "--removal", "unk"]) == 0
    assert "random" in capsys.readouterr().out or not trust["testable"]
