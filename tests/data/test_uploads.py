"""Uploads of visitors: safe names, bounded sizes, complete files."""

import errno
import gzip
import io
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from icaps.data.problems import FileError
from icaps.data.source import open_source
from icaps.data.uploads import (
    LONGEST_NAME,
    delete_upload,
    is_upload,
    safe_name,
    store_parts,
    store_upload,
    uploads,
)
from icaps.errors import DataError

CSV = b"text,label\nsome words,a\nother words,b\n"
MEGA = 10**6


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path))
    return tmp_path / "uploads"


def store(name: str, content: bytes = CSV, **limits: int) -> Path:
    return store_upload(name, io.BytesIO(content), **limits)


def zipped(*members: tuple[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return sink.getvalue()


def left_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_stored_file_can_be_read_and_is_listed(root: Path) -> None:
    before = time.time()
    path = store("my texts.csv")
    assert path.is_absolute()
    assert path.parent.parent == root
    assert [record.text for record in open_source(path)] == ["some words", "other words"]
    (upload,) = uploads()
    assert (upload.name, upload.path, upload.bytes) == ("my texts.csv", path, len(CSV))
    assert abs(upload.when.timestamp() - before) < 60
    assert upload.when.tzinfo is not None


def test_the_same_is_stored_once() -> None:
    path = store("a.csv")
    first = path.stat()
    assert store("a.csv") == path
    assert path.stat().st_mtime_ns == first.st_mtime_ns
    assert store("b.csv").parent == path.parent
    assert store("a.csv", CSV + b"more,a\n").parent != path.parent
    assert len(uploads()) == 3


def test_the_latest_comes_first() -> None:
    for number, name in enumerate("abc"):
        os.utime(store(f"{name}.csv"), (number, number))
    assert [upload.name for upload in uploads()] == ["c.csv", "b.csv", "a.csv"]


def test_a_stream_is_read_from_its_start() -> None:
    content = io.BytesIO(CSV)
    content.read(9)
    assert store_upload("a.csv", content).read_bytes() == CSV


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("a.csv", "a.csv"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\windows\\texts.csv", "texts.csv"),
        ("C:\\texts.csv", "texts.csv"),
        ("c:texts.csv", "c_texts.csv"),
        ("/", "upload"),
        ("", "upload"),
        ("..", "upload"),
        (".", "upload"),
        ("a/..", "upload"),
        (".csv", "upload.csv"),
        ("..csv.gz", "upload.csv.gz"),
        (".bash-rc", "bash-rc"),
        ("a\x00b\n\x1b[31m.csv", "a b [31m.csv"),
        ("x\u202evsc.csv", "x vsc.csv"),
        ("\ud800.csv", "upload.csv"),
        ("cafe\u0301.csv", "café.csv"),
        ("CON", "_CON"),
        ("nul.csv", "_nul.csv"),
        ("classes.txt", "_classes.txt"),
        ("a.csv. . ", "a.csv"),
        ('a<b>:"|?*.csv', "a_b______.csv"),
        ("  two   words .csv", "two words.csv"),
        ("~", "~"),
        ("-rf", "-rf"),
    ],
)
def test_hostile_names(given: str, stored: str) -> None:
    assert safe_name(given) == stored
    path = store(given)
    assert path.name == stored
    assert path.read_bytes() == CSV


@pytest.mark.parametrize("letter", ["x", "é", "😀", "."])
@pytest.mark.parametrize("ending", [".csv", ".jsonl.gz", ".parquet"])
def test_long_names_keep_their_suffixes(letter: str, ending: str) -> None:
    stored = safe_name(letter * 300 + ending)
    assert stored.endswith(ending)
    assert len(stored.encode()) <= LONGEST_NAME
    assert store(letter * 300 + ending).is_file()


def test_a_safe_name_stays() -> None:
    for name in ("a" * 300, "../x.csv", "con.txt", "y" * 79 + ". .csv", ".csv"):
        assert safe_name(safe_name(name)) == safe_name(name)


def test_sizes() -> None:
    assert store("a.csv", bytes(100), limit=100).stat().st_size == 100
    with pytest.raises(DataError, match=r"'b\.csv' has 2\.5 MB, and at most 2 MB are accepted"):
        store("b.csv", bytes(2_500_000), limit=2 * MEGA)
    with pytest.raises(DataError, match=r"'c\.csv' is empty \(0 bytes\); choose"):
        store("c.csv", b"")
    assert [upload.name for upload in uploads()] == ["a.csv"]


def test_a_gzip_bomb(root: Path) -> None:
    """A gigabyte in a megabyte: consecutive gzip members are decompressed one after the other."""
    bomb = gzip.compress(bytes(10 * MEGA), mtime=0) * 100
    started = time.perf_counter()
    with pytest.raises(DataError, match=r"unpacks to 20.* MB or more, and at most 20 MB"):
        store("zeros.csv.gz", bomb, unpacked_limit=20 * MEGA)
    assert time.perf_counter() - started < 2  # it stopped early
    assert not left_in(root)


def test_a_zip_bomb_is_known_by_its_header(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped(("zeros.csv", bytes(30 * MEGA)))
    monkeypatch.setattr(zipfile.ZipExtFile, "read", lambda *_: pytest.fail("it was unpacked"))
    with pytest.raises(DataError, match="unpacks to 30 MB or more, and at most 20 MB"):
        store("zeros.zip", bomb, unpacked_limit=20 * MEGA)
    assert not left_in(root)


def test_a_zip_whose_header_lies() -> None:
    """Decompression is bounded by the stated size, and then the file counts as damaged."""
    size = (30 * MEGA).to_bytes(4, "little")
    bomb = zipped(("zeros.csv", bytes(30 * MEGA))).replace(size, (9).to_bytes(4, "little"))
    path = store("zeros.csv.zip", bomb, unpacked_limit=20 * MEGA)
    with pytest.raises(FileError, match="cannot be read"):
        list(open_source(path))


def test_what_unpacks_to_little_is_stored() -> None:
    for name, content in (
        ("a.csv.gz", gzip.compress(CSV, mtime=0)),
        ("a.zip", zipped(("a.csv", CSV))),
    ):
        path = store(name, content, unpacked_limit=len(CSV))
        assert [record.label for record in open_source(path)] == ["a", "b"]
        with pytest.raises(DataError, match="unpacks to"):
            store("b" + name, content, unpacked_limit=len(CSV) - 1)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (zipped(("[Content_Types].xml", b"<x/>"), ("xl/s.xml", b"<x/>")), "an Office document"),
        (b"\x89PNG\r\n\x1a\n" + bytes(99), "it is a PNG image"),
        (zipped(("a.csv", CSV), ("b.csv", CSV)), "it has 2 files"),
        (gzip.compress(CSV * 99, mtime=0)[:-20], "cannot be read"),
    ],
)
def test_other_things_are_stored_and_reported_by_reading(content: bytes, sentence: str) -> None:
    path = store("table.csv", content)
    assert path.read_bytes() == content
    with pytest.raises(DataError, match=sentence):
        list(open_source(path))


