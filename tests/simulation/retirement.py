"""Judging layers: what leaves a branch record is named for the cleaner before, dropped after, and never comes back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.simulation.observe import Observer, layers


def violations(observer: Observer, *, faultless: bool) -> Iterator[str]:
    """What is wrong with the layers that a history listed and retired."""
    for retired in observer.retired:
        if not retired.named:
            yield f"at step {retired.step}, layer {retired.layer.id} left the record, and nothing names it"
        if faultless and observer.rows_left(retired):
            yield f"layer {retired.layer.id} left the record at step {retired.step}, and its data was left behind"
    yield from _listings(observer)


def _listings(observer: Observer) -> Iterator[str]:
    gone: set[str] = set()
    for before, after in pairwise(observer.states):
        old, new = ([layer.id for layer in layers(state.record)] for state in (before, after))
        gone |= set(old) - set(new)
        if len(set(new)) < len(new):
            yield f"at step {after.step}, a layer is listed twice: {new}"
        for layer in gone & set(new):
            yield f"at step {after.step}, layer {layer} is listed again"
