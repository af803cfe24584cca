"""Word vectors: every format by hand values, what damaged files say, alignment and training."""

import gzip
import os
import pickle
import re
import struct
import subprocess
import sys
import zipfile
from http.client import IncompleteRead
from pathlib import Path
from urllib.error import URLError

import gensim.downloader
import numpy as np
import pytest
from gensim.models import FastText, KeyedVectors
from gensim.models.fasttext import save_facebook_model

from icaps.errors import ConfigError, VectorsError
from icaps.text.vector_files import load_vectors
from icaps.text.vectors import align_vectors, equal_lengths, train_vectors
from icaps.text.vocabulary import Vocabulary

ROOT = Path(__file__).resolve().parents[2]
VALUES = {"The": [1.0, 2.0], "the": [3.0, -4.5]}
GLOVE = b"The 1 2\nthe 3 -4.5\n"
TEXT = b"2 2\n" + GLOVE
BINARY = b"2 2\nThe " + struct.pack("<2f", 1, 2) + b"\nthe " + struct.pack("<2f", 3, -4.5) + b"\n"
SENTENCES = [["cat", "dog", "cat", "bird"], ["dog", "bird", "cat"]] * 10


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def keyed(values: dict[str, list[float]]) -> KeyedVectors:
    vectors = KeyedVectors(len(next(iter(values.values()))))
    vectors.add_vectors(list(values), np.array(list(values.values()), dtype=np.float32))
    return vectors


def vocabulary(**counts: int) -> Vocabulary:
    return Vocabulary(("<pad>", "<unk>", *counts), (0, 10, *counts.values()))


@pytest.fixture(scope="module")
def fasttext() -> FastText:
    return FastText(
        SENTENCES, vector_size=4, min_count=1, min_n=3, bucket=50, epochs=1, workers=1, seed=1
    )


@pytest.fixture
def shared_dir() -> Path:
    folder = Path(__file__).resolve().parents[3] / "shared"
    if not folder.is_dir():
        pytest.skip("the shared vectors are not here")
    return folder


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("w2v.bin", BINARY),
        ("no_suffix_of_binary", BINARY),
        ("binary_without_newlines.bin", BINARY.replace(b"\nthe", b"the")),
        ("w2v.txt", TEXT),
        ("text_named.bin", TEXT),
        ("ft.vec", TEXT.replace(b"2\nthe", b"2 \nthe")),
        ("windows.txt", TEXT.replace(b"\n", b"\r\n")),
        ("glove.txt", GLOVE),
        ("glove.6B.50d", GLOVE),
        ("w2v.txt.gz", gzip.compress(TEXT, mtime=0)),
        ("glove.txt.gz", gzip.compress(GLOVE, mtime=0)),
        ("w2v.bin.gz", gzip.compress(BINARY, mtime=0)),
    ],
)
def test_every_format_gives_the_hand_values(tmp_path: Path, name: str, content: bytes) -> None:
    vectors = load_vectors(write(tmp_path, name, content))
    assert {word: vectors[word].tolist() for word in vectors.index_to_key} == VALUES


def test_gensims_own_files_are_refused(tmp_path: Path) -> None:
    keyed(VALUES).save(str(tmp_path / "own.kv"))
    with pytest.raises(VectorsError, match=r"a Python pickle.*save_word2vec_format"):
        load_vectors(str(tmp_path / "own.kv"))


def test_no_pickle_is_unpickled(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, ...]:
            return (Path.touch, (tmp_path / "sprung",))

    for name in ("trap.bin", "trap.model", "trap.kv", "trap"):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            with pytest.raises(VectorsError, match="cannot be read as word vectors"):
                load_vectors(write(tmp_path, name, pickle.dumps(Trap(), protocol)))
    assert not (tmp_path / "sprung").exists()


def test_fasttext_binary(tmp_path: Path, fasttext: FastText) -> None:
    save_facebook_model(fasttext, str(tmp_path / "ft.bin"))
    vectors = load_vectors(tmp_path / "ft.bin")
    for word in ("cat", "catty"):
        np.testing.assert_allclose(vectors[word], fasttext.wv[word], rtol=1e-6)
    zipped = write(tmp_path, "ft.bin.gz", gzip.compress((tmp_path / "ft.bin").read_bytes()))
    with pytest.raises(VectorsError, match=r"a fastText \.bin must not be compressed; unpack it"):
        load_vectors(zipped)


