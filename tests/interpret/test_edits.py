"""Edits: the terms that are left out of the account, by plain loops; save, load, undo."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig
from icaps.errors import CheckpointError, ConfigError
from icaps.interpret.account import BatchAccount
from icaps.interpret.edits import Edit, neutral_capsule, neutral_words
from icaps.train.checkpoint_files import weights_fingerprint
from tests.conftest import MODEL, TRAIN, make_texts

TEXTS = [
    "Bake the bread, then simmer the soup.",
    "The mast, the sail and the bread.",
    "Prune the old roses today.",
    "Bread bread bread and butter.",
    "Nothing of that.",
    "",
]


@pytest.fixture(scope="module", params=[False, True])
def model(request: pytest.FixtureRequest) -> ICapsClassifier:
    """A short and a long network, in float64."""
    settings = {**vars(MODEL), "hierarchical": request.param, "squash_primary": request.param}
    fitted = ICapsClassifier(ModelConfig(**settings), TRAIN, device="cpu")
    fitted.fit(*make_texts(150, seed=4))
    fitted.network_.double()
    return fitted


def by_hand(model: ICapsClassifier, neutral: list[Edit]) -> np.ndarray:
    """Class norms: the sum of the terms that no edit names, at least 0."""
    norms = []
    for text, account in zip(TEXTS, model.account(TEXTS), strict=True):
        (explanation,) = model.explain([text])
        words = [text[word.start : word.end] for word in explanation.words]
        shares, bias = account.shares(), account.bias
        row = []
        for j, name in enumerate(map(str, model.classes_)):
            total = 0.0
            for i in range(bias.shape[1]):
                edits = [edit for edit in neutral if edit.target in (None, name)]
                if any(edit.capsule == i for edit in edits):
                    continue
                total += bias[j, i]
                for m in range(len(words)):
                    if not any(covers(edit.words, words, m) for edit in edits if edit.words):
                        total += shares[m, i, j]
            row.append(max(total, 0.0))
        norms.append(row)
    return np.array(norms)


def covers(sequence: tuple[str, ...], words: list[str], place: int) -> bool:
    size = len(sequence)
    starts = range(max(0, place - size + 1), place + 1)
    return any(tuple(words[start : start + size]) == sequence for start in starts)


SETS = [
    [neutral_words("bread")],
    [neutral_words("bread", "Cooking")],
    [neutral_words("the sail"), neutral_words("bread", "Sailing")],
    [neutral_capsule(1)],
    [neutral_capsule(0, "Gardens"), neutral_words("bread"), neutral_words("the", "Gardens")],
]


@pytest.mark.parametrize("edits", SETS, ids=lambda edits: ", ".join(map(str, edits)))
def test_norms_are_the_sum_of_what_is_left(edits: list[Edit], model: ICapsClassifier) -> None:
    edited = model.edited(edits)
    wanted = by_hand(model, edits)
    np.testing.assert_allclose(edited.class_norms(TEXTS), wanted, atol=1e-12)
    alone = np.concatenate([edited.class_norms([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, wanted, atol=1e-12)
    assert not np.allclose(model.class_norms(TEXTS), wanted)  # the original is as it was


@pytest.mark.parametrize("edits", SETS, ids=lambda edits: ", ".join(map(str, edits)))
def test_each_form_of_the_account_leaves_out_the_same(
    edits: list[Edit], model: ICapsClassifier
) -> None:
    edited = model.edited(edits)
    for reading in edited._read(TEXTS):
        account = BatchAccount(edited.network_, reading)
        ends = reading.tokens.word_offsets
        whole = list(account.texts())
        for j, name in enumerate(map(str, edited.classes_)):
            targets = np.full(len(TEXTS), j)
            words, capsules = account.word_shares(targets), account.capsule_shares(targets)
            by_capsule, biases = account.by_capsule(targets), account.biases(targets)
            for n, text in enumerate(whole):
                part = slice(ends[n], ends[n + 1])
                np.testing.assert_allclose(words[part], text.by_class()[:, j], atol=1e-12)
                np.testing.assert_allclose(by_capsule[part], text.by_capsule(j), atol=1e-12)
                np.testing.assert_allclose(text.shares()[:, :, j], text.by_capsule(j), atol=1e-12)
                np.testing.assert_allclose(biases[n], text.bias[j].sum(), atol=1e-12)
                sums = text.by_capsule(j).sum(0) + text.bias[j]
                np.testing.assert_allclose(capsules[n], sums, atol=1e-12)
                for edit in edits:
                    if edit.target in (None, name) and edit.capsule is not None:
                        assert capsules[n, edit.capsule] == 0


def test_an_explanation_adds_up_and_shows_no_share(model: ICapsClassifier) -> None:
    edited = model.edited([neutral_words("bread", "Cooking")])
    for explanation in edited.explain(TEXTS[:4], target="Cooking"):
        total = explanation.bias + sum(word.share for word in explanation.words)
        assert max(total, 0) == pytest.approx(explanation.score, abs=1e-12)
        for word in explanation.words:
            if explanation.text[word.start : word.end] == "bread":
                assert word.share == 0
    (other,) = edited.explain(TEXTS[:1], target="Sailing")
    (before,) = model.explain(TEXTS[:1], target="Sailing")
    assert [word.share for word in other.words] == [word.share for word in before.words]


def test_a_kgram_lies_within_a_sentence(model: ICapsClassifier) -> None:
    edited = model.edited([neutral_words("soup . bake")])
    texts = ["We simmer the soup. Bake the bread.", "We bake. Soup today."]
    changed = ~np.isclose(edited.class_norms(texts), model.class_norms(texts)).all(1)
    assert changed.tolist() == [not model.network_.config.hierarchical, False]


def test_edits_are_saved_and_undone(model: ICapsClassifier, tmp_path: Path) -> None:
    edits = [neutral_words("bread", "Cooking", "no bread"), neutral_capsule(1)]
    copy = model.edited(edits)
    model.network_.float()
    copy.save(tmp_path / "edited")
    loaded = ICapsClassifier.load(tmp_path / "edited", device="cpu")
    assert loaded.edits_ == tuple(edits)
    np.testing.assert_allclose(loaded.class_norms(TEXTS), copy.class_norms(TEXTS), atol=1e-6)
    loaded.edited([]).save(tmp_path / "undone")
    assert not (tmp_path / "undone" / "edits.json").exists()
    undone = ICapsClassifier.load(tmp_path / "undone", device="cpu")
    assert undone.edits_ == ()
    np.testing.assert_allclose(undone.class_norms(TEXTS), model.class_norms(TEXTS), atol=1e-6)
    prints = {weights_fingerprint(tmp_path / name) for name in ("edited", "undone")}
    assert len(prints) == 2
    undone.save(tmp_path / "edited")  # in its place: the edits are gone
    assert not (tmp_path / "edited" / "edits.json").exists()
    model.network_.double()


def test_what_cannot_be_neutral(model: ICapsClassifier) -> None:
    for edits, message in (
        ([neutral_words("qqqq")], "does not know the word 'qqqq'"),
        ([neutral_words("bread", "Knitting")], "no class 'Knitting'"),
        ([neutral_capsule(99)], "no capsule 99"),
        ([neutral_words("bread"), neutral_words("bread")], "an edit 'bread' already"),
        ([neutral_capsule(n) for n in range(model.network_.config.num_capsules)], "All capsules"),
    ):
        with pytest.raises(ConfigError, match=message):
            model.edited(edits)
    with pytest.raises(ConfigError, match="no word"):
        neutral_words("  ")
    with pytest.raises(ConfigError, match="at most 60"):
        neutral_words("bread", name="x" * 61)


def test_a_network_with_an_activation_has_no_exact_shares() -> None:
    config = ModelConfig(**{**vars(MODEL), "activation": "relu"})
    model = ICapsClassifier(config, TRAIN, device="cpu").fit(*make_texts(60, seed=4))
    with pytest.raises(ConfigError, match="activation"):
        model.edited([neutral_words("bread")])


@pytest.mark.parametrize(
    "content",
    [
        {"edits": 1},
        {"edits": [{"name": "a"}]},
        {"edits": [{"name": "a", "words": [1]}]},
        {"edits": [{"name": "a", "words": [], "capsule": None}]},
        {"edits": [{"name": "a", "words": ["bread"], "capsule": 1}]},
        {"edits": [{"name": "a", "words": ["qqqq"]}]},
        {"edits": [{"name": "a", "words": ["bread"], "other": 1}]},
    ],
)
def test_damaged_edits_are_refused(
    content: dict[str, object], classifier: ICapsClassifier, tmp_path: Path
) -> None:
    classifier.save(tmp_path / "model")
    (tmp_path / "model" / "edits.json").write_text(json.dumps(content))
    with pytest.raises(CheckpointError, match=r"edits\.json is damaged"):
        ICapsClassifier.load(tmp_path / "model", device="cpu")


def test_muted_capsules_and_edits_together(model: ICapsClassifier) -> None:
    edited = model.edited([neutral_words("bread")]).without([0])
    wanted = []
    for text, account in zip(TEXTS, model.without([0]).account(TEXTS), strict=True):
        (explanation,) = model.explain([text])
        kept = [text[word.start : word.end] != "bread" for word in explanation.words]
        wanted.append(account.by_class()[np.array(kept, dtype=bool)].sum(0) + account.bias.sum(1))
    np.testing.assert_allclose(edited.class_norms(TEXTS), np.maximum(wanted, 0), atol=1e-12)
    assert torch.get_default_dtype() == torch.float32
