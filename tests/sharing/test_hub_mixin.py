"""Models on the Hugging Face Hub: what is uploaded, downloaded and refused, on a local server."""

import copy
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import constants

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main
from icaps.errors import CheckpointError, ConfigError, HubError
from icaps.evaluate.evaluation import EvaluationData, evaluate_data
from icaps.evaluate.report import make_report
from icaps.interpret.edits import neutral_words
from icaps.reports.model_card import ModelCard, evaluated_data, make_card
from icaps.train.checkpoint_files import weights_fingerprint
from tests.sharing.model_hub import ModelHub, serve

REPO = "ada/small"
TEXTS = ["Bread and onion soup.", "Prune the rose in the shade.", "The anchor and the mast."]
MODEL_FILES = {
    "README.md",
    "capsules.json",
    "classes.txt",
    "config.json",
    "history.jsonl",
    "metrics.json",
    "model.safetensors",
    "texts.safetensors",
    "vocabulary.txt",
}


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelHub]:
    with serve() as server:
        use_endpoint(server.url, monkeypatch)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub_cache"))
        yield server


def use_endpoint(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As HF_ENDPOINT, which is read when huggingface_hub is imported."""
    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def test_what_is_uploaded_is_what_is_downloaded(classifier: ICapsClassifier, hub: ModelHub) -> None:
    address = classifier.push_to_hub("small", license="mit", token="hf_secret", private=True)
    assert address == f"{hub.url}/{REPO}/commit/{hub.sha(REPO)}"
    assert hub.tokens == {"Bearer hf_secret"}
    assert hub.created[0]["visibility"] == "private"
    assert set(hub.repositories[REPO]) == MODEL_FILES
    assert len(hub.commits) == 1

    loaded = ICapsClassifier.from_pretrained(REPO, revision="main", device="cpu")
    np.testing.assert_allclose(loaded.class_norms(TEXTS), classifier.class_norms(TEXTS), atol=1e-6)
    asked = len(hub.requests)
    again = ICapsClassifier.from_pretrained(REPO, local_files_only=True, device="cpu")
    assert len(hub.requests) == asked
    np.testing.assert_array_equal(again.class_norms(TEXTS), loaded.class_norms(TEXTS))


@pytest.fixture(scope="module")
def card(interpreted: Path, data_file: Path) -> ModelCard:
    """The card of the small model on texts that it was not trained on."""
    classifier = ICapsClassifier.load(interpreted, device="cpu")
    texts = EvaluationData(data_file, "test", {}, interpreted)
    weights = weights_fingerprint(interpreted)
    report = make_report(evaluate_data(classifier, weights, texts))
    data = evaluated_data(str(data_file), data_file, "test", report)
    return make_card(classifier, interpreted, data, None, None)


def readme(content: bytes) -> tuple[dict[str, Any], str]:
    """The metadata of a README, and its text."""
    card = huggingface_hub.ModelCard(content.decode())
    return card.data.to_dict(), card.text


def test_the_readme_is_the_card(
    classifier: ICapsClassifier, card: ModelCard, hub: ModelHub, interpreted: Path
) -> None:
    classifier.push_to_hub(REPO, card=card, license="mit", language="en", texts_from=interpreted)
    metadata, text = readme(hub.repositories[REPO]["README.md"])
    results = metadata.pop("model-index")[0]["results"]
    assert metadata == {
        "language": "en",
        "license": "mit",
        "library_name": "icaps",
        "pipeline_tag": "text-classification",
        "tags": ["capsule-network", "explainable-ai", "icaps", "interpretability"],
    }
    (result,) = results
    assert result["dataset"]["name"] == "texts.csv"
    accuracy = card.facts["evaluation"]["accuracy"]
    assert [metric["type"] for metric in result["metrics"]] == ["accuracy", "f1"]
    assert result["metrics"][0]["value"] == accuracy
    assert card.to_bytes("markdown").decode() in text
    assert f'ICapsClassifier.from_pretrained("{REPO}")' in text
    shown = {name for name in hub.repositories[REPO] if name not in MODEL_FILES}
    assert {"global_view/view.json", "global_view/kgrams.parquet"} <= shown
    labels = ICapsClassifier.load(interpreted, device="cpu").capsule_labels_
    assert ICapsClassifier.from_pretrained(REPO, device="cpu").capsule_labels_ == labels


@pytest.mark.parametrize("leak", [True, False])
def test_scores_on_texts_of_the_training_are_no_metadata(
    leak: bool, classifier: ICapsClassifier, card: ModelCard, tmp_path: Path
) -> None:
    facts = {**card.facts}
    if leak:
        facts["leak"] = {"training": 3}
    else:
        facts["data"] = {**facts["data"], "part": "held_out"}
    plain = PlainCard(facts)
    classifier.save_pretrained(tmp_path / "shared", card=plain)
    metadata, text = readme((tmp_path / "shared" / "README.md").read_bytes())
    assert "model-index" not in metadata
    assert "The card." in text


class PlainCard:
    def __init__(self, facts: dict[str, Any]) -> None:
        self.facts = facts

    def to_bytes(self, format_: str) -> bytes:
        return b"# The card.\n" if format_ == "markdown" else b""


def test_a_readme_without_a_card_says_what_is_known(
    classifier: ICapsClassifier, tmp_path: Path
) -> None:
    folder = tmp_path / "`odd` & <b>name</b>"
    classifier.save_pretrained(folder)
    metadata, text = readme((folder / "README.md").read_bytes())
    assert "license" not in metadata
    assert "model-index" not in metadata  # it was not tested
    assert "one of 3 classes (Cooking, Gardens, Sailing)" in text
    assert "It was not evaluated on texts that had no part in its training." in text
    assert "<b>" not in text.split("```")[0]
    tested = copy.copy(classifier)
    tested.metrics_ = classifier.metrics_ | {"test": {"n": 9, "accuracy": 0.875, "macro_f1": 0.5}}
    tested.save_pretrained(folder)  # replaces the README
    metadata, text = readme((folder / "README.md").read_bytes())
    values = {m["name"]: m["value"] for m in metadata["model-index"][0]["results"][0]["metrics"]}
    assert values == {"accuracy": 0.875, "macro F1": 0.5}
    assert "accuracy 87.50%, macro F1 50.00%." in text
    assert ICapsClassifier.from_pretrained(folder, device="cpu").metrics_ == tested.metrics_


@pytest.mark.parametrize("value", [None, 3, "x", ["x"], {"accuracy": "x"}])
def test_metrics_may_hold_anything(value: Any, classifier: ICapsClassifier, tmp_path: Path) -> None:
    odd = copy.copy(classifier)
    names = ("test", "masked_words", "vocabulary_size", "validation_accuracy", "warnings")
    odd.metrics_ = dict.fromkeys(names, value)
    odd.save_pretrained(tmp_path / "odd")
    metadata, text = readme((tmp_path / "odd" / "README.md").read_bytes())
    assert "model-index" not in metadata
    assert "It was not evaluated" in text


def test_a_card_of_other_weights_is_refused(
    classifier: ICapsClassifier, card: ModelCard, hub: ModelHub
) -> None:
    other = PlainCard({**card.facts, "weights": "0" * 64})
    with pytest.raises(ConfigError, match="other weights"):
        classifier.push_to_hub(REPO, card=other)
    assert not hub.commits


def test_files_of_an_earlier_model_are_deleted(classifier: ICapsClassifier, hub: ModelHub) -> None:
    edited = classifier.edited([neutral_words("soup")])
    edited.push_to_hub(REPO)
    hub.repositories[REPO]["notes.txt"] = b"by hand"
    assert "edits.json" in hub.repositories[REPO]
    assert ICapsClassifier.from_pretrained(REPO, device="cpu").edits_ == edited.edits_
    classifier.push_to_hub(REPO)
    assert set(hub.repositories[REPO]) == MODEL_FILES | {"notes.txt"}
    loaded = ICapsClassifier.from_pretrained(REPO, force_download=True, device="cpu")
    assert loaded.edits_ == ()


def test_only_files_of_a_model_are_downloaded(
    model_folder: Path, hub: ModelHub, tmp_path: Path
) -> None:
    files = {path.name: path.read_bytes() for path in model_folder.iterdir() if path.is_file()}
    hub.repositories[REPO] = files | {"weights.pkl": b"hostile", "../out.json": b"{}"}
    ICapsClassifier.from_pretrained(REPO, cache_dir=tmp_path / "cache", device="cpu")
    names = {path.name for path in (tmp_path / "cache").rglob("*") if path.is_file()}
    assert "config.json" in names
    assert not names & {"weights.pkl", "out.json"}


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocabulary.txt"])
@pytest.mark.parametrize("content", [b"", b"[1, 2]", b"\x80\x04}q."])
def test_hostile_files(name: str, content: bytes, model_folder: Path, hub: ModelHub) -> None:
    files = {path.name: path.read_bytes() for path in model_folder.iterdir() if path.is_file()}
    hub.repositories[REPO] = files | {name: content}
    with pytest.raises(CheckpointError):
        ICapsClassifier.from_pretrained(REPO, device="cpu")


def test_a_repository_of_another_library(hub: ModelHub) -> None:
    hub.repositories[REPO] = {"pytorch_model.bin": b"1"}
    with pytest.raises(HubError, match=r"no config\.json, so it is not"):
        ICapsClassifier.from_pretrained(REPO)
    hub.repositories[REPO] = {"config.json": b'{"model_type": "bert", "folder": "/"}'}
    with pytest.raises(CheckpointError, match="no iCaps checkpoint"):
        ICapsClassifier.from_pretrained(REPO, revision="second")


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (404, "RepoNotFound", "neither a folder nor a repository ada/small, or it is private"),
        (401, "", "401 Unauthorized. Give a token"),
        (403, "GatedRepo", "accept them on its page"),
        (404, "RevisionNotFound", "no such branch, tag or commit"),
    ],
)
def test_what_the_hub_refuses(status: int, code: str, message: str, hub: ModelHub) -> None:
    hub.refusals["/api/models/"] = (status, code)
    with pytest.raises(HubError, match=message):
        ICapsClassifier.from_pretrained(REPO)


def test_an_upload_that_is_refused(classifier: ICapsClassifier, hub: ModelHub) -> None:
    hub.refusals["/api/repos/create"] = (403, "")
    with pytest.raises(HubError, match=r"403 Forbidden\. Give a token"):
        classifier.push_to_hub(REPO)
    hub.refusals = {"/commit/": (413, "")}
    with pytest.raises(HubError, match="413"):
        classifier.push_to_hub(REPO)


@pytest.mark.parametrize("name", ["no such/name here", "a/b/c", "not_there", "../secret", ""])
def test_names_that_are_none(name: str, hub: ModelHub) -> None:
    with pytest.raises((HubError, CheckpointError)):
        ICapsClassifier.from_pretrained(name)
    assert not hub.tokens or name == "not_there"  # which may be a repository


def test_without_a_connection(
    classifier: ICapsClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        use_endpoint(f"http://127.0.0.1:{closed.getsockname()[1]}", monkeypatch)
        with pytest.raises(HubError, match=r"cannot be downloaded: .*connection"):
            ICapsClassifier.from_pretrained(REPO, cache_dir=tmp_path)
        with pytest.raises(HubError, match=r"cannot be uploaded: .*connection"):
            classifier.push_to_hub(REPO)
    with pytest.raises(HubError, match="not in the cache"):
        ICapsClassifier.from_pretrained(REPO, cache_dir=tmp_path, local_files_only=True)
    monkeypatch.setenv("ICAPS_NETWORK", "never")
    with pytest.raises(HubError, match="ICAPS_NETWORK forbids it"):
        ICapsClassifier.from_pretrained(REPO)
    with pytest.raises(HubError, match="ICAPS_NETWORK forbids it"):
        classifier.push_to_hub(REPO)


def test_a_folder_is_read_without_the_library_of_the_hub(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "icaps.sharing.hub_repository", raising=False)
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)  # importing it fails
    assert ICapsClassifier.from_pretrained(model_folder, device="cpu").predict(["anchor"])
    with pytest.raises(ImportError):
        ICapsClassifier.from_pretrained(REPO)


def test_the_command(
    model_folder: Path, data_file: Path, hub: ModelHub, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--data", str(data_file), "--license", "mit", "--private", "--branch", "next"]
    assert main(["push", "--model", str(model_folder), "--to", REPO, *options]) == 0
    assert capsys.readouterr().out == f"{hub.url}/{REPO}/commit/{hub.sha(REPO)}\n"
    assert set(hub.repositories[REPO]) == MODEL_FILES
    metadata, text = readme(hub.repositories[REPO]["README.md"])
    assert metadata["license"] == "mit"
    assert "# Model card: small" in text
    assert f"POST /api/models/{REPO}/commit/next" in hub.requests


def test_a_model_is_pulled_to_a_folder(
    classifier: ICapsClassifier, interpreted: Path, hub: ModelHub, tmp_path: Path
) -> None:
    folder = tmp_path / "runs" / "pulled"
    classifier.push_to_hub(REPO, texts_from=interpreted)
    assert main(["pull", REPO, "--out", str(folder), "--revision", "main"]) == 0
    labels = ICapsClassifier.load(interpreted, device="cpu").capsule_labels_
    assert ICapsClassifier.load(folder, device="cpu").capsule_labels_ == labels
    assert not [path for path in folder.rglob("*") if path.is_symlink()]
    (folder / "notes.txt").write_text("mine", encoding="utf-8")
    classifier.push_to_hub(REPO)  # without texts
    assert main(["pull", REPO, "--out", str(folder)]) == 0
    assert not (folder / "global_view").exists()
    assert (folder / "notes.txt").exists()


def test_a_damaged_model_replaces_nothing(
    model_folder: Path, hub: ModelHub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {path.name: path.read_bytes() for path in model_folder.iterdir() if path.is_file()}
    hub.repositories[REPO] = files | {"model.safetensors": b"damaged"}
    assert main(["pull", REPO, "--out", str(tmp_path / "new")]) == 2
    assert "model.safetensors is damaged" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_bytes(b"1")
    asked = len(hub.requests)
    assert main(["pull", REPO, "--out", str(tmp_path / "photos")]) == 2
    assert "is not a checkpoint" in capsys.readouterr().err
    assert len(hub.requests) == asked


@pytest.mark.parametrize("path", ["global_view/../../../evil.json", "global_view/../config.json"])
def test_paths_that_leave_the_repository(
    path: str, model_folder: Path, hub: ModelHub, tmp_path: Path
) -> None:
    files = {path.name: path.read_bytes() for path in model_folder.iterdir() if path.is_file()}
    hub.repositories[REPO] = files | {path: b"{}"}
    with pytest.raises(HubError, match="cannot be downloaded"):
        ICapsClassifier.from_pretrained(REPO, cache_dir=tmp_path / "cache" / "hub", device="cpu")
    assert not list(tmp_path.rglob("evil.json"))
