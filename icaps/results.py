"""Results of the library: frozen dataclasses without tensors, with JSON, HTML and terminal output.

Offsets are code points of the text as it was given: `text[start:end]`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from icaps import exports, html, terminal
from icaps.errors import ConfigError
from icaps.explanation_parts import (
    Account,
    CapsuleReason,
    Contrast,
    KGram,
    SentenceWeight,
    WordShare,
)
from icaps.word_account import WordAccount

if TYPE_CHECKING:
    import pandas as pd
    import shap


class Interval(NamedTuple):
    """A value and the ends of its interval, of 95% confidence unless stated otherwise."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        """The value and its interval, with `spec` for each number: "0.121 [0.100, 0.142]"."""
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

    def to_dict(self, name: str = "value") -> dict[str, float | None]:
        """Plain data for JSON, with the value under `name`; NaN becomes None."""
        numbers = {name: self.value, "low": self.low, "high": self.high}
        return {key: None if math.isnan(number) else number for key, number in numbers.items()}


_NO_ACCOUNT = Account.of([], [])


@dataclass(frozen=True)
class Explanation:
    """Why the model does, or does not, predict `target` for a text (section 2.6).

    Attributes:
        text: The text as it was given.
        classes: Names, in the order of labels.
        predicted: The class with the largest norm; the first class for a blank text. Of a model of
            several labels per text the first of `predicted_classes`, or if there is none the most
            probable class.
        target: The class that is explained.
        scores: Norm of each class capsule, in the order of `classes`, from 0 to below 1.
        probabilities: Calibrated probability of each class; they sum to 1, unless a text may have
            several labels.
        margin: Norm of `target` minus the largest norm of another class; negative when another
            class is predicted. With several labels per text it is the norm minus that at the
            threshold of `target`; negative when `target` is not predicted.
        kernel_size: K.
        kgrams: The k1 x k2 K-grams, ordered by capsule, then by attention; by the ranking "account"
            those that add most to the norm of `target`, which come first, and at most as many.
        words: Every word that was read, with its number of K-grams and its share.
        sentences: Every sentence that was read, with its weight; empty for a model that does not
            split texts.
        capsules: The capsules of `kgrams`, in their order.
        unknown_share: Share of the words that are not in the vocabulary.
        truncated: Whether words beyond the model's limit were left out.
        blank: Whether no word is in the vocabulary; all scores are then 0.
        ranking: How K-grams are selected (`config.ExplainOptions`).
        account: The split of each class norm over the words (W, J); without a word if the
            explanation is of an older version.
        capsule_account: The split of the norm of `target` over words and capsules (W, I).
        by_region: Whether the network has an activation, so that a share is that of the region of
            K words around a word and not of the word alone.
        capsule_labels: What each capsule is called (I,), by number; empty if the explanation is of
            an older version.
        predicted_classes: The classes that reach their thresholds, the most probable first, which
            may be none; None for a model of one label per text.
        thresholds: The probability from which each class is predicted, in the order of `classes`;
            empty for a model of one label per text.
    """

    text: str
    classes: tuple[str, ...]
    predicted: str
    target: str
    scores: tuple[float, ...]
    probabilities: tuple[float, ...]
    margin: float
    kernel_size: int
    kgrams: tuple[KGram, ...]
    words: tuple[WordShare, ...]
    sentences: tuple[SentenceWeight, ...]
    capsules: tuple[CapsuleReason, ...]
    unknown_share: float
    truncated: bool
    blank: bool
    ranking: str = "routing"
    account: Account = _NO_ACCOUNT
    capsule_account: Account = _NO_ACCOUNT
    by_region: bool = False
    capsule_labels: tuple[str, ...] = ()
    predicted_classes: tuple[str, ...] | None = None
    thresholds: tuple[float, ...] = ()

    @property
    def multilabel(self) -> bool:
        """Whether a text may have several labels, or none."""
        return self.predicted_classes is not None

    @property
    def given_classes(self) -> tuple[str, ...]:
        """What is predicted, the most probable first: one class, or several, or none."""
        if self.predicted_classes is not None:
            return self.predicted_classes
        return () if self.blank else (self.predicted,)

    @property
    def other_classes(self) -> tuple[str, ...]:
        """The predicted classes besides `target` of a model of several labels per text."""
        return tuple(name for name in self.predicted_classes or () if name != self.target)

    @property
    def threshold_by_class(self) -> dict[str, float]:
        """`thresholds` by name; empty for a model of one label per text."""
        return dict(zip(self.classes, self.thresholds, strict=False))

    @property
    def score(self) -> float:
        """The norm of the target class."""
        return self.scores[self.classes.index(self.target)]

    @property
    def bias(self) -> float:
        """What is added to the norm of the target class whatever the words are."""
        columns = self.account.bias
        return float(columns[self.classes.index(self.target)]) if len(columns) else 0.0

    @property
    def covered(self) -> float:
        """The sum of the shares of the words in K-grams, relative to the norm of the class."""
        shaded = sum(word.share for word in self.words if word.count)
        return shaded / self.score if self.score else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; `scores` and `probabilities` map class names to numbers.

        So does `account`, to the bias and the shares of the words, in the order of `words`;
        `capsule_account` has the same per capsule, for the target class. With several labels per
        text, `predicted` is the list of the predicted classes, and `thresholds` maps names as well.
        """
        values = dict(vars(self))  # dataclasses.asdict is slower than the explanation itself
        names, thresholds = values.pop("predicted_classes"), values.pop("thresholds")
        if names is not None:
            values["predicted"] = list(names)
            values["thresholds"] = dict(zip(self.classes, thresholds, strict=True))
        values["bias"] = self.bias
        by_class = _account_columns(self.account)  # none if it is of an older version
        values["account"] = dict(zip(self.classes, by_class, strict=False))
        values["capsule_account"] = _account_columns(self.capsule_account)
        values["classes"] = list(self.classes)
        values["capsule_labels"] = list(self.capsule_labels)
        for name in ("scores", "probabilities"):
            values[name] = dict(zip(self.classes, values[name], strict=True))
        values["words"] = [word._asdict() for word in self.words]
        for name in ("kgrams", "sentences", "capsules"):
            values[name] = [dict(vars(part)) for part in values[name]]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote, directly or through JSON.

        Raises:
            KeyError, TypeError, ValueError: It is incomplete or of another form.
        """
        by_class = values.get("account", {})  # JSON with sorted keys has another order
        parts: dict[str, Any] = {
            "classes": tuple(values["classes"]),
            "capsule_labels": tuple(values.get("capsule_labels", ())),
            "account": _account_of(
                by_class[label] for label in values["classes"] if label in by_class
            ),
            "capsule_account": _account_of(values.get("capsule_account", [])),
            "kgrams": tuple(KGram(**part) for part in values["kgrams"]),
            "words": tuple(WordShare(**part) for part in values["words"]),
            "sentences": tuple(SentenceWeight(**part) for part in values["sentences"]),
            "capsules": tuple(
                CapsuleReason(**{name: _frozen(value) for name, value in part.items()})
                for part in values["capsules"]
            ),
        }
        for name in ("scores", "probabilities"):
            parts[name] = tuple(values[name][label] for label in values["classes"])
        if isinstance(values["predicted"], list):
            parts["predicted_classes"] = tuple(values["predicted"])
            most = max(range(len(parts["classes"])), key=parts["probabilities"].__getitem__)
            parts["predicted"] = next(iter(values["predicted"]), parts["classes"][most])
            parts["thresholds"] = tuple(values["thresholds"][name] for name in parts["classes"])
        sizes = {len(parts["words"])}
        sizes |= {
            len(account.shares)
            for account in (parts["account"], parts["capsule_account"])
            if len(account.bias)
        }
        if len(sizes) > 1 or len(parts["account"].bias) not in (0, len(parts["classes"])):
            raise ValueError("the account does not have a share of each word for each class")
        values = {name: value for name, value in values.items() if name != "bias"}
        return cls(**{**values, **parts})

    @property
    def neutral_words(self) -> tuple[str, ...]:
        """The words that an edit of the model leaves out of the target's norm, each once."""
        words = (self.text[word.start : word.end] for word in self.words if word.neutral)
        return tuple(dict.fromkeys(words))

    @property
    def coverage(self) -> str:
        """How much of the score the K-grams carry, as a sentence; "" if it is not known."""
        if not (self.kgrams and len(self.account.bias)):
            return ""
        return f"The words of the K-grams carry {self.covered:.0%} of the score."

    @property
    def verdict(self) -> str:
        """The prediction in a sentence, and the class that is explained where it is another."""
        if not self.words:
            return "The text has no words, so no class is predicted."
        if self.blank:
            return "The model knows none of the words, so no class is predicted."
        chances = dict(zip(self.classes, self.probabilities, strict=True))
        if self.predicted_classes is not None:
            return self._verdict_of_several(chances)
        sentence = f"{self.predicted} ({html.chance(chances[self.predicted])} probability)"
        if self.target != self.predicted:
            sentence += (
                f"; the explanation is for {self.target} ({html.chance(chances[self.target])})"
            )
        return sentence + "."

    def _verdict_of_several(self, chances: Mapping[str, float]) -> str:
        """The predicted classes in a sentence, or that no class reaches its threshold."""
        assert self.predicted_classes is not None
        names = [f"{name} ({html.chance(chances[name])})" for name in self.predicted_classes]
        if not names:
            threshold = self.thresholds[self.classes.index(self.predicted)]
            sentence = (
                f"No class reaches its threshold; the most probable is {self.predicted} "
                f"({html.chance(chances[self.predicted])}, threshold {html.chance(threshold)})"
            )
        else:
            first = (
                f"{self.predicted_classes[0]} ({html.chance(chances[self.predicted])} probability)"
            )
            *others, last = [first, *names[1:]]
            sentence = f"{', '.join(others)} and {last}" if others else last
        if self.target != self.predicted:
            sentence += f"; the explanation is for {self.target}"
            if self.target not in self.predicted_classes:
                sentence += f" ({html.chance(chances[self.target])})"
        return sentence + "."

    @property
    def ranked_classes(self) -> list[tuple[str, float, float]]:
        """Name, probability and norm of each class, the most probable first."""
        rows = zip(self.classes, self.probabilities, self.scores, strict=True)
        if self.multilabel:  # norms of classes compare by their calibration
            return sorted(rows, key=lambda row: -row[1])
        return sorted(rows, key=lambda row: -row[2])

    @property
    def notices(self) -> list[str]:
        """Caveats, one sentence each: words not read, unknown and neutral words, regions."""
        lines = []
        if self.truncated:
            read = self.words[-1].end
            lines.append(
                f"Only the first {len(self.words):,} words ({read:,} of {len(self.text):,} "
                "characters) were read."
            )
        if self.unknown_share > 0 and not self.blank:  # the verdict of a blank text says this
            lines.append(f"{self.unknown_share:.0%} of the words are unknown to the model.")
        if neutral := self.neutral_words:
            words = ", ".join(f"“{word}”" for word in neutral)
            lines.append(f"Neutral for {self.target}, by an edit of the model: {words}.")
        if self.by_region and not self.blank:
            lines.append(
                "The network has an activation: the share of a word is that of the "
                f"{self.kernel_size} words around it."
            )
        return lines

    def to_text(self, color: bool = False) -> str:
        """Lines for a terminal: the verdict, K-grams with their weights, and shares of words.

        The shares are those for `target`, and then for every other predicted class.

        K-grams are quoted as JSON, so that each stays on its line, and no character reaches the
        terminal that it would act on.

        Args:
            color: Whether the text is shown in the colours of a terminal, by what each word adds.
        """
        lines = [terminal.escape(line) for line in (self.verdict, *self.notices)]
        account = None if self.blank else self.word_account()
        if account is not None and color:
            lines += ["", *terminal.shaded_lines(account), "", *account.summary()]
        digits = 2 if account is None else account.digits
        lines += [self._kgram_line(kgram, digits) for kgram in self.kgrams]
        if account is not None:
            lines += [self.coverage] if self.coverage else []
            lines += terminal.account_lines(account, color)
        for name in self.other_classes:
            other = self.word_account(of=name)
            lines += [] if other is None else terminal.account_lines(other, color)
        return "\n".join(lines)

    def _kgram_line(self, kgram: KGram, digits: int) -> str:
        parts = ["", terminal.quote(kgram.text), terminal.escape(kgram.capsule_label)]
        if len(self.account.bias):
            parts.append(f"share {kgram.share:+.{digits}f}")
        if self.ranking == "contribution":
            parts.append(f"contribution {kgram.contribution:.3f}")
        parts += [f"routing {kgram.routing:.3f}", f"attention {kgram.attention:.3f}"]
        if self.sentences:
            parts.append(f"sentence {kgram.sentence + 1} ({kgram.sentence_attention:.3f})")
        return "  ".join(parts)

    def to_html(self) -> str:
        """A page of its own, without scripts or outside files; the text is escaped."""
        return html.render_html("explanation.html.j2", explanation=self)

    def shaded_html(self) -> str:
        """The text as an HTML fragment, darker where K-grams overlap.

        The page needs `html.SHADING_STYLE`. The sentences of a long text are on lines of their own,
        each with a bar as long as its weight.
        """
        return html.shaded_text(
            self.text,
            words=[(word.start, word.end) for word in self.words if word.count],
            marks=[
                html.Mark(kgram.start, kgram.end, kgram.summary, f"k{n}")
                for n, kgram in enumerate(self.kgrams)
            ],
            rows=self.sentence_rows(),
            unknown=[(word.start, word.end) for word in self.words if not word.known],
            unread=self.words[-1].end if self.truncated and self.words else None,
        )

    def word_account(
        self,
        of: str | None = None,
        rather_than: str | None = None,
        capsule_names: Mapping[int, str] | None = None,
    ) -> WordAccount | None:
        """What each word adds to the score of a class, for display; None without an account.

        Args:
            of: The class; `target` if None. By capsule there is an account of `target` alone.
            rather_than: Another class: then what each word adds to the difference of the two.
            capsule_names: Labels of capsules by number; if None, `capsule_labels`.

        Raises:
            ConfigError: A class is not in `classes`.
        """
        for wrong in {of, rather_than} - {None, *self.classes}:
            raise ConfigError(f"{wrong!r} is not one of the classes {', '.join(self.classes)}.")
        if not len(self.account.bias):
            return None
        name = self.target if of is None else of
        column = self.classes.index(name)
        shares, bias = self.account.shares[:, column], float(self.account.bias[column])
        score, title = self.scores[column], name
        by_capsule = self.capsule_account
        if rather_than is not None:
            other = self.classes.index(rather_than)
            shares = shares - self.account.shares[:, other]
            bias -= float(self.account.bias[other])
            score, title = score - self.scores[other], f"{name} rather than {rather_than}"
        if name != self.target or rather_than is not None:
            by_capsule = Account.of(np.empty((len(shares), 0)), [])
        if capsule_names is None:
            given = {part.capsule: part.name for part in self.capsules if part.name}
            capsule_names = dict(enumerate(self.capsule_labels)) or given
        return WordAccount(
            text=self.text,
            spans=[(word.start, word.end) for word in self.words],
            shares=shares,
            bias=bias,
            score=score,
            name=title,
            capsule_shares=by_capsule.shares,
            capsule_biases=by_capsule.bias,
            capsule_names=capsule_names,
            sentences=[sentence.start for sentence in self.sentences],
            unknown=frozenset(n for n, word in enumerate(self.words) if not word.known),
            is_cut=self.truncated,
            is_difference=rather_than is not None,
            kgrams=[(kgram.start, kgram.end) for kgram in self.kgrams],
        )

    def contrast(self, other: str) -> Contrast:
        """Why `target` rather than another class, word by word.

        Raises:
            ConfigError: There is no such other class, or the explanation has no account.
        """
        self._check_account()
        if other not in self.classes or other == self.target:
            names = ", ".join(name for name in self.classes if name != self.target)
            raise ConfigError(f"{other!r} is not one of the other classes: {names}.")
        own, others = self.classes.index(self.target), self.classes.index(other)
        shares = self.account.shares[:, own] - self.account.shares[:, others]
        words = zip(self.words, shares.tolist(), strict=True)
        return Contrast(
            target=self.target,
            other=other,
            words=tuple(word._replace(share=share) for word, share in words),
            bias=float(self.account.bias[own] - self.account.bias[others]),
            total=self.scores[own] - self.scores[others],
        )

    def to_shap(self) -> shap.Explanation:
        """The account as a `shap.Explanation` (W, J): words, by classes as outputs.

        The base values are the biases, so that values and base value of a class sum to its norm.
        `shap.plots.text` takes it as it is; `shap.plots.waterfall` and `bar` take one class:
        `explanation.to_shap()[:, "Sports"]`.

        Raises:
            ConfigError: shap is not installed, the text has no words, or the explanation has no
                account.
        """
        self._check_account()
        return exports.shap_explanation(
            self.text,
            [(word.start, word.end) for word in self.words],
            self.account.shares,
            self.account.bias,
            self.classes,
            is_cut=self.truncated,
        )

    def to_frame(self, by_capsule: bool = False) -> pd.DataFrame:
        """A row per word: its offsets, its share for `target`, its K-grams, and shares by class.

        Columns: `word`, `start`, `end`, `share`, `kgrams` (number of K-grams that cover it),
        `known`, `sentence` (from 0), and "share of CLASS" for each class. The column of a class and
        its `account.bias` sum to its norm.

        Args:
            by_capsule: Whether "capsule 0", "capsule 1" and so on follow: the shares for `target`
                by capsule.
        """
        by_name = {}
        if len(self.account.bias):
            columns = zip(self.classes, self.account.shares.T, strict=True)
            by_name = {f"share of {name}": shares for name, shares in columns}
        if by_capsule and len(self.capsule_account.bias):
            shares_by_capsule = enumerate(self.capsule_account.shares.T)
            by_name |= {f"capsule {number}": shares for number, shares in shares_by_capsule}
        names = {"start": "start", "end": "end", "share": "share", "count": "kgrams"}
        names["known"] = "known"
        return exports.word_frame(
            self.text,
            {
                column: [getattr(word, name) for word in self.words]
                for name, column in names.items()
            },
            [sentence.start for sentence in self.sentences],
            by_name,
        )

    def _repr_html_(self) -> str:
        """What notebooks show: the verdict, and each word with its share."""
        return html.render_html("notebook.html.j2", explanation=self)

    def _check_account(self) -> None:
        if not len(self.account.bias):
            raise ConfigError(
                "The explanation is of an older version, without shares of words; explain the text "
                "again."
            )

    def account_html(self, bars: bool = True, **options: Any) -> str:
        """The text with the signed share of each word, and bars from the bias to the score.

        An HTML fragment without scripts; the page needs `html.SHADING_STYLE`. Without an account
        (an explanation of an older version) it is `shaded_html`.

        Args:
            bars: Whether the lists of bars are shown beside the text.
            **options: Of `word_account`.
        """
        account = self.word_account(**options)
        return self.shaded_html() if account is None else account.to_html(bars)

    def attention_html(self, reason: CapsuleReason) -> str:
        """The text with the attention of one of `capsules` on its words, as an HTML fragment.

        The page needs `html.SHADING_STYLE`.
        """
        words = [(word.start, word.end) for word in self.words]
        return html.attention_text(self.text, words, reason.attention)

    def sentence_rows(self) -> list[html.Row]:
        """The lines of the shaded text; empty for a model that does not split texts."""
        return html.sentence_rows(
            len(self.text),
            sentences=[(sentence.start, sentence.weight) for sentence in self.sentences],
            chosen={kgram.sentence for kgram in self.kgrams},
        )

    def evidence_html(self) -> str:
        """The K-grams with their capsules and weights, as an HTML table."""
        return html.render_html("evidence.html.j2", explanation=self)


def _frozen(value: Any) -> Any:
    """JSON has lists where results have tuples."""
    return tuple(value) if isinstance(value, list) else value


def _account_columns(account: Account) -> list[dict[str, Any]]:
    """Each column of an account as plain data."""
    columns = zip(account.bias.tolist(), account.shares.T.tolist(), strict=False)
    return [{"bias": bias, "shares": shares} for bias, shares in columns]


def _account_of(columns: Iterable[Mapping[str, Any]]) -> Account:
    """The account that `_account_columns` wrote."""
    columns = list(columns)
    shares = np.array([column["shares"] for column in columns], np.float32)
    return Account.of(shares.T, [column["bias"] for column in columns])
