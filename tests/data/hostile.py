"""Fifty rows that break careless readers, and files of them in every format."""

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LABELS = ("Sport", "Kultur_Ä", "ספורט", "2nd")
AMBIGUOUS = "ÿþ "  # in bytes of cp1252 these may be letters of other languages
TEXTS = (
    "plain words",
    'a "quoted" word',
    '"',
    '""',
    '"""all of it"""',
    '"starts',
    'ends"',
    "line\nbreak",
    "of\r\nWindows",
    "of\rold Macs",
    "\n\nleads",
    "trails\n",
    "one,two,,three",
    "one;two",
    "one\ttwo\t\tthree",
    "one|two",
    "  spaces  ",
    " ",
    "",
    "emoji 😀 👩‍👩‍👧‍👦 🇮🇱",
    "cafe\u0301, decomposed",
    "café, composed",
    "שלום עולם, מה שלומך?",
    "أهلا بالعالم",
    "中文，没有空格。一",
    "ภาษาไทย",
    "controls \x01\x02\x1f\x7f",
    "vertical \x0b form \x0c and \x1a",
    "next line \x85 here",
    "separators \u2028 and \u2029",
    "a mark\ufeff inside",
    "no\u00a0break",
    "“smart quotes” – and a dash… €",
    "naïve, déjà vu, Ångström",
    "null",
    "NA",
    "NaN",
    "1",
    "1.0",
    "true",
    "[1, 2]",
    '{"text": "x"}',
    "x __label__y z",
    r"back\slash, \t and \"",
    "it's 'single'",
    "#comment",
    "=1+1",
    "text",
    "label,text",
    AMBIGUOUS + "long " * 20_000,
)
ROWS = [(text, LABELS[n % len(LABELS)]) for n, text in enumerate(TEXTS)]
assert len(ROWS) == 50

DELIMITERS = {"csv": ",", "tsv": "\t", "semicolon.csv": ";", "bar.csv": "|"}
TEXT_FORMATS = (*DELIMITERS, "zhang.csv", "jsonl", "json", "fasttext.txt")
BINARY_FORMATS = ("parquet", "arrow", "stream.arrow")
COMPRESSIONS = ("", ".gz", ".bz2", ".xz", ".zst", ".zip")


def encoded(text: str, encoding: str) -> bytes | None:
    """The bytes; None if the encoding lacks a character, or could not be detected."""
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        return None
    # C1 controls of latin-1 are printed characters of cp1252, which is what Western bytes mean.
    return None if encoding == "latin-1" and any("\x80" <= c <= "\x9f" for c in text) else data


def rows_of(kind: str, encoding: str = "utf-8") -> list[tuple[str, str]]:
    """The rows that a file of this format and encoding can hold."""
    rows = [row for row in ROWS if encoded("".join(row), encoding) is not None]
    if encoding in ("cp1252", "latin-1"):
        rows = [(text.removeprefix(AMBIGUOUS), label) for text, label in rows]
    if kind == "fasttext.txt":
        rows = [(text, label) for text, label in rows if "\n" not in text]
    if kind == "zhang.csv":
        rows = [(text, label) for text, label in rows if r"\n" not in text]
    return rows


def text_file(kind: str, rows: list[tuple[str, str]]) -> str:
    """The text of a file of these rows, in one of TEXT_FORMATS."""
    objects = [{"label": label, "text": text} for text, label in rows]
    if kind == "json":
        return json.dumps(objects, ensure_ascii=False, indent=1)
    if kind == "jsonl":
        return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in objects)
    if kind == "fasttext.txt":
        return "".join(f"__label__{label} {text}\n" for text, label in rows)
    stream = io.StringIO(newline="")
    if kind == "zhang.csv":
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
        for text, label in rows:
            writer.writerow([LABELS.index(label) + 1, text.replace("\n", r"\n")])
    else:
        # The default line end, \r\n, makes the writer quote both of its characters.
        writer = csv.writer(stream, delimiter=DELIMITERS[kind])
        writer.writerows([("label", "text"), *((label, text) for text, label in rows)])
    return stream.getvalue()


def binary_file(kind: str, rows: list[tuple[str, str]]) -> bytes:
    """The bytes of a file of these rows, in one of BINARY_FORMATS."""
    texts, labels = zip(*rows, strict=True)
    table = pa.table({"label": labels, "text": texts})
    sink = pa.BufferOutputStream()
    if kind == "parquet":
        pq.write_table(table, sink, row_group_size=20)
    else:
        new = pa.ipc.new_stream if kind == "stream.arrow" else pa.ipc.new_file
        with new(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
    return sink.getvalue().to_pybytes()


def compressed(data: bytes, suffix: str, member: str = "data") -> bytes:
    """The bytes as a file of this suffix holds them."""
    if suffix == ".zip":
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, data)
        return sink.getvalue()
    if suffix == ".zst":
        out = pa.BufferOutputStream()
        with pa.CompressedOutputStream(out, "zstd") as stream:
            stream.write(data)
        return out.getvalue().to_pybytes()
    pack = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, "": bytes}
    return pack[suffix](data)


def write(folder: Path, name: str, data: bytes, compression: str = "") -> Path:
    """A file of that name and compression in the folder."""
    path = folder / (name + compression)
    path.write_bytes(compressed(data, compression, name))
    return path
