"""What the server does before its first visitor."""

import asyncio
import gc
import json
import subprocess
import sys
import threading
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.web.server.app_discovery import discover_asgi_app

from dashboard import server
from icaps.classifier import ICapsClassifier
from tests.coroutines import finish
from tests.dashboard.visitor import HOME, errors, open_app, verdict


def serve() -> None:
    """The life of a server without visitors."""

    async def live() -> None:
        async with server.ready(st.App(HOME)):
            pass

    finish(live())


def test_what_is_there_from_the_start_is_no_garbage_to_look_through() -> None:
    async def frozen() -> tuple[int, int]:
        async with server.ready(st.App(HOME)):
            await asyncio.to_thread(server.wait_until_warm)
            return gc.get_freeze_count(), len(gc.get_objects())

    before = gc.get_freeze_count()
    kept, left = finish(frozen())
    assert kept > 10 * left
    assert gc.get_freeze_count() <= before  # the tests after this one have garbage of their own


def test_garbage_is_looked_for_again_once_all_is_imported() -> None:
    async def live() -> tuple[bool, bool]:
        async with server.ready(st.App(HOME)):
            starting = gc.isenabled()
            await asyncio.to_thread(server.wait_until_warm)
            return starting, gc.isenabled()

    assert finish(live()) == (False, True)


def test_what_an_early_visitor_runs_imports_nothing_large() -> None:
    """Else a thread of theirs would import what the server's is importing."""
    head = HOME.read_text(encoding="utf-8").split("    from dashboard import auth")[0]
    loaded = "import sys; print([n for n in ('numpy', 'pandas', 'torch') if n in sys.modules])"
    script = f"__file__ = {str(HOME)!r}\n{head}\n{loaded}"
    found = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
    assert found.stdout.decode().strip() == "[]"


def test_a_visitor_who_comes_early_sees_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []

    def spinner(line: str, *, show_time: bool) -> nullcontext[None]:
        messages.append(line)
        return nullcontext()

    monkeypatch.setattr(st, "spinner", spinner)
    server.show_start()
    assert not messages
    with server._warming:
        visitor = threading.Thread(target=server.show_start)
        visitor.start()
        visitor.join(0.2)
        assert visitor.is_alive()
    visitor.join()
    assert messages == ["iCaps is starting"]


def test_streamlit_finds_the_app_in_the_entry() -> None:
    assert discover_asgi_app(HOME).is_asgi_app


def test_the_first_visitor_waits_for_no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    serve()

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("a model is read, or a text explained")

    monkeypatch.setattr(ICapsClassifier, "load", fail)
    monkeypatch.setattr(ICapsClassifier, "explain", fail)
    assert verdict(open_app()) in ("Cooking", "Gardens", "Sailing")


def test_a_damaged_model_stops_no_server(models: Path) -> None:
    (models / "small" / "classes.txt").unlink()
    serve()
    assert "classes.txt is missing" in errors(open_app())[0]


def test_no_model_stops_no_server(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_MODELS", str(models / "nowhere"))
    serve()


def test_what_fails_at_the_start_is_logged_and_stops_no_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("a secret of the visitor's")

    monkeypatch.setattr(ICapsClassifier, "explain", fail)
    serve()
    server.wait_until_warm()  # returns
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines() if line[:1] == "{"]
    (failure,) = [line for line in lines if line["event"] == "failure"]
    assert failure["error"] == "RuntimeError"
    assert "secret" not in str(failure)
