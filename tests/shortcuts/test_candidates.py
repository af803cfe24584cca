"""Candidates for shortcuts by total share: against loops, by hand, and on AG's News."""

import dataclasses
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.shortcuts.candidates import FEWEST_TEXTS, candidates, explained_kgrams, words_by_share
from icaps.shortcuts.predicted_texts import PredictedTexts, ShareTotal, predict_texts
from icaps.text.batch import UNK
from icaps.text.vocabulary import Vocabulary
from tests.interpret.test_corpus import texts, untrained
from tests.tokens import batch_of

ROOT = Path(__file__).resolve().parents[2]
CLASSES = ("a", "b")


def hand_made(
    written: list[str], predicted: list[int], shares: dict[str, float], kgrams: str = ""
) -> PredictedTexts:
    """Texts predicted right, in which a word adds the same everywhere, and each is explained alike.

    Args:
        written: The texts, of words between spaces.
        predicted: The class of each.
        shares: What a word adds to the class that its text gets; 0 for others.
        kgrams: The K-gram of all explanations; none if empty.
    """
    vocabulary = Vocabulary.build(written, min_frequency=0)
    ids = [[vocabulary.id(word) for word in text.split()] for text in written]
    labels = np.array(predicted)
    kgram = tuple(vocabulary.id(word) for word in kgrams.split())
    words = [word for text in written for word in text.split()]
    return PredictedTexts(
        network=untrained().network_,  # of 3-grams; nobody asks it
        vocabulary=vocabulary,
        classes=CLASSES,
        numbers=np.arange(len(ids)),
        tokens=batch_of([[text] for text in ids]),
        labels=labels,
        norms=np.eye(2)[labels],
        capsules=0 * labels,
        winner_shares=np.zeros(len(labels)),
        shares=np.array([shares.get(word, 0.0) for word in words]),
        kgrams=((kgram,) if kgram else (),) * len(ids),
    )


def spelled(read: PredictedTexts, found: list[Any]) -> dict[str, str]:
    """The class of each candidate by its K-gram, in their order."""
    return {" ".join(read.spell(c.words)): read.classes[c.target] for c in found}


@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"kernel_size": 2}])
def test_shares_are_those_of_each_text_alone(options: dict[str, Any]) -> None:
    classifier = untrained(**options)
    labelled = texts(40, seed=2)
    labelled.insert(3, ("qqqq", labelled[0][1]))  # without a known word, which is left out
    read = predict_texts(classifier, labelled)
    assert 3 not in read.numbers
    totals: dict[tuple[int, int], list[float]] = defaultdict(list)  # of a word and a class
    shares = iter(read.shares.tolist())
    for n, number in enumerate(read.numbers.tolist()):
        (account,) = classifier.account([labelled[number][0]])
        target, capsule = int(read.predicted[n]), int(read.capsules[n])
        by_class = account.by_class()[:, target]
        assert [next(shares) for _ in by_class] == pytest.approx(by_class.tolist(), abs=1e-6)
        through = account.shares()[:, capsule, target].sum() + account.bias[target, capsule]
        assert read.winner_shares[n] == pytest.approx(through, abs=1e-5)
        own: dict[int, float] = defaultdict(float)
        for word, share in zip(read.tokens[n].ids.tolist(), by_class.tolist(), strict=True):
            own[word] += share
        for word, share in own.items():
            totals[word, target].append(share)
    assert next(shares, None) is None
    for (word, target), parts in totals.items():
        total = read.share_of((word,), target)
        assert total == (pytest.approx(sum(parts), abs=1e-5), len(parts))
        assert total.mean == pytest.approx(np.mean(parts), abs=1e-5)
    best: dict[int, tuple[float, int, int]] = {}
    for word in {word for word, _ in totals} - {UNK}:
        sums = [sum(totals[word, target]) for target in range(len(read.classes))]
        target = int(np.argmax(sums))
        if sums[target] > 0 and len(totals[word, target]) >= FEWEST_TEXTS:
            best[word] = (sums[target], target, len(totals[word, target]))
    singles = [c for c in words_by_share(read) if len(c.words) == 1]
    assert len(singles) >= 3  # or the test would show little
    found = [best[c.words[0]] for c in singles]
    assert [c.target for c in singles] == [target for _, target, _ in found]
    assert found == sorted(found, key=lambda row: -row[0])