def test_word_with_spaces_and_repeated_word(tmp_path: Path) -> None:
    path = write(tmp_path, "glove.txt", b"the 1 2\n. . . 3 4\n10 5 6\nthe 7 8\n")
    vectors = load_vectors(path)
    assert vectors.index_to_key == ["the", ". . .", "10"]
    assert vectors.vectors.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("name", "content", "cause"),
    [
        ("empty.txt", b"", "it is empty"),
        ("none.txt", b"0 5\n", "holds no vector"),
        ("header.bin", b"2 2\n", "end of input"),
        ("cut.bin", BINARY[:-3], "end of input"),
        ("cut.txt", b"3 2\n" + GLOVE, "announces 3 words and holds 2"),
        ("cut_row.txt", b"2 2\nThe 1 2\nthe 3\n", "line 3: it has not 2 numbers after the word"),
        ("cut.gz", gzip.compress(TEXT, mtime=0)[:-4], "ended before"),
        ("latin1.txt", "café 1 2\n".encode("latin1"), "line 1: its word is not UTF-8"),
        ("latin1.bin", BINARY.replace(b"The", b"Th\xe9"), "'utf-8' codec"),
        ("utf16.txt", GLOVE.decode().encode("utf-16"), "line 1: its word is not UTF-8"),
        (
            "ragged.txt",
            b"a 1 2\nb 3 4 5\n",
            "line 2: it has not 2 numbers after the word, as the first row",
        ),
        ("prose.txt", b"We sailed before the tide.\n", "line 1: .sailed. is not a number"),
        ("table.csv", b"label,text\n", "no number after its first word"),
        ("zip.bin", b"PK\x03\x04" + bytes(200), "File is not a zip file"),
        ("huge.bin", b"99999999999999 300\nfoo \0", "MemoryError|allocate"),
        ("foreign.kv", pickle.dumps({"a": 1}), "a Python pickle, which could run a program"),
        ("noise.kv", b"abc", "no number after its first word"),
    ],
)
def test_unreadable_file_says_why_and_what_to_do(
    tmp_path: Path, name: str, content: bytes, cause: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(VectorsError, match=f"cannot be read.*(?:{cause})") as caught:
        load_vectors(path)
    assert str(path) in str(caught.value)
    assert "Give a whole file of word2vec" in str(caught.value)


def test_fasttext_binary_cut_anywhere_before_the_end_of_its_vectors(
    tmp_path: Path, fasttext: FastText
) -> None:
    save_facebook_model(fasttext, str(tmp_path / "ft.bin"))
    whole = (tmp_path / "ft.bin").read_bytes()
    for length in range(4, (len(fasttext.wv) + fasttext.wv.bucket) * fasttext.vector_size * 4):
        path = write(tmp_path, "cut.bin", whole[:length])
        with pytest.raises(VectorsError, match=r"cannot be read as word vectors: \w"):
            load_vectors(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("missing.bin", "There is no vectors file missing.bin. Give"),
        ("MISSING.VEC", "There is no vectors file MISSING.VEC. Give"),
        ("nowhere/glove", "There is no vectors file nowhere/glove. Give"),
        (".", "is a folder, or no regular file. Give"),
        ("/dev/zero", "is a folder, or no regular file. Give"),
        ("x" * 5000, "cannot be opened .*too long"),
    ],
)
def test_no_such_file(source: str, message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        load_vectors(source)


@pytest.mark.parametrize("error", [URLError("no route to host"), IncompleteRead(b"no route")])
@pytest.mark.parametrize("broken", ["info", "load"])
def test_name_without_network(
    monkeypatch: pytest.MonkeyPatch, broken: str, error: Exception
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(gensim.downloader, "info", lambda **_: {"models": {"glove-x": {}}})
    monkeypatch.setattr(gensim.downloader, broken, refuse)
    said: list[str] = []
    with pytest.raises(
        VectorsError, match=r"no file glove-x.*(?:no route|Incomplete).*Give a whole"
    ):
        load_vectors("glove-x", said.append)
    assert said == ["looking for glove-x in gensim-data"]


def test_gensim_data_is_loaded_without_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    write(tmp_path / "a", "a.gz", gzip.compress(TEXT, mtime=0))
    (tmp_path / "a" / "__init__.py").write_text("raise AssertionError('run')")
    monkeypatch.setattr(gensim.downloader, "BASE_DIR", str(tmp_path))
    models = {"a": {"file_name": "a.gz"}, "b": {}}

    def info(name: str | None = None, **_: object) -> dict[str, object]:
        return {"models": models, "corpora": {}} if name is None else models[name]

    monkeypatch.setattr(gensim.downloader, "info", info)
    assert load_vectors("a")["the"].tolist() == VALUES["the"]
    with pytest.raises(VectorsError, match=r"There is no file c, and .* it has a, b\. Give"):
        load_vectors("c")


def test_no_download_without_network_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        gensim.downloader, "info", lambda **_: pytest.fail("a look-up in gensim-data")
    )
    monkeypatch.setenv("ICAPS_NETWORK", "never")
    with pytest.raises(VectorsError, match=r"no file a, and ICAPS_NETWORK forbids.*Give"):
        load_vectors("a")
    monkeypatch.setenv("ICAPS_NETWORK", "perhaps")
    with pytest.raises(ConfigError, match=r"ICAPS_NETWORK is 'perhaps'; it must be 'ask'"):
        load_vectors("a")


def test_a_word_is_looked_up_before_its_lower_case() -> None:
    vectors = keyed({"The": [1, 2], "the": [3, 4], "cat": [5, 6]})
    aligned = align_vectors(vectors, vocabulary(The=4, the=3, Cat=2, THE=2, Zebra=1))
    assert aligned.matrix.tolist() == [[0, 0], [0, 0], [1, 2], [3, 4], [5, 6], [3, 4], [0, 0]]
    assert aligned.matrix.dtype == np.float32
    assert aligned.found.tolist() == [False, False, True, True, True, True, False]


def test_coverage_by_hand() -> None:
    aligned = align_vectors(keyed({"a": [1], "b": [2]}), vocabulary(a=20, B=5, c=3, d=2))
    assert aligned.vocabulary_coverage == 0.5  # a and b of a, B, c, d
    assert aligned.token_coverage == 25 / 40  # 10 running words are of no word of the vocabulary
    nothing = align_vectors(keyed({"a": [1]}), Vocabulary(("<pad>", "<unk>"), (0, 0)))
    assert (nothing.vocabulary_coverage, nothing.token_coverage) == (0.0, 0.0)


def test_special_words_are_never_looked_up() -> None:
    vectors = keyed({"<pad>": [7], "<unk>": [8], "a": [1]})
    aligned = align_vectors(vectors, vocabulary(a=1))
    assert aligned.matrix.tolist() == [[0], [0], [1]]
    assert aligned.found.tolist() == [False, False, True]


def test_vectors_of_missing_words_are_zeros() -> None:
    assert not align_vectors(keyed({"a": [1]}), vocabulary(z=1)).matrix.any()


def test_fasttext_composes_what_it_lacks(fasttext: FastText) -> None:
    aligned = align_vectors(fasttext.wv, vocabulary(cat=1, Cat=1, catty=1))
    assert aligned.found.tolist() == [False, False, True, True, True]
    assert not aligned.matrix[:2].any()
    for row, word in ((2, "cat"), (3, "cat"), (4, "catty")):
        np.testing.assert_allclose(aligned.matrix[row], fasttext.wv[word], atol=1e-4)


def test_word_too_short_to_compose_is_not_found() -> None:
    model = FastText(SENTENCES, vector_size=4, min_count=1, min_n=4, bucket=50, workers=1)
    assert align_vectors(model.wv, vocabulary(q=1)).found.tolist() == [False] * 3


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e30])
def test_vectors_that_are_not_finite(value: float) -> None:
    vectors = keyed({"bad": [value], "a": [1]})
    with pytest.raises(VectorsError, match="vector of 'bad' has a number that is not finite"):
        align_vectors(vectors, vocabulary(a=1, bad=1))
    assert align_vectors(vectors, vocabulary(a=1)).found[2]


