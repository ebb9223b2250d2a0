"""Requests to Bigtable, each of which is sent once, unless the service has refused it.

The client is the generated one for the protocol of the service, without its retries. gRPC neither repeats a request by
itself, nor follows advice of a name server to do so. A read is repeated if its connection fails, a write never.

All requests of a client share a connection. If nothing arrives over it any more, gRPC keeps it until the operating
system gives it up after a quarter of an hour. gRPC then waits up to two minutes before it connects again. Therefore,
the client is replaced after a request without an answer in time, and after one for which there was no connection.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import grpc
from google.api_core.exceptions import AlreadyExists
from google.auth.exceptions import GoogleAuthError
from google.cloud.bigtable_admin_v2 import BigtableTableAdminClient
from google.cloud.bigtable_admin_v2.services.bigtable_table_admin.transports import BigtableTableAdminGrpcTransport
from google.cloud.bigtable_v2 import BigtableClient, types
from google.cloud.bigtable_v2.services.bigtable.transports import BigtableGrpcTransport
from google.oauth2 import service_account

from graveler_core.errors import PermissionDenied, Unavailable
from graveler_core.kv.backends.backing_off import Refusals, backing_off, backing_off_rows
from graveler_core.kv.backends.bigtable.errors import FAILURES, mapped, needs_new_connection, refused
from graveler_core.kv.backends.bigtable.rows import FAMILY, VALUE, Cells, column_filter, rows_of
from graveler_core.kv.backends.bigtable.url import BigtableTarget
from graveler_core.kv.backends.url_options import CONNECT_SECONDS
from graveler_core.kv.paging import PAGE_BYTES, KeyBounds
from graveler_core.model.forks import ForkSafe

_T = TypeVar("_T")
_CREATION_SECONDS: Final = 60
_CHANNEL: Final = (
    ("grpc.enable_retries", 0),
    ("grpc.service_config_disable_resolution", 1),
    ("grpc.min_reconnect_backoff_ms", 1_000 * CONNECT_SECONDS),  # despite its name, the time-out of an attempt
    ("grpc.use_local_subchannel_pool", 1),  # after a fork, the connections of the parent are not used
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
)


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Rows that one request has read."""

    rows: list[tuple[bytes, Cells]]
    """Names and cells, in the order of the names."""
    complete: bool
    """False if the request was ended because the rows were as large as a page."""


@dataclass(frozen=True, slots=True)
class RowMutations:
    """Mutations of one row."""

    name: bytes
    mutations: Sequence[Any]


