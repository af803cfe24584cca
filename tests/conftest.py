"""A few hundred texts of our own, and a small model trained on them once for all tests."""

import csv
import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig, TrainConfig
from icaps.data.source import open_source
from icaps.interpret.global_view import DataReference, make_view, save_view
from icaps.text import vectors

settings.register_profile("unhurried", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("unhurried")
torch.set_num_threads(1)  # the networks are tiny: more threads only wait for each other

TOPICS = {
    "Cooking": "oven bread onion soup butter recipe simmer garlic flour bake",
    "Gardens": "soil seeds rose prune shade compost bulbs lawn weeds harvest",
    "Sailing": "harbour sail mast tide anchor crew keel wind deck rudder",
}
COMMON = [
    "the",
    "a",
    "and",
    "we",
    "then",
    "with",
    "some",
    "for",
    "today",
    "very",
    "old",
    "new",
    "small",
    "they",
    "like",
    "it",
    "before",
    "after",
]


def make_texts(count: int, seed: int) -> tuple[list[str], list[str]]:
    """`count` short texts: words of one topic among common ones."""
    rng = random.Random(seed)
    texts, labels = [], []
    for n in range(count):
        label = list(TOPICS)[n % len(TOPICS)]
        words = rng.choices(COMMON, k=rng.randint(3, 9))
        words += rng.choices(TOPICS[label].split(), k=rng.randint(2, 4))
        rng.shuffle(words)
        texts.append(" ".join(words).capitalize() + ".")
        labels.append(label)
    return texts, labels


MODEL = ModelConfig(
    fixed_dim=8,
    trained_dim=8,
    region_dim=24,
    query_dim=4,
    class_dim=6,
    max_words=50,
    embedding_dropout=0.1,
    dropout=0.1,
    word_dropout=0.1,
)
TRAIN = TrainConfig(
    min_frequency=0, learning_rate=0.01, batch_size=32, epochs=8, average_decay=0.9, seed=1
)


@pytest.fixture(scope="session", autouse=True)
def texts_alone() -> Iterator[None]:
    """Made-up texts need no vectors of English, which cost a second and 8 MB per training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "DEFAULT_SOURCES", (vectors.TEXTS,))
        yield


@pytest.fixture
def default_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default sources of word vectors, as users have them."""
    monkeypatch.setattr(vectors, "DEFAULT_SOURCES", (vectors.ENGLISH,))


@pytest.fixture(scope="session", autouse=True)
def data_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Data sets and encoded texts of the tests stay out of the user's cache."""
    os.environ["ICAPS_DATA"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture(autouse=True)
def network_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an app forbids the processes it starts ends with its test."""
    monkeypatch.setenv("ICAPS_NETWORK", "ask")


@pytest.fixture(autouse=True)
def own_main_module() -> Iterator[None]:
    """Streamlit leaves a page as `__main__`, which processes that a later test spawns would run."""
    before = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = before


@pytest.fixture(scope="session")
def classifier() -> ICapsClassifier:
    return ICapsClassifier(MODEL, TRAIN, device="cpu").fit(*make_texts(360, seed=1))


@pytest.fixture(scope="session")
def model_folder(classifier: ICapsClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(classifier, tmp_path_factory)


def saved(classifier: ICapsClassifier, places: pytest.TempPathFactory) -> Path:
    """The folder of a classifier that is called small."""
    folder = places.mktemp("models") / "small"
    classifier.save(folder)
    return folder


@pytest.fixture(scope="session")
def data_file(data_folder: None) -> Path:
    """Labelled texts of the small model's classes, in the folder of data sets."""
    path = Path(os.environ["ICAPS_DATA"]) / "texts.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "label"))
        writer.writerows(zip(*make_texts(120, seed=9), strict=True))
    return path


@pytest.fixture(scope="session")
def interpreted(
    classifier: ICapsClassifier,
    model_folder: Path,
    data_file: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The folder of the small model with its global view."""
    return with_view(classifier, model_folder, data_file, tmp_path_factory)


def with_view(
    classifier: ICapsClassifier, saved: Path, data_file: Path, places: pytest.TempPathFactory
) -> Path:
    """A copy of a classifier's folder with the view of these texts."""
    folder = places.mktemp("interpreted") / "small"
    shutil.copytree(saved, folder)
    data = DataReference(str(data_file), "test", {})
    save_view(make_view(classifier, folder, data, open_source(data_file, "test")), folder)
    return folder


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets, where it is at hand."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("the real data sets are not here")
    return folder
