"""Hostile requests: each has an answer, an error is a sentence, and nothing fills the memory."""

import asyncio
import gzip
import json
import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from benchmarks import fuzzing
from icaps.classifier import ICapsClassifier
from icaps.service.app import create_app
from icaps.service.limits import Limits
from tests.coroutines import finish

testclient = pytest.importorskip("starlette.testclient")
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def client(classifier: ICapsClassifier) -> Iterator[Any]:
    with testclient.TestClient(create_app({"small": classifier})) as found:
        yield found


def test_random_requests(classifier: ICapsClassifier) -> None:
    with ThreadPoolExecutor(1) as pool:  # as a browser's loop may run in this thread
        outcome = pool.submit(fuzzing.fuzz_requests, classifier, 600, random.Random(3)).result()
    assert outcome.failures == []
    assert outcome.counts["succeeded"] == 600
    for status in (200, 404, 405, 413, 415, 422):
        assert outcome.counts[f"status {status}"] > 10


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        (b"[" * 100_000, 400, "too deep"),
        (b'{"text":' * 100_000, 400, "too deep"),
        (b'{"text":' + b"1" * 5_000 + b"}", 400, "too many digits"),
        (b'{"text": "a", "top_kgrams": 1e999}', 422, "top_kgrams"),
        (b'{"text": "a", "top_kgrams": NaN}', 422, "top_kgrams"),
        (b'{"text": "a", "top_kgrams": ' + b"9" * 4_000 + b"}", 422, "less than or equal to 1000"),
        (b'{"texts": [' + b"1," * 200_000 + b"1]}", 422, "texts.0: "),
        (b'{"texts": [' + b'"",' * 200_000 + b'""]}', 413, "200,001 texts"),
        (
            b"{" + b",".join(b'"a%d":1' % n for n in range(50_000)) + b"}",
            422,
            "there is no field 'a0'",
        ),
        (b'{"\\ud800": 1}', 422, "there is no field '\\ud800'"),
        (b'{"text": "a", "model": "\\ud800"}', 404, "There is no model '\\ud800'"),
        (b'{"text": "a", "target": "\\ud800"}', 422, "no class '\\ud800'"),
        (b'{"__proto__": {"text": "a"}}', 422, "there is no field '__proto__'"),
        (b'{"text": "a", "target": "' + b"x" * 90_000 + b'"}', 422, "no class 'xxx"),
        (b'{"text": "a", "model": "' + b"x" * 90_000 + b'"}', 404, "no model 'xxx"),
    ],
)
def test_bodies(client: Any, body: bytes, status: int, reason: str) -> None:
    answer = client.post("/explain", content=body, headers=JSON)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])
    assert reason in answer.json()["error"]
    assert len(answer.content) < 1_000


def test_a_lone_surrogate_is_explained_as_in_the_library(
    client: Any, classifier: ICapsClassifier
) -> None:
    text = "soup \ud800 boat"
    body = json.dumps({"texts": [text, "\U0001f600 soup"]}).encode()
    answer = client.post("/explain", content=body, headers=JSON)
    for found, expected in zip(
        answer.json()["results"],
        classifier.explain([text, "\U0001f600 soup"], ranking="account"),
        strict=True,
    ):
        assert found["text"] == expected.text
        assert found["predicted"] == expected.predicted
        spans = [(word["start"], word["end"]) for word in found["words"]]
        assert spans == [(word.start, word.end) for word in expected.words]


