"""Every error class of the driver, and every code of an answer, become errors of the tree."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import exceptions
from redis._parsers.base import BaseParser

from graveler_core.errors import GravelerError, Kind, OutcomeUnknown
from graveler_core.kv.backends.redis.errors import mapped

ANSWERS = {
    "OOM command not allowed when used memory > 'maxmemory'.": Kind.StoreFull,
    "READONLY You can't write against a read only replica.": Kind.StoreReadOnly,
    "NOREPLICAS Not enough good replicas to write.": Kind.StoreReadOnly,
    "MISCONF Errors writing to the AOF file: No space left on device": Kind.StoreReadOnly,
    "LOADING Redis is loading the dataset in memory": Kind.StoreBusy,
    "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.": Kind.StoreBusy,
    "TRYAGAIN Multiple keys request during rehashing of slot": Kind.StoreBusy,
    "CLUSTERDOWN The cluster is down": Kind.StoreBusy,
    "MASTERDOWN Link with MASTER is down": Kind.StoreBusy,
    "NOAUTH Authentication required.": Kind.PermissionDenied,
    "NOPERM this user has no permissions to run the 'evalsha' command": Kind.PermissionDenied,
    "WRONGPASS invalid username-password pair or user is disabled.": Kind.PermissionDenied,
    "ERR max number of clients reached": Kind.StoreBusy,
    "WRONGTYPE Operation against a key holding the wrong kind of value": Kind.NotAGravelerStore,
    "MOVED 3999 127.0.0.1:6381": Kind.StoreUnreachable,
    "ERR unknown command 'EVALSHA'": Kind.StoreUnreachable,
    "ERR Error running script (call to f_1): @user_script:3: -OOM command not allowed": Kind.StoreFull,
    "ERR Error running script (call to f_1): @user_script: 3: -READONLY You can't write": Kind.StoreReadOnly,
    "ERR Protocol error: invalid bulk length": Kind.ValueTooLarge,
}


def error_classes(root: type[Exception]) -> Iterator[type[Exception]]:
    yield root
    for child in root.__subclasses__():
        yield from error_classes(child)


def of_driver() -> list[type[Exception]]:
    found = [cls for cls in vars(exceptions).values() if isinstance(cls, type) and issubclass(cls, Exception)]
    return sorted({*found, *error_classes(exceptions.RedisError)}, key=lambda cls: cls.__name__)


def instance(cls: type[Exception]) -> Exception:
    """An error of the class, as far as it can be made without an answer of a cluster."""
    error = cls.__new__(cls)
    error.args = ("as it happens\nand where",)
    return error


def test_every_class_of_the_driver_is_mapped() -> None:
    assert len(of_driver()) > 25
    for cls in of_driver():
        for writing in (False, True):
            found = mapped(instance(cls), "redis://host", writing=writing)
            assert isinstance(found, GravelerError)
            assert type(found) is not GravelerError
            assert "\n" not in found.message
            assert ": redis://host: " in found.message


@pytest.mark.parametrize(("answer", "kind"), ANSWERS.items())
def test_answers(answer: str, kind: Kind) -> None:
    """Nothing was changed, so no outcome is unknown."""
    error = BaseParser.parse_error(answer)
    for writing in (False, True):
        assert mapped(error, "redis://host", writing=writing).kind is kind


@pytest.mark.parametrize(
    "error",
    [
        exceptions.ConnectionError("Connection closed by server."),
        exceptions.TimeoutError("Timeout reading from socket"),
        exceptions.InvalidResponse("Protocol Error"),
        ConnectionResetError(104, "reset"),
    ],
)
def test_a_lost_connection_is_never_a_plain_failure_of_a_write(error: Exception) -> None:
    assert isinstance(mapped(error, "redis://host", writing=True), OutcomeUnknown)
    assert mapped(error, "redis://host", writing=False).kind is Kind.StoreUnreachable
