"""How the URL of a store is shown."""

from __future__ import annotations


def without_password(url: str) -> str:
    """The URL with its password, and every value of its query, replaced by `***`, for messages and logs."""
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url.rpartition("@")[2]
    before, at, after = rest.rpartition("@")
    name, colon, _ = before.partition(":")
    user = f"{name}:***{at}" if colon else f"{before}{at}"
    path, question, query = after.partition("?")
    shown = "&".join(f"{item.partition('=')[0]}=***" for item in query.split("&")) if question else ""
    return f"{scheme}://{user}{path}{question}{shown}"
