"""Which files, data sets and word vectors the app may read for its visitors."""

import ipaddress
import logging
from pathlib import Path

import streamlit as st

from dashboard import logs, settings
from dashboard.quotas import NotAllowedError
from icaps.data import news_sample
from icaps.data.cache import READY, data_folder
from icaps.data.paths import exists
from icaps.data.resolve import Available, available, is_hub_name
from icaps.text.vector_files import ENGLISH
from icaps.text.vectors import TEXTS


def confined() -> bool:
    """Whether only some folders may be read.

    An app that only this machine can reach may read all files that its owner may read.
    """
    allowed = settings.current()
    return allowed.confined or allowed.read_only or bool(allowed.data_roots) or not _is_local()


def named() -> list[Available]:
    """The named data sets that may be used here: all, or those that need no download.

    In a read-only app, those that are ready, and the one that is part of the package.
    """
    allowed = settings.current()
    if allowed.downloads:
        return available()
    if allowed.read_only:
        return [
            row
            for row in available()
            if row.name == news_sample.NAME or (row.place is not None and row.place.name == READY)
        ]
    return [row for row in available() if row.place is not None or row.synthetic]


def check_data(value: str) -> None:
    """Refuses data that may not be read here.

    Args:
        value: A path or a name, as `--data` takes it.

    Raises:
        NotAllowedError: It is a file or folder outside the allowed ones, or needs a download.
    """
    if not confined():
        return
    here = exists(Path(value))
    names = {row.name for row in named()}
    if _inside(value) or (not here and value in names):
        return
    if here or not is_hub_name(value) or not settings.current().downloads:
        _refuse(value)


def check_vectors(value: str) -> None:
    """Refuses word vectors that may not be read here.

    Args:
        value: A path or a name, as `--vectors` takes it.

    Raises:
        NotAllowedError: They are a file outside the allowed folders, or need a download.
    """
    if not confined() or value in (ENGLISH, TEXTS) or _inside(value):
        return
    path = Path(value)
    if exists(path) or path.name != value or path.suffix or not settings.current().downloads:
        _refuse(value)


def _is_local() -> bool:
    """Whether the server listens at an address that only this machine can reach."""
    address = st.get_option("server.address") or ""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # another name; or empty, which is all addresses
        return False


def _inside(value: str) -> bool:
    """Whether the path is inside the folders that may be read; it need not exist."""
    try:
        path = Path(value).resolve()
        roots = [Path(root).resolve() for root in settings.current().data_roots]
        return any(path.is_relative_to(root) for root in [*roots, data_folder().resolve()])
    except (OSError, ValueError, RuntimeError):  # not a path, or a loop of links
        return False


def _refuse(value: str) -> None:
    logs.write("refused", logging.WARNING, limit="places")
    roots = ", ".join(settings.current().data_roots)
    raise NotAllowedError(
        f"{value} may not be read here. Choose an upload, a slice or a data set from the list"
        + (f", or a file in {roots}." if roots else ".")
    )
