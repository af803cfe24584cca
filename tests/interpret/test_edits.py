"""Edits: the terms that are left out of the account, by plain loops; save, load, undo."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import ACCOUNT, KGRAM_RANKINGS, ExplainOptions, ModelConfig
from icaps.errors import CheckpointError, ConfigError
from icaps.evaluate.scores import evaluate
from icaps.inference import read_labelled
from icaps.interpret.ablation import norms_of_sets, smallest_set
from icaps.interpret.account import BatchAccount
from icaps.interpret.corpus import CorpusCounts, count_corpus
from icaps.interpret.edits import Edit, neutral_capsule, neutral_words
from icaps.results import Explanation
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


@pytest.mark.parametrize("edits", SETS, ids=lambda edits: ", ".join(map(str, edits)))
def test_sets_of_capsules_of_an_edited_model(edits: list[Edit], model: ICapsClassifier) -> None:
    """Each set as a model with the other capsules off, whose norms are those of plain loops."""
    edited = model.edited(edits)
    network, capsules = edited.network_, model.network_.config.num_capsules
    (batch,) = edited._read(TEXTS)
    off = [[], [0], [1, 2], list(range(1, capsules))]
    mask = torch.ones(len(off), capsules)
    for row, numbers in zip(mask, off, strict=True):
        row[numbers] = 0
    removed = network.edits.removed(network, batch)
    primary = batch.activity.primary_capsules
    norms = norms_of_sets(network.capsules, primary, mask, network.edits, removed)
    for n, numbers in enumerate(off):
        wanted = by_hand(model.without(numbers), edits)
        np.testing.assert_allclose(norms[:-1, n], wanted[:-1], atol=1e-12)  # the last is blank


@pytest.mark.parametrize("edits", SETS, ids=lambda edits: ", ".join(map(str, edits)))
def test_a_row_of_the_knock_out_table_is_an_evaluation_of_the_edited_model(
    edits: list[Edit], model: ICapsClassifier
) -> None:
    edited, labelled = model.edited(edits), list(zip(*make_texts(90, seed=2), strict=True))
    counts = count_corpus(edited, labelled)
    halves = CorpusCounts.empty(edited)
    names = [str(name) for name in edited.classes_]
    for batch in read_labelled(edited.network_, edited.vocabulary_, names, labelled):
        for part in batch:
            halves.add(edited.network_, part)
    few, same = (
        smallest_set(edited.network_.capsules, sample, edited.network_.edits)
        for sample in (counts.sample, halves.sample)
    )
    assert few == same
    assert few.of_all == pytest.approx(edited.score(*zip(*labelled, strict=True)))
    left = set(range(edited.network_.config.num_capsules)) - set(few.capsules)
    alone = edited.without(left)
    assert few.accuracy == pytest.approx(alone.score(*zip(*labelled, strict=True)))
    for i in (0, 2):
        scores = evaluate(edited.without([i]), labelled)
        assert scores["confusion"] == counts.knock_out.confusion[1 + i].tolist()


def test_what_is_neutral_is_no_evidence(model: ICapsClassifier) -> None:
    """Neither by the paper's rule, nor by contributions, nor by the account."""
    for ranking in KGRAM_RANKINGS:
        options = ExplainOptions(top_capsules=100, top_kgrams=100, ranking=ranking)
        edited = model.edited([neutral_capsule(1, "Cooking"), neutral_words("bread")])
        for explanation in edited.explain(TEXTS[:5], options, target="Cooking"):
            assert explanation.kgrams
            assert 1 not in {kgram.capsule for kgram in explanation.kgrams}
            assert "bread" not in {kgram.text for kgram in explanation.kgrams}
        (other,) = edited.explain(TEXTS[:1], options, target="Sailing")
        if ranking != ACCOUNT:
            assert 1 in {kgram.capsule for kgram in other.kgrams}


def test_contributions_are_those_of_what_counts(model: ICapsClassifier) -> None:
    """Their sum, squashed with the length of the whole, is the edited norm."""
    edits = [neutral_capsule(0, "Gardens"), neutral_words("bread")]
    edited = model.edited(edits)
    (whole,), (batch,) = model._read(TEXTS), edited._read(TEXTS)
    for j in range(len(model.classes_)):
        targets = np.full(len(TEXTS), j)
        _, before = BatchAccount(model.network_, whole).weights(targets)
        routing, after = BatchAccount(edited.network_, batch).weights(targets)
        lengths = before.sum(1)
        squashed = np.maximum(after.sum(1) * lengths / (1 + lengths**2), 0)
        known = ~batch.blank
        np.testing.assert_allclose(squashed[known], by_hand(model, edits)[known, j], atol=1e-12)
        neutral = model.classes_[j] == "Gardens"
        assert ((routing[:, 0] == 0) & (after[:, 0] == 0)).all() == neutral


def test_a_corpus_does_not_count_what_is_neutral(model: ICapsClassifier) -> None:
    labelled = list(zip(*make_texts(90, seed=2), strict=True))
    tally = count_corpus(model, labelled).tally
    (j, i), words = max(tally.words.items(), key=lambda cell: sum(cell[1].values()))
    word = next(word for word, _ in words.most_common() if model.vocabulary_.words[word].isalpha())
    name, spelled = str(model.classes_[j]), model.vocabulary_.words[word]
    edited = model.edited([neutral_words(spelled), neutral_capsule(i, name)])
    after = count_corpus(edited, labelled).tally
    assert after.frequency[j, i] == 0
    assert after.texts == tally.texts
    assert not any(word in counts for counts in after.words.values())
    assert any(word in counts for counts in tally.words.values())


def test_an_explanation_names_neutral_words(model: ICapsClassifier) -> None:
    edited = model.edited([neutral_words("bread", "Cooking"), neutral_words("butter")])
    (shown,) = edited.explain(["Bread bread and butter and bread."], target="Cooking")
    assert shown.neutral_words == ("bread", "butter")
    assert "Neutral for Cooking, by an edit of the model: “bread”, “butter”." in shown.notices
    assert "Neutral for Cooking" in shown.to_text()
    read = Explanation.from_dict(json.loads(json.dumps(shown.to_dict())))
    assert (read.words, read.notices) == (shown.words, shown.notices)
    (other,) = edited.explain(["Bread bread and butter."], target="Sailing")
    assert other.neutral_words == ("butter",)
    (before,) = model.explain(["Bread bread and butter."], target="Cooking")
    assert before.neutral_words == ()
