"""Spans around flows, by OpenTelemetry's API alone: an SDK and its exporter are the host's to install.

Without an SDK nothing is asked of the API, which would answer each flow with a proxy: whether there is one is looked at
once in a second, and not at all before anybody has loaded the API. So spans begin a second after an SDK is installed,
at the latest.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from graveler_core.telemetry.outcomes import Outcome
from graveler_core.telemetry.secrets import without_secrets

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

AGAIN = 1.0
"""Seconds between two looks for an SDK."""


class _Sight:
    """Whether an SDK was seen, and when to look again."""

    __slots__ = ("installed", "look_at", "tracers")

    def __init__(self) -> None:
        self.installed = False
        self.look_at = 0.0
        self.tracers: dict[int, tuple[TracerProvider, Tracer]] = {}


_sight = _Sight()


def wanted(now: float) -> bool:
    """Whether somebody takes spans.

    Args:
        now: Seconds of the monotonic clock.
    """
    if now < _sight.look_at:
        return _sight.installed
    _sight.look_at = now + AGAIN
    if "opentelemetry.trace" not in sys.modules:  # so nobody can have installed an SDK
        return False
    from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider

    _sight.installed = not isinstance(get_tracer_provider(), ProxyTracerProvider)
    return _sight.installed


@contextmanager
def span(name: str, attributes: Mapping[str, Any]) -> Iterator[Span | None]:
    """A span that is the present one inside the `with` statement; None where nobody takes it.

    Args:
        name: Of the flow; the span is `graveler.<name>`, with underscores for blanks.
    """
    if not wanted(time.monotonic()):
        yield None
        return
    # What an exception says may hold what users wrote; its kind is recorded by `close`.
    with _tracer().start_as_current_span(
        f"graveler.{name.replace(' ', '_')}",
        attributes={f"graveler.{key}": _value(value) for key, value in attributes.items() if value not in ("", None)},
        record_exception=False,
        set_status_on_exception=False,
    ) as opened:
        yield opened


def close(opened: Span | None, outcome: Outcome, attempts: int) -> None:
    """Say how the flow of a span ended."""
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
