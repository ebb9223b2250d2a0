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
