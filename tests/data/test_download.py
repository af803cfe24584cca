"""Downloads from a local server that fails in every way that one on the network does."""

import errno
import multiprocessing
import shutil
import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import huggingface_hub.constants
import pytest

from icaps.data import catalog, download
from icaps.data.catalog import DATASETS
from icaps.data.resolve import fetch, locate, resolve
from icaps.data.source import read_part
from icaps.errors import DataError
from tests.data.hub_server import HubServer, serve
from tests.data.small import archive_bytes, fields, hub_files, joined, small

REPO = "fancyzhx/ag_news"
TRAIN = f"{REPO}/data/train-00000-of-00001.parquet"
TEST = f"{REPO}/data/test-00000-of-00001.parquet"


class Recorder:
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.bytes: list[tuple[str, int, int | None]] = []

    def say(self, line: str) -> None:
        self.lines.append(line)

    def on_bytes(self, file: str, done: int, total: int | None) -> None:
        self.bytes.append((file, done, total))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    monkeypatch.setattr(catalog, "DATASETS", {name: small(name) for name in DATASETS})
    monkeypatch.setattr(download, "WAITS", (0.01,) * 3)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    monkeypatch.setattr(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 100_000)
    with serve() as server:
        monkeypatch.setenv("ICAPS_HUB_URL", f"{server.url}/")
        files = hub_files(small("ag_news"), padding=3_000_000)
        server.files = {f"{REPO}/{name}": content for name, content in files.items()}
        yield server


def assert_fetched(name: str, folder: Path) -> None:
    dataset = small(name)
    columns = dataset.hub_columns if dataset.hub else dataset.csv_columns
    for part in ("train", "test"):
        data = read_part(folder, part)
        assert data.texts == [joined(dataset, texts) for _, texts in fields(dataset, part, columns)]
        assert data.classes == dataset.classes
    assert not (folder.parent / "download").exists()


@pytest.mark.parametrize("name", [name for name in DATASETS if DATASETS[name].hub])
def test_every_data_set_of_the_hub(hub: HubServer, name: str) -> None:
    dataset = small(name)
    files = hub_files(dataset, shards=2)
    hub.files = {f"{dataset.hub}/{path}": content for path, content in files.items()}
    progress = Recorder()
    folder = fetch(name, progress)
    assert_fetched(name, folder)
    assert locate(name) == folder
    assert len(hub.requests) == 3
    for path, content in files.items():
        last = [event for event in progress.bytes if event[0] == path.rsplit("/", 1)[1]][-1]
        assert last[1:] == (len(content), len(content))
    assert progress.lines[0].startswith("downloading train-00000-of-00002.parquet, 0.0 MB")
    hub.requests.clear()
    assert fetch(name, progress) == folder
    assert not hub.requests


