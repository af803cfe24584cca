"""The limits that the settings set, where each is enforced."""

import io
import logging
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from streamlit import config

from dashboard import file_access, quotas, tasks
from dashboard.cache import at_once
from dashboard.many import table
from dashboard.quotas import NotAllowedError, Rate
from icaps.data.saved_slices import Slice
from icaps.data.uploads import delete_old, store_upload, uploads
from icaps.runs.folder import QUEUED, Status
from tests.dashboard.run_folders import at_work, done, open_page, write_run
from tests.dashboard.visitor import errors, open_app, run, type_text, verdict

CSV = b"text,label\nsome words,a\nother words,b\n"
Allow = Callable[..., None]


@pytest.fixture
def allow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Allow:
    """Writes settings that hold from then on."""
    path = tmp_path / "settings.toml"
    monkeypatch.setenv("ICAPS_SETTINGS", str(path))
    path.touch()

    def write(**values: object) -> None:
        lines = [f"{key} = {str(value).lower()}\n" for key, value in values.items()]
        path.write_text("".join(lines).replace("'", '"'))

    return write


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ICAPS_DATA", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def at_any_address() -> Iterator[None]:
    config.set_option("server.address", "0.0.0.0")
    yield
    config.set_option("server.address", "localhost")


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(NotAllowedError) as caught:
        action()
    return str(caught.value)


def test_a_rate_counts_the_last_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(quotas.time, "monotonic", lambda: now[0])
    rate = Rate()
    assert [rate.take(2) for _ in range(2)] == [0, 0]
    now[0] += 10
    assert rate.take(2) == 50  # until the first is a minute ago
    now[0] += 49.5
    assert rate.take(2) == 0.5
    now[0] += 0.5
    assert [rate.take(2) for _ in range(2)] == [0, 0]  # both were at the same time
    assert rate.take(3) == 0


def test_texts_and_tables(allow: Allow) -> None:
    allow(text_characters=10, table_rows=2)
    quotas.text("x" * 10)
    assert refused(lambda: quotas.text("x" * 11)).startswith(
        "The text has 11 characters, and the limit is 10. Shorten it"
    )
    assert table.from_lines("a\nb") == ("a", "b")
    assert "These are 3 texts, and the limit is 2" in refused(lambda: table.from_lines("a\nb\nc"))
    assert "Text 2 has 12 characters" in refused(lambda: table.from_lines("a\n" + "x" * 12))


def test_a_link_with_a_long_text_is_cut(allow: Allow) -> None:
    allow(text_characters=12)
    at = open_app(text="bake bread and more", model="small")
    assert at.text_area(key="text").value == "bake bread a"
    assert not at.error


def test_requests_of_one_visitor_and_of_all(allow: Allow) -> None:
    allow(requests_per_minute=2, requests_per_minute_together=3)
    first = open_app()
    type_text(first, "bake bread")
    assert not first.error
    type_text(first, "prune the rose")
    assert errors(first)[0].startswith("Too many requests; try again in ")
    type_text(first, "bake bread")  # which is known
    assert not first.error
    assert verdict(first) == "Cooking"
    second = type_text(open_app(), "sail the tide")  # the first text is known
    assert not second.error
    third = type_text(open_app(), "weeds in the soil")
    assert errors(third)[0].startswith("Too many requests of all visitors; try again in ")


def test_uploads(allow: Allow, cache: Path) -> None:
    allow(upload_mb=1, uploads_mb=1)
    quotas.upload(2**20)
    assert "The file has 1.0 MB, and the limit is 1 MB" in refused(lambda: quotas.upload(2**20 + 1))
    store_upload("a.csv", io.BytesIO(CSV))
    assert "There is no space for this file" in refused(lambda: quotas.upload(2**20))
    config.set_option("server.maxUploadSize", 200)
    allow(upload_mb=500)
    assert quotas.upload_mb() == 200  # Streamlit's own limit is the lower one


def test_old_uploads_are_deleted_when_another_comes(allow: Allow, cache: Path) -> None:
    day = 86_400
    old, new = (store_upload(f"{name}.csv", io.BytesIO(CSV + name.encode())) for name in "ab")
    left = cache / "uploads" / ".abandoned"
    left.write_bytes(b"x")
    (cache / "uploads" / ".fresh").write_bytes(b"x")
    for path, days in ((old, 8), (new, 6), (left, 2)):
        os.utime(path, (path.stat().st_mtime - days * day,) * 2)
    quotas.upload(1)  # by default they stay
    assert {upload.path for upload in uploads()} == {old, new}
    assert not left.exists()
    allow(uploads_days=7)
    quotas.upload(1)
    assert [upload.path for upload in uploads()] == [new]
    assert (cache / "uploads" / ".fresh").exists()
    assert delete_old(timedelta(days=5)) == 1


