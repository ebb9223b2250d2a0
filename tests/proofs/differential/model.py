"""A repository as the documentation describes it, in dictionaries. Nothing of the engine is called."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from functools import cached_property

from tests.proofs.differential.checks import Checks
from tests.proofs.differential.values import Changes, Content, Value, changes, put, same

Refusal = tuple[str, str]
"""Class and kind of an error."""
Refusals = set[Refusal]
"""What a call may be refused with: any of them, where several apply. Empty: it must succeed."""

REPOSITORY_NOT_FOUND = ("NotFound", "RepositoryNotFound")
BRANCH_NOT_FOUND = ("NotFound", "BranchNotFound")
PATH_NOT_FOUND = ("NotFound", "PathNotFound")
REF_NOT_FOUND = ("NotFound", "RefNotFound")
INVALID_REF = ("InvalidInput", "InvalidRef")
INVALID = ("InvalidInput", "InvalidValue")
DIRTY = ("DirtyBranch", "BranchDirty")
NO_CHANGES = ("NoChanges", "NoChanges")
CONFLICT = ("Conflict", "MergeConflict")
PREFIX_CHANGED = ("Conflict", "PrefixChanged")
TRANSACTION_CONFLICT = ("Conflict", "TransactionConflict")
CHECKS_REQUIRED = ("PermissionDenied", "ChecksRequired")
PROTECTED = ("PermissionDenied", "BranchProtected")
READ_ONLY = ("PermissionDenied", "RepositoryReadOnly")

_EXPRESSION = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)((?:[~^][0-9]*)*)([@$]?)")


class Refused(Exception):
    """A ref means nothing."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal)
        self.refusal = refusal


@dataclass(eq=False)
class Commit:
    """A commit, and what it changed against its first parent."""

    id: str
    content: Content
    parents: tuple[str, ...]
    generation: int
    date: datetime
    message: str
    committer: str
    metadata: Mapping[str, str]
    before: Content
    """What its first parent holds."""

    @cached_property
    def changes(self) -> Changes:
        return changes(self.before, self.content)

    @property
    def order(self) -> tuple[int, float, str]:
        """Where a log has it: larger generations first, newer commits of one generation first."""
        return (-self.generation, -self.date.timestamp(), self.id)


@dataclass(eq=False)
class Branch:
    """A branch: its head, and what is staged on it.

    `records` is what `staged()` shows. `spans` are removals ("-") and restorations ("+") of prefixes, and restorations
    of single paths ("="), oldest first.
    `base` is the compacted tree. `layers` counts bulk writes and operations on prefixes, which put a layer on top.
    """

    name: str
    head: str
    shown: dict[str, Value]
    records: dict[str, Value | None] = field(default_factory=dict)
    spans: list[tuple[str, str]] = field(default_factory=list)
    base: Content | None = None
    layers: int = 0
    moves: list[tuple[str, str, str]] = field(default_factory=list)
    """Kind, commit before, commit after; oldest first."""
    compactions: int = 0

    def touched(self) -> bool:
        """Whether a layer says anything, with or without effect."""
        return bool(self.records or self.spans)


