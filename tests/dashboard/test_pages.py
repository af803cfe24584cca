"""The pages Explain and Many texts, without a browser."""

from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard import glossary
from dashboard.example_texts import EXAMPLES
from dashboard.many.inputs import FILE
from dashboard.url_state import MAX_LINK, PREDICTED
from dashboard.widgets.data_list import UPLOAD
from icaps.classifier import ICapsClassifier
from icaps.explanation_parts import KGram
from icaps.html import chance, escape
from icaps.runs.folder import Request, RunFolder
from icaps.train.examples import Example, save_examples
from tests.dashboard import visitor
from tests.dashboard.run_folders import open_page
from tests.dashboard.visitor import (
    choose,
    evidence,
    lines,
    open_app,
    page_html,
    routing_lines,
    run,
    shown_text,
    type_text,
    verdict,
)

COOKING = "Simmer the onion soup, then bake bread with butter."
SAILING = "The crew raised the mast and the anchor before the tide."
FIRST = next(iter(EXAMPLES.values()))


def test_the_landing_page_explains_an_example() -> None:
    at = open_app()
    assert at.title[0].value == "Why this class?"
    assert at.text_area(key="text").value == FIRST
    assert shown_text(at) == FIRST
    assert verdict(at) in ("Cooking", "Gardens", "Sailing")
    assert "<dd>Cooking, Gardens, Sailing</dd>" in page_html(at)
    assert "<dt>Trained on</dt><dd>324 texts</dd>" in page_html(at)
    assert not at.error


def test_the_explanation_equals_that_of_the_library(classifier: ICapsClassifier) -> None:
    (expected,) = classifier.explain([COOKING], ranking="account")
    at = type_text(open_app(), COOKING)
    assert verdict(at) == expected.predicted == "Cooking"
    first, second = sorted(expected.probabilities, reverse=True)[:2]
    runner_up = expected.classes[expected.probabilities.index(second)]
    assert lines(at, "sure") == [f"{chance(first)} probability, {runner_up} {chance(second)}"]
    assert evidence(at) == [row_of(kgram) for kgram in expected.kgrams]
    (expected,) = classifier.explain([COOKING])  # by the paper's rule
    at = open_app(text=COOKING, ranking="routing")
    assert evidence(at) == [row_of(kgram) for kgram in expected.kgrams]
    assert len(routing_lines(at)) == 4 + 2 * 3  # K-grams, and capsules to classes


def row_of(kgram: KGram) -> list[str]:
    """The cells of a K-gram in the table of evidence."""
    numbers = [f"{kgram.routing:.3f}", f"{kgram.attention:.3f}"]
    return [kgram.text, f"{kgram.share:+.3f}", kgram.capsule_label, *numbers]


def test_an_example_changes_text_and_prediction(classifier: ICapsClassifier) -> None:
    (expected,) = classifier.explain([EXAMPLES["Made-up words"]])
    own = SAILING if expected.predicted == "Cooking" else COOKING  # so that the answer changes
    at = type_text(open_app(), own)
    assert verdict(at) != expected.predicted
    at.button_group(key="example").select("Made-up words")
    run(at)
    assert at.text_area(key="text").value == EXAMPLES["Made-up words"]
    assert shown_text(at) == EXAMPLES["Made-up words"]
    assert verdict(at) == expected.predicted
    type_text(at, SAILING)  # a text of one's own is no example any more
    assert at.button_group(key="example").value is None
    assert (shown_text(at), verdict(at)) == (SAILING, "Sailing")


def test_another_class_can_be_explained(classifier: ICapsClassifier) -> None:
    at = choose(type_text(open_app(ranking="routing"), COOKING), "target", "Sailing")
    (expected,) = classifier.explain([COOKING], target="Sailing")
    assert verdict(at) == "Cooking"  # the prediction stays
    assert lines(at, "sure")[0].endswith("shown is the evidence for Sailing")
    assert [row[3] for row in evidence(at)] == [f"{k.routing:.3f}" for k in expected.kgrams]
    visitor.open_tab(at, "Attention")
    assert f"β {expected.kgrams[0].routing:.2f} for Sailing" in page_html(at)


@pytest.mark.parametrize(("k1", "k2"), [(1, 1), (1, 3), (3, 1), (8, 5)])
def test_the_numbers_of_capsules_and_kgrams(k1: int, k2: int, classifier: ICapsClassifier) -> None:
    at = type_text(open_app(ranking="routing"), COOKING)
    at.slider(key="k1").set_value(k1)
    at.slider(key="k2").set_value(k2)
    rows = evidence(run(at))
    capsules = min(k1, classifier.model.num_capsules)
    assert len(rows) == capsules * k2
    assert len({row[2] for row in rows}) == capsules
    visitor.open_tab(at, "Attention")
    assert page_html(at).count('class="chart-title"') == capsules


