"""The account of one text as a person reads it: shaded words, and bars from the bias to the score.

Works on plain data, as `icaps.html` does. What is shown adds up: rounded numbers are adjusted so
that bias, words and the rest sum to the score as it is shown; words without a shade are counted.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from icaps import html

MAX_LEVEL = 5  # shades on each side
MAX_SHADED = 600  # words; a page with more tips is slow
MAX_WORDS = 10  # rows of words in the list of bars
MAX_CAPSULES = 5  # rows of capsules
_TIP_CAPSULES = 3  # capsules in the tip of a word
_SERIES = (1, 2, 5)  # times a power of ten: the numbers of the scale
_SCORE = (
    "The score is the norm (length) of the class capsule; the probability follows from the norms."
)
_DIFFERENCE = "The difference is that of the norms (lengths) of the two class capsules."
_PERCENT_UP_TO = 1.2  # more than this part of the score is shown in points alone


class AccountRow(NamedTuple):
    """A row of the list from the bias to the score.

    Attributes:
        label: The word, with "×3" if it occurs three times; "bias"; "12 other words".
        share: What it adds, rounded so that the rows sum to the rounded score.
        words: Numbers of the words that it sums; none for the bias.
        key: Links it with its words: "b" (bias), "r" (the rest), or a number.
    """

    label: str
    share: float
    words: tuple[int, ...]
    key: str


class SentenceShare(NamedTuple):
    """A line of a long text: a sentence, or neighbours with small shares."""

    start: int
    end: int
    share: float


@dataclass(frozen=True, eq=False)
class WordAccount:
    """What each word adds to a score, signed: for it, or against it.

    Attributes:
        text: The text as it was given.
        spans: Start and end of each of the W words that were read.
        shares: (W,).
        bias: What is added whatever the words are.
        score: The sum of `shares` and `bias`.
        name: What the score is of: a class, or "A rather than B".
        capsule_shares: (W, I), the same by capsule; (W, 0) if it is not known.
        capsule_biases: (I,).
        capsule_names: Labels of capsules, by number; others are "capsule 4".
        sentences: Starts of the sentences of a long text; none for a text that is not split.
        unknown: Numbers of the words that the model does not know.
        is_cut: Whether words after the last one were not read.
        is_difference: Whether the score is the difference of two classes' scores.
        kgrams: Start and end of each K-gram of the explanation, which marks its words when its row
            in the table of evidence is pointed at.
        largest: The share that has the darkest shade; None for the largest of this text. Accounts
            beside each other have the same by `with_shared_scale`.
    """

    text: str
    spans: Sequence[tuple[int, int]]
    shares: NDArray[np.floating[Any]]
    bias: float
    score: float
    name: str
    capsule_shares: NDArray[np.floating[Any]]
    capsule_biases: NDArray[np.floating[Any]]
    capsule_names: Mapping[int, str] = field(default_factory=dict)
    sentences: Sequence[int] = ()
    unknown: Collection[int] = frozenset()
    is_cut: bool = False
    is_difference: bool = False
    kgrams: Sequence[tuple[int, int]] = ()
    largest: float | None = None

    @cached_property
    def scale(self) -> list[float]:
        """The smallest share of each shade, from 1 on: round numbers, by the largest share."""
        largest = self.largest
        if largest is None:
            largest = float(np.abs(self.shares).max(initial=0))
        if not 0 < largest < math.inf:
            return []
        top = math.floor(math.log10(largest))
        series = [n * 10.0**power for power in range(top - 3, top + 1) for n in _SERIES]
        return [step for step in series if step <= largest * (1 + 1e-9)][-MAX_LEVEL:]

    @cached_property
    def digits(self) -> int:
        """Digits after the point that tell the shades apart; two at least."""
        return max(2, -math.floor(math.log10(self.scale[0]) + 1e-9)) if self.scale else 2

    @cached_property
    def levels(self) -> NDArray[np.int64]:
        """The shade of each word (W,), from -MAX_LEVEL (against) to MAX_LEVEL (for); 0 is none."""
        sizes = np.abs(self.shares)
        levels = np.searchsorted(np.array(self.scale) * (1 - 1e-9), sizes, side="right")
        levels[np.argsort(-sizes, kind="stable")[MAX_SHADED:]] = 0
        signed: NDArray[np.int64] = levels * np.sign(self.shares).astype(np.int64)
        return signed

    @property
    def shaded(self) -> float:
        """The sum of the shares of the words with a shade."""
        return float(self.shares[self.levels != 0].sum(dtype=float))

    @property
    def covered(self) -> float:
        """The part of the score that the words with a shade carry."""
        return self.shaded / self.score if self.score else 0.0

    @cached_property
    def rows(self) -> list[AccountRow]:
        """The bias, the largest words for, the largest words against, and all other words.

        Occurrences of a word, in any case, are one row. The shares sum to the rounded score.
        """
        occurrences: dict[str, list[int]] = {}
        for number, (start, end) in enumerate(self.spans):
            occurrences.setdefault(self.text[start:end].casefold(), []).append(number)
        totals = [(float(self.shares[n].sum(dtype=float)), n) for n in occurrences.values()]
        totals.sort(key=lambda pair: -abs(pair[0]))
        least = self.scale[0] if self.scale else 0.0
        largest = [pair for pair in totals[:MAX_WORDS] if abs(pair[0]) >= least]
        if len(largest) == len(totals) - 1:  # the one that is left needs no row for others
            largest = totals
        largest.sort(key=lambda pair: -pair[0])
        rest = tuple(sorted(set(range(len(self.spans))).difference(*(n for _, n in largest))))
        labels, shares = ["bias"], [self.bias]
        numbers: list[tuple[int, ...]] = [()]
        for share, words in largest:
            labels.append(self._spell(words))
            shares.append(share)
            numbers.append(tuple(words))
        keys = ["b", *map(str, range(len(largest)))]
        if rest:
            labels.append(_words(len(rest), "other "))
            shares.append(float(self.shares[list(rest)].sum(dtype=float)))
            numbers.append(rest)
            keys.append("r")
        rounded = add_up(shares, self.score, self.digits)
        return [AccountRow(*row) for row in zip(labels, rounded, numbers, keys, strict=True)]

    @cached_property
    def _row_of_word(self) -> dict[int, AccountRow]:
        """The row of each word that has one of its own."""
        return {number: row for row in self.rows if row.key != "r" for number in row.words}

    def _spell(self, words: Sequence[int]) -> str:
        """A word as it is written where it adds most, with the number of its occurrences."""
        start, end = self.spans[max(words, key=lambda number: abs(self.shares[number]))]
        times = f" ×{len(words)}" if len(words) > 1 else ""
        return f"{self.text[start:end]}{times}"

    @cached_property
    def capsule_rows(self) -> list[AccountRow]:
        """The capsules that add most, their biases included, and all others; largest first."""
        totals = self.capsule_shares.sum(0, dtype=float) + self.capsule_biases  # (I,)
        order = np.argsort(-np.abs(totals), kind="stable").tolist()
        first = order if len(order) <= MAX_CAPSULES + 1 else order[:MAX_CAPSULES]
        first = sorted((n for n in first if totals[n]), key=lambda n: -totals[n])
        rest = [n for n in order if n not in first]
        labels, shares = [self._label(n) for n in first], totals[first].tolist()
        keys = [str(number) for number in range(len(first))]
        if any(totals[rest]):
            labels.append(f"{len(rest):,} other capsules")
            shares.append(float(totals[rest].sum()))
            keys.append("r")
        rounded = add_up(shares, self.score, self.digits)
        by_key = {str(n): capsule for n, capsule in enumerate(first)}
        main = self._main_capsules
        return [
            AccountRow(label, share, tuple(np.flatnonzero(main == by_key.get(key, -1))), key)
            for label, share, key in zip(labels, rounded, keys, strict=True)
        ]

    @cached_property
    def _main_capsules(self) -> NDArray[np.int64]:
        """The capsule through which each word adds, or takes away, most (W,)."""
        if not self.capsule_shares.size:
            return np.full(len(self.spans), -1)
        signs = np.where(self.shares < 0, -1, 1)
        main: NDArray[np.int64] = (self.capsule_shares * signs[:, None]).argmax(1)
        return main

    def _label(self, capsule: int) -> str:
        return self.capsule_names.get(capsule) or f"capsule {capsule}"

    @property
    def unread(self) -> int:
        """The offset from which on the text was not read."""
        return self.spans[-1][1] if self.spans else 0

    @cached_property
    def sentence_rows(self) -> list[SentenceShare]:
        """The lines of a long text; neighbours of less than a hundredth of the score share one."""
        if not self.sentences:
            return []
        totals = np.concatenate([[0.0], self.shares.cumsum(dtype=float)])
        starts = [start for start, _ in self.spans]
        ends = [*self.sentences, len(self.text)]
        single = []
        for start, end in pairwise(ends):
            first, last = np.searchsorted(starts, [start, end])
            single.append(SentenceShare(start, end, float(totals[last] - totals[first])))
        least = abs(self.score) * html.FAINT
        rows: list[SentenceShare] = []
        for faint, group in groupby(single, lambda row: abs(row.share) < least):
            run = list(group)
            share = sum(row.share for row in run)
            rows += [SentenceShare(run[0].start, run[-1].end, share)] if faint else run
        return rows

    def summary(self, mask: NDArray[np.bool_] | None = None) -> list[str]:
        """How much of the score the shaded words carry, and all that is not shaded; sentences.

        Args:
            mask: (W,), which words are shaded; if None, those with a level.
        """
        if not self.spans:
            return []
        mask = self.levels != 0 if mask is None else mask
        shown, others = int(np.count_nonzero(mask)), int(np.count_nonzero(~mask))
        total, bias = round(self.score, self.digits), self.rows[0].share
        small = round(float(self.shares[~mask].sum(dtype=float)), self.digits)
        shaded = total - bias - small
        covered = float(self.shares[mask].sum(dtype=float)) / (self.score or 1.0)
        words = "The shaded word" if shown == 1 else f"The {shown:,} shaded words"
        of, s = self._total_name, "s" if shown == 1 else ""
        points = f"{self._signed(shaded)} of {total:.{self.digits}f}"
        if not shown:
            first = "No word is shaded."
        elif 0 <= covered <= _PERCENT_UP_TO:
            first = f"{words} {'carries' if s else 'carry'} {covered:.0%} of the {of} ({points})."
        else:
            first = f"{words} add{s} {self._signed(shaded)} to a {of} of {points.split()[-1]}."
        parts = [f"bias {self._signed(bias)}"]
        if others:
            parts.append(f"{_words(others, 'other ')} {self._signed(small)}")
        return [first, f"Not shaded: {', '.join(parts)}."]

    def _caveats(self) -> list[str]:
        """Words that are unknown or were not read; sentences."""
        lines = []
        if self.unknown:
            share = float(self.shares[list(self.unknown)].sum(dtype=float))
            is_ = "is" if len(self.unknown) == 1 else "are"
            lines.append(
                f"{_words(len(self.unknown))} {is_} unknown to the model (dotted): "
                f"{self._signed(share)} of the above."
            )
        if self.is_cut:
            lines.append("The faint words were not read, so they have no share.")
        return lines

    def tip(self, number: int) -> str:
        """What a word adds, and through which capsules; lines."""
        share = float(self.shares[number])
        side = "against" if share < 0 else "for"
        lines = [f"{self._signed(share, 1)} {side} {self.name}"]
        if self.score > 0:
            lines[0] += f" ({abs(share) / self.score:.0%} of the {self._total_name})"
        if number in self.unknown:
            lines.append("unknown to the model")
        row = self._row_of_word.get(number)
        if row is not None and len(row.words) > 1:
            lines.append(f"{len(row.words)} occurrences: {self._signed(row.share)}")
        capsules = self.capsule_shares[number] if self.capsule_shares.size else np.zeros(0)
        first = np.argsort(-np.abs(capsules), kind="stable")[:_TIP_CAPSULES].tolist()
        lines += [
            f"{self._signed(capsules[n], 1)} through {self._label(n)}" for n in first if capsules[n]
        ]
        if len(capsules) > len(first):
            rest = float(capsules.sum(dtype=float) - capsules[first].sum(dtype=float))
            lines.append(f"{self._signed(rest, 1)} through {len(capsules) - len(first)} others")
        return "\n".join(lines)

    def to_html(self, bars: bool = True, legend: bool = True) -> str:
        """An HTML fragment: the summary, the shaded text with its legend, and the bars.

        A word, its bar and its capsule are marked together when one of them is pointed at or
        focused. The page needs `html.SHADING_STYLE`; there are no scripts.

        Args:
            bars: Whether the lists from the bias to the score, by words and by capsules, are shown.
            legend: Whether it says what the shades and the score mean; `legend_html` does it once
                for several accounts.
        """
        lists = []
        if bars and self.spans:
            lists.append(_Bars(f"From bias to {self._total_name}", "Word", "g", self.rows))
            if self.capsule_shares.size:
                lists.append(_Bars("The same by capsule", "Capsule", "c", self.capsule_rows))
        return html.render_html(
            "account.html.j2",
            summary=self.summary() + self._caveats(),
            text=Markup(self._text_html()),
            legend=_legend([self]) if legend else [],
            lists=[(each, self._bar_places(each.rows)) for each in lists],
            total=html.decimals(self.score, self.digits),
            total_name=self._total_name,
            meaning=self._meaning if legend else "",
            digits=self.digits,
            long=bool(self.sentences),
        )

    @property
    def _total_name(self) -> str:
        return "difference" if self.is_difference else "score"

    @property
    def _meaning(self) -> str:
        return _DIFFERENCE if self.is_difference else _SCORE

    def legend_label(self, level: int) -> str:
        """The smallest share, with its sign, of the words with a shade."""
        return self._signed(math.copysign(self.scale[abs(level) - 1], level))

    def _bar_places(self, rows: Sequence[AccountRow]) -> list[tuple[float, float]]:
        """The left end and the width of each row's bar, then of the total's, in per cent."""
        ends = np.cumsum([0.0, *(row.share for row in rows)])
        low, high = min(ends.min(), 0.0), max(ends.max(), 0.0)
        places = (100 * (ends - low) / ((high - low) or 1)).tolist()
        bars = [*pairwise(places), (places[0], places[-1])]
        return [(min(start, end), abs(end - start)) for start, end in bars]

    @cached_property
    def _keys(self) -> list[str]:
        """The classes of each word that link it with its rows."""
        keys = [""] * len(self.spans)
        lists = [("g", self.rows)]
        if self.capsule_shares.size:
            lists.append(("c", self.capsule_rows))
        for prefix, rows in lists:
            for row in rows:
                for number in row.words:
                    keys[number] += f" {prefix}{row.key}"
        starts = [start for start, _ in self.spans]
        for n, (start, end) in enumerate(self.kgrams):
            for number in range(bisect_left(starts, start), bisect_left(starts, end)):
                keys[number] += f" k{n}"
        return keys

    def _text_html(self) -> str:
        """The text with its words shaded; a long text by sentence."""
        starts = [start for start, _ in self.spans]
        rows = self.sentence_rows
        pieces = [html.escape(self.text[: rows[0].start])] if rows else []
        widest = max((abs(row.share) for row in rows), default=0.0) or 1.0
        for row in rows or [SentenceShare(0, len(self.text), 0.0)]:
            first, last = bisect_left(starts, row.start), bisect_left(starts, row.end)
            words = self._words_html(first, last, row.start, row.end)
            if rows:
                side, share = "a" if row.share < 0 else "f", self._signed(row.share)
                words = (
                    f'<div class="icaps-sentence chosen"><div class="icaps-share {side}" '
                    f'role="img" aria-label="share {share}" title="{share}" '
                    f'style="--weight: {abs(row.share) / widest:.1%}"></div>'
                    f'<div dir="auto">{words}</div></div>'
                )
            pieces.append(words)
        return html.text_block("".join(pieces), len(self.text), has_stops=bool(self.levels.any()))

    def _words_html(self, first: int, last: int, start: int, end: int) -> str:
        """The words `first` to before `last` within a part of the text, and all between them."""
        text, parts, place = self.text, [], start
        for number in range(first, last):
            word_start, word_end = self.spans[number]
            if place < word_start:
                parts.append(html.escape(text[place:word_start]))
            place = word_end
            word = html.escape(text[word_start:word_end])
            level, keys = int(self.levels[number]), self._keys[number]
            keys += " unknown" if number in self.unknown else ""
            if level:
                side, tip = "a" if level < 0 else "f", html.escape(self.tip(number))
                parts.append(
                    f'<mark class="{side}{abs(level)}{keys}" tabindex="0">{word}'
                    f'<span class="icaps-tip" role="tooltip">{tip}</span></mark>'
                )
            else:
                title = self._signed(float(self.shares[number]), 1)
                title += ", unknown to the model" if number in self.unknown else ""
                parts.append(f'<span class="{keys[1:]}" title="{title}">{word}</span>')
        rest = html.escape(text[place:end])
        if self.is_cut and end == len(text):
            rest = f'<span class="icaps-unread" title="not read">{rest}</span>'
        parts.append(rest)
        return "".join(parts)

    def _signed(self, value: float, more: int = 0) -> str:
        """A share with the digits of this account, or `more`."""
        return html.decimals(value, self.digits + more, sign=True)


def _words(number: int, kind: str = "") -> str:
    """Such as "1 word" and "2 other words"."""
    return f"{number:,} {kind}word{'' if number == 1 else 's'}"


class _Bars(NamedTuple):
    """A list from the bias to the score."""

    caption: str
    column: str
    prefix: str  # of the classes that link a row with its words
    rows: Sequence[AccountRow]


def add_up(values: Sequence[float], total: float, digits: int) -> list[float]:
    """Rounds numbers so that they sum to their rounded total (method of largest remainders)."""
    unit = 10**digits
    exact = np.array(values, dtype=float) * unit
    units = np.floor(exact)
    missing = round(round(total, digits) * unit - units.sum())
    order = np.argsort(units - exact, kind="stable")  # the largest remainder first
    for number in range(abs(missing)):
        units[order[number % len(order)]] += math.copysign(1, missing)
    return [round(value / unit, digits) for value in units.tolist()]


def with_shared_scale(accounts: Sequence[WordAccount]) -> list[WordAccount]:
    """The accounts with the same shade for the same share, so that one legend serves all."""
    largest = max((float(np.abs(one.shares).max(initial=0)) for one in accounts), default=0.0)
    return [replace(account, largest=largest) for account in accounts]


def legend_html(accounts: Sequence[WordAccount]) -> str:
    """What the shades and the score mean in accounts with one scale, as an HTML fragment."""
    if not accounts:
        return ""
    first = accounts[0]
    legend = html.render_html(
        "account_legend.html.j2", legend=_legend(accounts), total_name=first._total_name
    )
    meaning = f'<p class="icaps-scale">{first._meaning}</p>'
    return f'<div class="icaps-legend">{legend}{meaning}</div>'


def _legend(accounts: Sequence[WordAccount]) -> list[tuple[int, str]]:
    """The shades that occur, from the darkest against to the darkest for, with their labels."""
    levels = np.unique(np.concatenate([account.levels for account in accounts])).tolist()
    return [(level, accounts[0].legend_label(level)) for level in levels if level]
