"""Shortcuts: a planted one is found, a clean model has none, and effects are as plain loops say."""

import csv
import dataclasses
import json
import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.data.saved_slices import slices
from icaps.data.source import open_source
from icaps.errors import ConfigError, DataError
from icaps.shortcuts import find, interventions
from icaps.shortcuts.candidates import Candidate, candidates
from icaps.shortcuts.checks import Check, dump_checks, load_checks, make_checks, run_checks
from icaps.shortcuts.find import KGRAM, STRONGEST, find_shortcuts, strongest_words
from icaps.shortcuts.findings_table import findings_lines, findings_table
from icaps.shortcuts.heuristics import signs
from icaps.shortcuts.interventions import insert, mask, norms_with, norms_with_off, norms_without
from icaps.shortcuts.predicted_texts import PredictedTexts, Words, predict_texts
from icaps.text.batch import UNK
from icaps.text.vocabulary import Vocabulary
from tests.conftest import MODEL, TRAIN, make_texts
from tests.interpret import plain
from tests.interpret.test_corpus import documents, hand_set, texts, untrained
from tests.tokens import batch_of

TOKEN, CLASS = "zqx", "Gardens"
HAND_SET = [("rose the the", "garden"), ("rose the", "garden"), ("the bread", "kitchen")]


def planted(count: int, seed: int) -> list[tuple[str, str]]:
    """Texts with a token at a random place of 90% of one class's."""
    rng = random.Random(seed)
    made = []
    for text, label in zip(*make_texts(count, seed), strict=True):
        words = text.split()
        if label == CLASS and rng.random() < 0.9:
            words.insert(rng.randrange(len(words) + 1), TOKEN)
        made.append((" ".join(words), label))
    return made


@pytest.fixture(scope="module")
def misled() -> ICapsClassifier:
    """After more epochs it would know the other words of the class as well as the token."""
    train = dataclasses.replace(TRAIN, epochs=3)
    return ICapsClassifier(MODEL, train, device="cpu").fit(*zip(*planted(360, seed=1), strict=True))


@pytest.fixture(scope="module")
def folder(misled: ICapsClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("misled") / "model"
    misled.save(path)
    return path


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted") / "texts.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *planted(240, seed=7)])
    return path


def test_a_planted_token_is_the_first_finding(misled: ICapsClassifier) -> None:
    labelled = planted(240, seed=7)
    found = find_shortcuts(predict_texts(misled, labelled))
    first = found[0]
    assert (first.kind, first.words, first.label) == (KGRAM, (TOKEN,), CLASS)
    having = [n for n, (text, _) in enumerate(labelled) if TOKEN in text.split()]
    assert first.rows.tolist() == having
    assert any("of the texts that get the class" in sign.reason for sign in first.signs)
    assert first.inserted is not None
    assert first.inserted.flips > first.inserted.control + find.INSERTED_MOST
    assert not any(sign.weak for sign in first.signs)
    shares = [
        sum(word.share for word in told.words if told.text[word.start : word.end] == TOKEN)
        for told in misled.explain([text for text, _ in labelled])
        if TOKEN in told.text.split() and told.predicted == CLASS
    ]
    assert first.share == (pytest.approx(sum(shares), abs=1e-4), len(shares))
    assert first.share.mean > 0.05
    row = first.to_dict()
    assert (row["share"], row["share_texts"], row["share_per_text"]) == (
        first.share.total,
        len(shares),
        first.share.mean,
    )
    above = first.to_dict()["masked"]["unk"]["above"]
    assert list(above) == ["mean", "low", "high"]
    assert above["mean"] == first.masked["unk"].above.value
    again = find_shortcuts(predict_texts(misled, labelled))
    assert [finding.to_dict() for finding in again] == [finding.to_dict() for finding in found]


