"""The matrix C and all that is counted beside it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.config import ModelConfig
from icaps.data.source import open_source
from icaps.errors import DataError
from icaps.evaluate.scores import evaluate
from icaps.inference import read_labelled
from icaps.interpret import corpus
from icaps.interpret.account import BatchAccount
from icaps.interpret.corpus import (
    ABSENT,
    TYPICAL,
    CorpusCounts,
    Tally,
    Typical,
    Winners,
    count_corpus,
    find_winners,
)
from icaps.model import ICapsNet
from icaps.nn import distributed
from icaps.text.sentences import encode
from icaps.text.vocabulary import Vocabulary
from tests.conftest import make_texts
from tests.interpret import plain
from tests.tokens import lists

WORDS = ["bread", "soup", "rose", "soil", "mast", "keel", "tide", "the", "and", "we"]
CLASSES = ("kitchen", "garden", "harbour")
SIZES = {
    "fixed_dim": 3,
    "trained_dim": 2,
    "region_dim": 12,
    "query_dim": 3,
    "class_dim": 4,
    "max_words": None,
}


def untrained(**options: object) -> ICapsClassifier:
    """A classifier with random weights, of which no two capsules or texts are alike."""
    config = ModelConfig(**SIZES | options)
    vocabulary = Vocabulary.build([" ".join(WORDS), " ".join(map(str.capitalize, WORDS))], 0)
    torch.manual_seed(3)
    vectors = torch.randn(len(vocabulary), config.fixed_dim)
    network = ICapsNet(config, len(vocabulary), len(CLASSES), vectors)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.6)
    return of_network(network.eval(), vocabulary)


def of_network(network: ICapsNet, vocabulary: Vocabulary) -> ICapsClassifier:
    classifier = ICapsClassifier(network.config, device="cpu")
    classifier.network_, classifier.vocabulary_ = network, vocabulary
    classifier.classes_ = np.array(CLASSES, dtype=object)
    classifier.inverse_temperature_ = 1.0
    classifier.muted_, classifier.capsule_names_ = (), {}
    return classifier


def texts(n: int, seed: int = 0) -> list[tuple[str, str]]:
    random = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        sentences = [
            " ".join(random.choice(WORDS, random.integers(1, 7))).capitalize() + "."
            for _ in range(random.integers(1, 4))
        ]
        made.append((" ".join(sentences), str(random.choice(CLASSES))))
    return made


def documents(
    classifier: ICapsClassifier, labelled: list[tuple[str, str]]
) -> list[list[list[int]]]:
    texts = [text for text, _ in labelled]
    return [
        sentences or [[]]  # a text of no sentence is read as an empty one
        for sentences in lists(encode(classifier.vocabulary_, texts, classifier.network_.config))
    ]


def assert_equal(tally: Tally, expected: plain.Plain) -> None:
    for name in ("frequency", "right"):
        assert nonzero(getattr(tally, name)) == {
            k: v for k, v in getattr(expected, name).items() if v
        }
    for name in ("routing", "contribution"):
        found = nonzero(getattr(tally, name))
        assert found == pytest.approx(dict(getattr(expected, name)), rel=2e-4, abs=2e-4)
    assert tally.words == expected.words
    assert tally.kgrams == expected.kgrams
    assert set(tally.typical) == set(expected.typical)
    for cell, found in tally.typical.items():
        wanted = expected.typical[cell][:TYPICAL]
        assert [text.contribution for text in found] == pytest.approx([g for g, _ in wanted], 1e-4)
        assert [text.number for text in found] == [number for _, number in wanted]


def nonzero(matrix: np.ndarray) -> dict[tuple[int, int], float]:
    places = np.argwhere(matrix).tolist()
    return {(j, i): matrix[j, i].item() for j, i in places}


OPTIONS = [
    {},
    {"hierarchical": True},
    {"kernel_size": 2, "squash_primary": True, "activation": "tanh"},
    {"kernel_size": 5, "routing_iterations": 2},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_counts_are_those_of_plain_python(options: dict[str, object]) -> None:
    classifier = untrained(**options)
    labelled = texts(60)
    labels = [CLASSES.index(label) for _, label in labelled]
    expected = plain.interpret(classifier.network_, documents(classifier, labelled), labels)
    assert len(expected.frequency) >= 3  # or the test would show little
    assert_equal(count_corpus(classifier, labelled).tally, expected)


def hand_set() -> ICapsClassifier:
    """Two capsules: 0 reads "bread" and votes for the kitchen, 1 "rose" and the garden.

    A word's embedding is a direction of its own; a capsule's query points to its word, its value
    is the share of attention on it in a direction of its own, which only its class listens to.
    """
    config = ModelConfig(
        fixed_dim=2,
        trained_dim=0,
        kernel_size=1,
        region_dim=4,
        query_dim=2,
        class_dim=1,
        routing_iterations=1,
    )
    vocabulary = Vocabulary(("<pad>", "<unk>", "bread", "rose", "the"), (0, 0, 1, 1, 1))
    vectors = torch.tensor([[0.0, 0], [0, 0], [1, 0], [0, 1], [0, 0]])
    network = ICapsNet(config, 5, 3, vectors)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.region.weight[0, :, :2] = torch.eye(2)
        for i in range(2):
            network.attention.primary_queries[i, i] = 10 * 2**0.5  # over sqrt(d_q): 10
            network.attention.key_weight[i, i, i] = 1
            network.attention.value_weight[i, i, i] = 1
            network.capsules.capsule_weight[i, 0, i] = 3
    return of_network(network.eval(), vocabulary)


def test_a_network_set_by_hand() -> None:
    labelled = [
        ("the bread", "kitchen"),
        ("rose the the", "kitchen"),
        ("bread rose rose", "garden"),
    ]
    counts = count_corpus(hand_set(), labelled)
    # With one iteration each routing weight is 1/3, so that the lower capsule wins every text.
    assert counts.tally.frequency.tolist() == [[1, 0], [2, 0], [0, 0]]
    assert counts.tally.right.tolist() == [[1, 0], [1, 0], [0, 0]]
    # Capsule 0 attends to "bread" where it is, and else to the first word, which is as good.
    assert counts.tally.words == {(0, 0): {2: 1}, (1, 0): {3: 1, 2: 1}}
    e = np.exp(10.0)
    alone = 3 * e / (e + 1)  # the vote of "bread" beside "the"; its third is the contribution
    assert counts.tally.contribution[0] == pytest.approx([alone / 3, 0])
    assert counts.knock_out.confusion[0].tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    # Without capsule 0 "the bread" has no vote, and the first class is the kitchen.
    assert counts.knock_out.confusion[1].tolist() == [[1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert counts.knock_out.confusion[2].tolist() == [[2, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_contributions_add_up_to_the_length_before_the_squash() -> None:
    classifier = untrained()
    (batch,) = read_labelled(classifier.network_, classifier.vocabulary_, CLASSES, texts(20))
    winners = find_winners(BatchAccount(classifier.network_, batch))
    norms = batch.activity.class_norms.numpy().max(1)  # n = s^2 / (1 + s^2)
    assert winners.contribution.sum(1) == pytest.approx(np.sqrt(norms / (1 - norms)), rel=1e-3)


def test_halves_add_up_to_the_whole() -> None:
    classifier = untrained(hierarchical=True)
    labelled = texts(90, seed=1)
    whole, part = count_corpus(classifier, labelled), count_corpus(classifier, labelled[:40])
    rest = CorpusCounts.empty(classifier)
    for batch in read_labelled(classifier.network_, classifier.vocabulary_, CLASSES, labelled[40:]):
        batch = replace(batch, numbers=batch.numbers + 40)
        rest.add(classifier.network_, batch)
    part.merge(rest)
    for name in ("frequency", "right", "words", "kgrams", "blank"):
        assert np.array_equal(getattr(part.tally, name), getattr(whole.tally, name))
    assert part.tally.contribution == pytest.approx(whole.tally.contribution, rel=1e-5)
    numbers = {c: [t.number for t in found] for c, found in whole.tally.typical.items()}
    assert {c: [t.number for t in found] for c, found in part.tally.typical.items()} == numbers
    assert np.array_equal(part.knock_out.confusion, whole.knock_out.confusion)
    assert np.array_equal(part.knock_out.own_right, whole.knock_out.own_right)
    assert np.array_equal(part.sample.labels, whole.sample.labels)


def test_what_other_processes_counted_is_added(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier, labelled = untrained(), texts(30)
    whole = count_corpus(classifier, labelled)
    others = [count_corpus(classifier, part) for part in (labelled[:4], labelled[4:10])]
    monkeypatch.setattr(distributed, "all_gather", lambda counts: [counts, *others])
    found = count_corpus(classifier, labelled[10:])
    assert np.array_equal(found.tally.frequency, whole.tally.frequency)
    assert np.array_equal(found.knock_out.confusion, whole.knock_out.confusion)


def test_it_agrees_with_predictions_and_explanations(classifier: ICapsClassifier) -> None:
    labelled = list(zip(*make_texts(150, seed=5), strict=True))
    tally = count_corpus(classifier, labelled).tally
    predicted = classifier.predict([text for text, _ in labelled])
    assert tally.texts == 150
    assert tally.frequency.sum(1).tolist() == [
        (predicted == name).sum() for name in classifier.classes_
    ]
    expected = np.zeros_like(tally.frequency)
    for explanation in classifier.explain(
        [text for text, _ in labelled], top_capsules=1, top_kgrams=1
    ):
        (kgram,) = explanation.kgrams
        expected[explanation.classes.index(explanation.predicted), kgram.capsule] += 1
    assert np.array_equal(tally.frequency, expected)


def test_blank_texts_stand_apart() -> None:
    classifier = untrained()
    labelled = [*texts(5), ("", "kitchen"), ("quillmarsh frobbled", "garden")]
    counts = count_corpus(classifier, labelled)
    assert (counts.tally.texts, counts.tally.blank) == (5, 2)
    scores = evaluate(classifier, labelled)  # which takes them for the first class
    assert counts.knock_out.confusion[0].tolist() == scores["confusion"]
    with_one = count_corpus(classifier, labelled[5:])
    assert (with_one.tally.texts, with_one.tally.words) == (0, {})


def test_one_text_and_one_class() -> None:
    counts = count_corpus(untrained(), texts(1))
    assert counts.tally.texts == 1
    same = [(text, "garden") for text, _ in texts(8)]
    confusion = count_corpus(untrained(), same).knock_out.confusion[0]
    assert confusion.sum(1).tolist() == [0, 8, 0]


def test_wrong_data_is_refused() -> None:
    with pytest.raises(DataError, match="no texts to interpret"):
        count_corpus(untrained(), [])
    with pytest.raises(DataError, match="the class 'attic', which the model lacks"):
        count_corpus(untrained(), [("bread", "attic")])


def test_progress_is_reported_and_texts_are_read_once() -> None:
    told: list[int] = []

    def stream() -> Iterator[tuple[str, str]]:
        yield from texts(30)

    count_corpus(untrained(), stream(), told.append)
    assert sum(told) == 30


@pytest.mark.shared_data
def test_real_texts_with_the_shipped_model(shared_data: Path) -> None:
    folder = Path(__file__).resolve().parents[2] / "checkpoints" / "ag_news"
    shipped = ICapsClassifier.load(folder, device="cpu")
    source = open_source(shared_data / "data" / "ag_news", "test")
    labelled = [(record.text, record.label) for record in source][::76]
    assert len(labelled) == 100
    classes = list(shipped.classes_)
    labels = [classes.index(label) for _, label in labelled]
    expected = plain.interpret(shipped.network_, documents(shipped, labelled), labels)
    assert_equal(count_corpus(shipped, labelled).tally, expected)


def winners(kgrams: list[list[int]], gave: list[float], first: int = 0) -> Winners:
    """Texts of class 0 that capsule 0 won."""
    texts = len(kgrams)
    nothing = np.zeros(texts, np.int64)
    contribution = np.array(gave, np.float32)[:, None]
    numbers = np.arange(first, first + texts)
    return Winners(numbers, nothing, nothing, nothing, np.array(kgrams), contribution, contribution)


def test_words_past_the_ends_are_left_out() -> None:
    made = Tally.empty(1, 1)
    made.add(winners([[ABSENT, 5, 6], [5, 5, ABSENT]], [0.1, 0.2]), blank=3)
    assert made.words[0, 0] == Counter({5: 3, 6: 1})
    assert made.kgrams[0, 0] == Counter({(5, 6): 1, (5, 5): 1})
    assert (made.texts, made.blank) == (2, 3)
    assert made.words_of([(0, 0), (4, 4)]) == Counter({5: 3, 6: 1})


def test_typical_texts_are_those_of_the_largest_contributions() -> None:
    made = Tally.empty(1, 1)
    gave = [0.5, 0.25, 1.0, 0.5, 0.125, 2.0, 0.5]
    made.add(winners([[1]] * len(gave), gave), blank=0)
    assert made.typical[0, 0] == [
        Typical(2.0, 5),
        Typical(1.0, 2),
        Typical(0.5, 0),  # of equal ones the earlier
        Typical(0.5, 3),
        Typical(0.5, 6),
    ]
    assert len(made.typical[0, 0]) == TYPICAL


def test_kgrams_are_bounded_and_low_by_no_more_than_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(corpus, "MAX_KGRAMS", 50)
    random = np.random.default_rng(0)
    made, true = Tally.empty(1, 1), Counter[tuple[int, ...]]()
    for batch in range(40):
        kgrams = random.zipf(1.3, (60, 1)).clip(max=10_000)
        made.add(winners(kgrams.tolist(), [1.0] * 60, 60 * batch), blank=0)
        true.update((kgram[0],) for kgram in kgrams.tolist())
    assert len(made.kgrams[0, 0]) <= 50
    assert made.dropped > 0
    for kgram, count in true.items():
        assert count - made.dropped <= made.kgrams[0, 0][kgram] <= count
    assert made.words[0, 0].total() == 40 * 60  # words are all counted


def test_the_median_is_taken_from_each_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "MAX_KGRAMS", 3)
    made, other = Tally.empty(1, 1), Tally.empty(1, 1)
    counts = {(1,): 5, (2,): 3, (3,): 2}
    made.add(winners([list(kgram) for kgram, n in counts.items() for _ in range(n)], [1.0] * 10), 0)
    assert (made.kgrams[0, 0], made.dropped) == (counts, 0)  # as many as there is room for
    made.add(winners([[4]], [1.0]), blank=0)
    assert (made.kgrams[0, 0], made.dropped) == ({(1,): 2}, 3)  # of 1, 2, 3 and 5 it is 3
    other.add(winners([[6], [7], [8]], [1.0] * 3), blank=2)
    other.dropped = 2
    made.merge(other)
    assert (made.kgrams[0, 0], made.dropped) == ({(1,): 1}, 3 + 2 + 1)
    assert (made.texts, made.blank) == (14, 2)