def test_a_link_reopens_text_model_and_settings() -> None:
    at = choose(type_text(open_app(), COOKING), "target", "Gardens")
    at.slider(key="k1").set_value(3)
    address = run(at).query_params
    assert address == {
        "text": COOKING,
        "model": "small",
        "target": "Gardens",
        "k1": "3",
        "k2": "2",
        "sentences": "1",
        "ranking": "account",
        "weights": at.query_params["weights"],
    }
    again = open_app(**address)
    assert again.text_area(key="text").value == COOKING
    assert again.selectbox(key="target").value == "Gardens"
    assert (again.slider(key="k1").value, again.slider(key="k2").value) == (3, 2)
    assert page_html(again) == page_html(at)


def test_back_and_forward_work_but_a_late_address_is_ignored() -> None:
    at = type_text(open_app(), COOKING)
    before = dict(at.query_params)
    type_text(at, SAILING)
    at.query_params.clear()
    at.query_params.update(before)  # Back
    assert shown_text(run(at)) == COOKING
    at.query_params.update(text=SAILING)  # typing goes on before the browser has the new address
    assert shown_text(type_text(at, FIRST)) == FIRST
    assert at.query_params["text"] == FIRST


@pytest.mark.parametrize(
    "address",
    [
        {"k1": "0"},
        {"k1": "9", "k2": "-1"},
        {"k1": "two", "k2": ""},
        {"k1": "²", "k2": "2.0"},
        {"k1": "9" * 5_000},
        {"model": "../../etc"},
        {"target": "<script>alert(1)</script>"},
        {"page": "2", "text[]": "bread"},
    ],
)
def test_a_wrong_address_is_ignored(address: dict[str, str]) -> None:
    at = open_app(**address)
    assert shown_text(at) == FIRST
    assert (at.selectbox(key="model").value, at.selectbox(key="target").value) == (
        "small",
        PREDICTED,
    )
    assert (at.slider(key="k1").value, at.slider(key="k2").value) == (2, 2)
    assert at.query_params == {
        "text": FIRST,
        "model": "small",
        "target": PREDICTED,
        "k1": "2",
        "k2": "2",
        "sentences": "1",
        "ranking": "account",
        "weights": at.query_params["weights"],
    }