def test_a_clean_model_has_none(classifier: ICapsClassifier) -> None:
    for labelled in (planted(240, seed=7), list(zip(*make_texts(180, seed=8), strict=True))):
        assert find_shortcuts(predict_texts(classifier, labelled)) == []


def test_the_strongest_words_are_measured_as_they_are(misled: ICapsClassifier) -> None:
    read = predict_texts(misled, planted(240, seed=7))
    words = strongest_words(read)
    assert len(words) == STRONGEST
    (finding,) = (finding for finding in words if finding.words == (TOKEN,))
    added = [word.inserted.above.value for word in words if word.inserted is not None]
    assert len(added) == len(words)
    assert added == sorted(added, reverse=True)
    shortcut = find_shortcuts(read)[0]
    assert (finding.masked, finding.inserted) == (shortcut.masked, shortcut.inserted)
    assert (finding.lost, finding.tied) == (shortcut.lost, shortcut.tied)


@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"kernel_size": 2}])
def test_effects_are_those_of_plain_loops(options: dict[str, Any]) -> None:
    classifier = untrained(**options)
    labelled = texts(30, seed=2)
    read = predict_texts(classifier, labelled)
    written = documents(classifier, labelled)
    pairs = Counter(pair for document in written for part in document for pair in pairwise(part))
    for words in (pairs.most_common(1)[0][0][:1], pairs.most_common(1)[0][0]):
        having = [n for n, document in enumerate(written) if begins(document, words)]
        assert np.unique(read.text_of[read.places(words)]).tolist() == having
        assert len(read.places(words)) == sum(len(begins(d, words)) for d in written)
        without = [run(classifier, masked(written[n], words)) for n in having]
        rows = np.array(having)
        assert norms_without(read, rows, words) == pytest.approx(np.array(without), abs=1e-5)
        added = [run(classifier, [[*words, *d[0]], *d[1:]]) for d in written]
        everywhere = np.arange(len(read))
        assert norms_with(read, everywhere, words) == pytest.approx(np.array(added), abs=1e-5)
        for target in range(len(read.classes)):
            own = rows[read.predicted[rows] == target]
            if len(own):
                flips = [
                    np.argmax(run(classifier, masked(written[n], words))) != target for n in own
                ]
                assert mask(read, own, words, target, "unk").flips == pytest.approx(np.mean(flips))
            others = everywhere[read.predicted != target]
            if not len(others):
                continue
            changed = insert(read, others, words, target)
            assert changed.texts == len(others)
            assert changed.flips == pytest.approx(
                np.mean([np.argmax(added[n]) == target for n in others])
            )
            rise = [added[n][target] - read.norms[n, target] for n in others]
            assert changed.change == pytest.approx(np.mean(rise), abs=1e-5)
    off = [plain.run(classifier.network_, document, [1])["norms"] for document in written]
    assert norms_with_off(read, np.arange(len(read)), 1) == pytest.approx(np.array(off), abs=1e-5)


def begins(document: list[list[int]], words: Words) -> list[tuple[int, int]]:
    size = len(words)
    return [
        (m, n)
        for m, sentence in enumerate(document)
        for n in range(len(sentence))
        if tuple(sentence[n : n + size]) == words
    ]


def masked(document: list[list[int]], words: Words) -> list[list[int]]:
    left = [list(sentence) for sentence in document]
    for m, n in begins(document, words):
        left[m][n : n + len(words)] = [UNK] * len(words)
    return left


def run(classifier: ICapsClassifier, document: list[list[int]]) -> list[float]:
    if all(word == UNK for sentence in document for word in sentence):
        return [0.0] * len(classifier.classes_)
    return plain.run(classifier.network_, document)["norms"]


