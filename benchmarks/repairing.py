"""Repairs of models that rely on a shortcut: what making words neutral and retraining change.

    python -m benchmarks.repairing tags --model MODEL --data ag_news [--words A,B]
    python -m benchmarks.repairing planted --data trec [--class NAME] [--seeds N]
    ... [--json]

`tags`: words of a trained model, by default the names of wire services, are made neutral: accuracy
on texts with them and on the rest, flips, and flips with random words of like frequency.

`planted`: a word that is in no text is put at the start of 95% of the training texts of one class,
and of 5% of the others. A model is trained on them. Then the word is made neutral, or the model is
trained again on masked copies of the texts, or both. All are scored on test texts without the word,
and on the same texts with it at the start of every one ("tagged"): `leaning` is the share of tagged
texts of other classes that get the word's class.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.machine import machine
from icaps.classifier import ICapsClassifier
from icaps.data.resolve import resolve
from icaps.data.source import open_source
from icaps.evaluate.edit_effect import measure_edits
from icaps.interpret.edits import neutral_words
from icaps.stats import wilson

WIRES = ("Reuters", "AP", "AFP", "SPACE.com", "PC World", "USATODAY.com", "Ziff Davis")
WORD = "zqxw"  # in no text
PRESENT, ABSENT = 0.95, 0.05  # share of the texts of the class, and of others, that have the word
RANDOM_WORDS = 3  # draws of the control

Pairs = list[tuple[str, str]]


def main() -> None:
    """Prints one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["tags", "planted"])
    parser.add_argument("--data", required=True)
    parser.add_argument("--model")
    parser.add_argument("--words", default=",".join(WIRES))
    parser.add_argument("--class", dest="target")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = list(tags(options) if options.what == "tags" else planted(options))
    if options.json:
        print(json.dumps({"machine": machine(), "rows": rows}))
        return
    columns = list(rows[0])
    print("", *columns, sep=" | ")
    for row in rows:
        print("", *(_cell(row[column]) for column in columns), sep=" | ")


def tags(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row per word, and one for all of them together."""
    pairs = _read(options.data, "test")
    before = ICapsClassifier.load(options.model, device="cpu")
    words = options.words.split(",")
    known = [word for word in words if _known(before, word)]
    for chosen in [known] + [[word] for word in known]:
        after = before.edited([neutral_words(word) for word in chosen])
        draws = RANDOM_WORDS if chosen is known else 1
        effects = [measure_edits(before, after, pairs, seed) for seed in range(draws)]
        effect = effects[0]
        yield {
            "words": ", ".join(chosen),
            "texts": effect.concerned,
            "before": effect.concerned_before.value,
            "after": effect.concerned_after.value,
            "flips": effect.flips,
            "random flips": float(np.mean([one.control for one in effects])),
            "rest before": effect.rest_before.value,
            "rest after": effect.rest_after.value,
            "depend before": effect.rows[0].depend.value if effect.rows[0].depend else None,
            "depend after": effect.rows[1].depend.value if effect.rows[1].depend else None,
        }


def planted(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row per model, the mean over the seeds."""
    training, test = _read(options.data, "train"), _read(options.data, "test")
    classes = sorted({label for _, label in training})
    target = options.target or classes[0]
    results: dict[str, list[dict[str, float]]] = {}
    for seed in range(options.seeds):
        texts, labels = zip(*plant(training, target, seed), strict=True)
        settings = {"seed": seed}
        misled = ICapsClassifier(train=settings, device="cpu").fit(texts, labels)
        masked = ICapsClassifier(train=settings, device="cpu").fit(texts, labels, masked=[WORD])
        edit = neutral_words(WORD)
        models = {
            "clean training texts": ICapsClassifier(train=settings, device="cpu").fit(
                *zip(*training, strict=True)
            ),
            "before": misled,
            "neutral": misled.edited([edit]),
            "random words neutral": None,
            "retrained": masked,
            "retrained, neutral": masked.edited([edit]),
        }
        for name, model in models.items():
            scores = (
                _mean([_score(m, test, target) for m in _controls(misled, seed)])
                if model is None
                else _score(model, test, target)
            )
            results.setdefault(name, []).append(scores)
    for name, runs in results.items():
        yield {"model": name, "class": target, **_mean(runs)}


def plant(pairs: Pairs, target: str, seed: int) -> Pairs:
    """The texts, with the word at the start of most of one class and of few others."""
    draws, share = random.Random(seed), {True: PRESENT, False: ABSENT}
    return [
        (f"{WORD} {text}" if draws.random() < share[label == target] else text, label)
        for text, label in pairs
    ]


def _score(model: ICapsClassifier, test: Pairs, target: str) -> dict[str, float]:
    texts, labels = [text for text, _ in test], np.array([label for _, label in test])
    clean = model.predict(texts)
    tagged = model.predict([f"{WORD} {text}" for text in texts])
    others = labels != target
    right = wilson(int((clean == labels).sum()), len(labels))
    return {
        "clean accuracy": right.value,
        "clean accuracy of the class": float((clean == labels)[~others].mean()),
        "tagged accuracy": float((tagged == labels).mean()),
        "leaning": float((tagged[others] == target).mean()),
        "leaning without the word": float((clean[others] == target).mean()),
        "flips by the word": float((clean != tagged).mean()),
    }


def _controls(model: ICapsClassifier, seed: int) -> Iterator[ICapsClassifier]:
    """The model with another word neutral, of like frequency."""
    words, place = model.vocabulary_.words, model.vocabulary_.id(WORD)
    near = [n for n in range(max(2, place - 25), place + 26) if n != place]
    for n in random.Random(seed).sample(near, RANDOM_WORDS):
        yield model.edited([neutral_words(words[n])])


def _mean(rows: Sequence[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def _known(model: ICapsClassifier, word: str) -> bool:
    try:
        model.edited([neutral_words(word)])
    except ValueError:
        return False
    return True


def _read(data: str, part: str) -> Pairs:
    return list(open_source(resolve(data), part).pairs())


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
