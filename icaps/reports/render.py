"""An explanation as HTML, for a page or a file of its own, and as lines for a terminal."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import NamedTuple

from icaps.results import Explanation, Flip, Interval, KGram, Trial

MAX_LEVEL = 4  # shades; a word under more K-grams than this is no darker
FAINT = 0.01  # neighbouring sentences that weigh less than this share a row

# Characters that HTML can't carry: controls other than tab and line ends, and lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")

# A tip hangs below its word, shifted where it would leave the text's box; browsers without anchor
# positioning put it at the start of the line.
STYLE = """
.icaps-text { position: relative; white-space: pre-wrap; overflow-wrap: anywhere; line-height: 2;
  font-size: 1.15rem; --shade: light-dark(#1f6f8b, #4aa3c0); }
.icaps-text mark { color: inherit; padding: .2em 0;
  background: color-mix(in srgb, var(--shade) var(--strength), transparent);
  border-bottom: var(--line) solid var(--shade); }
.icaps-text mark.l1 { --strength: 16%; --line: 1px; }
.icaps-text mark.l2 { --strength: 32%; --line: 2px; }
.icaps-text mark.l3 { --strength: 48%; --line: 3px; }
.icaps-text mark.l4 { --strength: 62%; --line: 4px; }
.icaps-text mark[tabindex]:focus { outline: 2px solid currentColor; outline-offset: 2px; }
.icaps-text mark:is(:hover, :focus) { anchor-name: --icaps-word; }
.icaps-tip { display: none; position: absolute; inset-inline: 0; z-index: 10; width: fit-content;
  max-width: 100%; box-sizing: border-box; padding: .5em .75em; border-radius: .4em;
  background: #16222b; color: #fff; font: .85rem/1.6 system-ui, sans-serif;
  white-space: pre-line; text-align: start; }
@supports (position-area: bottom) {
  .icaps-tip { inset-inline: auto; position-anchor: --icaps-word;
    position-area: bottom span-right; position-try-fallbacks: bottom span-left, bottom span-all; }
}
.icaps-text mark:is(:hover, :focus) > .icaps-tip { display: block; }
.icaps-sentence { display: grid; grid-template-columns: clamp(1.75rem, 10%, 4rem) 1fr;
  gap: .9rem; opacity: .72; }
.icaps-sentence.chosen { opacity: 1; }
.icaps-weight { align-self: start; height: .5em; margin-top: .8em; border-radius: .25em;
  background: linear-gradient(to left, var(--shade) var(--weight),
    color-mix(in srgb, var(--shade) 16%, transparent) var(--weight)); }
"""

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto;
  padding: 0 1.25rem; }}
table {{ border-collapse: collapse; width: 100%; margin: 1.5rem 0; }}
th, td {{ text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid #8884; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; }}
meter {{ width: 8rem; }}
{style}
</style>
<h1>{title}</h1>
<p>{verdict}</p>
{notices}
{text}
{evidence}
<table><caption>Scores: norms of the class capsules</caption>
<thead><tr><th>Class<th class="n">Norm<th class="n">Probability</thead>
<tbody>{scores}</tbody></table>
{more}
</html>
"""


def printable(text: str) -> str:
    """`text` with what no page can carry as U+FFFD, character for character."""
    return _UNPRINTABLE.sub("\ufffd", text)


def escape(text: str) -> str:
    """`text` safe in HTML, in an attribute as well."""
    return html.escape(printable(text), quote=True)


class Row(NamedTuple):
    """A part of the text on a line of its own: a sentence, or neighbours that hardly weigh.

    `chosen` says whether K-grams were taken from it.
    """

    start: int
    end: int
    weight: float
    chosen: bool


def rows(explanation: Explanation) -> list[Row]:
    """The whole text in rows; one row for a model that doesn't split texts."""
    if not explanation.sentences:
        return [Row(0, len(explanation.text), 1.0, True)]
    chosen = {kgram.sentence for kgram in explanation.kgrams}
    starts = [0, *(s.start for s in explanation.sentences[1:]), len(explanation.text)]
    single = [
        Row(start, end, sentence.weight, number in chosen)
        for number, (sentence, (start, end)) in enumerate(
            zip(explanation.sentences, pairwise(starts), strict=True)
        )
    ]
    joined = []
    for faint, group in groupby(single, lambda row: not row.chosen and row.weight < FAINT):
        run = list(group)
        weight = sum(row.weight for row in run)
        joined += [Row(run[0].start, run[-1].end, weight, False)] if faint else run
    return joined


def segments(
    explanation: Explanation, start: int, end: int
) -> Iterator[tuple[int, int, tuple[KGram, ...]]]:
    """A part of the text cut where K-grams or words begin and end: start, end, K-grams over it."""
    covered = [word for word in explanation.words if word.count and start <= word.start < end]
    cuts = {start, end, *(cut for word in covered for cut in (word.start, word.end))}
    for first, last in pairwise(sorted(cuts)):
        over = (kgram for kgram in explanation.kgrams if kgram.start <= first and last <= kgram.end)
        yield first, last, tuple(over)


def shaded_text(explanation: Explanation) -> str:
    """The text as an HTML fragment, darker where K-grams overlap; needs `STYLE` on the page.

    Each shaded word can be focused and tells on hover or focus which K-grams lie over it. The
    sentences of a long text have rows of their own, with a bar as long as their weight.
    """
    parts = rows(explanation)
    pieces = [_shaded(explanation, row.start, row.end) for row in parts]
    if explanation.sentences:
        pieces = [_sentence(row, piece) for row, piece in zip(parts, pieces, strict=True)]
    return f'<div class="icaps-text" dir="auto">{"".join(pieces)}</div>'


def _sentence(row: Row, shaded: str) -> str:
    return (
        f'<div class="icaps-sentence{" chosen" if row.chosen else ""}">'
        f'<div class="icaps-weight" role="img" aria-label="weight {row.weight:.0%}" '
        f'title="weight {row.weight:.1%}" style="--weight: {row.weight:.1%}"></div>'
        f'<div dir="auto">{shaded}</div></div>'
    )


def _shaded(explanation: Explanation, start: int, end: int) -> str:
    parts = []
    for first, last, over in segments(explanation, start, end):
        piece = explanation.text[first:last]
        if not over:
            parts.append(escape(piece))
            continue
        level = min(len(over), MAX_LEVEL)
        if piece.isspace():
            parts.append(f'<mark class="l{level}">{escape(piece)}</mark>')
            continue
        tip = "\n".join(describe(kgram) for kgram in over)
        parts.append(
            f'<mark class="l{level}" tabindex="0">{escape(piece)}'
            f'<span class="icaps-tip" role="tooltip">{escape(tip)}</span></mark>'
        )
    return "".join(parts)


def describe(kgram: KGram) -> str:
    """One K-gram in a line."""
    return (
        f"“{kgram.text}” · {kgram.capsule_label} · β {kgram.routing:.2f} · α {kgram.attention:.2f}"
    )


def verdict(explanation: Explanation) -> str:
    """The prediction, and the class explained when it is another, in a sentence."""
    if not explanation.words:
        return "There are no words to read, so no class has a case."
    if explanation.blank:
        return "The model knows none of the words, so no class has a case."
    scores = dict(zip(explanation.classes, explanation.scores, strict=True))
    sentence = f"{explanation.predicted} ({scores[explanation.predicted]:.2f})"
    if explanation.target != explanation.predicted:
        sentence += f"; shown is what speaks for {explanation.target} "
        sentence += f"({scores[explanation.target]:.2f})"
    return sentence + "."


def notices(explanation: Explanation) -> list[str]:
    """What a reader must know before trusting the explanation, a sentence each."""
    lines = []
    if explanation.truncated:
        read = explanation.words[-1].end
        lines.append(
            f"Only the first {len(explanation.words):,} words ({read:,} of "
            f"{len(explanation.text):,} characters) were read."
        )
    if explanation.unknown_share > 0 and not explanation.blank:  # which the verdict tells
        lines.append(f"{explanation.unknown_share:.0%} of the words are unknown to the model.")
    return lines


def evidence_table(explanation: Explanation) -> str:
    """The K-grams with their capsules and weights, as an HTML table."""
    long = bool(explanation.sentences)
    added = explanation.ranking == "contribution"
    body = "".join(
        f'<tr><td dir="auto">{escape(kgram.text)}<td class="n">{escape(_short_label(kgram))}'
        + f'<td class="n">{kgram.contribution:.3f}' * added
        + f'<td class="n">{kgram.routing:.3f}<td class="n">{kgram.attention:.3f}'
        + (f'<td class="n">{kgram.sentence + 1}<td class="n">{kgram.sentence_attention:.3f}' * long)
        for kgram in explanation.kgrams
    )
    more = '<th class="n">Sentence<th class="n">Its attention ρ' * long
    capsules = "capsules that contribute most" if added else "most routed capsules"
    return (
        f"<table><caption>Evidence: the {explanation.kernel_size}-grams that the {capsules} "
        'attend to</caption><thead><tr><th>K-gram<th class="n">Capsule'
        + '<th class="n">Contribution'
        * added
        + f'<th class="n">Routing β<th class="n">Attention α{more}</thead>'
        f"<tbody>{body}</tbody></table>"
    )


def _short_label(kgram: KGram) -> str:
    """The capsule in a column of its own."""
    return kgram.capsule_label if kgram.capsule_name else str(kgram.capsule)


def explanation_page(explanation: Explanation, more: str = "", style: str = "") -> str:
    """A self-contained HTML page, without scripts or outside files.

    Args:
        explanation: Of a text.
        more: HTML that follows it.
        style: Of that HTML.
    """
    values = zip(explanation.classes, explanation.scores, explanation.probabilities, strict=True)
    scores = "".join(
        f'<tr><td>{escape(name)}<td class="n"><meter min="0" max="1" value="{norm:.4f}"></meter> '
        f'{norm:.3f}<td class="n">{probability:.1%}'
        for name, norm, probability in values
    )
    return _PAGE.format(
        title=f"Why {escape(explanation.target)}?",
        style=STYLE + style,
        verdict=escape(verdict(explanation)),
        notices="".join(f"<p><em>{escape(line)}</em></p>" for line in notices(explanation)),
        text=shaded_text(explanation),
        evidence=evidence_table(explanation),
        scores=scores,
        more=more,
    )


def explanation_text(explanation: Explanation) -> str:
    """Lines for a terminal; texts are quoted as JSON, so that each K-gram keeps to its line."""
    lines = [verdict(explanation), *notices(explanation)]
    lines += [
        f"  {json.dumps(kgram.text, ensure_ascii=False)}  {kgram.capsule_label}  "
        + f"contribution {kgram.contribution:.3f}  " * (explanation.ranking == "contribution")
        + f"routing {kgram.routing:.3f}  attention {kgram.attention:.3f}"
        + f"  sentence {kgram.sentence + 1} ({kgram.sentence_attention:.3f})"
        * bool(explanation.sentences)
        for kgram in explanation.kgrams
    ]
    return "\n".join(lines)


def trial_lines(trial: Trial) -> list[str]:
    """What was tried of the shaded words, in sentences: the verdict first, then the numbers."""
    remove, gone = ("Removing", "removed") if trial.removal == "deletion" else ("Masking", "masked")
    share = f"{trial.shaded:,} of {trial.words:,} words"
    lines = [
        _trial_verdict(trial),
        f"{remove} the shaded words ({share}) {_moves(trial.whole, trial.without, trial.target)}; "
        f"{remove.lower()} as many random words: {_drawn(trial.random_without)}.",
        f"The shaded words alone, all others {gone}: {trial.alone:.2f}; as many random words "
        f"alone: {_drawn(trial.random_alone)}.",
    ]
    return lines if trial.testable else lines[:1]


def _trial_verdict(trial: Trial) -> str:
    if not trial.testable:
        return (
            f"This text is too short to try the reason: beside the shaded words ({trial.shaded:,} "
            f"of {trial.words:,}) chance has too few others to choose."
        )
    if trial.decides and trial.suffices:
        return "The shaded words decide: they matter more than random words, and are enough alone."
    if trial.decides:
        return "The shaded words decide, but alone they are worth no more than random words."
    far = f"{trial.as_far} of {trial.draws} random choices of words change {trial.target} as much"
    if trial.suffices:
        return f"The shaded words are enough alone, but others say the same: {far}."
    return f"This reason is no better than chance: {far}."


def _moves(before: float, after: float, name: str) -> str:
    """How a class norm changes, in words."""
    if round(before, 2) == round(after, 2):
        return f"leaves {name} at {after:.2f}"
    verb = "drops" if after < before else "raises"
    return f"{verb} {name} from {before:.2f} to {after:.2f}"


def _drawn(drawn: Interval) -> str:
    return f"{drawn.value:.2f} ({drawn.low:.2f} to {drawn.high:.2f} in nine of ten draws)"


def flip_line(explanation: Explanation, flip: Flip | None) -> str:
    """The smallest set of K-grams that decides between classes, in a sentence."""
    if flip is None:
        return f"Whichever of the K-grams are removed, it stays {explanation.predicted}."
    found = ", ".join(f"“{kgram.text}”" for kgram in flip.kgrams)
    then = f"it is {flip.predicted}, not {explanation.predicted}"
    few = "" if flip.exact else " No smaller set was found, but not all were tried."
    return f"Without {found} {then if flip.predicted else 'no known word is left'}.{few}"


def trial_text(explanation: Explanation, trial: Trial, flip: Flip | None) -> str:
    """Lines for a terminal, which stand below those of the explanation."""
    return "\n".join(f"  {line}" for line in [*trial_lines(trial), flip_line(explanation, flip)])
