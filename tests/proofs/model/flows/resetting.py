"""Reset of everything, and hard reset. As `engine.references.reset`."""

from __future__ import annotations

from tests.proofs.model.flows.moving import require_clean
from tests.proofs.model.flows.registers import fresh, spent, swapped
from tests.proofs.model.flows.retiring import drop, record_cleanups
from tests.proofs.model.operation import Operation, Refused
from tests.proofs.model.state import Record, Steps
from tests.proofs.model.world import World


def reset(w: World, op: Operation) -> Steps:
    """Discard everything staged."""
    for _ in range(5):
        used = uid, record = yield from fresh(w)
        layers = record.layers()
        yield from record_cleanups(w, layers)
        token = w.token()
        compacted = record.compacted_metarange if w.former.reset_keeps_compacted else None
        epoch = record.epoch + (not w.former.reset_keeps_epoch)
        new = Record(record.uid, epoch, record.commit_id, token, (), compacted)
        mine = lambda now, t=token: now.lists(t)  # noqa: E731
        if (yield from swapped(w, op, used, new, mine, writes=dict(record.commit_id.tree))):
            yield from drop(w, uid, layers)
            return
    raise spent()


def hard_reset(w: World, op: Operation) -> Steps:
    """Move the head of a clean branch to its root, or to its parent."""
    for _ in range(5):
        used = _, record = yield from fresh(w)
        chain = list(record.commit_id.chain())
        target = chain[min(1, len(chain) - 1)] if w.random() < 0.5 else chain[-1]
        if not w.former.hard_reset_unchecked:
            yield from require_clean(w, record)
        if target is record.commit_id:
            raise Refused("nothing to do")
        compacted = record.compacted_metarange if w.former.hard_reset_keeps_compacted else None
        epoch = record.epoch + (not w.former.reset_keeps_epoch)
        new = Record(record.uid, epoch, target, record.staging_token, record.sealed_tokens, compacted)
        mine = lambda now, n=new: now is n  # noqa: E731
        if (yield from swapped(w, op, used, new, mine, writes=dict(target.tree))):
            return
    raise spent()
