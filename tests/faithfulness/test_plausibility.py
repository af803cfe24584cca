"""Agreement with marked words: by hand, by scikit-learn's curve, and by the command."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import auc, precision_recall_curve

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.errors import DataError
from icaps.faithfulness.plausibility import (
    KGRAMS,
    MarkedText,
    _compare,
    measure_plausibility,
    plausibility_lines,
    read_marked_words,
)
from tests.conftest import MODEL, TOPICS, TRAIN, make_texts


def marked_texts(count: int = 30) -> list[MarkedText]:
    """Texts in which the words of the topic are marked."""
    entries = []
    for text, label in zip(*make_texts(count, seed=9), strict=True):
        words = tuple(text.split())
        topic = TOPICS[label].split()
        marked = np.array([word.strip(".").lower() in topic for word in words])
        entries.append(MarkedText(words, marked, label))
    return entries


def test_metrics_by_hand() -> None:
    marked = np.array([True, False, True, False])
    scores = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 4.0, 2.0, 3.0]])
    # Order 1: marked words at ranks 1 and 3; order 2: at ranks 3 and 4. The first two are chosen.
    precision = (np.mean([1 / 1, 2 / 3]) + np.mean([1 / 3, 2 / 4])) / 2
    token_f1 = (2 * 1 / (2 + 2) + 2 * 0 / (2 + 2)) / 2
    assert _compare(marked, scores, 0.5) == pytest.approx((precision, 0.5, token_f1))


def test_average_precision_is_the_area_of_eraser() -> None:
    random = np.random.default_rng(0)
    marked, scores = random.random(200) < 0.2, random.random((1, 200))
    precision, recall, _ = precision_recall_curve(marked, scores[0])
    assert _compare(marked, scores, 0.2)[0] == pytest.approx(auc(recall, precision), abs=0.02)


def test_a_word_of_the_file_has_the_sum_of_the_models_words(classifier: ICapsClassifier) -> None:
    # The tokenizer splits "soup,bread" into three words; "zzz" is beyond the words that are read.
    text = MarkedText(("soup,bread", "and"), np.array([True, False]), "Cooking")
    (row,) = measure_plausibility(classifier, [text], ["account"])
    (explanation,) = classifier.explain([text.text], target="Cooking")
    shares = [word.share for word in explanation.words]
    assert len(shares) == 4
    assert row.first_word.value == float(sum(shares[:3]) > shares[3])
    assert (row.texts, row.marked) == (1, 0.5)


def test_the_account_agrees_with_the_words_of_the_topic(classifier: ICapsClassifier) -> None:
    names = ["account", KGRAMS, "routing", "random"]
    rows = {row.ranking: row for row in measure_plausibility(classifier, marked_texts(), names)}
    assert list(rows) == names
    assert rows["account"].auprc.value > 0.8 > rows["random"].auprc.value
    assert rows["account"].first_word.value > rows["random"].first_word.value + 0.3
    assert rows["random"].first_word.value == pytest.approx(rows["random"].marked, abs=0.12)
    assert rows[KGRAMS].auprc.value > rows["random"].auprc.value
    assert len(list(plausibility_lines([*rows.values()]))) == 6


def test_without_a_label_the_predicted_class_is_explained(classifier: ICapsClassifier) -> None:
    labelled = marked_texts(12)
    predicted = classifier.predict([text.text for text in labelled])
    right = [text for text, label in zip(labelled, predicted, strict=True) if text.label == label]
    blind = [MarkedText(text.words, text.marked, None) for text in right]
    assert list(measure_plausibility(classifier, right, ["account"])) == list(
        measure_plausibility(classifier, blind, ["account"])
    )


def test_texts_without_a_choice_are_left_out(classifier: ICapsClassifier) -> None:
    all_marked = MarkedText(("soup", "bread"), np.array([True, True]), "Cooking")
    unknown = MarkedText(("qqq", "zzzz"), np.array([True, False]), "Cooking")
    (row,) = measure_plausibility(classifier, [all_marked, unknown, *marked_texts(5)], ["account"])
    assert row.texts == 5
    with pytest.raises(DataError, match="No text has marked"):
        list(measure_plausibility(classifier, [all_marked, unknown], ["account"]))
    with pytest.raises(DataError, match="no class 'Knitting'"):
        list(
            measure_plausibility(
                classifier,
                [MarkedText(("a", "b"), all_marked.marked != [1, 0], "Knitting")],
                ["account"],
            )
        )


@pytest.mark.parametrize(
    ("entry", "marked"),
    [
        ({"words": ["a", "b"], "mask": [True, False]}, [True, False]),
        ({"words": ["a", "b"], "mask": [0, 1], "label": "x"}, [False, True]),
        ({"words": ["a", "b", "c"], "votes": [1, 2, 5], "raters": 5}, [False, True, True]),
        ({"words": ["a", "b", "c"], "leaf": [1, 2, 3], "label": 1}, [False, False, True]),
        ({"words": ["a", "b", "c"], "leaf": [1, 2, 3], "label": 0}, [True, False, False]),
    ],
)
def test_marks_are_read(entry: dict[str, object], marked: list[bool], tmp_path: Path) -> None:
    for content in (json.dumps([entry]), json.dumps(entry) + "\n"):
        (tmp_path / "words").write_text(content)
        (text,) = read_marked_words(tmp_path / "words")
        assert text.marked.tolist() == marked
        assert [text.text[start:end] for start, end in text.spans] == entry["words"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[", "can't be read"),
        ('[{"text": "a"}]', "entry 1: it needs `words`"),
        ('[{"words": ["a"]}]', "entry 1: it needs `mask`, `votes` or `leaf`"),
        ('[{"words": ["a"], "mask": [1, 0]}]', "one number for each of the 1 words"),
        ('[{"words": ["a"], "mask": ["x"]}]', "not a number"),
        ('[{"words": ["a"], "leaf": [3]}]', "`label` is 0"),
        ('[{"words": ["a"], "mask": [1], "label": [1]}]', "neither a name nor a number"),
    ],
)
def test_other_files_are_refused(content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "words").write_text(content)
    with pytest.raises(DataError, match=message):
        read_marked_words(tmp_path / "words")


def test_the_command(
    classifier: ICapsClassifier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier.save(tmp_path / "model")
    entries = [
        {"words": text.words, "mask": text.marked.tolist(), "label": text.label}
        for text in marked_texts(8)
    ]
    (tmp_path / "words.json").write_text(json.dumps(entries))
    given = ["plausibility", "--model", str(tmp_path / "model"), "--words"]
    given += [str(tmp_path / "words.json"), "--rankings", "account,kgrams,random"]
    assert main([*given, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert list(rows) == ["account", "kgrams", "random"]
    (row,) = measure_plausibility(classifier, marked_texts(8), ["account"])
    assert rows["account"]["auprc"] == row.auprc.value
    assert rows["account"]["first_word_interval"] == [row.first_word.low, row.first_word.high]
    assert main(given) == 0
    assert "people marked" in capsys.readouterr().out
    assert main([*given[:-1], "nothing"]) == 2


@pytest.mark.parametrize("form", ["mask", "votes", "leaf"])
def test_scripts_find_their_names_whatever_the_form_of_the_marks(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the default rankings, of a model with two classes, whose numbers `leaf` needs."""
    texts, labels = zip(
        *((text, label) for text, label in zip(*make_texts(360, 5), strict=True) if label[0] < "S"),
        strict=True,
    )
    ICapsClassifier(MODEL, TRAIN, device="cpu").fit(texts, labels).save(tmp_path / "model")
    entries = []
    for text in marked_texts(30):
        if text.label not in set(labels):
            continue
        number = sorted(set(labels)).index(text.label)
        marks = text.marked.tolist()
        entry = {"words": list(text.words), "label": number, "raters": 3, "nodes": []}
        sides = {
            "mask": [int(mark) for mark in marks],
            "votes": [2 + n % 2 if mark else n % 2 for n, mark in enumerate(marks)],
            "leaf": [(3 if number else 1) if mark else 2 for mark in marks],
        }
        entries.append(entry | {form: sides[form]})
    (tmp_path / "human_words.json").write_text(json.dumps(entries))
    given = ["plausibility", "--model", str(tmp_path / "model"), "--json", "--words"]
    assert main([*given, str(tmp_path / "human_words.json")]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert list(rows) == ["account", "kgrams", "routing", "integrated-gradients", "random"]
    for row in rows.values():
        assert row["texts"] == len(entries)
        assert {"auprc", "first_word", "token_f1", "marked"} <= set(row)
        assert 0 <= row["auprc"] <= 1
        assert 0 <= row["first_word"] <= 1
    assert rows["account"]["auprc"] > rows["random"]["auprc"]