def test_the_archive_of_amazon_full(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = replace(small("amazon_full"), url=f"{hub.url}/cdn/amazon_review_full_csv.tgz")
    monkeypatch.setitem(catalog.DATASETS, "amazon_full", dataset)
    hub.files = {"amazon_review_full_csv.tgz": archive_bytes(dataset)}
    hub.faults["amazon_review_full_csv.tgz"] = ["cut:200"]
    monkeypatch.setattr(huggingface_hub.constants, "DOWNLOAD_CHUNK_SIZE", 100)
    assert_fetched("amazon_full", fetch("amazon_full"))
    assert [span for _, span in hub.requests] == [None, "bytes=200-"]
    assert sum(hub.sent.values()) == len(hub.files["amazon_review_full_csv.tgz"])


def test_a_download_that_is_cut_off_is_resumed_within_a_call(hub: HubServer) -> None:
    hub.faults[TRAIN] = ["cut:1500000", "cut:700000"]
    progress = Recorder()
    assert_fetched("ag_news", fetch("ag_news", progress))
    assert hub.sent[TRAIN] == len(hub.files[TRAIN])
    spans = [span for path, span in hub.requests if path == TRAIN]
    assert spans == [None, "bytes=1500000-", "bytes=2200000-"]
    done = [event[1] for event in progress.bytes if event[0] == TRAIN.rsplit("/")[-1]]
    assert done == sorted(done)
    assert done[-1] == len(hub.files[TRAIN])


def test_the_next_call_asks_for_the_rest_only(hub: HubServer) -> None:
    hub.faults[TRAIN] = ["cut:1000000", "cut:500000", *["cut:0"] * 30]
    with pytest.raises(DataError, match="cut off at every try; the next call continues"):
        fetch("ag_news")
    hub.requests.clear()
    hub.sent.clear()
    hub.faults.clear()
    progress = Recorder()
    assert_fetched("ag_news", fetch("ag_news", progress))
    assert progress.lines[0].endswith(".parquet, 7.0 MB, from 1.5 MB on")
    assert hub.requests == [(TRAIN, "bytes=1500000-"), (TEST, None)]
    assert hub.sent[TRAIN] == len(hub.files[TRAIN]) - 1_500_000


def test_what_is_whole_is_not_fetched_again(hub: HubServer) -> None:
    hub.faults[TEST] = [404]
    with pytest.raises(DataError):
        fetch("ag_news")
    hub.requests.clear()
    assert_fetched("ag_news", fetch("ag_news"))
    assert hub.requests == [(TEST, None)]


def test_a_server_without_ranges_sends_all_again(hub: HubServer) -> None:
    hub.ranges = False
    hub.faults[TRAIN] = ["cut:1000"]
    assert_fetched("ag_news", fetch("ag_news"))


@pytest.mark.parametrize("part", [b"of another version", b"." * 5_000_000])
def test_a_part_of_another_version_is_replaced(hub: HubServer, tmp_path: Path, part: bytes) -> None:
    folder = tmp_path / "ag_news" / "download"
    folder.mkdir(parents=True)
    (folder / "train-00000-of-00001.parquet.part").write_bytes(part)
    assert_fetched("ag_news", fetch("ag_news"))


def test_a_range_that_the_server_has_not(hub: HubServer, tmp_path: Path) -> None:
    dataset = replace(small("amazon_full"), url=f"{hub.url}/cdn/{TRAIN}")
    (tmp_path / "train-00000-of-00001.parquet.part").write_bytes(b"." * 9_000_000)
    download.download(dataset, tmp_path, Recorder())
    assert (tmp_path / TRAIN.rsplit("/")[-1]).read_bytes() == hub.files[TRAIN]


def test_a_wrong_checksum(hub: HubServer, tmp_path: Path) -> None:
    hub.checksums[TRAIN] = "0" * 64
    with pytest.raises(DataError, match=r"wrong size or checksum.*To do without the download"):
        fetch("ag_news")
    assert not list((tmp_path / "ag_news" / "download").iterdir())
    del hub.checksums[TRAIN]
    assert_fetched("ag_news", fetch("ag_news"))


def test_other_rows_than_table_1s_are_fetched_again(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(catalog.DATASETS, "ag_news", DATASETS["ag_news"])
    with pytest.raises(DataError, match="has 12 train texts, and the whole ag_news has 120,000"):
        fetch("ag_news")
    monkeypatch.setitem(catalog.DATASETS, "ag_news", small("ag_news"))
    assert_fetched("ag_news", fetch("ag_news"))


def test_a_conversion_that_was_interrupted_needs_no_network(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from icaps.data import convert

    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    original = convert.write_class_names
    monkeypatch.setattr(convert, "write_class_names", stop)
    with pytest.raises(KeyboardInterrupt):
        fetch("ag_news")
    monkeypatch.setattr(convert, "write_class_names", original)
    assert locate("ag_news") is None
    monkeypatch.setenv("ICAPS_HUB_URL", "http://127.0.0.1:9")
    assert_fetched("ag_news", fetch("ag_news"))


def test_not_found(hub: HubServer) -> None:
    hub.files.clear()
    with pytest.raises(DataError, match=r"/datasets/fancyzhx/ag_news .*the server answers 404"):
        fetch("ag_news")
    hub.files["fancyzhx/ag_news/README.md"] = b""
    with pytest.raises(DataError, match="lists no Parquet files of a train and a test part"):
        fetch("ag_news")
    assert not hub.requests


def test_server_errors_pass(hub: HubServer) -> None:
    hub.faults[TRAIN] = [500, 503, 429]
    assert_fetched("ag_news", fetch("ag_news"))
    assert len(hub.requests) == 5


def test_server_errors_that_stay(hub: HubServer, tmp_path: Path) -> None:
    hub.faults[TRAIN] = [503] * 9
    with pytest.raises(DataError, match="cannot be downloaded now: the server answers 503 Service"):
        fetch("ag_news")
    assert len(hub.requests) == 4  # the bound
    assert [file.name for file in (tmp_path / "ag_news").rglob("*.*")] == []


def test_a_server_that_asks_to_wait(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", waits.append)
    hub.faults[TRAIN] = [503]
    hub.retry_after = 7
    assert_fetched("ag_news", fetch("ag_news"))
    assert waits == [7]


def test_a_server_that_asks_to_wait_too_long(hub: HubServer) -> None:
    hub.faults[TRAIN] = [503]
    hub.retry_after = 3600
    with pytest.raises(DataError, match="cannot be downloaded now: the server answers 503"):
        fetch("ag_news")
    assert len(hub.requests) == 1


def test_no_network(tmp_path: Path, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        monkeypatch.setenv("ICAPS_HUB_URL", f"http://127.0.0.1:{unused.getsockname()[1]}")
        with pytest.raises(DataError) as error:
            fetch("ag_news")
    message = str(error.value)
    assert "there is no connection to the server" in message
    assert f"put in {tmp_path / 'ag_news'} either ag_news_csv.tar.gz" in message
    assert "the files train.csv and test.csv" in message
    assert "test-*.parquet of https://huggingface.co/datasets/fancyzhx/ag_news" in message


def test_through_a_proxy(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", hub.url)
    monkeypatch.setenv("NO_PROXY", "")
    monkeypatch.setenv("ICAPS_HUB_URL", "http://hub.invalid")
    huggingface_hub.close_session()
    try:
        assert_fetched("ag_news", fetch("ag_news"))
    finally:
        huggingface_hub.close_session()
    assert hub.hosts == {"hub.invalid"}


def test_a_network_that_is_forbidden(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_NETWORK", "never")
    with pytest.raises(DataError, match=r"is not downloaded: ICAPS_NETWORK forbids it\. To do"):
        fetch("ag_news")
    with pytest.raises(DataError, match=r"no file or folder owner/name\. .* ICAPS_NETWORK forbids"):
        resolve("owner/name")
    assert hub.requests == []


@pytest.mark.parametrize("url", ["", "no address", "file:///etc"])
def test_wrong_addresses(url: str, hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ICAPS_HUB_URL", url)
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    if not url:
        assert download.hub_url() == "https://huggingface.co"
        return
    with pytest.raises(DataError, match="cannot be downloaded"):
        fetch("ag_news")


def test_the_address_of_the_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example/")
    monkeypatch.delenv("ICAPS_HUB_URL", raising=False)
    assert download.hub_url() == "https://mirror.example"
    monkeypatch.setenv("ICAPS_HUB_URL", "https://own.example")
    assert download.hub_url() == "https://own.example"


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}", b'{"sha": "a", "siblings": [1]}'])
def test_another_server_than_the_hub(
    hub: HubServer, answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "listing", lambda repo: answer)
    with pytest.raises(DataError, match="the answer is not that of a Hub"):
        fetch("ag_news")


def test_names_from_the_network_stay_in_the_folder(hub: HubServer, tmp_path: Path) -> None:
    hub.files = {
        f"{REPO}/../../../{name.rsplit('/', 1)[1]}": content for name, content in hub.files.items()
    }
    with pytest.raises(DataError):
        fetch("ag_news")
    assert [file.name for file in tmp_path.iterdir()] == ["ag_news"]


def test_a_full_disk(hub: HubServer, tmp_path: Path) -> None:
    part = tmp_path / "ag_news" / "download" / "train-00000-of-00001.parquet.part"
    part.parent.mkdir(parents=True)
    part.symlink_to("/dev/full")
    with pytest.raises(DataError, match=r"The disk of .*ag_news is too full .*ICAPS_DATA") as error:
        fetch("ag_news")
    assert isinstance(error.value.__cause__, OSError)
    assert error.value.__cause__.errno == errno.ENOSPC


def test_too_little_space_is_an_error_before_the_download(
    hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")._replace(free=5_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(DataError, match=r"ag_news takes 0\.0 GB, and 0\.0 GB are free"):
        fetch("ag_news")
    assert not hub.requests


def _fetch_in_a_process(results: "multiprocessing.Queue[str]", start: object) -> None:
    catalog.DATASETS = {name: small(name) for name in DATASETS}  # a new process has its own
    start.wait()  # type: ignore[attr-defined]
    results.put(str(fetch("ag_news")))


def test_two_processes_at_once(hub: HubServer) -> None:
    context = multiprocessing.get_context("spawn")
    results, start = context.Queue(), context.Barrier(2)
    processes = [
        context.Process(target=_fetch_in_a_process, args=(results, start)) for _ in range(2)
    ]
    for process in processes:
        process.start()
    folders = {results.get(timeout=60) for _ in processes}
    for process in processes:
        process.join(timeout=60)
        assert process.exitcode == 0
    assert len(folders) == 1
    assert_fetched("ag_news", Path(folders.pop()))
    assert sorted(path for path, _ in hub.requests) == [TEST, TRAIN]


def test_waiting_for_another_process_is_reported(hub: HubServer, tmp_path: Path) -> None:
    from threading import Thread

    from filelock import FileLock

    home = tmp_path / "ag_news"
    home.mkdir()
    progress = Recorder()
    with FileLock(home / "lock"):
        thread = Thread(target=fetch, args=("ag_news", progress))
        thread.start()
        while not progress.lines:
            pass
    thread.join()
    assert progress.lines[0] == "waiting for another process that writes ag_news"
    assert_fetched("ag_news", home / "ready")
