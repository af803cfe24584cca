"""Random hostile inputs from a seed: texts, files, checkpoints, links, requests and messages."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import shutil
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

PIECES = (
    *("", " ", "\t", "\n", "\r\n", "\r", "\x00", "\x0b", "\x1b[31m", "\x7f", "\x85", "\u2028"),
    *("\ufeff", "\u200b", "\u200f", "\u202e", "\u2066", "\ud800", "\udfff", "\ufffd", "\uffff"),
    *(
        "e\u0301",
        "\u0301" * 50,
        "👩\u200d👩\u200d👧",
        "🇩🇪",
        "नमस्ते",
        "שלום",
        "漢字かな",
        "ﷺ",
        "İi",
        "ß",
    ),
    *("<b>", "</div>", "<script>alert(1)</script>", "&amp;", "&#0;", '"', "'", "`", "$x$", "$$"),
    *("**a**", ":smile:", "[a](javascript:b)", "{{7*7}}", "${7*7}", "%s%n", "%00", "\\", "\\u0000"),
    *("../../etc/passwd", "C:\\aux", "file:///etc/passwd", "=1+1", "@a", "-rf", "' OR 1=1 --"),
    *(
        "a" * 5_000,
        "1" * 400,
        "0.1e999",
        "-1",
        "NaN",
        "<unk>",
        "<pad>",
        "oil prices",
        "The striker.",
    ),
)
_SENTENCE = "shares rose after the bank said profits would fall while the striker missed a penalty"
_SUFFIXES = (".csv", ".tsv", ".json", ".jsonl", ".txt", ".parquet", ".arrow", ".gz", ".zip", "")
_PAGES = ("explain", "many", "capsules", "queries", "datasets", "label", "train")
_KEYS = (
    *("text", "model", "target", "k1", "k2", "sentences", "capsule", "cell_class", "run", "data"),
    *("", "page", "embed"),
)


def text(rng: random.Random) -> str:
    """A random text of words, unusual pieces and arbitrary characters; sometimes long."""
    parts = []
    for _ in range(rng.choice((0, 1, 3, 10, 40))):
        kind = rng.random()
        if kind < 0.5:
            parts.append(rng.choice(_SENTENCE.split()))
        elif kind < 0.9:
            parts.append(rng.choice(PIECES))
        else:
            parts.append("".join(chr(rng.randrange(0x110000)) for _ in range(rng.randint(1, 8))))
    made = rng.choice(("", " ", " ", "\n")).join(parts)
    return made * 20 if rng.random() < 0.01 else made


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The content with some bytes changed, deleted, duplicated or inserted."""
    found = bytearray(content)
    for _ in range(rng.choice((1, 1, 2, 5, 20))):
        place = rng.randrange(len(found) + 1)
        size = rng.choice((1, 1, 4, 50))
        change = rng.randrange(6)
        if change == 0:
            found[place : place + size] = rng.randbytes(size)
        elif change == 1:
            del found[place : place + size]
        elif change == 2:
            found[place:place] = found[place : place + size] * rng.choice((1, 2, 30))
        elif change == 3:
            found[place:place] = rng.choice(PIECES).encode(errors="surrogatepass")
        elif change == 4:
            found[place : place + size] = bytes(size)
        else:
            del found[place:]
    return bytes(found)


