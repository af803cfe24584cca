"""A local stand-in of the Hugging Face Hub: lists files, serves ranges, and fails on request."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from urllib.parse import urlsplit

VERSION = "0123abc"


class HubServer:
    """`files` maps a path such as "owner/name/data/a.parquet" to bytes.

    `faults` maps such a path to what happens at its next downloads, in turn: a status code, or
    the number of bytes before the connection ends, as "cut:100", or before the server stops
    sending, as "wait:100". `requests` lists (path, range). `hosts` are the hosts of the requests
    that came as through a proxy.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, bytes] = {}
        self.checksums: dict[str, str] = {}
        self.faults: dict[str, list[str | int]] = defaultdict(list)
        self.requests: list[tuple[str, str | None]] = []
        self.sent: dict[str, int] = defaultdict(int)
        self.hosts: set[str | None] = set()
        self.ranges = True
        self.retry_after: int | None = None  # seconds, of a status code
        self.closing = Event()

    def listing(self, repo: str) -> bytes:
        siblings = []
        for path, content in self.files.items():
            if path.startswith(f"{repo}/"):
                checksum = self.checksums.get(path) or hashlib.sha256(content).hexdigest()
                lfs = {"sha256": checksum, "size": len(content), "pointerSize": 130}
                name = path.removeprefix(f"{repo}/")
                siblings.append({"rfilename": name, "size": len(content), "lfs": lfs})
        siblings.append({"rfilename": "README.md", "size": 5, "blobId": "ab"})
        return json.dumps({"id": repo, "sha": VERSION, "siblings": siblings}).encode()


class _Handler(BaseHTTPRequestHandler):
    hub: HubServer

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if self.path.startswith("http"):
            self.hub.hosts.add(urlsplit(self.path).hostname)
        if path.startswith("/api/datasets/"):
            repo = path.removeprefix("/api/datasets/")
            if not any(name.startswith(f"{repo}/") for name in self.hub.files):
                self.send_error(404)
                return
            self._answer(200, self.hub.listing(repo), {})
        elif path.startswith("/datasets/"):
            self.send_response(302)  # the Hub sends to another host for large files
            self.send_header("Location", path.replace("/datasets/", "/cdn/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
        else:
            name = path.removeprefix("/cdn/").replace(f"/resolve/{VERSION}", "")
            self._serve(name)

    def _serve(self, name: str) -> None:
        span = self.headers.get("Range")
        self.hub.requests.append((name, span))
        fault = self.hub.faults[name].pop(0) if self.hub.faults[name] else None
        if isinstance(fault, int):
            self.send_response(fault)
            if self.hub.retry_after is not None:
                self.send_header("Retry-After", str(self.hub.retry_after))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if name not in self.hub.files:
            self.send_error(404)
            return
        content = self.hub.files[name]
        start = int(span.removeprefix("bytes=").removesuffix("-")) if span else 0
        if span and start >= len(content):
            self.send_error(416)
            return
        headers, status = {}, 200
        if span and self.hub.ranges:
            status = 206
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            content = content[start:]
        end = int(str(fault).split(":")[1]) if fault else len(content)
        self.hub.sent[name] += len(content[:end])
        self._answer(status, content, headers, end)
        if str(fault).startswith("wait:"):
            self.hub.closing.wait()

    def _answer(
        self, status: int, content: bytes, headers: dict[str, str], end: int | None = None
    ) -> None:
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:end])

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def serve() -> Iterator[HubServer]:
    """A running server."""
    handler = type("Handler", (_Handler,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.hub = HubServer(f"http://127.0.0.1:{server.server_port}")
    Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield handler.hub
    finally:
        handler.hub.closing.set()
        server.shutdown()
        server.server_close()
