"""The words that misled: against loops over explanations, by hand, and in tables."""

from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import pytest

from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import format_label_set
from icaps.evaluate import misleading
from icaps.evaluate.misleading import (
    EXTRA,
    MISLED_BY,
    MISSED,
    add_misled_by,
    misleading_words,
    set_contrasts,
    total_contrasts,
    total_set_contrasts,
    word_contrasts,
)
from tests.interpret.test_corpus import CLASSES, hand_set, texts, untrained
from tests.several_labels import NORMS, mixed_texts, with_thresholds


@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"kernel_size": 2}])
def test_contrasts_are_differences_of_accounts(options: dict[str, Any]) -> None:
    classifier = untrained(**options)
    written, labels = map(list, zip(*texts(40, seed=3), strict=True))
    written[4] = "qqqq"  # without a known word
    table = word_contrasts(classifier, written, labels)
    totals: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0] * 4)
    for n, explanation in enumerate(classifier.explain(written)):
        guess, own = explanation.predicted, labels[n]
        columns = explanation.account.shares
        sums: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        for word, shares in zip(explanation.words, columns, strict=True):
            row = sums[explanation.text[word.start : word.end]]
            row[0] += 1
            row[1] += float(shares[CLASSES.index(guess)])
            row[2] += float(shares[CLASSES.index(own)])
        rows = table[table["text"] == n]
        assert set(rows["word"]) == set(sums)
        assert set(rows["predicted"]) <= {guess}
        for row in rows.to_dict("records"):
            count, share, of_class = sums[row["word"]]
            assert row["count"] == count
            assert row["share"] == pytest.approx(share, abs=1e-6)
            assert row["share of class"] == pytest.approx(of_class, abs=1e-6)
            assert row["contrast"] == pytest.approx(share - of_class, abs=1e-6)
            total = totals[row["word"], guess]
            totals[row["word"], guess] = [
                total[0] + 1, total[1] + count, total[2] + share, total[3] + share - of_class
            ]  # fmt: skip
        assert (np.diff(rows["contrast"]) <= 0).all()
        biases = explanation.account.bias[[CLASSES.index(guess), CLASSES.index(own)]]
        scores = [explanation.scores[CLASSES.index(name)] for name in (guess, own)]
        whole = rows["contrast"].sum() + biases[0] - biases[1]
        assert whole == pytest.approx(scores[0] - scores[1], abs=1e-5)
    assert not table.loc[table["text"] == 4, "contrast"].any()
    summed = total_contrasts(classifier, written, labels)
    found = {(row["word"], row["predicted"]): row for row in summed.to_dict("records")}
    assert found.keys() == totals.keys()
    for key, (count, times, share, contrast) in totals.items():
        assert (found[key]["texts"], found[key]["count"]) == (count, times)
        assert found[key]["share"] == pytest.approx(share, abs=1e-5)
        assert found[key]["contrast"] == pytest.approx(contrast, abs=1e-5)
        assert found[key]["contrast per text"] == pytest.approx(contrast / count, abs=1e-5)
    assert (np.diff(summed["contrast"]) <= 0).all()


def test_totals_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = untrained()
    written, labels = zip(*texts(30, seed=4), strict=True)
    whole = total_contrasts(classifier, written, labels)
    monkeypatch.setattr(misleading, "_BLOCK", 7)
    pd.testing.assert_frame_equal(total_contrasts(classifier, written, labels), whole)
    none = total_contrasts(classifier, [], [])
    assert list(none.columns) == list(whole.columns)
    assert none.empty


def test_a_network_set_by_hand() -> None:
    """Only "rose" adds to the garden, and only "bread" to the kitchen."""
    classifier = hand_set()
    written = ["rose the rose", "the bread", "rose the"]
    labels = ["kitchen", "kitchen", "garden"]
    norms = classifier.class_norms(written)
    table = word_contrasts(classifier, written, labels)
    first = table[table["text"] == 0]
    assert first["word"].tolist() == ["rose", "the"]
    assert first["predicted"].tolist() == ["garden"] * 2
    assert first["count"].tolist() == [2, 1]
    assert first["contrast"].tolist() == pytest.approx([norms[0, 1], 0], abs=1e-5)
    assert not table.loc[table["text"] > 0, "contrast"].any()  # these are right
    assert {n: rows["word"].tolist() for n, rows in misleading_words(table).items()} == {
        0: ["rose"]
    }
    totals = total_contrasts(classifier, written, labels).set_index(["word", "predicted"])
    assert totals.index[0] == ("rose", "garden")
    assert totals.loc[("rose", "garden"), "texts"] == 2
    assert totals.loc[("rose", "garden"), "share"] == pytest.approx(
        norms[[0, 2], 1].sum(), rel=1e-4
    )
    assert totals.index[1] == ("bread", "kitchen")  # by its share, as its contrast is 0


