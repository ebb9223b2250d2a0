"""Commit and compaction: seal, build, install. As `engine.committing.commit`, with the engine's own install rule."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial

from graveler_core.engine.protocol.install import InstallDecision, InstallVerdict
from graveler_core.model.layers import Layer
from tests.proofs.model.flows.install_rules import install_rule
from tests.proofs.model.flows.registers import Registers, advanced, fresh, same_content, spent, swapped
from tests.proofs.model.flows.retiring import drop, record_cleanups
from tests.proofs.model.operation import Lost, Made, NoChanges, NotFound, Operation, Refused, Unknown
from tests.proofs.model.state import Commit, Record, Steps, Tree
from tests.proofs.model.world import Broken, World, layered


def commit(w: World, op: Operation, key: str = "") -> Steps:
    """Commit everything staged; `key` is the call's idempotency key."""
    op.key = key
    yield from _made_before(w, op, (yield from fresh(w)))
    used = yield from _seal(w, op)
    layers, epoch = used[1].sealed_tokens, used[1].epoch
    taken: tuple[Layer, ...] = ()
    lost: Tree | None = None
    for _ in range(5):
        yield from _made_before(w, op, used, again=True)
        tree = yield from _built(w, used[1], layers)
        if w.former.lost_tree and lost is not None:
            tree = lost
        lost = tree
        used, decision = yield from _install(w, op, used, layers, tree)
        if decision.verdict is InstallVerdict.INSTALL:
            return
        taken += layers
        layers = yield from _layers_left(w, op, used, (taken, decision), epoch)
    raise spent()


def compact(w: World, op: Operation) -> Steps:
    """Fold all sealed layers into the compacted tree."""
    used = yield from _seal(w, op)
    record = used[1]
    layers = record.sealed_tokens
    if not layers:
        return
    tree = yield from _built(w, record, layers)
    yield from record_cleanups(w, layers)
    for _ in range(3):
        now = used[1]
        if now.uid != record.uid:
            raise NotFound
        moved = (now.commit_id, now.compacted_metarange) != (record.commit_id, record.compacted_metarange)
        if now.sealed_tokens != layers or (moved and not w.former.compaction_tokens_only):
            raise Refused("compaction lost")
        new = Record(now.uid, now.epoch, now.commit_id, now.staging_token, (), tree)
        if (yield from swapped(w, op, used, new, partial(_compacted, w, new, layers))):
            yield from drop(w, used[0], layers)
            return
        used = yield from fresh(w)
    raise spent()


def _compacted(w: World, new: Record, layers: tuple[Layer, ...], at: Record) -> bool:
    """Whether a record shows a compaction. The same tree may have stood there before: the layers must be gone too."""
    same = at.uid == new.uid and at.compacted_metarange == new.compacted_metarange
    return same and (w.former.compacted_by_content or not any(at.lists(layer) for layer in layers))


def _seal(w: World, op: Operation) -> Generator[None, None, Registers]:
    for _ in range(5):
        used = uid, record = yield from fresh(w)
        yield
        if w.data.get(record.staging_token.id):
            token = w.token()
            layers = record.layers()
            new = Record(record.uid, record.epoch, record.commit_id, token, layers, record.compacted_metarange)
            if w.former.seal_without_swap:
                yield
                w.put(uid, new)
                return uid, new
            try:
                if (yield from swapped(w, op, used, new, lambda now, t=token: now.lists(t))):  # type: ignore[misc]
                    return uid, new
            except Unknown:
                # Whether this seal happened is nobody's business: whatever is sealed now is sealed.
                continue
        elif record.compacted_metarange is not None or (yield from _says_something(w, record)):
            return used
        elif same_content(used, (now := (yield from fresh(w)))):
            yield from _last_look(w, op, now)
            w.trees.append((op, w.now, now[1].commit_id.tree))
            raise NoChanges
    raise spent()


def _says_something(w: World, record: Record) -> Generator[None, None, bool]:
    for layer in record.sealed_tokens:
        if hasattr(layer, "prefix"):
            return True
        yield
        if w.data.get(layer.id):
            return True
    return False


def _built(w: World, record: Record, layers: tuple[Layer, ...]) -> Generator[None, None, Tree]:
    """The layers, scanned one after the other, on the compacted tree or the head."""
    head = record.commit_id.tree
    base = head if w.former.commit_ignores_compacted else record.base()
    scanned = {}
    for layer in layers:
        if not hasattr(layer, "prefix"):
            yield
            scanned[layer.id] = dict(w.data.get(layer.id, ()))
    return layered(scanned, layers, base, head)


