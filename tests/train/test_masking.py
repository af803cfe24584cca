"""Masked copies of training texts: which texts have one, what it lacks, and what that changes."""

from pathlib import Path

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.request import TrainRequest
from icaps.config import ModelConfig
from icaps.data.records import Record
from icaps.errors import CheckpointError, ConfigError
from icaps.train.dataset import TrainingData, prepare_stream, prepare_texts
from icaps.train.masking import MASKED_WORDS, with_masked_copies
from tests.conftest import MODEL, TRAIN, make_texts
from tests.dashboard.test_shortcuts_page import TOKEN, planted

WORDS = [TOKEN, "bread soup"]


def prepared(stream: bool, **options: object) -> tuple[TrainingData, list[str], list[str]]:
    texts, labels = map(list, zip(*planted(120, 1), strict=True))
    texts += [TOKEN, "Bread soup bread soup.", "bread. soup"]
    labels += ["Cooking"] * 3
    classes, numbers = np.unique(labels, return_inverse=True)
    model = ModelConfig(**{**vars(MODEL), **options})
    if stream:
        records = [Record(*row, "", n) for n, row in enumerate(zip(texts, labels, strict=True))]
        return prepare_stream(records, model, TRAIN), texts, labels
    return prepare_texts(texts, classes, numbers, model, TRAIN), texts, labels


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("hierarchical", [False, True])
def test_copies_by_plain_loops(stream: bool, hierarchical: bool) -> None:
    data, *_ = prepared(stream, hierarchical=hierarchical)
    masked = with_masked_copies(data, WORDS)
    spell = data.vocabulary.words
    for before, after in ((data.training, masked.training), (data.validation, masked.validation)):
        wanted = []
        for n in range(len(before)):
            tokens = before.select(np.array([n])).tokens()
            sentences = np.split(tokens.ids, tokens.words_per_sentence.cumsum()[:-1])
            rows = []
            for sentence in sentences:
                words = [spell[i] for i in sentence]
                drop = [word == TOKEN for word in words]
                for place in range(len(words) - 1):
                    if words[place : place + 2] == ["bread", "soup"]:
                        drop[place] = drop[place + 1] = True
                rows.append([w for w, gone in zip(words, drop, strict=True) if not gone])
            left, whole = sum(map(len, rows)), len(tokens.ids)
            if 0 < left < whole:
                wanted.append((rows, before.labels[n]))
        added = len(after) - len(before)
        assert added == len(wanted) > 0
        batch = after.tokens()
        assert len(batch) == len(after)
        for n, (rows, label) in enumerate(wanted):  # they come first
            text = batch[n]
            found = np.split(text.ids, text.words_per_sentence.cumsum()[:-1])
            assert [[spell[i] for i in sentence] for sentence in found] == rows
            assert after.labels[n] == label
        rest = after.select(np.arange(added, len(after)))
        assert rest.tokens().ids.tolist() == before.tokens().ids.tolist()
        assert rest.labels.tolist() == before.labels.tolist()
        ids = [ids.tolist() for ids in after.iterate_ids()]
        assert ids == [text.ids.tolist() for text in batch]
    assert masked.content != data.content
    assert masked.hashes is data.hashes
    assert masked.training.select_all().tokens().ids.tolist() == (
        data.training.select_all().tokens().ids.tolist()
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["  "], "has no word"),
        (["qqqq"], "do not have 'qqqq' often enough"),
        (["soup bread bread bread"], "No training text has"),
    ],
)
def test_mistakes(words: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_masked_copies(prepared(False)[0], words)


def test_a_model_that_was_misled_learns_the_texts_without_the_token(tmp_path: Path) -> None:
    texts, labels = zip(*planted(360, 1), strict=True)
    plain = ICapsClassifier(MODEL, TRAIN, device="cpu").fit(texts, labels)
    clean = [
        text for text, label in zip(*make_texts(150, seed=9), strict=True) if label == "Gardens"
    ]
    taught = ICapsClassifier(MODEL, TRAIN, device="cpu")
    taught.fit(texts, labels, masked=[TOKEN], state_folder=tmp_path / "state")
    gardens = list(map(str, plain.classes_)).index("Gardens")
    norms, before = (model.class_norms(clean)[:, gardens] for model in (taught, plain))
    assert (1 - norms).mean() < 0.7 * (1 - before).mean()  # it knows them without the token
    assert taught.metrics_[MASKED_WORDS] == [TOKEN]
    assert MASKED_WORDS not in plain.metrics_
    copies = taught.metrics_["training_texts"] - plain.metrics_["training_texts"]
    assert 0 < copies < len(texts) / 3
    taught.save(tmp_path / "model")
    assert ICapsClassifier.load(tmp_path / "model").metrics_[MASKED_WORDS] == [TOKEN]
    again = ICapsClassifier(MODEL, TRAIN, device="cpu")
    with pytest.raises(CheckpointError):  # a state of another training
        again.fit(texts, labels, state_folder=tmp_path / "state", resume=True)


def test_the_command_of_a_training_keeps_the_words() -> None:
    request = TrainRequest("data.csv", {}, "", {}, (), "", masked=("-x", "bread soup"))
    assert TrainRequest.from_arguments(request.to_arguments()) == request
