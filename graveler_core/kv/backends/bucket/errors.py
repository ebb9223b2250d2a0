"""Conversion of errors of obstore to errors of a key-value store.

The store sends each write once. If no answer arrives, or one that does not say that the service has refused the write,
the outcome is unknown. It is also unknown after the status 500 or 503, unless the code of the answer says that the
service is busy.
"""

from __future__ import annotations

from typing import Final

from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, NotModifiedError, PreconditionError

from graveler_core.blobs.failures import MISSING_BUCKET, Verb, error_code, status_of, translated, was_not_sent
from graveler_core.errors import (
    GravelerError,
    InvalidInput,
    Kind,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)

FAILURES: Final = (BaseError, OSError, ValueError)
"""The classes of all exceptions that a request can raise."""
ABSENT: Final = (FileNotFoundError, NotFoundError)
"""The classes of exceptions that say that an object does not exist."""
_CHANGED: Final = (PreconditionError, NotModifiedError)
_CONFLICTS: Final = frozenset(("ConditionalRequestConflict", "OperationAborted"))
"""Codes of S3 for a write that was refused because of another one at the same time."""
_BUSY: Final = frozenset(
    ("EgressIsOverAccountLimit", "IngressIsOverAccountLimit", "ServerBusy", "SlowDown", "TooManyRequests")
)
"""Codes of answers with the status 503 that say that the request was not executed."""
_UNSUPPORTED: Final = frozenset(("405", "501"))


def exists(error: Exception) -> bool:
    """Return true if the service has refused to create an object because it exists."""
    return isinstance(error, AlreadyExistsError) and error_code(error) not in _CONFLICTS


def has_changed(error: Exception) -> bool:
    """Return true if the service has refused to replace an object because it has changed or does not exist."""
    return isinstance(error, (*_CHANGED, *ABSENT)) and error_code(error) not in MISSING_BUCKET


def mapped(error: Exception, verb: Verb, where: str) -> GravelerError:
    """Return the error of the store for an exception that is not the answer to a condition.

    Args:
        error: The exception.
        verb: Kind of the request.
        where: URL of the store without secrets, for the message.
    """
    told = _refusal(error, verb, where) or translated(error, verb, where)
    if told.kind is Kind.PermissionDenied:
        return PermissionDenied(told.message, store=where)
    if verb.changes and _is_unclear(error, told):
        return OutcomeUnknown(told.message, store=where)
    if type(told) not in (SlowDown, OutcomeUnknown, Unavailable):
        return Unavailable(told.message, store=where)
    return told


def _refusal(error: Exception, verb: Verb, where: str) -> GravelerError | None:
    """Return the error for an answer that `translated` does not distinguish from others, or `None`."""
    if error_code(error) in _CONFLICTS:
        return SlowDown(f"cannot {verb.value} {where}: another process writes the same object", store=where)
    if error_code(error) in MISSING_BUCKET:
        message = f"cannot {verb.value} {where}: the bucket or container does not exist"
        return Unavailable(message, kind=Kind.BucketNotFound, store=where)
    if status_of(error) in _UNSUPPORTED:
        return Unavailable(f"cannot {verb.value} {where}: the service does not support this", store=where)
    return None


def _is_unclear(error: Exception, told: GravelerError) -> bool:
    """Return true if a write may have been executed."""
    if isinstance(told, SlowDown):
        return status_of(error) != "429" and error_code(error) not in _BUSY | _CONFLICTS
    if isinstance(error, (*ABSENT, AlreadyExistsError, *_CHANGED)) or status_of(error) in _UNSUPPORTED:
        return False
    return not (isinstance(told, InvalidInput) or status_of(error).startswith("4") or was_not_sent(error))
