import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from dashboard.many import charts, table
from dashboard.quotas import NotAllowedError
from icaps.classifier import ICapsClassifier
from icaps.inference import Reading
from icaps.interpret.kgrams import KGramWindows
from icaps.interpret.local import KGrams, Reasons
from icaps.reports.files import to_csv
from icaps.text.batch import TokenBatch
from icaps.text.tokenizer import split_words
from icaps.text.vocabulary import UNK
from tests.conftest import make_texts

CLASSES = ("World", "Business")


@dataclass
class Account:
    """The first word of a text adds 0.5, and all others take 0.125; the bias is 0.25."""

    offsets: np.ndarray

    def word_shares(self, targets: np.ndarray) -> np.ndarray:
        shares = np.full(self.offsets[-1], -0.125, np.float32)
        shares[self.offsets[:-1][np.diff(self.offsets) > 0]] = 0.5
        return shares

    def counts(self, targets: np.ndarray) -> None:
        return None  # no word is neutral

    def biases(self, targets: np.ndarray) -> np.ndarray:
        return np.full(len(targets), 0.25, np.float32)


def reasons(*rows: tuple[str, list[str]]) -> Reasons:
    """Texts of the class Business, each with K-grams, at their first places in it."""
    count = len(rows)
    columns = [
        (number, text.index(kgram), text.index(kgram) + len(kgram))
        for number, (text, kgrams) in enumerate(rows)
        for kgram in kgrams
    ]
    places = np.array(columns, dtype=np.int64).reshape(-1, 3).T
    zeros = np.zeros(len(columns), dtype=np.int64)
    words = [split_words(text) for text, _ in rows]
    spans = np.array([(word.start, word.end) for text in words for word in text]).reshape(-1, 2)
    lengths, ones = np.array([len(text) for text in words]), np.ones(count, dtype=np.int64)
    tokens = TokenBatch(np.full(len(spans), UNK + 1), lengths, ones, spans=spans)
    first, last = (
        np.array(
            [
                int(tokens.word_offsets[n]) + sum(getattr(word, side) < place for word in words[n])
                for n, place in zip(places[0], ends, strict=True)
            ],
            dtype=np.int64,
        )
        for side, ends in (("end", places[1] + 1), ("start", places[2]))
    )
    return Reasons(
        batch=Reading(tokens, None, np.arange(count), [text for text, _ in rows]),
        account=Account(tokens.word_offsets),
        norms=np.where(tokens.blank[:, None], 0, np.float32([0.125, 0.75004])),
        predicted=np.where(tokens.blank, 0, 1),
        targets=np.where(tokens.blank, 0, 1),
        routing=np.zeros((count, 3)),
        windows=KGramWindows(places[0], zeros, zeros, zeros, first, last),
        kgrams=KGrams(*places, *[zeros] * 6),
    )


def to_frame(*rows: tuple[str, list[str]], classes: Sequence[str] = CLASSES) -> pd.DataFrame:
    return table.to_frame([reasons(*rows)], classes, lambda norms: norms)


def test_one_text_per_line() -> None:
    assert table.from_lines("one\n\n  \n two \r\nthree\x00\n") == ("one", " two ", "three\ufffd")
    assert table.from_lines("") == ()


def test_the_error_about_too_many_texts_names_the_command_line() -> None:
    assert len(table.from_lines("a\n" * 5_000)) == 5_000
    with pytest.raises(NotAllowedError, match=r"5,001 texts.*`icaps explain`"):
        table.from_lines("a\n" * 5_001)


def test_a_row_holds_the_prediction_and_kgrams() -> None:
    parts = [reasons(("oil, gas", ["oil, gas", ", gas"]), ("", [])), reasons(("b", ["b"]))]
    frame = table.to_frame(parts, CLASSES, lambda norms: norms + (0.1, 0.04996))
    first, second, third = frame.to_dict("records")
    assert first == {
        "text": "oil, gas",
        "predicted": "Business",
        "probability": 0.8,
        "norm World": 0.125,
        "norm Business": 0.75,
        "K-grams": "oil, gas | , gas",
        "K-gram shares": "+0.2500 | -0.2500",
        "words": "oil +0.5000 | , -0.1250 | gas -0.1250",
        "covered": 0.3333,  # 0.25 of 0.75004
        "bias": 0.25,
    }
    assert second["predicted"] == ""  # no class has a case
    assert (second["norm World"], second["K-grams"]) == (0.0, "")
    assert (second["K-gram shares"], second["words"], second["covered"]) == ("", "", 0.0)
    assert (third["text"], third["K-grams"]) == ("b", "b")  # of the next part
    assert table.to_frame([], CLASSES, lambda norms: norms).empty


