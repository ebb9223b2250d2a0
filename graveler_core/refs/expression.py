"""Ref expressions: a branch, a tag, a commit id or a unique prefix of one, followed by any of

    ~n   the n-th ancestor along first parents (`~` is `~1`)
    ^n   the n-th parent (`^` is `^1`; `^0` is the commit itself)
    @    the committed head of a branch, without staged changes
    $    a branch with staged changes

A name is looked up as a full commit id, then as a branch, then as a tag, then as a unique prefix of a commit id. A full
id comes first so that no branch or tag can take the place of a commit that a program or a check has pinned. `@` and `$`
end an expression.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.kv.store import Store
from graveler_core.model.counting import counted
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, TagId
from graveler_core.model.names import is_commit_id, is_ref_name, proposed_ref
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.location import Location

MIN_COMMIT_PREFIX = 4
_EXPRESSION = re.compile(r"(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)(?P<steps>(?:[~^][0-9]{0,9})*)(?P<view>[$@]?)")
_STEP = re.compile(r"([~^])([0-9]*)")
_COMMIT = re.compile(r"[0-9a-f]{1,64}")

ReadParents = Callable[[CommitId], Sequence[CommitId]]


@dataclass(frozen=True, slots=True)
class Expression:
    """Parsed expression: a name, steps along parents, and a view ('', '$' or '@')."""

    text: str
    name: str
    steps: tuple[tuple[str, int], ...]
    view: str


@dataclass(frozen=True, slots=True)
class Resolved:
    """Result of resolving an expression: a commit and, if staged changes are included, their branch."""

    commit_id: CommitId
    branch: BranchId | None = None
    staged: bool = False
    tree: bool = False
    """True for a tag of a tree: the content of the commit can be read, and its history is not named."""


def parse(text: str) -> Expression:
    """Parse a ref expression.

    Args:
        text: The expression.

    Returns:
        The parsed expression.

    Raises:
        InvalidInput: The text is no expression (`InvalidRef`); the message names the rule.
    """
    match = _EXPRESSION.fullmatch(text) if isinstance(text, str) else None
    if match is None or not is_ref_name(match["name"]):
        raise InvalidInput(
            f"ref {text!r}: must be a branch, tag or commit id, then any of ~n ^n, then at most one of $ @"
            f"{proposed_ref(text)}",
            kind=Kind.InvalidRef,
            ref=text,
        )
    steps = tuple((sign, int(count) if count else 1) for sign, count in _STEP.findall(match["steps"]))
    if match["view"] and steps:
        raise InvalidInput(
            f"ref {text!r}: {match['view']} follows a branch name, not ~ or ^", kind=Kind.InvalidRef, ref=text
        )
    return Expression(text, match["name"], steps, match["view"])


def resolve(kv: Store, parents: ReadParents, repo: RepositoryRecord, text: str) -> Resolved:
    """Resolve a ref expression to its current commit.

    Args:
        kv: Key-value store.
        parents: Returns the parents of a commit; raises `NotFound` for a commit that does not exist.
        repo: Repository.
        text: The expression.

    Returns:
        The commit, and the branch if staged changes are included.

    Raises:
        InvalidInput: The text is no expression, `$` or `@` follows a name that is no branch, a prefix is
        ambiguous, or steps follow a tag of a tree (`NotACommit`).
        NotFound: No branch, tag or commit has the name (`RefNotFound`), or the ancestor does not exist.
    """
    expression = parse(text)
    start = find_named(kv, repo, expression.name) or Resolved(_commit_by_prefix(kv, repo, expression))
    if expression.view and start.branch is None:
        raise InvalidInput(
            f"ref {text!r}: {expression.view} must follow a branch name, and {expression.name!r} is not a branch",
            kind=Kind.InvalidRef,
            ref=text,
        )
    if not expression.steps:
        return replace(start, staged=start.branch is not None and expression.view != "@")
    if start.tree:
        raise names_tree(text)
    at = start.commit_id
    for sign, count in expression.steps:
        at = _step(parents, expression, at, sign, count)
    return Resolved(at)


def names_tree(ref: str) -> InvalidInput:
    """Return the error for a tag of a tree where a commit is needed."""
    return InvalidInput(
        f"ref {ref!r}: is a tag of a tree, which has content but no history; use a commit, a branch or a tag of one",
        kind=Kind.NotACommit,
        ref=ref,
    )


def find_named(kv: Store, repo: RepositoryRecord, name: str) -> Resolved | None:
    """Return what has exactly this name: the commit with this id, else the branch, else the tag, else `None`."""
    wanted: list[Location[Any]] = [keys.branch(repo, BranchId(name)), keys.tag(repo, TagId(name))]
    if is_commit_id(name):
        wanted.append(keys.commit(repo, CommitId(name)))
    branch, tag, *commits = access.read_many(kv, wanted)
    if any(commits):
        return Resolved(CommitId(name))
    if branch is not None:
        return Resolved(branch.value.commit_id, BranchId(name))
    if tag is not None:
        return Resolved(tag.value.commit_id, tree=bool(tag.value.tree))
    return None


def _commit_by_prefix(kv: Store, repo: RepositoryRecord, expression: Expression) -> CommitId:
    name = expression.name
    found: list[str] = []
    if _COMMIT.fullmatch(name) and len(name) >= MIN_COMMIT_PREFIX:
        folder = keys.commits(repo)
        rows = kv.scan(folder.partition, prefix=folder.prefix + name.encode(), limit=2)
        found = [row.key[len(folder.prefix) :].decode() for row in rows]
    if len(found) > 1:
        raise InvalidInput(
            f"ref {name!r}: is a prefix of more than one commit id",
            kind=Kind.AmbiguousRef,
            ref=name,
        )
    if not found:
        raise NotFound(
            f"ref {expression.text!r}: repository {repo.id!r} has no branch, tag or commit {name!r}",
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
                f"ref {expression.text!r}: commit {at[:12]} has {counted(len(above), 'parent')}",
                kind=Kind.RefNotFound,
                ref=expression.text,
            )
        at = above[hop]
    return at
