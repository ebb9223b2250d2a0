"""Bulk writes, prefix removals and prefix resets: one layer, put on the branch by a swap. As `engine.staging.bulk`."""

from __future__ import annotations

from graveler_core.model.layers import Layer, PrefixRestoration
from tests.proofs.model.flows.registers import fresh, spent, swapped
from tests.proofs.model.operation import Operation
from tests.proofs.model.state import KEYS, Record, Steps, Tree, Value
from tests.proofs.model.world import World


def stage_many(w: World, op: Operation, values: Tree) -> Steps:
    """Stage several keys at once: in a token, or in segments."""
    layer = w.token() if w.random() < 0.5 else w.segment()
    yield from fresh(w)
    yield
    w.data[layer.id] = dict(values)
    yield from _push(w, op, layer, dict(values))


def remove_prefix(w: World, op: Operation, prefix: str) -> Steps:
    """Remove everything under a prefix."""
    yield from _push(w, op, w.removal(prefix), {key: None for key in KEYS if key.startswith(prefix)})


def restore_prefix(w: World, op: Operation, prefix: str) -> Steps:
    """Discard what is staged under a prefix."""
    yield from _push(w, op, w.restoration(prefix), None)


def _push(w: World, op: Operation, layer: Layer, writes: dict[str, Value | bool] | None) -> Steps:
    for _ in range(5):
        used = yield from fresh(w)
        record = used[1]
        yield
        token, sealed = record.staging_token, record.sealed_tokens
        if w.data.get(token.id):
            token, sealed = w.token(), (layer, token, *sealed)
        else:
            sealed = (layer, *sealed)
            if w.former.empty_token_removed:
                token = w.token()
        shown = writes
        epoch = record.epoch
        if type(layer) is PrefixRestoration:
            shown = {key: value for key, value in record.commit_id.tree.items() if key.startswith(layer.prefix)}
            epoch += not w.former.reset_keeps_epoch
        new = Record(record.uid, epoch, record.commit_id, token, sealed, record.compacted_metarange)
        if (yield from swapped(w, op, used, new, lambda now: now.lists(layer), writes=shown)):
            return
    raise spent()
