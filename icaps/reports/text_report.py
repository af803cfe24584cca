"""The reasons of one text as a file: HTML, Markdown, JSON or CSV."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from icaps.config import ExplainOptions
from icaps.reports import document
from icaps.reports.document import Prose, Section, Table, Verbatim, table
from icaps.reports.files import DIGITS, check_kind, to_csv, to_json
from icaps.reports.naming import ModelName
from icaps.reports.render import explanation_page, notices, verdict
from icaps.results import Explanation
from icaps.text.clean import replace_surrogates

_TITLE = "Why {}?"
_BOTH = frozenset({"Check", "Result"})
_COLUMNS = ["K-gram", "start", "end", "capsule", "capsule name", "routing", "attention"]
_COLUMNS += ["contribution", "sentence", "sentence attention", "class", "norm of class"]
_COLUMNS += ["predicted", "model", "weights", "text"]


def asked(options: ExplainOptions, mute: Sequence[int] = ()) -> dict[str, Any]:
    """How an explanation is asked for, as options of `icaps explain` without their dashes."""
    given = {
        "top-capsules": options.top_capsules,
        "top-kgrams": options.top_kgrams,
        "top-sentences": options.top_sentences,
        "ranking": options.ranking,
    }
    given |= {} if options.target is None else {"target": options.target}
    return given | ({"mute": list(mute)} if mute else {})


@dataclass(frozen=True)
class TextReport:
    """An explanation, of which model it is, and how it was asked for.

    Attributes:
        explanation: Of one text.
        model: Which gave it.
        settings: From `asked`.
        trust: What was checked of the explanation, a plain value each, where that was done.
    """

    explanation: Explanation
    model: ModelName
    settings: Mapping[str, Any]
    trust: Mapping[str, Any] | None = None

    def to_bytes(self, kind: str) -> bytes:
        """The report as a file of a kind of `files.KINDS`.

        Raises:
            ConfigError: There is no such kind.
        """
        check_kind(kind)
        if kind == "json":
            return to_json(self._facts())
        if kind == "csv":
            return to_csv(self._frame())
        text = self._html() if kind == "html" else self._markdown()
        return text.encode("utf-8")

    def _facts(self) -> dict[str, Any]:
        """Plain data, from which `Explanation.from_dict` reads what is under `explanation`."""
        return {
            "model": self.model._asdict(),
            "settings": dict(self.settings),
            "explanation": self.explanation.to_dict(),
            "trust": None if self.trust is None else dict(self.trust),
        }

    def _frame(self) -> pd.DataFrame:
        """A row a K-gram; the text is in each, so that rows of many files can be put together."""
        told = self.explanation
        norms = dict(zip(told.classes, told.scores, strict=True))
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
                "sentence": kgram.sentence + 1,
                "sentence attention": round(kgram.sentence_attention, DIGITS),
                "class": told.target,
                "norm of class": round(norms[told.target], DIGITS),
                "predicted": "" if told.blank else told.predicted,
                "model": self.model.name,
                "weights": self.model.weights,
                "text": replace_surrogates(told.text),
            }
            for kgram in told.kgrams
        ]
        return pd.DataFrame(rows, columns=_COLUMNS)

    def _html(self) -> str:
        more = document.html_sections([*self._checked(), self._made()])
        return explanation_page(self.explanation, more, document.STYLE)

    def _markdown(self) -> str:
        told = self.explanation
        said = [Prose(line) for line in (verdict(told), *notices(told))]
        sections = [
            Section("Verdict", tuple(said)),
            Section("Text", (Verbatim(told.text),)),
            Section("Evidence", (_evidence(told),)),
            Section("Scores", (_scores(told),)),
            *self._checked(),
            self._made(),
        ]
        return document.markdown(_TITLE.format(told.target), sections)

    def _checked(self) -> list[Section]:
        if self.trust is None:
            return []
        rows = [(name.replace("_", " "), _plain(value)) for name, value in self.trust.items()]
        checks = Table("What was checked", ("Check", "Result"), tuple(rows), _BOTH)
        return [Section("Can this be trusted?", (checks,))]

    def _made(self) -> Section:
        """Where the report comes from, and the command that makes it again."""
        command = ["icaps", "explain", "--model", self.model.name]
        for name, value in self.settings.items():
            for part in value if isinstance(value, (list, tuple)) else [value]:
                command += [f"--{name}", str(part)]
        command += ["--trust"] if self.trust is not None else []
        line = f"{shlex.join(command)} --format html --out report.html TEXT"
        return Section(
            "How this was made",
            (
                Prose(
                    f"By the model {self.model.name}, whose weights have the SHA-256 "
                    f"{self.model.weights}. TEXT stands for the text above:"
                ),
                Verbatim(line),
            ),
        )


def _evidence(told: Explanation) -> Table:
    names = ["K-gram", "Capsule", "Contribution", "Routing β", "Attention α"]
    names += ["Sentence", "Its attention ρ"] if told.sentences else []
    rows = [
        (
            kgram.text,
            kgram.capsule_label,
            *(f"{x:.3f}" for x in (kgram.contribution, kgram.routing, kgram.attention)),
            str(kgram.sentence + 1),
            f"{kgram.sentence_attention:.3f}",
        )[: len(names)]
        for kgram in told.kgrams
    ]
    caption = f"The {told.kernel_size}-grams that the first capsules by {told.ranking} attend to"
    return Table(caption, tuple(names), tuple(rows), frozenset(names[:2]))


def _scores(told: Explanation) -> Table:
    values = zip(told.classes, told.scores, told.probabilities, strict=True)
    rows = [(name, f"{norm:.3f}", f"{share:.1%}") for name, norm, share in values]
    return table("Norms of the class capsules", ("Class", "Norm", "Probability"), rows)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        named = (f"{name.replace('_', ' ')} {_plain(part)}" for name, part in value.items())
        return str(value["text"]) if "text" in value else ", ".join(named)
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    return f"{value:.3f}" if isinstance(value, float) else "–" if value is None else str(value)
