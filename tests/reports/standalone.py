"""What a browser would load and run of a page, and what it would show."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """A page of its own: reading it fails where it would load or run anything."""

    def __init__(self, content: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.text, self.ids, self.used = "", list[str](), set[str]()
        self.feed(content.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        loading = {"script", "link", "iframe", "object", "embed", "img", "base", "form", "a", "use"}
        assert tag not in loading
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in {"src", "href", "xlink:href", "action", "srcset", "data"}
            assert "http" not in (value or "").lower() or name in {"aria-label", "http-equiv"}
            if name == "id":
                self.ids.append(value or "")
            if value and value.startswith("url("):
                self.used.add(value[5:-1])

    def handle_data(self, data: str) -> None:
        assert "@import" not in data
        self.text += data
