"""What a page gives to download is what the command line writes, to the byte."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from icaps.cli.main import main
from icaps.reports.files import FILE_FORMATS
from tests.dashboard.conftest import (  # noqa: F401 (fixtures)
    empty_caches,
    own_address,
    packages_scanned_once,
    pages_compiled_once,
)
from tests.dashboard.run_folders import open_page
from tests.dashboard.visitor import open_app

TEXT = "Simmer <b>the</b> onion soup, then bake bread with butter."


@pytest.fixture(autouse=True)
def models(interpreted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("ICAPS_MODELS", str(interpreted.parent))
    return interpreted.parent


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the buttons of a page give, by the name of the file."""
    found: dict[str, Any] = {}
    button: Callable[..., bool] = st.download_button

    def keep(label: str, data: Any, file_name: str, *rest: Any, **options: Any) -> bool:
        found[file_name] = data
        return button(label, data, file_name, *rest, **options)

    monkeypatch.setattr(st, "download_button", keep)
    return found


def test_the_report_on_a_text(models: Path, offered: dict[str, Any], tmp_path: Path) -> None:
    assert not open_app(text=TEXT, k1="3", target="Gardens").error
    for name, kind in FILE_FORMATS.items():
        path = tmp_path / f"report.{kind.suffix}"
        arguments = ["explain", "--model", str(models / "small"), "--top-capsules", "3"]
        arguments += ["--target", "Gardens", "--ranking", "account", "--trust"]  # as the page
        arguments += ["--out", str(path), TEXT]
        assert main(arguments) == 0
        assert path.read_bytes() == offered[f"explanation.{kind.suffix}"](), name
    assert "Can this be trusted?" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_the_card_of_a_model(
    models: Path, data_file: Path, offered: dict[str, Any], tmp_path: Path
) -> None:
    arguments = ["card", "--model", str(models / "small"), "--data", str(data_file)]
    assert main([*arguments, "--limit", "50", "--out", str(tmp_path / "card")]) == 0
    at = open_page("evaluate", data=str(data_file))
    at.select_slider(key="card limit").set_value(50)
    assert not at.run().exception
    for kind in FILE_FORMATS.values():
        name = f"model_card.{kind.suffix}"
        assert (tmp_path / "card" / name).read_bytes() == offered[name]()
