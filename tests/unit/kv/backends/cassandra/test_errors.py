"""Every exception class of the Cassandra driver becomes an error of the tree."""

from __future__ import annotations

import inspect
from typing import Any

import cassandra
import pytest
from cassandra import ConsistencyLevel, WriteType, cluster, connection, pool, protocol

from graveler_core.errors import GravelerError, Kind
from graveler_core.kv.backends.cassandra.errors import FAILURES, is_full, mapped, was_refused, without_answer

URL = "cassandra://host/lakes"
TEXT = "as it happens\nand where"
BUSY = (Kind.StoreBusy, Kind.StoreBusy)
DENIED = (Kind.PermissionDenied, Kind.PermissionDenied)
FOREIGN = (Kind.NotAGravelerStore, Kind.NotAGravelerStore)
REFUSED = (Kind.StoreUnreachable, Kind.StoreUnreachable)
BUSY_OR_UNCLEAR = (Kind.StoreBusy, Kind.OutcomeUnknown)
LOST_OR_UNCLEAR = (Kind.StoreUnreachable, Kind.OutcomeUnknown)
EXPECTED: dict[type[Exception], tuple[Kind, Kind]] = {
    cassandra.AuthenticationFailed: DENIED,
    cassandra.Unauthorized: DENIED,
    protocol.BadCredentials: DENIED,
    cassandra.InvalidRequest: REFUSED,
    cassandra.RequestValidationException: REFUSED,
    cassandra.ConfigurationException: REFUSED,
    cassandra.AlreadyExists: REFUSED,
    cassandra.UnresolvableContactPoints: REFUSED,
    protocol.ProtocolException: REFUSED,
    protocol.RequestValidationException: REFUSED,
    protocol.SyntaxException: REFUSED,
    protocol.UnauthorizedErrorMessage: REFUSED,
    protocol.InvalidRequestException: REFUSED,
    protocol.ConfigurationException: REFUSED,
    protocol.AlreadyExistsException: REFUSED,
    protocol.PreparedQueryNotFound: REFUSED,
    cluster.NoHostAvailable: REFUSED,
    connection.ConnectionBusy: BUSY,
    pool.NoConnectionsAvailable: BUSY,
    protocol.IsBootstrappingErrorMessage: BUSY,
    cassandra.Unavailable: BUSY_OR_UNCLEAR,
    cassandra.ReadTimeout: BUSY_OR_UNCLEAR,
    protocol.OverloadedErrorMessage: BUSY_OR_UNCLEAR,
}
"""Kind after a read and after a write. All other classes: the cluster cannot be reached, or the outcome is unknown."""


def kinds(error: Exception) -> tuple[Kind, Kind]:
    """The kind after a read, and after a write."""
    return mapped(error, URL, writing=False).kind, mapped(error, URL, writing=True).kind


def classes() -> list[type[Exception]]:
    modules = (cassandra, cluster, connection, pool, protocol)
    found = {cls for module in modules for _, cls in inspect.getmembers(module, inspect.isclass)}
    return sorted(
        (cls for cls in found if issubclass(cls, Exception) and cls.__module__.startswith("cassandra")),
        key=lambda cls: (cls.__module__, cls.__name__),
    )


def made(cls: type[Exception]) -> Exception:
    """An instance of the class as the driver makes it."""
    if issubclass(cls, protocol.ErrorMessage):
        return cls(0, TEXT, {})
    more: dict[type[Exception], tuple[Any, ...]] = {
        cassandra.AlreadyExists: ("lakes", "graveler"),
        cassandra.CoordinationFailure: (TEXT,),
        cassandra.FunctionFailure: (TEXT, "lakes", "f", []),
        cassandra.OperationTimedOut: ({}, None),
        cassandra.ReadTimeout: (TEXT,),
        cassandra.Timeout: (TEXT, ConsistencyLevel.SERIAL, 2, 1),
        cassandra.Unavailable: (TEXT, ConsistencyLevel.QUORUM, 2, 1),
        cluster.NoHostAvailable: (TEXT, {}),
        connection.ProtocolVersionUnsupported: ("host", 4),
    }
    if issubclass(cls, cassandra.WriteTimeout):
        return cls(TEXT, WriteType.CAS, consistency=ConsistencyLevel.SERIAL)
    return cls(*more.get(cls, (TEXT,)))


OF_OTHER_FEATURES = {
    "DependencyException",
    "QueryExhausted",
    "ShutdownException",
    "TraceUnavailable",
    "UserTypeDoesNotExist",
}
"""Classes of what the store does not use: missing packages of the driver, pages, traces, types of users."""


def test_every_class_of_the_driver_is_mapped() -> None:
    """Unless nothing was sent or a node has refused it, the outcome of a write is unknown."""
    found = [cls for cls in classes() if cls.__name__ not in OF_OTHER_FEATURES]
    assert len(found) > 40
    assert set(EXPECTED) <= set(found)
    for cls in found:
        assert issubclass(cls, FAILURES), cls
        error = made(cls)
        told = [mapped(error, URL, writing=writing) for writing in (False, True)]
        assert all(
            type(each) is not GravelerError and URL in each.message and "\n" not in each.message for each in told
        )
        expected = EXPECTED.get(cls, LOST_OR_UNCLEAR)
        assert (told[0].kind, told[1].kind) == expected, cls


@pytest.mark.parametrize("consistency", [ConsistencyLevel.SERIAL, ConsistencyLevel.LOCAL_SERIAL])
def test_too_few_replicas_to_begin(consistency: int) -> None:
    """Too few replicas for the commit are another thing: the write was accepted."""
    assert kinds(cassandra.Unavailable("too few", consistency, 2, 1)) == BUSY


@pytest.mark.parametrize(
    "text", ["unconfigured table graveler", "table graveler does not exist", "Keyspace lakes does not exist"]
)
def test_a_table_that_was_dropped(text: str) -> None:
    assert kinds(cassandra.InvalidRequest(text)) == FOREIGN


def test_no_node_can_be_used() -> None:
    """Nothing was sent."""
    down, busy = connection.ConnectionException("down"), connection.ConnectionBusy("busy")
    refused = cluster.NoHostAvailable("none", {"one": down, "two": cassandra.AuthenticationFailed("no")})
    assert kinds(refused) == DENIED
    assert kinds(cluster.NoHostAvailable("none", {"one": down, "two": busy})) == REFUSED
    full = cluster.NoHostAvailable("none", {"one": busy, "two": pool.NoConnectionsAvailable("busy")})
    assert kinds(full) == BUSY
    assert is_full(full)
    assert not is_full(cluster.NoHostAvailable("none", {}))
    lost = cluster.NoHostAvailable("none", ["one", "two"])
    assert kinds(lost) == REFUSED
    assert not is_full(lost)


def test_which_reads_are_repeated() -> None:
    assert without_answer(connection.ConnectionShutdown("lost"))
    assert without_answer(cassandra.OperationTimedOut({}, None))
    assert not without_answer(cluster.NoHostAvailable("none", {}))
    assert not without_answer(cassandra.ReadTimeout("late"))
    assert not without_answer(None)


def test_what_is_left_out_of_descriptions() -> None:
    assert was_refused(cassandra.Unauthorized("no"))
    assert was_refused(cassandra.InvalidRequest("unconfigured table settings"))
    assert not was_refused(cassandra.OperationTimedOut({}, None))
