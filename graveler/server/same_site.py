"""Recognition of requests that pages of other sites cause, as far as the browser tells it."""

from __future__ import annotations

from collections.abc import Mapping


def from_another_site(headers: Mapping[str, str]) -> bool:
    """Return true if a page that is not of this server has caused the request with some headers.

    Browsers tell it with the header `Sec-Fetch-Site`, and for requests that are no reads also with `Origin`. Other
    programs send neither header.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site not in (None, "same-origin", "none"):
        return True
    return origin is not None and origin.partition("://")[2] != headers.get("host")
