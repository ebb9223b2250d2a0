"""One HTTP request to a webhook, within a time limit.

Redirects are not followed, and no proxy is used, so that a request reaches only the address that the repository names.
Secrets come from environment variables of the process that sends the request.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from socket import SHUT_RDWR, socket
from threading import Thread
from typing import Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from graveler_core.errors import InvalidInput
from graveler_core.model.hook_runs import MAX_HOOK_TEXT
from graveler_core.model.webhooks import Webhook
from graveler_core.stores.hooks import HookAnswer
from graveler_core.stores.http_connections import http_connection
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
        return HookAnswer(None, e.message, final=True)
    answer = _Exchange(hook, headers, body).result()
    if answer is None:
        return HookAnswer(None, f"no answer within {hook.timeout_seconds:g} seconds")
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


class _Exchange(Thread):
    """A request and its answer, in a thread of its own, so that a slow receiver cannot hold up the caller.

    The timeout of a socket is not enough: it begins again with each address and each byte, and does not cover the
    resolution of names. A thread that the caller has left ends by itself: each step up to the connection has a limit of
    its own, and the socket of the connection is shut down.
    """

    def __init__(self, hook: Webhook, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(name=f"graveler-hook-{hook.name}", daemon=True)
        self._hook, self._headers, self._body = hook, headers, body
        self._sock: socket | None = None
        self._expired = False
        self._answer: HookAnswer | None = None

    def result(self) -> HookAnswer | None:
        """Return the answer, or `None` if there is none within the time limit."""
        self.start()
        self.join(self._hook.timeout_seconds)
        answer, self._expired = self._answer, True
        if answer is None and self._sock is not None:
            with suppress(OSError):
                # `SSLSocket.shutdown` would first end the encryption, although a request may still be written.
                socket.shutdown(self._sock, SHUT_RDWR)
        return answer

    def run(self) -> None:
        try:
            self._answer = self._exchanged()
        except TimeoutError:
            self._answer = None
        except OSError as e:
            self._answer = HookAnswer(None, f"{type(e).__name__}: {e}")
        except (http.client.InvalidURL, ValueError):  # their texts quote the address
            self._answer = HookAnswer(None, "the address of the hook is not a valid URL", final=True)
        except http.client.HTTPException as e:
            self._answer = HookAnswer(None, f"{type(e).__name__}: {e}")

    def _exchanged(self) -> HookAnswer | None:
        parts = urlsplit(self._hook.url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        with closing(http_connection(parts, self._hook.timeout_seconds)) as connection:
            connection.connect()
            self._sock = connection.sock
            if self._expired:  # checked after `_sock` is set, which the caller reads after it has set `_expired`
                return None
            connection.request("POST", path, self._body, self._headers)
            answer = connection.getresponse()
            text = answer.read(_MOST).decode(errors="replace")
            return HookAnswer(answer.status, text, accepted=answer.status // 100 == 2)
