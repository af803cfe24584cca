"""The corrections of a data set: where they are, what a slice has, and files that are added."""

from pathlib import Path

import pytest

from icaps.data.correction_files import corrected_data, corrections_of, read_corrections
from icaps.data.label_file import GivenLabel, LabelFile
from icaps.data.saved_slices import save_texts, store_selection
from icaps.data.text_hash import text_hash
from icaps.data.uploads import delete_upload, store_upload
from icaps.errors import DataError

ROWS = [("Sails\nand masts", "Food"), ("Rose", "Plants")]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_each_data_set_has_its_own_file(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/texts.csv", "b/texts.csv"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    first = corrections_of(str(tmp_path / "a/texts.csv"))
    assert first.path.parent == cache / "corrections"
    assert first.path.name.startswith("texts.csv-")
    assert corrections_of(str(tmp_path / "b/texts.csv")).path != first.path
    monkeypatch.chdir(tmp_path)
    assert corrections_of("a/texts.csv").path == first.path
    assert corrections_of("a/../a/texts.csv").path == first.path
    for name in ("ag_news", "owner/name", "../../x\ud83d\n", "x" * 5_000, ""):
        path = corrections_of(name).path
        assert path.parent == cache / "corrections"
        assert path.name.isascii()
        assert path.name.isprintable()
        assert len(path.name) < 80


def test_slices_and_selections_have_those_of_their_data(tmp_path: Path) -> None:
    data = tmp_path / "texts.csv"
    data.touch()
    origin = {"data": str(data), "reading": {}}
    first = save_texts(ROWS, 2, "some", origin)
    second = store_selection(ROWS, 2, "of it", {**origin, "data": str(first)})
    assert corrected_data(str(second)) == str(data)
    assert corrections_of(str(second)).path == corrections_of(str(data)).path
    other = tmp_path / "other.parquet"  # not one of ours
    other.write_bytes(first.read_bytes())
    assert corrected_data(str(other)) == str(other)


def test_they_are_deleted_with_an_upload(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("text,label\na,x\n")
    with (tmp_path / "own.csv").open("rb") as content:
        upload = store_upload("own.csv", content)
    file = corrections_of(str(upload))
    file.add([GivenLabel("a", "y", "x")])
    delete_upload(upload)
    assert list(file.path.parent.iterdir()) == []


def given() -> dict[int, str]:
    return {text_hash(text): label for text, label in ROWS}


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_what_was_exported_is_added_again(tmp_path: Path, kind: str) -> None:
    source = LabelFile(tmp_path / "source.jsonl")
    labels = [
        GivenLabel("Sails\nand masts", "Boats", "Food", "Ann", "2026-01-02T03:04:05+00:00"),
        GivenLabel("Rose", "Plants", "Food", "Ben"),  # as it is
        GivenLabel("Elsewhere", "Boats"),
    ]
    source.add(labels)
    path = tmp_path / f"exported.{kind}"
    path.write_bytes(source.to_bytes(kind))
    assert list(read_corrections(path, given(), "me")) == labels[:1]


def test_labelled_texts_and_files_of_labels_are_added(tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text('text,label\n"SAILS and  masts",Boats\nOther,Boats\n')
    (one,) = read_corrections(tmp_path / "texts.csv", given(), "me")
    assert (one.text, one.label, one.before, one.by) == ("SAILS and  masts", "Boats", "Food", "me")
    file = LabelFile(tmp_path / "labels.jsonl")
    batch = file.add([GivenLabel("Rose", "Boats", by="Ann"), GivenLabel("Sails and masts", "")])
    (one,) = read_corrections(file.path, given(), "me")
    assert (one.text, one.label, one.before, one.by) == ("Rose", "Boats", "Plants", "Ann")
    file.undo(batch)
    file.add([GivenLabel("Elsewhere", "Boats")])
    with pytest.raises(DataError, match="none of the texts of this data set"):
        list(read_corrections(file.path, given(), "me"))


def test_labels_are_of_the_kind_of_the_data(tmp_path: Path) -> None:
    file = LabelFile(tmp_path / "labels.jsonl")
    batch = file.add([GivenLabel("Rose", '["Boats", "Plants"]')])
    with pytest.raises(DataError, match="have one label each"):
        list(read_corrections(file.path, given(), "me"))
    several = {text_hash("Rose"): '["Plants"]'}
    (one,) = read_corrections(file.path, several, "me")
    assert one.label == '["Boats", "Plants"]'
    file.undo(batch)
    file.add([GivenLabel("Rose", "Boats")])
    with pytest.raises(DataError, match="have several labels each"):
        list(read_corrections(file.path, several, "me"))
