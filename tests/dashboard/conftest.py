"""The app with the small model of the tests, and nothing kept from one test to the next."""

import functools
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config
from streamlit.components.v2 import manifest_scanner
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import local_script_runner

from dashboard import quotas


@pytest.fixture(scope="session", autouse=True)
def packages_scanned_once() -> Iterator[None]:
    """Else it looks for components in all packages for each visitor, which takes half a second."""
    with pytest.MonkeyPatch.context() as patch:
        scan = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", scan)
        yield


@pytest.fixture(scope="session", autouse=True)
def pages_compiled_once() -> Iterator[None]:
    """As a server does it; else they are compiled whenever a page runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "ScriptCache", functools.cache(ScriptCache))
        yield


@pytest.fixture(autouse=True)
def own_address() -> Iterator[None]:
    """The app is served to its owner alone, as its own configuration has it."""
    before = config.get_option("server.address")
    config.set_option("server.address", "localhost")
    yield
    config.set_option("server.address", before)


@pytest.fixture(autouse=True)
def empty_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Streamlit's caches are shared by the whole process, as are the rates."""
    monkeypatch.setattr(quotas, "_together", quotas.Rate())
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
