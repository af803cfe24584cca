"""Explanations as columns: the numbers of `explain`, without its objects."""

from typing import Any

import numpy as np
import pytest

from icaps.bulk.columns import ExplanationColumns
from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions
from icaps.data.surrogates import replace_surrogates
from icaps.errors import ConfigError
from tests.conftest import make_texts
from tests.several_labels import NORMS, mixed_texts, with_thresholds

ODD = [
    "",
    "zzyzx",
    "Bread &amp; soup",
    "bread \ud800 soup",
    "🍞 bread\n\nCafe\u0301 soup",
    "\0 bread",
]


def rows_of(columns: ExplanationColumns, texts: list[str]) -> list[dict[str, Any]]:
    table = columns.explain(texts)
    table.validate(full=True)
    assert table.schema == columns.schema
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


@pytest.mark.parametrize("ranking", ["routing", "account"])
@pytest.mark.parametrize("target", [None, "Gardens"])
def test_each_row_is_the_explanation_of_its_text(
    classifier: ICapsClassifier, ranking: str, target: str | None
) -> None:
    texts = [*make_texts(40, 3)[0], *ODD, " ".join(make_texts(30, 4)[0])]
    options = ExplainOptions(ranking=ranking, target=target)
    rows = rows_of(ExplanationColumns(classifier, options), texts)
    for text, row, one in zip(texts, rows, classifier.explain(texts, options), strict=True):
        assert (row["problem"] is not None) == one.blank == (row["predicted"] is None)
        if not one.blank:
            assert (row["predicted"], row["target"]) == (one.predicted, one.target)
            probability = dict(zip(one.classes, one.probabilities, strict=True))[one.target]
            assert row["probability"] == pytest.approx(probability, abs=1e-6)
        assert list(row["scores"]) == list(one.classes)
        assert list(row["scores"].values()) == pytest.approx(list(one.scores), abs=1e-6)
        expected = pytest.approx(list(one.probabilities), abs=1e-6)
        assert list(row["probabilities"].values()) == expected
        assert row["score"] == pytest.approx(one.score, abs=1e-6)
        assert row["bias"] == pytest.approx(one.bias, abs=1e-6)
        spans = [(word["start"], word["end"]) for word in row["words"]]
        assert spans == [(word.start, word.end) for word in one.words]
        shares = [word["share"] for word in row["words"]]
        assert shares == pytest.approx([word.share for word in one.words], abs=1e-6)
        assert row["bias"] + sum(shares) == pytest.approx(row["score"], abs=1e-5)
        kgrams = [(each["start"], each["end"], each["capsule"]) for each in row["kgrams"]]
        assert kgrams == [(each.start, each.end, each.capsule) for each in one.kgrams]
        clean = replace_surrogates(text)
        for each in row["kgrams"]:
            assert clean[each["start"] : each["end"]] == each["text"]
        assert (row["unknown_share"], row["truncated"]) == (one.unknown_share, one.truncated)


def test_why_nothing_is_predicted(classifier: ICapsClassifier) -> None:
    columns = ExplanationColumns(classifier)
    table = columns.explain(["", "zzyzx", "", "soup"], {2: "it is damaged"})
    empty, unknown, unread, good = table.to_pylist()
    assert empty["problem"] == "the text has no words"
    assert unknown["problem"] == "the model knows none of the words"
    assert set(unknown["scores"].values()) == {0.0}
    assert unread.pop("problem") == "it is damaged"
    assert set(unread.values()) == {None}
    assert good["problem"] is None


def test_the_top_words_are_spelled_and_the_largest(classifier: ICapsClassifier) -> None:
    texts = [*make_texts(20, 5)[0], *ODD]
    every = rows_of(ExplanationColumns(classifier), texts)
    first = rows_of(ExplanationColumns(classifier, top_words=3), texts)
    for text, all_of_it, row in zip(texts, every, first, strict=True):
        largest = sorted(all_of_it["words"], key=lambda word: -abs(word["share"]))[:3]
        clean = replace_surrogates(text)
        spelled = [{"text": clean[word["start"] : word["end"]], **word} for word in largest]
        assert row["words"] == spelled


def test_numbers_do_not_depend_on_what_was_read_before(classifier: ICapsClassifier) -> None:
    """A lookup table that is built on the way would change the last digits."""
    texts, before = make_texts(30, 6)[0], make_texts(2_000, 7)[0]
    fresh, warm = (ExplanationColumns(classifier) for _ in range(2))
    warm.explain(before)
    assert warm.explain(texts).equals(fresh.explain(texts))


def test_several_labels(classifier: ICapsClassifier) -> None:
    model = with_thresholds(classifier, NORMS)
    texts = [*mixed_texts(), "zzyzx"]
    rows = rows_of(ExplanationColumns(model), texts)
    sizes = set()
    for row, one in zip(rows, model.explain(texts), strict=True):
        if one.blank:
            assert row["predicted"] is None
            continue
        assert row["predicted"] == list(one.predicted_classes or ())
        assert row["target"] == one.target
        sizes.add(len(row["predicted"]))
    assert {0, 1, 2} <= sizes


def test_capsules_that_are_off_and_no_texts(classifier: ICapsClassifier) -> None:
    table = ExplanationColumns(classifier.without([0])).explain(make_texts(20, 8)[0])
    assert 0 not in {each["capsule"] for row in table["kgrams"].to_pylist() for each in row}
    empty = ExplanationColumns(classifier).explain([])
    assert (len(empty), empty.schema) == (0, table.schema)


def test_an_unknown_class(classifier: ICapsClassifier) -> None:
    columns = ExplanationColumns(classifier, ExplainOptions(target="Cars"))
    with pytest.raises(ConfigError, match="no class 'Cars'"):
        columns.explain(["soup"])


def test_numbers_are_float32(classifier: ICapsClassifier) -> None:
    """What JSON has as a number of Python is a float32 there, too."""
    (row,) = rows_of(ExplanationColumns(classifier), ["Fresh bread and soup"])
    (one,) = classifier.explain(["Fresh bread and soup"])
    for value in (row["bias"], *row["scores"].values(), *one.to_dict()["scores"].values()):
        assert float(np.float32(value)) == value