class Repo:
    """A repository."""

    def __init__(self, root: Commit, branch: str) -> None:
        self.default = branch
        self.commits: dict[str, Commit] = {root.id: root}
        self.branches = {branch: Branch(branch, root.id, {})}
        self.tags: dict[str, str] = {}
        self.deleted: dict[str, str] = {}
        """Branches that were deleted, with the head that the newest deletion took away."""
        self.events: list[tuple[str, str, str, str | None, str | None, str, str]] = []
        """Kind, type, name, before, after, by, message; oldest first."""
        self.gone: dict[str, list[Branch]] = {}
        """Branches that bore a name, and are deleted."""
        self.rules: dict[str, tuple[str, ...]] = {}
        self.checks = Checks()
        self.read_only = False
        self.keys: dict[str, tuple[Branch, str]] = {}
        """Idempotency keys: the branch and the commit that was made."""
        self._ancestors: dict[str, frozenset[str]] = {}
        self.note("created", "branch", branch, None, root.id)

    # Refs

    def resolve(self, text: str) -> str:
        """The commit that an expression names, or `Refused`."""
        match = _EXPRESSION.fullmatch(text)
        if match is None:
            raise Refused(INVALID_REF)
        name, steps, view = match.groups()
        if (view and steps) or ".." in name or name == "int" or len(name) > 255:
            raise Refused(INVALID_REF)
        at = self.branches[name].head if name in self.branches else self.tags.get(name)
        if at is None:
            found = [id for id in self.commits if len(name) >= 4 and id.startswith(name)]
            if len(found) > 1:
                raise Refused(("InvalidInput", "AmbiguousRef"))
            if not found:
                raise Refused(REF_NOT_FOUND)
            at = found[0]
        if view and name not in self.branches:
            raise Refused(INVALID_REF)
        for sign, number in re.findall(r"([~^])([0-9]*)", steps):
            at = self._stepped(at, sign, int(number or 1))
        return at

    def commit_of(self, text: str) -> str:
        """As `resolve`, where a commit is asked for: what is staged has none."""
        if text.endswith("$"):
            raise Refused(INVALID_REF)
        return self.resolve(text)

    def staged_by(self, text: str) -> Branch | None:
        """The branch that an expression shows with what is staged on it: a plain name, or one with `$`."""
        return self.branches.get(text.removesuffix("$"))

    def _stepped(self, at: str, sign: str, number: int) -> str:
        hops = [0] * number if sign == "~" else [number - 1] if number else []
        for hop in hops:
            parents = self.commits[at].parents
            if hop >= len(parents):
                raise Refused(REF_NOT_FOUND)
            at = parents[hop]
        return at

    # History

    def ancestors(self, commit: str) -> frozenset[str]:
        """A commit and all that it descends from."""
        known = self._ancestors.get(commit)
        if known is None:
            known = frozenset([commit]).union(*map(self.ancestors, self.commits[commit].parents))
            self._ancestors[commit] = known
        return known

    def merge_base(self, left: str, right: str) -> str:
        """Return the merge base: of the common ancestors that are no ancestors of others, the first in a log."""
        common = self.ancestors(left) & self.ancestors(right)
        behind: set[str] = set()
        for commit in common:
            behind |= self.ancestors(commit) - {commit}
        return min(common - behind, key=lambda commit: self.commits[commit].order)

    def chain(self, commit: str) -> list[str]:
        """First parents."""
        found = [commit]
        while parents := self.commits[found[-1]].parents:
            found.append(parents[0])
        return found

    def log(self, ref: str, since: str | None, prefix: str, *, first_parent: bool) -> list[Commit]:
        """The commits of a log."""
        left_out = frozenset() if since is None else self.ancestors(since)
        ids: Iterable[str] = self.chain(ref) if first_parent else self.ancestors(ref)
        found = [self.commits[id] for id in ids if id not in left_out]
        if prefix:
            found = [commit for commit in found if any(path.startswith(prefix) for path in commit.changes)]
        return sorted(found, key=lambda commit: commit.order)

    def content(self, commit: str) -> Content:
        return self.commits[commit].content

    def head(self, branch: Branch) -> Content:
        return self.commits[branch.head].content

    # What forbids a call

    def forbidden(self, name: str, action: str) -> Refusals:
        """What refuses an action on a branch: that there is none, a rule, or the flag of the repository."""
        found: Refusals = {READ_ONLY} if self.read_only else set()
        if name not in self.branches:
            found.add(BRANCH_NOT_FOUND)
        if any(action in blocks and fnmatchcase(name, pattern) for pattern, blocks in self.rules.items()):
            found.add(PROTECTED)
        return found | ({PROTECTED} if self.checks.blocks(name, action) else set())

    def dirty(self, branch: Branch) -> bool:
        """Whether anything is staged: a matter of records, but for a compacted tree."""
        return branch.touched() or (branch.base is not None and bool(changes(self.head(branch), branch.base)))

    def staged_at(self, branch: Branch, path: str) -> bool:
        """Whether a transaction finds a path staged: a record, a removal over it, or a change that was compacted."""
        if path in branch.records:
            return True
        for sign, prefix in reversed(branch.spans):
            if path == prefix or (sign != "=" and path.startswith(prefix)):
                return sign == "-"
        return branch.base is not None and not same(branch.base.get(path), self.head(branch).get(path))

    # Staging

    def stage(self, branch: Branch, rows: Mapping[str, Value | None], *, layer: bool) -> None:
        """Stage entries and removals, in a layer of their own or in the staging token."""
        for path, value in rows.items():
            put(branch.shown, path, value)
            branch.records[path] = value
        branch.layers += layer and bool(rows)

    def remove(self, branch: Branch, path: str) -> None:
        """Remove one path: what was staged and never committed leaves no tombstone."""
        if self.only_staged(branch, [path]):
            del branch.records[path]
        else:
            branch.records[path] = None
        branch.shown.pop(path, None)

    def only_staged(self, branch: Branch, paths: Sequence[str]) -> bool:
        """Whether entries are staged at all these paths, and nothing else knows one of them."""
        below = self.head(branch) if branch.base is None else branch.base
        staged = all(branch.records.get(path) is not None and path not in below for path in paths)
        return bool(paths) and staged and not branch.layers

    def span(self, branch: Branch, sign: str, prefix: str) -> None:
        """Remove everything under a prefix, or let the head show there."""
        for known in (branch.shown, branch.records):
            for path in [path for path in known if path.startswith(prefix)]:
                del known[path]
        if sign == "+":
            branch.shown.update((p, v) for p, v in self.head(branch).items() if p.startswith(prefix))
        branch.spans.append((sign, prefix))
        branch.layers += 1

    def restore(self, branch: Branch, path: str) -> None:
        """Let the head show at one path: by a row less, or by a restoration of the path."""
        committed = self.head(branch).get(path)
        row = branch.records.get(path) is not None and branch.base is None and not branch.layers
        if not row and not self.staged_at(branch, path):
            return
        branch.records.pop(path, None)
        put(branch.shown, path, committed)
        if not row:
            branch.spans.append(("=", path))
            branch.layers += 1

    def begin(self, branch: Branch, head: str | None = None) -> None:
        """Put a branch at a commit, or where it is, with nothing staged."""
        branch.head = head or branch.head
        branch.shown, branch.records, branch.spans = dict(self.head(branch)), {}, []
        branch.base, branch.layers = None, 0

    def compact(self, branch: Branch) -> None:
        """Fold what is staged into a tree."""
        branch.base, branch.records, branch.spans, branch.layers = dict(branch.shown), {}, [], 0
        branch.compactions += 1

    def settled(self, branch: Branch) -> dict[str, Value]:
        """What a commit of the branch holds: what is equal to what the head holds is what the head holds."""
        head = self.head(branch)
        return {path: head[path] if same(head.get(path), value) else value for path, value in branch.shown.items()}

    # Moving

    def add(self, commit: Commit) -> None:
        self.commits[commit.id] = commit

    def move(self, branch: Branch, head: str, kind: str = "moved") -> None:
        """Note that a branch moves; what is staged is the caller's."""
        if kind == "assigned" and branch.head == head:
            return
        branch.moves.append((kind, branch.head, head))
        if kind == "assigned":
            self.note("assigned", "branch", branch.name, branch.head, head)
        branch.head = head

    def over(self, branch: Branch, ops: Mapping[str, Value | None], commit: str) -> None:
        """A commit of paths that are not staged, past what is staged."""
        for path, value in ops.items():
            put(branch.shown, path, value)
        if branch.base is not None:
            branch.base = dict(branch.base)
            for path, value in ops.items():
                put(branch.base, path, value)
        self.move(branch, commit)

    def note(self, kind: str, type: str, name: str, before: str | None, after: str | None, *said: str) -> None:
        by, message = said or ("", "")
        self.events.append((kind, type, name, before, after, by, message))