def test_slices(allow: Allow, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(slices=2)
    monkeypatch.setattr(quotas, "slices", lambda: [Slice("a", cache, 1, {})])
    quotas.new_slice()
    monkeypatch.setattr(quotas, "slices", lambda: [Slice("a", cache, 1, {})] * 2)
    assert refused(quotas.new_slice).startswith("There are 2 slices already. Delete one")


def test_trainings_kept_and_waiting(allow: Allow, models: Path) -> None:
    allow(runs=3, jobs_waiting=1)
    write_run(models, "one", done())
    quotas.new_run(models)
    with at_work(write_run(models, "two", Status(QUEUED, 1))):
        assert refused(lambda: quotas.new_run(models)).startswith("1 trainings are queued already")
        assert "are queued already" in refused(lambda: quotas.waiting(models))
    quotas.new_run(models)
    write_run(models, "three", done())
    assert "There are 3 trainings already" in refused(lambda: quotas.new_run(models))
    quotas.waiting(models)  # one of them may be resumed


def test_tasks_at_a_time_and_those_that_are_remembered(
    allow: Allow, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fake:
        def __init__(self, arguments: tuple[str, ...]) -> None:
            self.running = arguments[0] == "on"

    monkeypatch.setattr(tasks, "Task", Fake)
    monkeypatch.setattr(tasks, "_TASKS", 3)
    allow(tasks=1)
    for number in range(5):
        tasks.start((str(number),))
    assert [key for key, _ in tasks.started().items()] == [("2",), ("3",), ("4",)]
    tasks.start(("on",))
    assert refused(lambda: tasks.start(("5",))).startswith("1 of these are running already")
    assert tasks.started().get(("on",)) is not None


def test_every_place_where_its_owner_alone_comes(cache: Path) -> None:
    assert not file_access.confined()
    for value in ("/etc/passwd", "ag_news", "owner/name", "../x"):
        file_access.check_data(value)
        file_access.check_vectors(value)


def test_no_other_places_where_strangers_come(
    allow: Allow, cache: Path, tmp_path: Path, at_any_address: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.csv"
    root.mkdir()
    for path in (root / "a.csv", outside, tmp_path / "root2.csv"):
        path.write_bytes(CSV)
    (root / "link.csv").symlink_to(outside)
    stored = store_upload("a.csv", io.BytesIO(CSV))
    monkeypatch.chdir(tmp_path)
    assert file_access.confined()
    allow(data_roots=[str(root)])
    for value in (
        str(root / "a.csv"),
        "root/a.csv",
        str(root),
        str(stored),
        "synthetic",
        "ag_news",
    ):
        file_access.check_data(value)
    file_access.check_data("owner/name")  # which may be downloaded
    wrong = ("/etc/passwd", str(outside), f"{root}/../outside.csv", "root/link.csv", "outside.csv")
    wrong += (str(tmp_path / "root2.csv"), "/", "..", ".", "a\0b", "nowhere.csv", "x" * 5_000)
    for value in wrong:
        assert "may not be read here" in refused(lambda value=value: file_access.check_data(value))
        assert f"or a file in {root}." in refused(lambda value=value: file_access.check_data(value))
    (tmp_path / "root3").mkdir()
    (tmp_path / "root3" / "name").write_bytes(CSV)
    assert refused(lambda: file_access.check_data("root3/name"))  # a path, and no name of the Hub
    for value in ("texts", "glove-twitter-25", str(root / "v.bin")):
        file_access.check_vectors(value)
    for value in ("/etc/passwd", "outside.csv", "v.bin", "../v", "a/b"):
        assert refused(lambda value=value: file_access.check_vectors(value))
    allow(data_roots=[str(root)], network="'never'")
    for value in ("owner/name", "ag_news"):
        assert refused(lambda value=value: file_access.check_data(value))
    file_access.check_data("synthetic")
    assert refused(lambda: file_access.check_vectors("glove-twitter-25"))


@pytest.mark.parametrize("address", ["", "0.0.0.0", "192.168.1.5", "::", "example.org"])
def test_what_others_can_reach_is_confined(address: str) -> None:
    config.set_option("server.address", address)
    assert file_access.confined()
    for own in ("localhost", "127.0.0.1", "127.9.9.9", "::1"):
        config.set_option("server.address", own)
        assert not file_access.confined()


def test_a_link_reaches_no_file_outside(
    allow: Allow,
    cache: Path,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(at_once, "TEXTS", 0)  # the first rows are shown, and nothing else
    secret = tmp_path / "secret.csv"
    secret.write_bytes(b"text,label\nQUILLMARSH one,a\nQUILLMARSH two,b\n")
    assert open_page("datasets", data=str(secret)).dataframe[0].value["text"][0] == "QUILLMARSH one"
    allow(confined=True)
    with caplog.at_level(logging.INFO, "icaps.dashboard"):
        at = open_page("datasets", data=str(secret))
    assert "may not be read here" in errors(at)[0]
    assert not at.dataframe
    facts = [record.facts for record in caplog.records if record.name == "icaps.dashboard"]
    assert {"event": "refused", "limit": "places"}.items() <= facts[0].items()


def test_the_launcher_reads_and_starts_nothing_outside(
    allow: Allow, cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.csv").write_bytes(CSV)
    allow(confined=True)
    at = open_page("train")
    at.session_state["launcher"] = True
    at.session_state["launch data"] = "A path or a name …"
    at.session_state["launch path"] = str(tmp_path / "secret.csv")
    assert "may not be read here" in errors(run(at))[0]
    assert not [button for button in at.button if button.key == "launch start"]
