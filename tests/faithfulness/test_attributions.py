"""Attributions: those of the network against plain loops, and those of Captum and lime."""

import math
from itertools import chain

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError
from icaps.faithfulness.attributions import integrated_gradients as integrated
from icaps.faithfulness.attributions import registry
from icaps.faithfulness.attributions.account import account
from icaps.faithfulness.attributions.account_passes import PASSES, account_by_passes
from icaps.faithfulness.attributions.attention import (
    contribution_attention,
    routing_attention,
    spread_over_windows,
)
from icaps.faithfulness.attributions.attention_gradient import attention_gradient
from icaps.faithfulness.attributions.integrated_gradients import integrated_gradients
from icaps.faithfulness.attributions.leave_one_out import leave_one_out
from icaps.faithfulness.attributions.lime import lime
from icaps.faithfulness.attributions.registry import (
    RANKINGS,
    check_rankings,
    missing_rankings,
    score_words,
)
from icaps.faithfulness.perturbation import remove
from icaps.faithfulness.texts import ExplainedTexts
from icaps.inference import Reading, read_texts
from icaps.inference import read as read_batches
from icaps.interpret.account import BatchAccount
from icaps.model import AttentionOutput
from icaps.nn.packing import lay_out
from tests.faithfulness.test_perturbation import left, plain_norms
from tests.interpret import plain
from tests.interpret.test_corpus import hand_set, texts, untrained


def read(classifier: ICapsClassifier, given: list[str]) -> ExplainedTexts:
    network, muted = classifier.network_, classifier.muted_
    batches = read_texts(network, classifier.vocabulary_, given, muted)
    return ExplainedTexts.predicted(network, muted, tuple(chain.from_iterable(batches)))


def some(count: int = 4, **options: object) -> tuple[ICapsClassifier, ExplainedTexts]:
    classifier = untrained(**options)
    classifier.network_.double()
    return classifier, read(classifier, [text for text, _ in texts(count, seed=6)])


def sentences(text: Reading) -> list[list[int]]:
    return left(text.tokens, np.ones(len(text.tokens.ids), dtype=bool), "deletion")


def test_a_position_counts_for_each_word_of_its_window() -> None:
    weights = np.array([1.0, 10, 100, 1000, 10_000])
    whole, split = np.array([5]), np.array([2, 3])
    assert spread_over_windows(weights, whole, 3).tolist() == [11, 111, 1110, 11_100, 11_000]
    # Windows end with their sentence, and an even one looks further right.
    assert spread_over_windows(weights, split, 3).tolist() == [11, 11, 1100, 11_100, 11_000]
    assert spread_over_windows(weights, whole, 2).tolist() == [1, 11, 110, 1100, 11_000]


@pytest.mark.parametrize("options", [{}, {"hierarchical": True}])
def test_the_network_s_own_weights_by_plain_loops(options: dict[str, object]) -> None:
    classifier, given = some(**options)
    size = classifier.network_.config.kernel_size
    routing, contribution = list(routing_attention(given)), list(contribution_attention(given))
    for n, (reading, target) in enumerate(given):
        document = sentences(reading)
        found = plain.run(classifier.network_, document)
        output = found["outputs"][target]
        length = sum(x * x for x in output) ** 0.5
        betas, adds = np.zeros(len(reading.tokens.ids)), np.zeros(len(reading.tokens.ids))
        for i, votes in enumerate(found["votes"]):
            beta = found["routing"][i][target]
            along = sum(u * c for u, c in zip(votes[target], output, strict=True)) / length
            start = 0
            for m, sentence in enumerate(document):
                for step in range(len(sentence)):
                    attended = found["attention"][i][start + step] * found["rho"][i][m]
                    for k in range(size):
                        word = step + k - (size - 1) // 2
                        if 0 <= word < len(sentence):
                            betas[start + word] += beta * attended
                            adds[start + word] += beta * along * attended
                start += len(sentence)
        assert routing[n] == pytest.approx(betas, abs=1e-9)
        assert contribution[n] == pytest.approx(adds, abs=1e-9)


def test_attention_times_its_slope_by_differences() -> None:
    classifier, given = some(2)
    network, size = classifier.network_, classifier.network_.config.kernel_size
    for (reading, target), found in zip(given, attention_gradient(given), strict=True):
        with torch.no_grad():
            layout = lay_out(reading.tokens.words_per_sentence, size)
            regions = network.embed_regions(network.word_ids(reading.tokens), layout)[layout.cells]

            def norm(attention: torch.Tensor) -> float:
                pooled = attention.T @ regions  # noqa: B023
                primary = torch.einsum("iw,ipw->ip", pooled, network.attention.value_weight)
                sentences = reading.activity.sentence_attention  # noqa: B023
                attended = AttentionOutput(primary[None], attention, sentences)
                return float(network.route(attended).class_norms[0, target])  # noqa: B023

            alpha, step = reading.activity.attention, 1e-6
            weights = np.zeros(len(regions))
            for n, i in np.ndindex(*alpha.shape):
                up, down = alpha.clone(), alpha.clone()
                up[n, i] += step
                down[n, i] -= step
                weights[n] += float(alpha[n, i]) * (norm(up) - norm(down)) / (2 * step)
        assert found == pytest.approx(
            spread_over_windows(weights, reading.tokens.words_per_sentence, size), abs=1e-7
        )