TRAIN = f"""
from icaps.text.vectors import train_vectors
vectors = train_vectors({SENTENCES!r}, 5, seed=3)
print(vectors.index_to_key, vectors.vectors.tobytes().hex())
"""


def trained_elsewhere(hash_seed: str) -> str:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", TRAIN]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_training_follows_its_seed_alone() -> None:
    first, again, other = (train_vectors(SENTENCES, 5, seed=seed) for seed in (3, 3, 4))
    assert sorted(first.index_to_key) == ["bird", "cat", "dog"]
    assert first.vectors.shape == (3, 5)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    assert (first.vectors != other.vectors).any()
    here = f"{first.index_to_key} {first.vectors.tobytes().hex()}\n"
    assert trained_elsewhere("1") == trained_elsewhere("2") == here


def test_training_on_more_text_than_one_batch_of_gensim_follows_its_seed() -> None:
    first, again = (train_vectors(SENTENCES * 500, 5, seed=3) for _ in range(2))
    np.testing.assert_array_equal(first.vectors, again.vectors)


@pytest.mark.parametrize("sentences", [[], [[]]])
def test_training_needs_words(sentences: list[list[str]]) -> None:
    with pytest.raises(VectorsError, match="The texts have no word to train vectors on; give"):
        train_vectors(sentences, 5, seed=0)


