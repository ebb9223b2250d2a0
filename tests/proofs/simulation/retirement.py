"""Judging layers: what leaves a branch record is named for the cleaner before, dropped after, and never comes back."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tests.proofs.simulation.observe import Observer, layers

LEFT = "left for ever"
"""How the violations begin that no reader sees."""


def violations(observer: Observer, *, faultless: bool) -> Iterator[str]:
    """What is wrong with the layers that a history listed and retired."""
    for retired in observer.retired:
        if not retired.named:
            yield f"{LEFT}: layer {retired.layer.id}, out of the record since step {retired.step}, which nothing names"
        if faultless and observer.rows_left(retired):
            yield f"{LEFT}: data of layer {retired.layer.id}, out of the record since step {retired.step}"
    yield from _listings(observer)


def _listings(observer: Observer) -> Iterator[str]:
    gone: set[str] = set()
    for before, after in pairwise(observer.states):
        old, new = ([layer.id for layer in layers(state.record)] for state in (before, after))
        # What goes with its repository may come back with it.
        gone |= set(old) - set(new) if after.repository is not None else set()
        if len(set(new)) < len(new):
            yield f"at step {after.step}, a layer is listed twice: {new}"
        for layer in gone & set(new):
            yield f"at step {after.step}, layer {layer} is listed again"
