"""The errors of the service: each is an object with a sentence."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from icaps.errors import ICapsError
from icaps.service.batching import AnswerTooLargeError, OverloadedError

_LONGEST = 500  # characters of a sentence, which may quote the request
_UNREADABLE = "The request is no JSON that can be read: too deep, or a number of too many digits."
RETRY = {"Retry-After": "1"}  # seconds


class Problem(BaseModel):
    """What is wrong, as a sentence."""

    error: str


def shortened(text: str, longest: int = 100) -> str:
    """A text with an ellipsis in place of what is too long."""
    return text if len(text) <= longest else f"{text[:longest]}…"


def add_errors(app: FastAPI) -> None:
    """Adds the handlers of errors to an application."""

    @app.exception_handler(HTTPException)
    async def known(_: Request, error: HTTPException) -> Response:
        sentence = _UNREADABLE if error.status_code == 400 else str(error.detail)
        return _response(error.status_code, sentence, error.headers)

    @app.exception_handler(ICapsError)
    async def mistake(_: Request, error: ICapsError) -> Response:
        return _response(422, str(error))

    @app.exception_handler(OverloadedError)
    async def overloaded(_: Request, error: OverloadedError) -> Response:
        return _response(503, "Too many texts wait; try again in a second.", RETRY)

    @app.exception_handler(AnswerTooLargeError)
    async def too_large(_: Request, error: AnswerTooLargeError) -> Response:
        return _response(413, "The answer would be too large; send fewer or shorter texts.")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        kind = request.headers.get("content-type", "")
        if not kind.partition(";")[0].strip().lower().endswith("json"):
            return _response(415, "Send JSON, with the header Content-Type: application/json.")
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body")
        message = str(first["msg"]).removeprefix("Value error, ")
        sentence = f"{place}: {message}" if place else message
        return _response(422, f"{shortened(sentence, _LONGEST - 20)}. See /docs.")

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> Response:
        return _response(500, "The service failed; its log says where.")


def _response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    # ASCII, as a quoted name may have a lone surrogate, which UTF-8 has not.
    content = json.dumps({"error": shortened(sentence, _LONGEST)})
    return Response(content, status, headers, "application/json")
