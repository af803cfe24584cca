"""Attributions of an edited model: what is neutral adds nothing, and norms are the edited ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig
from icaps.faithfulness.attributions.attention import (
    contribution_attention,
    routing_attention,
    spread_over_windows,
)
from icaps.faithfulness.attributions.attention_gradient import attention_gradient
from icaps.faithfulness.attributions.integrated_gradients import integrated_gradients
from icaps.faithfulness.attributions.registry import RANKINGS, missing_rankings, score_words
from icaps.faithfulness.texts import ExplainedTexts
from icaps.inference import class_norms, read_texts
from icaps.interpret.edits import Edits, edited_norms, neutral_capsule, neutral_words
from icaps.nn.packing import lay_out
from icaps.text.batch import TokenBatch
from tests.conftest import MODEL, TRAIN, make_texts

TEXTS = ["Bake bread, simmer soup.", "The mast and a sail.", "Prune old roses."]  # no word twice
EDITS = [neutral_words("bread"), neutral_words("a sail", "Sailing"), neutral_capsule(1, "Gardens")]
STEPS = 4


@pytest.fixture(scope="module", params=[False, True])
def edited(request: pytest.FixtureRequest) -> ICapsClassifier:
    """A short and a long network with edits of words and of a capsule, in float64."""
    settings = {**vars(MODEL), "hierarchical": request.param, "squash_primary": request.param}
    fitted = ICapsClassifier(ModelConfig(**settings), TRAIN, device="cpu")
    fitted.fit(*make_texts(150, seed=4))
    fitted.network_.double()
    return fitted.edited(EDITS)


def read(classifier: ICapsClassifier, target: int) -> ExplainedTexts:
    network, muted = classifier.network_, classifier.muted_
    readings = chain.from_iterable(read_texts(network, classifier.vocabulary_, TEXTS, muted))
    return ExplainedTexts(network, muted, tuple(readings), (target,) * len(TEXTS))


@contextmanager
def scaled(classifier: ICapsClassifier, ids: np.ndarray, factors: np.ndarray) -> Iterator[None]:
    """The embeddings of words times factors."""
    network = classifier.network_
    tables = network.fixed_embedding, network.trained_embedding.weight.data
    before = [table.clone() for table in tables]
    for table in tables:
        table[ids] *= torch.from_numpy(factors)[:, None].to(table)
    network.lookup.__init__()
    yield
    for table, values in zip(tables, before, strict=True):
        table.copy_(values)
    network.lookup.__init__()


def edited_norm(classifier: ICapsClassifier, tokens: TokenBatch, target: int) -> float:
    return float(class_norms(classifier.network_, tokens, classifier.muted_)[0, target])


@pytest.mark.parametrize("muted", [(), (0,)])
def test_integrated_gradients_by_differences(edited: ICapsClassifier, muted: tuple[int]) -> None:
    """Along the path, each word's embedding is made a little larger and smaller in turn."""
    model = edited.without(muted)
    nodes, weights = np.polynomial.legendre.leggauss(STEPS)
    for target in range(len(model.classes_)):
        texts = read(model, target)
        found = list(integrated_gradients(texts, STEPS))
        for (reading, _), scores in zip(texts, found, strict=True):
            ids, step = reading.tokens.ids, 1e-5
            assert len(set(ids.tolist())) == len(ids)
            wanted = np.zeros(len(ids))
            for node, weight in zip(nodes, weights, strict=True):
                place = (1 + node) / 2
                for m in range(len(ids)):
                    ends = []
                    for change in (step, -step):
                        factors = np.full(len(ids), place)
                        factors[m] += change
                        with scaled(model, ids, factors):
                            ends.append(edited_norm(model, reading.tokens, target))
                    wanted[m] += weight / 2 * (ends[0] - ends[1]) / (2 * step)
            np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-7)


def test_integrated_gradients_add_up_to_the_edited_norm(edited: ICapsClassifier) -> None:
    for target in range(len(edited.classes_)):
        texts = read(edited, target)
        for (reading, _), scores in zip(texts, integrated_gradients(texts, 200), strict=True):
            ids = reading.tokens.ids
            with scaled(edited, ids, np.zeros(len(ids))):
                nothing = edited_norm(edited, reading.tokens, target)
            whole = float(reading.activity.class_norms[0, target])
            assert scores.sum() == pytest.approx(whole - nothing, abs=1e-4)


