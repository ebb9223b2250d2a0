"""Ref expressions: `main`, `v1`, a commit id or unique prefix, followed by any of

    ~n   the n-th ancestor along first parents (`~` is `~1`)
    ^n   the n-th parent (`^` is `^1`; `^0` is the commit itself)
    @    a branch's committed head, without what is staged
    $    a branch with what is staged

A name resolves as branch, then tag, then full commit id, then unique prefix of one. `@` and `$` end an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat

from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.kv.store import Store
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId, CommitId, TagId
from graveler_core.model.names import is_ref_name
from graveler_core.records import access
from graveler_core.records import layout as keys

MIN_COMMIT_PREFIX = 4
_EXPRESSION = re.compile(r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)(?P<steps>(?:[~^][0-9]{0,9})*)(?P<view>[$@]?)")
_STEP = re.compile(r"([~^])([0-9]*)")
_COMMIT = re.compile(r"[0-9a-f]{1,64}")

ReadParents = Callable[[CommitId], Sequence[CommitId]]


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression: a name, steps along parents, and a view ('', '$' or '@')."""

    text: str
    name: str
    steps: tuple[tuple[str, int], ...]
    view: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """What an expression means now: a commit, and the branch whose staged changes stand above it, if any do."""

    commit_id: CommitId
    branch: BranchId | None = None
    staged: bool = False


def parse(text: str) -> Expression:
    """Parse an expression, or raise `InvalidInput` (`InvalidRef`) naming it and the rule."""
    match = _EXPRESSION.fullmatch(text) if isinstance(text, str) else None
    if match is None or not is_ref_name(match["name"]):
        raise InvalidInput(
            f"ref {text!r}: must be a branch, tag or commit id, then any of ~n ^n, then at most one of $ @",
            kind=Kind.InvalidRef,
            ref=text,
        )
    steps = tuple((sign, int(count) if count else 1) for sign, count in _STEP.findall(match["steps"]))
    if match["view"] and steps:
        raise InvalidInput(
            f"ref {text!r}: {match['view']} follows a branch name, not ~ or ^", kind=Kind.InvalidRef, ref=text
        )
    return Expression(text, match["name"], steps, match["view"])


def resolve(kv: Store, parents: ReadParents, repo: Repository, text: str) -> Resolved:
    """What an expression means now.

    Args:
        parents: Reads a commit's parents, raising `NotFound` for a commit that does not exist.

    Raises:
        InvalidInput: it is no expression, `$` or `@` follows something that is no branch, or a prefix is ambiguous.
        NotFound: nothing bears the name (`RefNotFound`), or there is no such ancestor.
    """
    expression = parse(text)
    start = _name(kv, repo, expression)
    if expression.view and start.branch is None:
        raise InvalidInput(
            f"ref {text!r}: {expression.view} follows a branch, and {expression.name!r} is none",
            kind=Kind.InvalidRef,
            ref=text,
        )
    if not expression.steps:
        return Resolved(start.commit_id, start.branch, staged=start.branch is not None and expression.view != "@")
    at = start.commit_id
    for sign, count in expression.steps:
        at = _step(parents, expression, at, sign, count)
    return Resolved(at)


def _name(kv: Store, repo: Repository, expression: Expression) -> Resolved:
    name = expression.name
    branch, tag = access.read_many(kv, [keys.branch(repo, BranchId(name)), keys.tag(repo, TagId(name))])
    if branch is not None:
        return Resolved(branch.value.commit_id, BranchId(name))
    if tag is not None:
        return Resolved(tag.value.commit_id)
    return Resolved(_commit(kv, repo, expression))


def _commit(kv: Store, repo: Repository, expression: Expression) -> CommitId:
    name = expression.name
    found: list[str] = []
    if _COMMIT.fullmatch(name) and len(name) >= MIN_COMMIT_PREFIX:
        folder = keys.commits(repo)
        rows = kv.scan(folder.partition, prefix=folder.prefix + name.encode(), limit=2)
        found = [row.key[len(folder.prefix) :].decode() for row in rows]
    if len(found) > 1:
        raise InvalidInput(f"ref {name!r}: begins more than one commit id", kind=Kind.AmbiguousRef, ref=name)
    if not found:
        raise NotFound(
            f"ref {expression.text!r}: no branch, tag or commit of repository {repo.id!r} is called {name!r}",
            kind=Kind.RefNotFound,
            repository=repo.id,
            ref=expression.text,
        )
    return CommitId(found[0])


def _step(parents: ReadParents, expression: Expression, at: CommitId, sign: str, count: int) -> CommitId:
    hops = repeat(0, count) if sign == "~" else repeat(count - 1, min(count, 1))
    for hop in hops:
        above = parents(at)
        if hop >= len(above):
            raise NotFound(
                f"ref {expression.text!r}: commit {at[:12]} has {len(above)} parents",
                kind=Kind.RefNotFound,
                ref=expression.text,
            )
        at = above[hop]
    return at
