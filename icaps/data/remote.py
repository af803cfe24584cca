"""Which files to fetch for a data set, and from where."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from icaps.data.download import RemoteFile, get_json
from icaps.data.layouts import whole_parts
from icaps.errors import DataError

if TYPE_CHECKING:
    from icaps.data.catalog import Dataset

HUB_SETTING = "ICAPS_HUB_URL"
_HUB = "https://huggingface.co"


def hub_url() -> str:
    """Base address of the Hugging Face Hub: ICAPS_HUB_URL, else the Hub itself."""
    return (os.environ.get(HUB_SETTING) or _HUB).rstrip("/")


def list_files(dataset: Dataset) -> list[RemoteFile]:
    """The files of a data set, at the Hub in one version of them, else its one archive.

    Raises:
        DataError: The Hub can't be reached, or has no whole data set under this name.
    """
    if dataset.hub is None:
        return [RemoteFile(dataset.url, dataset.url.rsplit("/", 1)[-1])]
    address = f"{hub_url()}/api/datasets/{dataset.hub}/revision/main?blobs=true"
    answer = get_json(address)
    try:
        version = str(answer["sha"])
        entries = {str(entry["rfilename"]): entry for entry in answer["siblings"]}
        parts = whole_parts(entries)
        if parts is None:
            raise DataError(f"{address} lists no parquet files of a train and a test part.")
        base = f"{hub_url()}/datasets/{dataset.hub}/resolve/{quote(version)}"
        names = [name for part in parts.values() for name in part]
        return [_remote_file(base, name, entries[name]) for name in names]
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{address} doesn't answer as the Hub does; see {HUB_SETTING}.") from error


def _remote_file(base: str, name: str, entry: dict[str, Any]) -> RemoteFile:
    large = entry.get("lfs") or {}
    file = name.rsplit("/", 1)[-1]  # the folder differs from one data set to the other
    return RemoteFile(f"{base}/{quote(name)}", file, entry.get("size"), large.get("sha256"))
