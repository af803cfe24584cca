"""Reads word vectors: the package's table, a file of any usual format, or a gensim-data name."""

from __future__ import annotations

import gzip
import re
import shutil
import struct
import zlib
from array import array
from collections.abc import Callable, Iterable
from http.client import HTTPException
from io import BufferedReader, RawIOBase
from pathlib import Path, PurePosixPath
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING, BinaryIO, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np

from icaps.data.download import NETWORK_SETTING, offline
from icaps.data.paths import expand_user
from icaps.data.streams import is_hidden
from icaps.errors import VectorsError
from icaps.text.compact_vectors import ENGLISH_FILE, CompactVectors, is_compact
from icaps.text.spacy_package import is_spacy_package, read_spacy_package

if TYPE_CHECKING:
    from gensim.models import KeyedVectors

ENGLISH = "english"  # the source for the table that the package contains

_FASTTEXT_MAGIC = struct.pack("<i", 793712314)
_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_MAGIC = b"PK\x03\x04"
_PICKLE = b"\x80"  # the first byte of what gensim's own `save` writes
_LONGEST_LINE = 1 << 20  # bytes per line that are read to detect the format of a file
_START = 1 << 16  # bytes that tell text from binary
_FEW_BAD = 1  # rows that may be odd in a small file
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\x1c\x1d\x1e\x1f\x0b\x0c"))
_NUMBER = re.compile(
    rb"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)", re.I
)
_ENDS_IN_NUMBER = re.compile(rb"\s[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?$")
_SUFFIXES = (".bin", ".vec", ".txt", ".kv", ".gz", ".model", ".npz", ".whl")
_ADVICE = (
    "Give a whole file of word2vec (binary or text), GloVe text, fastText .bin or .vec, a table of "
    "icaps vectors build, or the wheel of a spaCy pipeline, with words in UTF-8."
)
# What gensim and gzip raise for damaged files, and for files of other formats.
_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    ImportError,
    AssertionError,
    NotImplementedError,
    MemoryError,
    OverflowError,
    struct.error,
    zlib.error,
    BadZipFile,
)


def load_vectors(source: str | Path, log: Callable[[str], None] | None = None) -> KeyedVectors:
    """Loads word vectors: `ENGLISH`, a file, or a gensim-data name as word2vec-google-news-300.

    A row of text that does not fit is left out and logged, if it is alone among many. Of a zip
    archive with several files one is named: `glove.zip/glove.50d.txt`.

    The format is detected from the content: word2vec binary and text, GloVe text and fastText .vec,
    each gzipped (with the suffix .gz) or not, fastText .bin, compact tables (`CompactVectors`), and
    wheels of spaCy pipelines. Nothing is unpickled, and the code that gensim-data ships with its
    vectors is not run.

    In compact tables and spaCy's pipelines, several words may have one index in `key_to_index`.

    Args:
        source: `ENGLISH`, a path, or a name. A source with a slash or a known suffix is a path.
        log: Called with one line before a download, and about rows that are left out.

    Raises:
        VectorsError: The file is missing, damaged or of no such format, or the download failed.
    """
    path = ENGLISH_FILE if source == ENGLISH else expand_user(source)
    try:
        if path.is_file():
            return _load_file(path, log)
        if path.parent.is_file() and is_zipfile(path.parent):  # a file in an archive
            return _load_file(path.parent, log, path.name)
        if path.exists():
            raise VectorsError(f"{path} is a folder, or no regular file. {_ADVICE}")
    except OSError as error:  # such as a name too long for the file system
        raise VectorsError(f"{path} cannot be opened ({error.strerror}). {_ADVICE}") from error
    if len(path.parts) > 1 or path.suffix.lower() in _SUFFIXES:
        raise VectorsError(f"There is no vectors file {path}. {_ADVICE}")
    return _download(str(source), log)


