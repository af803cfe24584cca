"""Sentences with their places, and the limits N and M."""

import numpy as np
import pytest

from icaps.config import ModelConfig
from icaps.text.batch import UNK
from icaps.text.sentences import encode, sentence_lengths
from icaps.text.tokenizer import split_words
from icaps.text.vocabulary import Vocabulary

TEXT = "Dr. Brown paid $3.50. He left at 5 p.m. yesterday!\n\nThen “Who?” she asked"


def sentences_of(text: str, language: str = "en") -> list[str]:
    spans = np.array([word[1:] for word in split_words(text)]).reshape(-1, 2)
    ends = sentence_lengths(text, spans[:, 0], language).cumsum()
    starts = [0, *ends[:-1]]
    return [text[spans[a, 0] : spans[b - 1, 1]] for a, b in zip(starts, ends, strict=True)]


def test_sentences_end_where_they_should() -> None:
    assert sentences_of(TEXT)[:2] == [
        "Dr. Brown paid $3.50.",
        "He left at 5 p.m. yesterday!",
    ]
    assert sentences_of("これは雨です。次は風だ！👩🏽‍🚀 終わり", "ja") == [
        "これは雨です。",
        "次は風だ！",
        "👩🏽‍🚀 終わり",
    ]
    assert sentences_of("J.\u3000R\u00a0. Tolkien left. He sang.") == [
        "J.\u3000R\u00a0. Tolkien left.",
        "He sang.",
    ]
    assert sentences_of("शब्द यहाँ है। दूसरा वाक्य।", "hi") == ["शब्द यहाँ है।", "दूसरा वाक्य।"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\t ",
        "...",
        "a\ud800. B",
        "\x00. A",
        "A. " * 500,
        "word " * 5000,
        "One.\r\n\r\nTwo.",
        "Mr K\u3000. He left.",  # sentencex panics at wide blanks before a period
        "A\u00a0\u3000.\u3000. B\x85.",
        TEXT,
    ],
)
def test_every_word_is_in_one_sentence(text: str) -> None:
    words = split_words(text)
    lengths = sentence_lengths(text, np.array([word.start for word in words], dtype=np.int64))
    assert lengths.sum() == len(words)
    assert (lengths > 0).all()


def vocabulary() -> Vocabulary:
    return Vocabulary.build(["a b c d e ."], 0)


def test_limits_of_words_and_sentences() -> None:
    text = "A b c d e f go. Be it a bee. See it go now. D end."
    config = ModelConfig(hierarchical=True, max_words=3, max_sentences=4)
    encoded = encode(vocabulary(), [text], config)
    assert encoded.words_per_sentence.tolist() == [3, 3, 2, 3]  # 8 and 5 words, split at 3
    assert encoded.truncated.tolist() == [True]
    assert len(encoded.ids) == len(encoded.spans) == 11
    assert text[encoded.spans[-1, 0] : encoded.spans[-1, 1]] == "a"
    free = ModelConfig(hierarchical=True, max_words=None)
    encoded = encode(vocabulary(), [text], free)
    assert encoded.words_per_sentence.tolist() == [8, 5, 5, 3]
    assert encoded.truncated.tolist() == [False]


def test_a_model_of_short_texts_reads_one_sentence() -> None:
    encoded = encode(vocabulary(), ["a bee. c d."], ModelConfig(max_words=3))
    assert encoded.words_per_sentence.tolist() == [3]
    assert encoded.truncated.tolist() == [True]
    encoded = encode(vocabulary(), [""], ModelConfig())
    assert encoded.words_per_sentence.tolist() == [0]
    encoded = encode(vocabulary(), ["zzz"], ModelConfig(hierarchical=True))
    assert encoded.ids.tolist() == [UNK]
