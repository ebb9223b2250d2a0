"""Every error that etcd declares, and every exception class of urllib3, becomes an error of the tree."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import urllib3.exceptions
from urllib3.exceptions import HTTPError

from graveler_core.errors import GravelerError, Kind
from graveler_core.kv.backends.etcd.errors import NOT_SENT, failed, needs_new_token, refused

URL = "etcd://host/graveler"
INVALID, NOT_FOUND, DENIED, EXHAUSTED, PRECONDITION, RANGE, UNAVAILABLE, LOSS, UNAUTHENTICATED = (
    *(3, 5, 7, 8, 9, 11, 14, 15, 16),
)
REFUSED = (Kind.StoreUnreachable, Kind.StoreUnreachable)
UNCLEAR = (Kind.StoreBusy, Kind.OutcomeUnknown)
NO_ACCESS = (Kind.PermissionDenied, Kind.PermissionDenied)
ANSWERS = {
    (INVALID, "key is not provided"): REFUSED,
    (INVALID, "value is provided"): REFUSED,
    (INVALID, "too many operations in txn request"): REFUSED,
    (INVALID, "duplicate key given in txn request"): REFUSED,
    (INVALID, "request is too large"): (Kind.ValueTooLarge, Kind.ValueTooLarge),
    (INVALID, "user name is empty"): NO_ACCESS,
    (INVALID, "authentication failed, invalid user ID or password"): NO_ACCESS,
    (INVALID, "revision of auth store is old"): NO_ACCESS,
    (NOT_FOUND, "requested lease not found"): REFUSED,
    (DENIED, "permission denied"): NO_ACCESS,
    (EXHAUSTED, "mvcc: database space exceeded"): (Kind.StoreFull, Kind.OutcomeUnknown),
    (EXHAUSTED, "too many requests"): (Kind.StoreBusy, Kind.StoreBusy),
    (EXHAUSTED, "grpc: received message larger than max"): (Kind.ValueTooLarge, Kind.ValueTooLarge),
    (PRECONDITION, "user name not found"): NO_ACCESS,
    (PRECONDITION, "authentication is not enabled"): REFUSED,
    (PRECONDITION, "not leader"): UNCLEAR,
    (RANGE, "mvcc: required revision has been compacted"): REFUSED,
    (RANGE, "mvcc: required revision is a future revision"): REFUSED,
    (UNAVAILABLE, "no leader"): UNCLEAR,
    (UNAVAILABLE, "leader changed"): UNCLEAR,
    (UNAVAILABLE, "not capable"): UNCLEAR,
    (UNAVAILABLE, "server stopped"): UNCLEAR,
    (UNAVAILABLE, "request timed out"): UNCLEAR,
    (UNAVAILABLE, "request timed out, possibly due to previous leader failure"): UNCLEAR,
    (UNAVAILABLE, "request timed out, possibly due to connection lost"): UNCLEAR,
    (UNAVAILABLE, "unhealthy cluster"): UNCLEAR,
    (UNAVAILABLE, "rpc not supported for learner"): REFUSED,
    (LOSS, "corrupt cluster"): (Kind.CorruptRecord, Kind.CorruptRecord),
    (UNAUTHENTICATED, "invalid auth token"): NO_ACCESS,
}
"""Kind after a read and after a write, by code and text."""


@pytest.mark.parametrize(("answer", "kinds"), ANSWERS.items())
def test_answers(answer: tuple[int, str], kinds: tuple[Kind, Kind]) -> None:
    code, text = answer
    found = [refused(code, 400, f"etcdserver: {text}", URL, writing=writing) for writing in (False, True)]
    assert (found[0].kind, found[1].kind) == kinds
    assert all(error.message.endswith(text) and URL in error.message for error in found)


@pytest.mark.parametrize("code", range(1, 17))
def test_every_code_is_mapped(code: int) -> None:
    """A code that says nothing about the outcome of a write leaves it open."""
    for writing in (False, True):
        assert type(refused(code, 500, "as it happens", URL, writing=writing)) is not GravelerError
    unclear = refused(code, 500, "as it happens", URL, writing=True).kind is Kind.OutcomeUnknown
    assert unclear == (code in {1, 2, 4, 6, 8, 9, 10, 13, 14})


@pytest.mark.parametrize(("status", "kinds"), [(404, (Kind.NotAGravelerStore,) * 2), (502, UNCLEAR)])
def test_answers_of_other_servers(status: int, kinds: tuple[Kind, Kind]) -> None:
    assert tuple(refused(None, status, "<html>", URL, writing=writing).kind for writing in (False, True)) == kinds


def error_classes(root: type[HTTPError]) -> Iterator[type[HTTPError]]:
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)


def test_every_class_of_the_client_is_mapped() -> None:
    classes = set(error_classes(HTTPError))
    assert len(classes) > 25
    assert urllib3.exceptions.NameResolutionError in classes
    for cls in classes:
        error = cls.__new__(cls)
        Exception.__init__(error, "as it happens\nand where")
        vars(error).update(partial=1, expected=1, length=1)
        kinds = tuple(failed(error, URL, writing=writing).kind for writing in (False, True))
        sent = not issubclass(cls, NOT_SENT)
        assert kinds == (Kind.StoreUnreachable, Kind.OutcomeUnknown if sent else Kind.StoreUnreachable)


def test_old_tokens() -> None:
    assert needs_new_token("etcdserver: invalid auth token")
    assert needs_new_token("etcdserver: revision of auth store is old")
    assert not needs_new_token("etcdserver: permission denied")
