"""Words, their places, and the vocabulary."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import Split

from icaps.data.surrogates import replace_surrogates
from icaps.errors import CheckpointError
from icaps.text import tokenizer
from icaps.text.batch import PAD, UNK
from icaps.text.tokenizer import Word, split_words, words_of
from icaps.text.vocabulary import Vocabulary

WORDS = [  # text, its words
    ("", ""),
    ("  a\t\n b", "a b"),
    ("Hello, world!", "Hello , world !"),
    ("don't can’t WON'T n't", "do n't ca n’t WO N'T n't"),
    ("it's we're I've they’ll he'd I'm D'Arcy", "it 's we 're I 've they ’ll he 'd I 'm D ' Arcy"),
    ("Revenue $119.6 billion to $120 billion", "Revenue $ 119.6 billion to $ 120 billion"),
    ("1,000. 1,000,000.5, 3.", "1,000 . 1,000,000.5 , 3 ."),
    ("U.S. U.S.A. U.S a.m. A. x.com", "U.S. U.S.A. U.S a.m. A . x . com"),
    ("PS2 3G well-known c\\d", "PS2 3G well - known c \\ d"),
    ("**a** _b_ :sunglasses:", "* * a * * _ b _ : sunglasses :"),
    ("x<script>alert(1)</script>", "x < script > alert ( 1 ) < / script >"),
    ("a <unk> <pad>", "a < unk > < pad >"),
    ("a\x00b", "a \x00 b"),
    ("שלום world", "שלום world"),
    ("İstanbul", "İstanbul"),
    ("e\u0301te\u0301", "e\u0301te\u0301"),
    ("ภาษากำ", "ภ า ษ า กำ"),
    ("中文カタカナー한국어ひら", "中 文 カタカナー한국어 ひ ら"),
    ("កម្ពុជា", "ក ម្ពុ ជា"),
    ("क्\u200dषि می\u200cخواهم", "क्\u200dषि می\u200cخواهم"),
    ("👩🏽\u200d💻🇫🇷🇩🇪1️⃣2️⃣", "👩🏽\u200d💻 🇫🇷 🇩🇪 1️⃣ 2️⃣"),
    ("a\ud800b", "a \ufffd b"),
]
ENTITIES = [  # text, words with their places in it
    ("Fed#39;s", [("Fed", 0, 3), ("'s", 3, 8)]),
    ("didn #39;t #39;t", [("did", 0, 3), ("n't", 3, 10), ("'", 11, 15), ("t", 15, 16)]),
    ("&lt;b&gt;", [("<", 0, 4), ("b", 4, 5), (">", 5, 9)]),
    ("AT&amp;T;", [("AT", 0, 2), ("&", 2, 7), ("T", 7, 8), (";", 8, 9)]),
    (" quot;Hi,quot;", [('"', 1, 6), ("Hi", 6, 8), (",", 8, 9), ('"', 9, 14)]),
    ("don&#x27;t", [("do", 0, 2), ("n't", 2, 10)]),
    ("&amp;quot; &amp;amp;lt;", [('"', 0, 10), ("<", 11, 23)]),
    ("a&nbsp;b&#10;c&shy;d", [("a", 0, 1), ("b", 7, 8), ("c", 13, 14), ("d", 19, 20)]),
    ("e&#769;t", [("e\u0301t", 0, 8)]),
    ("vamp; #1;", [("vamp", 0, 4), (";", 4, 5), ("#", 6, 7), ("1", 7, 8), (";", 8, 9)]),
    ("#36;5 &#151;", [("$", 0, 4), ("5", 4, 5), ("—", 6, 12)]),
    ("&zzz;", [("&", 0, 1), ("zzz", 1, 4), (";", 4, 5)]),
    ("&nbsp;\u0301", [(" \u0301", 0, 7)]),
]
PIECES = st.sampled_from(
    [
        *"aZn'’st.,$1239-_&#; \t\n\r\x00\x1c\x85\u00a0\u2028éİßשלकষक中々ひーカｶﾞ한กาำลຳကសখ",
        *"\u1100\u1161\u0301\u05b0\u093e\u094d\u17d2\u1039\u0d4e\u0600\u200b\u200c\u200d\ufe0f\u20e3",
        *"😀👩🏽🇫🇷©ℹ\U000e0067",
        *("n't", "'s", "U.S.", "&amp;", "quot;", "#39;", "&nbsp;", "&#769;", "&zwj;", "n #39;t"),
    ]
)
ASCII = st.characters(codec="ascii")
MIXED = st.lists(PIECES, max_size=14).map("".join)


def vocabulary(*words: str) -> Vocabulary:
    return Vocabulary(("<pad>", "<unk>", *words), (0, 0, *(3 for _ in words)))


def split_texts(texts: list[str]) -> list[list[tuple[str, tuple[int, int]]]]:
    """The words of texts and their places, of texts that are split at once."""
    seen: list[str] = []

    def number(word: str) -> int:
        seen.append(word)
        return len(seen) - 1

    entries, counts, spans = tokenizer._locate(texts, tokenizer._Pieces(number))
    words = [seen[entry["id"]] for entry in entries]
    assert [len(word) for word in words] == entries["length"].tolist()
    found = iter(zip(words, map(tuple, spans.tolist()), strict=True))
    return [[next(found) for _ in range(count)] for count in counts]


@pytest.mark.parametrize(("text", "words"), WORDS)
def test_words(text: str, words: str) -> None:
    assert [word.text for word in split_words(text)] == (words.split(" ") if words else [])


@pytest.mark.parametrize(("text", "words"), ENTITIES)
def test_entities_are_read_as_their_character(text: str, words: list[tuple[str, int, int]]) -> None:
    assert [tuple(word) for word in split_words(text)] == words


def test_a_combining_mark_on_a_space_is_one_word() -> None:
    assert split_words("a  \u0301b") == [("a", 0, 1), (" \u0301", 2, 4), ("b", 4, 5)]


@settings(max_examples=500, deadline=None)
@given(MIXED)
def test_every_grapheme_is_whole_and_in_one_word(text: str) -> None:
    words = split_words(text)
    boundaries = {0} | {match.end() for match in regex.finditer(r"\X", text)}
    end = 0
    for word in words:
        assert end <= word.start < word.end
        assert {word.start, word.end} <= boundaries
        end = word.end
    if ";" not in text:
        assert all(text[word.start : word.end] == word.text for word in words)
        covered = {place for word in words for place in range(word.start, word.end)}
        assert all(char.isspace() for place, char in enumerate(text) if place not in covered)


@settings(max_examples=300, deadline=None)
@given(st.text("aNt's.,:!?-5 \n()\"\u0301İ中👩", max_size=30))
def test_shortcuts_change_no_word(text: str) -> None:
    slow = Split(Regex(tokenizer._WORD), behavior="removed", invert=True)
    words = [Word(word, *span) for word, span in slow.pre_tokenize_str(text)]
    assert split_words(text) == words


@settings(max_examples=500, deadline=None)
@given(st.text("ntsrevldmNT01'.,-#*&; \t\n\r\x00\x1c\x7f", max_size=14) | st.text(ASCII))
def test_ascii_is_split_into_the_same_words(text: str) -> None:
    parts = tokenizer._SPLIT.pre_tokenize_str(text)
    assert split_texts([text]) == [parts]
    assert tokenizer._words(text) == [word for word, _ in parts]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.text(ASCII, max_size=6) | MIXED, max_size=5))
def test_texts_encoded_together_have_the_words_of_each_alone(texts: list[str]) -> None:
    texts = [replace_surrogates(text) for text in texts]
    assert split_texts(texts) == [tokenizer._SPLIT.pre_tokenize_str(text) for text in texts]


@settings(max_examples=300, deadline=None)
@given(st.text(st.characters(codec=None)))
def test_any_text_is_covered(text: str) -> None:
    words = split_words(text)
    covered = [place for word in words for place in range(word.start, word.end)]
    assert sorted(set(covered)) == covered
    if ";" not in text:
        assert all(text[place].isspace() for place in set(range(len(text))) - set(covered))


@settings(max_examples=100, deadline=None)
@given(st.lists(MIXED, max_size=5), st.none() | st.integers(1, 6))
def test_encode_agrees_with_split_words(texts: list[str], limit: int | None) -> None:
    known = vocabulary("a", "n't", "中", "&", "😀", "'s")
    together = known.encode(texts, limit)
    assert len(together) == len(texts)
    for text, encoded in zip(texts, together, strict=True):
        words = split_words(text)
        assert words_of(text) == [word.text for word in words]
        assert encoded.ids.tolist() == [known.id(word.text) for word in words][:limit]
        assert encoded.spans.tolist() == [[word.start, word.end] for word in words][:limit]
        assert encoded.truncated.tolist() == [limit is not None and len(words) > limit]
        alone = known.encode([text], limit)
        np.testing.assert_array_equal(alone.ids, encoded.ids)
        np.testing.assert_array_equal(alone.spans, encoded.spans)
        bare = known.encode([text], limit, spans=False)
        assert bare.spans is None
        np.testing.assert_array_equal(bare.ids, encoded.ids)
        np.testing.assert_array_equal(bare.truncated, encoded.truncated)


def test_entities_after_truncation_do_not_affect_other_texts() -> None:
    texts = ["a b c d &amp; &amp; &amp;", "&amp; b", "&nbsp;", "x &quot;y"]
    spans = [encoded.spans.tolist() for encoded in vocabulary("a").encode(texts, 2)]
    assert spans == [[[0, 1], [2, 3]], [[0, 5], [6, 7]], [], [[0, 1], [2, 8]]]


def test_encode_over_several_batches() -> None:
    known = vocabulary(*(str(number) for number in range(2500)))
    encoded = known.encode([str(number) for number in range(2500)])
    assert [int(text.ids[0]) for text in encoded] == list(range(2, 2502))


def test_encode_keeps_the_order_of_ascii_and_other_texts() -> None:
    texts = [f"{'é' if number % 3 else 'e'} {number}" for number in range(2500)]
    known = Vocabulary.build(texts, 0)
    for number, encoded in enumerate(known.encode(texts)):
        assert encoded.ids.tolist() == [known.id(word) for word in texts[number].split()]
    assert known.id("é") != UNK


def test_encode_limits_and_shapes() -> None:
    short, empty = vocabulary("a").encode(["a b a", " "], max_words=2)
    assert short.ids.tolist() == [2, UNK]
    assert short.truncated.tolist() == [True]
    assert short.unknown_share.tolist() == [0.5]
    assert (empty.ids.shape, empty.spans.shape) == ((0,), (0, 2))
    assert (empty.ids.dtype, empty.spans.dtype) == (np.int32, np.int64)
    assert empty.unknown_share.tolist() == [0.0]
    assert empty.truncated.tolist() == [False]
    assert len(vocabulary().encode([])) == 0


def test_text_cannot_name_a_special_word() -> None:
    assert PAD not in vocabulary("a").encode(["<pad> <unk> a"])[0].ids
    assert len(vocabulary().encode(["<unk>"])[0].ids) == 3


def test_build_selects_words_above_the_minimum_frequency() -> None:
    known = Vocabulary.build(iter(["b a c", "b a a", "b d d"]), min_frequency=1)
    assert known.words == ("<pad>", "<unk>", "a", "b", "d")
    assert known.counts == (0, 1, 3, 3, 2)
    assert Vocabulary.build(["b a c", "b a a", "b d d"], 2).words[2:] == ("a", "b")
    assert Vocabulary.build([], 0).words == ("<pad>", "<unk>")
    assert len(known) == 5
    assert "d" in known
    assert "c" not in known
    assert (known.id("d"), known.id("c"), known.id("<pad>")) == (4, UNK, PAD)


def test_a_vocabulary_can_be_pickled_after_use() -> None:
    known = vocabulary("a")
    known.encode(["a"])
    again = pickle.loads(pickle.dumps(known))
    assert again == known
    assert again.encode(["b a"])[0].ids.tolist() == [UNK, 2]


def test_save_and_load(tmp_path: Path) -> None:
    known = Vocabulary.build(["it's é  \u0301 \x1c \x00 中 👩🏽\u200d💻 \u2028 \\ it"], 0)
    known.save(tmp_path / "vocabulary.txt")
    assert Vocabulary.load(str(tmp_path / "vocabulary.txt")) == known
    assert b"\nit\t2\n" in (tmp_path / "vocabulary.txt").read_bytes()
    lines = (tmp_path / "vocabulary.txt").read_bytes().replace(b"\n", b"\r\n")
    (tmp_path / "vocabulary.txt").write_bytes(lines)
    assert Vocabulary.load(tmp_path / "vocabulary.txt") == known


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "line 1 must be the entry of <pad>"),
        (b"<pad>\t0\n", "line 2 must be the entry of <unk>"),
        (b"<unk>\t0\n<pad>\t0\n", "line 1 must be the entry of <pad>"),
        (b"<pad>\t0\n<unk>\t0\na\t1\na\t2\n", "line 4 has the word 'a' for the second time"),
        (b"<pad>\t0\n<unk>\t0\na\t-1\n", "line 3 is not a word, a tab and a count"),
        (b"<pad>\t0\n<unk>\t0\na\n", "line 3 is not a word, a tab and a count"),
        (b"<pad>\t0\n\n<unk>\t0\n", "line 2 is not a word, a tab and a count"),
        (b"<pad>\t0\n<unk>\t0\n\xff\t1\n", "line 3 is not UTF-8"),
    ],
)
def test_load_names_the_line_that_is_wrong(tmp_path: Path, content: bytes, fault: str) -> None:
    path = tmp_path / "vocabulary.txt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=fault) as caught:
        Vocabulary.load(path)
    assert str(path) in str(caught.value)
    assert "train again" in str(caught.value)


def test_load_of_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be read"):
        Vocabulary.load(tmp_path / "none.txt")


def test_the_cache_of_pieces_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "_MAX_PIECES", 3)
    known = vocabulary("a", "b", "c")
    text = f"a b, a {'c' * 40} b, c b, d e a"
    (first,) = known.encode([text])
    assert list(known._tokenizer._pieces) == [
        "d",
        "e",
        "a",
    ]  # the fourth is one too many; a long one is none
    assert first.ids.tolist() == [known.id(word.text) for word in split_words(text)]
    np.testing.assert_array_equal(known.encode([text])[0].ids, first.ids)


def test_a_pickled_vocabulary_has_no_cache() -> None:
    known = vocabulary("a", "b")
    known.encode(["a b, c"])
    sent = pickle.loads(pickle.dumps(known))
    assert sent == known
    assert vars(sent).keys() == {"words", "counts", "vector_words", "backs_off"}
    assert sent.encode(["b c a"])[0].ids.tolist() == [3, UNK, 2]
