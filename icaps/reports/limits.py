"""What a model can't do, in sentences that follow from the facts of its card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from icaps.reports.numbers import percent


def limits(facts: Mapping[str, Any]) -> Iterator[str]:
    """The sentences."""
    data, told, config = facts["data"], facts["evaluation"], facts["model_settings"]
    words = data["words"]
    yield (
        f"It knows {len(facts['classes'])} classes and no others: a text of another kind gets one "
        "of them all the same."
    )
    yield (
        f"It knows the {facts['vocabulary']:,} words of its training texts, in the language of "
        f"these, and reads every other word as unknown: {percent(data['unknown_words'])} of the "
        "words here, and about all of another language's."
    )
    yield (
        "A text without a known word has no class: all norms are 0. "
        f"{told['blank']:,} of the {data['texts']:,} texts here are such."
    )
    yield _length(config, data)
    yield (
        f"It was tested on texts of {words['5%']:,.0f} to {words['95%']:,.0f} words (nine of ten); "
        "what it does with much shorter or longer ones is not known."
    )
    worse = [
        f"{part['kind']} {part['name']} ({percent(part['accuracy'])})"
        for part in facts["slices"]
        if part["verdict"] == "worse"
    ]
    if worse:
        yield f"It is worse than on random subsets on texts by {'; '.join(worse)}."
    yield (
        "Its probabilities were calibrated on texts like those of its training, and mean little on "
        "others."
    )
    if facts["faithfulness"] is None:
        yield "Whether the words that it shows as reasons decide was not measured for this card."
    if facts["capsules"] is None:
        yield "What its capsules do was not counted."
    if facts["training"].get("interrupted") is True:
        yield "Its training was stopped before its end."
    if left_out := told["left_out"]:
        told_rows = ", ".join(f"{kind}: {rows:,}" for kind, rows in left_out.items())
        yield f"Rows of the data that can't be read are left out of all numbers ({told_rows})."


def _length(config: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    what = "sentence" if config["hierarchical"] else "text"
    limit, cut = config["max_words"], data["cut"]
    if limit is None:
        sentence = f"All words of a {what} are read."
    else:
        sentence = f"Of a {what} the first {limit:,} words are read"
        sentence += "." if cut is None else f"; {cut:,} of the texts here are longer."
    if config["hierarchical"] and config["max_sentences"] is not None:
        sentence += f" Of a text the first {config['max_sentences']:,} sentences are read."
    return sentence
