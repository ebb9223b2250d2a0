"""Tests that a migration holds a bounded number of staged records in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from unittest.mock import patch

import pyarrow as pa
from sqlalchemy.engine import CursorResult

from benchmarks.lifecycle.sources import entry
from graveler_core.staging import segment_layer
from graveler_core.transfer.migration import entries, source
from tests.integration.migration.histories import Lake

ROWS, PAGE, PIECE = 6_000, 100, 500


def test_staged_rows_are_streamed(lake: Lake) -> None:
    """They are asked for in pages, and no more of them are on their way than make a piece."""
    made = lake.history().repository().commit(1).branch("main", 1, {})
    rows = ({"key": f"{n:06}".encode(), "identity": b"i", "data": entry(n)} for n in range(ROWS))
    lake.insert("graveler_staging_kv", *({"staging_token": "flights-main:token", **row} for row in rows))
    taken, written, ahead, pages = 0, 0, list[int](), list[int]()
    portions, write_piece, fetchmany = segment_layer.portions, segment_layer.write_piece, CursorResult.fetchmany

    def counted(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
        nonlocal taken
        for table in tables:
            taken += table.num_rows
            ahead.append(taken - written)
            yield table

    def noted(*arguments: object) -> segment_layer.Piece:
        nonlocal written
        piece = write_piece(*arguments)  # type: ignore[arg-type]
        written += piece.count
        return piece

    def fetched(result: CursorResult[object], size: int | None = None) -> object:
        found = fetchmany(result, size)  # type: ignore[arg-type]
        pages.append(len(found))
        return found

    with (
        patch.object(source, "PAGE_ROWS", PAGE),
        patch.object(entries, "PAGE_ROWS", PAGE),
        patch.object(segment_layer, "PIECE_ROWS", PIECE),
        patch.object(segment_layer, "portions", lambda tables: portions(counted(tables))),
        patch.object(segment_layer, "write_piece", noted),
        patch.object(CursorResult, "fetchmany", fetched),
    ):
        assert lake.migrate().good
    assert taken == written == ROWS
    assert max(ahead) <= PIECE + PAGE
    assert max(pages) == PAGE
    assert len(pages) > 4 * ROWS / PAGE
    assert sum(1 for _ in made.migrated().branch("main").staged()) == ROWS
