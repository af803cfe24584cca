"""Files of shapes that people have: each is read rightly, or asked about."""

from pathlib import Path

import pytest

from icaps.data.check import check
from icaps.data.problems import NoLabelsError, UnclearColumnsError, UnclearEncodingError
from icaps.data.source import open_source
from icaps.errors import DataError, VectorsError
from icaps.text.vector_files import load_vectors

pytestmark = pytest.mark.shared_data

SUBJECTS = {"money", "sport"}
READ = {
    "class_0_and_0.0.jsonl": {"0", "1"},
    "class_names_invisible.csv": SUBJECTS,
    "foreign_classes_txt": {"bicycle", "person"},
    "header_with_empty_names.csv": SUBJECTS,
    "headerless_id_text_class.csv": SUBJECTS,
    "imdb_folder_with_unsup": {"neg", "pos"},
    "kaggle_test_without_labels": SUBJECTS,
    "label_is_a_list_of_one.jsonl": SUBJECTS,
    "mac_zip_with_ds_store.zip": SUBJECTS,
    "outfile_escaped_line_ends.tsv": SUBJECTS,
    "pandas_columns.json": SUBJECTS,
    "pandas_split.json": SUBJECTS,
    "pandas_table.json": SUBJECTS,
    "plain_int_labels.csv": {"0", "1"},
    "r_write_table.txt": SUBJECTS,
    "r_write_table_comma.csv": SUBJECTS,
    "saved_dataset": SUBJECTS,
    "saved_dataset_dict": SUBJECTS,
    "six_sentences.csv": {"neg", "pos"},
    "trailing_separators_rows_only.csv": SUBJECTS,
}
SIZES = {"imdb_folder_with_unsup": 40, "six_sentences.csv": 6}


@pytest.fixture
def cases(shared_data: Path) -> Path:
    return shared_data / "cases"


@pytest.mark.parametrize("name", READ)
def test_it_is_read(name: str, cases: Path) -> None:
    records = list(open_source(cases / name))
    assert {record.label for record in records} == READ[name]
    assert len(records) == SIZES.get(name, 60)
    assert all("\ufffd" not in record.text for record in records)


@pytest.mark.parametrize(
    ("name", "text", "label"),
    [
        ("tweets_six_columns_latin1.csv", ("6",), "1"),
        ("class_index_title_description.csv", ("Title", "Description"), "Class Index"),
    ],
)
def test_its_columns_are_asked_for(
    name: str, text: tuple[str, ...], label: str, cases: Path
) -> None:
    with pytest.raises(UnclearColumnsError) as error:
        list(open_source(cases / name))
    assert error.value.choices[0] == (text, label)
    records = list(open_source(cases / name, text=text, label=label))
    assert len(records) == 60


@pytest.mark.parametrize("name", ["cp1250_polish.csv", "cp1250_czech.csv", "latin2_romanian.csv"])
def test_its_encoding_is_asked_for(name: str, cases: Path) -> None:
    with pytest.raises(UnclearEncodingError) as error:
        list(open_source(cases / name))
    first = error.value.candidates[0]
    assert first.encoding == "cp1250"
    assert first.sample in str(error.value)
    assert len(list(open_source(cases / name, encoding=first.encoding))) == 40


def test_its_labels_are_missing(cases: Path) -> None:
    with pytest.raises(DataError, match=r"10 of 60 rows cannot be read \(10 missing label\)"):
        list(open_source(cases / "null_is_backslash_N.tsv"))
    with pytest.raises(NoLabelsError, match="for prediction, not for scores"):
        list(open_source(cases / "kaggle_test_without_labels", "test"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("class_names_nfc_nfd_case.csv", "'Café' (40) and 'café' (10) and 'CAFÉ' (10)"),
        ("fasttext_label_comma.txt", "look like a label and a word: 'sport,the' (11)"),
        ("foreign_classes_txt", "'car'"),
        ("terminal_escapes.csv", r"control characters: 'sp\x1b[31mort' (30)"),
    ],
)
def test_its_class_names_are_doubted(name: str, message: str, cases: Path) -> None:
    findings = check(open_source(cases / name)).findings
    assert any(finding.severity == "warning" and message in finding.message for finding in findings)
    assert not any("\x1b" in finding.message for finding in findings)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("vectors_wrong_dimension.vec", "line 2: it has not 6 numbers"),
        ("vectors_decimal_comma.vec", "line 2: '1,78863' is not a number"),
        ("vectors_zip.zip", "it is a zip archive of 2 files; name one of them"),
    ],
)
def test_vectors_that_cannot_be_read(name: str, reason: str, cases: Path) -> None:
    with pytest.raises(VectorsError, match=reason):
        load_vectors(cases / name)


@pytest.mark.parametrize(
    ("name", "size", "odd"),
    [
        ("vectors_blank_token.vec", (8, 5), "line 6: its word is blank"),
        ("vectors_tab_token.vec", (8, 5), "line 6: its word is blank"),
        ("vectors_blank_after_header.vec", (124, 50), "line 2: it is blank"),
    ],
)
def test_an_odd_row_of_vectors_is_named(
    name: str, size: tuple[int, int], odd: str, cases: Path
) -> None:
    said: list[str] = []
    vectors = load_vectors(cases / name, said.append)
    assert (len(vectors), vectors.vector_size) == size
    assert odd in said[0]