def test_a_long_text_is_left_out_of_the_address() -> None:
    text = "bread " * (MAX_LINK // 6 + 1)
    at = type_text(open_app(), text)
    assert "text" not in at.query_params
    assert [caption.value for caption in at.caption if "2,000" in caption.value]
    assert shown_text(at) == text
    assert "text" in type_text(at, COOKING).query_params


def test_two_visitors_do_not_mix() -> None:
    one, two = open_app(), open_app()
    type_text(one, COOKING)
    choose(type_text(two, SAILING), "target", "Gardens")
    one.slider(key="k2").set_value(1)
    run(one)
    run(two)
    assert (shown_text(one), verdict(one)) == (COOKING, "Cooking")
    assert (shown_text(two), verdict(two)) == (SAILING, "Sailing")
    assert one.selectbox(key="target").value == PREDICTED
    assert two.slider(key="k2").value == 2


def test_many_texts_as_a_table(classifier: ICapsClassifier) -> None:
    at = run(open_app().switch_page("../pages/many.py"))
    assert at.title[0].value == "Many texts"
    assert len(at.dataframe[0].value) == len(EXAMPLES)  # at first those of the model
    at.text_area(key="lines").set_value("")
    assert run(at).button[0].disabled
    texts = [COOKING, SAILING, "=1+1", "a <b> & c"]
    at.text_area(key="lines").set_value("\n".join(texts))
    assert run(at).button[0].label == "Explain 4 texts"
    assert not at.dataframe  # only after the button was pressed
    at.button[0].click()
    table = run(at).dataframe[0].value
    assert isinstance(table, pd.DataFrame)
    expected = list(classifier.explain(texts))
    assert table["text"].tolist() == texts
    assert table["predicted"].tolist()[:2] == ["Cooking", "Sailing"]
    assert table["probability"].tolist() == [round(max(e.probabilities), 4) for e in expected]
    assert table["norm Gardens"].tolist() == [round(e.scores[1], 4) for e in expected]
    covered = [one.covered for one in classifier.explain(texts, ranking="account")]
    assert table["covered"].tolist() == pytest.approx(covered, abs=1e-4)
    download, whole = at.main.get("download_button")[-2:]  # after those of the chart
    assert (download.label, download.proto.url) == ("CSV", "")  # written when it is pressed
    assert whole.label == "JSON"
    at.slider(key="k1").set_value(1)  # another question: the old answers would not fit
    assert not run(at).dataframe


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def many_of_file(name: str, content: bytes) -> AppTest:
    at = run(open_app().switch_page("../pages/many.py"))
    at.button_group(key="many source").select(FILE)
    run(at)
    if at.selectbox(key="many data").value != UPLOAD:
        at.selectbox(key="many data").select(UPLOAD)
        run(at)
    at.file_uploader[0].set_value((name, content, "text/csv"))
    return run(at)


def test_the_texts_of_a_file_keep_their_columns(cache: Path) -> None:
    at = many_of_file("a.csv", '\ufeffid,text\n7,"two\nlines"\n9,bread\n'.encode())
    assert at.selectbox(key="many data").value == "upload: a.csv"
    assert at.query_params["data"].endswith("/a.csv")
    at.button[0].click()
    table = run(at).dataframe[0].value
    assert table["text"].tolist() == ["two\nlines", "bread"]
    assert table["id (file)"].tolist() == ["7", "9"]
    assert [b.label for b in at.main.get("download_button") if b.label in ("CSV", "JSON")][-2:]
    again = AppTest.from_file(str(visitor.HOME), default_timeout=30)
    again.query_params.update(at.query_params)
    again.switch_page("../pages/many.py")
    assert run(again).selectbox(key="many data").value == "upload: a.csv"
    assert [b.label for b in again.button if b.label.startswith("Explain 2")]


def test_the_column_of_the_texts_is_asked_for(cache: Path) -> None:
    rows = [f"{n},the review number {n} is long,and one more number {n} here is" for n in range(30)]
    at = many_of_file("b.csv", "\n".join(["number,wording,other wording", *rows]).encode())
    assert "b\\.csv has the columns number, wording, other wording" in at.info[0].value
    assert not visitor.errors(at)
    value = at.query_params.get("data") or str(next(cache.glob("uploads/*/b.csv")))
    at.multiselect(key=f"many text shown {value}").set_value(["wording"])
    run(at)
    next(button for button in at.button if button.label == "Use these columns").click()
    assert not run(at).info
    assert [b.label for b in at.button if b.label == "Explain 30 texts"]


def test_large_files_are_read_in_part(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = many_of_file("c.txt", b"some bread\n" * 5_001)
    assert [b.label for b in at.button if b.label == "Explain 5,000 texts"]
    assert any("The first 5,000 texts are read" in caption.value for caption in at.caption)


def test_text_and_options_survive_a_visit_to_another_page() -> None:
    at = choose(type_text(open_app(), COOKING), "target", "Gardens")
    at.query_params.clear()  # as the browser does when the page is changed
    run(at.switch_page("../pages/many.py"))
    assert at.selectbox(key="target").value == "Gardens"
    run(at.switch_page("../pages/explain.py"))
    assert shown_text(at) == COOKING
    assert at.selectbox(key="target").value == "Gardens"


def test_examples_are_those_of_the_model(models: Path, classifier: ICapsClassifier) -> None:
    classifier.save(models / "own")
    save_examples([Example("Sea", SAILING), Example("<b>Kitchen", COOKING)], models / "own")
    at = open_app(model="own")
    assert shown_text(at) == SAILING
    assert at.button_group(key="example").value == "Sea"
    at.button_group(key="example").select("<b>Kitchen")
    assert shown_text(run(at)) == COOKING
    again = open_app(**at.query_params)  # after a reload the example is chosen
    assert again.button_group(key="example").value == "<b>Kitchen"
    choose(at, "model", "small")  # has none of its own
    assert shown_text(at) == FIRST
    type_text(at, "bread of my own")
    choose(at, "model", "own")
    assert shown_text(at) == "bread of my own"
    assert at.button_group(key="example").value is None
    assert shown_text(open_app(model="own", text=FIRST)) == FIRST  # a link has its text
    arguments = ("train", "--data", "x.csv", "--watch", "The tide is out.")
    classifier.save(models / "trains")
    RunFolder(models / "trains").write_request(Request(arguments, str(models)))
    assert shown_text(open_page("explain", model="trains")) == "The tide is out."


def test_an_empty_text_has_no_answer() -> None:
    at = type_text(open_app(), "")
    assert verdict(at) == "Type some text to see a prediction."
    assert at.text_area(key="text").placeholder
    page = page_html(at)
    assert 'class="classes"' not in page
    assert "Link to this explanation" not in page
    assert all(button.proto.disabled for button in at.main.get("download_button"))
    assert not any(b.proto.disabled for b in type_text(at, COOKING).get("download_button"))


def test_terms_have_a_sentence_at_hand() -> None:
    at = open_app()
    (fold,) = (box for box in at.expander if box.label == "How to read this")
    assert not fold.proto.expanded
    for term in ("capsule", "K-gram", "routing", "attention", "norm", "share", "bias", "k₁", "k₂"):
        assert f"<dt>{term}</dt><dd>{escape(glossary.sentence(term))}</dd>" in page_html(at)
    assert at.slider(key="k1").help == glossary.sentence("k₁")


def test_all_scores_are_in_a_tab_of_their_own(classifier: ICapsClassifier) -> None:
    at = visitor.open_tab(type_text(open_app(), COOKING), "Scores")
    (expected,) = classifier.explain([COOKING], ranking="account")
    table = at.dataframe[0].value
    names, *columns = zip(*expected.ranked_classes, strict=True)
    assert table["class"].tolist() == list(names)
    for name, column in zip(("probability", "norm"), columns, strict=True):
        assert table[name].tolist() == pytest.approx(column, abs=1e-6)
    assert (table["norm"] - table["bias"]).iloc[0] == pytest.approx(
        sum(word.share for word in expected.words), abs=1e-5
    )