def _load_file(
    path: Path, log: Callable[[str], None] | None = None, member: str = ""
) -> KeyedVectors:
    try:
        vectors = _read(path, log or (lambda line: None), member)
        if not len(vectors) or not vectors.vector_size:
            raise ValueError("it holds no vector")
    except _UNREADABLE as error:
        cause = str(error) or type(error).__name__
        raise VectorsError(f"{path} cannot be read as word vectors: {cause}. {_ADVICE}") from error
    return vectors


def _read(path: Path, log: Callable[[str], None], member: str) -> KeyedVectors:
    from gensim.models.fasttext import load_facebook_vectors

    with path.open("rb") as file:
        start = file.read(4)
    if not start:
        raise ValueError("it is empty")
    if start == _FASTTEXT_MAGIC:
        _check_fasttext_size(path)
        return load_facebook_vectors(str(path))
    if start == _ZIP_MAGIC:
        return _read_zip(path, log, member)
    if start.startswith(_GZIP_MAGIC):
        with gzip.open(path) as stream:
            return _read_stream(cast(BinaryIO, stream), str(path), log)
    with path.open("rb") as file:
        return _read_stream(file, str(path), log)


def _read_zip(path: Path, log: Callable[[str], None], member: str) -> KeyedVectors:
    with ZipFile(path) as archive:
        if is_compact(archive):
            return CompactVectors.load(path).keyed()
        if is_spacy_package(archive):
            return read_spacy_package(archive)
        names = [
            item.filename
            for item in archive.infolist()
            if not item.is_dir() and not is_hidden(PurePosixPath(item.filename))
        ]
        chosen = [name for name in names if not member or PurePosixPath(name).name == member]
        if len(chosen) != 1:
            raise ValueError(
                f"it is a zip archive of {len(names)} files; name one of them, such as "
                + " or ".join(f"{path / PurePosixPath(name).name}" for name in names[:2])
            )
        with archive.open(chosen[0]) as stream:
            return _read_stream(cast(BinaryIO, stream), f"{path}/{chosen[0]}", log)


def _read_stream(stream: BinaryIO, name: str, log: Callable[[str], None]) -> KeyedVectors:
    """Reads word2vec's text or binary format, or GloVe's text, from a decompressed stream."""
    file = BufferedReader(cast(RawIOBase, stream), _START)
    start = file.peek(_START)[:_START]
    if start.startswith(_PICKLE):
        raise ValueError(
            "it is a Python pickle, which could run a program when opened; let gensim save the "
            "vectors by save_word2vec_format(path, binary=True)"
        )
    if start.startswith(_FASTTEXT_MAGIC):
        raise ValueError("a fastText .bin must not be compressed; unpack it")
    fields = start.partition(b"\n")[0].split()
    announced = len(fields) == 2 and all(field.isdigit() for field in fields)
    if not announced:
        return _read_text(file, len(fields) - 1, name, log)
    count, dim = map(int, fields)
    if _is_text(start):
        file.readline(_LONGEST_LINE)
        return _read_text(file, dim, name, log, count)
    return _read_binary(file)


def _is_text(start: bytes) -> bool:
    """Whether the first rows after a header are text: numbers as bytes have control characters."""
    rows = start.partition(b"\n")[2]
    return bool(rows.strip()) and len(rows.translate(None, _CONTROLS)) == len(rows)


def _read_binary(file: BinaryIO) -> KeyedVectors:
    """Reads word2vec's binary format."""
    from gensim.models import KeyedVectors

    with NamedTemporaryFile() as copy:  # gensim reads paths only
        shutil.copyfileobj(file, copy)
        copy.flush()
        return KeyedVectors.load_word2vec_format(copy.name, binary=True)


def _check_fasttext_size(path: Path) -> None:
    """Raises ValueError for a truncated fastText .bin, which gensim would read forever."""
    with path.open("rb") as file:
        header = file.read(68)
    dim, buckets, words = (struct.unpack_from("<i", header, at)[0] for at in (8, 40, 64))
    if path.stat().st_size < (words + buckets) * dim * 4:
        raise ValueError(f"it is cut off: it announces {words} words and has no room for them")


