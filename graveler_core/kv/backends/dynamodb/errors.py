"""Conversion of the errors of botocore to errors of graveler, by the code of the service or the class of the exception.

The store sends each request once. If no answer arrives, the outcome of a write is unknown. The exceptions are failures
before the request was sent: no connection, no credentials, an invalid configuration.
"""

from __future__ import annotations

from typing import Any, Final

from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from graveler_core.errors import (
    GravelerError,
    Kind,
    OutcomeUnknown,
    PermissionDenied,
    PredicateFailed,
    SlowDown,
    Unavailable,
)

FAILURES: Final = (BotoCoreError, ClientError, ResponseParserError)
"""The classes of all exceptions that a request can raise."""

_Rule = tuple[type[GravelerError], Kind, str]

_LOSS: Final[_Rule] = (PredicateFailed, Kind.PredicateFailed, "a predicate does not hold")
_BUSY: Final[_Rule] = (SlowDown, Kind.StoreBusy, "the service is busy")
_DENIED: Final[_Rule] = (PermissionDenied, Kind.PermissionDenied, "the service denies access")
_FULL: Final[_Rule] = (Unavailable, Kind.StoreFull, "the table is full")
_FOREIGN: Final[_Rule] = (Unavailable, Kind.NotAGravelerStore, "the table does not exist")
_LOST: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the service cannot be reached")
_UNKNOWN: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "no answer arrived after a write")
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the service refuses the request")

_CODES: Final[dict[str, _Rule]] = {
    "ConditionalCheckFailedException": _LOSS,
    **dict.fromkeys(
        (
            "LimitExceededException",
            "ProvisionedThroughputExceededException",
            "ReplicatedWriteConflictException",
            "RequestLimitExceeded",
            "ResourceInUseException",
            "ThrottlingException",
            "TransactionConflictException",
        ),
        _BUSY,
    ),
    **dict.fromkeys(
        (
            "AccessDenied",
            "AccessDeniedException",
            "ExpiredToken",
            "ExpiredTokenException",
            "IncompleteSignatureException",
            "InvalidClientTokenId",
            "InvalidSignatureException",
            "MissingAuthenticationTokenException",
            "RequestExpired",
            "UnrecognizedClientException",
        ),
        _DENIED,
    ),
    "ItemCollectionSizeLimitExceededException": _FULL,
    "ResourceNotFoundException": _FOREIGN,
}
_REASONS: Final[dict[str, _Rule]] = {
    "ConditionalCheckFailed": _LOSS,
    "ItemCollectionSizeLimitExceeded": _FULL,
    "ProvisionedThroughputExceeded": _BUSY,
    "ThrottlingError": _BUSY,
    "TransactionConflict": _BUSY,
}
"""Rules for the reasons of a cancelled transaction."""
_IN_PROGRESS: Final = "TransactionInProgressException"
_NOT_SENT: Final = (
    exceptions.ConnectTimeoutError,
    exceptions.EndpointConnectionError,
    exceptions.ProxyConnectionError,
)
_NO_CREDENTIALS: Final = (
    exceptions.CredentialRetrievalError,
    exceptions.LoginError,
    exceptions.MetadataRetrievalError,
    exceptions.NoAuthTokenError,
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.RefreshWithMFAUnsupportedError,
    exceptions.SSOError,
    exceptions.TokenRetrievalError,
    exceptions.UnknownCredentialError,
)
_NO_ANSWER: Final = (
    exceptions.ChecksumError,
    exceptions.ConnectionError,
    exceptions.HTTPClientError,
    exceptions.IncompleteReadError,
    ResponseParserError,
)


def mapped(error: Exception, where: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an exception of botocore.

    Args:
        error: The exception.
        where: URL of the table without secrets, for the message.
        writing: True if the request writes, so that its outcome is unknown without an answer.
    """
    code, reasons = _code(error)
    error_class, kind, what = _rule(error, code, reasons, writing)
    return error_class(f"{what}: {where}: {_first_line(error)}", kind=kind, store=where, code=code)


def _rule(error: Exception, code: str | None, reasons: list[str], writing: bool) -> _Rule:
    if isinstance(error, ClientError):
        if reasons:
            # A cancelled transaction has written nothing. A failed condition decides, whatever else went wrong.
            rules = [_REASONS.get(reason, _OTHER) for reason in reasons]
            return next((rule for rule in (_LOSS, _FULL, _OTHER) if rule in rules), _BUSY)
        unanswered = code == _IN_PROGRESS or _status(error) >= 500
        return _CODES.get(code or "") or ((_UNKNOWN if writing else _BUSY) if unanswered else _OTHER)
    if isinstance(error, _NO_CREDENTIALS):
        return _DENIED
    if isinstance(error, _NO_ANSWER) and not isinstance(error, _NOT_SENT):
        return _UNKNOWN if writing else _LOST
    return _LOST


def _code(error: Exception) -> tuple[str | None, list[str]]:
    """Return the code of the service, and the reasons of a cancelled transaction."""
    response: dict[str, Any] = getattr(error, "response", None) or {}
    reasons = [str(reason.get("Code")) for reason in response.get("CancellationReasons", ())]
    return response.get("Error", {}).get("Code"), [reason for reason in reasons if reason != "None"]


def _status(error: ClientError) -> int:
    return int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
