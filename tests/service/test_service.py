"""The service answers as the library does, one request or many at a time, and refuses the rest."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from icaps.classifier import ICapsClassifier
from icaps.cli.main import main as icaps
from icaps.config import ExplainOptions
from icaps.service.app import create_app
from icaps.service.batching import BatchedModel, OverloadedError, compute
from icaps.service.limits import Limits
from tests.conftest import make_texts
from tests.coroutines import finish

testclient = pytest.importorskip("starlette.testclient")
LIMITS = Limits(texts=20, characters=500, body=20_000, waiting=40)
TEXTS = make_texts(12, seed=4)[0]


@pytest.fixture
def client(classifier: ICapsClassifier) -> Iterator[Any]:
    app = create_app({"small": classifier, "other": classifier.without([0])}, LIMITS)
    with testclient.TestClient(app) as found:
        yield found


def test_predictions_are_those_of_the_library(client: Any, classifier: ICapsClassifier) -> None:
    answer = client.post("/predict", json={"texts": TEXTS}).json()
    assert answer["model"] == "small"
    assert [one["predicted"] for one in answer["results"]] == list(classifier.predict(TEXTS))
    for one, chances, norms in zip(
        answer["results"],
        classifier.predict_proba(TEXTS),
        classifier.class_norms(TEXTS),
        strict=True,
    ):
        names = [str(name) for name in classifier.classes_]
        assert list(one["probabilities"]) == list(one["scores"]) == names
        assert list(one["probabilities"].values()) == pytest.approx(list(chances), abs=1e-6)
        assert list(one["scores"].values()) == pytest.approx(list(norms), abs=1e-6)
    one = client.post("/predict", json={"text": TEXTS[0], "model": "other"}).json()
    assert one["results"][0]["predicted"] == classifier.without([0]).predict(TEXTS[:1])[0]


def test_explanations_are_those_of_the_library(client: Any, classifier: ICapsClassifier) -> None:
    options = {"target": "Sailing", "top_kgrams": 3, "ranking": "routing"}
    answer = client.post("/explain", json={"texts": TEXTS, **options}).json()
    expected = [one.to_dict() for one in classifier.explain(TEXTS, **options)]  # type: ignore[arg-type]
    assert len(answer["results"]) == len(TEXTS)
    for found, other in zip(answer["results"], json.loads(json.dumps(expected)), strict=True):
        assert found.keys() == other.keys()
        assert found["kgrams"] == [pytest.approx(kgram, abs=1e-6) for kgram in other["kgrams"]]
        assert found["words"] == [pytest.approx(word, abs=1e-6) for word in other["words"]]
        assert found["scores"] == pytest.approx(other["scores"], abs=1e-6)
        assert found["target"] == "Sailing"
    one = client.post("/explain", json={"text": TEXTS[0]}).json()["results"][0]
    shares = sum(word["share"] for word in one["words"])
    assert one["bias"] + shares == pytest.approx(one["scores"][one["target"]], abs=1e-5)


@pytest.mark.parametrize(
    ("body", "status", "reason"),
    [
        ({}, 422, "Give either `text`"),
        ({"text": "a", "texts": ["b"]}, 422, "Give either `text`"),
        ({"text": 3}, 422, "text: "),
        ({"texts": "soup"}, 422, "texts: "),
        ({"texts": ["a", None]}, 422, "texts.1: "),
        ({"text": "a", "modle": "small"}, 422, "there is no field 'modle'"),
        ({"text": "a", "model": "none"}, 404, "There is no model 'none'; choose small, other"),
        ({"texts": ["a"] * 21}, 413, "21 texts are more than 20"),
        ({"text": "a" * 501}, 413, "501 characters"),
        ({"text": "a" * 20_000}, 413, "larger than 20,000 bytes"),
        ({"text": "a", "target": "Nowhere"}, 422, "no class 'Nowhere'"),
        ({"text": "a", "top_kgrams": 0}, 422, "top_kgrams: "),
        ({"text": "a", "ranking": "luck"}, 422, "ranking: "),
    ],
)
def test_errors_are_sentences(client: Any, body: Any, status: int, reason: str) -> None:
    answer = client.post("/explain", json=body)
    assert answer.status_code == status
    assert reason in answer.json()["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"\xff", b'{"text": "\\ud800"}'])
def test_any_body_has_an_answer(client: Any, body: bytes) -> None:
    answer = client.post("/predict", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (200, 400, 422)
    assert answer.status_code == 200 or answer.json()["error"]


def test_no_texts_have_no_results(client: Any) -> None:
    assert client.post("/explain", json={"texts": []}).json()["results"] == []
    assert client.post("/predict", json={"text": ""}).json()["results"][0]["scores"]["Cooking"] == 0


def test_what_describes_the_service(client: Any) -> None:
    assert client.get("/health").json() == {"status": "ok", "models": ["small", "other"]}
    assert client.get("/models").json()["small"]["classes"] == ["Cooking", "Gardens", "Sailing"]
    assert set(client.get("/openapi.json").json()["paths"]) >= {"/predict", "/explain", "/metrics"}
    page = client.get("/").text
    assert "POST /explain" in page
    assert "http://" not in page
    client.post("/predict", json={"texts": TEXTS})
    client.get("/nothing")
    said = client.get("/metrics").text
    assert 'icaps_requests_total{path="/predict",status="200"} 1.0' in said
    assert 'icaps_requests_total{path="other",status="404"} 1.0' in said
    assert 'icaps_batch_texts_sum{model="small"} 12.0' in said


class Slow:
    """A model whose first batch waits until it is let go."""

    def __init__(self, classifier: ICapsClassifier) -> None:
        self.classifier, self.go = classifier, threading.Event()

    def __getattr__(self, name: str) -> Any:
        assert self.go.wait(10)
        return getattr(self.classifier, name)


def test_what_arrives_meanwhile_is_one_batch(classifier: ICapsClassifier) -> None:
    sizes: list[int] = []
    slow = Slow(classifier)

    async def ask() -> list[Any]:
        model = BatchedModel(slow, Limits(waiting=10), sizes.append)  # type: ignore[arg-type]
        worker = asyncio.create_task(model.run())
        first = asyncio.create_task(model.answer(TEXTS[:1], None))
        await asyncio.sleep(0.05)
        others = [asyncio.create_task(model.answer(TEXTS[n : n + 2], None)) for n in (1, 3, 5)]
        explained = asyncio.create_task(model.answer(TEXTS[7:8], ExplainOptions()))
        await asyncio.sleep(0)
        others[1].cancel()  # its client has gone
        with pytest.raises(OverloadedError):
            await model.answer(TEXTS, None)
        slow.go.set()
        answers = [await first, await others[0], await others[2], await explained]
        worker.cancel()
        return answers

    answers = finish(ask())
    assert sizes == [1, 6, 1]
    parts = (TEXTS[:1], TEXTS[1:3], TEXTS[5:7])
    for answer, texts in zip(answers, parts, strict=False):
        assert [json.loads(one)["predicted"] for one in answer] == list(classifier.predict(texts))
    assert [json.loads(one) for one in answers[3]] == json.loads(
        json.dumps(compute(classifier, TEXTS[7:8], ExplainOptions()))
    )


@pytest.mark.parametrize("command", ["serve", "mcp"])
def test_models_of_one_name_are_refused(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [str(tmp_path / place / "same") for place in "ab"]
    assert icaps([command, "--model", folders[0], "--model", folders[1]]) == 2
    assert "Two models have the same name" in capsys.readouterr().err


def test_the_command_serves_and_stops_gracefully(model_folder: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "icaps", "serve", "--model", str(model_folder)]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.PIPE, text=True)
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                assert httpx.get(f"{address}/health").json()["status"] == "ok"
                break
            except httpx.TransportError:
                assert process.poll() is None, process.stderr and process.stderr.read()
                time.sleep(0.1)
        answer = httpx.post(f"{address}/explain", json={"text": TEXTS[0]})
        assert answer.status_code == 200
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(20) in (0, -signal.SIGTERM)
    finally:
        process.kill()
