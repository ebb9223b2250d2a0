"""Conversion of the errors of the Cassandra driver to errors of graveler, by the class of the exception.

A conditional write has three steps: the replicas promise, accept and commit it. A node may report a failure after the
second step, when others can still complete the write. So after most answers, the outcome of a write is unknown. Nothing
was written if the request was refused before the first step, or was not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from cassandra import (
    AuthenticationFailed,
    ConsistencyLevel,
    DriverException,
    OperationTimedOut,
    ReadTimeout,
    RequestValidationException,
    Unauthorized,
    UnresolvableContactPoints,
)
from cassandra import Unavailable as TooFewReplicas
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionBusy, ConnectionException, ProtocolError
from cassandra.pool import NoConnectionsAvailable
from cassandra.protocol import (
    BadCredentials,
    ErrorMessage,
    InternalError,
    IsBootstrappingErrorMessage,
    NotSupportedError,
    OverloadedErrorMessage,
    ProtocolException,
)
from cassandra.protocol import RequestValidationException as RefusedMessage
from cassandra.segment import CrcException

from graveler_core.errors import (
    GravelerError,
    Kind,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)

FAILURES: Final = (
    ConnectionBusy,
    ConnectionException,
    CrcException,
    DriverException,
    ErrorMessage,
    InternalError,
    NoConnectionsAvailable,
    NoHostAvailable,
    NotSupportedError,
    ProtocolError,
)
"""The classes of all exceptions that a request can raise."""

_Rule = tuple[type[GravelerError], Kind, str]

_BUSY: Final[_Rule] = (SlowDown, Kind.StoreBusy, "the cluster is busy, or too few replicas are up")
_DENIED: Final[_Rule] = (PermissionDenied, Kind.PermissionDenied, "the cluster denies access")
_FOREIGN: Final[_Rule] = (Unavailable, Kind.NotAGravelerStore, "the table does not exist")
_LOST: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the cluster cannot be reached")
_UNKNOWN: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the outcome of a write was not reported")
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the cluster refuses the request")

_ACCESS: Final = (AuthenticationFailed, BadCredentials, Unauthorized)
_FULL_CONNECTIONS: Final = (ConnectionBusy, NoConnectionsAvailable)
"""Classes of the exceptions after which nothing was sent, because too much is under way."""
_REFUSED: Final = (ProtocolException, RefusedMessage, RequestValidationException)
"""Classes of the answers to requests that no node has executed."""
_UNDONE: Final[tuple[tuple[Any, _Rule], ...]] = (
    (_ACCESS, _DENIED),
    (_FULL_CONNECTIONS, _BUSY),
    (UnresolvableContactPoints, _LOST),
    (_REFUSED, _OTHER),
    (IsBootstrappingErrorMessage, _BUSY),
)
"""Rules for exceptions after which nothing was written."""
_PAXOS: Final = (ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL)
_NO_TABLE: Final = ("unconfigured table", "does not exist")
"""Parts of the answer if the table was dropped."""


def mapped(error: Exception, where: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an exception of the driver.

    Args:
        error: The exception.
        where: URL of the store without secrets, for the message.
        writing: True if the request writes, so that its outcome may be unknown.
    """
    error_class, kind, what = _rule(error, writing)
    return error_class(f"{what}: {where}: {_text(error)}", kind=kind, store=where)


def was_refused(error: BaseException | None) -> bool:
    """Return true if a node has answered that it does not execute the request for this user, or at all."""
    return isinstance(error, _REFUSED)


def is_full(error: NoHostAvailable) -> bool:
    """Return true if no node was asked because too much is under way on all connections."""
    causes = _causes(error)
    return bool(causes) and all(isinstance(cause, _FULL_CONNECTIONS) for cause in causes)


def without_answer(error: BaseException | None) -> bool:
    """Return true if no answer arrived to a request that a node may have received."""
    return isinstance(error, ConnectionException | OperationTimedOut)


def _rule(error: Exception, writing: bool) -> _Rule:
    if isinstance(error, NoHostAvailable):
        return _rule_of_nodes(error)
    if isinstance(error, _REFUSED) and any(part in str(error) for part in _NO_TABLE):
        return _FOREIGN
    if isinstance(error, TooFewReplicas) and error.consistency in _PAXOS:
        # With another consistency, it is the commit that has too few replicas: the write was accepted.
        return _BUSY
    undone = next((rule for classes, rule in _UNDONE if isinstance(error, classes)), None)
    if undone is not None or writing:
        return undone or _UNKNOWN
    if isinstance(error, OverloadedErrorMessage | ReadTimeout | TooFewReplicas):
        return _BUSY
    return _LOST if without_answer(error) else _OTHER


def _rule_of_nodes(error: NoHostAvailable) -> _Rule:
    """Return the rule if no node can be used. The driver tries the next node only if it has sent nothing."""
    if any(isinstance(cause, _ACCESS) for cause in _causes(error)):
        return _DENIED
    return _BUSY if is_full(error) else _LOST


def _causes(error: NoHostAvailable) -> list[Any]:
    """Return the errors of the nodes. If the driver has lost all nodes while it connected, it only gives addresses."""
    return list(error.errors.values()) if isinstance(error.errors, Mapping) else []


def _text(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300] or type(error).__name__
