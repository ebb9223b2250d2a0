"""The OpenAPI document of the server, made from the table of routes and the records."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from graveler.server.api.not_implemented import NOT_IMPLEMENTED
from graveler.server.api.records import ErrorMessage
from graveler.server.api.route import ApiRoute
from graveler.server.api.routes import ROUTES
from graveler.server.api.service import COMPATIBLE_VERSION

_REF: Final = "#/components/schemas/{model}"
_ERRORS: Final = {
    "400": "The request is not valid.",
    "401": "The credentials are wrong or missing, or the user has no permission.",
    "404": "Something that the request names does not exist.",
    "409": "The request conflicts with what exists.",
    "429": "Too many requests. `Retry-After` says how long to wait.",
    "503": "The server or its stores are too busy or unreachable. `Retry-After` says how long to wait.",
}


@cache
def openapi_document() -> dict[str, Any]:
    """Return the document, as JSON values."""
    schemas, components = _schemas(ROUTES)
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "graveler", "description": "The API of lakeFS on graveler.", "version": COMPATIBLE_VERSION},
        "servers": [{"url": "/api/v1"}],
        "security": [{"basic": []}, {"bearer": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "basic": {"type": "http", "scheme": "basic"},
                "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
            },
        },
    }


def _schemas(routes: Iterable[ApiRoute]) -> tuple[dict[type[BaseModel], Any], dict[str, Any]]:
    """Return the reference of each record, and the schemas to which they refer."""
    requests = {route.body for route in routes if route.body is not None}
    results = {route.result for route in routes if route.result is not None} | {ErrorMessage}
    wanted = [(model, "validation") for model in requests] + [(model, "serialization") for model in results]
    ordered = sorted(wanted, key=lambda pair: (pair[0].__name__, pair[1]))
    found, definitions = models_json_schema(ordered, ref_template=_REF)  # type: ignore[arg-type]
    return {model: found[model, mode] for model, mode in ordered}, definitions["$defs"]  # type: ignore[index]


def _operation(route: ApiRoute, schemas: dict[type[BaseModel], Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": route.name if route not in NOT_IMPLEMENTED else _name_of_path(route),
        "summary": (inspect.getdoc(route.run) or "").partition("\n\n")[0].replace("\n", " "),
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": _responses(route, schemas),
    }
    if route.body is not None:
        content = {"application/json": {"schema": schemas[route.body]}}
        described["requestBody"] = {"required": route.body_required, "content": content}
    if route.streams:
        content = {"application/octet-stream": {}, "multipart/form-data": {}}
        described["requestBody"] = {"required": True, "content": content}
    if route.public:
        described["security"] = []
    return described


def _responses(route: ApiRoute, schemas: dict[type[BaseModel], Any]) -> dict[str, Any]:
    error = {"application/json": {"schema": schemas[ErrorMessage]}}
    responses: dict[str, Any] = {
        code: {"description": text, "content": error} for code, text in _ERRORS.items() if route not in NOT_IMPLEMENTED
    }
    success: dict[str, Any] = {"description": "Not implemented." if route in NOT_IMPLEMENTED else "Success."}
    if route.result is not None:
        success["content"] = {"application/json": {"schema": schemas[route.result]}}
    return {str(route.success): success, **responses}


def _path_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    names = re.findall(r"{(\w+)}", route.path)
    return [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in names]


def _query_parameters(route: ApiRoute) -> list[dict[str, Any]]:
    return [
        {"name": name.rstrip("*"), "in": "query", "required": name.endswith("*"), "schema": {"type": "string"}}
        for name in route.query.split()
    ]


def _name_of_path(route: ApiRoute) -> str:
    return "_".join([route.method.lower(), *re.findall(r"\w+", route.path)])
