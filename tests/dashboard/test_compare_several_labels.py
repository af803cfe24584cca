"""The page Compare for models with several labels per text."""

import json
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.compare.several_labels import (
    DISAGREEMENTS,
    MATCHED,
    REASONS,
    SCORES,
    SIZES,
    TABS,
)
from icaps.baselines.base import LINEAR
from icaps.baselines.fit_baseline import fit_baseline
from icaps.baselines.storage import load_baseline, save_baseline
from icaps.classifier import ICapsClassifier
from icaps.data.label_sets import label_set
from icaps.evaluate.comparison_texts import sample_texts
from icaps.evaluate.multilabel_compare import compare_multilabel, predict_sets_timed
from icaps.evaluate.multilabel_scores import multilabel_scores
from tests.baselines import test_several_labels
from tests.dashboard import run_folders
from tests.dashboard.run_folders import run
from tests.dashboard.visitor import errors
from tests.evaluate.test_label_set_predictions import labelled
from tests.several_labels import NORMS, with_thresholds

BOTH = "several,linear (baseline)"


@pytest.fixture(autouse=True)
def folders(
    models: Path, classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    with_thresholds(classifier, NORMS).save(models / "several")
    save_baseline(fit_baseline(LINEAR, test_several_labels.labelled(120, 2)), models / "linear")
    return models


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "sets.jsonl"
    rows = [{"label": list(label_set(label) or ()), "text": text} for text, label in labelled()]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def opened(data: Path, tab: str = SCORES, compared: str = BOTH) -> AppTest:
    at = run_folders.open_page("compare", data=str(data), compared=compared)
    at.session_state["compare_tab"] = tab
    return run(at)


def table(at: AppTest, n: int = 0) -> pd.DataFrame:
    return at.dataframe[n].value


def test_scores(folders: Path, data: Path) -> None:
    at = opened(data)
    assert not errors(at)
    assert [tab.label for tab in at.tabs] == list(TABS)
    classifier, baseline = (
        ICapsClassifier.load(folders / "several"),
        load_baseline(folders / "linear"),
    )
    classes = [str(name) for name in classifier.classes_]
    sample = sample_texts(labelled(), classes, multilabel=True)
    first, second = (
        predict_sets_timed(name, own, sample) for name, own in (("a", classifier), ("b", baseline))
    )
    shown = table(at)
    assert shown["model"].tolist() == BOTH.split(",")
    scores = [multilabel_scores(own) for own in (first, second)]
    for column, name in (("macro F1", "macro_f1"), ("all labels right", "subset_accuracy")):
        assert shown[column].tolist() == [f"{own[name]:.2%}" for own in scores]
    gain = compare_multilabel(first, second).differences["macro_f1"]
    assert shown["difference from first"].tolist() == ["–", f"{gain.value:+.2%}"]
    assert shown["its 95% interval"].iloc[1] == f"{gain.low:+.2%} to {gain.high:+.2%}"


def test_disagreements_and_speed(data: Path) -> None:
    at = opened(data, DISAGREEMENTS)
    assert not errors(at)
    (row,) = table(at).to_dict("records")
    assert float(row["same, class by class"].rstrip("%")) >= float(row["same classes"].rstrip("%"))
    listed = table(at, 1)
    assert set(BOTH.split(",")) <= set(listed)
    assert all("%" in cell or cell == "nothing" for cell in listed["several"])
    at = opened(data, SIZES)
    assert not errors(at)
    assert table(at)["texts per second"].gt(0).all()


def test_reasons_for_each_class(folders: Path, data: Path, classifier: ICapsClassifier) -> None:
    with_thresholds(classifier, (0.3, 0.3, 0.3)).save(folders / "eager")
    at = opened(data, REASONS, "several,eager,linear (baseline)")
    assert not errors(at)
    listed = table(at)
    predicted = ICapsClassifier.load(folders / "several").predict_labels([t for t, _ in labelled()])
    assert len(listed) == sum(map(len, predicted))  # all of which the eager one predicts, too
    assert listed["in common"].tolist() == pytest.approx([1] * len(listed))
    captions = " ".join(caption.value for caption in at.caption)
    assert f"{len(listed)} pairs of a text and a class that both predict for it" in captions
    at = opened(data, MATCHED, "several,eager")
    assert not errors(at)
    assert any("Capsule statistics have not been computed" in info.value for info in at.info)


def test_a_tab_of_models_of_one_label_is_left(data: Path) -> None:
    at = opened(data, "Published")
    assert not errors(at)
    assert at.session_state["compare_tab"] == SCORES


def test_only_models_of_as_many_labels_are_preselected(data: Path) -> None:
    at = run_folders.open_page("compare", data=str(data), model="several")
    assert not errors(at)
    assert at.multiselect[0].value == BOTH.split(",")  # "small" has the same classes


def test_a_model_of_one_label_is_an_error(data: Path) -> None:
    at = opened(data, compared="several,small")
    assert any("small gives a text one label, and the first model several" in e for e in errors(at))
