import io
import shutil
import tracemalloc
import zipfile
from collections import namedtuple
from pathlib import Path

import pytest

from icaps.data.problems import FileError
from icaps.data.source import open_source
from icaps.data.streams import data_file
from icaps.errors import DataError
from tests.data.hostile import COMPRESSIONS, ROWS, binary_file, compressed, write


def zipped(*names: str) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name in names:
            archive.writestr(name, b"" if name.endswith("/") else b"label,text\na,one\n")
    return sink.getvalue()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compression_is_detected_by_content(tmp_path: Path, compression: str) -> None:
    """Whatever its name is."""
    (tmp_path / "x.gz").write_bytes(compressed(b"some bytes" * 99, compression))
    file = data_file(tmp_path / "x.gz")
    assert b"".join(file.blocks()) == b"some bytes" * 99
    with file.open() as stream:
        assert stream.read(7) == b"some by"


def test_names_without_the_suffix(tmp_path: Path) -> None:
    assert data_file(write(tmp_path, "x.csv", b"x")).suffix == ".csv"
    assert data_file(write(tmp_path, "x.CSV", b"x", ".gz")).suffix == ".csv"
    (tmp_path / "y.zip").write_bytes(zipped("folder/", "folder/inner.tsv", "__MACOSX/._inner.tsv"))
    assert data_file(tmp_path / "y.zip").suffix == ".tsv"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (zipped("a.csv", "b.csv", "c", "d"), r"it has 4 files \(a.csv, b.csv, c, ...\); unpack"),
        (zipped(), "it has 0 files; unpack it, or make an archive of a single file"),
        (zipped("[Content_Types].xml", "xl/sheet.xml"), "an Office document; save its sheet as"),
        (zipped("a.csv").replace(b"\0\0\0\0\0\0", b"\1\0\0\0\0\0", 1)[:-8], "cannot be read"),
    ],
)
def test_archives(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x.xlsx").write_bytes(data)
    with pytest.raises(FileError, match=message):
        data_file(tmp_path / "x.xlsx").head()


def test_a_password(tmp_path: Path) -> None:
    data = bytearray(zipped("a.csv"))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(FileError, match="it needs a password; unpack it first"):
        data_file(tmp_path / "x.zip")


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zip"])  # those with a checksum
def test_a_flipped_byte(tmp_path: Path, compression: str) -> None:
    rows = "".join(f"{n % 2},text number {n * n}\n" for n in range(5000))
    data = bytearray(compressed(f"label,text\n{rows}".encode(), compression))
    data[len(data) // 2] ^= 0xFF
    (tmp_path / "x.csv").write_bytes(data)
    for on_bad_rows in ("strict", "skip"):
        with pytest.raises(DataError, match="cannot be read") as error:
            list(open_source(tmp_path / "x.csv", on_bad_rows=on_bad_rows))
        assert "x.csv" in str(error.value)


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst", ".zip"])
def test_a_bomb_takes_bounded_memory(tmp_path: Path, compression: str) -> None:
    path = write(tmp_path, "x.csv", b"label,text\na," + b"x" * (1 << 27), compression)
    assert path.stat().st_size < 1 << 18
    tracemalloc.start()
    with pytest.raises(FileError, match="a line is longer than"):
        list(open_source(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 26


def test_a_bomb_of_columns_leaves_the_disk_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path, "x.parquet", binary_file("parquet", ROWS), ".gz")
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda place: usage(5000))
    with pytest.raises(FileError, match=r"more than half of the free disk in .*; decompress it"):
        list(open_source(path))


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"it cannot be read \(No such file or directory\)"):
        data_file(tmp_path / "x")
