"""The health check, as a container or a proxy requests it; and the headers of responses."""

import json
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from starlette.requests import Request

from dashboard import server
from icaps.classifier import ICapsClassifier
from icaps.runs.folder import QUEUED, Status
from tests.coroutines import finish
from tests.dashboard.run_folders import at_work, done, write_run


def ask() -> tuple[int, dict[str, Any]]:
    answer = server.health(Request({"type": "http"}))
    return answer.status_code, json.loads(answer.body)


def test_an_app_that_responds(models: Path) -> None:
    write_run(models, "ended", done())
    with at_work(write_run(models, "waits", Status(QUEUED, 1))):
        status, report = ask()
    assert status == 200
    memory = report.pop("memory_mb")
    assert 50 < memory < 50_000
    assert report == {"ok": True, "models": 1, "jobs": 1}


def test_an_app_without_models_responds(models: Path) -> None:
    shutil.rmtree(models / "small")
    status, report = ask()
    assert (status, report["ok"], report["models"]) == (200, True, 0)


def test_a_model_that_is_damaged(models: Path) -> None:
    (models / "small" / "classes.txt").unlink()
    status, report = ask()
    assert (status, report["ok"], report["error"]) == (503, False, "CheckpointError")
    assert str(models) not in json.dumps(report)


def test_settings_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "nowhere.toml"))
    assert ask()[0] == 503


def test_a_server_that_starts_responds_at_once(models: Path) -> None:
    with server._warming:
        assert ask() == (503, {"ok": False, "error": "starting"})
    assert ask()[0] == 200


def test_a_disk_that_hangs_holds_no_probe(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    explain, calls = ICapsClassifier.explain, []

    def hang(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        answers.wait(30)
        return explain(*arguments, **options)

    monkeypatch.setattr(ICapsClassifier, "explain", hang)
    monkeypatch.setattr(server, "HEALTH_TIMEOUT", 0.2)
    began = time.monotonic()
    for _ in range(5):
        assert ask() == (503, {"ok": False, "error": "timeout"})
    assert time.monotonic() - began < 10
    assert len(calls) == 1  # the probes wait for one check and not for five
    answers.set()
    monkeypatch.setattr(server, "HEALTH_TIMEOUT", 30.0)
    assert ask()[0] == 200


def test_an_error_of_a_check_is_raised_and_the_next_check_is_a_new_one() -> None:
    results: list[Any] = [{"ok": True}, OSError("a"), {"ok": False}]

    def check() -> dict[str, Any]:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return dict(result)

    probe = server.HealthCheck(check)
    assert probe.result(30) == {"ok": True}
    with pytest.raises(OSError, match="a"):
        probe.result(30)
    assert probe.result(30) == {"ok": False}


def test_the_route_and_the_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    app = st.App(Path(server.__file__).with_name("Home.py"), **server.options())
    (route,) = app._user_routes
    assert (route.path, route.endpoint) == ("/health", server.health)  # type: ignore[attr-defined]
    sent: list[Any] = []

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})
        await send({"type": "http.response.body", "body": b""})

    async def send(message: Any) -> None:
        sent.append(message)

    finish(server.SafeHeaders(answer)({"type": "http"}, None, send))
    headers = dict(sent[0]["headers"])
    assert headers[b"a"] == b"b"
    assert headers[b"referrer-policy"] == b"same-origin"
    assert headers[b"x-content-type-options"] == b"nosniff"
