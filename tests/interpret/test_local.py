"""Section 2.6 on a network whose weights are set by hand, so that each K-gram is known."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import ExplainOptions, ModelConfig
from icaps.errors import ConfigError
from icaps.explanation_parts import CapsuleReason, KGram, SentenceWeight
from icaps.inference import Reading, to_classes
from icaps.interpret.kgrams import KGramWindows, top_kgrams
from icaps.interpret.local import explain
from icaps.model import Activity, ICapsNet
from icaps.results import Explanation
from icaps.text.batch import UNK, TokenBatch


def top(capsules: int, kgrams: int, sentences: int = 1) -> ExplainOptions:
    return ExplainOptions(top_capsules=capsules, top_kgrams=kgrams, top_sentences=sentences)


CHANCES = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
ROUTING = torch.tensor([[0.2, 0.8], [0.7, 0.3], [0.7, 0.3], [0.5, 0.5]])
ATTENTION = torch.tensor(
    [[0.1, 0.2, 0.0, 0.3], [0.4, 0.2, 0.1, 0.3], [0.4, 0.5, 0.1, 0.3], [0.1, 0.1, 0.8, 0.1]]
)


def reading(
    attention: torch.Tensor = ATTENTION,
    sentences: tuple[int, ...] | None = None,
    rho: torch.Tensor | None = None,
    routing: torch.Tensor = ROUTING,
) -> Reading:
    """A text of words "w0 w1 ..." as if a network with class capsules of zero had read it."""
    count = len(attention)
    lengths = np.array([count] if sentences is None else sentences)
    spans = np.array([(3 * n, 3 * n + 2) for n in range(count)]).reshape(-1, 2)
    counts, truncated = np.array([len(lengths)]), np.array([False])
    tokens = TokenBatch(np.arange(2, 2 + count), lengths, counts, spans, truncated)
    rho = torch.ones(1, len(routing)) if rho is None else rho
    text = " ".join(f"w{n}" for n in range(count))
    activity = Activity(
        class_norms=torch.tensor([[0.3, 0.8]]),
        class_capsules=torch.zeros(1, 2, 3),
        routing=routing[None],
        agreement=torch.zeros_like(routing)[None],
        primary_capsules=torch.zeros(1, len(routing), 3),
        squash_scale=torch.ones(1, len(routing)),
        attention=attention,
        sentence_attention=rho,
    )
    return Reading(tokens, activity, np.array([0]), [text])


def together(*readings: Reading) -> Reading:
    """Several texts as one batch."""
    tokens = TokenBatch.join([reading.tokens for reading in readings])
    columns = zip(*(reading.activity for reading in readings), strict=True)
    texts = [text for reading in readings for text in reading.texts]
    return Reading(tokens, Activity(*map(torch.cat, columns)), np.arange(len(texts)), texts)


class Window(NamedTuple):
    """A K-gram of one text by words."""

    capsule: int
    sentence: int
    position: int
    first: int
    last: int


def windows_of(
    one: Reading, target: int, kernel_size: int, options: ExplainOptions
) -> KGramWindows:
    """The K-grams that explain one text for a class."""
    weights = to_classes(one.activity, np.array([0]), np.array([target]))
    return top_kgrams(one, *weights, kernel_size, options)


def kgrams_of(one: Reading, target: int, kernel_size: int, options: ExplainOptions) -> list[Window]:
    windows = windows_of(one, target, kernel_size, options)
    return [Window(*row) for row in np.stack(windows[1:], axis=1).tolist()]


def explain_by_hand(
    batch: Reading,
    options: ExplainOptions,
    probabilities: np.ndarray,
    hierarchical: bool = False,
    names: dict[int, str] | None = None,
) -> list[Explanation]:
    """The explanations of texts of classes a and b, for K = 3, by a network without weights."""
    capsules = batch.activity.routing.shape[1]
    config = ModelConfig(
        fixed_dim=0,
        trained_dim=2,
        kernel_size=3,
        region_dim=3 * capsules,
        query_dim=3,
        class_dim=3,
        hierarchical=hierarchical,
    )
    network = ICapsNet(config, 9, 2).eval()
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    how = {"probabilities": probabilities, "names": names or {}}
    return list(explain(network, batch, ("a", "b"), options, **how))


def test_the_most_routed_capsules_and_their_most_attended_words() -> None:
    assert kgrams_of(reading(), 1, 3, top(2, 2)) == [
        Window(
            capsule=0, sentence=0, position=1, first=0, last=3
        ),  # 0.4, a tie with word 2: earlier first
        Window(capsule=0, sentence=0, position=2, first=1, last=4),
        Window(capsule=3, sentence=0, position=0, first=0, last=2),  # clipped at the start
        Window(capsule=3, sentence=0, position=1, first=0, last=3),
    ]


def test_ties_between_capsules_go_to_the_lower_number() -> None:
    windows = kgrams_of(reading(), 0, 3, top(2, 1))
    assert [(kgram.capsule, kgram.position) for kgram in windows] == [(1, 2), (2, 3)]
    assert windows[1] == Window(2, 0, 3, 2, 4)  # clipped at the end


def test_overlaps_are_counted() -> None:
    counts = windows_of(reading(), 1, 3, top(2, 2)).count_per_word(4)
    assert counts.tolist() == [3, 4, 3, 1]


def test_an_even_window_looks_further_right_as_the_convolution_does() -> None:
    (kgram,) = kgrams_of(reading(), 1, 2, top(1, 1))
    assert (kgram.first, kgram.last) == (1, 3)


def test_more_than_there_is_means_all() -> None:
    assert len(kgrams_of(reading(), 0, 3, top(99, 99))) == 16
    assert kgrams_of(reading(ATTENTION[:0]), 0, 3, top(2, 2)) == []


def test_a_network_set_by_hand_attends_where_it_should() -> None:
    """Capsule 0 looks for word 2 and votes class 0; capsule 1 for word 3 and votes class 1."""
    config = ModelConfig(
        fixed_dim=0,
        trained_dim=2,
        kernel_size=3,
        region_dim=2,
        query_dim=1,
        class_dim=2,
        embedding_dropout=0,
        dropout=0,
        word_dropout=0,
    )
    network = ICapsNet(config, 5, 2).eval()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.trained_embedding.weight[2] = torch.tensor([1.0, 0.0])
        network.trained_embedding.weight[3] = torch.tensor([0.0, 1.0])
        network.region.weight[1] = torch.eye(2)  # the middle slice alone
        network.attention.primary_queries[:] = 4
        network.attention.key_weight[:, 0] = torch.eye(2)
        network.attention.value_weight[0, 0, 0] = 3
        network.attention.value_weight[1, 0, 1] = 3
        network.capsules.capsule_bias[0, 0, 0] = 4
        network.capsules.capsule_bias[1, 1, 1] = 4
        activity = network(TokenBatch(np.array([4, 2, 4, 4, 3]), np.array([5]), np.array([1])))
    e4 = torch.tensor(4.0).exp()
    torch.testing.assert_close(activity.attention[:, 0], torch.tensor([1, e4, 1, 1, 1]) / (e4 + 4))
    shown = reading(activity.attention, routing=activity.routing[0])
    assert kgrams_of(shown, 0, 3, top(1, 1)) == [Window(0, 0, 1, 0, 3)]
    assert kgrams_of(shown, 1, 3, top(1, 1)) == [Window(1, 0, 4, 3, 5)]


def test_in_a_long_text_the_best_sentence_of_each_capsule_counts() -> None:
    """Sentences are words 0-2 and 3-4; capsule 0 prefers the second, capsule 3 the first."""
    attention = torch.tensor(
        [
            [0.2, 0.0, 0.0, 0.1],
            [0.7, 0.0, 0.0, 0.3],
            [0.1, 0.0, 0.0, 0.6],
            [0.4, 0.0, 0.0, 0.5],
            [0.6, 0.0, 0.0, 0.5],
        ]
    )
    rho = torch.tensor([[0.3, 0.5, 0.5, 0.9], [0.7, 0.5, 0.5, 0.1]])
    long = reading(attention, (3, 2), rho)
    assert kgrams_of(long, 1, 3, top(2, 1)) == [
        Window(capsule=0, sentence=1, position=4, first=3, last=5),
        Window(capsule=3, sentence=0, position=2, first=1, last=3),
    ]
    two = kgrams_of(long, 1, 3, top(1, 1, 2))
    assert [(kgram.sentence, kgram.position) for kgram in two] == [(1, 4), (0, 1)]

    (explanations,) = explain_by_hand(long, top(2, 1), CHANCES[:1], hierarchical=True)
    assert explanations.probabilities == (0.25, 0.75)
    assert [(kgram.text, kgram.sentence_attention) for kgram in explanations.kgrams] == [
        ("w3 w4", pytest.approx(0.7)),
        ("w1 w2", pytest.approx(0.9)),
    ]
    # rho of the two capsules, weighted by their beta for class b, 0.8 and 0.5
    weights = [(0.8 * 0.3 + 0.5 * 0.9) / 1.3, (0.8 * 0.7 + 0.5 * 0.1) / 1.3]
    assert [sentence.weight for sentence in explanations.sentences] == pytest.approx(weights)
    assert [(s.start, s.end) for s in explanations.sentences] == [(0, 8), (9, 14)]
    assert [word.count for word in explanations.words] == [0, 1, 1, 1, 1]


def hand_batch() -> Reading:
    """A text of two sentences, an unknown word alone, and one of two that was cut short.

    Contributions: 0.75 and 1 to class b in the first text, 0.5 and 0 to class a in the last.
    """
    attention = torch.tensor([[0.75, 0.25], [0.25, 0.75], [1, 1]])
    rho = torch.tensor([[0.875, 0.25], [0.125, 0.75]])
    routing = torch.tensor([[[0.25, 0.75], [0.75, 0.25]], [[0.5, 0.5]] * 2, [[0.5, 0.5], [0, 1]]])
    batch = together(
        reading(attention, (2, 1), rho, routing[0]),
        reading(torch.ones(1, 2), routing=routing[1]),
        reading(torch.ones(2, 2), (1, 1), torch.tensor([[0.25, 0.5], [0.75, 0.5]]), routing[2]),
    )
    ids = np.array([2, UNK, 3, UNK, 4, 5], np.int32)
    agreement = torch.full_like(batch.activity.agreement, 2)
    agreement[0, 1, 1] = 8
    activity = batch.activity._replace(
        class_norms=torch.tensor([[0.25, 0.75], [0, 0], [0.5, 0.25]]),
        class_capsules=torch.tensor([2.0, 0, 0]).expand(3, 2, 3),
        agreement=agreement,
    )
    tokens = replace(batch.tokens, ids=ids, truncated=np.array([False, False, True]))
    return replace(batch, tokens=tokens, activity=activity)


def test_texts_that_are_read_together_are_explained_each_by_its_own() -> None:
    options = replace(top(2, 1), ranking="contribution")
    explanations = explain_by_hand(
        hand_batch(), options, CHANCES, hierarchical=True, names={1: "second"}
    )
    assert [(t.text, t.predicted, t.target, t.scores, t.margin) for t in explanations] == [
        ("w0 w1 w2", "b", "b", (0.25, 0.75), 0.5),
        ("w0", "a", "a", (0, 0), 0),
        ("w0 w1", "a", "a", (0.5, 0.25), 0.25),
    ]
    assert [(t.unknown_share, t.truncated, t.blank) for t in explanations] == [
        (1 / 3, False, False),
        (1, False, True),
        (0, True, False),
    ]
    assert {(t.kernel_size, t.ranking, t.classes) for t in explanations} == {
        (3, "contribution", ("a", "b"))
    }
    assert [t.kgrams for t in explanations] == [  # a capsule that is switched off has none
        (
            KGram("w2", 6, 8, 1, 0.25, 1, 1, 0.75, "second", 1),
            KGram("w0 w1", 0, 5, 0, 0.75, 0.75, 0, 0.875, "", 0.75),
        ),
        (),
        (KGram("w1", 3, 5, 0, 0.5, 1, 1, 0.75, "", 0.5),),
    ]
    assert [t.words for t in explanations] == [
        ((0, 2, 1, 0, True, False), (3, 5, 1, 0, False, False), (6, 8, 1, 0, True, False)),
        ((0, 2, 0, 0, False, False),),
        ((0, 2, 0, 0, True, False), (3, 5, 1, 0, True, False)),
    ]
    assert [t.sentences for t in explanations] == [  # first: 0.75, 0.25 of each rho
        (SentenceWeight(0, 5, 0.71875), SentenceWeight(6, 8, 0.28125)),
        (SentenceWeight(0, 2, 0),),
        (SentenceWeight(0, 2, 0.25), SentenceWeight(3, 5, 0.75)),
    ]
    # Contributions c times ||s|| / (1 + ||s||^2), where ||s|| is their sum.
    shares = [pytest.approx(c * s / (1 + s * s)) for c, s in [(1, 1.75), (0.75, 1.75), (0.5, 0.5)]]
    assert [t.capsules for t in explanations] == [
        (
            CapsuleReason(1, (0.75, 0.25), (0.25, 0.75, 1), (0.25, 0.75), "second", shares[0]),
            CapsuleReason(0, (0.25, 0.75), (0.75, 0.25, 1), (0.875, 0.125), "", shares[1]),
        ),
        (),
        (CapsuleReason(0, (0.5, 0.5), (1, 1), (0.25, 0.75), "", shares[2]),),
    ]


def test_a_class_that_is_asked_for_is_the_target_of_each_text() -> None:
    explanations = explain_by_hand(
        hand_batch(), ExplainOptions(target="b", top_sentences=2), CHANCES
    )
    assert [(t.predicted, t.target, t.margin) for t in explanations] == [
        ("b", "b", 0.5),
        ("a", "b", 0),
        ("a", "b", -0.25),
    ]
    kgrams = [[k.capsule for k in t.kgrams] for t in explanations]
    assert kgrams == [[0, 0, 0, 1, 1, 1], [], [1, 1, 0, 0]]
    assert [[c.capsule for c in t.capsules] for t in explanations] == [[0, 1], [], [1, 0]]
    assert [t.sentences for t in explanations] == [()] * 3


def test_options_are_an_object_or_keywords(classifier: ICapsClassifier) -> None:
    given = ["bake the bread in the oven", "plant a rose"]
    options = ExplainOptions(target="Gardens", top_capsules=1, top_kgrams=3)
    expected = list(classifier.explain(given, options))
    how = {"target": "Gardens", "top_capsules": 1, "top_kgrams": 3}
    assert list(classifier.explain(given, **how)) == expected
    assert list(classifier.explain(given, replace(options, top_kgrams=1), top_kgrams=3)) == expected
    (columns,) = classifier.reasons(given, options)
    assert columns.spell() == [kgram.text for one in expected for kgram in one.kgrams]
    with pytest.raises(TypeError, match="most"):
        next(classifier.explain(given, most=3))
    for texts in (given, []):
        with pytest.raises(ConfigError, match="no class 'Cars'; choose Cooking, Gardens, Sailing"):
            next(classifier.explain(texts, target="Cars"))
        with pytest.raises(ConfigError, match="top_kgrams is 0; it must be at least 1"):
            next(classifier.reasons(texts, top_kgrams=0))
