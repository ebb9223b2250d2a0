"""The digest of a commit's changes: by blocks that the keys alone end, whatever path and pieces it is made on."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.codec.content_hash import HASH, ContentHash
from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.codec.small_hash import OPERATIONS_TAG
from graveler_core.codec.staged_record import encode_entry
from graveler_core.codec.staged_records import decode_records
from graveler_core.model.entry import RECORD_SCHEMA, Entry
from graveler_core.segments.boundary import key_hash
from graveler_core.segments.operations import OperationsDigest, block_ends, digest_of_few
from tests.unit.codec.entry_examples import PLAIN, entries
from tests.unit.segments.blocks import small_blocks
from tests.unit.segments.samples import CHANGES, Changes, records

NOTHING = "9e60c3a28d9a160b537d4b462f3f221815e8287c640b5c4433a9e4a149eafbae"
GOLDEN_ENDS = [10515]
GOLDEN = "5b494a4ffb94dd5eb8b5f33b859bf0069a6cd29316fb6211c79eba9104ebd254"


def block(changes: pa.Table) -> bytes:
    content = ContentHash(OPERATIONS_TAG, RECORD_SCHEMA)
    content.update(changes)
    return content.digest()


def digest(*tables: pa.Table, seed: int = 7, rule: int = 2) -> str:
    operations = OperationsDigest(seed, rule)
    for table in tables:
        operations.update(table)
    return operations.hexdigest()


@given(changes=CHANGES, seed=st.integers(0, 30), rows=st.integers(1, 9))
def test_blocks_end_at_keys_whatever_the_tables(changes: Changes, seed: int, rows: int) -> None:
    table, blocks, start = records(changes), list[bytes](), 0
    with small_blocks() as threshold:
        ends = [end for end, key in enumerate(sorted(changes), 1) if key_hash(key, seed) < threshold]
        for end in sorted({*ends, len(changes)} - {0}):
            blocks.append(block(table.slice(start, end - start)))
            start = end
        wanted = HASH(b"\2\x0aoperations" + b"".join(blocks)).hexdigest()
        pages = [pa.Table.from_batches([batch]) for batch in table.to_batches(max_chunksize=rows)]
        assert digest(table, seed=seed) == digest(*pages, table.slice(0, 0), seed=seed) == wanted


@given(st.dictionaries(st.binary(max_size=6), st.none() | entries, max_size=20), st.integers(0, 30))
def test_few_records_have_the_digest_of_their_columns(rows: dict[bytes, Entry | None], seed: int) -> None:
    few = [(key, TOMBSTONE_VALUE if (row := rows[key]) is None else encode_entry(row)) for key in sorted(rows)]
    table = decode_records(*(pa.array([record[n] for record in few], pa.binary()) for n in (0, 1)))
    with small_blocks():
        for rule in (1, 2):
            assert digest_of_few(few, seed, rule) == digest(table, seed=seed, rule=rule)


@given(changes=CHANGES)
def test_rule_1_is_one_hash_over_all_rows(changes: Changes) -> None:
    with small_blocks():
        table = records(changes)
        assert digest(table.slice(0, 3), table.slice(3), rule=1) == block(table).hex()


def test_golden() -> None:
    keys = [b"%06d" % number for number in range(30_000)]
    few = [(key, TOMBSTONE_VALUE) for key in keys]
    table = decode_records(*(pa.array(column, pa.binary()) for column in zip(*few, strict=True)))
    assert block_ends(table, 7) == GOLDEN_ENDS
    assert digest(table) == digest_of_few(few, 7) == GOLDEN
    assert digest() == digest_of_few([], 7) == NOTHING


def test_the_seed_decides_where_blocks_end() -> None:
    few = [(b"%03d" % number, encode_entry(PLAIN)) for number in range(64)]
    with small_blocks():
        assert digest_of_few(few, 1) != digest_of_few(few, 2)
