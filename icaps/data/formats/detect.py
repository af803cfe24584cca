"""Detection of the format of a file, by its bytes, and by its name if these are ambiguous."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from icaps.data.encoding import detect_encoding, is_binary, text_blocks
from icaps.data.formats.columnar import MAGIC, ColumnarTable
from icaps.data.formats.csv import CsvTable
from icaps.data.formats.json import JsonTable
from icaps.data.formats.json_whole import whole_table
from icaps.data.formats.plain import PREFIX, FastTextTable, FolderTable
from icaps.data.problems import FileError
from icaps.data.raw_table import RawTable
from icaps.data.streams import DataFile, data_file

# In the order in which a folder's train or test file is searched for.
SUFFIXES = (
    ".parquet",
    ".csv",
    ".tsv",
    ".jsonl",
    ".ndjson",
    ".json",
    ".arrow",
    ".feather",
    ".txt",
)
_ARRAY = re.compile(r"\[\s*(?:[{\]]|$)")
_FOREIGN = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"\xd0\xcf\x11\xe0": "an old Office document; save its sheet as CSV (UTF-8)",
    b"SQLite format 3": "an SQLite database; export its table as CSV",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"Obj\x01": "an Avro file",
    b"ORC": "an ORC file",
    b"FEA1": "a Feather file of version 1; save it again in version 2",
    b"\x7fELF": "a program",
    b"\x80\x03": "a Python pickle, which could run a program when opened; save it as Parquet",
    b"\x80\x04": "a Python pickle, which could run a program when opened; save it as Parquet",
    b"\x80\x05": "a Python pickle, which could run a program when opened; save it as Parquet",
}
_TAR = slice(257, 262)  # where a tar archive has "ustar"


def open_table(
    path: Path,
    encoding: str | None,
    delimiter: str | None,
    wanted: Sequence[str],
    several: bool = False,
) -> RawTable:
    """Opens a file, or a folder with a subfolder per class, as a table.

    Args:
        path: The file or folder, which exists.
        encoding: Encoding of its text; None to detect it.
        delimiter: Character between the fields of a line; None to detect it.
        wanted: Columns that the user named.
        several: Whether a line of fastText may have any number of labels.

    Raises:
        FileError: It is empty, or in none of the supported formats.
    """
    if path.is_dir():
        return FolderTable(path, encoding)
    file = data_file(path)
    head = file.head()
    if not head:
        raise FileError("empty file", str(path), "it is empty; add texts with labels.")
    kind = next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)
    if kind:
        return ColumnarTable(file, kind)
    _refuse_foreign(file, head, encoding)
    encoding = encoding or detect_encoding(file)
    start = next(text_blocks(file, encoding), "")
    if start.startswith(PREFIX):
        return FastTextTable(file, encoding, several)
    if not delimiter and start.lstrip().startswith("{"):
        table = whole_table(file, encoding, start)
        if table is not None:
            return table
    if not delimiter and (array := _json_kind(file, start)) is not None:
        return JsonTable(file, encoding, array)
    return CsvTable(file, encoding, delimiter, wanted)


def _refuse_foreign(file: DataFile, head: bytes, encoding: str | None) -> None:
    what = next((name for magic, name in _FOREIGN.items() if head.startswith(magic)), None)
    if head[_TAR] == b"ustar":
        what = "a tar archive; unpack it"
    if not what and file.suffix in (".parquet", ".arrow", ".feather"):
        what = f"not a {file.suffix} file; give it the suffix of its format, or copy it again"
    if not what and not encoding and is_binary(head):
        what = "not text and in none of the supported formats; save it as CSV, JSON or Parquet"
    if what:
        advice = "" if ";" in what else "; give CSV, JSON, Parquet, Arrow or fastText lines"
        raise FileError("binary file", str(file.path), f"it is {what}{advice}.")


def _json_kind(file: DataFile, start: str) -> bool | None:
    """True for an array of objects, False for one object per line, None if not JSON."""
    start = start.lstrip()
    if _ARRAY.match(start) or (start.startswith("[") and file.suffix == ".json"):
        return True
    if file.suffix in (".jsonl", ".ndjson"):
        return False
    line, end, _ = start.partition("\n")
    if not line.startswith("{"):
        return None
    try:
        json.loads(line)
    except (ValueError, RecursionError) as error:
        if not end:
            return False  # longer than what was read; its own reader reports what is wrong
        if file.suffix != ".json" and line.strip() != "{":
            return None
        raise FileError(
            "unknown format",
            str(file.path),
            "it is one JSON object over several lines; make it an array of objects with a text and "
            "a label, or one object per line.",
        ) from error
    return False
