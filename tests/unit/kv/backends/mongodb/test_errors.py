"""Every exception class of PyMongo and BSON, and the codes of the server, become errors of the tree."""

from __future__ import annotations

import inspect

import bson.errors
import pytest
from pymongo import errors

from graveler_core.errors import GravelerError, Kind
from graveler_core.kv.backends.mongodb.errors import FAILURES, mapped, not_confirmed, refused, without_answer

URL = "mongodb://host/graveler"
TEXT = "as it happens\nand where"
BUSY = (Kind.StoreBusy, Kind.StoreBusy)
DENIED = (Kind.PermissionDenied, Kind.PermissionDenied)
REFUSED = (Kind.StoreUnreachable, Kind.StoreUnreachable)
UNCLEAR = (Kind.StoreBusy, Kind.OutcomeUnknown)
CODES = {
    "BadValue": (2, REFUSED),
    "HostUnreachable": (6, UNCLEAR),
    "UserNotFound": (11, DENIED),
    "Unauthorized": (13, DENIED),
    "AuthenticationFailed": (18, DENIED),
    "LockTimeout": (24, BUSY),
    "MaxTimeMSExpired": (50, UNCLEAR),
    "CommandNotFound": (59, REFUSED),
    "WriteConcernFailed": (64, UNCLEAR),
    "NetworkTimeout": (89, UNCLEAR),
    "ShutdownInProgress": (91, UNCLEAR),
    "WriteConflict": (112, BUSY),
    "DocumentValidationFailure": (121, REFUSED),
    "PrimarySteppedDown": (189, UNCLEAR),
    "ExceededTimeLimit": (262, UNCLEAR),
    "DataCorruptionDetected": (305, (Kind.CorruptRecord, Kind.CorruptRecord)),
    "ReauthenticationRequired": (391, DENIED),
    "IngressRequestRateLimitExceeded": (462, BUSY),
    "NotWritablePrimary": (10_107, BUSY),
    "BSONObjectTooLarge": (10_334, (Kind.ValueTooLarge, Kind.ValueTooLarge)),
    "DuplicateKey": (11_000, BUSY),
    "InterruptedAtShutdown": (11_600, UNCLEAR),
    "InterruptedDueToReplStateChange": (11_602, UNCLEAR),
    "NotPrimaryNoSecondaryOk": (13_435, BUSY),
    "NotPrimaryOrSecondary": (13_436, BUSY),
    "OutOfDiskSpace": (14_031, (Kind.StoreFull, Kind.StoreFull)),
    "RequestRateTooLarge": (16_500, BUSY),
    "KeyTooLong": (17_280, (Kind.ValueTooLarge, Kind.ValueTooLarge)),
    "a code that nobody knows": (999_999, UNCLEAR),
}
"""Code and kind after a read and after a write, by the name of the code."""
NOT_SENT = {
    errors.ConfigurationError: Kind.StoreUnreachable,
    errors.InvalidURI: Kind.StoreUnreachable,
    errors.InvalidName: Kind.StoreUnreachable,
    errors.ServerSelectionTimeoutError: Kind.StoreUnreachable,
    errors.WaitQueueTimeoutError: Kind.StoreBusy,
    errors.DocumentTooLarge: Kind.ValueTooLarge,
    bson.errors.InvalidDocument: Kind.StoreUnreachable,
}


def kinds(error: Exception) -> tuple[Kind, Kind]:
    """The kind after a read, and after a write that was sent."""
    return mapped(error, URL, writing=False).kind, mapped(error, URL, writing=True).kind


def classes() -> list[type[Exception]]:
    found = [cls for module in (errors, bson.errors) for _, cls in inspect.getmembers(module, inspect.isclass)]
    return [cls for cls in found if issubclass(cls, FAILURES)]


def made(cls: type[Exception]) -> Exception:
    """An instance of the class as the driver makes it."""
    if issubclass(cls, errors.BulkWriteError):
        return cls({"writeErrors": []})
    if issubclass(cls, errors.ClientBulkWriteException):
        return cls({"error": None}, True)
    if issubclass(cls, errors.EncryptedCollectionError):
        return cls(ValueError(TEXT), {})
    return cls(ValueError(TEXT)) if issubclass(cls, errors.EncryptionError) else cls(TEXT)


def test_every_class_of_the_driver_is_mapped() -> None:
    """Unless nothing was sent or the server has refused it, the outcome of a write is unknown."""
    found = classes()
    assert len(found) > 25
    for cls in found:
        error = made(cls)
        for writing in (False, True):
            told = mapped(error, URL, writing=writing)
            assert type(told) is not GravelerError
            assert URL in told.message
            assert "\n" not in told.message
        if not issubclass(cls, tuple(NOT_SENT)):
            assert mapped(error, URL, writing=True).kind is Kind.OutcomeUnknown, cls


@pytest.mark.parametrize(("cls", "kind"), NOT_SENT.items())
def test_nothing_was_sent(cls: type[Exception], kind: Kind) -> None:
    assert kinds(made(cls)) == (kind, kind)


@pytest.mark.parametrize(("code", "expected"), CODES.values(), ids=CODES)
def test_codes(code: int, expected: tuple[Kind, Kind]) -> None:
    assert kinds(errors.OperationFailure("as it happens", code)) == expected
    assert kinds(errors.NotPrimaryError("as it happens", {"code": code})) == expected
    assert refused({"code": code, "errmsg": "as it happens"}, URL).kind is expected[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bad auth : authentication failed", DENIED),
        ("user is not allowed to do action [find] on [lake.graveler]", DENIED),
        ("you are over your space quota, using 513 MB of 512 MB", (Kind.StoreFull, Kind.StoreFull)),
        ("something else", UNCLEAR),
    ],
)
def test_answers_of_atlas(text: str, expected: tuple[Kind, Kind]) -> None:
    assert kinds(errors.OperationFailure(text, 8_000)) == expected


@pytest.mark.parametrize("code", [64, 91, 100, 10_107, None])
def test_a_write_that_is_not_confirmed(code: int | None) -> None:
    """Even if the code alone would be a refusal: the primary has written it."""
    assert not_confirmed({"code": code, "errmsg": "waiting"}, URL).kind is Kind.OutcomeUnknown


def test_which_reads_are_repeated() -> None:
    assert without_answer(errors.AutoReconnect("lost"))
    assert without_answer(errors.NetworkTimeout("late"))
    assert not without_answer(errors.ServerSelectionTimeoutError("nobody"))
    assert not without_answer(errors.NotPrimaryError("elsewhere"))
    assert not without_answer(errors.OperationFailure("no"))
    assert not without_answer(None)


def test_messages_are_short() -> None:
    error = errors.OperationFailure(f"no, full error: {{'ok': 0}}{'x' * 9_000}", 13)
    assert mapped(error, URL, writing=True).message == f"the server denies access: {URL}: no"
