"""Explanations for shap, pandas and notebooks, and the contrast of two classes."""

import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError
from icaps.explanation_parts import Account
from icaps.exports import INSTALL
from icaps.faithfulness.reason_results import LEVELS
from icaps.results import Explanation
from tests.interpret.test_corpus import texts, untrained
from tests.several_labels import NORMS, mixed_texts, with_thresholds
from tests.test_word_account import explanation as by_hand

ROOT = Path(__file__).parents[1]
TEXT = "Bake  the <b>bread</b>, then raise\nthe sail; & the mast"


@pytest.fixture(scope="module")
def explained(classifier: ICapsClassifier) -> Explanation:
    (explanation,) = classifier.explain([TEXT])
    return explanation


def old(explanation: Explanation) -> Explanation:
    """As an older version wrote it."""
    return replace(explanation, account=Account.of([], []), capsule_account=Account.of([], []))


def test_shap_values_and_base_values_sum_to_the_norms(classifier: ICapsClassifier) -> None:
    pytest.importorskip("shap")
    for explanation in classifier.explain([TEXT, "Bake bread", "bread", "zzyzx"]):
        values = explanation.to_shap()
        assert values.values.shape == (len(explanation.words), len(explanation.classes))
        assert values.output_names == list(explanation.classes)
        totals = values.base_values + values.values.sum(0)
        assert totals == pytest.approx(explanation.scores, abs=1e-5)
        assert "".join(values.data) == explanation.text
        words = [explanation.text[word.start : word.end] for word in explanation.words]
        assert list(values.feature_names) == words
        assert all(word in piece for word, piece in zip(words, values.data, strict=True))


def test_shap_has_no_texts_without_words(classifier: ICapsClassifier) -> None:
    with pytest.raises(ConfigError, match="no words"):
        next(classifier.explain([""])).to_shap()


def test_a_text_that_is_cut_ends_where_it_was_read(explained: Explanation) -> None:
    pytest.importorskip("shap")
    cut = replace(
        explained,
        words=explained.words[:3],
        account=Account.of(explained.account.shares[:3], explained.account.bias),
        truncated=True,
    )
    assert "".join(cut.to_shap().data) == TEXT[: explained.words[2].end] + " …"


def test_the_plots_of_shap(explained: Explanation) -> None:
    shap = pytest.importorskip("shap")
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    values = explained.to_shap()
    one = values[:, explained.target]
    for part in (values, one):
        page = shap.plots.text(part, display=False)
        assert "&lt;b" in page or "&lt;" in page
        assert "<b>bread" not in page
    for plot in (shap.plots.waterfall, shap.plots.bar):
        axes = plot(one, show=False)
        labels = [label.get_text() for label in axes.get_yticklabels()]
        words = [TEXT[word.start : word.end] for word in explained.words]
        largest = words[int(np.abs(one.values).argmax())]
        assert any(label.endswith(f"= {largest}") for label in labels)
        pyplot.close("all")


def test_without_shap_the_error_names_the_extra(
    explained: Explanation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "shap", None)
    with pytest.raises(ConfigError, match="icaps\\[shap\\]") as caught:
        explained.to_shap()
    assert INSTALL in str(caught.value)


def test_an_older_explanation_says_that_it_has_no_shares(explained: Explanation) -> None:
    for call in (old(explained).to_shap, lambda: old(explained).contrast("Sailing")):
        with pytest.raises(ConfigError, match="older version"):
            call()
    assert "share of Sailing" not in old(explained).to_frame()
    assert "icaps-text" in old(explained)._repr_html_()


