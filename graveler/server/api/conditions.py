"""Conditions of writes of the API: `If-None-Match: *`, and no other."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response as HttpResponse

from graveler.server.refusals import refusal


def refused_condition(headers: Mapping[str, str], what: str) -> HttpResponse | None:
    """Return the answer to a write with a condition that it cannot have, or `None`.

    Args:
        headers: Headers of the request.
        what: The write, for the message.
    """
    if headers.get("if-match"):
        return refusal(501, f"If-Match: {what} can only have the condition If-None-Match: *")
    given = headers.get("if-none-match") or "*"
    return None if given == "*" else refusal(501, f"If-None-Match {given!r}: {what} can only have the condition *")
