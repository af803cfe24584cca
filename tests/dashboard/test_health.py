"""Whether the app answers, as a container or a proxy asks; and the headers of its answers."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from starlette.requests import Request

from dashboard import server
from icaps.runs.folder import QUEUED, Status
from tests.coroutines import finish
from tests.dashboard.run_folders import at_work, done, write_run


def ask() -> tuple[int, dict[str, Any]]:
    answer = server.health(Request({"type": "http"}))
    return answer.status_code, json.loads(answer.body)


def test_an_app_that_answers(models: Path) -> None:
    write_run(models, "ended", done())
    with at_work(write_run(models, "waits", Status(QUEUED, 1))):
        status, told = ask()
    assert status == 200
    memory = told.pop("memory_mb")
    assert 50 < memory < 50_000
    assert told == {"ok": True, "models": 1, "jobs": 1}


def test_an_app_without_models_answers(models: Path) -> None:
    shutil.rmtree(models / "small")
    status, told = ask()
    assert (status, told["ok"], told["models"]) == (200, True, 0)


def test_a_model_that_is_damaged(models: Path) -> None:
    (models / "small" / "classes.txt").unlink()
    status, told = ask()
    assert (status, told["ok"], told["error"]) == (503, False, "CheckpointError")
    assert str(models) not in json.dumps(told)


def test_settings_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_SETTINGS", str(tmp_path / "nowhere.toml"))
    assert ask()[0] == 503


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
