"""Meaning of prefix removals and restorations, as pure functions on intervals of keys.

A removal hides everything older under its prefix. A restoration hides it too and shows the head of the branch instead.
An exact restoration covers a single path. For a key without a visible record, the newest of these layers that covers
the key therefore decides where to look it up: nowhere, in the head, or, if none covers it, in the base (the compacted
tree if there is one, otherwise the head).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from graveler_core.model.key_intervals import prefix_end
from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration


class LookupSource(Enum):
    """Place where a key without a visible staged record is looked up."""

    BASE = "base"
    HEAD = "head"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Span:
    """Keys from `start` up to, but not including, `end` (`None` for no end), with their source."""

    start: bytes
    end: bytes | None
    source: LookupSource


def covers(layer: Layer, key: bytes) -> bool:
    """Return true if a layer is a removal or restoration that covers this key."""
    if not isinstance(layer, PrefixRemoval | PrefixRestoration):
        return False
    prefix = layer.prefix.encode()
    return key == prefix if _is_exact(layer) else key.startswith(prefix)


def source_of(layer: Layer) -> LookupSource:
    """Return the source of keys for which this layer is the newest one that covers them."""
    return LookupSource.NOTHING if isinstance(layer, PrefixRemoval) else LookupSource.HEAD


def spans(layers: Sequence[Layer], start: bytes = b"", end: bytes | None = None) -> list[Span]:
    """Split the keys from `start` up to `end`, in order, so that each interval has one source.

    Args:
        layers: Layers, newest first.
        start: First key.
        end: Key after the last one; `None` for no end.
    """
    masks = [layer for layer in layers if isinstance(layer, PrefixRemoval | PrefixRestoration)]
    edges = {start}
    for mask in masks:
        edges |= {edge for edge in _interval(mask) if edge is not None and edge > start}
    ordered = sorted(edge for edge in edges if end is None or edge < end)
    cut = []
    for low, high in zip(ordered, [*ordered[1:], end], strict=False):
        newest = next((mask for mask in masks if covers(mask, low)), None)
        cut.append(Span(low, high, LookupSource.BASE if newest is None else source_of(newest)))
    return cut


def hidden(newer: Sequence[Layer]) -> list[tuple[bytes, bytes | None]]:
    """Return the intervals of keys in which these layers hide everything older, in order and without overlaps."""
    return [(span.start, span.end) for span in spans(newer) if span.source is not LookupSource.BASE]


def _interval(layer: PrefixRemoval | PrefixRestoration) -> tuple[bytes, bytes | None]:
    """Return the first key that a layer covers, and the key after the last one (`None` for no end)."""
    prefix = layer.prefix.encode()
    return prefix, prefix + b"\0" if _is_exact(layer) else prefix_end(prefix)


def _is_exact(layer: PrefixRemoval | PrefixRestoration) -> bool:
    return isinstance(layer, PrefixRestoration) and layer.exact
