"""S3 errors, and the mapping from the errors of graveler to S3 errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from graveler_core.errors import (
    Conflict,
    CorruptData,
    GravelerError,
    InvalidInput,
    Kind,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    PermissionDenied,
    PredicateFailed,
    SlowDown,
    Unavailable,
)

NO_REFS: Final = (Kind.InvalidRef, Kind.AmbiguousRef, Kind.InvalidName)
"""Kinds of errors about a text that names no ref. There are no keys below such a text."""


class S3Refusal(Exception):
    """A request that the gateway refuses, as an S3 error."""

    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        """Create a refusal.

        Args:
            status: HTTP status.
            code: Code of S3, which clients compare.
            message: One sentence for a person.
            headers: Headers of the answer.
        """
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers or {})


_BY_KIND: Final[dict[Kind, tuple[int, str]]] = {
    Kind.RepositoryNotFound: (404, "NoSuchBucket"),
    Kind.RepositoryDeleting: (404, "NoSuchBucket"),
    Kind.PathNotFound: (404, "NoSuchKey"),
    Kind.ObjectNotFound: (404, "NoSuchVersion"),
    Kind.ContentCollected: (404, "NoSuchVersion"),
    Kind.ContentExpired: (404, "NoSuchVersion"),
    Kind.ContentErased: (404, "NoSuchVersion"),
    Kind.UploadNotFound: (404, "NoSuchUpload"),
    Kind.InvalidCredentials: (403, "InvalidAccessKeyId"),
    Kind.CredentialsRequired: (403, "AccessDenied"),
    Kind.SecretNotKept: (403, "InvalidAccessKeyId"),
    Kind.StoreBusy: (503, "SlowDown"),
    Kind.ValueTooLarge: (400, "EntityTooLarge"),
    Kind.InvalidName: (400, "InvalidArgument"),
    Kind.PathTooLong: (400, "KeyTooLongError"),
    Kind.MetadataTooLarge: (400, "MetadataTooLarge"),
}
_BY_CLASS: Final[tuple[tuple[type[GravelerError], int, str], ...]] = (
    (NotFound, 404, "NoSuchKey"),
    (NotUnique, 409, "OperationAborted"),
    (PredicateFailed, 412, "PreconditionFailed"),
    (InvalidInput, 400, "InvalidArgument"),
    (Conflict, 409, "OperationAborted"),
    (SlowDown, 503, "SlowDown"),
    (OutcomeUnknown, 503, "ServiceUnavailable"),
    (Unavailable, 503, "ServiceUnavailable"),
    (PermissionDenied, 403, "AccessDenied"),
    (CorruptData, 500, "InternalError"),
)
"""Status and code by class; the first class that matches decides."""


def refusal_of(error: GravelerError) -> S3Refusal:
    """Return the S3 error that stands for an error of graveler."""
    if error.kind in _BY_KIND:
        return S3Refusal(*_BY_KIND[error.kind], error.message)
    for cls, status, code in _BY_CLASS:
        if isinstance(error, cls):
            return S3Refusal(status, code, error.message)
    return S3Refusal(500, "InternalError", error.message)


def malformed(what: str) -> S3Refusal:
    """Return the refusal of a body that does not have the form that the operation expects."""
    return S3Refusal(400, "MalformedXML", f"body: {what}")


def invalid_argument(what: str) -> S3Refusal:
    """Return the refusal of an argument."""
    return S3Refusal(400, "InvalidArgument", what)


def not_implemented(what: str) -> S3Refusal:
    """Return the refusal of a request for something that the gateway does not have."""
    return S3Refusal(501, "NotImplemented", f"{what}: the gateway does not implement it")
