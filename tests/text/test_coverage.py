"""How much of some texts word vectors cover, and what is said when it is little."""

from collections import Counter

import pytest

from icaps.text.coverage import LOW_COVERAGE, VectorCoverage, vector_coverage
from icaps.text.tokenizer import words_of
from icaps.text.vector_files import ENGLISH, load_vectors

ENGLISH_TEXT = (
    "The harbour was empty in the morning, but by noon the first boats came back with fresh "
    "fish. We enjoyed the visit and didn't mind the rain. The waiter wasn't friendly and the "
    "soup was cold."
)
GERMAN = (
    "Der Hafen war am Morgen noch leer, aber gegen Mittag kamen die ersten Boote mit frischem "
    "Fisch zurück. Wir haben uns sehr über den Besuch gefreut und möchten bald wiederkommen. "
    "Das Essen war leider kalt und der Kellner unfreundlich."
)
FRENCH = (
    "Le service était lent et la soupe froide, mais le dessert nous a beaucoup plu. Nous "
    "reviendrons sûrement avec les enfants pendant les vacances, si le temps le permet."
)
POLISH = (
    "Obsługa była bardzo miła, jednak na jedzenie czekaliśmy prawie godzinę. Pokój był czysty "
    "i cichy, a widok z okna piękny."
)


def test_by_hand() -> None:
    counts = {"The": 4, "cat": 2, "Rex": 1, "naïf": 3, "!": 50, "1999": 50, "u-boat": 1, "où": 3}
    coverage = vector_coverage(counts, [{"the", "Rex"}, {"cat"}], "two tables")
    # 4 + 2 + 1 of 14 words; punctuation and numbers are not counted.
    assert coverage == VectorCoverage("two tables", 0.5, ("naïf", "où", "u-boat"))
    assert vector_coverage({"rex": 1}, [{"Rex"}], "").share == 1  # capitalised


def test_at_most_five_words_are_shown_the_most_frequent_first() -> None:
    counts = {f"word{letter}": n for n, letter in enumerate("abcdefg")}
    shown = vector_coverage(counts, [set()], "none").missing
    assert shown == ("wordg", "wordf", "worde", "wordd", "wordc")


@pytest.mark.parametrize("counts", [{}, {"!": 3}])
def test_texts_without_words_are_not_said_to_be_foreign(counts: dict[str, int]) -> None:
    coverage = vector_coverage(counts, [{"the"}], "english")
    assert (coverage.share, coverage.low) == (0, False)


def test_low_from_the_limit_down() -> None:
    assert not VectorCoverage("english", LOW_COVERAGE, ("x",)).low
    low = VectorCoverage("english", LOW_COVERAGE - 0.01, ("der", "und"))
    assert low.low
    assert low.advice.startswith(
        "english: vectors for 74% of the running words. Words without one: der, und. Is it English?"
    )
    assert "--vectors FILE" in low.advice
    assert VectorCoverage("english", 0.98, ("Zo",)).advice == (
        "english: vectors for 98% of the running words."
    )


@pytest.mark.parametrize(
    ("text", "low"), [(ENGLISH_TEXT, False), (GERMAN, True), (FRENCH, True), (POLISH, True)]
)
def test_the_english_table_covers_english(text: str, low: bool) -> None:
    table = load_vectors(ENGLISH).key_to_index
    for written in (text, text.lower(), text.upper()):
        coverage = vector_coverage(Counter(words_of(written)), [table], ENGLISH)
        assert coverage.low == low
        assert ("Is it English?" in coverage.advice) == low
