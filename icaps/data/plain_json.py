"""JSON of files that users give."""

from __future__ import annotations

import json
from typing import Any


def parse_json(content: str | bytes) -> Any:
    """The value of JSON; ValueError for anything else, a value nested too deeply included."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("its values are nested too deeply") from error