def test_a_network_set_by_hand() -> None:
    read = predict_texts(hand_set(), HAND_SET)
    for removal in ("unk", "deletion"):
        found = mask(read, np.array([0, 1]), (3,), 1, removal)  # "rose", for which "the" may go
        assert (found.texts, found.flips, found.control) == (2, 1.0, 0.0)
        assert found.above == (1.0, 1.0, 1.0)
        assert found.change == pytest.approx(-read.norms[:2, 1].mean())
    # Beside a bread both capsules have a vote of one length, and the first class is the kitchen.
    added = insert(read, np.array([0, 1]), (2,), 0)
    assert (added.flips, added.control) == (1.0, 0.0)
    nothing = mask(read, np.zeros(0, np.int64), (3,), 1, "unk")
    assert (nothing.texts, nothing.flips, nothing.control) == (0, 0.0, 0.0)


def test_a_capsule_that_wins_by_a_findings_words() -> None:
    labelled = [("rose the the", "garden")] * 20 + [("the bread", "kitchen")] * 20
    read = predict_texts(hand_set(), labelled)
    norms = read.norms.max(1)
    # Capsule 0 wins all, as all are alike, and has all of the score of bread and none of the rose.
    assert not read.capsules.any()
    assert read.winner_shares == pytest.approx(np.where(read.predicted == 0, norms, 0), abs=1e-5)
    read = dataclasses.replace(read, capsules=read.predicted, winner_shares=norms)
    found = {finding.name: finding for finding in find_shortcuts(read)}
    assert set(found) == {"rose", "bread", "capsule 1"}
    assert found["rose"].lost == 20
    assert "100% of the right predictions" in found["rose"].signs[0].reason
    # Without capsule 0 a text with bread has no vote, and is taken for the kitchen all the same.
    capsule = found["capsule 1"]
    assert (capsule.label, capsule.capsule, capsule.lost) == ("garden", 1, 20)
    assert capsule.rows.tolist() == list(range(20))
    assert (capsule.masked["off"].flips, capsule.masked["off"].control) == (1.0, 0.0)
    assert capsule.share == (pytest.approx(norms[:20].sum(), rel=1e-4), 20)
    assert found["rose"].share == (pytest.approx(norms[:20].sum(), rel=1e-4), 20)
    assert {check.words for check in make_checks(found.values())} == {("rose",), ("bread",)}
    assert json.loads(json.dumps(capsule.to_dict()))["inserted"] is None


def test_the_masks_as_many_other_known_words() -> None:
    read = predict_texts(untrained(), texts(20, seed=5))
    rng = np.random.default_rng(0)
    for text in read.tokens:
        covered = rng.random(len(text.ids)) < 0.3
        kept = interventions._masks(text, covered, rng)
        others = ~covered & (text.ids != UNK)
        assert (kept[0] == ~covered).all()
        assert not (~kept[1:] & ~others).any()
        assert set((~kept[1:]).sum(1)) == {min(covered.sum(), others.sum())}


def test_the_longer_kgram_stands_for_the_shorter_of_the_same_texts() -> None:
    names = ["quick info"] * 40 + ["plain words"] * 16
    classes = ("a", "b")
    vocabulary = Vocabulary(("<pad>", "<unk>", "quick", "info", "plain", "words"), (0,) * 6)
    one = {"quick": 2, "info": 3, "plain": 4, "words": 5}
    kgrams = np.array([[one[word] for word in name.split()] for name in names])
    labels = np.repeat([0, 1], [40, 16])
    read = answered(kgrams, labels, vocabulary, classes)
    assert {c.words: c.target for c in candidates(read)} == {(2, 3): 0, (4, 5): 1}
    kgrams[:20, 1] = 5  # half of the texts with "quick" have another word behind it
    read = answered(kgrams, labels, vocabulary, classes)
    assert {c.words for c in candidates(read)} == {(2,), (3,), (4, 5)}


