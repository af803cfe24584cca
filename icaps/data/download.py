"""Files over HTTP: resumed after a cut, tried again a bounded number of times, verified."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import requests
from urllib3.exceptions import HTTPError

from icaps.data.offline import NETWORK_SETTING, offline
from icaps.data.reporting import DownloadProgress
from icaps.errors import DataError

WAITS = (0.5, 1.0, 2.0, 4.0)  # seconds before the second, third, ... and last try
_LONGEST_WAIT = 60.0  # seconds; a server may ask for more, and we then end
_TIMEOUT = (10, 60)  # seconds to connect, and without a byte
_CHUNK = 1 << 20  # bytes
_BUSY = (408, 425, 429, 500, 502, 503, 504)
_PLAIN = {"Accept-Encoding": "identity"}  # a range counts the bytes of the file itself

T = TypeVar("T")


@dataclass(frozen=True)
class RemoteFile:
    """A file to fetch: its address, the name that it gets, and what is known of it."""

    url: str
    name: str
    size: int | None = None  # bytes
    sha256: str | None = None  # in hexadecimal


class _PassingError(Exception):
    """What another try may mend; `wait` is how many seconds the server asks for."""

    def __init__(self, message: str, wait: float = 0) -> None:
        super().__init__(message)
        self.wait = wait


def get_json(url: str) -> Any:
    """What a JSON document holds.

    Raises:
        DataError: The server can't be reached, refuses, or answers with something else, or the
            network is forbidden.
    """

    _check_allowed(url)

    def ask() -> Any:
        with requests.get(url, headers=_PLAIN, timeout=_TIMEOUT) as response:
            _check_status(response, url)
            return response.json()

    return _retry(ask, url)


def download(file: RemoteFile, target: Path, progress: DownloadProgress) -> None:
    """Brings a file to `target`, by way of `target` with `.part` at its end.

    The part stays behind when the download is cut off, and the next call asks for the rest only.

    Raises:
        DataError: The server can't be reached or refuses, the file was cut off at every try, or
            it isn't the one that was published, or the network is forbidden.
        OSError: It can't be written.
    """
    _check_allowed(file.url)
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    resumed = part.exists()
    _retry(lambda: _receive(file, part, progress), file.url)
    if resumed and not is_whole(part, file):  # the part was of another version of the file
        part.unlink()
        _retry(lambda: _receive(file, part, progress), file.url)
    if not is_whole(part, file):
        part.unlink()
        raise DataError(f"{file.url} has a wrong size or checksum: it isn't what was published.")
    part.replace(target)


def is_whole(path: Path, file: RemoteFile) -> bool:
    """Whether `path` has the size and the checksum of the file, as far as they are known."""
    if not path.is_file() or (file.size is not None and path.stat().st_size != file.size):
        return False
    return file.sha256 is None or _sha256(path) == file.sha256


def _check_allowed(url: str) -> None:
    if offline():
        raise DataError(f"{url} is not fetched, as {NETWORK_SETTING} forbids it.")


def _retry(action: Callable[[], T], url: str) -> T:
    waits = iter(WAITS)
    while True:
        try:
            return action()
        except (
            _PassingError,
            requests.ConnectionError,
            requests.Timeout,
            HTTPError,
        ) as error:
            wait = next(waits, None)
            asked = error.wait if isinstance(error, _PassingError) else 0
            if wait is None or asked > _LONGEST_WAIT:
                raise DataError(f"{url} can't be fetched now: {_reason(error)}.") from error
            time.sleep(max(wait, asked))
        except requests.RequestException as error:
            raise DataError(f"{url} can't be fetched: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    if isinstance(error, requests.Timeout):
        return "the server doesn't answer"
    if isinstance(error, HTTPError):
        return "it was cut off at every try; the next call goes on from there"
    if isinstance(error, requests.exceptions.JSONDecodeError):
        return "the answer is no JSON, as from a login page or a proxy in between"
    if isinstance(error, requests.ConnectionError):
        return "there is no connection to the server"
    return str(error)


def _check_status(response: requests.Response, url: str) -> None:
    if response.status_code in _BUSY:
        asked = response.headers.get("Retry-After", "")
        wait = float(asked) if asked.isdecimal() else 0.0  # the other form, a date, is rare
        raise _PassingError(f"the server answers {response.status_code} {response.reason}", wait)
    if not response.ok:
        raise DataError(
            f"{url} can't be fetched: the server answers {response.status_code} {response.reason}."
        )


def _receive(file: RemoteFile, part: Path, progress: DownloadProgress) -> None:
    """Adds to `part` what it lacks, or starts it again where the server can't give the rest."""
    have = part.stat().st_size if part.exists() else 0
    if part.exists() and file.size is not None and have >= file.size:
        return
    headers = _PLAIN | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(file.url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
        if have and not _continues(response, have):
            part.unlink()
            raise _PassingError("the server can't give the rest of the file")
        _check_status(response, file.url)
        have = have if response.status_code == 206 else 0
        length = response.headers.get("Content-Length", "")
        total = have + int(length) if length.isdecimal() else file.size
        _tell(file, have, total, progress)
        with part.open("ab" if have else "wb") as out:
            # What has come, however little: `iter_content` would lose it where a cut follows.
            while chunk := response.raw.read1(_CHUNK):
                out.write(chunk)
                have += len(chunk)
                progress.on_bytes(file.name, have, total)
    if total is not None and have < total:
        raise _PassingError(f"it was cut off after {have:,} of {total:,} bytes")


def _continues(response: requests.Response, have: int) -> bool:
    """False for a range that isn't the one asked for, and where nothing follows `have`."""
    if response.status_code == 206:
        return response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
    return response.status_code != 416


def _tell(file: RemoteFile, have: int, total: int | None, progress: DownloadProgress) -> None:
    size = "" if total is None else f", {total / 1e6:,.1f} MB"
    resumed = f", from {have / 1e6:,.1f} MB on" if have else ""
    progress.say(f"downloading {file.name}{size}{resumed}")
    progress.on_bytes(file.name, have, total)


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
