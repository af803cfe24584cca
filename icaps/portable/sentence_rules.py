"""The tables by which sentencex splits texts of a language, for the splitter in JavaScript.

`templates/live/sentences.js` has its rules; `sentence_rules.json` is made of the lists of its
version 1.0.30 (github.com/wikimedia/sentencex, licence in `sentence_rules.LICENSE`): abbreviations,
words that start a sentence, marks after numbers and names. Tests compare both splitters.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

_TABLES = Path(__file__).with_suffix(".json")
_DEFAULT = "en"  # of a language without rules, as in sentencex


def sentence_rules(language: str) -> dict[str, Any]:
    """The rules of a language by an ISO 639 code, as plain data for JSON."""
    tables = _tables()
    own = tables["languages"][_with_rules(language)]
    lists = [tables["abbreviations"][name].split() for name in own["abbreviations"]]
    marks = set(tables["terminators"]) - set(own.get("fewer_terminators", ""))
    return {
        "abbreviations": sorted({word for words in lists for word in words}),
        "starters": own.get("starters", "").split(),
        "fronting": own.get("fronting", "").split(),
        "markers": own.get("markers", []),
        "months": own.get("months", []),
        "terminators": tables["terminators"],
        "break_marks": "".join(sorted(marks)) + own.get("more_terminators", ""),
        "spaced_runs": own.get("spaced_runs", True),
        "continuing": own.get("continuing", ""),
        "after_marks": own.get("after_marks", False),
        "last_word": own.get("last_word", ""),
        "ellipsis_before_i": own.get("ellipsis_before_i", False),
    }


def _with_rules(language: str) -> str:
    """The language itself, or that by which its texts are split."""
    tables, seen = _tables(), set()
    while language not in tables["languages"]:
        seen.add(language)
        others = tables["fallbacks"].get(language, "").split()
        language = next((other for other in others if other not in seen), _DEFAULT)
    return language


@cache
def _tables() -> dict[str, Any]:
    tables: dict[str, Any] = json.loads(_TABLES.read_text(encoding="utf-8"))
    return tables