def _install(
    w: World, op: Operation, used: Registers, layers: tuple[Layer, ...], tree: Tree
) -> Generator[None, None, tuple[Registers, InstallDecision]]:
    base = used[1]
    if w.former.drop_before_advance:
        yield from drop(w, used[0], layers)
    if not w.former.cleanup_after_swap:
        yield from record_cleanups(w, layers)
    made = None if tree == base.commit_id.tree else Commit(tree, base.commit_id, base.commit_id.merged, op.key)
    rule = install_rule(w.former)
    for _ in range(4):
        now = used[1]
        decision = rule(base, layers, now)
        if decision.verdict is not InstallVerdict.INSTALL:
            return used, decision
        if (yield from _swapped(w, op, used, (layers, made))):
            if w.former.cleanup_after_swap:
                yield from record_cleanups(w, layers)
            yield from drop(w, used[0], layers)
            if made is None:
                w.trees.append((op, w.now, base.commit_id.tree))
                raise NoChanges
            return used, decision
        used = yield from fresh(w)
    raise spent()


def _swapped(
    w: World, op: Operation, used: Registers, result: tuple[tuple[Layer, ...], Commit | None]
) -> Generator[None, None, bool]:
    layers, made = result
    now = used[1]
    staying = now.sealed_tokens[: len(now.sealed_tokens) - len(layers)]
    if w.former.suffix_is_prefix:
        staying = now.sealed_tokens[len(layers) :]
    if w.former.clear_all_sealed:
        staying = ()
    if made is None:
        new = Record(now.uid, now.epoch, now.commit_id, now.staging_token, staying, None)
        if w.former.lost_removal_by_absence:
            return (yield from swapped(w, op, used, new, lambda at: _without(at, now, layers)))
        yield
        try:
            return w.swap(op, used[0], now, new)
        except Lost:
            # It carries nothing that is only its own; the rule on the record that stands there says what is left to do.
            return False
    if made.parent is not now.commit_id:
        made = Commit(made.tree, now.commit_id, now.commit_id.merged, made.key)
    op.commit = made
    new = Record(now.uid, now.epoch, made, now.staging_token, staying, None)
    return (yield from advanced(w, op, used, new))


def _without(at: Record, now: Record, layers: tuple[Layer, ...]) -> bool:
    return at.uid == now.uid and at.compacted_metarange is None and not any(at.lists(layer) for layer in layers)


def _layers_left(
    w: World, op: Operation, used: Registers, decided: tuple[tuple[Layer, ...], InstallDecision], epoch: int
) -> Generator[None, None, tuple[Layer, ...]]:
    """The layers to build from next, or the end of the commit. The epoch is that of its first attempt."""
    layers, decision = decided
    if decision.verdict in (InstallVerdict.REBASE, InstallVerdict.RESTART):
        return decision.layers
    if decision.verdict is InstallVerdict.GONE:
        raise NotFound
    yield from _last_look(w, op, used)
    reset = used[1].epoch != epoch and not w.former.absorbed_by_reset
    if decision.verdict is InstallVerdict.DISCARDED or reset:
        raise Refused("discarded")
    w.absorbed.append((op, layers))
    w.trees.append((op, w.now, used[1].commit_id.tree))
    raise NoChanges


def _last_look(w: World, op: Operation, used: Registers) -> Steps:
    """Before a commit ends without one: under its key, a former call may have committed what it came for."""
    if not w.former.key_not_sought_last:
        yield from _made_before(w, op, used, again=True)
    if op.key and any(commit.key == op.key for commit in used[1].commit_id.chain()):
        raise Broken("a commit under the call's key stands, and the call ends without one")


def _made_before(w: World, op: Operation, used: Registers, *, again: bool = False) -> Steps:
    """Ends the call with success if an earlier one under its key made a commit."""
    if not op.key or (again and w.former.key_sought_once):
        return
    record = used[1]
    if op.key not in w.ops:
        yield
        w.ops.setdefault(op.key, (record.uid, record.commit_id))
    yield
    branch, base = w.ops[op.key]
    if branch != record.uid:
        raise Refused("the key was used on another branch")
    for commit in record.commit_id.chain():
        if commit.key == op.key:
            op.commit = commit
            raise Made
        if commit is base:
            return
