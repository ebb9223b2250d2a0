"""Text without the secrets that stand in it: the last net under what logs, spans and archives say."""

from __future__ import annotations

import re

_IN_URL = re.compile(r"(://[^\s/:@]*:)[^\s/]*@")
_NAMED = re.compile(
    r"(?i)([\w.\-]*(?:password|passwd|passphrase|secret|credential|access_key|account_key|sas_token|api_key)[\w.\-]*=)"
    r"(\"[^\"]*\"|'[^']*'|[^\s&,;]+)"
)


def without_passwords(text: str) -> str:
    """The text, with the password of any URL in it starred out."""
    return _IN_URL.sub(r"\1***@", text)


def without_secrets(text: str) -> str:
    """The same, with the values of what is named like a secret (`aws_secret_access_key=…`) starred out too."""
    return _NAMED.sub(r"\1***", without_passwords(text))
