"""Calls of a history: a few kinds on few keys, so that they conflict (swarm testing)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from tests.proofs.model.flows import branching, bulk, committing, moving, reading, resetting, retiring, writing
from tests.proofs.model.operation import Operation
from tests.proofs.model.state import Steps, Tree, Value
from tests.proofs.model.world import World

Kind: TypeAlias = Callable[[World, Operation], Steps]


def _key(w: World) -> str:
    draw = w.random()
    return w.focus if draw < 0.7 else "a1" if draw < 0.8 else "a2" if draw < 0.9 else "b1"


def _value(w: World, key: str) -> Value:
    """A fresh value; sometimes the first one of the key again, which is no change."""
    return w.past[0][1].commit_id.tree[key] if w.random() < 0.15 else w.fresh()


def _write(w: World, op: Operation) -> Steps:
    key = _key(w)
    return writing.write(w, op, key, _value(w, key))


def _write_again(w: World, op: Operation) -> Steps:
    key = _key(w)
    return writing.write(w, op, key, w.again[key])


def _prefix(w: World) -> str:
    return "a" if w.random() < 0.5 else w.focus[0] if w.random() < 0.5 else "a1"


def _change(w: World) -> Tree:
    change: Tree = {_key(w): w.fresh()}
    if w.random() < 0.5:
        change[_key(w)] = w.fresh()
    return change


KINDS: dict[str, Kind] = {
    "write": _write,
    "write again": _write_again,
    "remove": lambda w, op: writing.write(w, op, _key(w), None),
    "remove cheaply": lambda w, op: writing.remove_cheaply(w, op, _key(w)),
    "stage many": lambda w, op: bulk.stage_many(w, op, {"a1": w.fresh(), "a2": w.fresh()}),
    "remove prefix": lambda w, op: bulk.remove_prefix(w, op, _prefix(w)),
    "restore prefix": lambda w, op: bulk.restore_prefix(w, op, _prefix(w)),
    "reset": resetting.reset,
    "hard reset": resetting.hard_reset,
    "read": lambda w, op: reading.read(w, op, _key(w)),
    "list": reading.list_all,
    "commit": committing.commit,
    "keyed commit": lambda w, op: committing.commit(w, op, "key"),
    "compact": committing.compact,
    "merge": lambda w, op: moving.merge(w, op, _change(w)),
    "transact": lambda w, op: moving.transact(w, op, _change(w)),
    "delete branch": branching.delete_branch,
    "create branch": lambda w, op: branching.create_branch(w, op, w.past[0][1].commit_id),
    "delete repository": branching.delete_repository,
    "create repository": branching.create_repository,
    "clean": retiring.clean,
}
_RARE = [kind for kind in KINDS if kind not in ("write", "commit", "create branch", "create repository")]
_FOLLOWS = {"delete branch": "create branch", "delete repository": "create repository"}
_THEMES = [
    theme.split(", ")
    for theme in (
        "write, remove, compact, compact, merge, transact, transact, read, commit",
        "write, compact, compact, compact, commit, read, transact, restore prefix",
        "write, remove, restore prefix, compact, merge, merge, hard reset, commit",
        "write, remove cheaply, read, commit",
        "write, write, remove cheaply, remove cheaply, remove, read, transact",
        "write again, write again, remove cheaply, remove cheaply, read, transact, commit",
        "write, remove cheaply, remove prefix, restore prefix, compact, merge, read",
        "write, reset, commit, commit, restore prefix, compact",
        "write, stage many, stage many, clean, clean, commit, commit, reset",
        "write, remove, remove prefix, merge, merge, read, list",
        "write, commit, merge, hard reset, hard reset, keyed commit",
        "write, delete branch, create branch, read, commit, restore prefix",
        "write, write, delete repository, create repository, create repository, read, commit",
    )
]


def draw(w: World, theme: str = "") -> list[tuple[Operation, Steps]]:
    """The calls of one history, in the order in which they begin where nothing else decides.

    Args:
        theme: The kinds of calls to draw from; one of the themes, or a swarm, when not given.
    """
    random = w.random
    kinds = theme.split(", ") if theme else _swarm(w) if random() < 0.5 else _THEMES[int(random() * len(_THEMES))]
    # Only what is not committed is removed cheaply, and b1 is not.
    w.focus = "b1" if random() < (0.8 if "remove cheaply" in kinds else 0.2) else "a1"
    many = len(kinds)
    lossy = random() < 0.3
    calls = []
    for _ in range(3 + int(random() * 6)):
        kind = kinds[int(random() * many)]
        op = Operation("commit" if kind == "keyed commit" else kind)
        fate = random()
        if fate < 0.08:
            op.crash_at = 1 + int(fate * 150)
        elif lossy and fate > 0.5:
            op.lost_at = 1 + (fate > 0.75)
        calls.append((op, KINDS[kind](w, op)))
    return calls


def _swarm(w: World) -> list[str]:
    kinds = ["write", "write", "commit"]
    for _ in range(1 + int(w.random() * 3)):
        kind = _RARE[int(w.random() * len(_RARE))]
        kinds += (kind, kind)
        if kind in _FOLLOWS:
            kinds.append(_FOLLOWS[kind])
    return kinds
