"""Expectations of merges and replays: the merge base, the judge of a refusal, and the commits that a call made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from graveler_core.errors import GravelerError
from graveler_core.facade.history import CommitRecord
from tests.proofs.differential.model import (
    CONFLICT,
    NO_CHANGES,
    TRANSACTION_CONFLICT,
    Branch,
    Commit,
    Refusals,
)
from tests.proofs.differential.values import Content
from tests.proofs.differential.world import Handle, World, refusal_of

T = TypeVar("T")


@dataclass(frozen=True)
class Link:
    """A commit that a call should make: what it holds, and its author's words."""

    content: Content
    message: str | None
    committer: str | None
    metadata: Mapping[str, str] | None


def base_of(w: World, handle: Handle, source: str, destination: str) -> str:
    """Return the merge base, which the library must choose too."""
    wanted = w.model.merge_base(source, destination)
    w.equal("merge base", handle.repo.merge_base(destination, source).id, wanted)
    return wanted


@dataclass(frozen=True)
class Made:
    """The commits that a call should have made on a branch, and the second parent of the last of them."""

    branch: Branch
    links: Sequence[Link]
    source: str | None = None


def judged(w: World, may: Refusals, call: Callable[[], T], branch: Branch | None, hit: Collection[str]) -> T | None:
    """Make a call as `attempt` does. Check the head and the paths of conflicts that an error names.

    Args:
        hit: Paths of the conflicts, each as often as it conflicts.
    """
    if not may:
        return w.attempt(may, call)
    error: GravelerError = w.refused(may, call)
    if refusal_of(error) == NO_CHANGES and branch is not None:
        w.equal("head of NoChanges", error.details.get("commit"), branch.head)
    if refusal_of(error) in (CONFLICT, TRANSACTION_CONFLICT):
        listed = [conflict.path for conflict in error.details["conflicts"]]
        w.equal("conflicts of an error", listed, sorted(hit)[:1_000])
        w.equal("number of conflicts", error.details.get("count", len(hit)), len(hit))
    return None


def adopt(w: World, handle: Handle, record: CommitRecord, wanted: Made) -> None:
    """Take over the commits that a call made on a branch, the last of them perhaps a merge."""
    branch, links = wanted.branch, wanted.links
    start, made, at = branch.head, [record], record
    while at.parents[0] != start and len(made) <= len(links):
        at = handle.repo.commit(at.parents[0])
        made.append(at)
    w.equal("number of commits", len(made), len(links))
    for new, link in zip(reversed(made), links, strict=True):
        for what in ("message", "committer", "metadata"):
            said = getattr(link, what)
            if said is not None:
                w.equal(what, getattr(new, what), said)
        parents = () if wanted.source is None or new is not record else (wanted.source,)
        commit: Commit = w.made(branch, new, link.content, *parents)
        if new is not record:
            branch.head = commit.id
    branch.head = start
    w.model.move(branch, record.id)
    w.model.begin(branch)
