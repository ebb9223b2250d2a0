"""Logging of the program: events of the loggers `graveler.…`, one per line, on standard error.

A program may configure logging; a library must not. The formats are `logfmt` for people and JSON for log collectors.
Both have the same fields.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any, TextIO

from graveler_core.documents.text import visible
from graveler_core.errors import InvalidInput
from graveler_core.telemetry.events import NAME

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
FORMATS = ("text", "json")


@contextmanager
def logged(level: str | None, form: str, stream: TextIO | None = None) -> Iterator[None]:
    """Write events of at least this level inside the `with` statement. Without a level, write nothing.

    Raises:
        InvalidInput: The level or the format is unknown.
    """
    if level is None:
        yield
        return
    least = LEVELS.get(level.lower())
    if least is None:
        raise InvalidInput(f"log level {level!r}: must be one of {', '.join(LEVELS)}")
    if form not in FORMATS:
        raise InvalidInput(f"log format {form!r}: must be one of {', '.join(FORMATS)}")
    handler = logging.StreamHandler(stream if stream is not None else sys.stderr)
    handler.setFormatter(_formatter(form))
    logger = logging.getLogger(NAME)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(least)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


def _formatter(form: str) -> logging.Formatter:
    from structlog.processors import JSONRenderer, LogfmtRenderer, TimeStamper
    from structlog.stdlib import ExtraAdder, ProcessorFormatter, add_log_level, add_logger_name

    first = ["timestamp", "level", "logger", "event"]
    renderer: Any = JSONRenderer() if form == "json" else LogfmtRenderer(key_order=first, bool_as_flag=False)
    return ProcessorFormatter(
        foreign_pre_chain=[add_log_level, add_logger_name, ExtraAdder(), TimeStamper(fmt="iso", utc=True)],
        processors=[ProcessorFormatter.remove_processors_meta, *([] if form == "json" else [_on_a_line]), renderer],
    )


def _on_a_line(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace control characters that a terminal would interpret."""
    return {name: visible(value) if isinstance(value, str) else value for name, value in event.items()}
