"""One HTML file that explains texts by itself: weights, tokenizer and network are inside.

The file opens from a disk and requests nothing. Its scripts are `templates/live/`, which compute
what `ICapsClassifier.explain` does with the ranking "account" from a `PackedNetwork`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from icaps.classifier import ICapsClassifier
from icaps.config import INDEPENDENT
from icaps.data import news_sample
from icaps.data.source import open_source
from icaps.html import TEMPLATES, percent, render_html
from icaps.interpret.global_view import load_view
from icaps.portable.packed_network import PackedNetwork
from icaps.portable.sentence_rules import sentence_rules
from icaps.reports.charts import GREY, class_colors
from icaps.reports.global_report import GlobalReport
from icaps.text.sentences import encode
from icaps.train.checkpoint_files import weights_fingerprint
from icaps.train.examples import Example, choose_examples, load_examples

_SCRIPTS = (
    "tokenizer.js",
    "sentence_parts.js",
    "sentences.js",
    "network.js",
    "explain.js",
    "account.js",
    "page.js",
)
_WORDS, _KGRAMS = 12, 6  # on a capsule's card
_RELEVANT: dict[str, Any] = {"all_words": False, "lambda_": 0.6}  # not stop words, see `tables`


@dataclass(frozen=True)
class Agreement:
    """How far the packed network agrees with the model that it was made of.

    Attributes:
        texts: Number of texts on which both were compared.
        same: Number of texts that both predict as one class.
        difference: The largest difference of a class norm.
    """

    texts: int
    same: int
    difference: float

    def __str__(self) -> str:
        share = percent(self.same / self.texts, 2)
        return (
            f"the same class as the Python model on {share} of {self.texts:,} texts; scores differ "
            f"by at most {max(self.difference, 1e-4):.4f}"
        )


def compare(
    classifier: ICapsClassifier, packed: PackedNetwork, texts: Sequence[str]
) -> Agreement | None:
    """The agreement of a classifier and its packed network on texts; None without texts."""
    if not texts:
        return None
    tokens = encode(classifier.vocabulary_, texts, packed.config, spans=False)
    norms, thresholds = packed.class_norms(tokens), classifier.network_.thresholds
    expected = classifier.class_norms(texts)
    if thresholds is not None:
        same = thresholds.predicted(expected) == thresholds.predicted(norms)
    else:
        same = (expected.argmax(1) == norms.argmax(1))[:, None]
    return Agreement(len(texts), int(same.all(1).sum()), float(np.abs(expected - norms).max()))


def live_page(
    classifier: ICapsClassifier,
    folder: str | Path,
    texts: Sequence[str] = (),
    data_name: str = "",
) -> bytes:
    """The page of the model in a folder.

    Args:
        classifier: The model.
        folder: Its folder, with its examples, the counts of its capsules and its scores.
        texts: On which the page is compared with the model, as the page then says.
        data_name: The name of the data that the texts are from, without its folder.

    Raises:
        ConfigError: The network cannot be packed (`packed_network.obstacle`).
        CheckpointError: A file of the folder is damaged.
    """
    packed = PackedNetwork.of(classifier)
    config, thresholds = packed.config, classifier.network_.thresholds
    weights, index = packed.to_bytes(classifier.vocabulary_.words)
    classes = [str(name) for name in classifier.classes_]
    colors = class_colors(classes)
    view = load_view(folder, len(classes), classifier.network_.config.num_capsules)
    report = None if view is None else GlobalReport(classifier, view)
    content = {
        "classes": classes,
        "colors": [colors[name] for name in classes],
        "kernel_size": config.kernel_size,
        "hierarchical": config.hierarchical,
        "max_words": config.max_words,
        "max_sentences": config.max_sentences,
        "sentence_rules": sentence_rules(config.language) if config.hierarchical else None,
        "routing_iterations": config.routing_iterations,
        "independent_routing": config.routing == INDEPENDENT,
        "vote_scale": packed.vote_scale,
        "squash_primary": config.squash_primary,
        "thresholds": None if thresholds is None else thresholds.to_dict(),
        "edits": _edits(classifier),
        "inverse_temperature": classifier.inverse_temperature_,
        "backs_off": classifier.vocabulary_.backs_off,
        "arrays": index,
        "examples": _examples(folder, classes),
        "capsules": _capsules(classifier, report),
        "frequency": [] if report is None else report.view.tally.frequency.tolist(),
    }
    script = "\n".join(_read(name) for name in _SCRIPTS)
    style = _read("page.css")
    page = render_html(
        "live/page.html.j2",
        name=Path(folder).resolve().name,
        classes=classes,
        several=classifier.multilabel_,
        hierarchical=config.hierarchical,
        script=Markup(script),
        script_hash=Markup(_hash(script)),
        style=Markup(style),
        style_hash=Markup(_hash(style)),
        model=Markup(json.dumps(content).replace("<", "\\u003c")),
        weights=Markup(base64.b64encode(weights).decode()),
        frequency=content["frequency"],
        counted="" if report is None else f"Counted over {report.view.tally.texts:,} texts.",
        facts=_facts(classifier, folder, compare(classifier, packed, texts), data_name),
    )
    return page.encode()


def _facts(
    classifier: ICapsClassifier, folder: str | Path, agreement: Agreement | None, data_name: str
) -> list[tuple[str, str]]:
    """What the model is: terms and their values."""
    metrics, config = classifier.metrics_, classifier.network_.config
    facts = [
        ("Classes", ", ".join(map(str, classifier.classes_))),
        ("Training", f"{metrics['training_texts']:,} texts, seed {metrics['seed']}"),
    ]
    match metrics:
        case {"test": {"micro_f1": float(f1), "n": int(count)}}:
            facts.append(("Test", f"micro F1 {percent(f1, 1)} on {count:,} texts"))
        case {"test": {"accuracy": float(accuracy), "n": int(count)}}:
            facts.append(("Test", f"{percent(accuracy, 1)} of {count:,} texts are predicted right"))
        case {"validation_accuracy": float(accuracy)}:
            right = "have all of their classes" if classifier.multilabel_ else "are predicted right"
            facts.append(("Held-out texts", f"{percent(accuracy, 1)} {right}"))
    limit = "" if config.max_words is None else f"; the first {config.max_words} of a text are read"
    if config.hierarchical:
        limit = f"; the first {config.max_sentences} sentences of a text are read"
    facts += [
        ("Words", f"{len(classifier.vocabulary_):,} are known{limit}"),
        (
            "Network",
            f"{config.num_capsules} primary capsules, regions of {config.kernel_size} words",
        ),
        ("Weights", f"SHA-256 {weights_fingerprint(folder)}"),
        ("Made", f"{datetime.now(timezone.utc):%Y-%m-%d}"),
    ]
    if edits := classifier.edits_:
        facts.append(("Edits", "; ".join(map(str, edits))))
    if agreement is not None:
        facts.append(("Agreement", f"{agreement}{f' ({data_name})' if data_name else ''}"))
    always = "" if classifier.multilabel_ else " and always names one of them"
    facts.append(
        (
            "Limits",
            f"It knows only these classes{always}. A share says what a word adds to the score with "
            "attention as it is, not what would happen without the word.",
        )
    )
    return facts


def _edits(classifier: ICapsClassifier) -> list[dict[str, Any]]:
    """What is neutral, by ids of words and numbers of classes."""
    names, vocabulary = list(map(str, classifier.classes_)), classifier.vocabulary_
    return [
        {
            "words": [vocabulary.id(word) for word in edit.words],
            "capsule": edit.capsule,
            "classes": [j for j, name in enumerate(names) if edit.target in (None, name)],
        }
        for edit in classifier.edits_
    ]


def _examples(folder: str | Path, classes: Sequence[str]) -> list[Example]:
    """The examples of a model; for a model of news without any, those of the sample of news."""
    examples = load_examples(folder)
    if not examples and set(classes) == set(news_sample.CLASSES):
        return choose_examples(open_source(news_sample.FILE), classes)
    return examples


def _capsules(classifier: ICapsClassifier, report: GlobalReport | None) -> list[dict[str, Any]]:
    """Of each capsule: its label, colour, what it wins, its words and its K-grams."""
    labels = classifier.capsule_labels_
    if report is None:
        return [
            {"label": label, "color": GREY, "about": "", "words": [], "kgrams": []}
            for label in labels
        ]
    colors, total = class_colors(report.classes), max(report.view.tally.texts, 1)
    capsules = []
    for i, (label, row) in enumerate(zip(labels, report.capsules.itertuples(), strict=True)):
        about = f"It wins {percent(row.wins / total, 1)} of the texts ({row.wins:,})"
        if row.wins:
            about += f", {percent(row.purity, 0)} of them {row.main_class}"
        place = report.place(i, report.served_classes[i])
        words = report.words_by_share(place, top=_WORDS, **_RELEVANT)["word"]
        kgrams = report.kgrams_by_share(place, top=_KGRAMS, **_RELEVANT)["kgram"]
        capsules.append(
            {
                "label": label,
                "color": colors.get(row.main_class, GREY),
                "about": f"{about}.",
                "words": words.tolist(),
                "kgrams": kgrams.tolist(),
            }
        )
    return capsules


def _read(name: str) -> str:
    return (TEMPLATES / "live" / name).read_text(encoding="utf-8").strip()


def _hash(source: str) -> str:
    """The source of a script or a style for a Content-Security-Policy."""
    digest = hashlib.sha256(source.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