def answered(
    kgrams: np.ndarray, labels: np.ndarray, vocabulary: Vocabulary, classes: tuple[str, ...]
) -> PredictedTexts:
    """Texts that are nothing but their K-gram, predicted right by a network that nobody asks."""
    encoded = batch_of([[kgram] for kgram in kgrams.tolist()])
    norms, places = np.eye(len(classes))[labels], np.arange(len(labels))
    network = untrained().network_
    named = tuple((tuple(kgram),) for kgram in kgrams.tolist())
    return PredictedTexts(
        network=network,
        vocabulary=vocabulary,
        classes=classes,
        numbers=places,
        tokens=encoded,
        labels=labels,
        norms=norms,
        capsules=0 * labels,
        winner_shares=np.zeros(len(labels)),
        shares=np.zeros(kgrams.size),
        kgrams=named,
    )


SIGNS = [
    (["the ( AP ) cat"] * 10, "AP", "like the tag of a source"),
    (["the Reuters - cat"] * 10, "Reuters", "like the tag of a source"),
    (["Reuters cat the", "the cat Reuters"] * 5, "Reuters", "it is a name"),
    (["the lt cat", "cat the mat lt"] * 5, "lt", "it is a remnant of HTML"),
    (["the href = cat", "cat the href ="] * 5, "href =", "it is a remnant of HTML"),
    (["the 2004 cat", "cat the mat 2004"] * 5, "2004", "it is a number or punctuation"),
    (["the cat mat", "the cat cat"] * 5, "cat", "it is word 2 of the text"),
]


@pytest.mark.parametrize(("written", "kgram", "reason"), SIGNS)
def test_signs(written: list[str], kgram: str, reason: str) -> None:
    """One text in ten gets the class, so that no coverage is told."""
    words = sorted({word for text in written for word in text.split()} | {"zebra"})
    vocabulary = Vocabulary(("<pad>", "<unk>", *words), (0, 0, *[5] * len(words)))
    texts_ = [*written, *["zebra zebra"] * 60]
    ids = [[vocabulary.id(word) for word in text.split()] for text in texts_]
    labels = np.array([0] * len(written) + [0] * 60)
    base = answered(np.zeros((len(ids), 1), np.int64), labels, vocabulary, ("a", "b"))
    encoded = batch_of([[text] for text in ids])
    read = dataclasses.replace(base, tokens=encoded)
    found = tuple(vocabulary.id(word) for word in kgram.split())
    told = signs(read, found, 0, np.arange(len(written)))
    assert [sign.reason for sign in told if sign.reason.startswith(reason) or reason in sign.reason]
    assert not any("of the texts that get the class" in sign.reason for sign in told)
    assert signs(read, (vocabulary.id("zebra"),), 0, np.arange(10, 70))[0].reason.startswith(
        "it is in 86% of the texts that get the class and in 0.0% of the others"
    )


def test_tables_and_lines(misled: ICapsClassifier) -> None:
    read = predict_texts(misled, planted(240, seed=7))
    found = find_shortcuts(read)
    table = findings_table(found)
    assert table.loc[0, ["finding", "class"]].tolist() == [TOKEN, CLASS]
    assert table.loc[0, "flips added"] == found[0].inserted.flips
    assert table.loc[0, "share"] == found[0].share.total
    assert table.loc[0, "share per text"] == found[0].share.total / found[0].share.texts
    lines = list(findings_lines(read, found, 0))
    assert lines[0].startswith("240 texts (seed 0)")
    assert lines[1].startswith(f"1. “{TOKEN}” for {CLASS}: ")
    mean, total = found[0].share.mean, found[0].share.total
    assert lines[3].startswith(
        f"   adds {mean:+.3f} to the score of {CLASS} per text, {total:+.2f}"
    )


