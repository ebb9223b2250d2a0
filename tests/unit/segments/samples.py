"""Small tables of entries and changes, made from dicts, and strategies for them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA

State = Mapping[bytes, int]
"""What a set of entries is in tests: a number for each key."""
Changes = Mapping[bytes, int | None]
"""New numbers, and None for tombstones."""

SHORT_KEYS = st.one_of(
    st.binary(min_size=1, max_size=3),
    st.sampled_from([b"a", b"a\x00", b"a/", b"a/b", b"\x00", b"\xff", b"\xff\xff", b"\x7f", b"\x80", b"k" * 1000]),
    st.integers(0, 400).map(lambda n: b"p/%03d" % n),
)
STATES = st.dictionaries(SHORT_KEYS, st.integers(0, 3), max_size=60)
CHANGES = st.dictionaries(SHORT_KEYS, st.one_of(st.none(), st.integers(0, 3)), max_size=40)


def row(key: bytes, number: int) -> dict[str, Any]:
    """One entry; everything but the key follows from the number."""
    return {
        "key": key,
        "identity": hashlib.blake2b(str(number).encode(), digest_size=32).digest(),
        "address": f"objects/{number}",
        "address_type": 1,
        "size": number,
        "checksum": f"sum{number}",
        "mtime": datetime(2026, 1, 1, tzinfo=UTC),
        "content_type": None if number % 2 else "text/plain",
        "metadata": [("n", str(number))] if number % 3 == 1 else None,
        "data": b"\x00inline" if number % 3 == 2 else None,
        "payload": number % 7,
        "content_id": bytes(16) if number % 2 else None,
    }


def entries(state: State) -> pa.Table:
    """A sorted table in `ENTRY_SCHEMA`."""
    return pa.Table.from_pylist([row(key, state[key]) for key in sorted(state)], schema=ENTRY_SCHEMA)


def records(changes: Changes) -> pa.Table:
    """A sorted table in `RECORD_SCHEMA`."""
    rows = [
        {"key": k, "tombstone": True} if n is None else {**row(k, n), "tombstone": False} for k, n in changes.items()
    ]
    return pa.Table.from_pylist(sorted(rows, key=lambda r: r["key"]), schema=RECORD_SCHEMA)


def state_of(*tables: pa.Table) -> dict[bytes, int]:
    """The dict that tables in `ENTRY_SCHEMA` stand for, in the tables' order."""
    return {r["key"]: r["size"] for table in tables for r in table.select(["key", "size"]).to_pylist()}


def after(state: State, changes: Changes) -> dict[bytes, int]:
    """The oracle of applying changes."""
    both = {**state, **changes}
    return {key: number for key, number in sorted(both.items()) if number is not None}
