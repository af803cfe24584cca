"""What the service accepts: sizes of requests and answers, and how much may wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a request may ask for, and how much may wait.

    Attributes:
        texts: Number of texts of a request.
        characters: Characters of a text.
        body: Bytes of a request.
        bodies: Bytes of all requests that are not answered yet.
        seconds: Time in which the body of a request must arrive.
        answer: Bytes of an answer.
        waiting: Number of texts, of all requests to a model, that may wait.
    """

    texts: int = 256
    characters: int = 100_000
    body: int = 8_000_000
    bodies: int = 64_000_000
    seconds: float = 30
    answer: int = 32_000_000
    waiting: int = 10_000


DEFAULTS = Limits()
