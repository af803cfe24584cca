"""Capsules switched off: one, all one by one, and as many as can be."""

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch

from icaps.classifier import ICapsClassifier
from icaps.data.source import open_source
from icaps.errors import ConfigError
from icaps.evaluate.scores import evaluate
from icaps.interpret import ablation
from icaps.interpret.ablation import CapsuleSample, norms_of_sets, smallest_set
from icaps.interpret.corpus import count_corpus
from icaps.model import CapsuleLayer
from tests import reference
from tests.conftest import make_texts
from tests.interpret import plain
from tests.interpret.test_corpus import CLASSES, documents, texts, untrained


@pytest.fixture(scope="module")
def labelled() -> list[tuple[str, str]]:
    return list(zip(*make_texts(120, seed=7), strict=True))


@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"kernel_size": 2}])
def test_the_knock_out_table_is_that_of_plain_python(options: dict[str, object]) -> None:
    classifier = untrained(**options)
    network, given = classifier.network_, texts(25, seed=2)
    found = count_corpus(classifier, given).knock_out
    expected = np.zeros_like(found.confusion)
    for document, (_, label) in zip(documents(classifier, given), given, strict=True):
        for row in range(1 + network.config.num_capsules):
            muted = [row - 1] if row else []
            expected[row, CLASSES.index(label), plain.predict(network, document, muted)] += 1
    assert np.array_equal(found.confusion, expected)


def test_a_row_of_the_table_is_an_evaluation_without_the_capsule(
    classifier: ICapsClassifier, labelled: list[tuple[str, str]]
) -> None:
    found = count_corpus(classifier, labelled).knock_out
    for i in (0, 3):
        scores = evaluate(classifier.without([i]), labelled)
        assert scores["confusion"] == found.confusion[1 + i].tolist()
        assert scores["accuracy"] == pytest.approx(found.accuracy[1 + i])
        recalls = [values["recall"] for values in scores["per_class"].values()]
        assert found.recall()[1 + i] == pytest.approx(recalls)


def test_what_a_capsule_costs_its_own_texts(
    classifier: ICapsClassifier, labelled: list[tuple[str, str]]
) -> None:
    counts = count_corpus(classifier, labelled)
    given = [text for text, _ in labelled]
    winners = [e.kgrams[0].capsule for e in classifier.explain(given, top_capsules=1)]
    for i in range(classifier.network_.config.num_capsules):
        predicted = classifier.without([i]).predict(given)
        right = [
            guess == label
            for guess, (_, label), winner in zip(predicted, labelled, winners, strict=True)
            if winner == i
        ]
        assert counts.knock_out.own_right[i] == sum(right)


def test_off_is_the_same_as_no_weights(classifier: ICapsClassifier) -> None:
    """A capsule whose value and bias are zero votes for nothing."""
    sentences = make_texts(12, seed=3)[0]
    expected = classifier.without([1, 4]).class_norms(sentences)
    network = classifier.network_
    kept = {name: value.clone() for name, value in network.state_dict().items()}
    try:
        with torch.no_grad():
            network.attention.value_weight[[1, 4]] = 0
            network.capsules.capsule_bias[[1, 4]] = 0
        assert classifier.class_norms(sentences) == pytest.approx(expected, abs=1e-6)
    finally:
        network.load_state_dict(kept)
    assert np.abs(classifier.class_norms(sentences) - expected).max() > 1e-3


def test_what_is_off_explains_nothing(classifier: ICapsClassifier) -> None:
    text = "Bake the bread with garlic and butter."
    (before,) = classifier.explain([text], top_capsules=1)
    first = before.kgrams[0].capsule
    without = classifier.without([first])
    (after,) = without.explain([text], top_capsules=100)
    shown = {kgram.capsule for kgram in after.kgrams}
    assert shown == set(range(classifier.network_.config.num_capsules)) - {first}
    assert without.without([first, 2]).muted_ == tuple(sorted({first, 2}))
    assert classifier.muted_ == ()


def test_what_can_not_be_switched_off(classifier: ICapsClassifier) -> None:
    with pytest.raises(ConfigError, match="they are 0 to 5"):
        classifier.without([6])
    with pytest.raises(ConfigError, match="they are 0 to 5"):
        classifier.without([-1])
    with pytest.raises(ConfigError, match="leave at least one on"):
        classifier.without(range(6))


