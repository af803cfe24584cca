"""HTML and Markdown pages: escaping, Jinja templates, and the shading of a text.

Works on plain data and imports nothing else of icaps, so that results and every room may use it.
The templates are in `templates/`; what they insert is escaped unless it is `Markup`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple

import markupsafe
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

TEMPLATES = Path(__file__).parent / "templates"
SHADING_STYLE = (TEMPLATES / "shading.css").read_text(encoding="utf-8")  # of `shaded_text`
MAX_LEVEL = 4  # shades; a word under more marks than this is no darker
FAINT = 0.01  # neighbouring sentences with a smaller weight share a row
_LONG = 200  # characters; a text of fewer needs no scrolling, also in a narrow card
_FAINTEST, _DARKEST = 0.02, 0.62  # part of the largest attention; opacity of the largest
MISSING = "–"  # shown for a number that is not known

# Characters that HTML cannot carry: controls other than tab and line ends, and lone surrogates.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_MARKDOWN_ANYWHERE = re.compile(r"([\\`*_\[\]<>|~$&])")
_MARKDOWN_AT_START = re.compile(r"^(\s*)(#|[-+=](?=\s|$|[-=])|(\d+)(?=[.)]\s))")


def printable(text: str) -> str:
    """`text` with each character that HTML cannot carry replaced by U+FFFD."""
    return _UNPRINTABLE.sub("\ufffd", text)


def escape(text: str) -> str:
    """`text` escaped for HTML, also inside an attribute."""
    return str(markupsafe.escape(printable(text)))


def escape_markdown(text: str) -> str:
    """`text` as one line of Markdown that shows it literally."""
    line = _MARKDOWN_ANYWHERE.sub(r"\\\1", " ".join(printable(text).split()))
    return _MARKDOWN_AT_START.sub(lambda m: f"{m[1]}{m[3]}\\" if m[3] else f"{m[1]}\\{m[2]}", line)


def render_html(template: str, **values: Any) -> str:
    """A template of `templates/` as HTML."""
    return _environment("html").get_template(template).render(values)


def render_markdown(template: str, **values: Any) -> str:
    """A template of `templates/` as Markdown with GitHub's tables."""
    return _environment("md").get_template(template).render(values)


class Table(NamedTuple):
    """A table of strings for a template.

    Columns named in `words` hold words; the others hold numbers and are aligned to the right.
    """

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[str]


class Picture(NamedTuple):
    """A chart as SVG for light and for dark pages, and a caption. Markdown shows the caption."""

    light: str
    dark: str
    caption: str


@cache
def _environment(format_: Literal["html", "md"]) -> Environment:
    """A template sees its format as `format`, and the formatters below as filters."""
    escape_ = printable if format_ == "html" else escape_markdown

    def finalize(value: Any) -> Any:
        if isinstance(value, Markup):
            return value
        text = escape_(str(value))
        return Markup(text) if format_ == "md" else text

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["format"] = format_
    environment.filters |= {
        "count": count,
        "decimals": decimals,
        "fenced": _fenced,
        "interval": interval,
        "one_line": _one_line,
        "percent": percent,
    }
    return environment


def count(value: int) -> str:
    """Such as "7,600"."""
    return f"{value:,}"


def percent(value: float | None, digits: int = 2, sign: bool = False) -> str:
    """A share, such as "92.16%"; with `sign` a difference of shares, such as "+0.96%"."""
    if value is None or value != value:
        return MISSING
    return f"{value:{'+' if sign else ''}.{digits}%}"


def chance(probability: float) -> str:
    """A probability of a class in whole per cent; "> 99%" rather than 100%."""
    if probability < 0.005:
        return "< 1%"
    return "> 99%" if probability > 0.995 else f"{probability:.0%}"


def decimals(value: float | None, digits: int, sign: bool = False) -> str:
    """A number with `digits` digits after the point; with `sign` such as "+0.12", and "0.00"."""
    if value is None or value != value:
        return MISSING
    shown = round(value, digits) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{shown:{'+' if sign and shown else ''},.{digits}f}"


def p_value(value: float) -> str:
    """A p-value with three digits after the point, such as "0.049"; "< 0.001" if it is smaller."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def interval(value: float | None, ends: Sequence[float]) -> str:
    """A share with its confidence interval, such as "92.16% (91.53 to 92.74)"."""
    low, high = ends
    return f"{percent(value)} ({100 * low:.2f} to {100 * high:.2f})"


def plain(value: Any, digits: int | None = None) -> str:
    """A setting or a result as a person reads it: "yes" for True, "7,600", "0.25"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if digits is None else f"{value:.{digits}f}"
    if value is None:
        return MISSING
    return f"{value:,}" if isinstance(value, int) else str(value)


def _one_line(text: Markup) -> Markup:
    """Escaped text with its line breaks as spaces."""
    return Markup(" ".join(text.split()))


def _fenced(text: str) -> Markup:
    """A fenced block of Markdown whose fence is longer than any in `text`."""
    text = printable(text)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}text\n{text}\n{fence}")


class Mark(NamedTuple):
    """A shaded part of a text, the line of its tooltip, and a class that links it with its row."""

    start: int
    end: int
    tip: str
    key: str = ""


class Row(NamedTuple):
    """A part of a text on a line of its own: a sentence, or neighbours with a small weight.

    `chosen` says whether K-grams were taken from it.
    """

    start: int
    end: int
    weight: float
    chosen: bool


