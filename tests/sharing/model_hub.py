"""A local stand-in of the Hugging Face Hub: repositories of models, with uploads and downloads."""

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit


class ModelHub:
    """`repositories` maps "owner/name" to its files by their paths; `commits` are as received.

    `refusals` maps a part of a path to the status and the error code that requests for it get.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.commits: list[list[dict[str, Any]]] = []
        self.created: list[dict[str, Any]] = []
        self.refusals: dict[str, tuple[int, str]] = {}
        self.requests: list[str] = []
        self.tokens: set[str | None] = set()

    def sha(self, repo: str) -> str:
        """That of the last commit, which follows from the files."""
        return _etag(repr(sorted(self.repositories[repo].items())).encode())

    def commit(self, repo: str, lines: list[dict[str, Any]]) -> None:
        self.commits.append(lines)
        files = self.repositories[repo]
        for line in lines:
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "deletedFile":
                del files[value["path"]]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: ModelHub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self._refused():
            return
        path = urlsplit(self.path).path
        if path == "/api/validate-yaml":
            self._json({"errors": [], "warnings": []})
        elif path == "/api/repos/create":
            options = json.loads(body)
            self.hub.created.append(options)
            repo = f"{options.get('organization') or 'ada'}/{options['name']}"
            self.hub.repositories.setdefault(repo, {})
            self._json({"url": f"{self.hub.url}/{repo}", "id": repo})
        elif "/preupload/" in path:
            files = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in json.loads(body)["files"]
            ]
            self._json({"files": files})
        else:
            repo = path.removeprefix("/api/models/").split("/commit/")[0]
            self.hub.commit(repo, [json.loads(line) for line in body.splitlines()])
            sha = self.hub.sha(repo)
            self._json({"commitUrl": f"{self.hub.url}/{repo}/commit/{sha}", "commitOid": sha})

    def do_GET(self) -> None:
        if self._refused():
            return
        path = urlsplit(self.path).path
        if path == "/api/whoami-v2":
            self._json({"name": "ada"})
        elif path.startswith("/api/models/"):
            owner, name, *rest = path.removeprefix("/api/models/").split("/")
            files = self.hub.repositories.get(f"{owner}/{name}")
            if files is None:
                self._refuse(404, "RepoNotFound")
            elif rest[0] == "tree":
                self._json([self._entry(*file) for file in files.items()])
            else:
                siblings = [{"rfilename": path} for path in files]
                sha = self.hub.sha(f"{owner}/{name}")
                self._json({"id": f"{owner}/{name}", "sha": sha, "siblings": siblings})
        else:
            repo, _, rest = path[1:].partition("/resolve/")  # of a revision and a path
            self._send_file(repo, rest.partition("/")[2])

    do_HEAD = do_GET  # noqa: N815 (a name of http.server)

    def _entry(self, path: str, content: bytes) -> dict[str, Any]:
        return {"type": "file", "path": path, "oid": _etag(content), "size": len(content)}

    def _send_file(self, repo: str, path: str) -> None:
        content = self.hub.repositories.get(repo, {}).get(path)
        if content is None:
            self._refuse(404, "EntryNotFound")
            return
        self.send_response(200)
        self.send_header("ETag", f'"{_etag(content)}"')
        self.send_header("X-Repo-Commit", self.hub.sha(repo))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def _refused(self) -> bool:
        self.hub.requests.append(f"{self.command} {self.path}")
        if self.path.startswith("/api/models/"):
            self.hub.tokens.add(self.headers.get("Authorization"))
        for part, answer in self.hub.refusals.items():
            if part in self.path:
                self._refuse(*answer)
                return True
        return False

    def _refuse(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _json(self, value: Any) -> None:
        content = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


def _etag(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()


@contextmanager
def serve() -> Iterator[ModelHub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    hub = _Handler.hub = ModelHub(f"http://127.0.0.1:{server.server_port}")
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
