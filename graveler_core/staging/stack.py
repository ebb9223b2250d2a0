"""The layers of a branch, newest first, as one thing to look up and to scan.

What a layer says of a key counts only if no newer layer says something, and no newer removal or restoration covers it.
Where no layer says anything, `prefixes` names the source that decides.
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
from graveler_core.model.entities import Branch
from graveler_core.model.entry import TOMBSTONE, Entry
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration, SealedToken, SegmentLayer
from graveler_core.records import layout as keys
from graveler_core.segments.sorted_keys import between
from graveler_core.segments.streams import merge
from graveler_core.staging import area, segment_layer
from graveler_core.staging.prefixes import Source, covers, hidden, source_of
from graveler_core.staging.sealed_pages import SealedPages

KEYS_AT_ONCE = 10_000
"""What a lookup asks a store for in one round trip at most."""


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers newest first, and where they are kept."""

    kv: Store
    blobs: Blobs
    layers: tuple[Layer, ...]
    cache: segment_layer.Cache | None = None
    """For the files of segment layers, which never change, and for sealed tokens, whose acknowledged records do not."""


@dataclass(frozen=True, slots=True)
class Staged:
    """A visible staged record: an entry, or None for a tombstone."""

    entry: Entry | None


def layers_of(branch: Branch) -> tuple[Layer, ...]:
    """All layers of a branch, the staging token first."""
    return (SealedToken(token=branch.staging_token), *branch.sealed_tokens)


def lookup(stack: Stack, path: str) -> Staged | Source:
    """What is staged for a path, or the source that decides where nothing is. One round trip for all tokens."""
    return lookup_many(stack, [path])[0]


def lookup_many(stack: Stack, paths: Sequence[str]) -> list[Staged | Source]:
    """`lookup` for several paths, in their order. One round trip for all tokens and paths where the store can.

    More than `KEYS_AT_ONCE` of both together take several.
    """
    tokens = [layer.token for layer in stack.layers if isinstance(layer, SealedToken)]
    at_once = max(1, KEYS_AT_ONCE // max(1, len(tokens)))
    found: list[Staged | Source] = []
    for first in range(0, len(paths), at_once):
        part = paths[first : first + at_once]
        stored = get_many(stack.kv, [(keys.staging(t), keys.staged(path.encode())) for path in part for t in tokens])
        for row, path in enumerate(part):
            held = stored[row * len(tokens) : (row + 1) * len(tokens)]
            found.append(_decide(stack, path, dict(zip(tokens, held, strict=True))))
    return found


def _decide(stack: Stack, path: str, records: Mapping[str, Stored | None]) -> Staged | Source:
    """The newest word on a path, given what the tokens hold of it."""
    key = path.encode()
    for layer in stack.layers:
        if isinstance(layer, SealedToken):
            found = records[layer.token]
            if found is not None:
                return Staged(decode_record(path, found.value))
        elif isinstance(layer, SegmentLayer):
            row = segment_layer.lookup(stack.blobs, layer.id, key, stack.cache)
            if row is not None:
                return Staged(None if row[TOMBSTONE][0].as_py() else entry_from_row(row, 0))
        elif covers(layer, key):
            return source_of(layer)
    return Source.BASE


def scan(stack: Stack, *, start: bytes = b"", end: bytes | None = None, few: int | None = None) -> Iterator[pa.Table]:
    """The visible staged records from `start` to before `end`: sorted, each key once, tombstones among them.

    Memory: a page of each token, and of each segment layer whose keys begin before and end after what is decided.

    Args:
        few: How many are likely to be enough; see `area.scan`.
    """
    streams, begins = [], []
    for depth, layer in enumerate(stack.layers):
        if isinstance(layer, SealedToken | SegmentLayer):
            begin, pages = _pages(stack, layer, start, end, few)
            streams.append(_unhidden(pages, hidden(stack.layers[:depth])))
            begins.append(begin)
    yield from merge(streams, begins)


def few_rows(stack: Stack, most: int) -> list[tuple[bytes, bytes]] | None:
    """All that the layers say, where they are tokens alone and hold few records: sorted, each key once.

    None where they hold more than `most`, or one of them is of another kind.
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
    """Whether any layer holds a record or covers a prefix: a matter of records, not of effect."""
    return any(has_records(stack, layer) for layer in stack.layers)


def has_records(stack: Stack, layer: Layer) -> bool:
    """Whether a layer says anything at all."""
    if isinstance(layer, SealedToken):
        return not area.is_empty(stack.kv, layer.token)
    return isinstance(layer, PrefixRemoval | PrefixRestoration) or layer.count > 0


def drop(stack: Stack) -> None:
    """Empty layers that have left the branch's record."""
    for layer in stack.layers:
        if isinstance(layer, SealedToken):
            area.drop(stack.kv, layer.token)
        elif isinstance(layer, SegmentLayer):
            segment_layer.drop(stack.blobs, layer.id)


def _pages(
    stack: Stack, layer: SealedToken | SegmentLayer, start: bytes, end: bytes | None, few: int | None
) -> tuple[bytes, Iterator[pa.Table]]:
    """A key before which a layer has no record from `start` on, and its records, hidden ones among them."""
    if isinstance(layer, SegmentLayer):
        return segment_layer.scan(stack.blobs, layer.id, start=start, end=end, cache=stack.cache)
    if stack.cache is None or layer is stack.layers[0]:  # the newest layer may be the open token, which changes
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
