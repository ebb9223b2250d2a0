"""Structured events, handed to the `logging` of the standard library: where they go is the host's to say.

The loggers are `graveler.<flow>` (`graveler.create_branch`), below `graveler`, which drops what nobody takes. An event
is a short text (`commit ok`) with its fields beside it, as attributes of the `LogRecord`; what the host has bound with
structlog's context variables (a request's id) comes along. structlog is loaded with the first event that somebody
wants.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from graveler_core.telemetry.secrets import without_secrets

NAME = "graveler"
_loggers: dict[str, logging.Logger] = {}
_bound: dict[str, Any] = {}
_TAKEN = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime"}
"""Attributes that a record has by itself: nothing else may bear their names."""

logging.getLogger(NAME).addHandler(logging.NullHandler())


def logger_of(flow: str) -> logging.Logger:
    """The logger of a flow; kept, as `logging` takes a lock to find one."""
    found = _loggers.get(flow)
    if found is None:
        found = _loggers[flow] = logging.getLogger(f"{NAME}.{flow.replace(' ', '_')}")
    return found


def tell(flow: str, level: int, text: str, /, **fields: Any) -> None:
    """One event of a flow, if its level is wanted. Secrets are taken out of the values.

    Never an error of its own: a process that has given up its rights since it began may not be able to load structlog
    any more. Then the event goes out without what the host has bound.
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


@contextmanager
def context(**fields: Any) -> Iterator[None]:
    """Bind fields to everything that is logged through structlog inside the `with` statement, the host's too."""
    from structlog.contextvars import bound_contextvars

    with bound_contextvars(**fields):
        yield


def _structured(flow: str, logger: logging.Logger) -> Any:
    """The logger with structlog around it: what the host has configured there is the host's own, and not asked."""
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
    """Fields under names that a `LogRecord` takes, their texts without secrets."""
    return {
        f"{name}_" if name in _TAKEN else name: without_secrets(value) if isinstance(value, str) else value
        for name, value in event.items()
    }
