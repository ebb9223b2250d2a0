"""Templates. Every value is escaped, and the answers forbid scripts and all content from other sites."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from graveler.server.web.links import link
from graveler_core.model.counting import counted

POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content-Security-Policy of the pages. It allows no script at all."""
ASSETS: Final = {"style.css": "text/css", "icon.svg": "image/svg+xml"}
"""Files that the pages need, with their content types."""
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "referrer-policy": "same-origin",  # with "no-referrer", browsers hide from this server which site sent a form
    "cross-origin-opener-policy": "same-origin",
}
_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


def page(template: str, values: dict[str, Any], status: int = 200) -> Response:
    """Answer with a page.

    Args:
        template: Name of the template, without its ending.
        values: Values for the template. All of them are escaped.
        status: HTTP status.
    """
    text = _environment().get_template(f"{template}.html").render(values)
    return HTMLResponse(text, status_code=status, headers=_HEADERS)


def asset(name: str) -> Response:
    """Answer with a file that the pages need.

    Args:
        name: Key of `ASSETS`.
    """
    return Response(_read(name), media_type=ASSETS[name], headers={"cache-control": "max-age=3600"})


def size_text(size: int | None) -> str:
    """Return a number of bytes for a reader."""
    if size is None:
        return ""
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return counted(size, "byte") if not unit else f"{amount:,.1f} {_UNITS[unit]}"


def time_text(time: datetime | None) -> str:
    """Return a time for a reader."""
    return "" if time is None else f"{time:%Y-%m-%d %H:%M:%S} UTC"


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("graveler.server.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["link"] = link
    made.filters.update(size=size_text, time=time_text)
    return made


@cache
def _read(name: str) -> bytes:
    return files("graveler.server.web").joinpath("templates", name).read_bytes()
