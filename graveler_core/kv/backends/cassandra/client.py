"""Client of a Cassandra cluster: prepared statements that are sent once, and connections that are made again.

* A write is a conditional statement, or a batch of them for one partition. The replicas decide it by Paxos: a quorum of
  all replicas promises and accepts it (`SERIAL`), and a quorum has committed it (`QUORUM`) when it is acknowledged.
* A read has the consistency `SERIAL`. It completes or supersedes writes that are under way, so that no later read
  returns something older.
* Paxos runs for a partition, not for a row. Writers of a partition disturb each other until some of them are given up
  with an unknown outcome, so those of one process queue (`graveler_core.kv.backends.partition_queues`).
* The policy of repetitions of the driver is never to repeat. It sends a request to another node only if it has sent
  nothing to the one before.
* If no node can be used, all connections are made anew, because the driver itself tries this only now and then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Any, Final, TypeVar

from cassandra import ConsistencyLevel
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile, NoHostAvailable, ResponseFuture, Session
from cassandra.policies import ConstantReconnectionPolicy, DCAwareRoundRobinPolicy, FallthroughRetryPolicy
from cassandra.query import BatchStatement, BatchType, tuple_factory

from graveler_core.errors import Unavailable
from graveler_core.kv.backends.backing_off import backing_off
from graveler_core.kv.backends.cassandra.errors import FAILURES, is_full, mapped, without_answer
from graveler_core.kv.backends.cassandra.url import CassandraTarget
from graveler_core.kv.backends.partition_queues import QUEUES
from graveler_core.kv.backends.url_options import CONNECT_SECONDS
from graveler_core.model.forks import ForkSafe

_T = TypeVar("_T")

_PROTOCOL: Final = 4
"""Version of the protocol. Cassandra 4, Cassandra 5 and ScyllaDB have it. Without it, the driver tries several ones."""
_RECONNECT_SECONDS: Final = 1
"""Time after which the driver connects again to a node to which it has lost the connection."""
_HEARTBEAT_SECONDS: Final = 10
"""Time after which an idle connection is tested."""
_READ: Final = "read"
_AT_ONCE: Final = 32
"""Number of reads that are under way at once in one call."""

Row = tuple[Any, ...]
Request = tuple[str, Sequence[Any]]
"""A statement, in which `{table}` is the name of the table, and its parameters."""


@dataclass(frozen=True, slots=True, eq=False)
class _Connected:
    """Connections to a cluster, and the statements that were prepared on them."""

    cluster: Cluster
    session: Session
    table: str
    """Name of the table in statements."""
    prepared: dict[str, Any] = field(default_factory=dict)

    def bound(self, request: Request) -> Any:
        """Return a statement with its parameters. It is prepared when it is first used."""
        text, parameters = request
        if text not in self.prepared:
            self.prepared[text] = self.session.prepare(text.format(table=self.table))
        return self.prepared[text].bind(parameters)


class CassandraClient(ForkSafe):
    """Client of one table. After a fork, the child opens connections of its own."""

    def __init__(self, target: CassandraTarget) -> None:
        super().__init__()
        self.target = target
        self._connected: _Connected | None = None
        self._inherited: _Connected | None = None
        """Connections of the parent process. They stay open, because closing them would send data on its sockets."""
        self._process = os.getpid()
        self._failures = 0
        """Number of attempts to connect that have failed."""
        self._closed = False

    def close(self) -> None:
        """Close the connections. Later requests raise `Unavailable`."""
        self._closed = True
        if self._connected is not None and self._process == os.getpid():
            self._connected.cluster.shutdown()

    def read(self, text: str, *parameters: Any) -> list[Row]:
        """Return the rows of a statement that reads. It is sent once more if no answer arrives.

        Raises:
            SlowDown: Too few replicas were up, or others wrote to the partition, during several attempts.
            Unavailable: The cluster cannot be reached.
        """
        return self._repeated(lambda on: list(_asked([(text, parameters)], on)[0].result()))

    def look(self, text: str, *parameters: Any) -> list[Row]:
        """Return the rows of a statement that reads tables of the system. It is sent once more if no answer arrives."""
        return self._repeated(lambda on: list(on.session.execute(on.bound((text, parameters)))))

    def read_each(self, requests: Sequence[Request]) -> list[list[Row]]:
        """Return the rows of several statements that read, in the order of the statements. They are sent at once."""
        found: list[list[Row]] = []
        for offset in range(0, len(requests), _AT_ONCE):
            chunk = requests[offset : offset + _AT_ONCE]
            answers = self._run(partial(_asked, chunk), writing=False)
            for (text, parameters), answer in zip(chunk, answers, strict=True):
                try:
                    found.append(list(answer.result()))
                except FAILURES:
                    found.append(self.read(text, *parameters))
        return found

    def write(self, partition: bytes, *changes: Request) -> bool:
        """Send conditional statements for rows of one partition, as one step. It is sent again only if it was refused.

        Args:
            partition: The partition.
            changes: The statements.

        Returns:
            True if all conditions held. Otherwise nothing was written.

        Raises:
            OutcomeUnknown: The write may have been executed, or may still be.
            SlowDown: Too few replicas were up, or other writers took too long, during several attempts.
            Unavailable: The cluster cannot be reached.
        """

        def send(on: _Connected) -> bool:
            if len(changes) == 1:
                return bool(on.session.execute(on.bound(changes[0])).one()[0])
            batch = BatchStatement(BatchType.UNLOGGED)
            for change in changes:
                batch.add(on.bound(change))
            return bool(on.session.execute(batch).one()[0])

        with QUEUES.turn((self.target.shown, partition), self.target.timeout):
            return backing_off(lambda: self._run(send, writing=True))

    def change_schema(self, text: str) -> None:
        """Send a statement that changes the schema, and wait until the nodes agree."""
        self._run(lambda on: on.session.execute(text), writing=True)

    def _repeated(self, work: Callable[[_Connected], _T]) -> _T:
        """Send a read, again if it was refused, and once more if no answer arrives."""
        try:
            return backing_off(lambda: self._run(work, writing=False))
        except Unavailable as error:
            if not without_answer(error.__cause__):
                raise
        return backing_off(lambda: self._run(work, writing=False))

    def _run(self, work: Callable[[_Connected], _T], *, writing: bool) -> _T:
        """Send a request. Connections that can reach no node are replaced once, because nothing was sent then."""
        on = self._connection()
        try:
            try:
                return work(on)
            except NoHostAvailable as error:
                if is_full(error):
                    raise
                self._drop(on)
            return work(self._connection())
        except FAILURES as error:
            if self._closed and isinstance(error, NoHostAvailable):
                raise self._was_closed() from error
            raise mapped(error, self.target.shown, writing=writing) from error

    def _connection(self) -> _Connected:
        failures = self._failures
        with self._lock:
            if self._closed:
                raise self._was_closed()
            if self._connected is None or self._process != os.getpid():
                if self._failures != failures:
                    # Threads that wait for each other would otherwise try one after another.
                    raise Unavailable(f"the cluster cannot be reached: {self.target.shown}", store=self.target.shown)
                self._inherited, self._process = self._connected, os.getpid()
                self._connected = None
                self._connected = self._opened()
            return self._connected

    def _drop(self, lost: _Connected) -> None:
        """Forget connections that can reach no node, unless another thread has done it."""
        with self._lock:
            if self._connected is not lost:
                return
            self._connected = None
        # The driver waits for its own attempts to connect.
        Thread(target=lost.cluster.shutdown, daemon=True).start()

    def _opened(self) -> _Connected:
        target = self.target
        login = None if target.user is None else PlainTextAuthProvider(target.user, target.password)
        context = target.encryption.context(target.shown)
        cluster = None
        try:
            cluster = Cluster(
                target.endpoints,
                auth_provider=login,
                ssl_context=context,
                protocol_version=_PROTOCOL,
                execution_profiles={EXEC_PROFILE_DEFAULT: self._profile("QUORUM"), _READ: self._profile("SERIAL")},
                connect_timeout=CONNECT_SECONDS,
                control_connection_timeout=target.timeout,
                idle_heartbeat_interval=_HEARTBEAT_SECONDS,
                idle_heartbeat_timeout=target.timeout,
                monitor_reporting_enabled=False,
                reconnection_policy=ConstantReconnectionPolicy(_RECONNECT_SECONDS, max_attempts=None),
                schema_metadata_enabled=False,
            )
            session = cluster.connect()
        except FAILURES as error:
            self._failures += 1
            if cluster is not None:
                cluster.shutdown()
            raise mapped(error, target.shown, writing=False) from error
        # Each answer has all of its rows, and the nodes choose the times of writes.
        session.default_fetch_size = None
        session.use_client_timestamp = False
        return _Connected(cluster, session, target.name)

    def _profile(self, consistency: str) -> ExecutionProfile:
        return ExecutionProfile(
            load_balancing_policy=DCAwareRoundRobinPolicy(self.target.datacenter or ""),
            retry_policy=FallthroughRetryPolicy(),
            consistency_level=ConsistencyLevel.name_to_value[consistency],
            serial_consistency_level=ConsistencyLevel.SERIAL,
            request_timeout=self.target.timeout,
            row_factory=tuple_factory,
        )

    def _was_closed(self) -> Unavailable:
        return Unavailable(f"the store {self.target.shown} was closed", store=self.target.shown)


def _asked(requests: Sequence[Request], on: _Connected) -> list[ResponseFuture]:
    """Send statements that read, without waiting for their answers."""
    return [on.session.execute_async(on.bound(request), execution_profile=_READ) for request in requests]
