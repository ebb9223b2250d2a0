"""Protection against requests that pages of other sites cause, for a server without access control.

Such a server listens on a loopback address, so that only programs of the machine reach it. A browser of the machine
also sends it the requests of any page that the user looks at. A page cannot read the answers, but could make changes.
Browsers tell with headers that the page is of another site.

Another site can also make its own host name resolve to the address of the server (DNS rebinding). A browser then treats
the pages of that site as pages of the server, but the requests of their scripts still have the name of the site in the
header `Host`.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from graveler.server.observing import facts_of
from graveler.server.refusals import refusal
from graveler.server.same_site import from_another_site


class CrossSiteProtection:
    """Application that refuses requests for hosts that are not its own, and changes that pages of other sites cause."""

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        """Create the application.

        Args:
            app: The application that serves the requests.
            names: Names of hosts that the server has besides loopback addresses. Their subdomains count too.
        """
        self._app = app
        self._names = ("localhost", *names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            refused = self._refusal(scope["method"], Headers(scope=scope))
            if refused is not None:
                status, message = refused
                await refusal(status, message, **{"x-request-id": facts_of(scope).id})(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> tuple[int, str] | None:
        """Return the status and the message for a request to refuse, or `None`."""
        host = host_name(headers.get("host", ""))
        if not self._knows(host):
            return 421, f"host {host[:100]!r}: is no name of this server, which serves its own machine only"
        if method not in ("GET", "HEAD") and from_another_site(headers):
            return 403, "a page of another site has sent this request, so it is refused"
        return None

    def _knows(self, host: str) -> bool:
        return is_loopback(host) or any(host == name or host.endswith(f".{name}") for name in self._names)


def host_name(header: str) -> str:
    """Return the host of a header `Host` in lower case, without the port and the brackets of an IPv6 address."""
    name, _, port = header.rpartition(":")
    host = name if name and port.isdigit() else header
    return host.strip("[]").lower().rstrip(".")


def is_loopback(host: str) -> bool:
    """Return true for an address of the loopback interface."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