def sentence_rows(
    length: int, sentences: Sequence[tuple[int, float]], chosen: Collection[int]
) -> list[Row]:
    """The rows of a text that is split into sentences; none for a text that is not.

    Args:
        length: The length of the text.
        sentences: Start and weight of each sentence.
        chosen: Numbers of the sentences, from 0, from which K-grams were taken.
    """
    if not sentences:
        return []
    starts = [0, *(start for start, _ in sentences[1:]), length]
    single = [
        Row(start, end, weight, number in chosen)
        for number, ((_, weight), (start, end)) in enumerate(
            zip(sentences, pairwise(starts), strict=True)
        )
    ]
    rows: list[Row] = []
    for faint, group in groupby(single, lambda row: not row.chosen and row.weight < FAINT):
        run = list(group)
        weight = sum(row.weight for row in run)
        rows += [Row(run[0].start, run[-1].end, weight, False)] if faint else run
    return rows


def segments(
    words: Sequence[tuple[int, int]], marks: Sequence[Mark], start: int, end: int
) -> Iterator[tuple[int, int, tuple[Mark, ...]]]:
    """`start` to `end` of a text, cut at its marked words: start, end, and marks of each piece."""
    inside = [word for word in words if start <= word[0] < end]
    cuts = {start, end, *(cut for word in inside for cut in word)}
    for first, last in pairwise(sorted(cuts)):
        over = (mark for mark in marks if mark.start <= first and last <= mark.end)
        yield first, last, tuple(over)


def shaded_text(
    text: str,
    words: Sequence[tuple[int, int]],
    marks: Sequence[Mark],
    rows: Sequence[Row] = (),
    unknown: Collection[tuple[int, int]] = frozenset(),
    unread: int | None = None,
) -> str:
    """A text as an HTML fragment, darker where marks overlap; the page needs `SHADING_STYLE`.

    Each shaded word can be focused, and shows the tooltips of its marks on hover or focus.

    Args:
        text: The text as it was typed.
        words: Start and end of each word that lies under a mark.
        marks: Spans of the text; their ends are ends of words.
        rows: From `sentence_rows`: each row gets a bar as long as its weight. Without rows the text
            is one block.
        unknown: Start and end of each word that the model does not know, which is dotted.
        unread: Where the part of the text begins that was not read, which is faint; None: nowhere.
    """
    rest = () if unread is None else ((unread, len(text)),)
    notes = dict.fromkeys(unknown, ("unknown", "unknown to the model"))
    notes |= dict.fromkeys(rest, ("icaps-unread", "not read"))
    cuts = sorted({*words, *notes})
    if rows:
        shaded = [_shaded(text, cuts, marks, notes, row.start, row.end) for row in rows]
        pieces = [_row_html(row, piece) for row, piece in zip(rows, shaded, strict=True)]
    else:
        pieces = [_shaded(text, cuts, marks, notes, 0, len(text))]
    return text_block("".join(pieces), len(text), has_stops=bool(marks))


def text_block(content: str, length: int, name: str = "icaps-text", has_stops: bool = True) -> str:
    """A text in its block; a long one without stops for the keyboard is one, so that it scrolls.

    Args:
        content: The text as HTML.
        length: Its characters.
        name: Classes of the block.
        has_stops: Whether words of it can be focused.
    """
    stop = "" if has_stops or length < _LONG else ' tabindex="0" role="group" aria-label="the text"'
    return f'<div class="{name}" dir="auto"{stop}>{content}</div>'


def attention_text(text: str, words: Sequence[tuple[int, int]], weights: Sequence[float]) -> str:
    """A text as an HTML fragment with each word as dark as its weight; needs `SHADING_STYLE`.

    Args:
        text: The text as it was typed.
        words: Start and end of each word that was read.
        weights: The attention of each word; words far below the largest have no shade.
    """
    largest = max(weights, default=0.0) or 1.0
    parts, place = [], 0
    for (start, end), weight in zip(words, weights, strict=True):
        if weight < _FAINTEST * largest:
            continue
        parts.append(escape(text[place:start]))
        parts.append(
            f'<mark style="--strength: {_DARKEST * weight / largest:.0%}" '
            f'title="α {weight:.4f}">{escape(text[start:end])}</mark>'
        )
        place = end
    parts.append(escape(text[place:]))
    return text_block("".join(parts), len(text), "icaps-text icaps-attention", has_stops=False)


def _row_html(row: Row, shaded: str) -> str:
    return (
        f'<div class="icaps-sentence{" chosen" if row.chosen else ""}">'
        f'<div class="icaps-weight" role="img" aria-label="weight {row.weight:.0%}" '
        f'title="weight {row.weight:.1%}" style="--weight: {row.weight:.1%}"></div>'
        f'<div dir="auto">{shaded}</div></div>'
    )


def _shaded(
    text: str,
    words: Sequence[tuple[int, int]],
    marks: Sequence[Mark],
    notes: Mapping[tuple[int, int], tuple[str, str]],
    start: int,
    end: int,
) -> str:
    parts = []
    for first, last, over in segments(words, marks, start, end):
        piece = text[first:last]
        name, note = notes.get((first, last), ("", ""))
        keys = " ".join([f"l{min(len(over), MAX_LEVEL)}", *(mark.key for mark in over), name])
        keys = " ".join(keys.split())
        if not over:
            shown = escape(piece)
            parts.append(f'<span class="{name}" title="{note}">{shown}</span>' if name else shown)
        elif piece.isspace():
            parts.append(f'<mark class="{keys}">{escape(piece)}</mark>')
        else:
            tip = "\n".join([*(mark.tip for mark in over), *([note] if note else [])])
            parts.append(
                f'<mark class="{keys}" tabindex="0">{escape(piece)}'
                f'<span class="icaps-tip" role="tooltip">{escape(tip)}</span></mark>'
            )
    return "".join(parts)