def test_a_row_per_word(classifier: ICapsClassifier, explained: Explanation) -> None:
    frame = explained.to_frame(by_capsule=True)
    assert frame["word"].tolist() == [TEXT[word.start : word.end] for word in explained.words]
    assert frame["share"].tolist() == [word.share for word in explained.words]
    assert frame["kgrams"].tolist() == [word.count for word in explained.words]
    assert not frame["sentence"].any()
    for name, score, bias in zip(
        explained.classes, explained.scores, explained.account.bias, strict=True
    ):
        assert frame[f"share of {name}"].sum() + bias == pytest.approx(score, abs=1e-5)
    capsules = frame[[name for name in frame if name.startswith("capsule ")]]
    assert capsules.shape[1] == len(explained.capsule_account.bias)
    assert capsules.sum(axis=1).to_numpy() == pytest.approx(frame["share"].to_numpy(), abs=1e-5)
    assert not any(name.startswith("capsule") for name in explained.to_frame())
    (empty,) = classifier.explain([""])
    assert len(empty.to_frame()) == 0
    assert list(empty.to_frame()) == list(explained.to_frame())


def test_sentences_are_numbered() -> None:
    long_classifier = untrained(hierarchical=True)
    (explanation,) = long_classifier.explain([texts(1, seed=6)[0][0]])
    frame = explanation.to_frame()
    starts = [sentence.start for sentence in explanation.sentences]
    assert len(starts) > 1
    for _, row in frame.iterrows():
        expected = max(n for n, start in enumerate(starts) if start <= row["start"])
        assert row["sentence"] == expected
    assert set(frame["sentence"]) == set(range(len(starts)))


def test_the_contrast_by_hand() -> None:
    explanation = by_hand()
    contrast = explanation.contrast("World")
    assert (contrast.target, contrast.other) == ("Business", "World")
    assert [word.share for word in contrast.words] == pytest.approx(
        [word.share for word in explanation.words]  # those for World are zero
    )
    assert (contrast.bias, contrast.total) == pytest.approx((0, explanation.score - 0.1))
    facts = contrast.to_dict()
    assert facts["words"][0] == contrast.words[0]._asdict()
    for wrong in ("Business", "Chess"):
        with pytest.raises(ConfigError, match="not one of the other classes: World"):
            explanation.contrast(wrong)


def test_the_contrast_adds_up_and_turns_its_sign(classifier: ICapsClassifier) -> None:
    one, two = (next(classifier.explain([TEXT], target=name)) for name in ("Cooking", "Sailing"))
    there, back = one.contrast("Sailing"), two.contrast("Cooking")
    assert there.bias + sum(word.share for word in there.words) == pytest.approx(
        there.total, abs=1e-5
    )
    assert (there.total, there.bias) == pytest.approx((-back.total, -back.bias), abs=1e-6)
    shares = [[word.share for word in contrast.words] for contrast in (there, back)]
    assert shares[0] == pytest.approx([-share for share in shares[1]], abs=1e-6)


class Page(HTMLParser):
    """Counts the elements, and reads the text outside of the style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags, self._tag = "", [], ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._tag = tag
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._tag = ""

    def handle_data(self, data: str) -> None:
        self.text += data if self._tag != "style" else ""


def test_what_a_notebook_shows(classifier: ICapsClassifier, explained: Explanation) -> None:
    page = explained._repr_html_()
    shown = Page(page)
    assert explained.verdict in shown.text
    assert "&lt;" in page
    assert not {"b", "script", "link", "img"} & set(shown.tags)
    assert shown.tags.count("style") == 1
    assert "url(" not in page
    assert "vscode-dark" in page
    for text in ("", "zzyzx"):
        (blank,) = classifier.explain([text])
        assert blank.verdict in Page(blank._repr_html_()).text


def test_the_examples_of_the_documentation_run(
    classifier: ICapsClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    page = (ROOT / "docs" / "explaining.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 6
    names: dict[str, Any] = {}
    several = {"classifier": with_thresholds(classifier, NORMS), "text": mixed_texts()[-2]}
    for example in examples:
        if "shap" not in example:
            exec(example, several if "several labels" in example else names)
    assert several["own"].target == several["explanation"].predicted_classes[-1]
    assert "values" not in names
    assert names["contrast"].other == "World"
    assert names["test"].level in LEVELS


def test_the_library_stays_light() -> None:
    heavy = ("shap", "pandas", "torch")
    code = f"import sys, icaps.results; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"
