"""The HTTP application: its paths and their OpenAPI description.

Answers are those of the library: `/explain` has `Explanation.to_dict`, `/predict` a part of it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

from fastapi import FastAPI
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, ConfigDict, Field, model_validator
from starlette.exceptions import HTTPException

from icaps.config import KGRAM_RANKINGS, ExplainOptions
from icaps.html import render_html
from icaps.inference import prepare
from icaps.service.batching import BatchedModel, describe
from icaps.service.errors import Problem, add_errors, shortened
from icaps.service.limits import DEFAULTS, Limits
from icaps.service.middleware import BoundedBody, Measured, Metrics
from icaps.trained_model import TrainedModel


class Texts(BaseModel):
    """One text, or several."""

    model_config = ConfigDict(extra="forbid", strict=True)

    text: str | None = Field(None, description="One text; give this or `texts`.")
    texts: Annotated[list[str], Field(fail_fast=True)] | None = Field(
        None, description="Several texts."
    )
    model: str | None = Field(None, description="Name of the model; may be left out for the first.")

    @model_validator(mode="before")
    @classmethod
    def check_fields(cls, content: Any) -> Any:
        """Refuses a field that does not exist, at the first one: there may be a million."""
        if isinstance(content, dict):
            for name in content:
                if name not in cls.model_fields:
                    raise ValueError(f"there is no field {shortened(repr(name))}")
        return content


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


assert set(KGRAM_RANKINGS) == {"routing", "contribution", "account"}
_ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is nested too deeply"},
    404: {"model": Problem, "description": "There is no such model"},
    408: {"model": Problem, "description": "The request took too long to arrive"},
    413: {"model": Problem, "description": "The request or its answer is too large"},
    415: {"model": Problem, "description": "The request is compressed, or is no JSON"},
    422: {"model": Problem, "description": "The request has another form"},
    503: {"model": Problem, "description": "Too many texts wait; see the header Retry-After"},
}


def create_app(models: Mapping[str, TrainedModel], limits: Limits = DEFAULTS) -> FastAPI:
    """The application.

    Args:
        models: By name; the first one answers requests that name none.
        limits: Of requests and of what waits.
    """
    metrics = Metrics()
    batched = {
        name: BatchedModel(classifier, limits, metrics.batches.labels(name).observe)
        for name, classifier in models.items()
    }

    @asynccontextmanager
    async def answering(_: FastAPI) -> AsyncIterator[None]:
        for model in batched.values():
            prepare(model.classifier.network_)
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
        redirect_slashes=False,  # which would redirect to the host that the client names
    )
    app.add_middleware(BoundedBody, limits=limits)
    app.add_middleware(Measured, metrics=metrics, paths={"/predict", "/explain", "/models"})
    add_errors(app)

    async def answer(request: Texts, options: ExplainOptions | None) -> Response:
        name = request.model or next(iter(batched))
        if name not in batched:
            raise HTTPException(
                404, f"There is no model {shortened(repr(name))}; choose {', '.join(batched)}."
            )
        results = await batched[name].answer(_texts(request, limits), options)
        head = f'{{"model":{json.dumps(name)},"results":['.encode()
        content = b"".join((head, b",".join(results), b"]}"))
        return Response(content, media_type="application/json")

    @app.post("/predict", response_model=Answers, responses=_ERRORS)
    async def predict(request: Texts) -> Response:
        """The predicted class of each text, with norms and calibrated probabilities."""
        return await answer(request, None)

    @app.post("/explain", response_model=Answers, responses=_ERRORS)
    async def explain(request: ToExplain) -> Response:
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
        return RedirectResponse("docs")

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
