"""Layouts that people have, each with an input of our own: read rightly, or asked about."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from datasets import ClassLabel, Dataset, DatasetDict

from icaps.data.check import check
from icaps.data.label_sets import format_label_set
from icaps.data.problems import NoLabelsError, UnclearColumnsError
from icaps.data.resolve import resolve
from icaps.data.source import open_source, open_test
from icaps.errors import DataError

ROWS = [
    (
        f"{'rain will fall on the hills' if n % 2 else 'dough must rest for an hour'} {n}",
        "ab"[n % 2],
    )
    for n in range(30)
]
LABELLED = [(text, label) for text, label in ROWS]


def write(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode(encoding))
    return path


def lines(*first: str, row: str, rows: Any = ROWS) -> str:
    body = [row.format(n=n, text=text, label=label) for n, (text, label) in enumerate(rows, 1)]
    return "".join(f"{line}\n" for line in (*first, *body))


def read(path: Path | str, **options: Any) -> list[tuple[str, str]]:
    return [(record.text, record.label) for record in open_source(path, **options)]


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (lines(row="{n},{text},{label}"), ("2", "3")),
        (lines("label,text,,", row="{label},{text},,"), ("text", "label")),
        (lines("v1,v2,,,", row="{label},{text},,,"), ("v2", "v1")),
        (lines("label;text", row='"{label}";"{text}";'), ("text", "label")),
        (lines("label,text", row="{n},{label},{text}"), ("text", "label")),
        (lines('"label" "text"', row='"{n}" "{label}" "{text}"'), ("text", "label")),
        (lines(",label,text", row="{n},{label},{text}"), ("text", "label")),
        (lines("sep=;", "label;text", row="{label};{text}"), ("text", "label")),
        (lines("label,text", row="{label},{text}") + ",\n,\n", ("text", "label")),
        (lines("id,text,target", row="{n},{text},{label}"), ("text", "target")),
        (lines("uid,words,mood", row="k{n:04},{text},{label}"), ("words", "mood")),
    ],
)
def test_roles_and_edges(content: str, columns: tuple[str, str], tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", content)
    assert read(path) == LABELLED
    about = open_source(path).describe().files[0]
    assert (*about.text, about.label) == columns


def test_six_columns_without_a_header(tmp_path: Path) -> None:
    row = '"{n2}","90000{n}","Tue Feb 03 10:11:12 UTC 2015","NO_QUERY","user{n}","{text}"'
    content = "".join(
        row.format(n=n, n2=4 * (n % 2), text=text) + "\n" for n, (text, _) in enumerate(ROWS)
    )
    with pytest.raises(UnclearColumnsError) as error:
        read(write(tmp_path / "x.csv", content))
    assert error.value.columns == tuple("123456")
    assert (error.value.text_candidates[0], error.value.label_candidates[0]) == ("6", "1")
    assert error.value.choices[0] == (("6",), "1")
    assert len(error.value.choices) == 2
    assert "--text 6 --label 1 (text='6', label='1')" in str(error.value)
    assert error.value.samples["6"][0] == ROWS[0][0]


def test_title_and_description(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.csv",
        lines("Class Index,Title,Description", row="{label},About it {n},{text}"),
    )
    with pytest.raises(UnclearColumnsError) as error:
        read(path)
    both, one = error.value.choices
    assert both == (("Title", "Description"), "Class Index")
    assert one == (("Description",), "Class Index")
    assert "--text Title --text Description --label 'Class Index'" in str(error.value)
    assert read(path, text=list(both.text), label=both.label)[0] == (
        "About it 1 " + ROWS[0][0],
        "a",
    )


def test_other_texts_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", lines("text,remark,label", row="{text},it is so {n},{label}"))
    assert read(path) == LABELLED
    (note,) = open_source(path).describe().notes
    assert "'remark' is not read" in note


@pytest.mark.parametrize("test", ["id,text", "id,text,target"])
def test_a_test_part_without_labels(test: str, tmp_path: Path) -> None:
    write(tmp_path / "train.csv", lines("id,text,target", row="{n},{text},{label}"))
    row = "{n},{text}" + ("," if test.endswith("target") else "")
    write(tmp_path / "test.csv", lines(test, row=row))
    with pytest.raises(NoLabelsError, match=r"it has no labels: .* for prediction"):
        list(open_source(tmp_path, "test"))
    said: list[str] = []
    assert open_test(tmp_path, said.append) is None
    assert "not scored" in said[0]
    report = check(open_source(tmp_path), open_source(tmp_path, "test"))
    assert report.usable
    assert [(item.severity, item.split) for item in report.findings] == [("note", "test")]


def test_a_test_part_has_the_columns_of_the_training_part(tmp_path: Path) -> None:
    write(tmp_path / "train.csv", lines("words,kind,other", row="{text},{label},{n}"))
    write(tmp_path / "test.csv", lines("other,kind,words", row="x,{label},{text}", rows=ROWS[:2]))
    assert read(tmp_path, part="test") == LABELLED[:2]


def test_exports_of_databases(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", lines("label\ttext", row="{label}\t{text}") + "\\N\tx\n")
    with pytest.raises(DataError, match="line 32, column 'label': the row has no label"):
        read(path)
    path = write(tmp_path / "y.tsv", lines(row="{label}\tone\\\ntwo\\\t{text} \\\\"))
    assert read(path) == [(f"one\ntwo\t{text} \\", label) for text, label in LABELLED]
    assert [record.line for record in open_source(path)][:3] == [1, 3, 5]


@pytest.mark.parametrize(
    "label",
    [
        lambda label: [label],
        lambda label: {"choices": [label]},
        lambda label: json.dumps({"choices": [label]}),
        lambda label: str([label]),
    ],
)
def test_labels_of_annotation_tools(label: Any, tmp_path: Path) -> None:
    rows = [{"id": n, "text": text, "label": label(name)} for n, (text, name) in enumerate(ROWS)]
    path = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert read(path) == LABELLED
    rows[3]["label"] = [[0, 4, "a"]]
    write(path, "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(DataError, match="line 4, column 'label': it has several labels"):
        read(path)
    for several in (["b", "a"], {"choices": ["a", "b"]}, '["a", "b"]', "{'choices': ['b', 'a']}"):
        rows[3]["label"] = several
        write(path, "".join(json.dumps(row) + "\n" for row in rows))
        sets = [(text, format_label_set([name])) for text, name in LABELLED]
        assert read(path) == [*sets[:3], (LABELLED[3][0], '["a", "b"]'), *sets[4:]]
        with pytest.raises(DataError, match="line 4, column 'label': it has several labels"):
            list(open_source(path, multilabel=False))


def test_one_class_of_two_spellings(tmp_path: Path) -> None:
    names = [0, 1, 0.0, 1.0]
    rows = [{"text": text, "label": names[n % 4]} for n, (text, _) in enumerate(ROWS)]
    path = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert {label for _, label in read(path)} == {"0", "1"}
    frame = pd.DataFrame({"text": ["x y", "z"], "label": [0.5, 1.0]})
    assert [record.label for record in open_source(frame)] == ["0.5", "1.0"]


def test_names_that_look_alike(tmp_path: Path) -> None:
    names = ["Café", "Cafe\u0301", " Café\u00a0", "Ca\u200bfé", "CAFÉ", "nan"]
    rows = [(text, names[n % 6]) for n, (text, _) in enumerate(ROWS)]
    path = write(tmp_path / "x.csv", lines("label,text", row="{label},{text}", rows=rows))
    report = check(open_source(path))
    assert report.train.classes == {"Café": 20, "CAFÉ": 5, "nan": 5}
    said = [item.message for item in report.findings]
    assert any("'Cafe\\u0301' (5) as 'Café'" in line for line in said)
    assert any("'Café' (20) and 'CAFÉ' (5)" in line for line in said)
    assert any("missing label: 'nan' (5)" in line for line in said)


def test_fasttext_labels_that_end_at_a_comma(tmp_path: Path) -> None:
    content = "".join(
        f"__label__{label},{text.replace(' ', f'{n % 5} ', 1)}\n"
        for n, (text, label) in enumerate(ROWS)
    )
    report = check(open_source(write(tmp_path / "x.txt", content)))
    assert any("look like a label and a word" in item.message for item in report.findings)


def test_names_of_other_data_are_named(tmp_path: Path) -> None:
    write(tmp_path / "classes.txt", "person\nbicycle\ncar\n")
    rows = [(text, str("ab".index(label))) for text, label in ROWS]
    path = write(tmp_path / "train.csv", lines("label,text", row="{label},{text}", rows=rows))
    (note,) = open_source(path).describe().notes
    assert "have the names in" in note
    assert "person, bicycle, car" in note
    report = check(open_source(path))
    assert any("1 class ('car') without a text" in item.message for item in report.findings)


def test_a_folder_of_texts_without_a_class(tmp_path: Path) -> None:
    for part, names in (("train", ("neg", "pos", "unsup")), ("test", ("neg", "pos"))):
        for name in names:
            write(tmp_path / part / name / "1.txt", f"a text of {name}")
            write(tmp_path / part / name / "Thumbs.db", "x")
        write(tmp_path / part / "urls.txt", "http://example.org")
    assert [label for _, label in read(tmp_path)] == ["neg", "pos"]
    assert [label for _, label in read(tmp_path, part="test")] == ["neg", "pos"]
    (note,) = open_source(tmp_path).describe().notes
    assert "'unsup' has texts without a class and is left out" in note


def test_saved_data_sets(tmp_path: Path) -> None:
    features = {"text": [text for text, _ in ROWS], "label": [label for _, label in ROWS]}
    data = Dataset.from_dict(features).cast_column("label", ClassLabel(names=["a", "b"]))
    data.save_to_disk(tmp_path / "one", num_shards=3)
    assert read(tmp_path / "one") == LABELLED
    DatasetDict(train=data, test=data.select(range(4))).save_to_disk(tmp_path / "both")
    assert read(tmp_path / "both") == LABELLED
    assert read(tmp_path / "both", part="test") == LABELLED[:4]
    (tmp_path / "one" / "data-00001-of-00003.arrow").unlink()
    with pytest.raises(DataError, match=r"has 2 of the files data-\.\.\."):
        read(tmp_path / "one")


def test_an_archive_with_hidden_files(tmp_path: Path) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("__MACOSX/data/._train.csv", b"\0x")
        archive.writestr("data/.DS_Store", b"\0x")
        archive.writestr("data/train.csv", lines("label,text", row="{label},{text}"))
    (tmp_path / "x.zip").write_bytes(stream.getvalue())
    assert read(tmp_path / "x.zip") == LABELLED


def test_patterns_and_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for n in range(2):
        write(tmp_path / f"{n}.csv", lines("label,text", row="{label},{text}", rows=ROWS[n::2]))
    assert len(read(resolve(f"{tmp_path}/[01].csv"))) == len(ROWS)
    assert len(read(resolve("~/*.csv"))) == len(ROWS)
    assert len(read("~/0.csv")) == len(ROWS) / 2
    with pytest.raises(DataError, match="no file or folder"):
        resolve(f"{tmp_path}/*.tsv")


def task(number: int, text: str, *annotations: list[str], cancelled: bool = False) -> object:
    """A task as Label Studio exports it in its own JSON."""
    made = [
        {
            "id": 90 + number,
            "was_cancelled": cancelled,
            "result": [
                {
                    "type": "choices",
                    "from_name": "topic",
                    "to_name": "text",
                    "value": {"choices": choices},
                }
            ],
        }
        for choices in annotations
    ]
    return {
        "id": number,
        "data": {"text": text},
        "annotations": made,
        "predictions": [],
        "meta": {},
    }


def test_an_export_of_label_studio(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    tasks = [task(n, text, [label]) for n, (text, label) in enumerate(ROWS)]
    path.write_text(json.dumps(tasks))
    assert read(path) == LABELLED
    about = open_source(path).describe()
    assert (about.files[0].text, about.files[0].label) == (("text",), "topic")
    assert any("Label Studio" in note for note in about.notes)
    twice = [task(n, text, [label], [label]) for n, (text, label) in enumerate(ROWS)]
    path.write_text(json.dumps(twice))
    assert read(path) == LABELLED


def test_tasks_that_are_no_label(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    odd = [task(90, "two say so", ["a"], ["b"]), task(91, "none yet"), {"id": 92}]
    odd.append(task(93, "one gave up", ["a"], cancelled=True))
    tasks = [task(n, text, [label]) for n, (text, label) in enumerate(ROWS)]
    path.write_text(json.dumps(tasks + odd))
    with pytest.raises(DataError, match="2 missing label, 1 annotators disagree, 1 no task"):
        read(path)
    assert read(path, on_bad_rows="skip") == LABELLED


@pytest.mark.parametrize("odd", [None, 3, "x", [], {}, {"a": 1}, [None], [{"value": []}]])
def test_damaged_annotations_are_rows_without_label(odd: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    tasks = [task(n, text, [label]) for n, (text, label) in enumerate(ROWS)]
    damaged = [{"data": {"text": "x"}, "annotations": [odd, {"result": odd}]}]
    path.write_text(json.dumps(tasks + damaged))
    assert read(path, on_bad_rows="skip") == LABELLED


def test_an_export_of_prodigy(tmp_path: Path) -> None:
    rows = [{"text": text, "label": label, "answer": "accept"} for text, label in ROWS]
    odd = [{"text": "no", "label": "a", "answer": "reject"}, {"text": "?", "answer": "ignore"}]
    path = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows + odd))
    with pytest.raises(DataError, match="1 rejected label, 1 no answer"):
        read(path)
    assert read(path, on_bad_rows="skip") == LABELLED
    options = [{"id": number, "text": name} for number, name in enumerate("ab")]
    chosen = [
        {"text": text, "options": options, "accept": ["ab".index(label)], "answer": "accept"}
        for text, label in ROWS
    ]
    write(path, "".join(json.dumps(row) + "\n" for row in chosen))
    assert read(path) == LABELLED
