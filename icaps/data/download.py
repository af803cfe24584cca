"""Downloads of the paper's data sets, through `huggingface_hub`: resumed, retried and verified."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Any, TypeVar

from icaps.data.catalog import Dataset, complete_parts, find_published
from icaps.data.reporting import SILENT, ProgressReporter
from icaps.errors import ConfigError, DataError

NETWORK_SETTING = "ICAPS_NETWORK"
ASK, NEVER = "ask", "never"
HUB_SETTING = "ICAPS_HUB_URL"
WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before each further try
_LONGEST_WAIT = 60  # seconds that a server may request at most
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_BAD_RANGE = 416
_TIMEOUT = 30  # seconds, of the list of files
_CHUNK = 1 << 20  # bytes hashed at once

T = TypeVar("T")


def offline() -> bool:
    """Whether downloads are forbidden: ICAPS_NETWORK is "never".

    Raises:
        ConfigError: It is neither "ask", which is the default, nor "never".
    """
    setting = os.environ.get(NETWORK_SETTING) or ASK
    if setting not in (ASK, NEVER):
        raise ConfigError(
            f"The environment variable {NETWORK_SETTING} is {setting!r}; it must be {ASK!r} "
            f"(downloads what is requested by name) or {NEVER!r}."
        )
    return setting == NEVER


def hub_url() -> str:
    """The base address of the Hub: ICAPS_HUB_URL, else HF_ENDPOINT, else the Hub itself."""
    settings = os.environ.get(HUB_SETTING) or os.environ.get("HF_ENDPOINT")
    return (settings or "https://huggingface.co").rstrip("/")


def download(dataset: Dataset, folder: Path, progress: ProgressReporter = SILENT) -> None:
    """Downloads the published files of one of the paper's data sets to a folder.

    Files that exist are not downloaded again. An incomplete one has the suffix `.part`, and the
    next call requests only the rest of it.

    Raises:
        DataError: The server cannot be reached or refuses, a file was incomplete at every try or is
            not the published one, the Hub lists no complete data set under this name, or downloads
            are forbidden.
        OSError: The folder cannot be written, or has too little space.
    """
    if find_published(folder, dataset):
        return
    files = _list_files(dataset)
    size = sum(file.size or 0 for file in files)
    free = shutil.disk_usage(folder.parent).free
    if free < 2 * size:  # the converted files need about as much space as the downloads
        message = f"{dataset.name} takes {2 * size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free"
        raise OSError(errno.ENOSPC, message)
    folder.mkdir(exist_ok=True)
    for file in files:
        if not file.is_complete(folder / file.name):
            _download_file(file, folder / file.name, progress)


@dataclass(frozen=True)
class _RemoteFile:
    """A file to download: its address, its local name, and its size and SHA-256 if known."""

    url: str
    name: str
    size: int | None = None  # bytes
    sha256: str | None = None  # hexadecimal

    def is_complete(self, path: Path) -> bool:
        """Whether `path` has the file's size and checksum, as far as they are known."""
        if not path.is_file() or (self.size is not None and path.stat().st_size != self.size):
            return False
        return self.sha256 is None or _sha256(path) == self.sha256


def _list_files(dataset: Dataset) -> list[_RemoteFile]:
    """The files of a data set, all of one revision at the Hub, or its only archive."""
    repo = dataset.hub
    if repo is None:
        return [_RemoteFile(dataset.url, dataset.url.rsplit("/", 1)[-1])]
    address = f"{hub_url()}/datasets/{repo}"
    _check_allowed(address)
    from huggingface_hub import HfApi, hf_hub_url

    api = HfApi(endpoint=hub_url(), token=False)
    try:
        info = _retry(
            lambda: api.dataset_info(repo, files_metadata=True, timeout=_TIMEOUT), address
        )
        entries = {entry.rfilename: entry for entry in info.siblings or ()}
    except (KeyError, TypeError, AttributeError, JSONDecodeError) as error:
        raise DataError(
            f"{address}: the answer is not that of a Hub, perhaps of a login page or a proxy in "
            f"between; see the environment variable {HUB_SETTING}."
        ) from error
    parts = complete_parts(entries)
    if parts is None:
        raise DataError(f"{address} lists no Parquet files of a train and a test part.")
    files = []
    for name in (name for part in parts.values() for name in part):
        url = hf_hub_url(repo, name, repo_type="dataset", revision=info.sha, endpoint=hub_url())
        lfs = entries[name].lfs
        # Without its folder, which differs between data sets.
        local = name.rsplit("/", 1)[-1]
        files.append(_RemoteFile(url, local, entries[name].size, lfs.sha256 if lfs else None))
    return files


