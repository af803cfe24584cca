"""Rows as the bytes of a CSV, JSON Lines or Parquet file."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from icaps.errors import ConfigError

KINDS = ("csv", "jsonl", "parquet")


def table_bytes(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], kind: str) -> bytes:
    """The rows as a file; lists are JSON in CSV.

    Args:
        rows: The rows, with a value per column.
        columns: The names of the columns, in their order.
        kind: One of KINDS.

    Raises:
        ConfigError: There is no such kind.
    """
    if kind not in KINDS:
        raise ConfigError(f"Labels cannot be exported as {kind!r}; choose {', '.join(KINDS)}.")
    if kind == "jsonl":
        lines = (json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows)
        return "".join(lines).encode("utf-8", "surrogatepass")
    table = pd.DataFrame([dict(row) for row in rows], columns=list(columns))
    if kind == "csv":
        for name in columns:
            table[name] = [
                json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
                for value in table[name]
            ]
        return str(table.to_csv(index=False)).encode("utf-8", "surrogatepass")
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()
