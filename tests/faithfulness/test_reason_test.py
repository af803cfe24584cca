"""Tests of one text's explanation, against plain loops and brute force."""

import dataclasses
import json
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.errors import ConfigError
from icaps.faithfulness import reason_test
from icaps.faithfulness.reason_results import ReasonTest, flip_sentence, trust_facts
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
def test_a_short_text_is_compared_with_all_sets_of_as_many_words(removal: str) -> None:
    classifier, explanations = some(8)
    tested = 0
    for explanation in explanations:
        words, size = len(explanation.words), int(shaded(explanation).sum())
        (test,) = try_reasons(classifier, [explanation], removal)
        assert test is not None
        assert test.exhaustive == (comb(words, size) <= 500)
        if not test.exhaustive or comb(words, size) > 60:
            continue
        tested += 1
        target = explanation.classes.index(explanation.target)
        without, alone = [], []
        for numbers in combinations(range(words), size):
            chosen = np.isin(np.arange(words), numbers)
            without.append(norms(classifier, explanation, ~chosen, removal))
            alone.append(norms(classifier, explanation, chosen, removal)[target])
        lower = [row[target] for row in without]
        assert test.draws == len(lower)
        assert test.as_far == sum(norm <= test.without + 1e-6 for norm in lower) > 0
        assert test.as_much == sum(norm >= test.alone - 1e-6 for norm in alone) > 0
        assert test.random_without.value == pytest.approx(np.mean(lower), abs=1e-6)
        assert test.random_alone.value == pytest.approx(np.mean(alone), abs=1e-6)
        assert test.random_alone[1:] == pytest.approx(np.quantile(alone, (0.05, 0.95)), abs=1e-6)
        predicted = [
            explanation.classes[int(np.argmax(row))] if any(row) else "" for row in without
        ]
        assert test.random_flips == sum(name != explanation.predicted for name in predicted)
        assert test.testable == (len(lower) >= 20)
    assert tested > 2


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_longer_text_is_compared_with_places_of_as_many_words(
    removal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reason_test, "ALL_SETS", 1)
    monkeypatch.setattr(reason_test, "RARE", 1)  # few places are no reason to draw single words
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
        assert not trial.exhaustive
    assert tested > 2


def test_where_a_run_has_few_places_random_words_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reason_test, "ALL_SETS", 1)
    run = np.arange(15) < 8
    sets = reason_test._other_sets(run, 200, seed=3)
    assert sets.shape == (200, 15)
    assert (sets.sum(1) == 8).all()
    assert len({tuple(chosen) for chosen in sets}) > 150  # the run has eight places
    assert sets.mean(0) == pytest.approx(8 / 15, abs=0.15)
    long = np.arange(200) < 8  # has places enough
    (at,) = {
        int(np.diff(np.flatnonzero(chosen)).max())
        for chosen in reason_test._other_sets(long, 50, 3)
    }
    assert at == 1


def test_many_sets_or_words_are_not_all_tried() -> None:
    for words, size, every in ((11, 4, True), (12, 5, False), (32, 2, True), (300, 1, False)):
        assert reason_test._all_are_tried(words, size) == every


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
    assert good.predicted_alone == explanation.predicted
    assert good.random_flips < 5
    assert good.to_sentences()[0] == (
        "Without these words no known word is left."
        if not good.predicted_without
        else f"Without these words it is {good.predicted_without}, not {good.predicted}."
    )
    # A word of nothing is no better than chance.
    words = tuple(word._replace(count=int(n == 3)) for n, word in enumerate(explanation.words))
    (bad,) = try_reasons(classifier, [dataclasses.replace(explanation, words=words)])
    assert bad is not None
    assert (bad.testable, bad.decides, bad.suffices) == (True, False, False)
    assert bad.to_sentences()[0].startswith("Not distinguishable from random words: without these")


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


TEST = ReasonTest(
    target="Sports",
    removal="deletion",
    words=40,
    shaded=8,
    whole=0.93,
    without=0.86,
    alone=0.9,
    random_without=Interval(0.92, 0.89, 0.94),
    random_alone=Interval(0.4, 0.1, 0.7),
    as_far=0,
    as_much=1,
    draws=50,
    seed=0,
    testable=True,
    predicted="Sports",
    predicted_without="Sports",
    predicted_alone="Sports",
    random_flips=2,
    exhaustive=False,
)