def test_a_full_disk_leaves_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mkstemp = tempfile.mkstemp

    def on_a_full_disk(**options: str) -> tuple[int, str]:
        handle, name = mkstemp(**options)
        Path(name).unlink()
        Path(name).symlink_to("/dev/full")
        return handle, name

    monkeypatch.setattr(tempfile, "mkstemp", on_a_full_disk)
    with pytest.raises(DataError, match=r"No space left.*Free some space.*ICAPS_DATA") as error:
        store("a.csv", bytes(MEGA))
    assert isinstance(error.value.__cause__, OSError)
    assert error.value.__cause__.errno == errno.ENOSPC
    assert not list(root.iterdir())


def test_a_place_that_cannot_be_written(root: Path) -> None:
    root.write_bytes(b"a file")
    with pytest.raises(DataError, match="cannot be used"):
        store("a.csv")


def test_deleting(root: Path) -> None:
    one, other = store("a.csv"), store("b.csv")
    delete_upload(one)
    assert [upload.path for upload in uploads()] == [other]
    delete_upload(other)
    assert not list(root.iterdir())
    with pytest.raises(DataError, match="is not an upload"):
        delete_upload(other)


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """A file that must stay."""
    file = tmp_path / "outside" / "own.csv"
    file.parent.mkdir()
    file.write_bytes(CSV)
    yield file
    assert file.read_bytes() == CSV


def test_nothing_else_is_deleted_or_listed(root: Path, outside: Path) -> None:
    folder = store("a.csv").parent
    (folder / "link.csv").symlink_to(outside)
    (root / ("0" * 32)).symlink_to(outside.parent)
    (root / ".unfinished").write_bytes(CSV)
    (folder / "inner").mkdir()
    assert [upload.name for upload in uploads()] == ["a.csv"]
    for path in (
        *(outside, root, folder, folder / "link.csv", folder / "inner"),
        *(root / ("0" * 32) / "own.csv", folder / ".." / ".." / ".." / "outside" / "own.csv"),
        root / ".unfinished",
    ):
        with pytest.raises(DataError, match="is not an upload"):
            delete_upload(path)
    assert (folder / "link.csv").is_symlink()


def test_parts_are_stored_as_a_folder_and_once() -> None:
    files = {
        "train": ("my train.csv.gz", gzip.compress(CSV)),
        "test": ("x/../b.data", b"label,text"),
    }
    parts = {part: (name, io.BytesIO(content)) for part, (name, content) in files.items()}
    path = store_parts(parts)
    assert path.name == "my train + b"
    assert sorted(file.name for file in path.iterdir()) == ["test.txt", "train.csv.gz"]
    (stored,) = uploads()
    assert (stored.path, stored.name) == (path, path.name)
    assert stored.bytes == sum(len(content) for _, content in files.values())
    assert store_parts(parts) == path
    assert is_upload(path)
    assert not is_upload(path.parent)
    assert not is_upload(path / "train.csv.gz")
    swapped = {"train": parts["test"], "test": parts["train"]}
    assert store_parts(swapped) != path
    delete_upload(path)
    assert [upload.name for upload in uploads()] == ["b + my train"]


def test_parts_are_checked_like_single_files() -> None:
    good = ("a.csv", io.BytesIO(b"label,text"))
    with pytest.raises(DataError, match=r"'b.csv' is empty"):
        store_parts({"train": good, "test": ("b.csv", io.BytesIO())})
    with pytest.raises(DataError, match="unpacks to"):
        store_parts(
            {"train": good, "test": ("b.csv.gz", io.BytesIO(gzip.compress(CSV)))}, unpacked_limit=3
        )
    assert uploads() == []