def _download_file(file: _RemoteFile, target: Path, progress: ProgressReporter) -> None:
    """Downloads to `target` with the suffix `.part`, which is renamed when it is verified."""
    _check_allowed(file.url)
    part = target.with_name(f"{target.name}.part")
    resumed = part.exists()
    _retry(lambda: _receive(file, part, progress), file.url)
    if resumed and not file.is_complete(part):  # the part was of another version of the file
        part.unlink()
        _retry(lambda: _receive(file, part, progress), file.url)
    if not file.is_complete(part):
        part.unlink(missing_ok=True)
        raise DataError(
            f"{file.url} has a wrong size or checksum: it is not the file that was published."
        )
    part.replace(target)


def _receive(file: _RemoteFile, part: Path, progress: ProgressReporter) -> None:
    """Appends to `part` the rest of the file."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.file_download import http_get

    size = part.stat().st_size if part.exists() else 0
    if file.size is not None and size > file.size:  # of another version
        part.unlink()
        size = 0
    total = "" if file.size is None else f", {file.size / 1e6:,.1f} MB"
    start = f", from {size / 1e6:,.1f} MB on" if size else ""
    progress.say(f"downloading {file.name}{total}{start}")
    with part.open("ab") as out:
        try:
            http_get(
                file.url,
                out,
                resume_size=size,
                # The size in the file, and not that of a compressed answer.
                headers={"Accept-Encoding": "identity"},
                expected_size=file.size,
                displayed_filename=file.name,
                tqdm_class=_progress_bar(file.name, progress),
            )
        except HfHubHTTPError as error:
            if error.response.status_code == _BAD_RANGE:  # the part was of another version
                out.truncate(0)
            raise
        except OSError as error:
            if error.errno is not None:  # without a number it is a wrong size, compared later
                raise
        finally:
            if file.size != 0 and not out.tell():  # nothing was received
                part.unlink()


def _progress_bar(name: str, progress: ProgressReporter) -> Any:
    """A class with the part of tqdm's interface that `huggingface_hub` uses."""

    class Bar:
        def __init__(self, total: int | None = None, initial: int = 0, **options: Any) -> None:
            self.total = total
            self.n = initial
            self.update(0)

        def update(self, count: int) -> None:
            self.n += count
            progress.on_bytes(name, self.n, self.total)

        def __enter__(self) -> Bar:
            return self

        def __exit__(self, *error: object) -> None:
            pass

    return Bar


def _retry(action: Callable[[], T], url: str) -> T:
    """Calls `action`, and retries after WAITS while the network or the server fails temporarily.

    Raises:
        DataError: It failed at each try, or in a way that another try does not change.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    waits = iter(WAITS)
    while True:
        requested = 0.0  # seconds
        try:
            return action()
        except HfHubHTTPError as error:
            status = error.response.status_code
            reason = f"the server answers {status} {error.response.reason_phrase}"
            header = error.response.headers.get("Retry-After", "")
            requested = float(header) if header.isdecimal() else 0.0  # the other form is rare
            temporary = status in (*_BUSY, _BAD_RANGE)
            cause: Exception = error
        except httpx2.TransportError as error:
            temporary = not isinstance(error, (httpx2.UnsupportedProtocol, httpx2.ProxyError))
            reason, cause = _reason(error), error
        except (httpx2.HTTPError, httpx2.InvalidURL, OfflineModeIsEnabled) as error:
            temporary, reason, cause = False, str(error), error
        wait = next(waits, None) if temporary else None
        if wait is None or requested > _LONGEST_WAIT:
            now = " now" if temporary else ""
            raise DataError(f"{url} cannot be downloaded{now}: {reason}.") from cause
        time.sleep(max(wait, requested))


def _reason(error: Exception) -> str:
    import httpx2

    if isinstance(error, (httpx2.RemoteProtocolError, httpx2.ReadError)):
        return "it was cut off at every try; the next call continues from there"
    if isinstance(error, httpx2.TimeoutException):
        return "the server does not answer"
    if isinstance(error, httpx2.ConnectError):
        return "there is no connection to the server"
    return str(error)


def _check_allowed(url: str) -> None:
    if offline():
        raise DataError(f"{url} is not downloaded: {NETWORK_SETTING} forbids it.")


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
