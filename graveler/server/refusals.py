"""Answers that refuse a request of the API. Modules outside the package `api` use them too."""

from __future__ import annotations

from typing import Final

from starlette.responses import JSONResponse

RETRY_AFTER_SECONDS: Final = 1
"""Seconds after which a client may repeat a request, unless the reason of the refusal tells the time."""


def refusal(status: int, message: str, **headers: str) -> JSONResponse:
    """Return an answer with a status and a message, in the form of the record `ErrorMessage`."""
    return JSONResponse({"message": message}, status, headers)