@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"activation": "tanh"}])
def test_the_account_of_many_texts_is_that_of_each(options: dict[str, object]) -> None:
    _, given = some(6, **options)
    for (reading, target), scores in zip(given, account(given), strict=True):
        alone = BatchAccount(given.network, reading).word_shares(np.array([target]))
        np.testing.assert_allclose(scores, alone, rtol=0, atol=1e-12)


@pytest.mark.parametrize("how", ["deletion", "unk"])
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}])
def test_the_account_by_passes_by_plain_loops(options: dict[str, object], how: str) -> None:
    """One word after another, by its shares in the text and in what was left at the last pass."""
    _, given = some(4, **options)
    for (reading, target), scores in zip(given, account_by_passes(given, how), strict=True):
        words, targets = len(reading.tokens.ids), np.array([target])
        whole = BatchAccount(given.network, reading).word_shares(targets)
        chosen: list[int] = []
        weighted = dict(enumerate(whole.tolist()))
        passes = {math.ceil(words * percent / 100) for percent in PASSES}
        while len(chosen) < words:
            if len(chosen) in passes:
                mask = ~np.isin(np.arange(words), chosen)
                (rest,) = read_batches(given.network, remove(reading.tokens, mask[None], how))
                shares = BatchAccount(given.network, rest).word_shares(targets)
                places = np.flatnonzero(mask) if how == "deletion" else np.arange(words)
                weighted = {
                    word: 0.25 * whole[word] + 0.75 * share
                    for word, share in zip(places.tolist(), shares.tolist(), strict=True)
                    if mask[word]
                }
            best = max(weighted, key=weighted.__getitem__)
            del weighted[best]
            chosen.append(best)
        assert (-scores).argsort(kind="stable").tolist() == chosen


def test_nothing_is_left_to_read_after_the_only_word() -> None:
    given = read(untrained(), ["bread", "quillmarsh bread"])
    assert [len(scores) for scores in account_by_passes(given, "deletion")] == [1, 2]
    assert [scores.max() for scores in account_by_passes(given, "unk")] == [0, 0]
    assert list(account_by_passes(given.take([]), "unk")) == []


@pytest.mark.parametrize("how", ["deletion", "unk"])
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}])
def test_leave_one_out_by_plain_loops(options: dict[str, object], how: str) -> None:
    classifier, given = some(2, **options)
    for (reading, target), found in zip(given, leave_one_out(given, how), strict=True):
        whole = plain_norms(classifier, sentences(reading))[target]
        for word, score in enumerate(found):
            kept = np.arange(len(found)) != word
            without = plain_norms(classifier, left(reading.tokens, kept, how))[target]
            assert score == pytest.approx(whole - without, abs=1e-9)


@pytest.mark.parametrize("at_once", [1, 300])
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"activation": "tanh"}])
def test_gradients_of_words_are_those_of_all_numbers_of_their_embeddings(
    options: dict[str, object], at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("captum")
    pytest.importorskip("lime")
    from benchmarks.explaining import embedding_gradients

    _, given = some(**options)
    short = list(integrated_gradients(given))
    for found, expected in zip(short, embedding_gradients(given), strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    monkeypatch.setattr(integrated, "AT_ONCE", at_once)  # each text alone, and in parts
    for found, same in zip(short, integrated_gradients(given), strict=True):
        np.testing.assert_allclose(found, same, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"activation": "tanh"}])
def test_integrated_gradients_are_complete(options: dict[str, object]) -> None:
    """They add up to the norm less that of as many words without an embedding."""
    classifier, given = some(2, **options)
    network = classifier.network_
    found = list(integrated_gradients(given, steps=150))
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    network.fixed_embedding.zero_()
    network.trained_embedding.weight.data.zero_()
    nothing = [network(reading.tokens).class_norms[0, target].item() for reading, target in given]
    network.load_state_dict(kept)
    for (reading, target), scores, zero in zip(given, found, nothing, strict=True):
        assert scores.sum() == pytest.approx(
            float(reading.activity.class_norms[0, target]) - zero, abs=5e-3
        )


def test_lime_finds_the_word_that_decides() -> None:
    pytest.importorskip("lime")
    given = read(hand_set(), ["the the the the rose the"])
    (scores,) = lime(given, "unk", seed=1, samples=300)
    assert scores[4] > 5 * np.abs(np.delete(scores, 4)).max()
    (again,) = lime(given, "unk", seed=1, samples=300)
    assert scores.tolist() == again.tolist()


@pytest.mark.parametrize("name", RANKINGS)
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}])
def test_every_ranking_scores_every_word(name: str, options: dict[str, object]) -> None:
    if name in missing_rankings():
        pytest.skip("its package is not installed")
    classifier = untrained(**options)
    given = read(classifier, ["bread", "Soup the bread. The quillmarsh rose."])
    found = list(score_words(name, given, "deletion", 0))
    for (reading, _), orders in zip(given, found, strict=True):
        assert orders.shape[1] == len(reading.tokens.ids)
        assert np.isfinite(orders).all()
    again = list(score_words(name, given, "deletion", 0))
    assert all(np.array_equal(one, other) for one, other in zip(found, again, strict=True))


def test_unknown_and_missing_rankings_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no ranking 'magic'; choose from routing"):
        check_rankings(["magic"])
    monkeypatch.setattr(registry, "find_spec", lambda package: None)
    assert missing_rankings() == ("lime",)
    with pytest.raises(ConfigError, match=r"For lime run `pip install 'icaps\[faithfulness\]'`"):
        check_rankings(["routing", "lime"])