def test_a_tag_of_several_classes_is_a_candidate_by_share_alone() -> None:
    written = ["( TAG ) war here", "TAG - peace now"] * 6 + ["( TAG ) game there"] * 6
    predicted = [0] * 12 + [1] * 6
    read = hand_made(written, predicted, {"TAG": 0.2, "war": 0.3, "game": 0.5}, kgrams="TAG")
    assert "TAG" not in spelled(read, explained_kgrams(read))  # a third of its texts get "b"
    # game 6 x 0.5, TAG 12 x 0.2, war 6 x 0.3; game and war with the words that are always beside.
    order = [(") game there", "b"), ("TAG", "a"), (") war here", "a")]
    assert list(spelled(read, words_by_share(read)).items()) == order
    (tag,) = [c for c in candidates(read) if read.spell(c.words) == ("TAG",)]
    assert (tag.target, tag.rows.tolist()) == (0, list(range(18)))
    assert any("like the tag of a source" in sign.reason for sign in tag.signs)
    assert read.share_of(tag.words, 0) == ShareTotal(pytest.approx(2.4), 12)
    assert read.share_of(tag.words, 1) == ShareTotal(pytest.approx(1.2), 6)


def test_each_kgram_once() -> None:
    written = ["/ quick /"] * 20 + ["plain words"] * 20
    read = hand_made(written, [0] * 20 + [1] * 20, {"quick": 0.3, "words": 0.1}, kgrams="/ quick /")
    # Explained and by share: the word stands beside the same ones, and so is the same K-gram.
    assert spelled(read, explained_kgrams(read)) == {"/ quick /": "a"}
    assert spelled(read, words_by_share(read)) == {"/ quick /": "a", "plain words": "b"}
    assert spelled(read, candidates(read)) == {"/ quick /": "a", "plain words": "b"}
    # Two thirds of the places of the word have other words beside it, but all of its texts have it.
    read = hand_made(
        ["/ quick / then quick brown quick"] * 20 + ["plain"] * 20,
        [0] * 20 + [1] * 20,
        {"quick": 0.3},
        kgrams="/ quick /",
    )
    assert "quick" in spelled(read, words_by_share(read))
    assert "quick" not in spelled(read, candidates(read))
    # In too few of its texts it is that K-gram, and so it is one of its own.
    read = hand_made(
        ["/ quick /"] * 20 + ["quick plain", "so quick", "quick"] * 4,
        [0] * 20 + [1] * 12,
        {"quick": 0.3},
        kgrams="/ quick /",
    )
    assert {"/ quick /", "quick"} <= set(spelled(read, candidates(read)))


def test_what_is_no_candidate_by_share() -> None:
    written = ["rare word", *["often <unk>"] * 8, *["less"] * 8, *["lone"] * (FEWEST_TEXTS - 1)]
    read = hand_made(
        written, [0] * len(written), {"rare": 9, "often": 0.1, "<unk>": 5, "less": -1, "lone": 2}
    )
    ids = read.tokens.ids.copy()
    ids[ids == read.vocabulary.id("<unk>")] = UNK
    read = dataclasses.replace(read, tokens=dataclasses.replace(read.tokens, ids=ids))
    assert spelled(read, words_by_share(read)) == {"often": "a"}


@pytest.mark.shared_data
def test_wire_services_of_ag_news(shared_data: Path) -> None:
    classifier = ICapsClassifier.load(ROOT / "checkpoints" / "ag_news", device="cpu")
    labelled = list(open_source(shared_data / "data" / "ag_news", "test").pairs())[:3_000]
    read = predict_texts(classifier, labelled)
    names = [read.spell(c.words) for c in candidates(read)]
    assert len(names) == len(set(names))
    tags = {("AFP",), ("AP",), ("Reuters",)}
    assert not tags & {read.spell(c.words) for c in explained_kgrams(read)}
    assert tags <= set(names)
    assert spelled(read, words_by_share(read))["AFP"] == "World"
