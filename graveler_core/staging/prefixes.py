"""What prefix removals and restorations mean, as pure functions on key spans.

A removal hides everything older under its prefix; a restoration hides it too and shows the branch's head instead. So
for a key without a visible record, the newest of them that covers it decides where to look: nowhere, the head, or, if
none covers it, the base (the compacted tree if there is one, else the head).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from graveler_core.model.layers import Layer, PrefixRemoval, PrefixRestoration
from graveler_core.segments.sorted_keys import prefix_end


class Source(Enum):
    """Where a key without a visible staged record is looked up."""

    BASE = "base"
    HEAD = "head"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Span:
    """Keys from `start` to before `end` (None: to the last), and their source."""

    start: bytes
    end: bytes | None
    source: Source


def covers(layer: Layer, key: bytes) -> bool:
    """Whether a layer is a removal or restoration over this key."""
    return isinstance(layer, PrefixRemoval | PrefixRestoration) and key.startswith(layer.prefix.encode())


def source_of(layer: Layer) -> Source:
    """Where a key is looked up that this layer is the newest to cover."""
    return Source.NOTHING if isinstance(layer, PrefixRemoval) else Source.HEAD


def spans(layers: Sequence[Layer]) -> list[Span]:
    """The whole key space in order, cut so that one source serves each span.

    Args:
        layers: Newest first.
    """
    masks = [layer for layer in layers if isinstance(layer, PrefixRemoval | PrefixRestoration)]
    if not masks:
        return [Span(b"", None, Source.BASE)]
    edges = {b""}
    for mask in masks:
        prefix = mask.prefix.encode()
        end = prefix_end(prefix)
        edges |= {prefix} if end is None else {prefix, end}
    ordered = sorted(edges)
    cut = []
    for start, end in zip(ordered, [*ordered[1:], None], strict=True):
        newest = next((mask for mask in masks if covers(mask, start)), None)
        cut.append(Span(start, end, Source.BASE if newest is None else source_of(newest)))
    return cut


def hidden(newer: Sequence[Layer]) -> list[tuple[bytes, bytes | None]]:
    """The key spans in which these layers hide everything older, in order, not overlapping."""
    return [(span.start, span.end) for span in spans(newer) if span.source is not Source.BASE]


def within(span: Span, start: bytes, end: bytes | None) -> Span | None:
    """The part of a span between two keys, or None if there is none."""
    low = max(span.start, start)
    high = span.end if end is None else end if span.end is None else min(span.end, end)
    return None if high is not None and low >= high else Span(low, high, span.source)
