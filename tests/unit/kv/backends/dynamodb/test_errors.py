"""Every exception class of botocore, and every error of the service's model, becomes an error of the tree."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from botocore import exceptions
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from graveler_core.errors import GravelerError, Kind, OutcomeUnknown
from graveler_core.kv.backends.dynamodb.errors import FAILURES, mapped
from graveler_core.kv.backends.dynamodb.requests import TableTarget

URL = "dynamodb://table"
OPERATIONS = (
    *("GetItem", "PutItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem", "TransactWriteItems"),
    *("DescribeTable", "CreateTable"),
)
REFUSALS = {
    "AccessDeniedException": Kind.PermissionDenied,
    "ConditionalCheckFailedException": Kind.PredicateFailed,
    "ExpiredTokenException": Kind.PermissionDenied,
    "IdempotentParameterMismatchException": Kind.StoreUnreachable,
    "ItemCollectionSizeLimitExceededException": Kind.StoreFull,
    "LimitExceededException": Kind.StoreBusy,
    "ProvisionedThroughputExceededException": Kind.StoreBusy,
    "ReplicatedWriteConflictException": Kind.StoreBusy,
    "RequestLimitExceeded": Kind.StoreBusy,
    "ResourceInUseException": Kind.StoreBusy,
    "ResourceNotFoundException": Kind.NotAGravelerStore,
    "ThrottlingException": Kind.StoreBusy,
    "TransactionConflictException": Kind.StoreBusy,
    "UnrecognizedClientException": Kind.PermissionDenied,
    "ValidationException": Kind.StoreUnreachable,
}
"""Codes with which the service refuses a request: nothing was written."""
UNCLEAR = {"InternalServerError", "TransactionInProgressException"}
"""Codes after which a write may have been executed."""
NOT_SENT = {
    exceptions.ConnectTimeoutError: Kind.StoreUnreachable,
    exceptions.EndpointConnectionError: Kind.StoreUnreachable,
    exceptions.ProxyConnectionError: Kind.StoreUnreachable,
    exceptions.NoCredentialsError: Kind.PermissionDenied,
    exceptions.PartialCredentialsError: Kind.PermissionDenied,
    exceptions.TokenRetrievalError: Kind.PermissionDenied,
    exceptions.NoRegionError: Kind.StoreUnreachable,
    exceptions.ProfileNotFound: Kind.StoreUnreachable,
    exceptions.ParamValidationError: Kind.StoreUnreachable,
}
NO_ANSWER = (
    exceptions.ReadTimeoutError,
    exceptions.ConnectionClosedError,
    exceptions.HTTPClientError,
    exceptions.ConnectionError,
    exceptions.SSLError,
    exceptions.ResponseStreamingError,
    exceptions.IncompleteReadError,
)


def raised(cls: type[Exception]) -> Exception:
    """An instance of the class, with a message that needs no arguments."""
    error = cls.__new__(cls)
    Exception.__init__(error, "as it happens\nand where")
    return error


def answer(code: str, status: int = 400, reasons: tuple[str, ...] = ()) -> ClientError:
    response: dict[str, Any] = {
        "Error": {"Code": code, "Message": "as it happens"},
        "ResponseMetadata": {"HTTPStatusCode": status},
    }
    if reasons:
        response["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return ClientError(response, "PutItem")


def kinds(error: Exception) -> tuple[Kind, Kind]:
    """The kind after a read, and after a write."""
    return mapped(error, URL, writing=False).kind, mapped(error, URL, writing=True).kind


def test_every_class_of_the_client_is_mapped() -> None:
    classes = [cls for _, cls in inspect.getmembers(exceptions, inspect.isclass) if issubclass(cls, BotoCoreError)]
    assert len(classes) > 60
    for cls in [*classes, ResponseParserError]:
        assert issubclass(cls, FAILURES)
        for writing in (False, True):
            found = mapped(raised(cls), URL, writing=writing)
            assert type(found) is not GravelerError
            assert found.message.endswith(": dynamodb://table: as it happens")


def test_every_error_of_the_service_is_listed_here() -> None:
    client = TableTarget("table", "eu-central-1", access_key_id="a", secret_access_key="b").connect()
    model = client.meta.service_model
    named = {shape.name for name in OPERATIONS for shape in model.operation_model(name).error_shapes}
    assert len(named) > 10
    assert named <= {*REFUSALS, *UNCLEAR, "TransactionCanceledException"}


@pytest.mark.parametrize(("code", "kind"), REFUSALS.items())
def test_refusals(code: str, kind: Kind) -> None:
    assert kinds(answer(code)) == (kind, kind)


@pytest.mark.parametrize("error", [answer("InternalServerError", 500), answer("503", 503), answer("Unheard", 502)])
def test_failures_of_the_service(error: ClientError) -> None:
    """A read is repeated later; a write may have been executed."""
    assert kinds(error) == (Kind.StoreBusy, Kind.OutcomeUnknown)


def test_an_unclear_transaction() -> None:
    assert kinds(answer("TransactionInProgressException"))[1] is Kind.OutcomeUnknown


@pytest.mark.parametrize(
    ("reasons", "kind"),
    [
        (("None", "ConditionalCheckFailed"), Kind.PredicateFailed),
        (("TransactionConflict", "ConditionalCheckFailed"), Kind.PredicateFailed),
        (("TransactionConflict", "None"), Kind.StoreBusy),
        (("ThrottlingError",), Kind.StoreBusy),
        (("ProvisionedThroughputExceeded", "None"), Kind.StoreBusy),
        (("ValidationError", "TransactionConflict"), Kind.StoreUnreachable),
        (("ItemCollectionSizeLimitExceeded",), Kind.StoreFull),
    ],
)
def test_cancelled_transactions(reasons: tuple[str, ...], kind: Kind) -> None:
    error = answer("TransactionCanceledException", reasons=reasons)
    assert kinds(error) == (kind, kind)


@pytest.mark.parametrize(("cls", "kind"), NOT_SENT.items())
def test_nothing_was_sent(cls: type[Exception], kind: Kind) -> None:
    assert kinds(raised(cls)) == (kind, kind)


@pytest.mark.parametrize("cls", NO_ANSWER)
def test_no_answer(cls: type[Exception]) -> None:
    assert kinds(raised(cls)) == (Kind.StoreUnreachable, Kind.OutcomeUnknown)


def test_a_class_that_may_have_sent_something_is_never_a_plain_failure_of_a_write() -> None:
    for _, cls in inspect.getmembers(exceptions, inspect.isclass):
        sent = issubclass(cls, exceptions.HTTPClientError | exceptions.ConnectionError)
        if sent and not issubclass(cls, tuple(NOT_SENT)):
            assert isinstance(mapped(raised(cls), URL, writing=True), OutcomeUnknown), cls
