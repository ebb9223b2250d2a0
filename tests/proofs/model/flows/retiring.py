"""Cleanup records, dropping, and the cleaner that finishes what a crash left."""

from __future__ import annotations

from collections.abc import Sequence

from graveler_core.model.layers import Layer, SealedToken, SegmentLayer
from tests.proofs.model.flows.registers import fresh
from tests.proofs.model.operation import NotFound, Operation
from tests.proofs.model.state import Steps
from tests.proofs.model.world import World


def record_cleanups(w: World, layers: Sequence[Layer]) -> Steps:
    """Before the swap that retires some layers: what the cleaner will find after a crash."""
    if layers:
        yield
        for layer in layers:
            if isinstance(layer, SealedToken | SegmentLayer):
                w.cleanup[layer.id] = layer


def drop(w: World, uid: int, layers: Sequence[Layer]) -> Steps:
    """Empty retired layers, in chunks."""
    for layer in layers:
        records = w.data.get(layer.id)
        if records is not None:
            if len(records) > 1 and type(layer) is SealedToken:
                yield
                w.drop(uid, layer, one=True)
            yield
            w.drop(uid, layer)


def clean(w: World, op: Operation) -> Steps:
    """The cleaner: recorded layers that the branch record, read afterwards, does not list."""
    yield
    uid = w.repository
    if uid <= 0:
        raise NotFound
    if w.former.cleaner_reads_branch_first:
        uid, record = yield from fresh(w)
        yield
        found = list(w.cleanup.values())
        layers = [layer for layer in found if not record.lists(layer)]
    else:
        yield
        found = list(w.cleanup.values())
        yield
        now = w.branches.get(uid)
        layers = [layer for layer in found if now is None or not now.lists(layer)]
    yield from drop(w, uid, layers)
