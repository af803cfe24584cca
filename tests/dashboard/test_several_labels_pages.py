"""The pages with a model of several labels per text: all classes that are predicted are shown."""

import csv
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.explain.charts import class_bars, drawn_classes
from dashboard.many import charts, table
from dashboard.train import view as train_view
from dashboard.url_state import PREDICTED
from dashboard.widgets.shaded_text import account_card
from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import format_label_set
from icaps.data.source import open_source
from icaps.interpret.global_view import DataReference, make_view, save_view
from icaps.reports.files import to_csv
from icaps.results import Explanation
from tests.dashboard.visitor import choose, open_app, page_html, run, type_text
from tests.interpret.test_counts_of_several_labels import LABELLED
from tests.several_labels import NORMS, mixed_texts, with_thresholds

TEXTS = [*mixed_texts(), "zzz"]
NONE = "the a and we"


@pytest.fixture(scope="module")
def several(classifier: ICapsClassifier) -> ICapsClassifier:
    return with_thresholds(classifier, NORMS)


@pytest.fixture
def folder(models: Path, several: ICapsClassifier) -> Path:
    """The only model."""
    shutil.rmtree(models / "small")
    several.save(models / "several")
    return models / "several"


@pytest.fixture(scope="module")
def two(several: ICapsClassifier) -> Explanation:
    """A text with two predicted classes."""
    explained = several.explain(TEXTS, ranking="account")
    return next(one for one in explained if len(one.given_classes) == 2)


def test_each_predicted_class_can_be_explained(
    folder: Path, several: ICapsClassifier, two: Explanation
) -> None:
    first, second = two.given_classes
    at = type_text(open_app(), two.text)
    page = page_html(at)
    assert page.index(f"{first} <i>") < page.index(f"{second} <i>")
    assert f"2 of 3 classes reach their thresholds · shown is the evidence for {first}" in page
    assert account_card(two) in page
    assert "add up to 100%" not in page.replace("need not add up to 100%", "")
    pills = at.button_group(key="predicted classes")
    assert pills.options == [first, second]
    assert pills.value == first
    assert at.button_group(key="shading").options == ["Every word", "K-grams"]
    pills.select(second)
    run(at)
    (other,) = several.explain([two.text], ranking="account", target=second)
    assert account_card(other) in page_html(at)
    assert at.selectbox(key="target").value == second
    assert at.query_params["target"] == second
    again = open_app(**at.query_params)
    assert page_html(again) == page_html(at)
    again.button_group(key="predicted classes").select(first)
    run(again)
    assert again.selectbox(key="target").value == PREDICTED
    assert account_card(two) in page_html(again)


def test_a_text_without_a_class(folder: Path) -> None:
    at = type_text(open_app(), NONE)
    page = page_html(at)
    assert '<p class="verdict">No class</p>' in page
    assert "The most probable is Sailing:" in page
    assert "its threshold is 50%" in page
    assert not [group for group in at.button_group if group.key == "predicted classes"]
    at.session_state["reasons"] = "Scores"
    run(at)
    scores = at.dataframe[-1].value
    assert scores["threshold"].tolist() == [0.5] * 3
    assert not scores["predicted"].any()


def test_a_class_that_is_not_predicted_can_be_explained(folder: Path, two: Explanation) -> None:
    (third,) = set(two.classes) - set(two.given_classes)
    at = choose(type_text(open_app(), two.text), "target", third)
    assert f"shown is the evidence for {third}" in page_html(at)
    assert at.button_group(key="predicted classes").value is None


def test_what_if_names_the_classes_that_are_lost(
    folder: Path, several: ICapsClassifier, two: Explanation
) -> None:
    at = open_app(text=two.text)
    at.session_state["try_words"] = True
    run(at)
    first, second = two.given_classes
    flip = next(line.value for line in at.markdown if "no longer predicted" in line.value)
    assert f"{first} is no longer predicted; {second} still is" in flip
    at.button(key="delete flip").click()
    run(at)
    assert any(f"{first} is no longer predicted" in box.value for box in at.warning)


def test_bars_have_thresholds_and_all_predicted_classes(two: Explanation) -> None:
    bars = class_bars(two)
    assert bars.count('<i style="--at: 0.500"') == 3
    assert bars.count('<tr class="below">') == 1
    names = tuple(f"class {n}" for n in range(20))
    many = Explanation.from_dict(
        two.to_dict()
        | {
            "classes": list(names),
            "scores": dict.fromkeys(names, 0.5),
            "probabilities": {name: 0.9 - n / 40 for n, name in enumerate(names)},
            "thresholds": dict.fromkeys(names, 0.6),
            "predicted": list(names[:10]),
            "target": names[19],
            "account": {},
            "words": [],
            "kgrams": [],
            "capsules": [],
            "capsule_account": [],
        }
    )
    assert drawn_classes(many) == [*names[:10], names[19]]