def data_files() -> dict[str, bytes]:
    """Valid data files of each format, by name."""
    rows = [
        (_SENTENCE, "a"),
        ('a "quoted", text', "b"),
        ("line\nend", "a"),
        ("naïve café", "c"),
    ] * 4
    table = pa.table({"text": [row[0] for row in rows], "label": [row[1] for row in rows]})
    csv = "text,label\n" + "".join(f'"{t.replace(chr(34), chr(34) * 2)}",{c}\n' for t, c in rows)
    plain = [t.replace("\n", " ") for t, _ in rows]
    objects = [{"text": t, "label": c} for t, c in rows]
    lines = "".join(json.dumps(found) + "\n" for found in objects)
    sets = [["a"], ["a", "b"], [], ["c"]] * 4
    lists = [{"text": t, "label": names} for (t, _), names in zip(rows, sets, strict=True)]
    flags = [",".join(str(int(name in names)) for name in "abc") for names in sets]
    columns = "".join(f"{_SENTENCE},{row}\n" for row in flags)
    parquet, arrow = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    feather.write_feather(table, arrow)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("texts.csv", csv)
    tasks = [
        {"data": {"text": t}, "annotations": [_choice(c)] * (1 + n % 2)}
        for n, (t, c) in enumerate(rows)
    ]
    answers = "".join(json.dumps(found | {"answer": "accept"}) + "\n" for found in objects)
    return {
        "a.csv": csv.encode(),
        "b.csv": csv.encode("utf-16"),
        "c.csv": csv.encode("cp1252"),
        "d.tsv": "".join(f"{t}\t{c[1]}\n" for t, c in zip(plain, rows, strict=True)).encode(),
        "e.json": json.dumps(objects).encode(),
        "f.jsonl": lines.encode(),
        "g.parquet": parquet.getvalue(),
        "h.arrow": arrow.getvalue(),
        "i.txt": "".join(f"__label__{c[1]} {t}\n" for t, c in zip(plain, rows)).encode(),  # noqa: B905
        "j.csv.gz": gzip.compress(csv.encode(), mtime=0),
        "k.csv.bz2": bz2.compress(csv.encode()),
        "l.csv.xz": lzma.compress(csv.encode()),
        "m.zip": packed.getvalue(),
        "n.jsonl": "".join(json.dumps(found) + "\n" for found in lists).encode(),
        "o.csv": f"text,a,b,c\n{columns}".encode(),
        "p.json": json.dumps(tasks).encode(),
        "q.jsonl": answers.encode(),
    }


def _choice(name: str) -> dict[str, Any]:
    """An annotation of Label Studio."""
    result = {"from_name": "label", "type": "choices", "value": {"choices": [name]}}
    return {"was_cancelled": False, "result": [result]}


def write_data(folder: Path, seeds: dict[str, bytes], rng: random.Random) -> Path:
    """Writes a mutated seed under a random suffix, or something that is not a file."""
    name, content = rng.choice(list(seeds.items()))
    stem, _, suffix = name.partition(".")
    path = folder / f"{stem}{rng.choice(_SUFFIXES) if rng.random() < 0.2 else '.' + suffix}"
    kind = rng.random()
    if kind < 0.02:
        os.mkfifo(path)
    elif kind < 0.04:
        path.symlink_to(path)  # to itself
    elif kind < 0.07:
        (path / "a").mkdir(parents=True)
        (path / "a" / "1.txt").write_bytes(mutated(content, rng))
        os.mkfifo(path / "a" / "2.txt")
    else:
        path.write_bytes(mutated(content, rng))
    return path


def reading(rng: random.Random) -> dict[str, object]:
    """Random options of `open_source`, valid and invalid."""
    found: dict[str, object] = {}
    if rng.random() < 0.2:
        found["encoding"] = rng.choice(("utf-8", "utf-16", "cp1252", "nonsense", "rot13", "\0"))
    if rng.random() < 0.2:
        found["delimiter"] = rng.choice((",", "\t", ";", "", ",,", '"', "\n", "é"))
    if rng.random() < 0.2:
        found["text"] = rng.choice(("text", "1", "nothing", ["text", "label"], "\ud800"))
    if rng.random() < 0.2:
        found["label"] = rng.choice(("label", "2", "nothing", "text", ["label", "text"], []))
    if rng.random() < 0.2:
        found["label_separator"] = rng.choice((";", ",", "", "\n", " ", "\ud800"))
    if rng.random() < 0.2:
        found["multilabel"] = rng.choice((True, False, None))
    return found


def damaged_lines(objects: Sequence[Mapping[str, Any]], rng: random.Random) -> bytes:
    """JSON Lines of which some are damaged, cut off, repeated, huge or in another encoding."""
    lines = [
        damaged_object(one, rng) if rng.random() < 0.05 else json.dumps(one).encode()
        for one in objects
    ]
    content = b"".join(line + b"\n" for line in lines)
    kind = rng.random()
    if kind < 0.1:
        return mutated(content, rng)
    if kind < 0.2:
        return content[: rng.randrange(len(content))]
    if kind < 0.25:
        return content + json.dumps({**objects[0], "text": "x" * 1_000_000}).encode() + b"\n"
    if kind < 0.3:
        return content.decode(errors="replace").encode(rng.choice(("utf-16", "cp500")), "replace")
    return content * 2 if kind < 0.4 else content


