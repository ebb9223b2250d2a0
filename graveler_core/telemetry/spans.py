"""Spans around flows, through the OpenTelemetry API only. The application installs an SDK and an exporter.

Without an SDK the API is not called, because it would return a proxy for each flow. The presence of an SDK is checked
once a second, and never before the API has been imported. Spans therefore begin at most one second after an SDK was
installed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from graveler_core.telemetry.outcomes import FlowOutcome
from graveler_core.telemetry.secrets import without_secrets

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

AGAIN = 1.0
"""Seconds between two checks for an SDK."""
SEND_MILLISECONDS = 5_000
"""Milliseconds for which `send_spans` waits."""


class _Sight:
    """Cached result of the check for an SDK, and the time of the next check."""

    __slots__ = ("installed", "look_at", "tracers")

    def __init__(self) -> None:
        self.installed = False
        self.look_at = 0.0
        self.tracers: dict[int, tuple[TracerProvider, Tracer]] = {}


_sight = _Sight()


def wanted(now: float) -> bool:
    """Return true if an SDK is installed.

    Args:
        now: Seconds of the monotonic clock.
    """
    if now < _sight.look_at:
        return _sight.installed
    _sight.look_at = now + AGAIN
    if "opentelemetry.trace" not in sys.modules:  # without this import, no SDK can be installed
        return False
    from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

    _sight.installed = not isinstance(get_tracer_provider(), ProxyTracerProvider)
    return _sight.installed


def send_spans() -> None:
    """Wait until the SDK has sent the spans that have ended, for a process that ends without its usual clean-up."""
    if wanted(time.monotonic()):
        from opentelemetry.trace import get_tracer_provider

        flush = getattr(get_tracer_provider(), "force_flush", None)
        if flush is not None:
            flush(SEND_MILLISECONDS)


@contextmanager
def span(name: str, attributes: Mapping[str, Any]) -> Iterator[Span | None]:
    """Open a span and make it current inside the `with` statement.

    Args:
        name: Name of the flow. The span is `graveler.<name>`, with underscores for spaces.
        attributes: Attributes of the span, without the prefix `graveler.`.

    Yields:
        The span, or `None` without an SDK.
    """
    if not wanted(time.monotonic()):
        yield None
        return
    # The text of an exception may contain user data. `close` records the kind of the error instead.
    with _tracer().start_as_current_span(
        f"graveler.{name.replace(' ', '_')}",
        attributes={f"graveler.{key}": _value(value) for key, value in attributes.items() if value not in ("", None)},
        record_exception=False,
        set_status_on_exception=False,
    ) as opened:
        yield opened


def close(opened: Span | None, outcome: FlowOutcome, attempts: int) -> None:
    """Set the outcome of a flow on its span."""
    if opened is None:
        return
    opened.set_attribute("graveler.outcome", outcome.kind)
    opened.set_attribute("graveler.attempts", attempts)
    if outcome.fault:
        from opentelemetry.trace import Status, StatusCode

        opened.set_attribute("error.type", outcome.kind)
        opened.set_status(Status(StatusCode.ERROR, outcome.kind))


def _tracer() -> Tracer:
    from opentelemetry.trace import get_tracer_provider

    provider = get_tracer_provider()
    known = _sight.tracers.get(id(provider))
    if known is None or known[0] is not provider:
        known = provider, provider.get_tracer("graveler", version("graveler"))
        _sight.tracers = {id(provider): known}
    return known[1]


def _value(value: object) -> str | bool | int | float:
    return value if isinstance(value, bool | int | float) else without_secrets(str(value))