@pytest.mark.parametrize(
    ("headers", "status", "reason"),
    [
        ({"Content-Type": "text/plain"}, 415, "Content-Type: application/json"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "application/json"),
        ({"Content-Type": ";;=\xff"}, 415, "application/json"),
        ({**JSON, "Content-Encoding": "gzip"}, 415, "compressed"),
        ({"Content-Type": "application/json; charset=utf-8"}, 200, ""),
        ({**JSON, "Content-Encoding": "identity"}, 200, ""),
    ],
)
def test_headers(client: Any, headers: dict[str, str], status: int, reason: str) -> None:
    body = b'{"text": "soup"}'
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.compress(b" " * 10_000_000)
    raw = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    answer = client.post("/predict", content=body, headers=raw)
    assert answer.status_code == status
    assert reason in answer.json().get("error", "")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *[("GET", "/predict", 405), ("PUT", "/explain", 405), ("POST", "/health", 405)],
        *[
            ("GET", "/predict/", 404),
            ("GET", "/%00%ff", 404),
            ("GET", "/..%2f..%2fetc/passwd", 404),
        ],
    ],
)
def test_paths(client: Any, method: str, path: str, status: int) -> None:
    answer = client.request(method, path, follow_redirects=False)
    assert (answer.status_code, list(answer.json())) == (status, ["error"])


Answer = tuple[int, dict[bytes, bytes], Any]  # status, headers and content


class Broken:
    """A model that fails."""

    def __init__(self, classifier: ICapsClassifier) -> None:
        self.network_ = classifier.network_
        self.classes_ = classifier.classes_

    def class_norms(self, texts: list[str]) -> Any:
        raise ArithmeticError(f"a fault of the model with {texts}")


def test_a_fault_of_the_service_says_nothing_of_texts(classifier: ICapsClassifier) -> None:
    app = create_app({"small": Broken(classifier)})  # type: ignore[dict-item]
    with testclient.TestClient(app, raise_server_exceptions=False) as client:
        answer = client.post("/predict", json={"text": "secret"})
        assert answer.status_code == 500
        assert answer.json() == {"error": "The service failed; its log says where."}
        assert client.get("/health").status_code == 200


def exchange(app: Any, *requests: tuple[bytes | float, ...]) -> list[Answer]:
    """The answers to bodies, one after the other.

    Args:
        app: The application.
        requests: The parts of each body, and seconds that pass before the next one.
    """

    async def ask(arrivals: list[bytes | float]) -> Answer:
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            while isinstance(arrivals[0], float):
                await asyncio.sleep(arrivals.pop(0))  # type: ignore[arg-type]
            body = arrivals.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(arrivals)}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b""}
        scope["headers"] = [(b"content-type", b"application/json")]
        await app(scope, receive, send)
        return sent[0]["status"], dict(sent[0]["headers"]), json.loads(sent[1]["body"])

    async def ask_all() -> list[Answer]:
        async with app.router.lifespan_context(app):
            return [await ask(list(request)) for request in requests]

    return finish(ask_all())


def test_a_body_in_parts(classifier: ICapsClassifier) -> None:
    app = create_app({"small": classifier})
    [(status, _, content)] = exchange(app, (b'{"te', 0.01, b'xt": "so', b"", b'up"}'))
    assert (status, content["results"][0]["predicted"]) == (200, classifier.predict(["soup"])[0])


def test_a_slow_body_is_refused(classifier: ICapsClassifier) -> None:
    app = create_app({"small": classifier}, Limits(seconds=0.1))
    [(status, _, content)] = exchange(app, (b'{"te', 0.06, b"x", 0.06, b"t", 60.0, b""))
    assert (status, content) == (408, {"error": "The request did not arrive within 0.1 seconds."})


def test_a_body_is_refused_while_it_arrives(classifier: ICapsClassifier) -> None:
    app = create_app({"small": classifier}, Limits(body=1_000))
    [(status, _, content)] = exchange(app, (b" " * 600, b" " * 600, 60.0, b"{}"))
    assert (status, content["error"]) == (
        413,
        "The request is larger than 1,000 bytes; send it in parts.",
    )


def test_all_bodies_together_are_bounded(classifier: ICapsClassifier) -> None:
    app = create_app({"small": classifier}, Limits(bodies=1_000))
    good = b'{"text": "soup"' + b" " * 900 + b"}"
    refused, answered = exchange(app, (b" " * 600, b" " * 600, 60.0, b"{}"), (good,))
    assert (refused[0], refused[1][b"retry-after"]) == (503, b"1")
    assert refused[2] == {"error": "Too many texts wait; try again in a second."}
    assert answered[0] == 200  # as what was refused is no longer counted
