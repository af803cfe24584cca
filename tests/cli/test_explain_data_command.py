"""`icaps explain --data` as a process: killed, interrupted, resumed; and its options."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from icaps.bulk import explain_data
from icaps.bulk.options import BulkOptions
from icaps.bulk.parts import PartsFolder
from icaps.cli.main import main
from icaps.data.unlabelled import open_unlabelled
from tests.conftest import make_texts
from tests.in_process import run_here

ROWS, PART_ROWS = 4_000, 20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("many") / "texts.txt"
    texts = make_texts(ROWS, 2)[0]
    path.write_text("".join(f"{number} {text}\n" for number, text in enumerate(texts)))
    return path


def command(model: Path, data: Path, out: Path, jobs: int) -> list[str]:
    options = [
        "--data",
        str(data),
        "--out",
        str(out),
        "--jobs",
        str(jobs),
        "--part-rows",
        str(PART_ROWS),
    ]
    return [sys.executable, "-m", "icaps", "explain", "--model", str(model), *options]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def when_some_parts_are_done(arguments: list[str], out: Path, act: Callable[[int], None]) -> str:
    """Starts the command, acts on its process when a few parts are done; returns its messages."""
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, start_new_session=True) as process:
        while process.poll() is None and len(PartsFolder(out).done()) < 3:
            time.sleep(0.002)
        act(process.pid)
        _, errors = process.communicate(timeout=60)
    return errors.decode()


def test_a_killed_run_continues_to_the_same_file(
    model_folder: Path, data: Path, tmp_path: Path
) -> None:
    unbroken, out = tmp_path / "unbroken.parquet", tmp_path / "reasons.parquet"
    options = BulkOptions(part_rows=PART_ROWS)
    with pytest.MonkeyPatch.context() as patch:  # in this process, which has torch already
        patch.setattr(explain_data, "run_tasks", run_here)
        explain_data.explain_data(model_folder, open_unlabelled(data), unbroken, options)
    arguments = command(model_folder, data, out, 2)
    when_some_parts_are_done(arguments, out, lambda pid: os.kill(pid, signal.SIGKILL))
    assert not out.exists()
    assert 3 <= len(PartsFolder(out).done()) < ROWS // PART_ROWS
    resumed = subprocess.run(
        [*command(model_folder, data, out, 1), "--resume"], check=True, stderr=subprocess.PIPE
    )
    messages = resumed.stderr.decode()
    assert "parts are done already" in messages
    assert "texts/s" in messages
    assert f"{ROWS:,} rows in {out}" in messages
    assert digest(out) == digest(unbroken)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [out.name, unbroken.name]
    assert pq.read_metadata(out).num_rows == ROWS


def test_ctrl_c_stops_cleanly(model_folder: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "reasons.jsonl"
    arguments = command(model_folder, data, out, 1)
    errors = when_some_parts_are_done(arguments, out, lambda pid: os.killpg(pid, signal.SIGINT))
    assert "Traceback" not in errors
    assert f"what is done is in {out}.parts; continue with --resume" in errors
    assert errors.endswith("icaps: stopped\n")
    names = {file.name for file in PartsFolder(out).path.iterdir()}
    assert not [name for name in names if name.startswith("_part")]  # none is half written
    assert 3 <= len(PartsFolder(out).done()) < ROWS // PART_ROWS


def test_options_that_exclude_each_other(
    model_folder: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["explain", "--model", str(model_folder), "--data", str(data)]
    out = ["--out", str(tmp_path / "reasons.csv")]
    for arguments, message in (
        ([], "--out reasons.parquet"),
        ([*out, "a text"], "without a text"),
        ([*out, "--trust"], "without --trust"),
        ([*out, "--json-lines"], "without --json-lines"),
        ([*out, "--top-words", "0"], "top_words is 0"),
        ([*out, "--jobs", "0"], "jobs is 0"),
        ([*out, "--delimiter", "ab"], "must be one character"),
        ([*out, "--encoding", "morse"], "morse"),
        ([*out, "--text", "body"], "no column 'body'"),
    ):
        assert main([*base, *arguments]) == 2
        assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    for flags in (["--resume"], ["--keep", "id"], ["--top-words", "3"], ["--jobs", "2"]):
        assert main(["explain", "--model", str(model_folder), *flags, "soup"]) == 2
        assert f"{flags[0]} is about the rows of --data" in capsys.readouterr().err