def test_many_texts(several: ICapsClassifier) -> None:
    classes = [str(name) for name in several.classes_]
    explained = table.explain(several.reasons(TEXTS), classes, several.calibrated)
    explanations = list(several.explain(TEXTS))
    frame = explained.table
    expected = ["" if one.blank else format_label_set(one.given_classes) for one in explanations]
    assert frame["predicted"].tolist() == expected
    assert "[]" in expected
    assert frame["probability"].tolist() == [
        round(one.probabilities[one.classes.index(one.target)], 4) for one in explanations
    ]
    facts = json.loads(explained.to_json({}, frame.iloc[:, :0]))
    for fact, one in zip(facts, explanations, strict=True):
        assert fact["predicted"] == list(one.given_classes)
        assert list(fact["accounts"]) == list(one.given_classes)
        for name, account in fact["accounts"].items():
            total = account["bias"] + sum(account["shares"])
            assert total == pytest.approx(fact["scores"][name], abs=1e-5)
    row = next(n for n, one in enumerate(explanations) if len(one.given_classes) == 2)
    first, second = explanations[row].given_classes
    cell = frame["words by class"][row]
    assert cell.startswith(f"{first}: {frame['words'][row]} ‖ {second}: ")
    chances = dict(zip(classes, explanations[row].probabilities, strict=True))
    assert frame["probabilities"][row] == (
        f"{first} {round(chances[first], 4)} | {second} {round(chances[second], 4)}"
    )
    rows = list(csv.DictReader(io.StringIO(to_csv(frame).decode("utf-8-sig"))))
    assert rows[row]["predicted"] == expected[row]
    counted = charts.class_table(frame["predicted"]).set_index("class")["texts"]
    for j, name in enumerate(classes):
        assert counted[name] == (several.class_norms(TEXTS)[:, j] >= NORMS[j]).sum()
    assert counted["no class"] == expected.count("[]")


def test_many_texts_on_the_page(folder: Path, several: ICapsClassifier, two: Explanation) -> None:
    at = run(open_app().switch_page("../pages/many.py"))
    at.text_area(key="lines").set_value("\n".join([two.text, NONE]))
    run(at)
    at.button[-1].click()
    run(at)
    shown = at.dataframe[0].value
    assert shown["predicted"].tolist() == [", ".join(sorted(two.given_classes)), "no class"]
    expected = {"all (2)", "no class (1)", *(f"{name} (1)" for name in two.given_classes)}
    assert set(at.selectbox(key="many class").options) == expected
    choose(at, "many class", "no class (1)")
    assert at.dataframe[0].value["text"].tolist() == [NONE]


def test_the_watched_text_of_a_training_names_all_classes(
    several: ICapsClassifier, two: Explanation
) -> None:
    first, second = two.given_classes
    chances = dict(zip(two.classes, two.probabilities, strict=True))
    expected = f"{first} ({chances[first]:.0%}), {second} ({chances[second]:.0%})"
    assert train_view._prediction(two) == f"{expected}; shown is {first}"
    (none,) = several.explain([NONE])
    assert train_view._prediction(none) == f"no class; shown is {none.target}"


@pytest.fixture
def counted(folder: Path, several: ICapsClassifier, tmp_path: Path) -> Path:
    """The model with counts over texts of several labels, whose excerpts are stored."""
    data = tmp_path / "several.jsonl"
    lines = [json.dumps({"text": text, "label": json.loads(label)}) for text, label in LABELLED]
    data.write_text("\n".join(lines), encoding="utf-8")
    source = DataReference(str(data), "train", {})
    view = make_view(ICapsClassifier.load(folder), folder, source, open_source(data, "train"))
    save_view(view, folder)
    return folder


def open_page(name: str, **address: str) -> AppTest:
    at = open_app(**address)
    return run(at.switch_page(f"../pages/{name}.py"))


def test_capsules_count_each_predicted_class(counted: Path, several: ICapsClassifier) -> None:
    given = several.class_norms(TEXTS) >= np.array(NORMS)
    at = open_page("capsules")
    metrics = {metric.label: metric.value for metric in at.metric}
    assert "Micro F1" in metrics
    assert "Accuracy" not in metrics
    captions = " ".join(caption.value for caption in at.caption)
    assert f"{given.sum()} predicted classes, each of which is counted" in captions
    assert "of the predicted classes (" in page_html(at)
    for tab in ("Typical texts", "Your text", "Switched off"):
        at.session_state["capsule_tab"] = tab
        run(at)
        page = page_html(at)
        assert "[&#34;" not in page
        assert '["' not in page
    assert "Micro F1 lost with each capsule switched off" in page
    assert "micro F1 of" in " ".join(caption.value for caption in at.caption)
    queries = open_page("queries")
    assert "of the predicted classes (" in page_html(queries)
