"""Forms: reading them, and proof that a page of this server has sent them.

A form holds a token that is derived from the session, which pages of other sites cannot read. In addition, browsers say
which site has caused a request. A form that another site has caused is refused.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from graveler.server.request_body import body_of
from graveler.server.same_site import from_another_site
from graveler_core.errors import InvalidInput, PermissionDenied

TOKEN_FIELD: Final = "token"  # noqa: S105 - the name of a field
MAX_FORM_BYTES: Final = 64 << 10
MAX_FIELDS: Final = 20
_FORM_TYPE: Final = "application/x-www-form-urlencoded"


class FormTokens:
    """Tokens of the forms of one server."""

    def __init__(self, key: bytes) -> None:
        """Create tokens.

        Args:
            key: Key for a server without users, which has no sessions. All of its processes have the same one.
        """
        self._key = key

    def token_of(self, session: str) -> str:
        """Return the token of the forms of a session, or of no session."""
        key = session.encode(errors="surrogatepass") or self._key
        return hmac.digest(key, b"graveler form", hashlib.sha256).hex()

    def require(self, form: Mapping[str, str], session: str) -> None:
        """Verify the token of a form.

        Raises:
            PermissionDenied: The form has no token, or not that of the session.
        """
        if not hmac.compare_digest(form.get(TOKEN_FIELD, "").encode(), self.token_of(session).encode()):
            raise PermissionDenied("the form is not one of your session: load the page again, and send its form")


def require_same_site(request: Request) -> None:
    """Refuse a request that a page of another site has caused, as far as the browser tells it.

    Raises:
        PermissionDenied: A page of another site has caused the request.
    """
    if from_another_site(request.headers):
        raise PermissionDenied("another site has sent this form")


async def form_of(request: Request) -> dict[str, str]:
    """Return the fields of a form. A field that is repeated has its last value.

    Raises:
        InvalidInput: The body is no such form.
        LimitExceeded: The form is too large.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM_TYPE:
        raise InvalidInput(f"form: must have the content type {_FORM_TYPE}")
    content = await body_of(request, "form", MAX_FORM_BYTES)
    try:
        text = content.decode("ascii")
        return dict(parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS))
    except ValueError as error:
        raise InvalidInput("form: must be encoded as browsers do it") from error
