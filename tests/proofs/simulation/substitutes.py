"""What the engine gets instead of threads' own tools and of Parquet, while a history runs.

The waiting of threads for each other (shared reads, turns) becomes the scheduler's, so that the real code decides who
waits for whom. Segments are kept in Arrow's own format: three times as quick, and what is judged is not the file.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pyarrow as pa

from graveler_core.committed import parts
from graveler_core.objects import commits, kept_blobs
from graveler_core.segments import format as segment_format
from graveler_core.staging import segment_layer
from graveler_core.stores import shared_reads, turns
from tests.proofs.simulation.schedule import Scheduler

FRESH = timedelta(milliseconds=300)
"""Of a time in which a step takes a millisecond."""


class SimFuture:
    """`concurrent.futures.Future`, as far as it is used."""

    scheduler: Scheduler

    def __init__(self) -> None:
        self._done = False
        self._result: Any = None
        self._error: BaseException | None = None

    def result(self) -> Any:
        self.scheduler.wait(lambda: self._done)
        if self._error is not None:
            raise self._error
        return self._result

    def exception(self) -> BaseException | None:
        self.scheduler.wait(lambda: self._done)
        return self._error

    def set_result(self, result: Any) -> None:
        self._result, self._done = result, True

    def set_exception(self, error: BaseException) -> None:
        self._error, self._done = error, True


class SimEvent:
    """`threading.Event`, as far as it is used; patience never ends."""

    scheduler: Scheduler

    def __init__(self) -> None:
        self._set = False

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True

    def wait(self, timeout: float) -> bool:
        self.scheduler.wait(self.is_set)
        return self._set


def encode(table: pa.Table, *, row_group_rows: int | None = None) -> memoryview:
    """A segment's file. Each part is a batch."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=row_group_rows)
    return memoryview(sink.getvalue()).cast("B")


def decode(data: bytes, schema: pa.Schema, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """The table in a segment's file."""
    table = pa.ipc.open_stream(pa.BufferReader(data)).read_all().combine_chunks()
    assert table.schema.equals(schema), name
    return table if columns is None else table.select(columns)


def decode_parts(data: bytes, schema: pa.Schema, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """The table in a segment's file, part by part."""
    for batch in pa.ipc.open_stream(pa.BufferReader(data)):
        assert batch.schema.equals(schema), name
        yield pa.Table.from_batches([batch]).select(columns or schema.names)


class SimPartedFile:
    """`graveler_core.segments.format.PartedFile`, for files that `encode` wrote."""

    def __init__(self, data: bytes, schema: pa.Schema, name: str) -> None:
        self._batches = pa.ipc.open_stream(pa.BufferReader(data)).read_all().to_batches()
        assert self._batches[0].schema.equals(schema), name

    def parts(self) -> segment_format.Parts | None:
        if len(self._batches) == 1:
            return None
        keys = [batch.column(0) for batch in self._batches]
        return segment_format.Parts(keys[0][0].as_py(), [each[-1].as_py() for each in keys], sum(map(len, keys)))

    def decode(self, part: int, columns: Sequence[str]) -> pa.Table:
        return pa.Table.from_batches([self._batches[part]]).select(columns).combine_chunks()


@contextmanager
def substituted(scheduler: Scheduler) -> Iterator[None]:
    """For one history. What is decided and in which order stays the engine's."""
    future = type("Future", (SimFuture,), {"scheduler": scheduler, "__class_getitem__": classmethod(lambda c, _: c)})
    event = type("Event", (SimEvent,), {"scheduler": scheduler})
    with ExitStack() as patches:
        for module, name, instead in (
            (shared_reads, "Future", future),
            (turns, "threading", SimpleNamespace(Event=event, Lock=threading.Lock)),
            (segment_format, "encode", encode),
            (segment_format, "decode", decode),
            (segment_format, "decode_parts", decode_parts),
            (parts, "PartedFile", SimPartedFile),
            (segment_layer, "encode_segment", encode),
            (segment_layer, "decode_segment", decode),
            (kept_blobs, "FRESH", FRESH),
            (commits, "FRESH", FRESH),
        ):
            patches.enter_context(patch.object(module, name, instead))
        yield
