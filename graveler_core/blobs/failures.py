"""Conversion of errors of obstore and of the operating system. The port raises only graveler's own errors.

Messages of obstore contain request URLs (possibly with signatures), responses and configuration values. Therefore only
harmless parts are repeated, the original error is not chained, and no option values are passed to this module.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
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
_KEY_CODE = re.compile(r"DeleteFailed \{[^}]*?\n\s*code: \"([A-Za-z]{1,64})\"")
_REPEATED = re.compile(r" after \d+ retr")
_HTTP = re.compile(r"HttpError \{\s*kind: (\w+)")
_THROTTLED = {"429", "503"}
_REFUSED = {"401", "403", "407"}
_NEVER_SENT = {"Connect"}
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_UNREADABLE = {errno.EIO, errno.EBADMSG, errno.EUCLEAN, *_FORBIDDEN}
_WITHHELD = {"AccessDenied", "InvalidObjectState", "BlobArchived"}
"""Codes for an object that a service does not return, for example because it is archived."""
MISSING_BUCKET = {"NoSuchBucket", "ContainerNotFound"}
"""Codes of S3-like services for a bucket that does not exist."""


class Verb(Enum):
    """Kind of request. The value is used in messages."""

    OPEN = "open"
    READ = "read"
    LIST = "list"
    WRITE = "write"
    DELETE = "delete"

    @property
    def changes(self) -> bool:
        """True if the effect is unknown after a lost response."""
        return self in (Verb.WRITE, Verb.DELETE)


@contextmanager
def translating(verb: Verb, uri: str) -> Iterator[None]:
    """Convert errors of obstore or the operating system inside the `with` statement. `uri` names the object or
    namespace.
    """
    try:
        yield
    except (below.BaseError, OSError, ValueError) as e:
        raise translated(e, verb, uri) from None


@contextmanager
def on_local_disk() -> Iterator[None]:
    """Convert errors of the operating system about temporary files. Their own messages name no location."""
    try:
        yield
    except OSError as e:
        raise translated(e, Verb.WRITE, f"a temporary file in {tempfile.tempdir or 'any directory'}") from None


def translated(error: Exception, verb: Verb, uri: str) -> GravelerError:
    """Return the converted error. `details["unreadable"]` is set if an object exists, and only this object cannot be
    read: on a bad disk sector, or because it is archived or forbidden.
    """
    if verb is Verb.READ and error_code(error) in _WITHHELD:
        return _withheld(error, uri)
    for classes, rule in _RULES:
        if isinstance(error, classes):
            return rule(error, verb, uri)
    return _from_text(error, verb, uri)


def _exists(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return NotUnique(f"{uri}: already exists", uri=uri)


def _changed(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return PredicateFailed(f"{uri}: has changed", uri=uri)


def _refused(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return InvalidInput(f"cannot {verb.value} {uri}: the store does not accept this address or option", uri=uri)


def _unsupported(error: Exception, verb: Verb, uri: str) -> GravelerError:
    return Unavailable(f"cannot {verb.value} {uri}: the store does not support this", uri=uri)


def _missing(error: Exception, verb: Verb, uri: str) -> GravelerError:
    code = error_code(error)
    if verb is Verb.READ and code not in MISSING_BUCKET:
        return NotFound(f"{uri}: there is no such object", kind=Kind.ObjectNotFound, uri=uri)
    why = "the bucket, container or directory does not exist"
    return Unavailable(f"cannot {verb.value} {uri}: {why}", kind=Kind.BucketNotFound, uri=uri)


def _forbidden(error: Exception, verb: Verb, uri: str) -> GravelerError:
    why = error_code(error) or "missing or wrong credentials"
    return Unavailable(f"cannot {verb.value} {uri}: not permitted ({why})", kind=Kind.PermissionDenied, uri=uri)


def _withheld(error: Exception, uri: str) -> GravelerError:
    message = f"cannot read {uri}: not permitted ({error_code(error)})"
    return Unavailable(message, kind=Kind.PermissionDenied, uri=uri, unreadable=True)


def _from_system(error: Exception, verb: Verb, uri: str) -> GravelerError:
    number = getattr(error, "errno", None) or 0
    why = errno.errorcode.get(number, type(error).__name__)
    message = f"cannot {verb.value} {uri}: {os.strerror(number).lower()} ({why})"
    if number in _FULL:
        return Unavailable(message, kind=Kind.StoreFull, uri=uri)
    if number == errno.EROFS or (number in _FORBIDDEN and verb.changes):
        return Unavailable(message, kind=Kind.StoreReadOnly, uri=uri)
    if verb is Verb.READ and number in _UNREADABLE:
        kind = Kind.PermissionDenied if number in _FORBIDDEN else Kind.StoreUnreachable
        return Unavailable(message, kind=kind, uri=uri, unreadable=True)
    if number in _FORBIDDEN:
        return Unavailable(message, kind=Kind.PermissionDenied, uri=uri)
    if number == errno.ENAMETOOLONG:
        return LimitExceeded(message, uri=uri)
    return Unavailable(message, uri=uri)


def _from_text(error: Exception, verb: Verb, uri: str) -> GravelerError:
    """Convert an error by the text of its message. Only the text contains the status, the error code and the transport
    error of a failed request.
    """
    status = status_of(error)
    transport = _first(_HTTP, str(error))
    why = (
        ", ".join(part for part in (status and f"status {status}", error_code(error), transport) if part)
        or "no reason given"
    )
    message = f"cannot {verb.value} {uri}: {why}"
    if status in _THROTTLED or error_code(error) == "SlowDown":
        return SlowDown(message, uri=uri)
    if status in _REFUSED or error_code(error) == "AccessDenied":
        return _forbidden(error, verb, uri)
    if error_code(error) in MISSING_BUCKET:
        return Unavailable(message, kind=Kind.BucketNotFound, uri=uri)
    if status == "507":
        return Unavailable(message, kind=Kind.StoreFull, uri=uri)
    lost = status.startswith("5") or (transport != "" and not was_not_sent(error))
    if verb.changes and lost:
        return OutcomeUnknown(message, uri=uri)
    return Unavailable(message, uri=uri)


def past_the_end(error: Exception) -> bool:
    """Return true if a range was refused because the object ends before it."""
    return status_of(error) == "416" or "StartTooLarge" in str(error)


def names_a_key(error: Exception) -> bool:
    """Return true if a store has refused some of the keys of one request."""
    return _KEY_CODE.search(str(error)) is not None


def unsigned(uri: str) -> InvalidInput:
    """Return the error for a URL of a store that does not sign URLs."""
    return InvalidInput(f"{uri}: presigned URLs exist only for s3://, gs:// and az://", uri=uri)


def error_code(error: Exception) -> str:
    """Return the error code of an S3-like response, or of a key that was refused, or an empty text."""
    return _first(_CODE, str(error)) or _first(_KEY_CODE, str(error))


def status_of(error: Exception) -> str:
    """Return the status of the answer of a service, or an empty text if there was none."""
    return _first(_STATUS, str(error))


def was_repeated(error: Exception) -> bool:
    """Return true if the request that failed was a repetition. obstore repeats requests whose response was lost."""
    return _REPEATED.search(str(error)) is not None


def was_not_sent(error: Exception) -> bool:
    """Return true if no connection could be made."""
    return _first(_HTTP, str(error)) in _NEVER_SENT


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