def test_a_table_of_texts_with_the_words_that_misled() -> None:
    classifier = hand_set()
    table = pd.DataFrame(
        {
            "text": ["the bread", "rose the rose", "the qqq"],
            "class": ["kitchen", "kitchen", "garden"],
            "right": [True, False, False],
        },
        index=[5, 6, 7],
    )
    found = add_misled_by(classifier, table)
    norm = classifier.class_norms(["rose the rose"])[0, 1]
    assert found[MISLED_BY].tolist() == ["", f"rose {norm:+.3f}", ""]
    pd.testing.assert_frame_equal(found.drop(columns=MISLED_BY), table)
    assert add_misled_by(classifier, table[:1])[MISLED_BY].tolist() == [""]


def test_at_most_some_words_of_each_text(classifier: ICapsClassifier) -> None:
    text = "soil seeds rose prune bread shade compost bulbs lawn"
    table = word_contrasts(classifier, [text, text], ["Cooking", "Gardens"])
    assert set(table["predicted"]) == {"Gardens"}
    (rows,) = misleading_words(table, 3).values()
    assert rows["text"].tolist() == [0] * 3
    own = table[table["text"] == 0]
    assert rows["contrast"].tolist() == sorted(own["contrast"], reverse=True)[:3]
    assert "bread" not in rows["word"].tolist()
    assert own["word"].iloc[-1] == "bread"


def test_contrasts_of_wrong_classes_are_shares_of_accounts(classifier: ICapsClassifier) -> None:
    several = with_thresholds(classifier, NORMS)
    written = [*mixed_texts(), "qqqq"]
    names = [str(name) for name in several.classes_]
    rng = np.random.default_rng(1)
    labels = rng.random((len(written), len(names))) < 0.4
    table = set_contrasts(several, written, labels)
    predicted = several.predict(written) > 0
    sums: dict[tuple[int, str, str, str], list[float]] = defaultdict(lambda: [0, 0.0])
    for n, explanation in enumerate(several.explain(written)):
        for j in np.flatnonzero(predicted[n] != labels[n]).tolist():
            sign, kind = (1, EXTRA) if predicted[n, j] else (-1, MISSED)
            for word, shares in zip(explanation.words, explanation.account.shares, strict=True):
                row = sums[n, written[n][word.start : word.end], names[j], kind]
                row[0] += 1
                row[1] += sign * float(shares[j])
    assert {kind for *_, kind in sums} == {EXTRA, MISSED}
    assert len(table) == len(sums)
    for row in table.to_dict("records"):
        count, contrast = sums[row["text"], row["word"], row["class"], row["kind"]]
        assert row["count"] == count
        assert row["contrast"] == pytest.approx(contrast, abs=1e-6)
    total = total_set_contrasts(several, written, labels)
    keys = ["word", "class", "kind"]
    by_hand = table.groupby(keys)["contrast"].agg(["size", "sum"])
    for row in total.to_dict("records"):
        own = by_hand.loc[tuple(row[key] for key in keys)]
        assert row["texts"] == own["size"]
        assert row["contrast"] == pytest.approx(own["sum"], abs=1e-6)
    assert (np.diff(total["contrast"]) <= 0).all()


def test_the_column_of_words_that_misled_with_several_labels(classifier: ICapsClassifier) -> None:
    several = with_thresholds(classifier, NORMS)
    written = mixed_texts()
    predicted = several.predict_labels(written)
    sets = [() if n < 3 else names for n, names in enumerate(predicted)]
    right = [set(a) == set(b) for a, b in zip(predicted, sets, strict=True)]
    table = pd.DataFrame(
        {"text": written, "classes": [format_label_set(names) for names in sets], "right": right}
    )
    column = add_misled_by(several, table)[MISLED_BY]
    assert not any(column[right])
    for n in np.flatnonzero(~np.array(right)).tolist():
        (name,) = predicted[n]
        assert column[n].count(f" ({name} {EXTRA})") == column[n].count("; ") + 1
