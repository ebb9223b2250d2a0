"""Every error from below has its place in our tree."""

from __future__ import annotations

import errno
import inspect
import pickle
import warnings

import pytest
from obstore import exceptions as below

from graveler_core.blobs.failures import Verb, translated, translating
from graveler_core.blobs.unreadable import is_unreadable
from graveler_core.errors import (
    GravelerError,
    InvalidInput,
    Kind,
    LimitExceeded,
    NotFound,
    NotUnique,
    OutcomeUnknown,
    PredicateFailed,
    Unavailable,
)

URI = "s3://bucket/a"

EXPECTED: dict[str, tuple[type[GravelerError], Kind]] = {
    "BaseError": (Unavailable, Kind.StoreUnreachable),
    "GenericError": (Unavailable, Kind.StoreUnreachable),
    "NotFoundError": (NotFound, Kind.ObjectNotFound),
    "InvalidPathError": (InvalidInput, Kind.InvalidValue),
    "JoinError": (Unavailable, Kind.StoreUnreachable),
    "NotSupportedError": (Unavailable, Kind.StoreUnreachable),
    "AlreadyExistsError": (NotUnique, Kind.BlobExists),
    "PreconditionError": (PredicateFailed, Kind.PredicateFailed),
    "NotModifiedError": (PredicateFailed, Kind.PredicateFailed),
    "PermissionDeniedError": (Unavailable, Kind.PermissionDenied),
    "UnauthenticatedError": (Unavailable, Kind.PermissionDenied),
    "UnknownConfigurationKeyError": (InvalidInput, Kind.InvalidValue),
}


def _classes_below() -> dict[str, type[Exception]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return dict(inspect.getmembers(below, inspect.isclass))


def test_every_class_of_obstore_is_decided() -> None:
    """A new version with a new class makes this fail: decide what it means."""
    assert set(_classes_below()) == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_class_of_obstore_becomes_ours(name: str) -> None:
    kind_of_error, kind = EXPECTED[name]
    secret = "signature=canary-secret"
    with pytest.raises(GravelerError) as caught, translating(Verb.READ, URI):
        raise _classes_below()[name](f"went wrong at https://host/?{secret}")
    error = caught.value
    assert (type(error), error.kind) == (kind_of_error, kind)
    assert URI in error.message
    assert error.details["uri"] == URI
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert "canary" not in repr(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("verb", list(Verb))
def test_every_error_of_the_system_becomes_ours(verb: Verb) -> None:
    for number, name in errno.errorcode.items():
        error = translated(OSError(number, "…"), verb, URI)
        assert isinstance(error, Unavailable | NotFound | LimitExceeded), name
        assert URI in error.message, name


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_no_room_is_told_apart(number: int) -> None:
    assert translated(OSError(number, "…"), Verb.WRITE, URI).kind is Kind.StoreFull


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.EPERM])
def test_what_cannot_be_written_is_told_apart(number: int) -> None:
    assert translated(OSError(number, "…"), Verb.WRITE, URI).kind is Kind.StoreReadOnly
    assert translated(OSError(number, "…"), Verb.DELETE, URI).kind is Kind.StoreReadOnly


def test_errors_of_ours_and_of_the_caller_pass() -> None:
    for error in (OutcomeUnknown("ours"), KeyError("theirs")):
        with pytest.raises(type(error)) as caught, translating(Verb.WRITE, URI):
            raise error
        assert caught.value is error


@pytest.mark.parametrize("number", [errno.EIO, errno.EBADMSG, errno.EUCLEAN, errno.EACCES])
def test_an_object_that_cannot_be_read_is_told_apart_from_an_outage(number: int) -> None:
    for verb in Verb:
        error = translated(OSError(number, "…"), verb, URI)
        assert isinstance(error, Unavailable)
        assert is_unreadable(error) == (verb is Verb.READ)
    outage = translated(OSError(errno.ETIMEDOUT, "…"), Verb.READ, URI)
    assert isinstance(outage, Unavailable)
    assert not is_unreadable(outage)


@pytest.mark.parametrize(
    ("name", "code", "unreadable"),
    [
        ("PermissionDeniedError", "InvalidObjectState", True),
        ("PermissionDeniedError", "AccessDenied", True),
        ("AlreadyExistsError", "BlobArchived", True),
        ("PermissionDeniedError", "InvalidAccessKeyId", False),
        ("GenericError", "ExpiredToken", False),
    ],
)
def test_an_object_that_a_service_does_not_return(name: str, code: str, unreadable: bool) -> None:
    error = translated(_classes_below()[name](f"403 <Error><Code>{code}</Code></Error>"), Verb.READ, URI)
    assert isinstance(error, Unavailable)
    assert is_unreadable(error) == unreadable
    assert code in error.message
