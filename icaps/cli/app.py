"""The `icaps app` command: the dashboard, from any folder."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path

from icaps.cli.options import Commands
from icaps.errors import ConfigError


def add_parser(commands: Commands) -> None:
    """Adds `icaps app`."""
    parser = commands.add_parser("app", help="start the dashboard; trainings go to ./runs")
    parser.add_argument("--port", type=int, default=8501, help="port; 8501 by default")
    parser.add_argument("--headless", action="store_true", help="open no browser")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Runs Streamlit until it is stopped.

    Its models are the shipped ones and those in ./runs, unless ICAPS_MODELS names other folders.
    """
    from icaps.shipped import CHECKPOINTS, HOME

    if not find_spec("streamlit"):
        raise ConfigError("streamlit is missing: pip install streamlit plotly.")
    own = Path("runs").resolve()
    os.environ.setdefault("ICAPS_MODELS", f"{CHECKPOINTS}{os.pathsep}{own}")
    arguments = ["--server.port", str(options.port)]
    arguments += ["--server.headless", "true"] if options.headless else []
    sys.argv = ["streamlit", "run", str(HOME), *arguments]
    runpy.run_module("streamlit", run_name="__main__")  # in this process, which gets its signals
    return 0
