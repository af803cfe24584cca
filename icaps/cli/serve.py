"""The `icaps serve` command: an HTTP service of trained models."""

from __future__ import annotations

import argparse
import gc
import sys
from importlib.util import find_spec

from icaps.cli.options import Commands, add_models, model_folders
from icaps.errors import ConfigError


def add_parser(commands: Commands) -> None:
    """Adds `icaps serve`."""
    parser = commands.add_parser(
        "serve", help="serve models over HTTP: predict and explain as JSON"
    )
    add_models(parser)
    parser.add_argument("--host", default="127.0.0.1", help="address; this machine only by default")
    parser.add_argument("--port", type=int, default=8000, help="port; 8000 by default")
    parser.set_defaults(command=run)


def run(options: argparse.Namespace) -> int:
    """Serves until SIGINT or SIGTERM, then answers what was begun and ends."""
    missing = [name for name in ("fastapi", "prometheus_client", "uvicorn") if not find_spec(name)]
    if missing:
        raise ConfigError(f"{', '.join(missing)} is missing: pip install 'icaps[serve]'.")
    import uvicorn

    from icaps.service.app import create_app
    from icaps.trained_model import TrainedModel

    folders = model_folders(options)
    if not 0 < options.port < 65_536:
        raise ConfigError(f"--port is {options.port}; it must be from 1 to 65535.")
    models = {name: TrainedModel.load(folder) for name, folder in folders.items()}
    print(
        f"http://{options.host}:{options.port}/docs: {', '.join(models)}",
        file=sys.stderr,
        flush=True,
    )
    app = create_app(models)
    gc.collect()
    gc.freeze()  # what stays; to search it for garbage would stop all answers for 0.15 s
    uvicorn.run(
        app,
        host=options.host,
        port=options.port,
        log_level="warning",
        http="h11",  # httptools takes 0.1 ms less per request, but headers of any size
        timeout_graceful_shutdown=30,
    )
    return 0
