"""The settings file: its defaults, another one in its place, and mistakes in it."""

import os
from dataclasses import asdict, fields
from pathlib import Path

import pytest

from dashboard import settings
from dashboard.settings import DEFAULTS, AppSettings
from icaps.errors import ConfigError
from tests.dashboard.visitor import errors, open_app, page_html


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "settings.toml"
    monkeypatch.setenv("ICAPS_SETTINGS", str(path))
    return path


def test_the_defaults_name_every_setting() -> None:
    names = [field.name for field in fields(AppSettings)]
    lines = DEFAULTS.read_text(encoding="utf-8").splitlines()
    said = [line.split(" = ")[0] for line in lines if line and not line.startswith("#")]
    assert said == names
    assert settings.current().text_characters == 200_000
    assert settings.current().downloads


def test_another_file_changes_what_it_names(file: Path) -> None:
    before = asdict(settings.current()) if not file.exists() and not file.touch() else {}
    file.write_text('table_rows = 7\ndata_roots = ["/srv/a", "/srv/b"]\n')
    os.utime(file, ns=(1, 1))
    changed = {"table_rows": 7, "data_roots": ("/srv/a", "/srv/b")}
    assert asdict(settings.current()) == before | changed
    file.write_text("table_rows = 8\n")  # read anew when it changes
    assert settings.current().table_rows == 8


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("text_charcters = 5", "has the key 'text_charcters', which is not a setting"),
        ("text_characters = 0", "sets text_characters to 0; it must be a whole number from 1"),
        ("text_characters = -5", "must be a whole number from 1"),
        ("text_characters = 10000000000", "must be a whole number from 1"),
        ("text_characters = 1.5", "must be a whole number"),
        ("text_characters = true", "must be a whole number"),
        ('text_characters = "5"', "must be a whole number"),
        ("uploads_days = -1", "must be a whole number from 0"),
        ("read_only = 1", "sets read_only to 1; it must be true or false"),
        ('network = "always"', """network to 'always'; it must be "ask" or "never"."""),
        ('data_roots = "/srv"', "must be a list of non-empty texts"),
        ('data_roots = [""]', "must be a list of non-empty texts"),
        ("data_roots = [1]", "must be a list of non-empty texts"),
        ("read_only = ", "can't be read (Invalid value"),
        ("[limits]\njobs = 1", "has the key 'limits'"),
        ("\udcff", "can't be read ('utf-8' codec"),
    ],
)
def test_mistakes_are_reported(file: Path, content: str, sentence: str) -> None:
    file.write_text(content, errors="surrogateescape")
    with pytest.raises(ConfigError) as caught:
        settings.current()
    assert sentence in str(caught.value)
    assert str(file) in str(caught.value)


def test_the_app_says_what_is_wrong_and_shows_nothing_else(file: Path) -> None:
    at = open_app()
    assert f"The settings {file} can't be read" in errors(at)[0]
    file.write_text("nonsense = 1\n")
    at = open_app()
    (error,) = errors(at)
    assert "'nonsense', which is not a setting of this app" in error
    assert not at.text_area
    assert not at.title
    assert page_html(at) == ""


def test_no_network_holds_for_the_processes_that_are_started(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text('network = "never"\n')
    assert not settings.apply().downloads
    assert os.environ["ICAPS_NETWORK"] == "never"
    monkeypatch.setenv("ICAPS_NETWORK", "ask")
    file.write_text("read_only = true\n")
    settings.apply()
    assert os.environ["ICAPS_NETWORK"] == "never"
