"""One operation of the API, as a row of the table of routes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel
from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, ContentAnswer

PAGED = "prefix after amount"
"""Query parameters of a listing."""


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """An operation of the API."""

    method: str
    path: str
    run: Callable[[Call], HttpResponse | ContentAnswer]
    body: type[BaseModel] | None = None
    """Type of the JSON body, if there is one."""
    result: type[BaseModel] | None = None
    """Type of the JSON answer, if there is one."""
    success: int = 200
    """Status of the answer if the operation succeeds."""
    query: str = ""
    """Names of the query parameters, separated by spaces. A `*` marks those that must be given."""
    body_required: bool = True
    streams: bool = False
    """The operation reads the body as a stream."""
    hooked: bool = False
    """The operation may call hooks, which may take long."""
    public: bool = False
    """The operation needs no credentials."""

    @property
    def name(self) -> str:
        """Name of the operation, for metrics, logs and the OpenAPI document."""
        return self.run.__name__.strip("_")
