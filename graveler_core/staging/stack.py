"""The layers of a branch, newest first, as one object for lookups and scans.

A record of a layer counts only if no newer layer has a record of the key, and no newer removal or restoration covers
it. If no layer has a record, the newest prefix layer that covers the key decides where to look
(`staging.prefixes`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.blobs.port import Blobs
from graveler_core.codec.entry import entry_from_row
from graveler_core.codec.staged_record import decode_record
from graveler_core.kv.bulk import get_many
from graveler_core.kv.store import Store, Stored
from graveler_core.model.entities import BranchRecord
from graveler_core.model.entry import TOMBSTONE, Entry
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.records import layout as keys
from graveler_core.segments.sorted_keys import between
from graveler_core.segments.streams import merge
from graveler_core.staging import area, segment_layer
from graveler_core.staging.prefixes import LookupSource, covers, hidden, source_of
from graveler_core.staging.sealed_pages import SealedPages

KEYS_AT_ONCE = 10_000
"""Maximum number of keys that a lookup requests in one round trip."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers, newest first, and the stores that contain them."""

    kv: Store
    blobs: Blobs
    layers: tuple[Layer, ...]
    cache: segment_layer.Cache | None = None
    """Cache for the files of segment layers, which never change, and for sealed tokens, whose acknowledged records
    never change.
    """


@dataclass(frozen=True, slots=True)
class Staged:
    """Visible staged record: an entry, or `None` for a tombstone."""

    entry: Entry | None


def layers_of(branch: BranchRecord) -> tuple[Layer, ...]:
    """Return all layers of a branch, the staging token first."""
    return (SealedToken(token=branch.staging_token), *branch.sealed_tokens)


def lookup(stack: Stack, path: str) -> Staged | LookupSource:
    """Return the staged record of a path, or the source that decides. One round trip for all tokens."""
    return lookup_many(stack, [path])[0]


def lookup_many(stack: Stack, paths: Sequence[str]) -> list[Staged | LookupSource]:
    """Look up several paths, in their order. One round trip for all tokens and paths, if the store supports it.

    More than `KEYS_AT_ONCE` combinations of token and path take several round trips.
    """
    return lookup_beside(stack, paths, ())[0]


def lookup_beside(
    stack: Stack, paths: Sequence[str], rows: Sequence[tuple[bytes, bytes]]
) -> tuple[list[Staged | LookupSource], list[Stored | None]]:
    """Look up several paths as `lookup_many` does, and read other rows of the store in the first round trip.

    Args:
        stack: The layers.
        paths: The paths, at least one if there are rows.
        rows: Partition and key of each other row.

    Returns:
        The answers in the order of the paths, and the other rows in their order, `None` for an absent one.
    """
    tokens = [layer.token for layer in stack.layers if isinstance(layer, SealedToken)]
    at_once = max(1, KEYS_AT_ONCE // max(1, len(tokens)))
    found: list[Staged | LookupSource] = []
    beside: list[Stored | None] = []
    for first in range(0, len(paths), at_once):
        part = paths[first : first + at_once]
        wanted = [(keys.staging(t), keys.staged(path.encode())) for path in part for t in tokens]
        stored = get_many(stack.kv, [*wanted, *(() if first else rows)])
        beside += stored[len(wanted) :]
        for row, path in enumerate(part):
            held = stored[row * len(tokens) : (row + 1) * len(tokens)]
            found.append(_decide(stack, path, dict(zip(tokens, held, strict=True))))
    return found, beside


def _decide(stack: Stack, path: str, records: Mapping[str, Stored | None]) -> Staged | LookupSource:
    """Return the newest record of a path, given the records in the tokens."""
    key = path.encode()
    for layer in stack.layers:
        if isinstance(layer, SealedToken):
            found = records[layer.token]
            if found is not None:
                return Staged(decode_record(path, found.value))
        elif isinstance(layer, SegmentLayer):
            row = segment_layer.lookup(stack.blobs, layer.id, key, stack.cache)
            if row is not None:
                return Staged(None if row[TOMBSTONE][0].as_py() else entry_from_row(row.columns, 0))
        elif covers(layer, key):
            return source_of(layer)
    return LookupSource.BASE


def scan(stack: Stack, *, start: bytes = b"", end: bytes | None = None, few: int | None = None) -> Iterator[pa.Table]:
    """Yield the visible staged records from `start` up to, but not including, `end`: sorted, each key once, with
    tombstones.

    The scan holds in memory one page of each token, and one segment of each layer whose key range contains the
    current position.

    Args:
        stack: The layers.
        start: First key.
        end: Key after the last one; `None` for no end.
        few: Number of records that is probably enough; see `area.scan`.
    """
    streams, begins = [], []
    for depth, layer in enumerate(stack.layers):
        if isinstance(layer, SealedToken | SegmentLayer):
            begin, pages = _pages(stack, layer, start, end, few)
            streams.append(_unhidden(pages, hidden(stack.layers[:depth])))
            begins.append(begin)
    yield from merge(streams, begins)


def few_rows(stack: Stack, most: int) -> list[tuple[bytes, bytes]] | None:
    """Return all visible records, sorted, if all layers are tokens with few records.

    Returns:
        Keys and encoded records, or `None` if there are more than `most` or a layer is not a token.
    """
    tokens = [layer.token for layer in stack.layers if isinstance(layer, SealedToken)]
    if len(tokens) < len(stack.layers):
        return None
    found: dict[bytes, bytes] = {}
    for token in reversed(tokens):
        rows = area.few_rows(stack.kv, token, most)
        if rows is None:
            return None
        found.update(rows)
    return sorted(found.items()) if len(found) <= most else None


def is_dirty(stack: Stack) -> bool:
    """Return true if a layer has any record or covers a prefix, even if it has no effect."""
    return any(has_records(stack, layer) for layer in stack.layers)


def has_records(stack: Stack, layer: Layer) -> bool:
    """Return true if a layer has a record or covers a prefix."""
    if isinstance(layer, SealedToken):
        return not area.is_empty(stack.kv, layer.token)
    return isinstance(layer, PrefixRemoval | PrefixRestoration) or layer.count > 0


def drop(stack: Stack) -> None:
    """Delete the content of layers that have left the branch record."""
    for layer in stack.layers:
        if isinstance(layer, SealedToken):
            area.drop(stack.kv, layer.token)
        elif isinstance(layer, SegmentLayer):
            segment_layer.drop(stack.blobs, layer.id)


def _pages(
    stack: Stack, layer: SealedToken | SegmentLayer, start: bytes, end: bytes | None, few: int | None
) -> tuple[bytes, Iterator[pa.Table]]:
    """Return a lower bound of a layer's keys from `start` on, and its records, including hidden ones."""
    if isinstance(layer, SegmentLayer):
        return segment_layer.scan(stack.blobs, layer.id, start=start, end=end, cache=stack.cache)
    if stack.cache is None or layer is stack.layers[0]:  # the newest layer may be the staging token, which changes
        return start, area.scan(stack.kv, layer.token, start=start, end=end, few=few)
    return start, SealedPages(stack.kv, stack.cache).scan(layer.token, start=start, end=end, few=few)


def _unhidden(pages: Iterator[pa.Table], shadows: Sequence[tuple[bytes, bytes | None]]) -> Iterator[pa.Table]:
    for page in pages:
        at = b""
        for low, high in shadows:
            yield between(page, at, low)
            if high is None:
                break
            at = high
        else:
            yield between(page, at, None)
