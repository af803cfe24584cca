"""The HTTP application: paths, limits, errors, metrics and the OpenAPI description.

Answers are those of the library: `/explain` has `Explanation.to_dict`, `/predict` a part of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
)
from prometheus_client.process_collector import ProcessCollector
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from icaps.config import KGRAM_RANKINGS, ExplainOptions
from icaps.errors import ICapsError
from icaps.html import render_html
from icaps.service.batching import BatchedModel, OverloadedError, Result, describe
from icaps.trained_model import TrainedModel

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


@dataclass(frozen=True)
class Limits:
    """What a request may ask for, and how much may wait.

    Attributes:
        texts: Number of texts of a request.
        characters: Characters of a text.
        body: Bytes of a request.
        waiting: Number of texts, of all requests to a model, that may wait.
    """

    texts: int = 256
    characters: int = 100_000
    body: int = 8_000_000
    waiting: int = 10_000


class Texts(BaseModel):
    """One text, or several."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str | None = Field(None, description="One text; give this or `texts`.")
    texts: list[str] | None = Field(None, description="Several texts.")
    model: str | None = Field(None, description="Name of the model; may be left out for the first.")


class ToExplain(Texts):
    """Texts to explain, with the options of the explanation."""

    target: str | None = Field(None, description="Class to explain; the predicted one by default.")
    top_capsules: int = Field(2, ge=1, le=1000, description="Capsules that are shown (k1).")
    top_kgrams: int = Field(2, ge=1, le=1000, description="K-grams per capsule and sentence (k2).")
    top_sentences: int = Field(1, ge=1, le=1000, description="Sentences per capsule.")
    ranking: Literal["routing", "contribution", "account"] = Field(
        "account", description="What K-grams are ranked by."
    )


class Answers(BaseModel):
    """The name of the model, and one result per text, in their order."""

    model: str
    results: list[dict[str, Any]]


class Problem(BaseModel):
    """What is wrong, as a sentence."""

    error: str


assert set(KGRAM_RANKINGS) == {"routing", "contribution", "account"}
_ERRORS: dict[int | str, dict[str, Any]] = {
    404: {"model": Problem, "description": "There is no such model"},
    413: {"model": Problem, "description": "The request is too large"},
    422: {"model": Problem, "description": "The request has another form"},
    503: {"model": Problem, "description": "Too many texts wait"},
}


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


def create_app(models: Mapping[str, TrainedModel], limits: Limits = Limits()) -> FastAPI:
    """The application.

    Args:
        models: By name; the first one answers requests that name none.
        limits: Of requests and of what waits.
    """
    metrics = Metrics()
    batched = {
        name: BatchedModel(classifier, limits.waiting, metrics.batches.labels(name).observe)
        for name, classifier in models.items()
    }

    @asynccontextmanager
    async def answering(_: FastAPI) -> AsyncIterator[None]:
        workers = [asyncio.create_task(model.run()) for model in batched.values()]
        yield
        for worker in workers:
            worker.cancel()

    app = FastAPI(
        title="iCaps",
        description="Text classification with capsules that show their reasons.",
        version="1",
        lifespan=answering,
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(_Measured, metrics=metrics, paths={"/predict", "/explain", "/models"})
    app.add_middleware(_BoundedBody, limit=limits.body)
    _add_errors(app)

    async def answer(request: Texts, options: ExplainOptions | None) -> Answers:
        name = request.model or next(iter(batched))
        if name not in batched:
            raise HTTPException(404, f"There is no model {name!r}; choose {', '.join(batched)}.")
        texts = _texts(request, limits)
        results: list[Result] = await batched[name].answer(texts, options)
        return Answers(model=name, results=results)

    @app.post("/predict", responses=_ERRORS)
    async def predict(request: Texts) -> Answers:
        """The predicted class of each text, with norms and calibrated probabilities."""
        return await answer(request, None)

    @app.post("/explain", responses=_ERRORS)
    async def explain(request: ToExplain) -> Answers:
        """Why each text has its class: signed shares of words that add up to the score, K-grams."""
        names = ("target", "top_capsules", "top_kgrams", "top_sentences", "ranking")
        return await answer(
            request, ExplainOptions(**{name: getattr(request, name) for name in names})
        )

    @app.get("/models")
    async def list_models() -> dict[str, Any]:
        """The models, with their classes."""
        return describe(models)

    @app.get("/health")
    async def health() -> dict[str, Any]:
        """Whether the service answers."""
        return {"status": "ok", "models": list(models)}

    @app.get("/metrics", response_class=PlainTextResponse)
    async def show_metrics() -> PlainTextResponse:
        """Counts and times in Prometheus' format."""
        return PlainTextResponse(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return HTMLResponse(render_html("service.html.j2", api=app.openapi(), limits=limits))

    @app.get("/", include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse("/docs")

    return app


def _texts(request: Texts, limits: Limits) -> list[str]:
    """The texts of a request, within the limits."""
    if (request.text is None) == (request.texts is None):
        raise HTTPException(422, "Give either `text`, a string, or `texts`, a list of strings.")
    texts = [request.text] if request.texts is None else request.texts
    if len(texts) > limits.texts:
        raise HTTPException(
            413, f"{len(texts):,} texts are more than {limits.texts:,}; send them in parts."
        )
    longest = max(map(len, texts), default=0)  # type: ignore[arg-type]
    if longest > limits.characters:
        raise HTTPException(
            413, f"A text has {longest:,} characters; at most {limits.characters:,} are read."
        )
    return texts  # type: ignore[return-value]


def _add_errors(app: FastAPI) -> None:
    """Each error is an object with a sentence."""

    @app.exception_handler(HTTPException)
    async def known(_: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": error.detail}, error.status_code)

    @app.exception_handler(ICapsError)
    async def mistake(_: Request, error: ICapsError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 422)

    @app.exception_handler(OverloadedError)
    async def overloaded(_: Request, error: OverloadedError) -> JSONResponse:
        message = "Too many texts wait; try again in a second."
        return JSONResponse({"error": message}, 503, {"Retry-After": "1"})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        message = f"{place}: {first['msg']}" if place else str(first["msg"])
        return JSONResponse({"error": f"{message[:500]}. See /docs."}, 422)


class _BoundedBody:
    """Refuses bodies above a limit while they arrive, so that they never fill the memory."""

    def __init__(self, app: Any, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Passes a request on, with its body counted."""
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self.limit:
                raise HTTPException(
                    413, f"The request is larger than {self.limit:,} bytes; send it in parts."
                )
            return message

        await self.app(scope, counted, send)


class _Measured:
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
