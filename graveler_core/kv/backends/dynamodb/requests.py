"""Requests to one DynamoDB table: sent once each, repeated only if the service has refused them.

botocore repeats nothing: a conditional write that is sent again after it has succeeded would report that its predicate
does not hold. It takes an answer whose end is missing for an empty one, as if an item did not exist, and as if nothing
were left over of a batch. So the length of each answer is checked before botocore reads it. Clients are safe for
threads, but not for a fork, so each process has a client of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from boto3.session import Session
from botocore.config import Config
from botocore.exceptions import IncompleteReadError

from graveler_core.errors import SlowDown, Unavailable
from graveler_core.kv.backends.backing_off import ATTEMPTS, backing_off, pause
from graveler_core.kv.backends.dynamodb.errors import FAILURES, mapped
from graveler_core.kv.backends.url_options import ANSWER_SECONDS, CONNECT_SECONDS

_KEPT: Final = 50
"""Number of idle connections that stay open."""
_ONCE: Final = {"total_max_attempts": 1, "mode": "standard"}


@dataclass(frozen=True, slots=True)
class TableTarget:
    """Table to use, and how to reach the service."""

    table: str
    region: str | None = None
    """Default: the region of the AWS configuration."""
    endpoint: str | None = None
    """URL of another service with the interface of DynamoDB."""
    profile: str | None = None
    """Profile of the AWS configuration."""
    access_key_id: str | None = None
    """Default: the credentials of the AWS configuration."""
    secret_access_key: str | None = field(default=None, repr=False)
    timeout: float = ANSWER_SECONDS
    """Maximum time in seconds until an answer arrives."""

    @property
    def shown(self) -> str:
        """URL without secrets and options, for messages."""
        return f"dynamodb://{self.table}"

    def connect(self) -> Any:
        """Return a new client. It connects when it sends its first request.

        Raises:
            botocore.exceptions.BotoCoreError: The AWS configuration is invalid. The caller converts the error.
        """
        session = Session(self.access_key_id, self.secret_access_key, None, self.region, profile_name=self.profile)
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=self.timeout,
            max_pool_connections=_KEPT,
            retries=_ONCE,
        )
        client = session.client("dynamodb", endpoint_url=self.endpoint, config=config)
        client.meta.events.register("before-parse.dynamodb", _check_length)
        return client


class Requests:
    """Requests to one table."""

    def __init__(self, target: TableTarget) -> None:
        self.target = target
        self._client: Any = None
        self._process = 0
        self._closed = False

    def close(self) -> None:
        """Close the connections. Later requests raise `Unavailable`."""
        self._closed = True
        if self._client is not None and self._process == os.getpid():
            self._client.close()

    def read(self, operation: str, **request: Any) -> dict[str, Any]:
        """Send a request that only reads. It is sent once more if no answer arrives.

        Args:
            operation: Method of the client.
            request: Arguments of the method, without the name of the table.

        Raises:
            SlowDown: The service was busy during several attempts.
            Unavailable: The service cannot be reached.
        """
        try:
            return backing_off(lambda: self._send(operation, request, writing=False))
        except Unavailable:
            return backing_off(lambda: self._send(operation, request, writing=False))

    def write(self, operation: str, **request: Any) -> dict[str, Any]:
        """Send a request that writes. It is sent again only if the service has refused it.

        Args:
            operation: Method of the client.
            request: Arguments of the method, without the name of the table.

        Raises:
            PredicateFailed: A condition of the request does not hold.
            OutcomeUnknown: The request may have been executed.
            SlowDown: The service was busy during several attempts.
            Unavailable: The service cannot be reached.
        """
        return backing_off(lambda: self._send(operation, request, writing=True))

    def read_batch(self, keys: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Yield the items of at most 100 distinct keys, in any order. Absent keys are left out."""

        def read(left: Sequence[Any]) -> Sequence[Any]:
            request = {self.target.table: {"Keys": left, "ConsistentRead": True}}
            answer = self.read("batch_get_item", RequestItems=request)
            found.extend(answer["Responses"].get(self.target.table, ()))
            rest: Sequence[Any] = answer.get("UnprocessedKeys", {}).get(self.target.table, {}).get("Keys", ())
            return rest

        found: list[dict[str, Any]] = []
        self._until_nothing_is_left(read, keys)
        return iter(found)

    def write_batch(self, writes: Sequence[dict[str, Any]]) -> None:
        """Send at most 25 puts and deletions of distinct keys, without conditions. This is not atomic."""

        def write(left: Sequence[Any]) -> Sequence[Any]:
            answer = self.write("batch_write_item", RequestItems={self.target.table: left})
            rest: Sequence[Any] = answer.get("UnprocessedItems", {}).get(self.target.table, ())
            return rest

        self._until_nothing_is_left(write, writes)

    def _until_nothing_is_left(self, send: Callable[[Sequence[Any]], Sequence[Any]], left: Sequence[Any]) -> None:
        """Send a batch, and then the rest that the service has not processed.

        The service does not process the part that exceeds its limits. It makes progress in most answers, so that only
        answers without progress count as attempts.

        Args:
            send: Function that sends a batch and returns the rest.
            left: The batch.
        """
        attempt = 0
        while rest := send(left):
            attempt = attempt + 1 if len(rest) == len(left) else 0
            if attempt == ATTEMPTS:
                raise SlowDown(f"the service is busy: {self.target.shown}: it processes nothing of a batch")
            pause(attempt)
            left = rest

    def _send(self, operation: str, request: dict[str, Any], *, writing: bool) -> dict[str, Any]:
        if "RequestItems" not in request and "TransactItems" not in request:
            request = {"TableName": self.target.table, **request}
        try:
            answer: dict[str, Any] = getattr(self._connected(), operation)(**request)
        except FAILURES as error:
            raise mapped(error, self.target.shown, writing=writing) from error
        return answer

    def _connected(self) -> Any:
        if self._closed:
            raise Unavailable(f"the store {self.target.shown} was closed", store=self.target.shown)
        if self._process != os.getpid():
            self._client, self._process = self.target.connect(), os.getpid()
        return self._client


def _check_length(response_dict: Mapping[str, Any], **_: Any) -> None:
    """Check that an answer is complete, as a handler of an event of botocore.

    Raises:
        IncompleteReadError: A part of it is missing, or its header is cut off.
    """
    headers, body = response_dict["headers"], response_dict["body"]
    length = headers.get("content-length", "")
    if headers.get("transfer-encoding") != "chunked" and length != str(len(body)):
        raise IncompleteReadError(actual_bytes=len(body), expected_bytes=length or "unknown")
