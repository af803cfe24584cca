"""The lines of JSON that the server logs, without anything that a visitor wrote."""

import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st

from dashboard import logs, server
from dashboard.cache import data
from dashboard.logs import JsonLines
from dashboard.many.inputs import FILE
from dashboard.widgets.data_list import UPLOAD
from icaps.errors import DataError
from tests.dashboard.run_folders import open_page
from tests.dashboard.visitor import HOME, errors, open_app, run, type_text

MARK = "QUILLMARSH"


class Lines(logging.Handler):
    """Everything that is logged, as it would be written."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(JsonLines())
        self.written: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.written.append(self.format(record))

    def facts(self, event: str) -> list[dict[str, object]]:
        found = [json.loads(line) for line in self.written]
        return [line for line in found if line["event"] == event]


@pytest.fixture
def lines() -> Iterator[Lines]:
    logger, handler = logging.getLogger("icaps.dashboard"), Lines()
    before = logger.handlers, logger.level, logger.propagate
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)
    yield handler
    logger.handlers, logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def test_a_page_is_logged_with_its_time_and_session(lines: Lines) -> None:
    at = open_app()
    type_text(at, "bake bread")
    open_page("train")
    first, second, third = lines.facts("page")
    assert first.keys() == {"time", "level", "event", "session", "page", "ms"}
    assert (first["page"], second["page"], third["page"]) == ("explain", "explain", "train")
    assert first["session"] == second["session"] != third["session"]
    assert 0 < float(str(first["ms"])) < 60_000
    assert all("\n" not in line for line in lines.written)


def test_no_text_path_or_name_of_a_visitor_is_in_the_log(
    lines: Lines, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    at = open_app(text=f"{MARK} in a link", model=MARK)
    type_text(at, f"{MARK} typed")
    at.switch_page("../pages/many.py")
    run(at).text_area(key="lines").set_value(f"{MARK} one\n{MARK} two")
    run(at).button_group(key="many source").select(FILE)
    run(at).selectbox(key="many data").select(UPLOAD)
    run(at).file_uploader[0].set_value((f"{MARK}.csv", bytes(99) + MARK.encode(), "text/csv"))
    assert MARK in errors(run(at))[0]
    at = open_page("datasets", data=str(tmp_path / f"{MARK}.csv"))
    assert MARK in at.warning[0].value
    assert lines.facts("mistake") != []
    assert {line["error"] for line in lines.facts("mistake")} == {"FileError"}
    assert not [line for line in lines.written if MARK in line]
    assert MARK not in "".join(capfd.readouterr())


def test_a_failure_is_logged_by_its_kind_and_place(lines: Lines) -> None:
    def fail(*_: object) -> None:
        raise KeyError(f"{MARK} in an error")

    try:
        fail()
    except KeyError as error:
        logs.failure(error)
    try:
        data.first_rows(data.key_of("/nowhere/at/all", {}))
    except DataError as error:
        logs.failure(error)
    first, second = lines.facts("failure")
    assert (first["level"], first["error"]) == ("error", "KeyError")
    assert "test_logs.py" in str(first["where"])
    assert second["error"] == "DataError"
    assert "resolve.py" in str(second["where"])
    assert not [line for line in lines.written if MARK in line]


def test_a_failure_becomes_a_sentence_for_the_visitor(
    lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages: list[str] = []
    monkeypatch.setattr(server.st, "error", lambda text, **_: messages.append(text))
    monkeypatch.setattr(logs, "session", lambda: "0123abcd")
    assert server.show_failure(ZeroDivisionError(MARK)) is True
    assert "in the log under 0123abcd" in messages[0]
    assert MARK not in messages[0]
    assert st.App(HOME, **server.options())._on_script_error is server.show_failure


def test_streamlit_writes_no_traceback_beside_it(capfd: pytest.CaptureFixture[str]) -> None:
    theirs = logging.getLogger("streamlit.error_util")
    logger = logging.getLogger("icaps.dashboard")
    before = logger.handlers, logger.level, logger.propagate
    try:
        logs.start(tracebacks=False)
        theirs.error(MARK)
        logs.write("start", upload_mb=200)
        written = capfd.readouterr().err
        assert MARK not in written
        assert json.loads(written)["upload_mb"] == 200
        logs.start(tracebacks=True)
        assert not theirs.disabled
    finally:
        theirs.disabled = False
        logger.handlers, logger.propagate = before[0], before[2]
        logger.setLevel(before[1])
