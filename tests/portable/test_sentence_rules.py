"""The tables of languages for the splitter of the page; tests/browser compares what it splits."""

import pytest

from icaps.portable.sentence_rules import sentence_rules


def test_rules_of_english() -> None:
    rules = sentence_rules("en")
    assert {"dr", "e.g", "etc"} <= set(rules["abbreviations"])
    assert {"The", "However"} <= set(rules["starters"])
    assert {name: rules["markers"][0][name] for name in ("suffix", "any_case")} == {
        "suffix": "a.m",
        "any_case": True,
    }
    assert set(".!?") <= set(rules["terminators"])
    assert len(rules["terminators"]) == 155


@pytest.mark.parametrize(
    ("language", "same"),
    [("de-at", "de"), ("ca", "ca"), ("zh-cn", "en"), ("xx", "en"), ("", "en"), ("arn", "es")],
)
def test_languages_without_rules_have_those_of_another(language: str, same: str) -> None:
    assert sentence_rules(language) == sentence_rules(same)


def test_marks_that_end_sentences_differ_by_language() -> None:
    assert "." not in sentence_rules("hy")["break_marks"]
    assert ";" in sentence_rules("el")["break_marks"]
    assert "August" in sentence_rules("de")["months"]
