"""Which data and vectors the app reads for its visitors."""

import ipaddress
import logging
from pathlib import Path

import streamlit as st

from dashboard import logs, settings
from dashboard.quotas import NotAllowedError
from icaps.data.cache import READY, data_folder
from icaps.data.resolve import Available, available, is_hub_name
from icaps.text.fixed_part import TEXTS


def confined() -> bool:
    """Whether only some folders may be read.

    An app that its owner alone can reach reads what its owner may read.
    """
    allowed = settings.current()
    return allowed.confined or allowed.read_only or bool(allowed.data_roots) or not _own()


def named() -> list[Available]:
    """The data sets of a name that may be used here: all, or those that need no download.

    Where nothing may be written, those that are ready.
    """
    allowed = settings.current()
    if allowed.downloads:
        return available()
    if allowed.read_only:
        return [row for row in available() if row.place is not None and row.place.name == READY]
    return [row for row in available() if row.place is not None or row.synthetic]


def check_data(value: str) -> None:
    """Refuses data that may not be read here.

    Args:
        value: What `--data` takes.

    Raises:
        NotAllowedError: It is a file or folder elsewhere, or something to download.
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
        value: What `--vectors` takes.

    Raises:
        NotAllowedError: They are a file elsewhere, or something to download.
    """
    if not confined() or value == TEXTS or _inside(value):
        return
    path = Path(value)
    if exists(path) or path.name != value or path.suffix or not settings.current().downloads:
        _refuse(value)


def exists(path: Path) -> bool:
    """Whether there is such a file or folder; a name that can't be one's is none."""
    try:
        return path.exists()
    except OSError:  # such as a name too long for the file system
        return False


def _own() -> bool:
    """Whether the server listens at an address that this machine alone reaches."""
    address = st.get_option("server.address") or ""
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:  # another name; or empty, which is all addresses
        return False


def _inside(value: str) -> bool:
    """Whether it leads to a place in the folders that may be read, whether or not it is there."""
    try:
        path = Path(value).resolve()
        roots = [Path(root).resolve() for root in settings.current().data_roots]
        return any(path.is_relative_to(root) for root in [*roots, data_folder().resolve()])
    except (OSError, ValueError, RuntimeError):  # no path at all, or one that leads in a circle
        return False


def _refuse(value: str) -> None:
    logs.tell("refused", logging.WARNING, limit="places")
    roots = ", ".join(settings.current().data_roots)
    raise NotAllowedError(
        f"{value} may not be read here. Take an upload, a slice or a data set of the list"
        + (f", or a file in {roots}." if roots else ".")
    )
