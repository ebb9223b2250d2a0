"""Steps that repeat or undo commits: cherry-pick, transplant, revert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from graveler_core.facade.history import CommitRecord
from tests.proofs.differential.model import CONFLICT, DIRTY, INVALID, NO_CHANGES, Branch, Refusals, Refused
from tests.proofs.differential.refs import ref
from tests.proofs.differential.steps.committing import key, used, words
from tests.proofs.differential.steps.expected_commits import Link, Made, adopt, judged
from tests.proofs.differential.steps.writing import pick
from tests.proofs.differential.values import Content, Sides, changes, merged
from tests.proofs.differential.world import Handle, World


@dataclass(frozen=True)
class Replay:
    """A call."""

    name: str
    ids: Sequence[str]
    """Of commits; a ref that is none, where the call must be refused."""
    strategy: str | None
    said: Mapping[str, Any]
    mainline: int
    key: str
    before: str | None
    """The commit of an earlier call under the key."""
    verb: str


def cherry_pick(w: World, r: Random) -> None:
    """Repeat one commit."""
    _single(w, r, "cherry_pick")


def revert(w: World, r: Random) -> None:
    """Undo one commit."""
    _single(w, r, "revert")


def transplant(w: World, r: Random) -> None:
    """Repeat several commits of one line."""
    name, strategy = pick(w, r), r.choice((None, "source", "destination"))
    line = w.model.chain(r.choice([*w.model.commits]))[:-1]
    at = r.randint(0, max(0, len(line) - 1))
    ids = line[at : at + r.randint(1, 4)][::-1]
    if not ids:
        return
    broken = len(ids) > 2 and r.random() < 0.1
    if broken:
        del ids[1]
    chosen, refused, before = key(w, r, name)
    w.said = ("transplant", ids, name, strategy, chosen)
    handle, may = w.use(r), w.model.forbidden(name, "commit") | refused
    if before is not None and (may or broken):
        return
    if broken and w.model.commits[ids[1]].parents[:1] != (ids[0],):
        may.add(INVALID)
    _replay(w, handle, may, Replay(name, ids, strategy, {}, 1, chosen, before, "transplant"))


def _single(w: World, r: Random, verb: str) -> None:
    name, text, mainline = pick(w, r), ref(w, r), r.choice((1, 1, 1, 1, 1, 2, 0, 3))
    said = words(w, r) if r.random() < 0.4 else {"message": "", "committer": ""}
    said.pop("metadata", None)
    chosen, refused, before = key(w, r, name)
    w.said = (verb, text, name, mainline, said, chosen)
    handle, may = w.use(r), w.model.forbidden(name, "commit") | refused
    ids: list[str] = []
    try:
        ids = [w.model.commit_of(text)]
        if not 1 <= mainline <= len(w.model.commits[ids[0]].parents):
            may.add(INVALID)
    except Refused as unknown:
        may.add(unknown.refusal)
    if before is not None and may:
        return
    _replay(w, handle, may, Replay(name, ids or [text], None, said, mainline, chosen, before, verb))


def _replay(w: World, handle: Handle, may: Refusals, replay: Replay) -> None:
    """Call, and judge by what the three-way rule gives for one commit after the other."""
    branch, links = w.model.branches.get(replay.name), list[Link]()
    hit: Mapping[str, Any] = {}
    known = branch is not None and INVALID not in may and all(id in w.model.commits for id in replay.ids)
    if branch is not None and replay.before is None and w.model.dirty(branch):
        may = may | {DIRTY}
    if branch is not None and known and replay.before is None:
        links, hit = _replayed(w, branch, replay)
        if hit:
            may = may | {CONFLICT}
        elif not links:
            may = may | {NO_CHANGES}
    forward = known and _forward(w, branch, replay)
    if forward and may == {NO_CHANGES}:
        may = set()
    record = judged(w, may, lambda: _called(handle, replay), branch, hit)
    if record is None or branch is None:
        return
    if replay.before is not None:
        w.equal("replay of a key", record.id, replay.before)
    elif forward:
        w.equal("fast forward", record.id, replay.ids[-1])
        w.model.move(branch, record.id)
        w.model.begin(branch)
    else:
        adopt(w, handle, record, Made(branch, links))
        used(w, branch, replay.key, record.id)


def _called(handle: Handle, replay: Replay) -> CommitRecord:
    if replay.verb == "transplant":
        strategy, key = replay.strategy, replay.key
        return handle.repo.transplant(replay.ids, replay.name, strategy=strategy, idempotency_key=key)
    verb = getattr(handle.repo, replay.verb)
    options = {"mainline": replay.mainline, "idempotency_key": replay.key, **replay.said}
    made: CommitRecord = verb(replay.ids[0], replay.name, **options)
    return made


def _forward(w: World, branch: Branch | None, replay: Replay) -> bool:
    """Whether commits are replayed on their own base: then they stay what they are, but for merges."""
    if branch is None or replay.verb == "revert" or replay.key or any(replay.said.values()):
        return False
    at = branch.head
    for id in replay.ids:
        if w.model.commits[id].parents != (at,):
            return False
        at = id
    return True


def _replayed(w: World, branch: Branch, replay: Replay) -> tuple[list[Link], Mapping[str, Any]]:
    """The commits that a replay makes, or the conflicts that end it."""
    now: Content = w.model.head(branch)
    links, backwards = [], replay.verb == "revert"
    for id in replay.ids:
        commit = w.model.commits[id]
        parent = w.model.content(commit.parents[replay.mainline - 1])
        sides = (commit.content, parent) if backwards else (parent, commit.content)
        result = merged(Sides(*sides, now), replay.strategy)
        if result.conflicts and replay.strategy is None:
            return [], result.conflicts
        if changes(now, result.content):
            now = result.content
            message = replay.said.get("message") or (None if backwards else commit.message)
            committer = replay.said.get("committer") or (None if backwards else commit.committer)
            links.append(Link(now, message, committer, None if backwards else commit.metadata))
    return links, {}
