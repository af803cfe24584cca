"""A document of sections, which is told as HTML and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from icaps.reports.render import escape, printable

_ACTIVE = re.compile(r"([\\`*_\[\]<>|~$&])")  # characters of Markdown anywhere in a line
_MARKER = re.compile(r"^(\s*)(#|[-+=](?=\s|$|[-=])|(\d+)(?=[.)]\s))")  # at its start

STYLE = """
.wide { overflow-x: auto; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .75rem 1rem;
  border-radius: .4rem; font-size: .85rem; }
p { overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; }
figcaption { font-weight: 600; }
figure table { margin: .5rem 0; }
.picture svg { display: block; min-width: 40rem; width: 100%; height: auto; }
.picture.dark { display: none; }
@media screen and (prefers-color-scheme: dark) {
  .picture.light { display: none; } .picture.dark { display: block; }
}
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
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 62rem; margin: 3rem auto;
  padding: 0 1.25rem; overflow-wrap: break-word; }}
h2 {{ margin-top: 2.5rem; }}
table {{ border-collapse: collapse; margin: 1rem 0; font-size: .9rem; }}
th, td {{ text-align: left; vertical-align: top; padding: .3rem 1.25rem .3rem 0;
  border-bottom: 1px solid #8884; overflow-wrap: normal; }}
td.n, th.n {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
{style}
</style>
<h1>{title}</h1>
{body}
</html>
"""


@dataclass(frozen=True)
class Prose:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Points:
    """Sentences, each with a bullet."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Verbatim:
    """Lines that are shown as they are: a command, or a text."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table; the columns whose names are in `words` are of words, the others of numbers."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Picture:
    """A chart as SVG, for light and for dark pages, and what it shows; Markdown has that alone."""

    light: str
    dark: str
    about: str


Block = Prose | Points | Verbatim | Table | Picture


@dataclass(frozen=True)
class Section:
    """Blocks under a title."""

    title: str
    blocks: tuple[Block, ...]


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table whose first column is of words."""
    return Table(caption, tuple(columns), tuple(map(tuple, rows)), frozenset(columns[:1]))


def html_page(title: str, sections: Iterable[Section]) -> str:
    """A page of its own, without scripts or outside files."""
    return _PAGE.format(title=escape(title), style=STYLE, body=html_sections(sections))


def html_sections(sections: Iterable[Section]) -> str:
    """The sections as a part of a page that has `STYLE`."""
    return "\n".join(
        "\n".join([f"<h2>{escape(section.title)}</h2>", *map(_html, section.blocks)])
        for section in sections
    )


def markdown(title: str, sections: Iterable[Section]) -> str:
    """The document as Markdown with GitHub's tables; what it quotes is shown as it is."""
    parts = [f"# {plain(title)}"]
    for section in sections:
        parts += [f"## {plain(section.title)}", *map(_markdown, section.blocks)]
    return "\n\n".join(parts) + "\n"


def plain(text: str) -> str:
    """`text` as a line of Markdown that shows it as it is."""
    line = _ACTIVE.sub(r"\\\1", " ".join(printable(text).split()))
    return _MARKER.sub(lambda m: f"{m[1]}{m[3]}\\" if m[3] else f"{m[1]}\\{m[2]}", line)


def _html(block: Block) -> str:
    if isinstance(block, Prose):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Points):
        return "<ul>" + "".join(f"<li>{escape(text)}" for text in block.texts) + "</ul>"
    if isinstance(block, Verbatim):
        return f'<pre dir="auto">{escape(block.text)}</pre>'
    if isinstance(block, Picture):
        return "".join(
            f'<div class="wide picture {theme}" role="img" aria-label="{escape(block.about)}">'
            f"{svg}</div>"
            for theme, svg in (("light", block.light), ("dark", block.dark))
        )
    return _html_table(block)


def _html_table(block: Table) -> str:
    def cell(tag: str, name: str, text: str) -> str:
        kind = ' dir="auto"' if name in block.words else ' class="n"'
        return f"<{tag}{kind}>{escape(text)}"

    head = "".join(cell("th", name, name) for name in block.columns)
    body = "".join(
        "<tr>"
        + "".join(cell("td", name, text) for name, text in zip(block.columns, row, strict=True))
        for row in block.rows
    )
    return (
        f'<figure><figcaption>{escape(block.caption)}</figcaption><div class="wide"><table>'
        f"<thead><tr>{head}</thead><tbody>{body}</tbody></table></div></figure>"
    )


def _markdown(block: Block) -> str:
    if isinstance(block, Prose):
        return plain(block.text)
    if isinstance(block, Points):
        return "\n".join(f"- {plain(text)}" for text in block.texts)
    if isinstance(block, Verbatim):
        text = printable(block.text)
        longest = max(map(len, re.findall("`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        return f"{fence}text\n{text}\n{fence}"
    if isinstance(block, Picture):
        return f"*{plain(block.about)}: the picture is in the HTML.*"
    rule = ["---" if name in block.words else "---:" for name in block.columns]
    lines = [map(plain, block.columns), rule, *(map(plain, row) for row in block.rows)]
    return "\n\n".join(
        [plain(block.caption), "\n".join(f"| {' | '.join(line)} |" for line in lines)]
    )