def damage_folder(folder: Path, rng: random.Random) -> None:
    """Damages one or two files of a checkpoint, or of another folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    for path in rng.sample(files, rng.choice((1, 1, 2))):
        rng.choice(_DAMAGES)(path, rng)


def _damage_bytes(path: Path, rng: random.Random) -> None:
    path.write_bytes(mutated(path.read_bytes(), rng))


def _damage_json(path: Path, rng: random.Random) -> None:
    """Replaces a value in a JSON object; bytes of other files."""
    if path.suffix != ".json":
        _damage_bytes(path, rng)
        return
    values = json.loads(path.read_text(encoding="utf-8"))
    place = values
    while isinstance(place, dict) and place:
        key = rng.choice(list(place))
        if not isinstance(place[key], dict) or rng.random() < 0.2:
            place[key] = rng.choice(_VALUES)
            break
        place = place[key]
    path.write_text(json.dumps(values), encoding="utf-8")


def _damage_kind(path: Path, rng: random.Random) -> None:
    """Deletes the file, or replaces it by a folder, a pipe or a link."""
    path.unlink()
    kind = rng.randrange(4)
    if kind == 0:
        path.mkdir()
    elif kind == 1:
        os.mkfifo(path)
    elif kind == 2:
        path.symlink_to(path)


def _damage_lines(path: Path, rng: random.Random) -> None:
    """Shuffles the lines, and replaces, adds or removes some."""
    lines = path.read_bytes().split(b"\n")
    rng.shuffle(lines)
    lines[: rng.randrange(3)] = [rng.choice(PIECES).encode(errors="surrogatepass")]
    path.write_bytes(b"\n".join(lines))


_VALUES: tuple[object, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 10**30, 0.5, -0.5, 1e308, float("nan"), float("inf")),
    *("", "none", "\ud800", [], [1], {}, {"a": 1}, "gelu", "relu", 7, 3, 10**6),
)
_DAMAGES: tuple[Callable[[Path, random.Random], None], ...] = (
    *(_damage_bytes, _damage_bytes, _damage_json, _damage_json, _damage_json),
    *(_damage_kind, _damage_lines),
)

LABELS: tuple[dict[str, Any], ...] = (
    *(
        {
            "text": f"text {n}",
            "label": "ab"[n % 2],
            "before": "",
            "by": "person",
            "batch": f"{n // 3}",
        }
        for n in range(12)
    ),
    {"undo": "1"},
    {"undo": "2", "text": "text 7"},
)
MARKS: tuple[dict[str, Any], ...] = tuple(
    {"words": f"text {n} here".split(), "mask": [1, 0, n % 2], "label": "ab"[n % 2], "time": ""}
    for n in range(6)
)
_JSON_ENDS = (
    *(b"[" * 2_000, b'{"a":' * 2_000, b"[" * 100_000, b"1" * 5_000, b"1e999", b"NaN", b"-"),
    *(b"", b"null", b"[]", b"3", b'"a"', b"\xff\xfe", b"\xef\xbb\xbf{}", b"\x00", b'{"text"'),
)


def plain_value(rng: random.Random, depth: int = 3) -> Any:
    """A random value of JSON: strings of all kinds, numbers of any size, lists and objects."""
    kind = rng.random()
    if kind < 0.4 or not depth:
        return rng.choice((*_VALUES, text(rng)))
    size = rng.choice((0, 1, 2, 5, 40))
    if kind < 0.7:
        return [plain_value(rng, depth - 1) for _ in range(size)]
    return {rng.choice(PIECES): plain_value(rng, depth - 1) for _ in range(size)}


def damaged_object(good: Mapping[str, Any], rng: random.Random) -> bytes:
    """An object as JSON with some values replaced, added or left out, or with damaged bytes."""
    content = dict(good)
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        content[rng.choice((*good, *good, "", "__proto__", text(rng)[:50]))] = plain_value(rng)
    for name in rng.sample(sorted(content), rng.choice((0, 0, 0, 1)) if content else 0):
        del content[name]
    written = json.dumps(content, ensure_ascii=rng.random() < 0.5)
    encoded = written.encode(rng.choice(("utf-8",) * 9 + ("utf-16",)), errors="surrogatepass")
    kind = rng.random()
    if kind < 0.1:
        return mutated(encoded, rng)
    return rng.choice(_JSON_ENDS) if kind < 0.15 else encoded


def request(rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
    """A request to the service: its method, path, headers and body."""
    explain = rng.random() < 0.5
    good: dict[str, Any] = {"text": text(rng)}
    if rng.random() < 0.5:
        good = {"texts": [text(rng) for _ in range(rng.choice((0, 1, 3, 30)))]}
    if explain:
        good |= {"target": rng.choice((None, "Sports", text(rng)[:50])), "top_kgrams": 2}
        good["ranking"] = rng.choice(("routing", "account", "contribution"))
    method = rng.choice(("POST",) * 60 + ("GET", "HEAD", "PUT", "OPTIONS", "FROB"))
    path = "/explain" if explain else "/predict"
    if rng.random() < 0.1:
        path = rng.choice(
            ("/", "/docs", "/health", "/metrics", "/models", "/predict/", "//", "/../x")
        )
        path += rng.choice(("", "", "?a=b", "%00", "%ff", "/" * 500))
    kind = rng.choice(
        ("application/json",) * 40 + ("text/plain", "", "multipart/form-data", "a;b=\xff")
    )
    headers = {"content-type": kind}
    if rng.random() < 0.05:
        headers["content-encoding"] = rng.choice(("gzip", "identity", "br", "\xff"))
    body = damaged_object(good, rng)
    return method, path, headers, gzip.compress(body) if rng.random() < 0.02 else body


def message(rng: random.Random) -> bytes:
    """A line for the server of tools: JSON-RPC, damaged or not."""
    tool = rng.choice(
        ("predict", "explain", "evaluate", "check_data", "list_models", "", "__init__")
    )
    texts = [text(rng) for _ in range(rng.choice((0, 1, 3)))]
    arguments: dict[str, Any] = {"texts": texts, "model": rng.choice(("", "small", "none"))}
    if tool in ("evaluate", "check_data"):
        arguments = {"data": rng.choice((*_PLACES, text(rng)[:100])), "part": "test"}
    if rng.random() < 0.3:
        arguments[rng.choice((*arguments, "target", "x"))] = plain_value(rng)
    method = rng.choice(
        ("tools/call",) * 9 + ("tools/list", "initialize", "ping", "resources/read", "")
    )
    good = {"jsonrpc": "2.0", "id": rng.randrange(10**6), "method": method}
    good["params"] = {"name": tool, "arguments": arguments}
    return damaged_object(good, rng).replace(b"\n", b" ")


_PLACES = (
    *(
        "/etc/passwd",
        "/dev/zero",
        "/dev/stdin",
        "/proc/self/mem",
        "..",
        "/",
        "~",
        "~root",
        "~nobody/x",
    ),
    *("../../secret.csv", "*", "/etc/*", "a\0b", "news_sample", "x" * 5_000),
)


def link(rng: random.Random, values: tuple[str, ...]) -> tuple[str, dict[str, str]]:
    """A random page and query parameters; `values` are some that may be meaningful."""
    found = {}
    for _ in range(rng.randint(0, 5)):
        pool = rng.choice((values, PIECES, ("0", "1", "5", "99999", "-1", "1.5", "١", "1e3")))
        made = rng.choice(pool)
        found[rng.choice(_KEYS)] = made if rng.random() < 0.7 else made + text(rng)[:300]
    plain = {key: value.encode(errors="replace").decode() for key, value in found.items()}
    return rng.choice(_PAGES), plain


def empty(folder: Path) -> None:
    """Deletes the content of a folder."""
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
