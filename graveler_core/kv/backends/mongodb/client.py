"""Client of a MongoDB deployment: commands that are sent once, and the concerns that make them linearizable.

Commands are sent as they are, by `Database.command`. So no method of the driver repeats, splits or reinterprets them.

* A write is acknowledged when most members have written it to their journals. The server waits in the same way if a
  condition does not hold, so the row that it saw is one that most members have.
* A read has the read concern `linearizable`: after it has read, the primary confirms by a write to most members that
  it is still the primary. MongoDB promises this for queries that name one document. In a query of several documents,
  the same steps make each document as new as the query. The documents can be of different moments. Scans need no more.
* A server that stands alone has no other members. It reads its own newest data, with the read concern `local`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from threading import local
from typing import Any, Final

from pymongo import MongoClient
from pymongo.errors import ConfigurationError
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from graveler_core.errors import GravelerError, Unavailable
from graveler_core.kv.backends.backing_off import Refusals, backing_off, backing_off_rows
from graveler_core.kv.backends.mongodb.errors import (
    DUPLICATE_KEY,
    FAILURES,
    mapped,
    not_confirmed,
    refused,
    without_answer,
)
from graveler_core.kv.backends.mongodb.url import MongoDBTarget
from graveler_core.kv.backends.url_options import CONNECT_SECONDS
from graveler_core.model.forks import ForkSafe

_SHARE: Final = 0.9
"""Share of the time-out of an answer after which the server gives up by itself."""
_WRITES: Final = frozenset(("insert", "update", "delete"))

Command = dict[str, Any]


class MongoDBClient(ForkSafe):
    """Client of one collection. After a fork, the child opens connections of its own."""

    def __init__(self, target: MongoDBTarget) -> None:
        super().__init__()
        self.target = target
        self._client: MongoClient[dict[str, Any]] | None = None
        self._process = 0
        self._sent = _SentWrites()
        self._closed = False
        self._patience = int(1_000 * _SHARE * target.timeout)
        self._read_concern = {"level": "local" if target.deployment == "standalone" else "linearizable"}
        self._write_concern = {"w": "majority", "j": True, "wtimeout": self._patience}

    def close(self) -> None:
        """Close the connections. Later commands raise `Unavailable`."""
        self._closed = True
        if self._client is not None and self._process == os.getpid():
            self._client.close()

    def ask(self, command: Command, database: str | None = None) -> Command:
        """Send a command that does not read rows. It is sent once more if no answer arrives.

        Args:
            command: The command.
            database: Name of the database. Default: that of the store.
        """
        try:
            return backing_off(lambda: self._run(command, database))
        except Unavailable as error:
            if not without_answer(error.__cause__ if isinstance(error.__cause__, Exception) else None):
                raise
        return backing_off(lambda: self._run(command, database))

    def read(self, command: Command) -> Command:
        """Send a command that reads rows. It is sent once more if no answer arrives.

        Raises:
            SlowDown: There was no primary, or it was busy.
            Unavailable: The servers cannot be reached.
        """
        return self.ask({**command, "readConcern": self._read_concern, "maxTimeMS": self._patience})

    def write(self, command: Command) -> int:
        """Send one write. It is sent again only if the server has refused it.

        Returns:
            The number of rows to which it applied: 0 if its condition did not hold, or if a row to insert exists.

        Raises:
            OutcomeUnknown: The write may have been executed.
            SlowDown: There was no primary, or it was busy, during several attempts.
            Unavailable: The servers cannot be reached.
        """

        def once() -> int:
            answer = self._confirmed(command)
            for refusal in answer.get("writeErrors", ()):
                if refusal.get("code") == DUPLICATE_KEY and "insert" in command:
                    return 0
                raise refused(refusal, self.target.shown)
            return int(answer["n"])

        return backing_off(once)

    def update_all(self, updates: Sequence[Mapping[str, Any]]) -> None:
        """Send updates of different rows in one command. Those that the server refuses are sent again, alone.

        Raises:
            OutcomeUnknown: Some of the updates may have been executed. This is also true after any other error.
        """

        def send(rows: Sequence[Mapping[str, Any]]) -> Refusals:
            command = self.command("update", updates=rows, ordered=False)
            refusals = backing_off(lambda: self._confirmed(command)).get("writeErrors", ())
            return [(refusal["index"], refused(refusal, self.target.shown)) for refusal in refusals]

        backing_off_rows(updates, send)

    def command(self, name: str, **arguments: Any) -> Command:
        """Return a command on the collection of the store."""
        return {name: self.target.collection, **arguments}

    def _confirmed(self, command: Command) -> Command:
        answer = self._run({**command, "writeConcern": self._write_concern}, None)
        if "writeConcernError" in answer:
            raise not_confirmed(answer["writeConcernError"], self.target.shown)
        return answer

    def _run(self, command: Command, database: str | None) -> Command:
        client = self._connected()
        self._sent.forget()
        try:
            return client[database or self.target.database].command(command)
        except FAILURES as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> GravelerError:
        if self._closed and not self._sent.any():
            return self._was_closed()
        return mapped(error, self.target.shown, writing=self._sent.any())

    def _connected(self) -> MongoClient[dict[str, Any]]:
        if self._closed:
            raise self._was_closed()
        with self._lock:
            if self._client is None or self._process != os.getpid():
                self._client, self._process = self._opened(), os.getpid()
            return self._client

    def _opened(self) -> MongoClient[dict[str, Any]]:
        wait = int(1_000 * self.target.timeout)
        try:
            return MongoClient(
                self.target.uri,
                retryReads=False,
                retryWrites=False,
                connectTimeoutMS=1_000 * CONNECT_SECONDS,
                serverSelectionTimeoutMS=wait,
                socketTimeoutMS=wait,
                waitQueueTimeoutMS=wait,
                event_listeners=[self._sent],
            )
        except (ConfigurationError, OSError) as error:
            # A file with certificates that cannot be read, or the name of a host that cannot be looked up.
            raise mapped(error, self.target.shown, writing=False) from error

    def _was_closed(self) -> Unavailable:
        return Unavailable(f"the store {self.target.shown} was closed", store=self.target.shown)


class _SentWrites(CommandListener):
    """Listener that records, for each thread, whether its current command is a write that is being sent.

    The driver calls `started` after it has a connection, and before it sends the first byte. An error without this call
    means that nothing was sent: no server was found, or its connection or authentication failed.
    """

    def __init__(self) -> None:
        self._of_thread = local()

    def forget(self) -> None:
        self._of_thread.sent = False

    def any(self) -> bool:
        return bool(self._of_thread.sent)

    def started(self, event: CommandStartedEvent) -> None:
        self._of_thread.sent = event.command_name in _WRITES

    def succeeded(self, event: CommandSucceededEvent) -> None:
        pass

    def failed(self, event: CommandFailedEvent) -> None:
        pass
