"""The state of each page is in its link: a link sets the widgets, and they change it."""

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.url_state import (
    CAPSULES,
    COMPARE,
    DATASETS,
    EVALUATE,
    EXPLAIN,
    LABEL,
    LABEL_NEW,
    MANY,
    PARAMETERS,
    QUERIES,
    SHORTCUTS,
    TRAIN,
    in_address,
)
from icaps.classifier import ICapsClassifier
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.explore.index import make_index
from icaps.runs.folder import DONE, Status
from icaps.train.checkpoint_files import weights_fingerprint
from tests.dashboard.run_folders import open_page, run, write_run


@pytest.fixture(autouse=True)
def seen(models: Path, interpreted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two interpreted models, and data sets of the test's own."""
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    shutil.rmtree(models / "small")
    for name in ("one", "two"):
        shutil.copytree(interpreted, models / name)
    return models


def shown(at: AppTest) -> dict[str, str]:
    """The address, without what every link of the page has."""
    names = [in_address(name) for name, entry in PARAMETERS.items() if not entry.always]
    return {name: at.query_params[name] for name in names if name in at.query_params}


def test_capsules() -> None:
    address = {"cell_value": "share", "columns": "number", "capsule_tab": "K-grams"}
    at = open_page("capsules", model="one", capsule="1", **address)
    # Of the address none; the small model has too few capsules that win texts.
    assert all("predicted classes" in warning.value for warning in at.warning)
    assert at.selectbox(key="cell_value").value == "share"
    assert at.selectbox(key="columns").value == "number"
    assert at.session_state["capsule_tab"] == "K-grams"
    assert shown(at) == address
    at.selectbox(key="columns").select("class")  # as at first
    assert shown(run(at)) == {"cell_value": "share", "capsule_tab": "K-grams"}


def test_queries() -> None:
    address = {"space": "queries", "method": "tsne", "perplexity": "7.0", "map_seed": "3"}
    at = open_page("queries", model="one", **address)
    assert all("predicted classes" in warning.value for warning in at.warning)  # see above
    assert at.selectbox(key="space").value == "queries"
    assert (at.slider(key="perplexity").value, at.number_input(key="map_seed").value) == (7, 3)
    at.selectbox(key="method").select("pca")
    assert shown(run(at)) == {**address, "method": "pca"}


def test_back_takes_a_look_back() -> None:
    at = open_page("queries", model="one")
    before = dict(at.query_params)
    at.selectbox(key="method").select("pca")
    assert shown(run(at)) == {"method": "pca"}
    at.query_params.clear()
    at.query_params.update(before)
    assert run(at).selectbox(key="method").value == "tsne"
    assert at.query_params == before


def test_many() -> None:
    at = open_page("many", model="two", lines="bread\nsoup", k1="3", ranking="contribution")
    assert at.text_area(key="lines").value == "bread\nsoup"
    assert at.slider(key="k1").value == 3
    assert at.selectbox(key="ranking").value == "contribution"
    at.text_area(key="lines").set_value("anchor")
    assert run(at).query_params["lines"] == "anchor"
    at.text_area(key="lines").set_value("anchor\n" * 1_000)
    assert "lines" not in run(at).query_params


def test_evaluate(seen: Path, data_file: Path) -> None:
    classifier = ICapsClassifier.load(seen / "one")
    weights = weights_fingerprint(seen / "one")
    evaluate_data(classifier, weights, EvaluationData(data_file, "test", {}))
    address = {"cells_show": "shares of the class", "card_limit": "50"}
    at = open_page(
        "evaluate", model="one", data=str(data_file), evaluate_tab="Confusion", **address
    )
    assert not at.warning
    assert at.button_group(key="cells show").value == "shares of the class"
    assert shown(at) == address


def test_datasets(data_file: Path) -> None:
    make_index(data_file, {})
    address = {"data_tabs": "Rows", "rows_words": "soup", "rows_regex": "b.*d"}
    at = open_page("datasets", data=str(data_file), model="one", **address)
    assert at.text_input(key="rows words").value == "soup"
    assert at.text_input(key="rows regex").value == "b.*d"
    at.text_input(key="rows words").set_value("bread")
    assert shown(run(at)) == {**address, "rows_words": "bread"}


def test_compare(data_file: Path) -> None:
    address = {"compare_size": "500", "compare_tab": "Speed and size"}
    at = open_page("compare", compared="two,one", data=str(data_file), **address)
    assert not at.warning
    assert at.select_slider(key="compare size").value == 500
    assert at.session_state["compare_tab"] == "Speed and size"
    assert shown(at) == address


def test_train(seen: Path) -> None:
    for name in ("a", "b", "c"):
        write_run(seen, name, Status(DONE))
    address = {"train_tabs": "Log", "beside": "b,c"}
    at = open_page("train", run="a", **address)
    assert at.multiselect(key="beside").value == ["b", "c"]
    at.multiselect(key="beside").set_value(["c"])
    assert shown(run(at)) == {"train_tabs": "Log", "beside": "c"}


@pytest.mark.parametrize(
    "address",
    [
        {"perplexity": "nan", "map_seed": "-1", "space": "<b>"},
        {"perplexity": "1e9", "map_seed": "1.5", "method": ""},
    ],
)
def test_what_can_not_be_meant_is_left_out(address: dict[str, str]) -> None:
    at = open_page("queries", model="one", **address)
    assert shown(at) == {}
    assert (at.slider(key="perplexity").value, at.number_input(key="map_seed").value) == (10, 0)


def test_every_parameter_of_a_page_is_known_and_reads_what_it_writes() -> None:
    pages = (EXPLAIN, MANY, CAPSULES, QUERIES, TRAIN, DATASETS, COMPARE, SHORTCUTS, EVALUATE)
    pages += (LABEL, LABEL_NEW)
    assert {name for page in pages for name in page} == PARAMETERS.keys()
    values = {"beside": ["a", "b c"], "capsule": 3}
    for name, entry in PARAMETERS.items():
        value = values.get(name, entry.default)
        assert entry.read(entry.write(value)) == value, name
