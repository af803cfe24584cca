"""The app with the small model of the tests, and nothing kept from one test to the next."""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.components.v2 import manifest_scanner


@pytest.fixture(scope="session", autouse=True)
def packages_scanned_once() -> Iterator[None]:
    """Else it looks for components in all packages for each visitor, which takes half a second."""
    with pytest.MonkeyPatch.context() as patch:
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


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
