"""A visitor of the app without a browser, and what is read off the page."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

HOME = Path(__file__).resolve().parents[2] / "dashboard" / "Home.py"
TAGS = {"a", "b", "caption", "dd", "div", "dl", "dt", "i", "mark", "p", "span"}
TAGS |= {"table", "tbody", "td", "th", "thead", "tr"}
ATTRIBUTES = {
    "aria-label",
    "aria-valuemax",
    "aria-valuemin",
    "aria-valuenow",
    "class",
    "dir",
    "href",
    "role",
    "style",
    "tabindex",
    "title",
}


def open_app(**address: str) -> AppTest:
    """A new visitor, who opens an address with these parameters."""
    at = AppTest.from_file(str(HOME), default_timeout=30)
    at.query_params.update(address)
    return run(at)


def run(at: AppTest) -> AppTest:
    """Runs the page, which may never show an exception or HTML that is not its own."""
    at.run()
    assert not at.exception, at.exception[0].stack_trace
    reader = Reader(page_html(at))
    assert reader.tags <= TAGS, reader.tags - TAGS
    assert reader.attributes <= ATTRIBUTES
    return at


def type_text(at: AppTest, text: str) -> AppTest:
    at.text_area(key="text").set_value(text)
    return run(at)


def choose(at: AppTest, key: str, value: str) -> AppTest:
    at.selectbox(key=key).select(value)
    return run(at)


def open_tab(at: AppTest, name: str) -> AppTest:
    at.session_state["reasons"] = name
    return run(at)


def page_html(at: AppTest) -> str:
    """All HTML of the page, without its style sheet."""
    return "".join(html.value for html in at.html if not html.value.startswith("<style>"))


class Reader(HTMLParser):
    """What a browser makes of HTML: the shaded text without its tips, and the tips."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text, self.tips = "", list[str]()
        self._depth = 0  # of divs, from that of the text on
        self._in_tip = False
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "div" and (self._depth or ("class", "icaps-text") in attrs):
            self._depth += 1
        self._in_tip = ("class", "icaps-tip") in attrs

    def handle_endtag(self, tag: str) -> None:
        self._in_tip = False
        if tag == "div" and self._depth:
            self._depth -= 1

    def handle_data(self, data: str) -> None:
        if self._in_tip:
            self.tips.append(data)
        elif self._depth:
            self.text += data


def shown_text(at: AppTest) -> str:
    return Reader(page_html(at)).text


def lines(at: AppTest, kind: str) -> list[str]:
    """The lines of a kind: verdict, sure or notice."""
    return [unescape(x) for x in re.findall(rf'<p class="{kind}"[^>]*>(.*?)</p>', page_html(at))]


def verdict(at: AppTest) -> str:
    (line,) = lines(at, "verdict")
    return line


def evidence(at: AppTest) -> list[list[str]]:
    """The table of evidence: K-gram, capsule, routing, attention."""
    open_tab(at, "Evidence")
    rows = re.findall(
        r'<tr class="k.*?"><td dir="auto">(.*?)(?=<tr|</tbody>)', page_html(at), flags=re.DOTALL
    )
    cell = r'<td(?: class="\w+")?>'
    return [[unescape(text).strip() for text in re.split(cell, row)] for row in rows]


def routing_lines(at: AppTest) -> list[dict[str, Any]]:
    """The lines of the routing picture."""
    open_tab(at, "Routing")
    (chart,) = at.get("plotly_chart")
    return [trace for trace in json.loads(chart.proto.spec)["data"] if trace["mode"] == "lines"]


def errors(at: AppTest) -> list[str]:
    """The errors on the page, as they are read."""
    return [re.sub(r"\\(.)|\u2060", r"\1", error.value) for error in at.error]
