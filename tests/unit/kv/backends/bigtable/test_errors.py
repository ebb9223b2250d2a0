"""Every exception class of Google's client libraries and every gRPC code become errors of the tree."""

from __future__ import annotations

import inspect

import google.auth.exceptions
import pytest
from google.api_core import exceptions
from grpc import RpcError, StatusCode

from graveler_core.errors import GravelerError, Kind
from graveler_core.kv.backends.bigtable.errors import FAILURES, is_refused, mapped, refused

URL = "bigtable://p/i/t"
TEXT = "as it happens\nand where"
REFUSED = {
    StatusCode.INVALID_ARGUMENT: Kind.StoreUnreachable,
    StatusCode.NOT_FOUND: Kind.NotAGravelerStore,
    StatusCode.ALREADY_EXISTS: Kind.StoreUnreachable,
    StatusCode.PERMISSION_DENIED: Kind.PermissionDenied,
    StatusCode.RESOURCE_EXHAUSTED: Kind.StoreBusy,
    StatusCode.FAILED_PRECONDITION: Kind.StoreUnreachable,
    StatusCode.OUT_OF_RANGE: Kind.StoreUnreachable,
    StatusCode.UNIMPLEMENTED: Kind.StoreUnreachable,
    StatusCode.UNAUTHENTICATED: Kind.PermissionDenied,
}
UNCLEAR = {
    StatusCode.CANCELLED: Kind.StoreUnreachable,
    StatusCode.UNKNOWN: Kind.StoreBusy,
    StatusCode.DEADLINE_EXCEEDED: Kind.StoreUnreachable,
    StatusCode.ABORTED: Kind.StoreBusy,
    StatusCode.INTERNAL: Kind.StoreBusy,
    StatusCode.UNAVAILABLE: Kind.StoreBusy,
    StatusCode.DATA_LOSS: Kind.CorruptRecord,
}
"""Kind after a read, of the codes after which a write may have been executed."""


def told(code: StatusCode, text: str = TEXT) -> Exception:
    return exceptions.from_grpc_status(code, text)


def kinds(error: Exception) -> tuple[Kind, Kind]:
    """The kind after a read, and after a write."""
    return mapped(error, URL, writing=False).kind, mapped(error, URL, writing=True).kind


def test_every_code_is_mapped() -> None:
    assert {*REFUSED, *UNCLEAR} == set(StatusCode) - {StatusCode.OK}


@pytest.mark.parametrize(("code", "kind"), REFUSED.items())
def test_refusals(code: StatusCode, kind: Kind) -> None:
    assert kinds(told(code)) == (kind, kind)
    assert refused(code.value[0], "as it happens", URL).kind is kind


@pytest.mark.parametrize(("code", "kind"), UNCLEAR.items())
def test_unclear_answers(code: StatusCode, kind: Kind) -> None:
    assert kinds(told(code)) == (kind, Kind.OutcomeUnknown)
    assert refused(code.value[0], "as it happens", URL).kind is Kind.OutcomeUnknown


def test_a_number_that_is_no_code() -> None:
    assert refused(99, "as it happens", URL).kind is Kind.OutcomeUnknown


@pytest.mark.parametrize(
    "text",
    [
        "failed to connect to all addresses; last error: UNKNOWN: connection refused",
        "DNS resolution failed for nowhere",
        "Getting metadata from plugin failed with error: no credentials",
        "connections to all backends failing; last error: UNKNOWN: TLS handshake failed",
    ],
)
def test_nothing_was_sent(text: str) -> None:
    assert kinds(told(StatusCode.UNAVAILABLE, text)) == (Kind.StoreUnreachable, Kind.StoreUnreachable)
    assert kinds(told(StatusCode.UNAVAILABLE, "Socket closed"))[1] is Kind.OutcomeUnknown
    assert kinds(told(StatusCode.INTERNAL, text))[1] is Kind.OutcomeUnknown


def classes(module: object) -> list[type[Exception]]:
    found = [cls for _, cls in inspect.getmembers(module, inspect.isclass)]
    return [cls for cls in found if issubclass(cls, FAILURES)]


def made(cls: type[Exception]) -> Exception:
    """An instance of the class, with a message that needs no other arguments."""
    error = cls.__new__(cls)
    Exception.__init__(error, TEXT)
    vars(error).update(message=TEXT, _message=TEXT, _cause=None, _details=(), _errors=(), _error_info=None)
    return error


def test_every_class_of_the_client_is_mapped() -> None:
    """A write that may have been sent has an unknown outcome, unless the class says that it was refused."""
    found = classes(exceptions)
    assert len(found) > 35
    clear = {None, *REFUSED}
    for cls in found:
        error = made(cls)
        for writing in (False, True):
            result = mapped(error, URL, writing=writing)
            assert type(result) is not GravelerError
            assert URL in result.message
            assert "\n" not in result.message
        if getattr(error, "grpc_status_code", None) not in clear - {None}:
            assert mapped(error, URL, writing=True).kind is Kind.OutcomeUnknown, cls


def test_every_class_of_the_credentials_is_mapped() -> None:
    """They are needed before a request is sent."""
    found = classes(google.auth.exceptions)
    assert len(found) > 15
    for cls in found:
        denied = issubclass(cls, google.auth.exceptions.DefaultCredentialsError)
        kind = Kind.PermissionDenied if denied else Kind.StoreUnreachable
        assert kinds(cls(TEXT)) == (kind, kind)


def test_a_bare_error_of_grpc() -> None:
    class Told(RpcError):  # type: ignore[misc]
        def code(self) -> StatusCode:
            return StatusCode.PERMISSION_DENIED

    assert kinds(Told()) == (Kind.PermissionDenied, Kind.PermissionDenied)
    assert kinds(RpcError()) == (Kind.StoreUnreachable, Kind.OutcomeUnknown)


def test_the_code_of_a_refusal() -> None:
    assert is_refused(mapped(told(StatusCode.NOT_FOUND), URL, writing=False), StatusCode.NOT_FOUND)
    assert not is_refused(mapped(RpcError(), URL, writing=False), StatusCode.NOT_FOUND)
