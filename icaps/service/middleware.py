"""What every request passes: the bounds of its body, and the metrics."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.process_collector import ProcessCollector
from starlette.exceptions import HTTPException

from icaps.service.errors import RETRY
from icaps.service.limits import Limits

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class BoundedBody:
    """Refuses bodies while they arrive: too large, too slow, compressed, or too many at once.

    A request holds its bytes until it is answered, so all that waits is bounded by them.
    """

    def __init__(self, app: Any, limits: Limits) -> None:
        self.app, self.limits = app, limits
        self.held = 0  # bytes of all requests

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on, with its body counted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limits, size, complete = self.limits, 0, False
        deadline = time.monotonic() + limits.seconds

        async def counted() -> Message:
            nonlocal size, complete
            if complete:  # the application waits for the client to go
                return await receive()
            if _is_compressed(scope):
                raise HTTPException(415, "A compressed request is not read; send it as it is.")
            try:
                message = await asyncio.wait_for(receive(), deadline - time.monotonic())
            except asyncio.TimeoutError as error:
                raise HTTPException(
                    408, f"The request did not arrive within {limits.seconds:g} seconds."
                ) from error
            arrived = len(message.get("body", b""))
            size += arrived
            self.held += arrived
            complete = not message.get("more_body", False)
            if size > limits.body:
                raise HTTPException(
                    413, f"The request is larger than {limits.body:,} bytes; send it in parts."
                )
            if self.held > limits.bodies:
                raise HTTPException(503, "Too many texts wait; try again in a second.", RETRY)
            return message

        try:
            await self.app(scope, counted, send)
        finally:
            self.held -= size


def _is_compressed(scope: Message) -> bool:
    return any(
        name == b"content-encoding" and value.strip().lower() not in (b"", b"identity")
        for name, value in scope["headers"]
    )


class Metrics:
    """Counts and times in Prometheus' format."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "icaps_requests_total", "Requests", ["path", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "icaps_request_seconds", "Seconds per request", ["path"], registry=self.registry
        )
        self.batches = Histogram(
            "icaps_batch_texts",
            "Texts per batch",
            ["model"],
            registry=self.registry,
            buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512),
        )


class Measured:
    """Counts requests by path and status, and measures their time."""

    def __init__(self, app: Any, metrics: Metrics, paths: set[str]) -> None:
        self.app, self.metrics, self.paths = app, metrics, paths

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on, with its answer noted."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"] if scope["path"] in self.paths else "other"  # of bounded number
        status, start = 500, time.perf_counter()

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            self.metrics.requests.labels(path, str(status)).inc()
            self.metrics.seconds.labels(path).observe(time.perf_counter() - start)
