"""Text of a store's URL for messages and logs."""

from __future__ import annotations


def without_password(url: str) -> str:
    """Return the URL for messages and logs: with `***` for the password and for each value of the query."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url.rpartition("@")[2]
    before, at, after = rest.rpartition("@")
    name, colon, _ = before.partition(":")
    user = f"{name}:***{at}" if colon else f"{before}{at}"
    path, question, query = after.partition("?")
    shown = "&".join(f"{item.partition('=')[0]}=***" for item in query.split("&")) if question else ""
    return f"{scheme}://{user}{path}{question}{shown}"