def test_sets_of_capsules_in_parts_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    layer = CapsuleLayer(5, 3, 2, 4, iterations=3)
    primary = torch.randn(7, 5, 2)
    kept = torch.tensor([[1.0, 1, 1, 1, 1], [1, 0, 1, 0, 1], [0, 0, 0, 0, 1]])
    whole = norms_of_sets(layer, primary, kept)
    monkeypatch.setattr(ablation, "ROUTED_AT_ONCE", 1)
    assert norms_of_sets(layer, primary, kept) == pytest.approx(whole, abs=1e-6)
    for n, off in enumerate([[], [1, 3], [0, 1, 2, 3]]):
        left = [i for i in range(5) if i not in off]
        some = CapsuleLayer(len(left), 3, 2, 4, iterations=3)
        some.load_state_dict(
            {"capsule_weight": layer.capsule_weight, "capsule_bias": layer.capsule_bias[left]}
        )
        alone = some(primary[:, left]).class_capsules.norm(dim=2)
        assert whole[:, n] == pytest.approx(alone.detach().numpy(), abs=1e-6)


def test_the_smallest_set_is_found_where_it_can_be_known() -> None:
    """Capsules 1 and 3 tell the two classes, 0 and 2 nothing."""
    layer = CapsuleLayer(4, 2, 2, 1, iterations=1)
    with torch.no_grad():
        layer.capsule_weight.copy_(torch.eye(2)[:, None])  # a class for each direction
    labels = np.array([0, 1] * 10)
    primary = np.zeros((20, 4, 2), np.float32)
    primary[labels == 0, 1, 0] = primary[labels == 1, 3, 1] = 1
    sample = CapsuleSample(primary, labels, np.arange(20, dtype=np.uint64))
    few = smallest_set(layer, sample)
    # With no vote the first class is taken, so that capsule 3 alone is enough.
    assert (few.capsules, few.accuracy, few.of_all) == ((3,), 1.0, 1.0)
    sets = [s for n in (1, 2, 3, 4) for s in itertools.combinations(range(4), n)]
    kept = torch.zeros(len(sets), 4)
    for row, chosen in enumerate(sets):
        kept[row, list(chosen)] = 1
    right = (
        norms_of_sets(layer, torch.from_numpy(primary), kept).argmax(2) == labels[:, None]
    ).mean(0)
    assert next(s for s, share in zip(sets, right, strict=True) if share == 1) == (3,)


def test_the_sample_is_even_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation, "SAMPLE", 16)
    classifier, given = untrained(), texts(400, seed=4)
    sample = count_corpus(classifier, given).sample
    assert len(sample.labels) == 16
    numbers = sorted((sample.keys * pow(0x9E3779B97F4A7C15, -1, 2**64)).tolist())
    assert [CLASSES[label] for label in sample.labels] == [
        given[n][1] for n in (sample.keys * np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))).tolist()
    ]
    gaps = np.diff([0, *numbers, 400])
    assert gaps.max() < 3 * 400 / 17  # nowhere a hole


@pytest.mark.shared_data
def test_real_texts_with_the_shipped_model(shared_data: Path) -> None:
    """CapsuleOutput by the equations again for each capsule, from votes that were computed once."""
    folder = Path(__file__).resolve().parents[2] / "checkpoints" / "ag_news"
    shipped = ICapsClassifier.load(folder, device="cpu")
    source = open_source(shared_data / "data" / "ag_news", "test")
    given = [(record.text, record.label) for record in source][::152]
    found = count_corpus(shipped, given).knock_out
    expected = np.zeros_like(found.confusion)
    classes = list(shipped.classes_)
    for document, (_, label) in zip(documents(shipped, given), given, strict=True):
        votes = torch.tensor(plain.run(shipped.network_, document)["votes"], dtype=torch.float64)
        for row in range(33):
            left = [v for i, v in enumerate(votes) if i != row - 1]
            outputs, _ = reference.route([list(capsule) for capsule in left], 3)
            guess = plain.first_largest([float(output.norm()) for output in outputs])
            expected[row, classes.index(label), guess] += 1
    assert np.array_equal(found.confusion, expected)
