"""Description of the machine, and peak memory of the process (Linux)."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import torch


def machine() -> str:
    """The processor, the number of threads of torch, and the versions of Python and torch."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    return (
        f"{model}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"Python {platform.python_version()}, torch {torch.__version__}"
    )


def peak() -> float:
    """The peak resident memory of this process in megabytes.

    `ru_maxrss` would include the memory of the parent process at the time of the start.
    """
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024
