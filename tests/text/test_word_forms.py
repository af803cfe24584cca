import pytest

from icaps.text.word_forms import letter_cases, other_forms


def test_cases() -> None:
    assert letter_cases("oIL") == ("oil", "Oil", "OIL")
    assert letter_cases("U.S.") == ("u.s.", "U.s.", "U.S.")
    assert letter_cases("119.6") == ("119.6",) * 3


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("OILS", ["oils", "oil"]),
        ("insurgent", ["insurgent", "insurgents"]),
        ("Refineries", ["refineries", "refinery", "refinerie"]),
        ("CEOs", ["ceos", "ceo"]),
        ("matches", ["matches", "match", "matche"]),
        ("houses", ["houses", "hous", "house"]),
        ("boss", ["boss"]),
        ("virus", ["virus"]),
        ("119.6", ["119.6"]),
        ("U.S.", ["u.s."]),
        ("PS2", ["ps2"]),
        ("as", ["as"]),
        ("中", ["中"]),
    ],
)
def test_other_forms_are_cases_and_english_numbers(word: str, forms: list[str]) -> None:
    assert list(other_forms(word)) == [case for form in forms for case in letter_cases(form)]
