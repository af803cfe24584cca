"""The app with the small model of the tests, and nothing kept from one test to the next."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st


@pytest.fixture(autouse=True)
def empty_caches() -> Iterator[None]:
    """Streamlit's caches are shared by the whole process."""
    st.cache_data.clear()
    st.cache_resource.clear()
    yield
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture(autouse=True)
def models(model_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of models that the app sees; it holds the small one, and a test may add to it."""
    folder = tmp_path / "models"
    shutil.copytree(model_folder, folder / "small")
    monkeypatch.setenv("ICAPS_MODELS", str(folder))
    return folder
