"""Structured log events through the standard library's `logging`. The application decides where they go.

The loggers are `graveler.<flow>` (`graveler.create_branch`) below `graveler`, which drops events without another
handler. An event has a short text (`commit ok`) and fields, which are attributes of the `LogRecord`. Values that the
application has bound with structlog's context variables, such as a request id, are added. structlog is imported with
the first event that is not filtered out.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from graveler_core.errors import CorruptData
from graveler_core.telemetry.secrets import without_secrets

NAME = "graveler"
_loggers: dict[str, logging.Logger] = {}
_bound: dict[str, Any] = {}
_TAKEN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}
"""Attributes that every log record has. Fields must not use these names."""

logging.getLogger(NAME).addHandler(logging.NullHandler())


def logger_of(flow: str) -> logging.Logger:
    """Return the logger of a flow. It is cached, because `logging` takes a lock to find a logger."""
    found = _loggers.get(flow)
    if found is None:
        found = _loggers[flow] = logging.getLogger(f"{NAME}.{flow.replace(' ', '_')}")
    return found


def tell(flow: str, level: int, text: str, /, **fields: Any) -> None:
    """Log an event of a flow if its level is enabled. Secrets are removed from the values.

    This function raises no errors of its own. A process that has dropped its privileges may be unable to import
    structlog. In that case the event is logged without the fields that the application has bound.
    """
    logger = logger_of(flow)
    if not logger.isEnabledFor(level):
        return
    try:
        structured = _structured(flow, logger)
    except ImportError:
        logger.log(level, text, extra=dict(_fit(None, "", fields)))
    else:
        structured.log(level, text, **fields)


def tell_damaged(error: CorruptData) -> None:
    """Log a record, or a file of a record, that was left out because it cannot be read. The message is not logged,
    because it may contain paths.
    """
    record, kind = error.details.get("name", error.details.get("address")), str(error.kind)
    tell("damaged record", logging.ERROR, "a record that cannot be read was left out", record=record, error=kind)


@contextmanager
def context(**fields: Any) -> Iterator[None]:
    """Bind fields to all events that are logged through structlog inside the `with` statement, including the
    application's.

    Does nothing where structlog is not installed.
    """
    try:
        from structlog.contextvars import bound_contextvars
    except ImportError:
        yield
        return
    with bound_contextvars(**fields):
        yield


def _structured(flow: str, logger: logging.Logger) -> Any:
    """Return the logger wrapped by structlog. The structlog configuration of the application is not used."""
    found = _bound.get(flow)
    if found is None:
        import structlog

        found = _bound[flow] = structlog.wrap_logger(
            logger,
            processors=[structlog.contextvars.merge_contextvars, _fit, structlog.stdlib.render_to_log_kwargs],
            wrapper_class=structlog.stdlib.BoundLogger,
            context_class=dict,
        )
    return found


def _fit(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Return the fields under names that a `LogRecord` allows, without secrets."""
    return {
        f"{name}_" if name in _TAKEN else name: without_secrets(value) if isinstance(value, str) else value
        for name, value in event.items()
    }
