"""Steps that commit, move or compact a single branch."""

from __future__ import annotations

from datetime import timedelta
from random import Random
from typing import Any

from tests.proofs.differential.model import (
    BRANCH_NOT_FOUND,
    DIRTY,
    INVALID,
    NO_CHANGES,
    Branch,
    Refusals,
    Refused,
)
from tests.proofs.differential.refs import ref
from tests.proofs.differential.steps.writing import pick
from tests.proofs.differential.values import changes
from tests.proofs.differential.world import World


def words(w: World, r: Random) -> dict[str, Any]:
    """Message, committer and metadata, each of them often not given."""
    said: dict[str, Any] = {"message": r.choice(w.names.messages), "committer": r.choice(("", "ada", "é"))}
    if r.random() < 0.3:
        said["metadata"] = r.choice(w.names.metadata)
    return said


def key(w: World, r: Random, name: str) -> tuple[str, Refusals, str | None]:
    """An idempotency key, what it is refused with, and the commit that it gives where it was used before."""
    if r.random() > 0.15:
        return "", set(), None
    branch = w.model.branches.get(name)
    used = [*w.model.keys.items()]
    if not used or branch is None or r.random() < 0.5:
        chosen = f"key {r.getrandbits(60)}"
        w.key_since[chosen] = w.clock.now()
        return chosen, set(), None
    chosen, (owner, commit) = r.choice(used)
    if owner is not branch:
        return chosen, {INVALID}, None
    if commit in w.model.chain(branch.head):
        return chosen, set(), commit
    return "", set(), None


def used(w: World, branch: Branch, key: str, commit: str) -> None:
    """Remember what a key made."""
    if key:
        w.model.keys[key] = (branch, commit)


def commit(w: World, r: Random) -> None:
    """Commit all that is staged."""
    name, said, allow_empty = pick(w, r), words(w, r), r.random() < 0.1
    chosen, refused, before = key(w, r, name)
    w.said = ("commit", name, said, allow_empty, chosen)
    handle, forbidden = w.use(r), w.model.forbidden(name, "commit")
    may = forbidden | refused
    branch, content = w.model.branches.get(name), None
    if branch is not None and not may and before is None:
        content = w.model.settled(branch)
        if not allow_empty and not changes(w.model.head(branch), content):
            may = {NO_CHANGES}
    if before is not None and forbidden:
        return
    options = {"allow_empty": allow_empty, "idempotency_key": chosen, **said}
    record = w.attempt(may, lambda: w.branch(handle, name).commit(**options))
    if may == {NO_CHANGES} and branch is not None:
        w.model.begin(branch)
    if record is None or branch is None:
        return
    if before is not None:
        w.equal("commit of a key", record.id, before)
        return
    w.equal("words", (record.message, record.committer), (said["message"], said["committer"]))
    w.equal("metadata", dict(record.metadata), said.get("metadata", {}))
    w.made(branch, record, content or {})
    w.model.move(branch, record.id)
    w.model.begin(branch)
    used(w, branch, chosen, record.id)


def compact(w: World, r: Random) -> None:
    """Fold what is staged into a tree."""
    name = pick(w, r)
    w.said = ("compact", name)
    handle = w.use(r)
    branch = w.model.branches.get(name)
    may: Refusals = {BRANCH_NOT_FOUND} if branch is None else set()
    if branch is not None and not branch.touched():
        may = {NO_CHANGES}
    every = timedelta(0)
    made = w.attempt(may, lambda: w.branch(handle, name).compact(every=every))
    if made is None or branch is None:
        return
    w.equal("entries", made.entries, len(branch.shown))
    if not branch.spans:
        tombstones = sum(value is None for value in branch.records.values())
        w.equal("records", (made.records, made.tombstones), (len(branch.records), tombstones))
    w.model.compact(branch)


def hard_reset(w: World, r: Random) -> None:
    """Move a head by name."""
    name, text = pick(w, r), ref(w, r)
    w.said = ("hard reset", name, text)
    handle, may = w.use(r), w.model.forbidden(name, "force")
    branch, target = w.model.branches.get(name), None
    try:
        target = w.model.commit_of(text)
    except Refused as refused:
        may.add(refused.refusal)
    if branch is not None and w.model.dirty(branch):
        may.add(DIRTY)
    record = w.attempt(may, lambda: w.branch(handle, name).hard_reset(text))
    if record is not None and branch is not None and target is not None:
        w.equal("hard reset", record.id, target)
        w.model.move(branch, target, "assigned")
        w.model.begin(branch)


def pressure(w: World, r: Random) -> None:
    """What is staged, counted; and what compactions did."""
    name = r.choice([*w.model.branches])
    w.said = ("pressure", name)
    handle, branch = w.use(r), w.model.branches[name]
    by_counters = w.branch(handle, name).pressure()
    exact = w.branch(handle, name).pressure(exact=True)
    w.equal("branch of a pressure", (by_counters.branch.id, exact.branch.id), (name, name))
    w.require(exact.load.staged >= len(branch.records), "too few staged", exact.load, len(branch.records))
    w.require(bool(exact.load.layers) == bool(branch.layers) or branch.records, "layers", exact.load, branch.layers)
    if not branch.touched():
        w.equal("staged on a clean branch", (exact.load.staged, exact.load.layers), (0, 0))
    found = w.branch(handle, name).compactions()
    w.equal("compactions", found.outcomes.get("compacted", 0), branch.compactions)
    listed = {item.branch: item.history.outcomes.get("compacted", 0) for item in handle.repo.compactions()}
    wanted = {b.name: b.compactions for b in w.model.branches.values() if b.compactions}
    w.equal("branches that were compacted", {n: c for n, c in listed.items() if c}, wanted)
    for item in handle.graveler.pressures():
        w.require(item.branch.id in w.model.branches, "pressure of no branch", item.token)


def thresholds(w: World, r: Random) -> None:
    """Thresholds change nothing but pressure."""
    name = r.choice([None, *w.model.branches])
    w.said = ("thresholds", name)
    repo = w.use(r).repo
    now = repo.thresholds().of(name or "main").model_copy()
    wanted = type(now)(tombstones=r.randint(1, 9), layers=r.randint(1, 9), staged=now.staged, age=now.age)
    given = repo.set_thresholds(wanted, name)
    w.equal("thresholds", w.use(r).repo.thresholds(), given)
    w.equal("thresholds of it", given.thresholds if name is None else given.of(name), wanted)
    repo.set_thresholds(None, name)
