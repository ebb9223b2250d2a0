"""Model of a repository made of dictionaries. Every flow of the engine is compared with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from graveler_core.model.changes import Change, ChangeKind
from graveler_core.model.entry import Entry

Content = Mapping[str, Entry]


def ordered(paths: Iterable[str]) -> list[str]:
    """Paths in the order of the store: as bytes."""
    return sorted(paths, key=str.encode)


def same(left: Entry | None, right: Entry | None) -> bool:
    """Whether two entries, or their absence, are equal: by identity."""
    return left is right or (left is not None and right is not None and left.identity == right.identity)


def changes(before: Content, after: Content) -> list[Change]:
    """What differs between two states."""
    found = []
    for path in ordered(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if not same(old, new):
            kind = ChangeKind.ADDED if old is None else ChangeKind.REMOVED if new is None else ChangeKind.CHANGED
            found.append(Change(path, kind, old, new))
    return found


@dataclass(frozen=True)
class CommitModel:
    """A commit: its content, and where it stands in history."""

    content: Content
    parents: tuple[str, ...]
    generation: int


@dataclass
class BranchModel:
    """A branch: its head, what is staged on it, and whether anything is."""

    head: str
    shown: dict[str, Entry]
    compacted: Content | None = None
    touched: bool = False
    """Whether a layer says anything, with or without effect."""


@dataclass
class Model:
    """All of a repository."""

    commits: dict[str, CommitModel]
    branches: dict[str, BranchModel]
    tags: dict[str, str] = field(default_factory=dict)
    deleted: list[tuple[str, str]] = field(default_factory=list)
    """Branches that were deleted, and their heads, newest last."""

    def head(self, branch: BranchModel) -> Content:
        return self.commits[branch.head].content

    def dirty(self, branch: BranchModel) -> bool:
        """Records or a compacted tree unlike the head: a matter of records, not of effect."""
        return branch.touched or (branch.compacted is not None and bool(changes(self.head(branch), branch.compacted)))

    def settled(self, branch: BranchModel) -> dict[str, Entry]:
        """What a commit of the branch would hold: what is equal to what the head holds is what the head holds."""
        head = self.head(branch)
        return {path: head[path] if same(head.get(path), entry) else entry for path, entry in branch.shown.items()}

    def begin(self, branch: BranchModel, head: str) -> None:
        """Put a branch at a commit with nothing staged."""
        branch.head, branch.shown = head, dict(self.commits[head].content)
        branch.compacted, branch.touched = None, False

    def add(self, commit: str, content: Content, parents: tuple[str, ...]) -> None:
        """A new commit."""
        generation = 1 + max(self.commits[parent].generation for parent in parents)
        self.commits[commit] = CommitModel(dict(content), parents, generation)

    def ancestors(self, commit: str) -> set[str]:
        """A commit and all that it descends from."""
        found: set[str] = set()
        ahead = [commit]
        while ahead:
            at = ahead.pop()
            if at not in found:
                found.add(at)
                ahead += self.commits[at].parents
        return found

    def best_bases(self, left: str, right: str) -> set[str]:
        """Common ancestors that are no ancestors of other common ones."""
        common = self.ancestors(left) & self.ancestors(right)
        return {c for c in common if not any(c in self.ancestors(o) for o in common - {c})}

    def first_parents(self, commit: str) -> list[str]:
        """The chain of a branch."""
        chain = [commit]
        while parents := self.commits[chain[-1]].parents:
            chain.append(parents[0])
        return chain


@dataclass(frozen=True)
class Merged:
    """What a merge gives: content, or the paths in conflict."""

    content: dict[str, Entry]
    conflicts: list[str]


def merged(
    sides: tuple[Content, Content, Content], strategy: str | None, resolve: Mapping[str, str | None] | None = None
) -> Merged:
    """The three-way rule for base, source and destination, path by path; or what was resolved: a side, or no entry."""
    base, source, destination = sides
    content, conflicts = dict(destination), []
    for path in ordered(base.keys() | source.keys() | destination.keys()):
        old, theirs, ours = base.get(path), source.get(path), destination.get(path)
        if same(theirs, old):
            continue
        resolved = resolve is not None and path in resolve
        if resolve and resolved:
            theirs = {"source": theirs, "destination": ours, None: None}[resolve[path]]
        if same(theirs, ours):
            continue
        if not resolved and not same(ours, old) and strategy != "source":
            conflicts += [] if strategy else [path]
            continue
        content.pop(path, None)
        if theirs is not None:
            content[path] = theirs
    return Merged(content, conflicts)
