"""A folder is replaced whole or not at all, and what else is in it stays."""

import subprocess
import sys
from pathlib import Path

import pytest

from icaps.data import atomic
from icaps.data.atomic import read_json, read_text, replaced_folder, updated_folder, write_json
from icaps.errors import CheckpointError

READER = """
import sys
print("ready", flush=True)
misses = 0
for _ in range(20_000):
    try:
        open(sys.argv[1]).close()
    except OSError:
        misses += 1
print(misses)
"""


def test_a_failure_leaves_the_old_folder_and_no_scratch(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    for text in ("old", "new"):
        with replaced_folder(folder) as scratch:
            (scratch / "a.txt").write_text(text)
        assert (folder / "a.txt").read_text() == text
    with pytest.raises(TypeError), replaced_folder(folder) as scratch:
        (scratch / "a.txt").write_text(b"newest")  # type: ignore[arg-type]
    assert (folder / "a.txt").read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("exchange", [True, False])
def test_other_files_are_the_same_files(
    exchange: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchange:  # as where the system has no such call
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    folder = tmp_path / "model"
    (folder / "last").mkdir(parents=True)
    (folder / "last" / "state").write_text("state")
    (folder / "weights").write_text("old")
    with (folder / "log").open("w") as log:  # another process goes on writing it
        log.write("before ")
        log.flush()
        with updated_folder(folder, ["weights"]) as scratch:
            (scratch / "weights").write_text("new")
        log.write("after")
    assert (folder / "weights").read_text() == "new"
    assert (folder / "log").read_text() == "before after"
    assert (folder / "last" / "state").read_text() == "state"
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.skipif(sys.platform != "linux", reason="needs renameat2")
def test_a_reader_always_finds_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with replaced_folder(folder) as scratch:
        (scratch / "a.txt").touch()
    command = [sys.executable, "-c", READER, str(folder / "a.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        while reader.poll() is None:
            with replaced_folder(folder) as scratch:
                (scratch / "a.txt").touch()
        assert reader.stdout.read() == "0\n"


def test_json_and_text_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json({"é": [1]}, path)
    assert read_json(path) == {"é": [1]}
    for content in (b"[1]", b"{", b"\xff", b'{"a": ' + b"9" * 5_000 + b"}", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match=r"a\.json (is damaged|cannot be read)"):
            read_json(path)
    with pytest.raises(CheckpointError, match=r"b\.txt is missing"):
        read_text(tmp_path / "b.txt")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(CheckpointError, match="cannot be written"),
        updated_folder(tmp_path / "file" / "model", []),
    ):
        pytest.fail("it was written")