def test_the_command_saves_a_check_and_a_slice(
    folder: Path,
    model_folder: Path,
    data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    file = tmp_path / "checks.json"
    asked = ["--model", str(folder), "--data", str(data)]
    saved = ["--save-check", str(file), "--save-slice", "tagged"]
    assert main(["shortcuts", *asked, *saved, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["findings"][0]["words"] == [TOKEN]
    (kept,) = slices()
    texts_ = [record.text for record in open_source(kept.path)]
    assert len(texts_) == kept.rows == told["findings"][0]["texts"] > 0
    assert all(TOKEN in text.split() for text in texts_)

    assert main(["check", str(file), *asked]) == 1
    assert capsys.readouterr().out.startswith(f"FAILS  “{TOKEN}” for {CLASS}: ")
    clean = ["--model", str(model_folder), "--data", str(data)]
    assert main(["check", str(file), *clean]) == 0
    assert "the model does not know it" in capsys.readouterr().out
    allowed = json.loads(file.read_text())
    for check in allowed["checks"]:
        check |= {"most_masked": 1, "most_inserted": 1}
    file.write_text(json.dumps(allowed))
    assert main(["check", str(file), *asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["holds"] is True

    assert main(["shortcuts", *clean]) == 0
    assert "0 possible shortcuts" in capsys.readouterr().out
    assert main(["shortcuts", *clean, "--save-check", str(tmp_path / "none.json")]) == 2
    assert main(["shortcuts", *asked, "--save-slice", "x", "--finding", "99"]) == 2
    assert main(["check", str(tmp_path / "missing.json"), *asked]) == 2
    assert main(["shortcuts", *asked, "--limit", "0"]) == 2


def test_checks_come_back_from_their_file(misled: ICapsClassifier, tmp_path: Path) -> None:
    found = find_shortcuts(predict_texts(misled, planted(240, seed=7)))
    checks = make_checks(found)
    path = tmp_path / "checks.json"
    path.write_text(dump_checks(checks), encoding="utf-8")
    assert load_checks(path) == checks
    path.write_text(dump_checks([Check(("a", "ü"), "A", 0.2, 0.3)]), encoding="utf-8")
    assert load_checks(path) == [Check(("a", "ü"), "A", 0.2, 0.3)]
    with pytest.raises(ConfigError, match="the class 'Cars'; the model has Cooking"):
        run_checks(predict_texts(misled, planted(30, seed=7)), [Check((TOKEN,), "Cars")])


WRONG = [
    ("[]", "has no checks"),
    ('{"kind": "other"}', "has no checks"),
    ("no", "cannot be read"),
    ({"version": 9}, "is of version 9"),
    ({"checks": []}, "lists no checks"),
    ({"checks": ["a"]}, "check 1 is not an object"),
    ({"checks": [{"words": [], "class": "a"}]}, 'check 1 needs "words"'),
    ({"checks": [{"words": ["a"]}]}, 'check 1 needs "class"'),
    ({"checks": [{"words": ["a"], "class": "a", "most": 1}]}, "the unknown key 'most'"),
    ({"checks": [{"words": ["a"], "class": "a", "most_masked": 2}]}, "a share from 0 to 1"),
    ({"checks": [{"words": ["a"], "class": "a", "most_inserted": True}]}, "a share from 0 to 1"),
]


@pytest.mark.parametrize(("given", "told"), WRONG)
def test_a_wrong_file_is_refused(given: str | dict[str, Any], told: str, tmp_path: Path) -> None:
    if isinstance(given, dict):
        given = json.dumps({"kind": "icaps shortcut checks", "version": 1, **given})
    (tmp_path / "checks.json").write_text(given)
    with pytest.raises(ConfigError, match=told):
        load_checks(tmp_path / "checks.json")


def test_texts_that_the_model_does_not_know(classifier: ICapsClassifier) -> None:
    with pytest.raises(DataError, match="knows no word"):
        predict_texts(classifier, [("qqq www", "Gardens")])
    read = predict_texts(classifier, [("qqq", "Gardens"), ("bake bread", "Cooking")])
    assert read.numbers.tolist() == [1]
    assert candidates(read) == []
    none = Candidate(tuple(read.tokens[0].ids[:1].tolist()), 0, np.zeros(0, np.int64))
    assert find.measure_effects(read, none)[0]["unk"].texts == 0
