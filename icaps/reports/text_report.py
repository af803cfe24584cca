"""The explanation of one text as a file: HTML, Markdown, JSON or CSV."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from icaps.config import ACCOUNT, ExplainOptions
from icaps.data.label_sets import format_label_set
from icaps.data.surrogates import replace_surrogates
from icaps.html import Table, decimals, percent, render_html, render_markdown
from icaps.reports.files import DIGITS, ModelName, check_format, rounded, to_csv, to_json
from icaps.results import Explanation
from icaps.word_account import WordAccount

_COLUMNS = ["K-gram", "start", "end", "capsule", "capsule name", "routing", "attention"]
_COLUMNS += ["contribution", "share", "sentence", "sentence attention", "class", "norm of class"]
_COLUMNS += ["bias", "covered", "words", "predicted", "model", "weights", "text"]
_WORD_DIGITS = 4  # of the shares in the cell of words


@dataclass(frozen=True)
class TextReport:
    """An explanation with its model and its options.

    Attributes:
        explanation: The explanation of one text.
        model: The model that gave it.
        options: The options that gave it.
        muted: Capsules that were switched off.
        trust: From `faithfulness.reason_results.trust_facts`, if the explanation was tested.
    """

    explanation: Explanation
    model: ModelName
    options: ExplainOptions
    muted: Sequence[int] = ()
    trust: Mapping[str, Any] | None = None

    def to_bytes(self, format_: str) -> bytes:
        """The report as a file of one of `files.FILE_FORMATS`.

        Raises:
            ConfigError: There is no such format.
        """
        check_format(format_)
        if format_ == "json":
            return to_json(self._facts())
        if format_ == "csv":
            return to_csv(self._frame())
        text = self._html() if format_ == "html" else self._markdown()
        return text.encode("utf-8")

    @cached_property
    def _rounded(self) -> Explanation:
        """The explanation with the numbers of the JSON, so that all formats show the same."""
        return Explanation.from_dict(rounded(self.explanation.to_dict()))

    def _facts(self) -> dict[str, Any]:
        """Plain data; `Explanation.from_dict` reads what is under `explanation`."""
        return {
            "model": self.model._asdict(),
            "settings": self._settings(),
            "explanation": self.explanation.to_dict(),
            "trust": None if self.trust is None else dict(self.trust),
        }

    def _settings(self) -> dict[str, Any]:
        """The options of `icaps explain` that give the explanation, without their dashes."""
        options = self.options
        settings: dict[str, Any] = {
            "top-capsules": options.top_capsules,
            "top-kgrams": options.top_kgrams,
            "top-sentences": options.top_sentences,
            "ranking": options.ranking,
        }
        if options.target is not None:
            settings["target"] = options.target
        if self.muted:
            settings["mute"] = list(self.muted)
        return settings

    def _frame(self) -> pd.DataFrame:
        """A row per K-gram; each has the text, so that rows of many files can be concatenated.

        So it has the words, each with its share, such as "oil +0.1234 | fell -0.0011".
        """
        explanation = self._rounded
        has_account = len(explanation.account.bias) > 0
        words = " | ".join(
            f"{explanation.text[word.start : word.end]} "
            f"{decimals(word.share, _WORD_DIGITS, sign=True)}"
            for word in explanation.words
        )
        rows = [
            {
                "K-gram": replace_surrogates(kgram.text),
                "start": kgram.start,
                "end": kgram.end,
                "capsule": kgram.capsule,
                "capsule name": kgram.capsule_name,
                "routing": round(kgram.routing, DIGITS),
                "attention": round(kgram.attention, DIGITS),
                "contribution": round(kgram.contribution, DIGITS),
                "share": round(kgram.share, DIGITS) if has_account else None,
                "sentence": kgram.sentence + 1,
                "sentence attention": round(kgram.sentence_attention, DIGITS),
                "class": explanation.target,
                "norm of class": round(explanation.score, DIGITS),
                "bias": round(explanation.bias, DIGITS) if has_account else None,
                "covered": round(explanation.covered, DIGITS) if has_account else None,
                "words": replace_surrogates(words) if has_account else "",
                "predicted": _predicted(explanation),
                "model": self.model.name,
                "weights": self.model.weights,
                "text": replace_surrogates(explanation.text),
            }
            for kgram in explanation.kgrams
        ]
        return pd.DataFrame(rows, columns=_COLUMNS)

    def _html(self) -> str:
        return render_html("text_report.html.j2", **self._values())

    def _markdown(self) -> str:
        explanation = self._rounded
        return render_markdown(
            "text_report.md.j2",
            evidence=_evidence(explanation),
            words=[] if explanation.blank else _words(explanation),
            scores=_scores(explanation),
            **self._values(),
        )

    def _values(self) -> dict[str, Any]:
        return {
            "explanation": self._rounded,
            "model": self.model,
            "trust": self.trust,
            "command": self._command(),
        }

    def _command(self) -> str:
        """The command that reproduces the report, with TEXT for the text."""
        command = ["icaps", "explain", "--model", self.model.name]
        for name, value in self._settings().items():
            for part in value if isinstance(value, (list, tuple)) else [value]:
                command += [f"--{name}", str(part)]
        command += ["--trust"] if self.trust is not None else []
        return f"{shlex.join(command)} --format html --out report.html TEXT"


def _evidence(explanation: Explanation) -> Table:
    has_account = len(explanation.account.bias) > 0
    columns = ["K-gram", "Capsule", *(["Share"] if has_account else [])]
    columns += ["Contribution", "Routing β", "Attention α"]
    columns += ["Sentence", "Its attention ρ"] if explanation.sentences else []
    rows = []
    for kgram in explanation.kgrams:
        weights = (kgram.contribution, kgram.routing, kgram.attention)
        row = [kgram.text, kgram.capsule_label]
        row += [decimals(kgram.share, 3, sign=True)] if has_account else []
        row += [decimals(weight, 3) for weight in weights]
        if explanation.sentences:
            row += [str(kgram.sentence + 1), decimals(kgram.sentence_attention, 3)]
        rows.append(row)
    caption = (
        "The K-grams whose words add most to the score"
        if explanation.ranking == ACCOUNT
        else f"The {explanation.kernel_size}-grams that the first capsules by "
        f"{explanation.ranking} attend to"
    )
    return Table(caption, columns, rows, words=columns[:2])


def _predicted(explanation: Explanation) -> str:
    """The predicted class, or as one string the classes; "" for a blank text of one label."""
    if explanation.predicted_classes is not None:
        return format_label_set(explanation.predicted_classes)
    return "" if explanation.blank else explanation.predicted


def _words(explanation: Explanation) -> list[Table]:
    """What is added up to the score of the explained class, and of all others that are predicted.

    A table has the bias, the words with the largest shares, and all others together.
    """
    accounts = (
        explanation.word_account(of=name)
        for name in (explanation.target, *explanation.other_classes)
    )
    return [_account_table(account) for account in accounts if account is not None]


def _account_table(account: WordAccount) -> Table:
    rows = [(row.label, decimals(row.share, account.digits, sign=True)) for row in account.rows]
    rows.append(("score", decimals(account.score, account.digits)))
    columns = ("Word", "Share")
    return Table(f"From the bias to the score of {account.name}", columns, rows, words=columns[:1])


def _scores(explanation: Explanation) -> Table:
    thresholds = explanation.threshold_by_class
    rows = [
        (
            name,
            percent(probability, 1),
            *([percent(thresholds[name], 1)] if thresholds else []),
            decimals(norm, 3),
        )
        for name, probability, norm in explanation.ranked_classes
    ]
    columns = ("Class", "Probability", *(["Threshold"] if thresholds else []), "Norm")
    caption = "Probability of each class, and norm (length) of its capsule"
    return Table(caption, columns, rows, words=columns[:1])
