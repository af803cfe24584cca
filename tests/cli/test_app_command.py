"""`icaps app` starts the dashboard from any folder, and ends with a signal."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx2 as httpx


def test_it_serves_from_another_folder(model_folder: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "icaps", "app", "--headless", "--port", str(port)]
    environment = {**os.environ, "ICAPS_MODELS": str(model_folder.parent)}
    environment["PYTHONPATH"] = str(Path(__file__).resolve().parents[2])
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        answer = {}
        for _ in range(900):
            try:
                answer = httpx.get(f"http://127.0.0.1:{port}/health", timeout=10).json()
                if answer["ok"]:
                    break
            except httpx.TransportError:
                assert process.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.1)
        assert answer["ok"], (tmp_path / "log").read_text()
        assert answer["models"] >= 1
        process.send_signal(signal.SIGTERM)
        process.wait(20)
    finally:
        process.kill()
