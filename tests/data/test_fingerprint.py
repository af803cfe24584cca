"""The fingerprint changes with every file that is read, and with no other."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from icaps.data import fingerprint as module
from icaps.data.fingerprint import (
    check_unchanged,
    content_options,
    existing_parts,
    fingerprint,
    fingerprint_files,
    named_fingerprint,
)
from icaps.data.source import open_source
from icaps.errors import DataError

PARTS = ("train", "test", "dev")


def by_part(folder: Path) -> None:
    for part in PARTS:
        (folder / f"{part}.csv").write_text("text,label\nsoup,a\nmast,b\n")


def by_class(folder: Path) -> None:
    for part in PARTS:
        for label in "ab":
            (folder / part / label).mkdir(parents=True)
            (folder / part / label / "1.txt").write_text(f"a text of {label}")


@pytest.fixture(params=[by_part, by_class])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    request.param(folder)
    return folder


@pytest.mark.parametrize("part", PARTS)
def test_each_file_that_is_read_counts_and_no_other(place: Path, part: str) -> None:
    """For each part: touching a file changes the fingerprint of this part alone."""
    before = {name: fingerprint(place, (name,)) for name in PARTS}
    files = {Path(record.file) for record in open_source(place, part)}
    assert files
    for file in files:
        first = fingerprint(place, (part,))
        stat = file.stat()
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns + 1))
        assert fingerprint(place, (part,)) != first
    assert [fingerprint(place, (name,)) == before[name] for name in PARTS] == [
        name != part for name in PARTS
    ]


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited, of the same size": lambda f: (f / "train/a/1.txt").write_text("A text of a"),
    "another size": lambda f: (f / "train/a/1.txt").write_text("x"),
    "added": lambda f: (f / "train/b/2.txt").write_text("x"),
    "renamed": lambda f: (f / "train/a/1.txt").rename(f / "train/a/3.txt"),
    "moved to another class": lambda f: (f / "train/a/1.txt").rename(f / "train/b/9.txt"),
    "a class more": lambda f: (f / "train/c").mkdir(),
    "deleted": lambda f: (f / "train/a/1.txt").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_texts_deep_in_folders(tmp_path: Path, change: Callable[[Path], object]) -> None:
    by_class(tmp_path)
    (tmp_path / "train" / "a" / "0.txt").write_text("so that the class remains")
    os.utime(tmp_path / "train" / "a" / "1.txt", ns=(1, 1))
    before, other = fingerprint(tmp_path, ("train",)), fingerprint(tmp_path, ("test",))
    change(tmp_path)
    assert fingerprint(tmp_path, ("train",)) != before
    assert fingerprint(tmp_path, ("test",)) == other


def test_hidden_and_foreign_files_are_not_read(tmp_path: Path) -> None:
    by_class(tmp_path)
    before = fingerprint(tmp_path, ("train",))
    (tmp_path / "train" / "a" / ".hidden").write_text("x")
    (tmp_path / "train" / "README").write_text("x")
    (tmp_path / "runs").mkdir()
    assert fingerprint(tmp_path, ("train",)) == before


def test_dangling_links_are_bad_rows_as_reading_has_them(tmp_path: Path) -> None:
    by_class(tmp_path)
    before = fingerprint(tmp_path, ("train",))
    target = tmp_path / "target"
    (tmp_path / "train" / "a" / "lost.txt").symlink_to(target)
    (tmp_path / "lost.csv").symlink_to(target)
    dangling = fingerprint(tmp_path, ("train",))
    assert dangling != before
    source = open_source(tmp_path, "train", on_bad_rows="skip")
    assert len(list(source)) == 2
    assert source.problems.total == 1
    target.write_text("found again")
    assert fingerprint(tmp_path, ("train",)) != dangling
    assert len(list(open_source(tmp_path, "train"))) == 3


def test_class_names_beside_a_file(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("1,soup\n2,mast\n")
    before = fingerprint(file, ("train",))
    assert fingerprint(file, ("test",)) == before  # a single file has no parts
    (tmp_path / "classes.txt").write_text("a\nb\n")
    assert fingerprint(file, ("train",)) != before


def test_options_that_change_what_is_read(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("1,soup\n")
    plain = fingerprint(file, ("train",))
    assert fingerprint(file, ("train",), {"label": None, "on_bad_rows": "skip"}) == plain
    found = {fingerprint(file, ("train",), {name: "1"}) for name in ("text", "label", "delimiter")}
    assert len({plain, *found}) == 4
    assert content_options({"text": ("1",), "encoding": ""}) == content_options({"text": "1"})


def test_names_have_no_files(tmp_path: Path) -> None:
    by_part(tmp_path)
    assert named_fingerprint("ag_news") == ""
    assert named_fingerprint(str(tmp_path)) == fingerprint(tmp_path, existing_parts(tmp_path))
    assert named_fingerprint(str(tmp_path), ["dev"]) == fingerprint(tmp_path, ("dev",))


def test_a_folder_that_takes_long_is_not_read_again_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_class(tmp_path)
    monkeypatch.setattr(module, "_SLOW", -1.0)
    monkeypatch.setattr(module, "_REUSE", 1e9)
    before = named_fingerprint(str(tmp_path))
    (tmp_path / "train" / "a" / "2.txt").write_text("x")
    assert named_fingerprint(str(tmp_path)) == before
    monkeypatch.setattr(module, "_recent", {})
    assert named_fingerprint(str(tmp_path)) != before


def test_single_files(tmp_path: Path) -> None:
    files = [tmp_path / "a", tmp_path / "b"]
    missing = fingerprint_files(files)
    files[0].write_text("x")
    one = fingerprint_files(files)
    files[1].write_text("x")
    assert len({missing, one, fingerprint_files(files), fingerprint_files(files[::-1])}) == 4


def test_a_change_while_data_is_read(tmp_path: Path) -> None:
    by_part(tmp_path)
    before = fingerprint(tmp_path, ("dev",), {})
    check_unchanged(tmp_path, ("dev",), {}, before)
    (tmp_path / "dev.csv").write_text("")
    with pytest.raises(DataError, match="changed while it was read"):
        check_unchanged(tmp_path, ("dev",), {}, before)


def test_there_is_no_such_part(tmp_path: Path) -> None:
    by_part(tmp_path)
    with pytest.raises(DataError, match="has no other file"):
        fingerprint(tmp_path, ("other",))
    with pytest.raises(DataError, match="no file or folder"):
        fingerprint(tmp_path / "nowhere", ("train",))
