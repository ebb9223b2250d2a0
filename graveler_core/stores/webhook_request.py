"""One HTTP request to a webhook, within a time limit.

Redirects are not followed, and no proxy is used, so that a request reaches only the address that the repository names.
Secrets come from environment variables of the process that sends the request.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from graveler_core.errors import InvalidInput
from graveler_core.model.hook_runs import MAX_HOOK_TEXT
from graveler_core.model.webhooks import Webhook
from graveler_core.stores.hooks import HookAnswer
from graveler_core.telemetry.secrets import without_secrets
from graveler_core.version import __version__

Secrets = Callable[[str], SecretStr | None]
_MOST: Final = 4 * MAX_HOOK_TEXT
"""Maximum number of bytes that are read from an answer: enough for `MAX_HOOK_TEXT` characters of UTF-8."""
_BEARER: Final = "Bearer "


def post(hook: Webhook, run_id: str, event: str, body: bytes, secret: Secrets) -> HookAnswer:
    """Send a request to a webhook.

    Args:
        hook: The webhook.
        run_id: Id of the run, for receivers that must recognize repetitions.
        event: Name of the event.
        body: The JSON document.
        secret: Function that returns the value of an environment variable, or `None`.

    Returns:
        The answer. Without an answer, its status is `None`.
    """
    try:
        headers = _headers(hook, run_id, event, body, secret)
    except InvalidInput as e:
        return HookAnswer(None, e.message)
    try:
        answer = _exchange(hook, headers, body)
    except TimeoutError:
        answer = HookAnswer(None, f"no answer within {hook.timeout_seconds:g} seconds")
    except OSError as e:
        answer = HookAnswer(None, f"{type(e).__name__}: {e}")
    except (http.client.InvalidURL, ValueError):  # their texts quote the address
        answer = HookAnswer(None, "the address of the hook is not a valid URL")
    except http.client.HTTPException as e:
        answer = HookAnswer(None, f"{type(e).__name__}: {e}")
    return replace(answer, message=_shown(answer.message, headers))


def _headers(hook: Webhook, run_id: str, event: str, body: bytes, secret: Secrets) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"graveler/{__version__}",
        "X-Graveler-Event": event,
        "X-Graveler-Run": run_id,
    }
    if hook.secret_variable:
        key = _value(secret, hook.secret_variable).encode(errors="surrogateescape")
        headers["X-Graveler-Signature"] = f"sha256={hmac.new(key, body, hashlib.sha256).hexdigest()}"
    if hook.token_variable:
        headers["Authorization"] = _BEARER + _token(secret, hook.token_variable)
    return headers


def _token(secret: Secrets, variable: str) -> str:
    token = _value(secret, variable)
    if not (token.isascii() and token.isprintable()):
        raise InvalidInput(
            f"the environment variable {variable} holds characters other than printable ASCII, so it cannot be sent"
        )
    return token


def _value(secret: Secrets, variable: str) -> str:
    """Return the value of an environment variable without whitespace around it, such as the end of a line."""
    found = secret(variable)
    value = "" if found is None else found.get_secret_value().strip()
    if not value:
        raise InvalidInput(f"the environment variable {variable} is not set in this process")
    return value


def _shown(text: str, headers: Mapping[str, str]) -> str:
    """Return the beginning of a text for records and logs, without secrets. A receiver may repeat the token."""
    token = headers.get("Authorization", "").removeprefix(_BEARER)
    return without_secrets(text.replace(token, "***") if token else text)[:MAX_HOOK_TEXT].strip()


def _exchange(hook: Webhook, headers: dict[str, str], body: bytes) -> HookAnswer:
    parts = urlsplit(hook.url)
    connection = _connection(parts.scheme, parts.hostname or "", parts.port, hook.timeout_seconds)
    # The time limit of a socket counts from each byte, so a slow receiver could exceed it. The timer cuts the whole
    # exchange off.
    expired = threading.Event()
    timer = threading.Timer(hook.timeout_seconds, _cut_off, (connection, expired))
    timer.daemon = True
    timer.start()
    try:
        connection.request("POST", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), body, headers)
        answer = connection.getresponse()
        text = answer.read(_MOST).decode(errors="replace")
    except (OSError, http.client.HTTPException) as e:
        if expired.is_set():
            raise TimeoutError from e
        raise
    finally:
        timer.cancel()
        connection.close()
    if expired.is_set():
        raise TimeoutError
    return HookAnswer(answer.status, text, accepted=answer.status // 100 == 2)


def _cut_off(connection: http.client.HTTPConnection, expired: threading.Event) -> None:
    expired.set()
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)


def _connection(scheme: str, host: str, port: int | None, timeout: float) -> http.client.HTTPConnection:
    if scheme == "https":
        return http.client.HTTPSConnection(host, port, timeout=timeout, context=ssl.create_default_context())
    return http.client.HTTPConnection(host, port, timeout=timeout)
