import io

import pytest

from icaps.data.problems import UnclearEncodingError
from icaps.data.text_lines import read_lines, split_lines

LINES = ["one line", "", "déjà vu “quoted”", "it ends"]


def lines(data: bytes, encoding: str | None = None) -> list[str]:
    return list(read_lines(io.BytesIO(data), encoding))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("ended", [True, False])
def test_encodings_and_line_ends(encoding: str, end: str, ended: bool) -> None:
    text = end.join([*LINES, ""] if ended else LINES)
    assert lines(text.encode(encoding)) == LINES
    assert split_lines("\ufeff" + text) == LINES


def test_separators_that_are_no_line_ends() -> None:
    odd = ["a\u2028b", "c\x85d", "e\x0bf\x0cg", "h\x1ci"]
    assert lines("\n".join(odd).encode()) == odd
    assert split_lines("\n".join(odd)) == odd


def test_each_line_comes_when_it_was_read() -> None:
    stream = io.BytesIO(b"one\ntwo\n")
    assert next(read_lines(stream)) == "one"
    assert stream.read() == b"two\n"


def test_other_encodings_are_named_or_asked_about() -> None:
    polish = "plain\nzażółć gęślą jaźń\n".encode("cp1250")
    with pytest.raises(UnclearEncodingError, match=r"line 2 is neither UTF-8 .* one of cp1250"):
        lines(polish)
    assert lines(polish, "cp1250") == ["plain", "zażółć gęślą jaźń"]
