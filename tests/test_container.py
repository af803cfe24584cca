"""The image and its composition, by linters: no engine runs here."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
LINES = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()


def lint(command: str, *arguments: str) -> str:
    """What a linter finds, which is nothing where all is well."""
    place = shutil.which(command, path=str(BIN)) or shutil.which(command)
    assert place, f"{command} is not installed"
    done = subprocess.run([place, *arguments], capture_output=True, text=True, cwd=ROOT)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def instructions(name: str) -> list[str]:
    """What follows an instruction of the Dockerfile, each time."""
    return [line.removeprefix(name).strip() for line in LINES if line.startswith(f"{name} ")]


def composition() -> dict[str, Any]:
    yaml = pytest.importorskip("ruamel.yaml")
    actual: dict[str, Any] = yaml.YAML(typ="safe", pure=True).load(ROOT / "compose.yaml")
    return actual


def test_the_linter_of_images_finds_nothing() -> None:
    assert lint("hadolint", "Dockerfile") == ""


def test_the_schema_of_compositions_is_kept(tmp_path: Path) -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")
    assert lint("check-jsonschema", *schema, "compose.yaml") == ""
    wrong = tmp_path / "compose.yaml"
    wrong.write_text((ROOT / "compose.yaml").read_text().replace("cap_drop", "cap_dropped"))
    assert "cap_dropped" in lint("check-jsonschema", *schema, str(wrong))


def test_what_is_copied_is_there_and_not_ignored() -> None:
    copied = {name for line in instructions("COPY") for name in line.split()[:-1]}
    assert {"icaps", "dashboard", "pages", "checkpoints", "requirements.txt"} <= copied
    assert all((ROOT / name).exists() for name in copied)
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == copied
    assert "dashboard/.streamlit/secrets.toml" in ignored  # no secret gets into an image


def test_the_image_has_the_versions_of_the_requirements() -> None:
    run = " ".join(instructions("RUN"))
    for file in ("requirements.txt", "requirements-login.txt"):
        assert f"--requirement {file}" in run
        pinned = (ROOT / file).read_text(encoding="utf-8").splitlines()
        assert all("==" in line for line in pinned)
    assert re.search(r"^torch==", (ROOT / "requirements.txt").read_text(), re.MULTILINE)
    assert not re.search(r"pip install [^-]*\w==", run)  # no version is said twice


def test_the_image_runs_without_rights_and_says_whether_it_is_well() -> None:
    assert int(instructions("USER")[-1]) > 0
    assert LINES.index("USER 10001") > max(n for n, x in enumerate(LINES) if x.startswith("RUN"))
    (check,) = instructions("HEALTHCHECK")
    assert "http://127.0.0.1:8501/health" in check
    (command,) = instructions("CMD")
    assert json.loads(command) == ["streamlit", "run", "/app/dashboard/Home.py"]


def test_the_composition_gives_no_more_than_is_needed() -> None:
    app = composition()["services"]["app"]
    assert app["read_only"] is True
    assert app["cap_drop"] == ["ALL"]
    assert app["security_opt"] == ["no-new-privileges:true"]
    assert app["mem_limit"]
    assert app["pids_limit"]
    assert not app.get("privileged")
    assert all(port.startswith("127.0.0.1:") for port in app["ports"])
    assert [volume for volume in app["volumes"] if not volume.endswith(":ro")] == ["data:/data"]
    assert app["logging"]["options"]["max-file"]