class BigtableRequests(ForkSafe):
    """Requests to one table. After a fork, the child opens connections of its own."""

    def __init__(self, target: BigtableTarget) -> None:
        super().__init__()
        self.target = target
        self._client: Any = None
        self._process = 0
        self._closed = False

    def close(self) -> None:
        """Close the connections. Later requests raise `Unavailable`."""
        self._closed = True
        if self._client is not None and self._process == os.getpid():
            self._client.transport.close()

    def read_names(self, names: Sequence[bytes], only: Any = None) -> FoundRows:
        """Read rows by their names, until they are as large as a page. Rows that do not exist are left out.

        Args:
            names: The names.
            only: Filter of the cells. Default: the values.
        """
        return self._read(types.RowSet.pb()(row_keys=list(names)), len(names), only)

    def read_range(self, bounds: KeyBounds, rows: int, only: Any = None) -> FoundRows:
        """Read a range of rows in the order of their names, until they are as large as a page.

        Args:
            bounds: Names of the rows.
            rows: Maximum number of rows.
            only: Filter of the cells. Default: the values.
        """
        wanted = types.RowRange.pb()(start_key_closed=bounds.lower, end_key_open=bounds.upper or b"")
        return self._read(types.RowSet.pb()(row_ranges=[wanted]), rows, only)

    def mutate(self, row: RowMutations) -> None:
        """Change one row.

        Raises:
            OutcomeUnknown: The row may have been changed.
        """
        request = types.MutateRowRequest.pb()(row_key=row.name, mutations=row.mutations, **self._table())
        send = partial(self._write, "mutate_row", types.MutateRowRequest.wrap(request))
        backing_off(send)

    def mutate_if(self, condition: Any, row: RowMutations, *, matching: bool) -> bool:
        """Change one row in one step if a filter passes a cell of it, or if it passes none.

        Args:
            condition: The filter.
            row: The row.
            matching: True if the filter must pass a cell, false if it must pass none.

        Returns:
            True if the row was changed.

        Raises:
            OutcomeUnknown: The row may have been changed.
        """
        mutations = {f"{'true' if matching else 'false'}_mutations": row.mutations}
        make = types.CheckAndMutateRowRequest.pb()
        request = make(row_key=row.name, predicate_filter=condition, **mutations, **self._table())
        send = partial(self._write, "check_and_mutate_row", types.CheckAndMutateRowRequest.wrap(request))
        return bool(backing_off(send).predicate_matched) is matching

    def mutate_all(self, rows: Sequence[RowMutations]) -> None:
        """Change different rows in one request, which is not atomic.

        Raises:
            OutcomeUnknown: Some of the rows may have been changed. This is also true after any other error.
        """
        backing_off_rows(rows, lambda left: backing_off(lambda: self._mutate_rows(left)))

    def create_table(self) -> None:
        """Create the table, unless it exists."""
        family = {FAMILY: {"gc_rule": {"max_num_versions": 1}}}
        place = {"parent": self.target.instance_name, "table_id": self.target.table}
        request = {**place, "table": {"column_families": family}}
        client: Any = BigtableTableAdminClient(transport=self._transport(BigtableTableAdminGrpcTransport))
        try:
            with suppress(AlreadyExists):
                client.create_table(request=request, retry=None, timeout=_CREATION_SECONDS)
        except FAILURES as error:
            raise mapped(error, self.target.shown, writing=False) from error
        finally:
            client.transport.close()

    def _mutate_rows(self, rows: Sequence[RowMutations]) -> Refusals:
        entry = types.MutateRowsRequest.Entry.pb()
        entries = [entry(row_key=row.name, mutations=row.mutations) for row in rows]
        request = types.MutateRowsRequest.wrap(types.MutateRowsRequest.pb()(entries=entries, **self._table()))
        answers = self._write("mutate_rows", request, list)
        told = {each.index: each.status for answer in answers for each in types.MutateRowsResponse.pb(answer).entries}
        missing = (grpc.StatusCode.UNKNOWN.value[0], "no answer for a row")
        statuses = [(told[index].code, told[index].message) if index in told else missing for index in range(len(rows))]
        where = self.target.shown
        return [(index, refused(code, text, where)) for index, (code, text) in enumerate(statuses) if code]

    def _read(self, rows: Any, limit: int, only: Any) -> FoundRows:
        cells = column_filter(VALUE) if only is None else only
        request = types.ReadRowsRequest.pb()(rows=rows, rows_limit=limit, filter=cells, **self._table())
        send = partial(self._call, "read_rows", types.ReadRowsRequest.wrap(request), self._page, writing=False)
        try:
            return backing_off(send)
        except Unavailable:
            # Repeat the read with a new connection.
            return backing_off(send)

    def _page(self, answers: Any) -> FoundRows:
        """Take rows from a stream until they are as large as a page, and end the stream."""
        found: list[tuple[bytes, Cells]] = []
        size = 0
        for name, cells in rows_of(answers, self.target.shown):
            found.append((name, cells))
            size += sum(map(len, cells.values()))
            if size >= PAGE_BYTES:
                answers.cancel()
                return FoundRows(found, complete=False)
        return FoundRows(found, complete=True)

    def _write(self, method: str, request: Any, take: Callable[[Any], Any] = lambda answer: answer) -> Any:
        return self._call(method, request, take, writing=True)

    def _call(self, method: str, request: Any, take: Callable[[Any], _T], *, writing: bool) -> _T:
        client = self._connected()
        try:
            return take(getattr(client, method)(request=request, retry=None, timeout=self.target.timeout))
        except FAILURES as error:
            if needs_new_connection(error):
                self._drop(client)
            raise mapped(error, self.target.shown, writing=writing) from error
        except ValueError as error:
            # gRPC raises this for a channel that another thread has closed.
            if not self._closed:
                raise
            raise self._was_closed() from error

    def _table(self) -> dict[str, str]:
        return {"table_name": self.target.table_name, "app_profile_id": self.target.app_profile}

    def _connected(self) -> Any:
        with self._lock:
            if self._closed:
                raise self._was_closed()
            if self._client is None or self._process != os.getpid():
                self._client = BigtableClient(transport=self._transport(BigtableGrpcTransport))
                self._process = os.getpid()
            return self._client

    def _drop(self, silent: Any) -> None:
        """Forget a client, unless another thread has done it. Its connection ends with the last request of others."""
        with self._lock:
            if self._client is silent:
                self._client = None

    def _transport(self, kind: Any) -> Any:
        """Return a transport of a client: to the emulator, or to the service."""
        if self.target.emulator is not None:
            return kind(channel=grpc.insecure_channel(self.target.emulator, options=_CHANNEL))

        def channel(host: str, **options: Any) -> Any:
            return kind.create_channel(host, **{**options, "options": _CHANNEL})

        try:
            return kind(credentials=self._credentials(), channel=channel)
        except FAILURES as error:
            raise mapped(error, self.target.shown, writing=False) from error

    def _credentials(self) -> Any:
        """Return the credentials of the file in the URL, or `None` for those that the client finds."""
        file = self.target.credentials
        account: Any = service_account.Credentials
        if file is None:
            return None
        try:
            return account.from_service_account_file(file)
        except (OSError, ValueError, GoogleAuthError) as error:
            where = self.target.shown
            raise PermissionDenied(f"{file!r} has no credentials of a service account for {where}: {error}") from error

    def _was_closed(self) -> Unavailable:
        return Unavailable(f"the store {self.target.shown} was closed", store=self.target.shown)


def batches(rows: Sequence[_T], size: int) -> Iterator[Sequence[_T]]:
    """Yield the rows in batches."""
    return (rows[offset : offset + size] for offset in range(0, len(rows), size))
