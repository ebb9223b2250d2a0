"""Every error of obstore and of the operating system, as one of ours. Nothing below the port raises anything else.

Messages of obstore carry request URLs (which may carry signatures), replies and configuration values, so only what is
known to be harmless is repeated, the original is not chained, and nothing here ever sees an option's value.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum

from obstore import exceptions as below

from graveler_core.errors import (
    GravelerError,
    InvalidInput,
    Kind,
    LimitExceeded,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    PredicateFailed,
    SlowDown,
    Unavailable,
)

_STATUS = re.compile(r"non-2xx status code: (\d{3})")
_CODE = re.compile(r"<Code>([A-Za-z]{1,64})</Code>")
_HTTP = re.compile(r"HttpError \{\s*kind: (\w+)")
_THROTTLED = {"429", "503"}
_REFUSED = {"401", "403", "407"}
_NEVER_SENT = {"Connect"}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_MISSING_BUCKET = {"NoSuchBucket", "ContainerNotFound"}


class Verb(Enum):
    """What was being done; the value stands in messages."""

    OPEN = "open"
    READ = "read"
    LIST = "list"
    WRITE = "write"
    DELETE = "delete"

    @property
    def changes(self) -> bool:
        """Whether a lost reply leaves it open if something happened."""
        return self in (Verb.WRITE, Verb.DELETE)


@contextmanager
def translating(verb: Verb, uri: str) -> Iterator[None]:
    """Raise what obstore or the operating system raises inside as one of ours, about the object or namespace `uri`."""
    try:
        yield
    except (below.BaseError, OSError, ValueError) as e:
        raise translated(e, verb, uri) from None


def translated(error: Exception, verb: Verb, uri: str) -> GravelerError:
    """One of our errors for one of obstore's or the operating system's."""
    for classes, rule in _RULES:
        if isinstance(error, classes):
            return rule(error, verb, uri)
    return _from_text(error, verb, uri)


def _exists(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return NotUnique(f"{uri}: exists already", uri=uri)


def _changed(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return PredicateFailed(f"{uri}: is no longer what it was", uri=uri)


def _refused(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return InvalidInput(f"cannot {verb.value} {uri}: the store does not accept this address or option", uri=uri)


def _unsupported(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return Unavailable(f"cannot {verb.value} {uri}: the store does not support this", uri=uri)


def _missing(error: Exception, verb: Verb, uri: str) -> GravelerError:
    code = error_code(error)
    if verb is Verb.READ and code not in _MISSING_BUCKET:
        return NotFound(f"{uri}: there is no such object", kind=Kind.ObjectNotFound, uri=uri)
    return Unavailable(f"cannot {verb.value} {uri}: the bucket, container or directory does not exist", uri=uri)


def _forbidden(error: Exception, verb: Verb, uri: str) -> GravelerError:
    why = error_code(error) or "missing or wrong credentials"
    return Unavailable(f"cannot {verb.value} {uri}: not permitted ({why})", kind=Kind.PermissionDenied, uri=uri)


def _from_system(error: Exception, verb: Verb, uri: str) -> GravelerError:
    number = getattr(error, "errno", None) or 0
    why = errno.errorcode.get(number, type(error).__name__)
    message = f"cannot {verb.value} {uri}: {os.strerror(number).lower()} ({why})"
    if number in _FULL:
        return Unavailable(message, kind=Kind.StoreFull, uri=uri)
    if number == errno.EROFS or (number in _FORBIDDEN and verb.changes):
        return Unavailable(message, kind=Kind.StoreReadOnly, uri=uri)
    if number in _FORBIDDEN:
        return Unavailable(message, kind=Kind.PermissionDenied, uri=uri)
    if number == errno.ENAMETOOLONG:
        return LimitExceeded(message, uri=uri)
    return Unavailable(message, uri=uri)


def _from_text(error: Exception, verb: Verb, uri: str) -> GravelerError:
    """obstore keeps failures of a request apart only in their text: status, error code, kind of transport error."""
    text = str(error)
    status = _first(_STATUS, text)
    transport = _first(_HTTP, text)
    why = (
        ", ".join(part for part in (status and f"status {status}", error_code(error), transport) if part)
        or "no reason given"
    )
    message = f"cannot {verb.value} {uri}: {why}"
    if status in _THROTTLED:
        return SlowDown(message, uri=uri)
    if status in _REFUSED:
        return _forbidden(error, verb, uri)
    if status == "507":
        return Unavailable(message, kind=Kind.StoreFull, uri=uri)
    lost = status.startswith("5") or (transport != "" and transport not in _NEVER_SENT)
    if verb.changes and lost:
        return OutcomeUnknown(message, uri=uri)
    return Unavailable(message, uri=uri)


def past_the_end(error: Exception) -> bool:
    """Whether a range was refused because the object ends before it."""
    text = str(error)
    return _first(_STATUS, text) == "416" or "StartTooLarge" in text


def error_code(error: Exception) -> str:
    """The code in an S3-like reply, '' where there is none."""
    return _first(_CODE, str(error))


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found[1] if found else ""


_Rule = Callable[[Exception, Verb, str], GravelerError]
_RULES: tuple[tuple[type[Exception] | tuple[type[Exception], ...], _Rule], ...] = (
    ((FileNotFoundError, below.NotFoundError), _missing),
    (OSError, _from_system),
    (below.AlreadyExistsError, _exists),
    ((below.PreconditionError, below.NotModifiedError), _changed),
    ((below.PermissionDeniedError, below.UnauthenticatedError), _forbidden),
    ((below.InvalidPathError, below.UnknownConfigurationKeyError, ValueError), _refused),
    (below.NotSupportedError, _unsupported),
)
