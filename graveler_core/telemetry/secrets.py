"""Removal of secrets from text: the last safeguard for logs, spans and archives."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"(://[^\s/:@]*:)[^\s/]*@")
_NAMED = re.compile(
    r"(?i)(?<![\w.\-])"
    r"(?=[\w.\-]*?(?:password|passwd|passphrase|secret|credential|access_key|account_key|sas_token|api_key))"
    r"([\w.\-]+=)(\"[^\"]*\"|'[^']*'|[^\s&,;]+)"
)
"""A name that contains that of a secret, and its value. A match begins only at the beginning of a name: otherwise the
time for a long name, which a receiver of a webhook may send, would grow with the third power of its length.
"""


def without_passwords(text: str) -> str:
    """Return the text with the passwords of URLs replaced by asterisks."""
    return _IN_URL.sub(r"\1***@", text)


def without_secrets(text: str) -> str:
    """Return the text without passwords, and without values whose name is that of a secret
    (`aws_secret_access_key=…`).
    """
    return _NAMED.sub(r"\1***", without_passwords(text))


def without_password(url: str) -> str:
    """Return the URL for messages and logs: with `***` for the password and for each value of the query. If it is
    unclear where the password ends, `***` stands for everything after the first colon.
    """
    scheme, mark, rest = url.partition("://")
    if not mark:
        return url.rpartition("@")[2]
    place, question, query = rest.partition("?")
    text, at, after = query.rpartition("@")
    if at and "=" not in text + after.partition("?")[0]:  # the password contains `?`
        path, question, query = after.partition("?")
        place = f"{place}@{path}"
    elif at and ":" in place:  # the password contains `?`, or the query contains `@`
        return f"{scheme}://{place.partition(':')[0]}:***"
    before, at, path = place.rpartition("@")
    name, colon, _ = before.partition(":")
    user = f"{name}:***{at}" if colon else f"{before}{at}"
    shown = "&".join(map(_without_value, query.split("&"))) if question else ""
    return f"{scheme}://{user}{path}{question}{shown}"


def _without_value(item: str) -> str:
    name, equals, _ = item.partition("=")
    return f"{name}=***" if equals else "***"