def test_attention_gives_no_weight_to_what_is_neutral(edited: ICapsClassifier) -> None:
    plain = edited.edited([])
    for target, name in enumerate(map(str, edited.classes_)):
        texts, before = read(edited, target), read(plain, target)
        for ranking in (routing_attention, contribution_attention, attention_gradient):
            pairs = zip(texts, ranking(texts), ranking(before), strict=True)
            for (reading, _), scores, unedited in pairs:
                counts = edited.network_.edits.words(reading.tokens)
                neutral = np.zeros(len(scores), bool) if counts is None else ~counts[:, target]
                assert (scores[neutral] == 0).all()
                if ranking is routing_attention and name != "Gardens":
                    np.testing.assert_allclose(scores[~neutral], unedited[~neutral], atol=1e-12)
                elif name == "Gardens":
                    assert not np.allclose(scores[~neutral], unedited[~neutral])


def test_attention_times_gradient_by_differences(edited: ICapsClassifier) -> None:
    """Each alpha is made a little larger and smaller; the sum over capsules is its weight."""
    network, size = edited.network_, edited.network_.config.kernel_size
    edits: Edits = network.edits
    target = [str(name) for name in edited.classes_].index("Sailing")
    texts = read(edited, target)
    texts = texts.take([1])  # the one with the words that are neutral for this class
    ((reading, _),), (scores,) = texts, attention_gradient(texts)
    tokens = reading.tokens
    layout = lay_out(tokens.words_per_sentence, size)
    counts = edits.words(tokens)
    neutral = np.zeros(len(tokens.ids), bool) if counts is None else ~counts[:, target]
    with torch.no_grad():
        ids = network.word_ids(tokens)
        regions = layout.gather_words(network.embed_regions(ids, layout)).numpy()
        products = network.project_words(ids).numpy()  # (T, K, d_w)
        values = network.attention.value_weight.numpy()
        _, alpha = network.attention.embed_sentences(network.embed_regions(ids, layout), layout)
    windows = layout.gather_words(layout.windows).numpy()
    neutral_regions = np.zeros_like(regions)
    for n, window in enumerate(windows):
        for k, word in enumerate(window):
            if word >= 0 and neutral[word]:
                neutral_regions[n] += products[word, k]
    sentence = np.repeat(np.arange(len(tokens.words_per_sentence)), tokens.words_per_sentence)

    def norm(weights: np.ndarray) -> float:
        shape = len(tokens.words_per_sentence), *values.shape[:2]
        whole, left_out = np.zeros(shape), np.zeros(shape)
        for n, m in enumerate(sentence):
            for i in range(len(values)):
                whole[m, i] += weights[n, i] * values[i] @ regions[n]
                left_out[m, i] += weights[n, i] * values[i] @ neutral_regions[n]
        with torch.no_grad():
            attended = network.attention.join_sentences(
                torch.from_numpy(whole), alpha, tokens.sentences_per_text
            )
            activity = network.route(attended)
            rho = activity.sentence_attention.numpy()  # (S, I)
            sums = torch.from_numpy((left_out * rho[:, :, None]).sum(0))  # (I, d_s)
            if network.config.hierarchical:
                weight = network.attention.sentence_value_weight
                sums = torch.stack([weight[i] @ sums[i] for i in range(len(sums))])
            sums = sums * activity.squash_scale[0][:, None]
            removed = torch.zeros(1, int(edits.groups.max()) + 1, *sums.shape).double()
            removed[0, edits.groups[target]] = sums
            return float(edited_norms(network.capsules, activity, edits, removed)[0, target])

    weights, step = alpha.numpy().astype(float), 1e-6
    slopes = np.zeros(len(weights))
    for n in range(len(weights)):
        for i in range(weights.shape[1]):
            ends = []
            for change in (step, -step):
                moved = weights.copy()
                moved[n, i] += change
                ends.append(norm(moved))
            slopes[n] += weights[n, i] * (ends[0] - ends[1]) / (2 * step)
    wanted = spread_over_windows(slopes, tokens.words_per_sentence, size) * ~neutral
    np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", RANKINGS)
def test_every_ranking_takes_an_edited_model(name: str, edited: ICapsClassifier) -> None:
    if name in missing_rankings():
        pytest.skip("its package is not installed")
    texts = read(edited, 0)
    for (reading, _), orders in zip(texts, score_words(name, texts, "deletion", 0), strict=True):
        assert orders.shape[1] == len(reading.tokens.ids)
        assert np.isfinite(orders).all()