def test_a_cell_has_the_largest_words_of_its_own_text() -> None:
    many = " ".join(["w", *(f"a{n}" for n in range(2 * table.MOST_WORDS))])
    cells = to_frame((many, []), ("oil gas", []))["words"].tolist()
    words = cells[0].split(" | ")
    assert len(words) == table.MOST_WORDS
    assert words[:3] == ["w +0.5000", "a0 -0.1250", "a1 -0.1250"]
    assert cells[1] == "oil +0.5000 | gas -0.1250"


@pytest.mark.parametrize("options", [{}, {"ranking": "account"}, {"target": "Sailing"}])
def test_the_json_is_that_of_the_explanations(
    classifier: ICapsClassifier, options: dict[str, str]
) -> None:
    texts = [*make_texts(40, 3)[0], "", "zzyzx", "bread \ufffd 'x' | \n soup"]
    classes = [str(name) for name in classifier.classes_]
    explained = table.explain(classifier.reasons(texts, **options), classes, classifier.calibrated)
    columns = pd.DataFrame({"id": [str(n) for n in range(len(texts))]})
    written = explained.to_json({"model": "small", "weights": "ab"}, columns)
    rows = json.loads(written)
    assert written.count("\n") == len(texts)  # a text per line
    assert [row["columns"]["id"] for row in rows] == columns["id"].tolist()
    assert {(row["model"], row["weights"]) for row in rows} == {("small", "ab")}
    assert "columns" not in json.loads(explained.to_json({}, pd.DataFrame()))[0]
    for text, row, explanation in zip(
        texts, rows, classifier.explain(texts, **options), strict=True
    ):
        facts = explanation.to_dict()
        assert (row["text"], row["target"]) == (text, facts["target"])
        assert row["predicted"] == (None if explanation.blank else facts["predicted"])
        for name in ("scores", "probabilities", "bias", "covered"):
            expected = facts.get(name, explanation.covered)
            assert row[name] == pytest.approx(expected, abs=1e-6)
        for word, expected in zip(row["words"], facts["words"], strict=True):
            assert word == pytest.approx(expected, abs=1e-6)
        for kgram, expected in zip(row["kgrams"], facts["kgrams"], strict=True):
            assert kgram == pytest.approx({name: expected[name] for name in kgram}, abs=1e-6)
        total = row["bias"] + sum(word["share"] for word in row["words"])
        assert row["scores"][row["target"]] == pytest.approx(total, abs=1e-5)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1"])
def test_no_cell_is_a_formula(text: str) -> None:
    data = to_csv(to_frame((text, [text]), classes=("World", text)))
    assert data.startswith(b"\xef\xbb\xbf")  # Excel takes a CSV without it for Latin-1
    (row,) = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert {row["text"], row["predicted"], row["K-grams"]} == {f"'{text}"}
    assert row["norm World"] == "0.125"


def test_texts_survive_the_csv() -> None:
    texts = ['a "quote", and\na line', "a\r=1", "x = y", "日本 👩🏽‍🔬", "'tis", ""]
    data = to_csv(to_frame(*((text, []) for text in texts)))
    rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert [row["text"] for row in rows] == texts


def test_the_file_keeps_the_columns_of_the_texts_and_names_the_model() -> None:
    explained = table.explain([reasons(("oil, gas", []), ("b", []))], CLASSES, lambda norms: norms)
    columns = pd.DataFrame({"id": ["7", "8"], "predicted": ["x", "=1+1"], "model": ["m", "n"]})
    facts = {"model": "small", "weights": "abcd"}
    frame = explained.to_file(facts, columns)
    assert frame["id"].tolist() == ["7", "8"]
    assert frame["predicted (file)"].tolist() == ["x", "=1+1"]
    assert frame["model (file)"].tolist() == ["m", "n"]
    assert frame["predicted"].tolist() == ["Business", "Business"]
    assert frame["model"].tolist() == ["small", "small"]
    assert frame["weights"].tolist() == ["abcd", "abcd"]
    assert b"'=1+1" in to_csv(frame)
    assert explained.to_file(facts, pd.DataFrame()).columns.tolist()[:2] == ["text", "predicted"]


def test_predicted_classes_are_counted() -> None:
    counted = charts.class_table(pd.Series(["a", "b", "b", "", "b"]))
    assert counted.to_dict("list") == {"class": ["b", "a"], "texts": [3, 1], "share": [0.75, 0.25]}
    many = charts.class_table(pd.Series([f"c{n}" for n in range(25)]))
    assert len(many) == charts.MOST_CLASSES + 1
    assert many.iloc[-1].tolist() == ["5 more", 5, 0.2]
    charts.class_bars(many, "#000000").to_dict()
    assert charts.class_table(pd.Series([""])).empty