def test_import_is_light() -> None:
    code = "import sys, icaps.text.vectors; sys.exit('gensim' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.shared_data
def test_shared_glove(shared_dir: Path) -> None:
    vectors = load_vectors(shared_dir / "vectors" / "glove-100d.bin")
    assert vectors.vector_size == 100
    assert "the" in vectors
    aligned = align_vectors(vectors, vocabulary(The=3, oil=1))
    assert aligned.token_coverage == 4 / 14


def test_vectors_are_scaled_to_one_length() -> None:
    rows = np.array([[0, 0, 0, 0], [30, 40, 0, 0], [0, 0, 0.001, 0]], dtype=np.float32)
    # Of length 0.5 sqrt(4): 0.6 and 0.8, which are 38.4 and 51.2 steps of 1/64.
    expected = [[0, 0, 0, 0], [38 / 64, 51 / 64, 0, 0], [0, 0, 1, 0]]
    np.testing.assert_array_equal(equal_lengths(rows), expected)


def test_largest_number_of_a_vector_fits_a_byte() -> None:
    rows = np.eye(1, 100, dtype=np.float32) * [[-3]]  # alone, it would be 0.5 sqrt(100) = 5
    np.testing.assert_array_equal(equal_lengths(rows)[0, :2], [-127 / 64, 0])


ROWS = [(f"w{n}", [n / 4, -n / 8, 1.5]) for n in range(300)]


def as_text(rows: list[tuple[str, list[float]]], header: str = "300 3\n") -> bytes:
    return (header + "".join(f"{w} {' '.join(map(str, v))}\n" for w, v in rows)).encode()


def test_what_gzip_and_zip_hold_is_read_whatever_the_name(tmp_path: Path) -> None:
    expected = [vector for _, vector in ROWS]
    content = as_text(ROWS)
    packed = tmp_path / "one.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("__MACOSX/._a.txt", b"x")
        archive.writestr("deep/a.txt", content)
    two = tmp_path / "two.zip"
    with zipfile.ZipFile(two, "w") as archive:
        archive.writestr("a.txt", content)
        archive.writestr("b.txt", content)
    for path in (
        write(tmp_path, "gzipped.txt", gzip.compress(content)),
        write(tmp_path, "plain.gz", content),
        packed,
        two / "b.txt",
    ):
        assert load_vectors(path).vectors.tolist() == expected
    with pytest.raises(
        VectorsError, match=r"of 2 files; name one of them, such as .*two.zip/a.txt"
    ):
        load_vectors(two)


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (b"\n", "line 12: it is blank"),
        (b"  1 2 3\n", "line 12: its word is blank"),
        (b"\t 1 2 3\n", "line 12: its word is blank"),
        (b"odd 1 2\n", "line 12: it has not 3 numbers after the word"),
        (b"odd 1 2 3 4\n", "line 12: it has not 3 numbers after the word"),
        (b"odd 1 2,5 3\n", "line 12: '2,5' is not a number; write numbers with a point"),
        (b"caf\xe9 1 2 3\n", "line 12: its word is not UTF-8"),
    ],
)
def test_a_single_odd_row_is_left_out_and_counted(tmp_path: Path, odd: bytes, reason: str) -> None:
    lines = as_text(ROWS).splitlines(keepends=True)
    said: list[str] = []
    path = write(tmp_path, "v.vec", b"".join([*lines[:11], odd, *lines[11:]]))
    assert load_vectors(path, said.append).vectors.tolist() == [vector for _, vector in ROWS]
    (line,) = said
    assert "1 of 30" in line
    assert reason in line
    lines[1:3] = [odd, odd]  # the first rows decide
    with pytest.raises(VectorsError, match=re.escape(reason.replace("12", "2"))):
        load_vectors(write(tmp_path, "v.vec", b"".join(lines)))


def test_binary_and_text_are_told_by_the_first_rows(tmp_path: Path) -> None:
    vectors = KeyedVectors(3)
    vectors.add_vectors([word for word, _ in ROWS], np.array([v for _, v in ROWS], np.float32))
    for binary in (False, True):
        path = tmp_path / "v"
        vectors.save_word2vec_format(str(path), binary=binary)
        assert load_vectors(path).vectors.tolist() == [vector for _, vector in ROWS]
    for header in ("300 4\n", "300 2\n"):
        with pytest.raises(VectorsError, match=r"line 2: it has not [24] numbers after the word"):
            load_vectors(write(tmp_path, "v", as_text(ROWS, header)))
