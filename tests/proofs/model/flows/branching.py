"""Deleting and creating the branch, and the whole repository under its name. As `engine.references.branching`.

The repository's own registers are modelled in `tests.proofs.model.lifecycle`; here it only goes, and comes back under a
new uid.
"""

from __future__ import annotations

from tests.proofs.model.flows.registers import fresh, spent
from tests.proofs.model.flows.retiring import drop, record_cleanups
from tests.proofs.model.operation import Lost, NotFound, Operation, Refused
from tests.proofs.model.state import EXISTS, Commit, Record, Steps, Tree
from tests.proofs.model.world import World


def delete_branch(w: World, op: Operation) -> Steps:
    """Delete the branch with everything staged on it."""
    for _ in range(5):
        uid, record = yield from fresh(w)
        layers = record.layers()
        yield from record_cleanups(w, layers)
        yield
        try:
            deleted = w.swap(op, uid, record, None, {EXISTS: False})
        except Lost:
            yield
            now = w.branches.get(uid)
            if w.former.record_changed_means_deleted:
                deleted = now is not record
            elif now is not None and now is not record:
                # Its uid tells whether this is the branch still; if it is, the swap that changed it beat the deletion.
                deleted = now.uid != record.uid
            else:
                deleted = now is None
        if deleted:
            yield from drop(w, uid, layers)
            return
    raise spent()


def create_branch(w: World, op: Operation, head: Commit) -> Steps:
    """Create the branch at a commit, where there is none."""
    yield
    uid = w.repository
    if uid <= 0:
        raise NotFound
    yield
    if uid in w.branches:
        raise Refused("exists")
    w.new_branch(uid, head)
    op.writes = {EXISTS: True, **head.tree}


def delete_repository(w: World, op: Operation) -> Steps:
    """Make the repository unreachable, free its name, empty it."""
    yield
    uid = w.repository
    if uid <= 0:
        raise NotFound
    yield
    if w.repository != uid:
        raise Refused("lost race")
    w.repository = -uid
    op.writes = {EXISTS: False}
    yield
    if w.repository == -uid:
        w.repository = 0
    yield
    record: Record | None = w.branches.pop(uid, None)
    if record is not None:
        yield from drop(w, uid, record.layers())


def create_repository(w: World, op: Operation) -> Steps:
    """Create the repository under the same name."""
    yield
    if w.repository:
        raise Refused("exists")
    uid = w.fresh()
    tree: Tree = {"a1": w.fresh(), "a2": None, "b1": w.fresh()}
    yield
    w.new_branch(uid, Commit(tree, None))
    yield
    if w.repository:
        raise Refused("exists")
    w.repository = uid
    op.writes = {EXISTS: True, **tree}
