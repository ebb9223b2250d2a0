"""The page on scale says what the tests of budgets assert and what the constants are."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pyarrow as pa

from graveler_core.codec.entry import normalise
from graveler_core.committed.cache import DEFAULT_BYTES
from graveler_core.committed.change_stream import MAX_TAKE_BYTES
from graveler_core.committed.index.indexes import Sizes
from graveler_core.committed.index.three_way import MAX_HELD_BYTES, MAX_LISTED_CONFLICTS
from graveler_core.engine.protocol.swap import FEW_RECORDS
from graveler_core.engine.reading.listing import PAGE_ROWS as LISTING_ROWS
from graveler_core.engine.staging.bulk import SEGMENT_ROWS
from graveler_core.engine.staging.remove import FEW_PATHS
from graveler_core.facade.readable_ref import ARROW_PAGE_ROWS
from graveler_core.kv import paging
from graveler_core.model.layers import MAX_LAYERS
from graveler_core.objects.commits import CACHED_COMMITS
from graveler_core.refs import childless
from graveler_core.segments.boundary import Cutting
from graveler_core.segments.format import encode
from graveler_core.segments.merge import as_entries
from graveler_core.segments.streams import ROWS_AT_ONCE
from graveler_core.staging.segment_layer import PIECE_ROWS
from graveler_core.staging.stack import KEYS_AT_ONCE
from graveler_core.stores.stores import COLLECTED_BYTES
from tests.unit.engine.budgets.costs import trips
from tests.unit.engine.budgets.every import EVERY

PAGE = (Path(__file__).parents[2] / "docs" / "scale.md").read_text()
KIB, MIB = 1 << 10, 1 << 20
ELEMENT_BYTES = 125


def rows(heading: str) -> Iterator[list[str]]:
    """The cells of the tables below a heading of the second level, without those of the tables' heads."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    for line, following in zip(section.splitlines(), [*section.splitlines()[1:], ""], strict=True):
        if line.startswith("| ") and not following.startswith("|---"):
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def sizes(heading: str) -> dict[str, str]:
    """What may be so large, and how large."""
    return {what: size for what, size, *_ in rows(heading)}


def test_costs_are_those_that_are_asserted() -> None:
    shown = {name: cells for name, *cells, _ in rows("Cost of each operation")}
    assert shown == {
        name: [trips(cost.able), trips(cost.plain), cost.reads, cost.writes] for name, (cost, _) in EVERY.items()
    }


def test_batch_and_cache_sizes() -> None:
    assert sizes("Batch and cache sizes") == {
        "rows of the first page of a scan": f"{paging.FIRST_PAGE_ROWS:,}",
        "rows of each further page of a scan": f"{paging.PAGE_ROWS:,}",
        "bytes of values in a page of a scan": f"{paging.PAGE_BYTES // MIB} MiB",
        "rows that a bulk write writes or removes in one transaction": f"{paging.CHUNK_ROWS:,}",
        "staged keys that a lookup reads in one round trip": f"{KEYS_AT_ONCE:,}",
        "paths of one call that can be removed without tombstones": f"{FEW_PATHS:,}",
        "entries in a page of a listing": f"{LISTING_ROWS:,}",
        "entries in a page of Arrow columns": f"{ARROW_PAGE_ROWS:,}",
        "records in a page of uncommitted changes": f"{LISTING_ROWS:,}",
        "entries in a file of a layer": f"{PIECE_ROWS:,}",
        "records of layers that are merged in one step": f"{ROWS_AT_ONCE:,}",
        "conflicts that an error lists (it counts all)": f"{MAX_LISTED_CONFLICTS:,}",
        "changes of a commit in memory, for each partition": f"{MAX_TAKE_BYTES // MIB} MiB",
        "changes that a merge keeps in memory to avoid a second walk": f"{MAX_HELD_BYTES // MIB} MiB",
        "trees and layers in memory, for each process": f"{DEFAULT_BYTES // MIB} MiB, or `memory_cache_bytes`",
        "addresses of condemned and deleted content in memory, for each process": f"{COLLECTED_BYTES // MIB} MiB",
        "commits in memory, for each process": f"{CACHED_COMMITS:,}",
        "first parents in memory, to find commits that are not a first parent": f"{childless.HELD:,}",
    }


def test_numbers_of_the_prose() -> None:
    cutting = Cutting()
    for words in (
        f"A range has {cutting.mean_entries:,} entries on average and at most {cutting.max_bytes // MIB} MiB",
        f"A node has {cutting.fan_out} rows on average",
        f"More than {FEW_RECORDS:,} records",
        f"stage_many, {SEGMENT_ROWS:,} entries and more",
        f"one file for every {PIECE_ROWS:,} entries",
        f"at most {MAX_LAYERS} layers",
        f"one scan page of {paging.FIRST_PAGE_ROWS:,}, then of {paging.PAGE_ROWS:,}",
    ):
        assert words in re.sub(r"\s+", " ", PAGE), words


def test_the_arithmetic() -> None:
    cutting = Cutting()
    for entries, ranges, nodes, read in rows("Sizes"):
        expected = int(entries.replace(",", "")) / cutting.mean_entries
        assert ranges == f"{expected:,.0f}"
        levels = []
        while expected > 1.5:
            expected /= cutting.fan_out
            levels.append(f"{max(1, expected):,.0f}")
        assert nodes == ", ".join(levels)
        assert read == str(len(levels) + 1)


def test_the_layers_of_an_index() -> None:
    sizes = Sizes()
    for entries, elements, levels, runs, _, _ in rows("Indexes of commits"):
        folded = sizes.fold_beyond(int(entries.replace(",", "")))
        assert elements == f"{folded:,}"
        expected, size = 0, sizes.inline_bytes
        while size <= folded * ELEMENT_BYTES:
            expected, size = expected + 1, size * sizes.fan_out
        assert levels == str(expected)
        assert runs == str(expected * (sizes.fan_out - 1))


def test_the_size_of_a_range() -> None:
    count = Cutting().mean_entries
    columns = {
        "key": [f"table/date=2026-01-{number % 28 + 1:02}/part-{number:08}.parquet" for number in range(count)],
        "address": [f"data/{uuid.UUID(bytes=sha256(b'%d' % number).digest()[:16]).hex}" for number in range(count)],
        "checksum": [f"sha256:{sha256(b'content %d' % number).hexdigest()}" for number in range(count)],
        "size": [number * 997 % 100_000 for number in range(count)],
    }
    size = len(encode(as_entries(normalise(pa.table(columns)))))
    assert (f"{size / 1e6:.1f} MB", f"{size / count:.0f} bytes") == ("1.4 MB", "83 bytes")
