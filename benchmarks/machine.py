"""The machine that figures come from, and what a process takes of its memory (Linux)."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch


def machine() -> str:
    """Its processor, the threads that torch uses, and the versions of Python and torch."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return (
        f"{model}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def peak() -> float:
    """Megabytes that this process had at its peak.

    `ru_maxrss` would begin with what the process that started this one had then.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
