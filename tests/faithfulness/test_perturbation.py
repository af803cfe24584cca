"""Words removed from texts, on ids, and the norms of what is left, by plain loops."""

import numpy as np
import pytest

from icaps.classifier import ICapsClassifier
from icaps.errors import ConfigError
from icaps.faithfulness import perturbation
from icaps.faithfulness.perturbation import class_norms_per_batch, remove
from icaps.inference import class_norms
from icaps.text.batch import UNK, TokenBatch
from icaps.text.sentences import encode
from tests.interpret import plain
from tests.interpret.test_corpus import texts, untrained
from tests.tokens import batch_of

TEXT = batch_of([[[5, 6, UNK], [7]]])
KEPT = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=bool)


def encoded(classifier: ICapsClassifier, count: int) -> TokenBatch:
    given = [text for text, _ in texts(count, seed=4)]
    return encode(classifier.vocabulary_, given, classifier.network_.config)


def left(text: TokenBatch, kept: np.ndarray, how: str) -> list[list[int]]:
    """The sentences of a text without the words that are not kept, by plain loops."""
    sentences, start = [], 0
    for length in text.words_per_sentence.tolist():
        sentence = []
        for place in range(start, start + length):
            if kept[place]:
                sentence.append(int(text.ids[place]))
            elif how == "unk":
                sentence.append(UNK)
        if sentence:
            sentences.append(sentence)
        start += length
    return sentences


def plain_norms(
    classifier: ICapsClassifier, sentences: list[list[int]], muted: tuple[int, ...] = ()
) -> list[float]:
    if all(word == UNK for sentence in sentences for word in sentence):
        return [0.0] * len(classifier.classes_)
    return plain.run(classifier.network_, sentences, muted)["norms"]


def masks(words: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    kept = random.random((4, words)) < 0.6
    kept[0], kept[1] = False, True
    return kept


def test_deleted_words_leave_no_empty_sentence() -> None:
    found = remove(TEXT, KEPT, "deletion")
    assert found.ids.tolist() == [5, UNK, 6, 7, 5, 6, UNK, 7]
    assert found.words_per_sentence.tolist() == [2, 1, 1, 3, 1]
    assert found.sentences_per_text.tolist() == [1, 2, 0, 2]


def test_unknown_words_take_the_places_of_the_removed() -> None:
    found = remove(TEXT, KEPT, "unk")
    assert found.ids.reshape(4, 4).tolist() == [
        [5, UNK, UNK, UNK],
        [UNK, 6, UNK, 7],
        [UNK] * 4,
        [5, 6, UNK, 7],
    ]
    assert found.words_per_sentence.tolist() == [3, 1] * 4
    assert found.sentences_per_text.tolist() == [2] * 4


def test_a_text_without_words_and_a_wrong_removal() -> None:
    nothing = batch_of([[[]]])
    for how in perturbation.REMOVALS:
        found = remove(nothing, np.zeros((2, 0), dtype=bool), how)
        assert class_norms(untrained().network_, found).tolist() == [[0, 0, 0]] * 2
    with pytest.raises(ConfigError, match="must be one of deletion, unk"):
        remove(TEXT, KEPT, "erase")


@pytest.mark.parametrize("how", perturbation.REMOVALS)
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"activation": "tanh"}])
def test_norms_are_those_of_plain_loops(
    how: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier = untrained(**options)
    classifier.network_.double()
    given = encoded(classifier, 3)
    kept = [masks(len(text.ids), n) for n, text in enumerate(given)]
    expected = [
        [plain_norms(classifier, left(text, row, how)) for row in rows]
        for text, rows in zip(given, kept, strict=True)
    ]
    parts = [remove(text, rows, how) for text, rows in zip(given, kept, strict=True)]
    for words in (32_768, 20, 1):  # all in one pass, and each in its own
        monkeypatch.setattr(perturbation, "BATCH_WORDS", words)
        found = list(class_norms_per_batch(classifier.network_, parts))
        assert len(found) == len(expected)
        for norms, wanted in zip(found, expected, strict=True):
            assert norms == pytest.approx(np.array(wanted), abs=1e-9)
    assert found[0][0].tolist() == [0, 0, 0]  # no word is left


def test_capsules_that_are_off_stay_off() -> None:
    classifier = untrained()
    classifier.network_.double()
    text = encoded(classifier, 1)
    kept = masks(len(text.ids), 0)
    found = class_norms(classifier.network_, remove(text, kept, "deletion"), (1, 2))
    expected = [plain_norms(classifier, left(text, row, "deletion"), (1, 2)) for row in kept]
    assert found == pytest.approx(np.array(expected), abs=1e-9)