def _read_text(
    lines: Iterable[bytes],
    dim: int,
    name: str,
    log: Callable[[str], None],
    count: int | None = None,
) -> KeyedVectors:
    """Reads rows of a word and `dim` numbers; single rows that do not fit are left out.

    Raises:
        ValueError: The first rows do not fit, too many do not, or the file is cut off.
    """
    # gensim's own reader accepts a truncated last row, and fails at GloVe's words with spaces.
    from gensim.models import KeyedVectors

    if dim < 1:
        raise ValueError("it has no number after its first word")
    words: dict[str, int] = {}
    values = array("f")
    bad: list[str] = []
    rows = number = 0
    last_is_bad = False
    for number, line in enumerate(lines, 1 if count is None else 2):
        blank = not line.strip()
        try:
            word, row = _row(line, dim, count is not None)
        except ValueError as error:
            bad.append(f"line {number}: {error}")
            last_is_bad = not blank
            rows += not blank
            good = rows - len(bad)
            if (len(bad) > _FEW_BAD and len(bad) * 100 > good) or (not words and rows > 1):
                break
            continue
        last_is_bad = False
        rows += 1
        if word not in words:
            words[word] = len(words)
            values.extend(row)
    if bad and (last_is_bad or not words or len(bad) > max(_FEW_BAD, rows // 100)):
        others = f"; {len(bad):,} of the first {rows:,} rows do not fit" if len(bad) > 1 else ""
        raise ValueError(f"{bad[0]}{others}")
    if count is not None and rows < count:
        raise ValueError(f"it is cut off: it announces {count} words and holds {rows}")
    if bad:
        log(f"{name}: {len(bad):,} of {rows:,} rows are left out, the first: {bad[0]}")
    vectors = KeyedVectors(dim)
    vectors.key_to_index, vectors.index_to_key = words, list(words)
    vectors.vectors = np.frombuffer(values, dtype=np.float32).reshape(-1, dim)
    return vectors


def _row(line: bytes, dim: int, announced: bool = True) -> tuple[str, list[float]]:
    """The word and the numbers of a row.

    Raises:
        ValueError: It does not fit; the message says why, without the line.
    """
    if not line.strip():
        raise ValueError("it is blank")
    word, *numbers = line.rsplit(None, dim)
    blank = not line[:1].strip()
    if len(numbers) != dim or blank or _ENDS_IN_NUMBER.search(word):
        if blank and len(line.split()) == dim:
            raise ValueError("its word is blank")
        where = "the first line announces" if announced else "the first row has"
        raise ValueError(f"it has not {dim} numbers after the word, as {where}")
    try:
        return word.decode(), [float(number) for number in numbers]
    except UnicodeDecodeError as error:
        raise ValueError(f"its word is not UTF-8 ({error.reason})") from error
    except ValueError as error:
        wrong = next(number for number in numbers if not _NUMBER.fullmatch(number))
        advice = "; write numbers with a point" if b"," in wrong else ""
        shown = wrong[:20].decode(errors="backslashreplace")
        raise ValueError(f"{shown!r} is not a number{advice}") from error


def _download(name: str, log: Callable[[str], None] | None) -> KeyedVectors:
    if offline():
        raise VectorsError(
            f"There is no file {name}, and {NETWORK_SETTING} forbids a "
            f"download from gensim-data. {_ADVICE}"
        )
    import gensim.downloader

    if log is not None:
        log(f"looking for {name} in gensim-data")
    try:
        known = gensim.downloader.info(name_only=True)["models"]
        if name in known:
            return _load_file(Path(gensim.downloader.load(name, return_path=True)), log)
    except (OSError, ValueError, HTTPException) as error:
        raise VectorsError(
            f"There is no file {name}, and it cannot be downloaded from gensim-data ({error}). "
            f"{_ADVICE}"
        ) from error
    raise VectorsError(
        f"There is no file {name}, and gensim-data has no vectors of that name; it has "
        f"{', '.join(sorted(known))}. {_ADVICE}"
    )