def changed(**values: object) -> ReasonTest:
    return dataclasses.replace(TEST, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "level", "verdict"),
    [
        (
            {},
            "matters",
            "Without these words the norm of Sports falls from 0.93 to 0.86, more than without "
            "random words; "
            "the class stays.",
        ),
        (
            {"whole": 0.9304, "without": 0.9288},
            "matters",
            "Without these words the norm of Sports falls from 0.930 to 0.929, more than without "
            "random words; "
            "the class stays.",
        ),
        (
            {"predicted_without": "World"},
            "flips",
            "Without these words it is World, not Sports.",
        ),
        (
            {"predicted_without": "World", "removal": "unk"},
            "flips",
            "With these words masked it is World, not Sports.",
        ),
        (
            {"predicted_without": ""},
            "flips",
            "Without these words no known word is left.",
        ),
        (
            {"predicted": "World", "predicted_without": "World"},
            "matters",
            "Without these words the norm of Sports falls from 0.93 to 0.86, more than without "
            "random words; "
            "the class stays World.",
        ),
        (
            {"predicted": "World", "predicted_without": "Business"},
            "flips",
            "Without these words the norm of Sports falls from 0.93 to 0.86, more than without "
            "random words; "
            "it is then Business, not World.",
        ),
        (
            {"as_far": 25},
            "chance",
            "Not distinguishable from random words: without these words the norm of Sports falls "
            "from 0.93 to "
            "0.86, but 25 of 50 random sets of as many words lower the norm as much.",
        ),
        (
            {"as_far": 25, "predicted_without": "World"},
            "chance",
            "Not distinguishable from random words: without these words it is World, not Sports, "
            "but 25 of 50 random sets of as many words lower the norm as much.",
        ),
        (
            {"without": 0.95},
            "chance",
            "Not distinguishable from random words: without these words the norm of Sports rises "
            "from 0.93 to "
            "0.95.",
        ),
        (
            {"without": 0.9296},
            "chance",
            "Not distinguishable from random words: without these words the norm of Sports stays "
            "at 0.93.",
        ),
        (
            {"exhaustive": True, "draws": 120, "as_far": 3},
            "matters",
            "Without these words the norm of Sports falls from 0.93 to 0.86, more than without "
            "97% of all 120 "
            "sets of as many words; the class stays.",
        ),
        (
            {"exhaustive": True, "draws": 120, "as_far": 7},
            "chance",
            "Not distinguishable from random words: without these words the norm of Sports falls "
            "from 0.93 to "
            "0.86, but 7 of all 120 sets of as many words lower the norm as much.",
        ),
        (
            {"testable": False, "draws": 10, "as_far": 1, "exhaustive": True},
            "untested",
            "Without these words the norm of Sports falls from 0.93 to 0.86; the class stays. "
            "The 10 sets of "
            "as many words are too few to rule out chance.",
        ),
        (
            {"testable": False, "draws": 10, "exhaustive": True, "predicted_without": "World"},
            "untested",
            "Without these words it is World, not Sports. The 10 sets of as many words are too "
            "few "
            "to rule out chance.",
        ),
        (
            {"testable": False, "words": 8},
            "untested",
            "The K-grams cover all 8 words, so there are no others to compare them with.",
        ),
        (
            {"testable": False, "words": 1, "shaded": 1},
            "untested",
            "The text has one word, so there are no others to compare it with.",
        ),
        (
            {"testable": False, "shaded": 0},
            "untested",
            "No word is in a K-gram, so there is nothing to test.",
        ),
    ],
)
def test_the_verdict_says_what_was_seen(
    values: dict[str, object], level: str, verdict: str
) -> None:
    test = changed(**values)
    first, *numbers = test.to_sentences()
    assert first == verdict
    assert (test.level, test.decides) == (level, level == "flips")
    assert len(numbers) == (2 if test.testable else 0)


def test_the_numbers_in_words() -> None:
    _, removed, alone = TEST.to_sentences()
    assert removed == (
        "Removing the words of the K-grams (8 of 40 words): the norm of Sports falls from 0.93 "
        "to 0.86. "
        "Removing as many random words: 0.92 on average (0.89 to 0.94 in 90%), and another class "
        "in 2 of 50."
    )
    assert alone == (
        "The words of the K-grams alone, all others removed: the norm of Sports is 0.90, more "
        "than random words "
        "do. As many random words alone: 0.40 on average (0.10 to 0.70 in 90%)."
    )
    _, removed, alone = changed(exhaustive=True, draws=120, removal="unk", as_much=9).to_sentences()
    assert removed.startswith("Masking the words of the K-grams (8 of 40 words): ")
    assert "Masking each of the 120 sets of as many words: 0.92 on average" in removed
    assert (
        "all others masked: the norm of Sports is 0.90. Each of the 120 sets of as many words "
        in alone
    )
    two, three = (changed(as_far=n) for n in (2, 3))
    assert (two.matters, three.matters) == (True, False)  # of 50, at most one in twenty


def test_the_facts_have_the_sentences() -> None:
    classifier, (explanation, *_) = some(1)
    (test,) = try_reasons(classifier, [explanation])
    flip = flipping_set(classifier, explanation)
    facts = trust_facts(explanation, test, flip)
    assert facts is not None
    assert test is not None
    assert facts["sentences"] == [*test.to_sentences(), flip_sentence(explanation, flip)]
    assert facts["level"] == test.level
    assert json.loads(json.dumps(facts)) == facts
    assert trust_facts(explanation, None, None) is None


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
